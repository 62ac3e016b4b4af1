//! Closes a transaction: what it deleted is collected, and what belongs together becomes one item again.
//!
//! The order is Yjs's, since it decides what joins: the deleted ranges with what is around them, backwards; each
//! client's new items, backwards; the cuts, last to first, each with its right neighbor and then its left one.
//! Nearly always there is one range or one new item, and nothing joins: that costs one look-up and two comparisons.

use crate::structs::changes::Cut;
use crate::structs::clocks::{Clocks, Place};
use crate::structs::item::{Kind, NIL};
use crate::structs::{Structs, handle_of};

/// Up to so many new items of a client are looked at one by one.
const FEW: usize = if cfg!(test) { 4 } else { 64 };

impl Structs {
    /// Collects (if `gc`) what was deleted and joins what belongs together.
    pub(crate) fn finish(&mut self, gc: bool) {
        match *self.changes.deletes.as_slice() {
            _ if !self.changes.loose => {}
            [] => {}
            [(slot, range)] => {
                let last = if gc {
                    self.collect(slot, range.clock, range.end())
                } else {
                    self.client(slot).clocks.find(range.end() - 1)
                };
                self.join_around(slot, range.clock, last);
            }
            _ => {
                for at in (0..self.changes.deletes.len()).rev().filter(|_| gc) {
                    let (slot, range) = self.changes.deletes[at];
                    self.collect(slot, range.clock, range.end());
                }
                for at in (0..self.changes.deletes.len()).rev() {
                    let (slot, range) = self.changes.deletes[at];
                    let last = self.client(slot).clocks.find(range.end() - 1);
                    self.join_around(slot, range.clock, last);
                }
            }
        }
        let joined = self.changes.joined;
        for at in (0..self.changes.touched.len()).filter(|_| !joined) {
            self.join_new(self.changes.touched[at]);
        }
        for at in (0..self.changes.cuts.len()).rev() {
            self.join_at(self.changes.cuts[at]);
        }
    }

    /// Joins the items of a deleted range, up to the one at `last`, with each other and their neighbors.
    fn join_around(&mut self, slot: u32, clock: u32, last: Place) {
        let behind = self.client(slot).clocks.next(last).unwrap_or(last);
        self.join_down_to(slot, behind, clock);
    }

    /// Joins the items that a client got in this transaction with each other and the one before.
    fn join_new(&mut self, slot: u32) {
        let before = self.before(slot);
        let clocks = &self.client(slot).clocks;
        let Some(last) = clocks.last() else { return };
        // Where the last item has only grown, nothing has changed between it and the one before.
        if clocks.start(last) >= before {
            let first = clocks.find(before);
            if clocks.count_from(first) > FEW {
                self.join_all(slot, clocks.previous(first).unwrap_or(first));
            } else {
                self.join_down_to(slot, last, clocks.start(first));
            }
        }
    }

    /// Joins each item behind a place with its left neighbor, if they can be: at once, as many may come of one update.
    /// What joins does not depend on the order in which it does; but where the item at the place takes part, those before
    /// it do as well.
    fn join_all(&mut self, slot: u32, from: Place) {
        let mut clocks: Clocks = std::mem::take(&mut self.clients[slot as usize].clocks);
        let first = clocks.get(from);
        let (mut left, mut reaches_first) = (NIL, false);
        clocks.retain_from(from, |handle| {
            let joins = left != NIL && self.can_join(left, handle);
            if joins {
                self.join(left, handle);
                reaches_first |= left == first;
            } else {
                left = handle;
            }
            !joins
        });
        self.clients[slot as usize].clocks = clocks;
        if reaches_first {
            self.join_with_lefts(slot, from);
        }
    }

    /// Tries to join each item with its left neighbor, from a place down to the item that holds a clock.
    fn join_down_to(&mut self, slot: u32, mut place: Place, clock: u32) {
        loop {
            let clocks = &self.client(slot).clocks;
            let before = match clocks.previous(place) {
                Some(before) if clocks.start(place) >= clock => before,
                _ => return,
            };
            // Nearly always there is nothing to join.
            if !self.can_join(clocks.get(before), clocks.get(place)) {
                place = before;
                continue;
            }
            let (at, _) = self.join_with_lefts(slot, place);
            match self.client(slot).clocks.previous(at) {
                Some(previous) => place = previous,
                None => return,
            }
        }
    }

    /// Tries to join the item that starts at a cut with its right neighbor, then with its left one.
    fn join_at(&mut self, cut: Cut) {
        if self.stays_cut(cut) {
            return;
        }
        let clocks = &self.client(cut.at.slot).clocks;
        let place = clocks.find(cut.at.clock);
        if let Some(next) = clocks.next(place)
            && self.join_with_lefts(cut.at.slot, next).1 > 1
        {
            return;
        }
        self.join_with_lefts(cut.at.slot, place);
    }

    /// Whether the item at a cut is known to join neither neighbor, as nearly always. That needs no look at the clocks:
    /// what joins stands side by side in its list, too, unless it is collected blocks.
    fn stays_cut(&self, Cut { at, item: handle }: Cut) -> bool {
        let item = &self.items[handle];
        let stands = item.len > 0 && item.first_ref() == at && item.kind != Kind::Gc;
        let joins = |left: u32, right: u32| {
            left != NIL
                && right != NIL
                && self.items[left].slot == self.items[right].slot
                && self.items[left].end() == self.items[right].clock
                && self.can_join(left, right)
        };
        stands && !joins(handle, item.right) && !joins(item.left, handle)
    }

    /// Joins the item at a place with as many to its left as will; returns where it is now and how many joined.
    fn join_with_lefts(&mut self, slot: u32, place: Place) -> (Place, usize) {
        let mut place = place;
        let mut joined = 0;
        loop {
            let clocks = &self.client(slot).clocks;
            let Some(before) = clocks.previous(place) else { return (place, joined) };
            let (left, right) = (clocks.get(before), clocks.get(place));
            if !self.can_join(left, right) {
                return (place, joined);
            }
            self.join(left, right);
            self.clients[slot as usize].clocks.remove(place);
            // Removing behind it leaves the left place where it is.
            place = before;
            joined += 1;
        }
    }

    /// Whether two neighbors in clock order become one.
    #[inline]
    /// Whether an item is to be joined to the one before it of its client.
    pub(crate) fn joins_before(&self, handle: u32) -> bool {
        let item = &self.items[handle];
        let clocks = &self.client(item.slot).clocks;
        let before = clocks.previous(clocks.find(item.clock));
        before.is_some_and(|before| self.can_join(clocks.get(before), handle))
    }

    fn can_join(&self, left: u32, right: u32) -> bool {
        let r = &self.items[right];
        // Nearly always other things have come between them, which the right one knows.
        if r.left != left && r.kind != Kind::Gc {
            return false;
        }
        let l = &self.items[left];
        l.kind == r.kind
            && l.deleted == r.deleted
            && l.kind.is_mergeable()
            && !l.redone
            && !r.redone
            && (l.kind == Kind::Gc
                || (r.origin == l.last_ref() && l.right_origin == r.right_origin))
    }

    fn join(&mut self, left: u32, right: u32) {
        let r = self.items[right].clone();
        let l = &self.items[left];
        let mut content = l.content;
        match r.kind {
            Kind::String if l.content + l.len != r.content => {
                let text = format!("{}{}", self.text(l), self.text(&r));
                let units = l.len + r.len;
                let texts = &mut self.clients[r.slot as usize].texts;
                content = texts.push(&text, units).expect("texts fit 32 bits");
            }
            Kind::Any | Kind::Json if l.content + l.len != r.content => {
                let values = [self.values(l), self.values(&r)].concat();
                let all = &mut self.clients[r.slot as usize].values;
                content = handle_of(all.len());
                all.extend(values);
            }
            _ => {}
        }
        if r.parent != NIL {
            let owner = &mut self.types[r.parent as usize];
            if r.key == NIL {
                self.nodes.remove(&mut owner.order, &mut self.items, right);
            } else if let Some(chain) = owner.map.get_mut(&r.key)
                && chain.last == right
            {
                chain.last = left;
            }
            if r.right != NIL {
                self.items[r.right].left = left;
            }
        }
        let l = &mut self.items[left];
        l.len += r.len;
        l.content = content;
        l.keep |= r.keep;
        l.right = r.right;
        if r.parent != NIL && r.key == NIL {
            self.nodes.update(&mut self.types[r.parent as usize].order, &self.items, left);
        }
        self.items.free(right);
    }
}

#[cfg(test)]
mod tests {
    use crate::structs::Structs;
    use crate::structs::item::Ref;
    use crate::{ClientId, Doc, Options};

    fn lens(structs: &Structs, slot: u32) -> Vec<u32> {
        let clocks = &structs.client(slot).clocks;
        clocks.iter_from(clocks.first()).map(|handle| structs.items[handle].len).collect()
    }

    #[test]
    fn what_is_new_joins_all_that_stands_apart_before_it() {
        for new in [1, 3, 5, 20] {
            let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
            let structs = &mut doc.structs;
            let slot = structs.slot_or_add(ClientId::new(7).unwrap());
            structs.changes.start();
            // Nobody looks at these, so they stay apart.
            for clock in [0, 2, 3] {
                structs.push_gc(slot, clock, if clock == 0 { 2 } else { 1 });
            }
            structs.changes.start();
            for clock in 4..4 + new {
                structs.push_gc(slot, clock, 1);
            }
            assert_eq!(structs.before(slot), 4);
            structs.finish(true);
            assert_eq!(lens(structs, slot), [4 + new]);
            assert_eq!(structs.find(Ref { slot, clock: 3 }), structs.find(Ref { slot, clock: 0 }));
            doc.check().unwrap();
        }
    }
}
