//! What a link promises, against servers that are good, bad, silent or away.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use client::{Link, LinkEvent, ServerAddress, Wire};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// A test that waits longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(20);

async fn listen() -> (TcpListener, ServerAddress) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = ServerAddress::parse(&listener.local_addr().unwrap().to_string()).unwrap();
    (listener, address)
}

fn link(address: &ServerAddress) -> (Link, mpsc::Receiver<LinkEvent>) {
    let (sender, events) = mpsc::channel(4);
    (Link::connect(&Handle::current(), address.clone(), sender), events)
}

async fn next(events: &mut mpsc::Receiver<LinkEvent>) -> LinkEvent {
    timeout(PATIENCE, events.recv()).await.expect("waited in vain").expect("the link is there")
}

async fn connected(events: &mut mpsc::Receiver<LinkEvent>) -> Wire {
    loop {
        if let LinkEvent::Connected(wire) = next(events).await {
            return wire;
        }
    }
}

async fn accept(listener: &TcpListener) -> WebSocketStream<TcpStream> {
    let (stream, _) = timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
    accept_async(stream).await.unwrap()
}

/// Answers the next knock with these bytes, and ends.
async fn answer(listener: &TcpListener, bytes: &[u8]) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = [0; 2048];
    let _read = stream.read(&mut head).await.unwrap();
    stream.write_all(bytes).await.unwrap();
}

#[tokio::test]
async fn nobody_there_is_said_in_words_and_tried_again() {
    let (listener, address) = listen().await;
    drop(listener);
    let (_link, mut events) = link(&address);
    for _ in 0..2 {
        let event = next(&mut events).await;
        let LinkEvent::Lost { problem, retry_ms: Some(_) } = event else { panic!("{event:?}") };
        assert!(problem.contains(&address.to_string()), "{problem}");
    }
}

#[tokio::test]
async fn what_is_no_quire_server_is_said_in_words() {
    let (listener, address) = listen().await;
    let (_link, mut events) = link(&address);
    let cases: [(&[u8], &str, bool); 6] = [
        (b"HTTP/1.1 200 OK\r\n\r\n", "no Quire server", true),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "no Quire server", true),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "Ask for a new link", true),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "too busy", false),
        (b"SSH-2.0-OpenSSH_9\r\n", "does not speak as", false),
        (b"", "does not speak as", false),
    ];
    for (bytes, words, refused) in cases {
        let (event, ()) = tokio::join!(next(&mut events), answer(&listener, bytes));
        let problem = match event {
            LinkEvent::Refused { problem, .. } if refused => problem,
            LinkEvent::Lost { problem, .. } if !refused => problem,
            other => panic!("{bytes:?}: {other:?}"),
        };
        assert!(problem.contains(words), "{problem}");
    }
}

#[tokio::test]
async fn frames_go_both_ways_in_order() {
    let (listener, address) = listen().await;
    let (_link, mut events) = link(&address);
    let mut server = accept(&listener).await;
    let wire = connected(&mut events).await;
    for n in 0..100_u8 {
        wire.send(vec![n; usize::from(n) * 100]);
    }
    for n in 0..100_u8 {
        let message = timeout(PATIENCE, server.next()).await.unwrap().unwrap().unwrap();
        assert_eq!(message.into_data().len(), usize::from(n) * 100);
    }
    // Text is nobody's word here; what comes after it is heard.
    server.send(Message::Text("hello".into())).await.unwrap();
    server.send(Message::Binary(vec![7].into())).await.unwrap();
    assert!(matches!(next(&mut events).await, LinkEvent::Frame(frame) if frame == [7]));
}

#[tokio::test]
async fn frames_of_one_connection_never_reach_the_next() {
    let (listener, address) = listen().await;
    let (link, mut events) = link(&address);
    let server = accept(&listener).await;
    let old = connected(&mut events).await;
    drop(server);
    assert!(matches!(next(&mut events).await, LinkEvent::Lost { .. }));
    link.retry_now();
    let mut server = accept(&listener).await;
    old.send(vec![1]);
    let new = connected(&mut events).await;
    old.send(vec![2]);
    new.send(vec![3]);
    let message = timeout(PATIENCE, server.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(message.into_data(), vec![3]);
}

#[tokio::test]
async fn a_close_that_says_do_not_come_back_is_a_refusal() {
    let (listener, address) = listen().await;
    let (_link, mut events) = link(&address);
    let mut server = accept(&listener).await;
    drop(connected(&mut events).await);
    let frame = CloseFrame { code: 4401.into(), reason: "no longer".into() };
    server.close(Some(frame)).await.unwrap();
    let event = next(&mut events).await;
    let LinkEvent::Refused { problem, .. } = event else { panic!("{event:?}") };
    assert!(problem.contains("no longer"), "{problem}");
}

#[tokio::test]
async fn offline_stays_offline_and_online_comes_back() {
    let (listener, address) = listen().await;
    let (link, mut events) = link(&address);
    let mut server = accept(&listener).await;
    drop(connected(&mut events).await);
    link.set_offline(true);
    assert!(matches!(next(&mut events).await, LinkEvent::Lost { retry_ms: None, .. }));
    // The other side sees the socket end.
    assert!(!matches!(timeout(PATIENCE, server.next()).await.unwrap(), Some(Ok(_))));
    // A nudge does not end it.
    link.retry_now();
    let knock = timeout(Duration::from_millis(300), listener.accept()).await;
    assert!(knock.is_err(), "offline means offline");
    link.set_offline(false);
    let _server = accept(&listener).await;
    drop(connected(&mut events).await);
}

#[tokio::test]
async fn a_dropped_link_ends_its_connection() {
    let (listener, address) = listen().await;
    let (link, mut events) = link(&address);
    let mut server = accept(&listener).await;
    drop(connected(&mut events).await);
    drop(link);
    assert!(!matches!(timeout(PATIENCE, server.next()).await.unwrap(), Some(Ok(_))));
    let ended = async { while events.recv().await.is_some() {} };
    timeout(PATIENCE, ended).await.expect("it ends");
}
