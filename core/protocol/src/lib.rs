//! What two sides say to each other: y-protocols sync and awareness, and who may say it, without a
//! socket, a clock or a document.
//!
//! Read in this order:
//! - [`room`]: how a room is named,
//! - [`secret`]: what lets somebody in,
//! - [`message`]: the messages and their two framings (one room a socket as y-websocket, many rooms
//!   a socket as Hocuspocus),
//! - [`awareness`]: who is there, and for how long that holds,
//! - [`peer`]: the other end of one connection, the same type in a replica and in the server.
//!
//! Documents stay with their owner: a [`Peer`] says what was heard, the owner applies it and
//! answers. Time is passed in as milliseconds of any steady clock.

pub mod room;

pub mod secret;

pub mod message;

pub mod awareness;

pub mod peer;

pub use awareness::{Awareness, AwarenessChange};
pub use message::{Framing, Message};
pub use peer::{Heard, Peer, Stage, Standing, Unacknowledged};
pub use room::RoomName;
pub use secret::Secret;

/// Why bytes from the other side were refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A message ends early, or a number or string in it is not one.
    #[error("malformed {what} from the other side: {source}")]
    Malformed {
        /// Which part was being read.
        what: &'static str,
        /// What is wrong, and where.
        source: lib0::ReadError,
    },
    /// A sync message of a kind that there is not.
    #[error("unknown kind {kind} of sync message")]
    UnknownSync {
        /// The kind found.
        kind: u64,
    },
    /// A state vector that cannot be read.
    #[error("malformed state vector from the other side: {0}")]
    StateVector(#[source] crdt::Error),
    /// More was sent than is taken before a secret was accepted.
    #[error("too many messages before the secret was accepted")]
    Unauthenticated,
    /// An awareness state that is not JSON, too long, or nested too deeply.
    #[error("the awareness state of client {client} {problem}")]
    AwarenessState {
        /// Whose state.
        client: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A room's name that cannot be one.
    #[error("{name:?} is not a room: a room is named <32 hex digits>/<document>")]
    RoomName {
        /// The name as it came, cut at 80 characters.
        name: String,
    },
}
