//! One file of the log in bytes: its header, and telling a torn end from damage. Pure.
//!
//! ```text
//! "QLOG" | u16 format | u16 flags | u64 first lsn | [16] store | [16] salt | u64 created ms
//!        | [4] zero | u32 crc32c          64 bytes, then records
//! ```
//! A group commit is one write: records, then a mark. What stands behind the last mark was never
//! promised, so bad bytes there are a torn write. A mark *behind* bad bytes proves that they were
//! once good (or that the last write of all arrived in the wrong order: then nothing was promised
//! of it, but nobody can tell): that is damage, and every record that verifies is kept.

use crate::record::{self, Found, Frame, Kind, Lsn, Record};

/// Length of a segment's header.
pub(crate) const HEADER_LEN: usize = 64;

const MAGIC: &[u8; 4] = b"QLOG";
const FORMAT: u16 = 1;

/// A segment's first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// The lsn that the file is named after.
    pub(crate) first_lsn: Lsn,
    /// Which store it belongs to.
    pub(crate) store: [u8; 16],
    /// Random.
    pub(crate) salt: [u8; 16],
    /// When it was made, for people.
    pub(crate) created_ms: u64,
}

impl Header {
    /// Returns the header's bytes.
    pub(crate) fn encode(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..6].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first_lsn.get().to_le_bytes());
        bytes[16..32].copy_from_slice(&self.store);
        bytes[32..48].copy_from_slice(&self.salt);
        bytes[48..56].copy_from_slice(&self.created_ms.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads a header; `None` if the bytes are not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (header, _) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let (body, crc) = header.split_last_chunk::<4>()?;
        let intact = crc32c::crc32c(body) == u32::from_le_bytes(*crc)
            && body.starts_with(MAGIC)
            && body[4..6] == FORMAT.to_le_bytes();
        intact.then(|| Self::decode_unchecked(header))
    }

    /// Reads a header that does not verify: what it says may still find records.
    pub(crate) fn decode_unchecked(bytes: &[u8; HEADER_LEN]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        Self {
            first_lsn: Lsn::new(word(8)),
            store: std::array::from_fn(|i| bytes[16 + i]),
            salt: std::array::from_fn(|i| bytes[32 + i]),
            created_ms: word(48),
        }
    }

    /// Returns what the records of this segment are read with.
    pub(crate) fn frame(&self) -> Frame {
        let [a, b, c, d, ..] = self.salt;
        Frame { first_lsn: self.first_lsn, salt: [a, b, c, d] }
    }

    /// Returns the chain before the first record.
    pub(crate) fn chain(&self) -> u32 {
        crc32c::crc32c(&self.salt)
    }
}

/// How a segment ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a mark, or without any record.
    Clean,
    /// With bytes that were never promised, from `end` on.
    Torn,
    /// Something inside was once good, the first bad byte being at this offset.
    Damaged(usize),
}

/// What a segment holds.
#[derive(Debug)]
pub(crate) struct Scan<'a> {
    /// The records that verify, with their offsets, in order; no marks.
    pub(crate) records: Vec<(usize, Record<'a>)>,
    /// Where the unbroken row of records ends.
    pub(crate) end: usize,
    /// The row ends with a mark (or is empty).
    pub(crate) marked: bool,
    /// There is a mark, so that what was carried over is all there.
    pub(crate) has_mark: bool,
    /// The chain at `end`.
    pub(crate) chain: u32,
    /// The segment says itself that it is complete.
    pub(crate) sealed: bool,
    /// What comes after `end`.
    pub(crate) ending: Ending,
}

/// Reads all records of a segment's bytes behind the header.
pub(crate) fn scan<'a>(bytes: &'a [u8], header: &Header) -> Scan<'a> {
    let frame = header.frame();
    let mut scan = Scan {
        records: Vec::new(),
        end: HEADER_LEN.min(bytes.len()),
        marked: true,
        has_mark: false,
        chain: header.chain(),
        sealed: false,
        ending: Ending::Clean,
    };
    loop {
        match record::read(bytes, scan.end, &frame) {
            Found::End => {
                if !scan.marked {
                    scan.ending = Ending::Torn;
                }
                return scan;
            }
            Found::Record(found) if found.kind == Some(Kind::Mark) => {
                if found.payload != scan.chain.to_le_bytes() {
                    break;
                }
                scan.marked = true;
                scan.has_mark = true;
                scan.chain = record::chained(scan.chain, found.crc);
                scan.end += found.byte_len;
            }
            Found::Record(found) => {
                scan.marked = false;
                scan.sealed |= found.kind == Some(Kind::Sealed);
                scan.chain = record::chained(scan.chain, found.crc);
                scan.records.push((scan.end, found));
                scan.end += found.byte_len;
            }
            Found::Bad => break,
        }
    }
    let (behind, has_mark) = search(bytes, scan.end, &frame);
    if has_mark {
        scan.sealed |= behind.iter().any(|(_, record)| record.kind == Some(Kind::Sealed));
        scan.records.extend(behind);
        scan.ending = Ending::Damaged(scan.end);
    } else {
        scan.ending = Ending::Torn;
    }
    scan
}

/// Looks for records behind bad bytes, at every offset. Returns them and whether a mark is among
/// them.
fn search<'a>(bytes: &'a [u8], from: usize, frame: &Frame) -> (Vec<(usize, Record<'a>)>, bool) {
    // Crafted lengths could make every offset checksum the whole rest.
    let mut budget = bytes.len().saturating_mul(16).saturating_add(64 << 20);
    let mut found = Vec::new();
    let mut has_mark = false;
    let mut at = from;
    while at < bytes.len() && budget > 0 {
        let Some(len) = record::plausible_len(bytes, at) else {
            at += 1;
            continue;
        };
        budget = budget.saturating_sub(len);
        match record::read(bytes, at, frame) {
            Found::Record(record) => {
                if record.kind == Some(Kind::Mark) {
                    has_mark = true;
                } else {
                    found.push((at, record));
                }
                at += record.byte_len;
            }
            Found::End | Found::Bad => at += 1,
        }
    }
    (found, has_mark || budget == 0)
}
