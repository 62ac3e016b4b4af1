//! How a room is named: `<paper id>/<document>`, for instance `<paper id>/tree` or
//! `<paper id>/<file id>`.
//!
//! A name comes from outside and ends in the names of folders and records, so it is narrow: 32
//! hex digits, one slash, then letters, digits, `-` and `_`.

use std::fmt;

use crate::Error;

/// The most bytes a document's name has.
const MAX_DOCUMENT: usize = 64;

/// The name of a room: one document of one paper.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomName {
    /// The whole name; the first 32 bytes are the paper's id, then a slash. Kept by [`Self::parse`].
    name: String,
}

/// Whether this is a paper's id: 32 lower-case hex digits.
pub fn is_paper_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl RoomName {
    /// Reads a room's name, or says that it is none.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let valid = name.split_once('/').is_some_and(|(paper, document)| {
            is_paper_id(paper)
                && (1..=MAX_DOCUMENT).contains(&document.len())
                && document.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        });
        if valid {
            Ok(Self { name: name.to_owned() })
        } else {
            Err(Error::RoomName { name: name.chars().take(80).collect() })
        }
    }

    /// Returns the id of the paper that the room belongs to.
    pub fn paper(&self) -> &str {
        &self.name[..32]
    }

    /// Returns the document's name within its paper.
    pub fn document(&self) -> &str {
        &self.name[33..]
    }

    /// Returns the whole name.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for RoomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for RoomName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_a_document_of_a_paper() {
        let room = RoomName::parse("0123456789abcdef0123456789abcdef/tree").unwrap();
        assert_eq!(room.paper(), "0123456789abcdef0123456789abcdef");
        assert_eq!(room.document(), "tree");
        assert_eq!(room.to_string(), "0123456789abcdef0123456789abcdef/tree");
    }

    #[test]
    fn what_could_be_a_path_is_no_room() {
        let paper = "0123456789abcdef0123456789abcdef";
        for bad in [
            String::new(),
            "tree".to_owned(),
            paper.to_owned(),
            format!("{paper}/"),
            format!("{paper}/.."),
            format!("{paper}/a/b"),
            format!("{paper}/a\0b"),
            format!("{}/tree", paper.to_uppercase()),
            format!("{paper}/{}", "a".repeat(65)),
            format!("é{}/tree", &paper[2..]),
        ] {
            assert!(RoomName::parse(&bad).is_err(), "{bad:?}");
        }
    }
}
