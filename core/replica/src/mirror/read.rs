//! From the folder to the documents: what other programs wrote is read, and becomes edits.

use std::io;
use std::time::Instant;

use paper::{Decoded, Entry, FileId, Kind, PaperPath, decode};

use super::bases::Next;
use super::{Mirror, OnDisk, Outcome, SETTLE, SUSPICIOUS, Touched, anchored, line_ends};
use crate::clock::wall_ms;
use crate::documents::{Documents, Failure, Origin};
use crate::folder::{Found, Stamp};
use crate::notification::Level;

impl Mirror {
    pub(super) fn work_on_path(
        &mut self,
        documents: &mut Documents,
        path: &str,
        now: Instant,
    ) -> Result<(), Failure> {
        let Some(mut touched) = self.touched.remove(path) else { return Ok(()) };
        let outcome = if let Ok(checked) = PaperPath::parse(path) {
            self.look_at(documents, &checked, &mut touched, now)?
        } else {
            // Its reason is found by a scan, which sees its size too.
            self.rescan_soon(now);
            Outcome::Done
        };
        let wait = match outcome {
            Outcome::Done => return Ok(()),
            Outcome::Again(wait) => wait,
            Outcome::Suspicious => {
                touched.suspicious.get_or_insert(now);
                SETTLE
            }
        };
        touched.due = now + wait;
        // It may have been touched again meanwhile.
        self.touched.entry(path.to_owned()).or_insert(touched);
        Ok(())
    }

    pub(super) fn look_at(
        &mut self,
        documents: &mut Documents,
        path: &PaperPath,
        touched: &mut Touched,
        now: Instant,
    ) -> Result<Outcome, Failure> {
        let found = match self.folder.look(path) {
            Ok(found) => found,
            Err(error) => {
                self.cannot(path, "read", &error);
                return Ok(Outcome::Done);
            }
        };
        let believed = touched.suspicious.is_some_and(|since| since + SUSPICIOUS <= now);
        match found {
            None => self.is_missing(documents, path, believed, now),
            Some(Found::File(stamp)) => {
                if self.unshared.remove(path.as_str()).is_some() {
                    self.files_changed = true;
                }
                if touched.seen != Some(stamp) {
                    touched.seen = Some(stamp);
                    touched.suspicious = None;
                    return Ok(Outcome::Again(SETTLE));
                }
                match self.at.get(path.as_str()) {
                    Some(&file) => self.was_written(documents, file, stamp, believed),
                    None => self.is_new(documents, path, now),
                }
            }
            Some(other) => {
                match self.at.get(path.as_str()) {
                    Some(&file) => {
                        let note = "Replaced on disk by something that is not shared; the shared \
                                    text stays as it was.";
                        self.set_note(file, note.to_owned());
                    }
                    None => self.set_unshared(path.as_str(), &other),
                }
                Ok(Outcome::Done)
            }
        }
    }

    pub(super) fn is_missing(
        &mut self,
        documents: &mut Documents,
        path: &PaperPath,
        believed: bool,
        now: Instant,
    ) -> Result<Outcome, Failure> {
        if self.unshared.remove(path.as_str()).is_some() {
            self.files_changed = true;
        }
        let Some(&file) = self.at.get(path.as_str()) else {
            // A folder that came or went, perhaps.
            let inside = format!("{}/", path.as_str());
            let is_folder = self.folder.is_folder(path);
            if is_folder || self.at.keys().any(|known| known.starts_with(&inside)) {
                self.rescan_soon(now);
            }
            return Ok(Outcome::Done);
        };
        if !self.folder.is_there() {
            self.lost_root(&io::ErrorKind::NotFound.into());
            return Ok(Outcome::Done);
        }
        if !believed {
            return Ok(Outcome::Suspicious);
        }
        self.forget(documents, file);
        self.dirty.remove(&file);
        if documents
            .edit_tree(Origin::Disk, |transaction, tree| Ok(tree.remove(transaction, file)))?
        {
            let text = format!("{path} was removed from the folder, and so from the paper.");
            self.remark(Level::Info, text, None);
        }
        Ok(Outcome::Done)
    }

    pub(super) fn was_written(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        stamp: Stamp,
        believed: bool,
    ) -> Result<Outcome, Failure> {
        let Some(known) = self.on_disk.get(&file).cloned() else { return Ok(Outcome::Done) };
        if known.stamp == stamp {
            return Ok(Outcome::Done);
        }
        let path = known.path;
        let (bytes, stamp) = match self.folder.read(&path) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(Outcome::Again(SETTLE)),
            Err(error) => {
                self.cannot(&path, "read", &error);
                return Ok(Outcome::Done);
            }
        };
        let hash = *blake3::hash(&bytes).as_bytes();
        if hash == known.hash {
            // Touched, or our own write.
            return self
                .keep(documents, file, OnDisk { path, stamp, hash })
                .map(|()| Outcome::Done);
        }
        let Some(entry) = documents.entries().get(&file).cloned() else { return Ok(Outcome::Done) };
        match entry.kind {
            Kind::Text { .. } => {
                let shrunk = known.stamp.bytes > 64 && stamp.bytes * 2 < known.stamp.bytes;
                if shrunk && !believed {
                    return Ok(Outcome::Suspicious);
                }
                match decode(&bytes) {
                    Ok(decoded) => {
                        let on_disk = OnDisk { path, stamp, hash };
                        self.believe_attempt(documents, file, &decoded.text);
                        self.plan_import(documents, file, decoded, on_disk)?;
                    }
                    Err(error) => {
                        let note = format!(
                            "On disk it is no text any more ({error}); the shared text stays as it was."
                        );
                        self.set_note(file, note);
                    }
                }
            }
            Kind::Blob { .. } => {
                let kind = Self::put_blob(documents, &bytes)?;
                documents.edit_tree(Origin::Disk, |transaction, tree| {
                    tree.set_kind(transaction, file, &kind)
                })?;
                self.keep(documents, file, OnDisk { path, stamp, hash })?;
            }
        }
        Ok(Outcome::Done)
    }

    /// Plans to make what another program wrote one of the document's edits, and notes that in the store.
    pub(super) fn plan_import(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        decoded: Decoded,
        on_disk: OnDisk,
    ) -> Result<(), Failure> {
        let import = documents.plan_import(file, &decoded.text)?;
        if let Some((moment, update)) = import.news() {
            let (hash, moment) = (on_disk.hash, moment.clone());
            let next = Next { hash, moment, import: update.to_vec() };
            self.note_next(documents, file, &on_disk.path, next)?;
        }
        self.imports.push((file, import, decoded, on_disk));
        Ok(())
    }

    /// Makes what other programs wrote edits of the documents. The others learn of them only when the store has them for
    /// good: one that we lost and they have could be made again, out of what the file holds then.
    pub(super) fn import(
        &mut self,
        documents: &mut Documents,
        now: Instant,
    ) -> Result<(), Failure> {
        if self.imports.is_empty() {
            return Ok(());
        }
        let flushed = documents.store().flush();
        for (file, import, decoded, on_disk) in std::mem::take(&mut self.imports) {
            if flushed.is_err() {
                self.touch(on_disk.path.as_str(), now);
                continue;
            }
            let before = documents.written();
            documents.import(file, import)?;
            self.clear_note(file);
            if documents.written() != before {
                let text = format!("{} was changed by another program.", on_disk.path);
                self.remark(Level::Info, text, Some(file));
            }
            Self::import_format(documents, file, &decoded)?;
            self.settle_text(documents, file, &decoded.text, on_disk, now)?;
        }
        flushed.map(drop).map_err(Failure::from)
    }

    pub(super) fn import_format(
        documents: &mut Documents,
        file: FileId,
        decoded: &Decoded,
    ) -> Result<(), Failure> {
        let Some(Kind::Text { format, .. }) =
            documents.entries().get(&file).map(|entry| &entry.kind)
        else {
            return Ok(());
        };
        if *format != decoded.format || line_ends(documents, file) != decoded.exceptions {
            let exceptions = anchored(documents, file, &decoded.exceptions);
            let kind = Kind::Text { format: decoded.format, exceptions };
            documents.edit_tree(Origin::Disk, |transaction, tree| {
                tree.set_kind(transaction, file, &kind)
            })?;
        }
        Ok(())
    }

    /// Notes that a text has just been read from disk or written to it.
    pub(super) fn settle_text(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        on_disk_text: &str,
        on_disk: OnDisk,
        now: Instant,
    ) -> Result<(), Failure> {
        if documents.text(file).as_deref() == Some(on_disk_text) {
            documents.set_level(file);
            self.dirty.remove(&file);
        } else {
            self.changed(file, now);
        }
        self.keep_with(documents, file, on_disk, on_disk_text.to_owned())
    }

    pub(super) fn put_blob(documents: &mut Documents, bytes: &[u8]) -> Result<Kind, Failure> {
        let hash = documents.put_blob(bytes)?;
        Ok(Kind::Blob { hash, bytes: bytes.len() as u64 })
    }

    /// A file that is not known is moved or new.
    pub(super) fn is_new(
        &mut self,
        documents: &mut Documents,
        path: &PaperPath,
        now: Instant,
    ) -> Result<Outcome, Failure> {
        if !self.may_import {
            return Ok(Outcome::Done);
        }
        let (bytes, stamp) = match self.folder.read(path) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(Outcome::Again(SETTLE)),
            Err(error) => {
                self.cannot(path, "read", &error);
                return Ok(Outcome::Done);
            }
        };
        let hash = *blake3::hash(&bytes).as_bytes();
        let on_disk = OnDisk { path: path.clone(), stamp, hash };
        if let Some(moved) = self.moved_from(hash) {
            self.forget(documents, moved);
            documents.edit_tree(Origin::Disk, |transaction, tree| {
                tree.set_path(transaction, moved, path)
            })?;
            self.keep(documents, moved, on_disk)?;
            return Ok(Outcome::Done);
        }
        self.take_in(documents, &bytes, on_disk, now)?;
        Ok(Outcome::Done)
    }

    /// Returns the file that had this content and is not where it was.
    pub(super) fn moved_from(&self, hash: [u8; 32]) -> Option<FileId> {
        let same = self.on_disk.iter().filter(|(_, known)| known.hash == hash);
        same.filter(|(file, known)| {
            !self.dirty.contains_key(file) && matches!(self.folder.look(&known.path), Ok(None))
        })
        .map(|(file, _)| *file)
        .next()
    }

    /// Makes a file of the folder one of the paper, or finds that it is one.
    pub(super) fn take_in(
        &mut self,
        documents: &mut Documents,
        bytes: &[u8],
        on_disk: OnDisk,
        now: Instant,
    ) -> Result<(), Failure> {
        let file = FileId::of_import(documents.paper(), &on_disk.path, bytes);
        let decoded = decode(bytes).ok();
        let known = documents.entries().get(&file).cloned();
        if let Some(decoded) = &decoded {
            documents.ensure(file)?;
            // In the paper already: the folder holds what it began with. Not in the paper, but its
            // document holds something: it was removed, and comes back as it is on disk now.
            if known.is_none() && documents.has_content(file) {
                documents.set_level(file);
            }
            let import = documents.plan_import(file, &decoded.text)?;
            documents.import(file, import)?;
        }
        if known.is_none() {
            let kind = match &decoded {
                Some(decoded) => {
                    let exceptions = anchored(documents, file, &decoded.exceptions);
                    Kind::Text { format: decoded.format, exceptions }
                }
                None => Self::put_blob(documents, bytes)?,
            };
            let entry = Entry {
                path: on_disk.path.as_str().to_owned(),
                kind,
                person: self.person.clone(),
                created_ms: wall_ms(),
            };
            documents.edit_tree(Origin::Disk, |transaction, tree| {
                tree.insert(transaction, file, &entry)
            })?;
        }
        match decoded {
            Some(decoded) => self.settle_text(documents, file, &decoded.text, on_disk, now),
            None => self.keep(documents, file, on_disk),
        }
    }

    pub(super) fn cannot(&mut self, path: &PaperPath, what: &str, error: &io::Error) {
        let note = format!("Cannot be {what} on this computer: {error}.");
        if let Some(&file) = self.at.get(path.as_str()) {
            self.set_note(file, note);
        } else {
            let stamp = Stamp { bytes: 0, modified_ns: 0 };
            self.set_unshared(path.as_str(), &Found::Unfit(stamp, note));
        }
    }
}
