//! Benchmarks, each named after the question it answers. `cargo xtask bench NAME` builds and runs
//! this program; nothing depends on it.

#![expect(clippy::print_stdout, reason = "it prints tables")]
#![expect(clippy::disallowed_methods, reason = "it reads recordings, writes figures, takes times")]

mod rows;

mod trace;

mod crdt;
mod keystroke;
mod store;

use anyhow::Result;
use clap::{Parser, Subcommand};
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
    /// What does one edit cost: a transaction with its V1 update event, beside yrs?
    Crdt(crdt::Arguments),
    /// How long is the way of one keystroke, from an editor here to an editor there?
    Keystroke(keystroke::Arguments),
    /// What does it cost to keep a document: appended updates, against bare writes and syncs?
    Store(store::Arguments),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let rows = match arguments.bench {
        Bench::Crdt(of) => crdt::run(&of)?,
        Bench::Keystroke(of) => keystroke::run(&of)?,
        Bench::Store(of) => store::run(&of)?,
    };
    rows.print();
    if let Some(path) = arguments.json {
        rows.write(&path)?;
    }
    Ok(())
}
