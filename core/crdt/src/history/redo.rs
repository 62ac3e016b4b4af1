//! Takes back what a step did: deletes what came in, and puts copies of what was deleted where it was.
//!
//! An item is never brought back itself: what is deleted stays so. Its copy stands beside it, in the copy of its parent
//! where that had to be brought back too, and whoever comes by the old one is led on to the copy.

use std::collections::HashSet;

use crate::doc::Doc;
use crate::doc::transaction::Transaction;
use crate::error::Error;
use crate::history::undo::{Step, Units, contains};
use crate::structs::Structs;
use crate::structs::item::{Item, Kind, NIL, Ref};

/// Takes back what a step did; whether that changed anything.
pub(crate) fn take_back(
    transaction: &mut Transaction<'_>,
    at: usize,
    step: &Step,
) -> Result<bool, Error> {
    let doc = &mut *transaction.doc;
    let steps = &doc.undo[at];
    let (scope, filter) = (steps.options.scope.clone(), steps.delete_filter.clone());
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
    // Children before their parents.
    for handle in to_delete.into_iter().rev() {
        if filter.as_ref().is_none_or(|filter| filter.allows(transaction.doc, handle)) {
            transaction.doc.structs.delete(handle);
            changed = true;
        }
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
