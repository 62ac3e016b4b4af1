//! `undo-redo.tests.js`: everybody undoes their own steps, whatever others did in between.

use crdt::{
    Commit, Delta, Direction, Doc, Error, Inserted, Map, New, Origin, Shared, Text, Transaction,
    UndoEvent, UndoManager, UndoOptions, Value,
};
use serde_json::{Value as Json, json};

use crate::json::{content, delta, doc, doc_with_history, object, values};
use crate::network::{NOW_MS, Network, REMOTE};

/// What a manager of one type watches: the edits of nobody in particular.
fn of(shared: impl Into<Shared>) -> UndoOptions {
    UndoOptions { scope: vec![shared.into()], ..UndoOptions::default() }
}

/// As [`of`], with each transaction a step of its own.
fn each_of(shared: impl Into<Shared>) -> UndoOptions {
    UndoOptions { capture_ms: 0, ..of(shared) }
}

/// Edits a document in one transaction of nobody in particular.
fn edit<T>(doc: &mut Doc, edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error>) -> T {
    edit_as(doc, Origin::default(), edit)
}

/// Edits a document in one transaction.
fn edit_as<T>(
    doc: &mut Doc,
    origin: Origin,
    edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error>,
) -> T {
    let mut transaction = doc.transact_as(origin, NOW_MS);
    let made = edit(&mut transaction).unwrap();
    transaction.commit();
    made
}

fn undo(doc: &mut Doc, manager: UndoManager) -> bool {
    let changed = manager.undo(doc).unwrap().is_some();
    doc.check().unwrap();
    changed
}

fn redo(doc: &mut Doc, manager: UndoManager) -> bool {
    let changed = manager.redo(doc).unwrap().is_some();
    doc.check().unwrap();
    changed
}

fn as_map(value: Option<&Value>) -> Map {
    value.and_then(Value::as_map).unwrap()
}

/// The text that stands as the first unit of another one.
fn embedded(doc: &Doc, text: Text) -> Text {
    match text.delta(doc).first() {
        Some(Delta::Insert(Inserted::Shared(Shared::Text(text)), _)) => *text,
        other => panic!("{other:?} is no text"),
    }
}

#[test]
fn formats_that_say_the_same_twice_are_taken_away_whole() {
    let mut made = doc_with_history(1);
    let text = made.text("text");
    for (words, attributes) in [
        (" After", json!({ "type": "text", "italic": true })),
        ("Test", json!({ "type": "text" })),
        ("Merge ", json!({ "type": "text", "bold": true })),
    ] {
        edit(&mut made, |edit| text.insert_with(edit, 0, words, &object(attributes)));
    }
    let mut loaded = doc_with_history(2);
    loaded.apply_v1(&made.state_v1()).unwrap();
    for mut doc in [made, loaded] {
        let text = doc.text("text");
        edit(&mut doc, |edit| text.format(edit, 0, 6, &object(json!({ "bold": null }))));
        edit(&mut doc, |edit| text.format(edit, 6, 4, &object(json!({ "type": "text" }))));
        assert_eq!(
            delta(&doc, text),
            json!([
                { "insert": "Merge Test", "attributes": { "type": "text" } },
                { "insert": " After", "attributes": { "type": "text", "italic": true } },
            ])
        );
    }
}

#[test]
fn a_step_without_end_is_ended_by_stopping() {
    let mut doc = doc(1);
    let array = doc.array("array");
    let manager = doc.track(UndoOptions { capture_ms: u64::MAX, ..of(array) });
    edit(&mut doc, |edit| array.push(edit, values(json!([1, 2, 3]))));
    manager.stop(&mut doc);
    edit(&mut doc, |edit| array.push(edit, values(json!([4, 5, 6]))));
    undo(&mut doc, manager);
    assert_eq!(content(&doc, array), json!([1, 2, 3]));
}

#[test]
fn text_is_undone_and_redone_beside_others() {
    let mut network = Network::new(3, 1);
    let (text, theirs) = (network.text(0), network.text(1));
    let manager = network.doc_mut(0).track(of(text));
    let shown = |network: &Network| text.read(network.doc(0));

    // What came and went in one step is not brought back.
    network.edit(0, |edit| text.insert(edit, 0, "test"));
    network.edit(0, |edit| text.delete(edit, 0, 4));
    network.undo(0, manager);
    assert_eq!(shown(&network), "");

    // What was brought back is undone with what it was at first.
    network.edit(0, |edit| text.insert(edit, 0, "a"));
    manager.stop(network.doc_mut(0));
    network.edit(0, |edit| text.delete(edit, 0, 1));
    manager.stop(network.doc_mut(0));
    network.undo(0, manager);
    assert_eq!(shown(&network), "a");
    network.undo(0, manager);
    assert_eq!(shown(&network), "");

    network.edit(0, |edit| text.insert(edit, 0, "abc"));
    network.edit(1, |edit| theirs.insert(edit, 0, "xyz"));
    network.sync();
    network.undo(0, manager);
    assert_eq!(shown(&network), "xyz");
    network.redo(0, manager);
    assert_eq!(shown(&network), "abcxyz");
    network.sync();
    // What somebody else deleted stays deleted.
    network.edit(1, |edit| theirs.delete(edit, 0, 1));
    network.sync();
    network.undo(0, manager);
    assert_eq!(shown(&network), "xyz");
    network.redo(0, manager);
    assert_eq!(shown(&network), "bcxyz");

    let bold = json!([
        { "insert": "b" },
        { "insert": "cxy", "attributes": { "bold": true } },
        { "insert": "z" },
    ]);
    network.edit(0, |edit| text.format(edit, 1, 3, &object(json!({ "bold": true }))));
    assert_eq!(network.shown(0)["text"], bold);
    network.undo(0, manager);
    assert_eq!(network.shown(0)["text"], json!([{ "insert": "bcxyz" }]));
    network.redo(0, manager);
    assert_eq!(network.shown(0)["text"], bold);
    network.agree();
}

#[test]
fn what_others_did_to_one_type_is_refused_by_undoing_it() {
    let update = |client, roots: &[&str], element: i32| {
        let mut doc = doc(client);
        for root in roots {
            let array = doc.array(root);
            edit(&mut doc, |edit| array.insert(edit, 0, values(json!([element]))));
        }
        doc.state_v1()
    };
    let mut doc = doc(3);
    let (restricted, public) = (doc.array("restricted"), doc.array("public"));
    let foreign = Origin(7);
    for update in [update(1, &["restricted", "public"], 1), update(2, &["public"], 2)] {
        let manager = doc.track(UndoOptions { origins: vec![foreign], ..of(restricted) });
        let mut transaction = doc.transact_as(foreign, NOW_MS);
        transaction.apply_v1(&update).unwrap();
        transaction.commit();
        while undo(&mut doc, manager) {}
        manager.untrack(&mut doc);
    }
    assert_eq!(content(&doc, restricted), json!([]));
    assert_eq!(public.len(&doc), 2);
}

#[test]
fn a_manager_of_the_whole_document_undoes_in_roots_to_come() {
    let mut doc = doc(1);
    let manager = doc.track(UndoOptions::default());
    let array = doc.array("");
    edit(&mut doc, |edit| array.insert(edit, 0, values(json!([1]))));
    undo(&mut doc, manager);
    assert!(array.is_empty(&doc));
}

#[test]
fn undoing_what_is_undone_does_nothing() {
    let mut doc = doc(1);
    let text = doc.text("");
    edit(&mut doc, |edit| text.insert(edit, 0, "1221"));
    let manager = doc.track(of(text));
    edit(&mut doc, |edit| text.insert(edit, 2, "3"));
    edit(&mut doc, |edit| text.insert(edit, 3, "3"));
    assert!(undo(&mut doc, manager));
    assert!(!undo(&mut doc, manager));
    edit(&mut doc, |edit| text.insert(edit, 2, "3"));
    assert_eq!(text.read(&doc), "12321");
}

#[test]
fn keys_are_undone_unless_somebody_else_set_them() {
    let mut network = Network::new(2, 1);
    let (map, theirs) = (network.map(0), network.map(1));
    network.edit(0, |edit| map.insert(edit, "a", 0));
    let manager = network.doc_mut(0).track(of(map));
    let shown = |network: &Network| content(network.doc(0), map);
    network.edit(0, |edit| map.insert(edit, "a", 1));
    network.undo(0, manager);
    assert_eq!(shown(&network), json!({ "a": 0 }));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!({ "a": 1 }));

    // A whole type comes back with what is in it.
    let inner = network.edit(0, |edit| map.insert_map(edit, "a"));
    network.edit(0, |edit| inner.insert(edit, "x", 42));
    assert_eq!(shown(&network), json!({ "a": { "x": 42 } }));
    network.undo(0, manager);
    assert_eq!(shown(&network), json!({ "a": 1 }));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!({ "a": { "x": 42 } }));
    network.sync();

    network.edit(1, |edit| theirs.insert(edit, "a", 44));
    network.sync();
    network.undo(0, manager);
    assert_eq!(shown(&network), json!({ "a": 44 }));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!({ "a": 44 }));

    network.edit(0, |edit| map.insert(edit, "b", "initial"));
    manager.stop(network.doc_mut(0));
    network.edit(0, |edit| map.insert(edit, "b", "val1"));
    network.edit(0, |edit| map.insert(edit, "b", "val2"));
    manager.stop(network.doc_mut(0));
    network.undo(0, manager);
    assert_eq!(shown(&network)["b"], json!("initial"));
    network.agree();
}

#[test]
fn elements_are_undone_and_redone_beside_others() {
    let mut network = Network::new(3, 1);
    let (array, theirs) = (network.array(0), network.array(1));
    let manager = network.doc_mut(0).track(of(array));
    let shown = |network: &Network| content(network.doc(0), array);
    network.edit(0, |edit| array.insert(edit, 0, values(json!([1, 2, 3]))));
    network.edit(1, |edit| theirs.insert(edit, 0, values(json!([4, 5, 6]))));
    network.sync();
    assert_eq!(shown(&network), json!([1, 2, 3, 4, 5, 6]));
    network.undo(0, manager);
    assert_eq!(shown(&network), json!([4, 5, 6]));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!([1, 2, 3, 4, 5, 6]));
    network.sync();
    network.edit(1, |edit| theirs.delete(edit, 0, 1));
    network.sync();
    network.undo(0, manager);
    assert_eq!(shown(&network), json!([4, 5, 6]));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!([2, 3, 4, 5, 6]));
    network.edit(0, |edit| array.delete(edit, 0, 5));

    // A map in the array: what is put into it is a step of its own, and goes to its copy once it was redone.
    let map = network.edit(0, |edit| array.insert_map(edit, 0));
    let Shared::Map(map) = map else { unreachable!("a map was inserted") };
    assert_eq!(shown(&network), json!([{}]));
    manager.stop(network.doc_mut(0));
    network.edit(0, |edit| map.insert(edit, "a", 1));
    assert_eq!(shown(&network), json!([{ "a": 1 }]));
    network.undo(0, manager);
    assert_eq!(shown(&network), json!([{}]));
    network.undo(0, manager);
    assert_eq!(shown(&network), json!([2, 3, 4, 5, 6]));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!([{}]));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!([{ "a": 1 }]));
    network.sync();

    let inner = as_map(theirs.get(network.doc(1), 0).as_ref());
    network.edit(1, |edit| inner.insert(edit, "b", 2));
    network.sync();
    assert_eq!(shown(&network), json!([{ "a": 1, "b": 2 }]));
    network.undo(0, manager);
    assert_eq!(shown(&network), json!([{ "b": 2 }]));
    network.undo(0, manager);
    assert_eq!(shown(&network), json!([2, 3, 4, 5, 6]));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!([{ "b": 2 }]));
    network.redo(0, manager);
    assert_eq!(shown(&network), json!([{ "a": 1, "b": 2 }]));
    network.agree();
}

#[test]
fn xml_comes_back_with_children_and_formats() {
    let mut network = Network::new(3, 1);
    let xml = network.xml(0);
    let manager = network.doc_mut(0).track(of(xml));
    let shown = |network: &Network| xml.to_xml(network.doc(0));
    network.edit(0, |edit| xml.insert(edit, 0, vec![New::XmlElement("p".to_owned())]));
    let Some(Value::Shared(Shared::Xml(child))) = xml.get(network.doc(0), 0) else {
        unreachable!("an element was inserted")
    };
    network.edit(0, |edit| child.insert(edit, 0, vec![New::XmlText]));
    let Some(Value::Shared(Shared::Text(text))) = child.get(network.doc(0), 0) else {
        unreachable!("a text was inserted")
    };
    network.edit(0, |edit| text.insert(edit, 0, "content"));
    assert_eq!(shown(&network), "<p>content</p>");
    manager.stop(network.doc_mut(0));
    network.edit(0, |edit| text.format(edit, 3, 4, &object(json!({ "bold": {} }))));
    assert_eq!(shown(&network), "<p>con<bold>tent</bold></p>");
    network.undo(0, manager);
    assert_eq!(shown(&network), "<p>content</p>");
    network.redo(0, manager);
    assert_eq!(shown(&network), "<p>con<bold>tent</bold></p>");
    network.edit(0, |edit| xml.delete(edit, 0, 1));
    assert_eq!(shown(&network), "");
    network.undo(0, manager);
    assert_eq!(shown(&network), "<p>con<bold>tent</bold></p>");
    network.agree();
}

#[test]
fn only_tracked_origins_are_undone() {
    let mut doc = doc(1);
    let text = doc.text("text");
    let manager = doc.track(UndoOptions { origins: vec![Origin(41), Origin(42)], ..of(text) });
    edit_as(&mut doc, Origin(42), |edit| text.insert(edit, 0, "abc"));
    edit_as(&mut doc, Origin(43), |edit| text.insert(edit, 3, "d"));
    edit(&mut doc, |edit| text.insert(edit, 4, "e"));
    assert_eq!(text.read(&doc), "abcde");
    assert!(undo(&mut doc, manager));
    assert_eq!(text.read(&doc), "de");
    assert!(!undo(&mut doc, manager));
}

#[test]
fn only_what_happens_in_its_types_is_a_managers_step() {
    let mut doc = doc(1);
    let array = doc.array("array");
    let texts =
        edit(&mut doc, |edit| Ok([array.insert_text(edit, 0)?, array.insert_text(edit, 1)?]));
    let [Shared::Text(text0), Shared::Text(text1)] = texts else {
        unreachable!("texts were inserted")
    };
    let of_one = doc.track(of(text0));
    let of_both = doc
        .track(UndoOptions { scope: vec![text0.into(), text1.into()], ..UndoOptions::default() });
    edit(&mut doc, |edit| text1.insert(edit, 0, "abc"));
    assert_eq!((of_one.undo_len(&doc), of_both.undo_len(&doc)), (0, 1));
    undo(&mut doc, of_one);
    assert_eq!(text1.read(&doc), "abc");
    undo(&mut doc, of_both);
    assert_eq!(text1.read(&doc), "");
}

#[test]
fn steps_inside_an_embedded_text_are_undone() {
    let mut doc = doc(1);
    let text = doc.text("text");
    let manager = doc.track(of(text));
    let bold = object(json!({ "bold": true }));
    edit(&mut doc, |edit| {
        text.embed(edit, 0, New::Text, Some(&bold))?;
        embedded(edit.doc(), text).insert(edit, 0, "initial text")
    });
    let nested = embedded(&doc, text);
    assert_eq!(nested.read(&doc), "initial text");
    manager.stop(&mut doc);
    edit(&mut doc, |edit| nested.delete(edit, 0, 12));
    edit(&mut doc, |edit| nested.insert(edit, 0, "other text"));
    assert_eq!(nested.read(&doc), "other text");
    undo(&mut doc, manager);
    assert_eq!(nested.read(&doc), "initial text");
    undo(&mut doc, manager);
    assert!(text.is_empty(&doc));
}

/// Two documents that are told at once what the other one did.
struct Pair {
    docs: [Doc; 2],
}

impl Pair {
    fn new() -> Self {
        Self { docs: [doc(1), doc(2)] }
    }

    fn commit(&mut self, at: usize, change: impl FnOnce(&mut Doc) -> Option<Commit<'_>>) {
        let updates = change(&mut self.docs[at]).map_or_else(Vec::new, |commit| commit.events_v1());
        for update in updates {
            let mut transaction = self.docs[1 - at].transact_as(REMOTE, NOW_MS);
            transaction.apply_v1(&update).unwrap();
            transaction.commit();
        }
    }

    fn edit(
        &mut self,
        at: usize,
        origin: Origin,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error>,
    ) {
        self.commit(at, |doc| {
            let mut transaction = doc.transact_as(origin, NOW_MS);
            edit(&mut transaction).unwrap();
            Some(transaction.commit())
        });
    }

    fn undo(&mut self, at: usize, manager: UndoManager) {
        self.commit(at, |doc| manager.undo(doc).unwrap());
    }
}

#[test]
fn steps_that_change_nothing_any_more_are_passed_over() {
    let mut pair = Pair::new();
    let arrays = [pair.docs[0].array("array"), pair.docs[1].array("array")];
    for (key, value) in [("hello", "world"), ("key", "value")] {
        pair.edit(0, Origin::default(), |edit| {
            let end = arrays[0].len(edit.doc());
            arrays[0].insert_map(edit, end)?;
            as_map(arrays[0].get(edit.doc(), end).as_ref()).insert(edit, key, value)
        });
    }
    let managers = [0, 1].map(|at| {
        let origins = vec![Origin(1 + at as u64)];
        pair.docs[at].track(UndoOptions { origins, ..of(arrays[at]) })
    });
    let [first, second] = [0, 1].map(|index| as_map(arrays[0].get(&pair.docs[0], index).as_ref()));
    pair.edit(0, Origin(1), |edit| second.insert(edit, "key", "value modified"));
    managers[0].stop(&mut pair.docs[0]);
    pair.edit(0, Origin(1), |edit| first.insert(edit, "hello", "world modified"));
    pair.edit(1, Origin(2), |edit| arrays[1].delete(edit, 0, 1));
    // The first map comes back as a copy: the step that changed its forerunner is no step any more.
    pair.undo(1, managers[1]);
    pair.undo(0, managers[0]);
    for (doc, array) in pair.docs.iter().zip(arrays) {
        assert_eq!(content(doc, array), json!([{ "hello": "world modified" }, { "key": "value" }]));
    }
}

/// Puts blocks of these words under one key one after the other, undoes all and redoes all.
fn check_blocks(words: &[&str]) {
    let mut doc = doc_with_history(1);
    let design = doc.map("");
    let manager = doc.track(each_of(design));
    for word in words {
        edit(&mut doc, |edit| {
            let text = match design.get(edit.doc(), "text") {
                None => design.insert_map(edit, "text")?,
                known => as_map(known.as_ref()),
            };
            text.insert_map(edit, "blocks")?.insert(edit, "text", *word)
        });
    }
    let shown = |word: &str| json!({ "text": { "blocks": { "text": word } } });
    let mut past: Vec<Json> = words.iter().map(|word| shown(word)).collect();
    past.insert(0, json!({}));
    assert_eq!(content(&doc, design), past[words.len()]);
    for step in (0..words.len()).rev() {
        undo(&mut doc, manager);
        assert_eq!(content(&doc, design), past[step], "after undoing to {step}");
    }
    for (step, expected) in past.iter().enumerate().skip(1) {
        redo(&mut doc, manager);
        assert_eq!(content(&doc, design), *expected, "after redoing to {step}");
    }
}

#[test]
fn values_inside_values_are_undone_and_redone() {
    check_blocks(&["Type Something", "Something", "Something Else"]);
}

#[test]
fn blocks_under_one_key_are_undone_and_redone() {
    check_blocks(&["1", "2", "3", "4"]);
}

#[test]
fn steps_are_redone_in_a_map_that_was_redone() {
    let mut doc = doc(1);
    let root = doc.map("");
    let manager = doc.track(of(root));
    let point = edit(&mut doc, |edit| {
        let point = root.insert_map(edit, "a")?;
        point.insert(edit, "x", 0)?;
        point.insert(edit, "y", 0)?;
        Ok(point)
    });
    for place in [100, 200, 300] {
        manager.stop(&mut doc);
        for key in ["x", "y"] {
            edit(&mut doc, |edit| point.insert(edit, key, place));
        }
    }
    manager.stop(&mut doc);
    for place in [300, 200, 100, 0] {
        assert_eq!(content(&doc, point), json!({ "x": place, "y": place }));
        undo(&mut doc, manager);
    }
    assert_eq!(root.get(&doc, "a"), None);
    for place in [0, 100, 200, 300] {
        redo(&mut doc, manager);
        assert_eq!(content(&doc, root), json!({ "a": { "x": place, "y": place } }));
    }
}

#[test]
fn attributes_are_redone_in_an_element_that_was_redone() {
    let mut doc = doc(1);
    let fragment = doc.xml("t");
    let ours = Origin(1);
    let manager = doc.track(UndoOptions { origins: vec![ours], ..each_of(fragment) });
    let element = |doc: &Doc| match fragment.get(doc, 0) {
        Some(Value::Shared(Shared::Xml(element))) => element,
        other => panic!("{other:?} is no element"),
    };
    edit_as(&mut doc, ours, |edit| {
        fragment.insert(edit, 0, vec![New::XmlElement("test-node".to_owned())])?;
        let element = element(edit.doc());
        element.set_attribute(edit, "a", "100")?;
        element.set_attribute(edit, "b", "0")
    });
    edit_as(&mut doc, ours, |edit| element(edit.doc()).set_attribute(edit, "a", "200"));
    edit_as(&mut doc, ours, |edit| {
        element(edit.doc()).set_attribute(edit, "a", "180")?;
        element(edit.doc()).set_attribute(edit, "b", "50")
    });
    let mut past = vec![fragment.to_xml(&doc)];
    for _ in 0..3 {
        undo(&mut doc, manager);
        past.push(fragment.to_xml(&doc));
    }
    let states = [
        r#"<test-node a="180" b="50"></test-node>"#,
        r#"<test-node a="200" b="0"></test-node>"#,
        r#"<test-node a="100" b="0"></test-node>"#,
        "",
    ];
    assert_eq!(past, states);
    for state in states.iter().rev().skip(1) {
        redo(&mut doc, manager);
        assert_eq!(fragment.to_xml(&doc), *state);
    }
}

#[test]
fn an_undone_format_reaches_others_as_it_is() {
    let (mut ours, mut theirs) = (doc(1), doc(2));
    let (text, their_text) = (ours.text(""), theirs.text(""));
    let words = "Attack ships on fire off the shoulder of Orion.";
    edit(&mut ours, |edit| text.insert(edit, 0, words));
    let manager = ours.track(of(text));
    for (index, len, bold) in [(13, 7, json!(true)), (16, 4, json!(null))] {
        theirs.apply_v1(&ours.state_v1()).unwrap();
        let bold = object(json!({ "bold": bold }));
        edit(&mut ours, |edit| text.format(edit, index, len, &bold));
        manager.stop(&mut ours);
    }
    theirs.apply_v1(&ours.state_v1()).unwrap();
    undo(&mut ours, manager);
    theirs.apply_v1(&ours.state_v1()).unwrap();
    let expected = json!([
        { "insert": "Attack ships " },
        { "insert": "on fire", "attributes": { "bold": true } },
        { "insert": " off the shoulder of Orion." },
    ]);
    assert_eq!(delta(&ours, text), expected);
    assert_eq!(delta(&theirs, their_text), expected);
}

#[test]
fn what_others_set_under_a_key_holds_unless_it_is_to_be_ignored() {
    for (ignore_remote_map_changes, expected) in [(true, 2), (false, 4)] {
        let mut pair = Pair::new();
        let maps = [pair.docs[0].map(""), pair.docs[1].map("")];
        let manager = pair.docs[0].track(UndoOptions { ignore_remote_map_changes, ..of(maps[0]) });
        for number in 1..=4 {
            let at = usize::from(number % 2 == 0);
            pair.edit(at, Origin::default(), |edit| maps[at].insert(edit, "x", number));
        }
        pair.undo(0, manager);
        for (doc, map) in pair.docs.iter().zip(maps) {
            assert_eq!(content(doc, map), json!({ "x": expected }));
        }
    }
}

#[test]
fn an_element_comes_back_as_it_was_before_the_step_that_changed_and_deleted_it() {
    let mut doc = doc(1);
    let fragment = doc.xml("");
    let ours = Origin(1);
    let manager = doc.track(UndoOptions { origins: vec![ours], ..of(fragment) });
    let element = |doc: &Doc| match fragment.get(doc, 0) {
        Some(Value::Shared(Shared::Xml(element))) => element,
        other => panic!("{other:?} is no element"),
    };
    edit(&mut doc, |edit| {
        fragment.insert(edit, 0, vec![New::XmlElement("test".to_owned())])?;
        let element = element(edit.doc());
        element.set_attribute(edit, "a", "1")?;
        element.set_attribute(edit, "b", "2")
    });
    assert_eq!(fragment.to_xml(&doc), r#"<test a="1" b="2"></test>"#);
    edit_as(&mut doc, ours, |edit| {
        element(edit.doc()).set_attribute(edit, "b", "3")?;
        fragment.delete(edit, 0, 1)
    });
    assert_eq!(fragment.to_xml(&doc), "");
    undo(&mut doc, manager);
    assert_eq!(fragment.to_xml(&doc), r#"<test a="1" b="2"></test>"#);
}

#[test]
fn a_key_that_was_set_and_removed_again_and_again_is_undone_step_by_step() {
    let mut doc = doc(1);
    let map = doc.map("map");
    let manager = doc.track(each_of(map));
    let steps = ["a", "", "b", "", "c", "", "d"];
    let shown = |value: &str| if value.is_empty() { json!({}) } else { json!({ "a": value }) };
    for value in steps {
        edit(&mut doc, |edit| {
            if value.is_empty() {
                assert!(map.remove(edit, "a"));
                return Ok(());
            }
            map.insert(edit, "a", value)
        });
    }
    for value in steps.iter().rev() {
        assert_eq!(content(&doc, map), shown(value));
        undo(&mut doc, manager);
    }
    assert_eq!(content(&doc, map), json!({}));
}

#[test]
fn an_embedded_text_comes_back_with_the_attributes_it_had() {
    let mut doc = doc(1);
    let root = doc.text("sharedRoot");
    edit(&mut doc, |edit| {
        root.embed(edit, 0, New::XmlText, None)?;
        let button = embedded(edit.doc(), root);
        button.set_attribute(edit, "type", "button")?;
        button.set_attribute(edit, "test", true)?;
        button.insert(edit, 0, "Click me")
    });
    let manager = doc.track(of(root));
    let button = embedded(&doc, root);
    edit(&mut doc, |edit| button.set_attribute(edit, "type", "paragraph"));
    edit(&mut doc, |edit| root.delete(edit, 0, 1));
    undo(&mut doc, manager);
    let mut remote = crate::json::doc(2);
    let remote_root = remote.text("sharedRoot");
    remote.apply_v2(&doc.state_v2()).unwrap();
    for (doc, root) in [(&doc, root), (&remote, remote_root)] {
        let button = embedded(doc, root);
        assert_eq!(button.read(doc), "Click me");
        assert_eq!(button.attribute(doc, "type"), Some(Value::Any("button".into())));
        assert_eq!(button.attribute(doc, "test"), Some(Value::Any(true.into())));
    }
}

#[test]
fn a_type_can_come_under_a_manager_later() {
    let mut doc = doc(1);
    let (other, array) = (doc.text("other"), doc.array(""));
    let manager = doc.track(of(other));
    edit(&mut doc, |edit| array.insert(edit, 0, values(json!([0]))));
    assert_eq!(manager.undo_len(&doc), 0);
    manager.add_to_scope(&mut doc, array);
    edit(&mut doc, |edit| array.insert(edit, 1, values(json!([1]))));
    assert!(undo(&mut doc, manager));
    assert_eq!(content(&doc, array), json!([0]));
}

#[test]
fn stacks_tell_what_is_done_to_them_and_steps_carry_a_note() {
    let mut doc = doc(1);
    let text = doc.text("text");
    let manager = doc.track(of(text));
    edit(&mut doc, |edit| text.insert(edit, 0, "abc"));
    assert_eq!(manager.events(&doc), [UndoEvent::Added(Direction::Undo)]);
    assert!(manager.set_meta(&mut doc, Direction::Undo, 0.into()));

    let commit = manager.undo(&mut doc).unwrap().unwrap();
    assert!(commit.changed(text));
    assert_eq!(
        manager.events(&doc),
        [UndoEvent::Added(Direction::Redo), UndoEvent::Popped(Direction::Undo, Some(0.into()))]
    );
    assert!(manager.set_meta(&mut doc, Direction::Redo, 1.into()));

    let commit = manager.redo(&mut doc).unwrap().unwrap();
    assert!(commit.changed(text));
    assert_eq!(
        manager.events(&doc),
        [UndoEvent::Added(Direction::Undo), UndoEvent::Popped(Direction::Redo, Some(1.into()))]
    );
    edit(&mut doc, |edit| text.insert(edit, 3, "d"));
    assert_eq!(manager.events(&doc), [UndoEvent::Added(Direction::Undo)]);
    edit(&mut doc, |edit| text.insert(edit, 4, "e"));
    assert_eq!(manager.events(&doc), [UndoEvent::Updated]);
}

#[test]
fn the_note_of_a_step_is_at_hand_where_its_change_is_heard() {
    let mut doc = doc(1);
    let text = doc.text("text");
    let manager = doc.track(of(text));
    let watch = doc.observe(text);
    let note = |doc: &mut Doc, direction| manager.set_meta(doc, direction, "42".into());
    edit(&mut doc, |edit| text.insert(edit, 0, "abc"));
    assert!(note(&mut doc, Direction::Undo));
    // Where the text's change is heard, what was popped says which step it was and what is kept with it.
    let popped = |commit: &Commit<'_>| match manager.events(commit.doc()).last() {
        Some(UndoEvent::Popped(direction, Some(meta))) => (*direction, meta.clone()),
        other => panic!("{other:?}"),
    };
    let commit = manager.undo(&mut doc).unwrap().unwrap();
    assert_eq!(commit.events(watch).len(), 1);
    assert_eq!(popped(&commit), (Direction::Undo, "42".into()));
    assert!(note(&mut doc, Direction::Redo));
    let commit = manager.redo(&mut doc).unwrap().unwrap();
    assert_eq!(commit.events(watch).len(), 1);
    assert_eq!(popped(&commit), (Direction::Redo, "42".into()));
    // With the next transaction it is no longer said.
    doc.transact().commit();
    assert_eq!(manager.events(&doc), []);
}

#[test]
fn what_a_filter_holds_is_not_deleted_by_undoing() {
    let mut doc = doc(1);
    let array = doc.array("array");
    let manager = doc.track(of(array));
    // Only empty maps may go.
    manager.set_delete_filter(&mut doc, |candidate| {
        candidate.value().as_map().is_some_and(|map| map.keys(candidate.doc()).is_empty())
    });
    edit(&mut doc, |edit| {
        array.insert_map(edit, 0)?;
        as_map(array.get(edit.doc(), 0).as_ref()).insert(edit, "hi", 1)?;
        array.insert_map(edit, 1)
    });
    assert_eq!(content(&doc, array), json!([{ "hi": 1 }, {}]));
    assert!(undo(&mut doc, manager));
    assert_eq!(content(&doc, array), json!([{ "hi": 1 }]));
}
