//! The two formats of Yjs: what an update holds, and how it is read and written byte by byte.

pub(crate) mod subdoc;

pub(crate) mod content;

pub(crate) mod block;
pub(crate) mod delete_set;

pub(crate) mod encoder;

pub(crate) mod decoder;
