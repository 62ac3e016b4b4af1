//! What can go wrong: foreign bytes that are no update, and positions that are not there.

use thiserror::Error;

/// Why a document refused something; it is unchanged then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes are not what they should be.
    #[error("malformed bytes: {0}")]
    Malformed(#[from] lib0::ReadError),
    /// A position lies past the end.
    #[error("position {index} is past the end ({len})")]
    OutOfBounds {
        /// The position asked for, in UTF-16 units or elements.
        index: u32,
        /// The length of the text or array.
        len: u32,
    },
    /// The text, map or array was deleted, or never was in this document.
    #[error("this part of the document is gone")]
    Gone,
    /// A value or attribute of a text that JSON has no text for, as the first format wants: undefined, or a `BigInt`
    /// in it. Yjs throws.
    #[error("what stands in a text must be JSON: it can't be undefined or have a BigInt in it")]
    NotJson,
    /// What showed at a moment is not here any more, or never was.
    #[error("this moment can't be restored: its history was not kept here")]
    HistoryNotKept,
    /// So much waits already for what has not arrived that this, which would wait too, is not taken in.
    #[error("{bytes} bytes would wait for what has not arrived, and at most {max} may")]
    TooMuchWaiting {
        /// How many bytes would wait.
        bytes: usize,
        /// How many may: [`Options::max_waiting`](crate::Options::max_waiting).
        max: usize,
    },
    /// A document holds at most 2^32 - 1 units of each client, and takes updates up to 2^24 structs.
    #[error("the document is full: it has 2^24 structs, or a client has made 2^32 units")]
    Full,
}
