//! A person at a desk: documents, a peer and a link, as a replica has them but without its files.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use client::{Link, LinkEvent, ServerAddress, Wire};
use crdt::{ClientId, Doc, Options, StateVector};
use protocol::{Heard, Peer, Secret};
use server::{Config, Running, serve};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;

pub(crate) const PAPER: &str = "0123456789abcdef0123456789abcdef";
pub(crate) const ROOM: &str = "0123456789abcdef0123456789abcdef/tree";

/// A test that waits longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn secret() -> Secret {
    Secret::parse("a-secret-for-the-tests-of-the-server").unwrap()
}

pub(crate) async fn start(dir: &tempfile::TempDir) -> Running {
    let running = serve(Config::loopback(dir.path().to_path_buf())).await.unwrap();
    running.create_paper(PAPER, &secret()).await.unwrap();
    running
}

pub(crate) fn address(running: &Running) -> ServerAddress {
    ServerAddress::parse(&running.address().to_string()).unwrap()
}

/// Copies files as they are now: what a process that is killed now leaves behind.
#[expect(clippy::disallowed_methods, reason = "a test plays the crash")]
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else if entry.file_name() != "LOCK" {
            let bytes = std::fs::read(entry.path()).unwrap();
            std::fs::File::create(&target).unwrap().write_all(&bytes).unwrap();
        }
    }
}

/// One person, connected or not.
pub(crate) struct Desk {
    pub(crate) docs: BTreeMap<String, Doc>,
    pub(crate) peer: Peer,
    pub(crate) link: Link,
    events: mpsc::Receiver<LinkEvent>,
    wire: Option<Wire>,
    /// What was heard of awareness, by room.
    pub(crate) awareness: Vec<Vec<u8>>,
    pub(crate) denied: Vec<String>,
    pub(crate) connections: u32,
}

impl Desk {
    pub(crate) fn new(client: u64, server: ServerAddress, secret: Secret, rooms: &[&str]) -> Self {
        let (sender, events) = mpsc::channel(16);
        let mut peer = Peer::server(secret);
        let mut docs = BTreeMap::new();
        for room in rooms {
            let options = Options { gc: false, ..Options::default() };
            let mut doc = Doc::new(ClientId::new(client).unwrap(), options);
            doc.text("text");
            peer.join(room, &doc.state_vector());
            docs.insert((*room).to_owned(), doc);
        }
        Self {
            docs,
            peer,
            link: Link::connect(&Handle::current(), server, sender),
            events,
            wire: None,
            awareness: Vec::new(),
            denied: Vec::new(),
            connections: 0,
        }
    }

    pub(crate) fn at(running: &Running, client: u64) -> Self {
        Self::new(client, address(running), secret(), &[ROOM])
    }

    pub(crate) fn text(&mut self, room: &str) -> String {
        let doc = self.docs.get_mut(room).unwrap();
        doc.text("text").read(doc)
    }

    pub(crate) fn state(&self, room: &str) -> StateVector {
        self.docs[room].state_vector()
    }

    /// Returns how much this desk's own client has made in each room.
    pub(crate) fn own_clocks(&self) -> Vec<(ClientId, String, u32)> {
        let clock = |(room, doc): (&String, &Doc)| {
            (doc.client(), room.clone(), doc.state_vector().get(doc.client()))
        };
        self.docs.iter().map(clock).collect()
    }

    /// Types, and sends it if it can be sent.
    pub(crate) fn insert(&mut self, room: &str, index: u32, words: &str) {
        let doc = self.docs.get_mut(room).unwrap();
        let text = doc.text("text");
        let mut transaction = doc.transact();
        text.insert(&mut transaction, index, words).unwrap();
        let update = transaction.commit().update_v1().unwrap();
        self.peer.update(room, &update);
        self.flush();
    }

    pub(crate) fn flush(&mut self) {
        while let Some(frame) = self.peer.next_frame() {
            if let Some(wire) = &self.wire {
                wire.send(frame);
            }
        }
    }

    /// Goes on until `done`, or fails loudly.
    pub(crate) async fn until(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        let patience = timeout(PATIENCE, async {
            while !done(self) {
                self.step().await;
            }
        });
        assert!(patience.await.is_ok(), "waited in vain: {what}; {:?}", self.peer);
    }

    pub(crate) async fn until_level(&mut self) {
        self.until("level", |desk| desk.peer.is_level()).await;
    }

    pub(crate) async fn until_text(&mut self, room: &str, words: &str) {
        self.until(words, |desk| desk.text(room) == words).await;
    }

    async fn step(&mut self) {
        match self.events.recv().await.expect("the link lives as long as this desk") {
            LinkEvent::Connected(wire) => {
                self.connections += 1;
                self.wire = Some(wire);
                self.peer.connected();
                for (room, doc) in &self.docs {
                    self.peer.join(room, &doc.state_vector());
                }
            }
            LinkEvent::Frame(frame) => self.hear(&frame),
            LinkEvent::Lost { .. } | LinkEvent::Refused { .. } => {
                self.wire = None;
                self.peer.lost();
            }
        }
        self.flush();
    }

    fn hear(&mut self, frame: &[u8]) {
        for heard in self.peer.hear(frame).unwrap() {
            match heard {
                Heard::StateVector { room, state } => {
                    let lacking = self.docs[&room].diff_v1(&state);
                    self.peer.answer(&room, &lacking);
                }
                Heard::Update { room, update, .. } => {
                    self.docs.get_mut(&room).unwrap().apply_v1(update).unwrap();
                }
                Heard::Awareness { update, .. } => self.awareness.push(update.to_vec()),
                Heard::Denied { reason, .. } => self.denied.push(reason.to_owned()),
                _ => {}
            }
        }
    }
}
