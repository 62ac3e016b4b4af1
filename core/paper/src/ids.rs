//! The names of papers and files: 32 hex digits each, safe in a path, a URL and a room name.

use std::fmt;

use crate::names::PaperPath;

/// A paper's id: made once, at random, when a folder becomes a paper.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaperId([u8; 16]);

/// A file's id within its paper: it stays when the file is renamed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId([u8; 16]);

/// Why a string is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 32 hex digits (0-9, a-f)")]
pub struct IdError;

impl PaperId {
    /// Returns the id with these (random) bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads 32 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        parse(text).map(Self)
    }
}

impl FileId {
    /// Returns the id that every replica gives to the same first import of a file.
    ///
    /// Derived and not random, so that two people who link the same folder do not end with every
    /// file twice.
    pub fn of_import(paper: PaperId, path: &PaperPath, content: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("quire file id 1");
        hasher.update(&paper.0);
        hasher.update(&(path.as_str().len() as u64).to_le_bytes());
        hasher.update(path.as_str().as_bytes());
        hasher.update(blake3::hash(content).as_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(bytes)
    }

    /// Returns the id with these (random) bytes, for a file made in the app.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads 32 lower-case hex digits.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        parse(text).map(Self)
    }
}

fn parse(text: &str) -> Result<[u8; 16], IdError> {
    let digits = text.as_bytes();
    let mut bytes = [0; 16];
    if digits.len() != 32 {
        return Err(IdError);
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Ok(bytes)
}

/// Upper case is refused: one id must have one spelling.
fn digit(byte: u8) -> Result<u8, IdError> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(IdError),
    }
}

impl fmt::Display for PaperId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, self.0)
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, self.0)
    }
}

impl fmt::Debug for PaperId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, self.0)
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, self.0)
    }
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: [u8; 16]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = PaperId::from_bytes(*b"0123456789abcdef");
        assert_eq!(PaperId::parse(&id.to_string()), Ok(id));
        for bad in
            ["", "0", "../../../../../../../../etc/passwd", "A0000000000000000000000000000000"]
        {
            assert_eq!(PaperId::parse(bad), Err(IdError), "{bad}");
        }
    }

    #[test]
    fn the_same_import_has_the_same_id_and_no_other() {
        let paper = PaperId::from_bytes([7; 16]);
        let path = PaperPath::parse("a.tex").unwrap();
        let id = FileId::of_import(paper, &path, b"text");
        assert_eq!(id, FileId::of_import(paper, &path, b"text"));
        assert_ne!(id, FileId::of_import(paper, &path, b"texts"));
        assert_ne!(id, FileId::of_import(paper, &PaperPath::parse("b.tex").unwrap(), b"text"));
        assert_ne!(id, FileId::of_import(PaperId::from_bytes([8; 16]), &path, b"text"));
    }
}
