//! What the log's records say, in memory: which documents there are and where their updates
//! stand, the bases, the small facts. Built by recovery, kept up to date by the log.
//!
//! Facts carry the lsn at which they were set: a later one wins, in whatever order the segments
//! are read.

use crate::error::StoreError;
use crate::record::{Kind, Lsn, Record};
use lib0::{Reader, write_var_bytes, write_var_str, write_var_u64};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

/// Where an update stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// First lsn of the segment.
    pub(crate) segment: Lsn,
    /// Offset of the record.
    pub(crate) offset: u64,
    /// Length of the record.
    pub(crate) byte_len: usize,
    /// The record's lsn.
    pub(crate) lsn: Lsn,
}

/// What is known of one document.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Stands for the name in records.
    pub(crate) number: u32,
    /// Its updates in the log, oldest first.
    pub(crate) updates: Vec<Place>,
    /// The last of this run's updates; while it is not durable, `updates` lacks some.
    pub(crate) last_queued: Lsn,
    /// The lsns of its snapshots, ascending.
    pub(crate) snapshots: Vec<Lsn>,
    /// The newest snapshot that the log says there is; zero: it says that there is none.
    pub(crate) claimed: Lsn,
    /// The newest snapshot that a later open has read back whole.
    pub(crate) verified: Lsn,
}

impl Known {
    /// Returns the lsn up to which the log is not needed for this document: a snapshot covers
    /// it, and either that one has been read back by a later open or there is a newer one.
    pub(crate) fn safe(&self) -> Lsn {
        let second = self.snapshots.len().checked_sub(2).map(|at| self.snapshots[at]);
        self.verified.max(second.unwrap_or(Lsn::ZERO))
    }
}

type Fact = (Lsn, Option<Vec<u8>>);

/// What the log's records say.
#[derive(Debug, Default)]
pub(crate) struct Index {
    documents: BTreeMap<String, Known>,
    names: BTreeMap<u32, String>,
    highest: u32,
    meta: BTreeMap<String, Fact>,
    bases: BTreeMap<String, Fact>,
    blobs: BTreeSet<[u8; 32]>,
    /// Updates under numbers whose names are not known (yet).
    orphans: BTreeMap<u32, Vec<Place>>,
}

impl Index {
    /// Takes in a record from a segment. What does not parse says nothing.
    pub(crate) fn take(&mut self, segment: Lsn, offset: usize, record: &Record<'_>) {
        self.highest = self.highest.max(record.document);
        match record.kind {
            Some(Kind::Update) => {
                let offset = offset as u64;
                self.place(
                    record.document,
                    Place { segment, offset, byte_len: record.byte_len, lsn: record.lsn },
                );
            }
            Some(Kind::Registered) => {
                if let Ok(name) = str::from_utf8(record.payload) {
                    self.register(name, record.document);
                }
            }
            Some(Kind::Blob) => {
                if let Ok(hash) = record.payload.try_into() {
                    self.blobs.insert(hash);
                }
            }
            Some(kind @ (Kind::Base | Kind::Meta)) => {
                if let Some((name, value)) = split_fact(record.payload) {
                    self.set(kind, name, record.lsn, value.map(<[u8]>::to_vec));
                }
            }
            Some(Kind::SnapshotMade) => {
                if let Some(covers) = read_snapshot_payload(record.payload)
                    && let Some(name) = self.names.get(&record.document)
                    && let Some(known) = self.documents.get_mut(name)
                {
                    known.claimed = covers;
                }
            }
            Some(Kind::Mark | Kind::Sealed) | None => {}
        }
    }

    /// Notes where an update stands.
    pub(crate) fn place(&mut self, number: u32, place: Place) {
        match self.names.get(&number).and_then(|name| self.documents.get_mut(name)) {
            Some(known) => known.updates.push(place),
            None => self.orphans.entry(number).or_default().push(place),
        }
    }

    /// Gives a number its name. The first name stays.
    pub(crate) fn register(&mut self, name: &str, number: u32) {
        self.highest = self.highest.max(number);
        if self.documents.contains_key(name) || self.names.contains_key(&number) {
            return;
        }
        self.names.insert(number, name.to_owned());
        let updates = self.orphans.remove(&number).unwrap_or_default();
        let known = Known { number, updates, ..Known::default() };
        self.documents.insert(name.to_owned(), known);
    }

    /// Returns a number that no record uses.
    pub(crate) fn next_number(&self) -> u32 {
        self.highest + 1
    }

    /// Sets or removes a base or a small fact, unless a later record has.
    pub(crate) fn set(&mut self, kind: Kind, name: &str, lsn: Lsn, value: Option<Vec<u8>>) {
        let facts = if kind == Kind::Base { &mut self.bases } else { &mut self.meta };
        match facts.get_mut(name) {
            Some(fact) if fact.0 > lsn => {}
            Some(fact) => *fact = (lsn, value),
            None => {
                facts.insert(name.to_owned(), (lsn, value));
            }
        }
    }

    /// Notes a blob.
    pub(crate) fn add_blob(&mut self, hash: [u8; 32]) {
        self.blobs.insert(hash);
    }

    /// Returns a base's or fact's bytes.
    pub(crate) fn fact(&self, kind: Kind, name: &str) -> Option<&[u8]> {
        let facts = if kind == Kind::Base { &self.bases } else { &self.meta };
        facts.get(name)?.1.as_deref()
    }

    /// Returns the names of all bases or facts.
    pub(crate) fn fact_names(&self, kind: Kind) -> Vec<String> {
        let facts = if kind == Kind::Base { &self.bases } else { &self.meta };
        let set = facts.iter().filter(|(_, fact)| fact.1.is_some());
        set.map(|(name, _)| name.clone()).collect()
    }

    /// Returns what is known of a document.
    pub(crate) fn document(&self, name: &str) -> Option<&Known> {
        self.documents.get(name)
    }

    /// Returns what is known of a document.
    pub(crate) fn document_mut(&mut self, name: &str) -> Option<&mut Known> {
        self.documents.get_mut(name)
    }

    /// Returns the documents, by name.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&str, &Known)> {
        self.documents.iter().map(|(name, known)| (name.as_str(), known))
    }

    /// Returns a number's name.
    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(&number).map(String::as_str)
    }

    /// Returns how many updates stand under numbers without a name.
    pub(crate) fn orphan_count(&self) -> usize {
        self.orphans.values().map(Vec::len).sum()
    }

    /// Returns whether a document has updates that no snapshot covers in a segment before this
    /// one.
    pub(crate) fn holds_older_segment(&self, name: &str, active: Lsn) -> bool {
        self.document(name).is_some_and(|known| {
            let covered = known.snapshots.last().copied().unwrap_or_default();
            known.updates.iter().any(|place| place.segment < active && place.lsn > covered)
        })
    }

    /// Forgets what was removed: no segment has it any more.
    pub(crate) fn forget_removed(&mut self) {
        self.meta.retain(|_, (_, value)| value.is_some());
        self.bases.retain(|_, (_, value)| value.is_some());
    }

    /// Forgets the updates in a segment that is no more.
    pub(crate) fn forget_segment(&mut self, segment: Lsn) {
        for known in self.documents.values_mut() {
            known.updates.retain(|place| place.segment != segment);
        }
        for places in self.orphans.values_mut() {
            places.retain(|place| place.segment != segment);
        }
    }

    /// Returns the records without which a segment cannot be the only one: names, facts, blobs.
    /// Removed facts are carried as such: an older segment that still has them may stay longer
    /// than the one that says so.
    pub(crate) fn carried(&self) -> Vec<(Kind, u32, Vec<u8>)> {
        let mut records = Vec::new();
        for (name, known) in &self.documents {
            records.push((Kind::Registered, known.number, name.clone().into_bytes()));
            let newest = known.snapshots.last().copied().unwrap_or_default();
            if newest.max(known.claimed) > Lsn::ZERO {
                records.push((Kind::SnapshotMade, known.number, snapshot_payload(newest)));
            }
        }
        for (kind, facts) in [(Kind::Meta, &self.meta), (Kind::Base, &self.bases)] {
            for (name, (_, value)) in facts {
                records.push((kind, 0, fact_payload(name, value.as_deref())));
            }
        }
        records.extend(self.blobs.iter().map(|hash| (Kind::Blob, 0, hash.to_vec())));
        records
    }
}

/// Returns the payload of a base's or fact's record.
pub(crate) fn fact_payload(name: &str, value: Option<&[u8]>) -> Vec<u8> {
    let mut payload = Vec::new();
    write_var_str(&mut payload, name);
    if let Some(value) = value {
        payload.push(1);
        payload.extend_from_slice(value);
    }
    payload
}

/// Returns the payload of a snapshot's record.
pub(crate) fn snapshot_payload(covers: Lsn) -> Vec<u8> {
    let mut payload = Vec::new();
    write_var_u64(&mut payload, covers.get());
    payload
}

/// Reads the payload of a snapshot's record.
pub(crate) fn read_snapshot_payload(payload: &[u8]) -> Option<Lsn> {
    Reader::new(payload).var_u64().ok().map(Lsn::new)
}

fn split_fact(payload: &[u8]) -> Option<(&str, Option<&[u8]>)> {
    let mut reader = Reader::new(payload);
    let name = reader.var_str().ok()?;
    if reader.is_empty() {
        return Some((name, None));
    }
    reader.u8().ok()?;
    Some((name, Some(reader.rest())))
}

/// A mirrored file at the last moment when disk and document were equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Where the file was, in the paper's folder.
    pub path: String,
    /// Its length on disk.
    pub byte_len: u64,
    /// Its time of last change on disk, nanoseconds since 1970.
    pub modified_ns: i128,
    /// The blake3 of its bytes on disk.
    pub hash: [u8; 32],
    /// The document's state at that moment, in the caller's form.
    pub state: Vec<u8>,
    /// The text both had.
    pub text: String,
}

impl Base {
    /// Returns the base as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_var_str(&mut bytes, &self.path);
        write_var_u64(&mut bytes, self.byte_len);
        bytes.extend_from_slice(&self.modified_ns.to_le_bytes());
        bytes.extend_from_slice(&self.hash);
        write_var_bytes(&mut bytes, &self.state);
        write_var_u64(&mut bytes, self.text.len() as u64);
        bytes.extend_from_slice(&compress(self.text.as_bytes()));
        bytes
    }

    /// Reads a base.
    pub(crate) fn decode(key: &str, bytes: &[u8]) -> Result<Self, StoreError> {
        let mut reader = Reader::new(bytes);
        Self::read(&mut reader)
            .ok_or_else(|| StoreError::BaseDamaged { key: key.to_owned(), at: reader.position() })
    }

    fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let path = reader.var_str().ok()?.to_owned();
        let byte_len = reader.var_u64().ok()?;
        let modified_ns = i128::from_le_bytes(reader.bytes(16).ok()?.try_into().ok()?);
        let hash = reader.bytes(32).ok()?.try_into().ok()?;
        let state = reader.var_bytes().ok()?.to_vec();
        let text_len = reader.var_u64().ok()?;
        let text = String::from_utf8(decompress(reader.rest(), text_len)?).ok()?;
        Some(Self { path, byte_len, modified_ns, hash, state, text })
    }
}

/// Compresses, at the level that pays on a disk.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, 1).expect("memory is all that compressing needs")
}

/// Decompresses to exactly `len` bytes, reserving memory only as they come.
pub(crate) fn decompress(bytes: &[u8], len: u64) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(bytes).ok()?;
    decoder.take(len.saturating_add(1)).read_to_end(&mut out).ok()?;
    (out.len() as u64 == len).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_reads_back() {
        let base = Base {
            path: "sections/1 intro.tex".into(),
            byte_len: 70,
            modified_ns: -5,
            hash: [9; 32],
            state: vec![1, 2, 3],
            text: "Quire – a gathering of leaves.\n".repeat(40),
        };
        let bytes = base.encode();
        assert_eq!(Base::decode("f", &bytes).unwrap(), base);
        for end in 0..bytes.len() {
            assert!(Base::decode("f", &bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn the_later_fact_wins() {
        let mut index = Index::default();
        index.set(Kind::Meta, "link", Lsn::new(5), Some(vec![5]));
        index.set(Kind::Meta, "link", Lsn::new(3), None);
        assert_eq!(index.fact(Kind::Meta, "link"), Some(&[5][..]));
        index.set(Kind::Meta, "link", Lsn::new(6), None);
        assert_eq!(index.fact(Kind::Meta, "link"), None);
        assert!(index.fact_names(Kind::Meta).is_empty());
    }
}
