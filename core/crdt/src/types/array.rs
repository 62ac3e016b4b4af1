//! Shared arrays.

use std::ops::{Bound, RangeBounds};

use lib0::Any;

use crate::doc::Doc;
use crate::doc::transaction::Transaction;
use crate::encoding::content::{Content, TypeKind};
use crate::error::Error;
use crate::structs::item::NIL;
use crate::types::map::content_of;
use crate::types::text::{check, seek};
use crate::types::value::{New, Shared, Value};

/// An array in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Array(pub(crate) u32);

impl Array {
    /// How many elements there are.
    pub fn len(self, doc: &Doc) -> u32 {
        doc.structs.types[self.0 as usize].order.len()
    }

    /// Whether there are none.
    pub fn is_empty(self, doc: &Doc) -> bool {
        self.len(doc) == 0
    }

    /// Returns an element.
    pub fn get(self, doc: &Doc, index: u32) -> Option<Value> {
        if index >= self.len(doc) {
            return None;
        }
        let structs = &doc.structs;
        let (handle, offset) = structs.nodes.find(&structs.types[self.0 as usize].order, index);
        Some(Value::of(structs, &structs.items[handle], offset))
    }

    /// All elements.
    pub fn read(self, doc: &Doc) -> Vec<Value> {
        self.slice(doc, ..)
    }

    /// The elements of a range, as far as there are any.
    pub fn slice(self, doc: &Doc, range: impl RangeBounds<u32>) -> Vec<Value> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => u32::MAX,
        };
        let end = end.min(self.len(doc));
        if start >= end {
            return Vec::new();
        }
        let structs = &doc.structs;
        let (mut at, mut offset) = structs.nodes.find(&structs.types[self.0 as usize].order, start);
        let mut left = end - start;
        let mut values = Vec::with_capacity(left as usize);
        while left > 0 && at != NIL {
            let item = &structs.items[at];
            let to = item.visible().min(offset.saturating_add(left));
            values.extend((offset..to).map(|offset| Value::of(structs, item, offset)));
            left -= to - offset;
            offset = 0;
            at = item.right;
        }
        values
    }

    /// Inserts elements at an index.
    ///
    /// # Errors
    /// The index lies past the end; the array was deleted with its parent; the client has made 2^32 units.
    pub fn insert(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        values: Vec<New>,
    ) -> Result<(), Error> {
        check(transaction.doc, self.0, index, 0)?;
        let (left, right) = seek(&mut transaction.doc.structs, self.0, index);
        self.insert_after(transaction, left, right, values)
    }

    /// Appends elements behind the last item, deleted ones included, as Yjs's `push` does.
    ///
    /// # Errors
    /// The array was deleted with its parent; the client has made 2^32 units.
    pub fn push(self, transaction: &mut Transaction<'_>, values: Vec<New>) -> Result<(), Error> {
        check(transaction.doc, self.0, 0, 0)?;
        let structs = &mut transaction.doc.structs;
        let (mut left, mut right) =
            seek(structs, self.0, structs.types[self.0 as usize].order.len());
        while right != NIL {
            left = right;
            right = structs.items[right].right;
        }
        self.insert_after(transaction, left, right, values)
    }

    fn insert_after(
        self,
        transaction: &mut Transaction<'_>,
        mut left: u32,
        right: u32,
        values: Vec<New>,
    ) -> Result<(), Error> {
        let mut plain: Vec<Any> = Vec::with_capacity(values.len());
        for value in values {
            match value {
                New::Any(value) if !matches!(value, Any::Bytes(_)) => plain.push(value),
                other => {
                    if !plain.is_empty() {
                        let content = Content::Any(std::mem::take(&mut plain).into());
                        left = transaction.insert(self.0, NIL, left, right, content)?;
                    }
                    left = transaction.insert(self.0, NIL, left, right, content_of(other))?;
                }
            }
        }
        if !plain.is_empty() {
            transaction.insert(self.0, NIL, left, right, Content::Any(plain.into()))?;
        }
        Ok(())
    }

    /// Inserts an empty text at an index and returns it.
    ///
    /// # Errors
    /// As [`Array::insert`].
    pub fn insert_text(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
    ) -> Result<Shared, Error> {
        self.insert_type(transaction, index, TypeKind::Text)
    }

    /// Inserts an empty map at an index and returns it.
    ///
    /// # Errors
    /// As [`Array::insert`].
    pub fn insert_map(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
    ) -> Result<Shared, Error> {
        self.insert_type(transaction, index, TypeKind::Map)
    }

    pub(crate) fn insert_type(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        kind: TypeKind,
    ) -> Result<Shared, Error> {
        check(transaction.doc, self.0, index, 0)?;
        let (left, right) = seek(&mut transaction.doc.structs, self.0, index);
        let content = Content::Type(std::borrow::Cow::Owned(kind));
        let handle = transaction.insert(self.0, NIL, left, right, content)?;
        let structs = &transaction.doc.structs;
        Ok(Shared::of(structs, structs.items[handle].content))
    }

    /// Deletes `len` elements from an index on.
    ///
    /// # Errors
    /// The range runs past the end; the array was deleted with its parent.
    pub fn delete(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        len: u32,
    ) -> Result<(), Error> {
        check(transaction.doc, self.0, index, len)?;
        crate::types::text::Text(self.0).delete(transaction, index, len)
    }
}
