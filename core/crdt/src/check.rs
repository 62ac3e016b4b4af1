//! All invariants of a document as one function, run after each step in tests.

use std::collections::HashSet;

use crate::doc::Doc;
use crate::structs::handle_of;
use crate::structs::item::{Item, Kind, NIL, Ref};

impl Doc {
    /// Checks the document against its invariants.
    ///
    /// # Errors
    /// Says in words which one is broken.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        let structs = &self.structs;
        let mut known = HashSet::new();
        for client in &structs.clients {
            let mut next = 0;
            for (clock, handle) in client.clocks.entries() {
                let item = &structs.items[handle];
                if item.clock != clock || clock != next || item.len == 0 {
                    return Err(format!("client {:?}: item {handle} at {clock}", client.id));
                }
                next = item.end();
                if !known.insert(handle) {
                    return Err(format!("item {handle} is listed twice"));
                }
            }
            if next != client.next {
                return Err(format!("client {:?}: {next} units, says {}", client.id, client.next));
            }
        }
        if known.len() != structs.items.len() {
            return Err(format!("{} items in use, {} listed", structs.items.len(), known.len()));
        }
        let mut linked = 0;
        for (number, owner) in structs.types.iter().enumerate() {
            let ordered = structs.nodes.check(&owner.order, &structs.items)?;
            structs.check_marks(handle_of(number))?;
            let mut lists = vec![(NIL, owner.start)];
            lists.extend(owner.map.iter().map(|(&key, chain)| (key, chain.first)));
            for (key, first) in lists {
                let (mut left, mut at) = (NIL, first);
                let mut list = Vec::new();
                while at != NIL {
                    let item = &structs.items[at];
                    if !known.contains(&at)
                        || item.left != left
                        || item.key != key
                        || item.parent as usize != number
                    {
                        return Err(format!("type {number}: item {at} is linked wrong"));
                    }
                    list.push(at);
                    left = at;
                    at = item.right;
                }
                linked += list.len();
                if key == NIL {
                    if list != ordered {
                        return Err(format!("type {number}: order and links differ"));
                    }
                } else {
                    if owner.map[&key].last != left {
                        return Err(format!("type {number}: the chain of key {key} ends wrong"));
                    }
                    // An update may give a key a text, which no editing does. What comes into the middle of it deletes
                    // neither of the parts, as in Yjs; whoever asks for the key sees the last one only.
                    let is_cut_off = |item: &Item| {
                        let rest = Ref { slot: item.slot, clock: item.end() };
                        structs.client(item.slot).next > rest.clock && {
                            let rest = &structs.items[structs.find(rest)];
                            (rest.parent, rest.key) == (item.parent, item.key)
                        }
                    };
                    let olds = list.iter().map(|&item| &structs.items[item]).rev().skip(1);
                    if olds.clone().any(|item| !item.deleted && !is_cut_off(item)) {
                        return Err(format!("type {number}: key {key} has an old value alive"));
                    }
                }
            }
        }
        let collected = known.iter().filter(|&&h| structs.items[h].kind == Kind::Gc).count();
        if linked + collected != known.len() {
            return Err(format!("{linked} linked + {collected} collected of {}", known.len()));
        }
        Ok(())
    }

    /// Checks what holds as long as only programs edit a document: each item stands in one list or chain with what it
    /// was typed between, and behind the one on the left. (Undo may type between what has changed places.)
    ///
    /// Yjs takes an update that says otherwise, and so do we. When such a document is loaded, more of it may be
    /// collected or deleted than was.
    ///
    /// # Errors
    /// Says in words of which item it does not hold.
    #[doc(hidden)]
    pub fn check_origins(&self) -> Result<(), String> {
        let structs = &self.structs;
        // Per item its list, and how many are before it there.
        let mut places = vec![None; structs.items.bound()];
        let mut lists = 0;
        for owner in &structs.types {
            let firsts = owner.map.values().map(|chain| chain.first);
            for first in std::iter::once(owner.start).chain(firsts) {
                let (mut at, mut index) = (first, 0);
                while at != NIL {
                    places[at as usize] = Some((lists, index));
                    (at, index) = (structs.items[at].right, index + 1);
                }
                lists += 1;
            }
        }
        for (handle, place) in (0..).zip(&places) {
            let Some((list, index)) = *place else { continue };
            let item = &structs.items[handle];
            // None of a collected block.
            let place_of = |unit: Ref| places[structs.find(unit) as usize];
            let is_behind = item.origin.is_none()
                || place_of(item.origin).is_some_and(|(other, at)| other == list && at < index);
            let is_beside = item.right_origin.is_none()
                || place_of(item.right_origin).is_some_and(|(other, _)| other == list);
            if !is_behind || !is_beside {
                return Err(format!("{:?} does not stand where it was typed", item.first_ref()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Random edits by several replicas, with trees of width 4 so that every run splits and empties nodes.

    use crate::random::Random;
    use lib0::Any;

    use crate::{ClientId, Doc, New, Options, Shared, StateVector, TextChange, Value, update};

    const PIECES: [&str; 6] = ["a", "bc", "\n", "é", "日本", "x😀y"];

    /// One transaction of random edits, with text pieces from the first `pieces` ones.
    fn edit(doc: &mut Doc, random: &mut Random, pieces: u32) -> Option<[Vec<u8>; 2]> {
        let (text, array, map) = (doc.text("t"), doc.array("a"), doc.map("m"));
        let mut model: Vec<u16> = text.read(doc).encode_utf16().collect();
        let before = model.clone();
        let mut txn = doc.transact();
        for _ in 0..=random.below(3) {
            let len = text.len(txn.doc());
            match random.below(10) {
                0..=3 => {
                    let at = random.below(len + 1);
                    let piece = PIECES[random.below(pieces) as usize];
                    text.insert(&mut txn, at, piece).unwrap();
                    let at = at as usize;
                    if at < model.len() && (0xdc00..0xe000).contains(&model[at]) {
                        model[at] = 0xfffd;
                        model[at - 1] = 0xfffd;
                    }
                    model.splice(at..at, piece.encode_utf16());
                }
                4..=5 if len > 0 => {
                    let at = random.below(len);
                    let count = 1 + random.below((len - at).min(6));
                    text.delete(&mut txn, at, count).unwrap();
                    for border in [at as usize, (at + count) as usize] {
                        if border < model.len() && (0xdc00..0xe000).contains(&model[border]) {
                            model[border] = 0xfffd;
                            model[border - 1] = 0xfffd;
                        }
                    }
                    model.drain(at as usize..(at + count) as usize);
                }
                6 => {
                    let at = random.below(array.len(txn.doc()) + 1);
                    let value = New::Any(Any::from(random.below(1000)));
                    let values = if random.below(4) == 0 { New::Map } else { value };
                    array.insert(&mut txn, at, vec![values]).unwrap();
                }
                7 => {
                    let len = array.len(txn.doc());
                    if len > 0 {
                        array.delete(&mut txn, random.below(len), 1).unwrap();
                    }
                }
                8 => {
                    let key = ["k", "l", "m"][random.below(3) as usize];
                    let value = if random.below(3) == 0 { New::Text } else { New::from(true) };
                    map.insert(&mut txn, key, value).unwrap();
                }
                _ => {
                    let key = ["k", "l", "m"][random.below(3) as usize];
                    match map.get(txn.doc(), key) {
                        Some(Value::Shared(Shared::Text(inner))) if random.below(3) > 0 => {
                            let at = random.below(inner.len(txn.doc()) + 1);
                            inner.insert(&mut txn, at, "in").unwrap();
                        }
                        _ => {
                            map.remove(&mut txn, key);
                        }
                    }
                }
            }
        }
        let commit = txn.commit();
        let updates = commit.update_v1().zip(commit.update_v2());
        let delta = commit.text_delta(text);
        assert_eq!(text.read(doc).encode_utf16().collect::<Vec<_>>(), model);
        follow(&before, &delta, &model);
        updates.map(|(v1, v2)| [v1, v2])
    }

    /// A delta leads from the text before to the text after (characters cut in two aside, which no delta tells of).
    fn follow(before: &[u16], delta: &[TextChange], after: &[u16]) {
        let mut rest = before;
        let mut got = Vec::new();
        for change in delta {
            match change {
                TextChange::Retain(len) => {
                    let (kept, tail) = rest.split_at(*len as usize);
                    got.extend_from_slice(kept);
                    rest = tail;
                }
                TextChange::Insert(text) => got.extend(text.encode_utf16()),
                TextChange::Delete(len) => rest = &rest[*len as usize..],
            }
        }
        got.extend_from_slice(rest);
        let plain = |units: &[u16]| -> Vec<u16> {
            let half = |unit| (0xd800..0xe000).contains(&unit);
            units.iter().map(|&unit| if half(unit) { 0xfffd } else { unit }).collect()
        };
        assert_eq!(plain(&got), plain(after), "{delta:?}");
    }

    fn content(doc: &mut Doc) -> (String, Vec<Value>, StateVector) {
        let (text, array) = (doc.text("t"), doc.array("a"));
        // Nested types have other handles in other documents.
        let values = array
            .read(doc)
            .into_iter()
            .map(|value| match value {
                Value::Shared(_) => Value::Any(Any::Null),
                other => other,
            })
            .collect();
        (text.read(doc), values, doc.state_vector())
    }

    fn run(seed: u64, replicas: u32, rounds: u32, gc: bool) {
        let mut random = Random(seed);
        // Deleting half a pair cuts it into two U+FFFD; a replica that hears of both halves' deletion at once does not
        // cut. What is shown is equal, but with history kept the tombstones' text is not (in Yjs neither).
        let pieces = if gc { 6 } else { 5 };
        let options = Options { gc, seed, ..Options::default() };
        let mut docs: Vec<Doc> = (0..replicas)
            .map(|n| Doc::new(ClientId::new(u64::from(n) + 1).unwrap(), options))
            .collect();
        let mut sent: Vec<[Vec<u8>; 2]> = Vec::new();
        let mut got = vec![Vec::new(); docs.len()];
        for _ in 0..rounds {
            let who = random.below(replicas) as usize;
            if random.below(2) == 0 {
                if let Some(updates) = edit(&mut docs[who], &mut random, pieces) {
                    sent.push(updates);
                }
            } else if !sent.is_empty() {
                // Lost, late, doubled: any update at any time.
                let which = random.below(u32::try_from(sent.len()).unwrap()) as usize;
                got[who].push(which);
                let before: Vec<u16> =
                    docs[who].text("t").read(&docs[who]).encode_utf16().collect();
                let text = docs[who].text("t");
                let commit = if random.below(2) == 0 {
                    docs[who].apply_v1(&sent[which][0]).unwrap()
                } else {
                    docs[who].apply_v2(&sent[which][1]).unwrap()
                };
                let delta = commit.text_delta(text);
                let after: Vec<u16> = text.read(&docs[who]).encode_utf16().collect();
                follow(&before, &delta, &after);
            }
            docs[who].check().unwrap_or_else(|problem| panic!("seed {seed}: {problem}"));
        }
        // Everybody asks one hub for what is missing, as replicas do when they meet.
        let mut hub = Doc::new(ClientId::new(99).unwrap(), options);
        for doc in &docs {
            hub.apply_v1(&doc.diff_v1(&hub.state_vector())).unwrap();
        }
        for doc in &mut docs {
            let missing = hub.diff_v2(&doc.state_vector());
            doc.apply_v2(&missing).unwrap();
            doc.check().unwrap();
            assert_eq!(content(doc), content(&mut hub), "seed {seed}");
            assert_eq!(doc.waiting(), None, "seed {seed}");
            assert!(doc.state_v1() == hub.state_v1(), "seed {seed}: states differ");
            let converted = update::v1_to_v2(&doc.state_v1()).unwrap();
            let mut fresh = Doc::new(ClientId::new(98).unwrap(), options);
            fresh.apply_v2(&converted).unwrap();
            fresh.check().unwrap();
            assert!(fresh.state_v2() == doc.state_v2(), "seed {seed}: converted state differs");
        }
        let all: Vec<&[u8]> = sent.iter().map(|updates| updates[0].as_slice()).collect();
        if !all.is_empty() {
            let merged = update::merge_v1(&all).unwrap();
            let mut fresh = Doc::new(ClientId::new(97).unwrap(), options);
            fresh.apply_v1(&merged).unwrap();
            assert!(fresh.state_v1() == hub.state_v1(), "seed {seed}: merged updates differ");
        }
    }

    #[test]
    fn replicas_converge_whatever_arrives_when() {
        for seed in 0..300 {
            run(seed, 2 + u32::try_from(seed % 4).unwrap(), 120, seed % 2 == 0);
        }
    }

    #[test]
    fn a_long_life_stays_sound() {
        for seed in 1000..1006 {
            run(seed, 3, 1500, seed % 2 == 0);
        }
    }

    #[test]
    fn anchors_move_along() {
        use crate::{Anchor, Assoc};
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        let text = doc.text("t");
        let mut txn = doc.transact();
        text.insert(&mut txn, 0, "abcd").unwrap();
        txn.commit();
        let anchors: Vec<Anchor> = [Assoc::Before, Assoc::After]
            .into_iter()
            .flat_map(|assoc| [0, 2, 4].map(|at| text.anchor(&doc, at, assoc)))
            .map(|anchor| Anchor::from_json(&anchor.to_json()).unwrap())
            .collect();
        let mut txn = doc.transact();
        text.insert(&mut txn, 2, "XY").unwrap();
        text.insert(&mut txn, 0, "_").unwrap();
        txn.commit();
        let places: Vec<_> = anchors.iter().map(|anchor| anchor.resolve(&doc)).collect();
        assert_eq!(places, [0, 3, 7, 1, 5, 7].map(Some));
        let mut txn = doc.transact();
        text.delete(&mut txn, 0, 7).unwrap();
        txn.commit();
        assert!(anchors.iter().all(|anchor| anchor.resolve(&doc) == Some(0)));
    }

    #[test]
    fn anchors_in_a_deleted_text_are_nowhere() {
        use crate::Assoc;
        for gc in [false, true] {
            let options = Options { gc, ..Options::default() };
            let mut doc = Doc::new(ClientId::new(1).unwrap(), options);
            let map = doc.map("m");
            let mut txn = doc.transact();
            let text = map.insert_text(&mut txn, "k").unwrap();
            text.insert(&mut txn, 0, "ab").unwrap();
            txn.commit();
            let anchors =
                [0, 1, 2].map(|at| [Assoc::Before, Assoc::After].map(|a| text.anchor(&doc, at, a)));
            assert!(anchors.as_flattened().iter().all(|anchor| anchor.resolve(&doc).is_some()));
            let mut txn = doc.transact();
            map.remove(&mut txn, "k");
            txn.commit();
            assert!(anchors.as_flattened().iter().all(|anchor| anchor.resolve(&doc).is_none()));
        }
    }
}
