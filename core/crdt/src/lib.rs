//! Documents that merge, byte for byte those of Yjs 13.6.
//!
//! A [`Doc`] holds texts, maps and arrays. Each edit happens in a [`Transaction`]; its [`Commit`] gives the update that
//! brings any other replica to the same state, whatever that has received before and in whatever order. Updates in both
//! of Yjs's formats go in and out; [`update`] works on them without a document.
//!
//! ```
//! use crdt::{ClientId, Doc, Options};
//!
//! let mut ours = Doc::new(ClientId::new(1).unwrap(), Options::default());
//! let mut theirs = Doc::new(ClientId::new(2).unwrap(), Options::default());
//! let text = ours.text("text");
//! let mut transaction = ours.transact();
//! text.insert(&mut transaction, 0, "\\section{One}")?;
//! let update = transaction.commit().update_v1().unwrap();
//! theirs.apply_v1(&update)?;
//! assert_eq!(theirs.text("text").read(&theirs), "\\section{One}");
//! # Ok::<(), crdt::Error>(())
//! ```
//!
//! Pure: no clock, no randomness, no I/O, no threads. The modules are in reading order: up to `integrate` each
//! uses only those above it; the document, its transactions and the shared types below need each other.

mod error;
mod id;

mod content;

mod block;
mod delete_set;

mod encoder;

mod decoder;

pub mod update;

mod clocks;
mod item;
mod order;
mod run;

mod changes;

mod structs;

mod integrate;

mod apply;
mod delta;

mod anchor;
mod array;
mod check;
mod doc;
mod formats;
mod map;
mod snapshot;
mod text;
mod transaction;
mod undo;
mod value;
mod xml;

pub use anchor::{Anchor, Assoc};
pub use array::Array;
pub use delta::{Delta, Inserted, TextChange};
pub use doc::{Doc, Options, Waiting};
pub use error::Error;
pub use id::{ClientId, StateVector};
pub use lib0::Any;
pub use lib0::any::Object;
pub use map::Map;
pub use snapshot::{Change, Snapshot};
pub use text::Text;
pub use transaction::{Commit, Transaction};
pub use undo::{Origin, UndoManager, UndoOptions};
pub use value::{New, Shared, Value};
pub use xml::Xml;
