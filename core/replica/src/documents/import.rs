//! What was in step with the disk, and how what another program did there becomes an edit.

use crdt::{ClientId, Doc, Options, Snapshot};
use paper::{FileId, PaperId};

use super::{Base, Documents, Failure, Name, Origin, TEXT, TextDocument, random_client};

/// A change of the file, as it will be one of the document.
#[derive(Debug)]
pub(crate) struct Import {
    update: Option<Vec<u8>>,
    /// What file and document have in common then.
    base: Base,
}

impl Import {
    /// Returns the moment that document and file have in common then and the update that comes to it, if that brings
    /// anything new.
    pub(crate) fn news(&self) -> Option<(&Snapshot, &[u8])> {
        match &self.base {
            Base::Moment(moment) => Some((moment, self.update.as_deref()?)),
            _ => None,
        }
    }
}

impl Documents {
    /// Says that document and file are equal now.
    pub(crate) fn set_level(&mut self, file: FileId) {
        if let Some(text) = self.texts.get_mut(&file) {
            text.base = Base::Level;
        }
    }

    /// Says what the file held when both were equal, and at which moment of the document that was, if that is known.
    /// A moment that this document does not have, or that had another text, is not believed.
    pub(crate) fn set_base(&mut self, file: FileId, moment: Option<Snapshot>, content: &str) {
        let Some(text) = self.texts.get_mut(&file) else { return };
        let doc = text.document.doc();
        let root = text.document.text();
        text.base = match moment {
            Some(moment) if moment == doc.snapshot() && root.read(doc) == content => Base::Level,
            Some(moment) if text.has(&moment) && root.read_at(doc, &moment) == content => {
                Base::Moment(moment)
            }
            _ => Base::Text(content.to_owned()),
        };
    }

    /// Returns the text of the last moment when document and file were equal.
    pub(crate) fn base_text(&self, file: FileId) -> Option<String> {
        let text = self.texts.get(&file)?;
        match &text.base {
            Base::Level => self.text(file),
            Base::Moment(moment) => Some(text.document.text().read_at(text.document.doc(), moment)),
            Base::Text(content) => Some(content.clone()),
        }
    }

    /// Returns that moment, if it is known.
    pub(crate) fn base_moment(&self, file: FileId) -> Option<Snapshot> {
        let text = self.texts.get(&file)?;
        match &text.base {
            Base::Level => Some(text.document.doc().snapshot()),
            Base::Moment(moment) => Some(moment.clone()),
            Base::Text(_) => None,
        }
    }

    /// Returns the document's present moment.
    pub(crate) fn moment(&self, file: FileId) -> Option<Snapshot> {
        self.texts.get(&file).map(|text| text.document.doc().snapshot())
    }

    /// Returns what the text was at a moment, if this document has it.
    pub(crate) fn text_at(&self, file: FileId, moment: &Snapshot) -> Option<String> {
        let text = self.texts.get(&file)?;
        text.has(moment).then(|| text.document.text().read_at(text.document.doc(), moment))
    }

    /// Returns what another program did to the file as an edit of the document, to be merged with what happened in the
    /// document since both were equal.
    ///
    /// Whoever sees the same change of the file from the same base makes the very same update, be it another replica
    /// or this one after a crash: it is made on the document as of the base, by a client whose id is derived from that
    /// moment and from the file's content. What was imported before is nothing new.
    pub(crate) fn plan_import(&mut self, file: FileId, content: &str) -> Result<Import, Failure> {
        self.ensure(file)?;
        let text = self.texts.get_mut(&file).ok_or(Failure::NoDocument)?;
        let base = match text.base.clone() {
            Base::Level => text.document.doc().snapshot(),
            Base::Moment(moment) => moment,
            Base::Text(base) if base.is_empty() => Snapshot::default(),
            Base::Text(base) => return self.plan_by_text(file, &base, content),
        };
        let base = text.document.doc_mut().restore(&base, random_client())?;
        let (moment, update) = imported(self.paper, file, base, content)?;
        Ok(Import { update, base: Base::Moment(moment) })
    }

    /// Carries a planned import out. Nothing may happen to the document between.
    pub(crate) fn import(&mut self, file: FileId, import: Import) -> Result<(), Failure> {
        let text = self.texts.get_mut(&file).ok_or(Failure::NoDocument)?;
        text.base = import.base;
        if let Some(update) = import.update {
            let written = text.document.apply(&update)?;
            self.note(Name::File(file), Origin::Disk, written);
        }
        Ok(())
    }

    /// Where only the base's text is known, since a store was damaged: its difference is carried over what
    /// happened in the document since, which is the difference from the base too.
    fn plan_by_text(&mut self, file: FileId, base: &str, content: &str) -> Result<Import, Failure> {
        let client = random_client();
        let text = self.texts.get_mut(&file).ok_or(Failure::NoDocument)?;
        let own = text.document.text().read(text.document.doc());
        // What is in both was imported before the crash, and only the base could not be kept.
        let own_edits = paper::difference(base, &own);
        let mut disk_edits = paper::difference(base, content);
        disk_edits.retain(|edit| !own_edits.contains(edit));
        // Both on a document of their own, so that the CRDT merges them.
        let mut ours = Doc::new(ClientId::new(1).ok_or(Failure::NoDocument)?, options());
        apply_edits(&mut ours, &paper::difference("", base))?;
        let mut theirs = Doc::new(ClientId::new(2).ok_or(Failure::NoDocument)?, options());
        theirs.apply_v1(&ours.state_v1())?;
        apply_edits(&mut ours, &own_edits)?;
        apply_edits(&mut theirs, &disk_edits)?;
        ours.apply_v1(&theirs.state_v1())?;
        let merged = ours.text(TEXT).read(&ours);

        let mut scratch = Doc::new(client, options());
        scratch.apply_own_v1(&text.document.doc().state_v1())?;
        let before = scratch.state_vector();
        apply_edits(&mut scratch, &paper::difference(&own, &merged))?;
        let update = Some(scratch.diff_v1(&before));
        Ok(Import { update, base: Base::Text(content.to_owned()) })
    }
}

impl TextDocument {
    /// Keeps the last moment when document and file were equal. To be called before
    /// each change.
    pub(super) fn keep_base(&mut self) {
        if matches!(self.base, Base::Level) {
            self.base = Base::Moment(self.document.doc().snapshot());
        }
    }

    /// Whether the document has come to a moment already.
    fn has(&self, moment: &Snapshot) -> bool {
        self.document.doc().state_vector().covers(moment.state_vector())
    }
}

/// Returns the moment of the base with the import in it, and the import as an update.
fn imported(
    paper: PaperId,
    file: FileId,
    mut base: Doc,
    content: &str,
) -> Result<(Snapshot, Option<Vec<u8>>), Failure> {
    // State vector and delete set: equal texts with other tombstones have other neighbors.
    let vector = base.state_vector();
    let mut hasher = blake3::Hasher::new_derive_key("quire import client 1");
    hasher.update(format!("{paper}/{file}").as_bytes());
    hasher.update(blake3::hash(&vector.encode()).as_bytes());
    hasher.update(blake3::hash(&base.diff_v1(&vector)).as_bytes());
    hasher.update(blake3::hash(content.as_bytes()).as_bytes());
    base.set_client(client_of(*hasher.finalize().as_bytes()));
    let before = base.text(TEXT).read(&base);
    let update = apply_edits(&mut base, &paper::difference(&before, content))?;
    Ok((base.snapshot(), update))
}

/// Edits the root text as one transaction; returns the update.
fn apply_edits(doc: &mut Doc, edits: &[paper::Edit]) -> Result<Option<Vec<u8>>, Failure> {
    let text = doc.text(TEXT);
    let mut transaction = doc.transact();
    for edit in edits.iter().rev() {
        text.delete(&mut transaction, edit.from, edit.to - edit.from)?;
        text.insert(&mut transaction, edit.from, &edit.insert)?;
    }
    Ok(transaction.commit().update_v1())
}

/// Our documents keep what was deleted.
fn options() -> Options {
    Options { gc: false, ..Options::default() }
}

/// Returns a client's id from a hash: below 2^53, as JavaScript needs it, and above 2^32, where
/// the ids that Yjs draws end.
fn client_of(hash: [u8; 32]) -> ClientId {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash[..8]);
    let number = u64::from_le_bytes(bytes) >> 11 | 1 << 32;
    ClientId::new(number).unwrap_or_else(random_client)
}

#[cfg(test)]
mod tests {
    use store::{Store, StoreOptions};

    use super::*;

    fn import(documents: &mut Documents, file: FileId, content: &str) {
        let import = documents.plan_import(file, content).unwrap();
        documents.import(file, import).unwrap();
    }

    fn check_import(base: &str, own: &str, disk: &str, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), StoreOptions::default()).unwrap();
        let paper = PaperId::from_bytes([1; 16]);
        let file = FileId::from_bytes([2; 16]);
        let mut documents = Documents::open(store, paper, random_client()).unwrap();
        import(&mut documents, file, base);
        documents.set_level(file);
        let write_own = |documents: &mut Documents| {
            documents
                .edit(file, Origin::Command, |transaction, text| {
                    for edit in paper::difference(base, own).iter().rev() {
                        text.delete(transaction, edit.from, edit.to - edit.from)?;
                        text.insert(transaction, edit.from, &edit.insert)?;
                    }
                    Ok(())
                })
                .unwrap();
        };
        write_own(&mut documents);
        assert_eq!(documents.base_text(file).as_deref(), Some(base));

        import(&mut documents, file, disk);
        assert_eq!(
            documents.text(file).as_deref(),
            Some(expected),
            "by the document as of the base"
        );
        let before = documents.written();
        import(&mut documents, file, disk);
        assert_eq!(documents.written(), before, "the same again is nothing new");

        // The same after a crash, when only the base's text is known.
        let other = FileId::from_bytes([3; 16]);
        import(&mut documents, other, own);
        documents.set_base(other, None, base);
        import(&mut documents, other, disk);
        assert_eq!(documents.text(other).as_deref(), Some(expected), "by the base's text");
    }

    #[test]
    fn what_was_imported_before_a_crash_is_not_imported_again() {
        let check = |base: &str, own: &str, disk: &str, expected: &str| {
            let dir = tempfile::tempdir().unwrap();
            let store = Store::open(dir.path(), StoreOptions::default()).unwrap();
            let paper = PaperId::from_bytes([1; 16]);
            let file = FileId::from_bytes([2; 16]);
            let mut documents = Documents::open(store, paper, random_client()).unwrap();
            import(&mut documents, file, own);
            documents.set_base(file, None, base);
            import(&mut documents, file, disk);
            assert_eq!(documents.text(file).as_deref(), Some(expected));
        };
        check("a\n", "a\nb\n", "a\nb\n", "a\nb\n");
        check("one\ntwo\n", "zero\none\ntyped two\n", "zero\none\ntwo\n", "zero\none\ntyped two\n");
    }

    #[test]
    fn what_another_program_did_is_merged_with_what_was_typed_meanwhile() {
        check_import("one\ntwo\n", "one\ntwo\n", "one\n2\n", "one\n2\n");
        check_import(
            "one\ntwo\n",
            "one\ntyped two\n",
            "zero\none\ntwo\n",
            "zero\none\ntyped two\n",
        );
        check_import("one\ntwo\n", "one\n", "one\ntwo\nthree\n", "one\nthree\n");
        check_import("a b c", "a B c", "a b C", "a B C");
    }
}
