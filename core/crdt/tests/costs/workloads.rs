//! What is counted: each workload does one kind of operation many times.

use crdt::{Any, Assoc, ClientId, Doc, New, Options, StateVector, update};

/// Operations of one kind.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// How many operations `work` does.
    pub(crate) operations: u32,
    /// Whether its instructions are counted in every run, not only when figures are stated.
    pub(crate) in_instructions: bool,
    /// Makes what the work begins with; not counted.
    pub(crate) prepare: fn() -> Ready,
    /// What is counted. Gives back what it holds in the end.
    pub(crate) work: fn(Ready) -> Ready,
}

/// What a workload has in hand: documents and encoded updates.
#[derive(Default)]
pub(crate) struct Ready {
    docs: Vec<Doc>,
    updates: Vec<Vec<u8>>,
}

const MANY: u32 = 4_000;

const fn workload(
    name: &'static str,
    prepare: fn() -> Ready,
    work: fn(Ready) -> Ready,
) -> Workload {
    Workload { name, operations: MANY, in_instructions: false, prepare, work }
}

pub(crate) const WORKLOADS: &[Workload] = &[
    Workload {
        in_instructions: true,
        ..workload("typing, no update", empty, |ready| type_on(ready, |_| ()))
    },
    Workload {
        in_instructions: true,
        ..workload("typing, an update V1 each", empty, |ready| {
            type_on(ready, |commit| drop(commit.update_v1()))
        })
    },
    workload("typing, an update V2 each", empty, |ready| {
        type_on(ready, |commit| drop(commit.update_v2()))
    }),
    workload("typing in one transaction", empty, one_transaction),
    Workload {
        in_instructions: true,
        ..workload("a letter at a random place, update V1", scattered, |ready| {
            at_random(ready, |doc, at| {
                let text = doc.text("text");
                let mut transaction = doc.transact();
                text.insert(&mut transaction, at, "x").unwrap();
                drop(transaction.commit().update_v1());
            })
        })
    },
    workload("a deletion at a random place, update V1", scattered, |ready| {
        at_random(ready, |doc, at| {
            let text = doc.text("text");
            let mut transaction = doc.transact();
            text.delete(&mut transaction, at, 1).unwrap();
            drop(transaction.commit().update_v1());
        })
    }),
    workload("a letter at a random place among formats, update V1", formatted, |ready| {
        at_random(ready, |doc, at| {
            let text = doc.text("text");
            let mut transaction = doc.transact();
            text.insert(&mut transaction, at, "x").unwrap();
            drop(transaction.commit().update_v1());
        })
    }),
    workload("an anchor made and resolved", scattered, |ready| {
        at_random(ready, |doc, at| {
            let anchor = doc.text("text").anchor(doc, at, Assoc::After);
            assert_eq!(anchor.resolve(doc), Some(at));
        })
    }),
    Workload {
        in_instructions: true,
        ..workload("applying a letter's update V1", letters, |mut ready| {
            for update in &ready.updates {
                ready.docs[0].apply_v1(update).unwrap();
            }
            ready
        })
    },
    workload("applying a letter's update V1, all at one place", one_place, |mut ready| {
        for update in &ready.updates {
            ready.docs[0].apply_v1(update).unwrap();
        }
        ready
    }),
    workload("applying a letter's update V1 that waits", letters, |mut ready| {
        for update in ready.updates.iter().rev() {
            ready.docs[0].apply_v1(update).unwrap();
        }
        assert_eq!(ready.docs[0].waiting(), None);
        ready
    }),
    workload("merging updates V1", letters, |mut ready| {
        let updates: Vec<&[u8]> = ready.updates.iter().map(Vec::as_slice).collect();
        let merged = update::merge_v1(&updates).unwrap();
        ready.updates = vec![merged];
        ready
    }),
    workload(
        "reading an item, V1",
        || state(Doc::state_v1),
        |mut ready| {
            let mut doc = new(9);
            doc.apply_v1(&ready.updates[0]).unwrap();
            ready.docs = vec![doc];
            ready
        },
    ),
    workload(
        "reading an item, V2",
        || state(Doc::state_v2),
        |mut ready| {
            let mut doc = new(9);
            doc.apply_v2(&ready.updates[0]).unwrap();
            ready.docs = vec![doc];
            ready
        },
    ),
    workload("encoding an item, V1", scattered, |mut ready| {
        ready.updates = vec![ready.docs[0].state_v1()];
        ready
    }),
    workload("encoding an item, V2", scattered, |mut ready| {
        ready.updates = vec![ready.docs[0].state_v2()];
        ready
    }),
    workload(
        "an item's part in a diff of an update V1",
        || state(Doc::state_v1),
        |mut ready| {
            let nothing = StateVector::default();
            ready.updates = vec![update::diff_v1(&ready.updates[0], &nothing).unwrap()];
            ready
        },
    ),
    workload("setting one key of a map, update V1", empty, |mut ready| {
        let doc = &mut ready.docs[0];
        let map = doc.map("map");
        for number in 0..MANY {
            let mut transaction = doc.transact();
            let value = New::Any(Any::Number(f64::from(number)));
            map.insert(&mut transaction, "key", value).unwrap();
            drop(transaction.commit().update_v1());
        }
        ready
    }),
];

fn new(client: u64) -> Doc {
    Doc::new(ClientId::new(client).unwrap(), Options::default())
}

fn empty() -> Ready {
    Ready { docs: vec![new(1)], ..Ready::default() }
}

/// A text of as many items as there are operations, each of three letters.
fn scattered() -> Ready {
    let mut ready = empty();
    let doc = &mut ready.docs[0];
    let text = doc.text("text");
    let mut random = Random(1);
    for word in 0..MANY {
        let mut transaction = doc.transact();
        text.insert(&mut transaction, random.below(word * 3 + 1), "abc").unwrap();
        drop(transaction.commit().update_v1());
    }
    ready
}

/// The same in which every other item is bold or a link.
fn formatted() -> Ready {
    let mut ready = scattered();
    let doc = &mut ready.docs[0];
    let text = doc.text("text");
    let mut random = Random(5);
    for word in 0..MANY / 2 {
        let at = random.below(text.len(doc) - 3);
        let (name, value) =
            [("bold", Any::from(true)), ("link", word.into())][word as usize % 2].clone();
        let mut transaction = doc.transact();
        text.format(&mut transaction, at, 3, &[(name.to_owned(), value)].into_iter().collect())
            .unwrap();
        drop(transaction.commit().update_v1());
    }
    ready
}

fn state(encode: fn(&Doc) -> Vec<u8>) -> Ready {
    Ready { updates: vec![encode(&scattered().docs[0])], docs: Vec::new() }
}

/// Updates of single letters in lines of forty, each line at a random place, by another person.
fn letters() -> Ready {
    let mut ready = Ready { docs: vec![new(2)], ..Ready::default() };
    let mut doc = new(1);
    let text = doc.text("text");
    let mut random = Random(2);
    let mut place = 0;
    for letter in 0..MANY {
        if letter % 40 == 0 {
            place = random.below(letter + 1);
        }
        let mut transaction = doc.transact();
        text.insert(&mut transaction, place, "x").unwrap();
        place += 1;
        ready.updates.extend(transaction.commit().update_v1());
    }
    ready
}

/// Updates of single letters before everything, for somebody who did the same at once.
fn one_place() -> Ready {
    let mut ready = Ready::default();
    for client in [2, 1] {
        let mut doc = new(client);
        let text = doc.text("text");
        ready.updates.clear();
        for _ in 0..MANY {
            let mut transaction = doc.transact();
            text.insert(&mut transaction, 0, "x").unwrap();
            ready.updates.extend(transaction.commit().update_v1());
        }
        ready.docs.push(doc);
    }
    ready
}

/// Types letters at a caret that jumps now and then, with a backspace after each tenth.
fn type_on(mut ready: Ready, tell: fn(crdt::Commit<'_>)) -> Ready {
    let doc = &mut ready.docs[0];
    let text = doc.text("text");
    let mut random = Random(3);
    let mut caret = 0;
    for key in 0..MANY {
        if key % 100 == 0 {
            caret = random.below(text.len(doc) + 1);
        }
        let mut transaction = doc.transact();
        if key % 10 == 9 {
            caret -= 1;
            text.delete(&mut transaction, caret, 1).unwrap();
        } else {
            text.insert(&mut transaction, caret, "x").unwrap();
            caret += 1;
        }
        tell(transaction.commit());
    }
    ready
}

fn one_transaction(mut ready: Ready) -> Ready {
    let doc = &mut ready.docs[0];
    let text = doc.text("text");
    let mut random = Random(3);
    let (mut caret, mut len) = (0, 0);
    let mut transaction = doc.transact();
    for key in 0..MANY {
        if key % 100 == 0 {
            caret = random.below(len + 1);
        }
        if key % 10 == 9 {
            caret -= 1;
            len -= 1;
            text.delete(&mut transaction, caret, 1).unwrap();
        } else {
            text.insert(&mut transaction, caret, "x").unwrap();
            caret += 1;
            len += 1;
        }
    }
    drop(transaction.commit().update_v1());
    ready
}

fn at_random(mut ready: Ready, each: fn(&mut Doc, u32)) -> Ready {
    let mut random = Random(4);
    let doc = &mut ready.docs[0];
    for _ in 0..MANY {
        let len = doc.text("text").len(doc);
        each(doc, random.below(len));
    }
    ready
}

/// Numbers that are the same in every run (`SplitMix64`).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) % u64::from(end)).unwrap()
    }
}
