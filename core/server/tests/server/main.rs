//! What the server promises to whoever speaks to it, through its real sockets on this machine.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod churn;
mod desk;
mod figures;
mod lifecycle;
mod limits;
mod logs;
mod rooms;
