//! Shallow documents: what was deleted before a moment is let go of, everything since is kept.
//!
//! A shallow document is an ordinary update. It knows of every unit that the whole document knows of, so that each later
//! update finds its place in it; but of what was deleted before the moment only the lengths are left, as if a document
//! that collects had lived until then and one that keeps from then on. The moment itself and all later ones can still be
//! restored from it.
//!
//! ```text
//! an item      aaaaBBBBBcc          B was deleted before the moment, c after it
//! becomes      aaaa|5|cc            three blocks: a text, a length, a text (which says that it is deleted)
//! ```
//!
//! It is made in one walk over the items, which takes no second document and changes nothing: each item is cut where the
//! moment's deletions begin and end, and neighbors that were let go of are joined as a collecting document joins them.
//! (Made the other way round, a document as it was at the moment that collects and then gets all later updates, it is
//! the same; a test does that.)

use crate::doc::Doc;
use crate::encoding::block::{Block, BlockKind, ItemBlock};
use crate::encoding::content::Content;
use crate::encoding::delete_set::stretch;
use crate::encoding::encoder::{Encoder, EncoderV1, EncoderV2};
use crate::error::Error;
use crate::history::snapshot::Snapshot;
use crate::id::{Id, StateVector};
use crate::structs::Structs;
use crate::structs::item::{Kind, NIL, Ref};
use crate::update::{FragmentWriter, merge_own, merge_v1, own_to_v1};

impl Doc {
    /// Encodes in the first format everything but the contents of what was deleted before a moment; what waits is
    /// included.
    ///
    /// # Errors
    /// This document does not know the moment, or has collected what showed then.
    pub fn shallow_v1(&self, moment: &Snapshot) -> Result<Vec<u8>, Error> {
        let state = self.structs.write_shallow::<EncoderV1>(moment)?;
        let all = StateVector::default();
        Ok(self.with_pending(state, &all, |update| own_to_v1(&update), merge_v1))
    }

    /// Encodes in the second format everything but the contents of what was deleted before a moment; what waits is
    /// included.
    ///
    /// # Errors
    /// This document does not know the moment, or has collected what showed then.
    pub fn shallow_v2(&self, moment: &Snapshot) -> Result<Vec<u8>, Error> {
        let state = self.structs.write_shallow::<EncoderV2>(moment)?;
        Ok(self.with_pending(state, &StateVector::default(), Ok, merge_own))
    }
}

/// Neighboring units that are let go of and become one block.
#[derive(Clone, Copy)]
struct Length {
    /// The item that the first unit is in, and the one that the last is in.
    first: u32,
    last: u32,
    clock: u32,
    end: u32,
    /// Nothing but the length is left: they lay in a type that is let go of.
    bare: bool,
}

impl Structs {
    fn write_shallow<E: Encoder>(&self, moment: &Snapshot) -> Result<Vec<u8>, Error> {
        let known = moment.state.iter().all(|(client, clock)| clock <= self.next(client))
            && moment.deletes.iter().all(|(client, ranges)| {
                ranges.last().is_none_or(|range| range.end() <= self.next(client))
            });
        if !known {
            return Err(Error::HistoryNotKept);
        }
        let gone = self.gone_types(moment);
        let mut writer = FragmentWriter::<E>::new(0);
        for slot in self.slots_descending() {
            let client = self.client(slot);
            let known = moment.state.get(client.id);
            let mut deleted = moment.deletes.ranges(client.id);
            let mut open: Option<Length> = None;
            for handle in client.clocks.iter_from(client.clocks.first()) {
                let item = &self.items[handle];
                let collected = matches!(item.kind, Kind::Gc | Kind::Deleted);
                let bare = item.kind == Kind::Gc || gone[item.parent as usize];
                let mut clock = item.clock;
                while clock < item.end() {
                    let (was_deleted, until) = stretch(&mut deleted, clock);
                    let end = until.min(item.end());
                    let lacks = collected && !was_deleted && clock < known;
                    if lacks || was_deleted && !item.deleted {
                        return Err(Error::HistoryNotKept);
                    }
                    let next = Length { first: handle, last: handle, clock, end, bare };
                    let goes = bare || collected || was_deleted;
                    match &mut open {
                        Some(length) if goes && self.joins(length, &next) => {
                            length.end = end;
                            length.last = handle;
                        }
                        _ => {
                            if let Some(length) = open.take() {
                                writer.write(&self.length(&length), 0);
                            }
                            if goes {
                                open = Some(next);
                            } else if end - clock == item.len {
                                writer.write(&self.block(handle), 0);
                            } else {
                                writer.write(&self.part(handle, clock, end), 0);
                            }
                        }
                    }
                    clock = end;
                }
            }
            if let Some(length) = open {
                writer.write(&self.length(&length), 0);
            }
        }
        Ok(writer.finish(&mut self.delete_set()))
    }

    /// Which types lie in something that was deleted before a moment.
    fn gone_types(&self, moment: &Snapshot) -> Vec<bool> {
        let mut gone = vec![false; self.types.len()];
        for (at, held) in self.types.iter().enumerate() {
            if held.item == NIL {
                continue;
            }
            let holder = &self.items[held.item];
            // A type is made after the one it lies in.
            gone[at] = holder.kind != Kind::Type
                || gone[holder.parent as usize]
                || moment.deletes.contains(self.client(holder.slot).id, holder.clock);
        }
        gone
    }

    /// Whether units go on where others end, so that a collecting document has one block of both.
    fn joins(&self, length: &Length, next: &Length) -> bool {
        if length.bare || next.bare {
            return length.bare && next.bare;
        }
        let item = &self.items[next.first];
        let follows = item.clock < next.clock
            || item.origin == Ref { slot: item.slot, clock: length.end - 1 }
                && self.items[length.last].right == next.first;
        follows && self.items[length.first].right_origin == item.right_origin
    }

    /// What is left of units that are let go of.
    fn length(&self, length: &Length) -> Block<'_> {
        let item = &self.items[length.first];
        let (client, len) = (self.client(item.slot).id, length.end - length.clock);
        if length.bare {
            return Block { client, clock: length.clock, len, kind: BlockKind::Gc };
        }
        let origin = self.origin_at(length.first, length.clock);
        let right_origin = item.right_origin;
        let right_origin = (!right_origin.is_none()).then(|| self.id(right_origin));
        let parent = if origin.is_none() && right_origin.is_none() {
            match self.block(length.first).kind {
                BlockKind::Item(item) => item.parent,
                _ => None,
            }
        } else {
            None
        };
        let key = (item.key != NIL).then(|| self.key(item.key).into());
        let content = Content::Deleted(len);
        let kind = BlockKind::Item(ItemBlock { origin, right_origin, parent, key, content });
        Block { client, clock: length.clock, len, kind }
    }

    /// The units of an item from `clock` up to `end`, which are not all.
    fn part(&self, handle: u32, clock: u32, end: u32) -> Block<'_> {
        let item = &self.items[handle];
        let (from, len) = (clock - item.clock, end - clock);
        let mut block = Block { clock, len, ..self.block(handle) };
        if let BlockKind::Item(whole) = &mut block.kind {
            let part = from as usize..(from + len) as usize;
            whole.origin = self.origin_at(handle, clock);
            whole.content = match item.kind {
                Kind::String => Content::String(self.text_part(item, from, len), len),
                Kind::Any => Content::Any(self.values(item)[part].into()),
                _ => Content::Json(self.values(item)[part].into()),
            };
        }
        block
    }

    /// The origin of a unit of an item, once that is cut in front of it.
    fn origin_at(&self, handle: u32, clock: u32) -> Option<Id> {
        let item = &self.items[handle];
        let origin = if clock > item.clock {
            Ref { slot: item.slot, clock: clock - 1 }
        } else {
            item.origin
        };
        (!origin.is_none()).then(|| self.id(origin))
    }
}

#[cfg(test)]
mod tests {
    use crate::random::Random;
    use lib0::Any;

    use crate::{Array, ClientId, Doc, Error, Map, New, Options, Shared, Snapshot, Text, Value};

    const KEPT: Options = Options { gc: false, seed: 0, max_waiting: 1 << 20 };

    fn doc(client: u64) -> Doc {
        Doc::new(ClientId::new(client).unwrap(), KEPT)
    }

    fn load(update: &[u8]) -> Doc {
        let mut loaded = doc(99);
        loaded.apply_v2(update).unwrap();
        loaded.check().unwrap();
        loaded
    }

    /// The keys of a map by name: in which order it came to know them, is no part of what it shows.
    fn keys(doc: &Doc, map: Map) -> Vec<String> {
        let mut keys = map.keys(doc);
        keys.sort();
        keys
    }

    /// Everything that is shared in a document, at whatever depth.
    fn all_shared(doc: &mut Doc) -> Vec<Shared> {
        let roots = [doc.text("t").into(), doc.array("a").into(), doc.map("m").into()];
        let mut found: Vec<Shared> = roots.to_vec();
        let mut at = 0;
        while at < found.len() {
            let values = match found[at] {
                Shared::Array(array) => array.read(doc),
                Shared::Map(map) => {
                    keys(doc, map).iter().filter_map(|key| map.get(doc, key)).collect()
                }
                _ => Vec::new(),
            };
            found.extend(values.iter().filter_map(|value| match value {
                Value::Shared(shared) => Some(*shared),
                _ => None,
            }));
            at += 1;
        }
        found
    }

    fn edit(doc: &mut Doc, random: &mut Random) {
        let shared = all_shared(doc);
        let shared = shared[random.below(u32::try_from(shared.len()).unwrap()) as usize];
        let new = |random: &mut Random| match random.below(6) {
            0 => New::Text,
            1 => New::Array,
            2 => New::Map,
            _ => New::Any(Any::from(random.below(100))),
        };
        let mut txn = doc.transact();
        match shared {
            Shared::Text(text) => {
                let len = text.len(txn.doc());
                if random.below(5) < 3 || len == 0 {
                    let word = ["a", "bc", "dé\n", "fgh i"][random.below(4) as usize];
                    text.insert(&mut txn, random.below(len + 1), word).unwrap();
                } else {
                    let at = random.below(len);
                    text.delete(&mut txn, at, 1 + random.below((len - at).min(6))).unwrap();
                }
            }
            Shared::Array(array) => {
                let len = array.len(txn.doc());
                if random.below(5) < 3 || len == 0 {
                    let values = (0..=random.below(3)).map(|_| new(random)).collect();
                    array.insert(&mut txn, random.below(len + 1), values).unwrap();
                } else {
                    let at = random.below(len);
                    array.delete(&mut txn, at, 1 + random.below((len - at).min(2))).unwrap();
                }
            }
            Shared::Map(map) => {
                let key = ["k", "l", "m"][random.below(3) as usize];
                if random.below(4) < 3 {
                    map.insert(&mut txn, key, new(random)).unwrap();
                } else {
                    map.remove(&mut txn, key);
                }
            }
            Shared::Xml(_) => unreachable!(),
        }
        txn.commit();
    }

    /// The shallow document made the other way round: a collecting one as it was then, and all later updates.
    fn forward(whole: &mut Doc, moment: &Snapshot) -> Doc {
        let then = whole.restore(moment, ClientId::new(98).unwrap()).unwrap();
        let mut made = Doc::new(ClientId::new(99).unwrap(), Options::default());
        made.apply_v2(&then.state_v2()).unwrap();
        made.options.gc = false;
        made.apply_v2(&whole.diff_v2(&moment.state)).unwrap();
        made.check().unwrap();
        made
    }

    fn shown(doc: &mut Doc) -> Vec<String> {
        all_shared(doc)
            .into_iter()
            .map(|shared| match shared {
                Shared::Text(text) => text.read(doc),
                // Handles of nested types differ between documents; they are listed themselves.
                Shared::Array(array) => {
                    array.read(doc).into_iter().fold(String::new(), |shown, v| shown + &plain(&v))
                }
                Shared::Map(map) => keys(doc, map).into_iter().fold(String::new(), |shown, key| {
                    shown + &key + &plain(&map.get(doc, &key).unwrap())
                }),
                Shared::Xml(_) => unreachable!(),
            })
            .collect()
    }

    fn plain(value: &Value) -> String {
        match value {
            Value::Any(value) => format!("{value:?}"),
            _ => "*".to_owned(),
        }
    }

    fn run(seed: u64) {
        let mut random = Random(seed);
        let mut docs = [doc(1), doc(2), doc(3)];
        // Taken from what the first one knows at some times.
        let mut moments: Vec<Snapshot> = vec![docs[0].snapshot()];
        for _ in 0..20 + random.below(60) {
            let who = random.below(3) as usize;
            match random.below(4) {
                0 | 1 => edit(&mut docs[who], &mut random),
                2 => {
                    let from = random.below(3) as usize;
                    let update = docs[from].diff_v2(&docs[who].state_vector());
                    docs[who].apply_v2(&update).unwrap();
                }
                _ if random.below(2) == 0 => moments.push(docs[0].snapshot()),
                _ => {}
            }
        }
        let last = docs[1].diff_v2(&docs[0].state_vector());
        docs[0].apply_v2(&last).unwrap();
        moments.push(docs[0].snapshot());
        let [whole, _, late] = &mut docs;
        for (at, moment) in moments.iter().enumerate() {
            let update = whole.shallow_v2(moment).unwrap();
            let mut shallow = load(&update);
            assert_eq!(shallow.state_v2(), forward(whole, moment).state_v2(), "seed {seed}");
            assert_eq!(shallow.state_v2(), update, "seed {seed}: loading joins more");
            let mut first = doc(99);
            first.apply_v1(&whole.shallow_v1(moment).unwrap()).unwrap();
            assert_eq!(first.state_v2(), update, "seed {seed}");
            assert_eq!(shallow.snapshot(), whole.snapshot(), "seed {seed}");
            assert_eq!(shown(&mut shallow), shown(whole), "seed {seed}");
            for (other, earlier) in moments.iter().enumerate() {
                let restored = shallow.restore(earlier, ClientId::new(97).unwrap());
                match (restored, other < at) {
                    (Ok(mut restored), _) => {
                        let mut right = whole.restore(earlier, ClientId::new(97).unwrap()).unwrap();
                        assert_eq!(shown(&mut restored), shown(&mut right), "seed {seed}");
                    }
                    (Err(Error::HistoryNotKept), true) => {
                        assert_ne!(earlier.deletes, moment.deletes, "seed {seed}");
                    }
                    (Err(error), _) => panic!("seed {seed}: {error}"),
                }
                if other >= at {
                    let twice = shallow.shallow_v2(earlier).unwrap();
                    assert_eq!(twice, whole.shallow_v2(earlier).unwrap(), "seed {seed}");
                } else if earlier.deletes != moment.deletes
                    && let Ok(twice) = shallow.shallow_v2(earlier)
                {
                    assert_eq!(twice, update, "seed {seed}");
                }
            }
            // What others made meanwhile, and make now, finds its place.
            let mut on = whole.clone();
            for step in 0..4 {
                for target in [&mut on, &mut shallow] {
                    target.apply_v2(&late.diff_v2(&target.state_vector())).unwrap();
                    target.check().unwrap();
                }
                assert_eq!(shown(&mut on), shown(&mut shallow), "seed {seed}");
                assert_eq!(on.snapshot(), shallow.snapshot(), "seed {seed}");
                if step % 2 == 0 {
                    let update = shallow.diff_v2(&late.state_vector());
                    late.apply_v2(&update).unwrap();
                    on.apply_v2(&update).unwrap();
                }
                edit(late, &mut random);
            }
        }
    }

    #[test]
    fn forward_and_reverse_give_the_same_document() {
        for seed in 0..100 {
            run(seed);
        }
    }

    fn written() -> (Doc, Text, Array, Map) {
        let mut doc = doc(1);
        let (text, array, map) = (doc.text("t"), doc.array("a"), doc.map("m"));
        (doc, text, array, map)
    }

    #[test]
    fn what_was_deleted_before_is_let_go_of_and_what_was_later_is_kept() {
        let (mut doc, text, ..) = written();
        let mut txn = doc.transact();
        text.insert(&mut txn, 0, "aaaaBBBBBcc").unwrap();
        txn.commit();
        let early = doc.snapshot();
        let mut txn = doc.transact();
        text.delete(&mut txn, 4, 5).unwrap();
        txn.commit();
        let middle = doc.snapshot();
        let mut txn = doc.transact();
        text.delete(&mut txn, 4, 2).unwrap();
        txn.commit();
        let bytes = doc.shallow_v1(&middle).unwrap();
        assert!(!bytes.windows(5).any(|window| window == b"BBBBB"));
        assert!(bytes.windows(2).any(|window| window == b"cc"));
        let mut shallow = load(&doc.shallow_v2(&middle).unwrap());
        let client = ClientId::new(9).unwrap();
        let restored = shallow.restore(&middle, client).unwrap();
        assert_eq!(text.read(&restored), "aaaacc");
        assert_eq!(shallow.restore(&early, client).unwrap_err(), Error::HistoryNotKept);
        // What is not here any more can't be kept from an earlier moment on either.
        assert_eq!(shallow.shallow_v2(&early).unwrap_err(), Error::HistoryNotKept);
        assert_eq!(shallow.shallow_v2(&middle), doc.shallow_v2(&middle));
    }

    #[test]
    fn a_collected_stretch_of_which_a_moment_showed_a_part_is_not_restored() {
        let (mut doc, text, ..) = written();
        let mut txn = doc.transact();
        text.insert(&mut txn, 0, "abcd").unwrap();
        txn.commit();
        let mut txn = doc.transact();
        text.delete(&mut txn, 0, 2).unwrap();
        txn.commit();
        let half = doc.snapshot();
        let mut txn = doc.transact();
        text.delete(&mut txn, 0, 2).unwrap();
        txn.commit();
        let mut shallow = load(&doc.shallow_v2(&doc.snapshot()).unwrap());
        let client = ClientId::new(9).unwrap();
        assert_eq!(shallow.restore(&half, client).unwrap_err(), Error::HistoryNotKept);
    }

    #[test]
    fn a_moment_of_another_document_is_refused() {
        let (mut doc, text, ..) = written();
        let mut txn = doc.transact();
        text.insert(&mut txn, 0, "abcd").unwrap();
        txn.commit();
        let mut other = doc.clone();
        let mut txn = other.transact();
        text.delete(&mut txn, 0, 2).unwrap();
        txn.commit();
        assert_eq!(doc.shallow_v1(&other.snapshot()).unwrap_err(), Error::HistoryNotKept);
        let mut txn = other.transact();
        text.insert(&mut txn, 0, "more").unwrap();
        txn.commit();
        assert_eq!(doc.shallow_v1(&other.snapshot()).unwrap_err(), Error::HistoryNotKept);
    }

    #[test]
    fn what_waits_is_in_the_shallow_document() {
        let (mut doc, text, ..) = written();
        let mut txn = doc.transact();
        text.insert(&mut txn, 0, "ab").unwrap();
        let first = txn.commit().update_v1().unwrap();
        let mut txn = doc.transact();
        text.insert(&mut txn, 2, "cd").unwrap();
        let second = txn.commit().update_v1().unwrap();
        let mut late = Doc::new(ClientId::new(2).unwrap(), KEPT);
        late.apply_v1(&second).unwrap();
        let mut shallow = load(&late.shallow_v2(&late.snapshot()).unwrap());
        assert!(shallow.has_waiting_structs());
        shallow.apply_v1(&first).unwrap();
        let text = shallow.text("t");
        assert_eq!(text.read(&shallow), "abcd");
    }
}
