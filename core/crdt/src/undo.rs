//! Undo and redo of one person's own edits, whatever others did in between.
//!
//! An undo manager watches the transactions of some origins in some types. Each becomes a step (those that follow
//! each other within a short time become one): which units came in, and which were deleted. Undoing a step deletes the
//! former and puts copies of the latter where they were; that is a transaction like any other, and itself a step to
//! redo. Items that a step may bring back are kept from being collected. As in Yjs, to the byte.

use std::collections::HashSet;

use crate::delete_set::{Range, normalize};
use crate::doc::Doc;
use crate::error::Error;
use crate::item::{Item, Kind, NIL, Ref};
use crate::structs::Structs;
use crate::transaction::{Commit, Transaction};
use crate::value::Shared;

/// Who or what made a transaction, as a number that the caller chooses; 0 is nobody in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Origin(pub u64);

/// What an undo manager watches.
#[derive(Debug, Clone)]
pub struct UndoOptions {
    /// The types whose changes, at whatever depth, are undone; empty: the whole document.
    pub scope: Vec<Shared>,
    /// The origins whose transactions are undone.
    pub origins: Vec<Origin>,
    /// Transactions that follow each other within this time, in milliseconds, are one step.
    pub capture_ms: u64,
    /// Whether a map's key is brought back even if somebody else has set it since.
    pub ignore_remote_map_changes: bool,
}

impl Default for UndoOptions {
    fn default() -> Self {
        Self {
            scope: Vec::new(),
            origins: vec![Origin::default()],
            capture_ms: 500,
            ignore_remote_map_changes: false,
        }
    }
}

/// An undo manager of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UndoManager(u32);

/// Ranges of units by client, clients in the order in which they came.
type Units = Vec<(u32, Vec<Range>)>;

/// What one step brought in and took away.
#[derive(Debug, Clone, Default)]
struct Step {
    inserted: Units,
    deleted: Units,
}

/// An undo manager's memory.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    options: UndoOptions,
    undo: Vec<Step>,
    redo: Vec<Step>,
    /// When the last step grew, in milliseconds; 0 if the next one starts anew.
    last_ms: u64,
    /// The direction of the undo that is under way.
    under_way: Option<Direction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Undo,
    Redo,
}

fn merge(units: &mut Units, more: &Units) {
    for (slot, ranges) in more {
        match units.iter_mut().find(|(known, _)| known == slot) {
            Some((_, known)) => known.extend_from_slice(ranges),
            None => units.push((*slot, ranges.clone())),
        }
    }
    for (_, ranges) in units {
        normalize(ranges);
    }
}

fn contains(units: &Units, slot: u32, clock: u32) -> bool {
    units.iter().any(|(known, ranges)| {
        *known == slot && ranges.iter().any(|range| range.clock <= clock && clock < range.end())
    })
}

impl Structs {
    /// The items of some units, cut at the units' borders.
    fn items_of(&mut self, units: &Units) -> Vec<u32> {
        let mut handles = Vec::new();
        for (slot, ranges) in units {
            for range in ranges {
                let end = range.end().min(self.client(*slot).next);
                let mut clock = range.clock;
                while clock < end {
                    let handle = self.clean_start(Ref { slot: *slot, clock });
                    let item = &self.items[handle];
                    if item.end() > end && item.kind != Kind::Gc {
                        self.split(handle, end - item.clock);
                    }
                    handles.push(handle);
                    clock = self.items[handle].end();
                }
            }
        }
        handles
    }

    /// Whether a changed type, or one it lies in, is in a scope.
    fn is_concerned(&self, scope: &[Shared]) -> bool {
        scope.is_empty()
            || self.changes.types.iter().any(|&(changed, _)| {
                let holder = self.types[changed as usize].item;
                self.is_observed(changed)
                    && scope.iter().any(|shared| {
                        changed == shared.handle()
                            || (holder != NIL && self.is_inside(holder, shared.handle()))
                    })
            })
    }

    fn is_in_scope(&self, handle: u32, scope: &[Shared]) -> bool {
        scope.is_empty() || scope.iter().any(|shared| self.is_inside(handle, shared.handle()))
    }
}

impl Steps {
    /// Takes a transaction in that has ended but is not closed yet: what it deleted is still there.
    pub(crate) fn watch(&mut self, structs: &mut Structs, origin: Option<Origin>, now_ms: u64) {
        // `None`: an undo manager's own transaction; ours if one is under way.
        let tracked = match origin {
            Some(origin) => self.options.origins.contains(&origin),
            None => self.under_way.is_some(),
        };
        if !tracked || !structs.is_concerned(&self.options.scope) {
            return;
        }
        match self.under_way {
            Some(Direction::Undo) => self.last_ms = 0,
            Some(Direction::Redo) => {}
            None => self.forget(structs, Direction::Redo),
        }
        let mut step = Step::default();
        // In the order in which the document came to know the clients: in it they are deleted, and brought back.
        let mut touched = structs.changes.touched.clone();
        touched.sort_by_key(|&slot| structs.client(slot).rank);
        for slot in touched {
            let clock = structs.before(slot);
            let len = structs.client(slot).next - clock;
            if len > 0 {
                step.inserted.push((slot, vec![Range { clock, len }]));
            }
        }
        for (slot, ranges) in structs.changes.deletes_by_slot() {
            step.deleted.push((slot, ranges.iter().map(|&(_, range)| range).collect()));
        }
        let deleted = step.deleted.clone();
        let stack = match self.under_way {
            Some(Direction::Undo) => &mut self.redo,
            _ => &mut self.undo,
        };
        let continues = self.under_way.is_none()
            && self.last_ms > 0
            && now_ms.saturating_sub(self.last_ms) < self.options.capture_ms;
        match stack.last_mut() {
            Some(last) if continues => {
                merge(&mut last.deleted, &step.deleted);
                merge(&mut last.inserted, &step.inserted);
            }
            _ => stack.push(step),
        }
        if self.under_way.is_none() {
            self.last_ms = now_ms;
        }
        for handle in structs.items_of(&deleted) {
            if structs.items[handle].kind != Kind::Gc
                && structs.is_in_scope(handle, &self.options.scope)
            {
                structs.keep(handle, true);
            }
        }
    }

    /// Drops the steps of a direction and lets their items be collected.
    fn forget(&mut self, structs: &mut Structs, direction: Direction) {
        let steps = match direction {
            Direction::Undo => std::mem::take(&mut self.undo),
            Direction::Redo => std::mem::take(&mut self.redo),
        };
        for step in steps {
            for handle in structs.items_of(&step.deleted) {
                if structs.items[handle].kind != Kind::Gc
                    && structs.is_in_scope(handle, &self.options.scope)
                {
                    structs.keep(handle, false);
                }
            }
        }
    }
}

impl Doc {
    /// Starts to remember steps that can be undone.
    pub fn track(&mut self, options: UndoOptions) -> UndoManager {
        let steps =
            Steps { options, undo: Vec::new(), redo: Vec::new(), last_ms: 0, under_way: None };
        self.undo.push(steps);
        UndoManager(u32::try_from(self.undo.len() - 1).expect("fewer than 2^32 undo managers"))
    }
}

impl UndoManager {
    fn steps(self, doc: &Doc) -> &Steps {
        &doc.undo[self.0 as usize]
    }

    /// How many steps can be undone.
    pub fn undo_len(self, doc: &Doc) -> usize {
        self.steps(doc).undo.len()
    }

    /// How many steps can be redone.
    pub fn redo_len(self, doc: &Doc) -> usize {
        self.steps(doc).redo.len()
    }

    /// Makes the next transaction a step of its own.
    pub fn stop(self, doc: &mut Doc) {
        doc.undo[self.0 as usize].last_ms = 0;
    }

    /// Forgets all steps.
    pub fn clear(self, doc: &mut Doc) {
        let mut steps = doc.undo[self.0 as usize].clone();
        let transaction = doc.transact();
        steps.forget(&mut transaction.doc.structs, Direction::Undo);
        steps.forget(&mut transaction.doc.structs, Direction::Redo);
        transaction.commit();
        doc.undo[self.0 as usize] = steps;
    }

    /// Undoes the last step that still changes anything; `None` if there is none.
    ///
    /// # Errors
    /// The client has made 2^32 units.
    pub fn undo(self, doc: &mut Doc) -> Result<Option<Commit<'_>>, Error> {
        self.pop(doc, Direction::Undo)
    }

    /// Redoes the last step that was undone and still changes anything; `None` if there is none.
    ///
    /// # Errors
    /// The client has made 2^32 units.
    pub fn redo(self, doc: &mut Doc) -> Result<Option<Commit<'_>>, Error> {
        self.pop(doc, Direction::Redo)
    }

    fn pop(self, doc: &mut Doc, direction: Direction) -> Result<Option<Commit<'_>>, Error> {
        let at = self.0 as usize;
        doc.undo[at].under_way = Some(direction);
        let mut transaction = doc.transact();
        transaction.origin = None;
        let mut changed = Ok(false);
        while matches!(changed, Ok(false)) {
            let steps = &mut transaction.doc.undo[at];
            let stack = match direction {
                Direction::Undo => &mut steps.undo,
                Direction::Redo => &mut steps.redo,
            };
            let Some(step) = stack.pop() else { break };
            changed = apply(&mut transaction, at, &step);
        }
        transaction.commit();
        doc.undo[at].under_way = None;
        Ok(if changed? { Some(Commit { doc }) } else { None })
    }
}

/// Takes back what a step did; whether that changed anything.
fn apply(transaction: &mut Transaction<'_>, at: usize, step: &Step) -> Result<bool, Error> {
    let doc = &mut *transaction.doc;
    let scope = doc.undo[at].options.scope.clone();
    let structs = &mut doc.structs;
    let mut to_delete = Vec::new();
    for handle in structs.items_of(&step.inserted) {
        if structs.items[handle].kind == Kind::Gc {
            continue;
        }
        let mut handle = handle;
        if structs.items[handle].redone {
            let item = &structs.items[handle];
            let (copy, offset) = structs.follow(Ref { slot: item.slot, clock: item.clock });
            handle = if offset > 0 { structs.split(copy, offset) } else { copy };
        }
        if !structs.items[handle].deleted && structs.is_in_scope(handle, &scope) {
            to_delete.push(handle);
        }
    }
    let mut to_redo = Vec::new();
    for handle in structs.items_of(&step.deleted) {
        let item = &structs.items[handle];
        if item.kind != Kind::Gc
            && structs.is_in_scope(handle, &scope)
            && !contains(&step.inserted, item.slot, item.clock)
            && !to_redo.contains(&handle)
        {
            to_redo.push(handle);
        }
    }
    let redoing: HashSet<u32> = to_redo.iter().copied().collect();
    let mut changed = false;
    for handle in to_redo {
        changed |= redo(transaction, at, handle, &redoing, &step.inserted, 0)?.is_some();
    }
    let structs = &mut transaction.doc.structs;
    // Children before their parents.
    for handle in to_delete.into_iter().rev() {
        structs.delete(handle);
        changed = true;
    }
    Ok(changed)
}

/// How deep parents are brought back for a child.
const MAX_DEPTH: usize = 128;

/// Puts a copy of a deleted item where it was; returns the copy, `None` if that is not possible.
fn redo(
    transaction: &mut Transaction<'_>,
    at: usize,
    handle: u32,
    redoing: &HashSet<u32>,
    inserted: &Units,
    depth: usize,
) -> Result<Option<u32>, Error> {
    let structs = &mut transaction.doc.structs;
    if structs.items[handle].redone
        && let Some(&copy) = structs.redone.get(&handle)
    {
        return Ok(Some(structs.clean_start(copy)));
    }
    let mut holder = structs.types[structs.items[handle].parent as usize].item;
    if holder != NIL && structs.items[holder].deleted {
        if !structs.items[holder].redone
            && (depth >= MAX_DEPTH
                || !redoing.contains(&holder)
                || redo(transaction, at, holder, redoing, inserted, depth + 1)?.is_none())
        {
            return Ok(None);
        }
        let structs = &mut transaction.doc.structs;
        while structs.items[holder].redone
            && let Some(&copy) = structs.redone.get(&holder)
        {
            holder = structs.clean_start(copy);
        }
    }
    let structs = &mut transaction.doc.structs;
    let item = structs.items[handle].clone();
    let parent = if holder == NIL {
        item.parent
    } else if structs.items[holder].kind == Kind::Type {
        structs.items[holder].content
    } else {
        return Ok(None);
    };
    let (left, right) = if item.key == NIL {
        (trace(structs, item.left, parent, true), trace(structs, handle, parent, false))
    } else {
        match key_place(transaction.doc, at, handle, &item, parent, inserted) {
            Some(left) => (left, NIL),
            None => return Ok(None),
        }
    };
    let structs = &mut transaction.doc.structs;
    let content = structs.copy_content(handle);
    let slot = transaction.doc.own;
    let clock = transaction.doc.structs.client(slot).next;
    // The copy stays an item of its own until the end: others of this step are still to be found by their handles.
    let copy = transaction.insert_apart(parent, item.key, left, right, content)?;
    let structs = &mut transaction.doc.structs;
    structs.items[handle].redone = true;
    structs.redone.insert(handle, Ref { slot, clock });
    structs.keep(copy, true);
    Ok(Some(copy))
}

/// Goes left or right from an item to the next one that is, or has a copy, in a type.
fn trace(structs: &mut Structs, from: u32, parent: u32, leftwards: bool) -> u32 {
    let mut at = from;
    while at != NIL {
        let mut copy = at;
        while copy != NIL && structs.items[copy].parent != parent {
            copy = match structs.redone.get(&copy) {
                Some(&unit) if structs.items[copy].redone => structs.clean_start(unit),
                _ => NIL,
            };
        }
        if copy != NIL {
            return copy;
        }
        at = if leftwards { structs.items[at].left } else { structs.items[at].right };
    }
    NIL
}

/// The item behind which a map's value is put back; `None` if somebody else has set the key since.
fn key_place(
    doc: &mut Doc,
    at: usize,
    handle: u32,
    item: &Item,
    parent: u32,
    inserted: &Units,
) -> Option<u32> {
    let structs = &mut doc.structs;
    let steps = &doc.undo[at];
    let current = |structs: &Structs| {
        structs.types[parent as usize].map.get(&item.key).map_or(NIL, |chain| chain.last)
    };
    let mut left;
    if item.right != NIL && !steps.options.ignore_remote_map_changes {
        left = handle;
        loop {
            let right = structs.items[left].right;
            if right == NIL {
                break;
            }
            let next = &structs.items[right];
            let undone = |units: &Units| contains(units, next.slot, next.clock);
            let passes = next.redone
                || undone(inserted)
                || steps.undo.iter().chain(&steps.redo).any(|step| undone(&step.deleted));
            if !passes {
                break;
            }
            left = right;
            while structs.items[left].redone
                && let Some(&copy) = structs.redone.get(&left)
            {
                left = structs.clean_start(copy);
            }
        }
        if structs.items[left].right != NIL {
            return None;
        }
    } else {
        left = current(structs);
    }
    if left != NIL && structs.items[left].parent != parent {
        left = current(structs);
    }
    Some(left)
}
