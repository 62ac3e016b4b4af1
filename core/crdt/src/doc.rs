//! A document: its state, and the doors by which changes come in and go out.

pub(crate) mod apply;
pub(crate) mod copy;
pub(crate) mod event;
pub(crate) mod filter;
pub(crate) mod json;
pub(crate) mod load;
pub(crate) mod pending;
pub(crate) mod subdocs;
pub(crate) mod transaction;
pub(crate) mod tree;

use crate::doc::event::Observers;
use crate::doc::filter::Filter;
use crate::doc::pending::{OWN, Pending};
use crate::doc::transaction::{Commit, Transaction};
use crate::encoding::content::TypeKind;
use crate::encoding::decoder::{Decoder, DecoderV1, DecoderV2};
use crate::encoding::encoder::{Encoder, EncoderV1, EncoderV2};
use crate::error::Error;
use crate::history::undo::{Origin, Steps};
use crate::id::{ClientId, StateVector};
use crate::structs::Structs;
use crate::structs::place::Passed;
use crate::types::array::Array;
use crate::types::map::Map;
use crate::types::text::Text;
use crate::types::xml::Xml;
use crate::update::{diff_own, merge_own, merge_v1, own_to_v1};

/// How a document behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether contents of deleted items are dropped. Quire's own documents keep them, for history.
    pub gc: bool,
    /// Any random number. From it a new client id is drawn when another replica turns out to use ours.
    pub seed: u64,
    /// How many bytes may wait for what has not arrived; an update that would make it more is refused. What was saved
    /// is never refused, see [`Doc::apply_own_v2`].
    pub max_waiting: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { gc: true, seed: 0, max_waiting: 64 << 20 }
    }
}

/// What a document holds but can't show yet, since something before it has not arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Clients and the clock of a unit that is waited for; empty if only deletions wait.
    pub missing: Vec<(ClientId, u32)>,
    /// Size in bytes of what waits, as it is kept.
    pub bytes: usize,
}

/// A document that merges: texts, maps and arrays that many replicas edit at once.
#[derive(Debug, Clone)]
pub struct Doc {
    pub(crate) structs: Structs,
    pub(crate) passed: Passed,
    pub(crate) pending: Pending,
    pub(crate) options: Options,
    /// The slot of our own client.
    pub(crate) own: u32,
    /// A transaction was started and not committed.
    pub(crate) open: bool,
    /// The undo managers, by number.
    pub(crate) undo: Vec<Steps>,
    /// The update events of the last transaction, where cleaning formats made a second one.
    pub(crate) told: Option<Box<Told>>,
    pub(crate) observers: Observers,
    /// Which deleted items may be collected; `None`: all.
    pub(crate) gc_filter: Option<Filter>,
}

/// Update events in both formats: of a transaction, and of the cleaning after it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    pub(crate) v1: Vec<Vec<u8>>,
    pub(crate) v2: Vec<Vec<u8>>,
}

impl Doc {
    /// Makes an empty document in which our edits carry this client id.
    pub fn new(client: ClientId, options: Options) -> Self {
        let mut structs = Structs::default();
        let own = structs.slot_or_add(client);
        Self {
            structs,
            passed: Passed::default(),
            pending: Pending::default(),
            options,
            own,
            open: false,
            undo: Vec::new(),
            told: None,
            observers: Observers::default(),
            gc_filter: None,
        }
    }

    /// The client id of our edits. It changes when a replica that uses the same turns up.
    pub fn client(&self) -> ClientId {
        self.structs.client(self.own).id
    }

    /// Takes another client id for the edits to come.
    pub fn set_client(&mut self, client: ClientId) {
        self.own = self.structs.slot_or_add(client);
    }

    /// Whether what is deleted may be collected before the transaction is closed: nobody looks at it any more.
    pub(crate) fn collects_at_once(&self) -> bool {
        self.options.gc
            && self.gc_filter.is_none()
            && self.undo.is_empty()
            && self.observers.is_empty()
    }

    fn typed_root(&mut self, name: &str, kind: TypeKind) -> u32 {
        let root = self.structs.root(name);
        let known = &mut self.structs.types[root as usize];
        if known.kind == TypeKind::Untyped {
            known.kind = kind;
            known.has_formats = false;
        }
        root
    }

    /// Returns the root text of a name. A root that was first asked for as another type keeps that.
    pub fn text(&mut self, name: &str) -> Text {
        Text(self.typed_root(name, TypeKind::Text))
    }

    /// Returns the root map of a name.
    pub fn map(&mut self, name: &str) -> Map {
        Map(self.typed_root(name, TypeKind::Map))
    }

    /// Returns the root array of a name.
    pub fn array(&mut self, name: &str) -> Array {
        Array(self.typed_root(name, TypeKind::Array))
    }

    /// Returns the root XML fragment of a name.
    pub fn xml(&mut self, name: &str) -> Xml {
        Xml(self.typed_root(name, TypeKind::XmlFragment))
    }

    /// Starts a transaction. One that was started before and dropped is closed first; its changes stay.
    pub fn transact(&mut self) -> Transaction<'_> {
        self.transact_as(Origin::default(), 0)
    }

    /// Starts a transaction of an origin, at a time in milliseconds, by both of which undo managers tell steps.
    pub fn transact_as(&mut self, origin: Origin, now_ms: u64) -> Transaction<'_> {
        if self.open {
            self.close(true, Some(Origin::default()), 0);
        }
        self.open = true;
        self.structs.changes.start();
        Transaction { doc: self, local: true, origin: Some(origin), now_ms }
    }

    /// Applies an update of the first format, whole or not at all.
    ///
    /// # Errors
    /// The update is malformed; too much would wait; the document would be too large.
    pub fn apply_v1(&mut self, update: &[u8]) -> Result<Commit<'_>, Error> {
        let mut transaction = self.transact();
        transaction.apply_v1(update)?;
        Ok(transaction.commit())
    }

    /// Applies an update of the second format, whole or not at all.
    ///
    /// # Errors
    /// The update is malformed; too much would wait; the document would be too large.
    pub fn apply_v2(&mut self, update: &[u8]) -> Result<Commit<'_>, Error> {
        let mut transaction = self.transact();
        transaction.apply_v2(update)?;
        Ok(transaction.commit())
    }

    /// Applies what this document or another one here has written in the first format and the caller has kept: however
    /// much of it waits.
    ///
    /// # Errors
    /// The update is malformed.
    pub fn apply_own_v1(&mut self, update: &[u8]) -> Result<Commit<'_>, Error> {
        self.apply_own::<DecoderV1<'_>>(update)
    }

    /// Applies what this document or another one here has written in the second format and the caller has kept: however
    /// much of it waits, and however many structs its bytes stand for, as they may be what many updates came to.
    ///
    /// # Errors
    /// The update is malformed.
    pub fn apply_own_v2(&mut self, update: &[u8]) -> Result<Commit<'_>, Error> {
        self.apply_own::<DecoderV2<'_>>(update)
    }

    fn apply_own<'u, D: Decoder<'u>>(&mut self, update: &'u [u8]) -> Result<Commit<'_>, Error> {
        let mut transaction = self.transact();
        transaction.apply::<D>(update, false)?;
        Ok(transaction.commit())
    }

    /// Sets how many bytes may wait, as [`Options::max_waiting`].
    pub fn set_max_waiting(&mut self, bytes: usize) {
        self.options.max_waiting = bytes;
    }

    /// Encodes everything in the first format (`encodeStateAsUpdate`), what waits included.
    pub fn state_v1(&self) -> Vec<u8> {
        self.diff_v1(&StateVector::default())
    }

    /// Encodes everything in the second format.
    pub fn state_v2(&self) -> Vec<u8> {
        self.diff_v2(&StateVector::default())
    }

    /// Encodes in the first format what a replica that knows `than` lacks, and all deletions.
    pub fn diff_v1(&self, than: &StateVector) -> Vec<u8> {
        let state = self.encode::<EncoderV1>(than);
        self.with_pending(state, than, |update| own_to_v1(&update), merge_v1)
    }

    /// Encodes in the second format what a replica that knows `than` lacks, and all deletions.
    pub fn diff_v2(&self, than: &StateVector) -> Vec<u8> {
        let state = self.encode::<EncoderV2>(than);
        self.with_pending(state, than, Ok, merge_own)
    }

    pub(crate) fn with_pending(
        &self,
        state: Vec<u8>,
        than: &StateVector,
        convert: impl Fn(Vec<u8>) -> Result<Vec<u8>, Error>,
        merge: impl Fn(&[&[u8]]) -> Result<Vec<u8>, Error>,
    ) -> Vec<u8> {
        let mut parts = vec![state];
        let Pending { structs, deletes, .. } = &self.pending;
        if !deletes.is_empty() {
            parts.push(convert(deletes.encode()).expect(OWN));
        }
        if !structs.is_empty() {
            let than = self.than_with_known(than);
            parts.push(diff_own(&structs.encode(), &than).and_then(&convert).expect(OWN));
        }
        if parts.len() == 1 {
            return parts.swap_remove(0);
        }
        let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        merge(&slices).expect(OWN)
    }

    /// What a replica is taken to know where it is told of what waits: of a client whose waiting structs say something
    /// else of units that are here, all that is here.
    ///
    /// No editing makes such structs, only what has been collected may come again and wait. Of two structs that begin
    /// at one clock Yjs sometimes writes the one that waits, and then leaves out all that it covers: whoever makes one
    /// up would have others' edits dropped from the state.
    fn than_with_known(&self, than: &StateVector) -> StateVector {
        let mut than = than.clone();
        for (client, ranges) in
            self.pending.structs.known(|client| self.structs.next(client)).iter()
        {
            let next = self.structs.next(client);
            if than.get(client) < next && !self.structs.is_collected(client, ranges) {
                than.insert(client, next);
            }
        }
        than
    }

    fn encode<E: Encoder>(&self, than: &StateVector) -> Vec<u8> {
        let clients: Vec<(u32, u32)> = self
            .structs
            .slots_descending()
            .into_iter()
            .map(|slot| (slot, than.get(self.structs.client(slot).id)))
            .filter(|&(slot, known)| self.structs.client(slot).next > known)
            .collect();
        self.structs.encode_state::<E>(&clients)
    }

    /// How many units of each client are integrated.
    pub fn state_vector(&self) -> StateVector {
        self.structs.clients.iter().map(|client| (client.id, client.next)).collect()
    }

    /// Returns what waits for something that has not arrived.
    pub fn waiting(&self) -> Option<Waiting> {
        let pending = &self.pending;
        (!pending.is_empty()).then(|| Waiting {
            missing: pending.missing.iter().map(|(&client, &clock)| (client, clock)).collect(),
            bytes: pending.bytes(),
        })
    }

    /// Whether structs wait.
    pub fn has_waiting_structs(&self) -> bool {
        !self.pending.structs.is_empty()
    }

    /// Whether deletions wait.
    pub fn has_waiting_deletes(&self) -> bool {
        !self.pending.deletes.is_empty()
    }

    /// Bytes held by the large parts of the document.
    pub fn memory(&self) -> usize {
        self.structs.capacity()
    }

    /// How many items and collected blocks the document has.
    pub fn structs(&self) -> usize {
        self.structs.clients.iter().map(|client| client.clocks.len()).sum()
    }
}
