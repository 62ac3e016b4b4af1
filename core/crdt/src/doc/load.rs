//! Takes what one client wrote into an empty document while it is read: most of what is opened.
//!
//! Such a document can be put back if it turns out that something is wrong or has to wait, so nothing has to be checked
//! beforehand, and no struct is kept on its way. Nearly all are texts and tombstones between two that are there and that
//! nothing has come between; anything else takes the way of all structs. The texts are gathered and become a part of the
//! client's text at once.

use lib0::ReadError;

use crate::encoding::block::{OwnPlain, Piece};
use crate::encoding::decoder::{Decoder, read_deletes, read_piece};
use crate::encoding::delete_set::DeleteSet;
use crate::structs::Structs;
use crate::structs::item::{Kind, NIL, Ref};
use crate::structs::place::{Passed, Spot};

/// What is yet to be told, and what need not be looked at again.
struct Loading {
    /// Texts that are yet to be told to the client's run.
    bytes: Vec<u8>,
    /// UTF-16 units of them.
    units: u32,
    /// A type that is known to be there, to be ordered later and to have changed; `NIL` where that is not known.
    parent: u32,
    /// Items that continue the one before them, unless something has come between: a saved state has joined the others
    /// already.
    continuing: Vec<u32>,
}

impl Default for Loading {
    fn default() -> Self {
        Self { bytes: Vec::new(), units: 0, parent: NIL, continuing: Vec::new() }
    }
}

impl Structs {
    /// Takes what one client wrote into a document in which nothing is yet. Returns whether all is in; else nothing is.
    pub(crate) fn load<'a, D: Decoder<'a>>(
        &mut self,
        passed: &mut Passed,
        bytes: &'a [u8],
        budget: u64,
    ) -> bool {
        let Ok(mut decoder) = D::open(bytes) else { return false };
        let (clients, structs) = (decoder.rest().var_u64(), decoder.rest().var_u64());
        let (Ok(1), Ok(structs)) = (clients, structs) else { return false };
        if structs > budget {
            return false;
        }
        let empty = self.clone();
        // No more than the bytes can hold, but for the runs of the second format.
        self.items.reserve(usize::try_from(structs).unwrap_or(usize::MAX).min(bytes.len() / 4));
        self.unordered = Some(Vec::new());
        self.apart = true;
        let read = self.load_structs(passed, &mut decoder, structs);
        self.order_all();
        self.apart = false;
        let is_whole = read.is_ok_and(|deletes| self.has_deleted(&deletes));
        if !is_whole {
            *self = empty;
            *passed = Passed::default();
        }
        is_whole
    }

    fn load_structs<'a, D: Decoder<'a>>(
        &mut self,
        passed: &mut Passed,
        decoder: &mut D,
        structs: u64,
    ) -> Result<DeleteSet, ReadError> {
        let client = decoder.client()?;
        let mut clock = decoder.rest().var_u32()?;
        let mut slot = None;
        let mut loading = Loading::default();
        for _ in 0..structs {
            let own = match slot {
                Some(_) => decoder.own_plain(client, clock)?,
                None => None,
            };
            let piece = match (own, slot) {
                (Some(plain), Some(slot)) => {
                    let at = Ref { slot, clock };
                    clock += plain.len;
                    if self.load_plain(passed, &mut loading, at, &plain) {
                        continue;
                    }
                    plain.into_plain(client, at.clock).map(Piece::Plain)
                }
                _ => Some(read_piece(decoder, client, clock)?),
            };
            let whole = self.flush(&mut loading, slot);
            let taken = piece.filter(|_| whole).is_some_and(|piece| {
                clock = piece.end();
                self.take_piece(passed, piece).is_none()
            });
            if !taken {
                return Err(decoder.rest().error("a struct that has to wait"));
            }
            slot = self.slot(client);
            // It may have been a key's value that makes the one before it and all that is in that deleted.
            loading.parent = NIL;
            let last = slot.and_then(|slot| self.client(slot).clocks.last().map(|at| (slot, at)));
            loading.continuing.extend(last.map(|(slot, at)| self.client(slot).clocks.get(at)));
        }
        if !self.flush(&mut loading, slot) {
            return Err(decoder.rest().error("not UTF-8"));
        }
        self.changes.joined = !loading.continuing.iter().any(|&item| self.joins_before(item));
        let deletes = read_deletes(decoder)?;
        if !decoder.rest().is_empty() {
            return Err(decoder.rest().error("bytes after the end of an update"));
        }
        Ok(deletes)
    }

    /// Puts a text or tombstone between its neighbors, if nothing has come between them, they are not collected, and
    /// their list is all there is to them. Returns whether that is so; else nothing is done.
    #[inline]
    fn load_plain(
        &mut self,
        passed: &Passed,
        loading: &mut Loading,
        at: Ref,
        plain: &OwnPlain<'_>,
    ) -> bool {
        let Some(origin) = plain.origin else { return false };
        let client = &mut self.clients[at.slot as usize];
        let clocks = &mut client.clocks;
        // What follows a hole has to wait.
        let Some(mut place) = clocks.last().filter(|_| client.next == at.clock) else {
            return false;
        };
        let is_next = origin + 1 == at.clock;
        if !is_next {
            place = clocks.find(origin);
            clocks.remember(place);
        }
        let left = clocks.get(place);
        let item = &self.items[left];
        let (right, parent) = (item.right, item.parent);
        let is_beside = match plain.right_origin {
            None => right == NIL,
            Some(clock) => right != NIL && self.items[right].clock == clock,
        };
        let is_plain = item.end() == origin + 1 && item.kind != Kind::Gc && item.key == NIL;
        if !is_beside || !is_plain || !(parent == loading.parent || passed.is_empty()) {
            return false;
        }
        let kind = if plain.text.is_some() { Kind::String } else { Kind::Deleted };
        let of = |clock| Ref { slot: at.slot, clock };
        let right_origin = plain.right_origin.map_or(Ref::NONE, of);
        let continues = is_next && item.kind == kind && item.right_origin == right_origin;
        let content = plain.text.as_ref().map(|text| {
            let content = client.texts.len() + loading.units;
            loading.bytes.extend_from_slice(text);
            loading.units += plain.len;
            content
        });
        let spot = Spot { parent, key: NIL, left, right, origin: of(origin), right_origin };
        let handle = if parent == loading.parent {
            self.put_on(at, &spot, plain.len, content)
        } else {
            self.put(at, &spot, plain.len, content)
        };
        if continues {
            loading.continuing.push(handle);
        }
        if parent != loading.parent {
            let is_known = self.types[parent as usize].order.is_deferred();
            loading.parent = if is_known && !self.is_type_deleted(parent) { parent } else { NIL };
        }
        true
    }

    /// Tells a client's run the texts that were gathered; returns whether they are UTF-8.
    fn flush(&mut self, loading: &mut Loading, slot: Option<u32>) -> bool {
        let (bytes, units) =
            (std::mem::take(&mut loading.bytes), std::mem::take(&mut loading.units));
        let (Some(slot), Ok(text)) = (slot, str::from_utf8(&bytes)) else { return units == 0 };
        let texts = &mut self.clients[slot as usize].texts;
        units == 0 || texts.push(text, units).is_some()
    }

    /// Deletes what is deleted, which mostly is what tombstones stand for already; returns whether all of it is known.
    fn has_deleted(&mut self, deletes: &DeleteSet) -> bool {
        let told =
            deletes.iter().flat_map(|(client, ranges)| ranges.iter().map(move |&r| (client, r)));
        let done = self.changes.deletes.iter().map(|&(slot, range)| (self.client(slot).id, range));
        done.eq(told) || self.apply_deletes(deletes).is_empty()
    }
}
