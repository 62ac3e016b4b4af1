//! The log's front: writes are queued here at once and made durable together.
//!
//! One thread takes the whole queue, merges what belongs to one document, writes it with one
//! mark and one sync, and then publishes the last lsn in it as durable. An idle log commits at
//! once; a busy one at most once a window. When a write fails the same bytes are tried again;
//! when a sync fails nothing is promised any more until the store is opened again, because no
//! later sync says anything about the bytes of this one.

use crate::disk::Disk;
use crate::error::{Report, Severity, StoreError};
use crate::index::{self, Index};
use crate::record::{Kind, Lsn, MAX_LEN};
use crate::recovery::{Folders, NEEDS_RESYNC, Recovered};
use crate::snapshot::{self, Snapshot};
use crate::writer::{Framed, Queued, WriteTrouble, Writer};
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Is told each time more has become durable, or that it cannot be. Runs on the log's thread.
pub type OnDurable = Box<dyn Fn(Result<Lsn, StoreError>) + Send>;

/// A full queue does not wait for the window's end.
const FULL_QUEUE: usize = 256 << 10;

/// Updates of one document are merged up to this size and this many: more cost more than they
/// save. Typed letters, each in an update of its own, take 0.7 us each to merge in 32s or 64s and
/// 9 us in 2048s, for 3 % fewer bytes.
const MERGE_UP_TO: usize = 64 << 10;
const MERGE_AT_MOST: usize = 64;

/// A segment with more than this is followed by a new one at closing.
const CLOSE_AT_MOST: u64 = 256 << 10;

/// Largest update: a record with room for its own fields.
pub(crate) const LARGEST_UPDATE: usize = MAX_LEN - 64;

/// How long a failed write waits for better times.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The log of one store. The last one who lets go of it ends its thread, everything written.
pub(crate) struct Log {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
    snapshots: Mutex<Vec<JoinHandle<()>>>,
    /// Held as long as the log is; given up after the last write.
    _lock: Box<dyn Any + Send + Sync>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("durable", &self.durable()).finish_non_exhaustive()
    }
}

struct Shared {
    disk: Arc<dyn Disk>,
    folders: Folders,
    state: Mutex<State>,
    /// Something to do for the log's thread.
    work: Condvar,
    /// Something to know for who waits in `flush`.
    news: Condvar,
}

struct State {
    queue: Vec<Queued>,
    queued_bytes: usize,
    next_lsn: u64,
    /// The last write; a segment may have taken a higher lsn for its beginning.
    last_queued: Lsn,
    durable: Lsn,
    /// First lsn of the segment that is written to.
    active: Lsn,
    index: Index,
    trouble: Trouble,
    /// Counts the failed writes, so that `flush` sees a new one.
    failures: u64,
    flush: bool,
    /// There may be segments that nobody needs any more.
    tidy: bool,
    closing: bool,
    open_documents: BTreeSet<String>,
    reports: Vec<Report>,
}

enum Trouble {
    None,
    Stalled(String),
    Poisoned(String),
}

/// How the log is to behave.
pub(crate) struct LogOptions {
    pub(crate) window: Duration,
    /// A segment of this size is followed by a new one.
    pub(crate) segment_bytes: u64,
    pub(crate) on_durable: OnDurable,
}

impl Log {
    /// Starts the log's thread on what recovery found.
    pub(crate) fn start(
        disk: Arc<dyn Disk>,
        folders: Folders,
        recovered: Recovered,
        options: LogOptions,
        lock: Box<dyn Any + Send + Sync>,
    ) -> Result<Self, std::io::Error> {
        let Recovered { writer, index, next_lsn, reports } = recovered;
        let state = State {
            queue: Vec::new(),
            queued_bytes: 0,
            next_lsn,
            last_queued: Lsn::new(next_lsn - 1),
            durable: Lsn::new(next_lsn - 1),
            active: writer.first_lsn(),
            index,
            trouble: Trouble::None,
            failures: 0,
            flush: false,
            tidy: false,
            closing: false,
            open_documents: BTreeSet::new(),
            reports,
        };
        let shared = Arc::new(Shared {
            disk,
            folders,
            state: Mutex::new(state),
            work: Condvar::new(),
            news: Condvar::new(),
        });
        let mut committer = Committer { shared: shared.clone(), writer, options };
        let run = move || {
            // Whoever waits for a log whose thread is gone would wait for ever.
            let _end = PoisonAtEnd(committer.shared.clone());
            committer.run();
        };
        let committer = thread::Builder::new().name("store log".into()).spawn(run)?;
        let snapshots = Mutex::new(Vec::new());
        Ok(Self { shared, committer: Some(committer), snapshots, _lock: lock })
    }

    /// Queues an update of a document, which is registered by its first one.
    pub(crate) fn append_update(&self, name: &str, update: Vec<u8>) -> Lsn {
        let mut state = self.shared.state();
        if update.len() > LARGEST_UPDATE {
            // Nothing that is typed or pasted comes near; there is no record that could hold it.
            let reason = format!("one change of {} bytes is too large to keep", update.len());
            state.trouble = Trouble::Poisoned(reason);
        }
        let number = state.number(name);
        let lsn = state.push(Kind::Update, number, update);
        if let Some(known) = state.index.document_mut(name) {
            known.last_queued = lsn;
        }
        self.shared.work.notify_one();
        lsn
    }

    /// Sets or removes a base or a small fact.
    pub(crate) fn set(&self, kind: Kind, name: &str, value: Option<Vec<u8>>) -> Lsn {
        let mut state = self.shared.state();
        let lsn = state.push(kind, 0, index::fact_payload(name, value.as_deref()));
        state.index.set(kind, name, lsn, value);
        self.shared.work.notify_one();
        lsn
    }

    /// Notes a blob that is durable in its place.
    pub(crate) fn add_blob(&self, hash: [u8; 32]) -> Lsn {
        let mut state = self.shared.state();
        let lsn = state.push(Kind::Blob, 0, hash.to_vec());
        state.index.add_blob(hash);
        self.shared.work.notify_one();
        lsn
    }

    /// Returns the documents that may lack something because of damage.
    pub(crate) fn needs_resync(&self) -> Vec<String> {
        self.index(|index| needs_resync(index))
    }

    /// Notes, for later runs too, whether a document may lack something.
    pub(crate) fn mark_needs_resync(&self, name: &str, needs: bool) {
        let mut names = self.needs_resync();
        let before = names.len();
        names.retain(|other| other != name);
        if needs {
            names.push(name.to_owned());
        }
        if names.len() != before || needs {
            let value = (!names.is_empty()).then(|| names.join("\n").into_bytes());
            self.set(Kind::Meta, NEEDS_RESYNC, value);
        }
    }

    /// Looks into the index.
    pub(crate) fn index<R>(&self, look: impl FnOnce(&mut Index) -> R) -> R {
        look(&mut self.shared.state().index)
    }

    /// Forgets a document's snapshot that does not read.
    pub(crate) fn drop_snapshot(&self, name: &str, lsn: Lsn) {
        let mut state = self.shared.state();
        let Some(known) = state.index.document_mut(name) else { return };
        known.snapshots.retain(|other| *other != lsn);
        let number = known.number;
        let newest = known.snapshots.last().copied().unwrap_or_default();
        state.push(Kind::SnapshotMade, number, index::snapshot_payload(newest));
        self.shared.work.notify_one();
    }

    /// Notes that a document's snapshot has been read back whole.
    pub(crate) fn snapshot_verified(&self, name: &str, lsn: Lsn) {
        let mut state = self.shared.state();
        if let Some(known) = state.index.document_mut(name) {
            known.verified = lsn;
            state.tidy = true;
            self.shared.work.notify_one();
        }
    }

    /// Returns whether a document's updates keep an old segment from going.
    pub(crate) fn holds_older_segment(&self, name: &str) -> bool {
        let state = self.shared.state();
        state.index.holds_older_segment(name, state.active)
    }

    /// Marks a document as open; `false` if it is.
    pub(crate) fn open_document(&self, name: &str) -> bool {
        self.shared.state().open_documents.insert(name.to_owned())
    }

    /// Waits until the index knows all of a document's updates: one that was closed a moment ago
    /// may have some in the queue.
    pub(crate) fn settle_document(&self, name: &str) -> Result<(), StoreError> {
        let state = self.shared.state();
        let queued = state.index.document(name).map_or(Lsn::ZERO, |known| known.last_queued);
        let settled = queued <= state.durable;
        drop(state);
        if settled { Ok(()) } else { self.flush().map(drop) }
    }

    /// Marks a document as not open.
    pub(crate) fn close_document(&self, name: &str) {
        self.shared.state().open_documents.remove(name);
    }

    /// Returns the last lsn that is durable, with all before it.
    pub(crate) fn durable(&self) -> Lsn {
        self.shared.state().durable
    }

    /// Returns the disk.
    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.shared.disk
    }

    /// Returns the store's folders.
    pub(crate) fn folders(&self) -> &Folders {
        &self.shared.folders
    }

    /// Adds a report.
    pub(crate) fn report(&self, report: Report) {
        self.shared.state().reports.push(report);
    }

    /// Returns the reports so far.
    pub(crate) fn reports(&self) -> Vec<Report> {
        self.shared.state().reports.clone()
    }

    /// Waits until everything queued so far is durable.
    pub(crate) fn flush(&self) -> Result<Lsn, StoreError> {
        let mut state = self.shared.state();
        let target = state.last_queued;
        let failures = state.failures;
        state.flush = true;
        self.shared.work.notify_one();
        loop {
            if let Trouble::Poisoned(reason) = &state.trouble {
                return Err(StoreError::Poisoned { reason: reason.clone() });
            }
            if state.durable >= target {
                return Ok(state.durable);
            }
            if let Trouble::Stalled(reason) = &state.trouble
                && state.failures > failures
            {
                return Err(StoreError::Stalled { reason: reason.clone() });
            }
            state = self.shared.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts a snapshot in place from a thread of its own; `done` is dropped when it is over.
    pub(crate) fn write_snapshot(&self, snapshot: Snapshot, done: impl Send + 'static) {
        let shared = self.shared.clone();
        let write = move || {
            let folder = &shared.folders.snapshots;
            match snapshot.write(&*shared.disk, folder) {
                Ok(()) => {
                    let payload = index::snapshot_payload(snapshot.lsn);
                    shared.state().push(Kind::SnapshotMade, snapshot.number, payload);
                    shared.work.notify_one();
                }
                Err(error) => {
                    let text = format!("no snapshot of {:?}: {error}", snapshot.name);
                    let documents = Vec::new();
                    let report = Report { severity: Severity::Info, text, documents };
                    shared.state().reports.push(report);
                }
            }
            drop(done);
        };
        // Without a thread there is no snapshot this time, and the log grows on.
        if let Ok(handle) = thread::Builder::new().name("store snapshot".into()).spawn(write) {
            let mut running = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
            running.retain(|handle| !handle.is_finished());
            running.push(handle);
        }
    }

    /// Waits for the snapshots being written.
    pub(crate) fn finish_snapshots(&self) {
        let running =
            std::mem::take(&mut *self.snapshots.lock().unwrap_or_else(PoisonError::into_inner));
        for handle in running {
            // A snapshot that panicked is a snapshot not made.
            drop(handle.join());
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.finish_snapshots();
        self.shared.state().closing = true;
        self.shared.work.notify_one();
        if let Some(committer) = self.committer.take()
            // The callback may own the last handle: the thread then ends by itself.
            && committer.thread().id() != thread::current().id()
        {
            drop(committer.join());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, kind: Kind, document: u32, payload: Vec<u8>) -> Lsn {
        let lsn = Lsn::new(self.next_lsn);
        self.next_lsn += 1;
        self.last_queued = lsn;
        self.queued_bytes += payload.len();
        self.queue.push(Queued { kind, document, lsn, payload });
        lsn
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(known) = self.index.document(name) {
            return known.number;
        }
        let number = self.index.next_number();
        self.index.register(name, number);
        self.push(Kind::Registered, number, name.as_bytes().to_vec());
        number
    }
}

/// The log's thread.
struct Committer {
    shared: Arc<Shared>,
    writer: Writer,
    options: LogOptions,
}

/// Ends the waiting of everybody when the log's thread ends, however it ends.
struct PoisonAtEnd(Arc<Shared>);

impl Drop for PoisonAtEnd {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if !matches!(state.trouble, Trouble::Poisoned(_)) {
            state.trouble = Trouble::Poisoned("the log was ended".to_owned());
        }
        self.0.news.notify_all();
    }
}

/// What is committed together, and the first lsn of the segment to go over to afterwards.
struct Batch {
    queued: Vec<Queued>,
    rotate_to: Option<Lsn>,
}

impl Committer {
    fn run(&mut self) {
        while let Some(batch) = self.next_batch() {
            let made: Vec<_> = (batch.queued.iter())
                .filter(|queued| queued.kind == Kind::SnapshotMade)
                .filter_map(|queued| {
                    Some((queued.document, index::read_snapshot_payload(&queued.payload)?))
                })
                .collect();
            let framed = self.writer.frame(&merge(batch.queued));
            if !self.write(&framed) {
                return;
            }
            self.publish(framed, &made);
            if let Some(first_lsn) = batch.rotate_to {
                self.rotate(first_lsn);
            }
            if !made.is_empty() || batch.rotate_to.is_some() {
                self.tidy();
            }
            self.wait_out_window();
        }
        self.close();
    }

    /// Waits for something to write; `None` when the log is closed.
    fn next_batch(&mut self) -> Option<Batch> {
        let shared = self.shared.clone();
        let mut state = shared.state();
        while state.queue.is_empty() {
            state.flush = false;
            self.shared.news.notify_all();
            if state.closing || matches!(state.trouble, Trouble::Poisoned(_)) {
                return None;
            }
            if std::mem::take(&mut state.tidy) {
                drop(state);
                self.tidy();
                state = shared.state();
                continue;
            }
            state = self.shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Trouble::Poisoned(reason) = &state.trouble {
            let reason = reason.clone();
            drop(state);
            self.poison(reason);
            return None;
        }
        let queued = std::mem::take(&mut state.queue);
        state.queued_bytes = 0;
        state.flush = false;
        let rotate = self.writer.own_len() >= self.options.segment_bytes;
        // The next segment's first lsn is taken while the queue is empty: all before it go
        // into this segment, all after it into the next.
        let rotate_to = rotate.then(|| {
            state.next_lsn += 1;
            Lsn::new(state.next_lsn - 1)
        });
        Some(Batch { queued, rotate_to })
    }

    /// Makes the batch durable, however often it takes; `false` when that has become impossible.
    fn write(&mut self, framed: &Framed) -> bool {
        loop {
            match self.writer.write(framed) {
                Ok(()) => return true,
                Err(WriteTrouble::Write(error)) => {
                    let reason = error.to_string();
                    let mut state = self.shared.state();
                    state.trouble = Trouble::Stalled(reason.clone());
                    state.failures += 1;
                    state.flush = false;
                    self.shared.news.notify_all();
                    drop(state);
                    (self.options.on_durable)(Err(StoreError::Stalled { reason: reason.clone() }));
                    let state = self.shared.state();
                    let (state, _) = (self.shared.work)
                        .wait_timeout_while(state, RETRY_AFTER, |state| {
                            !state.flush && !state.closing
                        })
                        .unwrap_or_else(PoisonError::into_inner);
                    if state.closing {
                        drop(state);
                        self.poison(reason);
                        return false;
                    }
                }
                Err(WriteTrouble::Sync(error)) => {
                    self.poison(error.to_string());
                    return false;
                }
            }
        }
    }

    fn poison(&self, reason: String) {
        self.shared.state().trouble = Trouble::Poisoned(reason.clone());
        self.shared.news.notify_all();
        (self.options.on_durable)(Err(StoreError::Poisoned { reason }));
    }

    fn publish(&self, framed: Framed, made: &[(u32, Lsn)]) {
        let mut state = self.shared.state();
        for (document, place) in framed.places {
            state.index.place(document, place);
        }
        for (document, lsn) in made {
            let name = state.index.name(*document).map(str::to_owned);
            if let Some(known) = name.and_then(|name| state.index.document_mut(&name)) {
                known.claimed = *lsn;
                known.snapshots.push(*lsn);
                known.snapshots.sort_unstable();
                known.snapshots.dedup();
                known.snapshots.retain(|lsn| *lsn > Lsn::ZERO);
            }
        }
        state.durable = framed.last;
        state.trouble = Trouble::None;
        self.shared.news.notify_all();
        drop(state);
        (self.options.on_durable)(Ok(framed.last));
    }

    fn rotate(&mut self, first_lsn: Lsn) {
        let mut state = self.shared.state();
        if self.writer.is_alone() {
            // This one segment has both the facts and their removal, and goes as a whole.
            state.index.forget_removed();
        }
        let carried = state.index.carried();
        drop(state);
        let rotated = self.writer.rotate(first_lsn, &carried);
        self.shared.state().active = self.writer.first_lsn();
        if let Err(error) = rotated {
            let text = format!("the log goes on in its old file: {error}");
            let report = Report { severity: Severity::Info, text, documents: Vec::new() };
            self.shared.state().reports.push(report);
        }
    }

    /// Leaves a small log behind: what snapshots cover by now can go when the next open has
    /// read them back.
    fn close(&mut self) {
        if matches!(self.shared.state().trouble, Trouble::Poisoned(_)) {
            return;
        }
        if self.writer.own_len() >= CLOSE_AT_MOST.min(self.options.segment_bytes) {
            let mut state = self.shared.state();
            state.next_lsn += 1;
            let first_lsn = Lsn::new(state.next_lsn - 1);
            drop(state);
            self.rotate(first_lsn);
        }
        self.tidy();
    }

    /// Removes the snapshots and the segments that nobody needs any more.
    fn tidy(&mut self) {
        let mut superseded = Vec::new();
        let mut safe = BTreeMap::new();
        let mut state = self.shared.state();
        let names: Vec<_> = state.index.documents().map(|(name, _)| name.to_owned()).collect();
        for name in names {
            let Some(known) = state.index.document_mut(&name) else { continue };
            // The two newest stay, and the one that is known to be readable.
            let keep_from = known.snapshots.len().saturating_sub(2);
            let verified = known.verified;
            let old = known.snapshots[..keep_from].iter().copied();
            let old: Vec<_> = old.filter(|lsn| *lsn != verified).collect();
            known.snapshots.retain(|lsn| !old.contains(lsn));
            superseded.extend(old.into_iter().map(|lsn| (name.clone(), lsn)));
            safe.insert(known.number, known.safe());
        }
        drop(state);
        for (name, lsn) in superseded {
            // One that stays behind is found again by the next open.
            let path = snapshot::path(&self.shared.folders.snapshots, &name, lsn);
            drop(self.shared.disk.remove(&path));
        }
        let safe_of = |number| safe.get(&number).copied().unwrap_or(Lsn::ZERO);
        let removed = self.writer.remove_covered(safe_of).unwrap_or_default();
        let mut state = self.shared.state();
        for segment in removed {
            state.index.forget_segment(segment);
        }
    }

    /// Gathers writes, unless somebody waits.
    fn wait_out_window(&self) {
        let state = self.shared.state();
        let waited = self.shared.work.wait_timeout_while(state, self.options.window, |state| {
            !state.flush && !state.closing && state.queued_bytes < FULL_QUEUE
        });
        drop(waited);
    }
}

fn needs_resync(index: &Index) -> Vec<String> {
    let names = index.fact(Kind::Meta, NEEDS_RESYNC).unwrap_or_default();
    String::from_utf8_lossy(names).lines().map(str::to_owned).collect()
}

/// Joins the updates of each document, which keeps the order of everything else.
fn merge(queued: Vec<Queued>) -> Vec<Queued> {
    let mut of_document: BTreeMap<u32, Vec<Queued>> = BTreeMap::new();
    let mut merged = Vec::new();
    for queued in queued {
        match queued.kind {
            Kind::Update => of_document.entry(queued.document).or_default().push(queued),
            _ => merged.push(queued),
        }
    }
    for mut updates in of_document.into_values() {
        while !updates.is_empty() {
            let rest = updates.split_off(mergeable(&updates));
            join(updates, &mut merged);
            updates = rest;
        }
    }
    merged.sort_by_key(|queued| queued.lsn);
    merged
}

/// Returns how many of the first updates may become one, at least one.
fn mergeable(updates: &[Queued]) -> usize {
    let mut total = 0;
    let fits = updates.iter().take(MERGE_AT_MOST).take_while(|queued| {
        total += queued.payload.len();
        total <= MERGE_UP_TO
    });
    fits.count().max(1)
}

fn join(updates: Vec<Queued>, merged: &mut Vec<Queued>) {
    let payloads: Vec<_> = updates.iter().map(|queued| &queued.payload[..]).collect();
    match (&updates[..], crdt::update::merge_v1(&payloads)) {
        ([_, .., last], Ok(payload)) => {
            merged.push(Queued { payload, ..Queued::clone(last) });
        }
        _ => merged.extend(updates),
    }
}
