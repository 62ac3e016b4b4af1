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
//! # Where Yjs differs from itself
//!
//! Documents have Yjs's bytes everywhere. Where two replicas of Yjs itself, or two ways through it, come to different
//! bytes, one of them is taken:
//!
//! - *Half a character.* JavaScript's strings can hold one half of a surrogate pair; two halves typed one after the
//!   other show as a character to who typed them, and as two U+FFFD to everybody who got them one by one. Strings here
//!   cannot hold a half: it is U+FFFD from the start, on every replica, and its length stays 1.
//! - *Cleaning of formats.* After edits of others each replica deletes marks that say nothing any more, and which ones
//!   it sees depends on the order in which edits came. That is followed as it is, to the byte: the deletions are edits
//!   that travel on, so all have the same formats once everybody has everything.
//! - *A root that was not asked for.* Yjs learns what a root is when it is first asked for, and cleans and inherits
//!   fewer formats in one that it did not know as a text when they came. So do we; ask for roots first.
//! - *An item that says it was typed between a unit and one further left*, as undo may make one. In Yjs it stands
//!   behind the unit, but before both where a longer struct has them in one; here it stands behind the unit everywhere.
//! - *A member `__proto__`* of an object is dropped by JavaScript where it is read as a value, and kept where it is
//!   read as JSON. So it is here.
//! - *Reading an event's delta* of a text edits it in Yjs: marks that say nothing are deleted, by whoever looks. Here
//!   looking changes nothing; the marks show nothing, and such deletions by others are followed.
//!
//! Pure: no clock, no randomness, no I/O, no threads. The modules are in reading order, each uses only those above it;
//! but the document with its transactions, the shared types and what is kept of the past need each other.

mod error;
mod id;

mod encoding;

pub mod update;

mod structs;

mod doc;
mod history;
mod types;

mod check;
#[cfg(test)]
mod random;

pub use doc::event::{Event, KeyChange, Observer, PathStep};
pub use doc::filter::Candidate;
pub use doc::subdocs::Subdocs;
pub use doc::transaction::{Commit, Transaction};
pub use doc::{Doc, Options, Waiting};
pub use encoding::subdoc::Subdoc;
pub use error::Error;
pub use history::authors::{Authors, Run};
pub use history::snapshot::{Change, Snapshot};
pub use history::undo::{Direction, Origin, UndoEvent, UndoManager, UndoOptions};
pub use id::{ClientId, StateVector};
pub use lib0::Any;
pub use lib0::any::Object;
pub use types::anchor::{Anchor, Assoc};
pub use types::array::Array;
pub use types::delta::{Delta, Inserted, TextChange};
pub use types::map::Map;
pub use types::text::Text;
pub use types::value::{New, Shared, Value};
pub use types::xml::Xml;
