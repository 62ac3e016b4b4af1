//! Formats of a text: marks that say from where on an attribute has which value, and what keeps them few.
//!
//! A mark is an item of its own that counts nothing; `null` ends an attribute. Inserting a text with attributes sets
//! the marks that are missing before it and takes them back behind it; formatting a range does the same and deletes
//! what it overrides. Yjs's rules are followed to the byte, the cleaning after deletions and remote edits among them.

use std::sync::Arc;

use lib0::Any;
use lib0::any::Object;

use crate::doc::transaction::Transaction;
use crate::encoding::content::{Content, TypeKind};
use crate::error::Error;
use crate::structs::item::{Kind, NIL, Ref};
use crate::structs::{Payload, Structs};

/// Attributes that hold at a place, in the order in which they were set: a JavaScript `Map`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Formats(Vec<(u32, Arc<Any>)>);

impl Formats {
    pub(crate) fn get(&self, key: u32) -> Option<&Arc<Any>> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// The value, `null` where there is none.
    pub(crate) fn value(&self, key: u32) -> Arc<Any> {
        self.get(key).cloned().unwrap_or_else(|| Arc::new(Any::Null))
    }

    pub(crate) fn set(&mut self, key: u32, value: Arc<Any>) {
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some(entry) => entry.1 = value,
            None => self.0.push((key, value)),
        }
    }

    pub(crate) fn remove(&mut self, key: u32) {
        self.0.retain(|(k, _)| *k != key);
    }

    /// Takes a mark over.
    pub(crate) fn update(&mut self, key: u32, value: &Arc<Any>) {
        if **value == Any::Null {
            self.remove(key);
        } else {
            self.set(key, Arc::clone(value));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<Any>)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    pub(crate) fn to_object(&self, structs: &Structs) -> Object {
        self.iter().map(|(key, value)| (structs.key(key).to_owned(), (**value).clone())).collect()
    }
}

/// JavaScript's `===`: objects are equal only to themselves.
fn same(left: &Arc<Any>, right: &Arc<Any>) -> bool {
    match (&**left, &**right) {
        (Any::Object(_) | Any::Array(_) | Any::Bytes(_), _) => Arc::ptr_eq(left, right),
        (left, right) => left == right,
    }
}

/// Whether two values make one format: equal, or objects whose members are (members that are objects never are).
pub(crate) fn equal(left: &Arc<Any>, right: &Arc<Any>) -> bool {
    let flat = |left: &Any, right: &Any| match left {
        Any::Object(_) | Any::Array(_) | Any::Bytes(_) => false,
        left => left == right,
    };
    if same(left, right) {
        return true;
    }
    match (&**left, &**right) {
        (Any::Object(left), Any::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|r| flat(value, r)))
        }
        (Any::Array(left), Any::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| flat(l, r))
        }
        (Any::Bytes(left), Any::Bytes(right)) => left == right,
        _ => false,
    }
}

/// The attributes that a call gives, keys as numbers, in JavaScript's order of members.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes(Vec<(u32, Arc<Any>)>);

impl Attributes {
    pub(crate) fn new(structs: &mut Structs, object: &Object) -> Self {
        let entries = object
            .iter()
            .filter(|(_, value)| !matches!(value, Any::Undefined))
            .map(|(key, value)| (structs.key_number(key), Arc::new(value.clone())))
            .collect();
        Self(entries)
    }

    /// What holds already.
    pub(crate) fn of(formats: &Formats) -> Self {
        Self(formats.0.clone())
    }

    fn get(&self, key: u32) -> Option<&Arc<Any>> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }
}

/// A place in a text: its neighbors, and the formats that hold there.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    pub(crate) parent: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) formats: Formats,
}

fn mark(structs: &Structs, handle: u32) -> Option<(u32, Arc<Any>)> {
    let item = &structs.items[handle];
    if item.kind != Kind::Format {
        return None;
    }
    match structs.payload(item) {
        Payload::Format(key, value) => Some((*key, Arc::clone(value))),
        _ => None,
    }
}

/// The mark of an item, if it is one and not deleted.
fn live_mark(structs: &Structs, handle: u32) -> Option<(u32, Arc<Any>)> {
    if structs.items[handle].deleted { None } else { mark(structs, handle) }
}

impl Walk {
    pub(crate) fn start(structs: &Structs, parent: u32) -> Self {
        let right = structs.types[parent as usize].start;
        Self { parent, left: NIL, right, formats: Formats::default() }
    }

    /// Starts between two neighbors, with all formats that hold there.
    pub(crate) fn from_start(structs: &mut Structs, parent: u32, left: u32, right: u32) -> Self {
        if structs.types[parent as usize].has_marks
            && let Some(marks) = structs.marks_before(parent, right)
        {
            let formats = Formats(marks.into_iter().filter_map(|at| mark(structs, at)).collect());
            return Self { parent, left, right, formats };
        }
        Self::from(structs, parent, left, right, structs.types[parent as usize].start)
    }

    /// Starts between two neighbors, with the formats that Yjs sees there when none is given: all, or, as long as it
    /// does not know that the text has any, those that were made in one run with what stands there.
    ///
    /// In the second case Yjs starts from a place where it searched before, so what it does hangs on earlier edits and
    /// even on what was read. That is not copied: the rule here needs nothing but the document, and any choice merges.
    pub(crate) fn near(structs: &mut Structs, parent: u32, left: u32, right: u32) -> Self {
        if structs.types[parent as usize].has_formats {
            return Self::from_start(structs, parent, left, right);
        }
        let is_cut = left != NIL && right != NIL && {
            let (l, r) = (&structs.items[left], &structs.items[right]);
            structs.changes.cuts.last().is_some_and(|cut| cut.at == r.first_ref())
                && l.slot == r.slot
                && l.end() == r.clock
        };
        let mut first = if right == NIL || is_cut { left } else { right };
        while first != NIL {
            let item = &structs.items[first];
            if item.left == NIL {
                break;
            }
            let before = &structs.items[item.left];
            if before.slot != item.slot || before.end() != item.clock {
                break;
            }
            first = item.left;
        }
        Self::from(structs, parent, left, right, first)
    }

    fn from(structs: &Structs, parent: u32, left: u32, right: u32, mut at: u32) -> Self {
        let mut walk = Self { parent, left, right, formats: Formats::default() };
        if structs.types[parent as usize].has_marks {
            while at != NIL && at != right {
                if let Some((key, value)) = live_mark(structs, at) {
                    walk.formats.update(key, &value);
                }
                at = structs.items[at].right;
            }
        }
        walk
    }

    pub(crate) fn forward(&mut self, structs: &Structs) {
        if let Some((key, value)) = live_mark(structs, self.right) {
            self.formats.update(key, &value);
        }
        self.left = self.right;
        self.right = structs.items[self.right].right;
    }

    /// Goes right past deleted items and marks that say what is wanted anyway.
    fn skip_wanted(&mut self, structs: &Structs, attributes: &Attributes) {
        let null = Arc::new(Any::Null);
        while self.right != NIL {
            if !structs.items[self.right].deleted {
                match mark(structs, self.right) {
                    Some((key, value)) if equal(attributes.get(key).unwrap_or(&null), &value) => {}
                    _ => break,
                }
            }
            self.forward(structs);
        }
    }

    fn insert(
        &mut self,
        transaction: &mut Transaction<'_>,
        content: Content<'_>,
    ) -> Result<u32, Error> {
        let handle = transaction.insert(self.parent, NIL, self.left, self.right, content)?;
        let structs = &transaction.doc.structs;
        if let Some((key, value)) = live_mark(structs, handle) {
            self.formats.update(key, &value);
        }
        self.left = handle;
        self.right = structs.items[handle].right;
        Ok(handle)
    }

    fn insert_mark(
        &mut self,
        transaction: &mut Transaction<'_>,
        key: u32,
        value: Arc<Any>,
    ) -> Result<(), Error> {
        let name = transaction.doc.structs.key(key).to_owned();
        self.insert(transaction, Content::Format(name.into(), value))?;
        Ok(())
    }

    /// Sets the marks that are missing; returns those that take them back.
    fn open(
        &mut self,
        transaction: &mut Transaction<'_>,
        attributes: &Attributes,
    ) -> Result<Formats, Error> {
        let mut closing = Formats::default();
        for (key, value) in &attributes.0 {
            let current = self.formats.value(*key);
            if !equal(&current, value) {
                closing.set(*key, current);
                self.insert_mark(transaction, *key, Arc::clone(value))?;
            }
        }
        Ok(closing)
    }

    /// Sets marks that take formats back, unless what follows does.
    fn close(
        &mut self,
        transaction: &mut Transaction<'_>,
        mut closing: Formats,
    ) -> Result<(), Error> {
        while self.right != NIL {
            let structs = &transaction.doc.structs;
            if !structs.items[self.right].deleted {
                match mark(structs, self.right) {
                    Some((key, value))
                        if closing.get(key).is_some_and(|closing| equal(closing, &value)) =>
                    {
                        closing.remove(key);
                    }
                    _ => break,
                }
            }
            self.forward(structs);
        }
        for (key, value) in closing.0 {
            self.insert_mark(transaction, key, value)?;
        }
        Ok(())
    }

    /// Inserts a content with attributes; returns its item.
    pub(crate) fn insert_with(
        &mut self,
        transaction: &mut Transaction<'_>,
        content: Content<'_>,
        mut attributes: Attributes,
    ) -> Result<u32, Error> {
        for (key, _) in self.formats.iter() {
            if attributes.get(key).is_none() {
                attributes.0.push((key, Arc::new(Any::Null)));
            }
        }
        self.skip_wanted(&transaction.doc.structs, &attributes);
        let closing = self.open(transaction, &attributes)?;
        let handle = self.insert(transaction, content)?;
        self.close(transaction, closing)?;
        Ok(handle)
    }

    /// Gives the next `len` units attributes; past the end, line ends are added, as Quill expects.
    pub(crate) fn format(
        &mut self,
        transaction: &mut Transaction<'_>,
        mut len: u32,
        attributes: &Attributes,
    ) -> Result<(), Error> {
        self.skip_wanted(&transaction.doc.structs, attributes);
        let mut closing = self.open(transaction, attributes)?;
        while self.right != NIL {
            let structs = &mut transaction.doc.structs;
            let item = &structs.items[self.right];
            let hidden = item.deleted || item.kind == Kind::Format;
            if len == 0 && (closing.is_empty() || !hidden) {
                break;
            }
            if !item.deleted {
                if let Some((key, value)) = mark(structs, self.right) {
                    if let Some(wanted) = attributes.get(key) {
                        if equal(wanted, &value) {
                            closing.remove(key);
                        } else {
                            if len == 0 {
                                break;
                            }
                            closing.set(key, value);
                        }
                        structs.delete(self.right);
                    } else {
                        self.formats.set(key, value);
                    }
                } else {
                    if len < item.len {
                        structs.split(self.right, len);
                    }
                    len -= structs.items[self.right].len;
                }
            }
            self.forward(&transaction.doc.structs);
        }
        if len > 0 {
            let lines = "\n".repeat(len as usize);
            self.insert(transaction, Content::String(lines.into(), len))?;
        }
        self.close(transaction, closing)
    }

    /// Deletes the next `len` units and the marks that thereby say nothing any more; returns how many units were left
    /// to delete at the end of the text.
    pub(crate) fn delete(&mut self, transaction: &mut Transaction<'_>, mut len: u32) -> u32 {
        let structs = &mut transaction.doc.structs;
        let before = self.formats.clone();
        let start = self.right;
        while len > 0 && self.right != NIL {
            let item = &structs.items[self.right];
            let visible = item.visible();
            if visible > len {
                structs.split(self.right, len);
            }
            if visible > 0 {
                len -= visible.min(len);
                structs.delete(self.right);
            }
            self.forward(structs);
        }
        if start != NIL && structs.types[self.parent as usize].has_marks {
            let mut formats = std::mem::take(&mut self.formats);
            clean_gap(structs, start, self.right, &before, &mut formats);
            self.formats = formats;
        }
        len
    }
}

/// Deletes marks between two countable items that are overridden in the gap, or say what held before it; returns how
/// many those were.
fn clean_gap(
    structs: &mut Structs,
    mut start: u32,
    current: u32,
    before: &Formats,
    formats: &mut Formats,
) -> u32 {
    let mut end = start;
    let mut last: Vec<(u32, u32)> = Vec::new();
    while end != NIL {
        let item = &structs.items[end];
        if item.kind.is_countable() && !item.deleted {
            break;
        }
        if let Some((key, _)) = live_mark(structs, end) {
            last.retain(|(k, _)| *k != key);
            last.push((key, end));
        }
        end = structs.items[end].right;
    }
    let null = Arc::new(Any::Null);
    let mut reached = false;
    let mut cleaned = 0;
    while start != end {
        if start == current {
            reached = true;
        }
        if let Some((key, value)) = live_mark(structs, start) {
            let held = before.get(key).unwrap_or(&null);
            let is_last = last.iter().any(|&(k, handle)| k == key && handle == start);
            if !is_last || same(held, &value) {
                structs.delete(start);
                cleaned += 1;
                let now = formats.get(key).unwrap_or(&null);
                if !reached && same(now, &value) && !same(held, &value) {
                    if **held == Any::Null {
                        formats.remove(key);
                    } else {
                        let held = Arc::clone(held);
                        formats.set(key, held);
                    }
                }
            }
            if !reached && !structs.items[start].deleted {
                formats.update(key, &value);
            }
        }
        start = structs.items[start].right;
    }
    cleaned
}

/// Deletes doubled marks around an item that was deleted, without knowing what holds there.
fn clean_around(structs: &mut Structs, mut at: u32) {
    let hidden = |structs: &Structs, handle: u32| {
        let item = &structs.items[handle];
        item.deleted || !item.kind.is_countable()
    };
    while structs.items[at].right != NIL && hidden(structs, structs.items[at].right) {
        at = structs.items[at].right;
    }
    let mut seen = Vec::new();
    while at != NIL && hidden(structs, at) {
        if let Some((key, _)) = live_mark(structs, at) {
            if seen.contains(&key) {
                structs.delete(at);
            } else {
                seen.push(key);
            }
        }
        at = structs.items[at].left;
    }
}

/// Deletes all marks of a text that say nothing; returns how many those were.
pub(crate) fn clean_whole(structs: &mut Structs, parent: u32) -> u32 {
    let mut start = structs.types[parent as usize].start;
    let mut end = start;
    let mut before = Formats::default();
    let mut formats = Formats::default();
    let mut cleaned = 0;
    while end != NIL {
        if !structs.items[end].deleted {
            if let Some((key, value)) = mark(structs, end) {
                formats.update(key, &value);
            } else {
                cleaned += clean_gap(structs, start, end, &before, &mut formats);
                before = formats.clone();
                start = end;
            }
        }
        end = structs.items[end].right;
    }
    cleaned
}

/// What a remote transaction did that may have left marks without a meaning: collected before the transaction is
/// closed, cleaned in one of its own.
#[derive(Debug, Default)]
pub(crate) struct Cleaning {
    whole: Vec<u32>,
    around: Vec<u32>,
}

impl Structs {
    /// Looks what is to be cleaned after a remote transaction; `None` if no formatted text changed.
    pub(crate) fn find_cleaning(&self) -> Option<Cleaning> {
        let concerned = self.changes.types.iter().any(|&(parent, _)| {
            let owner = &self.types[parent as usize];
            // What a root is that nobody has asked for is not known yet.
            let is_text = matches!(owner.kind, TypeKind::Text | TypeKind::XmlText);
            owner.has_formats && is_text && self.is_observed(parent)
        });
        if !concerned {
            return None;
        }
        let mut cleaning = Cleaning::default();
        for &slot in &self.changes.touched {
            let clocks = &self.client(slot).clocks;
            for handle in clocks.iter_from(Some(clocks.find(self.before(slot)))) {
                if live_mark(self, handle).is_some() {
                    cleaning.add_whole(self.items[handle].parent);
                }
            }
        }
        for &(slot, range) in &self.changes.deletes {
            let mut clock = range.clock;
            while clock < range.end() {
                let handle = self.find(Ref { slot, clock });
                let item = &self.items[handle];
                clock = item.end();
                if item.parent == NIL
                    || !self.types[item.parent as usize].has_formats
                    || cleaning.whole.contains(&item.parent)
                {
                    continue;
                }
                if item.kind == Kind::Format {
                    cleaning.add_whole(item.parent);
                } else {
                    cleaning.around.push(handle);
                }
            }
        }
        Some(cleaning)
    }

    pub(crate) fn clean(&mut self, cleaning: &Cleaning) {
        for &handle in &cleaning.around {
            clean_around(self, handle);
        }
        for &parent in &cleaning.whole {
            clean_whole(self, parent);
        }
    }
}

impl Cleaning {
    fn add_whole(&mut self, parent: u32) {
        if !self.whole.contains(&parent) {
            self.whole.push(parent);
        }
    }
}
