//! `snapshot.tests.js`: a document as it was at a moment, and what a moment holds.

use crdt::{ClientId, Doc, New, Options, Shared, Snapshot, Value};
use serde_json::{Value as Json, json};

use crate::json::{content, doc, doc_with_history, hex, values};
use crate::network::Network;

fn restore(doc: &mut Doc, moment: &Snapshot) -> Doc {
    // As it is stored: a moment that was written and read is the same one.
    let stored = Snapshot::decode_v1(&moment.encode_v1()).unwrap();
    assert_eq!(&Snapshot::decode_v2(&moment.encode_v2()).unwrap(), &stored);
    let restored = doc.restore(&stored, ClientId::new(900).unwrap()).unwrap();
    restored.check().unwrap();
    doc.check().unwrap();
    restored
}

/// What the array of a document shows.
fn array(doc: &mut Doc) -> Json {
    let array = doc.array("array");
    content(doc, array)
}

fn insert(doc: &mut Doc, index: u32, elements: Json) {
    let array = doc.array("array");
    let mut edit = doc.transact();
    array.insert(&mut edit, index, values(elements)).unwrap();
    edit.commit();
}

fn delete(doc: &mut Doc, index: u32) {
    let array = doc.array("array");
    let mut edit = doc.transact();
    array.delete(&mut edit, index, 1).unwrap();
    edit.commit();
}

#[test]
fn a_text_is_restored() {
    let mut doc = doc_with_history(1);
    let text = doc.text("");
    let mut edit = doc.transact();
    text.insert(&mut edit, 0, "world!").unwrap();
    edit.commit();
    let moment = doc.snapshot();
    let mut edit = doc.transact();
    text.insert(&mut edit, 0, "hello ").unwrap();
    edit.commit();
    let mut restored = restore(&mut doc, &moment);
    assert_eq!(restored.text("").read(&restored), "world!");
    assert_eq!(text.read(&doc), "hello world!");
}

#[test]
fn an_array_is_restored() {
    let mut doc = doc_with_history(1);
    insert(&mut doc, 0, json!(["hello"]));
    let moment = doc.snapshot();
    insert(&mut doc, 1, json!(["world"]));
    assert_eq!(array(&mut restore(&mut doc, &moment)), json!(["hello"]));
    assert_eq!(array(&mut doc), json!(["hello", "world"]));
}

#[test]
fn an_empty_moment_is_restored() {
    let mut doc = doc_with_history(1);
    assert_eq!(doc.snapshot().encode_v1(), [0, 0]);
    // A client of which nothing is known: no deletions, one client, 9999, clock 0.
    let moment = Snapshot::decode_v1(&[0, 1, 0x8f, 0x4e, 0]).unwrap();
    assert_eq!(moment, doc.snapshot());
    insert(&mut doc, 0, json!(["world"]));
    assert_eq!(array(&mut restore(&mut doc, &moment)), json!([]));
    assert_eq!(array(&mut doc), json!(["world"]));
    let newest = doc.snapshot();
    assert_eq!(array(&mut restore(&mut doc, &newest)), json!(["world"]));
}

#[test]
fn a_nested_map_is_restored_as_it_was() {
    let mut doc = doc_with_history(1);
    let list = doc.array("array");
    let mut edit = doc.transact();
    let map = list.insert_map(&mut edit, 0).unwrap();
    let Shared::Map(map) = map else { unreachable!("a map was inserted") };
    edit.commit();
    let set = |doc: &mut Doc, key: &str, value: &str| {
        let mut edit = doc.transact();
        map.insert(&mut edit, key, value).unwrap();
        edit.commit();
    };
    set(&mut doc, "key1", "value1");
    let moment = doc.snapshot();
    set(&mut doc, "key2", "value2");
    assert_eq!(array(&mut restore(&mut doc, &moment)), json!([{ "key1": "value1" }]));
    assert_eq!(array(&mut doc), json!([{ "key1": "value1", "key2": "value2" }]));
}

#[test]
fn what_was_deleted_since_is_restored() {
    let mut doc = doc_with_history(1);
    insert(&mut doc, 0, json!(["item1", "item2"]));
    let moment = doc.snapshot();
    delete(&mut doc, 0);
    assert_eq!(array(&mut restore(&mut doc, &moment)), json!(["item1", "item2"]));
    assert_eq!(array(&mut doc), json!(["item2"]));
}

#[test]
fn what_was_deleted_since_is_restored_beside_its_neighbor() {
    let mut doc = doc_with_history(1);
    insert(&mut doc, 0, json!(["item1"]));
    let map = doc.map("map");
    let mut edit = doc.transact();
    map.insert(&mut edit, "test", 1).unwrap();
    edit.commit();
    insert(&mut doc, 0, json!(["item0"]));
    let moment = doc.snapshot();
    delete(&mut doc, 1);
    let mut restored = restore(&mut doc, &moment);
    assert_eq!(array(&mut restored), json!(["item0", "item1"]));
    let map = restored.map("map");
    assert_eq!(content(&restored, map), json!({ "test": 1 }));
    assert_eq!(array(&mut doc), json!(["item0"]));
}

#[test]
fn what_was_deleted_before_stays_deleted() {
    let mut doc = doc_with_history(1);
    insert(&mut doc, 0, json!(["item1"]));
    delete(&mut doc, 0);
    let moment = doc.snapshot();
    insert(&mut doc, 0, json!(["item0"]));
    assert_eq!(array(&mut restore(&mut doc, &moment)), json!([]));
    assert_eq!(array(&mut doc), json!(["item0"]));
}

#[test]
fn what_was_deleted_in_the_middle_stays_deleted() {
    let mut doc = doc_with_history(1);
    insert(&mut doc, 0, json!(["item1", "item2", "item3"]));
    delete(&mut doc, 1);
    let moment = doc.snapshot();
    insert(&mut doc, 0, json!(["item0"]));
    assert_eq!(array(&mut restore(&mut doc, &moment)), json!(["item1", "item3"]));
    assert_eq!(array(&mut doc), json!(["item0", "item1", "item3"]));
}

#[test]
fn a_moment_of_one_replica_is_restored_by_each() {
    let history = Options { gc: false, ..Options::default() };
    let mut network = Network::with_options(2, 1, history);
    let put = |network: &mut Network, at: usize, index: u32, element: &str| {
        let array = network.array(at);
        network.edit(at, |edit| array.insert(edit, index, values(json!([element]))));
        network.sync();
    };
    put(&mut network, 0, 0, "user1item1");
    put(&mut network, 1, 1, "user2item1");
    let moment = network.doc(0).snapshot();
    put(&mut network, 0, 2, "user1item2");
    put(&mut network, 1, 3, "user2item2");
    let mut restored = Vec::new();
    for at in 0..2 {
        let mut doc = restore(network.doc_mut(at), &moment);
        assert_eq!(array(&mut doc), json!(["user1item1", "user2item1"]));
        restored.push(hex(&doc.state_v1()));
    }
    assert_eq!(restored[0], restored[1]);
    let all = json!(["user1item1", "user2item1", "user1item2", "user2item2"]);
    assert_eq!(network.shown(0)["array"], all);
    network.converge();
}

#[test]
fn a_moment_says_whether_it_holds_an_update() {
    let mut doc = doc(1);
    let list = doc.array("array");
    let empty = doc.snapshot();
    let mut edit = doc.transact();
    list.insert(&mut edit, 0, values(json!([1]))).unwrap();
    let commit = edit.commit();
    let inserted = [commit.update_v1().unwrap(), commit.update_v2().unwrap()];
    let filled = doc.snapshot();
    let mut edit = doc.transact();
    list.delete(&mut edit, 0, 1).unwrap();
    let commit = edit.commit();
    let deleted = [commit.update_v1().unwrap(), commit.update_v2().unwrap()];
    let last = doc.snapshot();
    for (moment, holds_insertion, holds_deletion) in
        [(&empty, false, false), (&filled, true, false), (&last, true, true)]
    {
        assert_eq!(moment.contains_v1(&inserted[0]).unwrap(), holds_insertion);
        assert_eq!(moment.contains_v2(&inserted[1]).unwrap(), holds_insertion);
        assert_eq!(moment.contains_v1(&deleted[0]).unwrap(), holds_deletion);
        assert_eq!(moment.contains_v2(&deleted[1]).unwrap(), holds_deletion);
    }
}

#[test]
fn a_moment_does_not_hold_a_deletion_next_to_its_own() {
    let (mut local, mut remote) = (doc(1), doc(2));
    let text = local.text("t");
    let mut edit = local.transact();
    text.insert(&mut edit, 0, "abcdefghij").unwrap();
    text.delete(&mut edit, 0, 3).unwrap();
    edit.commit();
    remote.apply_v1(&local.state_v1()).unwrap();
    let moment = remote.snapshot();
    assert!(moment.contains_v1(&local.state_v1()).unwrap());
    let mut edit = local.transact();
    text.delete(&mut edit, 0, 3).unwrap();
    edit.commit();
    assert!(!moment.contains_v1(&local.state_v1()).unwrap());
    assert!(!moment.contains_v2(&local.state_v2()).unwrap());
}

#[test]
fn attributes_are_read_as_they_were() {
    let mut doc = doc_with_history(1);
    let map = doc.map("");
    let mut edit = doc.transact();
    map.insert(&mut edit, "el", New::XmlElement("div".to_owned())).unwrap();
    edit.commit();
    let Some(Value::Shared(Shared::Xml(element))) = map.get(&doc, "el") else {
        unreachable!("an element was set")
    };
    let mut moments = vec![doc.snapshot()];
    for value in ["1", "2"] {
        let mut edit = doc.transact();
        element.set_attribute(&mut edit, "a", value).unwrap();
        edit.commit();
        moments.push(doc.snapshot());
    }
    assert_eq!(element.attribute(&doc, "a"), Some(Value::Any("2".into())));
    let expected = [None, Some("1"), Some("2")];
    for (moment, expected) in moments.iter().zip(expected) {
        let expected: Vec<(String, Value)> =
            expected.map(|value| ("a".to_owned(), Value::Any(value.into()))).into_iter().collect();
        assert_eq!(element.attributes_at(&doc, moment), expected);
    }
}
