//! What does it cost to keep a document? Updates of a recorded history go into a store: the CPU
//! of one append with everything behind it, the bytes on the disk against the bytes given, and
//! the price of one durable write against a bare write and sync in the same run.

use crate::rows::{Rows, Subject, median};
use anyhow::{Context as _, Result};
use bench::trace::Trace;
use cpu_time::ProcessTime;
use crdt::ClientId;
use indicatif::ProgressBar;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;
use store::{Store, StoreOptions};

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder to write in; its disk is what is measured. A temporary one if left out.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// How many durable writes are timed.
    #[arg(long, default_value_t = 200)]
    writes: usize,
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &Arguments) -> Result<Rows> {
    let folder = match &arguments.folder {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    }
    .context("making a folder to write in")?;
    let mut rows = Rows::default();
    typing(folder.path(), &mut rows)?;
    each_write_durable(folder.path(), arguments.writes, &mut rows)?;
    Ok(rows)
}

/// The whole history, group commits as they come.
fn typing(folder: &Path, rows: &mut Rows) -> Result<()> {
    let subject = Subject { bench: "store", id: "B4", who: "quire" };
    let trace = Trace::read("B4")?;
    let dir = folder.join("typing");
    let mut store = Store::open(&dir, StoreOptions::default())?;
    let client = |number| ClientId::new(number).context("a client id below 2^53");
    let mut document = store.document("main", client(1)?)?;
    let text = document.text();
    let progress = ProgressBar::new(trace.transactions.len() as u64);
    let mut given = 0;
    let start = ProcessTime::now();
    for patches in &trace.transactions {
        let (done, written) = document.transact(|transaction| {
            for patch in patches {
                if patch.delete > 0 {
                    text.delete(transaction, patch.at, patch.delete)?;
                }
                text.insert(transaction, patch.at, &patch.insert)?;
            }
            Ok::<_, crdt::Error>(())
        });
        done?;
        given += written.map_or(0, |written| written.update.len());
        progress.inc(1);
    }
    store.flush()?;
    let cpu = start.elapsed();
    progress.finish_and_clear();
    drop(document);
    drop(store);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let (count, given, kept) =
        (trace.transactions.len() as f64, given as f64, bytes_in(&dir)? as f64);
    rows.add(
        subject,
        "CPU, one edit with document, log and snapshots",
        cpu.as_secs_f64() * 1e6 / count,
        "us",
    );
    rows.add(subject, "updates given", given, "bytes");
    rows.add(subject, "on the disk after closing", kept, "bytes");

    let mut loads = Vec::new();
    for number in 2..7 {
        let start = ProcessTime::now();
        let mut store = Store::open(&dir, StoreOptions::default())?;
        let document = store.document("main", client(number)?)?;
        loads.push(start.elapsed().as_secs_f64() * 1000.0);
        anyhow::ensure!(document.text().read(document.doc()) == trace.end, "another text");
    }
    rows.add(subject, "CPU, opening it again", median(loads), "ms");
    Ok(())
}

fn bytes_in(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        bytes += if kind.is_dir() { bytes_in(&entry.path())? } else { kind.len() };
    }
    Ok(bytes)
}

/// One write, one sync, in turn with the same bytes written and synced bare.
fn each_write_durable(folder: &Path, writes: usize, rows: &mut Rows) -> Result<()> {
    let mut store = Store::open(&folder.join("each"), StoreOptions::default())?;
    let client = ClientId::new(1).context("a client id below 2^53")?;
    let mut document = store.document("main", client)?;
    let text = document.text();
    let mut bare = File::create(folder.join("bare"))?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let progress = ProgressBar::new(writes as u64);
    for _ in 0..writes {
        let end = text.len(document.doc());
        let start = Instant::now();
        let (done, _) = document.transact(|transaction| text.insert(transaction, end, "word "));
        done?;
        store.flush()?;
        ours.push(start.elapsed().as_secs_f64() * 1e6);
        let start = Instant::now();
        bare.write_all(&[7; 50])?;
        bare.sync_data()?;
        theirs.push(start.elapsed().as_secs_f64() * 1e6);
        progress.inc(1);
    }
    progress.finish_and_clear();
    let id = "each write durable";
    let (ours, theirs) = (median(ours), median(theirs));
    rows.add(Subject { bench: "store", id, who: "quire" }, "wall, one write", ours, "us");
    let bare = Subject { bench: "store", id, who: "write and sync" };
    rows.add(bare, "wall, one write", theirs, "us");
    rows.add(
        Subject { bench: "store", id, who: "quire" },
        "against write and sync",
        ours / theirs,
        "times",
    );
    Ok(())
}
