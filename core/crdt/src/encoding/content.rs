//! What an item carries, in the form in which updates carry it: borrowed from the update's bytes or from a document.

use std::borrow::Cow;
use std::sync::Arc;

use lib0::{Any, utf16};

use crate::encoding::subdoc::Subdoc;

/// The shared types, numbered as Yjs numbers them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypeKind {
    /// A root that nobody has asked for yet.
    Untyped,
    Array,
    Map,
    Text,
    XmlElement(String),
    XmlFragment,
    XmlHook(String),
    XmlText,
}

impl TypeKind {
    /// The number in the format; an untyped root never stands in an update.
    pub(crate) fn number(&self) -> u64 {
        match self {
            Self::Untyped | Self::Array => 0,
            Self::Map => 1,
            Self::Text => 2,
            Self::XmlElement(_) => 3,
            Self::XmlFragment => 4,
            Self::XmlHook(_) => 5,
            Self::XmlText => 6,
        }
    }
}

/// The content of one item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content<'a> {
    /// Something that was deleted and collected; only its length is left.
    Deleted(u32),
    /// Values of the oldest Yjs versions, each a JSON text (`Undefined`: the text `undefined`).
    Json(Cow<'a, [Any]>),
    Binary(Cow<'a, [u8]>),
    /// Text and its length in UTF-16 units.
    String(Cow<'a, str>, u32),
    Embed(Cow<'a, Any>),
    /// A format's key and value; whether two values are one and the same matters to clean-up, as in JavaScript.
    Format(Cow<'a, str>, Arc<Any>),
    Type(Cow<'a, TypeKind>),
    Any(Cow<'a, [Any]>),
    Doc(Cow<'a, Box<Subdoc>>),
}

impl Content<'_> {
    /// Length in units: UTF-16 units of text, values of a list, 1 of everything else.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Deleted(len) | Self::String(_, len) => *len as usize,
            Self::Json(values) | Self::Any(values) => values.len(),
            Self::Binary(_) | Self::Embed(_) | Self::Format(..) | Self::Type(_) | Self::Doc(..) => {
                1
            }
        }
    }

    /// The number in the format.
    pub(crate) fn number(&self) -> u8 {
        match self {
            Self::Deleted(_) => 1,
            Self::Json(_) => 2,
            Self::Binary(_) => 3,
            Self::String(..) => 4,
            Self::Embed(_) => 5,
            Self::Format(..) => 6,
            Self::Type(_) => 7,
            Self::Any(_) => 8,
            Self::Doc(..) => 9,
        }
    }

    /// Returns the content on its own.
    pub(crate) fn into_owned(self) -> Content<'static> {
        match self {
            Self::Deleted(len) => Content::Deleted(len),
            Self::Json(values) => Content::Json(Cow::Owned(values.into_owned())),
            Self::Binary(bytes) => Content::Binary(Cow::Owned(bytes.into_owned())),
            Self::String(text, len) => Content::String(Cow::Owned(text.into_owned()), len),
            Self::Embed(value) => Content::Embed(Cow::Owned(value.into_owned())),
            Self::Format(key, value) => Content::Format(Cow::Owned(key.into_owned()), value),
            Self::Type(kind) => Content::Type(Cow::Owned(kind.into_owned())),
            Self::Any(values) => Content::Any(Cow::Owned(values.into_owned())),
            Self::Doc(subdoc) => Content::Doc(Cow::Owned(subdoc.into_owned())),
        }
    }

    /// Returns what follows the first `offset` units; only content longer than 1 can be cut.
    pub(crate) fn tail(self, offset: u32) -> Self {
        if offset == 0 {
            return self;
        }
        let skip = offset as usize;
        match self {
            Self::Deleted(len) => Self::Deleted(len - offset),
            Self::Json(values) => Self::Json(cut(values, skip)),
            Self::Any(values) => Self::Any(cut(values, skip)),
            Self::String(text, len) => {
                let text = match text {
                    Cow::Borrowed(text) => utf16::split(text, skip).1,
                    Cow::Owned(text) => Cow::Owned(utf16::split(&text, skip).1.into_owned()),
                };
                Self::String(text, len - offset)
            }
            whole => whole,
        }
    }
}

fn cut(values: Cow<'_, [Any]>, skip: usize) -> Cow<'_, [Any]> {
    match values {
        Cow::Borrowed(values) => Cow::Borrowed(&values[skip..]),
        Cow::Owned(mut values) => Cow::Owned(values.split_off(skip)),
    }
}
