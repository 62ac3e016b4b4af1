//! Applies updates: everything that can be integrated now, and the rest kept until what it waits for arrives.
//!
//! Clients are taken from the highest id down; an item whose origin or parent is further on in the same update goes on a
//! stack until that is done. What depends on units that are not here is kept ([`pending`](crate::doc::pending)) beside the
//! clocks it waits for, and tried again when one of them is passed. Deletions of unknown units wait likewise.

use std::borrow::Cow;
use std::collections::BTreeMap;

use lib0::ReadError;

use crate::doc::pending::{Held, HeldBlocks, Pending};
use crate::encoding::block::{Block, BlockKind, Parent, Piece, Plain};
use crate::encoding::content::Content;
use crate::encoding::decoder::{Checked, Decoder};
use crate::encoding::delete_set::DeleteSet;
use crate::id::{ClientId, Id};
use crate::structs::Structs;
use crate::structs::clocks::Place;
use crate::structs::item::{Kind, NIL, Ref};
use crate::structs::place::{Passed, Spot};

/// Blocks that an empty document takes one by one; more are ordered when all are here.
pub(crate) const FEW: usize = if cfg!(test) { 4 } else { 64 };

/// Structs that an update may have beyond its bytes without being read in less room.
const MANY: usize = if cfg!(test) { 4 } else { 1 << 14 };

/// One client's blocks of an update, or of what waits, taken one after the other.
trait Queue<'a>: Iterator<Item = Piece<'a>> {
    /// Gives a block back that was taken: it has to wait, and all that are behind it.
    fn keep(&mut self, piece: Piece<'a>);
}

/// A queue of an update's blocks.
struct UpdateBlocks<'u, 'a> {
    pieces: std::slice::IterMut<'u, Option<Piece<'a>>>,
    kept: Vec<Piece<'a>>,
}

impl<'a> Iterator for UpdateBlocks<'_, 'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        self.pieces.next()?.take()
    }
}

impl<'a> Queue<'a> for UpdateBlocks<'_, 'a> {
    fn keep(&mut self, piece: Piece<'a>) {
        self.kept.push(piece);
    }
}

impl<'a> Queue<'a> for HeldBlocks<'a> {
    fn keep(&mut self, piece: Piece<'a>) {
        self.give_back(piece.clock());
    }
}

/// A client's queue, until it turns out that what is next has to wait.
struct Line<Q> {
    client: ClientId,
    blocks: Q,
    waits: bool,
}

impl<'a, Q: Queue<'a>> Line<Q> {
    fn new(client: ClientId, blocks: Q) -> Self {
        Self { client, blocks, waits: false }
    }

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.waits { None } else { self.blocks.next() }
    }
}

/// Finds a client among lines that are in order.
fn find<Q>(lines: &mut [Line<Q>], client: ClientId) -> Option<&mut Line<Q>> {
    let at = lines.binary_search_by_key(&client, |line| line.client).ok()?;
    Some(&mut lines[at])
}

/// Puts an update's blocks in queues, the lowest client first. They are taken from the end: the highest client first, as
/// others' items tend to go behind its.
fn queues<'u, 'a>(pieces: &'u mut [Option<Piece<'a>>]) -> Vec<Line<UpdateBlocks<'u, 'a>>> {
    let client = |piece: &Option<Piece<'_>>| piece.as_ref().map(Piece::client);
    let clients = pieces.chunk_by_mut(|left, right| client(left) == client(right));
    let mut lines: Vec<Line<_>> = clients
        .filter_map(|pieces| {
            let client = client(pieces.first()?)?;
            let pieces = pieces.iter_mut();
            Some(Line::new(client, UpdateBlocks { pieces, kept: Vec::new() }))
        })
        .collect();
    lines.sort_by_key(|line| line.client);
    lines
}

/// What has to wait of an update that was tried.
fn kept(lines: Vec<Line<UpdateBlocks<'_, '_>>>) -> Held {
    let mut held = Held::default();
    for mut line in lines.into_iter().filter(|line| line.waits) {
        let kept = std::mem::take(&mut line.blocks.kept);
        for piece in kept.into_iter().chain(line.blocks) {
            held.push(&piece.into_block());
        }
    }
    held
}

/// An update that was read and checked.
pub(crate) enum Incoming<'a> {
    /// As its structs are read, which is fastest.
    Pieces(Checked<'a>),
    /// As what waits is kept, which takes less room: where its structs are more than its bytes.
    Held(Held, DeleteSet),
}

impl<'a> Incoming<'a> {
    /// Reads an update of at most `budget` structs.
    pub(crate) fn read<D: Decoder<'a>>(bytes: &'a [u8], budget: u64) -> Result<Self, ReadError> {
        if let Some(update) = Checked::read::<D>(bytes, budget, bytes.len() + MANY)? {
            return Ok(Self::Pieces(update));
        }
        let (held, deletes) = Held::read::<D>(bytes, budget)?;
        Ok(Self::Held(held, deletes))
    }

    /// How many structs it has.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Pieces(update) => update.len(),
            Self::Held(held, _) => held.len(),
        }
    }
}

/// What an item stands beside, once everything it needs is here.
enum Needs {
    /// Units of this client are missing.
    Missing(ClientId),
    /// It can be integrated.
    Nothing,
}

impl Structs {
    /// Applies an update that was read and checked; what has to wait goes to `pending`.
    pub(crate) fn apply(
        &mut self,
        passed: &mut Passed,
        pending: &mut Pending,
        update: Incoming<'_>,
    ) {
        let count = update.len();
        let (rest, deletes) = match update {
            Incoming::Pieces(mut update) => {
                let deletes = std::mem::take(&mut update.deletes);
                (self.in_bulk(count, |structs| structs.integrate_all(passed, update)), deletes)
            }
            Incoming::Held(mut held, deletes) => {
                let missing =
                    self.in_bulk(count, |structs| structs.integrate_held(passed, &mut held));
                ((!held.is_empty()).then_some((missing, held)), deletes)
            }
        };
        let retry = pending.missing.iter().any(|(&client, &clock)| clock < self.next(client));
        if let Some((missing, structs)) = rest {
            pending.add(structs, missing);
        }
        let unknown = self.apply_deletes(&deletes);
        self.retry_deletes(pending);
        pending.deletes.add(unknown);
        if retry {
            self.retry_structs(passed, pending);
            self.retry_deletes(pending);
        }
    }

    /// Integrates what can be of what waits.
    fn retry_structs(&mut self, passed: &mut Passed, pending: &mut Pending) {
        pending.missing = self.integrate_held(passed, &mut pending.structs);
    }

    /// Integrates and takes out what can be; returns what the others wait for.
    fn integrate_held(&mut self, passed: &mut Passed, held: &mut Held) -> BTreeMap<ClientId, u32> {
        let queues = held.queues();
        let mut lines: Vec<Line<_>> =
            queues.into_iter().map(|(client, blocks)| Line::new(client, blocks)).collect();
        let missing = self.integrate_queued(passed, &mut lines);
        let taken: Vec<_> = lines.iter().map(|line| (line.client, line.blocks.taken())).collect();
        for (client, count) in taken {
            held.remove_first(client, count);
        }
        missing
    }

    /// Deletes what has become known of the deletions that wait.
    fn retry_deletes(&mut self, pending: &mut Pending) {
        if !pending.deletes.is_empty() {
            let known = pending.deletes.take_known(|client| self.next(client));
            self.apply_deletes(&known);
        }
    }

    /// Integrates so many structs at once: what is done for each where they come one by one is done when all are in.
    fn in_bulk<T>(&mut self, count: usize, integrate: impl FnOnce(&mut Self) -> T) -> T {
        let is_large = count > FEW;
        let loads = is_large && self.items.len() == 0;
        if loads {
            self.items.reserve(count);
            self.unordered = Some(Vec::new());
        }
        self.apart = is_large;
        let integrated = integrate(self);
        self.apart = false;
        if loads {
            self.order_all();
        }
        integrated
    }

    /// Integrates what can be; returns what can't, with the clocks it waits for.
    fn integrate_all(
        &mut self,
        passed: &mut Passed,
        mut update: Checked<'_>,
    ) -> Option<(BTreeMap<ClientId, u32>, Held)> {
        let is_descending = update.is_descending;
        let pieces = update.pieces();
        let stuck = if is_descending { self.take_pieces(passed, pieces) } else { Some(0) };
        stuck.and_then(|first| {
            // What could not be taken may stand before what it needs.
            let mut lines = queues(&mut pieces[first..]);
            let missing = self.integrate_queued(passed, &mut lines);
            (!missing.is_empty()).then(|| (missing, kept(lines)))
        })
    }

    /// Integrates structs one after the other; returns which is the first that needs what is not here.
    fn take_pieces(
        &mut self,
        passed: &mut Passed,
        pieces: &mut [Option<Piece<'_>>],
    ) -> Option<usize> {
        pieces.iter_mut().position(|slot| {
            *slot = slot.take().and_then(|piece| self.take_piece(passed, piece));
            slot.is_some()
        })
    }

    /// Integrates a struct if everything it needs is here; else gives it back.
    #[inline]
    pub(crate) fn take_piece<'a>(
        &mut self,
        passed: &mut Passed,
        piece: Piece<'a>,
    ) -> Option<Piece<'a>> {
        match &piece {
            Piece::Plain(plain) if self.integrate_plain(passed, plain) => None,
            _ if piece.clock() > self.next(piece.client()) && !piece.is_skip() => Some(piece),
            _ => match self.needs(&piece) {
                Needs::Nothing => {
                    self.take(passed, piece.into_block());
                    None
                }
                Needs::Missing(_) => Some(piece),
            },
        }
    }

    /// Integrates a block of which everything it needs is here.
    fn take(&mut self, passed: &mut Passed, block: Block<'_>) {
        let known = self.next(block.client);
        if block.is_skip() {
            return;
        }
        // Even what is known has waited for its neighbors, as in Yjs: a collected block may have come first.
        if block.end() <= known {
            self.cut_beside(&block);
        } else {
            self.integrate_block(passed, block, known);
        }
    }

    /// Integrates blocks that may stand before what they need; returns what those that stay behind wait for.
    fn integrate_queued<'a, Q: Queue<'a>>(
        &mut self,
        passed: &mut Passed,
        lines: &mut [Line<Q>],
    ) -> BTreeMap<ClientId, u32> {
        let mut current = lines.len();
        let mut missing: BTreeMap<ClientId, u32> = BTreeMap::new();
        let mut stack: Vec<Piece<'a>> = Vec::new();
        loop {
            let head = if let Some(piece) = stack.pop() {
                piece
            } else {
                // Go on with the current client, else with the next lower one that has blocks.
                let next = loop {
                    if let Some(piece) = lines.get_mut(current).and_then(Line::next) {
                        break Some(piece);
                    }
                    if current == 0 {
                        break None;
                    }
                    current -= 1;
                };
                let Some(piece) = next else { return missing };
                piece
            };
            if head.is_skip()
                || matches!(&head, Piece::Plain(plain) if self.integrate_plain(passed, plain))
            {
                continue;
            }
            let (client, clock) = if head.clock() > self.next(head.client()) {
                (head.client(), head.clock() - 1)
            } else {
                match self.needs(&head) {
                    Needs::Nothing => {
                        self.take(passed, head.into_block());
                        continue;
                    }
                    Needs::Missing(client) => {
                        if let Some(needed) = find(lines, client).and_then(Line::next) {
                            stack.push(head);
                            stack.push(needed);
                            continue;
                        }
                        (client, self.next(client))
                    }
                }
            };
            let entry = missing.entry(client).or_insert(clock);
            *entry = (*entry).min(clock);
            // Nothing on the stack can be done, nor anything that follows in these clients.
            stack.push(head);
            for piece in stack.drain(..) {
                if let Some(line) = find(lines, piece.client()) {
                    line.waits = true;
                    line.blocks.keep(piece);
                }
            }
        }
    }

    /// Looks whether everything that a struct refers to is here.
    fn needs(&self, piece: &Piece<'_>) -> Needs {
        let client = piece.client();
        piece
            .references()
            .into_iter()
            .flatten()
            .find(|id| id.client != client && id.clock >= self.next(id.client))
            .map_or(Needs::Nothing, |id| Needs::Missing(id.client))
    }

    /// Cuts at the neighbors of a block that is here already, as Yjs does before it looks whether it is. What an undo
    /// has copied is not joined again, so that this shows in later updates.
    fn cut_beside(&mut self, block: &Block<'_>) {
        let BlockKind::Item(item) = &block.kind else { return };
        let known = |structs: &Self, id: Id| {
            let slot = structs.slot(id.client)?;
            (id.clock < structs.client(slot).next).then_some(Ref { slot, clock: id.clock })
        };
        let origin = item.origin.map(|id| known(self, id));
        let right_origin = item.right_origin.map(|id| known(self, id));
        if origin == Some(None) || right_origin == Some(None) {
            return;
        }
        if let Some(Some(unit)) = origin {
            self.clean_end(unit);
        }
        if let Some(Some(unit)) = right_origin {
            self.clean_start(unit);
        }
    }

    /// Integrates a text or tombstone of a list, if it comes next of its client and what it refers to is here and not
    /// collected. Returns whether that is so; else nothing is done, and it takes the way of all blocks.
    fn integrate_plain(&mut self, passed: &mut Passed, plain: &Plain<'_>) -> bool {
        let Some(slot) = self.slot_near(plain.client) else { return false };
        if self.client(slot).next != plain.clock {
            return false;
        }
        let known = |structs: &mut Self, id: Option<Id>| match id {
            None => Some(Ref::NONE),
            // That it lies before was checked when it was read.
            Some(id) if id.client == plain.client => Some(Ref { slot, clock: id.clock }),
            Some(id) => {
                let slot = structs.slot_near(id.client)?;
                (id.clock < structs.client(slot).next).then_some(Ref { slot, clock: id.clock })
            }
        };
        let Some(origin) = known(self, plain.origin) else { return false };
        let Some(right_origin) = known(self, plain.right_origin) else { return false };
        let mut left = if origin.is_none() {
            NIL
        } else if origin == (Ref { slot, clock: plain.clock.wrapping_sub(1) }) {
            self.client(slot).clocks.last().map_or(NIL, |last| self.client(slot).clocks.get(last))
        } else {
            self.clean_end(origin)
        };
        let mut right = NIL;
        if !right_origin.is_none() {
            // What stood to the right mostly still does.
            right = if left == NIL { NIL } else { self.items[left].right };
            if right == NIL || self.items[right].first_ref() != right_origin {
                right = self.clean_start(right_origin);
                left = self.left_after_cut(left, origin);
            }
        }
        let beside = &self.items[if left == NIL { right } else { left }];
        let (parent, key) = (beside.parent, beside.key);
        let is_gc = |handle: u32| handle != NIL && self.items[handle].kind == Kind::Gc;
        if is_gc(left) || is_gc(right) {
            return false;
        }
        let at = Ref { slot, clock: plain.clock };
        let spot = Spot { parent, key, left, right, origin, right_origin };
        if self.apart && key == NIL && passed.is_empty() && self.is_beside(&spot) {
            let content = plain.text.as_ref().map(|text| {
                let texts = &mut self.clients[slot as usize].texts;
                texts.push(text, plain.len).expect("a client's texts fit 32 bits")
            });
            self.put(at, &spot, plain.len, content);
            return true;
        }
        let content = match &plain.text {
            Some(text) => Content::String(Cow::Borrowed(text), plain.len),
            None => Content::Deleted(plain.len),
        };
        self.integrate(passed, at, spot, plain.len, content, true);
        true
    }

    /// The left neighbor, once its right one was cut off at its start. That cuts the left one only where an update says
    /// that its right neighbor stood further left, in the same item; no editing makes such a one.
    fn left_after_cut(&self, left: u32, origin: Ref) -> u32 {
        let is_cut = left != NIL && {
            let item = &self.items[left];
            item.kind != Kind::Gc && item.last_ref() != origin
        };
        if is_cut { self.find(origin) } else { left }
    }

    /// Integrates a block of which the units below `known` are here already.
    fn integrate_block(&mut self, passed: &mut Passed, block: Block<'_>, known: u32) {
        let slot = self.slot_or_add(block.client);
        let offset = known - block.clock;
        let (clock, len) = (block.clock + offset, block.len - offset);
        let BlockKind::Item(item) = block.kind else {
            self.push_gc(slot, clock, len);
            return;
        };
        let own = block.client;
        let to_ref = |structs: &Self, id: Id| {
            let slot = if id.client == own { Some(slot) } else { structs.slot(id.client) };
            Ref { slot: slot.unwrap_or(NIL), clock: id.clock }
        };
        let mut spot = Spot {
            parent: NIL,
            key: NIL,
            left: NIL,
            right: NIL,
            origin: Ref::NONE,
            right_origin: Ref::NONE,
        };
        if let Some(id) = item.origin {
            spot.origin = to_ref(self, id);
            spot.left = self.clean_end(spot.origin);
        }
        if let Some(id) = item.right_origin {
            spot.right_origin = to_ref(self, id);
            spot.right = self.clean_start(spot.right_origin);
            spot.left = self.left_after_cut(spot.left, spot.origin);
        }
        let is_gc =
            |structs: &Self, handle: u32| handle != NIL && structs.items[handle].kind == Kind::Gc;
        if is_gc(self, spot.left) || is_gc(self, spot.right) {
            self.push_gc(slot, clock, len);
            return;
        }
        match &item.parent {
            None => {
                let beside = if spot.left == NIL { spot.right } else { spot.left };
                if beside != NIL {
                    spot.parent = self.items[beside].parent;
                    spot.key = self.items[beside].key;
                }
            }
            Some(parent) => {
                match parent {
                    Parent::Root(name) => spot.parent = self.root(name),
                    Parent::Item(id) => {
                        let holder = &self.items[self.find(to_ref(self, *id))];
                        if holder.kind == Kind::Type {
                            spot.parent = holder.content;
                        }
                    }
                }
                if let Some(key) = &item.key {
                    spot.key = self.key_number(key);
                }
            }
        }
        if offset > 0 {
            spot.origin = Ref { slot, clock: clock - 1 };
            spot.left = self.clean_end(spot.origin);
            // The known part says where the item is, whatever this update says.
            let known = &self.items[spot.left];
            if known.kind != Kind::Gc {
                (spot.parent, spot.key) = (known.parent, known.key);
            }
        }
        if spot.parent == NIL || is_gc(self, spot.left) {
            self.push_gc(slot, clock, len);
            return;
        }
        self.integrate(passed, Ref { slot, clock }, spot, len, item.content.tail(offset), true);
    }

    /// Deletes what is known of a delete set; returns the rest.
    pub(crate) fn apply_deletes(&mut self, deletes: &DeleteSet) -> DeleteSet {
        let mut unknown = DeleteSet::default();
        for (client, ranges) in deletes.iter() {
            let slot = self.slot(client).filter(|&slot| self.client(slot).next > 0);
            let known = slot.map_or(0, |slot| self.client(slot).next);
            let mut place = Place::default();
            for range in ranges {
                if range.end() > known {
                    let from = range.clock.max(known);
                    unknown.add(client, from, range.end() - from);
                }
                if range.clock < known
                    && let Some(slot) = slot
                {
                    place = self.delete_range(slot, place, range.clock, range.end().min(known));
                }
            }
        }
        unknown
    }

    /// Deletes the known units from `clock` up to `end`, which begin at a place or not far behind it; returns where they
    /// end.
    fn delete_range(&mut self, slot: u32, near: Place, clock: u32, end: u32) -> Place {
        let mut place = self.client(slot).clocks.find_from(near, clock);
        loop {
            let mut handle = self.client(slot).clocks.get(place);
            let (start, stop) = (self.items[handle].clock, self.items[handle].end());
            if !self.items[handle].deleted {
                if start < clock {
                    handle = self.split(handle, clock - start);
                    place = self.client(slot).clocks.find(clock);
                }
                if end < stop {
                    self.split(handle, end - clock.max(start));
                }
                self.delete(handle);
            }
            match self.client(slot).clocks.next(place) {
                Some(next) if stop < end => place = next,
                _ => return place,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::encoding::block::{Block, BlockKind, ItemBlock, Parent};
    use crate::encoding::content::Content;
    use crate::encoding::decoder::{DecoderV1, Update};
    use crate::encoding::delete_set::DeleteSet;
    use crate::encoding::encoder::{
        Encoder as _, EncoderV1, EncoderV2, write_block, write_deletes,
    };
    use crate::id::Id;
    use crate::{ClientId, Doc, Error, Options};

    /// Collected units, each a struct of its own: a few bytes whatever their number.
    fn singles(client: u64, from: u32, count: u32) -> Vec<u8> {
        let client = ClientId::new(client).unwrap();
        let mut encoder = EncoderV2::default();
        lib0::write_var_u64(encoder.rest(), 1);
        lib0::write_var_u64(encoder.rest(), u64::from(count));
        encoder.client(client);
        lib0::write_var_u64(encoder.rest(), u64::from(from));
        for clock in from..from + count {
            write_block(&mut encoder, &Block { client, clock, len: 1, kind: BlockKind::Gc }, 0);
        }
        write_deletes(&mut encoder, &DeleteSet::default());
        encoder.finish()
    }

    /// Letters typed at the front and deleted, each a struct of its own.
    fn typed_leftwards(client: u64, count: u32) -> Vec<u8> {
        let client = ClientId::new(client).unwrap();
        let mut encoder = EncoderV2::default();
        lib0::write_var_u64(encoder.rest(), 1);
        lib0::write_var_u64(encoder.rest(), u64::from(count));
        encoder.client(client);
        lib0::write_var_u64(encoder.rest(), 0);
        for clock in 0..count {
            let right_origin = clock.checked_sub(1).map(|clock| Id { client, clock });
            let parent = right_origin.is_none().then_some(Parent::Root("t".into()));
            let content = Content::Deleted(1);
            let item = ItemBlock { origin: None, right_origin, parent, key: None, content };
            let kind = BlockKind::Item(item);
            write_block(&mut encoder, &Block { client, clock, len: 1, kind }, 0);
        }
        write_deletes(&mut encoder, &DeleteSet::default());
        encoder.finish()
    }

    #[test]
    fn a_document_has_no_more_structs_than_it_could_be_saved_with() {
        const COUNT: u32 = 600_000;
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        doc.apply_v2(&typed_leftwards(7, COUNT)).unwrap();
        assert_eq!(doc.apply_v2(&typed_leftwards(8, COUNT)).unwrap_err(), Error::Full);
        assert_eq!(doc.structs(), COUNT as usize);
        let mut again = Doc::new(doc.client(), Options::default());
        again.apply_own_v2(&doc.state_v2()).unwrap();
        assert_eq!(again.state_vector(), doc.state_vector());
        // 2^28 collected units of one client.
        let many =
            b"\0\0\x01\x09\0\0\x01\0\x01\0\0\0\x06\x42\x80\x80\x80\x80\x01\x80\x80\x80\x80\x01\x80\x01\0\0";
        assert!(again.apply_own_v2(many).is_err());
    }

    /// A text that one client typed, cut and deleted in; as it is, and in both formats.
    fn edited() -> (String, [Vec<u8>; 2]) {
        let mut doc = Doc::new(ClientId::new(300).unwrap(), Options::default());
        let text = doc.text("text");
        for (at, piece) in [(0, "some text"), (4, "thing of a"), (0, "😀"), (9, "é")] {
            let mut transaction = doc.transact();
            text.insert(&mut transaction, at, piece).unwrap();
            text.delete(&mut transaction, at / 2, 1 + at % 2).unwrap();
            transaction.commit();
        }
        (text.read(&doc), [doc.state_v1(), doc.state_v2()])
    }

    fn apply(doc: &mut Doc, update: &[u8], is_second: bool) -> bool {
        if is_second { doc.apply_v2(update).is_ok() } else { doc.apply_v1(update).is_ok() }
    }

    #[test]
    fn an_empty_document_is_put_back_where_an_update_turns_out_wrong() {
        let (shown, updates) = edited();
        for (update, is_second) in updates.iter().zip([false, true]) {
            let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
            let text = doc.text("text");
            for end in 0..update.len() {
                assert!(!apply(&mut doc, &update[..end], is_second), "the first {end} bytes");
                assert!(doc.structs() == 0 && doc.state_vector().is_empty());
            }
            assert!(apply(&mut doc, update, is_second));
            assert_eq!([doc.state_v1(), doc.state_v2()], updates);
            assert_eq!(text.read(&doc), shown);
        }
    }

    #[test]
    fn an_empty_document_takes_what_it_can_of_an_update_that_waits() {
        let (_, updates) = edited();
        let v1 = &updates[0];
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        let than = [(ClientId::new(300).unwrap(), 3)].into_iter().collect();
        doc.apply_v1(v1).unwrap();
        let rest = doc.diff_v1(&than);
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        doc.apply_v1(&rest).unwrap();
        assert_eq!(doc.structs(), 0);
        assert_eq!(doc.waiting().unwrap().missing, [(ClientId::new(300).unwrap(), 2)]);
        doc.apply_v1(v1).unwrap();
        assert_eq!(doc.waiting(), None);
        assert_eq!([doc.state_v1(), doc.state_v2()], updates);
    }

    #[test]
    fn an_empty_document_takes_what_is_before_a_hole() {
        let (_, [v1, v2]) = edited();
        let mut whole = Doc::new(ClientId::new(1).unwrap(), Options::default());
        whole.apply_v1(&v1).unwrap();
        let update = Update::read::<DecoderV1<'_>>(&v1).unwrap();
        let (client, blocks) = &update.clients[0];
        for hole in 1..blocks.len() {
            let mut encoder = EncoderV1::default();
            lib0::write_var_u64(encoder.rest(), 1);
            lib0::write_var_u64(encoder.rest(), blocks.len() as u64);
            encoder.client(*client);
            lib0::write_var_u64(encoder.rest(), 0);
            for (at, block) in blocks.iter().enumerate() {
                let skip = Block { kind: BlockKind::Skip, ..block.clone() };
                write_block(&mut encoder, if at == hole { &skip } else { block }, 0);
            }
            write_deletes(&mut encoder, &update.deletes);
            let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
            doc.apply_v1(&encoder.finish()).unwrap();
            doc.check().unwrap();
            assert_eq!(doc.state_vector().get(*client), blocks[hole].clock);
            assert_eq!(doc.has_waiting_structs(), hole + 1 < blocks.len());
            doc.apply_v2(&v2).unwrap();
            assert_eq!(doc.waiting(), None);
            assert_eq!(doc.state_vector(), whole.state_vector());
        }
    }

    #[test]
    fn more_structs_may_wait_than_one_update_may_have() {
        const COUNT: u32 = 530_000;
        let updates = [singles(7, 1, COUNT), singles(8, 1, COUNT)];
        assert!(updates.iter().all(|update| update.len() < 100));
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        for update in &updates {
            doc.apply_v2(update).unwrap();
        }
        let waiting = doc.waiting().unwrap();
        assert_eq!(waiting.missing.len(), 2);
        let saved = doc.state_v2();
        assert!(Doc::new(doc.client(), Options::default()).apply_v2(&saved).is_err());
        let mut doc = Doc::new(doc.client(), Options::default());
        doc.apply_own_v2(&saved).unwrap();
        assert_eq!(doc.waiting(), Some(waiting));
        for client in [7, 8] {
            doc.apply_v2(&singles(client, 0, 1)).unwrap();
        }
        assert_eq!(doc.waiting(), None);
        assert_eq!(doc.state_vector().get(ClientId::new(8).unwrap()), COUNT + 1);
    }
}
