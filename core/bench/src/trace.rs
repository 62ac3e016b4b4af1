//! Recorded editing histories of real documents, and what Yjs makes of them.

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::cases::Bytes;
use crate::program::{Op, Step};

/// Histories of one document: by which name they are asked for, and their file.
const FILES: [(&str, &str); 8] = [
    ("B4", "automerge-paper.json.gz"),
    ("seph-blog1", "seph-blog1.json.gz"),
    ("rustcode", "rustcode.json.gz"),
    ("sveltecomponent", "sveltecomponent.json.gz"),
    ("json-crdt-patch", "json-crdt-patch.json.gz"),
    ("json-crdt-blog-post", "json-crdt-blog-post.json.gz"),
    ("friendsforever", "friendsforever_flat.json.gz"),
    ("clownschool", "clownschool_flat.json.gz"),
];

/// Names of the histories of one document, but for B4.
pub(crate) const ALONE: [&str; 7] = [
    "seph-blog1",
    "rustcode",
    "sveltecomponent",
    "json-crdt-patch",
    "json-crdt-blog-post",
    "friendsforever",
    "clownschool",
];

/// Names of the histories of several people. In the last one, what others did comes person by person,
/// so that a quarter of it comes before what it rests on and has to wait.
pub(crate) const TOGETHER: [&str; 3] =
    ["friendsforever-at-once", "clownschool-at-once", "clownschool-out-of-order"];

/// One recorded history, in the positions of UTF-16.
#[derive(Debug)]
pub struct Trace {
    /// One transaction each, of one or more patches.
    pub transactions: Vec<Vec<Patch>>,
    /// The text at its end.
    pub end: String,
}

/// Deletes first, then inserts at the same place.
#[derive(Debug)]
pub struct Patch {
    /// Where, in UTF-16 units.
    pub at: u32,
    /// How many units are deleted.
    pub delete: u32,
    /// What is inserted.
    pub insert: String,
}

#[derive(Deserialize)]
struct Recorded {
    /// Histories of several people leave it out.
    #[serde(rename = "startContent", default)]
    start: String,
    #[serde(rename = "endContent")]
    end: String,
    txns: Vec<Transaction>,
}

#[derive(Deserialize)]
struct Transaction {
    patches: Vec<(u32, u32, String)>,
    /// Numbers of the transactions that it follows, and who made it, where several did.
    #[serde(default)]
    parents: Vec<usize>,
    #[serde(default)]
    agent: usize,
}

#[derive(Deserialize)]
struct References {
    runs: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    trace: String,
    client: u64,
    gc: bool,
    events: u64,
    state_v1: Hashed,
    state_v2: Hashed,
    events_v1: Hashed,
    events_v2: Hashed,
}

#[derive(Deserialize)]
struct Hashed {
    sha256: String,
}

/// Returns the folder with the traces: `QUIRE_TRACES`, else the one beside the work tree.
fn folder() -> PathBuf {
    std::env::var_os("QUIRE_TRACES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    )
}

fn open(file: &str) -> Result<Recorded> {
    let path = folder().join(file);
    let recorded: Recorded = serde_json::from_value(unpack(&path).with_context(|| {
        format!("reading {}; set QUIRE_TRACES to the folder with the traces", path.display())
    })?)?;
    ensure!(recorded.start.is_empty(), "{file} does not start with an empty text");
    Ok(recorded)
}

/// Reads packed JSON.
pub(crate) fn unpack(path: &Path) -> Result<serde_json::Value> {
    let file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    serde_json::from_reader(std::io::BufReader::new(GzDecoder::new(file)))
        .with_context(|| format!("reading {}", path.display()))
}

fn file_of(name: &str) -> Result<&'static str> {
    let found = FILES.iter().find(|(known, _)| *known == name);
    Ok(found.with_context(|| format!("there is no history {name}"))?.1)
}

impl Trace {
    /// Reads the history of a name.
    ///
    /// # Errors
    /// There is none, or its file can't be read.
    pub fn read(name: &str) -> Result<Self> {
        let recorded = open(file_of(name)?)?;
        let transactions = recorded.txns.into_iter().map(|transaction| {
            let patch = |(at, delete, insert)| Patch { at, delete, insert };
            transaction.patches.into_iter().map(patch).collect()
        });
        let trace = Self { transactions: transactions.collect(), end: recorded.end };
        // The recordings count in code points; so do some subjects.
        ensure!(!trace.has_pairs(), "{name} has characters of two UTF-16 units");
        Ok(trace)
    }

    /// Returns how many patches there are.
    pub fn edits(&self) -> usize {
        self.transactions.iter().map(Vec::len).sum()
    }

    fn has_pairs(&self) -> bool {
        let patches = self.transactions.iter().flatten();
        patches.flat_map(|patch| patch.insert.chars()).any(|c| c.len_utf16() == 2)
    }
}

/// Returns a patch as operations.
pub(crate) fn ops(patch: Patch) -> impl Iterator<Item = Op> {
    let Patch { at, delete, insert } = patch;
    let delete = (delete > 0).then_some(Op::Delete(at, delete));
    delete.into_iter().chain((!insert.is_empty()).then_some(Op::Insert(at, insert)))
}

/// Returns how many people made a history, and what their documents do: each edit on what its author
/// knew then.
pub(crate) fn together(name: &str) -> Result<(usize, Vec<Step>)> {
    let (base, in_order) = match name.strip_suffix("-out-of-order") {
        Some(base) => (base, false),
        None => (name.trim_end_matches("-at-once"), true),
    };
    let file = format!("{base}.concurrent.json.gz");
    let txns = open(&file)?.txns;
    let agents = txns.iter().map(|txn| txn.agent + 1).max().unwrap_or_default();
    // What a transaction rests on, as how many of each agent's: these follow each other.
    let mut rests: Vec<Vec<usize>> = Vec::with_capacity(txns.len());
    let mut authors: Vec<(usize, usize)> = Vec::with_capacity(txns.len());
    let mut messages: Vec<Vec<usize>> = vec![Vec::new(); agents];
    let mut known: Vec<Vec<usize>> = vec![vec![0; agents]; agents];
    let mut steps = Vec::new();
    // Numbers rise with time: nothing rests on what has a higher one.
    let apply = |steps: &mut Vec<Step>, agent: usize, mut arrived: Vec<usize>| {
        if in_order {
            arrived.sort_unstable();
        }
        steps.extend(arrived.into_iter().map(|message| Step::Apply(agent, vec![message])));
    };
    for (number, txn) in txns.into_iter().enumerate() {
        let agent = txn.agent;
        let mut rest = vec![0; agents];
        for parent in txn.parents {
            let (author, place) = authors[parent];
            for (seen, before) in rest.iter_mut().zip(&rests[parent]) {
                *seen = (*seen).max(*before);
            }
            rest[author] = rest[author].max(place + 1);
        }
        let mut arrived = Vec::new();
        for other in (0..agents).filter(|&other| other != agent) {
            arrived.extend(&messages[other][known[agent][other]..rest[other]]);
            known[agent][other] = rest[other];
        }
        apply(&mut steps, agent, arrived);
        let patches = txn.patches.into_iter();
        let patches = patches.map(|(at, delete, insert)| Patch { at, delete, insert });
        steps.push(Step::Edit(agent, patches.flat_map(ops).collect()));
        authors.push((agent, messages[agent].len()));
        messages[agent].push(number);
        rests.push(rest);
    }
    // In the end everyone learns of everything.
    for agent in 0..agents {
        let others = (0..agents).filter(|&other| other != agent);
        let arrived = others.flat_map(|other| &messages[other][known[agent][other]..]);
        apply(&mut steps, agent, arrived.copied().collect());
    }
    Ok((agents, steps))
}

/// Returns what Yjs makes of a history as client 1, garbage collected, in both formats.
pub(crate) fn references(name: &str) -> Result<[Bytes; 2]> {
    let (file, path) = (file_of(name)?, folder().join("yjs-hashes.json"));
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let found = serde_json::from_str::<References>(&text)?
        .runs
        .into_iter()
        .find(|run| run.trace == file && run.client == 1 && run.gc)
        .with_context(|| format!("{} has no run of {name}", path.display()))?;
    let bytes = |state: Hashed, messages: Hashed| Bytes {
        state: state.sha256,
        told: found.events,
        messages: messages.sha256,
    };
    Ok([bytes(found.state_v1, found.events_v1), bytes(found.state_v2, found.events_v2)])
}
