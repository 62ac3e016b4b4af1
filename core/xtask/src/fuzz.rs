//! Fuzzing: foreign bytes at every door, guided by coverage; random scripts beside the real Yjs; and replicas that must
//! converge.
//!
//! libFuzzer comes as a C++ library with its crate and works with a stable compiler. Compiled code sees where it has
//! been only with flags, so this build has a folder of its own and names its target (then build scripts go without).
//! Inputs found are kept in `target/fuzz/corpus`; the smallest ones that reach as much are kept in `core/fuzz/corpus`.

mod convergence;
mod differential;
mod libfuzzer;

use std::path::PathBuf;

use anyhow::{Result, bail};

/// What is fuzzed, and for how long.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Fuzz {
    #[command(subcommand)]
    other: Option<Other>,
    /// The doors; all of them if left out.
    targets: Vec<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 30, conflicts_with = "minutes")]
    seconds: u64,
    /// Minutes for all targets together.
    #[arg(long)]
    minutes: Option<u64>,
    /// How many targets at once.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// Runs one target on this input only.
    #[arg(long)]
    again: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Other {
    /// Random scripts, played in the real Yjs at the same time: all bytes must be equal.
    Differential {
        /// How many scripts.
        #[arg(long)]
        scripts: u64,
        /// The seed of the first one; each next one has the next.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// How many at once.
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
        jobs: u64,
    },
    /// Random concurrent edits by six replicas: all must be equal in the end.
    Convergence {
        /// How many edits.
        #[arg(long)]
        edits: u64,
        /// The seed of the first document; each next one has the next.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// How many documents at once.
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
        jobs: u64,
    },
}

/// Runs what was asked for.
pub(crate) fn fuzz(asked: Fuzz) -> Result<()> {
    let Fuzz { other, targets, seconds, minutes, jobs, again } = asked;
    match other {
        Some(Other::Differential { scripts, seed, jobs }) => differential::run(scripts, seed, jobs),
        Some(Other::Convergence { edits, seed, jobs }) => convergence::run(edits, seed, jobs),
        None => match again {
            Some(input) => match targets.as_slice() {
                [target] => libfuzzer::again(target, &input),
                _ => bail!("--again wants one target"),
            },
            None => libfuzzer::run(&targets, seconds, minutes, jobs),
        },
    }
}
