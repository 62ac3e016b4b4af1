//! What documents promise, through the doors that callers use.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test may panic, print what it ran, and read recordings"
)]

#[path = "promises/differential.rs"]
mod differential;
#[path = "promises/events.rs"]
mod events;
#[path = "promises/recorded.rs"]
mod recorded;
#[path = "promises/replay.rs"]
mod replay;
#[path = "promises/vectors.rs"]
mod vectors;
#[path = "promises/waiting.rs"]
mod waiting;
