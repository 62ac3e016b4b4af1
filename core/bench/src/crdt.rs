//! What does one edit cost? A recorded history is typed again, one transaction an edit, each
//! giving its V1 update as an event; ours and yrs in turn, so that both meet the same machine.
//! CPU time counts, the median of the rounds. The bytes must be those of Yjs.

use crate::rows::{Rows, Subject, median};
use crate::trace::{self, Bytes, Trace};
use anyhow::{Result, ensure};
use cpu_time::ProcessTime;
use crdt::{ClientId, Doc, Options};
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest as _, Sha256};

use yrs::{GetString as _, ReadTxn as _, Text as _, Transact as _};

const TRACES: [(&str, &str); 8] = [
    ("B4", "automerge-paper.json.gz"),
    ("seph-blog1", "seph-blog1.json.gz"),
    ("rustcode", "rustcode.json.gz"),
    ("sveltecomponent", "sveltecomponent.json.gz"),
    ("json-crdt-patch", "json-crdt-patch.json.gz"),
    ("json-crdt-blog-post", "json-crdt-blog-post.json.gz"),
    ("friendsforever", "friendsforever_flat.json.gz"),
    ("clownschool", "clownschool_flat.json.gz"),
];

const CLIENT: u64 = 1;

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only this history (B4 is the paper of the suite's benchmark of that name).
    #[arg(long)]
    only: Option<String>,
    /// How often each side types it.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
}

/// One side's work on a trace.
struct Typed {
    cpu_ms: f64,
    events: Sha256,
    event_bytes: u64,
    state: Vec<u8>,
    text: String,
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &Arguments) -> Result<Rows> {
    let wanted: Vec<_> = (TRACES.iter())
        .filter(|(id, _)| arguments.only.as_deref().is_none_or(|only| only == *id))
        .collect();
    ensure!(!wanted.is_empty(), "there is no history of that name; known: {}", names());
    let mut rows = Rows::default();
    for (id, file) in wanted {
        one(id, file, arguments.rounds.max(1), &mut rows)?;
    }
    Ok(rows)
}

fn names() -> String {
    TRACES.map(|(id, _)| id).join(", ")
}

fn one(id: &str, file: &str, rounds: u32, rows: &mut Rows) -> Result<()> {
    let trace = Trace::read(file)?;
    let reference = trace::reference(file, CLIENT)?;
    let progress = ProgressBar::new(u64::from(rounds) * 2);
    progress.set_style(ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {msg}")?);
    progress.set_prefix(id.to_owned());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut our_bytes, mut their_bytes) = (None, None);
    for _ in 0..rounds {
        progress.set_message("quire");
        let typed = quire(&trace)?;
        ensure!(typed.text == trace.end, "{id}: quire ends with another text");
        ours.push(typed.cpu_ms);
        our_bytes = Some((bytes(&typed.state), events(typed)));
        progress.inc(1);
        progress.set_message("yrs");
        let typed = yrs(&trace)?;
        ensure!(typed.text == trace.end, "{id}: yrs ends with another text");
        theirs.push(typed.cpu_ms);
        their_bytes = Some((bytes(&typed.state), events(typed)));
        progress.inc(1);
    }
    progress.finish_and_clear();

    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let count = trace.transactions.len() as f64;
    let yrs_name = "yrs 0.28";
    for (who, times, made) in [("quire", &ours, &our_bytes), (yrs_name, &theirs, &their_bytes)] {
        let subject = Subject { bench: "crdt", id, who };
        let total = median(times.clone());
        rows.add(subject, "CPU, all edits", total, "ms");
        rows.add(subject, "CPU, one edit with its V1 event", total / count * 1000.0, "us");
        if let Some((state, _)) = made {
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            rows.add(subject, "state, V1", state.bytes as f64, "bytes");
        }
    }
    rows.add(
        Subject { bench: "crdt", id, who: "quire" },
        "CPU against yrs",
        median(theirs) / median(ours),
        "times less",
    );
    println!("{id}: {} edits in {} transactions, {rounds} rounds", trace.edits(), count);
    if let Some((state, events)) = our_bytes {
        println!("  state V1:  {} bytes, sha256 {}", state.bytes, state.sha256);
        println!("  events V1: {} bytes, sha256 {}", events.bytes, events.sha256);
        ensure!(state == reference.state_v1, "Yjs's state is {:?}", reference.state_v1);
        ensure!(events == reference.events_v1, "Yjs's events are {:?}", reference.events_v1);
        println!("  both are what Yjs writes");
    }
    Ok(())
}

fn quire(trace: &Trace) -> Result<Typed> {
    let client = ClientId::new(CLIENT).expect("small");
    let mut doc = Doc::new(client, Options { gc: true, ..Options::default() });
    let text = doc.text("text");
    let mut events = Vec::with_capacity(8 << 20);
    let start = ProcessTime::now();
    for patches in &trace.transactions {
        let mut transaction = doc.transact();
        for patch in patches {
            if patch.delete > 0 {
                text.delete(&mut transaction, patch.at, patch.delete)?;
            }
            if !patch.insert.is_empty() {
                text.insert(&mut transaction, patch.at, &patch.insert)?;
            }
        }
        if let Some(update) = transaction.commit().update_v1() {
            events.extend_from_slice(&update);
        }
    }
    let cpu_ms = start.elapsed().as_secs_f64() * 1000.0;
    let (state, text) = (doc.state_v1(), text.read(&doc));
    Ok(Typed::new(cpu_ms, &events, state, text))
}

fn yrs(trace: &Trace) -> Result<Typed> {
    let options = yrs::Options {
        client_id: yrs::ClientID::new(CLIENT),
        offset_kind: yrs::OffsetKind::Utf16,
        ..yrs::Options::default()
    };
    let doc = yrs::Doc::with_options(options);
    let text = doc.get_or_insert_text("text");
    let events = std::sync::Arc::new(std::sync::Mutex::new(Vec::with_capacity(8 << 20)));
    let listener = events.clone();
    doc.observe_update_v1("bench", move |_, event| {
        if let Ok(mut events) = listener.lock() {
            events.extend_from_slice(&event.update);
        }
    })?;
    let start = ProcessTime::now();
    for patches in &trace.transactions {
        let mut transaction = doc.transact_mut();
        for patch in patches {
            if patch.delete > 0 {
                text.remove_range(&mut transaction, patch.at, patch.delete);
            }
            if !patch.insert.is_empty() {
                text.insert(&mut transaction, patch.at, &patch.insert);
            }
        }
    }
    let cpu_ms = start.elapsed().as_secs_f64() * 1000.0;
    let transaction = doc.transact();
    let state = transaction.encode_state_as_update_v1(&yrs::StateVector::default());
    let text = text.get_string(&transaction);
    let events = events.lock().map(|events| events.clone()).unwrap_or_default();
    Ok(Typed::new(cpu_ms, &events, state, text))
}

impl Typed {
    fn new(cpu_ms: f64, events: &[u8], state: Vec<u8>, text: String) -> Self {
        let event_bytes = events.len() as u64;
        Self { cpu_ms, events: Sha256::new_with_prefix(events), event_bytes, state, text }
    }
}

fn bytes(of: &[u8]) -> Bytes {
    Bytes { bytes: of.len() as u64, sha256: hex(Sha256::new_with_prefix(of)) }
}

fn events(typed: Typed) -> Bytes {
    Bytes { bytes: typed.event_bytes, sha256: hex(typed.events) }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}
