//! Texts: Yjs's `y-text.tests.js`.

use crdt::{
    Any, Change, Commit, Delta, Doc, Error, Inserted, New, Object, Shared, Text, TextChange,
    Transaction, update,
};
use serde_json::{Value as Json, json};

use crate::json::{content, delta, delta_json, doc, doc_with_history, object, steps};
use crate::network::{Edit, Network, Random, edit_at_random};

/// A document with an empty text.
fn blank() -> (Doc, Text) {
    let mut doc = doc(0);
    let text = doc.text("text");
    (doc, text)
}

/// Makes one edit in a transaction of its own.
fn edit(doc: &mut Doc, edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error>) -> Commit<'_> {
    let mut transaction = doc.transact();
    edit(&mut transaction).unwrap();
    transaction.commit()
}

/// Applies a delta in a transaction of its own.
fn apply(doc: &mut Doc, text: Text, change: Json) {
    edit(doc, |transaction| text.apply_delta(transaction, &steps(change)));
}

fn bold() -> Object {
    object(json!({ "bold": true }))
}

/// What the texts of all replicas hold.
fn texts(network: &Network) -> Vec<Json> {
    (0..network.len()).map(|at| delta(network.doc(at), network.text(at))).collect()
}

/// How many marks say nothing, in all formats of a text.
fn needless_marks(doc: &Doc, text: Text) -> u32 {
    let mut copy = doc.clone();
    let mut transaction = copy.transact();
    let cleaned = text.clean_formats(&mut transaction).unwrap();
    transaction.commit();
    cleaned
}

#[test]
fn clearing_an_attribute_of_one_line_end_leaves_the_others() {
    let cell = |number: u32| {
        let (row, name) = (format!("row{}", number / 3), format!("cell{number}"));
        json!({ "block": name, "cell": { "row": row, "name": name }, "row": row, "name": name })
    };
    let mut table = vec![
        json!({ "insert": "\n", "attributes": { "block": "above" } }),
        json!({ "insert": "\n\n\n", "attributes": { "column": { "width": "150" } } }),
    ];
    table.extend((0..9).map(|number| json!({ "insert": "\n", "attributes": cell(number) })));
    table.extend([
        json!({ "insert": "\n", "attributes": { "block": "below" } }),
        json!({ "insert": "Content after table" }),
        json!({ "insert": "\n", "attributes": { "block": "end" } }),
    ]);
    let (mut doc, text) = blank();
    apply(&mut doc, text, Json::from(table.clone()));
    assert_eq!(delta(&doc, text), Json::from(table.clone()));
    apply(&mut doc, text, json!([{ "retain": 12 }, { "insert": "-" }]));
    apply(&mut doc, text, json!([{ "retain": 13 }, { "insert": " " }]));
    let mut typed = table.clone();
    typed.insert(10, json!({ "insert": "- " }));
    assert_eq!(delta(&doc, text), Json::from(typed));
    let list = json!({ "row": "row2", "name": "cell8", "list": "bullet" });
    apply(
        &mut doc,
        text,
        json!([
            { "retain": 12 },
            { "delete": 2 },
            { "retain": 1, "attributes": { "cell": null, "list": list } },
        ]),
    );
    table[10]["attributes"].as_object_mut().unwrap().shift_remove("cell");
    table[10]["attributes"]["list"] = list;
    assert_eq!(delta(&doc, text), Json::from(table));
}

#[test]
fn a_line_end_behind_deleted_ones_takes_exactly_the_attributes_it_is_given() {
    let column = |name: &str, width: &str| {
        let attributes = json!({ "block": name, "layout": format!("of {name}"), "width": width });
        json!({ "insert": "\n", "attributes": attributes })
    };
    let (mut doc, text) = blank();
    apply(
        &mut doc,
        text,
        json!([
            { "insert": "\n", "attributes": { "block": "one" } },
            { "insert": { "contents": true } },
            { "insert": " " },
            { "insert": { "command": { "id": "a", "replace": "/" } } },
            { "insert": "\n", "attributes": { "block": "two" } },
            column("left", "0.25"),
            column("middle", "0.5"),
            column("right", "0.25"),
            { "insert": "\n", "attributes": { "block": "three" } },
        ]),
    );
    let attributes = json!({ "layout": null, "width": null, "block": "two" });
    apply(
        &mut doc,
        text,
        json!([{ "retain": 3 }, { "delete": 4 }, { "retain": 1, "attributes": attributes }]),
    );
    let expected = json!([
        { "insert": "\n", "attributes": { "block": "one" } },
        { "insert": { "contents": true } },
        { "insert": " " },
        { "insert": "\n", "attributes": { "block": "two" } },
        { "insert": "\n", "attributes": { "block": "three" } },
    ]);
    assert_eq!(delta(&doc, text), expected);
}

#[test]
fn a_format_reaches_over_several_lines() {
    let (mut doc, text) = blank();
    edit(&mut doc, |transaction| text.insert(transaction, 0, "Test\nMulti-line\nFormatting"));
    let bold = json!({ "bold": true });
    apply(
        &mut doc,
        text,
        json!([
            { "retain": 4, "attributes": bold },
            { "retain": 1 },
            { "retain": 10, "attributes": bold },
            { "retain": 1 },
            { "retain": 10, "attributes": bold },
        ]),
    );
    let expected = json!([
        { "insert": "Test", "attributes": bold },
        { "insert": "\n" },
        { "insert": "Multi-line", "attributes": bold },
        { "insert": "\n" },
        { "insert": "Formatting", "attributes": bold },
    ]);
    assert_eq!(delta(&doc, text), expected);
}

#[test]
fn line_ends_with_and_without_a_format_stay_apart() {
    let lines = json!([
        { "insert": "Text" },
        { "insert": "\n", "attributes": { "title": true } },
        { "insert": "\nText" },
        { "insert": "\n", "attributes": { "title": true } },
    ]);
    let (mut doc, text) = blank();
    apply(&mut doc, text, lines.clone());
    assert_eq!(delta(&doc, text), lines);
}

#[test]
fn a_format_is_kept_by_the_unit_behind_a_deleted_one() {
    let (mut doc, text) = blank();
    apply(
        &mut doc,
        text,
        json!([
            { "insert": "Text" },
            { "insert": "\n", "attributes": { "title": true } },
            { "insert": "\n" },
        ]),
    );
    apply(
        &mut doc,
        text,
        json!([
            { "retain": 4 },
            { "delete": 1 },
            { "retain": 1, "attributes": { "title": true } },
        ]),
    );
    let expected =
        json!([{ "insert": "Text" }, { "insert": "\n", "attributes": { "title": true } }]);
    assert_eq!(delta(&doc, text), expected);
}

#[test]
fn an_embedded_value_stands_in_a_delta() {
    let (mut doc, text) = blank();
    apply(&mut doc, text, json!([{ "insert": { "linebreak": "s" } }]));
    assert_eq!(delta(&doc, text), json!([{ "insert": { "linebreak": "s" } }]));
    assert_eq!(text.len(&doc), 1);
}

#[test]
fn a_text_is_seen_as_it_was_and_what_changed_between_two_moments() {
    let mut doc = doc_with_history(0);
    let text = doc.text("text");
    apply(&mut doc, text, json!([{ "insert": "abcd" }]));
    let first = doc.snapshot();
    apply(&mut doc, text, json!([{ "retain": 1 }, { "insert": "x" }, { "delete": 1 }]));
    let second = doc.snapshot();
    // The last deletion runs past the end and stops there.
    apply(
        &mut doc,
        text,
        json!([{ "retain": 2 }, { "delete": 3 }, { "insert": "x" }, { "delete": 1 }]),
    );
    assert_eq!(delta(&doc, text), json!([{ "insert": "axx" }]));
    let at = |doc: &mut Doc, moment| {
        let delta = text.delta_between(doc, Some(moment), None, None);
        delta_json(doc, &delta)
    };
    assert_eq!(at(&mut doc, &first), json!([{ "insert": "abcd" }]));
    assert_eq!(at(&mut doc, &second), json!([{ "insert": "axcd" }]));
    let between = text.delta_between(&mut doc, Some(&second), Some(&first), None);
    let expected = json!([
        { "insert": "a" },
        { "insert": "x", "attributes": { "ychange": { "type": "added" } } },
        { "insert": "b", "attributes": { "ychange": { "type": "removed" } } },
        { "insert": "cd" },
    ]);
    assert_eq!(delta_json(&doc, &between), expected);
    let who = |change: Change, client: crdt::ClientId| {
        object(json!({ "added": change == Change::Added, "client": client.get() }))
    };
    let between = text.delta_between(&mut doc, Some(&second), Some(&first), Some(&who));
    let expected = json!([
        { "insert": "a" },
        { "insert": "x", "attributes": { "ychange": { "added": true, "client": 0 } } },
        { "insert": "b", "attributes": { "ychange": { "added": false, "client": 0 } } },
        { "insert": "cd" },
    ]);
    assert_eq!(delta_json(&doc, &between), expected);
}

#[test]
fn what_was_appended_after_a_moment_is_not_seen_in_it() {
    let mut doc = doc_with_history(0);
    let text = doc.text("text");
    apply(&mut doc, text, json!([{ "insert": "abcd" }]));
    let moment = doc.snapshot();
    apply(&mut doc, text, json!([{ "retain": 4 }, { "insert": "e" }]));
    assert_eq!(delta(&doc, text), json!([{ "insert": "abcde" }]));
    let then = text.delta_between(&mut doc, Some(&moment), None, None);
    assert_eq!(delta_json(&doc, &then), json!([{ "insert": "abcd" }]));
}

#[test]
fn a_text_reads_without_its_formats() {
    let (mut doc, text) = blank();
    edit(&mut doc, |transaction| text.insert_with(transaction, 0, "abc", &bold()));
    assert_eq!(content(&doc, text), json!("abc"));
    assert_eq!(delta(&doc, text), json!([{ "insert": "abc", "attributes": { "bold": true } }]));
}

#[test]
fn an_embedded_value_has_its_own_attributes_or_none() {
    for attributes in [Some(json!({ "width": 100 })), None] {
        let (mut doc, text) = blank();
        edit(&mut doc, |transaction| text.insert_with(transaction, 0, "ab", &bold()));
        edit(&mut doc, |transaction| {
            let image = New::Any(Any::Object(object(json!({ "image": "imageSrc.png" }))));
            text.embed(transaction, 1, image, attributes.clone().map(object).as_ref())
        });
        let mut image = json!({ "insert": { "image": "imageSrc.png" } });
        if let Some(attributes) = attributes {
            image["attributes"] = attributes;
        }
        let expected = json!([
            { "insert": "a", "attributes": { "bold": true } },
            image,
            { "insert": "b", "attributes": { "bold": true } },
        ]);
        assert_eq!(delta(&doc, text), expected);
    }
}

#[test]
fn a_format_goes_with_the_last_unit_that_has_it() {
    let (mut doc, text) = blank();
    edit(&mut doc, |transaction| text.insert_with(transaction, 0, "ab", &bold()));
    edit(&mut doc, |transaction| text.delete(transaction, 0, 2));
    assert_eq!(doc.structs(), 1, "the marks are deleted, so that all is one collected item");
}

#[test]
fn a_format_in_the_midst_goes_with_the_last_unit_that_has_it() {
    let (mut doc, text) = blank();
    edit(&mut doc, |transaction| text.insert(transaction, 0, "1234"));
    edit(&mut doc, |transaction| text.insert_with(transaction, 2, "ab", &bold()));
    edit(&mut doc, |transaction| text.delete(transaction, 2, 2));
    assert_eq!(doc.structs(), 3, "one collected item between two texts");
    assert_eq!(delta(&doc, text), json!([{ "insert": "1234" }]));
}

/// A text of so many units.
fn letters(random: &mut Random, count: u32) -> String {
    (0..count).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap())).collect()
}

#[test]
fn a_hundred_thousand_edits_at_random_positions_do_what_they_do_to_a_string() {
    let (count, mut random) = (100_000, Random::new(1));
    let (mut doc, text) = blank();
    let mut model = letters(&mut random, count / 2);
    edit(&mut doc, |transaction| text.insert(transaction, 0, &model));
    for _ in 0..count {
        let at = random.below(text.len(&doc) + 1);
        if random.chance(50) {
            let len = random.below(6);
            let word = letters(&mut random, len);
            model.insert_str(at as usize, &word);
            edit(&mut doc, |transaction| text.insert(transaction, at, &word));
        } else {
            let len = random.below(4).min(text.len(&doc) - at);
            model.drain(at as usize..(at + len) as usize);
            edit(&mut doc, |transaction| text.delete(transaction, at, len));
        }
        assert_eq!(text.len(&doc) as usize, model.len());
    }
    assert_eq!(text.read(&doc), model);
}

#[test]
fn appended_letters_become_one_item() {
    let (mut doc, text) = blank();
    for at in 0..10_000 {
        edit(&mut doc, |transaction| text.insert(transaction, at, "a"));
    }
    assert_eq!(text.len(&doc), 10_000);
    assert_eq!(text.read(&doc), "a".repeat(10_000));
    assert_eq!(doc.structs(), 1);
}

#[test]
fn a_document_of_a_hundred_thousand_items_is_told_and_taken() {
    let count = 100_000;
    let (mut ours, text) = blank();
    let commit = edit(&mut ours, |transaction| {
        (0..count).try_for_each(|_| text.insert(transaction, 0, "0"))
    });
    let (v1, v2) = (commit.update_v1().unwrap(), commit.update_v2().unwrap());
    assert_eq!(ours.structs(), count, "each letter stands before the one typed last");
    let (state_v1, state_v2) = (ours.state_v1(), ours.state_v2());
    assert_eq!((&v1, &v2), (&state_v1, &state_v2));
    for update in [&v1, &update::merge_v1(&[&v1]).unwrap()] {
        let (mut theirs, text) = blank();
        theirs.apply_v1(update).unwrap();
        assert_eq!(text.read(&theirs), "0".repeat(count));
        assert_eq!(theirs.state_v2(), state_v2);
    }
    let (mut theirs, text) = blank();
    theirs.apply_v2(&state_v2).unwrap();
    assert_eq!(text.len(&theirs) as usize, count);
    assert_eq!(theirs.state_v1(), state_v1);
}

#[test]
fn a_cut_surrogate_pair_becomes_two_replacement_characters_everywhere() {
    fn insert(text: Text, transaction: &mut Transaction<'_>) -> Result<(), Error> {
        text.insert(transaction, 1, "hi!")
    }
    fn delete(text: Text, transaction: &mut Transaction<'_>) -> Result<(), Error> {
        text.delete(transaction, 1, 2)
    }
    fn format(text: Text, transaction: &mut Transaction<'_>) -> Result<(), Error> {
        text.format(transaction, 1, 2, &bold())
    }
    type Cut = fn(Text, &mut Transaction<'_>) -> Result<(), Error>;
    let cases: [(&str, Cut, Json); 3] = [
        ("👾", insert, json!([{ "insert": "\u{fffd}hi!\u{fffd}" }])),
        ("👾👾", delete, json!([{ "insert": "\u{fffd}\u{fffd}" }])),
        (
            "👾👾",
            format,
            json!([
                { "insert": "\u{fffd}" },
                { "insert": "\u{fffd}\u{fffd}", "attributes": { "bold": true } },
                { "insert": "\u{fffd}" },
            ]),
        ),
    ];
    for (seed, (pairs, cut, expected)) in cases.into_iter().enumerate() {
        let mut network = Network::new(2, seed as u64);
        network.disconnect(1);
        let text = network.text(0);
        network.edit(0, |transaction| text.insert(transaction, 0, pairs));
        network.edit(0, |transaction| cut(text, transaction));
        network.converge();
        assert_eq!(texts(&network), vec![expected; 2]);
    }
}

#[test]
fn positions_hold_when_every_update_is_applied_to_both_replicas_at_once() {
    let (mut first, mut second) = (doc(0), doc(1));
    let (text, theirs) = (first.text("text"), second.text("text"));
    let typed = |doc: &mut Doc, other: &mut Doc, at: u32, word: &str| {
        let commit = edit(doc, |transaction| text.insert(transaction, at, word));
        let update = commit.update_v1().unwrap();
        // Its own update tells a document nothing.
        assert!(doc.apply_v1(&update).unwrap().is_empty());
        other.apply_v1(&update).unwrap();
    };
    for round in 0..2 {
        typed(&mut first, &mut second, 0, "a_a");
        typed(&mut first, &mut second, 2, "s");
        typed(&mut second, &mut first, 3, "d");
        for (doc, text) in [(&first, text), (&second, theirs)] {
            assert_eq!(text.read(doc), "a_sda", "round {round}");
        }
        if round == 0 {
            let commit = edit(&mut first, |transaction| text.delete(transaction, 0, 5));
            let update = commit.update_v1().unwrap();
            second.apply_v1(&update).unwrap();
            assert_eq!(theirs.read(&second), "");
        }
    }
    assert_eq!(first.state_v1(), second.state_v1());
}

#[test]
fn a_format_within_a_format_ends_where_it_should() {
    let (mut ours, text) = blank();
    let url = |url: &str| object(json!({ "url": url }));
    edit(&mut ours, |transaction| text.insert(transaction, 0, "\n\n\n"));
    edit(&mut ours, |transaction| text.format(transaction, 0, 3, &url("http://example.com")));
    edit(&mut ours, |transaction| text.format(transaction, 1, 1, &url("http://docs.yjs.dev")));
    let (mut theirs, copy) = blank();
    // Where Yjs does nothing, we say that there is nothing to format.
    let mut transaction = theirs.transact();
    let refused = copy.format(&mut transaction, 1, 1, &url("http://docs.yjs.dev"));
    assert_eq!(refused, Err(Error::OutOfBounds { index: 2, len: 0 }));
    transaction.commit();
    theirs.apply_v1(&ours.state_v1()).unwrap();
    let expected = json!([
        { "insert": "\n", "attributes": { "url": "http://example.com" } },
        { "insert": "\n", "attributes": { "url": "http://docs.yjs.dev" } },
        { "insert": "\n", "attributes": { "url": "http://example.com" } },
    ]);
    assert_eq!(delta(&ours, text), expected);
    assert_eq!(delta(&theirs, copy), expected);
}

#[test]
fn taking_part_of_a_format_back_leaves_no_needless_mark() {
    let (mut ours, text) = blank();
    let (mut theirs, copy) = blank();
    theirs.set_client(crdt::ClientId::new(1).unwrap());
    let none = object(json!({ "bold": null }));
    let sentence = "Attack ships on fire off the shoulder of Orion.";
    let commit = edit(&mut ours, |transaction| text.insert(transaction, 0, sentence));
    theirs.apply_v1(&commit.update_v1().unwrap()).unwrap();
    edit(&mut ours, |transaction| text.format(transaction, 13, 7, &bold()));
    theirs.apply_v1(&ours.state_v1()).unwrap();
    edit(&mut ours, |transaction| text.format(transaction, 16, 4, &none));
    theirs.apply_v1(&ours.state_v1()).unwrap();
    let expected = json!([
        { "insert": "Attack ships " },
        { "insert": "on ", "attributes": { "bold": true } },
        { "insert": "fire off the shoulder of Orion." },
    ]);
    for (doc, text) in [(&ours, text), (&theirs, copy)] {
        assert_eq!(delta(doc, text), expected);
        assert_eq!(needless_marks(doc, text), 0);
        // Four texts, cut where the formats begin and end, two marks that hold, and one deleted.
        assert_eq!(doc.structs(), 7);
    }
    assert_eq!(ours.state_v1(), theirs.state_v1());
}

/// A text that nobody typed before.
fn word(network: &mut Network) -> String {
    format!("{}{}", network.random.below(1 << 30), network.random.word())
}

/// A place in the text of a replica.
fn place(network: &mut Network, at: usize) -> u32 {
    let len = network.text(at).len(network.doc(at));
    network.random.below(len + 1)
}

/// A few units of the text of a replica: where, and how many.
fn range(network: &mut Network, at: usize) -> (u32, u32) {
    let (len, start) = (network.text(at).len(network.doc(at)), place(network, at));
    (start, network.random.below(len - start + 1).min(2))
}

fn insert_word(network: &mut Network, at: usize) {
    let (text, index, word) = (network.text(at), place(network, at), word(network));
    let mut model = text.read(network.doc(at));
    model.insert_str(index as usize, &word);
    network.edit(at, |transaction| text.insert(transaction, index, &word));
    assert_eq!(text.read(network.doc(at)), model);
}

fn delete_letters(network: &mut Network, at: usize) {
    let (text, (index, len)) = (network.text(at), range(network, at));
    let mut model = text.read(network.doc(at));
    model.drain(index as usize..(index + len) as usize);
    network.edit(at, |transaction| text.delete(transaction, index, len));
    assert_eq!(text.read(network.doc(at)), model);
}

const PLAIN: [Edit; 2] = [insert_word, delete_letters];

#[test]
fn random_edits_converge() {
    for (seed, edits) in [5, 30, 40, 50, 70, 90, 300].into_iter().enumerate() {
        let network = edit_at_random(seed as u64, edits, &PLAIN);
        assert_eq!(needless_marks(network.doc(0), network.text(0)), 0);
    }
}

/// Attributes as an editor gives them.
fn attributes(network: &mut Network) -> Object {
    let choices = [
        json!({ "bold": true }),
        json!({ "italic": true }),
        json!({ "italic": true, "color": "#888" }),
    ];
    object(network.random.pick(&choices).clone())
}

/// Attributes or none.
fn maybe_attributes(network: &mut Network) -> Option<Object> {
    network.random.chance(75).then(|| attributes(network))
}

/// The text of a replica in UTF-16 units, with U+FFFC for what is embedded.
fn units(doc: &Doc, text: Text) -> Vec<u16> {
    let inserted = |step: Delta| match step {
        Delta::Insert(Inserted::Text(text), _) => text,
        Delta::Insert(..) => "\u{fffc}".to_owned(),
        step => panic!("{step:?} in a whole text"),
    };
    text.delta(doc).into_iter().map(inserted).collect::<String>().encode_utf16().collect()
}

/// Edits the text of a replica and holds what is said to have changed against what did.
fn as_told(
    network: &mut Network,
    at: usize,
    edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error>,
) {
    let text = network.text(at);
    network.commit(at, |doc| {
        let before = units(doc, text);
        let mut transaction = doc.transact();
        edit(&mut transaction).unwrap();
        let commit = transaction.commit();
        let (mut told, mut read) = (Vec::new(), 0);
        for change in commit.text_delta(text) {
            match change {
                TextChange::Retain(len) => {
                    told.extend(&before[read..read + len as usize]);
                    read += len as usize;
                }
                TextChange::Insert(text) => told.extend(text.encode_utf16()),
                TextChange::Delete(len) => read += len as usize,
            }
        }
        told.extend(&before[read..]);
        assert_eq!(units(commit.doc(), text), told);
        Some(commit)
    });
}

fn insert_formatted(network: &mut Network, at: usize) {
    let (text, index, word) = (network.text(at), place(network, at), word(network));
    let attributes = maybe_attributes(network);
    as_told(network, at, |transaction| match &attributes {
        Some(attributes) => text.insert_with(transaction, index, &word, attributes),
        None => text.insert(transaction, index, &word),
    });
}

fn embed(network: &mut Network, at: usize) {
    let (text, index) = (network.text(at), place(network, at));
    let (key, value) = (network.random.word(), network.random.word());
    if network.random.chance(50) {
        let image = Any::Object(object(json!({ "image": "https://example.com/figure.png" })));
        as_told(network, at, |transaction| text.embed(transaction, index, New::Any(image), None));
        return;
    }
    as_told(network, at, |transaction| {
        text.embed(transaction, index, New::Map, None)?;
        let mut position = 0;
        for step in text.delta(transaction.doc()) {
            match step {
                Delta::Insert(Inserted::Shared(Shared::Map(map)), _) if position == index => {
                    return map.insert(transaction, &key, value.as_str());
                }
                Delta::Insert(Inserted::Text(text), _) => {
                    position += u32::try_from(text.encode_utf16().count()).unwrap();
                }
                _ => position += 1,
            }
        }
        panic!("no map at {index}");
    });
}

fn delete_anything(network: &mut Network, at: usize) {
    let (text, (index, len)) = (network.text(at), range(network, at));
    as_told(network, at, |transaction| text.delete(transaction, index, len));
}

fn format_some(network: &mut Network, at: usize) {
    let (text, (index, len)) = (network.text(at), range(network, at));
    let attributes = attributes(network);
    as_told(network, at, |transaction| text.format(transaction, index, len, &attributes));
}

fn insert_code(network: &mut Network, at: usize) {
    let (text, index, word) = (network.text(at), place(network, at), word(network));
    let change = steps(json!([
        { "retain": index },
        { "insert": word },
        { "insert": "\n", "attributes": { "code-block": true } },
    ]));
    as_told(network, at, |transaction| text.apply_delta(transaction, &change));
}

/// A delta of up to seven steps.
fn apply_steps(network: &mut Network, at: usize) {
    let (text, len) = (network.text(at), network.text(at).len(network.doc(at)));
    let mut position = network.random.below(len.max(1));
    let mut change = vec![Delta::Retain(position, Object::default())];
    for _ in 0..7 {
        if position >= len {
            break;
        }
        let rest = network.random.below(len - position + 1);
        match network.random.below(3) {
            0 => {
                let attributes = attributes(network);
                change.push(Delta::Retain(rest.min(5), attributes));
                position += rest.min(5);
            }
            1 => {
                let count = 1 + network.random.below(3);
                let word = letters(&mut network.random, count);
                let attributes = maybe_attributes(network).unwrap_or_default();
                change.push(Delta::Insert(Inserted::Text(word), attributes));
            }
            _ => {
                change.push(Delta::Delete(rest.min(10)));
                position += rest.min(10);
            }
        }
    }
    as_told(network, at, |transaction| text.apply_delta(transaction, &change));
}

const RICH: [Edit; 6] =
    [insert_formatted, embed, delete_anything, format_some, insert_code, apply_steps];

#[test]
fn a_few_random_rich_edits_converge_and_leave_no_needless_mark() {
    for (seed, edits) in std::iter::once(1).chain([2; 1000]).enumerate() {
        let network = edit_at_random(seed as u64, edits, &RICH);
        assert_eq!(needless_marks(network.doc(0), network.text(0)), 0, "seed {seed}");
    }
}

#[test]
fn random_rich_edits_converge() {
    for (seed, edits) in [3, 30, 40, 70, 100, 300].into_iter().enumerate() {
        edit_at_random(seed as u64, edits, &RICH);
    }
}

#[test]
#[ignore = "takes long"]
fn many_random_edits_converge() {
    for kinds in [&PLAIN[..], &RICH[..]] {
        for edits in [3000, 10_000] {
            edit_at_random(edits as u64, edits, kinds);
        }
    }
}
