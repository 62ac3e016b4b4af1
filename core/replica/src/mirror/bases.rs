//! What files and documents were when they were equal, kept in the store: after a crash what was read or written then
//! is known again, and nothing is taken in twice.

use crdt::Snapshot;
use paper::{FileId, Kind, PaperPath, decode};
use store::{Base, Lsn};

use super::{Mirror, OnDisk};
use crate::documents::{Documents, Failure, Name, Origin};
use crate::folder::Stamp;

/// The hash of a file that was never on disk.
const NEVER: [u8; 32] = [0; 32];

/// The moments of a document that its base's record names.
#[derive(Debug, Default, PartialEq, Eq)]
struct Moments {
    /// When document and file were equal.
    base: Option<Snapshot>,
    next: Option<Next>,
}

/// What document and file will have in common when something is written or imported.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// Of the file's bytes.
    pub(super) hash: [u8; 32],
    /// What they show.
    pub(super) moment: Snapshot,
    /// The import that comes to it; nothing for what is written.
    pub(super) import: Vec<u8>,
}

impl Moments {
    /// The base, then what is next: its hash, moment and import. Moments and import have their length before them (4
    /// bytes, little endian; 0: none).
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |part: &[u8]| {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or_default().to_le_bytes());
            bytes.extend_from_slice(part);
        };
        put(&self.base.as_ref().map(Snapshot::encode_v1).unwrap_or_default());
        if let Some(next) = &self.next {
            put(&next.hash);
            put(&next.moment.encode_v1());
            put(&next.import);
        }
        bytes
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut take = || {
            let (len, rest) = bytes.split_first_chunk::<4>()?;
            let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            bytes = rest;
            Some(part)
        };
        let base = match take()? {
            [] => None,
            base => Some(Snapshot::decode_v1(base).ok()?),
        };
        let next = match take() {
            None => None,
            Some(hash) => Some(Next {
                hash: hash.try_into().ok()?,
                moment: Snapshot::decode_v1(take()?).ok()?,
                import: take()?.to_vec(),
            }),
        };
        Some(Self { base, next })
    }
}

impl Mirror {
    /// Learns from the store what was equal before.
    pub(super) fn read_bases(&mut self, documents: &mut Documents) {
        for (file, entry) in documents.entries().clone() {
            let Ok(Some(base)) = documents.store().base(&file.to_string()) else { continue };
            let Ok(path) = PaperPath::parse(&base.path) else { continue };
            let stamp = Stamp { bytes: base.byte_len, modified_ns: base.modified_ns };
            let mut on_disk = OnDisk { path, stamp, hash: base.hash };
            if matches!(entry.kind, Kind::Text { .. }) {
                let Moments { base: mut moment, next } =
                    Moments::decode(&base.state).unwrap_or_default();
                let mut text = base.text;
                if let Some(next) = next
                    && let Some(next_text) = self.was_done(documents, file, &next, &on_disk, &text)
                {
                    // The scan looks at it, since it has another stamp.
                    let stamp = Stamp { bytes: 0, modified_ns: 0 };
                    on_disk = OnDisk { path: on_disk.path, stamp, hash: next.hash };
                    (moment, text) = (Some(next.moment), next_text);
                }
                documents.set_base(file, moment, &text);
            }
            if on_disk.hash != NEVER {
                self.at.insert(on_disk.path.as_str().to_owned(), file);
                self.on_disk.insert(file, on_disk);
            }
        }
    }

    /// Returns the text that file and document came to have in common before a crash that kept us from noting it.
    fn was_done(
        &self,
        documents: &mut Documents,
        file: FileId,
        next: &Next,
        known: &OnDisk,
        before: &str,
    ) -> Option<String> {
        if !next.import.is_empty() {
            // Others may have it: here it may be lost.
            documents.apply(Name::File(file), Origin::Disk, &next.import).ok()?;
            return documents.text_at(file, &next.moment);
        }
        // Written was what is there now; or what another program made of it since, which is nearer to what was to be
        // written than to what was there before.
        let text = documents.text_at(file, &next.moment)?;
        let (bytes, _) = self.folder.read(&known.path).ok()??;
        let found = *blake3::hash(&bytes).as_bytes();
        if found == known.hash || found == next.hash {
            return (found == next.hash).then_some(text);
        }
        is_nearer(&decode(&bytes).ok()?.text, &text, before).then_some(text)
    }

    /// Notes in the store what file and document will have in common soon.
    pub(super) fn note_next(
        &self,
        documents: &mut Documents,
        file: FileId,
        path: &PaperPath,
        next: Next,
    ) -> Result<Lsn, Failure> {
        let known = self.on_disk.get(&file);
        let base = Base {
            path: path.as_str().to_owned(),
            byte_len: known.map_or(0, |known| known.stamp.bytes),
            modified_ns: known.map_or(0, |known| known.stamp.modified_ns),
            hash: known.map_or(NEVER, |known| known.hash),
            state: Moments { base: documents.base_moment(file), next: Some(next) }.encode(),
            text: documents.base_text(file).unwrap_or_default(),
        };
        let lsn = documents.store().put_base(&file.to_string(), &base)?;
        documents.note_written(lsn);
        Ok(lsn)
    }

    pub(super) fn keep(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        on_disk: OnDisk,
    ) -> Result<(), Failure> {
        let text = match documents.entries().get(&file).map(|entry| &entry.kind) {
            Some(Kind::Text { .. }) => match documents.base_text(file) {
                Some(text) => text,
                None => return Ok(()),
            },
            _ => String::new(),
        };
        self.keep_with(documents, file, on_disk, text)
    }

    pub(super) fn keep_with(
        &mut self,
        documents: &mut Documents,
        file: FileId,
        on_disk: OnDisk,
        text: String,
    ) -> Result<(), Failure> {
        let base = Base {
            path: on_disk.path.as_str().to_owned(),
            byte_len: on_disk.stamp.bytes,
            modified_ns: on_disk.stamp.modified_ns,
            hash: on_disk.hash,
            state: Moments { base: documents.base_moment(file), next: None }.encode(),
            text,
        };
        if let Some(before) = self.on_disk.get(&file)
            && before.path != on_disk.path
        {
            self.at.remove(before.path.as_str());
        }
        self.at.insert(on_disk.path.as_str().to_owned(), file);
        self.on_disk.insert(file, on_disk);
        self.files_changed = true;
        let lsn = documents.store().put_base(&file.to_string(), &base)?;
        documents.note_written(lsn);
        Ok(())
    }

    pub(super) fn forget(&mut self, documents: &mut Documents, file: FileId) {
        if let Some(known) = self.on_disk.remove(&file) {
            self.at.remove(known.path.as_str());
            let lsn = documents.store().remove_base(&file.to_string());
            documents.note_written(lsn);
        }
    }
}

/// Whether a file's text was made of `next` rather than of `before`: less of it has changed since.
pub(super) fn is_nearer(disk: &str, next: &str, before: &str) -> bool {
    let changed = |base: &str| -> usize {
        let edits = paper::difference(base, disk);
        edits.iter().map(|edit| (edit.to - edit.from) as usize + edit.insert.len()).sum()
    };
    changed(next) < changed(before)
}

#[cfg(test)]
mod tests {
    use crdt::{ClientId, Doc, Options};

    use super::*;

    #[test]
    fn moments_are_read_as_they_were_written() {
        let mut doc = Doc::new(ClientId::new(7).unwrap(), Options::default());
        let text = doc.text("text");
        let mut transaction = doc.transact();
        text.insert(&mut transaction, 0, "hello").unwrap();
        text.delete(&mut transaction, 1, 2).unwrap();
        transaction.commit();
        let moment = doc.snapshot();
        for base in [None, Some(moment.clone())] {
            for next in [false, true] {
                let next = next.then(|| Next {
                    hash: [5; 32],
                    moment: moment.clone(),
                    import: vec![1, 2],
                });
                let moments = Moments { base: base.clone(), next };
                assert_eq!(Moments::decode(&moments.encode()), Some(moments));
            }
        }
        assert_eq!(Moments::decode(&[]), None, "from before there were any");
        assert_eq!(Moments::decode(&[9, 0, 0, 0, 1]), None);
    }
}
