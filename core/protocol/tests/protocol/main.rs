//! What the conversation promises: y-protocols' own vectors, and two peers talking.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod conversation;
mod vectors;
