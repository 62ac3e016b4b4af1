//! The log's records: how they look in bytes, and when bytes are one. Pure.
//!
//! ```text
//! u32 len | u32 crc32c | u8 kind | u8 flags | varint document | varint lsn - first lsn | payload
//! ```
//! Little endian. `len` counts from `kind` to the payload's end; the checksum covers four salt
//! bytes of the segment, then the same bytes, then `len`, so that a record of another segment
//! never verifies here. Each record is read without the ones before it. Two zero words are the
//! end of data.

use lib0::{Reader, write_var_u64};

/// The number of a write in its store ("log sequence number"): later writes have higher ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(u64);

impl Lsn {
    /// Before the first write.
    pub const ZERO: Self = Self(0);

    /// Returns the lsn with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Longest record. Checked before anything is reserved for it.
pub(crate) const MAX_LEN: usize = 64 << 20;

/// Length of the two words before `kind`.
pub(crate) const HEAD_LEN: usize = 8;

/// A reader that does not know the kind may skip the record.
const IGNORABLE: u8 = 1;

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Payload: one V1 update of the document.
    Update = 1,
    /// Payload: the document's name; its number stands for it from here on.
    Registered = 2,
    /// Payload: varint lsn that the document's newest snapshot covers, zero if it has none.
    SnapshotMade = 3,
    /// Payload: the blob's 32 byte hash.
    Blob = 4,
    /// Payload: name, then the base; nothing after the name: the base is gone.
    Base = 5,
    /// Closes a group commit: everything up to its lsn was promised. Payload: the checksums of
    /// all records of the segment so far, chained.
    Mark = 6,
    /// Nothing follows in this segment.
    Sealed = 9,
    /// Payload: key, then the value; nothing after the key: the fact is gone.
    Meta = 10,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Update,
            2 => Self::Registered,
            3 => Self::SnapshotMade,
            4 => Self::Blob,
            5 => Self::Base,
            6 => Self::Mark,
            9 => Self::Sealed,
            10 => Self::Meta,
            _ => return None,
        })
    }
}

/// What a segment's header gives to each of its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Records count their lsn from here.
    pub(crate) first_lsn: Lsn,
    /// Keeps records of other segments from verifying.
    pub(crate) salt: [u8; 4],
}

/// One record in a segment's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// `None`: made by a newer Quire.
    pub(crate) kind: Option<Kind>,
    /// A reader that does not know the kind must not go on.
    pub(crate) essential: bool,
    /// The document's number; 0 where the record is about none.
    pub(crate) document: u32,
    /// The last write that the record holds.
    pub(crate) lsn: Lsn,
    /// See [`Kind`].
    pub(crate) payload: &'a [u8],
    /// The record's checksum, for the chain.
    pub(crate) crc: u32,
    /// Bytes from the first to the last of the record.
    pub(crate) byte_len: usize,
}

/// What stands at a place in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A record that verifies.
    Record(Record<'a>),
    /// The end of data.
    End,
    /// Neither.
    Bad,
}

/// Appends a record and returns its checksum.
pub(crate) fn write(
    out: &mut Vec<u8>,
    frame: &Frame,
    kind: Kind,
    document: u32,
    lsn: Lsn,
    payload: &[u8],
) -> u32 {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_LEN]);
    out.extend_from_slice(&[kind as u8, 0]);
    write_var_u64(out, u64::from(document));
    write_var_u64(out, lsn.get() - frame.first_lsn.get());
    out.extend_from_slice(payload);
    let body = &out[start + HEAD_LEN..];
    assert!(body.len() <= MAX_LEN, "callers refuse what does not fit a record");
    let len = u32::try_from(body.len()).expect("MAX_LEN fits");
    let crc = checksum(frame, body);
    out[start..start + 4].copy_from_slice(&len.to_le_bytes());
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    crc
}

/// Reads what stands at `at`.
pub(crate) fn read<'a>(bytes: &'a [u8], at: usize, frame: &Frame) -> Found<'a> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return Found::End;
    }
    let Some((len, behind)) = rest.split_first_chunk::<4>() else { return Found::Bad };
    let Some((crc, after)) = behind.split_first_chunk::<4>() else { return Found::Bad };
    let (len, crc) = (u32::from_le_bytes(*len) as usize, u32::from_le_bytes(*crc));
    if len == 0 && crc == 0 {
        return if after.iter().all(|byte| *byte == 0) { Found::End } else { Found::Bad };
    }
    if !(4..=MAX_LEN).contains(&len) || len > after.len() {
        return Found::Bad;
    }
    let body = &after[..len];
    if checksum(frame, body) != crc {
        return Found::Bad;
    }
    parse(body, frame, crc).map_or(Found::Bad, Found::Record)
}

/// Returns whether a record could start here, without looking at its content: the cheap test of
/// a search.
pub(crate) fn plausible_len(bytes: &[u8], at: usize) -> Option<usize> {
    let head = bytes.get(at..at + HEAD_LEN + 2)?;
    let len = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let fits = (4..=MAX_LEN).contains(&len) && len <= bytes.len() - at - HEAD_LEN;
    (fits && head[HEAD_LEN] <= 31 && head[HEAD_LEN + 1] <= IGNORABLE).then_some(len)
}

/// Returns the chain after one more record.
pub(crate) fn chained(chain: u32, crc: u32) -> u32 {
    crc32c::crc32c_append(chain, &crc.to_le_bytes())
}

fn parse<'a>(body: &'a [u8], frame: &Frame, crc: u32) -> Option<Record<'a>> {
    let mut reader = Reader::new(body);
    let kind = reader.u8().ok()?;
    let flags = reader.u8().ok()?;
    let document = u32::try_from(reader.var_u64().ok()?).ok()?;
    let lsn = frame.first_lsn.get().checked_add(reader.var_u64().ok()?)?;
    Some(Record {
        kind: Kind::from_byte(kind),
        essential: flags & IGNORABLE == 0,
        document,
        lsn: Lsn::new(lsn),
        payload: reader.rest(),
        crc,
        byte_len: HEAD_LEN + body.len(),
    })
}

fn checksum(frame: &Frame, body: &[u8]) -> u32 {
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&frame.salt), body);
    crc32c::crc32c_append(crc, &len.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { first_lsn: Lsn::new(7), salt: [1, 2, 3, 4] };

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &FRAME, Kind::Update, 300, Lsn::new(1007), b"payload");
        bytes
    }

    #[test]
    fn a_record_reads_back() {
        let bytes = sample();
        let Found::Record(record) = read(&bytes, 0, &FRAME) else { panic!("not a record") };
        assert_eq!(record.kind, Some(Kind::Update));
        assert_eq!((record.document, record.lsn.get()), (300, 1007));
        assert_eq!((record.payload, record.byte_len), (&b"payload"[..], bytes.len()));
        assert_eq!(read(&bytes, bytes.len(), &FRAME), Found::End);
        assert_eq!(read(&[0; 20], 0, &FRAME), Found::End);
    }

    #[test]
    fn nothing_else_is_a_record() {
        let bytes = sample();
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&bytes, 0, &FRAME), Found::Bad, "bit {bit}");
        }
        for end in 1..bytes.len() {
            assert_eq!(read(&bytes[..end], 0, &FRAME), Found::Bad, "cut at {end}");
        }
        let other = Frame { salt: [1, 2, 3, 5], ..FRAME };
        assert_eq!(read(&bytes, 0, &other), Found::Bad);
        let mut zeros = vec![0; 20];
        zeros[19] = 1;
        assert_eq!(read(&zeros, 0, &FRAME), Found::Bad);
    }
}
