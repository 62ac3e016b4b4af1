//! What a transaction has done so far, by which it is closed and told to others.

use std::collections::HashMap;

use crate::encoding::delete_set::{Range, normalize};
use crate::encoding::subdoc::Subdoc;
use crate::structs::item::{NIL, Ref};

/// The changes of the transaction that is open, or was last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Changes {
    /// Counts transactions, from 1.
    pub(crate) number: u32,
    /// Clients that got new units.
    pub(crate) touched: Vec<u32>,
    /// Deleted ranges by client, sorted and joined when the transaction is closed.
    pub(crate) deletes: Vec<(u32, Range)>,
    /// Whether some of them are to be collected yet, or may join what is around them.
    pub(crate) loose: bool,
    /// Whether there are new items, which may join what is around them.
    pub(crate) added: bool,
    /// Whether it is known that none of these continues the one before it.
    pub(crate) joined: bool,
    /// Where items were cut or may join once collected.
    pub(crate) cuts: Vec<Cut>,
    /// Deleted units that never counted in a length.
    pub(crate) uncounted: Vec<Ref>,
    /// Changed types, and the key that changed or `NIL` for the list.
    pub(crate) types: Vec<(u32, u32)>,
    /// What happened to subdocuments.
    pub(crate) subdocs: Vec<SubdocChange>,
}

/// The start of an item that may join its neighbors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) at: Ref,
    /// The item that started there; it may have been joined to another since.
    pub(crate) item: u32,
}

/// Something that happened to a subdocument.
#[derive(Debug, Clone)]
pub(crate) enum SubdocChange {
    Added(Subdoc),
    Deleted(Subdoc),
    Loaded(Subdoc),
    /// It is to be loaded on demand from now on.
    Unloaded(Subdoc),
}

impl Changes {
    #[inline]
    pub(crate) fn start(&mut self) {
        self.number += 1;
        self.touched.clear();
        self.deletes.clear();
        self.loose = false;
        self.added = false;
        self.joined = false;
        self.cuts.clear();
        self.uncounted.clear();
        self.types.clear();
        self.subdocs.clear();
    }

    /// Whether closing has nothing to do: there are no new items, nothing to collect, no ranges to sort, and nothing may
    /// join. Typing on and deleting letter by letter are so.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        !self.loose && !self.added && self.deletes.len() < 2 && self.cuts.is_empty()
    }

    pub(crate) fn delete(&mut self, slot: u32, clock: u32, len: u32) {
        self.loose = true;
        self.delete_settled(slot, clock, len);
    }

    /// As [`Changes::delete`], of what is collected already and one with its neighbors.
    pub(crate) fn delete_settled(&mut self, slot: u32, clock: u32, len: u32) {
        // What is deleted letter by letter is one range already.
        if let Some((last_slot, last)) = self.deletes.last_mut()
            && *last_slot == slot
        {
            if clock == last.end() {
                last.len += len;
                return;
            }
            if clock + len == last.clock {
                *last = Range { clock, len: len + last.len };
                return;
            }
        }
        self.deletes.push((slot, Range { clock, len }));
    }

    #[inline]
    pub(crate) fn mark(&mut self, parent: u32, key: u32) {
        if self.types.last() != Some(&(parent, key)) {
            self.types.push((parent, key));
        }
    }

    pub(crate) fn unmark(&mut self, parent: u32) {
        self.types.retain(|&(changed, _)| changed != parent);
    }

    /// Whether a type's list (`key` is `NIL`) or one of its keys changed.
    pub(crate) fn has(&self, parent: u32, key: u32) -> bool {
        self.types.contains(&(parent, key))
    }

    /// Whether anything of a type changed.
    pub(crate) fn has_type(&self, parent: u32) -> bool {
        self.types.iter().any(|&(changed, _)| changed == parent)
    }

    /// Sorts and joins the deleted ranges; within a client by clock, clients as they came first.
    pub(crate) fn normalize(&mut self) {
        if self.deletes.len() < 2 {
            return;
        }
        let first = self.deletes[0].0;
        if self.deletes.iter().all(|&(slot, _)| slot == first) {
            // What one person deleted is put in order where it is.
            self.deletes.sort_unstable_by_key(|(_, range)| range.clock);
            self.deletes.dedup_by(|(_, right), (_, left)| {
                let joins = left.end() >= right.clock;
                if joins {
                    left.len = left.len.max(right.end() - left.clock);
                }
                joins
            });
            return;
        }
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut lists: Vec<(u32, Vec<Range>)> = Vec::new();
        for (slot, ranges) in chunks(&self.deletes) {
            let place = *places.entry(slot).or_insert(lists.len());
            if place == lists.len() {
                lists.push((slot, Vec::with_capacity(ranges.len())));
            }
            lists[place].1.extend(ranges.iter().map(|&(_, range)| range));
        }
        self.deletes.clear();
        for (slot, mut ranges) in lists {
            normalize(&mut ranges);
            self.deletes.extend(ranges.into_iter().map(|range| (slot, range)));
        }
    }

    /// The deleted ranges of each client, after [`Changes::normalize`].
    pub(crate) fn deletes_by_slot(&self) -> impl Iterator<Item = (u32, &[(u32, Range)])> {
        chunks(&self.deletes)
    }
}

fn chunks(deletes: &[(u32, Range)]) -> impl Iterator<Item = (u32, &[(u32, Range)])> {
    deletes.chunk_by(|left, right| left.0 == right.0).map(|chunk| (chunk[0].0, chunk))
}

const _: () = assert!(NIL == u32::MAX, "no type has this number");
