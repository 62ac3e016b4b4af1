//! The server crate.
