//! The crdt crate.
