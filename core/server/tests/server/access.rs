//! Who has the secret comes in, and nobody else; who talks nonsense is sent away and harms nobody.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use client::{Fingerprint, Papers, PapersError, ServerAddress};
use protocol::{Message, Secret};
use server::{Config, Creation, Running, ServeError, Tls, serve};

use crate::desk::{Desk, PAPER, ROOM, address, secret, start};

fn wrong() -> Secret {
    Secret::parse("another-secret-of-somebody-else").unwrap()
}

#[tokio::test]
async fn a_wrong_secret_and_an_unknown_paper_get_the_same_answer() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let unknown = "ffffffffffffffffffffffffffffffff/tree";
    let mut eve = Desk::new(1, address(&running), wrong(), &[ROOM]);
    eve.insert(ROOM, 0, "evil");
    eve.until("denied", |eve| !eve.denied.is_empty()).await;
    let mut lost = Desk::new(2, address(&running), secret(), &[unknown]);
    lost.until("denied", |lost| !lost.denied.is_empty()).await;
    assert_eq!(eve.denied, lost.denied);
    assert!(!eve.peer.is_level());
    // Nothing of it reached the room, and nothing was made for the unknown paper.
    let mut ann = Desk::at(&running, 3);
    ann.until_level().await;
    assert_eq!(ann.text(ROOM), "");
    assert!(!dir.path().join("papers/ffffffffffffffffffffffffffffffff").exists());
    running.stop().await;
}

#[tokio::test]
async fn a_paper_is_registered_once_with_one_secret() {
    let dir = tempfile::tempdir().unwrap();
    let running = serve(Config::loopback(dir.path().to_path_buf())).await.unwrap();
    let papers = |secret| Papers::new(address(&running), PAPER, secret).unwrap();
    papers(secret()).create().await.unwrap();
    papers(secret()).create().await.unwrap();
    let refused = papers(wrong()).create().await;
    assert!(matches!(refused, Err(PapersError::Refused { .. })), "{refused:?}");
    running.stop().await;
    // Its secret outlives the server.
    let running = serve(Config::loopback(dir.path().to_path_buf())).await.unwrap();
    let papers = |secret| Papers::new(address(&running), PAPER, secret).unwrap();
    papers(secret()).create().await.unwrap();
    assert!(papers(wrong()).create().await.is_err());
    running.stop().await;
}

#[tokio::test]
async fn who_hosts_for_themselves_registers_papers_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::loopback(dir.path().to_path_buf());
    config.creation = Creation::Nobody;
    let running = serve(config).await.unwrap();
    let papers = Papers::new(address(&running), PAPER, secret()).unwrap();
    assert!(matches!(papers.create().await, Err(PapersError::Refused { .. })));
    running.create_paper(PAPER, &secret()).await.unwrap();
    papers.create().await.unwrap();
    let other = running.create_paper(PAPER, &wrong()).await;
    assert!(matches!(other, Err(ServeError::OtherSecret(_))), "{other:?}");
    running.stop().await;
}

/// SE-11.
#[tokio::test]
async fn plain_text_is_for_this_machine_unless_somebody_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::loopback(dir.path().to_path_buf());
    config.listen = "0.0.0.0:0".parse().unwrap();
    let refused = serve(config.clone()).await;
    assert!(matches!(refused, Err(ServeError::PlainOutside(_))));
    config.tls = Tls::PlainAnywhere;
    serve(config).await.unwrap().stop().await;
}

#[tokio::test]
async fn a_link_with_a_fingerprint_trusts_that_certificate_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config::loopback(dir.path().to_path_buf());
    config.tls = Tls::SelfSigned;
    let running = serve(config.clone()).await.unwrap();
    running.create_paper(PAPER, &secret()).await.unwrap();
    let fingerprint = running.fingerprint().unwrap().to_owned();
    let ours = address(&running).with_certificate(Fingerprint::parse(&fingerprint).unwrap());
    let mut ann = Desk::new(1, ours.clone(), secret(), &[ROOM]);
    ann.insert(ROOM, 0, "protected");
    ann.until_level().await;
    Papers::new(ours, PAPER, secret()).unwrap().create().await.unwrap();
    // Another certificate is refused before anything is said.
    let other = address(&running).with_certificate(Fingerprint::of(b"another"));
    let (events, mut heard) = tokio::sync::mpsc::channel::<client::LinkEvent>(4);
    let link = client::Link::connect(&tokio::runtime::Handle::current(), other.clone(), events);
    let event = heard.recv().await.unwrap();
    let client::LinkEvent::Refused { problem, .. } = event else { panic!("{event:?}") };
    assert!(problem.contains("another certificate"), "{problem}");
    drop(link);
    assert!(Papers::new(other, PAPER, secret()).unwrap().create().await.is_err());
    running.stop().await;
    // The certificate stays, so that links stay true.
    let running = serve(config).await.unwrap();
    assert_eq!(running.fingerprint(), Some(fingerprint.as_str()));
    running.stop().await;
}

/// Speaks HTTP by hand and returns the first line of the answer.
fn request(running: &Running, head: &str) -> String {
    let mut stream = TcpStream::connect(running.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n") && stream.read(&mut byte).unwrap() == 1 {
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap().trim().to_owned()
}

/// SE-8: neither a web page nor a bent name reaches a server on this machine.
#[tokio::test(flavor = "multi_thread")]
async fn web_pages_do_not_come_in() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let socket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                  Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==";
    let get = |headers: &str| request(&running, &format!("GET / HTTP/1.1\r\n{headers}"));
    assert_eq!(get("Host: localhost"), "HTTP/1.1 200 OK");
    assert!(get(&format!("Host: localhost\r\n{socket}")).starts_with("HTTP/1.1 101"));
    let evil = get(&format!("Host: localhost\r\nOrigin: https://evil.example\r\n{socket}"));
    assert!(evil.starts_with("HTTP/1.1 403"), "{evil}");
    assert!(get("Host: evil.example").starts_with("HTTP/1.1 421"));
    let health = request(&running, "GET /healthz HTTP/1.1\r\nHost: localhost");
    assert_eq!(health, "HTTP/1.1 200 OK");
    let ready = request(&running, "GET /readyz HTTP/1.1\r\nHost: localhost");
    assert_eq!(ready, "HTTP/1.1 200 OK");
    running.stop().await;
}

/// SE-2, SE-6: what a stranger or a broken client sends changes nothing and closes its own socket.
#[tokio::test]
async fn nonsense_closes_its_own_socket_and_nobody_elses() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let mut ann = Desk::at(&running, 1);
    ann.insert(ROOM, 0, "fine");
    ann.until_level().await;
    let token = Message::Token("a-secret-for-the-tests-of-the-server").many_rooms(ROOM);
    let update = |bytes: &[u8]| Message::Update(bytes).many_rooms(ROOM);
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
    let cases: Vec<(&str, Vec<Vec<u8>>)> = vec![
        ("no frame", vec![token.clone(), vec![]]),
        ("a name beyond the frame", vec![vec![0x7f, 1, 2]]),
        ("an unknown sync message", vec![token.clone(), Message::Unknown(0).many_rooms(ROOM)]),
        ("no update", vec![token.clone(), update(b"hello")]),
        ("a count from nowhere", vec![token.clone(), update(&huge)]),
        (
            "a state vector from nowhere",
            vec![token.clone(), Message::Step1(&huge).many_rooms(ROOM)],
        ),
        ("awareness from nowhere", vec![token.clone(), Message::Awareness(&huge).many_rooms(ROOM)]),
        ("too much before the secret", vec![update(&vec![0; 70_000])]),
        ("too often before the secret", vec![update(b"x"); 17]),
        (
            "too many wrong secrets",
            vec![Message::Token("wrong-wrong-wrong-wrong").many_rooms(ROOM); 10],
        ),
    ];
    for (what, frames) in cases {
        let (events, mut heard) = tokio::sync::mpsc::channel::<client::LinkEvent>(64);
        let runtime = tokio::runtime::Handle::current();
        let link = client::Link::connect(&runtime, address(&running), events);
        let ended = async {
            while let Some(event) = heard.recv().await {
                match event {
                    client::LinkEvent::Connected(wire) => {
                        for frame in &frames {
                            wire.send(frame.clone());
                        }
                    }
                    client::LinkEvent::Frame(_) => {}
                    client::LinkEvent::Lost { .. } | client::LinkEvent::Refused { .. } => return,
                }
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
        assert!(ended.is_ok(), "{what}: the socket stayed open");
        drop(link);
    }
    // Ann's socket never broke, and nothing has changed.
    ann.insert(ROOM, 4, "!");
    ann.until_level().await;
    assert_eq!(ann.connections, 1);
    assert_eq!(ann.text(ROOM), "fine!");
    running.stop().await;
}

#[test]
fn an_address_of_a_running_server_is_plain_on_loopback() {
    let address = ServerAddress::parse("127.0.0.1:4000").unwrap();
    assert_eq!(address.transport(), client::Transport::Plain);
}
