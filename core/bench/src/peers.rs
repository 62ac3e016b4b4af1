//! The subjects: Quire's core and its peers, each behind the same few doors. A peer is built in
//! only with the feature of its name.

#[cfg(feature = "automerge")]
mod automerge;
#[cfg(feature = "diamond-types")]
mod diamond;
#[cfg(feature = "loro")]
mod loro;
mod quire;
#[cfg(feature = "ropey")]
mod ropey;
#[cfg(feature = "yrs")]
mod yrs;

use anyhow::{Result, bail};

use crate::program::Op;
use crate::worker::Job;

/// A document of one implementation.
pub(crate) trait Peer: Sized {
    /// What its states and messages are.
    const SPEAKS: Speaks;

    /// Whether it has what the operation needs.
    fn can(op: &Op) -> bool;

    /// Makes an empty document.
    fn new(client: u64) -> Result<Self>;

    /// Makes a document of a state.
    fn with_state(client: u64, state: &[u8]) -> Result<Self>;

    /// Gets ready to tell messages; called once, before the edits.
    fn listen(&mut self, tell: bool) -> Result<()>;

    /// Edits in one transaction; returns its message if that is wanted.
    fn edit(&mut self, ops: &[Op], tell: bool) -> Result<Option<Vec<u8>>>;

    /// Applies messages in one transaction; returns what it tells about it, if that is wanted and
    /// the peer's messages are Yjs's.
    fn apply(&mut self, messages: &[&[u8]], tell: bool) -> Result<Option<Vec<u8>>>;

    /// Encodes the whole state.
    fn save(&mut self) -> Result<Vec<u8>>;

    /// Reads the text.
    fn text(&mut self) -> Result<String>;
}

/// What the states and messages of a subject are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// Yjs's updates of the first format.
    YjsV1,
    /// Yjs's updates of the second format.
    YjsV2,
    /// A format of its own.
    Own,
    /// It knows only its text.
    Nothing,
}

/// Names of the subjects that are built in.
pub const BUILT_IN: &[&str] = &[
    "quire-v1",
    "quire-v2",
    #[cfg(feature = "yrs")]
    "yrs-v1",
    #[cfg(feature = "yrs")]
    "yrs-v2",
    #[cfg(feature = "loro")]
    "loro",
    #[cfg(feature = "automerge")]
    "automerge",
    #[cfg(feature = "diamond-types")]
    "diamond-types",
    #[cfg(feature = "ropey")]
    "ropey",
];

/// Serves the subject of a name.
pub(crate) fn with(subject: &str, job: &Job) -> Result<()> {
    match subject {
        "quire-v1" => job.serve::<quire::Quire<1>>(),
        "quire-v2" => job.serve::<quire::Quire<2>>(),
        #[cfg(feature = "yrs")]
        "yrs-v1" => job.serve::<yrs::Yrs<1>>(),
        #[cfg(feature = "yrs")]
        "yrs-v2" => job.serve::<yrs::Yrs<2>>(),
        #[cfg(feature = "loro")]
        "loro" => job.serve::<loro::Loro>(),
        #[cfg(feature = "automerge")]
        "automerge" => job.serve::<automerge::Automerge>(),
        #[cfg(feature = "diamond-types")]
        "diamond-types" => job.serve::<diamond::Diamond>(),
        #[cfg(feature = "ropey")]
        "ropey" => job.serve::<ropey::Floor>(),
        _ => bail!("{subject} is not built in; there are {}", BUILT_IN.join(", ")),
    }
}
