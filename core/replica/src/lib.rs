//! The replica crate.
