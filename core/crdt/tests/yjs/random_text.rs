//! Texts edited at random: the rest of Yjs's `y-text.tests.js`.

use std::collections::BTreeMap;

use crdt::{Any, Delta, Doc, Error, Inserted, New, Object, Shared, Text, TextChange, Transaction};
use serde_json::{Value as Json, json};

use crate::json::{object, plain, steps};
use crate::network::{Edit, Network, Random, edit_at_random};
use crate::text::{blank, edit};

/// How many marks of formats a cleaning of the whole text still finds.
pub(crate) fn still_cleaned(doc: &Doc, text: Text) -> u32 {
    let mut copy = doc.clone();
    let mut transaction = copy.transact();
    let cleaned = text.clean_formats(&mut transaction).unwrap();
    transaction.commit();
    cleaned
}

/// A text of so many units.
pub(crate) fn letters(random: &mut Random, count: u32) -> String {
    (0..count).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap())).collect()
}

#[test]
fn a_hundred_thousand_edits_at_random_positions_do_what_they_do_to_a_string() {
    let (count, mut random) = (100_000, Random::new(1));
    let (mut doc, text) = blank();
    let mut model = letters(&mut random, count / 2);
    edit(&mut doc, |transaction| text.insert(transaction, 0, &model));
    for _ in 0..count {
        let at = random.below(text.len(&doc) + 1);
        if random.chance(50) {
            let len = random.below(6);
            let word = letters(&mut random, len);
            model.insert_str(at as usize, &word);
            edit(&mut doc, |transaction| text.insert(transaction, at, &word));
        } else {
            let len = random.below(4).min(text.len(&doc) - at);
            model.drain(at as usize..(at + len) as usize);
            edit(&mut doc, |transaction| text.delete(transaction, at, len));
        }
        assert_eq!(text.len(&doc) as usize, model.len());
    }
    assert_eq!(text.read(&doc), model);
}

/// A text that nobody typed before.
fn word(network: &mut Network) -> String {
    format!("{}{}", network.random.below(1 << 30), network.random.word())
}

/// A place in the text of a replica.
fn place(network: &mut Network, at: usize) -> u32 {
    let len = network.text(at).len(network.doc(at));
    network.random.below(len + 1)
}

/// A few units of the text of a replica: where, and how many.
fn range(network: &mut Network, at: usize) -> (u32, u32) {
    let (len, start) = (network.text(at).len(network.doc(at)), place(network, at));
    (start, network.random.below(len - start + 1).min(2))
}

fn insert_word(network: &mut Network, at: usize) {
    let (text, index, word) = (network.text(at), place(network, at), word(network));
    let mut model = text.read(network.doc(at));
    model.insert_str(index as usize, &word);
    network.edit(at, |transaction| text.insert(transaction, index, &word));
    assert_eq!(text.read(network.doc(at)), model);
}

fn delete_letters(network: &mut Network, at: usize) {
    let (text, (index, len)) = (network.text(at), range(network, at));
    let mut model = text.read(network.doc(at));
    model.drain(index as usize..(index + len) as usize);
    network.edit(at, |transaction| text.delete(transaction, index, len));
    assert_eq!(text.read(network.doc(at)), model);
}

const PLAIN: [Edit; 2] = [insert_word, delete_letters];

#[test]
fn random_edits_converge() {
    for (seed, edits) in [5, 30, 40, 50, 70, 90, 300].into_iter().enumerate() {
        let network = edit_at_random(seed as u64, edits, &PLAIN);
        assert_eq!(still_cleaned(network.doc(0), network.text(0)), 0);
    }
}

/// Attributes as an editor gives them.
fn attributes(network: &mut Network) -> Object {
    let choices = [
        json!({ "bold": true }),
        json!({ "italic": true }),
        json!({ "italic": true, "color": "#888" }),
    ];
    object(network.random.pick(&choices).clone())
}

/// Attributes or none.
fn maybe_attributes(network: &mut Network) -> Option<Object> {
    network.random.chance(75).then(|| attributes(network))
}

/// The text of a replica in UTF-16 units, with U+FFFC for what is embedded.
fn units(doc: &Doc, text: Text) -> Vec<u16> {
    let inserted = |step: Delta| match step {
        Delta::Insert(Inserted::Text(text), _) => text,
        Delta::Insert(..) => "\u{fffc}".to_owned(),
        step => panic!("{step:?} in a whole text"),
    };
    text.delta(doc).into_iter().map(inserted).collect::<String>().encode_utf16().collect()
}

/// Edits the text of a replica and holds what is said to have changed against what did.
fn as_told(
    network: &mut Network,
    at: usize,
    edit: impl FnOnce(&mut Transaction<'_>) -> Result<(), Error>,
) {
    let text = network.text(at);
    network.commit(at, |doc| {
        let before = units(doc, text);
        let mut transaction = doc.transact();
        edit(&mut transaction).unwrap();
        let commit = transaction.commit();
        let (mut told, mut read) = (Vec::new(), 0);
        for change in commit.text_delta(text) {
            match change {
                TextChange::Retain(len) => {
                    told.extend(&before[read..read + len as usize]);
                    read += len as usize;
                }
                TextChange::Insert(text) => told.extend(text.encode_utf16()),
                TextChange::Delete(len) => read += len as usize,
            }
        }
        told.extend(&before[read..]);
        assert_eq!(units(commit.doc(), text), told);
        Some(commit)
    });
}

fn insert_formatted(network: &mut Network, at: usize) {
    let (text, index, word) = (network.text(at), place(network, at), word(network));
    let attributes = maybe_attributes(network);
    as_told(network, at, |transaction| match &attributes {
        Some(attributes) => text.insert_with(transaction, index, &word, attributes),
        None => text.insert(transaction, index, &word),
    });
}

fn embed(network: &mut Network, at: usize) {
    let (text, index) = (network.text(at), place(network, at));
    let (key, value) = (network.random.word(), network.random.word());
    if network.random.chance(50) {
        let image = Any::Object(object(json!({ "image": "https://example.com/figure.png" })));
        as_told(network, at, |transaction| text.embed(transaction, index, New::Any(image), None));
        return;
    }
    as_told(network, at, |transaction| {
        text.embed(transaction, index, New::Map, None)?;
        let mut position = 0;
        for step in text.delta(transaction.doc()) {
            match step {
                Delta::Insert(Inserted::Shared(Shared::Map(map)), _) if position == index => {
                    return map.insert(transaction, &key, value.as_str());
                }
                Delta::Insert(Inserted::Text(text), _) => {
                    position += u32::try_from(text.encode_utf16().count()).unwrap();
                }
                _ => position += 1,
            }
        }
        panic!("no map at {index}");
    });
}

fn delete_anything(network: &mut Network, at: usize) {
    let (text, (index, len)) = (network.text(at), range(network, at));
    as_told(network, at, |transaction| text.delete(transaction, index, len));
}

fn format_some(network: &mut Network, at: usize) {
    let (text, (index, len)) = (network.text(at), range(network, at));
    let attributes = attributes(network);
    as_told(network, at, |transaction| text.format(transaction, index, len, &attributes));
}

fn insert_code(network: &mut Network, at: usize) {
    let (text, index, word) = (network.text(at), place(network, at), word(network));
    let change = steps(json!([
        { "retain": index },
        { "insert": word },
        { "insert": "\n", "attributes": { "code-block": true } },
    ]));
    as_told(network, at, |transaction| text.apply_delta(transaction, &change));
}

/// A delta of up to seven steps.
fn apply_steps(network: &mut Network, at: usize) {
    let (text, len) = (network.text(at), network.text(at).len(network.doc(at)));
    let mut position = network.random.below(len.max(1));
    let mut change = vec![Delta::Retain(position, Object::default())];
    for _ in 0..7 {
        if position >= len {
            break;
        }
        let rest = network.random.below(len - position + 1);
        match network.random.below(3) {
            0 => {
                let attributes = attributes(network);
                change.push(Delta::Retain(rest.min(5), attributes));
                position += rest.min(5);
            }
            1 => {
                let count = 1 + network.random.below(3);
                let word = letters(&mut network.random, count);
                let attributes = maybe_attributes(network).unwrap_or_default();
                change.push(Delta::Insert(Inserted::Text(word), attributes));
            }
            _ => {
                change.push(Delta::Delete(rest.min(10)));
                position += rest.min(10);
            }
        }
    }
    as_told(network, at, |transaction| text.apply_delta(transaction, &change));
}

const RICH: [Edit; 6] =
    [insert_formatted, embed, delete_anything, format_some, insert_code, apply_steps];

/// A text as an editor holds it: its units, each with its attributes by name.
#[derive(Debug, Default)]
struct Editor(Vec<(Json, BTreeMap<String, Json>)>);

impl Editor {
    /// Changes the text as told. An embedded type is its place and nothing of what is in it, which has no event here.
    fn apply(&mut self, change: &[Delta]) {
        let by_name = |attributes: &Object| -> BTreeMap<String, Json> {
            attributes.iter().map(|(key, value)| (key.to_owned(), plain(value))).collect()
        };
        let mut at = 0;
        for step in change {
            match step {
                Delta::Insert(inserted, attributes) => {
                    let units: Vec<Json> = match inserted {
                        Inserted::Text(text) => text.encode_utf16().map(Json::from).collect(),
                        Inserted::Embed(value) => vec![plain(value)],
                        Inserted::Shared(_) | Inserted::Values(_) => vec![Json::Null],
                    };
                    let len = units.len();
                    let units = units.into_iter().map(|unit| (unit, by_name(attributes)));
                    self.0.splice(at..at, units);
                    at += len;
                }
                Delta::Retain(len, attributes) => {
                    for (_, unit) in &mut self.0[at..at + *len as usize] {
                        unit.extend(by_name(attributes));
                        unit.retain(|_, value| *value != Json::Null);
                    }
                    at += *len as usize;
                }
                Delta::Delete(len) => drop(self.0.drain(at..at + *len as usize)),
            }
        }
    }
}

#[test]
fn an_editor_that_follows_what_is_heard_shows_the_text() {
    for seed in 0..40 {
        let mut network = Network::new(5, seed);
        for at in 0..5 {
            let text = network.text(at);
            network.listen(at, |doc| doc.observe(text));
        }
        network.edit_at_random(100, &RICH);
        network.converge();
        for at in 0..5 {
            let (mut editor, mut opened) = (Editor::default(), Editor::default());
            for event in network.heard(at).concat() {
                editor.apply(&event.delta);
            }
            opened.apply(&network.text(at).delta(network.doc(at)));
            assert_eq!(editor.0, opened.0, "replica {at}, seed {seed}");
        }
    }
}

#[test]
fn a_few_random_rich_edits_converge_and_leave_nothing_to_clean() {
    for (seed, edits) in std::iter::once(1).chain([2; 1000]).enumerate() {
        let network = edit_at_random(seed as u64, edits, &RICH);
        assert_eq!(still_cleaned(network.doc(0), network.text(0)), 0, "seed {seed}");
    }
}

#[test]
fn random_rich_edits_converge() {
    for (seed, edits) in [3, 30, 40, 70, 100, 300].into_iter().enumerate() {
        edit_at_random(seed as u64, edits, &RICH);
    }
}

#[test]
#[ignore = "takes long"]
fn many_random_edits_converge() {
    for kinds in [&PLAIN[..], &RICH[..]] {
        for edits in [3000, 10_000] {
            edit_at_random(edits as u64, edits, kinds);
        }
    }
}
