//! Shared maps: the last value set under a key holds; of two set at the same time, one wins everywhere.

use std::borrow::Cow;

use lib0::Any;

use crate::doc::Doc;
use crate::doc::transaction::Transaction;
use crate::encoding::content::{Content, TypeKind};
use crate::error::Error;
use crate::structs::item::{Item, NIL};
use crate::types::array::Array;
use crate::types::text::Text;
use crate::types::value::{New, Shared, Value};

/// A map in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Map(pub(crate) u32);

/// The content that a new value becomes under a key, or as an element of its own.
pub(crate) fn content_of(value: New) -> Content<'static> {
    match value {
        New::Any(Any::Bytes(bytes)) => Content::Binary(Cow::Owned(bytes)),
        New::Any(value) => Content::Any(Cow::Owned(vec![value])),
        New::Array => Content::Type(Cow::Owned(TypeKind::Array)),
        New::Map => Content::Type(Cow::Owned(TypeKind::Map)),
        New::Text => Content::Type(Cow::Owned(TypeKind::Text)),
        New::XmlElement(name) => Content::Type(Cow::Owned(TypeKind::XmlElement(name))),
        New::XmlFragment => Content::Type(Cow::Owned(TypeKind::XmlFragment)),
        New::XmlHook(name) => Content::Type(Cow::Owned(TypeKind::XmlHook(name))),
        New::XmlText => Content::Type(Cow::Owned(TypeKind::XmlText)),
        New::Doc(subdoc) => Content::Doc(Cow::Owned(subdoc)),
    }
}

impl Map {
    fn last(self, doc: &Doc, key: u32) -> Option<&Item> {
        let chain = doc.structs.types[self.0 as usize].map.get(&key)?;
        let item = &doc.structs.items[chain.last];
        (!item.deleted).then_some(item)
    }

    /// Returns the value of a key.
    pub fn get(self, doc: &Doc, key: &str) -> Option<Value> {
        let item = self.last(doc, doc.structs.known_key(key)?)?;
        Some(Value::of(&doc.structs, item, item.len - 1))
    }

    /// The keys that have a value, in the order in which the map came to know them.
    pub fn keys(self, doc: &Doc) -> Vec<String> {
        let structs = &doc.structs;
        structs.types[self.0 as usize]
            .chains()
            .filter(|(_, chain)| !structs.items[chain.last].deleted)
            .map(|(key, _)| structs.key(key).to_owned())
            .collect()
    }

    /// How many keys have a value.
    pub fn len(self, doc: &Doc) -> usize {
        let structs = &doc.structs;
        let chains = structs.types[self.0 as usize].map.values();
        chains.filter(|chain| !structs.items[chain.last].deleted).count()
    }

    /// Whether no key has a value.
    pub fn is_empty(self, doc: &Doc) -> bool {
        self.len(doc) == 0
    }

    /// Removes all keys, in the order in which the map came to know them.
    pub fn clear(self, transaction: &mut Transaction<'_>) {
        let structs = &mut transaction.doc.structs;
        let lasts: Vec<u32> =
            structs.types[self.0 as usize].chains().map(|(_, chain)| chain.last).collect();
        for last in lasts {
            structs.delete(last);
        }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The map was deleted with its parent; the client has made 2^32 units.
    pub fn insert(
        self,
        transaction: &mut Transaction<'_>,
        key: &str,
        value: impl Into<New>,
    ) -> Result<(), Error> {
        self.set(transaction, key, content_of(value.into())).map(|_| ())
    }

    fn set(
        self,
        transaction: &mut Transaction<'_>,
        key: &str,
        content: Content<'_>,
    ) -> Result<u32, Error> {
        let structs = &mut transaction.doc.structs;
        if structs.is_type_deleted(self.0) {
            return Err(Error::Gone);
        }
        let key = structs.key_number(key);
        let left = structs.types[self.0 as usize].map.get(&key).map_or(NIL, |chain| chain.last);
        transaction.insert(self.0, key, left, NIL, content)
    }

    pub(crate) fn set_type(
        self,
        transaction: &mut Transaction<'_>,
        key: &str,
        kind: TypeKind,
    ) -> Result<Shared, Error> {
        let handle = self.set(transaction, key, Content::Type(Cow::Owned(kind)))?;
        let structs = &transaction.doc.structs;
        Ok(Shared::of(structs, structs.items[handle].content))
    }

    /// Sets a key to an empty map and returns that.
    ///
    /// # Errors
    /// As [`Map::insert`].
    pub fn insert_map(self, transaction: &mut Transaction<'_>, key: &str) -> Result<Self, Error> {
        Ok(Self(self.set_type(transaction, key, TypeKind::Map)?.handle()))
    }

    /// Sets a key to an empty text and returns that.
    ///
    /// # Errors
    /// As [`Map::insert`].
    pub fn insert_text(self, transaction: &mut Transaction<'_>, key: &str) -> Result<Text, Error> {
        Ok(Text(self.set_type(transaction, key, TypeKind::Text)?.handle()))
    }

    /// Sets a key to an empty array and returns that.
    ///
    /// # Errors
    /// As [`Map::insert`].
    pub fn insert_array(
        self,
        transaction: &mut Transaction<'_>,
        key: &str,
    ) -> Result<Array, Error> {
        Ok(Array(self.set_type(transaction, key, TypeKind::Array)?.handle()))
    }

    /// Removes a key; returns whether it had a value.
    pub fn remove(self, transaction: &mut Transaction<'_>, key: &str) -> bool {
        let structs = &mut transaction.doc.structs;
        let chain = structs
            .known_key(key)
            .and_then(|key| structs.types[self.0 as usize].map.get(&key).copied());
        match chain {
            Some(chain) if !structs.items[chain.last].deleted => {
                structs.delete(chain.last);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Any, ClientId, Doc, Options};

    #[test]
    fn a_map_can_be_emptied() {
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        let map = doc.map("m");
        let mut transaction = doc.transact();
        for key in ["a", "b", "c"] {
            map.insert(&mut transaction, key, key).unwrap();
        }
        map.insert(&mut transaction, "none", Any::Undefined).unwrap();
        map.remove(&mut transaction, "b");
        assert_eq!(map.len(transaction.doc()), 3);
        map.clear(&mut transaction);
        assert!(map.is_empty(transaction.doc()));
        transaction.commit();
        assert_eq!(map.keys(&doc), [""; 0]);
    }
}
