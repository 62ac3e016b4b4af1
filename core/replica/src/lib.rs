//! This device's living copy of one paper: the documents, the editors, the folder on disk, the
//! connection and the people.
//!
//! One loop on one thread owns everything; [`Replica`] is a handle that sends it events and may be
//! called from any thread. It keeps the order in which an edit is applied, kept and sent: document
//! first, log second, others last. It never hosts: whoever wants to host starts a server and
//! hands its address to [`Replica::share`].
//!
//! Nothing here knows JSON shapes of a window or the arguments of a command line.
//!
//! Reading order is the order below; a module uses only those above it.

mod clock;

mod problem;

mod paper_toml;

mod presence;

mod editor;

mod notification;

mod documents;

mod folder;

mod watch;

mod mirror;

mod connection;

mod event_loop;

mod replica;

pub use editor::{Change, Edit, EditorId, Opened, Patch, Selection};
pub use notification::{
    FileKind, FileView, Level, Network, Notice, Notification, PaperView, Saved, Sharing, Status,
};
pub use paper::{FileId, PaperId};
pub use presence::{Cursor, PERSON_COLORS, Person, Presence};
pub use problem::Problem;
pub use protocol::Secret;
pub use replica::{Config, Glance, Replica, ServerPlace, default_data_dir, glance, is_paper};
