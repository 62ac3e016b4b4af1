//! Finds the place of an item among concurrent ones: the YATA algorithm as Yjs has it.
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
//! # Where a search begins
//!
//! A search passes all that others typed at the same spot at the same time. Two people who each type letter by letter
//! at the front, or a thousand who each insert one item, would make it pass the same siblings again and again, the
//! square of them in all. So the last places that were found are kept, and a search that must come past one begins
//! there:
//!
//! - Who types leftwards types before his last item. Where that one was put, all before it had been passed, so the new
//!   one goes directly before it.
//! - Siblings with equal origins on both sides stand in the order of their clients. A search for such a one begins at
//!   the sibling with the next lower client that is known.
//!
//! Both hold as long as what has come into the list since has the same left origin: such an item lets pass whatever it
//! lies before. Anything else makes a place be forgotten.

use crate::id::ClientId;
use crate::structs::Structs;
use crate::structs::item::{NIL, Ref};

/// How many places are kept: people who type at one spot at once.
const KEPT: usize = 16;

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

/// What searches remember: the items that this one passed, and the places that earlier ones found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passed {
    /// The number of the search, and of the group within it: what was passed since something was last found to stand
    /// left of the new item.
    scan: u32,
    group: u32,
    /// Per item the search and the group that passed it last.
    marks: Vec<(u32, u32)>,
    found: Vec<Found>,
}

/// An item that a search has put in its place.
#[derive(Debug, Clone, Copy)]
struct Found {
    item: Ref,
    client: ClientId,
    parent: u32,
    key: u32,
    origin: Ref,
    right_origin: Ref,
}

/// Where a search may begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    /// At the beginning.
    Origin,
    /// Behind this item, which stands left of the new one.
    Behind(u32),
    /// Nowhere: the new item's left neighbor is this one.
    Known(u32),
}

impl Passed {
    pub(crate) fn start(&mut self, bound: usize) {
        if self.scan == u32::MAX || self.group > u32::MAX - (1 << 30) {
            (self.scan, self.group) = (0, 0);
            self.marks.clear();
        }
        self.marks.resize(bound.max(self.marks.len()), (0, 0));
        self.scan += 1;
        self.group += 1;
    }

    pub(crate) fn pass(&mut self, handle: u32) {
        self.marks[handle as usize] = (self.scan, self.group);
    }

    pub(crate) fn is_passed(&self, handle: u32) -> bool {
        self.marks[handle as usize].0 == self.scan
    }

    pub(crate) fn is_in_question(&self, handle: u32) -> bool {
        self.marks[handle as usize] == (self.scan, self.group)
    }

    /// Nothing passed so far is in question any more.
    pub(crate) fn settle(&mut self) {
        self.group += 1;
    }

    /// Tells where the search for the place of a client's item may begin.
    pub(crate) fn recall(&self, structs: &Structs, client: ClientId, spot: &Spot) -> Start {
        let mut nearest: Option<(ClientId, u32)> = None;
        for found in &self.found {
            let is_beside = spot.right_origin == found.item && client == found.client;
            let is_sibling = spot.right_origin == found.right_origin
                && found.client < client
                && nearest.is_none_or(|(known, _)| known < found.client);
            if found.origin != spot.origin
                || (found.parent, found.key) != (spot.parent, spot.key)
                || !(is_beside || is_sibling)
            {
                continue;
            }
            // It may have been joined to another or collected since.
            let handle = structs.find(found.item);
            let item = &structs.items[handle];
            if item.clock != found.item.clock || item.parent != found.parent {
                continue;
            }
            if is_beside && spot.right == handle {
                return Start::Known(item.left);
            }
            if is_sibling {
                nearest = Some((found.client, handle));
            }
        }
        nearest.map_or(Start::Origin, |(_, handle)| Start::Behind(handle))
    }

    /// Whether no search is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes note of an item that came into a list or chain; `searched`: its place was searched for.
    #[inline]
    pub(crate) fn note(&mut self, client: ClientId, item: Ref, spot: &Spot, searched: bool) {
        if self.found.is_empty() && !searched {
            return;
        }
        self.found.retain(|found| {
            (found.parent, found.key) != (spot.parent, spot.key)
                || (found.origin == spot.origin && found.item != spot.right_origin)
        });
        if searched {
            if self.found.len() == KEPT {
                self.found.remove(0);
            }
            let Spot { parent, key, origin, right_origin, .. } = *spot;
            self.found.push(Found { item, client, parent, key, origin, right_origin });
        }
    }
}

impl Structs {
    /// Finds the left neighbor of a client's item between the neighbors it had when it was typed.
    pub(crate) fn find_left(&self, passed: &mut Passed, client: ClientId, spot: &Spot) -> u32 {
        let from_start = |passed: &mut Passed| {
            let first = if spot.left != NIL {
                self.items[spot.left].right
            } else if spot.key != NIL {
                self.types[spot.parent as usize].map.get(&spot.key).map_or(NIL, |chain| chain.first)
            } else {
                self.types[spot.parent as usize].start
            };
            passed.start(self.items.bound());
            self.search(passed, client, spot, spot.left, first)
        };
        match passed.recall(self, client, spot) {
            Start::Known(left) => return left,
            Start::Behind(left) => {
                passed.start(self.items.bound());
                passed.pass(left);
                passed.settle();
                let found = self.search(passed, client, spot, left, self.items[left].right);
                if let Ok(left) = found {
                    return left;
                }
            }
            Start::Origin => {}
        }
        match from_start(passed) {
            Ok(left) | Err(left) => left,
        }
    }

    /// Goes right from an item; `Err`: up to where it was found, something lies whose origin was not passed. That ends
    /// a search that began at the origin.
    fn search(
        &self,
        passed: &mut Passed,
        client: ClientId,
        spot: &Spot,
        mut left: u32,
        mut other: u32,
    ) -> Result<u32, u32> {
        while other != NIL && other != spot.right {
            passed.pass(other);
            let item = &self.items[other];
            if item.origin == spot.origin {
                if self.client(item.slot).id < client {
                    left = other;
                    passed.settle();
                } else if item.right_origin == spot.right_origin {
                    break;
                }
            } else if !item.origin.is_none() {
                let origin = self.find(item.origin);
                if !passed.is_passed(origin) {
                    return Err(left);
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
        Ok(left)
    }
}
