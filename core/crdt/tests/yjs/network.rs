//! A network of replicas that send each other what they do, lose touch, and find together again.
//!
//! Everything happens in one thread and by a seed. What a replica tells waits in the inboxes of those that are online;
//! when it is read is up to the test or to chance, but never out of order between two replicas. A replica that comes
//! back tells what it knows and is answered with what it lacks. Half of the updates travel in each format. As with
//! Yjs's providers, what a replica cleans after a remote edit is an update of its own, which goes to the others.

use std::collections::VecDeque;

use crdt::{
    Array, ClientId, Commit, Doc, Error, Event, Map, Observer, Options, Origin, StateVector, Text,
    Transaction, UndoManager, Xml, update,
};
use serde_json::{Value as Json, json};

use crate::json::{content, delta};

/// When all edits are made: one after the other is one step for an undo manager, unless that is told to stop.
pub(crate) const NOW_MS: u64 = 1_000;

/// The origin of what came from another replica, which no undo manager here tracks.
pub(crate) const REMOTE: Origin = Origin(u64::MAX);

/// A source of chance that a seed repeats (`SplitMix64`).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `bound`, that one left out; 0 if there is none.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound.max(1))).unwrap()
    }

    /// Whether something happens that does so `percent` times in a hundred.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(u32::try_from(choices.len()).unwrap()) as usize]
    }

    /// A word of a few letters, perhaps none.
    pub(crate) fn word(&mut self) -> String {
        let letters = self.below(15);
        (0..letters).map(|_| char::from(b'a' + u8::try_from(self.below(26)).unwrap())).collect()
    }
}

/// What one replica says to another.
#[derive(Debug, Clone)]
enum Message {
    /// "This is what I know": to be answered with what the other one lacks.
    Known(StateVector),
    UpdateV1(Vec<u8>),
    UpdateV2(Vec<u8>),
}

#[derive(Debug)]
struct Replica {
    doc: Doc,
    online: bool,
    /// What has come and was not read yet, by who sent it.
    inbox: Vec<VecDeque<Message>>,
    /// All update events of this replica so far, of its own edits and of others'.
    told_v1: Vec<Vec<u8>>,
    told_v2: Vec<Vec<u8>>,
    observer: Option<Observer>,
    /// For each commit that had any, the events of the observer.
    heard: Vec<Vec<Event>>,
    array: Array,
    map: Map,
    text: Text,
    xml: Xml,
}

/// What a commit tells: update events in both formats, and the events of an observer.
#[derive(Debug)]
struct Told {
    v1: Vec<Vec<u8>>,
    v2: Vec<Vec<u8>>,
    events: Vec<Event>,
}

impl Told {
    fn of(commit: &Commit<'_>, observer: Option<Observer>) -> Self {
        let events = observer.map_or_else(Vec::new, |observer| commit.events(observer).to_vec());
        Self { v1: commit.events_v1(), v2: commit.events_v2(), events }
    }
}

/// Replicas 0, 1, 2, ..., whose client ids are their numbers.
#[derive(Debug)]
pub(crate) struct Network {
    replicas: Vec<Replica>,
    pub(crate) random: Random,
}

impl Network {
    /// Makes replicas that are online and collect what is deleted.
    pub(crate) fn new(replicas: usize, seed: u64) -> Self {
        Self::with_options(replicas, seed, Options::default())
    }

    /// Makes replicas with options.
    pub(crate) fn with_options(replicas: usize, seed: u64, options: Options) -> Self {
        let replica = |at: usize| {
            let mut doc = Doc::new(ClientId::new(at as u64).unwrap(), options);
            let (array, map) = (doc.array("array"), doc.map("map"));
            let (text, xml) = (doc.text("text"), doc.xml("xml"));
            let inbox = vec![VecDeque::new(); replicas];
            let (told_v1, told_v2) = (Vec::new(), Vec::new());
            Replica {
                doc,
                online: true,
                inbox,
                told_v1,
                told_v2,
                observer: None,
                heard: Vec::new(),
                array,
                map,
                text,
                xml,
            }
        };
        Self { replicas: (0..replicas).map(replica).collect(), random: Random::new(seed) }
    }

    /// How many replicas there are.
    pub(crate) fn len(&self) -> usize {
        self.replicas.len()
    }

    pub(crate) fn doc(&self, at: usize) -> &Doc {
        &self.replicas[at].doc
    }

    /// A document for what tells no update; edits go through [`Network::edit`].
    pub(crate) fn doc_mut(&mut self, at: usize) -> &mut Doc {
        &mut self.replicas[at].doc
    }

    pub(crate) fn array(&self, at: usize) -> Array {
        self.replicas[at].array
    }

    pub(crate) fn map(&self, at: usize) -> Map {
        self.replicas[at].map
    }

    pub(crate) fn text(&self, at: usize) -> Text {
        self.replicas[at].text
    }

    pub(crate) fn xml(&self, at: usize) -> Xml {
        self.replicas[at].xml
    }

    /// Edits a replica in one transaction and tells the others.
    pub(crate) fn edit<T>(
        &mut self,
        at: usize,
        edit: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> T {
        let mut made = None;
        self.commit(at, |doc| {
            let mut transaction = doc.transact_as(Origin::default(), NOW_MS);
            made = Some(edit(&mut transaction).unwrap());
            Some(transaction.commit())
        });
        made.unwrap()
    }

    /// Lets an undo manager of a replica undo, and tells the others; returns whether that changed anything.
    pub(crate) fn undo(&mut self, at: usize, manager: UndoManager) -> bool {
        self.commit(at, |doc| manager.undo(doc).unwrap())
    }

    /// Lets an undo manager of a replica redo, and tells the others; returns whether that changed anything.
    pub(crate) fn redo(&mut self, at: usize, manager: UndoManager) -> bool {
        self.commit(at, |doc| manager.redo(doc).unwrap())
    }

    /// Commits something to a replica and tells the others; returns whether there was a commit.
    pub(crate) fn commit(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut Doc) -> Option<Commit<'_>>,
    ) -> bool {
        let replica = &mut self.replicas[at];
        let Some(commit) = change(&mut replica.doc) else { return false };
        let told = Told::of(&commit, replica.observer);
        self.tell(at, told, 0);
        true
    }

    /// Lets a replica keep the events of an observer.
    pub(crate) fn listen(&mut self, at: usize, observe: impl FnOnce(&mut Doc) -> Observer) {
        let replica = &mut self.replicas[at];
        replica.observer = Some(observe(&mut replica.doc));
    }

    /// Takes what a replica heard: for each commit that had any, its events.
    pub(crate) fn heard(&mut self, at: usize) -> Vec<Vec<Event>> {
        std::mem::take(&mut self.replicas[at].heard)
    }

    /// Keeps what a commit of a replica told, and sends the others its updates from the `own` one on.
    fn tell(&mut self, at: usize, told: Told, own: usize) {
        if !told.events.is_empty() {
            self.replicas[at].heard.push(told.events);
        }
        for (number, (v1, v2)) in told.v1.into_iter().zip(told.v2).enumerate() {
            if self.replicas[at].online && number >= own {
                let first = self.random.chance(50);
                let message = if first {
                    Message::UpdateV1(v1.clone())
                } else {
                    Message::UpdateV2(v2.clone())
                };
                for to in 0..self.len() {
                    if to != at && self.replicas[to].online {
                        self.replicas[to].inbox[at].push_back(message.clone());
                    }
                }
            }
            self.replicas[at].told_v1.push(v1);
            self.replicas[at].told_v2.push(v2);
        }
    }

    /// Takes a replica off the network; what it had not read is lost.
    pub(crate) fn disconnect(&mut self, at: usize) {
        let replica = &mut self.replicas[at];
        replica.online = false;
        replica.inbox.iter_mut().for_each(VecDeque::clear);
    }

    /// Brings a replica back: it and each of the others say what they know.
    pub(crate) fn connect(&mut self, at: usize) {
        if self.replicas[at].online {
            return;
        }
        self.replicas[at].online = true;
        for other in (0..self.len()).filter(|&other| other != at) {
            if self.replicas[other].online {
                let (ours, theirs) = (self.doc(at).state_vector(), self.doc(other).state_vector());
                self.replicas[other].inbox[at].push_back(Message::Known(ours));
                self.replicas[at].inbox[other].push_back(Message::Known(theirs));
            }
        }
    }

    /// Takes one replica off the network, if any is on it.
    pub(crate) fn disconnect_one(&mut self) {
        let online: Vec<usize> = (0..self.len()).filter(|&at| self.replicas[at].online).collect();
        if !online.is_empty() {
            let at = *self.random.pick(&online);
            self.disconnect(at);
        }
    }

    /// Brings one replica back, if any is away.
    pub(crate) fn connect_one(&mut self) {
        let away: Vec<usize> = (0..self.len()).filter(|&at| !self.replicas[at].online).collect();
        if !away.is_empty() {
            let at = *self.random.pick(&away);
            self.connect(at);
        }
    }

    /// Lets some replica read one message; false if there is none.
    pub(crate) fn deliver_one(&mut self) -> bool {
        let mut waiting = Vec::new();
        for (to, replica) in self.replicas.iter().enumerate().filter(|(_, replica)| replica.online)
        {
            for (from, messages) in replica.inbox.iter().enumerate() {
                if !messages.is_empty() {
                    waiting.push((to, from));
                }
            }
        }
        if waiting.is_empty() {
            return false;
        }
        let (to, from) = *self.random.pick(&waiting);
        let message = self.replicas[to].inbox[from].pop_front().unwrap();
        let replica = &mut self.replicas[to];
        let mut transaction;
        match message {
            Message::Known(known) => {
                let answer = if self.random.chance(50) {
                    Message::UpdateV1(replica.doc.diff_v1(&known))
                } else {
                    Message::UpdateV2(replica.doc.diff_v2(&known))
                };
                self.replicas[from].inbox[to].push_back(answer);
                return true;
            }
            Message::UpdateV1(update) => {
                transaction = replica.doc.transact_as(REMOTE, NOW_MS);
                transaction.apply_v1(&update).unwrap();
            }
            Message::UpdateV2(update) => {
                transaction = replica.doc.transact_as(REMOTE, NOW_MS);
                transaction.apply_v2(&update).unwrap();
            }
        }
        let commit = transaction.commit();
        // What came from elsewhere is not passed on; that formats were cleaned after it, nobody else tells.
        let told = Told::of(&commit, replica.observer);
        self.tell(to, told, 1);
        true
    }

    /// Lets all replicas that are online read everything.
    pub(crate) fn deliver_all(&mut self) {
        while self.deliver_one() {}
    }

    /// Brings all replicas together and lets them read everything.
    pub(crate) fn sync(&mut self) {
        for at in 0..self.len() {
            self.connect(at);
        }
        self.deliver_all();
    }

    /// Makes random edits while replicas lose touch, find together again, and read now and then.
    pub(crate) fn edit_at_random(&mut self, edits: usize, kinds: &[Edit]) {
        for _ in 0..edits {
            if self.random.chance(3) {
                if self.random.chance(50) {
                    self.disconnect_one();
                } else {
                    self.connect_one();
                }
            } else if self.random.chance(2) {
                self.deliver_all();
            } else if self.random.chance(50) {
                self.deliver_one();
            }
            let at = self.random.below(u32::try_from(self.len()).unwrap()) as usize;
            let edit = *self.random.pick(kinds);
            edit(self, at);
        }
    }

    /// What a replica shows.
    pub(crate) fn shown(&self, at: usize) -> Json {
        let replica = &self.replicas[at];
        json!({
            "array": content(&replica.doc, replica.array),
            "map": content(&replica.doc, replica.map),
            "text": delta(&replica.doc, replica.text),
            "xml": content(&replica.doc, replica.xml),
        })
    }

    /// Brings all together, and holds them against each other: sound, waiting for nothing, with the same content and
    /// deletions.
    #[track_caller]
    pub(crate) fn agree(&mut self) {
        self.sync();
        let (content, moment) = (self.shown(0), self.doc(0).snapshot());
        for at in 0..self.len() {
            let doc = self.doc(at);
            doc.check().and_then(|()| doc.check_origins()).unwrap();
            assert_eq!(doc.waiting(), None, "replica {at}");
            assert_eq!(self.shown(at), content, "what replicas 0 and {at} show");
            assert_eq!(doc.snapshot(), moment, "the moments of replicas 0 and {at}");
        }
    }

    /// As [`Network::agree`], to the byte; and documents made of all that each was told are the same too. Not for
    /// replicas that undo: they keep what they deleted.
    #[track_caller]
    pub(crate) fn converge(&mut self) {
        self.agree();
        let (state_v1, state_v2) = (self.doc(0).state_v1(), self.doc(0).state_v2());
        for (at, replica) in self.replicas.iter().enumerate() {
            assert_eq!(replica.doc.state_v1(), state_v1, "the states of replicas 0 and {at}");
            assert_eq!(replica.doc.state_v2(), state_v2, "the states of replicas 0 and {at}");
            let mut merged = self.blank();
            let told: Vec<&[u8]> = replica.told_v1.iter().map(Vec::as_slice).collect();
            merged.apply_v1(&update::merge_v1(&told).unwrap()).unwrap();
            assert_eq!(merged.state_v1(), state_v1, "what replica {at} was told, merged");
            let mut merged = self.blank();
            let told: Vec<&[u8]> = replica.told_v2.iter().map(Vec::as_slice).collect();
            merged.apply_v2(&update::merge_v2(&told).unwrap()).unwrap();
            assert_eq!(merged.state_v1(), state_v1, "what replica {at} was told, merged");
        }
    }

    /// A document with the roots of a replica and nothing in it.
    fn blank(&self) -> Doc {
        let mut doc = Doc::new(ClientId::new(self.len() as u64).unwrap(), Options::default());
        doc.array("array");
        doc.map("map");
        doc.text("text");
        doc.xml("xml");
        doc
    }
}

/// One kind of edit, made at random in the replica of this number.
pub(crate) type Edit = fn(&mut Network, usize);

/// Makes random edits in five replicas that lose touch and find together again, read now and then, and converge.
#[track_caller]
pub(crate) fn edit_at_random(seed: u64, edits: usize, kinds: &[Edit]) -> Network {
    let mut network = Network::new(5, seed);
    network.edit_at_random(edits, kinds);
    network.converge();
    network
}

#[test]
fn replicas_that_lose_touch_converge() {
    let letters: Edit = |network, at| {
        let text = network.text(at);
        let index = network.random.below(text.len(network.doc(at)) + 1);
        let word = network.random.word();
        network.edit(at, |edit| text.insert(edit, index, &word));
    };
    let cut: Edit = |network, at| {
        let text = network.text(at);
        let len = text.len(network.doc(at));
        let index = network.random.below(len);
        let count = network.random.below(len - index).min(3);
        network.edit(at, |edit| text.delete(edit, index, count));
    };
    for seed in 0..20 {
        let network = edit_at_random(seed, 100, &[letters, cut]);
        assert!(!network.text(0).is_empty(network.doc(0)));
    }
}
