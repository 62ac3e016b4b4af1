//! Texts meet in a room, whatever the network does.

use protocol::Awareness;
use store::{Store, StoreOptions};

use crate::desk::{Desk, PAPER, ROOM, address, copy_folder, secret, start};

const FILE: &str = "0123456789abcdef0123456789abcdef/00000000000000000000000000000001";

async fn all_level(desks: &mut [&mut Desk], room: &str) {
    for desk in &mut *desks {
        desk.until_level().await;
    }
    // What one sent last, the others still have to hear.
    let mut most = String::new();
    for desk in &mut *desks {
        let text = desk.text(room);
        if text.len() > most.len() {
            most = text;
        }
    }
    for desk in desks {
        desk.until_text(room, &most).await;
    }
}

#[tokio::test]
async fn two_people_type_and_read_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let (mut ann, mut ben) = (Desk::at(&running, 1), Desk::at(&running, 2));
    ann.until_level().await;
    ben.until_level().await;
    ann.insert(ROOM, 0, "Hello");
    ben.until_text(ROOM, "Hello").await;
    ben.insert(ROOM, 5, ", you");
    ann.until_text(ROOM, "Hello, you").await;
    all_level(&mut [&mut ann, &mut ben], ROOM).await;
    assert_eq!(ann.state(ROOM), ben.state(ROOM));
    running.stop().await;
}

#[tokio::test]
async fn what_was_typed_offline_comes_along_and_counts_as_sent_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let (mut ann, mut ben) = (Desk::at(&running, 1), Desk::at(&running, 2));
    ann.insert(ROOM, 0, "together ");
    ann.until_level().await;
    ben.until_text(ROOM, "together ").await;
    ben.link.set_offline(true);
    ben.until("offline", |ben| !ben.peer.is_level()).await;
    ben.insert(ROOM, 9, "ben");
    assert_eq!(ben.peer.unacknowledged().updates, 1);
    assert!(!ben.peer.is_level());
    ann.insert(ROOM, 0, "ann ");
    ann.until_level().await;
    ben.link.set_offline(false);
    ben.until_level().await;
    assert!(ben.peer.unacknowledged().is_empty());
    all_level(&mut [&mut ann, &mut ben], ROOM).await;
    assert_eq!(ann.text(ROOM), "ann together ben");
    running.stop().await;
}

/// H-001, O-004: a line that breaks all the time loses nothing and doubles nothing.
#[tokio::test]
async fn a_line_that_breaks_all_the_time_loses_and_doubles_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let (mut ann, mut ben) = (Desk::at(&running, 1), Desk::at(&running, 2));
    for round in 0..12 {
        ann.insert(ROOM, 0, &format!("a{round}."));
        ben.insert(ROOM, 0, &format!("b{round}."));
        let flaky = if round % 2 == 0 { &mut ann } else { &mut ben };
        flaky.link.set_offline(true);
        flaky.until("offline", |desk| !desk.peer.is_level()).await;
        flaky.link.set_offline(false);
        if round % 3 == 0 {
            ann.until_level().await;
            ben.until_level().await;
        }
    }
    all_level(&mut [&mut ann, &mut ben], ROOM).await;
    let text = ann.text(ROOM);
    for round in 0..12 {
        for word in [format!("a{round}."), format!("b{round}.")] {
            assert_eq!(text.matches(&word).count(), 1, "{word} in {text}");
        }
    }
    assert_eq!(ann.state(ROOM), ben.state(ROOM));
    running.stop().await;
}

#[tokio::test]
async fn many_rooms_share_one_socket() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let rooms: Vec<String> = (0..60).map(|n| format!("{PAPER}/{n:032x}")).collect();
    let names: Vec<&str> = rooms.iter().map(String::as_str).collect();
    let mut ann = Desk::new(1, address(&running), secret(), &names);
    let mut ben = Desk::new(2, address(&running), secret(), &names);
    for room in &names {
        ann.insert(room, 0, room);
    }
    ann.until_level().await;
    ben.until_level().await;
    for room in &names {
        ben.until_text(room, room).await;
    }
    assert_eq!(ann.connections, 1);
    running.stop().await;
}

/// A confirmed change is on the disk: another process reads it there.
#[tokio::test]
async fn what_is_confirmed_is_in_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let mut ann = Desk::new(1, address(&running), secret(), &[FILE]);
    ann.insert(FILE, 0, "safe");
    ann.until_level().await;
    // As after a crash: the server's files as they are now, copied away.
    let copy = tempfile::tempdir().unwrap();
    let from = dir.path().join("papers").join(PAPER);
    copy_folder(&from, copy.path());
    let mut store = Store::open(copy.path(), StoreOptions::default()).unwrap();
    let client = crdt::ClientId::new(9).unwrap();
    let document = store.document("00000000000000000000000000000001", client).unwrap();
    assert_eq!(document.text().read(document.doc()), "safe");
    running.stop().await;
}

/// W-002: who comes back is seen at once; who leaves is gone at once.
#[tokio::test]
async fn presence_is_passed_on_and_ends_with_the_socket() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let (mut ann, mut ben) = (Desk::at(&running, 1), Desk::at(&running, 2));
    ann.until_level().await;
    ben.until_level().await;
    let mut here = Awareness::of(1, 0);
    let mut seen = Awareness::of_room();
    for round in 0..3 {
        here.set(Some(format!("{{\"round\":{round}}}")), 0);
        ann.until("inside", |ann| ann.peer.is_level()).await;
        ann.peer.awareness(ROOM, &here.encode_own());
        ann.flush();
        let state = format!("{{\"round\":{round}}}");
        ben.until("seen", |ben| {
            ben.awareness.drain(..).for_each(|update| drop(seen.apply(&update, 0).unwrap()));
            seen.state(1) == Some(&state)
        })
        .await;
        // Also to whom it came from: silence would be taken for a broken line.
        ann.until("echo", |ann| !ann.awareness.is_empty()).await;
        ann.awareness.clear();
        ann.link.set_offline(true);
        ann.until("offline", |ann| !ann.peer.is_level()).await;
        ben.until("gone", |ben| {
            ben.awareness.drain(..).for_each(|update| drop(seen.apply(&update, 0).unwrap()));
            seen.state(1).is_none()
        })
        .await;
        ann.link.set_offline(false);
    }
    running.stop().await;
}
