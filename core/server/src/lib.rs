//! The server: rooms in which replicas meet, kept in the same store as a replica's documents.
//!
//! Read in this order:
//! - [`config`]: what can be set,
//! - [`access`](mod@access): who may,
//! - `certificate`: TLS without a public name,
//! - `outbox`: what waits for one slow reader, and how much of it,
//! - `room`: one document and who is in it,
//! - `paper`: one paper's store and rooms, on a thread of its own,
//! - `papers`: which papers are open,
//! - `connection`: one socket,
//! - `http`: the doors: sockets, papers, figures, health,
//! - `running`: [`serve`] and [`Running`].
//!
//! An acknowledgement is given only when the change is durable here. A paper's thread owns its
//! store and documents, so there are no locks around them; should it panic, only this paper's
//! sockets close, and it is loaded anew from its log.

pub mod config;

pub mod access;

mod clock;

mod certificate;

mod outbox;

mod room;

mod paper;

mod papers;

mod connection;

mod http;

mod running;

pub use config::{Config, Creation, Limits, Tls};
pub use running::{Running, ServeError, serve};
