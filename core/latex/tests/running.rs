//! The promises of running TeX, on real TeX: what comes out, what cannot get out, what ends.
//!
//! Where this machine has no TeX or no sandbox, a test says so and passes.

#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, looks at folders as another program would, and tells what it skips"
)]

#[path = "running/desk.rs"]
mod desk;

#[path = "running/building.rs"]
mod building;

#[path = "running/probes.rs"]
mod probes;
