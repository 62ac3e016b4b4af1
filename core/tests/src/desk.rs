//! A person at a desk: a folder, a data folder, a replica, and windows that follow its patches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use replica::{
    Change, Config, Cursor, Edit, EditorId, FileId, FileView, Network, Notice, Notification, Patch,
    Person, Problem, Replica, Saved, Selection, Status,
};

/// What is waited for happens within this time, or the test fails.
const PATIENCE: Duration = Duration::from_secs(40);

/// What one window shows.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The text, in UTF-16 units.
    pub units: Vec<u16>,
    /// The newest version.
    pub version: u64,
    /// How many of its own edits were confirmed.
    pub own: usize,
    /// The others' cursors.
    pub cursors: Vec<Cursor>,
    /// Why it was closed by the replica.
    pub closed: Option<String>,
    /// Patches that overtook the answer to opening it.
    early: Vec<Patch>,
    opened: bool,
}

impl Window {
    fn take_in(&mut self, patch: Patch) {
        if !self.opened {
            self.early.push(patch);
            return;
        }
        for change in patch.changes.iter().rev() {
            let range = change.from as usize..change.to as usize;
            self.units.splice(range, change.insert.encode_utf16());
        }
        self.own += usize::from(patch.own);
        self.version += 1;
    }
}

#[derive(Debug, Default)]
struct Seen {
    windows: BTreeMap<EditorId, Window>,
    files: Vec<FileView>,
    /// As it was told last, for messages of failed tests.
    status: Option<Status>,
    notices: Vec<Notice>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

/// A person with a folder, a data folder and windows.
#[derive(Debug)]
pub struct Desk {
    replica: Option<Replica>,
    config: Config,
    shared: Arc<Shared>,
    open: BTreeMap<String, EditorId>,
}

impl Desk {
    /// Opens the paper in `folder`; the data folder is `data`.
    pub fn open(name: &str, folder: &Path, data: &Path) -> Result<Self, Problem> {
        let (config, shared) = Self::prepare(name, folder, data);
        let replica = Replica::open(config.clone(), notify(&shared))?;
        Ok(Self::with(replica, config, shared))
    }

    /// Joins a paper.
    pub fn join(name: &str, folder: &Path, data: &Path, link: &str) -> Result<Self, Problem> {
        let (config, shared) = Self::prepare(name, folder, data);
        let replica = Replica::join(config.clone(), link, notify(&shared))?;
        Ok(Self::with(replica, config, shared))
    }

    fn prepare(name: &str, folder: &Path, data: &Path) -> (Config, Arc<Shared>) {
        let person = Person { name: name.to_owned(), color: 1 };
        let (data_dir, folder) = (data.to_path_buf(), folder.to_path_buf());
        (Config { data_dir, folder, person }, Arc::default())
    }

    fn with(replica: Replica, config: Config, shared: Arc<Shared>) -> Self {
        let view = replica.view().expect("an open paper can be seen");
        let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.files = view.files;
        seen.status = Some(view.status);
        drop(seen);
        Self { replica: Some(replica), config, shared, open: BTreeMap::new() }
    }

    /// The replica itself.
    pub fn replica(&self) -> &Replica {
        self.replica.as_ref().expect("the desk is open")
    }

    /// The paper's folder.
    pub fn folder(&self) -> &Path {
        &self.config.folder
    }

    /// Closes the paper and opens it again, as after a restart of the app.
    pub fn reopen(&mut self) {
        self.replica.take().expect("the desk is open").close().expect("it closes cleanly");
        let (config, shared) = (self.config.clone(), Arc::<Shared>::default());
        let replica = Replica::open(config.clone(), notify(&shared)).expect("it opens again");
        *self = Self::with(replica, config, shared);
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.shared.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something holds.
    ///
    /// # Panics
    /// When it does not come to hold.
    pub fn wait<T>(&self, what: &str, mut holds: impl FnMut(&Self) -> Option<T>) -> T {
        #[expect(clippy::disallowed_methods, reason = "a test gives up some time")]
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(value) = holds(self) {
                return value;
            }
            #[expect(clippy::disallowed_methods, reason = "a test gives up some time")]
            let late = Instant::now() >= deadline;
            let name = &self.config.person.name;
            assert!(!late, "{name} waited in vain for: {what}; seen: {:#?}", self.seen());
            // The folder tells nobody here when it changes: look again soon in any case.
            let wait = self.shared.changed.wait_timeout(self.seen(), Duration::from_millis(20));
            drop(wait.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Returns the file at a path, once there is one.
    pub fn file(&self, path: &str) -> FileId {
        self.wait(&format!("a file {path}"), |desk| desk.file_now(path))
    }

    fn file_now(&self, path: &str) -> Option<FileId> {
        self.seen().files.iter().find(|file| file.path == path).and_then(|file| file.id)
    }

    /// Returns the list of files.
    pub fn files(&self) -> Vec<FileView> {
        self.seen().files.clone()
    }

    /// Returns the paths of the paper's files.
    pub fn paths(&self) -> Vec<String> {
        let seen = self.seen();
        let shared = seen.files.iter().filter(|file| file.id.is_some());
        shared.map(|file| file.path.clone()).collect()
    }

    /// Returns how it stands now, after all that was done before.
    pub fn status(&self) -> Status {
        self.replica().status().expect("the paper is open")
    }

    /// Returns what was told so far.
    pub fn notices(&self) -> Vec<String> {
        self.seen().notices.iter().map(|notice| notice.text.clone()).collect()
    }

    /// Opens a window on a file, or returns the one that is open.
    pub fn window(&mut self, path: &str) -> EditorId {
        if let Some(editor) = self.open.get(path) {
            return *editor;
        }
        let file = self.file(path);
        let opened = self.replica().open_editor(file).expect("a text can be opened");
        let mut seen = self.seen();
        let window = seen.windows.entry(opened.editor).or_default();
        window.units = opened.text.encode_utf16().collect();
        window.opened = true;
        for patch in std::mem::take(&mut window.early) {
            window.take_in(patch);
        }
        drop(seen);
        self.open.insert(path.to_owned(), opened.editor);
        opened.editor
    }

    /// Returns what a window shows.
    pub fn text(&mut self, path: &str) -> String {
        let editor = self.window(path);
        let seen = self.seen();
        String::from_utf16(&seen.windows[&editor].units).expect("no pair of surrogates is split")
    }

    /// Returns the state of a window.
    pub fn window_state(&mut self, path: &str) -> Window {
        let editor = self.window(path);
        self.seen().windows[&editor].clone()
    }

    /// Waits until something holds of a window.
    pub fn wait_window(&mut self, path: &str, what: &str, holds: impl Fn(&Window) -> bool) {
        let editor = self.window(path);
        self.wait(what, |desk| holds(&desk.seen().windows[&editor]).then_some(()));
    }

    /// Waits until a window shows a text.
    pub fn wait_text(&mut self, path: &str, text: &str) {
        let editor = self.window(path);
        let units: Vec<u16> = text.encode_utf16().collect();
        self.wait(&format!("{path} to read {text:?}"), |desk| {
            (desk.seen().windows[&editor].units == units).then_some(())
        });
    }

    /// Types before the first occurrence of `before`, or at the end if that is empty. Waits until
    /// the replica has taken it.
    pub fn insert(&mut self, path: &str, before: &str, insert: &str) {
        let editor = self.window(path);
        let mut sent: Option<u64> = None;
        let own = self.seen().windows[&editor].own;
        let before: Vec<u16> = before.encode_utf16().collect();
        self.wait(&format!("{insert:?} to be taken"), |desk| {
            let window = desk.seen().windows[&editor].clone();
            if window.own > own {
                return Some(());
            }
            if sent != Some(window.version) {
                let at = if before.is_empty() {
                    window.units.len()
                } else {
                    let mut places = window.units.windows(before.len());
                    places.position(|place| place == before).expect("the place is in the text")
                };
                let at = u32::try_from(at).expect("a short text");
                let change = Change { from: at, to: at, insert: insert.to_owned() };
                sent = Some(window.version);
                desk.replica().edit(Edit {
                    editor,
                    version: window.version,
                    updates: vec![vec![change]],
                });
            }
            None
        });
    }

    /// Puts the cursor somewhere.
    pub fn place_cursor(&mut self, path: &str, at: u32) {
        let editor = self.window(path);
        let version = self.seen().windows[&editor].version;
        self.replica().set_cursor(Selection { editor, version, anchor: at, head: at });
    }

    /// Waits until all typed so far is safe here and at the server.
    pub fn wait_sent(&self) {
        self.wait("everything to be saved and sent", |desk| {
            let status = desk.status();
            let online = status.network == Network::Online;
            (status.saved == Saved::Saved && online && status.unsent == 0).then_some(())
        });
    }

    /// Waits until folder, documents and server are level.
    pub fn level(&self) {
        self.replica().level(PATIENCE).expect("everything becomes level");
    }

    /// Waits until what the windows show is on disk, whatever the server does.
    pub fn level_here(&self) {
        for (path, editor) in &self.open {
            let window = self.seen().windows[editor].clone();
            if window.closed.is_none() {
                let text = String::from_utf16(&window.units).expect("no pair is split");
                self.wait(&format!("{path} on disk"), |desk| {
                    let newest = desk.seen().windows[editor].version;
                    let same = desk.disk(path).as_deref() == Some(text.as_bytes());
                    (same || newest != window.version).then_some(())
                });
            }
        }
    }

    /// Where a file is on disk.
    pub fn path(&self, path: &str) -> PathBuf {
        self.config.folder.join(path)
    }

    /// Returns a file's bytes as another program sees them.
    #[expect(clippy::disallowed_methods, reason = "another program")]
    pub fn disk(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(path)).ok()
    }

    /// Writes a file as another program does.
    #[expect(clippy::disallowed_methods, reason = "another program")]
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file can be written");
    }

    /// Waits until a file on disk has these bytes.
    pub fn wait_disk(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        let text = String::from_utf8_lossy(bytes);
        self.wait(&format!("{path} on disk to be {text:?}"), |desk| {
            (desk.disk(path).as_deref() == Some(bytes)).then_some(())
        });
    }

    /// Waits until a file is gone from disk.
    pub fn wait_gone(&self, path: &str) {
        self.wait(&format!("{path} to be gone"), |desk| desk.disk(path).is_none().then_some(()));
    }
}

fn notify(shared: &Arc<Shared>) -> impl Fn(Notification) + Send + 'static {
    let shared = Arc::clone(shared);
    move |notification| {
        let mut seen = shared.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match notification {
            Notification::Files(files) => seen.files = files,
            Notification::Status(status) => seen.status = Some(status),
            Notification::Notice(notice) => seen.notices.push(notice),
            Notification::Patches { editor, version, patches } => {
                let window = seen.windows.entry(editor).or_default();
                let newest = window.version + window.early.len() as u64;
                assert_eq!(newest, version, "patches follow each other");
                for patch in patches {
                    window.take_in(patch);
                }
            }
            Notification::Cursors { editor, version: _, cursors } => {
                seen.windows.entry(editor).or_default().cursors = cursors;
            }
            Notification::EditorClosed { editor, reason } => {
                seen.windows.entry(editor).or_default().closed = Some(reason);
            }
        }
        drop(seen);
        shared.changed.notify_all();
    }
}
