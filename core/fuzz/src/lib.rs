//! Foreign bytes and random edits, without end.
//!
//! `TARGETS` has one function for each door that takes bytes from outside: the network, the disk, other people's
//! documents. A target panics when a promise does not hold; that it returns is the other half of the promise. The same
//! functions are run by libFuzzer, guided by coverage (`cargo xtask fuzz`), and over the inputs kept in `corpus/` in
//! every test run. Reading order:
//! - [`choices`]: a seed or a fuzzer's bytes as a row of choices,
//! - `edits`: one random edit,
//! - [`party`]: replicas that edit at once and hear of each other late, twice or not at all,
//! - [`convergence`]: parties one after the other,
//! - `doors`: the doors, by crate,
//! - `seeds`: first inputs, from what Yjs and older versions wrote.

pub mod choices;

mod edits;

pub mod party;

pub mod convergence;

#[cfg(feature = "doors")]
mod doors;

#[cfg(feature = "doors")]
pub mod seeds;

#[cfg(feature = "doors")]
pub use doors::{MAX_LEN, TARGETS, Target, named};
