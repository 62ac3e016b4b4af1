//! What a transaction changed in a text or list, as a walk over it as it was before.
//!
//! Where there are no formats the walk is put together from the changed items alone, each with its place in the order:
//! it costs what the change costs, not what the text does. Formats are told by going through the whole text, as in Yjs:
//! what a mark means hangs on all those before it.

use std::collections::HashMap;
use std::sync::Arc;

use lib0::Any;
use lib0::any::Object;

use crate::encoding::delete_set::Range;
use crate::structs::item::{Item, Kind, NIL, Ref};
use crate::structs::{Payload, Structs};
use crate::types::formats::{Formats, equal};
use crate::types::value::{Shared, Value};

/// A step of a walk over a list, or a text with attributes, as in Quill's deltas.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// This was inserted here, with these attributes.
    Insert(Inserted, Object),
    /// So many units stay and get these attributes.
    Retain(u32, Object),
    /// So many units were deleted here.
    Delete(u32),
}

/// What stands in a text or list.
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted {
    /// Text.
    Text(String),
    /// A value that counts as one unit.
    Embed(Any),
    /// A shared type that counts as one unit.
    Shared(Shared),
    /// Elements of a list, each of which counts as one unit.
    Values(Vec<Value>),
}

impl Inserted {
    /// A unit of a text that is no text.
    pub(crate) fn unit(structs: &Structs, item: &Item, offset: u32) -> Self {
        match Value::of(structs, item, offset) {
            Value::Any(value) => Self::Embed(value),
            Value::Shared(shared) => Self::Shared(shared),
            Value::Doc(subdoc) => Self::Embed(Any::from(subdoc.guid)),
        }
    }
}

/// A step of a walk over a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextChange {
    /// So many UTF-16 units stay.
    Retain(u32),
    /// This text was inserted here.
    Insert(String),
    /// So many UTF-16 units were deleted here.
    Delete(u32),
}

/// A changed part of an item: where it is now, and what happened to it.
pub(crate) struct Piece {
    list: u32,
    position: u32,
    handle: u32,
    offset: u32,
    len: u32,
    inserted: bool,
}

/// The parts of lists that changed, list by list from left to right. `wanted` says of which lists.
pub(crate) fn pieces(structs: &Structs, wanted: impl Fn(u32) -> bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for &slot in &structs.changes.touched {
        let before = structs.before(slot);
        let clocks = &structs.client(slot).clocks;
        for handle in clocks.iter_from(Some(clocks.find(before))) {
            let item = &structs.items[handle];
            if item.key != NIL || item.visible() == 0 || !wanted(item.parent) {
                continue;
            }
            let offset = before.saturating_sub(item.clock);
            pieces.push(Piece {
                list: item.parent,
                position: structs.position(handle) + offset,
                handle,
                offset,
                len: item.len - offset,
                inserted: true,
            });
        }
    }
    let mut uncounted: Vec<(u32, u32)> =
        structs.changes.uncounted.iter().map(|unit| (unit.slot, unit.clock)).collect();
    uncounted.sort_unstable();
    for &(slot, range) in &structs.changes.deletes {
        // What was made in this transaction was never there before it.
        let end = range.end().min(structs.before(slot));
        let mut clock = range.clock;
        while clock < end {
            let handle = structs.find(Ref { slot, clock });
            let item = &structs.items[handle];
            let to = end.min(item.end());
            if item.key == NIL && item.kind != Kind::Format && wanted(item.parent) {
                let hidden = uncounted.partition_point(|&unit| unit < (slot, to))
                    - uncounted.partition_point(|&unit| unit < (slot, clock));
                let len = (to - clock) - u32::try_from(hidden).unwrap_or(0);
                if len > 0 {
                    pieces.push(Piece {
                        list: item.parent,
                        position: structs.position(handle),
                        handle,
                        offset: clock - item.clock,
                        len,
                        inserted: false,
                    });
                }
            }
            clock = to;
        }
    }
    // At one position deletions come first: what is deleted behind an insertion has a later position.
    pieces.sort_by_key(|piece| (piece.list, piece.position, piece.inserted));
    pieces
}

/// The pieces of one list among those of all.
pub(crate) fn pieces_of(pieces: &[Piece], list: u32) -> &[Piece] {
    let start = pieces.partition_point(|piece| piece.list < list);
    let end = pieces.partition_point(|piece| piece.list <= list);
    &pieces[start..end]
}

/// A piece as a step of the walk, after the units that stay before it.
enum Step<'a> {
    Retain(u32),
    Insert(&'a Piece),
    Delete(u32),
}

/// The walk over one list's pieces.
fn steps(pieces: &[Piece]) -> impl Iterator<Item = Step<'_>> {
    let mut at = 0;
    pieces
        .iter()
        .flat_map(move |piece| {
            let kept = piece.position - at;
            at = piece.position + if piece.inserted { piece.len } else { 0 };
            let step = if piece.inserted { Step::Insert(piece) } else { Step::Delete(piece.len) };
            [(kept > 0).then_some(Step::Retain(kept)), Some(step)]
        })
        .flatten()
}

/// What changed in a text, without formats.
pub(crate) fn text_delta(structs: &Structs, text: u32) -> Vec<TextChange> {
    let mut delta = Vec::new();
    for step in steps(&pieces(structs, |list| list == text)) {
        match step {
            Step::Retain(len) => delta.push(TextChange::Retain(len)),
            Step::Delete(len) => match delta.last_mut() {
                Some(TextChange::Delete(all)) => *all += len,
                _ => delta.push(TextChange::Delete(len)),
            },
            Step::Insert(piece) => {
                let item = &structs.items[piece.handle];
                let inserted = if item.kind == Kind::String {
                    structs.text_part(item, piece.offset, piece.len).into_owned()
                } else {
                    // Whatever else counts in a text stands for itself as one replacement character a unit.
                    "\u{fffc}".repeat(piece.len as usize)
                };
                match delta.last_mut() {
                    Some(TextChange::Insert(text)) => text.push_str(&inserted),
                    _ => delta.push(TextChange::Insert(inserted)),
                }
            }
        }
    }
    delta
}

/// What changed in a text that never had a format (`is_text`), or in another list.
pub(crate) fn list_delta(structs: &Structs, pieces: &[Piece], is_text: bool) -> Vec<Delta> {
    let mut delta = Vec::new();
    for step in steps(pieces) {
        match step {
            Step::Retain(len) => delta.push(Delta::Retain(len, Object::default())),
            Step::Delete(len) => match delta.last_mut() {
                Some(Delta::Delete(all)) => *all += len,
                _ => delta.push(Delta::Delete(len)),
            },
            Step::Insert(piece) => {
                let item = &structs.items[piece.handle];
                let units = piece.offset..piece.offset + piece.len;
                match (delta.last_mut(), is_text, item.kind) {
                    (Some(Delta::Insert(Inserted::Text(text), _)), true, Kind::String) => {
                        text.push_str(&structs.text_part(item, piece.offset, piece.len));
                    }
                    (_, true, Kind::String) => {
                        let text = structs.text_part(item, piece.offset, piece.len).into_owned();
                        delta.push(Delta::Insert(Inserted::Text(text), Object::default()));
                    }
                    (_, true, _) => delta.extend(units.map(|offset| {
                        let unit = Inserted::unit(structs, item, offset);
                        Delta::Insert(unit, Object::default())
                    })),
                    (Some(Delta::Insert(Inserted::Values(values), _)), false, _) => {
                        values.extend(units.map(|offset| Value::of(structs, item, offset)));
                    }
                    (_, false, _) => {
                        let values = units.map(|offset| Value::of(structs, item, offset)).collect();
                        delta.push(Delta::Insert(Inserted::Values(values), Object::default()));
                    }
                }
            }
        }
    }
    delta
}

/// The deleted ranges of a transaction, to look units up in.
pub(crate) struct Deleted<'a>(HashMap<u32, &'a [(u32, Range)]>);

impl<'a> Deleted<'a> {
    pub(crate) fn of(structs: &'a Structs) -> Self {
        Self(structs.changes.deletes_by_slot().collect())
    }

    /// The first range of a client that ends behind a clock.
    fn from(&self, slot: u32, clock: u32) -> Option<Range> {
        let ranges = *self.0.get(&slot)?;
        let at = ranges.partition_point(|(_, range)| range.end() <= clock);
        ranges.get(at).map(|&(_, range)| range)
    }

    pub(crate) fn contains(&self, slot: u32, clock: u32) -> bool {
        self.from(slot, clock).is_some_and(|range| range.clock <= clock)
    }

    /// How many units of an item, which is deleted, were there before the transaction and are not any more.
    fn taken(&self, item: &Item, before: u32) -> u32 {
        let end = item.end().min(before);
        let (mut clock, mut taken) = (item.clock, 0);
        while clock < end
            && let Some(range) = self.from(item.slot, clock)
        {
            let (from, to) = (range.clock.max(clock), range.end().min(end));
            taken += to.saturating_sub(from);
            clock = range.end();
        }
        taken
    }
}

/// The step of a walk that is not yet closed.
enum Open {
    Nothing,
    Insert(String),
    Retain(u32),
    Delete(u32),
}

/// A walk over a text with formats, by Yjs's rules.
///
/// Yjs deletes marks that turn out to say nothing when somebody looks at such a delta. Here looking changes nothing:
/// they are passed over, so that the delta is the same, and stay until something else cleans them.
struct Walk<'a> {
    structs: &'a Structs,
    delta: Vec<Delta>,
    open: Open,
    /// What holds here now, and what held before the transaction.
    now: Formats,
    old: Formats,
    /// What units that stay are given here; `null` where something is taken away.
    given: Formats,
}

/// What changed in a text that has formats, or had.
pub(crate) fn rich_delta(structs: &Structs, deleted: &Deleted<'_>, text: u32) -> Vec<Delta> {
    let mut walk = Walk {
        structs,
        delta: Vec::new(),
        open: Open::Nothing,
        now: Formats::default(),
        old: Formats::default(),
        given: Formats::default(),
    };
    let mut at = structs.types[text as usize].start;
    while at != NIL {
        let item = &structs.items[at];
        at = item.right;
        let before = structs.before(item.slot);
        if item.kind == Kind::Format {
            if let Payload::Format(key, value) = structs.payload(item) {
                let is_new = item.clock >= before;
                match (item.deleted, is_new) {
                    (false, true) => walk.new_mark(*key, value),
                    (false, false) => walk.old_mark(*key, value),
                    (true, false) if deleted.contains(item.slot, item.clock) => {
                        walk.deleted_mark(*key, value);
                    }
                    (true, _) => {}
                }
            }
            continue;
        }
        if !item.kind.is_countable() {
            continue;
        }
        if item.deleted {
            walk.delete(deleted.taken(item, before));
        } else {
            // What it joined may have been there before.
            let kept = before.saturating_sub(item.clock).min(item.len);
            walk.retain(kept);
            walk.insert(item, kept);
        }
    }
    walk.close();
    while let Some(Delta::Retain(_, attributes)) = walk.delta.last()
        && attributes.is_empty()
    {
        walk.delta.pop();
    }
    walk.delta
}

impl Walk<'_> {
    fn close(&mut self) {
        let step = match std::mem::replace(&mut self.open, Open::Nothing) {
            Open::Nothing => return,
            Open::Insert(text) => {
                Delta::Insert(Inserted::Text(text), self.now.to_object(self.structs))
            }
            Open::Retain(len) => Delta::Retain(len, self.given.to_object(self.structs)),
            Open::Delete(len) => Delta::Delete(len),
        };
        self.delta.push(step);
    }

    fn close_retained(&mut self) {
        if matches!(self.open, Open::Retain(_)) {
            self.close();
        }
    }

    fn retain(&mut self, len: u32) {
        match &mut self.open {
            _ if len == 0 => {}
            Open::Retain(all) => *all += len,
            _ => {
                self.close();
                self.open = Open::Retain(len);
            }
        }
    }

    fn delete(&mut self, len: u32) {
        match &mut self.open {
            _ if len == 0 => {}
            Open::Delete(all) => *all += len,
            _ => {
                self.close();
                self.open = Open::Delete(len);
            }
        }
    }

    /// Inserts the units of an item from an offset on.
    fn insert(&mut self, item: &Item, from: u32) {
        if from == item.len {
            return;
        }
        if item.kind != Kind::String {
            self.close();
            let attributes = self.now.to_object(self.structs);
            self.delta.extend((from..item.len).map(|offset| {
                Delta::Insert(Inserted::unit(self.structs, item, offset), attributes.clone())
            }));
            return;
        }
        let part = self.structs.text_part(item, from, item.len - from);
        if let Open::Insert(text) = &mut self.open {
            text.push_str(&part);
        } else {
            self.close();
            self.open = Open::Insert(part.into_owned());
        }
    }

    /// A mark that came in.
    fn new_mark(&mut self, key: u32, value: &Arc<Any>) {
        if !equal(&self.now.value(key), value) {
            self.close_retained();
            if equal(value, &self.old.value(key)) {
                self.given.remove(key);
            } else {
                self.given.set(key, Arc::clone(value));
            }
        } else if **value != Any::Null {
            return;
        }
        self.hold(key, value);
    }

    /// A mark that was there and is not any more.
    fn deleted_mark(&mut self, key: u32, value: &Arc<Any>) {
        self.old.set(key, Arc::clone(value));
        let now = self.now.value(key);
        if !equal(&now, value) {
            self.close_retained();
            self.given.set(key, now);
        }
    }

    /// A mark that stays.
    fn old_mark(&mut self, key: u32, value: &Arc<Any>) {
        self.old.set(key, Arc::clone(value));
        if let Some(given) = self.given.get(key).cloned() {
            if !equal(&given, value) {
                self.close_retained();
                if **value == Any::Null {
                    self.given.remove(key);
                } else {
                    self.given.set(key, Arc::clone(value));
                }
            } else if *given != Any::Null {
                return;
            }
        }
        self.hold(key, value);
    }

    /// From here on a mark's value holds.
    fn hold(&mut self, key: u32, value: &Arc<Any>) {
        if matches!(self.open, Open::Insert(_)) {
            self.close();
        }
        self.now.update(key, value);
    }
}
