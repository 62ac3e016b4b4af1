//! The other end of one connection: what was said in which room, what may be said, and what the
//! other side has confirmed.
//!
//! No socket and no document: frames go in by [`Peer::hear`] and come out by [`Peer::next_frame`];
//! what a frame means is given back as [`Heard`], and the owner of the documents acts on it.
//!
//! ```text
//! replica: connected, join(room, state vector) ──token, step 1──▶   server: Heard::Token, allow
//!          Heard::Update (step 2) ◀──allowed, step 2, step 1──      Heard::StateVector
//!          Heard::StateVector, answer(room, what it lacks) ──▶      Heard::Update, stored,
//!          Heard::Acknowledged ◀──sync status──                     durable
//! ```
//! An update counts as sent only when the other side has said that it is durable there. What was
//! made before the connection, or in it before the other side's state vector came, goes with the
//! answer to that state vector.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::mem;

use crdt::StateVector;
use lib0::Reader;

use crate::Error;
use crate::message::{Framing, Message, RoomFrame};
use crate::secret::Secret;

/// The most frames heard before a secret was accepted.
const MAX_FRAMES_BEFORE: u32 = 16;
/// The most bytes heard before a secret was accepted.
const MAX_BYTES_BEFORE: usize = 64 << 10;

/// The other end of one connection (in a replica: over all connections to one server).
pub struct Peer {
    side: Side,
    /// By the name under which the other side addresses the room.
    rooms: BTreeMap<String, Room>,
    outgoing: VecDeque<Vec<u8>>,
}

enum Side {
    /// The other side is a server, many rooms a socket.
    Server { secret: Secret, connected: bool },
    /// The other side is a client. While no room was allowed, what it says is counted.
    Client { one_room: Option<String>, allowed_any: bool, frames: u32, bytes: usize },
}

/// What is known of a room on this connection.
#[derive(Debug, Default)]
struct Room {
    stage: Stage,
    /// Whether all that the other side had at the start of this connection has come.
    received: bool,
    /// Whether the other side's state vector was answered on this connection.
    answered: bool,
    /// Whether the other side said no to something on this connection.
    refused: bool,
    /// Sent and not confirmed, oldest first: confirmations come in this order.
    in_flight: VecDeque<Unacknowledged>,
    /// Made here and not sent on this connection.
    unsent: Unacknowledged,
}

/// Where we stand with a room on this connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// No connection, or not asked.
    #[default]
    Outside,
    /// Asked, and not answered yet.
    Entering,
    /// Let in.
    Inside,
    /// Our secret was refused.
    Denied,
}

/// Changes that the other side has not confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unacknowledged {
    /// How many updates.
    pub updates: u64,
    /// Their bytes together.
    pub bytes: u64,
}

/// How far this side and the other are level in a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether the other side has let us in.
    pub stage: Stage,
    /// Everything that the other side had when we entered has come.
    pub received: bool,
    /// The other side has confirmed everything that was made here, as durable there.
    pub sent: bool,
    /// The other side did not take one of our changes.
    pub refused: bool,
    /// What it has not confirmed.
    pub unacknowledged: Unacknowledged,
}

/// What the other side said, for the owner of the documents to act on.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard<'a> {
    /// It wants into a room with this secret: [`Peer::allow`] or [`Peer::deny`].
    Token {
        /// The room, as it is addressed.
        room: String,
        /// The secret.
        token: &'a str,
    },
    /// It has let us in.
    Allowed {
        /// The room.
        room: String,
        /// Whether it will refuse our changes.
        read_only: bool,
    },
    /// It does not let us in.
    Denied {
        /// The room.
        room: String,
        /// Why, in its words.
        reason: &'a str,
    },
    /// It has this, and wants what it lacks: [`Peer::answer`].
    StateVector {
        /// The room.
        room: String,
        /// What it has.
        state: StateVector,
    },
    /// It sends changes (an update V1): apply them.
    Update {
        /// The room.
        room: String,
        /// The changes.
        update: &'a [u8],
        /// Whether this is the answer to our state vector.
        answer: bool,
    },
    /// Something of ours is durable there: see [`Peer::standing`].
    Acknowledged {
        /// The room.
        room: String,
    },
    /// Something of ours was not taken there.
    Refused {
        /// The room.
        room: String,
    },
    /// Awareness states.
    Awareness {
        /// The room.
        room: String,
        /// The encoded states.
        update: &'a [u8],
    },
    /// It wants all awareness states: answer with [`Peer::awareness`].
    AwarenessQuery {
        /// The room.
        room: String,
    },
    /// It left the room (a client), or has closed it (a server).
    Left {
        /// The room.
        room: String,
        /// Why, in its words; may be empty.
        reason: &'a str,
    },
}

impl Unacknowledged {
    /// Whether everything is confirmed.
    pub fn is_empty(&self) -> bool {
        self.updates == 0
    }

    fn add(&mut self, other: Self) {
        self.updates += other.updates;
        self.bytes += other.bytes;
    }
}

impl Standing {
    /// Whether both sides have the same, and the other side has it durably.
    pub fn is_level(&self) -> bool {
        self.received && self.sent
    }
}

impl Peer {
    /// Makes the peer of a replica: the other side is a server.
    pub fn server(secret: Secret) -> Self {
        let side = Side::Server { secret, connected: false };
        Self { side, rooms: BTreeMap::new(), outgoing: VecDeque::new() }
    }

    /// Makes the peer of a server whose socket has many rooms: the other side is a client.
    pub fn client() -> Self {
        let side = Side::Client { one_room: None, allowed_any: false, frames: 0, bytes: 0 };
        Self { side, rooms: BTreeMap::new(), outgoing: VecDeque::new() }
    }

    /// Makes the peer of a server whose socket is this one room.
    pub fn client_of(room: &str) -> Self {
        let one_room = Some(room.to_owned());
        let side = Side::Client { one_room, allowed_any: false, frames: 0, bytes: 0 };
        Self { side, rooms: BTreeMap::new(), outgoing: VecDeque::new() }
    }

    /// Returns how frames are made on this connection.
    pub fn framing(&self) -> Framing {
        match &self.side {
            Side::Client { one_room: Some(_), .. } => Framing::OneRoom,
            _ => Framing::ManyRooms,
        }
    }

    /// Returns the next frame to be sent; call it until it gives `None`, after every other call.
    pub fn next_frame(&mut self) -> Option<Vec<u8>> {
        self.outgoing.pop_front()
    }

    fn say(&mut self, room: &str, message: Message<'_>) {
        let frame = match self.framing() {
            Framing::OneRoom => message.one_room(),
            Framing::ManyRooms => message.many_rooms(room),
        };
        self.outgoing.push_back(frame);
    }
}

/// In a replica.
impl Peer {
    /// Starts a new connection to the server. Afterwards [`Self::join`] each room again.
    pub fn connected(&mut self) {
        self.leave_all();
        if let Side::Server { connected, .. } = &mut self.side {
            *connected = true;
        }
    }

    /// Ends the connection; what was not confirmed counts as unsent again.
    pub fn lost(&mut self) {
        self.leave_all();
        if let Side::Server { connected, .. } = &mut self.side {
            *connected = false;
        }
    }

    fn leave_all(&mut self) {
        self.outgoing.clear();
        for room in self.rooms.values_mut() {
            let mut unsent = room.unsent;
            room.in_flight.iter().for_each(|sent| unsent.add(*sent));
            *room = Room { unsent, ..Room::default() };
        }
    }

    /// Enters a room: says the secret and what we have. Without a connection, only notes the room.
    ///
    /// Does nothing in a room that was entered on this connection.
    pub fn join(&mut self, room: &str, state: &StateVector) {
        let Side::Server { secret, connected } = &self.side else { return };
        let (secret, connected) = (secret.clone(), *connected);
        let entry = self.rooms.entry(room.to_owned()).or_default();
        if connected && entry.stage == Stage::Outside {
            entry.stage = Stage::Entering;
            self.say(room, Message::Token(secret.reveal()));
            self.say(room, Message::Step1(&state.encode()));
        }
    }

    /// Asks once more for what we lack, for instance because a change waits for another.
    pub fn ask(&mut self, room: &str, state: &StateVector) {
        if self.rooms.get(room).is_some_and(|room| room.stage == Stage::Inside) {
            self.say(room, Message::Step1(&state.encode()));
        }
    }

    /// Leaves a room; what was not confirmed in it is no longer counted.
    pub fn leave(&mut self, room: &str) {
        if let Some(left) = self.rooms.remove(room)
            && left.stage == Stage::Inside
        {
            self.say(room, Message::Close(""));
        }
    }

    /// Sends a change made here, or counts it as unsent while it cannot be.
    pub fn update(&mut self, room: &str, update: &[u8]) {
        let Some(entry) = self.rooms.get_mut(room) else { return };
        let change = Unacknowledged { updates: 1, bytes: update.len() as u64 };
        if entry.answered {
            entry.in_flight.push_back(change);
            self.say(room, Message::Update(update));
        } else {
            entry.unsent.add(change);
        }
    }

    /// Returns how far a room is level; `None` when it was never joined.
    pub fn standing(&self, room: &str) -> Option<Standing> {
        self.rooms.get(room).map(Room::standing)
    }

    /// Returns what is not confirmed in all rooms together.
    pub fn unacknowledged(&self) -> Unacknowledged {
        let mut sum = Unacknowledged::default();
        self.rooms.values().for_each(|room| sum.add(room.standing().unacknowledged));
        sum
    }

    /// Whether every joined room is level.
    pub fn is_level(&self) -> bool {
        self.rooms.values().all(|room| room.standing().is_level())
    }
}

/// In a server.
impl Peer {
    /// Lets the client into a room.
    pub fn allow(&mut self, room: &str, read_only: bool) {
        let Side::Client { allowed_any, .. } = &mut self.side else { return };
        *allowed_any = true;
        self.rooms.entry(room.to_owned()).or_default().stage = Stage::Inside;
        if self.framing() == Framing::ManyRooms {
            self.say(room, Message::Allowed { read_only });
        }
    }

    /// Does not let the client into a room, and says why.
    pub fn deny(&mut self, room: &str, reason: &str) {
        self.rooms.remove(room);
        self.say(room, Message::Denied(reason));
    }

    /// Returns the rooms that the client is in, as it addresses them.
    pub fn rooms(&self) -> impl Iterator<Item = &str> {
        self.rooms.iter().filter(|(_, room)| room.stage == Stage::Inside).map(|(name, _)| &**name)
    }

    /// Whether a secret was accepted on this connection.
    pub fn is_authenticated(&self) -> bool {
        !matches!(self.side, Side::Client { allowed_any: false, .. })
    }
}

/// On both sides.
impl Peer {
    /// Answers the other side's state vector with what it lacks (an update V1).
    pub fn answer(&mut self, room: &str, lacking: &[u8]) {
        if let Side::Server { .. } = self.side {
            let Some(entry) = self.rooms.get_mut(room) else { return };
            entry.answered = true;
            let sent = mem::take(&mut entry.unsent);
            entry.in_flight.push_back(sent);
        }
        self.say(room, Message::Step2(lacking));
    }

    /// Sends awareness states.
    pub fn awareness(&mut self, room: &str, update: &[u8]) {
        if self.rooms.get(room).is_some_and(|room| room.stage != Stage::Denied)
            && !matches!(self.side, Side::Server { connected: false, .. })
        {
            self.say(room, Message::Awareness(update));
        }
    }

    /// Takes in one frame. On an error the connection is to be closed.
    pub fn hear<'a>(&mut self, frame: &'a [u8]) -> Result<Vec<Heard<'a>>, Error> {
        self.count(frame.len())?;
        let mut heard = Vec::new();
        if let Side::Client { one_room: Some(room), .. } = &self.side {
            let room = room.clone();
            let mut reader = Reader::new(frame);
            while reader.remaining() > 0 {
                let message = Message::read(&mut reader, Framing::OneRoom)?;
                heard.extend(self.hear_in(&room, message)?);
            }
        } else {
            let RoomFrame { address, message } = RoomFrame::read(frame)?;
            heard.extend(self.hear_in(address, message)?);
        }
        Ok(heard)
    }

    /// Holds who has not said a secret to little: nothing is kept for them.
    fn count(&mut self, len: usize) -> Result<(), Error> {
        if let Side::Client { allowed_any: false, frames, bytes, .. } = &mut self.side {
            *frames += 1;
            *bytes += len;
            if *frames > MAX_FRAMES_BEFORE || *bytes > MAX_BYTES_BEFORE {
                return Err(Error::Unauthenticated);
            }
        }
        Ok(())
    }

    fn hear_in<'a>(
        &mut self,
        address: &str,
        message: Message<'a>,
    ) -> Result<Option<Heard<'a>>, Error> {
        let to_server = matches!(self.side, Side::Server { .. });
        let room = || address.to_owned();
        match message {
            Message::Ping => {
                self.outgoing.push_back(Message::Pong.many_rooms(""));
                return Ok(None);
            }
            Message::Token(token) if !to_server => {
                return Ok(Some(Heard::Token { room: room(), token }));
            }
            _ => {}
        }
        // Said in a room where the other side is not (any more), or never was.
        let Some(entry) = self.rooms.get_mut(address) else { return Ok(None) };
        Ok(match message {
            Message::Allowed { read_only } if to_server => {
                entry.stage = Stage::Inside;
                Some(Heard::Allowed { room: room(), read_only })
            }
            Message::Denied(reason) if to_server => {
                entry.stage = Stage::Denied;
                Some(Heard::Denied { room: room(), reason })
            }
            Message::TokenQuery => {
                if let Side::Server { secret, .. } = &self.side {
                    let secret = secret.clone();
                    self.say(address, Message::Token(secret.reveal()));
                }
                None
            }
            Message::Step1(state) => {
                let state = StateVector::decode(state).map_err(Error::StateVector)?;
                Some(Heard::StateVector { room: room(), state })
            }
            Message::Step2(update) => {
                entry.received = true;
                Some(Heard::Update { room: room(), update, answer: true })
            }
            Message::Update(update) => Some(Heard::Update { room: room(), update, answer: false }),
            Message::SyncStatus { taken } if to_server => {
                let Some(confirmed) = entry.in_flight.pop_front() else { return Ok(None) };
                if taken {
                    Some(Heard::Acknowledged { room: room() })
                } else {
                    entry.unsent.add(confirmed);
                    entry.refused = true;
                    Some(Heard::Refused { room: room() })
                }
            }
            Message::Awareness(update) => Some(Heard::Awareness { room: room(), update }),
            Message::QueryAwareness => Some(Heard::AwarenessQuery { room: room() }),
            Message::Close(reason) => {
                if to_server {
                    let mut unsent = entry.unsent;
                    entry.in_flight.iter().for_each(|sent| unsent.add(*sent));
                    *entry = Room { unsent, ..Room::default() };
                } else {
                    self.rooms.remove(address);
                }
                Some(Heard::Left { room: room(), reason })
            }
            _ => None,
        })
    }
}

impl Room {
    fn standing(&self) -> Standing {
        let mut unacknowledged = self.unsent;
        self.in_flight.iter().for_each(|sent| unacknowledged.add(*sent));
        Standing {
            stage: self.stage,
            received: self.received,
            sent: self.answered && self.in_flight.is_empty() && self.unsent.is_empty(),
            refused: self.refused,
            unacknowledged,
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match &self.side {
            Side::Server { connected, .. } => format!("server, connected: {connected}"),
            Side::Client { one_room, .. } => format!("client, of one room: {one_room:?}"),
        };
        f.debug_struct("Peer")
            .field("side", &side)
            .field("rooms", &self.rooms)
            .field("outgoing", &self.outgoing.len())
            .finish()
    }
}
