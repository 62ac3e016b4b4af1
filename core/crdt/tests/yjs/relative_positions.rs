//! `relativePositions.tests.js`: anchors lead back to where they were made, and move along.

use crdt::{Anchor, Assoc, Doc, Text};

use crate::json::doc;

/// A document with a text, into which words were typed at its start one after the other.
fn with_text(words: &[&str]) -> (Doc, Text) {
    let mut doc = doc(1);
    let text = doc.text("");
    for word in words {
        let mut edit = doc.transact();
        text.insert(&mut edit, 0, word).unwrap();
        edit.commit();
    }
    (doc, text)
}

/// At each position of a text, an anchor of each side that is written and read leads back to it.
fn check(words: &[&str]) {
    let (doc, text) = with_text(words);
    for index in 0..=text.len(&doc) {
        for assoc in [Assoc::Before, Assoc::After] {
            let anchor = text.anchor(&doc, index, assoc);
            let read = [
                anchor.clone(),
                Anchor::decode(&anchor.encode()).unwrap(),
                Anchor::from_json(&anchor.to_json()).unwrap(),
            ];
            for anchor in read {
                assert_eq!(anchor.resolve(&doc), Some(index), "{words:?}, {assoc:?}");
            }
        }
    }
}

#[test]
fn anchors_lead_back_among_words_and_letters() {
    check(&["1", "abc", "z", "y", "x"]);
}

#[test]
fn anchors_lead_back_in_a_word() {
    check(&["abc"]);
}

#[test]
fn anchors_lead_back_among_words() {
    check(&["abc", "1", "xyz"]);
}

#[test]
fn anchors_lead_back_at_a_letter() {
    check(&["1"]);
}

#[test]
fn anchors_lead_back_between_two_letters() {
    check(&["2", "1"]);
}

#[test]
fn anchors_lead_back_in_an_empty_text() {
    check(&[]);
}

#[test]
fn what_is_typed_at_an_anchor_comes_on_its_other_side() {
    let (mut doc, text) = with_text(&["2", "1"]);
    let after = text.anchor(&doc, 1, Assoc::After);
    let before = text.anchor(&doc, 1, Assoc::Before);
    let mut edit = doc.transact();
    text.insert(&mut edit, 1, "x").unwrap();
    edit.commit();
    assert_eq!(after.resolve(&doc), Some(2));
    assert_eq!(before.resolve(&doc), Some(1));
}
