//! Opening a log as the last run left it, however that ended.
//!
//! A torn end is cut. Damage is set aside whole in `quarantine/`, every record that verifies is
//! written again into a new segment, and the documents concerned are marked: they may lack
//! something until another replica has been asked. Nothing here depends on having been finished:
//! a crash within recovery leaves a store that recovers the same way.

use crate::disk::{self, Disk};
use crate::error::{Report, Severity, StoreError, failed};
use crate::index::{Index, Known};
use crate::record::{Kind, Lsn};
use crate::segment::{self, Ending, HEADER_LEN, Header, Scan};
use crate::snapshot::{self, Snapshot};
use crate::writer::{self, Ends, Older, Queued, Writer};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Key of the small fact that lists the documents that may lack something, one a line.
pub(crate) const NEEDS_RESYNC: &str = "store/needs-resync";

/// Largest segment that is read. A segment is rotated long before.
const MAX_SEGMENT: u64 = 1 << 30;

/// The folders of a store.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    pub(crate) log: PathBuf,
    pub(crate) snapshots: PathBuf,
    pub(crate) blobs: PathBuf,
    pub(crate) quarantine: PathBuf,
}

impl Folders {
    /// Returns the folders in a store's own.
    pub(crate) fn of(dir: &Path) -> Self {
        Self {
            log: dir.join("log"),
            snapshots: dir.join("snap"),
            blobs: dir.join("blob"),
            quarantine: dir.join("quarantine"),
        }
    }
}

/// What recovery gives to the log.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) writer: Writer,
    pub(crate) index: Index,
    pub(crate) next_lsn: u64,
    pub(crate) reports: Vec<Report>,
}

/// Returns the id in the first intact segment header, for a store that has lost its own.
pub(crate) fn store_id(disk: &dyn Disk, folder: &Path) -> Option<[u8; 16]> {
    let entries = disk.list(folder).ok()?;
    entries.iter().find_map(|entry| {
        let first_lsn = writer::parse_file_name(entry.name.to_str()?)?;
        let bytes = disk.read_range(&writer::path(folder, first_lsn), 0, HEADER_LEN).ok()?;
        Some(Header::decode(&bytes)?.store)
    })
}

/// Copies a file into the quarantine, durably.
pub(crate) fn set_aside(disk: &dyn Disk, quarantine: &Path, path: &Path) -> Result<(), StoreError> {
    let bytes = disk.read(path, MAX_SEGMENT).map_err(failed("read", path))?;
    disk::create_dirs(disk, quarantine, disk::Access::Private)
        .map_err(failed("create", quarantine))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let copy = quarantine.join(format!("{}-{name}", disk.now_ms()));
    disk::replace(disk, &copy, &bytes).map_err(failed("write", copy))
}

/// Reads the whole log, mends what is broken, and returns where to go on.
pub(crate) fn recover(
    disk: &Arc<dyn Disk>,
    folders: &Folders,
    store: [u8; 16],
) -> Result<Recovered, StoreError> {
    let mut recovery = Recovery {
        disk,
        folders,
        store,
        index: Index::default(),
        highest: Lsn::ZERO,
        highest_record: Lsn::ZERO,
        reports: Vec::new(),
        salvaged: Vec::new(),
        incomplete: false,
        missing: Vec::new(),
        broken: Vec::new(),
        half_made: Vec::new(),
        older: Vec::new(),
    };
    for folder in [&folders.log, &folders.snapshots] {
        // Names that a killed process made are relied upon from now on.
        disk.sync_dir(folder).map_err(failed("sync", folder))?;
    }
    let segments = recovery.segments()?;
    let mut resumed = None;
    for (at, first_lsn) in segments.iter().enumerate() {
        resumed = recovery.segment(*first_lsn, segments.get(at + 1).copied())?;
    }
    recovery.snapshots()?;
    recovery.finish(resumed)
}

struct Recovery<'r> {
    disk: &'r Arc<dyn Disk>,
    folders: &'r Folders,
    store: [u8; 16],
    index: Index,
    /// The highest lsn in use.
    highest: Lsn,
    /// The highest lsn of a record in an intact segment.
    highest_record: Lsn,
    reports: Vec<Report>,
    /// Updates of damaged segments: document number, payload.
    salvaged: Vec<(u32, Vec<u8>)>,
    /// Bytes were lost; which documents they were about, nobody knows.
    incomplete: bool,
    /// Documents whose snapshots are gone.
    missing: Vec<String>,
    /// Segments to be removed when their content is safe elsewhere.
    broken: Vec<Lsn>,
    /// Segments that were being made when the power went, with nothing in them that the older ones lack.
    half_made: Vec<Lsn>,
    older: Vec<Older>,
}

impl Recovery<'_> {
    fn segments(&self) -> Result<Vec<Lsn>, StoreError> {
        let folder = &self.folders.log;
        let entries = self.disk.list(folder).map_err(failed("list", folder))?;
        let names = entries.iter().filter_map(|entry| entry.name.to_str());
        Ok(names.filter_map(writer::parse_file_name).collect())
    }

    /// Reads one segment, `next` being the first lsn of the one after it. Returns a writer when
    /// it is the last one and fit to be gone on with.
    fn segment(&mut self, first_lsn: Lsn, next: Option<Lsn>) -> Result<Option<Writer>, StoreError> {
        self.highest = self.highest.max(first_lsn);
        let path = writer::path(&self.folders.log, first_lsn);
        let bytes = self.disk.read(&path, MAX_SEGMENT).map_err(failed("read", &path))?;
        let header = match Header::decode(&bytes) {
            Some(header) if header.store == self.store && header.first_lsn == first_lsn => header,
            Some(_) => {
                let why = "belongs to another place";
                self.report(Severity::Warning, format!("{} {why}: set aside", path.display()));
                set_aside(&**self.disk, &self.folders.quarantine, &path)?;
                self.broken.push(first_lsn);
                return Ok(None);
            }
            None if bytes.len() <= HEADER_LEN => {
                // The header is durable before anything follows it.
                let text = format!("{} was being made: removed", path.display());
                self.report(Severity::Info, text);
                self.half_made.push(first_lsn);
                return Ok(None);
            }
            None => return self.headless(first_lsn, &path, &bytes),
        };
        let scan = segment::scan(&bytes, &header);
        self.refuse_newer(&scan)?;
        match scan.ending {
            Ending::Damaged(at) => return self.damaged(first_lsn, &path, at, &scan),
            Ending::Torn if scan.end < bytes.len() => {
                let last_lsn = scan.records.last().map_or(first_lsn, |(_, record)| record.lsn);
                // Torn is the seal, or a write after the next segment could not be made, when
                // that one starts no later than right behind here.
                if !scan.sealed && next.is_some_and(|next| next.get() > last_lsn.get() + 1) {
                    return self.damaged(first_lsn, &path, scan.end, &scan);
                }
            }
            Ending::Clean | Ending::Torn => {}
        }
        // A loss of power while this segment was being made leaves it without all that is to be
        // carried over; a failure, with less than the one before has taken in since.
        let older_has_more = self.highest_record > first_lsn;
        let stands_alone = self.older.is_empty() || (scan.has_mark && !older_has_more);
        let newest = self.take(first_lsn, &scan);
        if !scan.sealed {
            // A process that was killed may not have come to it, and from now on all of this
            // counts as promised.
            let file = self.disk.open(&path).and_then(|mut file| file.sync());
            file.map_err(failed("sync", &path))?;
        }
        if !stands_alone && scan.records.iter().all(|(_, record)| record.lsn == first_lsn) {
            self.half_made.push(first_lsn);
            return Ok(None);
        }
        let torn = scan.ending == Ending::Torn && scan.end < bytes.len();
        if torn && next.is_some() && !scan.sealed {
            // That this end is a torn one is known by the segment after it. Should the power go again and another one
            // come after it, nobody could tell any more.
            self.cut(&path, scan.end)?;
        }
        if next.is_some() || scan.sealed || !stands_alone {
            self.older.push(Older { first_lsn, newest });
            return Ok(None);
        }
        let (disk, folder) = (self.disk.clone(), &self.folders.log);
        if scan.ending == Ending::Torn {
            let dropped = bytes.len() - scan.end;
            let text =
                format!("{}: {dropped} bytes of an unfinished write dropped", path.display());
            self.report(Severity::Info, text);
            self.cut(&path, scan.end)?;
        }
        // What was carried over has the segment's first lsn, what came later has not.
        let own = scan.records.iter().find(|(_, record)| record.lsn > first_lsn);
        let own_from = own.map_or(scan.end, |(offset, _)| *offset) as u64;
        let ends = Ends { own_from, end: scan.end as u64, chain: scan.chain };
        let mut writer = Writer::resume(disk, folder, header, ends, newest)?;
        if !scan.marked {
            // Whole records behind the last mark: they will be seen from now on, so they are
            // promised from now on.
            let framed = writer.frame(&[]);
            writer.write(&framed).map_err(|trouble| {
                let (writer::WriteTrouble::Write(error) | writer::WriteTrouble::Sync(error)) =
                    trouble;
                failed("write", &path)(error)
            })?;
        }
        Ok(Some(writer))
    }

    /// Drops what stands behind the last record.
    fn cut(&self, path: &Path, end: usize) -> Result<(), StoreError> {
        let mut file = self.disk.open(path).map_err(failed("open", path))?;
        let cut = file.set_len(end as u64).and_then(|()| file.sync());
        cut.map_err(failed("cut", path))
    }

    /// Takes what a segment without a readable header still gives.
    fn headless(
        &mut self,
        first_lsn: Lsn,
        path: &Path,
        bytes: &[u8],
    ) -> Result<Option<Writer>, StoreError> {
        if let Some((header, _)) = bytes.split_first_chunk::<HEADER_LEN>() {
            // The file's name knows the first lsn better than a damaged header does.
            let header = Header { first_lsn, ..Header::decode_unchecked(header) };
            let scan = segment::scan(bytes, &header);
            self.refuse_newer(&scan)?;
            return self.damaged(first_lsn, path, 0, &scan);
        }
        Ok(None)
    }

    fn damaged(
        &mut self,
        first_lsn: Lsn,
        path: &Path,
        at: usize,
        scan: &Scan<'_>,
    ) -> Result<Option<Writer>, StoreError> {
        let text = format!(
            "{} is damaged at byte {at}: it was set aside, {} records could be read",
            path.display(),
            scan.records.len()
        );
        self.report(Severity::Warning, text);
        set_aside(&**self.disk, &self.folders.quarantine, path)?;
        for (offset, record) in &scan.records {
            self.highest = self.highest.max(record.lsn);
            if record.kind == Some(Kind::Update) {
                self.salvaged.push((record.document, record.payload.to_vec()));
            } else {
                self.index.take(first_lsn, *offset, record);
            }
        }
        self.incomplete = true;
        self.broken.push(first_lsn);
        Ok(None)
    }

    fn take(&mut self, first_lsn: Lsn, scan: &Scan<'_>) -> BTreeMap<u32, Lsn> {
        let mut newest = BTreeMap::new();
        for (offset, record) in &scan.records {
            self.highest = self.highest.max(record.lsn);
            self.highest_record = self.highest_record.max(record.lsn);
            self.index.take(first_lsn, *offset, record);
            if record.kind == Some(Kind::Update) {
                newest.insert(record.document, record.lsn);
            }
        }
        newest
    }

    fn refuse_newer(&self, scan: &Scan<'_>) -> Result<(), StoreError> {
        let newer = |record: &crate::record::Record<'_>| record.kind.is_none() && record.essential;
        if scan.records.iter().any(|(_, record)| newer(record)) {
            let dir = self.folders.log.clone();
            return Err(StoreError::Newer { dir, format: 2 });
        }
        Ok(())
    }

    /// Finds the snapshots, and by them the names that the log has lost.
    fn snapshots(&mut self) -> Result<(), StoreError> {
        let folder = &self.folders.snapshots;
        let entries = self.disk.list(folder).map_err(failed("list", folder))?;
        let mut found: BTreeMap<&str, Vec<Lsn>> = BTreeMap::new();
        for name in entries.iter().filter_map(|entry| entry.name.to_str()) {
            if let Some((hash, lsn)) = snapshot::parse_file_name(name) {
                found.entry(hash).or_default().push(lsn);
                // A snapshot may hold writes that the log has lost: their lsns are used up.
                self.highest = self.highest.max(lsn);
            } else if disk::is_temporary(name.as_ref()) {
                let path = folder.join(name);
                self.disk.remove(&path).map_err(failed("remove", path))?;
            }
        }
        let known: Vec<_> = self.index.documents().map(|(name, _)| name.to_owned()).collect();
        for name in known {
            if let Some(lsns) = found.remove(snapshot::name_hash(&name).as_str())
                && let Some(document) = self.index.document_mut(&name)
            {
                document.snapshots = lsns;
            }
        }
        self.report_missing_snapshots();
        let folder = self.folders.snapshots.clone();
        for (hash, lsns) in found {
            for lsn in lsns.iter().rev() {
                let path = folder.join(format!("{hash}-{:020}.qsnap", lsn.get()));
                let Some(snapshot) = Snapshot::read(&**self.disk, &path)? else { continue };
                self.index.register(&snapshot.name, snapshot.number);
                if let Some(document) = self.index.document_mut(&snapshot.name) {
                    document.snapshots.clone_from(&lsns);
                }
                break;
            }
        }
        Ok(())
    }

    /// What the log says is in a snapshot may not be in the log any more.
    fn report_missing_snapshots(&mut self) {
        let known_of = self.index.fact(Kind::Meta, NEEDS_RESYNC).unwrap_or_default();
        let known_of = String::from_utf8_lossy(known_of).into_owned();
        let lacking = |known: &Known| known.snapshots.last().is_none_or(|at| *at < known.claimed);
        let documents: Vec<_> = (self.index.documents())
            .filter(|(_, known)| known.claimed > Lsn::ZERO && lacking(known))
            .map(|(name, _)| name.to_owned())
            .filter(|name| !known_of.lines().any(|known| known == name))
            .collect();
        if !documents.is_empty() {
            let text = format!("the snapshots of {} documents are missing", documents.len());
            self.reports.push(Report { severity: Severity::Warning, text, documents: Vec::new() });
            self.missing = documents;
        }
    }

    /// Writes again what was salvaged and removes what is broken.
    fn finish(mut self, resumed: Option<Writer>) -> Result<Recovered, StoreError> {
        let (disk, folder) = (self.disk.clone(), &self.folders.log);
        let mut next_lsn = self.highest.get() + 1;
        let mut reserve = || {
            next_lsn += 1;
            Lsn::new(next_lsn - 1)
        };
        let marked = self.incomplete || !self.missing.is_empty();
        if marked {
            self.mark_incomplete(reserve());
        }
        let carry =
            resumed.is_none() || !self.broken.is_empty() || !self.half_made.is_empty() || marked;
        // Before another one is made: between two that follow each other, a half-made one would look like damage.
        self.remove(&self.half_made)?;
        let older = std::mem::take(&mut self.older);
        let mut writer = match resumed {
            Some(writer) if !carry => writer.with_older(older),
            resumed => {
                let first = reserve();
                let carried = self.index.carried();
                match resumed {
                    Some(writer) => {
                        let mut writer = writer.with_older(older);
                        writer.rotate(first, &carried)?;
                        writer
                    }
                    None => Writer::create(disk.clone(), folder, self.store, first, &carried)?
                        .with_older(older),
                }
            }
        };
        if !self.salvaged.is_empty() {
            let queued: Vec<_> = std::mem::take(&mut self.salvaged)
                .into_iter()
                .map(|(document, payload)| Queued {
                    kind: Kind::Update,
                    document,
                    lsn: reserve(),
                    payload,
                })
                .collect();
            let framed = writer.frame(&queued);
            writer.write(&framed).map_err(|trouble| {
                let (writer::WriteTrouble::Write(error) | writer::WriteTrouble::Sync(error)) =
                    trouble;
                failed("write", folder)(error)
            })?;
            for (document, place) in framed.places {
                self.index.place(document, place);
            }
        }
        self.remove(&self.broken)?;
        let orphans = self.index.orphan_count();
        if orphans > 0 {
            let text = format!("{orphans} changes belong to documents whose names are lost");
            self.report(Severity::Warning, text);
        }
        Ok(Recovered { writer, index: self.index, next_lsn, reports: self.reports })
    }

    fn remove(&self, segments: &[Lsn]) -> Result<(), StoreError> {
        let folder = &self.folders.log;
        for first_lsn in segments {
            let path = writer::path(folder, *first_lsn);
            self.disk.remove(&path).map_err(failed("remove", path))?;
        }
        if !segments.is_empty() {
            self.disk.sync_dir(folder).map_err(failed("sync", folder))?;
        }
        Ok(())
    }

    /// Marks the documents that may lack something, and says so in the reports.
    fn mark_incomplete(&mut self, lsn: Lsn) {
        let before = self.index.fact(Kind::Meta, NEEDS_RESYNC).unwrap_or_default();
        let mut names: BTreeSet<String> =
            String::from_utf8_lossy(before).lines().map(str::to_owned).collect();
        names.extend(std::mem::take(&mut self.missing));
        if self.incomplete {
            names.extend(self.index.documents().map(|(name, _)| name.to_owned()));
        }
        let names: Vec<_> = names.into_iter().collect();
        let value = names.join("\n").into_bytes();
        self.index.set(Kind::Meta, NEEDS_RESYNC, lsn, Some(value));
        for report in &mut self.reports {
            if report.severity == Severity::Warning {
                report.documents.clone_from(&names);
            }
        }
    }

    fn report(&mut self, severity: Severity, text: String) {
        self.reports.push(Report { severity, text, documents: Vec::new() });
    }
}
