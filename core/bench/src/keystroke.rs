//! How long is the way of one keystroke? Twice over: the stages' own work, each through the door
//! that the journey uses, and two desks with a server between them on this machine, key by key,
//! with the moments that a person could see. The stages are those of the table in the
//! architecture's page; medians, in microseconds of wall time.

use crate::rows::{Rows, Subject, median};
use anyhow::{Context as _, Result, ensure};
use bench::trace::Trace;
use crdt::ClientId;
use indicatif::ProgressBar;
use protocol::Message;
use protocol::message::RoomFrame;
use replica::{
    Change, Config, Edit, Network, Notification, Opened, Person, Replica, Saved, ServerPlace,
};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use store::{Document, Store, StoreOptions};

/// Longest time that anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many keys are pressed.
    #[arg(long, default_value_t = 200)]
    keys: usize,
    /// Rest between two keys on the desks, in milliseconds: a quick typist has 50 or more.
    #[arg(long, default_value_t = 50)]
    rest_ms: u64,
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &Arguments) -> Result<Rows> {
    let folder = tempfile::tempdir().context("making a folder to work in")?;
    let paper = Trace::read("B4")?.end;
    let mut rows = Rows::default();
    stages(folder.path(), &paper, arguments.keys, &mut rows)?;
    two_desks(folder.path(), &paper, arguments, &mut rows)?;
    Ok(rows)
}

/// A named series of times.
struct Series {
    name: &'static str,
    us: Vec<f64>,
}

impl Series {
    fn new(name: &'static str) -> Self {
        Self { name, us: Vec::new() }
    }

    fn time<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = work();
        self.took(start.elapsed());
        result
    }

    fn took(&mut self, time: Duration) {
        self.us.push(time.as_secs_f64() * 1e6);
    }

    fn add_to(self, id: &str, rows: &mut Rows) {
        let subject = Subject { bench: "keystroke", id, who: "quire" };
        rows.add(subject, self.name, median(self.us), "us");
    }
}

fn document(folder: &Path, client: u64, paper: &str) -> Result<(Store, Document)> {
    let client = ClientId::new(client).context("a client id below 2^53")?;
    let mut store = Store::open(folder, StoreOptions::default())?;
    let mut document = store.document("main", client)?;
    let text = document.text();
    document.transact(|transaction| text.insert(transaction, 0, paper)).0?;
    store.flush()?;
    Ok((store, document))
}

/// Each stage's own work on a paper of real length, one after the other.
fn stages(folder: &Path, paper: &str, keys: usize, rows: &mut Rows) -> Result<()> {
    let (store, mut here) = document(&folder.join("here"), 1, paper)?;
    let room = format!("{}/{}", "0".repeat(32), "1".repeat(32));
    let whole = here.doc().state_v1();
    let mut there_store = Store::open(&folder.join("there"), StoreOptions::default())?;
    let mut there = there_store.document("main", ClientId::new(2).context("small")?)?;
    there.apply(&whole)?;

    let mut changed = Series::new("6 edit to update, queued for the log");
    let mut durable = Series::new("7 record durable");
    let mut wrapped = Series::new("8 update to message");
    let mut heard = Series::new("10 message to update");
    let mut applied = Series::new("11, 13 update to delta, queued for the log");
    let text = here.text();
    let progress = ProgressBar::new(keys as u64).with_message("stages");
    for key in 0..keys {
        let at = place_of(key, text.len(here.doc()));
        let (done, written) =
            changed.time(|| here.transact(|transaction| text.insert(transaction, at, "x")));
        done?;
        let update = written.context("an insert changes something")?.update;
        durable.time(|| store.flush())?;
        let frame = wrapped.time(|| Message::Update(&update).many_rooms(&room));
        let arrived = heard.time(|| RoomFrame::read(&frame))?;
        let Message::Update(update) = arrived.message else {
            anyhow::bail!("the message reads back as another");
        };
        let arrived = applied.time(|| there.apply(update))?;
        ensure!(arrived.is_some_and(|written| !written.delta.is_empty()), "nothing arrived");
        progress.inc(1);
    }
    progress.finish_and_clear();
    for series in [changed, durable, wrapped, heard, applied] {
        series.add_to("stage by itself", rows);
    }
    Ok(())
}

/// Somewhere in the text, not the same place twice running.
fn place_of(key: usize, len: u32) -> u32 {
    let place = key.wrapping_mul(7_919) % (len as usize + 1);
    u32::try_from(place).unwrap_or(0)
}

struct Desk {
    replica: Replica,
    opened: Opened,
    version: u64,
    len: u32,
    news: Receiver<(Instant, Notification)>,
}

type Notify = Box<dyn Fn(Notification) + Send>;

impl Desk {
    fn new(name: &str, open: impl FnOnce(Person, Notify) -> Result<Replica>) -> Result<Self> {
        let (sender, news) = mpsc::channel();
        let notify: Notify = Box::new(move |notification| {
            // Who does not listen any more does not mind.
            drop(sender.send((Instant::now(), notification)));
        });
        let replica = open(Person { name: name.to_owned(), color: 1 }, notify)?;
        let view = replica.view()?;
        let file = view.files.iter().find(|file| file.path == "main.tex");
        let file = file.and_then(|file| file.id).context("the paper has its file")?;
        let opened = replica.open_editor(file)?;
        let len = u32::try_from(opened.text.encode_utf16().count())?;
        Ok(Self { replica, version: opened.version, opened, len, news })
    }

    fn press(&self, at: u32) {
        let change = Change { from: at, to: at, insert: "x".to_owned() };
        let (editor, version) = (self.opened.editor, self.version);
        self.replica.edit(Edit { editor, version, updates: vec![vec![change]] });
    }

    /// Waits for a notification and returns when it came.
    fn wait(&mut self, mut wanted: impl FnMut(&Notification) -> bool) -> Result<Instant> {
        loop {
            let (when, notification) = self.news.recv_timeout(PATIENCE).context("no news")?;
            if let Notification::Patches { version, patches, .. } = &notification {
                self.version = version + patches.len() as u64;
            }
            if wanted(&notification) {
                return Ok(when);
            }
        }
    }
}

fn is_patch(notification: &Notification) -> bool {
    matches!(notification, Notification::Patches { .. })
}

/// Two desks and a server between them, key by key.
fn two_desks(folder: &Path, paper: &str, arguments: &Arguments, rows: &mut Rows) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let hosting = server::Config::loopback(folder.join("server"));
    let running = runtime.block_on(server::serve(hosting))?;
    let place = ServerPlace { address: running.address().to_string(), certificate: None };
    let config = |name: &str, person| Config {
        data_dir: folder.join(format!("{name}-data")),
        folder: folder.join(name),
        person,
    };
    std::fs::create_dir(folder.join("ann"))?;
    std::fs::write(folder.join("ann/main.tex"), paper)?;
    let mut ann =
        Desk::new("Ann", |person, notify| Ok(Replica::open(config("ann", person), notify)?))?;
    let link = ann.replica.share(&place)?;
    let mut bo =
        Desk::new("Bo", |person, notify| Ok(Replica::join(config("bo", person), &link, notify)?))?;
    ann.replica.level(PATIENCE)?;
    bo.replica.level(PATIENCE)?;

    let mut taken = Series::new("1-6 key pressed to own patch");
    let mut saved = Series::new("7 key pressed to saved on this computer");
    let mut there = Series::new("1-14 key pressed to patch on the other desk");
    let mut sent = Series::new("11 key pressed to durable on the server, said back");
    let progress = ProgressBar::new(arguments.keys as u64).with_message("two desks");
    for key in 0..arguments.keys {
        std::thread::sleep(Duration::from_millis(arguments.rest_ms));
        // What came in the meantime, such as the mirror's news, is about earlier keys.
        while ann.news.try_recv().is_ok() {}
        while bo.news.try_recv().is_ok() {}
        let start = Instant::now();
        ann.press(place_of(key, ann.len));
        ann.len += 1;
        let patch = ann.wait(is_patch)?;
        taken.took(patch - start);
        there.took(bo.wait(is_patch)? - start);
        let mut saved_at = None;
        let mut last_sent = None;
        while last_sent.is_none() {
            let mut both = (false, false);
            let when = ann.wait(|notification| {
                let Notification::Status(status) = notification else { return false };
                let sent = status.network == Network::Online && status.unsent == 0;
                both = (status.saved == Saved::Saved, sent);
                both.0 || both.1
            })?;
            if both.0 {
                saved_at.get_or_insert(when);
            }
            if both.0 && both.1 {
                last_sent = Some(when);
            }
        }
        saved.us.extend(saved_at.map(|when| (when - start).as_secs_f64() * 1e6));
        sent.us.extend(last_sent.map(|when| (when - start).as_secs_f64() * 1e6));
        progress.inc(1);
    }
    progress.finish_and_clear();
    for series in [taken, saved, there, sent] {
        series.add_to("two desks and a server", rows);
    }
    ann.replica.close()?;
    bo.replica.close()?;
    runtime.block_on(running.stop());
    Ok(())
}
