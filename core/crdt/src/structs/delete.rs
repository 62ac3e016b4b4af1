//! Deletes items, and collects what was deleted: contents are dropped, what was in a type becomes collected blocks.

use lib0::Any;

use crate::encoding::delete_set::Range;
use crate::id::ClientId;
use crate::structs::changes::{Cut, SubdocChange};
use crate::structs::clocks::Place;
use crate::structs::item::{Item, Kind, NIL, Ref};
use crate::structs::{Payload, Structs};

impl Structs {
    /// Deletes an item and, if it holds a type, everything in it: parents before their children, those in their order.
    pub(crate) fn delete(&mut self, handle: u32) {
        if self.items[handle].deleted {
            return;
        }
        let mut inside = Vec::new();
        self.delete_one(handle, &mut inside);
        while let Some(next) = inside.pop() {
            let item = &self.items[next];
            if !item.deleted {
                self.delete_one(next, &mut inside);
            } else if item.clock < self.before(item.slot) {
                // It will be collected, and may then join its neighbors.
                self.changes.cuts.push(Cut { at: item.first_ref(), item: next });
            }
        }
    }

    /// Deletes `len` units from an offset on of the text that was sought last, if they lie between the rest of its item
    /// and a tombstone that is one with them, behind (backspace) or before (delete): the border between the two moves,
    /// so that nothing is cut, added, and joined again. Returns whether that is so; else nothing is done.
    ///
    /// The result is what closing the transaction would make of it, for what may be collected at once.
    pub(crate) fn move_border(&mut self, handle: u32, offset: u32, len: u32) -> bool {
        let item = &self.items[handle];
        let is_backwards = offset > 0 && offset + len == item.len;
        let is_forwards = offset == 0 && len < item.len;
        let beside = if is_backwards { item.right } else { item.left };
        if !(is_backwards || is_forwards) || beside == NIL || item.kind != Kind::String {
            return false;
        }
        let tomb = &self.items[beside];
        let (first, second) = if is_backwards { (item, tomb) } else { (tomb, item) };
        let continues = tomb.kind == Kind::Deleted
            && tomb.deleted
            && first.slot == second.slot
            && second.origin == first.last_ref()
            && first.end() == second.clock
            && first.right_origin == second.right_origin;
        let is_free = |item: &Item| !item.keep && !item.redone;
        let border = item.content + if is_backwards { offset } else { len };
        if !continues
            || !is_free(item)
            || !is_free(tomb)
            || self.client(item.slot).texts.is_inside_pair(border)
        {
            return false;
        }
        let (slot, clock, parent, old) =
            (item.slot, item.clock + offset, item.parent, second.clock);
        let new = if is_backwards {
            self.items[handle].len -= len;
            let tomb = &mut self.items[beside];
            tomb.clock -= len;
            tomb.len += len;
            tomb.origin.clock -= len;
            tomb.clock
        } else {
            // Closing would look once more at what is before the tombstone and behind the item.
            let before = Cut { at: self.items[beside].first_ref(), item: beside };
            self.items[beside].len += len;
            let item = &mut self.items[handle];
            item.clock += len;
            item.len -= len;
            item.content += len;
            item.origin.clock += len;
            let new = item.clock;
            self.changes.cuts.extend([before, Cut { at: Ref { slot, clock: new }, item: handle }]);
            new
        };
        self.clients[slot as usize].clocks.restart(old, new);
        let order = &mut self.types[parent as usize].order;
        self.nodes.resize_sought(order, len.wrapping_neg());
        self.changes.delete_settled(slot, clock, len);
        self.changes.mark(parent, NIL);
        true
    }

    fn delete_one(&mut self, handle: u32, inside: &mut Vec<u32>) {
        let item = &mut self.items[handle];
        item.deleted = true;
        let (slot, clock, len) = (item.slot, item.clock, item.len);
        let (parent, key, kind, content) = (item.parent, item.key, item.kind, item.content);
        if key == NIL {
            self.nodes.update(&mut self.types[parent as usize].order, &self.items, handle);
        }
        self.changes.delete(slot, clock, len);
        if kind == Kind::Format {
            self.changes.uncounted.push(Ref { slot, clock });
            self.note_mark(handle);
        }
        if !self.is_type_deleted(parent) {
            self.changes.mark(parent, key);
        }
        if kind != Kind::Type {
            if kind == Kind::Doc {
                let subdoc = self.subdoc_of(&self.items[handle]);
                self.changes.subdocs.extend(subdoc.map(SubdocChange::Deleted));
            }
            return;
        }
        let owner = &self.types[content as usize];
        let first = inside.len();
        let mut at = owner.start;
        while at != NIL {
            inside.push(at);
            at = self.items[at].right;
        }
        inside.extend(owner.chains().map(|(_, chain)| chain.last));
        inside[first..].reverse();
        self.changes.unmark(content);
    }

    /// Collects the deleted items of a range of clocks: contents are dropped, children become collected blocks.
    /// Returns the place of the last one.
    pub(crate) fn collect(&mut self, slot: u32, clock: u32, end: u32) -> Place {
        let mut place = self.client(slot).clocks.find(clock);
        loop {
            let clocks = &self.client(slot).clocks;
            let (handle, next) = (clocks.get(place), clocks.next(place));
            self.collect_item(handle);
            match next {
                Some(next) if self.items[handle].end() < end => place = next,
                _ => return place,
            }
        }
    }

    /// Whether all units of a client's ranges, which are here, are collected.
    pub(crate) fn is_collected(&self, client: ClientId, ranges: &[Range]) -> bool {
        let Some(slot) = self.slot(client) else { return true };
        let clocks = &self.client(slot).clocks;
        ranges.iter().all(|range| {
            let handles = clocks.iter_from(Some(clocks.find(range.clock)));
            let items = handles.map(|handle| &self.items[handle]);
            items.take_while(|item| item.clock < range.end()).all(|item| item.kind == Kind::Gc)
        })
    }

    /// Collects an item if it is deleted and may be.
    pub(crate) fn collect_item(&mut self, handle: u32) {
        let item = &self.items[handle];
        if !item.deleted || item.keep || matches!(item.kind, Kind::Gc | Kind::Deleted) {
            return;
        }
        if item.kind != Kind::String {
            self.collect_one(handle);
        }
        let item = &mut self.items[handle];
        item.kind = Kind::Deleted;
        item.content = NIL;
    }

    /// Collects a deleted text before the transaction is closed.
    pub(crate) fn collect_text(&mut self, handle: u32) {
        if self.items[handle].kind == Kind::String {
            self.collect_item(handle);
        }
    }

    fn collect_one(&mut self, handle: u32) {
        let mut holders = Vec::from_iter(self.drop_content(handle));
        while let Some(held) = holders.pop() {
            let owner = &mut self.types[held as usize];
            let holder = &self.items[owner.item];
            owner.gone = Some(Ref { slot: holder.slot, clock: holder.clock });
            let mut order = std::mem::take(&mut owner.order);
            let start = std::mem::replace(&mut owner.start, NIL);
            let map = std::mem::take(&mut owner.map);
            owner.marks = None;
            self.nodes.clear(&mut order, &mut self.items);
            let mut children = Vec::new();
            for first in std::iter::once(start).chain(map.values().map(|chain| chain.first)) {
                let mut at = first;
                while at != NIL {
                    children.push(at);
                    at = self.items[at].right;
                }
            }
            for child in children {
                holders.extend(self.drop_content(child));
                self.redone.remove(&child);
                let item = &mut self.items[child];
                item.kind = Kind::Gc;
                item.deleted = true;
                item.redone = false;
                item.content = NIL;
                item.parent = NIL;
                item.key = NIL;
                item.left = NIL;
                item.right = NIL;
                item.origin = Ref::NONE;
                item.right_origin = Ref::NONE;
            }
        }
    }

    /// Frees what an item holds; returns the type in it, whose children are to be collected.
    fn drop_content(&mut self, handle: u32) -> Option<u32> {
        let item = &self.items[handle];
        let (from, to) = (item.content as usize, item.content as usize + item.len as usize);
        match item.kind {
            Kind::Any | Kind::Json => {
                self.clients[item.slot as usize].values[from..to].fill(Any::Undefined);
            }
            Kind::Binary | Kind::Embed | Kind::Format | Kind::Doc => {
                self.payloads[from] = Payload::Free;
                self.free_payloads.push(item.content);
            }
            Kind::Type => return Some(item.content),
            Kind::Gc | Kind::Deleted | Kind::String => {}
        }
        None
    }
}
