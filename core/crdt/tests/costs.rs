//! What operations cost, in counts that no busy machine can blur: allocations, bytes of the heap and,
//! where `valgrind` is there, instructions. None may exceed what `costs/figures.txt` states by more
//! than a margin.
//!
//! A figure that falls, or that has a reason to rise, is stated anew by
//! `QUIRE_COSTS=renew cargo test -p crdt --test costs`; the difference then shows in the review.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test may panic, say what it found, and read its figures"
)]

use std::alloc::System;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[path = "costs/workloads.rs"]
mod workloads;

use workloads::{WORKLOADS, Workload};

#[global_allocator]
static HEAP: PeakMemAlloc<&StatsAlloc<System>> = PeakMemAlloc::new(&INSTRUMENTED_SYSTEM);

/// How much more than stated is let pass: in parts of the figure, and for figures near 0 besides.
/// Instructions differ from one compiler to the next.
const MARGIN: Figures = Figures { allocations: 0.05, allocated: 0.1, held: 0.1, instructions: 0.2 };
const LEAST: Figures = Figures { allocations: 0.02, allocated: 4.0, held: 4.0, instructions: 50.0 };

/// Costs of one operation.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    /// Allocations and reallocations.
    allocations: f64,
    /// Bytes that these asked for.
    allocated: f64,
    /// Bytes that are still held afterwards.
    held: f64,
    /// Instructions; 0 if they were not counted.
    instructions: f64,
}

const NAMES: [&str; 4] = ["allocations", "bytes allocated", "bytes held", "instructions"];

impl Figures {
    fn all(self) -> [f64; 4] {
        [self.allocations, self.allocated, self.held, self.instructions]
    }
}

/// Does a workload and counts what the heap is asked for meanwhile.
fn count(workload: &Workload) -> Figures {
    let ready = (workload.prepare)();
    HEAP.reset_peak_memory();
    let before = INSTRUMENTED_SYSTEM.stats();
    let done = (workload.work)(ready);
    let counted = INSTRUMENTED_SYSTEM.stats() - before;
    drop(done);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let each = |number: usize| number as f64 / f64::from(workload.operations);
    Figures {
        allocations: each(counted.allocations + counted.reallocations),
        allocated: each(counted.bytes_allocated),
        held: each(counted.bytes_allocated.saturating_sub(counted.bytes_deallocated)),
        instructions: 0.0,
    }
}

/// Runs this program again under valgrind with one workload, or only its preparation.
fn instructions(workload: &Workload, only_prepare: bool) -> Option<f64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "one_alone", "--test-threads", "1"]);
    command.env("QUIRE_WORKLOAD", workload.name);
    command.env("QUIRE_PREPARE", if only_prepare { "1" } else { "0" });
    let told = command.stdout(Stdio::null()).output().ok()?;
    let told = String::from_utf8_lossy(&told.stderr);
    // The first is that of instructions.
    let line = told.lines().find(|line| line.contains(" refs:"))?;
    line.rsplit(' ').next()?.replace(',', "").parse().ok()
}

#[test]
#[ignore = "started by the test that counts instructions"]
fn one_alone() {
    let Ok(name) = std::env::var("QUIRE_WORKLOAD") else { return };
    let workload = WORKLOADS.iter().find(|workload| workload.name == name).unwrap();
    let ready = (workload.prepare)();
    if std::env::var("QUIRE_PREPARE").is_ok_and(|only| only == "1") {
        return;
    }
    drop((workload.work)(ready));
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/costs/figures.txt")
}

/// Reads what is stated: a name, a colon and four numbers a line.
fn stated() -> BTreeMap<String, [f64; 4]> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    let figures = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        let numbers: Vec<f64> =
            numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        Some((name.to_owned(), numbers.try_into().unwrap()))
    });
    figures.collect()
}

const HEAD: &str = "\
# What one operation costs at most, by tests/costs.rs; its head says how these are stated anew.
# Bytes are those of the heap; instructions are of the test profile, 0 where none were counted.
";

fn state(figures: &[(&str, [f64; 4])]) {
    let mut text = HEAD.to_owned();
    write!(text, "#{:46}", "").unwrap();
    for name in NAMES {
        write!(text, "{name:>16}").unwrap();
    }
    text.push('\n');
    for (name, numbers) in figures {
        write!(text, "{:47}", format!("{name}:")).unwrap();
        for (at, number) in numbers.iter().enumerate() {
            let places = [3, 1, 1, 0][at];
            write!(text, "{number:16.places$}").unwrap();
        }
        text.push('\n');
    }
    std::fs::write(path(), text).unwrap();
}

#[test]
fn nothing_costs_more_than_stated() {
    let renew = std::env::var("QUIRE_COSTS").is_ok_and(|wish| wish == "renew");
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    // What a release build executes is another figure.
    let counts_instructions = has_valgrind && cfg!(debug_assertions);
    if !counts_instructions {
        println!("no valgrind, or not the test profile: instructions are not counted");
    }
    let stated = stated();
    let mut found = Vec::new();
    let mut more = Vec::new();
    for workload in WORKLOADS {
        let mut figures = count(workload);
        if counts_instructions && (renew || workload.in_instructions) {
            let prepared = instructions(workload, true).unwrap();
            let all = instructions(workload, false).unwrap();
            figures.instructions = (all - prepared) / f64::from(workload.operations);
        }
        let figures = figures.all();
        let Some(limits) = stated.get(workload.name) else {
            if !renew {
                more.push(format!("{} is not stated", workload.name));
            }
            found.push((workload.name, figures));
            continue;
        };
        for (at, name) in NAMES.iter().enumerate() {
            let (figure, limit) = (figures[at], limits[at]);
            let uncounted = at == 3 && (limit == 0.0 || figure == 0.0);
            let bound = limit * (1.0 + MARGIN.all()[at]) + LEAST.all()[at];
            if figure > bound && !uncounted {
                more.push(format!("{}: {figure:.3} {name}, stated {limit}", workload.name));
            } else if figure < limit * 0.7 - LEAST.all()[at] && !uncounted {
                println!("{}: only {figure:.3} {name}, stated {limit}", workload.name);
            }
        }
        found.push((workload.name, figures));
    }
    if renew {
        state(&found);
    } else {
        assert!(more.is_empty(), "costs more than stated:\n  {}", more.join("\n  "));
    }
}
