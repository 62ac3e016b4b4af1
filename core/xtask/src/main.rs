//! `cargo xtask`: what one types to build, run, test and package Quire.
//!
//! It sets up what is missing, then starts other programs and counts what they report; nothing of
//! the product lives here. Each part is a module named after its command.

#![expect(clippy::print_stdout, reason = "it talks to the person at the terminal")]
#![expect(
    clippy::disallowed_methods,
    reason = "a tool for the work tree: its own files, real time"
)]

mod workspace;

mod step;

mod display;

mod setup;

mod bench;
mod bundle;
mod fuzz;
mod lint;
mod run;
mod test;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Builds, runs, tests and packages Quire; sets up what is missing first.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Installs what is missing: system packages (asks first) and the page's modules.
    Setup {
        /// Doesn't ask before it installs system packages.
        #[arg(long)]
        yes: bool,
    },
    /// Builds Quire and opens it on a copy of the sample paper, or on FOLDER.
    Run {
        /// Opens two windows with two people on the same paper, through a server on this machine.
        #[arg(long)]
        pair: bool,
        /// Doesn't ask before it installs system packages.
        #[arg(long)]
        yes: bool,
        /// The paper to open; it is opened where it is.
        folder: Option<PathBuf>,
    },
    /// Runs every test, or one part.
    Test {
        /// Doesn't ask before it installs system packages.
        #[arg(long)]
        yes: bool,
        /// Which part; all of them if left out.
        part: Option<test::Part>,
    },
    /// Checks formatting and lints of both languages; a warning is an error.
    Lint,
    /// Runs benchmarks by name: `bench crdt --only B4 --peers yjs,yrs`, `bench micro`, `bench store`,
    /// `bench keystroke`; `bench report` runs all of `crdt` with every peer and writes its page.
    Bench {
        /// Name of the benchmark and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<OsString>,
    },
    /// Fuzzes every door for foreign bytes, or compares with the real Yjs, or lets replicas converge.
    Fuzz(fuzz::Fuzz),
    /// Builds installers (.deb and .rpm) for this machine.
    Bundle,
    /// Runs the CRDT core over a folder of vectors that Yjs wrote.
    Vectors {
        /// The folder with the vectors.
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    match start(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("\n{problem:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(task: Task) -> Result<()> {
    match task {
        Task::Setup { yes } => setup::everything(yes),
        Task::Run { pair: false, yes, folder } => run::alone(folder, yes),
        Task::Run { pair: true, yes, folder } => run::pair(folder, yes),
        Task::Test { yes, part } => test::test(part, yes),
        Task::Lint => lint::lint(),
        Task::Bench { arguments } => bench::bench(&arguments),
        Task::Fuzz(asked) => fuzz::fuzz(asked),
        Task::Bundle => bundle::bundle(),
        Task::Vectors { folder } => bench::vectors(&folder),
    }
}
