//! `compatibility.tests.js`: documents that Yjs 13.2 wrote, after thousands of random edits by several clients.
//!
//! They are in `tests/recorded`, with what they show and with hashes of the states that Yjs 13.6.33 makes of them.

use std::path::Path;

use crdt::{Doc, Shared, update};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::json::{content, delta, doc, hex};

/// Loads an old document in several ways; each shows what it showed then, and is written as by the newest Yjs.
fn check(name: &str, root: impl Fn(&mut Doc) -> Shared) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let old = std::fs::read(folder.join(format!("yjs-13.2-{name}.bin"))).unwrap();
    let facts = std::fs::read(folder.join("yjs-13.2.json")).unwrap();
    let facts: Json = serde_json::from_slice(&facts).unwrap();
    let facts = &facts[name];
    let old_v2 = update::v1_to_v2(&old).unwrap();
    for second_format in [false, true] {
        let mut doc = doc(900);
        let root = root(&mut doc);
        if second_format { doc.apply_v2(&old_v2) } else { doc.apply_v1(&old) }.unwrap();
        doc.check().unwrap();
        assert_eq!(doc.waiting(), None);
        let shown = match root {
            Shared::Text(text) => delta(&doc, text),
            root => content(&doc, root),
        };
        assert_eq!(shown, facts["shows"]);
        let sha = |bytes: &[u8]| json!(hex(&Sha256::digest(bytes)));
        assert_eq!(sha(&doc.state_v1()), facts["state_v1"]);
        assert_eq!(sha(&doc.state_v2()), facts["state_v2"]);
    }
}

#[test]
fn an_old_array_shows_what_it_did() {
    check("array", |doc| doc.array("array").into());
}

#[test]
fn an_old_map_shows_what_it_did() {
    check("map", |doc| doc.map("map").into());
}

#[test]
fn an_old_text_shows_what_it_did() {
    check("text", |doc| doc.text("text").into());
}
