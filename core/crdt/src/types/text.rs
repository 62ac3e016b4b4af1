//! Shared text. Positions and lengths are UTF-16 units, as in Yjs.

use std::borrow::Cow;

use lib0::any::Object;
use lib0::{Any, json, utf16};

use crate::doc::Doc;
use crate::doc::transaction::Transaction;
use crate::encoding::content::Content;
use crate::error::Error;
use crate::structs::item::{Kind, NIL};
use crate::structs::{Payload, Structs};
use crate::types::anchor::{Anchor, Assoc};
use crate::types::delta::{Delta, Inserted};
use crate::types::formats::{Attributes, Formats, Walk, clean_whole};
use crate::types::map::{Map, content_of};
use crate::types::value::{New, Value, members, spell};

/// A text in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Text(pub(crate) u32);

impl Text {
    /// Length in UTF-16 units.
    pub fn len(self, doc: &Doc) -> u32 {
        doc.structs.types[self.0 as usize].order.len()
    }

    /// Whether the text has no units.
    pub fn is_empty(self, doc: &Doc) -> bool {
        self.len(doc) == 0
    }

    /// The whole text.
    pub fn read(self, doc: &Doc) -> String {
        let structs = &doc.structs;
        let mut out = String::with_capacity(self.len(doc) as usize);
        let mut at = structs.types[self.0 as usize].start;
        while at != NIL {
            let item = &structs.items[at];
            if !item.deleted && item.kind == Kind::String {
                out.push_str(structs.text(item));
            }
            at = item.right;
        }
        out
    }

    /// Inserts a text at a position; it takes the formats that hold there. The position lies between characters: one
    /// inside a surrogate pair turns both halves into U+FFFD, as in Yjs.
    ///
    /// # Errors
    /// The position lies past the end; the text was deleted with its parent; the client has made 2^32 units.
    pub fn insert(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        text: &str,
    ) -> Result<(), Error> {
        self.insert_text(transaction, index, text, None)
    }

    /// Inserts a text that has exactly these attributes, whatever holds at the position.
    ///
    /// # Errors
    /// As [`Text::insert`]; a value that is no JSON.
    pub fn insert_with(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        text: &str,
        attributes: &Object,
    ) -> Result<(), Error> {
        self.insert_text(transaction, index, text, Some(attributes))
    }

    fn insert_text(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        text: &str,
        attributes: Option<&Object>,
    ) -> Result<(), Error> {
        check(transaction.doc, self.0, index, 0)?;
        if let Some(attributes) = attributes {
            check_json(attributes)?;
        }
        if text.is_empty() {
            return Ok(());
        }
        let units = u32::try_from(utf16::len(text)).map_err(|_| Error::Full)?;
        let own = transaction.doc.own;
        let structs = &mut transaction.doc.structs;
        let is_plain = attributes.is_none() && !structs.types[self.0 as usize].has_marks;
        if is_plain && index > 0 && structs.append(own, self.0, index, text, units) {
            return Ok(());
        }
        let content = Content::String(text.into(), units);
        let (mut left, mut right) = seek(structs, self.0, index);
        if is_plain {
            while right != NIL && structs.items[right].deleted {
                left = right;
                right = structs.items[right].right;
            }
            transaction.insert(self.0, NIL, left, right, content)?;
            return Ok(());
        }
        let mut walk = if attributes.is_some() {
            Walk::from_start(structs, self.0, left, right)
        } else {
            Walk::near(structs, self.0, left, right)
        };
        let attributes = match attributes {
            Some(attributes) => Attributes::new(structs, attributes),
            None => Attributes::of(&walk.formats),
        };
        walk.insert_with(transaction, content, attributes)?;
        Ok(())
    }

    /// Inserts a value that counts as one unit, such as a figure. It does not take the formats that hold there.
    ///
    /// # Errors
    /// As [`Text::insert`]; a value that is no JSON.
    pub fn embed(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        value: New,
        attributes: Option<&Object>,
    ) -> Result<(), Error> {
        check(transaction.doc, self.0, index, 0)?;
        let content = embedded(value)?;
        if let Some(attributes) = attributes {
            check_json(attributes)?;
        }
        let structs = &mut transaction.doc.structs;
        let (left, right) = seek(structs, self.0, index);
        let mut walk = if attributes.is_some() {
            Walk::from_start(structs, self.0, left, right)
        } else {
            Walk::near(structs, self.0, left, right)
        };
        let attributes = Attributes::new(structs, attributes.unwrap_or(&Object::default()));
        walk.insert_with(transaction, content, attributes)?;
        Ok(())
    }

    /// Gives `len` units from a position on attributes; `Null` takes one away.
    ///
    /// # Errors
    /// The range runs past the end; the text was deleted with its parent; the client has made 2^32 units; a value that
    /// is no JSON.
    pub fn format(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        len: u32,
        attributes: &Object,
    ) -> Result<(), Error> {
        check(transaction.doc, self.0, index, len)?;
        check_json(attributes)?;
        if len == 0 {
            return Ok(());
        }
        let structs = &mut transaction.doc.structs;
        let (left, right) = seek(structs, self.0, index);
        let attributes = Attributes::new(structs, attributes);
        Walk::from_start(structs, self.0, left, right).format(transaction, len, &attributes)
    }

    /// Deletes `len` units from a position on.
    ///
    /// # Errors
    /// The range runs past the end; the text was deleted with its parent.
    pub fn delete(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        len: u32,
    ) -> Result<(), Error> {
        check(transaction.doc, self.0, index, len)?;
        if len == 0 {
            return Ok(());
        }
        let at_once = transaction.doc.collects_at_once();
        let structs = &mut transaction.doc.structs;
        let has_marks = structs.types[self.0 as usize].has_marks;
        if at_once && !has_marks {
            let order = &mut structs.types[self.0 as usize].order;
            let (handle, offset) = structs.nodes.seek(order, index);
            if structs.move_border(handle, offset, len) {
                return Ok(());
            }
        }
        let (left, mut at) = seek(structs, self.0, index);
        if has_marks {
            Walk::near(structs, self.0, left, at).delete(transaction, len);
            return Ok(());
        }
        let mut left = len;
        while left > 0 && at != NIL {
            let item = &structs.items[at];
            let visible = item.visible();
            if visible > left {
                structs.split(at, left);
            }
            if visible > 0 {
                left -= visible.min(left);
                structs.delete(at);
                if at_once {
                    structs.collect_text(at);
                }
            }
            at = structs.items[at].right;
        }
        Ok(())
    }

    /// Applies a delta, as editors such as Quill make it: steps from the start on. Formatting past the end adds line
    /// ends; deleting past the end stops there.
    ///
    /// # Errors
    /// The text was deleted with its parent; a step inserts what is no text and no JSON; the client has made 2^32 units.
    pub fn apply_delta(
        self,
        transaction: &mut Transaction<'_>,
        delta: &[Delta],
    ) -> Result<(), Error> {
        check(transaction.doc, self.0, 0, 0)?;
        for step in delta {
            match step {
                Delta::Insert(Inserted::Text(_), attributes) | Delta::Retain(_, attributes) => {
                    check_json(attributes)?;
                }
                Delta::Insert(Inserted::Embed(value), attributes) => {
                    embedded(New::Any(value.clone()))?;
                    check_json(attributes)?;
                }
                Delta::Insert(Inserted::Shared(_) | Inserted::Values(_), _) => {
                    return Err(Error::NotJson);
                }
                Delta::Delete(_) => {}
            }
        }
        let mut walk = Walk::start(&transaction.doc.structs, self.0);
        for step in delta {
            match step {
                Delta::Insert(Inserted::Text(text), _) if text.is_empty() => {}
                Delta::Insert(inserted, attributes) => {
                    let content = match inserted {
                        Inserted::Text(text) => {
                            let units = u32::try_from(utf16::len(text)).map_err(|_| Error::Full)?;
                            Content::String(text.as_str().into(), units)
                        }
                        Inserted::Embed(value) => embedded(New::Any(value.clone()))?,
                        Inserted::Shared(_) | Inserted::Values(_) => return Err(Error::NotJson),
                    };
                    let attributes = Attributes::new(&mut transaction.doc.structs, attributes);
                    walk.insert_with(transaction, content, attributes)?;
                }
                Delta::Retain(len, attributes) => {
                    let attributes = Attributes::new(&mut transaction.doc.structs, attributes);
                    walk.format(transaction, *len, &attributes)?;
                }
                Delta::Delete(len) => {
                    walk.delete(transaction, *len);
                }
            }
        }
        Ok(())
    }

    /// The whole text as a delta of insertions, with attributes and embedded values.
    pub fn delta(self, doc: &Doc) -> Vec<Delta> {
        let structs = &doc.structs;
        let mut delta = Vec::new();
        let mut formats = Formats::default();
        let mut run = String::new();
        let mut at = structs.types[self.0 as usize].start;
        let close = |delta: &mut Vec<Delta>, run: &mut String, formats: &Formats| {
            if !run.is_empty() {
                let text = Inserted::Text(std::mem::take(run));
                delta.push(Delta::Insert(text, formats.to_object(structs)));
            }
        };
        while at != NIL {
            let item = &structs.items[at];
            if !item.deleted {
                match item.kind {
                    Kind::String => run.push_str(structs.text(item)),
                    Kind::Format => {
                        close(&mut delta, &mut run, &formats);
                        if let Payload::Format(key, value) = structs.payload(item) {
                            formats.update(*key, value);
                        }
                    }
                    _ => {
                        close(&mut delta, &mut run, &formats);
                        let inserted = Inserted::unit(structs, item, 0);
                        delta.push(Delta::Insert(inserted, formats.to_object(structs)));
                    }
                }
            }
            at = item.right;
        }
        close(&mut delta, &mut run, &formats);
        delta
    }

    /// Deletes marks of formats that say nothing, those that Yjs's `cleanupYTextFormatting` finds (of marks before the
    /// first unit that shows, and no others); returns how many there were. What the text shows does not change.
    ///
    /// # Errors
    /// The text was deleted with its parent.
    pub fn clean_formats(self, transaction: &mut Transaction<'_>) -> Result<u32, Error> {
        check(transaction.doc, self.0, 0, 0)?;
        Ok(clean_whole(&mut transaction.doc.structs, self.0))
    }

    /// Sets an attribute of the text as a whole.
    ///
    /// # Errors
    /// The text was deleted with its parent; the client has made 2^32 units.
    pub fn set_attribute(
        self,
        transaction: &mut Transaction<'_>,
        key: &str,
        value: impl Into<New>,
    ) -> Result<(), Error> {
        Map(self.0).insert(transaction, key, value)
    }

    /// Returns an attribute of the text as a whole.
    pub fn attribute(self, doc: &Doc, key: &str) -> Option<Value> {
        Map(self.0).get(doc, key)
    }

    /// Removes an attribute of the text as a whole; returns whether there was one.
    pub fn remove_attribute(self, transaction: &mut Transaction<'_>, key: &str) -> bool {
        Map(self.0).remove(transaction, key)
    }

    /// Returns an anchor at a position, which moves along with the text around it.
    pub fn anchor(self, doc: &Doc, index: u32, assoc: Assoc) -> Anchor {
        Anchor::new(&doc.structs, self.0, index, assoc)
    }
}

/// Checks that a list is there and has `count` units from an index on.
pub(crate) fn check(doc: &Doc, parent: u32, index: u32, count: u32) -> Result<(), Error> {
    let structs = &doc.structs;
    if structs.is_type_deleted(parent) {
        return Err(Error::Gone);
    }
    let len = structs.types[parent as usize].order.len();
    match index.checked_add(count) {
        Some(end) if end <= len => Ok(()),
        end => Err(Error::OutOfBounds { index: end.unwrap_or(u32::MAX), len }),
    }
}

/// Finds the item of a list that ends at a position, cut if need be (`NIL` at 0), and what follows it, hidden or not.
pub(crate) fn seek(structs: &mut Structs, parent: u32, index: u32) -> (u32, u32) {
    if index == 0 {
        return (NIL, structs.types[parent as usize].start);
    }
    let order = &mut structs.types[parent as usize].order;
    let (handle, offset) = structs.nodes.seek(order, index - 1);
    if offset + 1 < structs.items[handle].len {
        structs.split(handle, offset + 1);
    }
    (handle, structs.items[handle].right)
}

/// The content of a value that stands in a text.
fn embedded(value: New) -> Result<Content<'static>, Error> {
    match value {
        New::Any(value) if json::has_text(&value) => Ok(Content::Embed(Cow::Owned(value))),
        New::Any(_) => Err(Error::NotJson),
        shared => Ok(content_of(shared)),
    }
}

fn check_json(attributes: &Object) -> Result<(), Error> {
    let mut values = attributes.iter().map(|(_, value)| value);
    if values.all(json::has_text) { Ok(()) } else { Err(Error::NotJson) }
}

/// A text inside XML as Yjs's `toString` writes it: attributes as nested elements, by name, nothing escaped.
pub(crate) fn to_xml(doc: &Doc, text: Text) -> String {
    let mut out = String::new();
    for step in text.delta(doc) {
        let Delta::Insert(inserted, attributes) = step else { continue };
        let mut nested: Vec<(&str, &Any)> = attributes.iter().collect();
        nested.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
        for (name, value) in &nested {
            out.extend(["<", *name]);
            for (key, value) in members(value) {
                out.extend([" ", &key, "=\"", &value, "\""]);
            }
            out.push('>');
        }
        match inserted {
            Inserted::Text(text) => out.push_str(&text),
            Inserted::Embed(value) => out.push_str(&spell(&value)),
            Inserted::Shared(_) | Inserted::Values(_) => out.push_str("[object Object]"),
        }
        for (name, _) in nested.iter().rev() {
            out.extend(["</", *name, ">"]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::{Any, ClientId, Delta, Doc, Error, Inserted, New, Object, Options};

    #[test]
    fn what_json_has_no_text_for_is_refused_and_nothing_is_changed() {
        let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
        let text = doc.text("t");
        let no_json = [Any::Undefined, Any::BigInt(1), Any::Array(vec![Any::BigInt(1)])];
        let mut transaction = doc.transact();
        text.insert(&mut transaction, 0, "ab").unwrap();
        for value in no_json {
            let attributes: Object = [("k".to_owned(), value.clone())].into_iter().collect();
            let txn = &mut transaction;
            let refused = [
                text.embed(txn, 0, New::Any(value.clone()), None),
                text.embed(txn, 0, New::Any(Any::Null), Some(&attributes)),
                text.insert_with(txn, 0, "c", &attributes),
                text.format(txn, 0, 1, &attributes),
                text.apply_delta(
                    txn,
                    &[
                        Delta::Insert(Inserted::Text("c".to_owned()), Object::default()),
                        Delta::Insert(Inserted::Embed(value), Object::default()),
                    ],
                ),
            ];
            assert_eq!(refused, std::array::from_fn(|_| Err(Error::NotJson)));
        }
        transaction.commit();
        assert_eq!(text.read(&doc), "ab");
        assert_eq!(doc.structs(), 1);
    }
}
