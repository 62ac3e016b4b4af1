//! How a document survives a crash.
//!
//! A [`Store`] is one paper's folder on this device: an append-only log of V1 updates, V2
//! snapshots, figures by their hash, and small facts. A [`Document`] is a CRDT document whose
//! every change goes into that log. What [`Store::durable`] (or the `on_durable` callback) has
//! named is still there after any kill or loss of power; nothing else is promised, and nothing
//! is ever half there.

pub mod disk;

mod error;

mod record;

mod index;

mod segment;

mod snapshot;

mod writer;

mod recovery;

mod log;

mod blob;

mod document;

mod store;

pub use blob::Blobs;
pub use document::{Document, Written};
pub use error::{Report, Severity, StoreError};
pub use index::Base;
pub use log::OnDurable;
pub use record::Lsn;
pub use store::{Store, StoreOptions};
