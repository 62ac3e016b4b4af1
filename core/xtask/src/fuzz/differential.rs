//! The test that plays random scripts in the real Yjs, in parts that run at once.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::{setup, step, workspace};

/// Scripts in a part.
const PART: u64 = 1_000;
/// The test, by its path in the binary.
const TEST: &str = "differential::random_scripts_have_yjs_bytes";
/// Differences after which no more parts are begun.
const ENOUGH: usize = 20;

/// What parts have counted.
#[derive(Debug, Default)]
struct Sum {
    scripts: u64,
    steps: u64,
    /// Scripts after which Yjs's own replicas differ.
    diverged: u64,
    /// Scripts that Yjs itself could not play.
    failed: u64,
    /// Each starts with its seed.
    differences: Vec<String>,
    /// Parts that did not come to their end.
    broken: Vec<String>,
}

/// Runs scripts from a seed on, each once.
pub(super) fn run(scripts: u64, seed: u64, jobs: u64) -> Result<()> {
    let folder = workspace::root().join("core/crdt/tests/differential");
    setup::install("Modules of tests with the real Yjs", &folder)?;
    let binary = built()?;
    step::title("Random scripts beside the real Yjs");
    let start = Instant::now();
    // The next seed, and what came of those before.
    let state = Mutex::new((seed, Sum::default()));
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let (first, count) = {
                        let (next, sum) = &mut *lock();
                        let count = PART.min(seed + scripts - *next);
                        if count == 0 || sum.differences.len() >= ENOUGH || !sum.broken.is_empty() {
                            return;
                        }
                        *next += count;
                        (*next - count, count)
                    };
                    let part = play(&binary, first, count);
                    let (_, sum) = &mut *lock();
                    sum.add(part, first);
                    println!(
                        "{:>5} s: {} of {scripts} scripts, {} steps, {} differ",
                        start.elapsed().as_secs(),
                        sum.scripts,
                        sum.steps,
                        sum.differences.len()
                    );
                }
            });
        }
    });
    let (_, sum) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.tell(scripts, seed)
}

impl Sum {
    fn add(&mut self, part: Result<Self>, first: u64) {
        match part {
            Ok(part) => {
                self.scripts += part.scripts;
                self.steps += part.steps;
                self.diverged += part.diverged;
                self.failed += part.failed;
                self.differences.extend(part.differences);
            }
            Err(problem) => self.broken.push(format!("from seed {first} on: {problem:#}")),
        }
    }

    fn tell(&self, scripts: u64, seed: u64) -> Result<()> {
        println!(
            "\n{} scripts from seed {seed} on, {} steps: {} differ; Yjs's own replicas differ in {}, it failed in {}",
            self.scripts,
            self.steps,
            self.differences.len(),
            self.diverged,
            self.failed
        );
        for line in self.differences.iter().chain(&self.broken) {
            println!("{line}");
        }
        if !self.differences.is_empty() {
            bail!(
                "bytes differ; one script again: cargo xtask fuzz differential --scripts 1 --seed N"
            );
        }
        if !self.broken.is_empty() || self.scripts != scripts {
            bail!("not every script ran");
        }
        Ok(())
    }

    /// Reads a line that the test prints.
    fn read(&mut self, line: &str) {
        if line.starts_with("seed-") {
            if !self.differences.iter().any(|known| known == line) {
                println!("{line}");
                self.differences.push(line.to_owned());
            }
        } else if let Some((head, tail)) = line.split_once(" scripts from seed ")
            && let Some(tail) = tail.split_once(", ").map(|(_, tail)| tail)
        {
            let numbers: Vec<u64> = std::iter::once(head)
                .chain(tail.split(|char: char| !char.is_ascii_digit()))
                .filter_map(|number| number.parse().ok())
                .collect();
            if let [scripts, steps, diverged, failed] = *numbers.as_slice() {
                (self.scripts, self.steps) = (scripts, steps);
                (self.diverged, self.failed) = (diverged, failed);
            }
        }
    }
}

/// Builds the test, optimized; returns the binary.
fn built() -> Result<PathBuf> {
    step::title("Building the test");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--profile", "fuzz", "--package", "crdt", "--test", "promises"])
        .arg("--no-run")
        .current_dir(workspace::root())
        .stdout(Stdio::inherit())
        .stderr(Stdio::piped())
        .output()
        .context("cargo could not be started")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{said}");
    }
    let line = said.lines().find(|line| line.trim_start().starts_with("Executable"));
    let path = line.and_then(|line| line.rsplit_once('(')?.1.strip_suffix(')'));
    let path = path.with_context(|| format!("no binary in what cargo said:\n{said}"))?;
    Ok(workspace::root().join(path))
}

/// Plays a part.
fn play(binary: &Path, first: u64, scripts: u64) -> Result<Sum> {
    let mut child = Command::new(binary)
        .args([TEST, "--exact", "--nocapture"])
        .env("QUIRE_SEED", first.to_string())
        .env("QUIRE_SCRIPTS", scripts.to_string())
        // Not to be skipped.
        .env("CI", "1")
        .env_remove("QUIRE_KIND")
        .current_dir(workspace::root().join("core/crdt"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} could not be started", binary.display()))?;
    let mut sum = Sum::default();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines() {
            sum.read(&line?);
        }
    }
    let status = child.wait()?;
    if !status.success() && sum.differences.is_empty() {
        bail!("the test ended with {status} and no word on why");
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::Sum;

    #[test]
    fn what_the_test_prints_is_counted() {
        let mut sum = Sum::default();
        for line in [
            "running 1 test",
            "500 of 1000 scripts, 26000 steps, 0 differ",
            "seed-17 (text), step 3: other bytes",
            "1000 scripts from seed 17, 52031 steps; Yjs's own replicas differ in 2, it failed in 1",
        ] {
            sum.read(line);
        }
        assert_eq!((sum.scripts, sum.steps, sum.diverged, sum.failed), (1000, 52031, 2, 1));
        assert_eq!(sum.differences, ["seed-17 (text), step 3: other bytes"]);
    }
}
