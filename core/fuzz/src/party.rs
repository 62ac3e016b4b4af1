//! Several replicas that edit at once and hear of each other late, twice, merged, converted or not at all, and what
//! must hold then.
//!
//! After every step of a small party, and every hundredth of a large one, the document that changed is checked against
//! the invariants of `crdt` ([`Doc::check`]), and the text deltas of the step must lead from the text before it to the
//! text after it. At each meeting everybody gets what they lack, by state vectors. Then all must be equal in content
//! (formats, nested types), in state vector, in the bytes of what a fresh document makes of their state, and in the
//! bytes of their own states where Yjs has them equal ([`Setting::has_equal_bytes`]).
//!
//! Positions lie between characters: whether a surrogate pair was ever cut in two depends on what a replica has heard
//! when, in Yjs as well.

use crdt::{
    ClientId, Commit, Delta, Doc, Inserted, Options, Origin, Shared, StateVector, Text, TextChange,
    UndoManager, UndoOptions, Value, update,
};

use crate::choices::Choices;
use crate::edits::{DEPTH, KEYS, Roots, change, descend, units};

/// Who drops the contents of deleted items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collecting {
    /// Everybody.
    All,
    /// Nobody.
    None,
    /// Every other one.
    Some,
}

/// What a party is like.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// How many replicas.
    pub replicas: u32,
    /// Who collects.
    pub collecting: Collecting,
    /// Whether each has an undo manager.
    pub undo: bool,
    /// Whether types are made in types.
    pub nested: bool,
    /// After how many steps a document is checked.
    pub check_every: u32,
}

impl Setting {
    /// Whether all states have the same bytes once everybody has everything.
    ///
    /// Not so with undo: what can be undone is kept, and what was undone is not joined, only where it was undone. Not
    /// so if only some collect what was deleted. And where a type is collected whose elements were deleted before,
    /// these stay apart from their neighbors, while who hears of both at once joins them.
    fn has_equal_bytes(self) -> bool {
        match self.collecting {
            Collecting::All => !self.undo && !self.nested,
            Collecting::None => !self.undo,
            Collecting::Some => false,
        }
    }
}

/// What a party did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Edits: single insertions, deletions, formats, values set or taken away.
    pub edits: u64,
    /// Transactions of edits.
    pub transactions: u64,
    /// Steps undone and redone.
    pub undos: u64,
    /// Updates applied, those at meetings aside.
    pub deliveries: u64,
    /// Documents checked against all invariants.
    pub checks: u64,
    /// Meetings at which all were equal.
    pub meetings: u64,
}

impl Counts {
    /// Adds another party's counts.
    pub fn add(&mut self, other: Self) {
        self.edits += other.edits;
        self.transactions += other.transactions;
        self.undos += other.undos;
        self.deliveries += other.deliveries;
        self.checks += other.checks;
        self.meetings += other.meetings;
    }
}

/// Several replicas of one document.
#[derive(Debug)]
pub struct Party {
    setting: Setting,
    replicas: Vec<Replica>,
    /// Updates in both formats that may still be delivered.
    told: Vec<Told>,
    steps: u32,
    counts: Counts,
}

#[derive(Debug)]
struct Replica {
    doc: Doc,
    roots: Roots,
    undo: Option<UndoManager>,
    now_ms: u64,
}

#[derive(Debug, Clone)]
struct Told {
    v1: Vec<u8>,
    v2: Vec<u8>,
}

/// How many updates are remembered for a late or second delivery.
const REMEMBERED: usize = 400;

impl Party {
    /// Makes a party of empty documents.
    pub fn new(setting: Setting) -> Self {
        let replica = |number: u32| {
            let gc = match setting.collecting {
                Collecting::All => true,
                Collecting::None => false,
                Collecting::Some => number.is_multiple_of(2),
            };
            let client = ClientId::new(u64::from(number) * 1_000_003 + 1).expect("below 2^53");
            let mut doc =
                Doc::new(client, Options { gc, seed: u64::from(number), ..Options::default() });
            let roots = Roots::of(&mut doc);
            let undo = setting
                .undo
                .then(|| doc.track(UndoOptions { capture_ms: 20, ..UndoOptions::default() }));
            Replica { doc, roots, undo, now_ms: 1 }
        };
        Self {
            setting,
            replicas: (0..setting.replicas).map(replica).collect(),
            told: Vec::new(),
            steps: 0,
            counts: Counts::default(),
        }
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes one step: an edit, an undo, or a delivery.
    ///
    /// # Panics
    /// Something does not hold.
    pub fn step(&mut self, choices: &mut impl Choices) {
        let who = choices.below(self.setting.replicas) as usize;
        match choices.below(100) {
            0..52 => self.edit(who, choices),
            52..60 if self.setting.undo => self.undo(who, choices),
            60..66 => self.ask(who, choices),
            _ => self.deliver(who, choices),
        }
        self.steps += 1;
        if self.steps.is_multiple_of(self.setting.check_every) {
            self.check(who);
        }
    }

    fn check(&mut self, who: usize) {
        self.counts.checks += 1;
        let doc = &self.replicas[who].doc;
        if let Err(problem) = doc.check().and_then(|()| doc.check_origins()) {
            panic!("replica {who}: {problem}");
        }
    }

    /// Several edits in one transaction.
    fn edit(&mut self, who: usize, choices: &mut impl Choices) {
        let most = if self.setting.nested { DEPTH } else { 0 };
        let replica = &mut self.replicas[who];
        replica.now_ms += u64::from(choices.below(30));
        // What another origin does is not undone.
        let origin = Origin(u64::from(choices.chance(20)));
        let before = units(&replica.doc, replica.roots.text);
        let mut transaction = replica.doc.transact_as(origin, replica.now_ms);
        for _ in 0..=choices.below(4) {
            let at = descend(transaction.doc(), replica.roots, most, choices);
            change(&mut transaction, at, choices).expect("an edit in range");
            self.counts.edits += 1;
        }
        let commit = transaction.commit();
        self.told.extend(told(&commit));
        follow(&commit, replica.roots.text, &before);
        self.counts.transactions += 1;
        self.forget();
    }

    fn undo(&mut self, who: usize, choices: &mut impl Choices) {
        let replica = &mut self.replicas[who];
        let Some(manager) = replica.undo else { return };
        replica.now_ms += 5;
        if choices.chance(10) {
            manager.stop(&mut replica.doc);
        }
        let before = units(&replica.doc, replica.roots.text);
        let commit = if choices.chance(60) {
            manager.undo(&mut replica.doc)
        } else {
            manager.redo(&mut replica.doc)
        };
        if let Some(commit) = commit.expect("clocks are left") {
            self.told.extend(told(&commit));
            follow(&commit, replica.roots.text, &before);
            self.counts.undos += 1;
            self.forget();
        }
    }

    fn forget(&mut self) {
        if self.told.len() > 2 * REMEMBERED {
            self.told.drain(..self.told.len() - REMEMBERED);
        }
    }

    /// Delivers what was told once: any of it, any number of times, alone, merged or converted.
    fn deliver(&mut self, who: usize, choices: &mut impl Choices) {
        let len = u32::try_from(self.told.len()).expect("few are remembered");
        if len == 0 {
            return;
        }
        // What was told lately more often, so that much finds its place at once.
        let recent = choices.chance(70);
        let any = |choices: &mut _| -> usize {
            let from = if recent { len.saturating_sub(12) } else { 0 };
            (from + Choices::below(choices, len - from)) as usize
        };
        let is_v1 = choices.chance(50);
        let update = match choices.below(10) {
            0..6 => {
                let told = &self.told[any(choices)];
                if is_v1 { told.v1.clone() } else { told.v2.clone() }
            }
            6..8 => {
                let told = &self.told[any(choices)];
                let converted =
                    if is_v1 { update::v2_to_v1(&told.v2) } else { update::v1_to_v2(&told.v1) };
                converted.expect("our own update")
            }
            _ => {
                let some: Vec<usize> = (0..2 + choices.below(4)).map(|_| any(choices)).collect();
                if is_v1 {
                    let some: Vec<&[u8]> = some.iter().map(|&at| &*self.told[at].v1).collect();
                    update::merge_v1(&some).expect("our own updates")
                } else {
                    let some: Vec<&[u8]> = some.iter().map(|&at| &*self.told[at].v2).collect();
                    update::merge_v2(&some).expect("our own updates")
                }
            }
        };
        self.apply(who, &update, is_v1);
        self.counts.deliveries += 1;
    }

    /// Asks one other replica for everything.
    fn ask(&mut self, who: usize, choices: &mut impl Choices) {
        let other = choices.below(self.setting.replicas) as usize;
        let is_v1 = choices.chance(50);
        if other != who {
            self.bring(other, who, is_v1);
            self.counts.deliveries += 1;
        }
    }

    /// Brings one replica what it lacks of another; whether that told anything.
    fn bring(&mut self, from: usize, to: usize, is_v1: bool) -> bool {
        let known = self.replicas[to].doc.state_vector();
        let doc = &self.replicas[from].doc;
        let update = if is_v1 { doc.diff_v1(&known) } else { doc.diff_v2(&known) };
        self.apply(to, &update, is_v1)
    }

    fn apply(&mut self, who: usize, update: &[u8], is_v1: bool) -> bool {
        let replica = &mut self.replicas[who];
        let before = units(&replica.doc, replica.roots.text);
        let applied =
            if is_v1 { replica.doc.apply_v1(update) } else { replica.doc.apply_v2(update) };
        let commit = applied.expect("our own update");
        let told = told(&commit);
        let changed = !told.is_empty();
        follow(&commit, replica.roots.text, &before);
        // The first one is what the others have told; behind it, formats that say nothing were deleted.
        self.told.extend(told.into_iter().skip(1));
        changed
    }

    /// Lets everybody meet, and compares.
    ///
    /// # Panics
    /// Not all are equal, or something else does not hold.
    pub fn meet(&mut self) {
        let mut rounds = 0;
        loop {
            let mut changed = false;
            for other in 1..self.replicas.len() {
                changed |= self.bring(other, 0, rounds % 2 == 0);
            }
            for other in 1..self.replicas.len() {
                changed |= self.bring(0, other, rounds % 2 == 1);
            }
            if !changed {
                break;
            }
            rounds += 1;
            assert!(rounds < 20, "there is no end to what is told");
        }
        for who in 0..self.replicas.len() {
            self.check(who);
        }
        let sights: Vec<Sight> = self.replicas.iter().map(Sight::of).collect();
        for (who, sight) in sights.iter().enumerate().skip(1) {
            let first = &sights[0];
            assert!(first.waits.is_none(), "replica 0 waits for {:?}", first.waits);
            assert!(sight.waits.is_none(), "replica {who} waits for {:?}", sight.waits);
            same(&sight.content, &first.content, "content", who);
            assert_eq!(sight.known, first.known, "replica {who} knows other units");
            assert!(sight.reloaded == first.reloaded, "replica {who} loads as other bytes");
            if self.setting.has_equal_bytes() {
                assert!(sight.state == first.state, "replica {who} has other bytes");
            }
        }
        self.counts.meetings += 1;
    }
}

/// Tells where two replicas differ.
fn same(theirs: &str, first: &str, what: &str, who: usize) {
    if theirs != first {
        let at =
            theirs.bytes().zip(first.bytes()).take_while(|(left, right)| left == right).count();
        let around = |text: &str| {
            let from = text.floor_char_boundary(at.saturating_sub(80));
            text[from..text.floor_char_boundary((at + 120).min(text.len()))].to_owned()
        };
        panic!(
            "replica {who} has another {what} than replica 0:\n{}\n{}",
            around(theirs),
            around(first)
        );
    }
}

/// What is compared.
struct Sight {
    content: String,
    known: StateVector,
    waits: Option<String>,
    state: [Vec<u8>; 2],
    reloaded: [Vec<u8>; 2],
}

impl Sight {
    fn of(replica: &Replica) -> Self {
        let doc = &replica.doc;
        let mut content = String::new();
        for shared in replica.roots.all() {
            write_content(doc, shared, &mut content);
        }
        let state = [doc.state_v1(), doc.state_v2()];
        // One document for both formats would hide an error in the second.
        let load = |is_v1: bool| {
            let client = ClientId::new(999).expect("below 2^53");
            let mut fresh = Doc::new(client, Options { gc: true, seed: 0, ..Options::default() });
            let applied = if is_v1 { fresh.apply_v1(&state[0]) } else { fresh.apply_v2(&state[1]) };
            applied.expect("our own state");
            fresh.check().expect("a loaded document is sound");
            fresh.state_v1()
        };
        let reloaded = [load(true), load(false)];
        let waits = doc.waiting().map(|waiting| format!("{waiting:?}"));
        Self { content, known: doc.state_vector(), waits, state, reloaded }
    }
}

/// Everything that a type shows, in an order that is the same everywhere.
fn write_content(doc: &Doc, shared: Shared, out: &mut String) {
    use std::fmt::Write as _;
    let value = |value: Option<Value>, out: &mut String| match value {
        Some(Value::Shared(shared)) => write_content(doc, shared, out),
        // Whether it is loaded is everybody's own affair.
        Some(Value::Doc(subdoc)) => out.push_str(&subdoc.guid),
        other => write!(out, "{other:?},").expect("a string takes all"),
    };
    match shared {
        Shared::Text(text) => {
            out.push_str("text[");
            for step in text.delta(doc) {
                let Delta::Insert(inserted, attributes) = step else { continue };
                match inserted {
                    Inserted::Shared(shared) => write_content(doc, shared, out),
                    other => write!(out, "{other:?}").expect("a string takes all"),
                }
                let mut attributes: Vec<_> = attributes.iter().collect();
                attributes.sort_by_key(|(key, _)| *key);
                write!(out, "{attributes:?},").expect("a string takes all");
            }
            for key in KEYS {
                value(text.attribute(doc, key), out);
            }
        }
        Shared::Array(array) => {
            out.push_str("array[");
            array.read(doc).into_iter().for_each(|element| value(Some(element), out));
        }
        Shared::Map(map) => {
            out.push_str("map[");
            let mut keys = map.keys(doc);
            keys.sort();
            for key in keys {
                write!(out, "{key:?}:").expect("a string takes all");
                value(map.get(doc, &key), out);
            }
        }
        Shared::Xml(xml) => {
            write!(out, "xml {:?}[", xml.name(doc)).expect("a string takes all");
            xml.children(doc).into_iter().for_each(|child| value(Some(child), out));
            let mut keys = xml.attributes(doc);
            keys.sort();
            for key in keys {
                write!(out, "{key:?}:").expect("a string takes all");
                value(xml.attribute(doc, &key), out);
            }
        }
    }
    out.push(']');
}

fn told(commit: &Commit<'_>) -> Vec<Told> {
    let events = commit.events_v1().into_iter().zip(commit.events_v2());
    events.map(|(v1, v2)| Told { v1, v2 }).collect()
}

/// The delta of a text must lead from what it was to what it is. That a character was cut in two is told by no delta.
fn follow(commit: &Commit<'_>, text: Text, before: &[u16]) {
    let mut rest = before;
    let mut got = Vec::new();
    let delta = commit.text_delta(text);
    for change in &delta {
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
    let whole = |units: &[u16]| -> Vec<u16> {
        let is_half = |unit| (0xd800..0xe000).contains(&unit);
        units.iter().map(|&unit| if is_half(unit) { 0xfffd } else { unit }).collect()
    };
    let after = units(commit.doc(), text);
    assert_eq!(whole(&got), whole(&after), "{delta:?} does not lead there");
}
