//! The promises of `quire`, as a person at a terminal meets them: two folders, two data folders.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test may panic, and looks at folders as another program would"
)]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

struct Desk {
    dirs: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { dirs: TempDir::new().unwrap() }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.dirs.path().join(name)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dirs.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.dirs.path().join(path)).unwrap()
    }

    /// `quire` as this person, whose data folder is `NAME-data`.
    fn quire(&self, name: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quire"));
        command
            .env("QUIRE_DATA_DIR", self.folder(&format!("{name}-data")))
            .env("QUIRE_NAME", name)
            .current_dir(self.dirs.path())
            .stdin(Stdio::null());
        command
    }
}

/// A program that is ended with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn first_line(&mut self) -> String {
        let mut line = String::new();
        let out = self.0.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for a line to the person and keeps reading the rest, so that the pipe never fills.
    fn said(&mut self, word: &str) -> String {
        let mut lines = BufReader::new(self.0.stderr.take().unwrap()).lines();
        let line = lines.by_ref().map_while(Result::ok).find(|line| line.contains(word));
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        line.expect("it says so before it ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn done(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{command:?}: {stderr}");
    String::from_utf8(stdout).unwrap()
}

fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{command:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn server(desk: &Desk) -> (Running, String) {
    let mut running =
        Running::start(desk.quire("server").args(["serve", "--listen", "127.0.0.1:0"]));
    let line = running.said("Listening on");
    let address = line.split_whitespace().nth(2).unwrap().trim_end_matches('.').to_owned();
    (running, address)
}

#[test]
fn a_paper_goes_over_a_server_and_back_once_each() {
    let desk = Desk::new();
    let (_server, address) = server(&desk);
    desk.write("ann/main.tex", "one\n");
    desk.write("ann/fig/a.png", "\u{0}figure");
    let share = ["share", "ann", "--once", "--server", &address];
    let link = done(desk.quire("ann").args(share));
    assert_eq!(link.lines().count(), 1);
    assert!(link.starts_with("quire://127.0.0.1:"), "{link}");
    let link = link.trim();

    assert_eq!(done(desk.quire("bo").args(["join", link, "bo", "--once"])), "");
    assert_eq!(desk.read("bo/main.tex"), "one\n");
    assert_eq!(desk.read("bo/fig/a.png"), "\u{0}figure");

    // Both go on in vim, apart; then one after the other is level.
    desk.write("ann/main.tex", "one\nfrom ann\n");
    desk.write("bo/main.tex", "from bo\none\n");
    done(desk.quire("ann").args(["sync", "ann", "--once"]));
    done(desk.quire("bo").args(["sync", "bo", "--once"]));
    done(desk.quire("ann").args(["sync", "ann", "--once"]));
    assert_eq!(desk.read("ann/main.tex"), "from bo\none\nfrom ann\n");
    assert_eq!(desk.read("bo/main.tex"), "from bo\none\nfrom ann\n");
}

#[test]
fn a_folder_is_hosted_from_here_and_followed_live() {
    let desk = Desk::new();
    desk.write("ann/main.tex", "one\n");
    let mut hosting = Running::start(desk.quire("ann").args(["share", "ann"]));
    let link = hosting.first_line();
    done(desk.quire("bo").args(["join", &link, "bo", "--once"]));
    assert_eq!(desk.read("bo/main.tex"), "one\n");
    desk.write("bo/main.tex", "one\ntwo\n");
    done(desk.quire("bo").args(["sync", "bo", "--once"]));
    for _ in 0..500 {
        if desk.read("ann/main.tex") == "one\ntwo\n" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(desk.read("ann/main.tex"), "one\ntwo\n");

    let busy = refused(desk.quire("ann").args(["sync", "ann", "--once"]));
    assert!(busy.contains("already open"), "{busy}");
    let status = done(desk.quire("ann").args(["status", "ann"]));
    assert!(status.contains("in another Quire"), "{status}");
}

#[test]
fn killed_at_any_moment_it_goes_on_where_it_was() {
    let desk = Desk::new();
    let (_server, address) = server(&desk);
    desk.write("ann/main.tex", "start\n");
    let share = ["share", "ann", "--once", "--server", &address];
    let link = done(desk.quire("ann").args(share));
    done(desk.quire("bo").args(["join", link.trim(), "bo", "--once"]));
    for round in 0..5 {
        let mut running = Running::start(desk.quire("ann").args(["sync", "ann"]));
        running.said("Connect");
        let text = desk.read("ann/main.tex");
        desk.write("ann/main.tex", &format!("{text}ann {round}\n"));
        let text = desk.read("bo/main.tex");
        desk.write("bo/main.tex", &format!("bo {round}\n{text}"));
        done(desk.quire("bo").args(["sync", "bo", "--once"]));
        // Somewhere between noticing the change and having it written and sent.
        std::thread::sleep(std::time::Duration::from_millis(60 * round));
        drop(running);
        done(desk.quire("ann").args(["sync", "ann", "--once"]));
        done(desk.quire("bo").args(["sync", "bo", "--once"]));
        let text = desk.read("ann/main.tex");
        assert_eq!(text, desk.read("bo/main.tex"));
        for before in 0..=round {
            for who in ["ann", "bo"] {
                assert_eq!(text.matches(&format!("{who} {before}\n")).count(), 1, "{text}");
            }
        }
    }
}

#[test]
fn the_link_of_a_hosted_paper_stays_valid() {
    let desk = Desk::new();
    desk.write("ann/main.tex", "one\n");
    let share = ["share", "ann", "--once"];
    let first = done(desk.quire("ann").args(share));
    assert_eq!(done(desk.quire("ann").args(share)), first);
}

#[test]
fn the_status_is_told_and_changes_nothing() {
    let desk = Desk::new();
    desk.write("ann/main.tex", "one\n");
    let none = refused(desk.quire("ann").args(["status", "ann"]));
    assert!(none.contains("not a paper yet"), "{none}");
    assert!(!desk.folder("ann/.quire").exists());
    done(desk.quire("ann").args(["share", "ann", "--once"]));
    desk.write("ann/new.tex", "two\n");
    let status = done(desk.quire("ann").args(["status", "ann"]));
    assert!(status.contains("files    1 texts") && status.contains("changed  new.tex"), "{status}");
    let json = done(desk.quire("ann").args(["status", "ann", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["files"][0]["path"], "main.tex");
    assert_eq!(json["changed"][0], "new.tex");
}

#[test]
fn bad_input_is_told_and_leaves_all_as_it_was() {
    let desk = Desk::new();
    let missing = refused(desk.quire("ann").args(["sync", "nowhere", "--once"]));
    assert!(missing.contains("nowhere"), "{missing}");
    let link = refused(desk.quire("ann").args(["join", "hello", "bo", "--once"]));
    assert!(link.contains("quire://"), "{link}");
    desk.write("ann/main.tex", "one\n");
    let share = ["share", "ann", "--once", "--within", "3", "--server", "127.0.0.1:9"];
    let unreachable = refused(desk.quire("ann").args(share));
    assert!(unreachable.contains("127.0.0.1:9"), "{unreachable}");
    assert_eq!(desk.read("ann/main.tex"), "one\n");
    assert!(!desk.folder("bo").exists());
    desk.write("ann/.quire/paper.toml", "nonsense");
    let toml = refused(desk.quire("ann").args(["sync", "ann", "--once"]));
    assert!(toml.contains("paper.toml"), "{toml}");
}

#[test]
fn update_files_are_looked_into_and_converted() {
    let desk = Desk::new();
    let mut ours = crdt::Doc::new(crdt::ClientId::new(7).unwrap(), crdt::Options::default());
    let text = ours.text("text");
    let mut transaction = ours.transact();
    text.insert(&mut transaction, 0, "hello").unwrap();
    transaction.commit();
    let small = ours.state_v1();
    let mut transaction = ours.transact();
    text.insert(&mut transaction, 5, " world").unwrap();
    transaction.commit();
    let put = |name: &str, bytes: &[u8]| std::fs::write(desk.folder(name), bytes).unwrap();
    put("small", &small);
    put("large", &ours.state_v1());
    put("large2", &ours.state_v2());

    let quire = |args: &[&str]| done(desk.quire("ann").arg("update").args(args));
    assert_eq!(quire(&["text", "large"]), "hello world");
    assert_eq!(quire(&["text", "large2"]), "hello world");
    let info = quire(&["info", "large2"]);
    assert!(info.contains("format   V2") && info.contains("client   7 0..11"), "{info}");
    quire(&["convert", "large", "--to", "v2", "-o", "converted"]);
    assert_eq!(std::fs::read(desk.folder("converted")).unwrap(), ours.state_v2());
    quire(&["diff", "large", "small", "-o", "rest"]);
    quire(&["merge", "small", "rest", "-o", "merged"]);
    assert_eq!(quire(&["text", "merged"]), "hello world");
    put("bad", b"\xff\xff\xff");
    let bad = refused(desk.quire("ann").args(["update", "info", "bad"]));
    assert!(bad.contains("bad") && bad.contains("no Yjs update"), "{bad}");
}
