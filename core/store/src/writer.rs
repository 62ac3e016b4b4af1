//! The segment that is written to, and the older ones until their documents' snapshots cover
//! them. Knows the order of writes and syncs on which every promise rests.

use crate::disk::{Disk, DiskFile};
use crate::error::{StoreError, failed};
use crate::index::Place;
use crate::record::{self, Kind, Lsn};
use crate::segment::{HEADER_LEN, Header};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A record before it has a place.
#[derive(Debug, Clone)]
pub(crate) struct Queued {
    pub(crate) kind: Kind,
    pub(crate) document: u32,
    pub(crate) lsn: Lsn,
    pub(crate) payload: Vec<u8>,
}

/// A group commit ready to be written: records and their mark.
#[derive(Debug)]
pub(crate) struct Framed {
    bytes: Vec<u8>,
    chain: u32,
    /// Where each update will stand, by document number.
    pub(crate) places: Vec<(u32, Place)>,
    /// The last lsn in it.
    pub(crate) last: Lsn,
}

/// Which half of a group commit failed.
#[derive(Debug)]
pub(crate) enum WriteTrouble {
    /// Bytes did not get out; the same bytes may be tried again at the same place.
    Write(io::Error),
    /// Nobody knows what is on the disk now, nor will a later sync tell.
    Sync(io::Error),
}

/// A segment that is not written to any more.
#[derive(Debug)]
pub(crate) struct Older {
    pub(crate) first_lsn: Lsn,
    /// The newest update of each document in it, by number.
    pub(crate) newest: BTreeMap<u32, Lsn>,
}

/// Where an existing segment's content begins and ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    /// Where the segment's own writes begin: behind what was carried over.
    pub(crate) own_from: u64,
    /// Where the next record goes.
    pub(crate) end: u64,
    /// The chain of checksums there.
    pub(crate) chain: u32,
}

/// The end of the log.
#[derive(Debug)]
pub(crate) struct Writer {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    header: Header,
    file: Box<dyn DiskFile>,
    end: u64,
    chain: u32,
    /// Where the segment's own writes begin: behind what was carried over.
    own_from: u64,
    newest: BTreeMap<u32, Lsn>,
    older: Vec<Older>,
}

impl Writer {
    /// Starts a new segment that holds what is carried over and is durable, name and all.
    pub(crate) fn create(
        disk: Arc<dyn Disk>,
        folder: &Path,
        store: [u8; 16],
        first_lsn: Lsn,
        carried: &[(Kind, u32, Vec<u8>)],
    ) -> Result<Self, StoreError> {
        let mut salt = [0; 16];
        let path = path(folder, first_lsn);
        getrandom::fill(&mut salt)
            .map_err(|error| failed("get randomness for", &path)(io::Error::other(error)))?;
        let header = Header { first_lsn, store, salt, created_ms: disk.now_ms() };
        let mut file = disk.create(&path).map_err(failed("create", &path))?;
        let written = file.write_all_at(&header.encode(), 0).and_then(|()| {
            file.sync()?;
            disk.sync_dir(folder)
        });
        let mut writer = Self {
            disk,
            folder: folder.to_path_buf(),
            header,
            file,
            end: HEADER_LEN as u64,
            chain: header.chain(),
            own_from: HEADER_LEN as u64,
            newest: BTreeMap::new(),
            older: Vec::new(),
        };
        let queued: Vec<_> = (carried.iter())
            .map(|(kind, document, payload)| Queued {
                kind: *kind,
                document: *document,
                lsn: first_lsn,
                payload: payload.clone(),
            })
            .collect();
        let written = written.and_then(|()| {
            if queued.is_empty() {
                return Ok(());
            }
            let framed = writer.frame(&queued);
            writer.write(&framed).map_err(|(WriteTrouble::Write(e) | WriteTrouble::Sync(e))| e)
        });
        if let Err(error) = written {
            // What is left of it holds nothing that other segments do not hold.
            drop(writer.disk.remove(&path));
            return Err(failed("write", path)(error));
        }
        writer.own_from = writer.end;
        Ok(writer)
    }

    /// Goes on writing behind an existing segment's last mark.
    pub(crate) fn resume(
        disk: Arc<dyn Disk>,
        folder: &Path,
        header: Header,
        ends: Ends,
        newest: BTreeMap<u32, Lsn>,
    ) -> Result<Self, StoreError> {
        let path = path(folder, header.first_lsn);
        let file = disk.open(&path).map_err(failed("open", path))?;
        let folder = folder.to_path_buf();
        let Ends { own_from, end, chain } = ends;
        Ok(Self { disk, folder, header, file, end, chain, own_from, newest, older: Vec::new() })
    }

    /// Takes over the segments before this one.
    pub(crate) fn with_older(mut self, older: Vec<Older>) -> Self {
        self.older = older;
        self
    }

    /// Returns the first lsn of the segment that is written to.
    pub(crate) fn first_lsn(&self) -> Lsn {
        self.header.first_lsn
    }

    /// Returns whether this segment is the whole log.
    pub(crate) fn is_alone(&self) -> bool {
        self.older.is_empty()
    }

    /// Returns how many bytes of its own the segment has.
    pub(crate) fn own_len(&self) -> u64 {
        self.end - self.own_from
    }

    /// Lays out a group commit for the place where this log ends.
    pub(crate) fn frame(&self, queued: &[Queued]) -> Framed {
        let frame = self.header.frame();
        let (mut bytes, mut chain) = (Vec::new(), self.chain);
        let (mut places, mut last) = (Vec::new(), self.header.first_lsn);
        for queued in queued {
            let start = bytes.len();
            let Queued { kind, document, lsn, payload } = queued;
            let crc = record::write(&mut bytes, &frame, *kind, *document, *lsn, payload);
            chain = record::chained(chain, crc);
            last = last.max(*lsn);
            if *kind == Kind::Update {
                let place = Place {
                    segment: self.header.first_lsn,
                    offset: self.end + start as u64,
                    byte_len: bytes.len() - start,
                    lsn: *lsn,
                };
                places.push((*document, place));
            }
        }
        let mark = chain.to_le_bytes();
        let crc = record::write(&mut bytes, &frame, Kind::Mark, 0, last, &mark);
        Framed { bytes, chain: record::chained(chain, crc), places, last }
    }

    /// Writes a group commit; when this returns `Ok` it is durable.
    pub(crate) fn write(&mut self, framed: &Framed) -> Result<(), WriteTrouble> {
        self.file.write_all_at(&framed.bytes, self.end).map_err(WriteTrouble::Write)?;
        self.file.sync().map_err(WriteTrouble::Sync)?;
        self.end += framed.bytes.len() as u64;
        self.chain = framed.chain;
        for (document, place) in &framed.places {
            let newest = self.newest.entry(*document).or_default();
            *newest = place.lsn.max(*newest);
        }
        Ok(())
    }

    /// Goes over to a new segment. On failure this one stays as it is.
    pub(crate) fn rotate(
        &mut self,
        first_lsn: Lsn,
        carried: &[(Kind, u32, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let store = self.header.store;
        let mut next = Self::create(self.disk.clone(), &self.folder, store, first_lsn, carried)?;
        let sealed = Queued { kind: Kind::Sealed, document: 0, lsn: first_lsn, payload: vec![] };
        let framed = self.frame(&[sealed]);
        // The seal only says in so many words what the next segment's existence says: where it
        // cannot be written, it is not.
        let end = self.end;
        if self.write(&framed).is_err() {
            drop(self.file.set_len(end));
        }
        next.older = std::mem::take(&mut self.older);
        let newest = std::mem::take(&mut self.newest);
        next.older.push(Older { first_lsn: self.header.first_lsn, newest });
        *self = next;
        Ok(())
    }

    /// Removes the older segments that no document needs, `safe` saying up to which lsn a
    /// document does not need the log. Returns those removed.
    pub(crate) fn remove_covered(
        &mut self,
        safe: impl Fn(u32) -> Lsn,
    ) -> Result<Vec<Lsn>, StoreError> {
        let covered = |older: &Older| {
            older.newest.iter().all(|(document, newest)| *newest <= safe(*document))
        };
        let mut removed = Vec::new();
        for older in self.older.extract_if(.., |older| covered(older)) {
            let path = path(&self.folder, older.first_lsn);
            self.disk.remove(&path).map_err(failed("remove", path))?;
            removed.push(older.first_lsn);
        }
        Ok(removed)
    }
}

/// Returns the path of a segment.
pub(crate) fn path(folder: &Path, first_lsn: Lsn) -> PathBuf {
    folder.join(format!("{:020}.qlog", first_lsn.get()))
}

/// Reads a segment's file name.
pub(crate) fn parse_file_name(name: &str) -> Option<Lsn> {
    let digits = name.strip_suffix(".qlog")?;
    let all = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse().ok().map(Lsn::new))?
}
