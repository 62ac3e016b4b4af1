//! Everything that this app has open: the papers, who sits here, what is remembered.
//!
//! A paper on the desk has a window, named by its label; a window reaches its own paper only.
//! Opening and sharing wait for disk and network: call them off the main thread.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use replica::{EditorId, Replica, ServerPlace};
use store::disk::{Disk as _, RealDisk};

use crate::events::Outlet;
use crate::hosting::{self, Hosted, Hosting};
use crate::settings::{Frame, Kept, Recent};
use crate::shapes::{Paper, Person, RecentPaper, ShareWhere, Sharing, Start};

/// The app's state.
#[derive(Debug)]
pub(crate) struct Desk {
    data_dir: PathBuf,
    kept: Mutex<Kept>,
    /// Who sits here this time, if the command line said so.
    guest: Mutex<Option<Person>>,
    open: Mutex<Vec<Arc<OpenPaper>>>,
    windows: AtomicU64,
    /// How many papers are being closed.
    closing: AtomicUsize,
}

/// A paper with a window.
#[derive(Debug)]
pub(crate) struct OpenPaper {
    /// Its window's label.
    pub label: String,
    /// The folder's name.
    pub title: String,
    /// Its folder.
    pub folder: PathBuf,
    /// This device's copy of it.
    pub replica: Replica,
    /// Its window's ear.
    pub outlet: Arc<Outlet>,
    /// The editors that the window's page has opened.
    editors: Mutex<Vec<EditorId>>,
    hosting: Mutex<Option<Hosting>>,
}

impl Desk {
    /// Sets a desk up with what is remembered in the data folder. `guest` sits here this time.
    pub(crate) fn new(data_dir: PathBuf, kept: Kept, guest: Option<Person>) -> Self {
        Self {
            data_dir,
            kept: Mutex::new(kept),
            guest: Mutex::new(guest),
            open: Mutex::new(Vec::new()),
            windows: AtomicU64::new(1),
            closing: AtomicUsize::new(0),
        }
    }

    /// Returns the data folder.
    pub(crate) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Returns how the last paper's window stood.
    pub(crate) fn frame(&self) -> Option<Frame> {
        lock(&self.kept).now().window
    }

    /// Notes how a paper's window stands.
    pub(crate) fn set_frame(&self, frame: Frame) {
        if let Err(problem) = self.remember(|settings| settings.window = Some(frame)) {
            tracing::warn!(problem, "the window's size can't be kept");
        }
    }

    /// Returns what the start window shows.
    pub(crate) fn start(&self) -> Start {
        let recent = lock(&self.kept).now().recent.clone();
        let recent = recent
            .into_iter()
            .map(|paper| RecentPaper {
                available: RealDisk.stat(&paper.folder).is_ok(),
                id: paper.id,
                title: paper.title,
                folder: paper.folder.display().to_string(),
                opened_ms: paper.opened_ms,
                shared: paper.shared,
            })
            .collect();
        let person = self.person().unwrap_or_else(|| Person { name: String::new(), color: 0 });
        Start { person, recent, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// Takes over what the person wants to be called, for all papers.
    pub(crate) fn set_person(&self, person: &Person) -> Result<(), String> {
        if person.name.trim().is_empty() {
            return Err("Co-authors need a name to call you by. Type one.".to_owned());
        }
        let mut guest = lock(&self.guest);
        if guest.is_some() {
            *guest = Some(person.clone());
        } else {
            drop(guest);
            self.remember(|settings| settings.person = Some(person.clone()))?;
        }
        for paper in lock(&self.open).iter() {
            paper.replica.set_person(person.clone().into());
        }
        Ok(())
    }

    /// Forgets a paper that was open; its folder and what is kept of it stay.
    pub(crate) fn forget(&self, id: &str) -> Result<(), String> {
        self.remember(|settings| settings.recent.retain(|paper| paper.id != id))
    }

    /// Returns the folder of a paper that was open.
    pub(crate) fn recent_folder(&self, id: &str) -> Result<PathBuf, String> {
        let kept = lock(&self.kept);
        let found = kept.now().recent.iter().find(|paper| paper.id == id);
        found
            .map(|paper| paper.folder.clone())
            .ok_or_else(|| "This paper is no longer in the list. Open its folder.".to_owned())
    }

    /// Opens a folder's paper; one that is open already is returned as it is.
    pub(crate) fn open_folder(&self, folder: &Path) -> Result<Arc<OpenPaper>, String> {
        // One folder may have many names.
        let folder = folder
            .canonicalize()
            .or_else(|_| std::path::absolute(folder))
            .unwrap_or_else(|_| folder.to_path_buf());
        if let Some(paper) = lock(&self.open).iter().find(|paper| paper.folder == folder) {
            return Ok(Arc::clone(paper));
        }
        let outlet = Arc::new(Outlet::default());
        let ear = Arc::clone(&outlet);
        let replica = Replica::open(self.config(&folder), move |news| ear.send(news))
            .map_err(|problem| problem.to_string())?;
        self.place(replica, outlet)
    }

    /// Fetches the paper behind a link into a folder and opens it.
    pub(crate) fn join(&self, link: &str, into: &Path) -> Result<Arc<OpenPaper>, String> {
        let into = std::path::absolute(into).unwrap_or_else(|_| into.to_path_buf());
        let outlet = Arc::new(Outlet::default());
        let ear = Arc::clone(&outlet);
        let replica = Replica::join(self.config(&into), link, move |news| ear.send(news))
            .map_err(|problem| problem.to_string())?;
        self.place(replica, outlet)
    }

    /// Returns the paper of a window.
    pub(crate) fn paper(&self, label: &str) -> Result<Arc<OpenPaper>, String> {
        let open = lock(&self.open);
        let found = open.iter().find(|paper| paper.label == label);
        found.cloned().ok_or_else(|| "This window has no paper any more.".to_owned())
    }

    /// Takes a window's paper off the desk, when the window is gone. It counts as being closed
    /// until [`closed`](Self::closed) is called.
    pub(crate) fn remove(&self, label: &str) -> Option<Arc<OpenPaper>> {
        let mut open = lock(&self.open);
        let at = open.iter().position(|paper| paper.label == label)?;
        self.closing.fetch_add(1, Ordering::AcqRel);
        Some(open.remove(at))
    }

    /// Notes that a removed paper is closed.
    pub(crate) fn closed(&self) {
        self.closing.fetch_sub(1, Ordering::AcqRel);
    }

    /// Is a paper being closed? Then the program must not end yet.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire) > 0
    }

    /// Shares a paper here or at a server, and connects it there.
    pub(crate) fn share(&self, paper: &OpenPaper, place: &ShareWhere) -> Result<Sharing, String> {
        let id = paper.replica.paper().to_string();
        let (link, here) = match place {
            ShareWhere::Here { address } => (self.host(paper, &id, address.clone())?, true),
            ShareWhere::Server { url } => {
                let place = ServerPlace { address: url.trim().to_owned(), certificate: None };
                paper.outlet.set_hosted_here(false);
                let link = paper.replica.share(&place).map_err(|problem| {
                    // Still where it was.
                    paper.outlet.set_hosted_here(lock(&paper.hosting).is_some());
                    problem.to_string()
                })?;
                self.stop_hosting(paper, &id)?;
                (link, false)
            }
        };
        self.remember(|settings| {
            for recent in settings.recent.iter_mut().filter(|recent| recent.id == id) {
                recent.shared = true;
            }
        })?;
        let status = paper.replica.status().map_err(|problem| problem.to_string())?;
        let at = status.sharing.map(|sharing| sharing.server);
        Ok(Sharing { link, place: at.unwrap_or_default(), here })
    }

    /// Ends sharing a paper: it stays here, the link leads nowhere if this app hosted it.
    pub(crate) fn stop_sharing(&self, paper: &OpenPaper) -> Result<(), String> {
        let id = paper.replica.paper().to_string();
        paper.replica.stop_sharing().map_err(|problem| problem.to_string())?;
        self.stop_hosting(paper, &id)?;
        self.remember(|settings| {
            for recent in settings.recent.iter_mut().filter(|recent| recent.id == id) {
                recent.shared = false;
            }
        })
    }

    fn config(&self, folder: &Path) -> replica::Config {
        let person = self.person().unwrap_or_else(Person::unnamed);
        replica::Config {
            data_dir: self.data_dir.clone(),
            folder: folder.to_path_buf(),
            person: person.into(),
        }
    }

    fn person(&self) -> Option<Person> {
        let guest = lock(&self.guest).clone();
        guest.or_else(|| lock(&self.kept).now().person.clone())
    }

    /// Puts an open paper on the desk, hosts it if it was hosted, and remembers it.
    fn place(&self, replica: Replica, outlet: Arc<Outlet>) -> Result<Arc<OpenPaper>, String> {
        let view = replica.view().map_err(|problem| problem.to_string())?;
        let id = view.id.to_string();
        let number = self.windows.fetch_add(1, Ordering::Relaxed);
        let paper = Arc::new(OpenPaper {
            label: format!("paper-{number}"),
            title: view.title.clone(),
            folder: view.folder.clone(),
            replica,
            outlet,
            editors: Mutex::default(),
            hosting: Mutex::default(),
        });
        lock(&self.open).push(Arc::clone(&paper));
        let hosted = lock(&self.kept).now().hosted.get(&id).cloned();
        let mut shared = view.status.sharing.is_some();
        if let Some(hosted) = hosted {
            shared = true;
            // The paper is as good without its others: what failed is told by its status.
            if let Err(problem) = self.host(&paper, &id, hosted.address) {
                tracing::warn!(problem, "a paper can't be hosted again");
            }
        }
        let recent = Recent {
            id,
            title: view.title,
            folder: view.folder,
            opened_ms: RealDisk.now_ms(),
            shared,
        };
        if let Err(problem) = self.remember(|settings| settings.remember(recent)) {
            tracing::warn!(problem, "the list of recent papers can't be kept");
        }
        Ok(paper)
    }

    /// Starts this app's server for a paper and moves the paper there; returns the link.
    fn host(&self, paper: &OpenPaper, id: &str, address: Option<String>) -> Result<String, String> {
        let address = address.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
        let before = lock(&self.kept).now().hosted.get(id).cloned();
        let mut hosted = before.unwrap_or_else(|| Hosted {
            address: None,
            port: 0,
            folder: format!("{id}-{}", RealDisk.now_ms()),
        });
        hosted.address = address;
        // The one that runs holds the store: it ends before the next one starts.
        if let Some(running) = lock(&paper.hosting).take() {
            running.stop();
        }
        let secret = paper.replica.secret().map_err(|problem| problem.to_string())?;
        let hosting = Hosting::start(&self.data_dir, &mut hosted, id, &secret)?;
        paper.outlet.set_hosted_here(true);
        let link = match paper.replica.share(&hosting.place()) {
            Ok(link) => link,
            Err(problem) => {
                paper.outlet.set_hosted_here(false);
                hosting.stop();
                return Err(problem.to_string());
            }
        };
        *lock(&paper.hosting) = Some(hosting);
        self.remember(|settings| {
            settings.hosted.insert(id.to_owned(), hosted);
        })?;
        Ok(link)
    }

    /// Ends this app's server for a paper, for good: its folder goes as well.
    fn stop_hosting(&self, paper: &OpenPaper, id: &str) -> Result<(), String> {
        paper.outlet.set_hosted_here(false);
        if let Some(hosting) = lock(&paper.hosting).take() {
            hosting.stop();
        }
        let mut hosted = None;
        self.remember(|settings| hosted = settings.hosted.remove(id))?;
        if let Some(hosted) = hosted {
            hosting::discard(&self.data_dir, &hosted);
        }
        Ok(())
    }

    fn remember(&self, change: impl FnOnce(&mut crate::settings::Settings)) -> Result<(), String> {
        lock(&self.kept).change(change).map_err(|problem| {
            format!(
                "Quire's settings can't be written to {}: {problem}. Make room or check who may \
                 write there.",
                self.data_dir.display()
            )
        })
    }
}

impl OpenPaper {
    /// Returns the paper as its window shows it.
    pub(crate) fn view(&self) -> Result<Paper, String> {
        let view = self.replica.view().map_err(|problem| problem.to_string())?;
        Ok(Paper::of(view, self.outlet.hosted_here()))
    }

    /// Notes that the page has opened an editor.
    pub(crate) fn note_editor(&self, editor: EditorId) {
        lock(&self.editors).push(editor);
    }

    /// Closes one editor.
    pub(crate) fn close_editor(&self, editor: EditorId) {
        lock(&self.editors).retain(|open| *open != editor);
        self.replica.close_editor(editor);
    }

    /// Closes what an earlier page of the same window had open: it was loaded anew.
    pub(crate) fn close_editors(&self) {
        for editor in lock(&self.editors).drain(..) {
            self.replica.close_editor(editor);
        }
    }

    /// Writes everything out and ends, the server that hosts it last. Says what failed.
    pub(crate) fn close(self: Arc<Self>) -> Result<(), String> {
        let Some(paper) = Arc::into_inner(self) else {
            // A command still runs on it; it ends with the last of them.
            return Ok(());
        };
        let closed = paper.replica.close().map_err(|problem| problem.to_string());
        let hosting = paper.hosting.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(hosting) = hosting {
            hosting.stop();
        }
        closed
    }
}

/// What a lock guards here stays sound when a thread panics: each change is one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
