//! Somebody with the link who means no good: what they write into the documents stays in the
//! paper's own folder, and the others go on.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use client::{Invitation, Link, LinkEvent, Wire};
use crdt::{Any, ClientId, Doc, Options};
use protocol::{Heard, Peer};
use tempfile::TempDir;
use tests::{Desk, Hosting, files_below};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

/// A client that writes whatever it likes into one room.
struct Eve {
    runtime: Runtime,
    events: mpsc::Receiver<LinkEvent>,
    _link: Link,
    wire: Option<Wire>,
    peer: Peer,
    room: String,
    doc: Doc,
}

impl Eve {
    fn enter(link: &str, document: &str) -> Self {
        let invitation = Invitation::parse(link).unwrap();
        let runtime = Runtime::new().unwrap();
        let (sender, events) = mpsc::channel(64);
        let link = Link::connect(runtime.handle(), invitation.server.clone(), sender);
        let peer = Peer::server(invitation.secret.clone());
        let room = format!("{}/{document}", invitation.paper());
        let doc =
            Doc::new(ClientId::new(666).unwrap(), Options { gc: false, ..Options::default() });
        let mut eve = Self { runtime, events, _link: link, wire: None, peer, room, doc };
        while !eve.peer.standing(&eve.room).is_some_and(|standing| standing.is_level()) {
            eve.step();
        }
        eve
    }

    /// Takes in one event.
    fn step(&mut self) {
        match self.runtime.block_on(self.events.recv()).expect("the link goes on") {
            LinkEvent::Connected(wire) => {
                self.wire = Some(wire);
                self.peer.connected();
                self.peer.join(&self.room, &self.doc.state_vector());
            }
            LinkEvent::Frame(frame) => {
                for heard in self.peer.hear(&frame).unwrap() {
                    match heard {
                        Heard::StateVector { room, state } => {
                            self.peer.answer(&room, &self.doc.diff_v1(&state));
                        }
                        Heard::Update { update, .. } => {
                            self.doc.apply_v1(update).unwrap();
                        }
                        _ => {}
                    }
                }
            }
            other => panic!("{other:?}"),
        }
        self.flush();
    }

    fn flush(&mut self) {
        while let Some(frame) = self.peer.next_frame() {
            self.wire.as_ref().unwrap().send(frame);
        }
    }

    fn send(&mut self, update: &[u8]) {
        self.peer.update(&self.room, update);
        self.flush();
    }

    /// Adds an entry to the tree.
    fn add(&mut self, id: &str, members: &[(&str, Any)]) {
        let files = self.doc.map("files");
        let mut transaction = self.doc.transact();
        let entry = files.insert_map(&mut transaction, id).unwrap();
        for (key, value) in members {
            entry.insert(&mut transaction, key, value.clone()).unwrap();
        }
        let update = transaction.commit().update_v1().unwrap();
        self.send(&update);
    }
}

fn text(text: &str) -> Any {
    Any::String(text.to_owned())
}

#[test]
fn no_name_leads_out_of_the_folder() {
    let dirs = TempDir::new().unwrap();
    let hosting = Hosting::start(&dirs.path().join("server"));
    let inner = dirs.path().join("outer/ann");
    tests::write_file(&inner.join("main.tex"), b"the paper\n");
    tests::write_file(&dirs.path().join("outer/precious.tex"), b"mine\n");
    let mut ann = Desk::open("Ann", &inner, &dirs.path().join("data")).unwrap();
    let link = ann.replica().share(&hosting.place()).unwrap();
    ann.level();

    let mut eve = Eve::enter(&link, "tree");
    let names = [
        "../precious.tex",
        "../../precious.tex",
        "/etc/quire-test.tex",
        "C:\\quire.tex",
        "a/../../x.tex",
        "NUL",
        "aux.tex",
        "x.",
        "sections/.git/hooks/post-commit",
        ".quire/paper.toml",
        ".GIT/config",
        "GIT~1/config",
        "a\u{202e}xet.tex",
        "a\0b",
        "",
        ".",
        "..",
        "a//b",
        "x:stream",
        "\u{fe}/\u{0}",
    ];
    for (number, name) in names.iter().enumerate() {
        let members = [("kind", text("text")), ("path", text(name))];
        eve.add(&format!("{number:032x}"), &members);
    }
    eve.add("nonsense", &[("kind", text("text")), ("path", text("nonsense.tex"))]);
    eve.add(
        &"f".repeat(32),
        &[("kind", text("blob")), ("path", text("x.png")), ("hash", text("../x"))],
    );
    eve.add(&"e".repeat(32), &[("kind", text("other")), ("path", text("x.tex"))]);
    let long = [("kind", text("text")), ("path", text(&"x".repeat(5_000)))];
    eve.add(&"d".repeat(32), &long);

    ann.wait("all entries that make sense to be listed", |ann| {
        let refused = ann.files().into_iter().filter(|file| file.note.is_some()).count();
        (refused > names.len()).then_some(())
    });
    ann.level();
    let outer: Vec<String> = files_below(&dirs.path().join("outer")).into_keys().collect();
    assert_eq!(outer, ["ann/main.tex", "precious.tex"]);
    assert!(!std::path::Path::new("/etc/quire-test.tex").exists());
    for file in ann.files().iter().filter(|file| file.path != "main.tex") {
        assert!(file.note.as_ref().is_some_and(|note| note.contains("Not written")), "{file:?}");
    }
    // And Ann goes on.
    ann.insert("main.tex", "paper", "same ");
    ann.wait_disk("main.tex", b"the same paper\n");
}

#[test]
fn a_removed_or_spoilt_tree_deletes_no_text() {
    let dirs = TempDir::new().unwrap();
    let hosting = Hosting::start(&dirs.path().join("server"));
    let folder = dirs.path().join("ann");
    tests::write_file(&folder.join("main.tex"), b"the paper\n");
    let ann = Desk::open("Ann", &folder, &dirs.path().join("data")).unwrap();
    let link = ann.replica().share(&hosting.place()).unwrap();
    ann.level();
    let file = ann.file("main.tex").to_string();

    // An update that is none is Eve's own trouble.
    let mut eve = Eve::enter(&link, &file);
    eve.send(&[0xff; 40]);
    drop(eve);
    let mut eve = Eve::enter(&link, "tree");
    eve.add(&file, &[("kind", text("text")), ("path", text("../gone.tex"))]);
    ann.wait("the new name to be refused", |ann| {
        let files = ann.files();
        files.iter().any(|file| file.path == "../gone.tex" && file.note.is_some()).then_some(())
    });
    ann.level();
    assert_eq!(ann.disk("main.tex").unwrap(), b"the paper\n", "the file stays where it was");
    assert_eq!(ann.replica().open_editor(ann.file("../gone.tex")).unwrap().text, "the paper\n");
}
