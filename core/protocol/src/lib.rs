//! The protocol crate.
