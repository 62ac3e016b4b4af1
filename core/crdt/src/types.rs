//! The shared types: handles that read and change a document, and what they take and give.

pub(crate) mod anchor;
pub(crate) mod array;
pub(crate) mod delta;
pub(crate) mod formats;
pub(crate) mod map;
pub(crate) mod text;
pub(crate) mod value;
pub(crate) mod xml;
