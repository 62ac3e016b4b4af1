//! A document's whole state in one file.
//!
//! ```text
//! "QSNP" | u16 format | u16 flags | u64 lsn | u32 document number | varint name length, name
//!        | varint state length | zstd(V2 update) | u32 crc32c of all before
//! ```
//! The file's name is made of a hash of the document's name and of the lsn up to which it has
//! all of the document's writes. It is put in place durably, after being read back.

use crate::disk::{self, Disk};
use crate::error::{StoreError, failed};
use crate::index::{compress, decompress};
use crate::record::Lsn;
use lib0::{Reader, write_var_str, write_var_u64};
use std::io;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 4] = b"QSNP";
const FORMAT: u16 = 1;

/// Largest file that is read back.
const MAX_FILE: u64 = 1 << 30;

/// A snapshot's content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// The document.
    pub(crate) name: String,
    /// Its number in the log.
    pub(crate) number: u32,
    /// All its writes up to here are in.
    pub(crate) lsn: Lsn,
    /// The state as V2 update.
    pub(crate) state: Vec<u8>,
}

impl Snapshot {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.state.len() / 2 + 100);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&self.lsn.get().to_le_bytes());
        bytes.extend_from_slice(&self.number.to_le_bytes());
        write_var_str(&mut bytes, &self.name);
        write_var_u64(&mut bytes, self.state.len() as u64);
        bytes.extend_from_slice(&compress(&self.state));
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (body, crc) = bytes.split_last_chunk::<4>()?;
        if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
            return None;
        }
        let mut reader = Reader::new(body);
        if reader.bytes(4).ok()? != MAGIC || reader.bytes(4).ok()? != [1, 0, 0, 0] {
            return None;
        }
        let lsn = Lsn::new(u64::from_le_bytes(reader.bytes(8).ok()?.try_into().ok()?));
        let number = u32::from_le_bytes(reader.bytes(4).ok()?.try_into().ok()?);
        let name = reader.var_str().ok()?.to_owned();
        let len = reader.var_u64().ok()?;
        let state = decompress(reader.rest(), len)?;
        Some(Self { name, number, lsn, state })
    }

    /// Puts the snapshot into the folder, durably.
    pub(crate) fn write(&self, disk: &dyn Disk, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(file_name(&self.name, self.lsn));
        let bytes = self.encode();
        let staged = disk::stage(disk, &path, &bytes).map_err(failed("write snapshot", &path))?;
        let back = staged.read_back(bytes.len() as u64).map_err(failed("read back", &path))?;
        if Self::decode(&back).as_ref() != Some(self) {
            let source = io::Error::other("what was written reads back as something else");
            return Err(failed("write snapshot", path)(source));
        }
        staged.commit().map_err(failed("put in place", path))
    }

    /// Reads a snapshot; `None` if the file is damaged or gone.
    pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Self>, StoreError> {
        match disk.read(path, MAX_FILE) {
            Ok(bytes) => Ok(Self::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", path)(error)),
        }
    }
}

/// Returns the path of a document's snapshot.
pub(crate) fn path(folder: &Path, name: &str, lsn: Lsn) -> PathBuf {
    folder.join(file_name(name, lsn))
}

/// Returns the part of the file name that says which document it is.
pub(crate) fn name_hash(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..32].to_owned()
}

/// Reads a snapshot's file name: which document (by hash) and the lsn.
pub(crate) fn parse_file_name(name: &str) -> Option<(&str, Lsn)> {
    let (hash, lsn) = name.strip_suffix(".qsnap")?.split_once('-')?;
    let digits = lsn.len() == 20 && lsn.bytes().all(|byte| byte.is_ascii_digit());
    (hash.len() == 32 && digits).then_some((hash, Lsn::new(lsn.parse().ok()?)))
}

fn file_name(name: &str, lsn: Lsn) -> String {
    format!("{}-{:020}.qsnap", name_hash(name), lsn.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Snapshot {
        let state = b"state ".repeat(20);
        Snapshot { name: "tree".into(), number: 3, lsn: Lsn::new(77), state }
    }

    #[test]
    fn a_snapshot_reads_back_or_not_at_all() {
        let bytes = sample().encode();
        assert_eq!(Snapshot::decode(&bytes), Some(sample()));
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Snapshot::decode(&bytes), None, "bit {bit}");
        }
    }

    #[test]
    fn a_file_name_reads_back() {
        let name = file_name("tree", Lsn::new(77));
        assert_eq!(parse_file_name(&name), Some((name_hash("tree").as_str(), Lsn::new(77))));
        assert_eq!(parse_file_name("tree-77.qsnap"), None);
    }
}
