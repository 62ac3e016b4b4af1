//! The paper's documents: the tree and one for each text, each kept by the store.
//!
//! Every change of a document goes through here, whoever made it, and leaves a [`News`] for the
//! loop to pass on to editors, mirror and connection. Nothing is ever changed that the store did
//! not take first.

mod import;

pub(crate) use import::Import;

use std::collections::{BTreeMap, BTreeSet};

use crdt::{Assoc, ClientId, Doc, Snapshot, StateVector, Text, TextChange, Transaction};
use paper::{Entry, FileId, Kind, PaperId, Place, Tree, places};
use store::{Document, Lsn, Store, StoreError, Written};

use crate::editor::EditorId;

/// The tree document's name in the store and on the server.
pub(crate) const TREE: &str = "tree";
/// How many files a paper may have.
pub(crate) const MAX_FILES: usize = 20_000;
/// The root text of a text's document.
const TEXT: &str = "text";

/// Who made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Somebody at this editor.
    Editor(EditorId),
    /// Another program, in the folder.
    Disk,
    /// Somebody else, by the network.
    Network,
    /// A command, such as "new file".
    Command,
}

/// Which document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// The tree.
    Tree,
    /// A text.
    File(FileId),
}

impl Name {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == TREE { Some(Self::Tree) } else { FileId::parse(text).ok().map(Self::File) }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tree => f.write_str(TREE),
            Self::File(file) => file.fmt(f),
        }
    }
}

/// A document changed.
#[derive(Clone, Debug)]
pub(crate) struct News {
    pub(crate) name: Name,
    pub(crate) origin: Origin,
    /// For the others.
    pub(crate) update: Vec<u8>,
    /// Of the text.
    pub(crate) delta: Vec<TextChange>,
}

/// What a document was when it and its file were equal.
#[derive(Clone, Debug)]
enum Base {
    /// It still is.
    Level,
    /// The moment at which it was, with whatever was imported from the file since.
    Moment(Snapshot),
    /// Only the text is known; empty for a file never seen.
    Text(String),
}

#[derive(Debug)]
struct TextDocument {
    document: Document,
    base: Base,
}

/// All documents of one paper.
#[derive(Debug)]
pub(crate) struct Documents {
    store: Store,
    paper: PaperId,
    client: ClientId,
    tree_document: Document,
    tree: Tree,
    texts: BTreeMap<FileId, TextDocument>,
    entries: BTreeMap<FileId, Entry>,
    places: BTreeMap<FileId, Place>,
    /// Texts that have come whole, so that an empty one is meant to be empty.
    received: BTreeSet<FileId>,
    /// Those of the paper's figures whose bytes are here: asking the disk costs too much at each
    /// key press.
    blobs_here: BTreeSet<String>,
    /// Entries that somebody else removed, until asked for.
    removed_by_others: Vec<(FileId, Entry)>,
    news: Vec<News>,
    written: Lsn,
}

impl Documents {
    pub(crate) fn open(
        mut store: Store,
        paper: PaperId,
        client: ClientId,
    ) -> Result<Self, StoreError> {
        let mut tree_document = store.document(TREE, client)?;
        let tree = Tree::new(tree_document.doc_mut().map(Tree::ROOT));
        let mut documents = Self {
            written: store.durable(),
            store,
            paper,
            client,
            tree_document,
            tree,
            texts: BTreeMap::new(),
            entries: BTreeMap::new(),
            places: BTreeMap::new(),
            received: BTreeSet::new(),
            blobs_here: BTreeSet::new(),
            removed_by_others: Vec::new(),
            news: Vec::new(),
        };
        documents.read_tree(Origin::Command)?;
        Ok(documents)
    }

    pub(crate) fn paper(&self) -> PaperId {
        self.paper
    }

    pub(crate) fn client(&self) -> ClientId {
        self.client
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The last write; what is after [`Store::durable`] may be lost yet.
    pub(crate) fn written(&self) -> Lsn {
        self.written
    }

    /// Notes a write that went past the documents.
    pub(crate) fn note_written(&mut self, lsn: Lsn) {
        self.written = self.written.max(lsn);
    }

    /// Takes what happened since the last call.
    pub(crate) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Takes the entries that somebody else removed since the last call.
    pub(crate) fn take_removed_by_others(&mut self) -> Vec<(FileId, Entry)> {
        std::mem::take(&mut self.removed_by_others)
    }

    pub(crate) fn entries(&self) -> &BTreeMap<FileId, Entry> {
        &self.entries
    }

    pub(crate) fn places(&self) -> &BTreeMap<FileId, Place> {
        &self.places
    }

    /// Returns every document's name: the tree, then the texts of the paper.
    pub(crate) fn names(&self) -> Vec<Name> {
        let texts =
            self.entries.iter().filter(|(_, entry)| matches!(entry.kind, Kind::Text { .. }));
        let texts = texts.map(|(file, _)| Name::File(*file)).take(MAX_FILES);
        [Name::Tree].into_iter().chain(texts).collect()
    }

    /// Returns the hashes of the paper's figures.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = &str> {
        self.entries.values().filter_map(|entry| match &entry.kind {
            Kind::Blob { hash, .. } => Some(hash.as_str()),
            Kind::Text { .. } => None,
        })
    }

    /// Are the bytes of this figure here?
    pub(crate) fn has_blob(&self, hash: &str) -> bool {
        self.blobs_here.contains(hash)
    }

    /// Returns a figure's bytes; `None` when they are not here, or were damaged and are to be
    /// fetched again.
    pub(crate) fn get_blob(&mut self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = match self.store.get_blob(hash) {
            Err(StoreError::BlobDamaged { .. }) => None,
            other => other?,
        };
        if bytes.is_none() {
            self.blobs_here.remove(hash);
        }
        Ok(bytes)
    }

    /// Keeps a figure's bytes; returns its hash.
    pub(crate) fn put_blob(&mut self, bytes: &[u8]) -> Result<String, StoreError> {
        let hash = self.store.put_blob(bytes)?;
        self.blobs_here.insert(hash.clone());
        Ok(hash)
    }

    /// Returns the hashes of figures that the paper needs and that are not here.
    pub(crate) fn missing_blobs(&self) -> BTreeSet<String> {
        self.blobs().filter(|hash| !self.has_blob(hash)).map(str::to_owned).collect()
    }

    pub(crate) fn doc(&self, name: Name) -> Option<&Doc> {
        match name {
            Name::Tree => Some(self.tree_document.doc()),
            Name::File(file) => self.texts.get(&file).map(|text| text.document.doc()),
        }
    }

    /// Returns what is equal for two documents with the same items, deleted ones included.
    pub(crate) fn mark(&self, name: Name) -> Option<[u8; 32]> {
        let doc = self.doc(name)?;
        let vector = doc.state_vector();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&vector.encode());
        // What is beyond its own state vector is the deletions alone.
        hasher.update(&doc.diff_v1(&vector));
        Some(*hasher.finalize().as_bytes())
    }

    /// Says that nobody has changed a document for a while.
    pub(crate) fn rest(&mut self, name: Name) {
        match name {
            Name::Tree => self.tree_document.rest(),
            Name::File(file) => {
                if let Some(text) = self.texts.get_mut(&file) {
                    text.document.rest();
                }
            }
        }
    }

    /// Returns a file's text.
    pub(crate) fn text(&self, file: FileId) -> Option<String> {
        let document = &self.texts.get(&file)?.document;
        Some(document.text().read(document.doc()))
    }

    /// Was anything ever written into this text?
    pub(crate) fn has_content(&self, file: FileId) -> bool {
        let none = StateVector::default();
        self.texts.get(&file).is_some_and(|text| text.document.doc().state_vector() != none)
    }

    /// Says that a text has come whole, even if it is empty.
    pub(crate) fn set_received(&mut self, file: FileId) -> bool {
        self.received.insert(file)
    }

    pub(crate) fn is_received(&self, file: FileId) -> bool {
        self.received.contains(&file)
    }

    /// Returns a position that moves along, as JSON.
    pub(crate) fn anchor(&self, file: FileId, position: u32) -> Option<String> {
        let document = &self.texts.get(&file)?.document;
        Some(document.text().anchor(document.doc(), position, Assoc::After).to_json())
    }

    /// Returns where an anchor is now.
    pub(crate) fn resolve(&self, file: FileId, anchor: &str) -> Option<u32> {
        let doc = self.texts.get(&file)?.document.doc();
        crdt::Anchor::from_json(anchor)?.resolve(doc)
    }

    /// Makes sure that a text's document is open.
    pub(crate) fn ensure(&mut self, file: FileId) -> Result<(), StoreError> {
        if !self.texts.contains_key(&file) {
            let document = self.store.document(&file.to_string(), self.client)?;
            self.texts.insert(file, TextDocument { document, base: Base::Text(String::new()) });
        }
        Ok(())
    }

    /// Changes a text.
    pub(crate) fn edit(
        &mut self,
        file: FileId,
        origin: Origin,
        change: impl FnOnce(&mut Transaction<'_>, Text) -> Result<(), crdt::Error>,
    ) -> Result<(), Failure> {
        let text = self.texts.get_mut(&file).ok_or(Failure::NoDocument)?;
        text.keep_base();
        let root = text.document.text();
        let (done, written) = text.document.transact(|transaction| change(transaction, root));
        self.note(Name::File(file), origin, written);
        Ok(done?)
    }

    /// Changes the tree.
    pub(crate) fn edit_tree<R>(
        &mut self,
        origin: Origin,
        change: impl FnOnce(&mut Transaction<'_>, Tree) -> Result<R, crdt::Error>,
    ) -> Result<R, Failure> {
        let tree = self.tree;
        let (done, written) = self.tree_document.transact(|transaction| change(transaction, tree));
        self.note(Name::Tree, origin, written);
        self.read_tree(origin)?;
        Ok(done?)
    }

    /// Applies what somebody else did.
    pub(crate) fn apply(
        &mut self,
        name: Name,
        origin: Origin,
        update: &[u8],
    ) -> Result<(), Failure> {
        match name {
            Name::Tree => {
                let written = self.tree_document.apply(update)?;
                self.note(name, origin, written);
                self.read_tree(origin)?;
            }
            Name::File(file) => {
                self.ensure(file)?;
                let text = self.texts.get_mut(&file).ok_or(Failure::NoDocument)?;
                text.keep_base();
                let written = text.document.apply(update)?;
                self.note(name, origin, written);
            }
        }
        Ok(())
    }

    fn note(&mut self, name: Name, origin: Origin, written: Option<Written>) {
        if let Some(Written { lsn, update, delta }) = written {
            self.written = self.written.max(lsn);
            self.news.push(News { name, origin, update, delta });
        }
    }

    fn read_tree(&mut self, origin: Origin) -> Result<(), StoreError> {
        let entries = self.tree.entries(self.tree_document.doc());
        let before = std::mem::replace(&mut self.entries, entries);
        if origin == Origin::Network {
            let gone = before.into_iter().filter(|(file, _)| !self.entries.contains_key(file));
            self.removed_by_others.extend(gone);
        }
        self.places = places(&self.entries);
        let unknown = self.blobs().filter(|hash| !self.has_blob(hash) && self.store.has_blob(hash));
        let found: Vec<String> = unknown.map(str::to_owned).collect();
        self.blobs_here.extend(found);
        let texts: Vec<FileId> = self
            .entries
            .iter()
            .filter(|(_, entry)| matches!(entry.kind, Kind::Text { .. }))
            .map(|(file, _)| *file)
            .collect();
        texts.into_iter().try_for_each(|file| self.ensure(file))
    }
}

/// Returns a random client id.
pub(crate) fn random_client() -> ClientId {
    ClientId::new(u64::from(u32::from_le_bytes(random()))).expect("32 bits are below 2^53")
}

/// Returns random bytes.
///
/// # Panics
/// When the operating system gives none: nothing unique could be made then.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("there is no such document")]
    NoDocument,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Document(#[from] crdt::Error),
}

impl Failure {
    /// Is it the update that cannot be taken, and not our store that fails?
    pub(crate) fn is_of_the_update(&self) -> bool {
        matches!(
            self,
            Self::Document(_)
                | Self::NoDocument
                | Self::Store(StoreError::Update { .. } | StoreError::NotAllowed { .. })
        )
    }
}
