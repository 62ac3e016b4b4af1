//! Benchmarks and the core's runner over Yjs's vectors: both are programs of their own.
//!
//! `bench crdt` builds in the peers that it is asked for, `bench report` all of them; `bench micro`
//! is criterion's. Everything else is passed on to the program of crate `bench`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::{setup, step, workspace};

/// Peers of the core that are built in only when asked for. Yjs runs in Node.
const PEERS: [&str; 5] = ["yrs", "loro", "automerge", "diamond-types", "ropey"];

/// Who is there when nobody is asked for.
const USUAL: &str = "yjs,yrs,ropey";

/// Where the figures of the last full run are.
const FIGURES: &str = "core/bench/figures";

/// Runs the benchmark that the arguments name.
pub(crate) fn bench(arguments: &[OsString]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    match words.as_slice() {
        ["micro", ..] => micro(arguments.get(1..).unwrap_or_default()),
        ["report", ..] => report(arguments.get(1..).unwrap_or_default()),
        ["crdt", rest @ ..] => crdt(asked(rest), arguments),
        _ => {
            let built = build(&[])?;
            step::run("Benchmark", Command::new(built).args(arguments))
        }
    }
}

/// Single operations of the core, by criterion.
fn micro(arguments: &[OsString]) -> Result<()> {
    step::run(
        "Benchmark",
        Command::new(env!("CARGO"))
            .args(["bench", "--package", "bench", "--bench", "micro", "--"])
            .args(arguments)
            .current_dir(workspace::root()),
    )
}

/// The whole suite with every peer, whose figures are kept, drawn and written into the page.
fn report(arguments: &[OsString]) -> Result<()> {
    let folder = workspace::root().join(FIGURES);
    let page = workspace::root().join("core/bench/README.md");
    fs::create_dir_all(&folder)?;
    let mut all: Vec<OsString> = ["crdt", "--peers", "all", "--json"].map(Into::into).into();
    all.extend([folder.join("figures.json").into(), "--plot".into(), folder.into()]);
    all.extend(["--markdown".into(), page.into()]);
    all.extend_from_slice(arguments);
    crdt("all", &all)
}

/// The core beside its peers.
fn crdt(peers: &str, arguments: &[OsString]) -> Result<()> {
    let wanted = |peer: &&&str| peers == "all" || peers.split(',').any(|asked| asked == **peer);
    let features: Vec<&str> = PEERS.iter().filter(wanted).copied().collect();
    if peers == "all" || peers.split(',').any(|asked| asked == "yjs") {
        setup::modules_of_yjs()?;
    }
    let built = build(&features)?;
    step::run("Benchmark", Command::new(built).args(arguments))
}

/// Returns the peers that the arguments ask for.
fn asked<'a>(arguments: &[&'a str]) -> &'a str {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if *word == "--peers" {
            return words.next().copied().unwrap_or_default();
        }
        if let Some(peers) = word.strip_prefix("--peers=") {
            return peers;
        }
    }
    USUAL
}

/// Builds the benchmarks with some peers; returns the program that leads them.
fn build(features: &[&str]) -> Result<PathBuf> {
    step::run(
        "Building the benchmarks",
        Command::new(env!("CARGO"))
            .args(["build", "--release", "--package", "bench", "--bins", "--features"])
            .arg(features.join(","))
            .current_dir(workspace::root()),
    )?;
    Ok(workspace::target().join("release").join(format!("bench{}", env::consts::EXE_SUFFIX)))
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
