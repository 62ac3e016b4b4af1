//! Six replicas, so many edits.

use std::process::Command;

use anyhow::Result;

use crate::{step, workspace};

/// Runs documents until there were so many edits.
pub(super) fn run(edits: u64, seed: u64, jobs: u64) -> Result<()> {
    step::run(
        "Convergence",
        Command::new(env!("CARGO"))
            .args(["run", "--profile", "fuzz", "--package", "fuzz", "--no-default-features"])
            .args(["--bin", "convergence", "--"])
            .args([edits, seed, jobs].map(|number| number.to_string()))
            .current_dir(workspace::root()),
    )
}
