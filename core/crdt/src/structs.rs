//! All items of a document and how they hang together: the one place that links, cuts, joins, deletes and collects them.
//!
//! ```text
//! clients ── clocks ──> items <── order (B-tree a list) ── types <── roots by name
//!    └ texts, values       └ left, right, origins, parent              └ chains of map keys
//! ```
//!
//! Cutting and joining follow Yjs exactly, since what is joined decides what an update looks like. They, and deleting and
//! writing, have files of their own: [`delete`], [`join`], [`write`](mod@write).
//!
//! What makes it fast:
//!
//! - Items lie in one arena and are named by `u32`, clients and keys by small numbers; nothing is allocated an item.
//! - Texts lie one behind the other in a run per client, so that cutting is an addition and joining what was typed on is
//!   nothing at all.
//! - What one types on lengthens the item that it continues at once ([`Structs::append`]), and deleting letter by letter
//!   moves the border between an item and its tombstone (`Structs::move_border`): no item comes, is cut or is joined
//!   again. Both only anticipate what closing the transaction would come to, and step aside where somebody might see
//!   the difference.
//! - Looking up tries where the last look-up ended: in the order of the list (a cursor, a finger) and in that of clocks
//!   (a hint).
//! - Closing does only what is left to do: nothing after such edits ([`Changes::is_settled`]), and of what was cut, what
//!   stands side by side tells whether it may join.
//! - What formats hold at a place is found without walking there: [`marks`].
//! - An event of one edit is written straight from the arena, with one allocation: the bytes that are handed out.
//! - An update is read once and checked to its end before it is applied; an empty document takes what one client wrote
//!   while it is read, and builds its order when all is linked.
//! - What a large update has is put beside its neighbors and joined when all is there ([`Structs::put`]).
//! - Texts and tombstones, nearly all there is, go between bytes and arena in their fields, both ways.

pub(crate) mod clocks;
pub(crate) mod item;
pub(crate) mod order;
pub(crate) mod run;

pub(crate) mod changes;

pub(crate) mod marks;

pub(crate) mod delete;
pub(crate) mod join;
pub(crate) mod write;

pub(crate) mod place;

pub(crate) mod integrate;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use lib0::{Any, utf16};

use crate::encoding::block::{Block, BlockKind, ItemBlock, Parent};
use crate::encoding::content::{Content, TypeKind};
use crate::encoding::subdoc::Subdoc;
use crate::id::{ClientId, Id};
use crate::structs::changes::{Changes, Cut, SubdocChange};
use crate::structs::clocks::{Clocks, Place};
use crate::structs::item::{Item, Items, Kind, NIL, Ref};
use crate::structs::marks::Marks;
use crate::structs::order::{Nodes, Order};
use crate::structs::run::TextRun;

/// What one client made.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) id: ClientId,
    pub(crate) clocks: Clocks,
    /// The clock of its next unit: how much of it is known.
    pub(crate) next: u32,
    pub(crate) texts: TextRun,
    /// Values of lists and maps, those of the oldest Yjs versions among them.
    pub(crate) values: Vec<Any>,
    /// How many clients had made something here before it.
    pub(crate) rank: u32,
    /// `next` at the start of the transaction numbered `stamp`.
    before: u32,
    stamp: u32,
}

/// The items under one key of a map, oldest to newest; the last is the key's value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// How many keys the map knew before this one.
    place: u32,
}

/// A text, list or map.
#[derive(Debug, Clone)]
pub(crate) struct Type {
    pub(crate) kind: TypeKind,
    /// The item that holds it; `NIL` for a root.
    pub(crate) item: u32,
    /// The unit that held it, once that was collected: its item may have become part of another, and its handle an
    /// item's that has nothing to do with this type.
    pub(crate) gone: Option<Ref>,
    /// The number of a root's name.
    pub(crate) name: u32,
    /// The first item of the list, deleted or not.
    pub(crate) start: u32,
    pub(crate) order: Order,
    pub(crate) map: BTreeMap<u32, Chain>,
    /// Where the marks of formats in it stand, if anybody has asked.
    pub(crate) marks: Option<Box<Marks>>,
    /// Whether a format ever stood in it.
    pub(crate) has_marks: bool,
    /// Whether one came in since the type is known to be a text. Yjs looks at this where it should look at the other,
    /// so a root text that is asked for only after formats were applied to it inherits and cleans fewer of them.
    pub(crate) has_formats: bool,
}

impl Type {
    /// The chains of a map, in the order in which it came to know their keys: that of a JavaScript `Map`.
    pub(crate) fn chains(&self) -> impl Iterator<Item = (u32, Chain)> {
        let mut chains: Vec<(u32, Chain)> =
            self.map.iter().map(|(&key, &chain)| (key, chain)).collect();
        chains.sort_unstable_by_key(|(_, chain)| chain.place);
        chains.into_iter()
    }
}

/// Contents that are neither text nor values.
#[derive(Debug, Clone)]
pub(crate) enum Payload {
    Free,
    Binary(Vec<u8>),
    Embed(Any),
    Format(u32, Arc<Any>),
    Doc(Box<Subdoc>),
}

/// See the head of this file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Structs {
    pub(crate) items: Items,
    pub(crate) nodes: Nodes,
    pub(crate) clients: Vec<Client>,
    slots: BTreeMap<ClientId, u32>,
    /// The slot of some client, likely to be looked for again.
    recent: u32,
    /// Clients that made something.
    ranks: u32,
    pub(crate) types: Vec<Type>,
    roots: BTreeMap<u32, u32>,
    keys: Vec<Arc<str>>,
    key_numbers: BTreeMap<Arc<str>, u32>,
    pub(crate) payloads: Vec<Payload>,
    pub(crate) free_payloads: Vec<u32>,
    /// Where undo has put copies of items, by the item's handle: the first unit of the copy.
    pub(crate) redone: HashMap<u32, Ref>,
    /// The units that hold subdocuments, in the order in which they came; some are deleted.
    pub(crate) subdocs: Vec<Ref>,
    pub(crate) changes: Changes,
    /// New items are not joined before the transaction is closed, since a filter looks at them.
    pub(crate) is_filtered: bool,
    /// While a whole document is taken in: the types whose orders are built when all their items are linked.
    pub(crate) unordered: Option<Vec<u32>>,
    /// While a large update is taken in: items are joined when it is in. What one says of a state is joined already, and
    /// would only be cut again.
    pub(crate) apart: bool,
}

pub(crate) fn handle_of(len: usize) -> u32 {
    u32::try_from(len).expect("fewer than 2^32 entries")
}

impl Structs {
    // Names.

    pub(crate) fn slot(&self, client: ClientId) -> Option<u32> {
        self.slots.get(&client).copied()
    }

    /// As [`Structs::slot`], and tries first which client was looked for last.
    #[inline]
    pub(crate) fn slot_near(&mut self, client: ClientId) -> Option<u32> {
        if self.clients.get(self.recent as usize).is_some_and(|recent| recent.id == client) {
            return Some(self.recent);
        }
        let slot = self.slot(client)?;
        self.recent = slot;
        Some(slot)
    }

    pub(crate) fn slot_or_add(&mut self, client: ClientId) -> u32 {
        if let Some(slot) = self.slot(client) {
            return slot;
        }
        let slot = handle_of(self.clients.len());
        self.clients.push(Client {
            id: client,
            clocks: Clocks::default(),
            next: 0,
            texts: TextRun::default(),
            values: Vec::new(),
            rank: 0,
            before: 0,
            stamp: 0,
        });
        self.slots.insert(client, slot);
        slot
    }

    /// The slots of all clients that made something, highest client first.
    pub(crate) fn slots_descending(&self) -> Vec<u32> {
        let mut slots: Vec<u32> = (0..handle_of(self.clients.len()))
            .filter(|&slot| self.clients[slot as usize].next > 0)
            .collect();
        slots.sort_unstable_by_key(|&slot| std::cmp::Reverse(self.clients[slot as usize].id));
        slots
    }

    /// How many units of a client are known.
    pub(crate) fn next(&self, client: ClientId) -> u32 {
        self.slot(client).map_or(0, |slot| self.clients[slot as usize].next)
    }

    pub(crate) fn client(&self, slot: u32) -> &Client {
        &self.clients[slot as usize]
    }

    pub(crate) fn id(&self, reference: Ref) -> Id {
        Id { client: self.client(reference.slot).id, clock: reference.clock }
    }

    pub(crate) fn key_number(&mut self, key: &str) -> u32 {
        if let Some(&number) = self.key_numbers.get(key) {
            return number;
        }
        let number = handle_of(self.keys.len());
        let key: Arc<str> = key.into();
        self.keys.push(Arc::clone(&key));
        self.key_numbers.insert(key, number);
        number
    }

    pub(crate) fn known_key(&self, key: &str) -> Option<u32> {
        self.key_numbers.get(key).copied()
    }

    /// The key of an item's key number; `None` in a list.
    pub(crate) fn known_key_name(&self, number: u32) -> Option<&str> {
        (number != NIL).then(|| self.key(number))
    }

    pub(crate) fn key(&self, number: u32) -> &str {
        &self.keys[number as usize]
    }

    /// A key to be handed out: as often as it is, its text is there once.
    pub(crate) fn shared_key(&self, number: u32) -> Arc<str> {
        Arc::clone(&self.keys[number as usize])
    }

    /// Returns the root type of a name, made if it is new.
    pub(crate) fn root(&mut self, name: &str) -> u32 {
        let number = self.key_number(name);
        if let Some(&found) = self.roots.get(&number) {
            return found;
        }
        let root = self.add_type(TypeKind::Untyped, NIL, number);
        self.roots.insert(number, root);
        root
    }

    /// The roots in the order in which they were first named.
    pub(crate) fn roots_in_order(&self) -> Vec<u32> {
        let mut roots: Vec<u32> = self.roots.values().copied().collect();
        roots.sort_unstable();
        roots
    }

    pub(crate) fn known_root(&self, name: &str) -> Option<u32> {
        self.roots.get(&self.known_key(name)?).copied()
    }

    fn add_type(&mut self, kind: TypeKind, item: u32, name: u32) -> u32 {
        self.types.push(Type {
            kind,
            item,
            gone: None,
            name,
            start: NIL,
            order: Order::default(),
            map: BTreeMap::new(),
            marks: None,
            has_marks: false,
            has_formats: false,
        });
        handle_of(self.types.len() - 1)
    }

    /// Whether the item that holds a type is deleted.
    pub(crate) fn is_type_deleted(&self, parent: u32) -> bool {
        let owner = &self.types[parent as usize];
        owner.gone.is_some() || (owner.item != NIL && self.items[owner.item].deleted)
    }

    /// Whether a type's own changes are told in this transaction: it is not deleted, and was there before.
    pub(crate) fn is_observed(&self, parent: u32) -> bool {
        let item = self.types[parent as usize].item;
        !self.is_type_deleted(parent)
            && (item == NIL || self.items[item].clock < self.before(self.items[item].slot))
    }

    // Transactions.

    /// The clock of a client's next unit when the transaction began.
    pub(crate) fn before(&self, slot: u32) -> u32 {
        let client = self.client(slot);
        if client.stamp == self.changes.number { client.before } else { client.next }
    }

    /// Counts new units of a client.
    #[inline]
    fn advance(&mut self, slot: u32, len: u32) {
        let number = self.changes.number;
        let client = &mut self.clients[slot as usize];
        if client.next == 0 {
            client.rank = self.ranks;
            self.ranks += 1;
        }
        if client.stamp != number {
            client.stamp = number;
            client.before = client.next;
            self.changes.touched.push(slot);
        }
        client.next += len;
    }

    // Looking up.

    /// Finds the item that holds a known unit.
    #[inline]
    pub(crate) fn find(&self, reference: Ref) -> u32 {
        let clocks = &self.client(reference.slot).clocks;
        clocks.get(clocks.find(reference.clock))
    }

    /// As [`Structs::find`], and remembers where: what comes next is often near.
    #[inline]
    fn visit(&mut self, reference: Ref) -> u32 {
        let clocks = &mut self.clients[reference.slot as usize].clocks;
        let place = clocks.find(reference.clock);
        clocks.remember(place);
        clocks.get(place)
    }

    pub(crate) fn place(&self, handle: u32) -> (u32, Place) {
        let item = &self.items[handle];
        (item.slot, self.client(item.slot).clocks.find(item.clock))
    }

    /// Returns the item that starts at a known unit, after cutting if need be. A collected block is never cut.
    pub(crate) fn clean_start(&mut self, reference: Ref) -> u32 {
        let handle = self.visit(reference);
        let item = &self.items[handle];
        if item.clock < reference.clock && item.kind != Kind::Gc {
            return self.split(handle, reference.clock - item.clock);
        }
        handle
    }

    /// Returns the item that ends with a known unit, after cutting if need be. A collected block is never cut.
    pub(crate) fn clean_end(&mut self, reference: Ref) -> u32 {
        let handle = self.visit(reference);
        let item = &self.items[handle];
        if reference.clock + 1 < item.end() && item.kind != Kind::Gc {
            self.split(handle, reference.clock + 1 - item.clock);
        }
        handle
    }

    // Contents.

    pub(crate) fn text(&self, item: &Item) -> &str {
        debug_assert_eq!(item.kind, Kind::String);
        self.client(item.slot).texts.slice(item.content, item.len)
    }

    /// A part of an item's text; a character cut in two is U+FFFD on both sides.
    pub(crate) fn text_part(&self, item: &Item, from: u32, len: u32) -> Cow<'_, str> {
        if let Some(part) = self.client(item.slot).texts.part(item.content + from, len) {
            return Cow::Borrowed(part);
        }
        let (_, tail) = utf16::split(self.text(item), from as usize);
        Cow::Owned(utf16::split(&tail, len as usize).0.into_owned())
    }

    pub(crate) fn values(&self, item: &Item) -> &[Any] {
        &self.client(item.slot).values[item.content as usize..(item.content + item.len) as usize]
    }

    pub(crate) fn payload(&self, item: &Item) -> &Payload {
        &self.payloads[item.content as usize]
    }

    pub(crate) fn payload_mut(&mut self, content: u32) -> Option<&mut Payload> {
        self.payloads.get_mut(content as usize)
    }

    /// The subdocument that an item holds.
    pub(crate) fn subdoc_of(&self, item: &Item) -> Option<Subdoc> {
        match self.payload(item) {
            Payload::Doc(subdoc) => {
                let place = Some(self.id(Ref { slot: item.slot, clock: item.clock }));
                Some(Subdoc { place, ..Subdoc::clone(subdoc) })
            }
            _ => None,
        }
    }

    fn add_payload(&mut self, payload: Payload) -> u32 {
        if let Some(free) = self.free_payloads.pop() {
            self.payloads[free as usize] = payload;
            return free;
        }
        self.payloads.push(payload);
        handle_of(self.payloads.len() - 1)
    }

    /// Takes a content in; returns where it is.
    pub(crate) fn add_content(&mut self, slot: u32, content: Content<'_>) -> u32 {
        let client = &mut self.clients[slot as usize];
        match content {
            Content::Deleted(_) => NIL,
            Content::String(text, units) => {
                client.texts.push(&text, units).expect("a client's texts fit 32 bits")
            }
            Content::Any(values) | Content::Json(values) => {
                let start = handle_of(client.values.len());
                // The first are taken as they are, with no room for more.
                if client.values.is_empty() {
                    client.values = values.into_owned();
                } else {
                    client.values.extend(values.into_owned());
                }
                start
            }
            Content::Binary(bytes) => self.add_payload(Payload::Binary(bytes.into_owned())),
            Content::Embed(value) => self.add_payload(Payload::Embed(value.into_owned())),
            Content::Format(key, value) => {
                let key = self.key_number(&key);
                self.add_payload(Payload::Format(key, value))
            }
            Content::Doc(subdoc) => self.add_payload(Payload::Doc(subdoc.into_owned())),
            Content::Type(kind) => self.add_type(kind.into_owned(), NIL, NIL),
        }
    }

    /// An item or collected block in the form of updates.
    pub(crate) fn block(&self, handle: u32) -> Block<'_> {
        let item = &self.items[handle];
        let client = self.client(item.slot).id;
        let (clock, len) = (item.clock, item.len);
        if item.kind == Kind::Gc {
            return Block { client, clock, len, kind: BlockKind::Gc };
        }
        let id = |reference: Ref| (!reference.is_none()).then(|| self.id(reference));
        let parent = if item.origin.is_none() && item.right_origin.is_none() {
            let parent = &self.types[item.parent as usize];
            Some(if parent.item == NIL {
                Parent::Root(Cow::Borrowed(self.key(parent.name)))
            } else {
                let holder = &self.items[parent.item];
                Parent::Item(self.id(Ref { slot: holder.slot, clock: holder.clock }))
            })
        } else {
            None
        };
        let content = match item.kind {
            Kind::Gc | Kind::Deleted => Content::Deleted(len),
            Kind::Json => Content::Json(Cow::Borrowed(self.values(item))),
            Kind::Any => Content::Any(Cow::Borrowed(self.values(item))),
            Kind::String => Content::String(Cow::Borrowed(self.text(item)), len),
            Kind::Type => Content::Type(Cow::Borrowed(&self.types[item.content as usize].kind)),
            Kind::Binary | Kind::Embed | Kind::Format | Kind::Doc => match self.payload(item) {
                Payload::Binary(bytes) => Content::Binary(Cow::Borrowed(bytes)),
                Payload::Embed(value) => Content::Embed(Cow::Borrowed(value)),
                Payload::Format(key, value) => {
                    Content::Format(Cow::Borrowed(self.key(*key)), Arc::clone(value))
                }
                Payload::Doc(subdoc) => Content::Doc(Cow::Borrowed(subdoc)),
                Payload::Free => Content::Deleted(len),
            },
        };
        let kind = BlockKind::Item(ItemBlock {
            origin: id(item.origin),
            right_origin: id(item.right_origin),
            parent,
            key: (item.key != NIL).then(|| Cow::Borrowed(self.key(item.key))),
            content,
        });
        Block { client, clock, len, kind }
    }

    // Adding.

    /// Adds a collected block at the end of its client.
    pub(crate) fn push_gc(&mut self, slot: u32, clock: u32, len: u32) {
        let handle = self.items.add(Item {
            clock,
            len,
            slot,
            left: NIL,
            right: NIL,
            origin: Ref::NONE,
            right_origin: Ref::NONE,
            parent: NIL,
            key: NIL,
            content: NIL,
            leaf: NIL,
            kind: Kind::Gc,
            deleted: true,
            keep: false,
            redone: false,
        });
        self.push(handle, Ref { slot, clock }, len);
    }

    /// Adds an item of `len` units at the end of its client.
    #[inline]
    pub(crate) fn push(&mut self, handle: u32, Ref { slot, clock }: Ref, len: u32) {
        self.advance(slot, len);
        self.changes.added = true;
        self.clients[slot as usize].clocks.push(clock, handle);
    }

    /// Lengthens the item that ends at a place of a list by a text of ours, if that continues it: if it is what we typed
    /// last, and what stood behind it then still does. Returns whether that is so; else nothing is done.
    ///
    /// The result is what integrating the text as an item of its own comes to.
    pub(crate) fn append(
        &mut self,
        slot: u32,
        parent: u32,
        index: u32,
        text: &str,
        units: u32,
    ) -> bool {
        let order = &mut self.types[parent as usize].order;
        let (handle, offset) = self.nodes.seek(order, index - 1);
        let item = &self.items[handle];
        let client = &self.clients[slot as usize];
        if item.end() != client.next || offset + 1 != item.len || self.is_filtered {
            return false;
        }
        let stands_behind = if item.right == NIL {
            item.right_origin.is_none()
        } else {
            let right = &self.items[item.right];
            !right.deleted && item.right_origin == right.first_ref()
        };
        let continues = stands_behind
            && item.slot == slot
            && item.kind == Kind::String
            && !item.redone
            && !item.keep
            && client.texts.len() == item.content + item.len
            && client.next.checked_add(units).is_some();
        if continues {
            self.items[handle].len += units;
            self.nodes.resize_sought(order, units);
            self.advance(slot, units);
            let texts = &mut self.clients[slot as usize].texts;
            texts.push(text, units).expect("a client's texts fit 32 bits");
            self.changes.mark(parent, NIL);
        }
        continues
    }

    /// Returns the visible length of its list before an item.
    pub(crate) fn position(&self, handle: u32) -> u32 {
        let parent = self.items[handle].parent;
        self.nodes.position(&self.types[parent as usize].order, &self.items, handle)
    }

    /// Lengthens the last item of a client by units that continue it.
    #[inline]
    pub(crate) fn extend(&mut self, handle: u32, len: u32) {
        let item = &mut self.items[handle];
        item.len += len;
        let (slot, parent) = (item.slot, item.parent);
        self.advance(slot, len);
        let order = &mut self.types[parent as usize].order;
        self.nodes.update(order, &self.items, handle);
    }

    /// Puts an item behind its left neighbor, or first, in its list or chain.
    pub(crate) fn link(&mut self, handle: u32) {
        let (left, parent, key) = {
            let item = &self.items[handle];
            (item.left, item.parent, item.key)
        };
        let owner = &mut self.types[parent as usize];
        let right = if left != NIL {
            std::mem::replace(&mut self.items[left].right, handle)
        } else if key != NIL {
            if let Some(chain) = owner.map.get_mut(&key) {
                std::mem::replace(&mut chain.first, handle)
            } else {
                let place = handle_of(owner.map.len());
                owner.map.insert(key, Chain { first: handle, last: NIL, place });
                NIL
            }
        } else {
            std::mem::replace(&mut owner.start, handle)
        };
        self.items[handle].right = right;
        if right != NIL {
            self.items[right].left = handle;
        } else if key != NIL
            && let Some(chain) = owner.map.get_mut(&key)
        {
            chain.last = handle;
        }
        if key == NIL {
            if let Some(unordered) = &mut self.unordered
                && owner.order.defer()
            {
                unordered.push(parent);
            }
            self.nodes.insert_after(&mut owner.order, &mut self.items, left, handle);
        }
    }

    /// Puts an item of a list, which knows its neighbors, between them.
    #[inline]
    pub(crate) fn link_between(&mut self, handle: u32, parent: u32, left: u32, right: u32) {
        let owner = &mut self.types[parent as usize];
        if left == NIL {
            owner.start = handle;
        } else {
            self.items[left].right = handle;
        }
        if right != NIL {
            self.items[right].left = handle;
        }
        // Where others were put off already, this one is, too.
        if owner.order.is_deferred() {
            return;
        }
        if let Some(unordered) = &mut self.unordered
            && owner.order.defer()
        {
            unordered.push(parent);
        }
        self.nodes.insert_after(&mut owner.order, &mut self.items, left, handle);
    }

    /// Builds the orders that were put off.
    pub(crate) fn order_all(&mut self) {
        let unordered = self.unordered.take().unwrap_or_default();
        self.nodes.reserve(self.items.len(), unordered.len());
        for parent in unordered {
            let owner = &mut self.types[parent as usize];
            self.nodes.build(&mut owner.order, &mut self.items, owner.start);
        }
    }

    // Cutting.

    /// Cuts an item; returns the right part. Cutting a character in two leaves U+FFFD on both sides, as in Yjs.
    pub(crate) fn split(&mut self, handle: u32, offset: u32) -> u32 {
        let left = self.items[handle].clone();
        debug_assert!(offset > 0 && offset < left.len);
        let mut right = Item {
            clock: left.clock + offset,
            len: left.len - offset,
            left: handle,
            origin: Ref { slot: left.slot, clock: left.clock + offset - 1 },
            leaf: NIL,
            ..left
        };
        let mut left_content = left.content;
        match left.kind {
            Kind::String => {
                let texts = &self.client(left.slot).texts;
                if texts.is_inside_pair(left.content + offset) {
                    let whole = self.text(&left).to_owned();
                    let (head, tail) = utf16::split(&whole, offset as usize);
                    let texts = &mut self.clients[left.slot as usize].texts;
                    left_content = texts.push(&head, offset).expect("texts fit 32 bits");
                    right.content = texts.push(&tail, right.len).expect("texts fit 32 bits");
                } else {
                    right.content = left.content + offset;
                }
            }
            Kind::Any | Kind::Json => right.content = left.content + offset,
            _ => {}
        }
        let (slot, place) = self.place(handle);
        let (clock, key, parent) = (right.clock, right.key, right.parent);
        let after = right.right;
        let right = self.items.add(right);
        let item = &mut self.items[handle];
        item.len = offset;
        item.content = left_content;
        item.right = right;
        if after != NIL {
            self.items[after].left = right;
        }
        self.clients[slot as usize].clocks.insert_after(place, clock, right);
        if parent != NIL {
            let owner = &mut self.types[parent as usize];
            if key == NIL {
                self.nodes.update(&mut owner.order, &self.items, handle);
                self.nodes.insert_after(&mut owner.order, &mut self.items, handle, right);
            } else if let Some(chain) = owner.map.get_mut(&key)
                && chain.last == handle
            {
                chain.last = right;
            }
        }
        if left.redone
            && let Some(&copy) = self.redone.get(&handle)
        {
            let copy = Ref { clock: copy.clock + offset, ..copy };
            self.redone.insert(right, copy);
        }
        self.changes.cuts.push(Cut { at: Ref { slot, clock }, item: right });
        right
    }

    // Keeping, and following what was undone.

    /// Keeps an item and the items it lies in from being collected, or lets them go.
    pub(crate) fn keep(&mut self, handle: u32, keep: bool) {
        let mut at = handle;
        while at != NIL && self.items[at].keep != keep {
            self.items[at].keep = keep;
            let parent = self.items[at].parent;
            at = if parent == NIL { NIL } else { self.types[parent as usize].item };
        }
    }

    /// Follows copies that undo made of a unit: the item it is in now, and the offset there.
    pub(crate) fn follow(&self, unit: Ref) -> (u32, u32) {
        let mut unit = unit;
        loop {
            let handle = self.find(unit);
            let item = &self.items[handle];
            let offset = unit.clock - item.clock;
            match self.redone.get(&handle) {
                Some(copy) if item.redone => {
                    unit = Ref { slot: copy.slot, clock: copy.clock + offset };
                }
                _ => return (handle, offset),
            }
        }
    }

    /// Whether an item lies in a type, at whatever depth.
    pub(crate) fn is_inside(&self, handle: u32, ancestor: u32) -> bool {
        let mut at = handle;
        while at != NIL {
            let parent = self.items[at].parent;
            if parent == ancestor {
                return true;
            }
            at = if parent == NIL { NIL } else { self.types[parent as usize].item };
        }
        false
    }

    /// The content of an item, for a copy of it: a type starts empty, a subdocument as others get it.
    pub(crate) fn copy_content(&self, handle: u32) -> Content<'static> {
        let BlockKind::Item(item) = self.block(handle).kind else { return Content::Deleted(0) };
        match item.content.into_owned() {
            Content::Doc(subdoc) => {
                let mut copy = subdoc.into_owned();
                copy.should_load = copy.auto_load;
                Content::Doc(Cow::Owned(copy))
            }
            content => content,
        }
    }

    // Subdocuments.

    /// Notes that an item holds a subdocument.
    pub(crate) fn note_subdoc(&mut self, handle: u32) {
        let item = &self.items[handle];
        let unit = Ref { slot: item.slot, clock: item.clock };
        let Some(subdoc) = self.subdoc_of(item) else { return };
        self.subdocs.push(unit);
        self.changes.subdocs.push(SubdocChange::Added(subdoc.clone()));
        if subdoc.should_load {
            self.changes.subdocs.push(SubdocChange::Loaded(subdoc));
        }
    }

    /// Bytes held, as far as the large parts go.
    pub(crate) fn capacity(&self) -> usize {
        self.items.capacity()
            + self.nodes.capacity()
            + self.clients.iter().map(|client| client.texts.capacity()).sum::<usize>()
    }
}
