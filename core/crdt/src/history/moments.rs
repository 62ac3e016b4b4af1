//! What lists, maps, texts and XML held at a moment, read from the document as it is now; nothing is restored for it.
//!
//! The document must have kept what was deleted since: of what was collected there is nothing to tell, and it is left
//! out. Nested types are those of the document, to be read at the moment in turn.
//!
//! Yjs reads an array at a moment by whole items (`typeListToArraySnapshot`), so that elements which were inserted
//! right behind others after the moment may count to it; here each element counts for itself.

use crate::doc::Doc;
use crate::history::snapshot::Snapshot;
use crate::id::ClientId;
use crate::structs::Structs;
use crate::structs::item::{Item, Kind, NIL};
use crate::types::array::Array;
use crate::types::map::Map;
use crate::types::text::Text;
use crate::types::value::Value;
use crate::types::xml::Xml;

impl Structs {
    /// Gives each stretch of a list that showed at a moment: its item, its start in the item, its length.
    fn each_shown(&self, parent: u32, moment: &Snapshot, mut tell: impl FnMut(&Item, u32, u32)) {
        let mut at = self.types[parent as usize].start;
        while at != NIL {
            let item = &self.items[at];
            at = item.right;
            if !item.kind.is_countable() {
                continue;
            }
            let client: ClientId = self.client(item.slot).id;
            let mut clock = item.clock;
            while clock < item.end() {
                let (showed, until) = moment.stretch(client, clock);
                let end = until.min(item.end());
                if showed {
                    tell(item, clock - item.clock, end - clock);
                }
                clock = end;
            }
        }
    }

    /// The value of a key at a moment, by the last item of its chain now.
    fn value_at(&self, last: u32, moment: &Snapshot) -> Option<Value> {
        let mut at = last;
        while at != NIL {
            let item = &self.items[at];
            let client = self.client(item.slot).id;
            if item.clock < moment.state.get(client) {
                let shows = moment.stretch(client, item.clock).0 && item.kind.is_countable();
                return shows.then(|| Value::of(self, item, item.len - 1));
            }
            at = item.left;
        }
        None
    }
}

impl Array {
    /// The elements at a moment.
    pub fn read_at(self, doc: &Doc, moment: &Snapshot) -> Vec<Value> {
        let mut values = Vec::new();
        doc.structs.each_shown(self.0, moment, |item, from, len| {
            values.extend((from..from + len).map(|unit| Value::of(&doc.structs, item, unit)));
        });
        values
    }
}

impl Map {
    /// Returns the value that a key had at a moment.
    pub fn get_at(self, doc: &Doc, key: &str, moment: &Snapshot) -> Option<Value> {
        let key = doc.structs.known_key(key)?;
        let chain = doc.structs.types[self.0 as usize].map.get(&key)?;
        doc.structs.value_at(chain.last, moment)
    }

    /// The keys and values at a moment, keys in the order in which the map came to know them.
    pub fn entries_at(self, doc: &Doc, moment: &Snapshot) -> Vec<(String, Value)> {
        let structs = &doc.structs;
        structs.types[self.0 as usize]
            .chains()
            .filter_map(|(key, chain)| {
                let value = structs.value_at(chain.last, moment)?;
                Some((structs.key(key).to_owned(), value))
            })
            .collect()
    }
}

impl Text {
    /// The text at a moment, without what it had of formats and values.
    pub fn read_at(self, doc: &Doc, moment: &Snapshot) -> String {
        let mut text = String::new();
        doc.structs.each_shown(self.0, moment, |item, from, len| {
            if item.kind == Kind::String {
                text.push_str(&doc.structs.text_part(item, from, len));
            }
        });
        text
    }
}

impl Xml {
    /// The children at a moment.
    pub fn children_at(self, doc: &Doc, moment: &Snapshot) -> Vec<Value> {
        Array(self.0).read_at(doc, moment)
    }

    /// The attributes and their values at a moment, in the order in which the element came to know them.
    pub fn attributes_at(self, doc: &Doc, moment: &Snapshot) -> Vec<(String, Value)> {
        Map(self.0).entries_at(doc, moment)
    }
}

#[cfg(test)]
mod tests {
    use lib0::Any;

    use crate::{ClientId, Doc, New, Options, Shared, Snapshot, Value};

    fn doc() -> Doc {
        Doc::new(ClientId::new(1).unwrap(), Options { gc: false, ..Options::default() })
    }

    fn show(value: &Value) -> String {
        match value {
            Value::Any(value) => lib0::json::stringify(value).unwrap(),
            Value::Shared(_) => "type".to_owned(),
            Value::Doc(_) => "doc".to_owned(),
        }
    }

    fn entries(entries: &[(String, Value)]) -> Vec<String> {
        entries.iter().map(|(key, value)| format!("{key}: {}", show(value))).collect()
    }

    #[test]
    fn lists_maps_and_attributes_are_read_as_they_were() {
        // The values are what Yjs's `typeListToArraySnapshot`, `typeMapGetAllSnapshot` and `getAttributes` answer.
        let mut doc = doc();
        let (array, map) = (doc.array("a"), doc.map("m"));
        let mut txn = doc.transact();
        array.insert(&mut txn, 0, vec!["x".into(), New::Map]).unwrap();
        map.insert(&mut txn, "k", 1).unwrap();
        map.insert(&mut txn, "l", "two").unwrap();
        map.insert(&mut txn, "el", New::XmlElement("div".to_owned())).unwrap();
        txn.commit();
        let Some(Value::Shared(Shared::Xml(element))) = map.get(&doc, "el") else { unreachable!() };
        let mut txn = doc.transact();
        element.set_attribute(&mut txn, "a", "1").unwrap();
        element.insert(&mut txn, 0, vec![New::XmlText]).unwrap();
        txn.commit();
        let first = doc.snapshot();
        let mut txn = doc.transact();
        array.insert(&mut txn, 0, vec![0.into()]).unwrap();
        array.delete(&mut txn, 1, 1).unwrap();
        map.insert(&mut txn, "k", 2).unwrap();
        map.remove(&mut txn, "l");
        map.insert(&mut txn, "n", Any::Null).unwrap();
        element.set_attribute(&mut txn, "a", "2").unwrap();
        element.set_attribute(&mut txn, "b", "3").unwrap();
        txn.commit();
        let second = doc.snapshot();
        let mut txn = doc.transact();
        array.delete(&mut txn, 0, 2).unwrap();
        map.insert(&mut txn, "k", 3).unwrap();
        map.insert(&mut txn, "l", "again").unwrap();
        element.remove_attribute(&mut txn, "a");
        element.delete(&mut txn, 0, 1).unwrap();
        txn.commit();
        let third = doc.snapshot();
        let check = |moment: &Snapshot, elements: &[&str], pairs: &[&str], attributes: &[&str]| {
            let shown: Vec<String> = array.read_at(&doc, moment).iter().map(show).collect();
            assert_eq!(shown, elements);
            assert_eq!(entries(&map.entries_at(&doc, moment)), pairs);
            assert_eq!(entries(&element.attributes_at(&doc, moment)), attributes);
            for key in ["k", "l", "n", "q"] {
                let one = map.get_at(&doc, key, moment).map(|v| format!("{key}: {}", show(&v)));
                let listed = pairs.iter().find(|pair| pair.starts_with(key));
                assert_eq!(one.as_deref(), listed.copied());
            }
        };
        check(&Snapshot::default(), &[], &[], &[]);
        check(&first, &["\"x\"", "type"], &["k: 1", "l: \"two\"", "el: type"], &["a: \"1\""]);
        let pairs = ["k: 2", "el: type", "n: null"];
        check(&second, &["0", "type"], &pairs, &["a: \"2\"", "b: \"3\""]);
        let pairs = ["k: 3", "l: \"again\"", "el: type", "n: null"];
        check(&third, &[], &pairs, &["b: \"3\""]);
        let children = [&Snapshot::default(), &first, &second, &third]
            .map(|moment| element.children_at(&doc, moment).len());
        assert_eq!(children, [0, 1, 1, 0]);
    }

    #[test]
    fn each_element_and_letter_counts_for_itself() {
        let mut doc = doc();
        let (array, text) = (doc.array("a"), doc.text("t"));
        let mut txn = doc.transact();
        array.insert(&mut txn, 0, vec![1.into(), 2.into()]).unwrap();
        text.insert(&mut txn, 0, "one 😀").unwrap();
        txn.commit();
        let moment = doc.snapshot();
        let mut txn = doc.transact();
        array.insert(&mut txn, 2, vec![3.into()]).unwrap();
        array.delete(&mut txn, 0, 1).unwrap();
        text.insert(&mut txn, 6, " two").unwrap();
        text.delete(&mut txn, 1, 2).unwrap();
        txn.commit();
        let numbers: Vec<String> = array.read_at(&doc, &moment).iter().map(show).collect();
        assert_eq!(numbers, ["1", "2"]);
        assert_eq!(text.read_at(&doc, &moment), "one 😀");
        let mut restored = doc.restore(&moment, ClientId::new(9).unwrap()).unwrap();
        let text = restored.text("t");
        assert_eq!(text.read(&restored), "one 😀");
    }

    #[test]
    fn of_what_was_collected_there_is_nothing_to_tell() {
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        let (array, map) = (doc.array("a"), doc.map("m"));
        let mut txn = doc.transact();
        array.insert(&mut txn, 0, vec![1.into(), 2.into()]).unwrap();
        map.insert(&mut txn, "k", 1).unwrap();
        txn.commit();
        let moment = doc.snapshot();
        let mut txn = doc.transact();
        array.delete(&mut txn, 0, 1).unwrap();
        map.insert(&mut txn, "k", 2).unwrap();
        txn.commit();
        assert_eq!(array.read_at(&doc, &moment), [Value::Any(Any::from(2))]);
        assert_eq!(map.get_at(&doc, "k", &moment), None);
        assert!(map.entries_at(&doc, &moment).is_empty());
    }
}
