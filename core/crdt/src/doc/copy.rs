//! Copies of shared types: made anew with all that is in them, where they are put (Yjs: `clone`).
//!
//! What is copied is read to its end first, so that a type may be copied into itself. It becomes a flat list of steps,
//! so that depth costs no stack.

use crate::doc::Doc;
use crate::doc::transaction::Transaction;
use crate::encoding::content::TypeKind;
use crate::error::Error;
use crate::types::array::Array;
use crate::types::delta::{Delta, Inserted};
use crate::types::map::Map;
use crate::types::text::Text;
use crate::types::value::{New, Shared, Value};
use crate::types::xml::Xml;

/// One step in the making of a copy. The type that was opened last and not closed is the one that is filled.
enum Step {
    /// A type at the end of the list, or under a key.
    Open(Option<String>, TypeKind),
    /// Elements at the end of the list.
    Elements(Vec<New>),
    /// A value under a key.
    Entry(String, New),
    /// The content of a text.
    Text(Vec<Delta>),
    Close,
}

/// What is still to be read.
enum Unread {
    Shared(Option<String>, Shared),
    Step(Step),
}

impl Array {
    /// Inserts a copy of a type of this document at an index and returns it.
    ///
    /// # Errors
    /// As [`Array::insert`]; the type was deleted, or a text in it has types embedded, which are not copied.
    pub fn insert_copy(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        source: impl Into<Shared>,
    ) -> Result<Shared, Error> {
        let (kind, steps) = read(transaction.doc, source.into())?;
        let copy = self.insert_type(transaction, index, kind)?;
        write(transaction, copy, steps)
    }
}

impl Xml {
    /// Inserts a copy of an element or text of this document at an index and returns it.
    ///
    /// # Errors
    /// As [`Array::insert_copy`].
    pub fn insert_copy(
        self,
        transaction: &mut Transaction<'_>,
        index: u32,
        source: impl Into<Shared>,
    ) -> Result<Shared, Error> {
        Array(self.0).insert_copy(transaction, index, source)
    }
}

impl Map {
    /// Sets a key to a copy of a type of this document and returns it.
    ///
    /// # Errors
    /// As [`Map::insert`]; the type was deleted, or a text in it has types embedded, which are not copied.
    pub fn insert_copy(
        self,
        transaction: &mut Transaction<'_>,
        key: &str,
        source: impl Into<Shared>,
    ) -> Result<Shared, Error> {
        let (kind, steps) = read(transaction.doc, source.into())?;
        let copy = self.set_type(transaction, key, kind)?;
        write(transaction, copy, steps)
    }
}

/// What a type is, and the steps that fill a copy of it.
fn read(doc: &Doc, source: Shared) -> Result<(TypeKind, Vec<Step>), Error> {
    if doc.structs.is_type_deleted(source.handle()) {
        return Err(Error::Gone);
    }
    let kind = |shared: Shared| doc.structs.types[shared.handle() as usize].kind.clone();
    let mut steps = Vec::new();
    let mut unread = content(doc, source)?;
    while let Some(next) = unread.pop() {
        match next {
            Unread::Step(step) => steps.push(step),
            Unread::Shared(key, shared) => {
                steps.push(Step::Open(key, kind(shared)));
                unread.push(Unread::Step(Step::Close));
                unread.extend(content(doc, shared)?);
            }
        }
    }
    Ok((kind(source), steps))
}

/// What is in a type, last first: its list, then its keys.
fn content(doc: &Doc, shared: Shared) -> Result<Vec<Unread>, Error> {
    let mut content = Vec::new();
    let (list, map) = match shared {
        Shared::Text(text) => {
            let delta = text.delta(doc);
            if delta.iter().any(|step| matches!(step, Delta::Insert(Inserted::Shared(_), _))) {
                return Err(Error::Gone);
            }
            return Ok(vec![Unread::Step(Step::Text(delta))]);
        }
        Shared::Array(array) => (Some(array), None),
        Shared::Map(map) => (None, Some(map)),
        Shared::Xml(xml) => (Some(Array(xml.0)), Some(Map(xml.0))),
    };
    for element in list.map_or_else(Vec::new, |list| list.read(doc)) {
        let element = match plain(element) {
            Ok(element) => element,
            Err(shared) => {
                content.push(Unread::Shared(None, shared));
                continue;
            }
        };
        match content.last_mut() {
            Some(Unread::Step(Step::Elements(elements))) => elements.push(element),
            _ => content.push(Unread::Step(Step::Elements(vec![element]))),
        }
    }
    for key in map.map_or_else(Vec::new, |map| map.keys(doc)) {
        let Some(value) = map.and_then(|map| map.get(doc, &key)) else { continue };
        content.push(match plain(value) {
            Ok(value) => Unread::Step(Step::Entry(key, value)),
            Err(shared) => Unread::Shared(Some(key), shared),
        });
    }
    content.reverse();
    Ok(content)
}

/// A value that stands for itself, or the type that it is.
fn plain(value: Value) -> Result<New, Shared> {
    match value {
        Value::Any(value) => Ok(New::Any(value)),
        Value::Doc(subdoc) => Ok(New::Doc(subdoc)),
        Value::Shared(shared) => Err(shared),
    }
}

/// Fills a copy.
fn write(
    transaction: &mut Transaction<'_>,
    copy: Shared,
    steps: Vec<Step>,
) -> Result<Shared, Error> {
    let mut open = vec![copy.handle()];
    for step in steps {
        let Some(&at) = open.last() else { break };
        match step {
            Step::Open(None, kind) => {
                let len = Array(at).len(transaction.doc);
                open.push(Array(at).insert_type(transaction, len, kind)?.handle());
            }
            Step::Open(Some(key), kind) => {
                open.push(Map(at).set_type(transaction, &key, kind)?.handle());
            }
            Step::Elements(elements) => {
                let len = Array(at).len(transaction.doc);
                Array(at).insert(transaction, len, elements)?;
            }
            Step::Entry(key, value) => Map(at).insert(transaction, &key, value)?,
            Step::Text(delta) => Text(at).apply_delta(transaction, &delta)?,
            Step::Close => drop(open.pop()),
        }
    }
    Ok(copy)
}
