//! Two peers, no sockets: what is said, what counts as sent.

use crdt::StateVector;
use protocol::{Framing, Heard, Message, Peer, Secret, Stage, Unacknowledged};

const ROOM: &str = "0123456789abcdef0123456789abcdef/tree";

fn secret() -> Secret {
    Secret::parse("a-secret-for-the-tests-of-peers").unwrap()
}

fn nothing() -> StateVector {
    StateVector::default()
}

/// A replica's peer and a server's, connected.
struct Line {
    replica: Peer,
    server: Peer,
}

impl Line {
    fn new() -> Self {
        let mut replica = Peer::server(secret());
        replica.connected();
        Self { replica, server: Peer::client() }
    }

    /// Carries frames to the server and returns what it heard, in short words.
    fn up(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(frame) = self.replica.next_frame() {
            for heard in self.server.hear(&frame).unwrap() {
                words.push(word(&heard));
                if let Heard::Token { room, .. } = heard {
                    self.server.allow(&room, false);
                }
            }
        }
        words
    }

    /// Carries frames to the replica and returns what it heard.
    fn down(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while let Some(frame) = self.server.next_frame() {
            words.extend(self.replica.hear(&frame).unwrap().iter().map(word));
        }
        words
    }

    fn say(&mut self, message: Message<'_>) -> Vec<String> {
        let frame = message.many_rooms(ROOM);
        self.replica.hear(&frame).unwrap().iter().map(word).collect()
    }

    fn sent(&self) -> bool {
        self.replica.standing(ROOM).unwrap().sent
    }

    fn unacknowledged(&self) -> u64 {
        self.replica.unacknowledged().updates
    }
}

fn word(heard: &Heard<'_>) -> String {
    let word = match heard {
        Heard::Token { .. } => "token",
        Heard::Allowed { .. } => "allowed",
        Heard::Denied { .. } => "denied",
        Heard::StateVector { .. } => "state",
        Heard::Update { answer: true, .. } => "answer",
        Heard::Update { answer: false, .. } => "update",
        Heard::Acknowledged { .. } => "acknowledged",
        Heard::Refused { .. } => "refused",
        Heard::Awareness { .. } => "awareness",
        Heard::AwarenessQuery { .. } => "awareness query",
        Heard::Left { .. } => "left",
    };
    word.to_owned()
}

#[test]
fn a_room_is_level_only_when_both_sides_have_said_so() {
    let mut line = Line::new();
    line.replica.join(ROOM, &nothing());
    assert_eq!(line.replica.standing(ROOM).unwrap().stage, Stage::Entering);
    assert_eq!(line.up(), ["token", "state"]);
    line.server.answer(ROOM, &[0, 0]);
    assert_eq!(line.down(), ["allowed", "answer"]);
    assert!(!line.replica.is_level(), "what we have was not asked for yet");
    assert_eq!(line.say(Message::Step1(&[0])), ["state"]);
    line.replica.answer(ROOM, &[0, 0]);
    assert_eq!(line.up(), ["answer"]);
    assert!(!line.replica.is_level(), "nor confirmed");
    assert_eq!(line.say(Message::SyncStatus { taken: true }), ["acknowledged"]);
    assert!(line.replica.is_level());
}

fn level() -> Line {
    let mut line = Line::new();
    line.replica.join(ROOM, &nothing());
    line.up();
    line.say(Message::Allowed { read_only: false });
    line.say(Message::Step2(&[0, 0]));
    line.say(Message::Step1(&[0]));
    line.replica.answer(ROOM, &[0, 0]);
    line.up();
    line.say(Message::SyncStatus { taken: true });
    assert!(line.replica.is_level());
    line
}

#[test]
fn an_update_is_sent_when_it_is_confirmed_and_not_before() {
    let mut line = level();
    line.replica.update(ROOM, &[1; 10]);
    line.replica.update(ROOM, &[2; 20]);
    assert_eq!(line.up(), ["update", "update"]);
    assert_eq!(line.replica.unacknowledged(), Unacknowledged { updates: 2, bytes: 30 });
    line.say(Message::SyncStatus { taken: true });
    assert_eq!(line.replica.unacknowledged(), Unacknowledged { updates: 1, bytes: 20 });
    assert!(!line.sent());
    line.say(Message::SyncStatus { taken: true });
    assert!(line.sent());
    // A confirmation of nothing changes nothing.
    assert!(line.say(Message::SyncStatus { taken: true }).is_empty());
}

#[test]
fn what_a_broken_line_had_in_flight_goes_with_the_next_answer() {
    let mut line = level();
    line.replica.update(ROOM, &[1; 10]);
    line.up();
    line.replica.lost();
    assert!(!line.replica.is_level());
    line.replica.update(ROOM, &[2; 20]);
    assert_eq!(line.unacknowledged(), 2);
    assert!(line.replica.next_frame().is_none(), "nothing is said without a line");
    line.server = Peer::client();
    line.replica.connected();
    line.replica.join(ROOM, &nothing());
    // Made after the line came back, before the server said what it has: also for the answer.
    line.replica.update(ROOM, &[3; 5]);
    assert_eq!(line.up(), ["token", "state"]);
    line.say(Message::Step1(&[0]));
    line.replica.answer(ROOM, &[0, 0]);
    assert_eq!(line.up(), ["answer"]);
    assert_eq!(line.unacknowledged(), 3);
    line.say(Message::SyncStatus { taken: true });
    assert_eq!(line.unacknowledged(), 0);
    assert!(line.sent());
}

#[test]
fn a_refused_update_stays_unsent_and_says_so() {
    let mut line = level();
    line.replica.update(ROOM, &[1; 10]);
    line.up();
    assert_eq!(line.say(Message::SyncStatus { taken: false }), ["refused"]);
    let standing = line.replica.standing(ROOM).unwrap();
    assert!(standing.refused && !standing.is_level());
    assert_eq!(standing.unacknowledged.updates, 1);
}

#[test]
fn a_denied_room_stays_outside() {
    let mut line = Line::new();
    line.replica.join(ROOM, &nothing());
    while line.replica.next_frame().is_some() {}
    assert_eq!(line.say(Message::Denied("no")), ["denied"]);
    assert_eq!(line.replica.standing(ROOM).unwrap().stage, Stage::Denied);
    line.replica.update(ROOM, &[1]);
    line.replica.awareness(ROOM, &[0]);
    assert!(line.replica.next_frame().is_none());
    assert_eq!(line.unacknowledged(), 1);
}

#[test]
fn who_has_not_said_the_secret_is_not_heard() {
    let mut server = Peer::client();
    for message in [Message::Step1(&[0]), Message::Update(&[0, 0]), Message::QueryAwareness] {
        assert!(server.hear(&message.many_rooms(ROOM)).unwrap().is_empty(), "{message:?}");
    }
    // A secret opens its own room, no other in the same socket.
    server.allow(ROOM, false);
    let other = "0123456789abcdef0123456789abcdef/other";
    assert!(server.hear(&Message::Update(&[0, 0]).many_rooms(other)).unwrap().is_empty());
    assert_eq!(server.hear(&Message::Update(&[0, 0]).many_rooms(ROOM)).unwrap().len(), 1);
}

#[test]
fn a_stranger_is_heard_for_a_little_only() {
    let frame = Message::Token("wrong").many_rooms(ROOM);
    let mut server = Peer::client();
    assert!((0..16).all(|_| server.hear(&frame).is_ok()));
    assert!(server.hear(&frame).is_err());
    let long = Message::Update(&vec![0; 65_536]).many_rooms(ROOM);
    assert!(Peer::client().hear(&long).is_err());
}

#[test]
fn a_socket_of_one_room_has_no_names_and_hears_several_messages_in_a_frame() {
    let mut server = Peer::client_of(ROOM);
    assert_eq!(server.framing(), Framing::OneRoom);
    server.allow(ROOM, false);
    assert!(server.next_frame().is_none(), "there is no word for it in this framing");
    let mut frame = Message::Step1(&[0]).one_room();
    frame.extend(Message::Update(&[0, 0]).one_room());
    let heard: Vec<String> = server.hear(&frame).unwrap().iter().map(word).collect();
    assert_eq!(heard, ["state", "update"]);
    server.answer(ROOM, &[0, 0]);
    assert_eq!(server.next_frame().unwrap(), [0, 1, 2, 0, 0]);
}

#[test]
fn no_bytes_make_a_peer_panic() {
    let good = [
        Message::Token("a-secret-for-the-tests-of-peers").many_rooms(ROOM),
        Message::Step1(&[1, 1, 1]).many_rooms(ROOM),
        Message::Awareness(&[1, 1, 1, 2, b'{', b'}']).many_rooms(ROOM),
        Message::SyncStatus { taken: true }.many_rooms(ROOM),
    ];
    for frame in good {
        for at in 0..frame.len() {
            for bit in 0..8 {
                let mut bad = frame.clone();
                bad[at] ^= 1 << bit;
                let mut server = Peer::client();
                server.allow(ROOM, false);
                let mut replica = Peer::server(secret());
                replica.connected();
                replica.join(ROOM, &nothing());
                // Errors are fine.
                drop(server.hear(&bad));
                drop(replica.hear(&bad));
                drop(server.hear(&bad[..at]));
            }
        }
    }
}
