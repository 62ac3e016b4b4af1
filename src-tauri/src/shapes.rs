//! The shapes that cross the border between a window and the shell, and their translation.
//!
//! `ui/src/shell.gen.ts` is generated from this file; a test fails when it is stale. Inner types
//! (the replica's) are never bent to suit a window: what a window needs otherwise is made here.

use replica::{FileId, FileView};
use serde::{Deserialize, Serialize};
#[cfg(test)]
use ts_rs::TS;

/// A person, as co-authors see them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Person {
    /// The name, as typed.
    pub name: String,
    /// Which of the colors for people, from 0.
    pub color: u8,
}

impl Person {
    /// Returns somebody who hasn't said what to be called: as the system calls them.
    pub(crate) fn unnamed() -> Self {
        let mut names =
            ["USER", "USERNAME"].into_iter().filter_map(|name| std::env::var(name).ok());
        let name = names.find(|name| !name.trim().is_empty());
        Self { name: name.unwrap_or_else(|| "Somebody".to_owned()), color: 0 }
    }
}

/// A paper that was opened before.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct RecentPaper {
    /// The paper's id.
    pub id: String,
    /// The folder's name.
    pub title: String,
    /// Where the folder is.
    pub folder: String,
    /// When it was opened last, in milliseconds since 1970.
    #[cfg_attr(test, ts(type = "number"))]
    pub opened_ms: u64,
    /// Is the folder there now?
    pub available: bool,
    /// Was it shared when it was open last?
    pub shared: bool,
}

/// What the start window shows.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Start {
    /// Who is at this computer; an empty name if nobody said so yet.
    pub person: Person,
    /// The newest first.
    pub recent: Vec<RecentPaper>,
    /// Quire's version.
    pub version: String,
}

/// What a file is.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileKind {
    /// Edited together.
    Text,
    /// A figure or another file that is taken whole.
    Blob,
    /// A symbolic link: listed, neither followed nor shared.
    Link,
}

/// A row of the file list.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct FileEntry {
    /// The file's id; for what is only in the folder, a name that no file has.
    pub id: String,
    /// Its path in the folder, with `/`.
    pub path: String,
    /// What it is.
    #[cfg_attr(test, ts(inline))]
    pub kind: FileKind,
    /// Its size on disk.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Why it isn't shared, or what is wrong with it, in words.
    pub note: Option<String>,
}

/// Everything that a paper's window shows at first.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Paper {
    /// The paper's id.
    pub id: String,
    /// The folder's name.
    pub title: String,
    /// Where the folder is.
    pub folder: String,
    /// Who is at this computer.
    pub me: Person,
    /// By path.
    pub files: Vec<FileEntry>,
    /// How it stands with saving and sending.
    pub status: Status,
    /// The file that was edited last.
    pub last_file: Option<String>,
    /// Where the cursor stood in it.
    pub last_head: Option<u32>,
}

/// Is everything typed so far safe on this computer?
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the status bar's own word")]
pub(crate) enum Saved {
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
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Network {
    /// Shared with nobody.
    Alone,
    /// On the way.
    Connecting,
    /// Connected.
    Online,
    /// By choice.
    Offline {
        /// Since when, in milliseconds since 1970.
        #[cfg_attr(test, ts(type = "number"))]
        since_ms: u64,
    },
    /// The server doesn't answer; another try follows.
    Unreachable {
        /// Since when, in milliseconds since 1970.
        #[cfg_attr(test, ts(type = "number"))]
        since_ms: u64,
        /// Why, in words.
        problem: String,
        /// In how many milliseconds the next try is made.
        #[cfg_attr(test, ts(type = "number | null"))]
        retry_ms: Option<u64>,
    },
    /// The server doesn't let us in.
    Refused {
        /// Why, in words.
        problem: String,
    },
}

/// A person who has the paper open.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Presence {
    /// Tells two windows of one person apart.
    pub id: String,
    /// Is it this window?
    pub me: bool,
    /// The name.
    pub name: String,
    /// Which of the colors for people, from 0.
    pub color: u8,
    /// The file that they look at.
    pub file: Option<String>,
    /// The line that their cursor is on, from 1.
    pub line: Option<u32>,
}

/// How a paper stands.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Status {
    /// On this computer.
    pub saved: Saved,
    /// With the others.
    pub network: Network,
    /// How many changes the other side hasn't acknowledged as durable.
    #[cfg_attr(test, ts(type = "number"))]
    pub unsent: u64,
    /// When something arrived last, in milliseconds since 1970.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub received_ms: Option<u64>,
    /// Who is there, oneself first.
    pub people: Vec<Presence>,
    /// The link to pass on, when the paper is shared.
    pub sharing: Option<Sharing>,
}

/// Where and how a paper is shared.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Sharing {
    /// The secret link to pass on.
    pub link: String,
    /// The server's address, for people's eyes.
    #[serde(rename = "where")]
    pub place: String,
    /// Does this app host it?
    pub here: bool,
}

/// A replacement in a text; positions are UTF-16 units in the text before, line ends LF.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Change {
    /// Where the replaced range starts.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// What is there instead.
    pub insert: String,
}

/// One step of an editor's version.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Patch {
    /// Confirms the window's own edit.
    pub own: bool,
    /// Sorted and apart.
    pub changes: Vec<Change>,
}

/// Somebody else's cursor.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Cursor {
    /// The same as in [`Presence`].
    pub id: String,
    /// The name.
    pub name: String,
    /// Which of the colors for people, from 0.
    pub color: u8,
    /// The end of the selection that stays.
    pub anchor: u32,
    /// The end that moves.
    pub head: u32,
}

/// A newly opened editor.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct OpenedEditor {
    /// Its name from now on.
    #[cfg_attr(test, ts(type = "number"))]
    pub editor: u64,
    /// Which file.
    pub file: String,
    /// The version of `text`.
    #[cfg_attr(test, ts(type = "number"))]
    pub version: u64,
    /// The text, with LF.
    pub text: String,
    /// How the file is encoded on disk.
    pub encoding: String,
    /// How its lines end on disk.
    pub eol: String,
    /// Where the cursor stood last time.
    pub head: Option<u32>,
}

/// Where to share a paper.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ShareWhere {
    /// This app hosts it.
    Here {
        /// The address that others reach this computer by; `None`: only this computer does.
        address: Option<String>,
    },
    /// A server does.
    Server {
        /// Its address.
        url: String,
    },
}

/// How bad a notice is.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    /// Good to know.
    Info,
    /// Something to look after.
    Warn,
    /// Something isn't as it should be.
    Bad,
}

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
pub(crate) struct Notice {
    /// When, in milliseconds since 1970.
    #[cfg_attr(test, ts(type = "number"))]
    pub time_ms: u64,
    /// How bad.
    #[cfg_attr(test, ts(inline))]
    pub level: Level,
    /// What, in words.
    pub text: String,
    /// To which file.
    pub file: Option<String>,
}

/// News for a paper's window.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ShellEvent {
    /// The whole list of files.
    Files {
        /// By path.
        files: Vec<FileEntry>,
    },
    /// The whole status.
    Status {
        /// As it is now.
        status: Status,
    },
    /// An editor's text changed.
    Patches {
        /// Whose.
        #[cfg_attr(test, ts(type = "number"))]
        editor: u64,
        /// The version before the first patch.
        #[cfg_attr(test, ts(type = "number"))]
        version: u64,
        /// One version step each.
        patches: Vec<Patch>,
    },
    /// Where the others' cursors stand in an editor.
    Cursors {
        /// In which.
        #[cfg_attr(test, ts(type = "number"))]
        editor: u64,
        /// The version that the positions belong to.
        #[cfg_attr(test, ts(type = "number"))]
        version: u64,
        /// Everybody else who has the file open.
        cursors: Vec<Cursor>,
    },
    /// Something happened.
    Notice {
        /// What.
        notice: Notice,
    },
    /// An editor was closed because its file is gone.
    EditorClosed {
        /// Which.
        #[cfg_attr(test, ts(type = "number"))]
        editor: u64,
        /// Why, in words.
        reason: String,
    },
}

impl From<replica::Person> for Person {
    fn from(person: replica::Person) -> Self {
        Self { name: person.name, color: person.color }
    }
}

impl From<Person> for replica::Person {
    fn from(person: Person) -> Self {
        Self { name: person.name, color: person.color % replica::PERSON_COLORS }
    }
}

impl From<FileView> for FileEntry {
    fn from(file: FileView) -> Self {
        let id = file.id.map_or_else(|| format!("only here: {}", file.path), id);
        let kind = match file.kind {
            replica::FileKind::Text => FileKind::Text,
            replica::FileKind::Blob => FileKind::Blob,
            replica::FileKind::Link => FileKind::Link,
        };
        Self { id, path: file.path, kind, bytes: file.bytes, note: file.note }
    }
}

impl From<replica::Saved> for Saved {
    fn from(saved: replica::Saved) -> Self {
        match saved {
            replica::Saved::Saved => Self::Saved,
            replica::Saved::Saving => Self::Saving,
            replica::Saved::Failed { problem } => Self::Failed { problem },
        }
    }
}

impl From<replica::Network> for Network {
    fn from(network: replica::Network) -> Self {
        match network {
            replica::Network::Alone => Self::Alone,
            replica::Network::Connecting => Self::Connecting,
            replica::Network::Online => Self::Online,
            replica::Network::Offline { since_ms } => Self::Offline { since_ms },
            replica::Network::Unreachable { since_ms, problem, retry_ms } => {
                Self::Unreachable { since_ms, problem, retry_ms }
            }
            replica::Network::Refused { problem } => Self::Refused { problem },
        }
    }
}

impl From<replica::Presence> for Presence {
    fn from(presence: replica::Presence) -> Self {
        Self {
            id: presence.id,
            me: presence.me,
            name: presence.name,
            color: presence.color,
            file: presence.file.map(id),
            line: presence.line,
        }
    }
}

impl Status {
    /// Translates a status; whether this app hosts the paper is not the replica's to know.
    pub(crate) fn of(status: replica::Status, here: bool) -> Self {
        Self {
            saved: status.saved.into(),
            network: status.network.into(),
            unsent: status.unsent,
            received_ms: status.received_ms,
            people: status.people.into_iter().map(Into::into).collect(),
            sharing: status.sharing.map(|it| Sharing { link: it.link, place: it.server, here }),
        }
    }
}

impl Paper {
    /// Translates a whole paper; `here`: does this app host it?
    pub(crate) fn of(view: replica::PaperView, here: bool) -> Self {
        Self {
            id: view.id.to_string(),
            title: view.title,
            folder: view.folder.display().to_string(),
            me: view.me.into(),
            files: view.files.into_iter().map(Into::into).collect(),
            status: Status::of(view.status, here),
            last_file: view.last_file.map(id),
            last_head: view.last_head,
        }
    }
}

impl From<replica::Change> for Change {
    fn from(change: replica::Change) -> Self {
        Self { from: change.from, to: change.to, insert: change.insert }
    }
}

impl From<Change> for replica::Change {
    fn from(change: Change) -> Self {
        Self { from: change.from, to: change.to, insert: change.insert }
    }
}

impl From<replica::Patch> for Patch {
    fn from(patch: replica::Patch) -> Self {
        Self { own: patch.own, changes: patch.changes.into_iter().map(Into::into).collect() }
    }
}

impl From<replica::Cursor> for Cursor {
    fn from(cursor: replica::Cursor) -> Self {
        Self {
            id: cursor.id,
            name: cursor.name,
            color: cursor.color,
            anchor: cursor.anchor,
            head: cursor.head,
        }
    }
}

impl From<replica::Opened> for OpenedEditor {
    fn from(opened: replica::Opened) -> Self {
        Self {
            editor: opened.editor.0,
            file: id(opened.file),
            version: opened.version,
            text: opened.text,
            encoding: opened.encoding,
            eol: opened.eol,
            head: opened.head,
        }
    }
}

impl From<replica::Notice> for Notice {
    fn from(notice: replica::Notice) -> Self {
        let level = match notice.level {
            replica::Level::Info => Level::Info,
            replica::Level::Warn => Level::Warn,
            replica::Level::Bad => Level::Bad,
        };
        Self { time_ms: notice.time_ms, level, text: notice.text, file: notice.file.map(id) }
    }
}

impl ShellEvent {
    /// Translates a replica's news; `here`: does this app host the paper?
    pub(crate) fn of(news: replica::Notification, here: bool) -> Self {
        match news {
            replica::Notification::Files(files) => {
                Self::Files { files: files.into_iter().map(Into::into).collect() }
            }
            replica::Notification::Status(status) => {
                Self::Status { status: Status::of(status, here) }
            }
            replica::Notification::Patches { editor, version, patches } => Self::Patches {
                editor: editor.0,
                version,
                patches: patches.into_iter().map(Into::into).collect(),
            },
            replica::Notification::Cursors { editor, version, cursors } => Self::Cursors {
                editor: editor.0,
                version,
                cursors: cursors.into_iter().map(Into::into).collect(),
            },
            replica::Notification::Notice(notice) => Self::Notice { notice: notice.into() },
            replica::Notification::EditorClosed { editor, reason } => {
                Self::EditorClosed { editor: editor.0, reason }
            }
        }
    }
}

/// Reads a file's id as a window sends it.
pub(crate) fn file_id(text: &str) -> Result<FileId, String> {
    FileId::parse(text).map_err(|_| replica::Problem::NoSuchFile.to_string())
}

fn id(file: FileId) -> String {
    file.to_string()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the generated file is read and written")]
mod tests {
    use std::fmt::Write as _;
    use std::{env, fs};

    use ts_rs::Config;

    use super::*;

    fn generated() -> String {
        let config = Config::default();
        let mut text = String::from(
            "// Generated from src-tauri/src/shapes.rs: change it there, then run\n\
             // QUIRE_UPDATE_SHAPES=1 cargo test -p app shapes\n\n",
        );
        for shape in [
            Person::decl(&config),
            RecentPaper::decl(&config),
            Start::decl(&config),
            FileEntry::decl(&config),
            Saved::decl(&config),
            Network::decl(&config),
            Presence::decl(&config),
            Sharing::decl(&config),
            Status::decl(&config),
            Paper::decl(&config),
            Change::decl(&config),
            Patch::decl(&config),
            Cursor::decl(&config),
            OpenedEditor::decl(&config),
            ShareWhere::decl(&config),
            Notice::decl(&config),
            ShellEvent::decl(&config),
        ] {
            writeln!(text, "export {}\n", tidied(&shape)).unwrap();
        }
        text
    }

    /// One line for a comment, one for a field.
    fn tidied(shape: &str) -> String {
        shape
            .replace("\n/**\n * ", "\n  /** ")
            .replace("\n */\n", " */\n  ")
            .replace(", };", "\n};")
            .replace(", } |", "\n} |")
            .replace(", \n", "\n")
            .replace("{ \n", "{\n")
    }

    #[test]
    fn the_windows_shapes_are_those_of_the_shell() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../ui/src/shell.gen.ts");
        if env::var_os("QUIRE_UPDATE_SHAPES").is_some() {
            fs::write(path, generated()).unwrap();
        }
        let there = fs::read_to_string(path).unwrap();
        assert!(
            there == generated(),
            "{path} is stale; QUIRE_UPDATE_SHAPES=1 cargo test -p app shapes writes it"
        );
    }

    #[test]
    fn what_is_only_in_the_folder_has_no_file_id() {
        let row: FileEntry = FileView {
            id: None,
            path: "link.tex".into(),
            kind: replica::FileKind::Link,
            bytes: 3,
            note: None,
        }
        .into();
        assert!(file_id(&row.id).is_err());
        assert!(file_id("../../../../../../../etc/passwd").is_err());
        assert!(file_id("00112233445566778899aabbccddeeff").is_ok());
    }

    #[test]
    fn a_window_reads_what_the_replica_says() {
        let check = |news: replica::Notification, expected: &str| {
            let event = serde_json::to_string(&ShellEvent::of(news, true)).unwrap();
            assert_eq!(event, expected);
        };
        check(
            replica::Notification::Patches {
                editor: replica::EditorId(3),
                version: 7,
                patches: vec![replica::Patch {
                    own: true,
                    changes: vec![replica::Change { from: 1, to: 2, insert: "é".into() }],
                }],
            },
            r#"{"kind":"patches","editor":3,"version":7,"patches":[{"own":true,"changes":[{"from":1,"to":2,"insert":"é"}]}]}"#,
        );
        check(
            replica::Notification::Status(replica::Status {
                saved: replica::Saved::Saving,
                network: replica::Network::Offline { since_ms: 5 },
                unsent: 12,
                received_ms: None,
                people: Vec::new(),
                sharing: Some(replica::Sharing {
                    link: "quire://127.0.0.1:1/a#b".into(),
                    server: "127.0.0.1:1".into(),
                }),
            }),
            r#"{"kind":"status","status":{"saved":{"kind":"saving"},"network":{"kind":"offline","since_ms":5},"unsent":12,"received_ms":null,"people":[],"sharing":{"link":"quire://127.0.0.1:1/a#b","where":"127.0.0.1:1","here":true}}}"#,
        );
    }
}
