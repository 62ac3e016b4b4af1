//! `relativePositions.tests.js`: anchors lead back to where they were made, and move along.

use crdt::{Anchor, Assoc, Doc, Text, UndoOptions};

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
        for (assoc, number) in [(Assoc::Before, -1_i8), (Assoc::After, 0), (Assoc::After, 1)] {
            let mut bytes = text.anchor(&doc, index, assoc).encode();
            // Yjs takes any number from 0 on for "after", and keeps it.
            if number > 0 {
                *bytes.last_mut().unwrap() = number.unsigned_abs();
            }
            let anchor = Anchor::decode(&bytes).unwrap();
            assert_eq!(anchor.encode(), bytes);
            let json = anchor.to_json();
            assert!(json.ends_with(&format!("\"assoc\":{number}}}")), "{json}");
            for anchor in [&anchor, &Anchor::from_json(&json).unwrap()] {
                assert_eq!(anchor.assoc(), assoc);
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

#[test]
fn an_anchor_is_in_the_same_place_whether_copies_are_followed_or_not() {
    let (doc, text) = with_text(&["abcde"]);
    let anchor = text.anchor(&doc, 2, Assoc::After);
    assert_eq!(anchor.resolve(&doc), Some(2));
    assert_eq!(anchor.resolve_unfollowed(&doc), Some(2));
}

#[test]
fn an_anchor_goes_with_the_copy_where_its_deletion_was_undone() {
    let (mut ours, text) = with_text(&["hello world"]);
    let anchor = text.anchor(&ours, 1, Assoc::After);
    let manager = ours.track(UndoOptions { scope: vec![text.into()], ..UndoOptions::default() });
    let mut edit = ours.transact();
    text.delete(&mut edit, 0, 6).unwrap();
    edit.commit();
    assert_eq!(anchor.resolve(&ours), Some(0));
    assert!(manager.undo(&mut ours).unwrap().is_some());
    assert_eq!(anchor.resolve(&ours), Some(1));
    // The deleted "hello " itself lies behind its copy.
    assert_eq!(anchor.resolve_unfollowed(&ours), Some(6));
    // Nobody else can tell what is a copy of what.
    let mut theirs = doc(2);
    theirs.text("");
    theirs.apply_v1(&ours.state_v1()).unwrap();
    assert_eq!(anchor.resolve(&theirs), Some(6));
    assert_eq!(anchor.resolve_unfollowed(&theirs), Some(6));
}
