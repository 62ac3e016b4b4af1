//! Benchmarks, each named after the question it answers. `cargo xtask bench NAME` builds and runs
//! this program; nothing depends on it.

#![expect(clippy::print_stdout, reason = "it prints tables")]
#![expect(clippy::disallowed_methods, reason = "it reads recordings, writes figures, takes times")]

mod rows;

mod plot;
mod report;

mod crdt;
mod keystroke;
mod store;

use anyhow::{Result, ensure};
use bench::worker;
use clap::{Parser, Subcommand};
use rows::Rows;
use std::path::PathBuf;

/// Measures Quire, beside its peers where there are any.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
    /// Also writes the figures to this file.
    #[arg(long, global = true)]
    json: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// What does the core cost beside its peers: edits, messages, merges, documents read and written?
    Crdt(crdt::Arguments),
    /// How long is the way of one keystroke, from an editor here to an editor there?
    Keystroke(keystroke::Arguments),
    /// What does it cost to keep a document: appended updates, against bare writes and syncs?
    Store(store::Arguments),
    /// Runs programs with one subject; started by `crdt`.
    #[command(hide = true)]
    Worker {
        /// Who.
        subject: String,
        /// File with the program.
        program: PathBuf,
        /// After how many milliseconds a run is broken off.
        patience_ms: f64,
    },
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut wrong = Vec::new();
    let rows = match arguments.bench {
        Bench::Crdt(of) => {
            let rows = if let Some(path) = &of.from {
                Rows::read(path)?
            } else {
                let (rows, found) = crdt::run(&of)?;
                wrong = found;
                rows
            };
            if let Some(folder) = &of.plot {
                plot::draw(&rows, folder)?;
            }
            if let Some(path) = &of.markdown {
                report::write(&rows, path)?;
            }
            rows
        }
        Bench::Keystroke(of) => keystroke::run(&of)?,
        Bench::Store(of) => store::run(&of)?,
        Bench::Worker { subject, program, patience_ms } => {
            return worker::serve(&subject, &program, patience_ms, None);
        }
    };
    rows.print();
    if let Some(path) = arguments.json {
        rows.write(&path)?;
    }
    ensure!(wrong.is_empty(), "wrong:\n  {}", wrong.join("\n  "));
    Ok(())
}
