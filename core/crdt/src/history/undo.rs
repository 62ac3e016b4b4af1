//! Undo and redo of one person's own edits, whatever others did in between.
//!
//! An undo manager watches the transactions of some origins in some types. Each becomes a step (those that follow
//! each other within a short time become one): which units came in, and which were deleted. Undoing a step deletes the
//! former and puts copies of the latter where they were; that is a transaction like any other, and itself a step to
//! redo. Items that a step may bring back are kept from being collected. As in Yjs, to the byte.

use std::fmt;
use std::sync::Arc;

use lib0::Any;

use crate::doc::Doc;
use crate::doc::filter::{Candidate, Filter};
use crate::doc::transaction::Commit;
use crate::encoding::delete_set::{Range, normalize};
use crate::error::Error;
use crate::history::redo::take_back;
use crate::structs::Structs;
use crate::structs::item::{Kind, NIL, Ref};
use crate::types::value::Shared;

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
pub(crate) type Units = Vec<(u32, Vec<Range>)>;

/// What one step brought in and took away.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    pub(crate) inserted: Units,
    pub(crate) deleted: Units,
    /// Whatever the caller keeps with it.
    meta: Option<Any>,
}

/// Which transactions are taken in.
#[derive(Clone)]
struct Capture(Arc<CaptureFn>);

type CaptureFn = dyn Fn(&Commit<'_>, Option<Origin>) -> bool + Send + Sync;

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Capture")
    }
}

/// An undo manager's memory.
#[derive(Debug, Clone)]
pub(crate) struct Steps {
    pub(crate) options: UndoOptions,
    /// Nothing is taken in any more.
    ended: bool,
    capture: Option<Capture>,
    pub(crate) delete_filter: Option<Filter>,
    events: Vec<UndoEvent>,
    pub(crate) undo: Vec<Step>,
    pub(crate) redo: Vec<Step>,
    /// When the last step grew, in milliseconds; 0 if the next one starts anew.
    last_ms: u64,
    /// The direction of the undo that is under way.
    under_way: Option<Direction>,
}

/// One of an undo manager's two stacks: the steps that can be undone, or those that can be redone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// What was done.
    Undo,
    /// What was undone.
    Redo,
}

/// What a transaction, an undo, a redo or a clearing did to an undo manager's stacks.
#[derive(Debug, Clone, PartialEq)]
pub enum UndoEvent {
    /// A step was added to a stack. [`UndoManager::set_meta`] keeps something with it.
    Added(Direction),
    /// The newest step to undo has grown.
    Updated,
    /// A step was taken from a stack and undone or redone; with what was kept with it.
    Popped(Direction, Option<Any>),
    /// A stack lost all its steps.
    Cleared(Direction),
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

pub(crate) fn contains(units: &Units, slot: u32, clock: u32) -> bool {
    units.iter().any(|(known, ranges)| {
        *known == slot && ranges.iter().any(|range| range.clock <= clock && clock < range.end())
    })
}

impl Structs {
    /// The items of some units, cut at the units' borders.
    pub(crate) fn items_of(&mut self, units: &Units) -> Vec<u32> {
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

    pub(crate) fn is_in_scope(&self, handle: u32, scope: &[Shared]) -> bool {
        scope.is_empty() || scope.iter().any(|shared| self.is_inside(handle, shared.handle()))
    }
}

impl Steps {
    /// Whether a transaction that has ended is to be taken in as far as the caller says.
    pub(crate) fn captures(&self, doc: &Doc, origin: Option<Origin>) -> bool {
        let takes = |capture: &Capture| (capture.0)(&Commit { doc }, origin);
        !self.ended && self.capture.as_ref().is_none_or(takes)
    }

    /// Forgets what happened in the transaction before.
    pub(crate) fn forget_events(&mut self) {
        self.events.clear();
    }

    fn stack(&mut self, direction: Direction) -> &mut Vec<Step> {
        match direction {
            Direction::Undo => &mut self.undo,
            Direction::Redo => &mut self.redo,
        }
    }

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
        let direction = match self.under_way {
            Some(Direction::Undo) => Direction::Redo,
            _ => Direction::Undo,
        };
        let continues = self.under_way.is_none()
            && self.last_ms > 0
            && now_ms.saturating_sub(self.last_ms) < self.options.capture_ms;
        let stack = self.stack(direction);
        let event = match stack.last_mut() {
            Some(last) if continues => {
                merge(&mut last.deleted, &step.deleted);
                merge(&mut last.inserted, &step.inserted);
                UndoEvent::Updated
            }
            _ => {
                stack.push(step);
                UndoEvent::Added(direction)
            }
        };
        self.events.push(event);
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
        let steps = std::mem::take(self.stack(direction));
        if !steps.is_empty() {
            self.events.push(UndoEvent::Cleared(direction));
        }
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
        self.undo.push(Steps {
            options,
            ended: false,
            capture: None,
            delete_filter: None,
            events: Vec::new(),
            undo: Vec::new(),
            redo: Vec::new(),
            last_ms: 0,
            under_way: None,
        });
        UndoManager(u32::try_from(self.undo.len() - 1).expect("fewer than 2^32 undo managers"))
    }
}

impl UndoManager {
    fn steps(self, doc: &Doc) -> &Steps {
        &doc.undo[self.0 as usize]
    }

    fn steps_mut(self, doc: &mut Doc) -> &mut Steps {
        &mut doc.undo[self.0 as usize]
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
        self.steps_mut(doc).last_ms = 0;
    }

    /// Forgets all steps.
    pub fn clear(self, doc: &mut Doc) {
        self.clear_stacks(doc, &[Direction::Undo, Direction::Redo]);
    }

    /// Forgets the steps of one stack.
    pub fn clear_stack(self, doc: &mut Doc, direction: Direction) {
        self.clear_stacks(doc, &[direction]);
    }

    fn clear_stacks(self, doc: &mut Doc, directions: &[Direction]) {
        let at = self.0 as usize;
        let transaction = doc.transact();
        let mut steps = transaction.doc.undo[at].clone();
        steps.forget_events();
        for &direction in directions {
            steps.forget(&mut transaction.doc.structs, direction);
        }
        transaction.commit();
        doc.undo[at] = steps;
    }

    /// Watches another type too, from now on. A manager of the whole document does so already.
    pub fn add_to_scope(self, doc: &mut Doc, shared: impl Into<Shared>) {
        let scope = &mut self.steps_mut(doc).options.scope;
        let shared = shared.into();
        if !scope.is_empty() && !scope.contains(&shared) {
            scope.push(shared);
        }
    }

    /// Watches the whole document from now on.
    pub fn add_document_to_scope(self, doc: &mut Doc) {
        self.steps_mut(doc).options.scope.clear();
    }

    /// Watches the transactions of another origin too, from now on.
    pub fn add_origin(self, doc: &mut Doc, origin: Origin) {
        let origins = &mut self.steps_mut(doc).options.origins;
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }

    /// No longer watches the transactions of an origin.
    pub fn remove_origin(self, doc: &mut Doc, origin: Origin) {
        self.steps_mut(doc).options.origins.retain(|&other| other != origin);
    }

    /// Sets which transactions are taken in (`captureTransaction`), of those that are watched: `true` for those that
    /// are. It is asked when the transaction has ended and nothing is collected yet; an undo manager's own transactions
    /// have no origin.
    pub fn set_capture(
        self,
        doc: &mut Doc,
        capture: impl Fn(&Commit<'_>, Option<Origin>) -> bool + Send + Sync + 'static,
    ) {
        self.steps_mut(doc).capture = Some(Capture(Arc::new(capture)));
    }

    /// Sets what an undo or redo may delete (`deleteFilter`), of what it would: `true` for what it may.
    pub fn set_delete_filter(
        self,
        doc: &mut Doc,
        filter: impl Fn(Candidate<'_>) -> bool + Send + Sync + 'static,
    ) {
        self.steps_mut(doc).delete_filter = Some(Filter::new(filter));
    }

    /// What the last transaction, undo, redo or clearing did to the stacks, in the order in which it happened: Yjs's
    /// events of stack items.
    pub fn events(self, doc: &Doc) -> &[UndoEvent] {
        &self.steps(doc).events
    }

    /// Keeps something with the newest step of a stack, such as where the caret was, in place of what was kept with it
    /// before. It comes back when the step is popped. Returns whether there is a step.
    pub fn set_meta(self, doc: &mut Doc, direction: Direction, meta: Any) -> bool {
        match self.steps_mut(doc).stack(direction).last_mut() {
            Some(step) => {
                step.meta = Some(meta);
                true
            }
            None => false,
        }
    }

    /// What is kept with the newest step of a stack.
    pub fn meta(self, doc: &Doc, direction: Direction) -> Option<&Any> {
        let steps = self.steps(doc);
        let stack = match direction {
            Direction::Undo => &steps.undo,
            Direction::Redo => &steps.redo,
        };
        stack.last()?.meta.as_ref()
    }

    /// Ends the manager: it takes nothing in any more and has no steps. What it kept from being collected stays kept,
    /// as in Yjs; [`UndoManager::clear`] before lets it go.
    pub fn untrack(self, doc: &mut Doc) {
        let steps = self.steps_mut(doc);
        steps.ended = true;
        (steps.capture, steps.delete_filter) = (None, None);
        (steps.undo, steps.redo, steps.events) = (Vec::new(), Vec::new(), Vec::new());
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
        let mut meta = None;
        while matches!(changed, Ok(false)) {
            let Some(mut step) = transaction.doc.undo[at].stack(direction).pop() else { break };
            changed = take_back(&mut transaction, at, &step);
            meta = step.meta.take();
        }
        transaction.commit();
        let steps = &mut doc.undo[at];
        steps.under_way = None;
        if changed == Ok(true) {
            steps.events.push(UndoEvent::Popped(direction, meta));
        }
        Ok(if changed? { Some(Commit { doc }) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use lib0::Any;

    use super::{Direction, Origin, UndoEvent, UndoManager, UndoOptions};
    use crate::{ClientId, Doc, Options, Shared, Text};

    fn doc() -> Doc {
        Doc::new(ClientId::new(1).unwrap(), Options::default())
    }

    fn only(shared: impl Into<Shared>) -> UndoOptions {
        UndoOptions { scope: vec![shared.into()], ..UndoOptions::default() }
    }

    /// Appends a letter; returns what that did to an undo manager.
    fn add(doc: &mut Doc, text: Text, origin: u64, undo: UndoManager) -> Vec<UndoEvent> {
        let end = text.len(doc);
        let mut transaction = doc.transact_as(Origin(origin), 1_000);
        text.insert(&mut transaction, end, "x").unwrap();
        transaction.commit();
        undo.events(doc).to_vec()
    }

    #[test]
    fn what_is_kept_with_a_step_comes_back_with_it() {
        use Direction::{Redo, Undo};
        let mut doc = doc();
        let text = doc.text("t");
        let undo = doc.track(only(text));
        assert!(!undo.set_meta(&mut doc, Undo, Any::Null));
        assert_eq!(add(&mut doc, text, 0, undo), [UndoEvent::Added(Undo)]);
        assert!(undo.set_meta(&mut doc, Undo, Any::from(7)));
        assert_eq!(add(&mut doc, text, 0, undo), [UndoEvent::Updated]);
        assert_eq!(undo.meta(&doc, Undo), Some(&Any::from(7)));

        undo.undo(&mut doc).unwrap().unwrap();
        let popped = UndoEvent::Popped(Undo, Some(Any::from(7)));
        assert_eq!(undo.events(&doc), [UndoEvent::Added(Redo), popped]);
        assert_eq!(undo.meta(&doc, Redo), None);
        assert!(undo.set_meta(&mut doc, Redo, Any::from(8)));

        undo.redo(&mut doc).unwrap().unwrap();
        let popped = UndoEvent::Popped(Redo, Some(Any::from(8)));
        assert_eq!(undo.events(&doc), [UndoEvent::Added(Undo), popped]);
        assert_eq!(text.read(&doc), "xx");

        undo.undo(&mut doc).unwrap().unwrap();
        let events = [UndoEvent::Cleared(Redo), UndoEvent::Added(Undo)];
        assert_eq!(add(&mut doc, text, 0, undo), events);
        // A transaction that changes nothing does nothing here either.
        doc.transact().commit();
        assert_eq!(undo.events(&doc), []);
        undo.clear_stack(&mut doc, Redo);
        assert_eq!(undo.events(&doc), []);
        undo.clear(&mut doc);
        assert_eq!(undo.events(&doc), [UndoEvent::Cleared(Undo)]);
        assert!(undo.undo(&mut doc).unwrap().is_none());
    }

    #[test]
    fn types_and_origins_may_join_later() {
        let mut doc = doc();
        let (text, other) = (doc.text("t"), doc.text("u"));
        let options = UndoOptions { origins: vec![Origin(1)], capture_ms: 0, ..only(text) };
        let undo = doc.track(options);
        add(&mut doc, text, 0, undo);
        add(&mut doc, other, 1, undo);
        assert_eq!(undo.undo_len(&doc), 0);
        undo.add_to_scope(&mut doc, other);
        add(&mut doc, other, 1, undo);
        assert_eq!(undo.undo_len(&doc), 1);
        undo.add_origin(&mut doc, Origin(2));
        undo.remove_origin(&mut doc, Origin(1));
        add(&mut doc, text, 1, undo);
        add(&mut doc, text, 2, undo);
        assert_eq!(undo.undo_len(&doc), 2);
        let third = doc.text("v");
        add(&mut doc, third, 2, undo);
        assert_eq!(undo.undo_len(&doc), 2);
        undo.add_document_to_scope(&mut doc);
        undo.add_to_scope(&mut doc, text);
        add(&mut doc, third, 2, undo);
        assert_eq!(undo.undo_len(&doc), 3);
        while undo.undo(&mut doc).unwrap().is_some() {}
        let left = [text, other, third].map(|text| text.read(&doc));
        assert_eq!(left, ["xx", "x", "x"]);
    }

    #[test]
    fn only_what_is_captured_is_undone() {
        let mut doc = doc();
        let text = doc.text("t");
        let undo = doc.track(UndoOptions { origins: vec![Origin(1), Origin(2)], ..only(text) });
        undo.set_capture(&mut doc, move |commit, origin| {
            assert!(commit.changed(text));
            // What it has is to be seen here as well.
            assert!(undo.undo_len(commit.doc()) < 2);
            origin != Some(Origin(2)) && text.len(commit.doc()) != 2
        });
        assert_eq!(add(&mut doc, text, 1, undo), [UndoEvent::Added(Direction::Undo)]);
        assert_eq!(add(&mut doc, text, 1, undo), []);
        assert_eq!(add(&mut doc, text, 2, undo), []);
        undo.undo(&mut doc).unwrap().unwrap();
        // The undo itself leaves two letters, and was not captured.
        assert_eq!((text.len(&doc), undo.redo_len(&doc)), (2, 0));
    }

    #[test]
    fn one_that_has_ended_takes_nothing_in() {
        let mut doc = doc();
        let text = doc.text("t");
        let (undo, other) = (doc.track(only(text)), doc.track(only(text)));
        add(&mut doc, text, 0, undo);
        undo.untrack(&mut doc);
        assert_eq!(add(&mut doc, text, 0, undo), []);
        assert_eq!((undo.undo_len(&doc), other.undo_len(&doc)), (0, 1));
        assert!(undo.undo(&mut doc).unwrap().is_none());
        assert!(other.undo(&mut doc).unwrap().is_some());
        assert!(text.is_empty(&doc));
    }
}
