//! Events have Yjs's values: these cases were run in Yjs 13.6.33, whose events are written beside them.

use crdt::{
    Any, ClientId, Commit, Doc, Inserted, KeyChange, New, Object, Observer, Options, PathStep,
    Shared, Text, Transaction, UndoOptions, Value,
};
use serde_json::{Value as Json, json};

use crate::replay::{any, event, same};

fn doc(client: u64) -> Doc {
    Doc::new(ClientId::new(client).unwrap(), Options::default())
}

/// Asserts the events of an observer, in the notation of the vectors.
fn check(commit: &Commit<'_>, observer: Observer, expected: &Json) {
    let got = Any::Array(commit.events(observer).iter().map(event).collect());
    assert!(same(&got, &any(expected)), "\n got      {got:?}\n expected {expected}");
}

/// Runs edits in a transaction and asserts the events that come of it.
fn edit(
    doc: &mut Doc,
    observer: Observer,
    edits: impl FnOnce(&mut Transaction<'_>),
    expected: &Json,
) {
    let mut transaction = doc.transact();
    edits(&mut transaction);
    check(&transaction.commit(), observer, expected);
}

fn object(json: &Json) -> Object {
    match any(json) {
        Any::Object(object) => object,
        other => panic!("{other:?} is no object"),
    }
}

fn value(value: impl Into<Any>) -> New {
    New::Any(value.into())
}

/// An event of the observed type itself.
fn own(delta: &Json, keys: &Json) -> Json {
    json!([{ "path": [], "delta": delta, "keys": keys }])
}

#[test]
fn keys_of_a_map() {
    let mut doc = doc(1);
    let map = doc.map("m");
    let watch = doc.observe_deep(map);
    let run = |doc: &mut Doc, edits: &dyn Fn(&mut Transaction<'_>), keys: Json| {
        edit(doc, watch, edits, &own(&json!([]), &keys));
    };
    let set = |t: &mut Transaction<'_>, key: &str, to: u32| map.insert(t, key, to).unwrap();
    run(
        &mut doc,
        &|t| {
            set(t, "a", 1);
            map.insert(t, "b", "x").unwrap();
        },
        json!([["a", "add"], ["b", "add"]]),
    );
    // Set twice: only what was there before the transaction is told.
    run(
        &mut doc,
        &|t| {
            set(t, "a", 2);
            set(t, "a", 3);
        },
        json!([["a", "update", 1]]),
    );
    // A key that came and went has an event that tells nothing.
    run(
        &mut doc,
        &|t| {
            set(t, "c", 2);
            assert!(map.remove(t, "c"));
        },
        json!([]),
    );
    run(
        &mut doc,
        &|t| {
            set(t, "a", 9);
            assert!(map.remove(t, "a"));
            assert!(map.remove(t, "b"));
            set(t, "b", 5);
        },
        json!([["a", "delete", 3], ["b", "update", "x"]]),
    );
    // In the order in which they changed first.
    run(
        &mut doc,
        &|t| {
            set(t, "b", 6);
            set(t, "z", 1);
            set(t, "b", 7);
        },
        json!([["b", "update", 5], ["z", "add"]]),
    );
    // A type that is deleted has no event, whatever was changed in it before.
    run(
        &mut doc,
        &|t| {
            map.insert_map(t, "t").unwrap().insert(t, "in", 1).unwrap();
        },
        json!([["t", "add"]]),
    );
    run(
        &mut doc,
        &|t| {
            let Some(Value::Shared(Shared::Map(inner))) = map.get(t.doc(), "t") else { panic!() };
            inner.insert(t, "in", 2).unwrap();
            assert!(map.remove(t, "t"));
        },
        json!([["t", "delete", { "$t": "shared", "v": "map" }]]),
    );
}

#[test]
fn elements_of_an_array() {
    let mut doc = doc(1);
    let array = doc.array("a");
    let watch = doc.observe_deep(array);
    let own = |delta: Json| own(&delta, &json!([]));
    let shared = json!({ "$t": "shared", "v": "array" });
    edit(
        &mut doc,
        watch,
        |t| {
            let values = vec![value(1), value("two"), value(Any::Null), New::Array];
            array.insert(t, 0, values).unwrap();
        },
        &own(json!([{ "values": [1, "two", null, shared] }])),
    );
    edit(
        &mut doc,
        watch,
        |t| {
            array.delete(t, 1, 2).unwrap();
            array.insert(t, 1, vec![value(true)]).unwrap();
            array.push(t, vec![value(9)]).unwrap();
        },
        &own(json!([
            { "retain": 1 }, { "values": [true] }, { "delete": 2 }, { "retain": 1 }, { "values": [9] }
        ])),
    );
    edit(
        &mut doc,
        watch,
        |t| {
            array.insert(t, 0, vec![value("gone")]).unwrap();
            array.delete(t, 0, 1).unwrap();
        },
        &own(json!([])),
    );
}

#[test]
fn nearer_types_come_first_and_paths_are_those_afterwards() {
    let mut doc = doc(1);
    let array = doc.array("a");
    let mut transaction = doc.transact();
    array.insert(&mut transaction, 0, vec![New::Array]).unwrap();
    let Some(Value::Shared(Shared::Array(inner))) = array.get(transaction.doc(), 0) else {
        panic!("an array")
    };
    let Shared::Map(map) = inner.insert_map(&mut transaction, 0).unwrap() else { panic!("a map") };
    transaction.commit();
    let [deep, middle] = [doc.observe_deep(array), doc.observe_deep(inner)];
    let only = doc.observe(inner);
    let mut transaction = doc.transact();
    map.insert(&mut transaction, "k", 1).unwrap();
    inner.insert(&mut transaction, 0, vec![value(5)]).unwrap();
    array.insert(&mut transaction, 0, vec![value(6)]).unwrap();
    let commit = transaction.commit();
    let list = |path: Json, value: u32| json!({ "path": path, "delta": [{ "values": [value] }], "keys": [] });
    let key = |path: Json| json!({ "path": path, "delta": [], "keys": [["k", "add"]] });
    check(&commit, deep, &json!([list(json!([]), 6), list(json!([1]), 5), key(json!([1, 1]))]));
    check(&commit, middle, &json!([list(json!([]), 5), key(json!([1]))]));
    check(&commit, only, &json!([list(json!([]), 5)]));
    let targets: Vec<Shared> = commit.events(deep).iter().map(|event| event.target).collect();
    assert_eq!(targets, [array.into(), inner.into(), map.into()]);
    assert_eq!(commit.events(deep)[2].path, [PathStep::Index(1), PathStep::Index(1)]);
}

#[test]
fn texts_with_formats_and_embeds() {
    let mut doc = doc(1);
    let text = doc.text("t");
    let watch = doc.observe_deep(text);
    let run = |doc: &mut Doc, edits: &dyn Fn(&mut Transaction<'_>), delta: Json| {
        edit(doc, watch, edits, &own(&delta, &json!([])));
    };
    let format = |t: &mut Transaction<'_>, index: u32, len: u32, attributes: Json| {
        text.format(t, index, len, &object(&attributes)).unwrap();
    };
    run(
        &mut doc,
        &|t| text.insert(t, 0, "Hello world").unwrap(),
        json!([{ "insert": "Hello world" }]),
    );
    run(
        &mut doc,
        &|t| format(t, 0, 5, json!({ "bold": true })),
        json!([{ "retain": 5, "attributes": { "bold": true } }]),
    );
    run(
        &mut doc,
        &|t| format(t, 3, 5, json!({ "italic": true })),
        json!([{ "retain": 3 }, { "retain": 5, "attributes": { "italic": true } }]),
    );
    run(
        &mut doc,
        &|t| {
            let image = New::Any(any(&json!({ "image": "a.png" })));
            text.embed(t, 5, image, Some(&object(&json!({ "width": 3 })))).unwrap();
        },
        json!([{ "retain": 5 }, { "insert": { "image": "a.png" }, "attributes": { "width": 3 } }]),
    );
    run(
        &mut doc,
        &|t| text.insert(t, 3, "p!").unwrap(),
        json!([{ "retain": 3 }, { "insert": "p!", "attributes": { "bold": true } }]),
    );
    run(
        &mut doc,
        &|t| {
            format(t, 0, 8, json!({ "bold": null }));
            text.delete(t, 9, 2).unwrap();
        },
        json!([
            { "retain": 9, "attributes": { "bold": null } },
            { "delete": 2 },
            { "retain": 3, "attributes": { "bold": null } }
        ]),
    );
    run(
        &mut doc,
        &|t| {
            text.insert_with(t, 1, "xy", &Object::default()).unwrap();
            format(t, 1, 1, json!({ "bold": true }));
            text.delete(t, 0, 1).unwrap();
        },
        json!([
            { "delete": 1 },
            { "insert": "x", "attributes": { "bold": true } },
            { "insert": "y" }
        ]),
    );
    edit(
        &mut doc,
        watch,
        |t| text.set_attribute(t, "lang", "en").unwrap(),
        &own(&json!([]), &json!([["lang", "add"]])),
    );
    run(
        &mut doc,
        &|t| text.embed(t, 0, New::Map, None).unwrap(),
        json!([{ "insert": { "$t": "shared", "v": "map" } }]),
    );
    let Some(Inserted::Shared(Shared::Map(map))) = embedded(&doc, text) else { panic!("a map") };
    edit(
        &mut doc,
        watch,
        |t| map.insert(t, "k", 1).unwrap(),
        &json!([{ "path": [0], "delta": [], "keys": [["k", "add"]] }]),
    );
}

/// What a text begins with.
fn embedded(doc: &Doc, text: Text) -> Option<Inserted> {
    match text.delta(doc).into_iter().next()? {
        crdt::Delta::Insert(inserted, _) => Some(inserted),
        _ => None,
    }
}

#[test]
fn attributes_and_children_of_xml() {
    let mut doc = doc(1);
    let fragment = doc.xml("x");
    let watch = doc.observe_deep(fragment);
    let child = |doc: &Doc, xml: crdt::Xml, index: u32| match xml.get(doc, index) {
        Some(Value::Shared(shared)) => shared,
        other => panic!("{other:?} is no child"),
    };
    let element = |doc: &Doc, index: u32| match child(doc, fragment, index) {
        Shared::Xml(element) => element,
        other => panic!("{other:?} is no element"),
    };
    edit(
        &mut doc,
        watch,
        |t| {
            fragment.insert(t, 0, vec![New::XmlElement("p".to_owned())]).unwrap();
            let p = element(t.doc(), 0);
            p.insert(t, 0, vec![New::XmlText]).unwrap();
            let Shared::Text(text) = child(t.doc(), p, 0) else { panic!("a text") };
            text.insert(t, 0, "hi").unwrap();
            p.set_attribute(t, "id", "1").unwrap();
        },
        // What is in a new type is told by nothing but its being inserted.
        &own(&json!([{ "values": [{ "$t": "shared", "v": "xml" }] }]), &json!([])),
    );
    edit(
        &mut doc,
        watch,
        |t| {
            let p = element(t.doc(), 0);
            p.set_attribute(t, "id", "2").unwrap();
            p.set_attribute(t, "class", "c").unwrap();
            let Shared::Text(text) = child(t.doc(), p, 0) else { panic!("a text") };
            text.insert(t, 2, "!").unwrap();
            fragment.insert(t, 0, vec![New::XmlText]).unwrap();
        },
        &json!([
            { "path": [], "delta": [{ "values": [{ "$t": "shared", "v": "text" }] }], "keys": [] },
            { "path": [1], "delta": [], "keys": [["id", "update", "1"], ["class", "add"]] },
            { "path": [1, 0], "delta": [{ "retain": 2 }, { "insert": "!" }], "keys": [] }
        ]),
    );
    edit(
        &mut doc,
        watch,
        |t| {
            let p = element(t.doc(), 1);
            assert!(p.remove_attribute(t, "id"));
            fragment.delete(t, 0, 1).unwrap();
        },
        &json!([
            { "path": [], "delta": [{ "delete": 1 }], "keys": [] },
            { "path": [0], "delta": [], "keys": [["id", "delete", "2"]] }
        ]),
    );
}

#[test]
fn remote_updates_and_the_cleaning_after_them() {
    let (mut ours, mut theirs) = (doc(2), doc(1));
    let (text, other) = (ours.text("t"), theirs.text("t"));
    let bold = object(&json!({ "bold": true }));
    let mut transaction = theirs.transact();
    other.insert(&mut transaction, 0, "abcd").unwrap();
    transaction.commit();
    ours.apply_v1(&theirs.state_v1()).unwrap();
    for (doc, text) in [(&mut ours, text), (&mut theirs, other)] {
        let mut transaction = doc.transact();
        text.format(&mut transaction, 0, 4, &bold).unwrap();
        transaction.commit();
    }
    let watch = ours.observe(text);
    let commit = ours.apply_v1(&theirs.state_v1()).unwrap();
    assert_eq!(commit.events_v1().len(), 2);
    // Yjs tells the same twice: as the marks come in, and as those that say nothing are deleted.
    let step = json!([{ "retain": 4, "attributes": { "bold": true } }]);
    check(
        &commit,
        watch,
        &json!([
            { "path": [], "delta": step, "keys": [] }, { "path": [], "delta": step, "keys": [] }
        ]),
    );
}

#[test]
fn paths_after_concurrent_edits() {
    let (mut ours, mut theirs) = (doc(2), doc(1));
    let (root, other) = (ours.array("r"), theirs.array("r"));
    let mut transaction = theirs.transact();
    let Shared::Map(map) = other.insert_map(&mut transaction, 0).unwrap() else { panic!("a map") };
    let list = map.insert_array(&mut transaction, "list").unwrap();
    transaction.commit();
    ours.apply_v1(&theirs.state_v1()).unwrap();
    let watch = ours.observe_deep(root);
    edit(
        &mut ours,
        watch,
        |t| root.insert(t, 0, vec![value("b1"), value("b2")]).unwrap(),
        &own(&json!([{ "values": ["b1", "b2"] }]), &json!([])),
    );
    let mut transaction = theirs.transact();
    list.push(&mut transaction, vec![value(7)]).unwrap();
    other.insert(&mut transaction, 0, vec![value("a")]).unwrap();
    map.insert(&mut transaction, "n", 1).unwrap();
    transaction.commit();
    check(
        &ours.apply_v1(&theirs.state_v1()).unwrap(),
        watch,
        &json!([
            { "path": [], "delta": [{ "values": ["a"] }], "keys": [] },
            { "path": [3], "delta": [], "keys": [["n", "add"]] },
            { "path": [3, "list"], "delta": [{ "values": [7] }], "keys": [] }
        ]),
    );
    theirs.apply_v1(&ours.state_v1()).unwrap();
    let mut transaction = theirs.transact();
    list.push(&mut transaction, vec![value(8)]).unwrap();
    other.delete(&mut transaction, 0, 4).unwrap();
    transaction.commit();
    // What lay in the map has no event any more.
    check(
        &ours.apply_v2(&theirs.state_v2()).unwrap(),
        watch,
        &own(&json!([{ "delete": 4 }]), &json!([])),
    );
}

#[test]
fn undo_and_redo_have_events() {
    let mut doc = doc(1);
    let (map, text) = (doc.map("m"), doc.text("t"));
    let undo = doc.track(UndoOptions { capture_ms: 0, ..UndoOptions::default() });
    let [keys, characters] = [doc.observe(map), doc.observe(text)];
    let edits: [&dyn Fn(&mut Transaction<'_>); 4] = [
        &|t| map.insert(t, "k", 1).unwrap(),
        &|t| map.insert(t, "k", 2).unwrap(),
        &|t| text.insert(t, 0, "abc").unwrap(),
        &|t| text.delete(t, 1, 1).unwrap(),
    ];
    for edit in edits {
        let mut transaction = doc.transact();
        edit(&mut transaction);
        transaction.commit();
    }
    let steps = [
        (characters, own(&json!([{ "retain": 1 }, { "insert": "b" }]), &json!([]))),
        (characters, own(&json!([{ "delete": 3 }]), &json!([]))),
        (keys, own(&json!([]), &json!([["k", "update", 2]]))),
    ];
    for (observer, expected) in steps {
        check(&undo.undo(&mut doc).unwrap().unwrap(), observer, &expected);
    }
    let expected = own(&json!([]), &json!([["k", "update", 1]]));
    check(&undo.redo(&mut doc).unwrap().unwrap(), keys, &expected);
}

#[test]
fn events_are_those_of_the_last_transaction_and_of_who_still_observes() {
    let mut doc = doc(1);
    let map = doc.map("m");
    let watch = doc.observe(map);
    let other = doc.observe(map);
    let set = |doc: &mut Doc, value: u32| {
        let mut transaction = doc.transact();
        map.insert(&mut transaction, "k", value).unwrap();
        let commit = transaction.commit();
        [watch, other].map(|observer| commit.events(observer).to_vec())
    };
    let [first, second] = set(&mut doc, 1);
    assert_eq!(first, second);
    assert_eq!(first[0].keys, [("k".into(), KeyChange::Added)]);
    let mut clone = doc.clone();
    doc.unobserve(other);
    doc.unobserve(other);
    let [first, second] = set(&mut doc, 2);
    assert_eq!(first[0].keys, [("k".into(), KeyChange::Updated(Value::Any(1.into())))]);
    assert!(second.is_empty());
    assert_eq!(doc.transact().commit().events(watch), []);
    // A copy of the document is observed as the document was.
    let [first, second] = set(&mut clone, 3);
    assert_eq!((first.len(), second.len()), (1, 1));
}

#[test]
fn observing_changes_nothing() {
    let edit_all = |observed: bool| {
        let mut doc = doc(1);
        let text = doc.text("t");
        if observed {
            doc.observe_deep(text);
        }
        let delta = json!({ "bold": true });
        for (index, len) in [(0, 4), (2, 4), (1, 2), (0, 6)] {
            let mut transaction = doc.transact();
            text.insert(&mut transaction, index, "ab").unwrap();
            text.insert_with(&mut transaction, index, "cdef", &object(&delta)).unwrap();
            text.format(&mut transaction, index, len, &object(&delta)).unwrap();
            transaction.commit();
        }
        doc.state_v2()
    };
    assert_eq!(edit_all(true), edit_all(false));
}

#[test]
fn what_is_collected_stays_gone() {
    let mut doc = doc(1);
    let array = doc.array("a");
    let mut transaction = doc.transact();
    array.insert_text(&mut transaction, 0).unwrap();
    let Shared::Text(text) = array.insert_text(&mut transaction, 1).unwrap() else { panic!() };
    transaction.commit();
    let watch = doc.observe(text);
    let mut transaction = doc.transact();
    array.delete(&mut transaction, 0, 2).unwrap();
    assert_eq!(transaction.commit().events(watch), []);
    // The two became one collected item; what is made now may take the place of the second.
    let mut transaction = doc.transact();
    array.insert(&mut transaction, 0, vec![value(1), New::Map, value(2)]).unwrap();
    assert!(text.insert(&mut transaction, 0, "late").is_err());
    let commit = transaction.commit();
    assert_eq!(commit.events(watch), []);
    assert_eq!(commit.text_delta(text), []);
    doc.check().unwrap();
}

#[test]
fn types_too_deep_to_be_told_of_are_left_out() {
    let mut doc = doc(1);
    let root = doc.map("m");
    let mut transaction = doc.transact();
    let mut map = root;
    for _ in 0..257 {
        map = map.insert_map(&mut transaction, "k").unwrap();
    }
    transaction.commit();
    let watch = doc.observe_deep(root);
    let own = doc.observe(map);
    let mut transaction = doc.transact();
    map.insert(&mut transaction, "deep", true).unwrap();
    let mut at = root;
    for _ in 0..256 {
        let Some(Value::Shared(Shared::Map(next))) = at.get(transaction.doc(), "k") else {
            panic!("a map")
        };
        at = next;
    }
    at.insert(&mut transaction, "less", true).unwrap();
    let commit = transaction.commit();
    let depths: Vec<usize> = commit.events(watch).iter().map(|event| event.path.len()).collect();
    assert_eq!(depths, [256]);
    assert_eq!(commit.events(own).len(), 1);
}
