//! One random edit: a type somewhere in a document, and something that can be done to it.

use crdt::{
    Any, Array, Delta, Doc, Error, Inserted, Map, New, Object, Shared, Subdoc, Text, Transaction,
    Value, Xml,
};

use crate::choices::Choices;

/// Above this length more is deleted from a text or list than inserted.
const LONG: u32 = 600;
/// How deep types are nested.
pub(crate) const DEPTH: u32 = 4;
const WORDS: [&str; 8] = ["a", "bc", "def ", "\n", "é", "日本", "x😀y", "👩‍👧"];
/// The keys of maps and attributes.
pub(crate) const KEYS: [&str; 4] = ["k", "l", "7", "longer-key"];
const ATTRIBUTES: [&str; 3] = ["bold", "italic", "color"];

/// A root of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roots {
    pub(crate) text: Text,
    pub(crate) array: Array,
    pub(crate) map: Map,
    pub(crate) xml: Xml,
}

impl Roots {
    pub(crate) fn of(doc: &mut Doc) -> Self {
        Self { text: doc.text("t"), array: doc.array("a"), map: doc.map("m"), xml: doc.xml("x") }
    }

    pub(crate) fn all(self) -> [Shared; 4] {
        [self.text.into(), self.array.into(), self.map.into(), self.xml.into()]
    }
}

/// A text in UTF-16 units; whatever else stands in it is U+FFFC.
pub(crate) fn units(doc: &Doc, text: Text) -> Vec<u16> {
    let mut units = Vec::new();
    for step in text.delta(doc) {
        match step {
            Delta::Insert(Inserted::Text(text), _) => units.extend(text.encode_utf16()),
            _ => units.push(0xfffc),
        }
    }
    units
}

/// Goes from a root down to some type that lies in it; also whether types may be made there.
pub(crate) fn descend(
    doc: &Doc,
    roots: Roots,
    most: u32,
    choices: &mut impl Choices,
) -> (Shared, bool) {
    let mut at = roots.all()[choices.pick(&[0, 0, 0, 1, 2, 3])];
    for _ in 0..most {
        if !choices.chance(60) {
            return (at, true);
        }
        let child = match at {
            Shared::Text(_) => None,
            Shared::Array(array) => array.get(doc, choices.below(array.len(doc))),
            Shared::Map(map) => map.get(doc, choices.pick(&KEYS)),
            Shared::Xml(xml) => xml.get(doc, choices.below(xml.len(doc))),
        };
        match child {
            Some(Value::Shared(child)) => at = child,
            _ => return (at, true),
        }
    }
    (at, false)
}

/// One edit of a type.
pub(crate) fn change(
    transaction: &mut Transaction<'_>,
    (at, nested): (Shared, bool),
    choices: &mut impl Choices,
) -> Result<(), Error> {
    match at {
        Shared::Text(text) => change_text(transaction, text, nested, choices),
        Shared::Array(array) => {
            let len = array.len(transaction.doc());
            if len > 0 && choices.chance(if len > LONG { 90 } else { 35 }) {
                let index = choices.below(len);
                array.delete(transaction, index, 1 + choices.below((len - index).min(5)))
            } else {
                let values = (0..=choices.below(3)).map(|_| new(nested, choices)).collect();
                if choices.chance(20) {
                    array.push(transaction, values)
                } else {
                    array.insert(transaction, choices.below(len + 1), values)
                }
            }
        }
        Shared::Map(map) => {
            let key = choices.pick(&KEYS);
            if choices.chance(30) {
                map.remove(transaction, key);
                Ok(())
            } else {
                map.insert(transaction, key, new(nested, choices))
            }
        }
        Shared::Xml(xml) => {
            let len = xml.len(transaction.doc());
            match choices.below(10) {
                0..4 if nested => {
                    let child = match choices.below(3) {
                        0 => New::XmlText,
                        1 => New::XmlElement(choices.pick(&["p", "li"]).to_owned()),
                        _ => New::XmlHook("hook".to_owned()),
                    };
                    xml.insert(transaction, choices.below(len + 1), vec![child])
                }
                4..7 if len > 0 => {
                    let index = choices.below(len);
                    xml.delete(transaction, index, 1 + choices.below((len - index).min(2)))
                }
                7..9 => xml.set_attribute(
                    transaction,
                    choices.pick(&KEYS),
                    New::from(choices.pick(&WORDS)),
                ),
                _ => {
                    xml.remove_attribute(transaction, choices.pick(&KEYS));
                    Ok(())
                }
            }
        }
    }
}

fn change_text(
    transaction: &mut Transaction<'_>,
    text: Text,
    nested: bool,
    choices: &mut impl Choices,
) -> Result<(), Error> {
    let units = units(transaction.doc(), text);
    let len = text.len(transaction.doc());
    assert_eq!(units.len(), len as usize);
    // A place that is not inside a character.
    let border = |at: u32| {
        let inside = units.get(at as usize).is_some_and(|unit| (0xdc00..0xe000).contains(unit));
        if inside { at + 1 } else { at }
    };
    let place = border(choices.below(len + 1));
    let range = |choices: &mut _, most: u32| {
        let end = place + Choices::below(choices, (len - place).min(most) + 1);
        border(end) - place
    };
    let word = choices.pick(&WORDS);
    match choices.below(100) {
        _ if len > LONG && choices.chance(50) => {
            let count = range(choices, 60);
            text.delete(transaction, place, count)
        }
        0..45 => text.insert(transaction, place, word),
        45..65 => {
            let count = range(choices, 6);
            text.delete(transaction, place, count)
        }
        65..78 => {
            let count = range(choices, 8);
            text.format(transaction, place, count, &attributes(choices))
        }
        78..85 => text.insert_with(transaction, place, word, &attributes(choices)),
        85..89 => {
            let attributes = choices.chance(50).then(|| attributes(choices));
            text.embed(transaction, place, figure(nested, choices), attributes.as_ref())
        }
        89..95 => {
            let count = range(choices, 8);
            let steps = [
                Delta::Retain(place, Object::default()),
                Delta::Insert(Inserted::Text(word.to_owned()), attributes(choices)),
                match choices.below(2) {
                    0 => Delta::Delete(count),
                    _ => Delta::Retain(count, attributes(choices)),
                },
            ];
            text.apply_delta(transaction, &steps)
        }
        95..98 => text.set_attribute(transaction, choices.pick(&KEYS), New::from(word)),
        _ => {
            text.remove_attribute(transaction, choices.pick(&KEYS));
            Ok(())
        }
    }
}

fn attributes(choices: &mut impl Choices) -> Object {
    let mut attributes = Object::default();
    for _ in 0..=choices.below(2) {
        let value = match choices.below(4) {
            0 => Any::Null,
            1 => Any::from("red"),
            2 => Any::from(3),
            _ => Any::from(true),
        };
        attributes.insert(choices.pick(&ATTRIBUTES).to_owned(), value);
    }
    attributes
}

/// A value that stands in a text, or a type. The first format writes such values as JSON, so there are no others.
fn figure(nested: bool, choices: &mut impl Choices) -> New {
    match choices.below(5) {
        0 if nested => New::Map,
        1 if nested => New::Text,
        2 => New::from(choices.pick(&WORDS)),
        _ => {
            let n = Any::from(choices.below(9));
            New::Any(Any::Object([("n".to_owned(), n)].into_iter().collect()))
        }
    }
}

/// A value, or a type where one may lie.
fn new(nested: bool, choices: &mut impl Choices) -> New {
    match choices.below(12) {
        0 if nested => New::Map,
        1 if nested => New::Array,
        2 if nested => New::Text,
        3 if nested && choices.chance(20) => New::Doc(Box::new(Subdoc::new("guid"))),
        4 => New::Any(Any::Bytes(vec![0, 255, 7])),
        5 => New::Any(Any::BigInt(-5)),
        6 => New::Any(Any::Object(
            [("n".to_owned(), Any::from(choices.below(9))), ("z".to_owned(), Any::Null)]
                .into_iter()
                .collect(),
        )),
        7 => New::from(choices.pick(&WORDS)),
        _ => New::Any(Any::from(choices.below(1000))),
    }
}
