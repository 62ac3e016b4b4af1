//! Items in an arena, named by `u32` handles.

use crate::encoding::content::Content;

/// No handle, no key, no client.
pub(crate) const NIL: u32 = u32::MAX;

/// A unit's name inside a document: the slot of its client, and its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ref {
    pub(crate) slot: u32,
    pub(crate) clock: u32,
}

impl Ref {
    pub(crate) const NONE: Self = Self { slot: NIL, clock: 0 };

    pub(crate) fn is_none(self) -> bool {
        self.slot == NIL
    }
}

/// What kind of content an item has; the numbers are the format's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Gc = 0,
    Deleted = 1,
    Json = 2,
    Binary = 3,
    String = 4,
    Embed = 5,
    Format = 6,
    Type = 7,
    Any = 8,
    Doc = 9,
}

impl Kind {
    pub(crate) fn of(content: &Content<'_>) -> Self {
        match content {
            Content::Deleted(_) => Self::Deleted,
            Content::Json(_) => Self::Json,
            Content::Binary(_) => Self::Binary,
            Content::String(..) => Self::String,
            Content::Embed(_) => Self::Embed,
            Content::Format(..) => Self::Format,
            Content::Type(_) => Self::Type,
            Content::Any(_) => Self::Any,
            Content::Doc(..) => Self::Doc,
        }
    }

    /// Whether units of this kind count in the length of a text or list.
    pub(crate) fn is_countable(self) -> bool {
        !matches!(self, Self::Gc | Self::Deleted | Self::Format)
    }

    /// Whether two neighbors of this kind become one item.
    pub(crate) fn is_mergeable(self) -> bool {
        matches!(self, Self::Gc | Self::Deleted | Self::Json | Self::String | Self::Any)
    }
}

/// A stretch of one client's units with one content.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) clock: u32,
    /// In units, never 0.
    pub(crate) len: u32,
    /// The client.
    pub(crate) slot: u32,
    /// Neighbors in the list or in the chain of a map's key, deleted ones included.
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) origin: Ref,
    pub(crate) right_origin: Ref,
    /// The type it belongs to; `NIL` for a collected block.
    pub(crate) parent: u32,
    /// The map key, `NIL` in a list.
    pub(crate) key: u32,
    /// Where the content is: a place in the client's texts, values or JSON values, a payload, or a type.
    pub(crate) content: u32,
    /// The leaf of the parent's order that holds it; `NIL` under a key.
    pub(crate) leaf: u32,
    pub(crate) kind: Kind,
    pub(crate) deleted: bool,
    /// Not to be collected.
    pub(crate) keep: bool,
    /// An undo has put a copy of it somewhere: see `Structs::redone`.
    pub(crate) redone: bool,
}

impl Item {
    /// The clock after the last unit.
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        self.clock + self.len
    }

    #[inline]
    pub(crate) fn first_ref(&self) -> Ref {
        Ref { slot: self.slot, clock: self.clock }
    }

    #[inline]
    pub(crate) fn last_ref(&self) -> Ref {
        Ref { slot: self.slot, clock: self.clock + self.len - 1 }
    }

    /// How much it adds to the length of its list.
    #[inline]
    pub(crate) fn visible(&self) -> u32 {
        if self.deleted || !self.kind.is_countable() { 0 } else { self.len }
    }
}

/// All items of a document; freed slots are used again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Items {
    items: Vec<Item>,
    free: Vec<u32>,
}

impl Items {
    pub(crate) fn add(&mut self, item: Item) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.items[handle as usize] = item;
            return handle;
        }
        self.items.push(item);
        u32::try_from(self.items.len() - 1).expect("fewer items than units of 32 bits")
    }

    /// Makes room for so many items. The first time that is a little more: what is read is edited then, and the first
    /// edit should not have to move the whole arena.
    pub(crate) fn reserve(&mut self, more: usize) {
        let slack = if self.items.is_empty() { more / 64 + 8 } else { 0 };
        self.items.reserve(more + slack);
    }

    /// Takes an item out. Until its slot is used again, what has kept the handle sees an item without units.
    pub(crate) fn free(&mut self, handle: u32) {
        self.items[handle as usize].len = 0;
        self.free.push(handle);
    }

    /// One past the largest handle.
    pub(crate) fn bound(&self) -> usize {
        self.items.len()
    }

    /// Items in use.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.items.capacity() * size_of::<Item>() + self.free.capacity() * 4
    }
}

impl std::ops::Index<u32> for Items {
    type Output = Item;
    #[inline]
    fn index(&self, handle: u32) -> &Item {
        &self.items[handle as usize]
    }
}

impl std::ops::IndexMut<u32> for Items {
    #[inline]
    fn index_mut(&mut self, handle: u32) -> &mut Item {
        &mut self.items[handle as usize]
    }
}
