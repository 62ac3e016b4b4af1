//! Recorded editing histories of real documents, and what Yjs makes of them.

use anyhow::{Context as _, Result, ensure};
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::fs::File;
use std::path::{Path, PathBuf};

/// One recorded history, in the positions of UTF-16.
#[derive(Debug)]
pub(crate) struct Trace {
    /// One transaction each, of one or more patches.
    pub(crate) transactions: Vec<Vec<Patch>>,
    /// The text at its end.
    pub(crate) end: String,
}

/// Deletes first, then inserts at the same place.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) at: u32,
    pub(crate) delete: u32,
    pub(crate) insert: String,
}

/// What Yjs makes of a trace.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Reference {
    trace: String,
    client: u64,
    gc: bool,
    /// The document's state.
    pub(crate) state_v1: Bytes,
    /// All update events joined.
    pub(crate) events_v1: Bytes,
}

/// Bytes by their size and hash.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Bytes {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

#[derive(Deserialize)]
struct Recorded {
    #[serde(rename = "startContent")]
    start: String,
    #[serde(rename = "endContent")]
    end: String,
    txns: Vec<Transaction>,
}

#[derive(Deserialize)]
struct Transaction {
    patches: Vec<(u32, u32, String)>,
}

#[derive(Deserialize)]
struct References {
    runs: Vec<Reference>,
}

/// Returns the folder with the traces: `QUIRE_TRACES`, else the one beside the work tree.
pub(crate) fn folder() -> PathBuf {
    std::env::var_os("QUIRE_TRACES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    )
}

impl Trace {
    /// Reads a sequential trace.
    pub(crate) fn read(name: &str) -> Result<Self> {
        let path = folder().join(name);
        let file = File::open(&path).with_context(|| {
            format!("opening {}; set QUIRE_TRACES to the folder with the traces", path.display())
        })?;
        let recorded: Recorded =
            serde_json::from_reader(std::io::BufReader::new(GzDecoder::new(file)))
                .with_context(|| format!("reading {}", path.display()))?;
        ensure!(recorded.start.is_empty(), "{name} does not start with an empty text");
        let transactions = recorded.txns.into_iter().map(|transaction| {
            let patch = |(at, delete, insert)| Patch { at, delete, insert };
            transaction.patches.into_iter().map(patch).collect()
        });
        let mut trace = Self { transactions: transactions.collect(), end: recorded.end };
        if trace.has_pairs() {
            trace.count_in_utf16();
        }
        Ok(trace)
    }

    /// Returns how many patches there are.
    pub(crate) fn edits(&self) -> usize {
        self.transactions.iter().map(Vec::len).sum()
    }

    fn has_pairs(&self) -> bool {
        let patches = self.transactions.iter().flatten();
        patches.flat_map(|patch| patch.insert.chars()).any(|c| c.len_utf16() == 2)
    }

    /// The recordings count in code points, which differ where a character is a pair.
    fn count_in_utf16(&mut self) {
        let mut text: Vec<char> = Vec::new();
        let units = |chars: &[char]| chars.iter().map(|c| u32::from(*c > '\u{ffff}') + 1).sum();
        for patch in self.transactions.iter_mut().flatten() {
            let (at, end) = (patch.at as usize, (patch.at + patch.delete) as usize);
            patch.at = units(&text[..at]);
            patch.delete = units(&text[at..end]);
            text.splice(at..end, patch.insert.chars());
        }
    }
}

/// Returns what Yjs makes of the trace with this client id, garbage collected.
pub(crate) fn reference(name: &str, client: u64) -> Result<Reference> {
    let path = folder().join("yjs-hashes.json");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let found = serde_json::from_str::<References>(&text)?
        .runs
        .into_iter()
        .find(|run| run.trace == name && run.client == client && run.gc);
    found.with_context(|| format!("{} has no run of {name}", path.display()))
}
