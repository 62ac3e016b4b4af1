//! Shared text. Positions and lengths are UTF-16 units, as in Yjs.

use lib0::{Any, utf16};

use crate::anchor::{Anchor, Assoc};
use crate::content::Content;
use crate::doc::Doc;
use crate::error::Error;
use crate::item::{Kind, NIL};
use crate::structs::{Payload, Structs};
use crate::transaction::Transaction;

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
        self.check(transaction.doc, index, 0)?;
        if text.is_empty() {
            return Ok(());
        }
        let (left, right) = self.seek(&mut transaction.doc.structs, index);
        let (left, right) = skip_hidden(&transaction.doc.structs, self.0, left, right);
        let units = u32::try_from(utf16::len(text)).map_err(|_| Error::Full)?;
        transaction.insert(self.0, NIL, left, right, Content::String(text.into(), units))?;
        Ok(())
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
        self.check(transaction.doc, index, len)?;
        if len == 0 {
            return Ok(());
        }
        let structs = &mut transaction.doc.structs;
        let (_, mut at) = self.seek(structs, index);
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
            }
            at = structs.items[at].right;
        }
        Ok(())
    }

    /// Returns an anchor at a position, which moves along with the text around it.
    pub fn anchor(self, doc: &Doc, index: u32, assoc: Assoc) -> Anchor {
        Anchor::new(&doc.structs, self.0, index, assoc)
    }

    fn check(self, doc: &Doc, index: u32, count: u32) -> Result<(), Error> {
        if doc.structs.is_type_deleted(self.0) {
            return Err(Error::Gone);
        }
        let len = self.len(doc);
        match index.checked_add(count) {
            Some(end) if end <= len => Ok(()),
            end => Err(Error::OutOfBounds { index: end.unwrap_or(u32::MAX), len }),
        }
    }

    /// Finds the neighbours of a position: the item that ends there, cut if need be, and what follows it, hidden or not.
    fn seek(self, structs: &mut Structs, index: u32) -> (u32, u32) {
        seek(structs, self.0, index)
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

/// Moves right past deleted items, and past formats that say what holds already.
fn skip_hidden(structs: &Structs, parent: u32, mut left: u32, mut right: u32) -> (u32, u32) {
    let mut formats: Option<Vec<(u32, Any)>> = None;
    while right != NIL {
        let item = &structs.items[right];
        if !item.deleted {
            if item.kind != Kind::Format || !structs.types[parent as usize].has_formats {
                break;
            }
            let current = formats.get_or_insert_with(|| formats_before(structs, parent, right));
            let Payload::Format(key, value) = structs.payload(item) else { break };
            let held = current.iter().find(|(k, _)| k == key).map_or(&Any::Null, |(_, v)| v);
            if held != value {
                break;
            }
        }
        left = right;
        right = item.right;
    }
    (left, right)
}

/// The formats that hold in front of an item.
fn formats_before(structs: &Structs, parent: u32, end: u32) -> Vec<(u32, Any)> {
    let mut formats: Vec<(u32, Any)> = Vec::new();
    let mut at = structs.types[parent as usize].start;
    while at != NIL && at != end {
        let item = &structs.items[at];
        if !item.deleted
            && item.kind == Kind::Format
            && let Payload::Format(key, value) = structs.payload(item)
        {
            formats.retain(|(k, _)| k != key);
            if *value != Any::Null {
                formats.push((*key, value.clone()));
            }
        }
        at = item.right;
    }
    formats
}
