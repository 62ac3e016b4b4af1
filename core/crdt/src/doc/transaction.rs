//! Transactions: several edits that become one update, and what can be asked of it afterwards.

use crate::doc::apply::{FEW, Incoming};
use crate::doc::{Doc, Told};
use crate::encoding::content::Content;
use crate::encoding::decoder::{Decoder, DecoderV1, DecoderV2, MOST, budget, own_budget};
use crate::encoding::encoder::{EncoderV1, EncoderV2};
use crate::error::Error;
use crate::history::undo::Origin;
use crate::id::ClientId;
use crate::structs::Structs;
use crate::structs::item::{NIL, Ref};
use crate::structs::place::{Passed, Spot};
use crate::types::delta::{TextChange, text_delta};
use crate::types::text::Text;
use crate::types::value::Shared;
use crate::update::{merge_own, merge_v1};

/// A transaction that is open. Dropping it keeps its changes, but only [`Transaction::commit`] tells of them.
#[derive(Debug)]
#[must_use = "a transaction tells of its changes when it is committed"]
pub struct Transaction<'a> {
    pub(crate) doc: &'a mut Doc,
    pub(crate) local: bool,
    /// `None`: an undo manager.
    pub(crate) origin: Option<Origin>,
    pub(crate) now_ms: u64,
}

impl<'a> Transaction<'a> {
    /// The document as it is now.
    pub fn doc(&self) -> &Doc {
        self.doc
    }

    /// Applies an update of the first format as part of this transaction, whole or not at all.
    ///
    /// # Errors
    /// The update is malformed; too much would wait; the document would be too large.
    pub fn apply_v1(&mut self, update: &[u8]) -> Result<(), Error> {
        self.apply::<DecoderV1<'_>>(update, true)
    }

    /// Applies an update of the second format as part of this transaction, whole or not at all.
    ///
    /// # Errors
    /// The update is malformed; too much would wait; the document would be too large.
    pub fn apply_v2(&mut self, update: &[u8]) -> Result<(), Error> {
        self.apply::<DecoderV2<'_>>(update, true)
    }

    /// Applies an update. `limited`: it is a stranger's, so that what waits is limited, as is the number of its structs.
    pub(crate) fn apply<'u, D: Decoder<'u>>(
        &mut self,
        update: &'u [u8],
        limited: bool,
    ) -> Result<(), Error> {
        let doc = &mut *self.doc;
        let budget = if limited { budget(update).min(MOST) } else { own_budget(update) };
        // Of a few bytes there is nothing to gain, but a document to put by.
        let is_first = doc.structs.items.bound() == 0 && doc.pending.is_empty();
        if is_first && update.len() > FEW && doc.structs.load::<D>(&mut doc.passed, update, budget)
        {
            self.local = false;
            return Ok(());
        }
        let len = update.len();
        let update = Incoming::read::<D>(update, budget)?;
        let structs = doc.structs.items.len() + update.len();
        if limited && structs as u64 > MOST {
            return Err(Error::Full);
        }
        let max = doc.options.max_waiting;
        let before = doc.pending.bytes();
        // What of it waits is known only when the rest is in. So if it may be too much (a struct takes less than 64 bytes
        // beside its content, a number of three digits nine), the document is kept as it was.
        let most = len.saturating_add(update.len().saturating_mul(16)).saturating_mul(4);
        let may_wait = limited && before.saturating_add(most) > max;
        let kept = may_wait.then(|| (doc.structs.clone(), doc.pending.clone()));
        doc.structs.apply(&mut doc.passed, &mut doc.pending, update);
        let bytes = doc.pending.bytes();
        if let Some((structs, pending)) = kept
            && bytes > max.max(before)
        {
            doc.structs = structs;
            doc.pending = pending;
            doc.passed = Passed::default();
            return Err(Error::TooMuchWaiting { bytes, max });
        }
        self.local = false;
        Ok(())
    }

    /// Closes the transaction.
    pub fn commit(self) -> Commit<'a> {
        self.doc.close(self.local, self.origin, self.now_ms);
        Commit { doc: self.doc }
    }

    /// Inserts a content of ours between two neighbors; returns its item.
    pub(crate) fn insert(
        &mut self,
        parent: u32,
        key: u32,
        left: u32,
        right: u32,
        content: Content<'_>,
    ) -> Result<u32, Error> {
        let spot = self.spot(parent, key, left, right);
        self.insert_at(spot, content, true)
    }

    /// As [`Transaction::insert`], never joined to its neighbor before the transaction is closed.
    pub(crate) fn insert_apart(
        &mut self,
        parent: u32,
        key: u32,
        left: u32,
        right: u32,
        content: Content<'_>,
    ) -> Result<u32, Error> {
        let spot = self.spot(parent, key, left, right);
        self.insert_at(spot, content, false)
    }

    fn spot(&self, parent: u32, key: u32, left: u32, right: u32) -> Spot {
        let structs = &self.doc.structs;
        let origin = if left == NIL { Ref::NONE } else { structs.items[left].last_ref() };
        let right_origin = if right == NIL {
            Ref::NONE
        } else {
            let item = &structs.items[right];
            Ref { slot: item.slot, clock: item.clock }
        };
        Spot { parent, key, left, right, origin, right_origin }
    }

    fn insert_at(&mut self, spot: Spot, content: Content<'_>, join: bool) -> Result<u32, Error> {
        let structs = &mut self.doc.structs;
        let slot = self.doc.own;
        let clock = structs.client(slot).next;
        let len = u32::try_from(content.len()).map_err(|_| Error::Full)?;
        if clock.checked_add(len).is_none() {
            return Err(Error::Full);
        }
        let at = Ref { slot, clock };
        Ok(structs.integrate(&mut self.doc.passed, at, spot, len, content, join))
    }
}

impl Doc {
    /// Ends the open transaction.
    #[inline]
    pub(crate) fn close(&mut self, local: bool, origin: Option<Origin>, now_ms: u64) {
        self.open = false;
        self.told = None;
        let is_heard = !self.undo.is_empty() || !self.observers.is_empty();
        if !local || is_heard || !self.structs.changes.is_settled() {
            self.close_with(local, origin, now_ms);
        }
    }

    /// Closes a transaction after which there is something to do.
    ///
    /// A remote one may leave marks of formats that say nothing. They are deleted in a transaction of its own, which
    /// begins before this one is closed and tells its own update, as in Yjs.
    fn close_with(&mut self, local: bool, origin: Option<Origin>, now_ms: u64) {
        for steps in &mut self.undo {
            steps.forget_events();
        }
        self.structs.changes.normalize();
        let observed = !self.observers.is_empty();
        if observed {
            self.observers.clear();
            self.observers.gather(&self.structs);
        }
        self.watch(origin, now_ms);
        let cleaning = if local { None } else { self.structs.find_cleaning() };
        if let Some(cleaning) = cleaning {
            let structs = &mut self.structs;
            let first = std::mem::take(&mut structs.changes);
            structs.changes.number = first.number;
            structs.changes.start();
            structs.clean(&cleaning);
            structs.changes.normalize();
            let second = std::mem::replace(&mut structs.changes, first);
            self.finish();
            if !second.deletes.is_empty() {
                let mut told = Told::default();
                told.add(&self.structs);
                let first = std::mem::replace(&mut self.structs.changes, second);
                if observed {
                    self.observers.gather(&self.structs);
                }
                self.watch(Some(Origin::default()), now_ms);
                self.finish();
                told.add(&self.structs);
                self.structs.changes = first;
                self.told = Some(Box::new(told));
            }
        } else {
            self.finish();
        }
        if !local && self.structs.changes.touched.contains(&self.own) {
            // Somebody else edits under our client id: from now on we use another.
            let mut seed = self.options.seed ^ self.client().get().rotate_left(17);
            loop {
                let client = draw(&mut seed);
                if self.structs.slot(client).is_none() {
                    self.options.seed = seed;
                    self.set_client(client);
                    break;
                }
            }
        }
    }

    /// Lets the undo managers see a transaction before what it deleted is collected. One that changed nothing is no
    /// step; Yjs makes it one for a manager of the whole document, and forgets what could be redone.
    fn watch(&mut self, origin: Option<Origin>, now_ms: u64) {
        let changes = &self.structs.changes;
        if changes.deletes.is_empty() && changes.touched.is_empty() {
            return;
        }
        for at in 0..self.undo.len() {
            if self.undo[at].captures(self, origin) {
                self.undo[at].watch(&mut self.structs, origin, now_ms);
            }
        }
    }
}

impl Told {
    /// Adds what the changes of a closed transaction tell.
    fn add(&mut self, structs: &Structs) {
        self.v1.extend(structs.encode_changes::<EncoderV1>());
        self.v2.extend(structs.encode_changes::<EncoderV2>());
    }
}

/// Draws a client id of 32 bits, as Yjs's are (`SplitMix64`).
fn draw(seed: &mut u64) -> ClientId {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ClientId::new((mixed ^ (mixed >> 31)) >> 32).expect("32 bits are below 2^53")
}

/// What a transaction changed, until the document changes again.
#[derive(Debug)]
pub struct Commit<'a> {
    pub(crate) doc: &'a Doc,
}

impl Commit<'_> {
    /// Whether nothing changed: no update is told then.
    pub fn is_empty(&self) -> bool {
        let structs = &self.doc.structs;
        structs.changes.deletes.is_empty() && structs.changes.touched.is_empty()
    }

    /// The changes as an update of the first format, byte for byte Yjs's `update` event; `None` if nothing changed.
    /// Where a remote edit had formats cleaned, it is that event and the cleaning's in one.
    pub fn update_v1(&self) -> Option<Vec<u8>> {
        match &self.doc.told {
            None => self.doc.structs.encode_changes::<EncoderV1>(),
            Some(told) => merge_v1(&slices(&told.v1)).ok(),
        }
    }

    /// The changes as an update of the second format (`updateV2`); `None` if nothing changed.
    pub fn update_v2(&self) -> Option<Vec<u8>> {
        match &self.doc.told {
            None => self.doc.structs.encode_changes::<EncoderV2>(),
            Some(told) => merge_own(&slices(&told.v2)).ok(),
        }
    }

    /// Yjs's `update` events one by one: the transaction's and, where there was cleaning, that one's.
    pub fn events_v1(&self) -> Vec<Vec<u8>> {
        match &self.doc.told {
            None => self.update_v1().into_iter().collect(),
            Some(told) => told.v1.clone(),
        }
    }

    /// Yjs's `updateV2` events one by one.
    pub fn events_v2(&self) -> Vec<Vec<u8>> {
        match &self.doc.told {
            None => self.update_v2().into_iter().collect(),
            Some(told) => told.v2.clone(),
        }
    }

    /// Whether a text, map or array changed.
    pub fn changed(&self, shared: impl Into<Shared>) -> bool {
        self.doc.structs.changes.has_type(shared.into().handle())
    }

    /// What changed in a text, in UTF-16 units, without a trailing retain; empty if nothing did, and for a text that is
    /// deleted now.
    pub fn text_delta(&self, text: Text) -> Vec<TextChange> {
        let structs = &self.doc.structs;
        if structs.changes.has(text.0, NIL) && !structs.is_type_deleted(text.0) {
            text_delta(&self.doc.structs, text.0)
        } else {
            Vec::new()
        }
    }

    /// The document after the transaction.
    pub fn doc(&self) -> &Doc {
        self.doc
    }
}

fn slices(updates: &[Vec<u8>]) -> Vec<&[u8]> {
    updates.iter().map(Vec::as_slice).collect()
}
