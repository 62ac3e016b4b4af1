//! Yjs's own tests, each shown again for this crate in our own words.
//!
//! `README.md` maps each test of Yjs 13.6 by its name to the one here. [`network`] stands for Yjs's `testHelper.js`,
//! [`json`] says in JSON what a document shows.

#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "helpers of tests to come")]

#[path = "yjs/json.rs"]
mod json;
#[path = "yjs/network.rs"]
mod network;
#[path = "yjs/updates.rs"]
mod updates;
