//! Benchmarks and the core's runner over Yjs's vectors: both are programs of their own.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{step, workspace};

/// Runs the benchmark that the arguments name.
pub(crate) fn bench(arguments: &[OsString]) -> Result<()> {
    step::run(
        "Benchmark",
        Command::new(env!("CARGO"))
            .args(["run", "--release", "--package", "bench", "--"])
            .args(arguments)
            .current_dir(workspace::root()),
    )
}

/// Runs the CRDT core over a folder of vectors.
pub(crate) fn vectors(folder: &Path) -> Result<()> {
    let folder = std::path::absolute(folder)?;
    step::run(
        "Vectors",
        Command::new(env!("CARGO"))
            .args(["test", "--release", "--package", "crdt", "--test", "promises", "vectors", "--"])
            .arg("--nocapture")
            .env("QUIRE_VECTORS", folder)
            .current_dir(workspace::root()),
    )
}
