//! The paper's connection to a server: rooms, figures, people, and what is known to be there.
//!
//! Puts together the link (a socket that comes back), the peer (what was said in which room) and
//! the documents. "Sent" is what the server has acknowledged as durable, nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use client::{Invitation, Link, LinkEvent, Papers, PapersError, Wire};
use crdt::StateVector;
use paper::MAX_BLOB_BYTES;
use protocol::awareness::TICK_MS;
use protocol::{Awareness, Heard, Peer};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::clock::wall_ms;
use crate::documents::{Documents, Failure, Name, News, Origin};
use crate::notification::Network;
use crate::presence::Said;

/// A moving cursor is told this often.
const SAY_EVERY: Duration = Duration::from_millis(60);
/// A server that denied us is asked again after a pause that grows from ...
const KNOCK_FIRST: Duration = Duration::from_secs(2);
/// ... to this.
const KNOCK_LAST: Duration = Duration::from_mins(1);
/// What waits of the link is held back at the server beyond this.
const LINK_EVENTS: usize = 256;
/// How many figures travel at once.
const BLOBS_AT_ONCE: usize = 2;
/// A figure that did not go is tried again after a pause that grows from ...
const BLOB_RETRY_FIRST: Duration = Duration::from_millis(500);
/// ... to this.
const BLOB_RETRY_LAST: Duration = Duration::from_secs(30);
/// What the server has is written down at most this often.
const KEEP_MARKS_EVERY: Duration = Duration::from_secs(2);
/// The store's fact that says what which server has.
const SENT: &str = "sent";
/// How many states of others are kept in a room.
const MAX_PEOPLE: usize = 1_000;

/// What came of a figure's journey.
#[derive(Debug)]
pub(crate) enum BlobEvent {
    /// It came.
    Here(String, Vec<u8>),
    /// The server has it.
    There(String),
    /// It did not go.
    Failed(String, PapersError),
}

/// What the loop has to know of a round with the connection.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Cursors or people may have changed in these rooms.
    pub(crate) presence: BTreeSet<Name>,
    /// Documents came whole, or figures came: the folder may have to be laid out.
    pub(crate) arrived: bool,
    /// What a person should hear.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug)]
enum State {
    Connecting,
    Online,
    Lost { since_ms: u64, problem: String, retry_ms: Option<u64> },
    Refused { problem: String },
}

#[derive(Debug)]
struct Failing {
    due: Instant,
    pause: Duration,
}

pub(crate) struct Connection {
    invitation: Invitation,
    link: Link,
    link_events: mpsc::Receiver<LinkEvent>,
    offline: bool,
    wire: Option<Wire>,
    peer: Peer,
    state: State,
    rooms: BTreeSet<Name>,
    awareness: BTreeMap<Name, Awareness>,
    said: BTreeMap<Name, Said>,
    said_at: BTreeMap<Name, Instant>,
    say_due: BTreeMap<Name, Instant>,
    papers: Papers,
    runtime: Handle,
    blob_events: mpsc::UnboundedSender<BlobEvent>,
    traveling: BTreeSet<String>,
    failing: BTreeMap<String, Failing>,
    /// Figures that the server is known to have.
    there: BTreeSet<String>,
    /// Documents that may have changed since their mark.
    unmarked: BTreeSet<Name>,
    /// Documents that had changes for the server when we started, and were not compared since.
    uncompared: BTreeSet<Name>,
    marks_due: Option<Instant>,
    /// When a server that denied us, or spoke nonsense, is asked again.
    knock_due: Option<Instant>,
    knock_pause: Duration,
    received_ms: Option<u64>,
    started: Instant,
    ticked_ms: u64,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn start(
        runtime: &Handle,
        documents: &Documents,
        invitation: Invitation,
        blob_events: mpsc::UnboundedSender<BlobEvent>,
        offline: bool,
        now: Instant,
    ) -> Result<Self, PapersError> {
        let (server, secret) = (invitation.server.clone(), invitation.secret.clone());
        let papers = Papers::new(server.clone(), invitation.paper(), secret.clone())?;
        // A channel of its own, so that nothing of an earlier link is taken for this one's.
        let (events, link_events) = mpsc::channel(LINK_EVENTS);
        let link = Link::connect(runtime, server.clone(), events);
        link.set_offline(offline);
        let (there, uncompared) = read_marks(documents, &server.to_string());
        Ok(Self {
            invitation,
            link,
            link_events,
            offline,
            wire: None,
            peer: Peer::server(secret),
            state: State::Connecting,
            rooms: BTreeSet::new(),
            awareness: BTreeMap::new(),
            said: BTreeMap::new(),
            said_at: BTreeMap::new(),
            say_due: BTreeMap::new(),
            papers,
            runtime: runtime.clone(),
            blob_events,
            traveling: BTreeSet::new(),
            failing: BTreeMap::new(),
            there,
            unmarked: documents.names().into_iter().collect(),
            uncompared,
            marks_due: None,
            knock_due: None,
            knock_pause: KNOCK_FIRST,
            received_ms: None,
            started: now,
            ticked_ms: 0,
        })
    }

    /// Waits for what happens on the link.
    pub(crate) async fn link_event(&mut self) -> LinkEvent {
        match self.link_events.recv().await {
            Some(event) => event,
            // The link ends with this connection, not before.
            None => std::future::pending().await,
        }
    }

    /// Takes what has happened on the link already.
    pub(crate) fn next_link_event(&mut self) -> Option<LinkEvent> {
        self.link_events.try_recv().ok()
    }

    pub(crate) fn invitation(&self) -> &Invitation {
        &self.invitation
    }

    pub(crate) fn set_offline(&mut self, offline: bool) {
        self.offline = offline;
        self.link.set_offline(offline);
        if !offline {
            // Off and on at once may never reach the link: then all is as it was.
            if self.wire.is_none() {
                self.state = State::Connecting;
            }
            self.link.retry_now();
        }
    }

    /// Returns how it stands, apart from being offline by choice.
    pub(crate) fn network(&self) -> Network {
        match &self.state {
            State::Connecting => Network::Connecting,
            State::Online => Network::Online,
            State::Lost { since_ms, problem, retry_ms } => Network::Unreachable {
                since_ms: *since_ms,
                problem: problem.clone(),
                retry_ms: *retry_ms,
            },
            State::Refused { problem } => Network::Refused { problem: problem.clone() },
        }
    }

    /// Returns how many changes the server has not acknowledged, figures counted.
    pub(crate) fn unsent(&self, documents: &Documents) -> u64 {
        // What was made before a restart has no number any more: one for each document.
        let uncompared = self.uncompared.iter().filter(|name| !self.unsent_in(**name, documents));
        let others = uncompared.count() + self.blobs_to_send(documents).count();
        self.peer.unacknowledged().updates + others as u64
    }

    /// Has the server not acknowledged something in this room, as far as we can know?
    pub(crate) fn may_lack(&self, name: Name, documents: &Documents) -> bool {
        self.uncompared.contains(&name) || self.unsent_in(name, documents)
    }

    fn unsent_in(&self, name: Name, documents: &Documents) -> bool {
        let standing = self.peer.standing(&room(documents, name));
        standing.is_some_and(|standing| !standing.unacknowledged.is_empty())
    }

    pub(crate) fn received_ms(&self) -> Option<u64> {
        self.received_ms
    }

    /// Have all documents come that the paper has as far as we know?
    pub(crate) fn has_received(&self, documents: &Documents) -> bool {
        documents.names().into_iter().all(|name| {
            self.peer.standing(&room(documents, name)).is_some_and(|standing| standing.received)
        })
    }

    /// Have both sides the same, durable there?
    pub(crate) fn is_level(&self, documents: &Documents) -> bool {
        matches!(self.state, State::Online)
            && documents.names().into_iter().all(|name| {
                self.peer.standing(&room(documents, name)).is_some_and(|there| there.is_level())
            })
            && self.blobs_to_send(documents).next().is_none()
            && documents.missing_blobs().is_empty()
    }

    /// Returns when there is something to do.
    pub(crate) fn due(&self) -> Option<Instant> {
        let tick = self.started + Duration::from_millis(self.ticked_ms + TICK_MS);
        let failing = self.failing.values().map(|failing| failing.due).min();
        let say = self.say_due.values().min().copied();
        let tick = matches!(self.state, State::Online).then_some(tick);
        [tick, failing, say, self.marks_due, self.knock_due].into_iter().flatten().min()
    }

    /// Takes in what happened on the link.
    pub(crate) fn on_link(
        &mut self,
        event: LinkEvent,
        documents: &mut Documents,
        now: Instant,
        round: &mut Round,
    ) -> Result<(), Failure> {
        match event {
            LinkEvent::Connected(wire) => {
                self.wire = Some(wire);
                self.peer.connected();
                self.rooms.clear();
                self.enter_rooms(documents, now);
            }
            LinkEvent::Frame(frame) => self.on_frame(&frame, documents, now, round)?,
            LinkEvent::Lost { problem, retry_ms } => {
                self.on_lost(round);
                let since_ms = match &self.state {
                    State::Lost { since_ms, .. } => *since_ms,
                    _ => wall_ms(),
                };
                if !matches!(self.state, State::Refused { .. }) {
                    self.state = State::Lost { since_ms, problem, retry_ms };
                }
            }
            LinkEvent::Refused { problem, retry_ms: _ } => {
                self.on_lost(round);
                self.state = State::Refused { problem };
            }
        }
        self.flush();
        Ok(())
    }

    fn on_lost(&mut self, round: &mut Round) {
        self.wire = None;
        self.peer.lost();
        round.presence.extend(self.awareness.keys());
        self.awareness.values_mut().for_each(Awareness::forget_others);
    }

    /// Joins the rooms of documents that are new, leaves those of removed ones.
    pub(crate) fn enter_rooms(&mut self, documents: &Documents, now: Instant) {
        if self.wire.is_none() {
            // Noted, so that what is made meanwhile is counted.
            for name in documents.names() {
                self.peer.join(&room(documents, name), &StateVector::default());
            }
            return;
        }
        let wanted: BTreeSet<Name> = documents.names().into_iter().collect();
        for &name in self.rooms.difference(&wanted) {
            self.peer.leave(&room(documents, name));
            if let Some(awareness) = self.awareness.get_mut(&name) {
                awareness.forget_others();
            }
        }
        let new: Vec<Name> = wanted.difference(&self.rooms).copied().collect();
        for name in new {
            if let Some(doc) = documents.doc(name) {
                self.peer.join(&room(documents, name), &doc.state_vector());
            }
            let now_ms = self.ms(now);
            let own = documents.client().get();
            let awareness =
                self.awareness.entry(name).or_insert_with(|| Awareness::of(own, now_ms));
            // Raises the clock: those who saw us go take it for news.
            awareness.set(self.said.get(&name).map(Said::write), now_ms);
        }
        self.rooms = wanted;
        self.flush();
    }

    fn on_frame(
        &mut self,
        frame: &[u8],
        documents: &mut Documents,
        now: Instant,
        round: &mut Round,
    ) -> Result<(), Failure> {
        if self.wire.is_none() {
            // Of a connection that was given up.
            return Ok(());
        }
        let heard = match self.peer.hear(frame) {
            Ok(heard) => heard,
            Err(error) => {
                round
                    .warnings
                    .push(format!("The server sent something that makes no sense: {error}."));
                // The connection is good for nothing any more; another follows.
                self.on_lost(round);
                self.knock_later(now);
                return Ok(());
            }
        };
        for heard in heard {
            self.on_heard(heard, documents, now, round)?;
        }
        Ok(())
    }

    fn on_heard(
        &mut self,
        heard: Heard<'_>,
        documents: &mut Documents,
        now: Instant,
        round: &mut Round,
    ) -> Result<(), Failure> {
        match heard {
            Heard::Allowed { room, .. } => {
                self.state = State::Online;
                self.knock_pause = KNOCK_FIRST;
                if let Some(name) = self.name(&room, documents) {
                    self.send_awareness(name, documents);
                }
            }
            Heard::Denied { reason, .. } => {
                let problem =
                    if reason.is_empty() { "the link is not valid there" } else { reason };
                self.state = State::Refused { problem: problem.to_owned() };
                // Perhaps the server has its own trouble, and is better later.
                self.knock_later(now);
            }
            Heard::StateVector { room, state } => {
                let lacking = self
                    .name(&room, documents)
                    .and_then(|name| documents.doc(name))
                    .map(|doc| doc.diff_v1(&state));
                if let Some(lacking) = lacking {
                    self.peer.answer(&room, &lacking);
                    if let Some(name) = self.name(&room, documents) {
                        self.uncompared.remove(&name);
                    }
                }
            }
            Heard::Update { room, update, answer } => {
                let Some(name) = self.name(&room, documents) else { return Ok(()) };
                self.on_update(name, &room, update, answer, documents, round)?;
            }
            Heard::Refused { .. } => round.warnings.push(
                "The server did not take a change. It stays here; ask for a new link.".to_owned(),
            ),
            Heard::Awareness { room, update } => {
                let Some(name) = self.name(&room, documents) else { return Ok(()) };
                let now_ms = self.ms(now);
                let Some(awareness) = self.awareness.get_mut(&name) else { return Ok(()) };
                if awareness.states().count() > MAX_PEOPLE {
                    return Ok(());
                }
                match awareness.apply(update, now_ms) {
                    Ok(change) => {
                        if change.removed.contains(&documents.client().get()) {
                            self.send_awareness(name, documents);
                        }
                        round.presence.insert(name);
                    }
                    Err(error) => {
                        round.warnings.push(format!("A person's cursor makes no sense: {error}."));
                    }
                }
            }
            Heard::AwarenessQuery { room } => {
                if let Some(name) = self.name(&room, documents) {
                    self.send_awareness(name, documents);
                }
            }
            Heard::Left { room, reason } => {
                if let Some(name) = self.name(&room, documents) {
                    self.rooms.remove(&name);
                    self.peer.leave(&room);
                    if !reason.is_empty() {
                        round.warnings.push(format!("The server closed a room: {reason}."));
                    }
                }
            }
            Heard::Token { .. } | Heard::Acknowledged { .. } => {}
        }
        Ok(())
    }

    fn on_update(
        &mut self,
        name: Name,
        room: &str,
        update: &[u8],
        answer: bool,
        documents: &mut Documents,
        round: &mut Round,
    ) -> Result<(), Failure> {
        let before = documents.written();
        match documents.apply(name, Origin::Network, update) {
            Ok(()) => {}
            Err(error) if error.is_of_the_update() => {
                round.warnings.push(format!("A change from the server was not taken: {error}."));
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if documents.written() != before {
            self.received_ms = Some(wall_ms());
        }
        if answer {
            if let Name::File(file) = name {
                round.arrived |= documents.set_received(file);
            }
            documents.store().resynced(&name.to_string());
        } else if let Some(doc) = documents.doc(name)
            && doc.waiting().is_some()
        {
            self.peer.ask(room, &doc.state_vector());
        }
        Ok(())
    }

    /// Sends what happened here.
    pub(crate) fn on_news(&mut self, news: &News, documents: &Documents) {
        self.unmarked.insert(news.name);
        if news.origin != Origin::Network {
            self.peer.update(&room(documents, news.name), &news.update);
            self.flush();
        }
    }

    /// Says something of oneself in a room; `None` takes it away.
    pub(crate) fn say(
        &mut self,
        name: Name,
        said: Option<Said>,
        documents: &Documents,
        now: Instant,
    ) {
        let known = self.said.get(&name);
        if known == said.as_ref() {
            return;
        }
        match said {
            Some(said) => self.said.insert(name, said),
            None => self.said.remove(&name),
        };
        // The first word at once, a stream of them at a pace that no server minds.
        let due = self.said_at.get(&name).map_or(now, |at| (*at + SAY_EVERY).max(now));
        self.say_due.insert(name, due);
        self.say_what_is_due(documents, now);
    }

    fn say_what_is_due(&mut self, documents: &Documents, now: Instant) {
        let now_ms = self.ms(now);
        let due = self.say_due.iter().filter(|(_, due)| **due <= now).map(|(name, _)| *name);
        for name in due.collect::<Vec<_>>() {
            self.say_due.remove(&name);
            self.said_at.insert(name, now);
            if let Some(awareness) = self.awareness.get_mut(&name) {
                awareness.set(self.said.get(&name).map(Said::write), now_ms);
            }
            self.send_awareness(name, documents);
        }
    }

    fn send_awareness(&mut self, name: Name, documents: &Documents) {
        if let Some(awareness) = self.awareness.get(&name) {
            self.peer.awareness(&room(documents, name), &awareness.encode_own());
            self.flush();
        }
    }

    /// Returns what others say in a room, by client.
    pub(crate) fn others(&self, name: Name, documents: &Documents) -> Vec<(u64, Said)> {
        let own = documents.client().get();
        self.awareness
            .get(&name)
            .into_iter()
            .flat_map(Awareness::states)
            .filter(|(client, _)| *client != own)
            .filter_map(|(client, state)| Some((client, Said::read(client, state)?)))
            .collect()
    }

    /// Does what is due.
    pub(crate) fn work(&mut self, documents: &mut Documents, now: Instant, round: &mut Round) {
        let now_ms = self.ms(now);
        if now_ms >= self.ticked_ms + TICK_MS {
            self.ticked_ms = now_ms;
            let own = documents.client().get();
            let mut renew = Vec::new();
            for (name, awareness) in &mut self.awareness {
                let change = awareness.tick(now_ms);
                if change.updated.contains(&own) {
                    renew.push(*name);
                }
                if !change.removed.is_empty() {
                    round.presence.insert(*name);
                }
            }
            for name in renew {
                self.send_awareness(name, documents);
            }
        }
        self.say_what_is_due(documents, now);
        if self.knock_due.is_some_and(|due| due <= now) {
            self.knock_due = None;
            self.connect_anew(round);
        }
        if matches!(self.state, State::Online) {
            self.move_blobs(documents, now);
        }
        if self.marks_due.is_some_and(|due| due <= now) {
            self.marks_due = None;
            self.keep_marks(documents);
        } else if !self.unmarked.is_empty() && matches!(self.state, State::Online) {
            self.marks_due.get_or_insert(now + KEEP_MARKS_EVERY);
        }
        self.flush();
    }

    /// Writes down what the server has, so that the status is true after a restart as well.
    pub(crate) fn keep_marks(&mut self, documents: &Documents) {
        let is_level = |name: &Name| {
            self.peer.standing(&room(documents, *name)).is_some_and(|standing| standing.is_level())
        };
        let level: Vec<Name> = self.unmarked.iter().copied().filter(is_level).collect();
        let server = self.invitation.server.to_string();
        // What cannot be kept is known anew after the next connection.
        let keep = |key: &str, text: String| {
            if documents.store().meta(key).as_deref() != Some(text.as_bytes()) {
                drop(documents.store().put_meta(key, text.as_bytes()));
            }
        };
        for name in level {
            self.unmarked.remove(&name);
            if let Some(mark) = documents.mark(name) {
                let mark = blake3::Hash::from_bytes(mark).to_hex();
                keep(&format!("{SENT}/{name}"), format!("{server} {mark}"));
            }
        }
        let figures: Vec<&str> = self.there.iter().map(String::as_str).collect();
        keep(SENT, format!("{server} {}", figures.join(" ")));
    }

    fn blobs_to_send<'a>(&'a self, documents: &'a Documents) -> impl Iterator<Item = &'a str> {
        documents.blobs().filter(|hash| !self.there.contains(*hash) && documents.has_blob(hash))
    }

    fn move_blobs(&mut self, documents: &Documents, now: Instant) {
        let missing = documents.missing_blobs();
        let mut waiting: VecDeque<(String, bool)> =
            missing.into_iter().map(|hash| (hash, true)).collect();
        waiting.extend(self.blobs_to_send(documents).map(|hash| (hash.to_owned(), false)));
        for (hash, fetch) in waiting {
            if self.traveling.len() >= BLOBS_AT_ONCE {
                return;
            }
            let early = self.failing.get(&hash).is_some_and(|failing| failing.due > now);
            if early || self.traveling.contains(&hash) {
                continue;
            }
            let bytes = if fetch { None } else { documents.store().get_blob(&hash).ok().flatten() };
            if !fetch && bytes.is_none() {
                continue;
            }
            self.traveling.insert(hash.clone());
            let (papers, events) = (self.papers.clone(), self.blob_events.clone());
            // The task ends with its one journey; a closed channel means that nobody waits.
            drop(self.runtime.spawn(async move {
                drop(events.send(journey(&papers, hash, bytes).await));
            }));
        }
    }

    /// Takes in what came of a figure's journey.
    pub(crate) fn on_blob(
        &mut self,
        event: BlobEvent,
        documents: &mut Documents,
        now: Instant,
        round: &mut Round,
    ) -> Result<(), Failure> {
        match event {
            BlobEvent::Here(hash, bytes) => {
                self.traveling.remove(&hash);
                self.failing.remove(&hash);
                documents.put_blob(&bytes)?;
                self.there.insert(hash);
                self.received_ms = Some(wall_ms());
                round.arrived = true;
            }
            BlobEvent::There(hash) => {
                self.traveling.remove(&hash);
                self.failing.remove(&hash);
                self.there.insert(hash);
            }
            BlobEvent::Failed(hash, error) => {
                self.traveling.remove(&hash);
                let pause =
                    self.failing.get(&hash).map_or(BLOB_RETRY_FIRST, |failing| failing.pause);
                let next = (pause * 2).min(BLOB_RETRY_LAST);
                if pause == BLOB_RETRY_FIRST * 8 {
                    round.warnings.push(format!("A figure does not travel yet: {error}."));
                }
                self.failing.insert(hash, Failing { due: now + pause, pause: next });
            }
        }
        Ok(())
    }

    fn knock_later(&mut self, now: Instant) {
        if self.knock_due.is_none() {
            self.knock_due = Some(now + self.knock_pause);
            self.knock_pause = (self.knock_pause * 2).min(KNOCK_LAST);
        }
    }

    /// Lets the connection go and makes another.
    fn connect_anew(&mut self, round: &mut Round) {
        let (events, link_events) = mpsc::channel(LINK_EVENTS);
        self.link = Link::connect(&self.runtime, self.invitation.server.clone(), events);
        self.link.set_offline(self.offline);
        self.link_events = link_events;
        self.on_lost(round);
    }

    fn flush(&mut self) {
        while let Some(frame) = self.peer.next_frame() {
            if let Some(wire) = &self.wire {
                wire.send(frame);
            }
        }
    }

    fn ms(&self, now: Instant) -> u64 {
        u64::try_from(now.duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the document of a room that we are in.
    fn name(&self, room: &str, documents: &Documents) -> Option<Name> {
        let (paper, name) = room.split_once('/')?;
        let name = Name::parse(name)?;
        (paper == documents.paper().to_string() && self.rooms.contains(&name)).then_some(name)
    }
}

/// Returns what a server was known to have: figures, and documents that are not as it has them.
fn read_marks(documents: &Documents, server: &str) -> (BTreeSet<String>, BTreeSet<Name>) {
    let kept = |key: &str| -> Option<String> {
        let kept = String::from_utf8(documents.store().meta(key)?).ok()?;
        kept.strip_prefix(server)?.strip_prefix(' ').map(str::to_owned)
    };
    let figures = kept(SENT).unwrap_or_default();
    let differs = |name: &Name| {
        let mark = documents.mark(*name).map(|mark| blake3::Hash::from_bytes(mark).to_hex());
        kept(&format!("{SENT}/{name}")).as_deref() != mark.as_deref()
    };
    let figures = figures.split_whitespace().map(str::to_owned).collect();
    (figures, documents.names().into_iter().filter(differs).collect())
}

fn room(documents: &Documents, name: Name) -> String {
    format!("{}/{name}", documents.paper())
}

async fn journey(papers: &Papers, hash: String, bytes: Option<Vec<u8>>) -> BlobEvent {
    let there = async |bytes: Vec<u8>| {
        if !papers.has_blob(&hash).await? {
            papers.put_blob(bytes).await?;
        }
        Ok(())
    };
    let done = match bytes {
        Some(bytes) => there(bytes).await.map(|()| None),
        None => papers.get_blob(&hash, MAX_BLOB_BYTES).await.map(Some),
    };
    match done {
        Ok(Some(bytes)) => BlobEvent::Here(hash, bytes),
        Ok(None) => BlobEvent::There(hash),
        Err(error) => BlobEvent::Failed(hash, error),
    }
}
