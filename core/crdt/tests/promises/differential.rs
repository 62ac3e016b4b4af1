//! Random scripts, played in the real Yjs at the same time: every event, state, merge and conversion has its bytes.
//!
//! `differential/record.mjs` writes the scripts and what Yjs makes of them. `QUIRE_SCRIPTS` says how many (2,000),
//! `QUIRE_SEED` from which seed on, `QUIRE_KIND` of what kind (all in turn).

use std::io::{BufRead as _, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::replay::Run;

/// Differences that are told before the run stops.
const ENOUGH: usize = 20;

#[test]
fn random_scripts_have_yjs_bytes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential");
    let missing = if !folder.join("node_modules/yjs").is_dir() {
        Some("no node_modules (npm ci in core/crdt/tests/differential)")
    } else if Command::new("node").arg("--version").output().is_err() {
        Some("no node")
    } else {
        None
    };
    if let Some(missing) = missing {
        assert!(std::env::var_os("CI").is_none(), "not run: {missing}");
        println!("skipped: {missing}");
        return;
    }
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (scripts, seed) = (number("QUIRE_SCRIPTS", 2_000), number("QUIRE_SEED", 1));
    let mut command = Command::new("node");
    command.current_dir(&folder).arg("record.mjs");
    command.args(["--seed", &seed.to_string(), "--scripts", &scripts.to_string()]);
    if let Ok(kind) = std::env::var("QUIRE_KIND") {
        command.args(["--kind", &kind]);
    }
    let mut node = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(node.stdout.take().unwrap()).lines();
    let (mut ran, mut steps, mut diverged, mut failed) = (0, 0, 0, Vec::new());
    let mut differences: Vec<String> = Vec::new();
    for line in lines {
        let vector: Json = serde_json::from_str(&line.unwrap()).unwrap();
        ran += 1;
        diverged += usize::from(vector["diverged"] == true);
        if let Some(problem) = vector["failed"].as_str() {
            failed.push(format!("{}: {problem}", vector["id"]));
        }
        let (done, difference) = replay(&vector);
        steps += done;
        if let Some(difference) = difference {
            let id = vector["id"].as_str().unwrap();
            let difference = format!("{id} ({}), {difference}", vector["group"].as_str().unwrap());
            println!("{difference}");
            differences.push(difference);
        }
        if ran % 500 == 0 {
            println!("{ran} of {scripts} scripts, {steps} steps, {} differ", differences.len());
        }
        if differences.len() == ENOUGH {
            node.kill().unwrap();
            break;
        }
    }
    node.wait().unwrap();
    println!(
        "{ran} scripts from seed {seed}, {steps} steps; Yjs's own replicas differ in {diverged}, it failed in {}",
        failed.len()
    );
    assert!(
        differences.is_empty(),
        "{} differences (QUIRE_SEED=... QUIRE_SCRIPTS=1 runs one again):\n{}\n{}",
        differences.len(),
        differences.join("\n"),
        failed.join("\n")
    );
    assert_eq!(ran, scripts, "node stopped early");
}

/// Replays a script; returns how many steps it took and what differs.
fn replay(vector: &Json) -> (usize, Option<String>) {
    let steps = vector["steps"].as_array().unwrap();
    let mut run = Run::new("v1", &vector["docs"]);
    for (index, step) in steps.iter().enumerate() {
        // A document that panicked is not used again.
        let outcome = catch_unwind(AssertUnwindSafe(|| run.step(step)));
        if let Err(difference) = outcome.unwrap_or_else(|_| Err("panicked".to_owned())) {
            let mut shown = step.to_string();
            shown.truncate(shown.floor_char_boundary(400));
            return (index, Some(format!("step {index}: {difference}\n  {shown}")));
        }
    }
    (steps.len(), None)
}
