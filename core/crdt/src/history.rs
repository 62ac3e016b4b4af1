//! What was: earlier moments of a document, who wrote what, and the way back by undo and redo.

pub(crate) mod authors;
pub(crate) mod moments;
pub(crate) mod redo;
pub(crate) mod shallow;
pub(crate) mod snapshot;
pub(crate) mod undo;
