//! Puts an item in its place, which [`place`](crate::structs::place) finds.
//!
//! An item that continues its left neighbor is joined to it at once. Yjs does that when the transaction ends, with the
//! same result, since it then tries every new item.

use crate::encoding::content::Content;
use crate::structs::Structs;
use crate::structs::item::{Item, Kind, NIL, Ref};
use crate::structs::place::{Passed, Spot};

impl Structs {
    /// Adds an item of `len` units whose origins are known, at the end of its client; returns its handle.
    /// `join`: it may become part of its left neighbor at once.
    pub(crate) fn integrate(
        &mut self,
        passed: &mut Passed,
        at: Ref,
        spot: Spot,
        len: u32,
        content: Content<'_>,
        join: bool,
    ) -> u32 {
        let Spot { parent, key, mut left, origin, right_origin, right: _ } = spot;
        let between = !self.is_beside(&spot);
        let client = self.client(at.slot).id;
        if between {
            left = self.find_left(passed, client, &spot);
        }
        self.changes.mark(parent, key);
        let kind = Kind::of(&content);
        if join
            && !self.apart
            && !self.is_filtered
            && left != NIL
            && key == NIL
            && matches!(kind, Kind::String | Kind::Any | Kind::Json)
        {
            let neighbor = &self.items[left];
            let continues = neighbor.slot == at.slot
                && neighbor.end() == at.clock
                && neighbor.kind == kind
                && !neighbor.deleted
                && !neighbor.redone
                // What is kept for an undo would keep what is joined to it, even if that is deleted at once.
                && !neighbor.keep
                && origin == neighbor.last_ref()
                && right_origin == neighbor.right_origin;
            if continues {
                let expected = neighbor.content + neighbor.len;
                let start = self.add_content(at.slot, content);
                if start == expected {
                    self.extend(left, len);
                    return left;
                }
                passed.note(client, at, &spot, between);
                return self.add(at, Spot { left, ..spot }, len, kind, start);
            }
        }
        passed.note(client, at, &spot, between);
        let content = self.add_content(at.slot, content);
        self.add(at, Spot { left, ..spot }, len, kind, content)
    }

    /// Whether nothing has come between an item's neighbors.
    #[inline]
    pub(crate) fn is_beside(&self, spot: &Spot) -> bool {
        if spot.left == NIL {
            spot.right != NIL && self.items[spot.right].left == NIL
        } else {
            self.items[spot.left].right == spot.right
        }
    }

    /// Puts a text (at `content` of its client's texts) or a tombstone between neighbors that nothing has come between, in
    /// a list, and leaves it apart: what [`Structs::integrate`] does with nearly all that a large update has. Returns its
    /// handle.
    #[inline]
    pub(crate) fn put(&mut self, at: Ref, spot: &Spot, len: u32, content: Option<u32>) -> u32 {
        let &Spot { parent, left, right, .. } = spot;
        self.changes.mark(parent, NIL);
        let (kind, content) = match content {
            None => (Kind::Deleted, NIL),
            Some(content) => (Kind::String, content),
        };
        let handle = self.items.add(new_item(at, spot, len, kind, content));
        self.link_between(handle, parent, left, right);
        self.push(handle, at, len);
        if kind == Kind::Deleted {
            self.changes.delete_settled(at.slot, at.clock, len);
        } else if self.is_type_deleted(parent) {
            self.delete(handle);
        }
        handle
    }

    /// As [`Structs::put`], behind another item of a type that is not deleted, whose order is built later and of which it
    /// is known that it changed, as is of the client.
    #[inline]
    pub(crate) fn put_on(&mut self, at: Ref, spot: &Spot, len: u32, content: Option<u32>) -> u32 {
        let (kind, content) = match content {
            None => (Kind::Deleted, NIL),
            Some(content) => (Kind::String, content),
        };
        let handle = self.items.add(new_item(at, spot, len, kind, content));
        self.items[spot.left].right = handle;
        if spot.right != NIL {
            self.items[spot.right].left = handle;
        }
        let client = &mut self.clients[at.slot as usize];
        client.next += len;
        client.clocks.push(at.clock, handle);
        if kind == Kind::Deleted {
            self.changes.delete_settled(at.slot, at.clock, len);
        }
        handle
    }

    fn add(&mut self, at: Ref, spot: Spot, len: u32, kind: Kind, content: u32) -> u32 {
        let Spot { parent, key, left, .. } = spot;
        let handle = self.items.add(new_item(at, &Spot { right: NIL, ..spot }, len, kind, content));
        self.link(handle);
        let is_last = self.items[handle].right == NIL;
        if key != NIL && is_last && left != NIL {
            // What was the key's value is so no more.
            self.delete(left);
        }
        self.push(handle, at, len);
        match kind {
            // It is collected, and tried with its neighbors as every new item is.
            Kind::Deleted => self.changes.delete_settled(at.slot, at.clock, len),
            Kind::Type => self.types[content as usize].item = handle,
            Kind::Doc => self.note_subdoc(handle),
            Kind::Format => {
                self.types[parent as usize].has_marks = true;
                self.types[parent as usize].has_formats = true;
                self.note_mark(handle);
            }
            _ => {}
        }
        if self.is_type_deleted(parent) || (key != NIL && !is_last) {
            self.delete(handle);
        }
        handle
    }
}

/// An item that is not in its list yet.
#[inline]
fn new_item(at: Ref, spot: &Spot, len: u32, kind: Kind, content: u32) -> Item {
    let &Spot { parent, key, left, right, origin, right_origin } = spot;
    Item {
        clock: at.clock,
        len,
        slot: at.slot,
        left,
        right,
        origin,
        right_origin,
        parent,
        key,
        content,
        leaf: NIL,
        kind,
        deleted: kind == Kind::Deleted,
        keep: false,
        redone: false,
    }
}
