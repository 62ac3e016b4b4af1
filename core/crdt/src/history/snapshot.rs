//! Yjs snapshots: a moment of a document, told by what was known (a state vector) and what was deleted (a delete set).
//!
//! From a document that keeps what is deleted, any moment can be restored, and two moments compared.
//!
//! ```text
//! first format    01 01 01  01 01      deleted: one client; client 1, one range; from clock 1 on, 1 unit
//!                 01 01 03             known: one client; client 1, three units
//!
//! second format   01 01 01  01 00      the same with lengths less one, and clocks as differences
//!                 01 01 03
//! ```
//!
//! ```
//! use crdt::{ClientId, Doc, Options, Snapshot};
//!
//! let mut doc = Doc::new(ClientId::new(1).unwrap(), Options { gc: false, ..Options::default() });
//! let text = doc.text("t");
//! text.insert(&mut doc.transact(), 0, "abc")?;
//! text.delete(&mut doc.transact(), 1, 1)?;
//! let moment = doc.snapshot();
//! assert_eq!(moment.encode_v1(), [1, 1, 1, 1, 1, 1, 1, 3]);
//! assert_eq!(moment.encode_v2(), [1, 1, 1, 1, 0, 1, 1, 3]);
//!
//! text.delete(&mut doc.transact(), 0, 2)?;
//! let mut then = doc.restore(&Snapshot::decode_v1(&moment.encode_v1())?, ClientId::new(2).unwrap())?;
//! let text = then.text("t");
//! assert_eq!(text.read(&then), "ac");
//! # Ok::<(), crdt::Error>(())
//! ```

use std::sync::Arc;

use lib0::any::Object;
use lib0::{Any, write_var_u64};

use crate::doc::{Doc, Options};
use crate::encoding::block::Block;
use crate::encoding::decoder::{Decoder, DecoderV1, DecoderV2, Update, read_deletes};
use crate::encoding::delete_set::{DeleteSet, Range, stretch};
use crate::encoding::encoder::{Encoder as _, EncoderV1, EncoderV2, write_block, write_deletes};
use crate::error::Error;
use crate::id::{ClientId, StateVector};
use crate::structs::item::{Item, Kind, NIL, Ref};
use crate::structs::{Payload, Structs};
use crate::types::delta::{Delta, Inserted};
use crate::types::formats::Formats;
use crate::types::text::Text;

/// A moment of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    pub(crate) deletes: DeleteSet,
    pub(crate) state: StateVector,
}

/// What happened to a run of text between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is there only later.
    Added,
    /// It was there only earlier.
    Removed,
}

impl Snapshot {
    /// Makes a moment of what was known and, per client, ranges of clocks of what was deleted (`createSnapshot`); an
    /// end that lies before its start is no range. The moment at which there was nothing is the default.
    pub fn new(
        state: StateVector,
        deleted: impl IntoIterator<Item = (ClientId, std::ops::Range<u32>)>,
    ) -> Self {
        let mut deletes = DeleteSet::default();
        for (client, clocks) in deleted {
            if !clocks.is_empty() {
                deletes.add(client, clocks.start, clocks.end - clocks.start);
            }
        }
        deletes.normalize();
        Self { deletes, state }
    }

    /// What was deleted: clients, highest first, with ranges of clocks.
    pub fn deleted(&self) -> impl Iterator<Item = (ClientId, std::ops::Range<u32>)> {
        self.deletes.iter().flat_map(|(client, ranges)| {
            ranges.iter().map(move |range| (client, range.clock..range.end()))
        })
    }

    /// What was known.
    pub fn state_vector(&self) -> &StateVector {
        &self.state
    }

    /// Encodes in the first format.
    pub fn encode_v1(&self) -> Vec<u8> {
        let mut encoder = EncoderV1::default();
        write_deletes(&mut encoder, &self.deletes);
        let mut out = encoder.finish();
        out.extend(self.state.encode());
        out
    }

    /// Encodes in the second format.
    pub fn encode_v2(&self) -> Vec<u8> {
        let mut encoder = EncoderV2::default();
        write_deletes(&mut encoder, &self.deletes);
        let mut out = std::mem::take(encoder.rest());
        out.extend(self.state.encode());
        out
    }

    /// Reads the first format.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn decode_v1(bytes: &[u8]) -> Result<Self, Error> {
        Self::read(DecoderV1::open(bytes)?)
    }

    /// Reads the second format.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn decode_v2(bytes: &[u8]) -> Result<Self, Error> {
        Self::read(DecoderV2::open_rest(bytes))
    }

    fn read<'a, D: Decoder<'a>>(mut decoder: D) -> Result<Self, Error> {
        let mut deletes = read_deletes(&mut decoder)?;
        deletes.normalize();
        Ok(Self { deletes, state: StateVector::decode(decoder.rest().rest())? })
    }

    /// Whether everything in an update of the first format belongs to this moment or an earlier one.
    ///
    /// # Errors
    /// The update is malformed.
    pub fn contains_v1(&self, update: &[u8]) -> Result<bool, Error> {
        Ok(self.contains(&Update::read::<DecoderV1<'_>>(update)?))
    }

    /// Whether everything in an update of the second format belongs to this moment or an earlier one.
    ///
    /// # Errors
    /// The update is malformed.
    pub fn contains_v2(&self, update: &[u8]) -> Result<bool, Error> {
        Ok(self.contains(&Update::read::<DecoderV2<'_>>(update)?))
    }

    fn contains(&self, update: &Update<'_>) -> bool {
        let known = |(client, blocks): &(ClientId, Vec<Block<'_>>)| {
            blocks.last().is_none_or(|block| block.end() <= self.state.get(*client))
        };
        let mut merged = self.deletes.clone();
        merged.extend(&update.deletes);
        merged.normalize();
        update.clients.iter().all(known) && merged == self.deletes
    }

    /// Whether a unit showed at the moment, and the first clock behind it for which that is otherwise.
    pub(crate) fn stretch(&self, client: ClientId, clock: u32) -> (bool, u32) {
        let known = self.state.get(client);
        if clock >= known {
            return (false, u32::MAX);
        }
        let (deleted, until) = stretch(&mut self.deletes.ranges_from(client, clock), clock);
        (!deleted, until.min(known))
    }

    /// Whether an item (of which no part lies beyond the moment) showed then.
    fn shows(&self, structs: &Structs, item: &Item) -> bool {
        let client = structs.client(item.slot).id;
        self.state.get(client) > item.clock && !self.deletes.contains(client, item.clock)
    }
}

impl Doc {
    /// The present moment.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { deletes: self.structs.delete_set(), state: self.state_vector() }
    }

    /// Makes a document as this one was at a moment. Its own edits carry the given client id.
    ///
    /// # Errors
    /// This document does not know the moment, or has collected what showed then.
    pub fn restore(&mut self, moment: &Snapshot, client: ClientId) -> Result<Self, Error> {
        if self.options.gc || !self.state_vector().covers(&moment.state) {
            return Err(Error::HistoryNotKept);
        }
        let transaction = self.transact();
        let structs = &mut transaction.doc.structs;
        let mut clients = Vec::new();
        for (client, clock) in moment.state.iter() {
            let Some(slot) = structs.slot(client) else { continue };
            if clock < structs.client(slot).next {
                structs.clean_start(Ref { slot, clock });
            }
            clients.push((slot, clock));
        }
        clients.sort_by_key(|&(slot, _)| std::cmp::Reverse(structs.client(slot).id));
        let mut encoder = EncoderV2::default();
        write_var_u64(encoder.rest(), clients.len() as u64);
        let mut kept = true;
        for &(slot, clock) in &clients {
            let client = structs.client(slot);
            let handles: Vec<u32> = client
                .clocks
                .iter_from(client.clocks.first())
                .take_while(|&handle| structs.items[handle].clock < clock)
                .collect();
            write_var_u64(encoder.rest(), handles.len() as u64);
            encoder.client(client.id);
            write_var_u64(encoder.rest(), 0);
            for handle in handles {
                let item = &structs.items[handle];
                let collected = matches!(item.kind, Kind::Gc | Kind::Deleted);
                kept &= !collected
                    || moment.deletes.covers(client.id, item.clock, item.end().min(clock));
                write_block(&mut encoder, &structs.block(handle), 0);
            }
        }
        write_deletes(&mut encoder, &moment.deletes);
        transaction.commit();
        if !kept {
            return Err(Error::HistoryNotKept);
        }
        let options = Options { gc: false, ..self.options };
        let mut restored = Self::new(client, options);
        let update = encoder.finish();
        restored.apply_own_v2(&update)?;
        Ok(restored)
    }
}

impl Text {
    /// The text at a moment (`None`: now), with what changed since an earlier one marked by the attribute `ychange`.
    /// `attribution` makes its value from the change and who made the run; without it, it is `{type}`.
    pub fn delta_between(
        self,
        doc: &mut Doc,
        now: Option<&Snapshot>,
        earlier: Option<&Snapshot>,
        attribution: Option<&dyn Fn(Change, ClientId) -> Object>,
    ) -> Vec<Delta> {
        let transaction = doc.transact();
        let structs = &mut transaction.doc.structs;
        for moment in [now, earlier].into_iter().flatten() {
            structs.cut_at(moment);
        }
        let delta = self.walk_between(structs, now, earlier, attribution);
        transaction.commit();
        delta
    }

    fn walk_between(
        self,
        structs: &mut Structs,
        now: Option<&Snapshot>,
        earlier: Option<&Snapshot>,
        attribution: Option<&dyn Fn(Change, ClientId) -> Object>,
    ) -> Vec<Delta> {
        let ychange = structs.key_number("ychange");
        let structs = &*structs;
        let mut delta = Vec::new();
        let mut formats = Formats::default();
        let mut run = String::new();
        let close = |delta: &mut Vec<Delta>, run: &mut String, formats: &Formats| {
            if !run.is_empty() {
                let text = Inserted::Text(std::mem::take(run));
                delta.push(Delta::Insert(text, formats.to_object(structs)));
            }
        };
        let shows = |moment: Option<&Snapshot>, item: &Item| match moment {
            Some(moment) => moment.shows(structs, item),
            None => !item.deleted,
        };
        let mut at = structs.types[self.0 as usize].start;
        while at != NIL {
            let item = &structs.items[at];
            at = item.right;
            let shows_now = shows(now, item);
            let showed = earlier.is_some() && shows(earlier, item);
            if !shows_now && !showed {
                continue;
            }
            match item.kind {
                Kind::String => {
                    let change = if now.is_some() && !shows_now {
                        Some(Change::Removed)
                    } else if earlier.is_some() && !showed {
                        Some(Change::Added)
                    } else {
                        None
                    };
                    let client = structs.client(item.slot).id;
                    let current = formats.get(ychange);
                    if let Some(change) = change {
                        if !current.is_some_and(|value| is_same_change(value, change, client)) {
                            close(&mut delta, &mut run, &formats);
                            let value = match attribution {
                                Some(attribution) => attribution(change, client),
                                None => {
                                    std::iter::once(("type".to_owned(), type_of(change))).collect()
                                }
                            };
                            formats.set(ychange, Arc::new(Any::Object(value)));
                        }
                    } else if current.is_some() {
                        close(&mut delta, &mut run, &formats);
                        formats.update(ychange, &Arc::new(Any::Null));
                    }
                    run.push_str(structs.text(item));
                }
                Kind::Format if shows_now => {
                    close(&mut delta, &mut run, &formats);
                    if let Payload::Format(key, value) = structs.payload(item) {
                        formats.update(*key, value);
                    }
                }
                Kind::Type | Kind::Embed => {
                    close(&mut delta, &mut run, &formats);
                    let inserted = Inserted::unit(structs, item, 0);
                    delta.push(Delta::Insert(inserted, formats.to_object(structs)));
                }
                _ => {}
            }
        }
        close(&mut delta, &mut run, &formats);
        delta
    }
}

fn type_of(change: Change) -> Any {
    Any::from(if change == Change::Added { "added" } else { "removed" })
}

/// Whether a run's mark may go on: it names its person and is of the same kind.
fn is_same_change(value: &Any, change: Change, client: ClientId) -> bool {
    let Any::Object(object) = value else { return false };
    #[expect(clippy::cast_precision_loss, reason = "client ids are below 2^53")]
    let user = Any::Number(client.get() as f64);
    object.get("user") == Some(&user) && object.get("type") == Some(&type_of(change))
}

impl Structs {
    /// Cuts items so that each either showed at a moment or did not.
    fn cut_at(&mut self, moment: &Snapshot) {
        for (client, clock) in moment.state.iter() {
            if let Some(slot) = self.slot(client)
                && clock < self.client(slot).next
            {
                self.clean_start(Ref { slot, clock });
            }
        }
        for (client, ranges) in moment.deletes.iter() {
            let Some(slot) = self.slot(client) else { continue };
            for Range { clock, len } in ranges {
                for border in [*clock, clock + len] {
                    if border < self.client(slot).next {
                        self.clean_start(Ref { slot, clock: border });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ClientId, Doc, Options, Snapshot, StateVector};

    #[test]
    fn moments_are_equal_by_what_they_say() {
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        assert_eq!(doc.snapshot(), Snapshot::default());
        let text = doc.text("t");
        let mut txn = doc.transact();
        text.insert(&mut txn, 0, "abcdefgh").unwrap();
        text.delete(&mut txn, 1, 2).unwrap();
        text.delete(&mut txn, 3, 1).unwrap();
        txn.commit();
        let moment = doc.snapshot();
        let one = ClientId::new(1).unwrap();
        let ranges: Vec<_> = moment.deleted().collect();
        assert_eq!(ranges, [(one, 1..3), (one, 5..6)]);
        let state: StateVector = [(one, 8)].into_iter().collect();
        let told = [(one, 5..6), (one, 2..3), (one, 4..4), (one, 1..2)];
        assert_eq!(Snapshot::new(state.clone(), told), moment);
        assert_ne!(Snapshot::new(state, ranges[..1].to_vec()), moment);
    }
}
