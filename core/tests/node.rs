//! Ordinary Yjs clients (npm `yjs` with `y-websocket`, and `@hocuspocus/provider`) join rooms of
//! our server and write along.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic and say why")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Once;

use protocol::Secret;
use serde_json::{Value, json};
use server::{Config, Running, serve};
use tests::{Desk, Hosting};
use tokio::runtime::Runtime;

const PAPER: &str = "0123456789abcdef0123456789abcdef";
const ROOM: &str = "0123456789abcdef0123456789abcdef/00000000000000000000000000000001";
const SECRET: &str = "a-secret-for-the-tests-with-node";

/// Both kinds of client.
const KINDS: [&str; 2] = ["y-websocket", "hocuspocus"];

fn node_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/node"))
}

/// Fetches the clients once, as the lock file names them.
fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        if !node_folder().join("node_modules/yjs").is_dir() {
            eprintln!("fetching the Yjs clients (npm ci)");
            let status = Command::new("npm")
                .args(["ci", "--no-audit", "--no-fund"])
                .current_dir(node_folder())
                .status();
            assert!(status.expect("npm is installed").success(), "npm ci went wrong");
        }
    });
}

/// A person at a Node client, in another process.
struct Person {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    kind: &'static str,
}

impl Person {
    fn new(kind: &'static str, server: &str, room: &str, secret: &str, client: u32) -> Self {
        install();
        let client = client.to_string();
        let mut child = Command::new("node")
            .args(["person.mjs", kind, &format!("ws://{server}"), room, secret, &client])
            .current_dir(node_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is installed");
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, commands, answers, kind }
    }

    fn at(kind: &'static str, running: &Running, client: u32) -> Self {
        Self::new(kind, &running.address().to_string(), ROOM, SECRET, client)
    }

    /// Gives a command and waits for the answer.
    fn ask(&mut self, command: &Value) -> Value {
        writeln!(self.commands, "{command}").unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{} ended: {command}", self.kind));
        assert!(answer["vain"].is_null(), "{} waited in vain: {command}: {answer}", self.kind);
        answer
    }

    fn insert(&mut self, index: usize, words: &str) {
        self.ask(&json!({"do": "insert", "index": index, "words": words}));
    }

    fn until_level(&mut self) {
        self.ask(&json!({"do": "level"}));
    }

    fn until_text(&mut self, words: &str) -> Value {
        self.ask(&json!({"do": "text", "words": words}))
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

struct Server {
    runtime: Runtime,
    running: Option<Running>,
    dir: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let running = runtime.block_on(async {
            let running = serve(Config::loopback(dir.path().to_path_buf())).await.unwrap();
            running.create_paper(PAPER, &Secret::parse(SECRET).unwrap()).await.unwrap();
            running
        });
        Self { runtime, running: Some(running), dir }
    }

    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// Stops, does something meanwhile, and starts again at the same address.
    fn restart(&mut self, meanwhile: impl FnOnce()) {
        let mut config = Config::loopback(self.dir.path().to_path_buf());
        config.listen = self.running().address();
        self.runtime.block_on(self.running.take().unwrap().stop());
        meanwhile();
        self.running = Some(self.runtime.block_on(serve(config)).unwrap());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop());
        }
    }
}

/// All see these words, and have exactly the same.
fn all_have(people: &mut [&mut Person], words: &str) {
    let states: Vec<Value> =
        people.iter_mut().map(|person| person.until_text(words)["state"].clone()).collect();
    assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "{states:?}");
}

#[test]
fn both_kinds_of_client_meet_in_a_room() {
    let server = Server::start();
    let mut ann = Person::at("y-websocket", server.running(), 11);
    let mut ben = Person::at("hocuspocus", server.running(), 12);
    ann.insert(0, "Hello");
    ben.until_text("Hello");
    ben.insert(5, ", wörld \u{1f600}");
    all_have(&mut [&mut ann, &mut ben], "Hello, wörld \u{1f600}");
    ann.ask(&json!({"do": "delete", "index": 0, "length": 7}));
    all_have(&mut [&mut ann, &mut ben], "wörld \u{1f600}");
    // Two of one kind, too, and who comes late gets all of it.
    let mut cyd = Person::at("y-websocket", server.running(), 13);
    let mut dan = Person::at("hocuspocus", server.running(), 14);
    all_have(&mut [&mut ann, &mut ben, &mut cyd, &mut dan], "wörld \u{1f600}");
    // Hocuspocus counts what was not confirmed as durable.
    ben.until_level();
    dan.until_level();
}

#[test]
fn both_kinds_of_client_type_at_once() {
    let server = Server::start();
    for (kind, client) in KINDS.into_iter().zip([21, 23]) {
        let mut ann = Person::at(kind, server.running(), client);
        let mut ben = Person::at(kind, server.running(), client + 1);
        ann.until_level();
        ben.until_level();
        let before = ann.ask(&json!({"do": "read"}))["text"].as_str().unwrap().len();
        for round in 0..50 {
            ann.insert(0, &format!("a{round} "));
            ben.insert(0, &format!("b{round} "));
        }
        let typed = 2 * (10 * 3 + 40 * 4);
        let length = json!({"do": "length", "length": before + typed});
        let text = ann.ask(&length)["text"].as_str().unwrap().to_owned();
        ben.ask(&length);
        all_have(&mut [&mut ann, &mut ben], &text);
        for round in 0..50 {
            assert!(text.contains(&format!("a{round} ")) && text.contains(&format!("b{round} ")));
        }
    }
}

#[test]
fn a_wrong_secret_is_told_so_and_changes_nothing() {
    let server = Server::start();
    let address = server.running().address().to_string();
    for (kind, client) in KINDS.into_iter().zip([31, 32]) {
        for (secret, room) in [
            ("another-secret-of-somebody-else", ROOM),
            ("", ROOM),
            (SECRET, "ffffffffffffffffffffffffffffffff/tree"),
        ] {
            let mut eve = Person::new(kind, &address, room, secret, client);
            eve.insert(0, "evil");
            let denied = eve.ask(&json!({"do": "denied"}));
            let words = denied["denied"].as_str().unwrap();
            assert!(words.contains("not accepted"), "{kind}: {words}");
        }
    }
    let mut ann = Person::at("hocuspocus", server.running(), 33);
    ann.until_level();
    assert_eq!(ann.ask(&json!({"do": "read"}))["text"], "");
}

#[test]
fn both_kinds_of_client_come_back_after_a_restart_of_the_server() {
    let mut server = Server::start();
    let mut ann = Person::at("y-websocket", server.running(), 41);
    let mut ben = Person::at("hocuspocus", server.running(), 42);
    ann.insert(0, "one ");
    all_have(&mut [&mut ann, &mut ben], "one ");
    server.restart(|| {
        ann.insert(4, "two ");
        ben.insert(0, "zero ");
    });
    all_have(&mut [&mut ann, &mut ben], "zero one two ");
    ben.until_level();
    drop((ann, ben));
    server.restart(|| {});
    let mut cyd = Person::at("hocuspocus", server.running(), 43);
    cyd.until_text("zero one two ");
}

#[test]
fn who_was_offline_brings_their_words_along() {
    let server = Server::start();
    for (kind, client) in KINDS.into_iter().zip([51, 53]) {
        let mut ann = Person::at(kind, server.running(), client);
        let mut ben = Person::at(kind, server.running(), client + 1);
        ann.until_level();
        ann.insert(0, "and ");
        let before = ann.ask(&json!({"do": "read"}))["text"].as_str().unwrap().to_owned();
        ben.until_text(&before);
        ben.ask(&json!({"do": "offline"}));
        ben.insert(0, "offline ");
        ann.insert(before.len(), "online ");
        ann.until_level();
        ben.ask(&json!({"do": "online"}));
        all_have(&mut [&mut ann, &mut ben], &format!("offline {before}online "));
    }
}

#[test]
fn both_kinds_of_client_see_who_is_there() {
    let server = Server::start();
    let mut ann = Person::at("y-websocket", server.running(), 61);
    let mut ben = Person::at("hocuspocus", server.running(), 62);
    let people = |names: &[&str]| json!({"do": "people", "people": names});
    ann.ask(&json!({"do": "appear", "name": "Ann"}));
    ben.ask(&people(&["Ann"]));
    ben.ask(&json!({"do": "appear", "name": "Ben"}));
    ann.ask(&people(&["Ann", "Ben"]));
    // Who comes late sees both at once; who leaves is gone.
    let mut cyd = Person::at("y-websocket", server.running(), 63);
    cyd.ask(&people(&["Ann", "Ben"]));
    drop(ann);
    ben.ask(&people(&["Ben"]));
    cyd.ask(&people(&["Ben"]));
}

/// A paper's file in Quire and in two foreign editors at once: they are plain Yjs documents.
#[test]
#[expect(clippy::disallowed_methods, reason = "another program's view of the folder")]
fn a_file_of_a_paper_is_a_plain_yjs_document() {
    let dirs = tempfile::tempdir().unwrap();
    let hosting = Hosting::start(&dirs.path().join("server"));
    let folder = dirs.path().join("ann");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("main.tex"), "Dear reader.\n").unwrap();
    let mut ann = Desk::open("Ann", &folder, &dirs.path().join("data")).unwrap();
    let link = ann.replica().share(&hosting.place()).unwrap();
    ann.wait_sent();
    let (place, secret) = link.strip_prefix("quire://").unwrap().split_once('#').unwrap();
    let (server, paper) = place.split_once('/').unwrap();
    let room = format!("{paper}/{}", ann.file("main.tex"));
    let mut ben = Person::new("y-websocket", server, &room, secret, 71);
    let mut cyd = Person::new("hocuspocus", server, &room, secret, 72);
    all_have(&mut [&mut ben, &mut cyd], "Dear reader.\n");
    ben.insert(5, "kind ");
    ann.wait_text("main.tex", "Dear kind reader.\n");
    all_have(&mut [&mut cyd], "Dear kind reader.\n");
    cyd.insert(18, "Yours, C.\n");
    ann.wait_disk("main.tex", b"Dear kind reader.\nYours, C.\n");
    ann.insert("main.tex", "Dear", "My ");
    all_have(&mut [&mut ben, &mut cyd], "My Dear kind reader.\nYours, C.\n");
}
