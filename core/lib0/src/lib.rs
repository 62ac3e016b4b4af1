//! The lib0 crate.
