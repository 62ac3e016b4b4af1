//! The one loop that owns everything of a paper: one event after the other, no locks.
//!
//! Whatever happens (a key press, a frame, a file, a clock) is an event. After each, the news that
//! the documents left are passed on: to the editors as patches, to the mirror, to the connection,
//! until there are none; then who listens is told what changed.

mod editors;
mod telling;

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use client::{Invitation, LinkEvent, Papers, PapersError};
use paper::{Entry, FileId, Kind, PaperPath, TextFormat};
use protocol::Secret;
use store::Lsn;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::clock::{now, wall_ms};
use crate::connection::{BlobEvent, Connection, Round};
use crate::documents::{Documents, Failure, Name, Origin, random};
use crate::editor::{Buffer, Edit, Editor, EditorId, Opened, Patch, Selection};
use crate::mirror::Mirror;
use crate::notification::{Level, Notice, Notification, PaperView, Status};
use crate::presence::{Cursor, Person};
use crate::problem::Problem;
use crate::watch::Watch;

/// The store's fact that holds the secret link.
pub(crate) const LINK: &str = "link";
/// The store's fact that holds the paper's secret, shared just now or not.
const SECRET: &str = "secret";
/// The store's fact that says that the paper has come whole once.
pub(crate) const COMPLETE: &str = "complete";
/// The store's fact that holds the last place.
const PLACE: &str = "place";
/// The folder is looked through this often, in case the watcher missed something.
const SCAN_EVERY: Duration = Duration::from_secs(10);
/// The same without a watcher.
const POLL_EVERY: Duration = Duration::from_secs(2);
/// A document that nobody changed for so long rests: a good time for a snapshot.
const REST_AFTER: Duration = Duration::from_secs(30);
/// Cursors of one's own are kept at most this often.
const KEEP_PLACE_EVERY: Duration = Duration::from_secs(2);
/// This many events are taken before anybody is told.
const BATCH: usize = 64;
/// This many notices are remembered.
const MAX_NOTICES: usize = 200;
/// A joining replica gives up when the server was not reached for this long.
const JOIN_PATIENCE: Duration = Duration::from_secs(12);

/// Where an answer goes.
pub(crate) type Reply<T> = SyncSender<T>;

/// Everything that can happen.
pub(crate) enum Event {
    Edit(Edit),
    Select(Selection),
    CloseEditor(EditorId),
    OpenEditor(FileId, Reply<Result<Opened, Problem>>),
    CreateFile(String, Reply<Result<FileId, Problem>>),
    RenameFile(FileId, String, Reply<Result<(), Problem>>),
    DeleteFile(FileId, Reply<Result<(), Problem>>),
    SetPerson(Person),
    SetOffline(bool),
    Connect(Invitation, Reply<Result<(), Problem>>),
    Share(Invitation, Reply<Result<String, Problem>>),
    Registered(Invitation, Reply<Result<String, Problem>>, Result<(), PapersError>),
    StopSharing(Reply<()>),
    View(Reply<PaperView>),
    Notices(Reply<Vec<Notice>>),
    Secret(Reply<Result<Secret, Problem>>),
    Level(Instant, Reply<Result<(), Problem>>),
    Joined(Instant, Reply<Result<(), Problem>>),
    Rescan,
    Disk,
    Durable(Result<Lsn, String>),
    Close(Reply<Result<(), Problem>>),
}

/// What the loop is started with.
pub(crate) struct Parts {
    pub(crate) documents: Documents,
    pub(crate) mirror: Mirror,
    pub(crate) watch: Option<Watch>,
    pub(crate) person: Person,
    pub(crate) title: String,
    pub(crate) folder: std::path::PathBuf,
    pub(crate) notify: Box<dyn Fn(Notification) + Send>,
    pub(crate) events: mpsc::UnboundedReceiver<Event>,
    pub(crate) sender: mpsc::UnboundedSender<Event>,
    pub(crate) complete: bool,
}

/// The loop is to end; who asked for it waits.
struct End {
    reply: Option<Reply<Result<(), Problem>>>,
}

/// Somebody who waits until all is level.
struct Waiter {
    deadline: Instant,
    reply: Reply<Result<(), Problem>>,
}

pub(crate) struct EventLoop {
    runtime: Handle,
    documents: Documents,
    mirror: Mirror,
    watch: Option<Watch>,
    connection: Option<Connection>,
    offline_since_ms: Option<u64>,
    person: Person,
    title: String,
    folder: std::path::PathBuf,
    notify: Box<dyn Fn(Notification) + Send>,
    sender: mpsc::UnboundedSender<Event>,
    blob_events: mpsc::UnboundedSender<BlobEvent>,
    editors: BTreeMap<EditorId, Editor>,
    buffers: BTreeMap<FileId, Buffer>,
    patches: BTreeMap<EditorId, (u64, Vec<Patch>)>,
    cursors: BTreeMap<EditorId, Vec<Cursor>>,
    next_editor: u64,
    durable: Lsn,
    not_durable: Option<String>,
    status: Option<Status>,
    notices: VecDeque<Notice>,
    levels: Vec<Waiter>,
    joins: Vec<Waiter>,
    /// The paper has come whole once; before that nothing in the folder is new.
    complete: bool,
    presence_changed: bool,
    place: Option<(FileId, u32)>,
    place_kept: Option<Instant>,
    next_scan: Instant,
    /// Documents that were changed, and when nobody will have changed them for a while.
    resting: BTreeMap<Name, Instant>,
}

/// Runs until the replica is closed.
pub(crate) async fn run(parts: Parts, runtime: Handle) {
    let (blob_events, mut blobs) = mpsc::unbounded_channel();
    let mut events = parts.events;
    let start = now();
    let mut state = EventLoop {
        runtime,
        durable: parts.documents.store().durable(),
        documents: parts.documents,
        mirror: parts.mirror,
        watch: parts.watch,
        connection: None,
        offline_since_ms: None,
        person: parts.person,
        title: parts.title,
        folder: parts.folder,
        notify: parts.notify,
        sender: parts.sender,
        blob_events,
        editors: BTreeMap::new(),
        buffers: BTreeMap::new(),
        patches: BTreeMap::new(),
        cursors: BTreeMap::new(),
        next_editor: 1,
        not_durable: None,
        status: None,
        notices: VecDeque::new(),
        levels: Vec::new(),
        joins: Vec::new(),
        complete: parts.complete,
        presence_changed: true,
        place: None,
        place_kept: None,
        next_scan: start + SCAN_EVERY,
        resting: BTreeMap::new(),
    };
    state.begin(start);
    loop {
        let due = tokio::time::Instant::from_std(state.due(now()));
        let mut round = Round::default();
        let done = tokio::select! {
            event = events.recv() => match event {
                Some(event) => state.on_events(event, &mut events, &mut round),
                None => Some(End { reply: None }),
            },
            event = link_event(&mut state.connection) => {
                state.on_link(event, &mut round);
                for _ in 0..BATCH {
                    let next = state.connection.as_mut().and_then(Connection::next_link_event);
                    let Some(event) = next else { break };
                    state.on_link(event, &mut round);
                }
                None
            }
            Some(event) = blobs.recv() => {
                state.on_blob(event, &mut round);
                None
            }
            () = tokio::time::sleep_until(due) => None,
        };
        state.after(round);
        if let Some(End { reply }) = done {
            let result = state.close();
            drop(state);
            if let Some(reply) = reply {
                answer(&reply, result);
            }
            return;
        }
    }
}

/// Waits for what happens on the link; without a connection, for ever.
async fn link_event(connection: &mut Option<Connection>) -> LinkEvent {
    match connection {
        Some(connection) => connection.link_event().await,
        None => std::future::pending().await,
    }
}

/// Whoever asked may have stopped waiting.
fn answer<T>(reply: &Reply<T>, value: T) {
    drop(reply.try_send(value));
}

/// What happens.
impl EventLoop {
    fn begin(&mut self, now: Instant) {
        for report in self.documents.store().reports() {
            if report.severity == store::Severity::Warning {
                self.notice(Level::Warn, report.text, None);
            }
        }
        if let Some(place) = self.documents.store().meta(PLACE) {
            self.place = read_place(&place);
        }
        if let Some(link) = self.documents.store().meta(LINK) {
            let link = String::from_utf8_lossy(&link).into_owned();
            match Invitation::parse(&link) {
                Ok(invitation) => {
                    if let Err(error) = self.start_connection(invitation, now) {
                        self.notice(Level::Bad, error.to_string(), None);
                    }
                }
                Err(error) => {
                    self.notice(Level::Bad, format!("The kept link is damaged: {error}."), None);
                }
            }
        }
        self.mirror.scan(&mut self.documents, now, true);
        self.mirror.lay_out(&mut self.documents, now);
        if self.connection.is_none() {
            // Nothing is on its way: what is empty is meant to be.
            for file in self.documents.entries().keys().copied().collect::<Vec<_>>() {
                self.documents.set_received(file);
            }
        }
        // What only the log has of an edit, after a crash.
        for name in self.documents.names() {
            if let Name::File(file) = name {
                self.mirror.changed(file, now);
            }
        }
        self.after(Round::default());
    }

    fn due(&self, now: Instant) -> Instant {
        let connection = self.connection.as_ref().and_then(Connection::due);
        let waiters = self.levels.iter().chain(&self.joins).map(|waiter| waiter.deadline).min();
        let place = self.place_kept.map(|kept| kept + KEEP_PLACE_EVERY);
        [
            self.mirror.due(self.documents.store().durable(), now),
            connection,
            waiters,
            place,
            self.resting.values().min().copied(),
            Some(self.next_scan),
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(now + SCAN_EVERY)
    }

    /// Takes an event and those behind it; `Some` ends the loop.
    fn on_events(
        &mut self,
        first: Event,
        events: &mut mpsc::UnboundedReceiver<Event>,
        round: &mut Round,
    ) -> Option<End> {
        let mut next = Some(first);
        for _ in 0..BATCH {
            let Some(event) = next else { break };
            if let Event::Close(reply) = event {
                return Some(End { reply: Some(reply) });
            }
            self.on_event(event, round);
            self.pass_on_news(now());
            next = events.try_recv().ok();
        }
        if let Some(event) = next {
            // The batch is full; the last one taken must not be lost.
            if let Event::Close(reply) = event {
                return Some(End { reply: Some(reply) });
            }
            self.on_event(event, round);
        }
        None
    }

    fn on_event(&mut self, event: Event, round: &mut Round) {
        let now = now();
        match event {
            Event::Edit(edit) => self.edit(&edit),
            Event::Select(selection) => self.select(selection, now),
            Event::CloseEditor(editor) => self.close_editor(editor, now),
            Event::OpenEditor(file, reply) => answer(&reply, self.open_editor(file, now)),
            Event::CreateFile(path, reply) => answer(&reply, self.create_file(&path, now)),
            Event::RenameFile(file, path, reply) => answer(&reply, self.rename_file(file, &path)),
            Event::DeleteFile(file, reply) => answer(&reply, self.delete_file(file)),
            Event::SetPerson(person) => {
                self.mirror.set_person(person.name.clone());
                self.person = person;
                self.say_all(now);
            }
            Event::SetOffline(offline) => self.set_offline(offline),
            Event::Connect(invitation, reply) => answer(&reply, self.connect(invitation, now)),
            Event::Share(invitation, reply) => self.register(invitation, reply),
            Event::Registered(invitation, reply, result) => {
                let result = match result {
                    Ok(()) => {
                        let link = invitation.link();
                        self.connect(invitation, now).map(|()| link)
                    }
                    Err(error) => Err(problem_of(&error)),
                };
                answer(&reply, result);
            }
            Event::StopSharing(reply) => {
                self.stop_sharing(round);
                answer(&reply, ());
            }
            Event::View(reply) => answer(&reply, self.view()),
            Event::Notices(reply) => answer(&reply, self.notices.iter().cloned().collect()),
            Event::Secret(reply) => answer(&reply, self.secret()),
            Event::Level(deadline, reply) => {
                self.mirror.scan(&mut self.documents, now, false);
                self.mirror.hurry(now);
                self.levels.push(Waiter { deadline, reply });
            }
            Event::Joined(deadline, reply) => self.joins.push(Waiter { deadline, reply }),
            Event::Rescan => self.mirror.rescan_soon(now),
            Event::Disk => {
                let heard = self.watch.as_ref().map(Watch::take).unwrap_or_default();
                heard.paths.iter().for_each(|path| self.mirror.touch(path, now));
                if heard.overflow {
                    self.mirror.rescan_soon(now);
                }
            }
            Event::Durable(Ok(lsn)) => {
                self.durable = self.durable.max(lsn);
                self.not_durable = None;
            }
            Event::Durable(Err(problem)) => self.not_durable = Some(problem),
            // Taken by the caller.
            Event::Close(_) => {}
        }
    }

    fn on_link(&mut self, event: LinkEvent, round: &mut Round) {
        let now = now();
        if let Some(connection) = &mut self.connection {
            let done = connection.on_link(event, &mut self.documents, now, round);
            self.presence_changed = true;
            self.check(done);
            self.pass_on_news(now);
        }
    }

    fn on_blob(&mut self, event: BlobEvent, round: &mut Round) {
        if let Some(connection) = &mut self.connection {
            let done = connection.on_blob(event, &mut self.documents, now(), round);
            self.check(done);
        }
    }

    /// Our own store does not take something: the person must know.
    fn check(&mut self, done: Result<(), Failure>) {
        if let Err(error) = done {
            self.not_durable = Some(error.to_string());
            self.notice(Level::Bad, format!("A change could not be kept: {error}."), None);
        }
    }

    /// Works off what is due and tells who listens.
    fn after(&mut self, mut round: Round) {
        let now = now();
        if self.next_scan <= now {
            let every = if self.watch.is_some() { SCAN_EVERY } else { POLL_EVERY };
            self.next_scan = now + every;
            self.mirror.rescan_soon(now);
        }
        self.pass_on_news(now);
        let durable = self.documents.store().durable();
        if self.mirror.due(durable, now).is_some_and(|due| due <= now) {
            let done = self.mirror.work(&mut self.documents, now);
            self.check(done);
            self.pass_on_news(now);
        }
        if let Some(connection) = &mut self.connection {
            connection.work(&mut self.documents, now, &mut round);
        }
        self.finish_joining(now);
        if round.arrived {
            self.mirror.lay_out(&mut self.documents, now);
        }
        self.pass_on_news(now);
        for text in round.warnings {
            self.notice(Level::Warn, text, None);
        }
        for remark in self.mirror.take_remarks() {
            self.notice(remark.level, remark.text, remark.file);
        }
        for (name, _) in self.resting.extract_if(.., |_, rests| *rests <= now) {
            self.documents.rest(name);
        }
        if self.place_kept.is_some_and(|kept| kept + KEEP_PLACE_EVERY <= now) {
            self.keep_place();
        }
        self.presence_changed |= !round.presence.is_empty();
        self.tell();
        self.answer_waiters(now);
    }

    /// Passes on what the documents did, until nothing more comes of it.
    fn pass_on_news(&mut self, now: Instant) {
        loop {
            let news = self.documents.take_news();
            if news.is_empty() {
                return;
            }
            let tree = news.iter().any(|news| news.name == Name::Tree);
            for news in news {
                self.resting.insert(news.name, now + REST_AFTER);
                if let Some(connection) = &mut self.connection {
                    connection.on_news(&news, &self.documents);
                }
                if let Name::File(file) = news.name {
                    self.mirror.changed(file, now);
                    self.patch_editors(file, &news);
                }
            }
            if tree {
                self.on_tree(now);
            }
        }
    }

    fn on_tree(&mut self, now: Instant) {
        self.keep_unsent();
        if let Some(connection) = &mut self.connection {
            connection.enter_rooms(&self.documents, now);
        }
        if self.complete {
            self.mirror.lay_out(&mut self.documents, now);
        }
        let gone: Vec<EditorId> = self
            .editors
            .iter()
            .filter(|(_, editor)| !self.documents.entries().contains_key(&editor.file))
            .map(|(id, _)| *id)
            .collect();
        for editor in gone {
            self.end_editor(editor, "The file was removed from the paper.");
        }
    }

    /// A file that somebody removed while changes of ours were on the way is put back.
    fn keep_unsent(&mut self) {
        let removed = self.documents.take_removed_by_others();
        let Some(connection) = &self.connection else { return };
        let mut removed = removed;
        removed.retain(|(file, _)| connection.may_lack(Name::File(*file), &self.documents));
        for (file, entry) in removed {
            let text = format!(
                "{} was removed by somebody while you changed it: it is back, with your changes.",
                entry.path
            );
            let done = self.documents.edit_tree(Origin::Command, |transaction, tree| {
                tree.insert(transaction, file, &entry)
            });
            self.check(done);
            self.notice(Level::Warn, text, Some(file));
        }
    }

    /// Writes everything out.
    fn close(&mut self) -> Result<(), Problem> {
        self.keep_place();
        let now = now();
        self.mirror.hurry(now);
        let worked = self.mirror.work(&mut self.documents, now);
        // Files follow what the store has for good.
        let worked = worked.and_then(|()| {
            self.documents.store().flush()?;
            self.mirror.work(&mut self.documents, now)
        });
        self.pass_on_news(now);
        if let Some(connection) = &mut self.connection {
            connection.keep_marks(&self.documents);
        }
        self.connection = None;
        let flushed = self.documents.store().flush();
        worked.map_err(|error| store_problem(&error))?;
        flushed.map(|_| ()).map_err(|error| Problem::Store { cause: error.to_string() })
    }

    fn finish_joining(&mut self, now: Instant) {
        let Some(connection) = &self.connection else { return };
        let whole =
            connection.has_received(&self.documents) && self.documents.missing_blobs().is_empty();
        if self.complete || !whole {
            return;
        }
        self.complete = true;
        self.mirror.lay_out(&mut self.documents, now);
        self.mirror.allow_import(&mut self.documents, now);
        let kept = self.documents.store().put_meta(COMPLETE, b"1");
        match kept {
            Ok(lsn) => self.documents.note_written(lsn),
            Err(error) => self.check(Err(error.into())),
        }
    }
}

fn read_place(place: &[u8]) -> Option<(FileId, u32)> {
    let (file, head) = std::str::from_utf8(place).ok()?.split_once(' ')?;
    Some((FileId::parse(file).ok()?, head.parse().ok()?))
}

/// Files.
impl EventLoop {
    fn create_file(&mut self, path: &str, now: Instant) -> Result<FileId, Problem> {
        let path = self.free_path(path, None)?;
        let file = FileId::from_bytes(random());
        let entry = Entry {
            path: path.as_str().to_owned(),
            kind: Kind::Text { format: TextFormat::default(), exceptions: Vec::new() },
            person: self.person.name.clone(),
            created_ms: wall_ms(),
        };
        self.documents.set_received(file);
        self.documents
            .edit_tree(Origin::Command, |transaction, tree| tree.insert(transaction, file, &entry))
            .map_err(|error| store_problem(&error))?;
        self.pass_on_news(now);
        self.mirror.hurry(now);
        Ok(file)
    }

    fn rename_file(&mut self, file: FileId, path: &str) -> Result<(), Problem> {
        let path = self.free_path(path, Some(file))?;
        let done = self
            .documents
            .edit_tree(Origin::Command, |transaction, tree| tree.set_path(transaction, file, &path))
            .map_err(|error| store_problem(&error))?;
        if done { Ok(()) } else { Err(Problem::NoSuchFile) }
    }

    fn delete_file(&mut self, file: FileId) -> Result<(), Problem> {
        let done = self
            .documents
            .edit_tree(Origin::Command, |transaction, tree| Ok(tree.remove(transaction, file)))
            .map_err(|error| store_problem(&error))?;
        if done { Ok(()) } else { Err(Problem::NoSuchFile) }
    }

    fn free_path(&self, path: &str, own: Option<FileId>) -> Result<PaperPath, Problem> {
        let name = |cause: String| Problem::Name { path: path.to_owned(), cause };
        let checked = PaperPath::parse(path).map_err(|error| name(error.to_string()))?;
        if paper::ignored(path.split('/')).is_some() {
            return Err(name("files of this kind are not shared".to_owned()));
        }
        let key = checked.key();
        let inside = format!("{key}/");
        let folders = checked.folder_keys();
        let taken = self.documents.places().iter().any(|(&file, place)| {
            let paper::Place::At(other) = place else { return false };
            let other = other.key();
            Some(file) != own
                && (other == key || other.starts_with(&inside) || folders.contains(&other))
        });
        if taken { Err(Problem::NameTaken { path: path.to_owned() }) } else { Ok(checked) }
    }
}

/// Sharing.
impl EventLoop {
    fn start_connection(&mut self, invitation: Invitation, now: Instant) -> Result<(), Problem> {
        // Kept when sharing is stopped: a server that knows the paper takes no other one.
        let secret = invitation.secret.reveal().as_bytes();
        if self.documents.store().meta(SECRET).as_deref() != Some(secret) {
            let kept = self.documents.store().put_meta(SECRET, secret);
            kept.map_err(|error| Problem::Store { cause: error.to_string() })?;
        }
        let connection = Connection::start(
            &self.runtime,
            &self.documents,
            invitation,
            self.blob_events.clone(),
            self.offline_since_ms.is_some(),
            now,
        )
        .map_err(|error| problem_of(&error))?;
        self.connection = Some(connection);
        self.say_all(now);
        if let Some(connection) = &mut self.connection {
            connection.enter_rooms(&self.documents, now);
        }
        Ok(())
    }

    fn connect(&mut self, invitation: Invitation, now: Instant) -> Result<(), Problem> {
        if invitation.paper() != self.documents.paper().to_string() {
            return Err(Problem::OtherPaper { folder: self.folder.clone() });
        }
        let kept = self.documents.store().put_meta(LINK, invitation.link().as_bytes());
        let lsn = kept.map_err(|error| Problem::Store { cause: error.to_string() })?;
        self.documents.note_written(lsn);
        self.start_connection(invitation, now)
    }

    fn secret(&self) -> Result<Secret, Problem> {
        let store = self.documents.store();
        let kept =
            store.meta(SECRET).and_then(|kept| Secret::parse(&String::from_utf8(kept).ok()?));
        let connected = self.connection.as_ref().map(|it| it.invitation().secret.clone());
        if let Some(secret) = connected.or(kept) {
            return Ok(secret);
        }
        let secret = client::new_secret();
        store
            .put_meta(SECRET, secret.reveal().as_bytes())
            .map_err(|error| Problem::Store { cause: error.to_string() })?;
        Ok(secret)
    }

    fn register(&self, invitation: Invitation, reply: Reply<Result<String, Problem>>) {
        let papers =
            Papers::new(invitation.server.clone(), invitation.paper(), invitation.secret.clone());
        let papers = match papers {
            Ok(papers) => papers,
            Err(error) => return answer(&reply, Err(problem_of(&error))),
        };
        let sender = self.sender.clone();
        // Comes back as an event; a closed loop means that nobody waits.
        drop(self.runtime.spawn(async move {
            let result = papers.create().await;
            drop(sender.send(Event::Registered(invitation, reply, result)));
        }));
    }

    fn stop_sharing(&mut self, round: &mut Round) {
        self.connection = None;
        let lsn = self.documents.store().remove_meta(LINK);
        self.documents.note_written(lsn);
        round.presence.insert(Name::Tree);
    }

    fn set_offline(&mut self, offline: bool) {
        if offline == self.offline_since_ms.is_some() {
            return;
        }
        self.offline_since_ms = offline.then(wall_ms);
        if let Some(connection) = &mut self.connection {
            connection.set_offline(offline);
        }
    }
}

fn store_problem(error: &Failure) -> Problem {
    Problem::Store { cause: error.to_string() }
}

fn problem_of(error: &PapersError) -> Problem {
    match error {
        PapersError::Refused { .. } => Problem::refused(&error.to_string()),
        _ => Problem::unreachable(&error.to_string()),
    }
}
