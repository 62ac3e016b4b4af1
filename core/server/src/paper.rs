//! One paper on the server: its store and its rooms, on a thread of its own that takes one event
//! after the other.
//!
//! Whoever holds a [`Handle`] may send events; while somebody does, the paper stays loaded.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use axum::body::Bytes;
use crdt::{ClientId, StateVector};
use protocol::{Framing, Message};
use store::{Blobs, Lsn, Store, StoreError};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::access::Key;
use crate::clock::Clock;
use crate::config::Limits;
use crate::outbox::Outbox;
use crate::room::{Member, Refusal, Room, Seat, frame};

/// How often waiting awareness is looked after.
const SOON: Duration = Duration::from_millis(25);
/// How often silent people are looked for.
const LATER: Duration = Duration::from_millis(protocol::awareness::TICK_MS);

/// The way to a paper that is open.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    events: Sender<Event>,
    key: Key,
    /// The figures, which go past the paper's thread.
    blobs: Blobs,
    /// False once the thread has ended, also by a panic.
    alive: Arc<AtomicBool>,
    /// Held by every handle, so that the paper knows whether it is wanted.
    claim: Arc<()>,
}

/// Why a paper cannot be spoken to any more: its thread has ended.
#[derive(Debug)]
pub(crate) struct Ended;

/// What a paper is told.
pub(crate) enum Event {
    /// A socket wants into a room.
    Enter {
        room: String,
        seat: Seat,
        framing: Framing,
        outbox: Arc<Outbox>,
        reply: oneshot::Sender<Result<(), StoreError>>,
    },
    /// A socket leaves a room.
    Leave { room: String, seat: Seat },
    /// A socket is closed.
    Gone { connection: u64 },
    /// A socket wrote everything that waited, after something was left out.
    MakeUp { connection: u64 },
    /// Something was said in a room.
    Said { room: String, seat: Seat, what: Said, permit: OwnedSemaphorePermit },
    /// What the log has reached.
    Durable(Result<Lsn, StoreError>),
    /// Everything is to be made durable and let go.
    Close { reply: oneshot::Sender<()> },
    /// A bug of ours, for tests.
    #[cfg(test)]
    Panic,
}

/// What is said in a room.
pub(crate) enum Said {
    StateVector(StateVector),
    Update(Vec<u8>),
    Awareness(Vec<u8>),
    AwarenessQuery,
}

impl Handle {
    pub(crate) fn new(events: Sender<Event>, key: Key, blobs: Blobs) -> (Self, Alive) {
        let alive = Arc::new(AtomicBool::new(true));
        let handle = Self { events, key, blobs, alive: alive.clone(), claim: Arc::new(()) };
        (handle, Alive(alive))
    }

    pub(crate) fn key(&self) -> Key {
        self.key
    }

    /// Returns the paper's figures.
    pub(crate) fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Acquire)
    }

    /// Whether nobody but the keeper of this handle has one.
    pub(crate) fn is_unclaimed(&self) -> bool {
        Arc::strong_count(&self.claim) == 1
    }

    pub(crate) fn tell(&self, event: Event) -> Result<(), Ended> {
        self.events.send(event).map_err(|_| Ended)
    }
}

/// Says, when it is dropped, that a paper's thread has ended.
pub(crate) struct Alive(Arc<AtomicBool>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A paper's store and rooms.
struct Paper {
    id: String,
    store: Store,
    client: ClientId,
    limits: Arc<Limits>,
    rooms: BTreeMap<String, Room>,
    /// Acknowledgements that wait for the log, in its order.
    unacknowledged: VecDeque<Waiting>,
    /// The newest record.
    newest: Option<Lsn>,
    clock: Clock,
    /// When somebody was last here.
    used: Duration,
    ticked: Duration,
    /// The log is broken: what is in memory is not safe and must not be confirmed.
    broken: bool,
}

struct Waiting {
    lsn: Lsn,
    room: String,
    seat: Seat,
    /// What the author hears.
    frame: Bytes,
}

/// Runs a paper until it is closed, idle or broken.
///
/// `retire` is asked when nobody was here for long; it lets the paper go (by calling what it is
/// given) only if nobody can come in meanwhile.
pub(crate) fn run(
    id: String,
    store: Store,
    client: ClientId,
    limits: Arc<Limits>,
    events: &Receiver<Event>,
    alive: Alive,
    retire: impl Fn(&mut dyn FnMut()) -> bool,
) {
    // Dropped last: whoever sees it finds the store closed.
    let _alive = alive;
    let clock = Clock::start();
    let mut paper = Some(Paper {
        id,
        store,
        client,
        limits,
        rooms: BTreeMap::new(),
        unacknowledged: VecDeque::new(),
        newest: None,
        clock,
        used: Duration::ZERO,
        ticked: Duration::ZERO,
        broken: false,
    });
    while let Some(open) = &mut paper {
        match events.recv_timeout(open.pause()) {
            Ok(Event::Close { reply }) => {
                open.flush();
                open.close_sockets(1001, "the server is closing down");
                drop(paper);
                // Who asked may not wait for the answer.
                let _ = reply.send(());
                return;
            }
            Ok(event) => open.handle(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        open.tick();
        if open.broken {
            return;
        }
        if open.is_idle() {
            open.flush();
            if retire(&mut || paper = None) {
                return;
            }
        }
    }
}

impl Paper {
    fn pause(&self) -> Duration {
        if self.rooms.values().any(Room::has_unsaid) { SOON } else { LATER.min(self.limits.idle) }
    }

    fn is_idle(&self) -> bool {
        self.rooms.values().all(Room::is_empty)
            && self.unacknowledged.is_empty()
            && self.clock.elapsed() >= self.used + self.limits.idle
    }

    fn tick(&mut self) {
        let now = self.clock.elapsed();
        if now >= self.ticked + SOON {
            self.ticked = now;
            let now_ms = self.clock.now_ms();
            self.rooms.values_mut().for_each(|room| room.tick(now_ms));
        }
    }

    fn flush(&self) {
        if let Err(error) = self.store.flush() {
            tracing::error!(paper = self.id, %error, "the paper could not be written out");
        }
    }

    fn close_sockets(&self, code: u16, reason: &'static str) {
        self.rooms.values().for_each(|room| room.close(code, reason));
    }

    fn handle(&mut self, event: Event) {
        self.used = self.clock.elapsed();
        let now_ms = self.clock.now_ms();
        match event {
            Event::Enter { room, seat, framing, outbox, reply } => {
                let entered = self.room(&room);
                let entered = entered.map(|room| room.enter(seat, Member::new(framing, outbox)));
                // A socket that closed meanwhile says so in its next event.
                drop(reply.send(entered));
            }
            Event::Leave { room, seat } => {
                if let Some(room) = self.rooms.get_mut(&room) {
                    room.leave(&seat, now_ms);
                }
            }
            Event::Gone { connection } => {
                self.rooms.values_mut().for_each(|room| room.leave_all(connection, now_ms));
            }
            Event::MakeUp { connection } => {
                self.rooms.values_mut().for_each(|room| room.make_up(connection));
            }
            Event::Said { room, seat, what, permit } => {
                self.said(&room, &seat, what, now_ms);
                drop(permit);
            }
            Event::Durable(Ok(lsn)) => self.acknowledge(lsn),
            Event::Durable(Err(error)) => self.not_durable(&error),
            // The loop's own.
            Event::Close { .. } => {}
            #[cfg(test)]
            Event::Panic => panic!("a test wants to see a panic"),
        }
    }

    /// Returns a room, loading its document; an error rather than an empty document.
    fn room(&mut self, name: &str) -> Result<&mut Room, StoreError> {
        if !self.rooms.contains_key(name) {
            let mut document = self.store.document(name, self.client)?;
            document.set_max_waiting(self.limits.waiting);
            self.rooms.insert(name.to_owned(), Room::new(document));
        }
        Ok(self.rooms.get_mut(name).expect("just inserted"))
    }

    fn said(&mut self, name: &str, seat: &Seat, what: Said, now_ms: u64) {
        let Some(room) = self.rooms.get_mut(name) else { return };
        match what {
            Said::StateVector(state) => room.answer(seat, &state),
            Said::AwarenessQuery => room.answer_awareness(seat),
            Said::Awareness(update) => {
                if let Err(error) = room.awareness(seat, &update, now_ms) {
                    tracing::info!(paper = self.id, room = name, %error, "closed a socket");
                    close(room, seat, 1002, "malformed awareness");
                }
            }
            Said::Update(update) => self.update(name, seat, &update),
        }
    }

    fn update(&mut self, name: &str, seat: &Seat, update: &[u8]) {
        let Some(room) = self.rooms.get_mut(name) else { return };
        if room.member(seat).is_none() {
            return;
        }
        let waiting_before = room.waiting_bytes();
        match room.update(seat, update) {
            Ok(written) => {
                if let Some(written) = written {
                    self.newest = Some(written.lsn);
                }
                if room.waiting_bytes() > waiting_before {
                    room.ask(seat);
                }
                self.owe_acknowledgement(name, seat, update);
            }
            Err(Refusal::Malformed(error)) => {
                tracing::info!(paper = self.id, room = name, %error, "closed a socket");
                close(room, seat, 1002, "malformed update");
            }
            Err(Refusal::NotKept(error)) => {
                tracing::error!(paper = self.id, room = name, %error, "a change was not kept");
                not_taken(room, seat, "the change was not kept");
            }
            Err(Refusal::TooMuchWaits) => {
                tracing::info!(paper = self.id, room = name, "too much waits for others");
                room.ask(seat);
                not_taken(room, seat, "too many changes wait for others");
            }
        }
    }

    /// The author hears of it when everything up to now is durable: by a status, or where the
    /// framing has none by hearing the change itself.
    fn owe_acknowledgement(&mut self, name: &str, seat: &Seat, update: &[u8]) {
        let Some(member) = self.rooms.get(name).and_then(|room| room.member(seat)) else { return };
        let message = match member.framing {
            Framing::OneRoom => Message::Update(update),
            Framing::ManyRooms => Message::SyncStatus { taken: true },
        };
        let frame = frame(member.framing, &seat.address, &message);
        match self.newest {
            Some(lsn) if lsn > self.store.durable() => {
                let (room, seat) = (name.to_owned(), seat.clone());
                self.unacknowledged.push_back(Waiting { lsn, room, seat, frame });
            }
            _ => member.outbox.push(frame),
        }
    }

    fn acknowledge(&mut self, durable: Lsn) {
        while self.unacknowledged.front().is_some_and(|waiting| waiting.lsn <= durable) {
            let Some(Waiting { room, seat, frame, .. }) = self.unacknowledged.pop_front() else {
                return;
            };
            if let Some(member) = self.rooms.get(&room).and_then(|room| room.member(&seat)) {
                member.outbox.push(frame);
            }
        }
    }

    fn not_durable(&mut self, error: &StoreError) {
        tracing::error!(paper = self.id, %error, "changes are not durable");
        // A stalled log tries again, and the acknowledgements wait; a poisoned one never will.
        if !matches!(error, StoreError::Stalled { .. }) {
            self.broken = true;
        }
    }
}

/// Says that a change was not taken: by a status, or where the framing has none by closing.
fn not_taken(room: &Room, seat: &Seat, reason: &'static str) {
    let Some(member) = room.member(seat) else { return };
    let status = Message::SyncStatus { taken: false };
    match member.framing {
        Framing::OneRoom => member.outbox.close(1011, reason),
        Framing::ManyRooms => {
            member.outbox.push(frame(Framing::ManyRooms, &seat.address, &status));
        }
    }
}

fn close(room: &Room, seat: &Seat, code: u16, reason: &'static str) {
    if let Some(member) = room.member(seat) {
        member.outbox.close(code, reason);
    }
}

impl Drop for Paper {
    fn drop(&mut self) {
        // After a panic or with a broken log: clients come back, and find what is durable.
        self.close_sockets(1011, "the paper has to be opened again");
    }
}
