//! One struct of an update (the format's word is struct, ours is block): an item, a collected range, or a hole.
//!
//! Nearly all are texts and tombstones in lists. On their way into a document these are handed on in their fields, as a
//! [`Plain`]; a block is what everything else, and what cannot be integrated at once, is carried in.

use std::borrow::Cow;

use crate::encoding::content::Content;
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

/// A text or a tombstone whose place its origins say: at least one of them is there.
#[derive(Debug, Clone)]
pub(crate) struct Plain<'a> {
    pub(crate) client: ClientId,
    pub(crate) clock: u32,
    /// As [`Block::len`].
    pub(crate) len: u32,
    pub(crate) origin: Option<Id>,
    pub(crate) right_origin: Option<Id>,
    /// `None`: a tombstone.
    pub(crate) text: Option<Cow<'a, str>>,
}

impl<'a> Plain<'a> {
    /// The clock after the last unit.
    pub(crate) fn end(&self) -> u32 {
        self.clock + self.len
    }

    pub(crate) fn into_block(self) -> Block<'a> {
        let Self { client, clock, len, origin, right_origin, text } = self;
        let content = match text {
            Some(text) => Content::String(text, len),
            None => Content::Deleted(len),
        };
        let item = ItemBlock { origin, right_origin, parent: None, key: None, content };
        Block { client, clock, len, kind: BlockKind::Item(item) }
    }
}

/// A [`Plain`] that refers only to units of its own client, as nearly all do that one person wrote.
#[derive(Debug)]
pub(crate) struct OwnPlain<'a> {
    pub(crate) len: u32,
    /// The clocks of its origins.
    pub(crate) origin: Option<u32>,
    pub(crate) right_origin: Option<u32>,
    /// UTF-8; `None`: a tombstone.
    pub(crate) text: Option<Cow<'a, [u8]>>,
}

impl<'a> OwnPlain<'a> {
    /// The same as any text or tombstone is handed on; `None` if the text is not UTF-8.
    pub(crate) fn into_plain(self, client: ClientId, clock: u32) -> Option<Plain<'a>> {
        let id = |clock| Id { client, clock };
        let text = match self.text {
            None => None,
            Some(Cow::Borrowed(text)) => Some(Cow::Borrowed(str::from_utf8(text).ok()?)),
            Some(Cow::Owned(text)) => Some(Cow::Owned(String::from_utf8(text).ok()?)),
        };
        let (origin, right_origin) = (self.origin.map(id), self.right_origin.map(id));
        Some(Plain { client, clock, len: self.len, origin, right_origin, text })
    }
}

/// A struct as it is read.
#[derive(Debug)]
pub(crate) enum Piece<'a> {
    Plain(Plain<'a>),
    /// Rare and large.
    Block(Box<Block<'a>>),
}

impl<'a> Piece<'a> {
    pub(crate) fn client(&self) -> ClientId {
        match self {
            Self::Plain(plain) => plain.client,
            Self::Block(block) => block.client,
        }
    }

    pub(crate) fn clock(&self) -> u32 {
        match self {
            Self::Plain(plain) => plain.clock,
            Self::Block(block) => block.clock,
        }
    }

    /// The clock after the last unit.
    pub(crate) fn end(&self) -> u32 {
        match self {
            Self::Plain(plain) => plain.end(),
            Self::Block(block) => block.end(),
        }
    }

    /// The units that it refers to: its origins and the one that holds its type.
    pub(crate) fn references(&self) -> [Option<Id>; 3] {
        match self {
            Self::Plain(plain) => [plain.origin, plain.right_origin, None],
            Self::Block(block) => match &block.kind {
                BlockKind::Item(item) => {
                    let parent = match item.parent {
                        Some(Parent::Item(id)) => Some(id),
                        _ => None,
                    };
                    [item.origin, item.right_origin, parent]
                }
                BlockKind::Gc | BlockKind::Skip => [None; 3],
            },
        }
    }

    pub(crate) fn is_skip(&self) -> bool {
        matches!(self, Self::Block(block) if block.is_skip())
    }

    pub(crate) fn into_block(self) -> Block<'a> {
        match self {
            Self::Plain(plain) => plain.into_block(),
            Self::Block(block) => *block,
        }
    }
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
