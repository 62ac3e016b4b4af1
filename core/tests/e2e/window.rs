//! One person's Quire, driven as a person would: keys, clicks, and reading what is on the screen.
//!
//! Each window has its own `WebKitWebDriver`, because that drives one program at a time. Waiting
//! is for what the screen shows, never for a time; the deadline only ends a test that hangs.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
use fantoccini::error::CmdError;
use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

/// Long enough for a machine that builds something else at the same time.
const DEADLINE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(50);

/// Keys that have no character, as `WebDriver` names them.
pub(crate) const CONTROL: char = '\u{E009}';
pub(crate) const ENTER: char = '\u{E007}';
pub(crate) const ESCAPE: char = '\u{E00C}';
pub(crate) const END: char = '\u{E010}';
pub(crate) const HOME: char = '\u{E011}';
pub(crate) const DOWN: char = '\u{E015}';

/// A person at a desk of their own: a folder for the paper, one for Quire's data.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) name: &'static str,
    pub(crate) color: u8,
    /// Where both folders and the pictures are.
    pub(crate) place: PathBuf,
}

impl Person {
    pub(crate) fn folder(&self) -> PathBuf {
        self.place.join(self.name).join("night-migrants")
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.place.join(self.name).join("data")
    }

    /// Opens the paper in this person's folder.
    pub(crate) async fn open(&self) -> Window {
        Window::start(self, vec![self.folder().display().to_string()]).await
    }

    /// Opens the start window.
    pub(crate) async fn start(&self) -> Window {
        Window::start(self, Vec::new()).await
    }

    /// Joins a paper into this person's folder.
    pub(crate) async fn join(&self, link: &str) -> Window {
        let into = self.folder().display().to_string();
        Window::start(self, vec!["--join".into(), link.into(), "--into".into(), into]).await
    }

    /// Reads a file of the folder.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder().join(path)).unwrap()
    }
}

/// An open window.
#[derive(Debug)]
pub(crate) struct Window {
    client: Client,
    person: Person,
    pid: u32,
    /// Held until the window is dropped.
    _driver: Ended,
}

/// The driver; ends with the test, also with a failed one.
#[derive(Debug)]
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // A driver that is killed leaves its program behind.
        if self.is_running() {
            end(self.pid, "-KILL");
        }
    }
}

impl Window {
    async fn start(person: &Person, mut arguments: Vec<String>) -> Self {
        let app = std::env::var("QUIRE_APP").expect("QUIRE_APP names the built app");
        for argument in ["--name", person.name, "--color", &person.color.to_string(), "--data-dir"]
        {
            arguments.push(argument.to_owned());
        }
        arguments.push(person.data_dir().display().to_string());
        fs::create_dir_all(person.data_dir()).unwrap();
        let log = person.place.join(person.name).join("app.log");
        let log = fs::OpenOptions::new().create(true).append(true).open(log).unwrap();

        let port = free_port();
        let driver = Command::new("WebKitWebDriver")
            .args(["--host=127.0.0.1", &format!("--port={port}")])
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            .env("HOME", person.place.join(person.name))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("WebKitWebDriver can be started");
        let driver = Ended(driver);

        let options = json!({ "binary": app, "args": arguments });
        let capabilities: Capabilities =
            [("webkitgtk:browserOptions".to_owned(), options)].into_iter().collect();
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(started.elapsed() < DEADLINE, "WebKitWebDriver does not listen");
            tokio::time::sleep(PAUSE).await;
        }
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap_or_else(|problem| panic!("{}'s window did not open: {problem}", person.name));
        let pid = fs::read_to_string(person.data_dir().join("app.pid")).unwrap();
        let pid = pid.trim().parse().unwrap();
        let window = Self { client, person: person.clone(), pid, _driver: driver };
        window.client.set_window_rect(0, 0, 1440, 900).await.unwrap();
        window.until_ready().await;
        window
    }

    async fn until_ready(&self) {
        self.until("the page is ready", async |window: &Self| {
            window.script("return document.documentElement.dataset.ready").await == "true"
        })
        .await;
    }

    /// Loads the page again, as after a crash of the engine that shows it.
    pub(crate) async fn load_anew(&self) {
        self.client.refresh().await.unwrap();
        self.until_ready().await;
    }

    /// Waits until the screen shows something; what it is, is told when it never does.
    pub(crate) async fn until(&self, what: &str, shown: impl AsyncFn(&Self) -> bool) {
        let started = Instant::now();
        while !shown(self).await {
            if started.elapsed() > DEADLINE {
                self.picture("failed").await;
                panic!(
                    "{}: never came: {what}\ntext: {:?}\nstatus: {:?}",
                    self.person.name,
                    self.text().await,
                    self.status().await
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until the editor's text is as wanted.
    pub(crate) async fn until_text(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        self.until(what, async |window: &Self| wanted(&window.text().await)).await;
    }

    /// Waits until everything typed so far is said to be saved, and sent if others are there.
    pub(crate) async fn until_settled(&self) {
        self.until("saved and sent", Self::is_settled).await;
    }

    /// Is everything typed so far said to be saved and sent?
    pub(crate) async fn is_settled(&self) -> bool {
        let status = self.status().await;
        status["saved"] == "saved" && status["unsent"] == "0"
    }

    /// Goes on in the window that opened in place of this one.
    pub(crate) async fn switch_to_the_other_window(&self) {
        let started = Instant::now();
        let first = self.client.window().await.ok();
        loop {
            let open = self.client.windows().await.unwrap_or_default();
            if let Some(other) = open.into_iter().find(|window| Some(window) != first.as_ref()) {
                self.client.switch_to_window(other).await.unwrap();
                return;
            }
            assert!(started.elapsed() < DEADLINE, "{}: no other window opened", self.person.name);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Types into the editor, where its caret stands.
    pub(crate) async fn keys(&self, text: &str) {
        self.client.perform_actions(typed(text)).await.unwrap();
    }

    /// Presses a key while Control is held.
    pub(crate) async fn control(&self, value: char) {
        let keys = KeyActions::new("keyboard".into())
            .then(KeyAction::Down { value: CONTROL })
            .then(KeyAction::Down { value })
            .then(KeyAction::Up { value })
            .then(KeyAction::Up { value: CONTROL });
        self.client.perform_actions(keys).await.unwrap();
    }

    /// Puts the caret at the end of a line, counted from 1.
    pub(crate) async fn go_to_end_of_line(&self, line: usize) {
        self.control(HOME).await;
        let mut keys: String = std::iter::repeat_n(DOWN, line - 1).collect();
        keys.push(END);
        self.keys(&keys).await;
    }

    /// Puts the caret into the editor.
    pub(crate) async fn focus(&self) {
        self.script("document.querySelector('[data-testid=\"editor\"]').focus()").await;
    }

    /// Clicks what has this test id.
    pub(crate) async fn click(&self, testid: &str) {
        let css = format!("[data-testid=\"{testid}\"]");
        let started = Instant::now();
        loop {
            let clicked = match self.client.find(Locator::Css(&css)).await {
                Ok(element) => element.click().await,
                Err(problem) => Err(problem),
            };
            match clicked {
                Ok(()) => return,
                Err(_) if started.elapsed() < DEADLINE => tokio::time::sleep(PAUSE).await,
                Err(problem) => {
                    self.picture("failed").await;
                    panic!("{}: {testid} can't be clicked: {problem}", self.person.name);
                }
            }
        }
    }

    /// Opens a file by its row.
    pub(crate) async fn open_file(&self, path: &str) {
        self.click(&format!("file:{path}")).await;
        self.until(path, async |window: &Self| {
            let label = window
                .script(
                    "return document.querySelector('[data-testid=\"editor\"]')?.getAttribute('aria-label')",
                )
                .await;
            label.as_str() == Some(path)
        })
        .await;
    }

    /// Returns the editor's text, as its lines stand on the screen. The texts of these tests are
    /// shorter than the window is high.
    pub(crate) async fn text(&self) -> String {
        let lines = self
            .script(
                "return [...document.querySelectorAll('[data-testid=\"editor\"] .cm-line')]
                    .map(line => line.textContent).join('\\n')",
            )
            .await;
        lines.as_str().unwrap_or_default().to_owned()
    }

    /// Returns the text and what is said of it, read in one moment.
    pub(crate) async fn text_and_status(&self) -> (String, Value) {
        let both = self
            .script(&format!(
                "return [[...document.querySelectorAll('[data-testid=\"editor\"] .cm-line')]
                    .map(line => line.textContent).join('\\n'), {STATUS}]"
            ))
            .await;
        (both[0].as_str().unwrap_or_default().to_owned(), both[1].clone())
    }

    /// Returns what the status bar says.
    pub(crate) async fn status(&self) -> Value {
        self.script(&format!("return {STATUS}")).await
    }

    /// Returns an element's text.
    pub(crate) async fn shown(&self, testid: &str) -> String {
        let found = self
            .script(&format!(
                "return document.querySelector('[data-testid=\"{testid}\"]')?.textContent ?? ''"
            ))
            .await;
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Shares the paper from this computer, for this computer, and returns the link that the
    /// dialog shows.
    pub(crate) async fn share(&self) -> String {
        self.click("share-button").await;
        self.click("share-start").await;
        self.shown_link().await
    }

    /// Shares the paper from this computer, for those who reach it by an address.
    pub(crate) async fn share_at(&self, address: &str) -> String {
        self.click("share-button").await;
        self.click("share-network").await;
        self.script("document.querySelector('[data-testid=\"share\"] .question input').focus()")
            .await;
        self.keys(address).await;
        self.click("share-start").await;
        self.shown_link().await
    }

    async fn shown_link(&self) -> String {
        let link = "return document.querySelector('[data-testid=\"share-link\"]')?.value ?? ''";
        self.until("a link", async |window: &Self| {
            window.script(link).await.as_str().is_some_and(|link| link.starts_with("quire://"))
        })
        .await;
        let link = self.script(link).await.as_str().unwrap_or_default().to_owned();
        self.click("share-link").await;
        self.keys(&ESCAPE.to_string()).await;
        self.until("the dialog closed", async |window: &Self| {
            window.script("return !document.querySelector('[data-testid=\"share\"]')").await == true
        })
        .await;
        link
    }

    /// Switches "Work offline", and waits until the status says so.
    pub(crate) async fn switch_offline(&self, offline: bool) {
        self.script("document.querySelector('[data-testid=\"offline-switch\"] input').click()")
            .await;
        self.until("the switch", async |window: &Self| {
            let network = window.status().await["network"].clone();
            if offline { network == "offline" } else { network == "online" }
        })
        .await;
    }

    /// Keeps a picture of the window as test output.
    pub(crate) async fn picture(&self, name: &str) {
        let png = self.client.screenshot().await.unwrap();
        fs::write(self.person.place.join(format!("{name}-{}.png", self.person.name)), png).unwrap();
    }

    /// Closes the window and waits until the program has ended. The system's word is used for it:
    /// `WebDriver` ends a program at once together with its last window.
    pub(crate) async fn close(self) {
        end(self.pid, "-TERM");
        let ended = self.has_ended().await;
        assert!(ended, "{}: the program goes on after its last window", self.person.name);
    }

    /// Ends the program at once, as a crash does, in the middle of typing `text`.
    pub(crate) async fn kill_while_typing(self, text: &str) {
        let typing = self.client.perform_actions(typed(text));
        let killing = async {
            tokio::time::sleep(PAUSE).await;
            end(self.pid, "-KILL");
        };
        // What is typed into a program that ends has no answer.
        let (typed, ()) = tokio::join!(typing, killing);
        drop(typed);
        assert!(self.has_ended().await, "{}: killed, but it goes on", self.person.name);
    }

    async fn has_ended(&self) -> bool {
        let started = Instant::now();
        while self.is_running() {
            if started.elapsed() > DEADLINE {
                return false;
            }
            tokio::time::sleep(PAUSE).await;
        }
        true
    }

    /// Is it this program of this person, and not another that got its number?
    fn is_running(&self) -> bool {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&self.person.data_dir().display().to_string())
    }

    async fn script(&self, script: &str) -> Value {
        let started = Instant::now();
        loop {
            match self.client.execute(script, Vec::new()).await {
                Ok(value) => return value,
                // The page may just be loading.
                Err(CmdError::Standard(_)) if started.elapsed() < DEADLINE => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(problem) => panic!("{}: {script}: {problem}", self.person.name),
            }
        }
    }
}

/// What the status bar says, as an object.
const STATUS: &str = "(() => {
    const at = (name) => document.querySelector(`[data-testid=\"status-${name}\"]`)?.dataset ?? {}
    return {
        saved: at('saved').state ?? '',
        network: at('sent').state ?? '',
        unsent: at('sent').count ?? '',
        people: at('people').count ?? '',
    }
})()";

fn typed(text: &str) -> KeyActions {
    let mut keys = KeyActions::new("keyboard".into());
    for value in text.chars() {
        let value = if value == '\n' { ENTER } else { value };
        keys = keys.then(KeyAction::Down { value }).then(KeyAction::Up { value });
    }
    keys
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

fn end(pid: u32, signal: &str) {
    // It may have ended in the meantime.
    drop(Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status());
}

/// Makes an empty place for one test; what the last run left is removed.
pub(crate) fn place(test: &str) -> PathBuf {
    let target = std::env::var_os("QUIRE_E2E_DIR").map(PathBuf::from);
    let target =
        target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/e2e"));
    let place = target.join(test);
    if place.exists() {
        fs::remove_dir_all(&place).unwrap();
    }
    fs::create_dir_all(&place).unwrap();
    place.canonicalize().unwrap()
}
