//! One document on the server, and who is in it.
//!
//! A change is applied and written to the log first; then everybody else hears it at once, and
//! its author when it is durable. Who reads too slowly is left out, and later gets everything
//! since in one update.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::body::Bytes;
use crdt::StateVector;
use protocol::awareness::{self, Awareness};
use protocol::{Framing, Message};
use store::{Document, StoreError, Written};

use crate::outbox::Outbox;

/// Awareness of one room is passed on at most this often; what comes between goes together.
const AWARENESS_EVERY_MS: u64 = 50;
/// The most awareness clients that one socket speaks for in a room.
const MAX_OWN_CLIENTS: usize = 64;

/// One socket's place in a room.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seat {
    /// Which socket.
    pub(crate) connection: u64,
    /// How that socket addresses the room: two sessions may share a socket.
    pub(crate) address: Arc<str>,
}

/// Who sits there.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) framing: Framing,
    pub(crate) outbox: Arc<Outbox>,
    /// What the member had when it was first left out; all later changes wait for it.
    lagging: Option<StateVector>,
}

/// A document and who is in it.
pub(crate) struct Room {
    document: Document,
    awareness: Awareness,
    /// Which socket speaks for which awareness client.
    speakers: BTreeMap<u64, u64>,
    /// Clients whose awareness is to be passed on.
    unsaid: BTreeSet<u64>,
    said_ms: u64,
    members: BTreeMap<Seat, Member>,
}

/// Why a change was not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is not an update.
    Malformed(StoreError),
    /// It could not be kept.
    NotKept(StoreError),
    /// It would wait for others, and so much waits already that it is not taken in.
    TooMuchWaits,
}

impl Member {
    pub(crate) fn new(framing: Framing, outbox: Arc<Outbox>) -> Self {
        Self { framing, outbox, lagging: None }
    }

    fn say(&self, seat: &Seat, message: &Message<'_>) {
        self.outbox.push(frame(self.framing, &seat.address, message));
    }
}

/// Returns a message as a frame for a member.
pub(crate) fn frame(framing: Framing, address: &str, message: &Message<'_>) -> Bytes {
    match framing {
        Framing::OneRoom => message.one_room().into(),
        Framing::ManyRooms => message.many_rooms(address).into(),
    }
}

impl Room {
    pub(crate) fn new(document: Document) -> Self {
        Self {
            document,
            awareness: Awareness::of_room(),
            speakers: BTreeMap::new(),
            unsaid: BTreeSet::new(),
            said_ms: 0,
            members: BTreeMap::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Whether awareness waits to be passed on.
    pub(crate) fn has_unsaid(&self) -> bool {
        !self.unsaid.is_empty()
    }

    /// Returns how many bytes of changes wait for others.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.document.doc().waiting().map_or(0, |waiting| waiting.bytes)
    }

    /// Lets a socket in. A one-room socket hears at once what is asked of it and who is there; a
    /// many-rooms socket asks first.
    pub(crate) fn enter(&mut self, seat: Seat, member: Member) {
        if member.framing == Framing::OneRoom {
            let state = self.document.doc().state_vector().encode();
            member.say(&seat, &Message::Step1(&state));
            self.say_who_is_there(&seat, &member);
        }
        self.members.insert(seat, member);
    }

    /// Takes a socket's seat away; the people it spoke for are gone when it was its last.
    pub(crate) fn leave(&mut self, seat: &Seat, now_ms: u64) {
        self.members.remove(seat);
        if !self.members.keys().any(|other| other.connection == seat.connection) {
            let gone: Vec<u64> = self
                .speakers
                .iter()
                .filter(|(_, speaker)| **speaker == seat.connection)
                .map(|(client, _)| *client)
                .collect();
            self.speakers.retain(|_, speaker| *speaker != seat.connection);
            let removed = self.awareness.remove(gone, now_ms);
            self.unsaid.extend(removed);
            self.say_awareness(now_ms);
        }
    }

    /// Takes away all seats of a socket.
    pub(crate) fn leave_all(&mut self, connection: u64, now_ms: u64) {
        let seats: Vec<Seat> =
            self.members.keys().filter(|seat| seat.connection == connection).cloned().collect();
        for seat in seats {
            self.leave(&seat, now_ms);
        }
    }

    /// Answers a member's state vector with what it lacks, and asks for what we lack.
    pub(crate) fn answer(&mut self, seat: &Seat, state: &StateVector) {
        let Some(member) = self.members.get_mut(seat) else { return };
        member.lagging = None;
        let doc = self.document.doc();
        let lacking = doc.diff_v1(state);
        member.say(seat, &Message::Step2(&lacking));
        if member.framing == Framing::ManyRooms {
            let ours = doc.state_vector().encode();
            member.say(seat, &Message::Step1(&ours));
            let member = &self.members[seat];
            self.say_who_is_there(seat, member);
        }
    }

    fn say_who_is_there(&self, seat: &Seat, member: &Member) {
        if self.awareness.states().next().is_some() {
            member.say(seat, &Message::Awareness(&self.awareness.encode_all()));
        }
    }

    /// Asks a member for what a waiting change lacks.
    pub(crate) fn ask(&self, seat: &Seat) {
        if let Some(member) = self.members.get(seat) {
            let ours = self.document.doc().state_vector().encode();
            member.say(seat, &Message::Step1(&ours));
        }
    }

    /// Applies a member's change, and passes on what it did.
    pub(crate) fn update(
        &mut self,
        from: &Seat,
        update: &[u8],
    ) -> Result<Option<Written>, Refusal> {
        // What a member has is known only before the change.
        let mut before = None;
        for (seat, member) in &mut self.members {
            if seat != from && member.lagging.is_none() && member.outbox.lags() {
                let before = before.get_or_insert_with(|| self.document.doc().state_vector());
                member.lagging = Some(before.clone());
            }
        }
        let written = self.document.apply(update).map_err(|error| match error {
            StoreError::Update { source: crdt::Error::TooMuchWaiting { .. }, .. } => {
                Refusal::TooMuchWaits
            }
            StoreError::Update { .. } => Refusal::Malformed(error),
            error => Refusal::NotKept(error),
        })?;
        if let Some(written) = &written {
            self.fan_out(from, &Message::Update(&written.update));
        }
        Ok(written)
    }

    /// Says a change to everybody but its author, each framing made once.
    fn fan_out(&self, from: &Seat, message: &Message<'_>) {
        let mut one_room = None;
        let mut many_rooms: Option<(Arc<str>, Bytes)> = None;
        for (seat, member) in &self.members {
            if seat == from || member.lagging.is_some() {
                continue;
            }
            let bytes = match member.framing {
                Framing::OneRoom => {
                    one_room.get_or_insert_with(|| frame(Framing::OneRoom, "", message)).clone()
                }
                Framing::ManyRooms => match &many_rooms {
                    Some((address, bytes)) if *address == seat.address => bytes.clone(),
                    _ => {
                        let bytes = frame(Framing::ManyRooms, &seat.address, message);
                        many_rooms = Some((seat.address.clone(), bytes.clone()));
                        bytes
                    }
                },
            };
            member.outbox.push(bytes);
        }
    }

    /// Returns the framing and outbox of a member that is still there.
    pub(crate) fn member(&self, seat: &Seat) -> Option<&Member> {
        self.members.get(seat)
    }

    /// Makes up for what the seats of a socket were left out of.
    pub(crate) fn make_up(&mut self, connection: u64) {
        let who_is_there =
            self.awareness.states().next().is_some().then(|| self.awareness.encode_all());
        let doc = self.document.doc();
        for (seat, member) in &mut self.members {
            if seat.connection == connection
                && let Some(had) = member.lagging.take()
            {
                member.say(seat, &Message::Update(&doc.diff_v1(&had)));
                if let Some(states) = &who_is_there {
                    member.say(seat, &Message::Awareness(states));
                }
            }
        }
    }

    /// Takes in awareness states from a member; an error when they cannot be read at all.
    ///
    /// A socket speaks for a client when it brings something newer about it; what it merely
    /// repeats of others, as y-websocket clients do, is passed over.
    pub(crate) fn awareness(
        &mut self,
        from: &Seat,
        update: &[u8],
        now_ms: u64,
    ) -> Result<(), protocol::Error> {
        let entries = match awareness::read(update) {
            Ok(entries) => entries,
            // Somebody's state is odd; that is no reason to lose their text.
            Err(protocol::Error::AwarenessState { client, problem }) => {
                tracing::debug!(client, problem, "passed over an awareness state");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let own = self.speakers.values().filter(|speaker| **speaker == from.connection).count();
        let mut free = MAX_OWN_CLIENTS.saturating_sub(own);
        for entry in entries {
            let speaks = self.speakers.get(&entry.client) == Some(&from.connection);
            let newer = entry.clock > self.awareness.clock(entry.client).unwrap_or(0);
            if !(speaks || newer && free > 0) {
                continue;
            }
            let change = self.awareness.apply_entries(&[entry], now_ms);
            if change.is_empty() {
                continue;
            }
            if !speaks {
                free -= 1;
                self.speakers.insert(entry.client, from.connection);
            }
            self.unsaid.extend(change.clients());
        }
        if now_ms >= self.said_ms + AWARENESS_EVERY_MS {
            self.say_awareness(now_ms);
        }
        Ok(())
    }

    /// Answers who is there.
    pub(crate) fn answer_awareness(&self, seat: &Seat) {
        if let Some(member) = self.members.get(seat) {
            self.say_who_is_there(seat, member);
        }
    }

    /// Drops who was silent too long and passes on what waits.
    pub(crate) fn tick(&mut self, now_ms: u64) {
        let change = self.awareness.tick(now_ms);
        for client in &change.removed {
            self.speakers.remove(client);
        }
        self.unsaid.extend(change.removed);
        if now_ms >= self.said_ms + AWARENESS_EVERY_MS {
            self.say_awareness(now_ms);
        }
    }

    /// Passes on who changed, also to whom it came from: clients take silence for a broken line.
    fn say_awareness(&mut self, now_ms: u64) {
        if self.unsaid.is_empty() {
            return;
        }
        self.said_ms = now_ms;
        let update = self.awareness.encode(std::mem::take(&mut self.unsaid));
        for (seat, member) in &self.members {
            if !member.outbox.is_full() {
                member.say(seat, &Message::Awareness(&update));
            }
        }
    }

    /// Closes everybody's socket.
    pub(crate) fn close(&self, code: u16, reason: &'static str) {
        for member in self.members.values() {
            member.outbox.close(code, reason);
        }
    }
}
