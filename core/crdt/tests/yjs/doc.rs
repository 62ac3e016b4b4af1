//! `doc.tests.js`: what belongs to a document as a whole.

use crdt::{New, Origin, UndoOptions, Value};
use serde_json::json;

use crate::json::{content, doc, values};

#[test]
fn a_transaction_may_make_thousands_of_types() {
    let mut doc = doc(1);
    let xml = doc.xml("");
    let mut edit = doc.transact();
    for index in 0..15_000 {
        xml.insert(&mut edit, index, vec![New::XmlText]).unwrap();
        let Some(Value::Shared(crdt::Shared::Text(text))) = xml.get(edit.doc(), index) else {
            unreachable!("a text was inserted")
        };
        text.insert(&mut edit, 0, "a").unwrap();
    }
    let commit = edit.commit();
    assert_eq!(xml.to_xml(commit.doc()), "a".repeat(15_000));
    let update = commit.update_v1().unwrap();
    let mut reader = crate::json::doc(2);
    reader.apply_v1(&update).unwrap();
    assert_eq!(reader.state_v1(), doc.state_v1());
}

#[test]
fn reading_a_moment_is_nobodys_step() {
    let mut doc = doc(1);
    let text = doc.text("");
    let mut watch =
        |origin| doc.track(UndoOptions { origins: vec![Origin(origin)], ..UndoOptions::default() });
    let (nobody, first, second) = (watch(0), watch(1), watch(2));
    let mut edit = doc.transact_as(Origin(1), 1_000);
    text.insert(&mut edit, 0, "0").unwrap();
    edit.commit();
    // To read a moment, items are cut and joined again: a transaction of its own, which changes nothing.
    let moment = doc.snapshot();
    text.delta_between(&mut doc, Some(&moment), None, None);
    let mut edit = doc.transact_as(Origin(2), 1_000);
    text.insert(&mut edit, 0, "a").unwrap();
    edit.commit();
    assert_eq!(
        [nobody, first, second].map(|manager| manager.undo_len(&doc)),
        [0, 1, 1],
        "each origin has its own transaction"
    );
}

#[test]
fn a_client_id_that_somebody_else_uses_is_changed() {
    let (mut doc1, mut doc2) = (doc(0), doc(0));
    assert_eq!(doc1.client(), doc2.client());
    let array = doc1.array("a");
    let mut edit = doc1.transact();
    array.insert(&mut edit, 0, values(json!([1, 2]))).unwrap();
    edit.commit();
    doc2.apply_v1(&doc1.state_v1()).unwrap();
    assert_ne!(doc1.client(), doc2.client());
    assert_eq!(doc1.client().get(), 0);
    let array = doc2.array("a");
    assert_eq!(content(&doc2, array), json!([1, 2]));
}

#[test]
fn a_root_may_have_no_name() {
    let mut doc1 = doc(1);
    for (index, letter) in [(0, "h"), (1, "i")] {
        let text = doc1.text("");
        let mut edit = doc1.transact();
        text.insert(&mut edit, index, letter).unwrap();
        edit.commit();
    }
    let mut doc2 = doc(2);
    doc2.apply_v1(&doc1.state_v1()).unwrap();
    assert_eq!(doc2.text("").read(&doc2), "hi");
}
