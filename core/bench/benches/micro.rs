//! Single operations of the core, each by itself: `cargo xtask bench micro`. How they add up beside
//! other implementations is `cargo xtask bench crdt`.

#![expect(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::hint::black_box;

use crdt::{Anchor, Assoc, ClientId, Doc, Options, StateVector, Text, update};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

/// Letters in the text that is edited, in items of ten.
const LETTERS: u32 = 100_000;

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

fn new(client: u64) -> (Doc, Text) {
    let mut doc = Doc::new(ClientId::new(client).unwrap(), Options::default());
    let text = doc.text("text");
    (doc, text)
}

fn insert(doc: &mut Doc, text: Text, at: u32, letters: &str) -> Option<Vec<u8>> {
    let mut transaction = doc.transact();
    text.insert(&mut transaction, at, letters).unwrap();
    transaction.commit().update_v1()
}

fn delete(doc: &mut Doc, text: Text, at: u32, len: u32) -> Option<Vec<u8>> {
    let mut transaction = doc.transact();
    text.delete(&mut transaction, at, len).unwrap();
    transaction.commit().update_v1()
}

/// A text written in words of ten letters at random places.
fn written() -> (Doc, Text) {
    let (mut doc, text) = new(1);
    let mut random = Random(1);
    for word in 0..LETTERS / 10 {
        insert(&mut doc, text, random.below(word * 10 + 1), "ten lette ");
    }
    (doc, text)
}

/// Edits with their updates of the first format. Each grows the text a little, by far less than it
/// has, so that the last meets what the first did.
fn edits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("edit");
    let (mut doc, text) = written();
    let mut caret = LETTERS / 2;
    group.bench_function("a letter at the caret", |bencher| {
        bencher.iter(|| {
            caret += 1;
            insert(&mut doc, text, caret - 1, "x")
        });
    });
    let (mut doc, text) = written();
    let mut random = Random(2);
    group.bench_function("a letter at a random place", |bencher| {
        bencher.iter_batched(
            || random.below(LETTERS),
            |at| insert(&mut doc, text, at, "x"),
            BatchSize::SmallInput,
        );
    });
    let (doc, text) = written();
    group.throughput(Throughput::Elements(1_000));
    group.bench_function("1,000 backspaces", |bencher| {
        bencher.iter_batched_ref(
            || doc.clone(),
            |doc| {
                for at in (LETTERS / 2 - 1_000..LETTERS / 2).rev() {
                    delete(doc, text, at, 1);
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.bench_function("1,000 deletions at random places", |bencher| {
        let mut random = Random(3);
        bencher.iter_batched_ref(
            || doc.clone(),
            |doc| {
                for _ in 0..1_000 {
                    delete(doc, text, random.below(LETTERS - 1_000), 1);
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// Somebody else's updates.
fn integrate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("integrate");
    group.throughput(Throughput::Elements(1_000));
    let (base, _) = written();
    let there = || {
        let (mut doc, text) = new(2);
        doc.apply_v1(&base.state_v1()).unwrap();
        (doc, text)
    };
    let (mut doc, text) = there();
    let typed: Vec<Vec<u8>> =
        (0..1_000).filter_map(|at| insert(&mut doc, text, LETTERS / 2 + at, "x")).collect();
    let (mut doc, text) = there();
    let mut random = Random(4);
    let scattered: Vec<Vec<u8>> =
        (0..1_000).filter_map(|_| insert(&mut doc, text, random.below(LETTERS), "x")).collect();
    let (mut doc, text) = there();
    let before: Vec<Vec<u8>> = (0..1_000).filter_map(|_| insert(&mut doc, text, 0, "x")).collect();
    let mut rival = base.clone();
    for _ in 0..1_000 {
        insert(&mut rival, text, 0, "y");
    }
    for (name, doc, updates) in [
        ("1,000 letters at one caret", &base, typed),
        ("1,000 letters at random places", &base, scattered),
        ("1,000 letters where 1,000 others were put at once", &rival, before),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched_ref(
                || doc.clone(),
                |doc| {
                    for update in &updates {
                        doc.apply_v1(update).unwrap();
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

/// Whole documents of 10,000 items.
fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("whole document");
    let (doc, text) = written();
    let (v1, v2) = (doc.state_v1(), doc.state_v2());
    group.bench_function("encode, first format", |bencher| bencher.iter(|| doc.state_v1()));
    group.bench_function("encode, second format", |bencher| bencher.iter(|| doc.state_v2()));
    group.bench_function("parse, first format", |bencher| {
        bencher.iter_with_large_drop(|| {
            let (mut doc, _) = new(2);
            doc.apply_v1(black_box(&v1)).unwrap();
            doc
        });
    });
    group.bench_function("parse, second format", |bencher| {
        bencher.iter_with_large_drop(|| {
            let (mut doc, _) = new(2);
            doc.apply_v2(black_box(&v2)).unwrap();
            doc
        });
    });
    group.bench_function("read the text", |bencher| bencher.iter(|| text.read(&doc)));
    group.finish();
}

/// From a position to the item that stands there, and back.
fn places(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("place");
    let (doc, text) = written();
    let mut random = Random(5);
    group.bench_function("position to item", |bencher| {
        bencher.iter_batched(
            || random.below(LETTERS),
            |at| text.anchor(&doc, at, Assoc::After),
            BatchSize::SmallInput,
        );
    });
    let anchors: Vec<Anchor> =
        (0..1_000).map(|_| text.anchor(&doc, random.below(LETTERS), Assoc::After)).collect();
    let mut next = 0;
    group.bench_function("item to position", |bencher| {
        bencher.iter(|| {
            next = (next + 1) % anchors.len();
            anchors[next].resolve(&doc)
        });
    });
    group.finish();
}

/// Updates without a document.
fn updates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("updates alone");
    let (mut doc, text) = written();
    let state = doc.state_v1();
    let half = StateVector::decode(&[1, 1, 0xd0, 0x86, 0x03]).unwrap();
    group.bench_function("diff of 10,000 items", |bencher| {
        bencher.iter(|| update::diff_v1(black_box(&state), &half).unwrap());
    });
    group.bench_function("state vector of 10,000 items", |bencher| {
        bencher.iter(|| update::state_vector_v1(black_box(&state)).unwrap());
    });
    group.bench_function("first format to second, 10,000 items", |bencher| {
        bencher.iter(|| update::v1_to_v2(black_box(&state)).unwrap());
    });
    let mut random = Random(6);
    let letters: Vec<Vec<u8>> =
        (0..1_000).filter_map(|_| insert(&mut doc, text, random.below(LETTERS), "x")).collect();
    let letters: Vec<&[u8]> = letters.iter().map(Vec::as_slice).collect();
    group.bench_function("merge 1,000 updates of a letter", |bencher| {
        bencher.iter(|| update::merge_v1(black_box(&letters)).unwrap());
    });
    let all = [state.as_slice(), letters[0]];
    group.bench_function("merge a letter into 10,000 items", |bencher| {
        bencher.iter(|| update::merge_v1(black_box(&all)).unwrap());
    });
    group.finish();
}

criterion_group!(benches, edits, integrate, whole, places, updates);
criterion_main!(benches);
