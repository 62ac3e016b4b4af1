//! Finds the place of an item among concurrent ones, and puts it there: the YATA algorithm as Yjs has it.
//!
//! An item knows what stood to its left (origin) and right (right origin) when it was typed. Between those two may by
//! now stand items that others typed at the same time. They are passed from left to right; the new item goes behind
//!
//! 1. each one with the same origin and a lower client id, and
//! 2. each one whose origin is among those already passed, as long as that origin is not itself still in question,
//!
//! and stops at one with the same origins and a higher id, or whose origin lies further left. One with the same origin, a
//! higher id and another right origin decides nothing yet: it is in question until a later one is gone behind.
//!
//! ```text
//! "ac" is there. Client 3 and client 2 type "b" and "x" between, client 2 then "y" behind its "x".
//!
//!        a ───────────── c           origins:  b -> a    x -> a    y -> x
//!        a   x   y       c           right:    b -> c    x -> c    y -> c
//!            │   └ its origin x was passed and is not in question any more: go behind it
//!            └ same origin, lower id: go behind it
//!        a   x   y   b   c
//!
//! The other way round: b is there, x comes. Same origin, higher id, same right origin: stop, a x b c. Then y comes
//! behind x, and meets b, whose origin lies further left: stop, a x y b c.
//! ```
//!
//! # Why every replica ends with one order (a sketch)
//!
//! Updates are integrated in some order that respects their origins, by all replicas of the same set of items. What has
//! to be shown is that it does not matter which.
//!
//! *Origins never cross.* Draw an edge from each item to its origin. These edges make a tree (an origin is older than
//! what refers to it), and the list is always a walk through that tree, each item directly followed by its descendants,
//! since a new item (a) stands behind its origin; (b) never passes an item whose origin lies left of its own, so it stays
//! within its origin's descendants; and (c) goes behind an item only together with all that descend from it: rule 2 takes
//! along whatever has its origin in what was gone behind. So only the order of *siblings*, items with one origin, is open.
//!
//! *A sibling that was known.* Who typed beside an origin whose child `s` was there got `s`, or something further left,
//! for its right origin. No item is looked for beyond its right origin, so the newer one stands left of `s` everywhere.
//!
//! *Concurrent siblings with one right origin* are passed by rule 1 or stopped at, by client id alone: whichever is
//! integrated second, the lower id ends up left.
//!
//! *Concurrent siblings `n` and `o` with different right origins.* One, say `o`, was typed when an item stood there that
//! `n`'s author did not know, and which `o` must stay left of: a sibling or its descendant, since right origins
//! lie within the origin's descendants or end them. If `o` has the lower id, `n` goes behind it. If it has the higher one,
//! `n` cannot stop, as that item may be one that `n` has to go behind, and `o` is left of it; nor go behind `o`, as that
//! item may be one to stop at. So the next sibling decides for both; that is what being in question means.
//!
//! *Then by induction.* The place found depends on the list between the two origins only. Let two replicas have the same
//! items. Move the item that one of them got last to the end of the other's order of arrival, one exchange of neighbors
//! at a time; each exchange is of two concurrent items, of which neither is an origin of the other, and leaves the list as
//! it was: if they are siblings by the three paragraphs before, if they are not since each is found among the siblings of
//! its own origin, and items in other subtrees are passed or not reached as wholes.
//!
//! What is checked beside the sketch: `check.rs` holds the invariants after each step of the tests, random scripts are
//! compared with Yjs byte for byte, and replicas that got the same items in any order with each other.
//!
//! Sources: Nicolaescu, Jahns, Derntl, Klamma, *Near Real-Time Peer-to-Peer Shared Editing on Extensible Data Types*
//! (GROUP 2016), which has the proof for its first form; Yjs's `Item.integrate` for the form with right origins; Weidner,
//! Kleppmann, *The Art of the Fugue* (2023) for what it does and does not keep together: a run typed forwards stays in
//! one piece among concurrent ones, a run typed backwards need not.
//!
//! # Joining
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
            Kind::Doc => self.note_subdoc(handle),
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
