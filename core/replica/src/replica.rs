//! The handle: every request becomes an event for the loop.

use std::path::PathBuf;
use std::time::Duration;

use paper::FileId;

use crate::editor::{Edit, EditorId, Opened, Selection};
use crate::notification::{Notice, Notification, PaperView, Status};
use crate::presence::Person;
use crate::problem::Problem;

/// Which paper to open, and as whom.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the stores of all papers are; see [`default_data_dir`].
    pub data_dir: PathBuf,
    /// The paper's folder.
    pub folder: PathBuf,
    /// Who is at this device.
    pub person: Person,
}

/// A server to share a paper at.
#[derive(Clone, Debug)]
pub struct ServerPlace {
    /// `host[:port]`, or `ws://`, `wss://`, `http://`, `https://` in front of it.
    pub address: String,
    /// The fingerprint of its certificate, if it is not one that everybody trusts.
    pub certificate: Option<String>,
}

/// One open paper on this device.
///
/// May be shared between threads. Methods that give back a result wait for the replica's loop, so
/// call them where a few milliseconds don't matter; [`edit`](Self::edit),
/// [`set_cursor`](Self::set_cursor), [`close_editor`](Self::close_editor) and
/// [`rescan`](Self::rescan) only queue.
#[derive(Debug)]
pub struct Replica {}

#[allow(unused_variables, missing_docs, clippy::unused_self, clippy::needless_pass_by_value, clippy::todo, reason = "signatures first")]
impl Replica {
    /// Opens the paper in a folder; a folder that is none yet becomes one.
    pub fn open(config: Config, notify: impl Fn(Notification) + Send + 'static) -> Result<Self, Problem> { todo!() }
    /// Fetches the paper behind a link into an empty folder (or one with equal files) and opens it.
    ///
    /// Waits until all of it has arrived; on an error the folder is as it was.
    pub fn join(config: Config, link: &str, notify: impl Fn(Notification) + Send + 'static) -> Result<Self, Problem> { todo!() }
    /// Returns the paper as it stands.
    pub fn view(&self) -> PaperView { todo!() }
    pub fn status(&self) -> Status { todo!() }
    pub fn notices(&self) -> Vec<Notice> { todo!() }
    pub fn open_editor(&self, file: FileId) -> Result<Opened, Problem> { todo!() }
    /// Queues an edit: taken if made on the editor's newest version, else ignored.
    pub fn edit(&self, edit: Edit) { todo!() }
    pub fn set_cursor(&self, selection: Selection) { todo!() }
    pub fn close_editor(&self, editor: EditorId) { todo!() }
    pub fn create_file(&self, path: &str) -> Result<FileId, Problem> { todo!() }
    pub fn rename_file(&self, file: FileId, path: &str) -> Result<(), Problem> { todo!() }
    pub fn delete_file(&self, file: FileId) -> Result<(), Problem> { todo!() }
    pub fn set_person(&self, person: Person) { todo!() }
    pub fn set_offline(&self, offline: bool) { todo!() }
    /// Registers the paper at a server, connects to it and returns the link to pass on.
    ///
    /// The paper keeps its secret; called again with another place it moves there.
    pub fn share(&self, place: ServerPlace) -> Result<String, Problem> { todo!() }
    /// Connects a paper that is already here through a link to the same paper.
    pub fn connect(&self, link: &str) -> Result<(), Problem> { todo!() }
    /// Disconnects and forgets the link.
    pub fn stop_sharing(&self) -> Result<(), Problem> { todo!() }
    /// Looks through the folder now (a window got the focus).
    pub fn rescan(&self) { todo!() }
    /// Waits until folder, documents and the server are level and durable on both sides.
    pub fn level(&self, within: Duration) -> Result<(), Problem> { todo!() }
    /// Writes everything out and ends. Dropping does the same without telling what failed.
    pub fn close(self) -> Result<(), Problem> { todo!() }
}

/// Returns where this system keeps an application's data.
pub fn default_data_dir() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "quire").map(|dirs| dirs.data_local_dir().to_path_buf())
}
