//! The paper crate.
