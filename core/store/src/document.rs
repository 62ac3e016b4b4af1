//! A CRDT document kept by a store: every change goes through here and into the log.

use crate::error::{Report, Severity, StoreError};
use crate::index::Place;
use crate::log::{LARGEST_UPDATE, Log};
use crate::record::{self, Found, Lsn};
use crate::recovery;
use crate::segment::{HEADER_LEN, Header};
use crate::snapshot::{self, Snapshot};
use crate::writer;
use crdt::{ClientId, Doc, Options, Text, TextChange, Transaction};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What came of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The write's number: the change is safe when the store names this or a later one durable.
    pub lsn: Lsn,
    /// The change as V1 update, for the other replicas.
    pub update: Vec<u8>,
    /// What it did to the text named `text`.
    pub delta: Vec<TextChange>,
}

/// A CRDT document whose changes are all in its store's log.
///
/// Keeps the store open. When it is dropped after enough changes, it leaves a snapshot.
#[derive(Debug)]
pub struct Document {
    log: Arc<Log>,
    name: String,
    doc: Doc,
    text: Text,
    /// The last write; the loaded ones count.
    last: Lsn,
    since: Since,
    snapshot_len: usize,
    /// A snapshot of this document is being written.
    snapshotting: Arc<AtomicBool>,
}

/// What has been written since the last snapshot.
#[derive(Debug, Clone, Copy, Default)]
struct Since {
    writes: usize,
    bytes: usize,
}

/// When a snapshot is worth its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Writing,
    Resting,
    Closing,
}

impl Document {
    /// Loads the document: its newest sound snapshot, then the log.
    pub(crate) fn open(log: Arc<Log>, name: &str, client: ClientId) -> Result<Self, StoreError> {
        if !log.open_document(name) {
            return Err(StoreError::AlreadyOpen { name: name.to_owned() });
        }
        let loaded = log.settle_document(name).and_then(|()| load(&log, name, client));
        if loaded.is_err() {
            log.close_document(name);
        }
        let Loaded { mut doc, last, since, snapshot_len } = loaded?;
        let text = doc.text("text");
        let snapshotting = Arc::default();
        let name = name.to_owned();
        Ok(Self { log, name, doc, text, last, since, snapshot_len, snapshotting })
    }

    /// Returns the document's name in its store.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the CRDT document.
    pub fn doc(&self) -> &Doc {
        &self.doc
    }

    /// Returns the CRDT document for making handles of root types. Changes made to it here, past
    /// [`transact`](Self::transact) and [`apply`](Self::apply), would not be kept.
    pub fn doc_mut(&mut self) -> &mut Doc {
        &mut self.doc
    }

    /// Sets how many bytes of changes may wait for what has not arrived. What was kept before is not
    /// touched by that.
    pub fn set_max_waiting(&mut self, bytes: usize) {
        self.doc.set_max_waiting(bytes);
    }

    /// Returns the root text `text`.
    pub fn text(&self) -> Text {
        self.text
    }

    /// Returns the lsn of the last change, [`Lsn::ZERO`] if there was none.
    pub fn last_lsn(&self) -> Lsn {
        self.last
    }

    /// Changes the document in one transaction. `None` when nothing changed.
    pub fn transact<R>(
        &mut self,
        change: impl FnOnce(&mut Transaction<'_>) -> R,
    ) -> (R, Option<Written>) {
        let mut transaction = self.doc.transact();
        let result = change(&mut transaction);
        let commit = transaction.commit();
        let change = commit.update_v1().map(|update| (update, commit.text_delta(self.text)));
        (result, change.map(|(update, delta)| self.keep(update, delta)))
    }

    /// Applies an update from another replica. `None` when it brought nothing new. On an error,
    /// which one that would make too much wait is too, nothing was changed.
    ///
    /// What has to wait for an update that is still missing is kept, too: it waits in the log.
    pub fn apply(&mut self, update: &[u8]) -> Result<Option<Written>, StoreError> {
        if update.len() > LARGEST_UPDATE {
            let given = format!("{} bytes", update.len());
            return Err(StoreError::NotAllowed {
                what: "an update of",
                given,
                why: "under 64 MiB",
            });
        }
        let waited = waiting(&self.doc);
        let commit = self
            .doc
            .apply_v1(update)
            .map_err(|source| StoreError::Update { name: self.name.clone(), source })?;
        let change = commit.update_v1().map(|update| (update, commit.text_delta(self.text)));
        let waits = waiting(&self.doc);
        if waits.is_some() && waits != waited {
            // The commit's own update has only what found its place.
            let delta = change.map(|(_, delta)| delta).unwrap_or_default();
            return Ok(Some(self.keep(update.to_vec(), delta)));
        }
        Ok(change.map(|(update, delta)| self.keep(update, delta)))
    }

    /// Says that nobody has changed the document for half a minute: a good time for a snapshot.
    pub fn rest(&mut self) {
        self.snapshot(Moment::Resting);
    }

    fn keep(&mut self, update: Vec<u8>, delta: Vec<TextChange>) -> Written {
        self.last = self.log.append_update(&self.name, update.clone());
        self.since.writes += 1;
        self.since.bytes += update.len();
        self.snapshot(Moment::Writing);
        Written { lsn: self.last, update, delta }
    }

    /// Starts a snapshot if one is due and none is on its way.
    fn snapshot(&mut self, moment: Moment) {
        let Since { writes, bytes } = self.since;
        let due = match moment {
            Moment::Writing => writes >= 2000 || bytes >= (self.snapshot_len / 2).max(64 << 10),
            Moment::Resting => writes >= 200,
            Moment::Closing => {
                writes >= 50 || (writes > 0 && self.log.holds_older_segment(&self.name))
            }
        };
        if !due || self.snapshotting.swap(true, Ordering::AcqRel) {
            return;
        }
        let done = Done(self.snapshotting.clone());
        let Some(number) = self.log.index(|index| Some(index.document(&self.name)?.number)) else {
            return;
        };
        let state = self.doc.state_v2();
        debug_assert!(self.reads_back(&state), "a snapshot of {:?} reads back", self.name);
        self.since = Since::default();
        self.snapshot_len = state.len();
        let snapshot = Snapshot { name: self.name.clone(), number, lsn: self.last, state };
        self.log.write_snapshot(snapshot, done);
    }

    fn reads_back(&self, state: &[u8]) -> bool {
        let mut scratch = Doc::new(self.doc.client(), options());
        scratch.apply_own_v2(state).is_ok() && scratch.state_vector() == self.doc.state_vector()
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        self.snapshot(Moment::Closing);
        self.log.close_document(&self.name);
    }
}

/// Ends a snapshot's single flight, however the snapshot ends.
struct Done(Arc<AtomicBool>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

struct Loaded {
    doc: Doc,
    last: Lsn,
    since: Since,
    snapshot_len: usize,
}

/// Deleted text is kept, for history. The seed must differ between replicas; where the system
/// gives no randomness, opening the log has failed before.
fn options() -> Options {
    Options { gc: false, seed: getrandom::u64().unwrap_or_default(), ..Options::default() }
}

fn load(log: &Log, name: &str, client: ClientId) -> Result<Loaded, StoreError> {
    let known = log.index(|index| {
        index.document(name).map(|known| (known.snapshots.clone(), known.updates.clone()))
    });
    let (snapshots, updates) = known.unwrap_or_default();
    let mut doc = Doc::new(client, options());
    let mut last = Lsn::ZERO;
    let mut snapshot_len = 0;
    let mut verified = None;
    for lsn in snapshots.iter().rev() {
        if let Some((from_snapshot, len)) = load_snapshot(log, name, *lsn, client)? {
            (doc, last, snapshot_len) = (from_snapshot, *lsn, len);
            verified = Some(*lsn);
            break;
        }
    }
    let mut since = Since::default();
    let mut headers = BTreeMap::new();
    let newer = updates.iter().filter(|place| place.lsn > last);
    for place in newer.copied().collect::<Vec<_>>() {
        let taken = read_update(log, &mut headers, &place)
            .is_some_and(|update| doc.apply_own_v1(&update).is_ok());
        if !taken {
            let text = format!("a change of {name:?} in the log does not read any more");
            incomplete(log, name, text);
        }
        last = place.lsn;
        since.writes += 1;
        since.bytes += place.byte_len;
    }
    // Only now: with this, segments may go that were read just above.
    if let Some(lsn) = verified {
        log.snapshot_verified(name, lsn);
    }
    Ok(Loaded { doc, last, since, snapshot_len })
}

/// Reads a snapshot into a new document; a bad one is set aside.
fn load_snapshot(
    log: &Log,
    name: &str,
    lsn: Lsn,
    client: ClientId,
) -> Result<Option<(Doc, usize)>, StoreError> {
    let path = snapshot::path(&log.folders().snapshots, name, lsn);
    if let Some(snapshot) = Snapshot::read(log.disk(), &path)?
        && snapshot.name == name
    {
        let mut doc = Doc::new(client, options());
        if doc.apply_own_v2(&snapshot.state).is_ok() {
            return Ok(Some((doc, snapshot.state.len())));
        }
    }
    if log.disk().stat(&path).is_ok() {
        recovery::set_aside(log.disk(), &log.folders().quarantine, &path)?;
        // What cannot be removed is set aside once more by the next open.
        drop(log.disk().remove(&path));
    }
    log.drop_snapshot(name, lsn);
    let text = format!("the snapshot {} is damaged or gone: it was set aside", path.display());
    incomplete(log, name, text);
    Ok(None)
}

fn read_update(log: &Log, headers: &mut BTreeMap<Lsn, Header>, place: &Place) -> Option<Vec<u8>> {
    let path = writer::path(&log.folders().log, place.segment);
    let header = match headers.entry(place.segment) {
        Entry::Occupied(known) => *known.get(),
        Entry::Vacant(unknown) => {
            let bytes = log.disk().read_range(&path, 0, HEADER_LEN).ok()?;
            *unknown.insert(Header::decode(&bytes)?)
        }
    };
    let frame = header.frame();
    let bytes = log.disk().read_range(&path, place.offset, place.byte_len).ok()?;
    match record::read(&bytes, 0, &frame) {
        Found::Record(record) => Some(record.payload.to_vec()),
        Found::End | Found::Bad => None,
    }
}

/// Reports that a document may lack something, for this run and the next ones.
fn incomplete(log: &Log, name: &str, text: String) {
    let documents = vec![name.to_owned()];
    log.report(Report { severity: Severity::Warning, text, documents });
    log.mark_needs_resync(name, true);
}

fn waiting(doc: &Doc) -> Option<(Vec<(ClientId, u32)>, usize)> {
    doc.waiting().map(|waiting| (waiting.missing, waiting.bytes))
}
