//! Writing: what people did in the documents goes to disk, never over something that was not read before.

use std::time::Instant;

use crdt::Snapshot;
use paper::{FileId, Kind, PaperPath, Place, encode};
use store::Lsn;

use super::bases::{Next, is_nearer};
use super::{Dirty, Mirror, OnDisk, RETRY_FIRST, RETRY_LAST, SETTLE, is_here, line_ends};
use crate::documents::{Documents, Failure};
use crate::folder::{Found, Stamp};
use crate::notification::Level;

/// A file on its way to disk.
#[derive(Debug)]
pub(super) struct Intent {
    /// The store's note of it.
    noted: Lsn,
    dirty: Dirty,
    place: PaperPath,
    /// What stands there until then.
    found: Option<Stamp>,
    bytes: Vec<u8>,
    hash: [u8; 32],
    text: String,
    /// It failed; the file may have been written all the same.
    tried: bool,
}

impl Intent {
    fn can_be_carried_out(&self, durable: Lsn) -> bool {
        !self.tried && self.noted <= durable
    }
}

impl Mirror {
    pub(super) fn work_on_file(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        now: Instant,
    ) -> Result<(), Failure> {
        let Some(dirty) = self.dirty.remove(&file) else { return Ok(()) };
        // What is on its way is written first; then it is seen whether there is more.
        if !self.is_on_its_way(file)
            && let Err(problem) = self.write(documents, file, &dirty, now)?
        {
            self.write_later(file, &dirty, problem, now);
        }
        Ok(())
    }

    /// Tries again later to write a file; after a pause if there is a problem, of which the person is told.
    fn write_later(&mut self, file: FileId, dirty: &Dirty, problem: Option<String>, now: Instant) {
        let failures = dirty.failures + 1;
        let pause = RETRY_FIRST.saturating_mul(1 << failures.min(6)).min(RETRY_LAST);
        let due = now + if problem.is_some() { pause } else { SETTLE * 2 };
        let failures = if problem.is_some() { failures } else { dirty.failures };
        self.dirty.insert(file, Dirty { first: dirty.first, due, failures });
        if let Some(problem) = problem {
            self.set_note(file, problem);
        }
    }

    /// Writes a file. The inner error says that it is to be tried again, and why if a person can
    /// do something about it.
    fn write(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        dirty: &Dirty,
        now: Instant,
    ) -> Result<Result<(), Option<String>>, Failure> {
        let Some(entry) = documents.entries().get(&file).cloned() else { return Ok(Ok(())) };
        let Some(Place::At(place)) = documents.places().get(&file).cloned() else {
            return Ok(Ok(()));
        };
        let known = self.on_disk.get(&file).cloned();
        if known.is_none() && !is_here(documents, file) {
            return Ok(Ok(()));
        }
        if let Some(known) = &known
            && known.path != place
        {
            let places = documents.places().clone();
            self.move_to(documents, file, &place, &places, now, 0);
            if self.on_disk.get(&file).is_none_or(|known| known.path != place) {
                return Ok(Err(None));
            }
        }
        let known = self.on_disk.get(&file).cloned();
        let (bytes, text) = match &entry.kind {
            Kind::Text { format, .. } => {
                let Some(text) = documents.text(file) else { return Ok(Ok(())) };
                match encode(&text, *format, &line_ends(documents, file)) {
                    Ok(bytes) => (bytes, text),
                    Err(error) => return Ok(Err(Some(format!("Not on disk: {error}.")))),
                }
            }
            Kind::Blob { hash, .. } => match documents.get_blob(hash)? {
                Some(bytes) => (bytes, String::new()),
                None => return Ok(Ok(())),
            },
        };
        let hash = *blake3::hash(&bytes).as_bytes();
        let found = match self.folder.look(&place) {
            Ok(found) => found,
            Err(error) => return Ok(Err(Some(format!("Not on disk: {error}.")))),
        };
        let found = match found {
            Some(Found::File(stamp)) => Some(stamp),
            Some(_) => {
                return Ok(Err(Some("Not on disk: something else has its name.".to_owned())));
            }
            None if self.folder.is_folder(&place) => {
                return Ok(Err(Some("Not on disk: a folder has its name.".to_owned())));
            }
            None => None,
        };
        if found != known.as_ref().map(|known| known.stamp) {
            // Not what we left there: it is read first.
            return self.write_over_unread(documents, file, &place, (&bytes, &text), found, now);
        }
        if let Some(known) = known
            && known.hash == hash
        {
            self.clear_note(file);
            return self.is_written(documents, file, known, text).map(Ok);
        }
        let moment = match &entry.kind {
            Kind::Text { .. } => documents.moment(file),
            Kind::Blob { .. } => None,
        };
        let dirty = Dirty { first: dirty.first, due: now, failures: dirty.failures };
        let intent =
            Intent { noted: Lsn::ZERO, dirty, place, found, bytes, hash, text, tried: false };
        match moment {
            Some(moment) => self.intend(documents, file, intent, moment).map(Ok),
            // A figure is what its hash says, however often it is taken in.
            None => self.put(documents, file, &intent, None, now),
        }
    }

    /// Notes in the store what is about to be written, so that after a crash it is known for our own.
    fn intend(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        mut intent: Intent,
        moment: Snapshot,
    ) -> Result<(), Failure> {
        let next = Next { hash: intent.hash, moment: moment.clone(), import: Vec::new() };
        intent.noted = self.note_next(documents, file, &intent.place, next)?;
        self.intents.insert(file, (intent, moment));
        Ok(())
    }

    /// Whether a text waits for the store before it is written.
    pub(super) fn is_on_its_way(&self, file: FileId) -> bool {
        self.intents.get(&file).is_some_and(|(intent, _)| !intent.tried)
    }

    /// Whether something that was noted can be written now.
    pub(super) fn can_carry_out(&self, durable: Lsn) -> bool {
        self.intents.values().any(|(intent, _)| intent.can_be_carried_out(durable))
    }

    /// Writes what was noted, once the store has it for good: never is a file newer than what the store knows.
    pub(super) fn carry_out(
        &mut self,
        documents: &mut Documents,
        now: Instant,
    ) -> Result<(), Failure> {
        let durable = documents.store().durable();
        let ready =
            self.intents.iter().filter(|(_, (intent, _))| intent.can_be_carried_out(durable));
        for file in ready.map(|(file, _)| *file).collect::<Vec<_>>() {
            let Some((mut intent, moment)) = self.intents.remove(&file) else { continue };
            let known = self.on_disk.get(&file);
            let is_as_noted = known.map(|known| known.stamp) == intent.found
                && known.is_none_or(|known| known.path == intent.place)
                && documents.places().get(&file) == Some(&Place::At(intent.place.clone()));
            if !is_as_noted {
                self.changed(file, now);
            } else if let Err(problem) = self.put(documents, file, &intent, Some(&moment), now)? {
                self.write_later(file, &intent.dirty, problem, now);
                intent.tried = true;
                self.intents.insert(file, (intent, moment));
            }
        }
        Ok(())
    }

    /// If an attempt to write that seemed to fail did write, what it wrote is what document and file have in common.
    pub(super) fn believe_attempt(&mut self, documents: &mut Documents, file: FileId, disk: &str) {
        let Some((intent, _)) = self.intents.get(&file).filter(|(intent, _)| intent.tried) else {
            return;
        };
        let Some(before) = documents.base_text(file) else { return };
        if is_nearer(disk, &intent.text, &before)
            && let Some((intent, moment)) = self.intents.remove(&file)
        {
            documents.set_base(file, Some(moment), &intent.text);
        }
    }

    fn put(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        intent: &Intent,
        moment: Option<&Snapshot>,
        now: Instant,
    ) -> Result<Result<(), Option<String>>, Failure> {
        match self.folder.write(&intent.place, &intent.bytes, intent.found) {
            Ok(Some(stamp)) => {
                let on_disk = OnDisk { path: intent.place.clone(), stamp, hash: intent.hash };
                self.clear_note(file);
                if moment.is_none() {
                    return self.is_written(documents, file, on_disk, String::new()).map(Ok);
                }
                documents.set_base(file, moment.cloned(), &intent.text);
                self.settle_text(documents, file, &intent.text, on_disk, now).map(Ok)
            }
            Ok(None) => {
                self.touch(intent.place.as_str(), now);
                Ok(Err(None))
            }
            Err(error) => {
                let problem = format!("Not on disk: {error}. It is tried again; nothing is lost.");
                Ok(Err(Some(problem)))
            }
        }
    }

    fn is_written(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        on_disk: OnDisk,
        text: String,
    ) -> Result<(), Failure> {
        self.files_changed = true;
        documents.set_level(file);
        self.keep_with(documents, file, on_disk, text)
    }

    fn write_over_unread(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        place: &PaperPath,
        (bytes, text): (&[u8], &str),
        found: Option<Stamp>,
        now: Instant,
    ) -> Result<Result<(), Option<String>>, Failure> {
        if self.on_disk.contains_key(&file) {
            self.touch(place.as_str(), now);
            return Ok(Err(None));
        }
        // Not ours so far: equal content is adopted, other content becomes a file of its own.
        let Ok(Some((there, stamp))) = self.folder.read(place) else { return Ok(Err(None)) };
        let hash = *blake3::hash(&there).as_bytes();
        let on_disk = OnDisk { path: place.clone(), stamp, hash };
        if there == bytes {
            self.is_written(documents, file, on_disk, text.to_owned())?;
            return Ok(Ok(()));
        }
        if found != Some(stamp) {
            return Ok(Err(None));
        }
        let begun = FileId::of_import(documents.paper(), place, &there);
        self.take_in(documents, &there, on_disk, now)?;
        if begun != file {
            let text = format!(
                "{place} is in the paper and was in this folder with other content: both are kept."
            );
            self.remark(Level::Warn, text, Some(file));
            let places = documents.places().clone();
            if let Some(Place::At(target)) = places.get(&begun) {
                self.move_to(documents, begun, target, &places, now, 0);
            }
        }
        Ok(Err(None))
    }
}
