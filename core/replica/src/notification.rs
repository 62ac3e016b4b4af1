//! What a replica tells its window or command line, without being asked.
//!
//! The status is meant literally: "saved" is said only when the log is durable, "nothing unsent"
//! only when the other side acknowledged.

use std::path::PathBuf;

use paper::{FileId, PaperId};

use crate::editor::{EditorId, Patch};
use crate::presence::{Cursor, Person, Presence};

/// News from the replica; sent in order, from its own thread.
#[derive(Clone, Debug)]
pub enum Notification {
    /// The list of files changed; this is the whole list.
    Files(Vec<FileView>),
    /// The status changed; this is the whole status.
    Status(Status),
    /// An editor's text changed, by its own accepted edit or by somebody else.
    Patches {
        /// Whose text.
        editor: EditorId,
        /// The editor's version before the first patch.
        version: u64,
        /// One version step each.
        patches: Vec<Patch>,
    },
    /// Where the others' cursors stand in an editor now.
    Cursors {
        /// In which editor.
        editor: EditorId,
        /// The version that the positions belong to.
        version: u64,
        /// Everybody else who has the file open.
        cursors: Vec<Cursor>,
    },
    /// Something happened that a person should know.
    Notice(Notice),
    /// An editor was closed because its file is gone.
    EditorClosed {
        /// Which editor.
        editor: EditorId,
        /// Why, in words.
        reason: String,
    },
}

/// A paper as it stands.
#[derive(Clone, Debug)]
pub struct PaperView {
    /// The paper's id.
    pub id: PaperId,
    /// The folder's name.
    pub title: String,
    /// Where the folder is.
    pub folder: PathBuf,
    /// Who I am.
    pub me: Person,
    /// Its files, by path.
    pub files: Vec<FileView>,
    /// How it stands with saving and sending.
    pub status: Status,
    /// The file that was edited last.
    pub last_file: Option<FileId>,
    /// Where the cursor stood in it, in UTF-16 units.
    pub last_head: Option<u32>,
}

/// One file of the paper, or something in the folder that is not shared and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// The file's id; `None` for what is only in the folder and not part of the paper.
    pub id: Option<FileId>,
    /// Its path in the folder, with `/`.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// Its size on disk.
    pub bytes: u64,
    /// What is wrong with it or why it is not shared, in words.
    pub note: Option<String>,
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Edited together.
    Text,
    /// A figure or another file that is taken whole.
    Blob,
    /// A symbolic link: listed, neither followed nor shared.
    Link,
}

/// Is everything typed so far safe on this computer?
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::enum_variant_names, reason = "the status bar's own word")]
pub enum Saved {
    /// Yes.
    Saved,
    /// Not yet; a moment.
    Saving,
    /// It cannot be kept.
    Failed {
        /// What happened and what to do.
        problem: String,
    },
}

/// How the connection stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// The paper is shared with nobody.
    Alone,
    /// On the way.
    Connecting,
    /// Connected.
    Online,
    /// By choice.
    Offline {
        /// Since when, in milliseconds since 1970.
        since_ms: u64,
    },
    /// The server does not answer; another try follows.
    Unreachable {
        /// Since when, in milliseconds since 1970.
        since_ms: u64,
        /// Why, in words.
        problem: String,
        /// In how many milliseconds the next try is made.
        retry_ms: Option<u64>,
    },
    /// The server does not let us in; it is asked again now and then.
    Refused {
        /// Why, in words.
        problem: String,
    },
}

/// How the paper stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// On this computer.
    pub saved: Saved,
    /// With the others.
    pub network: Network,
    /// How many changes the other side has not acknowledged as durable.
    pub unsent: u64,
    /// When something arrived last, in milliseconds since 1970.
    pub received_ms: Option<u64>,
    /// Who is there, oneself first.
    pub people: Vec<Presence>,
    /// The link to pass on, when the paper is shared.
    pub sharing: Option<Sharing>,
}

/// Where and how a paper is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// The secret link to pass on.
    pub link: String,
    /// The server's address, for people's eyes: no secret in it.
    pub server: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// How bad.
    pub level: Level,
    /// What, in words.
    pub text: String,
    /// To which file.
    pub file: Option<FileId>,
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Good to know.
    Info,
    /// Something to look after.
    Warn,
    /// Something is not as it should be.
    Bad,
}
