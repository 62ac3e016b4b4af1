//! The handle: every request becomes an event for the loop.
//!
//! Also what happens before there is a loop: which folder, which store, which paper.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use client::{Fingerprint, Invitation, ServerAddress};
use paper::{FileId, PaperId};
use protocol::Secret;
use store::disk::{Access, Disk, Kind, RealDisk, create_dirs, replace};
use store::{Store, StoreError, StoreOptions};
use tokio::sync::mpsc;

use crate::clock::now;
use crate::documents::{Documents, MAX_FILES, random, random_client};
use crate::editor::{Edit, EditorId, Opened, Selection};
use crate::event_loop::{self, COMPLETE, Event, LINK, Parts, Reply};
use crate::folder::{Folder, Found};
use crate::mirror::Mirror;
use crate::notification::{FileView, Notice, Notification, PaperView, Status};
use crate::paper_toml::{self, PaperToml};
use crate::presence::Person;
use crate::problem::Problem;
use crate::watch::Watch;

/// A folder that holds more than this does not become a paper.
const MAX_NEW_BYTES: u64 = 2 << 30;
/// A joined paper must have come within this time.
const JOIN_WITHIN: Duration = Duration::from_mins(10);

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
    /// `host[:port]`, or a URL with `ws://`, `wss://`, `http://`, `https://` in front of it.
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
pub struct Replica {
    events: mpsc::UnboundedSender<Event>,
    paper: PaperId,
    /// Taken when it is closed.
    thread: Option<JoinHandle<()>>,
}

impl Replica {
    /// Opens the paper in a folder; a folder that is none yet becomes one.
    ///
    /// `notify` is called on the replica's thread and must not wait for the replica.
    pub fn open(
        config: Config,
        notify: impl Fn(Notification) + Send + 'static,
    ) -> Result<Self, Problem> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let folder = existing_folder(&*disk, &config.folder)?;
        let known = paper_toml::read(&*disk, &folder)?;
        if known.is_none() {
            check_new_paper(&disk, &folder)?;
        }
        let paper = known.as_ref().map_or_else(|| PaperId::from_bytes(random()), |known| known.id);
        let place = StorePlace::find(&*disk, &config.data_dir, paper, &folder)?;
        let opening = Opening { disk, folder, paper, place, person: config.person };
        let (replica, _) = opening.start(Box::new(notify), None)?;
        if known.is_none() {
            let toml = PaperToml { id: paper, server: None };
            paper_toml::write(&RealDisk, &opening.folder, &toml)?;
        }
        Ok(replica)
    }

    /// Fetches the paper behind a link into a folder and opens it.
    ///
    /// The folder may be missing, empty, or hold files already: equal ones are adopted, of others
    /// both are kept. Waits until all of it has come; on an error the folder is as it was.
    pub fn join(
        config: Config,
        link: &str,
        notify: impl Fn(Notification) + Send + 'static,
    ) -> Result<Self, Problem> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let invitation = parse_link(link)?;
        let paper = paper_of(&invitation)?;
        let made = make_folder(&*disk, &config.folder)?;
        let folder = existing_folder(&*disk, &config.folder)?;
        let known = paper_toml::read(&*disk, &folder)?;
        if known.as_ref().is_some_and(|known| known.id != paper) {
            return Err(Problem::OtherPaper { folder });
        }
        let place = StorePlace::find(&*disk, &config.data_dir, paper, &folder)?;
        let opening = Opening { disk, folder, paper, place, person: config.person };
        let joined =
            opening.start(Box::new(notify), Some(&invitation)).and_then(|(replica, had_store)| {
                let done = replica
                    .ask(|reply| Event::Joined(now() + JOIN_WITHIN, reply))
                    .and_then(|done| done);
                match done {
                    Ok(()) => Ok(replica),
                    Err(problem) => {
                        drop(replica.close());
                        if !had_store {
                            opening.place.remove(&*opening.disk);
                        }
                        Err(problem)
                    }
                }
            });
        match joined {
            Ok(replica) => {
                let toml = PaperToml { id: paper, server: Some(invitation.server.to_string()) };
                paper_toml::write(&*opening.disk, &opening.folder, &toml)?;
                Ok(replica)
            }
            Err(problem) => {
                if made {
                    // Only if nothing has been put into it.
                    drop(opening.disk.remove_dir(&opening.folder));
                }
                Err(problem)
            }
        }
    }

    /// Returns the paper's id.
    pub fn paper(&self) -> PaperId {
        self.paper
    }

    /// Returns the paper as it stands.
    pub fn view(&self) -> Result<PaperView, Problem> {
        self.ask(Event::View)
    }

    /// Returns how it stands with saving and sending.
    pub fn status(&self) -> Result<Status, Problem> {
        self.view().map(|view| view.status)
    }

    /// Returns what happened lately, oldest first.
    pub fn notices(&self) -> Vec<Notice> {
        self.ask(Event::Notices).unwrap_or_default()
    }

    /// Opens an editor on a text file.
    pub fn open_editor(&self, file: FileId) -> Result<Opened, Problem> {
        self.ask(|reply| Event::OpenEditor(file, reply))?
    }

    /// Queues an edit: taken if made on the editor's newest version, else ignored. What is taken
    /// comes back as own patches; whoever was too late rebases over the patches and sends again.
    pub fn edit(&self, edit: Edit) {
        self.tell(Event::Edit(edit));
    }

    /// Queues where the cursor is.
    pub fn set_cursor(&self, selection: Selection) {
        self.tell(Event::Select(selection));
    }

    /// Queues the end of an editor.
    pub fn close_editor(&self, editor: EditorId) {
        self.tell(Event::CloseEditor(editor));
    }

    /// Makes an empty text file.
    pub fn create_file(&self, path: &str) -> Result<FileId, Problem> {
        self.ask(|reply| Event::CreateFile(path.to_owned(), reply))?
    }

    /// Gives a file another path.
    pub fn rename_file(&self, file: FileId, path: &str) -> Result<(), Problem> {
        self.ask(|reply| Event::RenameFile(file, path.to_owned(), reply))?
    }

    /// Removes a file from the paper, for everybody. Its text stays in the store.
    pub fn delete_file(&self, file: FileId) -> Result<(), Problem> {
        self.ask(|reply| Event::DeleteFile(file, reply))?
    }

    /// Changes the name or color that others see.
    pub fn set_person(&self, person: Person) {
        self.tell(Event::SetPerson(person));
    }

    /// Cuts the connection on purpose, or lets it come back.
    pub fn set_offline(&self, offline: bool) {
        self.tell(Event::SetOffline(offline));
    }

    /// Registers the paper at a server, connects to it and returns the link to pass on.
    ///
    /// The paper keeps its secret; called again with another place it moves there.
    pub fn share(&self, place: &ServerPlace) -> Result<String, Problem> {
        let link = |cause: String| Problem::Link { cause };
        let mut server =
            ServerAddress::parse(&place.address).map_err(|error| link(error.to_string()))?;
        if let Some(certificate) = &place.certificate {
            let certificate =
                Fingerprint::parse(certificate).map_err(|error| link(error.to_string()))?;
            server = server.with_certificate(certificate);
        }
        let secret = self.secret()?;
        let invitation = Invitation::new(server, &self.paper.to_string(), secret)
            .map_err(|error| link(error.to_string()))?;
        self.ask(|reply| Event::Share(invitation, reply))?
    }

    /// Returns the secret that lets people into this paper; made and kept at the first call.
    ///
    /// For whoever hosts the paper: a server must know it before [`share`](Self::share), unless
    /// it takes papers from anybody.
    pub fn secret(&self) -> Result<Secret, Problem> {
        self.ask(Event::Secret)?
    }

    /// Connects a paper that is already here through a link to the same paper.
    pub fn connect(&self, link: &str) -> Result<(), Problem> {
        let invitation = parse_link(link)?;
        self.ask(|reply| Event::Connect(invitation, reply))?
    }

    /// Disconnects and forgets the link.
    pub fn stop_sharing(&self) -> Result<(), Problem> {
        self.ask(Event::StopSharing)
    }

    /// Queues a look through the folder (a window got the focus).
    pub fn rescan(&self) {
        self.tell(Event::Rescan);
    }

    /// Waits until folder, documents and the server are level, and durable on both sides.
    pub fn level(&self, within: Duration) -> Result<(), Problem> {
        self.ask(|reply| Event::Level(now() + within, reply))?
    }

    /// Writes everything out and ends. Dropping does the same without telling what failed.
    pub fn close(mut self) -> Result<(), Problem> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let result = self.ask(Event::Close);
        if thread.join().is_err() {
            return Err(Problem::Closed);
        }
        result?
    }

    fn tell(&self, event: Event) {
        // A closed loop has nothing to lose: everything it took is kept.
        drop(self.events.send(event));
    }

    fn ask<T>(&self, event: impl FnOnce(Reply<T>) -> Event) -> Result<T, Problem> {
        let (reply, answer): (Reply<T>, Receiver<T>) = sync_channel(1);
        self.events.send(event(reply)).map_err(|_| Problem::Closed)?;
        answer.recv().map_err(|_| Problem::Closed)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // Whoever wants to know calls `close`.
        drop(self.end());
    }
}

/// A paper as it lies there, without opening it.
#[derive(Clone, Debug)]
pub struct Glance {
    /// The paper's id.
    pub paper: PaperId,
    /// Where the folder is.
    pub folder: PathBuf,
    /// The server that it is shared at, for people's eyes.
    pub server: Option<String>,
    /// Who has it open just now; nothing below is known then.
    pub open_elsewhere: Option<String>,
    /// Its files.
    pub files: Vec<FileView>,
    /// Files that another program changed, made or removed since the paper was open last.
    pub changed: Vec<String>,
}

/// Looks at the paper in a folder and changes nothing.
pub fn glance(data_dir: &Path, folder: &Path) -> Result<Glance, Problem> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let folder = existing_folder(&*disk, folder)?;
    let Some(known) = paper_toml::read(&*disk, &folder)? else {
        return Err(Problem::NotAPaper { folder });
    };
    let place = StorePlace::find(&*disk, data_dir, known.id, &folder)?;
    let mut glance = Glance {
        paper: known.id,
        folder: folder.clone(),
        server: known.server,
        open_elsewhere: None,
        files: Vec::new(),
        changed: Vec::new(),
    };
    if disk.stat(&place.dir).is_err() {
        return Ok(glance);
    }
    let store = match Store::open(&place.dir, StoreOptions::default()) {
        Ok(store) => store,
        Err(StoreError::Locked { holder, .. }) => {
            glance.open_elsewhere = Some(holder);
            return Ok(glance);
        }
        Err(error) => return Err(store_problem(&error)),
    };
    let link = store.meta(LINK).and_then(|link| String::from_utf8(link).ok());
    if let Some(invitation) = link.and_then(|link| Invitation::parse(&link).ok()) {
        glance.server = Some(invitation.server.to_string());
    }
    let mut documents =
        Documents::open(store, known.id, random_client()).map_err(|error| store_problem(&error))?;
    let in_folder = Folder::new(disk, folder.clone());
    let mirror = Mirror::open(in_folder, &mut documents, String::new(), false);
    glance.files = mirror.files(&documents);
    glance.changed =
        mirror.differing().map_err(|error| Problem::Folder { folder, cause: error.to_string() })?;
    Ok(glance)
}

/// Is there a paper in this folder?
pub fn is_paper(folder: &Path) -> Result<bool, Problem> {
    paper_toml::read(&RealDisk, &existing_folder(&RealDisk, folder)?).map(|known| known.is_some())
}

/// Returns where this system keeps an application's data.
pub fn default_data_dir() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "quire").map(|dirs| dirs.data_local_dir().to_path_buf())
}

/// All that is known before a paper is opened.
#[derive(Debug)]
struct Opening {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    paper: PaperId,
    place: StorePlace,
    person: Person,
}

impl Opening {
    /// Opens the store and starts the loop; says whether there was a store before.
    fn start(
        &self,
        notify: Box<dyn Fn(Notification) + Send>,
        joining: Option<&Invitation>,
    ) -> Result<(Replica, bool), Problem> {
        let (sender, events) = mpsc::unbounded_channel();
        let (on_durable, on_disk) = (sender.clone(), sender.clone());
        let options = StoreOptions {
            disk: Arc::clone(&self.disk),
            on_durable: Box::new(move |result| {
                let result = result.map_err(|error| error.to_string());
                // A loop that has ended flushes by itself.
                drop(on_durable.send(Event::Durable(result)));
            }),
            ..StoreOptions::default()
        };
        let had_store = self.disk.stat(&self.place.dir).is_ok();
        let store = Store::open(&self.place.dir, options).map_err(|error| store_problem(&error))?;
        self.place.remember(&*self.disk, &self.folder)?;
        if let Some(invitation) = joining {
            store
                .put_meta(LINK, invitation.link().as_bytes())
                .map_err(|error| store_problem(&error))?;
        }
        // A paper that never was anywhere else is whole from the start.
        let complete =
            store.meta(COMPLETE).is_some() || (joining.is_none() && store.meta(LINK).is_none());
        if complete {
            store.put_meta(COMPLETE, b"1").map_err(|error| store_problem(&error))?;
        }
        let mut documents = Documents::open(store, self.paper, random_client())
            .map_err(|error| store_problem(&error))?;
        let folder = Folder::new(Arc::clone(&self.disk), self.folder.clone());
        let mirror = Mirror::open(folder, &mut documents, self.person.name.clone(), complete);
        let watch = Watch::start(&self.folder, move || {
            // Nobody to wake when the loop has ended.
            drop(on_disk.send(Event::Disk));
        });
        if let Err(error) = &watch {
            tracing::warn!("the folder is looked through every few seconds: {error}");
        }
        let parts = Parts {
            documents,
            mirror,
            watch: watch.ok(),
            person: self.person.clone(),
            title: title(&self.folder),
            folder: self.folder.clone(),
            notify,
            events,
            sender: sender.clone(),
            complete,
        };
        let thread = spawn(parts).map_err(|error| Problem::Store { cause: error.to_string() })?;
        Ok((Replica { events: sender, paper: self.paper, thread: Some(thread) }, had_store))
    }
}

fn spawn(parts: Parts) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("quire-network")
        .enable_all()
        .build()?;
    std::thread::Builder::new().name("quire-replica".to_owned()).spawn(move || {
        let handle = runtime.handle().clone();
        runtime.block_on(event_loop::run(parts, handle));
        // A request that still travels is not waited for.
        runtime.shutdown_background();
    })
}

fn title(folder: &Path) -> String {
    folder
        .file_name()
        .map_or_else(|| "Paper".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn parse_link(link: &str) -> Result<Invitation, Problem> {
    Invitation::parse(link).map_err(|error| Problem::Link { cause: error.to_string() })
}

fn paper_of(invitation: &Invitation) -> Result<PaperId, Problem> {
    PaperId::parse(invitation.paper()).map_err(|error| Problem::Link { cause: error.to_string() })
}

fn existing_folder(disk: &dyn Disk, folder: &Path) -> Result<PathBuf, Problem> {
    let problem = |cause: String| Problem::Folder { folder: folder.to_path_buf(), cause };
    let absolute = std::path::absolute(folder).map_err(|error| problem(error.to_string()))?;
    disk.list(&absolute).map_err(|error| problem(error.to_string()))?;
    Ok(absolute)
}

/// Somebody's whole home is no paper: everybody would get it.
fn check_new_paper(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), Problem> {
    let problem = |cause: String| Problem::Folder { folder: folder.to_path_buf(), cause };
    let scan = Folder::new(Arc::clone(disk), folder.to_path_buf()).scan();
    let found = scan.map_err(|error| problem(error.to_string()))?;
    let bytes: u64 = found
        .values()
        .map(|found| match found {
            Found::File(stamp) | Found::Unfit(stamp, _) => stamp.bytes,
            Found::Link => 0,
        })
        .sum();
    if found.len() >= MAX_FILES || bytes > MAX_NEW_BYTES {
        let cause = "it holds far more than a paper; choose the folder of the paper alone";
        return Err(problem(cause.to_owned()));
    }
    Ok(())
}

/// Makes the folder if it is missing; says whether it did.
fn make_folder(disk: &dyn Disk, folder: &Path) -> Result<bool, Problem> {
    let problem = |error: io::Error| Problem::Folder {
        folder: folder.to_path_buf(),
        cause: error.to_string(),
    };
    match disk.stat(folder) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_dirs(disk, folder, Access::Usual).map_err(problem)?;
            Ok(true)
        }
        Err(error) => Err(problem(error)),
    }
}

fn store_problem(error: &StoreError) -> Problem {
    match error {
        StoreError::Locked { holder, .. } => Problem::OpenElsewhere { holder: holder.clone() },
        _ => Problem::Store { cause: error.to_string() },
    }
}

/// Where a paper's store is: one for each folder that holds the paper on this device.
#[derive(Debug)]
struct StorePlace {
    dir: PathBuf,
    /// A file beside it that says which folder the store belongs to.
    folder_file: PathBuf,
}

impl StorePlace {
    /// A folder that was moved keeps its store. While the folder that a store belongs to exists,
    /// another folder with the same paper is a copy, and gets a store of its own.
    fn find(
        disk: &dyn Disk,
        data_dir: &Path,
        paper: PaperId,
        folder: &Path,
    ) -> Result<Self, Problem> {
        let papers = data_dir.join("papers");
        for count in 1.. {
            let name = if count == 1 { paper.to_string() } else { format!("{paper}-{count}") };
            let place = Self {
                dir: papers.join(&name),
                folder_file: papers.join(format!("{name}.folder")),
            };
            let known = match disk.read(&place.folder_file, 64 << 10) {
                Ok(known) => PathBuf::from(String::from_utf8_lossy(&known).into_owned()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(place),
                Err(error) => {
                    let cause = format!("{}: {error}", place.folder_file.display());
                    return Err(Problem::Store { cause });
                }
            };
            let is_there = paper_toml::read(disk, &known)
                .is_ok_and(|other| other.is_some_and(|other| other.id == paper));
            if known == folder || !is_there {
                return Ok(place);
            }
        }
        Err(Problem::Store { cause: "there are too many copies of this paper".to_owned() })
    }

    fn remember(&self, disk: &dyn Disk, folder: &Path) -> Result<(), Problem> {
        let text = folder.to_string_lossy();
        if disk.read(&self.folder_file, 64 << 10).is_ok_and(|known| known == text.as_bytes()) {
            return Ok(());
        }
        replace(disk, &self.folder_file, text.as_bytes()).map_err(|error| Problem::Store {
            cause: format!("{}: {error}", self.folder_file.display()),
        })
    }

    /// Takes a store away that came to nothing: only what a join has just made.
    fn remove(&self, disk: &dyn Disk) {
        drop(disk.remove(&self.folder_file));
        remove_tree(disk, &self.dir);
    }
}

/// Removes a folder with all that is in it; what cannot be removed stays.
fn remove_tree(disk: &dyn Disk, folder: &Path) {
    for entry in disk.list(folder).unwrap_or_default() {
        let path = folder.join(&entry.name);
        match disk.stat(&path).map(|stat| stat.kind) {
            Ok(Kind::Folder) => remove_tree(disk, &path),
            Ok(_) => drop(disk.remove(&path)),
            Err(_) => {}
        }
    }
    drop(disk.remove_dir(folder));
}
