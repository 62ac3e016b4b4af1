//! Who is there: the person on this device, the others, and their cursors.
//!
//! On the wire it is y-protocols awareness in the shape that y-codemirror.next writes, so that
//! other Yjs clients see us and we them.

use paper::FileId;

/// How many colours there are for people.
pub const PERSON_COLORS: u8 = 8;

/// A person, as the others see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The name, as typed.
    pub name: String,
    /// Which of the [`PERSON_COLORS`] colours.
    pub color: u8,
}

/// A person who has the paper open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Tells two windows of one person apart; stays while they are there.
    pub id: String,
    /// Is it this device?
    pub me: bool,
    /// The name.
    pub name: String,
    /// Which of the [`PERSON_COLORS`] colours.
    pub color: u8,
    /// The file that they look at.
    pub file: Option<FileId>,
    /// The line that their cursor is on, from 1, if known.
    pub line: Option<u32>,
}

/// Somebody else's cursor in an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// The same as [`Presence::id`].
    pub id: String,
    /// The name.
    pub name: String,
    /// Which of the [`PERSON_COLORS`] colours.
    pub color: u8,
    /// The end of the selection that stays, in UTF-16 units.
    pub anchor: u32,
    /// The end that moves.
    pub head: u32,
}
