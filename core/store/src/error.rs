//! What can go wrong in the store, and what recovery has to say.

use std::fmt;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why the store could not do what was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process has this paper open.
    #[error("{} is open in another process ({holder}); close it there first", dir.display())]
    Locked {
        /// The store's folder.
        dir: PathBuf,
        /// What that process says about itself.
        holder: String,
    },
    /// The file system cannot lock files, so two processes could write at once.
    #[error("{}: this file system has no file locks, so the paper's store cannot be kept on it; \
             choose another data folder", dir.display())]
    NoLocks {
        /// The store's folder.
        dir: PathBuf,
    },
    /// A newer Quire made this store.
    #[error("{}: made by a newer version of Quire (store format {format}); update this one",
            dir.display())]
    Newer {
        /// The store's folder.
        dir: PathBuf,
        /// The oldest reader it can be read by.
        format: u32,
    },
    /// A call to the file system failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
    /// The log could not be made durable. Nothing more is promised until the store is opened
    /// again; what was written meanwhile is still in memory.
    #[error("changes are not being saved: {reason}; they are kept in memory, open the paper again")]
    Poisoned {
        /// What failed.
        reason: String,
    },
    /// The log could not be written; the store keeps trying.
    #[error("changes are not being saved for now: {reason}; trying again")]
    Stalled {
        /// What failed.
        reason: String,
    },
    /// An argument that the store does not take.
    #[error("{what} {given:?} is not allowed: {why}")]
    NotAllowed {
        /// What was given.
        what: &'static str,
        /// The value.
        given: String,
        /// The rule.
        why: &'static str,
    },
    /// The document is already open; two copies of it would drift apart.
    #[error("the document {name:?} is already open")]
    AlreadyOpen {
        /// Its name.
        name: String,
    },
    /// An update that is none; nothing was changed.
    #[error("a change for the document {name:?} cannot be taken: {source}")]
    Update {
        /// The document.
        name: String,
        /// What is wrong with the bytes.
        source: crdt::Error,
    },
    /// The bytes of a figure are not what its name says.
    #[error("the stored figure {hash} is damaged; it was set aside and has to be fetched again")]
    BlobDamaged {
        /// The name: its blake3 in hex.
        hash: String,
    },
    /// A stored base does not read back.
    #[error("the stored base of {key:?} is damaged at byte {at}")]
    BaseDamaged {
        /// Which base.
        key: String,
        /// The byte offset in it.
        at: usize,
    },
}

/// How much a [`Report`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Tidying up.
    Debug,
    /// Nothing promised was lost.
    Info,
    /// Something promised may be missing here: fetch it from the others.
    Warning,
}

/// Something that was found when the store or a document was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How much it matters.
    pub severity: Severity,
    /// What was found and done, in words.
    pub text: String,
    /// The documents that may lack something now.
    pub documents: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Names the call that failed; for `map_err`.
pub(crate) fn failed(
    doing: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.into();
    move |source| StoreError::Io { doing, path, source }
}
