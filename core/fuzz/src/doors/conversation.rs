//! Doors of `protocol` and `client`: frames from the other side, awareness, links and addresses.

use client::{Fingerprint, Invitation, ServerAddress};
use crdt::{ClientId, Doc, Options};
use lib0::Reader;
use protocol::{Awareness, Heard, Peer, RoomName, Secret, awareness};

const ROOM: &str = "0123456789abcdef0123456789abcdef/tree";

/// Frames, each behind its length, heard by a replica (first byte 0), or by a server of many rooms or one.
pub(super) fn frames(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
    let text = doc.text("text");
    let mut transaction = doc.transact();
    text.insert(&mut transaction, 0, "ours").unwrap();
    transaction.commit();
    let mut states = Awareness::of(1, 0);
    let mut peer = match kind % 4 {
        0 => {
            let mut peer = Peer::server(Secret::from_random([7; 20]));
            peer.connected();
            peer.join(ROOM, &doc.state_vector());
            peer
        }
        1 => Peer::client(),
        2 => Peer::client_of(ROOM),
        // Somebody who was let in already.
        _ => {
            let mut peer = Peer::client();
            peer.allow(ROOM, false);
            peer
        }
    };
    let mut reader = Reader::new(rest);
    let mut now_ms = 0;
    while let Ok(frame) = reader.var_bytes() {
        now_ms += 1_000;
        let Ok(heard) = peer.hear(frame) else { return };
        for heard in heard {
            answer(&mut peer, &mut doc, &mut states, heard, now_ms);
        }
        while peer.next_frame().is_some() {}
        peer.update(ROOM, b"\0\0");
    }
    peer.unacknowledged();
    peer.is_level();
    peer.lost();
    doc.check().unwrap();
}

fn answer(peer: &mut Peer, doc: &mut Doc, states: &mut Awareness, heard: Heard<'_>, now_ms: u64) {
    match heard {
        Heard::Token { room, token } => match Secret::parse(token) {
            Some(_) if RoomName::parse(&room).is_ok() => peer.allow(&room, false),
            _ => peer.deny(&room, "no"),
        },
        Heard::StateVector { room, state } => peer.answer(&room, &doc.diff_v1(&state)),
        Heard::Update { update, .. } => drop(doc.apply_v1(update).map(|commit| commit.is_empty())),
        Heard::Awareness { update, .. } => drop(states.apply(update, now_ms)),
        Heard::AwarenessQuery { room } => peer.awareness(&room, &states.encode_all()),
        Heard::Left { room, .. } => peer.leave(&room),
        Heard::Allowed { .. }
        | Heard::Denied { .. }
        | Heard::Acknowledged { .. }
        | Heard::Refused { .. } => {}
    }
}

/// Awareness states.
pub(super) fn awareness(bytes: &[u8]) {
    let Ok(entries) = awareness::read(bytes) else { return };
    let written = awareness::write(&entries);
    assert_eq!(awareness::read(&written).expect("our own"), entries);
    let (mut ours, mut room) = (Awareness::of(1, 0), Awareness::of_room());
    for now_ms in [1, 2, 40_000] {
        ours.apply(bytes, now_ms).expect("it was read before");
        room.apply(bytes, now_ms).expect("it was read before");
        assert!(ours.state(1).is_some(), "nobody else takes our own state away");
        ours.tick(now_ms);
        room.tick(now_ms);
        awareness::read(&room.encode_all()).expect("our own");
    }
    room.remove([0, 1, 2], 50_000);
}

/// What people pass on to each other: links, addresses, fingerprints, secrets, names of rooms.
pub(super) fn links(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(invitation) = Invitation::parse(text) {
        let link = invitation.link();
        let again = Invitation::parse(&link).expect("our own link");
        assert_eq!(again.link(), link);
        assert_eq!(again.paper(), invitation.paper());
        let (hidden, secret) = (format!("{invitation:?}"), invitation.secret.reveal());
        // A secret may be part of the server's name by chance.
        let (before, _) = link.rsplit_once('#').expect("a link with a secret");
        assert!(before.contains(secret) || !hidden.contains(secret), "a secret is shown");
    }
    if let Ok(address) = ServerAddress::parse(text) {
        let authority = address.authority();
        ServerAddress::new(address.host(), address.port(), address.transport()).expect("our own");
        assert!(!authority.contains(['/', '#', '@', ' ']), "{authority:?}");
    }
    if let Ok(fingerprint) = Fingerprint::parse(text) {
        Fingerprint::parse(&fingerprint.to_string()).expect("our own");
    }
    if let Some(secret) = Secret::parse(text) {
        assert_eq!(secret.reveal(), text);
    }
    if let Ok(room) = RoomName::parse(text) {
        assert_eq!(format!("{}/{}", room.paper(), room.document()), text);
    }
}
