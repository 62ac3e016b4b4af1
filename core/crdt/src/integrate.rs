//! Finds the place of an item among concurrent ones, and puts it there: the YATA algorithm as Yjs has it.
//!
//! An item knows what stood to its left (origin) and right (right origin) when it was typed. Between those two may by
//! now stand items that others typed at the same time. They are passed from left to right; the new item goes behind
//!
//! 1. each one with the same origin and a lower client id, and
//! 2. each one whose origin is among those already passed, as long as that origin is not itself still in question,
//!
//! and stops at one with the same origins and a higher id, or whose origin lies further left. Every replica passes the
//! same items in the same order whatever it received first, so all end with one order, and what one person typed in a
//! run stays in a run. (Nicolaescu, Jahns, Derntl, Klamma: Near Real-Time Peer-to-Peer Shared Editing on Extensible
//! Data Types, 2016; the case of equal right origins is Yjs's addition.)
//!
//! An item that continues its left neighbor is joined to it at once. Yjs does that when the transaction ends, with the
//! same result, since it then tries every new item.

use crate::content::Content;
use crate::item::{Item, Kind, NIL, Ref};
use crate::structs::Structs;

/// Where an item was typed: its neighbors now (handles), and then (origins).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) parent: u32,
    pub(crate) key: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) origin: Ref,
    pub(crate) right_origin: Ref,
}

/// Marks of the search for a place: which scan, and which group within it, passed an item last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passed {
    scan: u32,
    group: u32,
    marks: Vec<(u32, u32)>,
}

impl Passed {
    fn start(&mut self, bound: usize) {
        if self.scan == u32::MAX || self.group > u32::MAX - (1 << 30) {
            *self = Self::default();
        }
        self.marks.resize(bound.max(self.marks.len()), (0, 0));
        self.scan += 1;
        self.group += 1;
    }

    fn pass(&mut self, handle: u32) {
        self.marks[handle as usize] = (self.scan, self.group);
    }

    fn is_passed(&self, handle: u32) -> bool {
        self.marks[handle as usize].0 == self.scan
    }

    fn is_in_question(&self, handle: u32) -> bool {
        self.marks[handle as usize] == (self.scan, self.group)
    }

    /// Nothing passed so far is in question any more.
    fn settle(&mut self) {
        self.group += 1;
    }
}

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
        let Spot { parent, key, mut left, right, origin, right_origin } = spot;
        let between = if left == NIL {
            right == NIL || self.items[right].left != NIL
        } else {
            self.items[left].right != right
        };
        if between {
            left = self.find_left(passed, at, spot);
        }
        self.changes.mark(parent, key);
        let kind = Kind::of(&content);
        if join
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
                return self.add(at, Spot { left, ..spot }, len, kind, start);
            }
        }
        let content = self.add_content(at.slot, content);
        self.add(at, Spot { left, ..spot }, len, kind, content)
    }

    fn add(&mut self, at: Ref, spot: Spot, len: u32, kind: Kind, content: u32) -> u32 {
        let Spot { parent, key, left, origin, right_origin, right: _ } = spot;
        let handle = self.items.add(Item {
            clock: at.clock,
            len,
            slot: at.slot,
            left,
            right: NIL,
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
        });
        self.link(handle);
        let is_last = self.items[handle].right == NIL;
        if key != NIL && is_last && left != NIL {
            // What was the key's value is so no more.
            self.delete(left);
        }
        self.push(handle);
        match kind {
            Kind::Deleted => self.changes.delete(at.slot, at.clock, len),
            Kind::Type => self.types[content as usize].item = handle,
            Kind::Format => {
                self.types[parent as usize].has_marks = true;
                self.types[parent as usize].has_formats = true;
            }
            _ => {}
        }
        if self.is_type_deleted(parent) || (key != NIL && !is_last) {
            self.delete(handle);
        }
        handle
    }

    fn find_left(&self, passed: &mut Passed, at: Ref, spot: Spot) -> u32 {
        let own = self.client(at.slot).id;
        let mut left = spot.left;
        let mut other = if left != NIL {
            self.items[left].right
        } else if spot.key != NIL {
            self.types[spot.parent as usize].map.get(&spot.key).map_or(NIL, |chain| chain.first)
        } else {
            self.types[spot.parent as usize].start
        };
        passed.start(self.items.bound());
        while other != NIL && other != spot.right {
            passed.pass(other);
            let item = &self.items[other];
            if item.origin == spot.origin {
                if self.client(item.slot).id < own {
                    left = other;
                    passed.settle();
                } else if item.right_origin == spot.right_origin {
                    break;
                }
            } else if !item.origin.is_none() {
                let origin = self.find(item.origin);
                if !passed.is_passed(origin) {
                    break;
                }
                if !passed.is_in_question(origin) {
                    left = other;
                    passed.settle();
                }
            } else {
                break;
            }
            other = item.right;
        }
        left
    }
}
