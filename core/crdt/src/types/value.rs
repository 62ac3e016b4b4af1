//! What can be read from a document.

use lib0::{Any, json};

use crate::encoding::content::TypeKind;
use crate::encoding::subdoc::Subdoc;
use crate::structs::item::{Item, Kind};
use crate::structs::{Payload, Structs};
use crate::types::array::Array;
use crate::types::map::Map;
use crate::types::text::Text;
use crate::types::xml::Xml;

/// A shared type inside a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shared {
    /// A text.
    Text(Text),
    /// A map.
    Map(Map),
    /// An array.
    Array(Array),
    /// An XML element, fragment or hook. XML texts are texts.
    Xml(Xml),
}

impl Shared {
    pub(crate) fn handle(self) -> u32 {
        match self {
            Self::Text(text) => text.0,
            Self::Map(map) => map.0,
            Self::Array(array) => array.0,
            Self::Xml(xml) => xml.0,
        }
    }

    pub(crate) fn of(structs: &Structs, handle: u32) -> Self {
        match structs.types[handle as usize].kind {
            TypeKind::Array | TypeKind::Untyped => Self::Array(Array(handle)),
            TypeKind::Map => Self::Map(Map(handle)),
            TypeKind::Text | TypeKind::XmlText => Self::Text(Text(handle)),
            TypeKind::XmlElement(_) | TypeKind::XmlFragment | TypeKind::XmlHook(_) => {
                Self::Xml(Xml(handle))
            }
        }
    }
}

impl From<Text> for Shared {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<Map> for Shared {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl From<Xml> for Shared {
    fn from(xml: Xml) -> Self {
        Self::Xml(xml)
    }
}

impl From<Array> for Shared {
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}

/// An element of an array or the value of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A plain value.
    Any(Any),
    /// A shared type.
    Shared(Shared),
    /// A subdocument.
    Doc(Box<Subdoc>),
}

impl Value {
    /// Returns the text of a string value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Any(Any::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of a number value.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Any(Any::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Returns the subdocument, if it is one.
    pub fn as_subdoc(&self) -> Option<&Subdoc> {
        match self {
            Self::Doc(subdoc) => Some(subdoc),
            _ => None,
        }
    }

    /// Returns the map, if it is one.
    pub fn as_map(&self) -> Option<Map> {
        match self {
            Self::Shared(Shared::Map(map)) => Some(*map),
            _ => None,
        }
    }

    /// The value of a unit of an item that is not deleted.
    pub(crate) fn of(structs: &Structs, item: &Item, offset: u32) -> Self {
        match item.kind {
            Kind::Any | Kind::Json => Self::Any(structs.values(item)[offset as usize].clone()),
            Kind::String => Self::Any(Any::String(structs.text_part(item, offset, 1).into_owned())),
            Kind::Type => Self::Shared(Shared::of(structs, item.content)),
            Kind::Doc => match structs.subdoc_of(item) {
                Some(subdoc) => Self::Doc(Box::new(subdoc)),
                None => Self::Any(Any::Undefined),
            },
            Kind::Binary | Kind::Embed | Kind::Format => match structs.payload(item) {
                Payload::Binary(bytes) => Self::Any(Any::Bytes(bytes.clone())),
                Payload::Embed(value) => Self::Any(value.clone()),
                Payload::Format(..) | Payload::Doc(_) | Payload::Free => Self::Any(Any::Undefined),
            },
            Kind::Gc | Kind::Deleted => Self::Any(Any::Undefined),
        }
    }
}

/// Writes a value as JavaScript's `String` does, which is how it gets into Yjs's XML.
pub(crate) fn spell(value: &Any) -> String {
    match value {
        Any::Undefined => "undefined".to_owned(),
        Any::String(text) => text.clone(),
        Any::BigInt(number) => number.to_string(),
        Any::Number(number) if number.is_nan() => "NaN".to_owned(),
        Any::Number(number) if number.is_infinite() => {
            if *number > 0.0 {
                "Infinity".to_owned()
            } else {
                "-Infinity".to_owned()
            }
        }
        Any::Null | Any::Bool(_) | Any::Number(_) => json::stringify(value).unwrap_or_default(),
        Any::Bytes(bytes) => bytes.iter().map(u8::to_string).collect::<Vec<String>>().join(","),
        Any::Array(values) => {
            let member = |value: &Any| match value {
                Any::Undefined | Any::Null => String::new(),
                value => spell(value),
            };
            values.iter().map(member).collect::<Vec<String>>().join(",")
        }
        Any::Object(_) => "[object Object]".to_owned(),
    }
}

/// The members that JavaScript's `for ... in` finds in a value, by name: an object's, and the units of a text.
pub(crate) fn members(value: &Any) -> Vec<(String, String)> {
    let numbered = |values: Vec<String>| -> Vec<(String, String)> {
        values.into_iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
    };
    let mut members = match value {
        Any::Object(object) => {
            object.iter().map(|(key, value)| (key.to_owned(), spell(value))).collect()
        }
        Any::String(text) => {
            numbered(text.encode_utf16().map(|unit| String::from_utf16_lossy(&[unit])).collect())
        }
        Any::Array(values) => numbered(values.iter().map(spell).collect()),
        Any::Bytes(bytes) => numbered(bytes.iter().map(u8::to_string).collect()),
        _ => Vec::new(),
    };
    members.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
    members
}

/// A value to be put into an array or under a key.
#[derive(Debug, Clone, PartialEq)]
pub enum New {
    /// A plain value.
    Any(Any),
    /// An empty array.
    Array,
    /// An empty map.
    Map,
    /// An empty text.
    Text,
    /// A subdocument.
    Doc(Box<Subdoc>),
    /// An empty XML element of this name.
    XmlElement(String),
    /// An empty XML fragment.
    XmlFragment,
    /// An empty XML hook of this name.
    XmlHook(String),
    /// An empty XML text.
    XmlText,
}

impl<T: Into<Any>> From<T> for New {
    fn from(value: T) -> Self {
        Self::Any(value.into())
    }
}

impl From<Subdoc> for New {
    fn from(subdoc: Subdoc) -> Self {
        Self::Doc(Box::new(subdoc))
    }
}
