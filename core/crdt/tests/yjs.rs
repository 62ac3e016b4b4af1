//! Yjs's own tests, each shown again for this crate in our own words.
//!
//! `README.md` maps each test of Yjs 13.6 by its name to the one here. [`network`] stands for Yjs's `testHelper.js`,
//! [`json`] says in JSON what a document shows.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and read recordings"
)]

#[path = "yjs/array.rs"]
mod array;
#[path = "yjs/compatibility.rs"]
mod compatibility;
#[path = "yjs/doc.rs"]
mod doc;
#[path = "yjs/encoding.rs"]
mod encoding;
#[path = "yjs/json.rs"]
mod json;
#[path = "yjs/map.rs"]
mod map;
#[path = "yjs/network.rs"]
mod network;
#[path = "yjs/random_text.rs"]
mod random_text;
#[path = "yjs/relative_positions.rs"]
mod relative_positions;
#[path = "yjs/snapshot.rs"]
mod snapshot;
#[path = "yjs/text.rs"]
mod text;
#[path = "yjs/undo_redo.rs"]
mod undo_redo;
#[path = "yjs/updates.rs"]
mod updates;
#[path = "yjs/xml.rs"]
mod xml;
