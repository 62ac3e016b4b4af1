//! `encoding.tests.js`: how contents are numbered, and what an update alone says of its state.

use crdt::{Any, Doc, Map, New, Shared, Value, update};
use serde_json::{Value as Json, json};

use crate::json::{content, delta, doc, hex};

/// An update of one struct at clock 0 of client 1, first in the root `r`: its content's number, then the content.
fn update_of(number: u8, content: &[u8]) -> Vec<u8> {
    // One client with one struct; in the struct the parent is a root (1) whose name has one letter. No deletions.
    [&[1, 1, 1, 0, number, 1, 1, b'r'], content, &[0]].concat()
}

/// Reads a content by its number into an array; it shows as given and is written as it was read.
fn check(number: u8, bytes: &[u8], shows: &Json) {
    let update = update_of(number, bytes);
    let mut doc = doc(2);
    let array = doc.array("r");
    doc.apply_v1(&update).unwrap();
    assert_eq!(content(&doc, array), *shows, "content {number}");
    assert_eq!(doc.state_v1(), update, "content {number}");
    let mut again = crate::json::doc(3);
    again.apply_v2(&doc.state_v2()).unwrap();
    assert_eq!(again.state_v1(), update, "content {number}, by the second format");
}

#[test]
fn contents_have_yjs_numbers() {
    check(2, b"\x02\x011\x03\"b\"", &json!([1, "b"]));
    check(3, &[2, 7, 8], &json!([[7, 8]]));
    check(4, b"\x02ab", &json!(["a", "b"]));
    check(5, b"\x07{\"a\":1}", &json!([{ "a": 1 }]));
    check(6, b"\x04bold\x04true", &json!([]));
    for (kind, shows) in [(0, json!([])), (1, json!({})), (2, json!("")), (4, json!(""))] {
        check(7, &[kind], &json!([shows]));
    }
    check(7, b"\x03\x01p", &json!(["<p></p>"]));
    check(7, &[6], &json!([""]));
    check(8, &[2, 125, 1, 119, 1, b'b'], &json!([1, "b"]));
    check(9, b"\x01g\x76\x00", &json!([{ "subdocument": "g" }]));
}

#[test]
fn a_deleted_content_names_its_own_deletion() {
    let mut doc = doc(2);
    let array = doc.array("r");
    doc.apply_v1(&update_of(1, &[3])).unwrap();
    assert_eq!(content(&doc, array), json!([]));
    let mut state = update_of(1, &[3]);
    // One client with one range: three units from clock 0 on.
    state.splice(state.len() - 1.., [1, 1, 1, 0, 3]);
    assert_eq!(doc.state_v1(), state);
}

#[test]
fn a_hole_is_number_ten_and_nothing_comes_after() {
    let hole = [1, 1, 1, 0, 10, 5, 0];
    assert_eq!(update::info_v1(&hole).unwrap().missing, 5);
    for number in 11..32 {
        assert!(doc(2).apply_v1(&update_of(number, &[1, 1, 1, 1])).is_err(), "content {number}");
    }
}

/// The updates of letters typed one after the other at the start of a text.
fn letters(letters: &str) -> Vec<Vec<u8>> {
    let mut doc = doc(1);
    let text = doc.text("");
    let typed = letters.chars().map(|letter| {
        let mut edit = doc.transact();
        text.insert(&mut edit, 0, &letter.to_string()).unwrap();
        edit.commit().update_v1().unwrap()
    });
    typed.collect()
}

#[test]
fn an_update_without_what_came_before_leads_to_no_state() {
    let updates = letters("aa");
    let state = update::state_vector_v1(&updates[1]).unwrap();
    assert!(state.is_empty());
    assert_eq!(state.encode(), [0]);
    let second = update::v1_to_v2(&updates[1]).unwrap();
    assert!(update::state_vector_v2(&second).unwrap().is_empty());
}

#[test]
fn an_update_leads_up_to_its_first_hole() {
    let updates = letters("abc");
    let merged = update::merge_v1(&[&updates[0], &updates[2]]).unwrap();
    let state = update::state_vector_v1(&merged).unwrap();
    let known: Vec<(u64, u32)> = state.iter().map(|(id, clock)| (id.get(), clock)).collect();
    assert_eq!(known, [(1, 1)]);
    let merged = update::v1_to_v2(&merged).unwrap();
    assert_eq!(update::state_vector_v2(&merged).unwrap(), state);
    // And a document that takes it in shows the first letter, and waits with the third.
    let mut reader = doc(2);
    let text = reader.text("");
    reader.apply_v2(&merged).unwrap();
    assert_eq!(delta(&reader, text), json!([{ "insert": "a" }]));
    assert!(reader.has_waiting_structs());
}

/// Says, as Yjs's `PermanentUserData` does, that a client is a person.
fn introduce(doc: &mut Doc, person: &str) -> Map {
    let people = doc.map("users");
    let client = u32::try_from(doc.client().get()).unwrap();
    let known = people.get(doc, person).as_ref().and_then(Value::as_map);
    let known = known.unwrap_or_else(|| {
        let mut edit = doc.transact();
        let known = people.insert_map(&mut edit, person).unwrap();
        known.insert_array(&mut edit, "ids").unwrap();
        known.insert_array(&mut edit, "ds").unwrap();
        edit.commit();
        known
    });
    let Some(Value::Shared(Shared::Array(ids))) = known.get(doc, "ids") else {
        unreachable!("a person has clients")
    };
    let mut edit = doc.transact();
    ids.push(&mut edit, vec![client.into()]).unwrap();
    edit.commit();
    known
}

/// Types a text and deletes part of it again; the person's deletions are noted.
fn type_and_delete(doc: &mut Doc, person: Map, words: &str, index: u32, len: u32) {
    let text = doc.text("");
    let mut edit = doc.transact();
    text.insert(&mut edit, 0, words).unwrap();
    edit.commit();
    let mut edit = doc.transact();
    text.delete(&mut edit, index, len).unwrap();
    let update = edit.commit().update_v1().unwrap();
    // An update that only deletes is no clients with structs (0), then the deletions.
    let deletions = Any::Bytes(update.strip_prefix(&[0]).unwrap().to_vec());
    let Some(Value::Shared(Shared::Array(noted))) = person.get(doc, "ds") else {
        unreachable!("a person has deletions")
    };
    let mut edit = doc.transact();
    noted.push(&mut edit, vec![New::Any(deletions)]).unwrap();
    edit.commit();
}

#[test]
fn people_are_written_as_yjs_writes_them() {
    let (mut ours, mut theirs) = (doc(1), doc(2));
    let user_a = introduce(&mut ours, "user a");
    let user_b = introduce(&mut theirs, "user b");
    type_and_delete(&mut ours, user_a, "xhi", 0, 1);
    type_and_delete(&mut theirs, user_b, "hxxi", 1, 2);
    theirs.apply_v1(&ours.state_v1()).unwrap();
    ours.apply_v1(&theirs.state_v1()).unwrap();
    // What two documents with Yjs's `PermanentUserData` hold after the same edits.
    let both = "08020027010575736572730675736572206201270002000369647300270002000264730008000201017d0204\
        0100016881020402840206016903000202050102010502070100270105757365727306757365722061012700\
        01000369647300270001000264730008000101017d0101010001840104026869030001020501010104010202\
        01050201010401";
    assert_eq!(hex(&ours.state_v1()), format!("02{both}"));
    assert_eq!(hex(&theirs.state_v1()), hex(&ours.state_v1()));
    // Later, somebody comes from another device under the name of the first.
    let mut third = doc(3);
    third.apply_v1(&ours.state_v1()).unwrap();
    introduce(&mut third, "user a");
    assert_eq!(hex(&third.state_v1()), format!("03010300880103017d03{both}"));
    let people = third.map("users");
    assert_eq!(
        content(&third, people),
        json!({
            "user b": { "ids": [2], "ds": [[1, 2, 1, 5, 2]] },
            "user a": { "ids": [1, 3], "ds": [[1, 1, 1, 4, 1]] },
        })
    );
}
