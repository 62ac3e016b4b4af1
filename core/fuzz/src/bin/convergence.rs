//! A run of random parties: `convergence EDITS SEED JOBS`. `cargo xtask fuzz convergence` starts it.

#![expect(clippy::print_stdout, reason = "it talks to the person at the terminal")]
#![expect(clippy::disallowed_methods, reason = "it tells how long it takes")]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fuzz::convergence::{LARGE, REPLICAS, SMALL, party};
use fuzz::party::Counts;

/// Failures that are told before the run stops.
const ENOUGH: usize = 5;

/// What all threads did so far.
struct Sum {
    counts: Counts,
    parties: u64,
    failures: Vec<String>,
    told: Instant,
}

fn main() -> ExitCode {
    let arguments: Vec<u64> =
        std::env::args().skip(1).filter_map(|number| number.parse().ok()).collect();
    let &[edits, first, jobs] = arguments.as_slice() else {
        println!("convergence EDITS SEED JOBS");
        return ExitCode::FAILURE;
    };
    // A failure is told once, by us.
    std::panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let next = AtomicU64::new(first);
    let sum = Mutex::new(Sum {
        counts: Counts::default(),
        parties: 0,
        failures: Vec::new(),
        told: start,
    });
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(most) = left(&sum, edits) {
                    let lived = party(next.fetch_add(1, Ordering::Relaxed), most);
                    note(&sum, lived, start);
                }
            });
        }
    });
    let sum = sum.into_inner().expect("no thread panics here");
    let Counts { edits, transactions, undos, deliveries, checks, meetings } = sum.counts;
    println!(
        "{edits} edits by {REPLICAS} replicas in {} documents from seed {first}: {transactions} transactions, {undos} \
         undone or redone, {deliveries} deliveries, {checks} checks of all invariants, {meetings} meetings with all \
         equal; {} failures, {:.0} s",
        sum.parties,
        sum.failures.len(),
        start.elapsed().as_secs_f64(),
    );
    println!(
        "Checked after every step in documents of {SMALL} edits, after every hundredth in those of {LARGE} (one in 32)"
    );
    if sum.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How many edits are left to do; `None` if there is nothing to do any more.
fn left(sum: &Mutex<Sum>, edits: u64) -> Option<u64> {
    let sum = sum.lock().expect("no thread panics here");
    let left = edits.saturating_sub(sum.counts.edits);
    (left > 0 && sum.failures.len() < ENOUGH).then_some(left)
}

fn note(sum: &Mutex<Sum>, lived: Result<Counts, String>, start: Instant) {
    let mut sum = sum.lock().expect("no thread panics here");
    sum.parties += 1;
    match lived {
        Ok(counts) => sum.counts.add(counts),
        Err(problem) => {
            println!("{problem}");
            sum.failures.push(problem);
        }
    }
    if sum.told.elapsed() > Duration::from_secs(10) {
        sum.told = Instant::now();
        let Counts { edits, deliveries, checks, meetings, .. } = sum.counts;
        println!(
            "{:>4.0} s: {edits} edits, {deliveries} deliveries, {checks} checks, {meetings} meetings",
            start.elapsed().as_secs_f64()
        );
    }
}
