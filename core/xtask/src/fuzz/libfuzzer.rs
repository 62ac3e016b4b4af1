//! The doors, one process of libFuzzer each.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::{setup, step, workspace};

/// Tells compiled code to count where it has been, and to show libFuzzer what it compares.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// What an input may take: seconds, and megabytes of the whole process. The fuzzer's own allocator holds each input to
/// less.
const LIMITS: [&str; 2] = ["-timeout=10", "-rss_limit_mb=512"];
/// Bytes kept for a target in the work tree.
const KEPT: u64 = 24 << 10;
/// The longest input made, in bytes.
const MAX_LEN: u64 = 1024;
/// How often a target tells how far it is.
const TELL: Duration = Duration::from_secs(15);

/// What came of a target.
#[derive(Debug, Default)]
struct Outcome {
    runs: u64,
    /// Places in the code that were reached.
    coverage: u64,
    inputs: u64,
    cpu_seconds: f64,
    /// The last lines of a run that ended badly.
    crash: Option<String>,
}

/// Everything that a run of a target needs.
struct Place {
    binary: PathBuf,
    seeds: PathBuf,
    found: PathBuf,
    crashes: PathBuf,
    kept: PathBuf,
}

impl Place {
    fn of(binary: &Path, target: &str) -> Result<Self> {
        let fuzz = workspace::target().join("fuzz");
        let place = Self {
            binary: binary.to_path_buf(),
            seeds: fuzz.join("seeds").join(target),
            found: fuzz.join("corpus").join(target),
            crashes: fuzz.join("crashes").join(target),
            kept: workspace::root().join("core/fuzz/corpus").join(target),
        };
        for folder in [&place.seeds, &place.found, &place.crashes, &place.kept] {
            fs::create_dir_all(folder)
                .with_context(|| format!("{} can't be made", folder.display()))?;
        }
        Ok(place)
    }
}

/// Fuzzes targets, each for its share of the time.
pub(super) fn run(asked: &[String], seconds: u64, minutes: Option<u64>, jobs: u64) -> Result<()> {
    let binary = built()?;
    let known = targets()?;
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        bail!("there is no target {unknown}; there are: {}", known.join(" "));
    }
    let targets = if asked.is_empty() { known } else { asked.to_vec() };
    let seconds = minutes.map_or(seconds, |minutes| {
        let rounds = (targets.len() as u64).div_ceil(jobs);
        (minutes * 60 / rounds.max(1)).max(1)
    });
    step::title(&format!("Fuzzing {} targets, {seconds} s each", targets.len()));
    let next = Mutex::new(targets.iter());
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let target = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(target) = target else { return };
                    let outcome = Place::of(&binary, target)
                        .and_then(|place| fuzz(target, &place, seconds))
                        .unwrap_or_else(|problem| Outcome {
                            crash: Some(format!("{problem:#}")),
                            ..Outcome::default()
                        });
                    outcomes
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((target.clone(), outcome));
                }
            });
        }
    });
    tell(&outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs one target on one input.
pub(super) fn again(target: &str, input: &Path) -> Result<()> {
    let input = std::path::absolute(input)?;
    let binary = built()?;
    step::run(
        &format!("{target}, once more"),
        Command::new(binary)
            .args(LIMITS)
            .arg(input)
            .env("QUIRE_FUZZ", target)
            .env("RUST_BACKTRACE", "1"),
    )
}

/// Builds the fuzzer, and writes the first inputs; returns the binary.
fn built() -> Result<PathBuf> {
    if !step::is_there("c++", "--version") {
        setup::packages(false)?;
    }
    let folder = workspace::target().join("fuzz");
    let triple = triple()?;
    step::run(
        "Building the fuzzer",
        Command::new(env!("CARGO"))
            .args(["build", "--profile", "fuzz", "--package", "fuzz", "--bin", "libfuzzer"])
            .args(["--features", "libfuzzer", "--target", &triple])
            .env("RUSTFLAGS", FLAGS)
            .env("CARGO_TARGET_DIR", &folder)
            .current_dir(workspace::root()),
    )?;
    let binary = folder.join(triple).join("fuzz").join("libfuzzer");
    step::run("First inputs", Command::new(&binary).env("QUIRE_FUZZ_SEEDS", folder.join("seeds")))?;
    Ok(binary)
}

/// The system that is compiled for, as the compiler calls it.
fn triple() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc can't be started")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say what it compiles for")?.to_owned())
}

/// The names of all targets: each has a folder in the corpus, which a test holds.
fn targets() -> Result<Vec<String>> {
    let corpus = workspace::root().join("core/fuzz/corpus");
    let mut names = Vec::new();
    for entry in fs::read_dir(&corpus).with_context(|| format!("{}", corpus.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Fuzzes one target, then keeps the smallest inputs that reach as much.
fn fuzz(target: &str, place: &Place, seconds: u64) -> Result<Outcome> {
    let mut child = Command::new(&place.binary)
        .args(LIMITS)
        .args(["-print_final_stats=1", "-reload=0", "-use_value_profile=0"])
        .arg(format!("-max_len={MAX_LEN}"))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", place.crashes.display()))
        .args([&place.found, &place.kept, &place.seeds])
        .env("QUIRE_FUZZ", target)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} could not be started", place.binary.display()))?;
    let mut outcome = Outcome::default();
    let mut last = Vec::new();
    let mut told = Instant::now();
    if let Some(err) = child.stderr.take() {
        for line in BufReader::new(err).split(b'\n') {
            let line = String::from_utf8_lossy(&line?).into_owned();
            outcome.read(&line);
            if told.elapsed() > TELL {
                told = Instant::now();
                outcome.cpu_seconds = cpu_seconds(&child);
                println!("{target:<16} {outcome}");
            }
            if !line.starts_with('#') {
                last.push(line);
            }
        }
    }
    // All it had to say is said; it has ended and is not yet waited for.
    outcome.cpu_seconds = cpu_seconds(&child);
    if !child.wait()?.success() {
        let shown =
            last.iter().filter(|line| !line.trim().is_empty() && !line.starts_with("stat::"));
        let shown: Vec<&str> = shown.map(String::as_str).collect();
        outcome.crash = Some(shown[shown.len().saturating_sub(25)..].join("\n"));
        println!("{target:<16} ended badly");
        return Ok(outcome);
    }
    keep(target, place)?;
    println!("{target:<16} {outcome}");
    Ok(outcome)
}

/// Replaces the inputs in the work tree, but those that have a name, by the smallest ones that reach as much, as far as
/// there is room.
fn keep(target: &str, place: &Place) -> Result<()> {
    let merged = place.found.with_extension("merged");
    // What a merge that was stopped left.
    drop(fs::remove_dir_all(&merged));
    fs::create_dir_all(&merged)?;
    let status = Command::new(&place.binary)
        .args(LIMITS)
        .args(["-set_cover_merge=1", "-use_counters=0", "-verbosity=0"])
        .arg(format!("-max_len={MAX_LEN}"))
        .args([&merged, &place.kept, &place.found, &place.seeds])
        .env("QUIRE_FUZZ", target)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("{target}: the inputs could not be merged");
    }
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&merged)? {
        let entry = entry?;
        inputs.push((entry.metadata()?.len(), entry.file_name()));
    }
    inputs.sort();
    if inputs.is_empty() {
        return Ok(());
    }
    let mut room = KEPT;
    for entry in fs::read_dir(&place.kept)? {
        let entry = entry?;
        if is_named(&entry.file_name().to_string_lossy()) {
            room = room.saturating_sub(entry.metadata()?.len());
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    for (len, name) in inputs.into_iter().filter(|(len, _)| *len <= MAX_LEN) {
        let Some(left) = room.checked_sub(len) else { break };
        room = left;
        fs::copy(merged.join(&name), place.kept.join(&name))?;
    }
    fs::remove_dir_all(&merged)?;
    Ok(())
}

/// Whether somebody gave an input its name, for what it shows; libFuzzer's are hashes.
fn is_named(input: &str) -> bool {
    input.len() != 40 || !input.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Sums up; an error if anything was found.
fn tell(outcomes: &[(String, Outcome)]) -> Result<()> {
    step::title("Fuzzing");
    for (target, outcome) in outcomes {
        println!("{target:<16} {outcome}");
    }
    let runs: u64 = outcomes.iter().map(|(_, outcome)| outcome.runs).sum();
    let cpu: f64 = outcomes.iter().map(|(_, outcome)| outcome.cpu_seconds).sum();
    println!("{runs} runs in {:.1} CPU minutes", cpu / 60.0);
    let crashes: Vec<_> = outcomes
        .iter()
        .filter_map(|(target, outcome)| Some((target, outcome.crash.as_ref()?)))
        .collect();
    for (target, crash) in &crashes {
        println!("\n{target}:\n{crash}\nOnce more: cargo xtask fuzz {target} --again FILE");
    }
    if !crashes.is_empty() {
        bail!("{} targets ended badly", crashes.len());
    }
    Ok(())
}

impl Outcome {
    /// Reads a line of libFuzzer's: `#8192 pulse  cov: 512 ft: 1024 corp: 64/1k ...`, or a closing figure.
    fn read(&mut self, line: &str) {
        if let Some(runs) = line.strip_prefix("stat::number_of_executed_units:") {
            self.runs = runs.trim().parse().unwrap_or(self.runs);
        }
        let Some(rest) = line.strip_prefix('#') else { return };
        let mut words = rest.split_whitespace();
        let Some(Ok(runs)) = words.next().map(str::parse) else { return };
        self.runs = runs;
        while let Some(word) = words.next() {
            let number = |word: Option<&str>| {
                word.and_then(|word| word.split('/').next()?.parse::<u64>().ok())
            };
            match word {
                "cov:" => self.coverage = number(words.next()).unwrap_or(self.coverage),
                "corp:" => self.inputs = number(words.next()).unwrap_or(self.inputs),
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { runs, coverage, inputs, cpu_seconds, crash } = self;
        write!(
            f,
            "{runs:>9} runs, {coverage:>6} places reached, {inputs:>5} inputs, {cpu_seconds:>6.1} CPU s{}",
            if crash.is_some() { ", ended badly" } else { "" }
        )
    }
}

/// The time that a process has computed, as Linux counts it; 0 where that can't be told.
fn cpu_seconds(child: &Child) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // The name before may hold anything but stands in parentheses.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u32>().ok()).sum();
    // 100 a second, for programs on every architecture.
    f64::from(ticks) / 100.0
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn lines_of_libfuzzer_are_read() {
        let mut outcome = Outcome::default();
        outcome
            .read("#8192\tpulse  cov: 512 ft: 1024 corp: 64/1871b lim: 33 exec/s: 4096 rss: 40Mb");
        assert_eq!((outcome.runs, outcome.coverage, outcome.inputs), (8192, 512, 64));
        outcome.read("stat::number_of_executed_units: 9000");
        outcome.read("INFO: Seed: 12");
        assert_eq!((outcome.runs, outcome.coverage, outcome.inputs), (9000, 512, 64));
    }
}
