//! One struct of an update (the format's word is struct, ours is block): an item, a collected range, or a hole.

use std::borrow::Cow;

use crate::content::Content;
use crate::id::{ClientId, Id};

/// A stretch of one client's units.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block<'a> {
    pub(crate) client: ClientId,
    pub(crate) clock: u32,
    /// In units, never 0; `clock + len` fits 32 bits.
    pub(crate) len: u32,
    pub(crate) kind: BlockKind<'a>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BlockKind<'a> {
    /// Collected: nothing but the length is known.
    Gc,
    /// A hole in an update: these units are somewhere else.
    Skip,
    Item(ItemBlock<'a>),
}

/// An item as it travels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ItemBlock<'a> {
    /// The unit that stood to the left when it was typed.
    pub(crate) origin: Option<Id>,
    /// The unit that stood to the right when it was typed.
    pub(crate) right_origin: Option<Id>,
    /// Written only where neither origin says it.
    pub(crate) parent: Option<Parent<'a>>,
    pub(crate) key: Option<Cow<'a, str>>,
    pub(crate) content: Content<'a>,
}

/// The type that an item belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Parent<'a> {
    Root(Cow<'a, str>),
    Item(Id),
}

impl Block<'_> {
    /// The clock after the last unit.
    pub(crate) fn end(&self) -> u32 {
        self.clock + self.len
    }

    pub(crate) fn is_skip(&self) -> bool {
        matches!(self.kind, BlockKind::Skip)
    }

    /// Returns the block without its first `offset` units (fewer than its length).
    pub(crate) fn tail(mut self, offset: u32) -> Self {
        if offset == 0 {
            return self;
        }
        self.clock += offset;
        self.len -= offset;
        if let BlockKind::Item(item) = self.kind {
            let origin = Some(Id { client: self.client, clock: self.clock - 1 });
            self.kind =
                BlockKind::Item(ItemBlock { origin, content: item.content.tail(offset), ..item });
        }
        self
    }
}
