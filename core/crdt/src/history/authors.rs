//! Who wrote each run of a text, and when.
//!
//! A document knows for each unit which client made it, but a client is only a number drawn at random: which person it
//! was, and at what time, stands elsewhere. [`Authors`] holds that: per client up to which clock a person had come at
//! what time, and per range of deleted units who deleted them. Whoever keeps a document's history fills it, a batch of
//! edits at a time. [`Text::runs`] then tells the runs of a text with person and time, and [`Text::runs_between`] what
//! came and went between two moments.
//!
//! What an undo brings back is a copy; it counts as made by whoever undid, at the time of the undo. The format has no
//! trace of whose text it is a copy of, so that is the only answer on which all replicas agree.
//!
//! Yjs has `PermanentUserData` for this (experimental): people write their client ids and their deletions into a map of
//! the document itself, without times. [`Authors::of_users`] reads such a map.
//!
//! ```
//! use crdt::{Authors, ClientId, Doc, Options};
//!
//! let client = ClientId::new(1).unwrap();
//! let mut doc = Doc::new(client, Options::default());
//! let text = doc.text("text");
//! let mut authors = Authors::default();
//! for (word, time_ms) in [("to be ", 1000), ("or not", 2000)] {
//!     let mut transaction = doc.transact();
//!     let end = text.len(transaction.doc());
//!     text.insert(&mut transaction, end, word)?;
//!     let update = transaction.commit().update_v1().unwrap();
//!     authors.add_update_v1(&update, "Ada", time_ms)?;
//! }
//! let runs = text.runs(&doc, &authors);
//! assert_eq!((runs[1].start, runs[1].len), (6, 6));
//! assert_eq!((runs[1].person, runs[1].time_ms), (Some("Ada"), Some(2000)));
//! # Ok::<(), crdt::Error>(())
//! ```

use std::collections::{BTreeMap, HashMap};

use lib0::Any;

use crate::doc::Doc;
use crate::encoding::block::Block;
use crate::encoding::decoder::{Decoder as _, DecoderV1, Update, read_deletes};
use crate::encoding::delete_set::DeleteSet;
use crate::error::Error;
use crate::history::snapshot::{Change, Snapshot};
use crate::id::ClientId;
use crate::structs::item::{Item, NIL};
use crate::types::map::Map;
use crate::types::text::Text;
use crate::types::value::{Shared, Value};

/// Which person made and deleted what, and when. What was told first holds.
#[derive(Debug, Clone, Default)]
pub struct Authors {
    people: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    /// Per client: the clocks that were reached (that of the unit after the last), and by whom. The units of an entry
    /// begin where the one before it ends.
    made: BTreeMap<ClientId, BTreeMap<u32, Author>>,
    /// Per client: where ranges begin that do not overlap, with where they end and who deleted them.
    deleted: BTreeMap<ClientId, BTreeMap<u32, (u32, Author)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Author {
    /// A place among the people.
    person: u32,
    time_ms: Option<u64>,
}

/// A run of a text that one client made (or one person deleted) at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run<'a> {
    /// Where it starts, in UTF-16 units; what was removed counts where it is told of.
    pub start: u32,
    /// Its length in UTF-16 units.
    pub len: u32,
    /// The client that made it.
    pub client: ClientId,
    /// Who made it; who deleted it, if it was removed. `None` if nobody said.
    pub person: Option<&'a str>,
    /// When that was, in milliseconds. `None` if nobody said.
    pub time_ms: Option<u64>,
    /// What happened to it between two moments; `None` if it was there at both.
    pub change: Option<Change>,
}

impl Authors {
    fn author(&mut self, person: &str, time_ms: Option<u64>) -> Author {
        let number = if let Some(&number) = self.numbers.get(person) {
            number
        } else {
            let number = u32::try_from(self.people.len()).expect("fewer than 2^32 people");
            self.people.push(person.into());
            self.numbers.insert(person.into(), number);
            number
        };
        Author { person: number, time_ms }
    }

    /// Says that a person had come up to a clock (that of the unit after the last) at a time in milliseconds, with a
    /// client of theirs. What that client made before the last clock below it is not concerned.
    pub fn add(&mut self, client: ClientId, up_to_clock: u32, person: &str, time_ms: u64) {
        let author = self.author(person, Some(time_ms));
        self.made.entry(client).or_default().entry(up_to_clock).or_insert(author);
    }

    /// Says that a person deleted units of a client at a time in milliseconds. Of those that somebody deleted before,
    /// it says nothing.
    pub fn add_deleted(
        &mut self,
        client: ClientId,
        clocks: std::ops::Range<u32>,
        person: &str,
        time_ms: u64,
    ) {
        let author = self.author(person, Some(time_ms));
        self.delete(client, clocks.start, clocks.end, author);
    }

    fn delete(&mut self, client: ClientId, mut clock: u32, end: u32, author: Author) {
        let known = self.deleted.entry(client).or_default();
        while clock < end {
            if let Some((_, &(until, _))) = known.range(..=clock).next_back()
                && until > clock
            {
                clock = until;
                continue;
            }
            let free = known.range(clock..end).next().map_or(end, |(&next, _)| next);
            known.insert(clock, (free, author));
            clock = free;
        }
    }

    /// Says that a person made and deleted at a time what an update of the first format tells: the update of a
    /// transaction, or several in one.
    ///
    /// # Errors
    /// The update is malformed.
    pub fn add_update_v1(
        &mut self,
        update: &[u8],
        person: &str,
        time_ms: u64,
    ) -> Result<(), Error> {
        let update = Update::read::<DecoderV1<'_>>(update)?;
        for (client, blocks) in &update.clients {
            if let Some(end) = blocks.last().map(Block::end) {
                self.add(*client, end, person, time_ms);
            }
        }
        let author = self.author(person, Some(time_ms));
        self.delete_all(&update.deletes, author);
        Ok(())
    }

    fn delete_all(&mut self, deletes: &DeleteSet, author: Author) {
        for (client, ranges) in deletes.iter() {
            for range in ranges {
                self.delete(client, range.clock, range.end(), author);
            }
        }
    }

    /// Reads who is who from a map that Yjs's `PermanentUserData` wrote (the root `users`, if nothing else was said):
    /// by person, `ids` is an array of client ids and `ds` one of encoded deletions. It knows no times.
    ///
    /// # Errors
    /// Deletions are malformed.
    pub fn of_users(doc: &Doc, users: Map) -> Result<Self, Error> {
        let mut authors = Self::default();
        for person in users.keys(doc) {
            let Some(Value::Shared(Shared::Map(known))) = users.get(doc, &person) else { continue };
            let author = authors.author(&person, None);
            let list = |key: &str| match known.get(doc, key) {
                Some(Value::Shared(Shared::Array(list))) => list.read(doc),
                _ => Vec::new(),
            };
            for id in list("ids") {
                let Some(client) = id.as_f64().and_then(client_of) else { continue };
                // A client that several people name is the last one's, as in Yjs.
                authors.made.insert(client, BTreeMap::from([(u32::MAX, author)]));
            }
            for encoded in list("ds") {
                let Value::Any(Any::Bytes(encoded)) = encoded else { continue };
                let deletes = read_deletes(&mut DecoderV1::open(&encoded)?)?;
                authors.delete_all(&deletes, author);
            }
        }
        Ok(authors)
    }

    /// Who made a unit, and the first clock behind it for which that is otherwise.
    fn maker(&self, client: ClientId, clock: u32) -> (Option<Author>, u32) {
        let next = clock.checked_add(1).and_then(|after| {
            self.made.get(&client)?.range(after..).next().map(|(&end, &author)| (end, author))
        });
        next.map_or((None, u32::MAX), |(end, author)| (Some(author), end))
    }

    /// Who deleted a unit, and the first clock behind it for which that is otherwise.
    fn deleter(&self, client: ClientId, clock: u32) -> (Option<Author>, u32) {
        let Some(known) = self.deleted.get(&client) else { return (None, u32::MAX) };
        match known.range(..=clock).next_back() {
            Some((_, &(end, author))) if end > clock => (Some(author), end),
            _ => (None, known.range(clock..).next().map_or(u32::MAX, |(&next, _)| next)),
        }
    }
}

/// A client id that was written as a number.
fn client_of(number: f64) -> Option<ClientId> {
    let whole = number.fract().abs() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    whole.then(|| ClientId::new(number as u64)).flatten()
}

impl Text {
    /// The runs that the text consists of, from its start to its end, with who made each of them and when. Neighbors
    /// by the same client, person and time are one run. Takes time by items and runs, never by units.
    pub fn runs<'a>(self, doc: &Doc, authors: &'a Authors) -> Vec<Run<'a>> {
        self.walk_runs(doc, authors, |item, _, _| (!item.deleted, None, u32::MAX))
    }

    /// The runs of the text as [`Text::delta_between`] shows it: of all that is there at a moment (`None`: now) or was
    /// at an earlier one. Of what was added it says who made it, of what was removed who deleted it.
    pub fn runs_between<'a>(
        self,
        doc: &Doc,
        now: Option<&Snapshot>,
        earlier: &Snapshot,
        authors: &'a Authors,
    ) -> Vec<Run<'a>> {
        self.walk_runs(doc, authors, |item, client, clock| {
            let (showed, until) = earlier.stretch(client, clock);
            let (shows, until_now) = match now {
                Some(moment) => moment.stretch(client, clock),
                None => (!item.deleted, u32::MAX),
            };
            let change = match (showed, shows) {
                (true, false) => Some(Change::Removed),
                (false, true) => Some(Change::Added),
                _ => None,
            };
            (showed || shows, change, until.min(until_now))
        })
    }

    /// Walks over the units that count. `look` says of a unit of an item whether it is told of, what happened to it, and
    /// up to which clock that holds.
    fn walk_runs<'a>(
        self,
        doc: &Doc,
        authors: &'a Authors,
        look: impl Fn(&Item, ClientId, u32) -> (bool, Option<Change>, u32),
    ) -> Vec<Run<'a>> {
        let structs = &doc.structs;
        let mut runs: Vec<Run<'a>> = Vec::new();
        let mut start = 0;
        let mut at = structs.types[self.0 as usize].start;
        while at != NIL {
            let item = &structs.items[at];
            at = item.right;
            if !item.kind.is_countable() {
                continue;
            }
            let client = structs.client(item.slot).id;
            let mut clock = item.clock;
            while clock < item.end() {
                let (is_told, change, until) = look(item, client, clock);
                if !is_told {
                    clock = until.min(item.end());
                    continue;
                }
                let (author, told) = match change {
                    Some(Change::Removed) => authors.deleter(client, clock),
                    _ => authors.maker(client, clock),
                };
                let end = until.min(told).min(item.end());
                let person = author.map(|author| &*authors.people[author.person as usize]);
                let time_ms = author.and_then(|author| author.time_ms);
                let run = Run { start, len: end - clock, client, person, time_ms, change };
                match runs.last_mut() {
                    Some(last) if (Run { start, len: run.len, ..*last }) == run => {
                        last.len += run.len;
                    }
                    _ => runs.push(run),
                }
                start += run.len;
                clock = end;
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use lib0::Any;

    use crate::{
        Authors, Change, ClientId, Commit, Doc, Error, New, Options, Origin, Run, Shared, Text,
        Transaction, UndoOptions,
    };

    /// A document that two people write in, and what is known of them.
    struct Desk {
        doc: Doc,
        text: Text,
        authors: Authors,
        now_ms: u64,
    }

    fn client(id: u64) -> ClientId {
        ClientId::new(id).unwrap()
    }

    impl Desk {
        fn new() -> Self {
            let mut doc = Doc::new(client(1), Options { gc: false, ..Options::default() });
            let text = doc.text("t");
            Self { doc, text, authors: Authors::default(), now_ms: 0 }
        }

        /// Edits as the person of a client, a second after the last one.
        fn edit(&mut self, id: u64, act: impl FnOnce(Text, &mut Transaction<'_>)) {
            self.now_ms += 1000;
            self.doc.set_client(client(id));
            let mut txn = self.doc.transact();
            act(self.text, &mut txn);
            let commit: Commit<'_> = txn.commit();
            let update = commit.update_v1().unwrap();
            let person = ["Ada", "Blaise"][usize::try_from(id).unwrap() - 1];
            self.authors.add_update_v1(&update, person, self.now_ms).unwrap();
        }

        fn insert(&mut self, id: u64, index: u32, words: &str) {
            self.edit(id, |text, txn| text.insert(txn, index, words).unwrap());
        }

        fn delete(&mut self, id: u64, index: u32, len: u32) {
            self.edit(id, |text, txn| text.delete(txn, index, len).unwrap());
        }

        fn runs(&self) -> Vec<String> {
            self.text.runs(&self.doc, &self.authors).iter().map(show).collect()
        }
    }

    /// `start+len person second`, with `+` or `-` in front of what was added or removed.
    fn show(run: &Run<'_>) -> String {
        let change = match run.change {
            Some(Change::Added) => "+",
            Some(Change::Removed) => "-",
            None => "",
        };
        let person = run.person.unwrap_or("?");
        let second = run.time_ms.map_or("?".to_owned(), |time| (time / 1000).to_string());
        format!("{change}{}+{} {person} {second}", run.start, run.len)
    }

    #[test]
    fn each_run_has_its_person_and_time() {
        let mut desk = Desk::new();
        desk.insert(1, 0, "first ");
        // Typed on, it is the same item, but of another time.
        desk.insert(1, 6, "then😀");
        desk.insert(2, 3, "in");
        desk.delete(1, 0, 1);
        let runs = ["0+2 Ada 1", "2+2 Blaise 3", "4+3 Ada 1", "7+6 Ada 2"];
        assert_eq!(desk.runs(), runs);
        assert_eq!(desk.text.len(&desk.doc), 13);
    }

    #[test]
    fn what_nobody_told_of_has_no_person() {
        let mut desk = Desk::new();
        desk.insert(1, 0, "known");
        let mut txn = desk.doc.transact();
        desk.text.insert(&mut txn, 5, " and not").unwrap();
        txn.commit();
        assert_eq!(desk.runs(), ["0+5 Ada 1", "5+8 ? ?"]);
    }

    #[test]
    fn values_in_a_text_count_one_unit() {
        let mut desk = Desk::new();
        desk.insert(1, 0, "ab");
        desk.edit(2, |text, txn| text.embed(txn, 1, New::Any(Any::Null), None).unwrap());
        let bold = std::iter::once(("bold".to_owned(), Any::from(true))).collect();
        desk.edit(2, |text, txn| text.format(txn, 0, 3, &bold).unwrap());
        assert_eq!(desk.runs(), ["0+1 Ada 1", "1+1 Blaise 2", "2+1 Ada 1"]);
    }

    #[test]
    fn between_two_moments_it_says_who_added_and_who_deleted() {
        let mut desk = Desk::new();
        desk.insert(1, 0, "one two three");
        let earlier = desk.doc.snapshot();
        desk.insert(2, 4, "and ");
        desk.delete(2, 8, 4);
        let now = desk.doc.snapshot();
        // Deleted in part before, in part later: each by its own person.
        desk.delete(1, 2, 4);
        let both: Vec<String> = desk
            .text
            .runs_between(&desk.doc, Some(&now), &earlier, &desk.authors)
            .iter()
            .map(show)
            .collect();
        assert_eq!(both, ["0+4 Ada 1", "+4+4 Blaise 2", "-8+4 Blaise 3", "12+5 Ada 1"]);
        let since: Vec<String> = desk
            .text
            .runs_between(&desk.doc, None, &earlier, &desk.authors)
            .iter()
            .map(show)
            .collect();
        let runs = ["0+2 Ada 1", "-2+2 Ada 4", "+4+2 Blaise 2", "-6+4 Blaise 3", "10+5 Ada 1"];
        assert_eq!(since, runs);
        // The units are those of the text with marks.
        let units = |now| -> u32 {
            let steps = desk.text.delta_between(&mut desk.doc.clone(), now, Some(&earlier), None);
            steps
                .iter()
                .map(|step| match step {
                    crate::Delta::Insert(crate::Inserted::Text(text), _) => {
                        u32::try_from(lib0::utf16::len(text)).unwrap()
                    }
                    _ => 1,
                })
                .sum()
        };
        assert_eq!((units(Some(&now)), units(None)), (17, 15));
    }

    #[test]
    fn what_undo_brings_back_is_of_who_undid() {
        let mut desk = Desk::new();
        desk.insert(1, 0, "abc");
        let options = UndoOptions { origins: vec![Origin(7)], ..UndoOptions::default() };
        let manager = desk.doc.track(options);
        desk.doc.set_client(client(2));
        let mut txn = desk.doc.transact_as(Origin(7), 0);
        desk.text.delete(&mut txn, 1, 1).unwrap();
        txn.commit();
        let update = manager.undo(&mut desk.doc).unwrap().unwrap().update_v1().unwrap();
        desk.authors.add_update_v1(&update, "Blaise", 9000).unwrap();
        assert_eq!(desk.text.read(&desk.doc), "abc");
        assert_eq!(desk.runs(), ["0+1 Ada 1", "1+1 Blaise 9", "2+1 Ada 1"]);
    }

    #[test]
    fn who_deleted_first_holds() {
        let mut authors = Authors::default();
        authors.add_deleted(client(1), 2..4, "Ada", 1);
        authors.add_deleted(client(1), 6..8, "Ada", 2);
        authors.add_deleted(client(1), 0..9, "Blaise", 3);
        let who = |clock| {
            let (author, until) = authors.deleter(client(1), clock);
            (author.map(|author| author.time_ms.unwrap()), until)
        };
        let all = [0, 1, 2, 3, 4, 5, 6, 7, 8].map(who);
        let right = [(3, 2), (3, 2), (1, 4), (1, 4), (3, 6), (3, 6), (2, 8), (2, 8), (3, 9)];
        assert_eq!(all, right.map(|(time, until)| (Some(time), until)));
        assert_eq!(who(9), (None, u32::MAX));
        assert_eq!(authors.deleter(client(2), 0), (None, u32::MAX));
    }

    #[test]
    fn people_that_yjs_wrote_are_read() {
        // What two documents with Yjs's `PermanentUserData` hold after "xhi" without its x, and "hxxi" without xx.
        let state = "0208020027010575736572730675736572206201270002000369647300270002000264730008000201017d\
            02040100016881020402840206016903000202050102010502070100270105757365727306757365722061012\
            7000100036964730027000100026473000800010101\
            7d0101010001840104026869030001020501010104010202010502010\
            10401";
        let digits: Vec<u8> = state.bytes().filter(u8::is_ascii_hexdigit).collect();
        let state: Vec<u8> = digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect();
        let mut doc = Doc::new(client(9), Options { gc: false, ..Options::default() });
        doc.apply_v1(&state).unwrap();
        let (users, text) = (doc.map("users"), doc.text(""));
        let authors = Authors::of_users(&doc, users).unwrap();
        let runs = text.runs(&doc, &authors);
        let shown: Vec<String> = runs.iter().map(show).collect();
        let words = text.read(&doc);
        assert_eq!((words.as_str(), shown.len()), ("hihi", 2), "{shown:?}");
        assert!(runs.iter().all(|run| run.time_ms.is_none()));
        for run in &runs {
            let person = if run.client == client(1) { "user a" } else { "user b" };
            assert_eq!(run.person, Some(person));
        }
        let deleters = [(1, 4, "user a"), (2, 5, "user b"), (2, 6, "user b")];
        for (id, clock, person) in deleters {
            let author = authors.deleter(client(id), clock).0.unwrap();
            assert_eq!(&*authors.people[author.person as usize], person);
        }
        // Deletions that are none are refused.
        let Some(user) = users.get(&doc, "user a").and_then(|value| value.as_map()) else {
            unreachable!()
        };
        let Some(crate::Value::Shared(Shared::Array(list))) = user.get(&doc, "ds") else {
            unreachable!()
        };
        let mut txn = doc.transact();
        list.push(&mut txn, vec![New::Any(Any::Bytes(vec![200]))]).unwrap();
        txn.commit();
        assert!(matches!(Authors::of_users(&doc, users), Err(Error::Malformed(_))));
    }
}
