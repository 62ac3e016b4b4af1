//! SE-8, SE-25: neither a secret nor a word of a text is in the log, however much is logged.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use client::Papers;
use protocol::Secret;
use server::{Config, serve};
use tracing_subscriber::filter::LevelFilter;

use crate::desk::{Desk, PAPER, ROOM, address};

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn neither_secrets_nor_texts_are_logged() {
    // Of all tests of this program: each may add to it, none has these words.
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(|| Log)
        .init();
    let canary = "canary-secret-that-no-log-may-have";
    let wrong = "canary-wrong-one-that-no-log-may-have";
    let dir = tempfile::tempdir().unwrap();
    let running = serve(Config::loopback(dir.path().to_path_buf())).await.unwrap();
    let papers =
        |secret| Papers::new(address(&running), PAPER, Secret::parse(secret).unwrap()).unwrap();
    papers(canary).create().await.unwrap();
    let blob = papers(canary).put_blob(b"canary of a figure".to_vec()).await.unwrap();
    papers(canary).get_blob(&blob, 100).await.unwrap();
    papers(wrong).create().await.unwrap_err();
    let mut ann = Desk::new(1, address(&running), Secret::parse(canary).unwrap(), &[ROOM]);
    ann.insert(ROOM, 0, "canary of a text");
    ann.until_level().await;
    let mut eve = Desk::new(2, address(&running), Secret::parse(wrong).unwrap(), &[ROOM]);
    eve.until("denied", |eve| !eve.denied.is_empty()).await;
    // As y-websocket clients do: the secret in the address.
    for secret in [canary, wrong] {
        let url = format!("ws://{}/{ROOM}?token={secret}", running.address());
        let stream = tokio::net::TcpStream::connect(running.address()).await.unwrap();
        let (socket, _) = tokio_tungstenite::client_async(url, stream).await.unwrap();
        drop(socket);
    }
    running.stop().await;
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    let log = String::from_utf8_lossy(&log);
    assert!(log.contains("listening"), "there is a log");
    let found = log.lines().find(|line| line.contains("canary"));
    assert_eq!(found, None);
}
