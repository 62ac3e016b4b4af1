//! Observers: what a transaction changed in a type, or anywhere below it, told as Yjs's events tell it.
//!
//! Nothing is called back. Whoever observes a type asks the [`Commit`] of a transaction (of an edit, an update that
//! was applied, an undo) for the events of its observer:
//!
//! ```
//! use crdt::{ClientId, Delta, Doc, Inserted, KeyChange, Object, Options, PathStep, Value};
//!
//! let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
//! let files = doc.map("files");
//! let mut transaction = doc.transact();
//! let main = files.insert_text(&mut transaction, "main.tex")?;
//! main.insert(&mut transaction, 0, "Hello")?;
//! transaction.commit();
//!
//! let watch = doc.observe_deep(files);
//! let mut transaction = doc.transact();
//! main.insert(&mut transaction, 5, ", world")?;
//! files.insert(&mut transaction, "title", "A paper")?;
//! let commit = transaction.commit();
//! let [title, text] = commit.events(watch) else { panic!("two types changed") };
//!
//! // Types nearer to the observed one come first.
//! assert_eq!(title.target, files.into());
//! assert_eq!(title.path, []);
//! assert_eq!(title.keys, [("title".into(), KeyChange::Added)]);
//!
//! assert_eq!(text.target, main.into());
//! assert_eq!(text.path, [PathStep::Key("main.tex".into())]);
//! let inserted = Inserted::Text(", world".to_owned());
//! let none = Object::default();
//! assert_eq!(text.delta, [Delta::Retain(5, none.clone()), Delta::Insert(inserted, none)]);
//! # Ok::<(), crdt::Error>(())
//! ```
//!
//! Events are made when the transaction ends, before what it deleted is collected, and only of what somebody observes;
//! they stay until the document changes again. As in Yjs
//!
//! - a type that came in or was deleted in the transaction has no event: its parent's event tells of it;
//! - a change that came to nothing (a key set and removed again) still has an event, an empty one;
//! - where a remote edit has formats cleaned, the cleaning is a transaction of its own, whose events follow.
//!
//! Unlike in Yjs, looking at a text's delta never changes the text: see `delta.rs`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::doc::Doc;
use crate::doc::transaction::Commit;
use crate::encoding::content::TypeKind;
use crate::structs::Structs;
use crate::structs::item::NIL;
use crate::types::delta::{Deleted, Delta, Piece, list_delta, pieces, pieces_of, rich_delta};
use crate::types::value::{Shared, Value};

/// How far below the observed type a type may lie to be told of. No path is longer, so that a hostile update cannot
/// make paths that take the square of its size.
const MAX_DEPTH: usize = 256;

/// An observer of a document, by which its events are asked for. A clone of the document has it too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Observer(u32);

/// What a transaction changed in one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The type that changed.
    pub target: Shared,
    /// The way from the observed type to the target, as the document is after the transaction.
    pub path: Vec<PathStep>,
    /// What changed in the list or text, as a walk over it as it was before, without what stays at the end. A list's
    /// insertions are [`Inserted::Values`](crate::Inserted::Values).
    pub delta: Vec<Delta>,
    /// The keys, or XML attributes, that changed, in the order in which they did first.
    pub keys: Vec<(Arc<str>, KeyChange)>,
}

/// One step from a type to one in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// To the value of this key.
    Key(Arc<str>),
    /// To the element at this index; in a text, in UTF-16 units.
    Index(u32),
}

/// What happened to a key. The old value may be a type that is deleted now, and empty.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyChange {
    /// It had no value before.
    Added,
    /// It had this value before.
    Updated(Value),
    /// It had this value, and has none now.
    Removed(Value),
}

/// All observers of a document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observers {
    /// By number; numbers are not used again.
    watches: BTreeMap<u32, Watch>,
    next: u32,
    /// The numbers of those that observe a type.
    of_type: HashMap<u32, Vec<u32>>,
}

#[derive(Debug, Clone)]
struct Watch {
    shared: u32,
    deep: bool,
    /// Those of the last transaction.
    events: Vec<Event>,
}

impl Doc {
    /// Observes a type: its own changes have events. Works for a type that is deleted later, which just falls silent.
    pub fn observe(&mut self, shared: impl Into<Shared>) -> Observer {
        self.observers.add(shared.into(), false)
    }

    /// Observes a type and all types in it, at whatever depth up to 256. Events of types nearer to the observed one
    /// come first, otherwise those of types that changed first.
    pub fn observe_deep(&mut self, shared: impl Into<Shared>) -> Observer {
        self.observers.add(shared.into(), true)
    }

    /// Stops to observe; an observer that is none any more is left alone.
    pub fn unobserve(&mut self, observer: Observer) {
        self.observers.remove(observer);
    }
}

impl Commit<'_> {
    /// The events of an observer in the order in which Yjs calls; none for one that is not observing.
    pub fn events(&self, observer: Observer) -> &[Event] {
        self.doc.observers.watches.get(&observer.0).map_or(&[], |watch| &watch.events)
    }
}

/// A type that a transaction changed.
struct Changed {
    handle: u32,
    /// Whether its list did.
    list: bool,
    keys: Vec<u32>,
}

impl Observers {
    fn add(&mut self, shared: Shared, deep: bool) -> Observer {
        let number = self.next;
        self.next += 1;
        let shared = shared.handle();
        self.of_type.entry(shared).or_default().push(number);
        self.watches.insert(number, Watch { shared, deep, events: Vec::new() });
        Observer(number)
    }

    fn remove(&mut self, Observer(number): Observer) {
        let Some(watch) = self.watches.remove(&number) else { return };
        if let Some(numbers) = self.of_type.get_mut(&watch.shared) {
            numbers.retain(|&other| other != number);
            if numbers.is_empty() {
                self.of_type.remove(&watch.shared);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Forgets the events of the last transaction.
    pub(crate) fn clear(&mut self) {
        for watch in self.watches.values_mut() {
            watch.events.clear();
        }
    }

    /// Adds the events of a transaction that has ended but is not closed yet: what it deleted is still there.
    pub(crate) fn gather(&mut self, structs: &Structs) {
        let mut told: Vec<(Changed, Vec<u32>)> = Vec::new();
        for changed in changed_types(structs) {
            let watches = self.who_watches(structs, changed.handle);
            if !watches.is_empty() {
                told.push((changed, watches));
            }
        }
        if told.is_empty() {
            return;
        }
        let deleted = Deleted::of(structs);
        let plain: HashSet<u32> = told
            .iter()
            .filter(|(changed, _)| changed.list && !is_rich(structs, changed.handle))
            .map(|(changed, _)| changed.handle)
            .collect();
        let pieces = pieces(structs, |list| plain.contains(&list));
        let mut first: BTreeMap<u32, usize> = BTreeMap::new();
        for (changed, watches) in told {
            let target = Shared::of(structs, changed.handle);
            let delta = delta_of(structs, &deleted, &pieces, &changed);
            let keys: Vec<(Arc<str>, KeyChange)> = changed
                .keys
                .iter()
                .filter_map(|&key| {
                    let change = key_change(structs, &deleted, changed.handle, key)?;
                    Some((structs.shared_key(key), change))
                })
                .collect();
            for number in watches {
                let Some(watch) = self.watches.get_mut(&number) else { continue };
                first.entry(number).or_insert(watch.events.len());
                let path = path(structs, watch.shared, changed.handle);
                watch.events.push(Event { target, path, delta: delta.clone(), keys: keys.clone() });
            }
        }
        for (number, first) in first {
            if let Some(watch) = self.watches.get_mut(&number) {
                watch.events[first..].sort_by_key(|event| event.path.len());
            }
        }
    }

    /// The observers that are told of a type's changes.
    fn who_watches(&self, structs: &Structs, handle: u32) -> Vec<u32> {
        let mut found = Vec::new();
        let mut at = handle;
        for _ in 0..=MAX_DEPTH {
            if let Some(numbers) = self.of_type.get(&at) {
                let tells = |number: &&u32| {
                    at == handle || self.watches.get(number).is_some_and(|watch| watch.deep)
                };
                found.extend(numbers.iter().filter(tells));
            }
            let holder = structs.types[at as usize].item;
            if holder == NIL {
                break;
            }
            at = structs.items[holder].parent;
        }
        found
    }
}

/// The types that have events, in the order in which they changed first.
fn changed_types(structs: &Structs) -> Vec<Changed> {
    let mut types: Vec<Changed> = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut seen: HashSet<(u32, u32)> = HashSet::new();
    for &(handle, key) in &structs.changes.types {
        // What a root is that nobody has asked for is not known yet.
        let is_told = seen.insert((handle, key))
            && structs.types[handle as usize].kind != TypeKind::Untyped
            && structs.is_observed(handle);
        if !is_told {
            continue;
        }
        let place = *places.entry(handle).or_insert(types.len());
        if place == types.len() {
            types.push(Changed { handle, list: false, keys: Vec::new() });
        }
        if key == NIL {
            types[place].list = true;
        } else {
            types[place].keys.push(key);
        }
    }
    types
}

fn is_text(structs: &Structs, handle: u32) -> bool {
    matches!(structs.types[handle as usize].kind, TypeKind::Text | TypeKind::XmlText)
}

/// Whether a type is a text that had a format at some time.
fn is_rich(structs: &Structs, handle: u32) -> bool {
    is_text(structs, handle) && structs.types[handle as usize].has_marks
}

fn delta_of(
    structs: &Structs,
    deleted: &Deleted<'_>,
    pieces: &[Piece],
    changed: &Changed,
) -> Vec<Delta> {
    let handle = changed.handle;
    if !changed.list {
        Vec::new()
    } else if is_rich(structs, handle) {
        rich_delta(structs, deleted, handle)
    } else {
        list_delta(structs, pieces_of(pieces, handle), is_text(structs, handle))
    }
}

/// What happened to a key; `None` if nothing did in the end.
fn key_change(
    structs: &Structs,
    deleted: &Deleted<'_>,
    handle: u32,
    key: u32,
) -> Option<KeyChange> {
    let last = structs.types[handle as usize].map.get(&key)?.last;
    let is_new = |handle: u32| {
        let item = &structs.items[handle];
        item.clock >= structs.before(item.slot)
    };
    let is_deleted = |handle: u32| {
        let item = &structs.items[handle];
        deleted.contains(item.slot, item.clock)
    };
    let mut old = last;
    while old != NIL && is_new(old) {
        old = structs.items[old].left;
    }
    let value = (old != NIL && is_deleted(old)).then(|| {
        let item = &structs.items[old];
        Value::of(structs, item, item.len - 1)
    });
    match (value, is_deleted(last)) {
        (Some(value), true) => Some(KeyChange::Removed(value)),
        (Some(value), false) => Some(KeyChange::Updated(value)),
        (None, false) if is_new(last) => Some(KeyChange::Added),
        (None, _) => None,
    }
}

/// The way from a type to one in it.
fn path(structs: &Structs, from: u32, to: u32) -> Vec<PathStep> {
    let mut path = Vec::new();
    let mut at = to;
    while at != from && structs.types[at as usize].item != NIL {
        let holder = structs.types[at as usize].item;
        let item = &structs.items[holder];
        path.push(if item.key == NIL {
            PathStep::Index(structs.position(holder))
        } else {
            PathStep::Key(structs.shared_key(item.key))
        });
        at = item.parent;
    }
    path.reverse();
    path
}
