//! Texts: Yjs's `y-text.tests.js`.

use crdt::{
    Any, Change, Commit, Delta, Doc, Error, Inserted, New, Object, Observer, Shared, Text,
    Transaction, update,
};
use serde_json::{Value as Json, json};

use crate::json::{content, delta, delta_json, doc, doc_with_history, events, object, steps};
use crate::network::Network;
use crate::random_text::still_cleaned;

/// A document with an empty text.
pub(crate) fn blank() -> (Doc, Text) {
    let mut doc = doc(0);
    let text = doc.text("text");
    (doc, text)
}

/// Makes one edit in a transaction of its own.
pub(crate) fn edit(
    doc: &mut Doc,
    edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error>,
) -> Commit<'_> {
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
        assert_eq!(still_cleaned(doc, text), 0);
        // Four texts, cut where the formats begin and end, two marks that hold, and one deleted.
        assert_eq!(doc.structs(), 7);
    }
    assert_eq!(ours.state_v1(), theirs.state_v1());
}

#[test]
fn cleaning_deletes_a_doubled_mark_at_the_start() {
    let (mut ours, text) = blank();
    let (mut theirs, copy) = blank();
    theirs.set_client(crdt::ClientId::new(1).unwrap());
    edit(&mut ours, |transaction| text.insert(transaction, 0, "abc"));
    theirs.apply_v1(&ours.state_v1()).unwrap();
    edit(&mut ours, |transaction| text.format(transaction, 0, 3, &bold()));
    edit(&mut theirs, |transaction| copy.format(transaction, 0, 2, &bold()));
    // Nobody asked for this one's text yet, so that it was not cleaned when the updates came.
    let mut both = doc(2);
    both.apply_v1(&ours.state_v1()).unwrap();
    both.apply_v1(&theirs.state_v1()).unwrap();
    let text = both.text("text");
    let expected = json!([{ "insert": "ab", "attributes": { "bold": true } }, { "insert": "c" }]);
    assert_eq!(delta(&both, text), expected);
    for cleaned in [1, 0] {
        let mut transaction = both.transact();
        assert_eq!(text.clean_formats(&mut transaction), Ok(cleaned));
        transaction.commit();
        assert_eq!(delta(&both, text), expected);
    }
    // The state that Yjs has.
    let expected = b"\x02\x02\x01\0\x46\0\0\x04bold\x04true\xc6\0\x01\0\x02\x04bold\x04null\
        \x04\0\0\x04\x01\x04text\x02ab\x84\0\x01\x01c\x41\0\0\x01\x86\0\x02\x04bold\x04null\
        \x01\0\x01\x03\x01";
    assert_eq!(both.state_v1(), expected);
}

/// Makes one edit and asserts what it is said to have changed in the text.
#[track_caller]
fn edit_heard(
    doc: &mut Doc,
    watch: Observer,
    expected: Json,
    change: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error>,
) {
    let commit = edit(doc, change);
    let mut event = json!({ "path": [] });
    if expected != json!([]) {
        event["delta"] = expected;
    }
    assert_eq!(events(commit.doc(), commit.events(watch)), json!([event]));
}

#[test]
fn insertions_and_deletions_are_heard() {
    let (mut doc, text) = blank();
    let watch = doc.observe(text);
    let commit = edit(&mut doc, |transaction| text.delete(transaction, 0, 0));
    assert_eq!(commit.events(watch), [], "nothing was deleted");
    edit_heard(&mut doc, watch, json!([{ "insert": "abc" }]), |transaction| {
        text.insert(transaction, 0, "abc")
    });
    assert_eq!(text.read(&doc), "abc");
    edit_heard(&mut doc, watch, json!([{ "delete": 1 }]), |transaction| {
        text.delete(transaction, 0, 1)
    });
    assert_eq!(text.read(&doc), "bc");
    edit_heard(&mut doc, watch, json!([{ "retain": 1 }, { "delete": 1 }]), |transaction| {
        text.delete(transaction, 1, 1)
    });
    assert_eq!(text.read(&doc), "b");
    edit_heard(&mut doc, watch, json!([]), |transaction| {
        text.insert(transaction, 0, "1")?;
        text.delete(transaction, 0, 1)
    });
    assert_eq!(text.read(&doc), "b");
}

#[test]
fn formats_are_set_kept_and_taken_away_as_told() {
    let (mut doc, text) = blank();
    let watch = doc.observe(text);
    let whole = |doc: &Doc, word: &str| {
        let expected = json!([{ "insert": word, "attributes": { "bold": true } }]);
        assert_eq!(delta(doc, text), expected);
        assert_eq!(text.read(doc), word);
    };
    let inserted = json!([{ "insert": "abc", "attributes": { "bold": true } }]);
    edit_heard(&mut doc, watch, inserted, |transaction| {
        text.insert_with(transaction, 0, "abc", &bold())
    });
    whole(&doc, "abc");
    edit_heard(&mut doc, watch, json!([{ "delete": 1 }]), |transaction| {
        text.delete(transaction, 0, 1)
    });
    whole(&doc, "bc");
    edit_heard(&mut doc, watch, json!([{ "retain": 1 }, { "delete": 1 }]), |transaction| {
        text.delete(transaction, 1, 1)
    });
    whole(&doc, "b");
    let inserted = json!([{ "insert": "z", "attributes": { "bold": true } }]);
    edit_heard(&mut doc, watch, inserted, |transaction| {
        text.insert_with(transaction, 0, "z", &bold())
    });
    whole(&doc, "zb");
    // A mark, the deleted "a", "b", the deleted "c", a mark, and "z": no second mark before "z".
    assert_eq!(doc.structs(), 6);
    edit_heard(&mut doc, watch, json!([{ "insert": "y" }]), |transaction| {
        text.insert(transaction, 0, "y")
    });
    let expected = json!([{ "insert": "y" }, { "insert": "zb", "attributes": { "bold": true } }]);
    assert_eq!(delta(&doc, text), expected);
    let changed = json!([{ "retain": 1 }, { "retain": 1, "attributes": { "bold": null } }]);
    edit_heard(&mut doc, watch, changed, |transaction| {
        text.format(transaction, 0, 2, &object(json!({ "bold": null })))
    });
    let expected = json!([{ "insert": "yz" }, { "insert": "b", "attributes": { "bold": true } }]);
    assert_eq!(delta(&doc, text), expected);
    assert_eq!(doc.structs(), 7);
}

#[test]
fn a_format_may_be_false() {
    let (mut doc, text) = blank();
    let watch = doc.observe(text);
    let falsy = |value: bool| json!({ "falsy": value });
    let run = |word: &str, value: bool| json!({ "insert": word, "attributes": falsy(value) });
    edit_heard(&mut doc, watch, json!([run("abcde", false)]), |transaction| {
        text.insert_with(transaction, 0, "abcde", &object(falsy(false)))
    });
    assert_eq!(delta(&doc, text), json!([run("abcde", false)]));
    let changed = json!([{ "retain": 1 }, { "retain": 3, "attributes": falsy(true) }]);
    edit_heard(&mut doc, watch, changed, |transaction| {
        text.format(transaction, 1, 3, &object(falsy(true)))
    });
    assert_eq!(delta(&doc, text), json!([run("a", false), run("bcd", true), run("e", false)]));
    let changed = json!([{ "retain": 2 }, { "retain": 1, "attributes": falsy(false) }]);
    edit_heard(&mut doc, watch, changed, |transaction| {
        text.format(transaction, 2, 1, &object(falsy(false)))
    });
    let runs = ["a", "b", "c", "d", "e"].into_iter().enumerate();
    let expected: Json = runs.map(|(at, word)| run(word, at % 2 == 1)).collect();
    assert_eq!(delta(&doc, text), expected);
}

#[test]
fn a_map_in_a_text_is_one_unit_that_is_heard() {
    let mut network = Network::new(2, 4);
    let (text, theirs) = (network.text(0), network.text(1));
    network.listen(1, |doc| doc.observe(theirs));
    network.edit(0, |transaction| {
        text.embed(transaction, 0, New::Map, None)?;
        let delta = text.delta(transaction.doc());
        let [Delta::Insert(Inserted::Shared(Shared::Map(map)), _)] = delta[..] else {
            panic!("{delta:?} is no map")
        };
        map.insert(transaction, "key", "val")
    });
    network.deliver_all();
    let expected = json!([{ "insert": { "key": "val" } }]);
    assert_eq!(texts(&network), vec![expected.clone(); 2]);
    assert_eq!(text.len(network.doc(0)), 1);
    let heard = network.heard(1);
    let heard: Json = heard.iter().map(|heard| events(network.doc(1), heard)).collect();
    assert_eq!(heard, json!([[{ "path": [], "delta": expected }]]));
    network.converge();
}

#[test]
fn the_delta_of_overlapping_formats_leads_from_one_text_to_the_other() {
    let mut network = Network::new(2, 5);
    let (text, theirs) = (network.text(0), network.text(1));
    network.edit(0, |transaction| text.insert(transaction, 0, "abcde"));
    network.deliver_all();
    network.edit(0, |transaction| text.format(transaction, 0, 3, &bold()));
    network.edit(1, |transaction| theirs.format(transaction, 2, 2, &bold()));
    let before = delta(network.doc(1), theirs);
    let expected = json!([
        { "insert": "ab" },
        { "insert": "cd", "attributes": { "bold": true } },
        { "insert": "e" },
    ]);
    assert_eq!(before, expected);
    network.listen(1, |doc| doc.observe(theirs));
    network.deliver_all();
    let heard = network.heard(1);
    let heard: Json = heard.iter().map(|heard| events(network.doc(1), heard)).collect();
    let change = json!([
        { "retain": 3, "attributes": { "bold": true } },
        { "retain": 2, "attributes": { "bold": null } },
    ]);
    assert_eq!(heard, json!([[{ "path": [], "delta": change }]]));
    // The mark before "c" says nothing any more. Yjs deletes it when somebody looks at the delta; here, looking changes
    // nothing, and the mark stays, as in Yjs when nobody looks.
    let bold = |word: &str| json!({ "insert": word, "attributes": { "bold": true } });
    let expected = json!([bold("ab"), bold("c"), { "insert": "d" }, { "insert": "e" }]);
    assert_eq!(texts(&network), vec![expected; 2]);
    network.converge();
}

#[test]
fn only_the_attribute_that_changed_is_heard() {
    let mut network = Network::new(2, 6);
    let (text, theirs) = (network.text(0), network.text(1));
    let attributes = object(json!({ "paragraph": "normal", "list": "bullet" }));
    network.edit(0, |transaction| text.insert_with(transaction, 0, "\n", &attributes));
    let attributes = object(json!({ "paragraph": "normal" }));
    network.edit(0, |transaction| text.insert_with(transaction, 1, "abc", &attributes));
    network.deliver_all();
    network.listen(0, |doc| doc.observe(text));
    network.listen(1, |doc| doc.observe(theirs));
    let number = object(json!({ "list": "number" }));
    network.edit(1, |transaction| theirs.format(transaction, 0, 1, &number));
    network.deliver_all();
    for at in 0..2 {
        let heard = network.heard(at).concat();
        let told: Vec<Json> = heard
            .iter()
            .filter(|event| !event.delta.is_empty())
            .map(|event| delta_json(network.doc(at), &event.delta))
            .collect();
        let expected = json!([{ "retain": 1, "attributes": { "list": "number" } }]);
        assert_eq!(told, [expected], "replica {at}");
    }
    network.converge();
}
