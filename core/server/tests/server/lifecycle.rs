//! Starting, stopping, emptying out, coming back.

use std::time::Duration;

use server::{Config, serve};

use crate::desk::{Desk, PAPER, ROOM, address, secret, start};

/// W-001, H-003: a restart loses nothing, and clients come back by themselves.
#[tokio::test]
async fn clients_come_back_after_a_restart_and_nothing_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let listen = running.address();
    let (mut ann, mut ben) = (Desk::at(&running, 1), Desk::at(&running, 2));
    ann.insert(ROOM, 0, "before ");
    ann.until_level().await;
    ben.until_text(ROOM, "before ").await;
    running.stop().await;
    ann.until("lost", |ann| !ann.peer.is_level()).await;
    ann.insert(ROOM, 7, "while away ");
    let mut config = Config::loopback(dir.path().to_path_buf());
    config.listen = listen;
    let running = serve(config).await.unwrap();
    ann.until_level().await;
    ben.until_text(ROOM, "before while away ").await;
    // A newcomer gets it from the server alone.
    drop((ann, ben));
    let mut cyd = Desk::at(&running, 3);
    cyd.until_text(ROOM, "before while away ").await;
    running.stop().await;
}

/// Hocuspocus issues about unloading: a paper that nobody is in is let go, and comes back whole.
#[tokio::test]
async fn a_paper_that_nobody_is_in_is_let_go_and_comes_back_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::loopback(dir.path().to_path_buf());
    config.limits.idle = Duration::from_millis(1);
    let running = serve(config).await.unwrap();
    running.create_paper(PAPER, &secret()).await.unwrap();
    let mut text = String::new();
    for round in 0..5_u64 {
        let mut desk = Desk::at(&running, round + 1);
        desk.until_level().await;
        assert_eq!(desk.text(ROOM), text);
        desk.insert(ROOM, 0, &format!("{round}."));
        text = format!("{round}.{text}");
        desk.until_level().await;
        drop(desk);
        // The store's lock is free once the paper is let go; a second process may take it.
        let folder = dir.path().join("papers").join(PAPER);
        let free = async {
            while store::Store::open(&folder, store::StoreOptions::default()).is_err() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), free).await.expect("the paper is let go");
    }
    running.stop().await;
}

/// A reader who takes nothing costs the others nothing, and gets everything in the end.
#[tokio::test]
async fn a_slow_reader_gets_everything_in_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::loopback(dir.path().to_path_buf());
    config.limits.queue = 10_000;
    let running = serve(config).await.unwrap();
    running.create_paper(PAPER, &secret()).await.unwrap();
    let mut ann = Desk::new(1, address(&running), secret(), &[ROOM]);
    let mut slow = Desk::new(2, address(&running), secret(), &[ROOM]);
    ann.until_level().await;
    slow.until_level().await;
    // The slow desk takes no event meanwhile: its channel, its socket and its outbox fill up.
    let line = "x".repeat(20_000);
    for round in 0..400 {
        ann.insert(ROOM, 0, &format!("{round} {line}\n"));
        if round % 20 == 0 {
            ann.until_level().await;
        }
    }
    ann.until_level().await;
    let text = ann.text(ROOM);
    slow.until("all of it", |slow| slow.text(ROOM).len() == text.len()).await;
    assert!(slow.text(ROOM) == text);
    assert_eq!(slow.state(ROOM), ann.state(ROOM));
    assert_eq!(slow.connections, 1, "synced in place, not by a new connection");
    running.stop().await;
}
