//! Writes a document's items, or a transaction's changes, as updates.
//!
//! Texts and tombstones, nearly all there is, go from the arena to the encoder; everything else takes the form of a
//! block on its way. An event of one letter is one allocation.

use lib0::write_var_u64;

use crate::encoding::delete_set::{DeleteSet, Range};
use crate::encoding::encoder::{Encoder, Inserted, write_block, write_ranges};
use crate::structs::Structs;
use crate::structs::item::{Kind, NIL, Ref};

/// What an update of one edit takes in the first format with the longest client ids.
const EDIT_BYTES: usize = 56;

impl Structs {
    /// Encodes what the transaction that was closed last changed; `None` if that is nothing.
    pub(crate) fn encode_changes<E: Encoder>(&self) -> Option<Vec<u8>> {
        match (self.changes.touched.as_slice(), self.changes.deletes.as_slice()) {
            ([], []) => None,
            (&[slot], []) => match self.inserted(slot) {
                Some(edit) => Some(E::inserted(&edit)),
                None => Some(self.encode_all_changes::<E>()),
            },
            ([], &[(slot, range)]) => Some(E::deleted(self.client(slot).id, range)),
            _ => Some(self.encode_all_changes::<E>()),
        }
    }

    fn encode_all_changes<E: Encoder>(&self) -> Vec<u8> {
        let mut encoder = E::with_capacity(EDIT_BYTES);
        match *self.changes.touched.as_slice() {
            [] => self.write(&mut encoder, &[]),
            [slot] => self.write(&mut encoder, &[(slot, self.before(slot))]),
            ref touched => {
                let mut clients: Vec<(u32, u32)> =
                    touched.iter().map(|&slot| (slot, self.before(slot))).collect();
                clients.sort_unstable_by_key(|&(slot, _)| std::cmp::Reverse(self.client(slot).id));
                self.write(&mut encoder, &clients);
            }
        }
        self.write_changed_deletes(&mut encoder);
        encoder.finish()
    }

    /// What a client got in this transaction, if it is one short text with an origin.
    #[inline]
    fn inserted(&self, slot: u32) -> Option<Inserted<'_>> {
        let client = self.client(slot);
        let clock = self.before(slot);
        let item = &self.items[client.clocks.get(client.clocks.last()?)];
        let offset = clock.checked_sub(item.clock)?;
        let origin = if offset > 0 { Ref { slot, clock: clock - 1 } } else { item.origin };
        let id = |unit: Ref| (!unit.is_none()).then(|| self.id(unit));
        let (origin, right_origin) = (id(origin), id(item.right_origin));
        if item.kind != Kind::String || item.key != NIL || origin.or(right_origin).is_none() {
            return None;
        }
        let units = item.len - offset;
        let text = client.texts.part(item.content + offset, units)?;
        if text.len() > Inserted::MOST_BYTES {
            return None;
        }
        Some(Inserted { client: client.id, clock, origin, right_origin, text, units })
    }

    fn write_changed_deletes<E: Encoder>(&self, encoder: &mut E) {
        let changes = &self.changes;
        if changes.deletes_by_slot().nth(1).is_none() {
            self.write_deletes(encoder, &changes.deletes);
            return;
        }
        let mut clients: Vec<_> = changes.deletes_by_slot().collect();
        clients.sort_unstable_by_key(|&(slot, _)| std::cmp::Reverse(self.client(slot).id));
        let deletes: Vec<_> = clients.iter().flat_map(|(_, ranges)| *ranges).copied().collect();
        self.write_deletes(encoder, &deletes);
    }

    /// Writes deleted ranges, those of one client one after the other, in the given order of clients.
    fn write_deletes<E: Encoder>(&self, encoder: &mut E, deletes: &[(u32, Range)]) {
        let clients = || deletes.chunk_by(|left, right| left.0 == right.0);
        write_var_u64(encoder.rest(), clients().count() as u64);
        for ranges in clients() {
            let client = self.client(ranges[0].0).id;
            write_ranges(encoder, client, ranges.iter().map(|&(_, range)| range));
        }
    }

    /// Writes the structs of the given clients (slot, and the clock from which on), in the given order.
    pub(crate) fn write<E: Encoder>(&self, encoder: &mut E, clients: &[(u32, u32)]) {
        write_var_u64(encoder.rest(), clients.len() as u64);
        for &(slot, known) in clients {
            let client = self.client(slot);
            let first = client.clocks.find(known);
            write_var_u64(encoder.rest(), client.clocks.count_from(first) as u64);
            encoder.client(client.id);
            write_var_u64(encoder.rest(), u64::from(known));
            let mut offset = known - client.clocks.start(first);
            for entries in client.clocks.slices_from(first) {
                for &(_, handle) in entries {
                    self.write_struct(encoder, handle, offset);
                    offset = 0;
                }
            }
        }
    }

    /// Writes an item without its first `offset` units.
    fn write_struct<E: Encoder>(&self, encoder: &mut E, handle: u32, offset: u32) {
        let item = &self.items[handle];
        let origin = if offset > 0 {
            Ref { slot: item.slot, clock: item.clock + offset - 1 }
        } else {
            item.origin
        };
        let (has_origin, has_right) = (!origin.is_none(), !item.right_origin.is_none());
        let is_plain = matches!(item.kind, Kind::String | Kind::Deleted)
            && item.key == NIL
            && (has_origin || has_right);
        if !is_plain {
            write_block(encoder, &self.block(handle), offset);
            return;
        }
        encoder.info(item.kind as u8 | u8::from(has_origin) << 7 | u8::from(has_right) << 6);
        if has_origin {
            encoder.left_id(self.id(origin));
        }
        if has_right {
            encoder.right_id(self.id(item.right_origin));
        }
        let len = item.len - offset;
        if item.kind == Kind::String {
            encoder.text(&self.text_part(item, offset, len), len);
        } else {
            encoder.len(u64::from(len));
        }
    }

    /// Encodes the structs of the given clients and everything that is deleted.
    pub(crate) fn encode_state<E: Encoder>(&self, clients: &[(u32, u32)]) -> Vec<u8> {
        let mut encoder = E::with_capacity(EDIT_BYTES);
        self.write(&mut encoder, clients);
        let mut deletes = Vec::new();
        for slot in self.slots_descending() {
            self.deleted(slot, |range| deletes.push((slot, range)));
        }
        self.write_deletes(&mut encoder, &deletes);
        encoder.finish()
    }

    /// Hands on what of a client is deleted, in joined ranges.
    fn deleted(&self, slot: u32, mut each: impl FnMut(Range)) {
        let clocks = &self.client(slot).clocks;
        let mut open: Option<Range> = None;
        for handle in clocks.iter_from(clocks.first()) {
            let item = &self.items[handle];
            match (&mut open, item.deleted) {
                (Some(range), true) => range.len += item.len,
                (None, true) => open = Some(Range { clock: item.clock, len: item.len }),
                (Some(_), false) => open.take().into_iter().for_each(&mut each),
                (None, false) => {}
            }
        }
        open.into_iter().for_each(each);
    }

    /// Everything that is deleted.
    pub(crate) fn delete_set(&self) -> DeleteSet {
        let mut deletes = DeleteSet::default();
        for (slot, client) in (0..).zip(&self.clients) {
            self.deleted(slot, |range| deletes.add(client.id, range.clock, range.len));
        }
        deletes
    }
}
