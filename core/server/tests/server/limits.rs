//! SE-9: each limit lets pass what is just below it, and refuses what is just above.

use std::time::Duration;

use client::{Papers, PapersError};
use futures_util::{SinkExt as _, StreamExt as _};
use protocol::Message;
use server::{Config, Running, serve};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::desk::{PAPER, ROOM, address, secret};

const PATIENCE: Duration = Duration::from_secs(20);

async fn start(change: impl FnOnce(&mut Config)) -> (Running, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::loopback(dir.path().to_path_buf());
    change(&mut config);
    let running = serve(config).await.unwrap();
    running.create_paper(PAPER, &secret()).await.unwrap();
    (running, dir)
}

async fn socket(running: &Running) -> Option<WebSocketStream<TcpStream>> {
    let stream = TcpStream::connect(running.address()).await.unwrap();
    let url = format!("ws://{}/", running.address());
    client_async(url, stream).await.ok().map(|(socket, _)| socket)
}

async fn say(socket: &mut WebSocketStream<TcpStream>, message: Message<'_>, room: &str) {
    // A socket that is closed already says so when it is read.
    drop(socket.send(Frame::Binary(message.many_rooms(room).into())).await);
}

/// Reads until the server answers with a message of this kind (`Some(true)`), says no
/// (`Some(false)`), or closes the socket (`None`).
async fn answer(socket: &mut WebSocketStream<TcpStream>) -> Option<bool> {
    loop {
        match timeout(PATIENCE, socket.next()).await.expect("waited in vain") {
            Some(Ok(Frame::Binary(frame))) => {
                match protocol::message::RoomFrame::read(&frame).unwrap().message {
                    Message::SyncStatus { taken } => return Some(taken),
                    Message::Denied(_) => return Some(false),
                    _ => {}
                }
            }
            Some(Ok(Frame::Close(_)) | Err(_)) | None => return None,
            Some(Ok(_)) => {}
        }
    }
}

fn token() -> Message<'static> {
    Message::Token("a-secret-for-the-tests-of-the-server")
}

#[tokio::test]
async fn sockets_of_one_address() {
    let (running, _dir) = start(|config| config.limits.sockets_per_address = 2).await;
    let one = socket(&running).await.unwrap();
    let two = socket(&running).await.unwrap();
    assert!(socket(&running).await.is_none());
    drop(one);
    let again = async { while socket(&running).await.is_none() {} };
    timeout(PATIENCE, again).await.expect("a socket that is closed is not counted");
    drop(two);
    running.stop().await;
}

#[tokio::test]
async fn rooms_of_one_socket() {
    let (running, _dir) = start(|config| config.limits.rooms_per_socket = 3).await;
    let mut ann = socket(&running).await.unwrap();
    for n in 0..4 {
        let room = format!("{PAPER}/{n:032x}");
        say(&mut ann, token(), &room).await;
        say(&mut ann, Message::Step2(&[0, 0]), &room).await;
        assert_eq!(answer(&mut ann).await, Some(n < 3), "room {n}");
    }
    running.stop().await;
}

#[tokio::test]
async fn bytes_of_one_message() {
    let (running, _dir) = start(|config| config.limits.message = 100_000).await;
    for (len, fits) in [(99_900, true), (100_100, false)] {
        let mut ann = socket(&running).await.unwrap();
        say(&mut ann, token(), ROOM).await;
        // "(" many times, as one insertion by client 7.
        let mut update = vec![1, 1, 7, 0, 4, 1, 4];
        update.extend_from_slice(b"text");
        lib0::write_var_str(&mut update, &"(".repeat(len));
        update.push(0);
        say(&mut ann, Message::Update(&update), ROOM).await;
        assert_eq!(answer(&mut ann).await, fits.then_some(true), "{len}");
    }
    running.stop().await;
}

#[tokio::test]
async fn time_until_a_secret() {
    let (running, _dir) = start(|config| config.limits.secret_within = Duration::ZERO).await;
    let mut eve = socket(&running).await.unwrap();
    assert_eq!(answer(&mut eve).await, None);
    running.stop().await;
}

#[tokio::test]
async fn bytes_that_wait_for_others() {
    let (running, _dir) = start(|config| config.limits.waiting = 1_000).await;
    let mut ann = socket(&running).await.unwrap();
    say(&mut ann, token(), ROOM).await;
    // Insertions after something that never came: taken (and kept), but not without end.
    let mut answers = Vec::new();
    for clock in 0..30 {
        say(&mut ann, Message::Update(&insertion(1_000 + clock * 100)), ROOM).await;
        answers.push(answer(&mut ann).await.expect("the socket stays open"));
    }
    let taken = answers.iter().take_while(|taken| **taken).count();
    assert!((5..20).contains(&taken), "{answers:?}");
    assert!(answers[taken..].iter().all(|taken| !taken), "{answers:?}");
    // Of what has nothing missing, any amount is taken.
    for clock in 0..5 {
        say(&mut ann, Message::Update(&insertion(clock * 90)), ROOM).await;
        assert_eq!(answer(&mut ann).await, Some(true));
    }
    running.stop().await;
}

/// Ninety characters of client 7, from this clock on; after the character before it.
fn insertion(clock: u64) -> Vec<u8> {
    let mut update = vec![1, 1, 7];
    lib0::write_var_u64(&mut update, clock);
    if clock == 0 {
        update.extend_from_slice(&[4, 1, 4]);
        update.extend_from_slice(b"text");
    } else {
        update.extend_from_slice(&[0x84, 7]);
        lib0::write_var_u64(&mut update, clock - 1);
    }
    lib0::write_var_str(&mut update, &"(".repeat(90));
    update.push(0);
    update
}

#[tokio::test]
async fn bytes_of_one_figure() {
    let (running, _dir) = start(|config| config.limits.blob = 1_000).await;
    let papers = Papers::new(address(&running), PAPER, secret()).unwrap();
    papers.put_blob(vec![1; 1_000]).await.unwrap();
    let large = papers.put_blob(vec![1; 1_001]).await;
    assert!(matches!(large, Err(PapersError::Refused { .. })), "{large:?}");
    running.stop().await;
}

/// A question of a few bytes has an answer of half a megabyte: who asks and does not read waits.
#[tokio::test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the kernel knows how much memory is used")]
async fn questions_whose_answers_nobody_reads() {
    let resident_kb = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let (running, _dir) = start(|_| {}).await;
    let mut ann = socket(&running).await.unwrap();
    say(&mut ann, token(), ROOM).await;
    let mut update = vec![1, 1, 7, 0, 4, 1, 4];
    update.extend_from_slice(b"text");
    lib0::write_var_str(&mut update, &"(".repeat(500_000));
    update.push(0);
    say(&mut ann, Message::Update(&update), ROOM).await;
    assert_eq!(answer(&mut ann).await, Some(true));
    let before = resident_kb();
    let mut eve = socket(&running).await.unwrap();
    say(&mut eve, token(), ROOM).await;
    for _ in 0..1_000 {
        say(&mut eve, Message::Step1(&[0]), ROOM).await;
    }
    // What the paper has to do for eve, it does before what comes later.
    for _ in 0..100 {
        say(&mut ann, Message::Step2(&[0, 0]), ROOM).await;
        assert_eq!(answer(&mut ann).await, Some(true));
    }
    let grown = resident_kb().saturating_sub(before);
    assert!(grown < 150_000, "{grown} KB");
    drop(eve);
    running.stop().await;
}
