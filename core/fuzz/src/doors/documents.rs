//! Doors of `crdt`: updates in both formats, what works on them without a document, state vectors, snapshots, anchors,
//! scripts of edits.

use std::sync::OnceLock;

use crdt::{
    Anchor, Any, ClientId, Doc, New, Object, Options, Snapshot, StateVector, UndoManager,
    UndoOptions, update,
};

use crate::choices::Script;
use crate::party::{Collecting, Party, Setting};

/// Above this many structs a document is not looked at any further: it would only take time. A few bytes of the second
/// format may lawfully be very many structs.
const MANY: usize = 2_000;

/// The client that edits a document after foreign bytes came in.
const OWN: u64 = 5_273_201_947_730_861;

type Refusable<T> = Result<T, crdt::Error>;

/// One of the two formats of updates.
#[derive(Clone, Copy)]
struct Format {
    apply: fn(&mut Doc, &[u8]) -> Refusable<bool>,
    state: fn(&Doc) -> Vec<u8>,
    merge: fn(&[&[u8]]) -> Refusable<Vec<u8>>,
    diff: fn(&[u8], &StateVector) -> Refusable<Vec<u8>>,
    convert: fn(&[u8]) -> Refusable<Vec<u8>>,
    state_vector: fn(&[u8]) -> Refusable<StateVector>,
    info: fn(&[u8]) -> Refusable<update::Info>,
    contains: fn(&Snapshot, &[u8]) -> Refusable<bool>,
}

const V1: Format = Format {
    apply: |doc, bytes| doc.apply_v1(bytes).map(|commit| commit.is_empty()),
    state: Doc::state_v1,
    merge: update::merge_v1,
    diff: update::diff_v1,
    convert: update::v1_to_v2,
    state_vector: update::state_vector_v1,
    info: update::info_v1,
    contains: Snapshot::contains_v1,
};

const V2: Format = Format {
    apply: |doc, bytes| doc.apply_v2(bytes).map(|commit| commit.is_empty()),
    state: Doc::state_v2,
    merge: update::merge_v2,
    diff: update::diff_v2,
    convert: update::v2_to_v1,
    state_vector: update::state_vector_v2,
    info: update::info_v2,
    contains: Snapshot::contains_v2,
};

/// An update of the first format.
pub(super) fn update_v1(bytes: &[u8]) {
    taken_whole_or_not(V1, V2, bytes);
}

/// An update of the second format.
pub(super) fn update_v2(bytes: &[u8]) {
    taken_whole_or_not(V2, V1, bytes);
}

/// Updates of the first format, each behind its length: merged, compared, converted.
pub(super) fn tools_v1(bytes: &[u8]) {
    without_a_document(V1, V2, bytes);
}

/// Updates of the second format, each behind its length: merged, compared, converted.
pub(super) fn tools_v2(bytes: &[u8]) {
    without_a_document(V2, V1, bytes);
}

fn client(id: u64) -> ClientId {
    ClientId::new(id).unwrap()
}

fn empty(id: u64, gc: bool) -> Doc {
    let mut doc = Doc::new(client(id), Options { gc, seed: 5, ..Options::default() });
    doc.text("t");
    doc.map("m");
    doc.array("a");
    doc.xml("x");
    doc
}

/// A document with something of everything; its edits can be undone.
fn filled(gc: bool) -> (Doc, UndoManager) {
    static FILLED: [OnceLock<(Doc, UndoManager)>; 2] = [const { OnceLock::new() }; 2];
    FILLED[usize::from(gc)].get_or_init(|| fill(gc)).clone()
}

fn fill(gc: bool) -> (Doc, UndoManager) {
    let mut doc = empty(1, gc);
    let undo = doc.track(UndoOptions::default());
    let (text, map) = (doc.text("t"), doc.map("m"));
    let (array, xml) = (doc.array("a"), doc.xml("x"));
    let mut transaction = doc.transact();
    text.insert(&mut transaction, 0, "one 日本 😀 two\n").unwrap();
    let bold: Object = [("b".to_owned(), Any::from(true))].into_iter().collect();
    text.format(&mut transaction, 2, 5, &bold).unwrap();
    text.delete(&mut transaction, 1, 2).unwrap();
    map.insert_text(&mut transaction, "k").unwrap().insert(&mut transaction, 0, "in").unwrap();
    map.insert(&mut transaction, "l", 1).unwrap();
    array.insert(&mut transaction, 0, vec![New::from(1), New::Map, New::Text]).unwrap();
    array.delete(&mut transaction, 0, 1).unwrap();
    xml.insert(&mut transaction, 0, vec![New::XmlElement("p".to_owned())]).unwrap();
    transaction.commit();
    (doc, undo)
}

/// Bytes of a state, in both formats.
fn bytes_of(doc: &Doc) -> [Vec<u8>; 2] {
    [doc.state_v1(), doc.state_v2()]
}

fn sound(doc: &Doc) {
    if let Err(problem) = doc.check() {
        panic!("{problem}");
    }
}

/// An update is applied whole or not at all; either way the document goes on: it is edited, saved, loaded and undone.
fn taken_whole_or_not(format: Format, other: Format, bytes: &[u8]) {
    // What names units before they are made finds them when the document is loaded, not when they are made.
    let mut own = Vec::new();
    lib0::write_var_u64(&mut own, OWN);
    if bytes.windows(own.len()).any(|window| window == own) {
        return;
    }
    for (is_filled, gc) in [(false, true), (true, true), (true, false)] {
        let (mut doc, undo) = if is_filled {
            let (doc, undo) = filled(gc);
            (doc, Some(undo))
        } else {
            (empty(1, gc), None)
        };
        let before = bytes_of(&doc);
        let known = doc.state_vector();
        let clients = (format.info)(bytes).map_or(Vec::new(), |info| info.clients);
        let restates = clients.iter().any(|&(client, first, ..)| first < known.get(client));
        if (format.apply)(&mut doc, bytes).is_err() {
            assert!(bytes_of(&doc) == before, "refused, but not left alone");
        }
        let structs: usize = clients.iter().map(|client| client.3).sum();
        if structs.max(doc.structs()) > MANY {
            return;
        }
        sound(&doc);
        let (text, map) = (doc.text("t"), doc.map("m"));
        doc.set_client(client(OWN));
        let mut transaction = doc.transact();
        let end = text.len(transaction.doc());
        text.insert(&mut transaction, end, "end").unwrap();
        text.delete(&mut transaction, end / 2, 1).unwrap();
        map.insert(&mut transaction, "k", true).unwrap();
        transaction.commit();
        sound(&doc);
        loads_again(&doc, Told { restates, collects: gc }, format, other);
        if let Some(undo) = undo {
            while undo.undo(&mut doc).is_ok_and(|undone| undone.is_some()) {
                sound(&doc);
            }
            drop(undo.redo(&mut doc).map(|commit| commit.is_some()));
            sound(&doc);
        }
        // A second time nothing is new.
        let before = doc.state_vector();
        drop((format.apply)(&mut doc, bytes));
        sound(&doc);
        assert!(doc.state_vector().covers(&before));
    }
}

/// What was done to a document.
#[derive(Clone, Copy)]
struct Told {
    /// It was told of units that it knew already.
    restates: bool,
    /// It collects what is deleted.
    collects: bool,
}

/// What a document saves shows the same when it is loaded, whatever the format, and saves the same again.
fn loads_again(doc: &Doc, told: Told, format: Format, other: Format) {
    let load = |format: Format, state: &[u8]| {
        let mut fresh = empty(77, doc.state_v1().len().is_multiple_of(2));
        (format.apply)(&mut fresh, state).expect("our own state");
        sound(&fresh);
        fresh
    };
    let state = (format.state)(doc);
    let mut fresh = load(format, &state);
    // What was known already may have waited beside it, as in Yjs; that is not saved.
    assert!(fresh.waiting().is_none() || doc.waiting().is_some());
    // What waits may be known in part: as collected, or as something else if it was made up. A state has each unit once,
    // as the one or the other, so that more or less of it waits when it is loaded; less if it can't have been collected.
    let (now, then) = (fresh.state_vector(), doc.state_vector());
    let is_one = !(told.restates && doc.has_waiting_structs());
    assert!(now == then || !is_one && (told.collects || now.covers(&then)));
    assert_eq!(ends(&fresh.state_v1()), ends(&doc.state_v1()), "something of the state is gone");
    // An item whose neighbors were collected is collected when it is loaded. Only one that says it was typed where it
    // cannot have been was not collected with them; it is gone then, and what stands beside it when that is loaded.
    if is_one && doc.check_origins().is_ok() {
        let mut shown = doc.clone();
        let (ours, theirs) = (shown.text("t"), fresh.text("t"));
        assert_eq!(theirs.read(&fresh), ours.read(&shown));
    }
    let theirs = (format.convert)(&state).expect("our own state");
    let converted = load(other, &theirs);
    // As in Yjs the first format has no text for some values (a `BigInt`, NaN) and the second drops a `__proto__`.
    let back = (other.convert)(&theirs).expect("what was converted");
    let is_same = bytes_of(&converted) == bytes_of(&fresh);
    assert!(is_same || back != state, "converted, it is another state");
    let drops = state.windows(9).any(|window| window == b"__proto__");
    assert!(drops || converted.state_v1() == fresh.state_v1(), "converted, it has other items");
    let mut last = fresh;
    for _ in 0..=doc.structs() {
        let again = load(format, &(format.state)(&last));
        assert_eq!(again.state_vector(), now);
        if bytes_of(&again) == bytes_of(&last) {
            return;
        }
        assert!(last.check_origins().is_err(), "loaded again, it is another state");
        last = again;
    }
    panic!("each time it is loaded, it is another state");
}

/// Per client the clock after its last unit in an update of the first format.
fn ends(update: &[u8]) -> Vec<(ClientId, u32)> {
    let clients = update::info_v1(update).expect("our own state").clients;
    clients.into_iter().map(|(client, _, end, _)| (client, end)).collect()
}

/// Cuts bytes at lengths of one or two bytes, as Yjs writes numbers.
fn parts(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut reader = lib0::Reader::new(bytes);
    while parts.len() < 4 && !reader.is_empty() {
        match reader.clone().var_bytes() {
            Ok(part) => {
                parts.push(part);
                drop(reader.var_bytes());
            }
            Err(_) => parts.push(reader.rest()),
        }
    }
    parts
}

/// What needs no document agrees with itself: who reads bytes at one door reads them at all.
fn without_a_document(format: Format, other: Format, bytes: &[u8]) {
    let parts = parts(bytes);
    let mut good = Vec::new();
    let known = empty(1, true).state_vector();
    for part in parts {
        let info = (format.info)(part);
        let is_good = info.is_ok();
        let converted = (format.convert)(part);
        let moment = empty(1, true).snapshot();
        assert_eq!(converted.is_ok(), is_good);
        assert_eq!((format.state_vector)(part).is_ok(), is_good);
        assert_eq!((format.diff)(part, &known).is_ok(), is_good);
        assert_eq!((format.contains)(&moment, part).is_ok(), is_good);
        let Ok(info) = info else { continue };
        if info.clients.iter().map(|client| client.3).sum::<usize>() > MANY {
            return;
        }
        let back = (other.convert)(&converted.unwrap()).expect("what was converted");
        let again = (format.info)(&back).expect("what came back");
        // Ranges of deleted units are put in order and joined.
        assert_eq!((again.clients, again.missing), (info.clients, info.missing));
        assert!(again.deleted_units <= info.deleted_units);
        good.push(part);
    }
    let Ok(merged) = (format.merge)(&good) else {
        panic!("good updates cannot be merged");
    };
    let (mut one_by_one, mut at_once) = (empty(1, true), empty(1, true));
    let mut taken = true;
    for part in &good {
        taken &= (format.apply)(&mut one_by_one, part).is_ok();
    }
    sound(&one_by_one);
    if taken && !good.is_empty() {
        drop((format.apply)(&mut at_once, &merged));
        sound(&at_once);
    }
    let state_vector = (format.state_vector)(&merged).expect("what was merged");
    let rest = (format.diff)(&merged, &state_vector).expect("what was merged");
    drop((format.info)(&rest).expect("a difference is an update"));
}

/// A state vector.
pub(super) fn state_vector(bytes: &[u8]) {
    let Ok(state) = StateVector::decode(bytes) else { return };
    assert_eq!(StateVector::decode(&state.encode()).expect("our own"), state);
    let (doc, _) = filled(true);
    for difference in [doc.diff_v1(&state), update::v2_to_v1(&doc.diff_v2(&state)).unwrap()] {
        let mut fresh = empty(2, true);
        fresh.apply_v1(&difference).expect("our own update");
        sound(&fresh);
    }
}

/// A snapshot in either format.
pub(super) fn snapshot(bytes: &[u8]) {
    for is_v1 in [true, false] {
        let read = if is_v1 { Snapshot::decode_v1 } else { Snapshot::decode_v2 };
        let Ok(moment) = read(bytes) else { continue };
        let written = if is_v1 { moment.encode_v1() } else { moment.encode_v2() };
        assert_eq!(read(&written).expect("our own"), moment);
        for gc in [true, false] {
            let (mut doc, _) = filled(gc);
            let state = doc.state_v1();
            moment.contains_v1(&state).unwrap();
            if let Ok(mut then) = doc.restore(&moment, client(3)) {
                sound(&then);
                then.text("t").read(&then);
                assert!(!gc, "what was collected cannot be shown");
            }
            sound(&doc);
            let text = doc.text("t");
            text.delta_between(&mut doc, Some(&moment), None, None);
            text.delta_between(&mut doc, None, Some(&moment), None);
            sound(&doc);
        }
    }
}

/// An anchor, in bytes or as JSON.
pub(super) fn anchor(bytes: &[u8]) {
    let (doc, _) = filled(false);
    let text = std::str::from_utf8(bytes).ok();
    for anchor in [Anchor::decode(bytes).ok(), text.and_then(Anchor::from_json)] {
        let Some(anchor) = anchor else { continue };
        assert_eq!(Anchor::from_json(&anchor.to_json()).expect("our own"), anchor);
        // In bytes, a unit says in which type it is.
        let again = Anchor::decode(&anchor.encode()).expect("our own");
        assert_eq!(again.encode(), anchor.encode());
        assert_eq!(again.resolve(&doc), anchor.resolve(&doc));
    }
}

/// A script of edits by three replicas and of what they hear of each other.
pub(super) fn script(bytes: &[u8]) {
    let Some((&kind, rest)) = bytes.split_first() else { return };
    let mut party = Party::new(Setting {
        replicas: 3,
        collecting: [Collecting::All, Collecting::None, Collecting::Some][usize::from(kind % 3)],
        undo: kind / 3 % 2 == 1,
        nested: !(kind / 6).is_multiple_of(3),
        check_every: 1,
    });
    let mut choices = Script(rest);
    while !crate::choices::Choices::is_over(&choices) {
        party.step(&mut choices);
    }
    party.meet();
}
