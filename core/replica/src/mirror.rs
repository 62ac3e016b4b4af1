//! Keeps the folder on disk and the documents level, in both directions.
//!
//! What another program writes is read once it has settled, compared with the base (the content at
//! the last moment when disk and document were equal) and merged. What people write in documents
//! goes to disk a moment later, whole files at a time, never over something that was not read
//! before. Own writes are recognized by their hash. Nothing is deleted for everybody because it is
//! missing for a moment, and nothing on disk because it is missing in a tree that has not come yet.
//!
//! ```text
//! watcher, scan ──▶ touch(path) ──settled──▶ read ──▶ import, new file, rename, delete ─▶ documents
//! documents ──▶ changed(file), lay_out() ──due──▶ write, move, remove ─▶ folder
//! ```

mod bases;
#[cfg(test)]
mod power;
mod read;
mod write;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use crdt::Snapshot;
use paper::{Decoded, Eol, FileId, Kind, PaperPath, Place, ignored};
use store::Lsn;

use crate::documents::{Documents, Failure, Import, MAX_FILES, Name};
use crate::folder::{Folder, Found, Stamp};
use crate::notification::{FileKind, FileView, Level};
use write::Intent;

/// A file is read when it looked the same twice, this far apart.
const SETTLE: Duration = Duration::from_millis(80);
/// A file that is gone, or lost more than half, is looked at again after this long.
const SUSPICIOUS: Duration = Duration::from_millis(1_500);
/// A document is written this long after its last change ...
const WRITE_AFTER: Duration = Duration::from_millis(250);
/// ... and this long after its first, at the latest.
const WRITE_WITHIN: Duration = Duration::from_secs(1);
/// What could not be written is tried again after a pause that grows from ...
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// ... to this.
const RETRY_LAST: Duration = Duration::from_secs(30);

/// Something to tell the person.
#[derive(Debug)]
pub(crate) struct Remark {
    pub(crate) level: Level,
    pub(crate) text: String,
    pub(crate) file: Option<FileId>,
}

/// A file as it was on disk when it was level with its document or blob.
#[derive(Clone, Debug)]
struct OnDisk {
    path: PaperPath,
    stamp: Stamp,
    hash: [u8; 32],
}

/// A path that something happened to.
#[derive(Debug)]
struct Touched {
    due: Instant,
    /// How the file looked last time.
    seen: Option<Stamp>,
    /// Since when it looks suspicious, and will be believed after a while.
    suspicious: Option<Instant>,
}

/// A file whose document is newer than the disk.
#[derive(Debug)]
struct Dirty {
    first: Instant,
    due: Instant,
    failures: u32,
}

/// What came of looking at a path.
enum Outcome {
    Done,
    Again(Duration),
    /// It looks as if much was lost: again later, and believed then.
    Suspicious,
}

#[derive(Debug)]
pub(crate) struct Mirror {
    folder: Folder,
    person: String,
    on_disk: BTreeMap<FileId, OnDisk>,
    /// The same by path.
    at: BTreeMap<String, FileId>,
    touched: BTreeMap<String, Touched>,
    dirty: BTreeMap<FileId, Dirty>,
    /// Texts that are written when the store has their moment for good.
    intents: BTreeMap<FileId, (Intent, Snapshot)>,
    /// What other programs wrote, on its way into the documents.
    imports: Vec<(FileId, Import, Decoded, OnDisk)>,
    rescan: Option<Instant>,
    /// While the paper has not come whole, nothing in the folder is taken for new.
    may_import: bool,
    /// What is in the folder and not shared.
    unshared: BTreeMap<String, (FileKind, u64, String)>,
    /// What is wrong with a file.
    notes: BTreeMap<FileId, String>,
    remarks: Vec<Remark>,
    files_changed: bool,
    root_missing: bool,
}

impl Mirror {
    /// Starts from the bases that the store kept.
    pub(crate) fn open(
        folder: Folder,
        documents: &mut Documents,
        person: String,
        may_import: bool,
    ) -> Self {
        let mut mirror = Self {
            folder,
            person,
            on_disk: BTreeMap::new(),
            at: BTreeMap::new(),
            touched: BTreeMap::new(),
            dirty: BTreeMap::new(),
            intents: BTreeMap::new(),
            imports: Vec::new(),
            rescan: None,
            may_import,
            unshared: BTreeMap::new(),
            notes: BTreeMap::new(),
            remarks: Vec::new(),
            files_changed: true,
            root_missing: false,
        };
        mirror.read_bases(documents);
        mirror
    }

    pub(crate) fn set_person(&mut self, person: String) {
        self.person = person;
    }

    /// The paper has come whole: what else is in the folder is new.
    pub(crate) fn allow_import(&mut self, documents: &mut Documents, now: Instant) {
        self.may_import = true;
        self.scan(documents, now, true);
    }

    /// Takes what the person should hear of.
    pub(crate) fn take_remarks(&mut self) -> Vec<Remark> {
        std::mem::take(&mut self.remarks)
    }

    /// Has the list of files changed since the last call?
    pub(crate) fn take_files_changed(&mut self) -> bool {
        std::mem::take(&mut self.files_changed)
    }

    /// Is everything that was heard of worked off, in both directions?
    pub(crate) fn is_level(&self) -> bool {
        self.touched.is_empty()
            && self.dirty.is_empty()
            && !self.intents.keys().any(|file| self.is_on_its_way(*file))
            && self.rescan.is_none()
    }

    /// Says what it still waits for.
    pub(crate) fn waiting(&self) -> Option<String> {
        if let Some(path) = self.touched.keys().next() {
            return Some(format!("{path} is still being written by another program"));
        }
        let file = self.dirty.keys().chain(self.intents.keys()).next()?;
        Some(
            self.notes.get(file).cloned().unwrap_or_else(|| "a file is not on disk yet".to_owned()),
        )
    }

    /// Returns when there is something to do; `durable`: up to where the store has everything for good.
    pub(crate) fn due(&self, durable: Lsn, now: Instant) -> Option<Instant> {
        if self.can_carry_out(durable) {
            return Some(now);
        }
        let touched = self.touched.values().map(|touched| touched.due);
        // Nothing is written into a folder before the paper has come whole.
        let dirty = self.dirty.values().map(|dirty| dirty.due).filter(|_| self.may_import);
        touched.chain(dirty).chain(self.rescan).min()
    }

    /// Something happened to a path.
    pub(crate) fn touch(&mut self, path: &str, now: Instant) {
        if ignored(path.split('/')).is_some() {
            return;
        }
        let due = now + SETTLE;
        self.touched
            .entry(path.to_owned())
            .and_modify(|touched| touched.due = touched.due.max(due))
            .or_insert(Touched { due, seen: None, suspicious: None });
    }

    /// The watcher may have missed something.
    pub(crate) fn rescan_soon(&mut self, now: Instant) {
        self.rescan.get_or_insert(now + SETTLE);
    }

    /// A text changed; the file is written soon.
    pub(crate) fn changed(&mut self, file: FileId, now: Instant) {
        let dirty = self.dirty.entry(file).or_insert(Dirty { first: now, due: now, failures: 0 });
        dirty.due = match dirty.failures {
            0 => (now + WRITE_AFTER).min(dirty.first + WRITE_WITHIN),
            // Perhaps just this change makes it possible.
            _ => dirty.due.min(now + RETRY_FIRST),
        };
    }

    /// Writes all that is not on disk yet, now.
    pub(crate) fn hurry(&mut self, now: Instant) {
        self.dirty.values_mut().for_each(|dirty| dirty.due = now);
    }

    /// Compares the folder with what is known of it. `settled`: nobody is writing just now, as far
    /// as we know (at the start), so that files are read at once.
    pub(crate) fn scan(&mut self, documents: &mut Documents, now: Instant, settled: bool) {
        self.rescan = None;
        let found = match self.folder.scan() {
            Ok(found) => found,
            Err(error) => return self.lost_root(&error),
        };
        if std::mem::take(&mut self.root_missing) {
            self.remark(Level::Info, "The folder is back.".to_owned(), None);
        }
        if found.len() >= MAX_FILES {
            let text = format!("Only the first {MAX_FILES} files of the folder are shared.");
            self.remark(Level::Warn, text, None);
        }
        let known: Vec<String> = self.at.keys().cloned().collect();
        let missing: Vec<&String> =
            known.iter().filter(|path| !found.contains_key(*path)).collect();
        // Emptied while nobody looked: more likely a lost disk than a wish.
        let emptied = settled && !missing.is_empty() && missing.len() == known.len();
        if emptied {
            self.write_all_again(documents, now);
        } else {
            for path in missing {
                self.touch(path, now);
            }
        }
        for (path, what) in &found {
            let stamp = match what {
                Found::File(stamp) => *stamp,
                Found::Link | Found::Unfit(..) => {
                    self.set_unshared(path, what);
                    continue;
                }
            };
            let known = self.at.get(path).and_then(|file| self.on_disk.get(file));
            if known.is_none_or(|known| known.stamp != stamp) {
                self.touch(path, now);
                if settled && let Some(touched) = self.touched.get_mut(path) {
                    touched.seen = Some(stamp);
                    touched.due = now;
                }
            }
        }
        let gone = |path: &String| !found.contains_key(path);
        let before = self.unshared.len();
        self.unshared.retain(|path, _| !gone(path));
        self.files_changed |= before != self.unshared.len();
    }

    fn lost_root(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.root_missing, true) {
            let folder = self.folder.root().display();
            let text = format!(
                "The folder {folder} cannot be read ({error}). Nothing is lost: the paper goes on \
                 in Quire and is written there when the folder is back."
            );
            self.remark(Level::Bad, text, None);
        }
    }

    /// The folder is empty although it was not: writes the paper into it again.
    fn write_all_again(&mut self, documents: &mut Documents, now: Instant) {
        for file in self.on_disk.keys().copied().collect::<Vec<_>>() {
            self.forget(documents, file);
        }
        let text = "The folder was empty; the paper is written into it again.".to_owned();
        self.remark(Level::Warn, text, None);
        self.lay_out(documents, now);
    }

    /// Does what is due.
    pub(crate) fn work(&mut self, documents: &mut Documents, now: Instant) -> Result<(), Failure> {
        if self.rescan.is_some_and(|due| due <= now) {
            self.scan(documents, now, false);
        }
        let due: Vec<String> = self
            .touched
            .iter()
            .filter(|(_, touched)| touched.due <= now)
            .map(|(path, _)| path.clone())
            .collect();
        for path in due {
            self.work_on_path(documents, &path, now)?;
        }
        self.import(documents, now)?;
        let due: Vec<FileId> = self
            .dirty
            .iter()
            .filter(|(_, dirty)| dirty.due <= now && self.may_import)
            .map(|(file, _)| *file)
            .collect();
        for file in due {
            self.work_on_file(documents, file, now)?;
        }
        self.carry_out(documents, now)
    }

    fn remark(&mut self, level: Level, text: String, file: Option<FileId>) {
        self.remarks.push(Remark { level, text, file });
    }

    fn set_note(&mut self, file: FileId, note: String) {
        let before = self.notes.insert(file, note.clone());
        self.files_changed |= before != Some(note);
    }

    fn clear_note(&mut self, file: FileId) {
        self.files_changed |= self.notes.remove(&file).is_some();
    }

    fn set_unshared(&mut self, path: &str, found: &Found) {
        let what = match found {
            Found::Link => {
                let note = "A link: neither followed nor shared.".to_owned();
                (FileKind::Link, 0, note)
            }
            Found::Unfit(stamp, note) => (FileKind::Blob, stamp.bytes, note.clone()),
            Found::File(_) => return,
        };
        let before = self.unshared.insert(path.to_owned(), what.clone());
        self.files_changed |= before != Some(what);
    }
}

/// From the documents to the folder.
impl Mirror {
    /// The tree changed, or content came: moves, removes, and has written what is missing.
    pub(crate) fn lay_out(&mut self, documents: &mut Documents, now: Instant) {
        self.files_changed = true;
        // While parts of the tree have not come, what is missing in it is not removed.
        let is_whole = documents.doc(Name::Tree).is_some_and(|tree| tree.waiting().is_none());
        let gone: Vec<FileId> = self
            .on_disk
            .keys()
            .copied()
            .filter(|file| is_whole && !documents.entries().contains_key(file))
            .collect();
        for file in gone {
            self.remove(documents, file, now);
        }
        let places = documents.places().clone();
        for (&file, place) in &places {
            let Place::At(path) = place else {
                if let Place::Refused(error) = place {
                    self.set_note(file, format!("Not written to disk: {error}."));
                }
                continue;
            };
            match self.on_disk.get(&file) {
                Some(known) if known.path == *path => {}
                Some(_) => self.move_to(documents, file, path, &places, now, 0),
                None => self.write_soon(documents, file, now),
            }
            self.write_blob_soon(documents, file, now);
        }
    }

    /// Has a file written that is not on disk, if its content is here.
    fn write_soon(&mut self, documents: &Documents, file: FileId, now: Instant) {
        if is_here(documents, file) {
            self.dirty.entry(file).or_insert(Dirty { first: now, due: now, failures: 0 });
        }
    }

    fn write_blob_soon(&mut self, documents: &Documents, file: FileId, now: Instant) {
        let Some(Kind::Blob { hash, .. }) = documents.entries().get(&file).map(|entry| &entry.kind)
        else {
            return;
        };
        let same = |known: &OnDisk| *hash == *blake3::Hash::from_bytes(known.hash).to_hex();
        if self.on_disk.get(&file).is_some_and(|known| !same(known)) {
            self.write_soon(documents, file, now);
        }
    }

    /// Somebody else removed a file: it goes from the folder, if it is what they saw.
    fn remove(&mut self, documents: &mut Documents, file: FileId, now: Instant) {
        let Some(known) = self.on_disk.get(&file).cloned() else { return };
        self.forget(documents, file);
        self.dirty.remove(&file);
        self.intents.remove(&file);
        self.clear_note(file);
        let read = match self.folder.read(&known.path) {
            Ok(Some((bytes, _))) => *blake3::hash(&bytes).as_bytes() == known.hash,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Ok(None) | Err(_) => false,
        };
        let removed = read && self.folder.remove(&known.path).is_ok();
        if removed {
            self.remark(Level::Info, format!("{} was removed from the paper.", known.path), None);
        } else {
            let text = format!(
                "{} was removed from the paper, but it was changed on this computer and is kept.",
                known.path
            );
            self.remark(Level::Warn, text, None);
            self.touch(known.path.as_str(), now);
        }
    }

    fn move_to(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        path: &PaperPath,
        places: &BTreeMap<FileId, Place>,
        now: Instant,
        depth: usize,
    ) {
        let Some(known) = self.on_disk.get(&file).cloned() else { return };
        if known.path == *path {
            return;
        }
        if let Some(&other) = self.at.get(path.as_str())
            && other != file
        {
            // Who stands there goes first; in a circle, one steps aside.
            let aside = path.with_note(&other.to_string()[..8]);
            match places.get(&other) {
                Some(Place::At(target)) if target != path && depth < 8 => {
                    let target = target.clone();
                    self.move_to(documents, other, &target, places, now, depth + 1);
                }
                _ => {}
            }
            if self.at.get(path.as_str()) == Some(&other) {
                self.move_to(documents, other, &aside, places, now, depth + 1);
            }
            if self.at.contains_key(path.as_str()) {
                self.changed(file, now);
                return;
            }
        }
        match self.folder.rename(&known.path, path) {
            Ok(stamp) => {
                self.forget(documents, file);
                let moved = OnDisk { path: path.clone(), stamp, hash: known.hash };
                if self.keep(documents, file, moved).is_err() {
                    self.rescan_soon(now);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // A file that we have not read yet: it becomes one of the paper, with another name.
                self.touch(path.as_str(), now);
                self.changed(file, now);
            }
            Err(error) => {
                self.cannot(&known.path, "moved", &error);
                self.changed(file, now);
            }
        }
    }
}

/// What is known of the disk, here and in the store.
impl Mirror {
    /// Returns the paths whose files are not what they were when they were level with the paper.
    pub(crate) fn differing(&self) -> io::Result<Vec<String>> {
        let found = self.folder.scan()?;
        let is_same = |path: &String, known: &OnDisk| match found.get(path) {
            Some(Found::File(stamp)) if *stamp == known.stamp => true,
            Some(Found::File(_)) => self.folder.read(&known.path).is_ok_and(|read| {
                read.is_some_and(|(bytes, _)| *blake3::hash(&bytes).as_bytes() == known.hash)
            }),
            _ => false,
        };
        let known = self.at.iter().filter_map(|(path, file)| Some((path, self.on_disk.get(file)?)));
        let changed = known.filter(|(path, known)| !is_same(path, known)).map(|(path, _)| path);
        let new = found
            .iter()
            .filter(|(path, found)| matches!(found, Found::File(_)) && !self.at.contains_key(*path))
            .map(|(path, _)| path);
        let mut paths: Vec<String> = changed.chain(new).cloned().collect();
        paths.sort();
        Ok(paths)
    }

    /// Returns the list of files as a person sees it.
    pub(crate) fn files(&self, documents: &Documents) -> Vec<FileView> {
        let mut files: Vec<FileView> = documents
            .entries()
            .iter()
            .map(|(&file, entry)| {
                let on_disk = self.on_disk.get(&file);
                let path = match documents.places().get(&file) {
                    Some(Place::At(path)) => path.as_str().to_owned(),
                    _ => entry.path.chars().filter(|char| !char.is_control()).take(200).collect(),
                };
                let (kind, bytes) = match &entry.kind {
                    Kind::Text { .. } => {
                        (FileKind::Text, on_disk.map_or(0, |known| known.stamp.bytes))
                    }
                    Kind::Blob { bytes, .. } => (FileKind::Blob, *bytes),
                };
                let absent = || "Not on this computer's disk yet.".to_owned();
                let note = self.notes.get(&file).cloned().or(on_disk.is_none().then(absent));
                FileView { id: Some(file), path, kind, bytes, note }
            })
            .collect();
        files.extend(self.unshared.iter().map(|(path, (kind, bytes, note))| FileView {
            id: None,
            path: path.clone(),
            kind: *kind,
            bytes: *bytes,
            note: Some(note.clone()),
        }));
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files
    }
}

/// Has a file's content come? An empty text may only be one that has not.
fn is_here(documents: &Documents, file: FileId) -> bool {
    match documents.entries().get(&file).map(|entry| &entry.kind) {
        Some(Kind::Text { .. }) => documents.has_content(file) || documents.is_received(file),
        Some(Kind::Blob { hash, .. }) => documents.has_blob(hash),
        None => false,
    }
}

fn anchored(documents: &Documents, file: FileId, exceptions: &[(u32, Eol)]) -> Vec<(String, Eol)> {
    let anchor = |&(at, eol): &(u32, Eol)| Some((documents.anchor(file, at)?, eol));
    exceptions.iter().filter_map(anchor).collect()
}

/// Returns where the line ends unlike the others are now.
fn line_ends(documents: &Documents, file: FileId) -> Vec<(u32, Eol)> {
    let Some(Kind::Text { exceptions, .. }) =
        documents.entries().get(&file).map(|entry| &entry.kind)
    else {
        return Vec::new();
    };
    let resolve = |(anchor, eol): &(String, Eol)| Some((documents.resolve(file, anchor)?, *eol));
    let mut ends: Vec<(u32, Eol)> = exceptions.iter().filter_map(resolve).collect();
    ends.sort_by_key(|(at, _)| *at);
    ends.dedup_by_key(|(at, _)| *at);
    ends
}
