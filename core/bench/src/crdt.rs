//! What does the core cost beside its peers? Every case is run by every subject, in turn, so that
//! all meet the same machine; processor time counts, the median of the rounds. A result of ours
//! that is not Yjs's to the byte is an error.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use bench::cases::{self, Case, Recorded};
use bench::peers;
use bench::program::{Compared, Outcome};
use indicatif::{ProgressBar, ProgressStyle};

use crate::rows::{Rows, Subject, median};

/// How to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these cases, or those whose names begin so: B1, B4, week-offline, grow and so on.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Which peers run as well: yjs, yrs, loro, automerge, diamond-types, ropey; none, or all.
    #[arg(long, value_delimiter = ',', default_value = "yjs,yrs,ropey")]
    peers: Vec<String>,
    /// How often each subject runs a case; shorter ones run more often, long ones less.
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// After how many seconds a run is broken off; of its time is then known that it is longer.
    #[arg(long, default_value_t = 60.0)]
    patience: f64,
    /// Also counts instructions with valgrind; a figure without noise, in no hurry.
    #[arg(long)]
    instructions: bool,
    /// Draws the figures into this folder.
    #[arg(long)]
    pub(crate) plot: Option<PathBuf>,
    /// Writes the tables into this file, between its marks.
    #[arg(long)]
    pub(crate) markdown: Option<PathBuf>,
    /// Measures nothing: takes the figures that `--json` wrote to this file.
    #[arg(long)]
    pub(crate) from: Option<PathBuf>,
    /// Shows the cases and ends.
    #[arg(long)]
    list: bool,
}

/// Longest time that all rounds of one subject and case may take, with what comes before and after.
const BUDGET_MS: f64 = 20_000.0;

/// Runs the benchmark; returns the figures, and what went wrong. A case that fails costs only itself:
/// the others may have taken an hour.
pub(crate) fn run(arguments: &Arguments) -> Result<(Rows, Vec<String>)> {
    let folder = tempfile::tempdir()?;
    if arguments.list {
        for id in cases::ids() {
            println!("{id}");
        }
        return Ok((Rows::default(), Vec::new()));
    }
    let wanted = wanted(&arguments.only)?;
    let subjects = subjects(&arguments.peers)?;
    let progress = ProgressBar::new(wanted.len() as u64);
    progress.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} {prefix} {msg}")?);
    let mut rows = Rows::default();
    let mut wrong = Vec::new();
    for id in wanted {
        progress.set_prefix(id.clone());
        progress.set_message("being made");
        progress.tick();
        let mut differences = Vec::new();
        let ran = cases::make(&id, folder.path()).and_then(|case| {
            let wrong = &mut differences;
            let mut bench = Bench { arguments, case: &case, progress: &progress, wrong };
            bench.run(&subjects, folder.path(), &mut rows)
        });
        wrong.append(&mut differences);
        wrong.extend(ran.err().map(|error| format!("{id}: {error:#}")));
        progress.println(line(&rows, &id));
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok((rows, wrong))
}

/// A case's times in a line, for those who watch.
fn line(rows: &Rows, id: &str) -> String {
    let times = rows.rows.iter().filter(|row| row.id == id && row.measure.starts_with("time"));
    let shown = times.map(|row| match row.measure.as_str() {
        "time" => format!("{} {:.3}", row.who, row.value),
        measure => format!("{} {:.0} ({measure})", row.who, row.value),
    });
    format!("{id}, ms: {}", shown.collect::<Vec<_>>().join(", "))
}

/// The cases that were asked for, each by its name or by how the names of several begin.
fn wanted(only: &[String]) -> Result<Vec<String>> {
    let all = cases::ids();
    if only.is_empty() {
        return Ok(all);
    }
    let mut wanted = Vec::new();
    for asked in only {
        let whole = all.contains(asked);
        let before = wanted.len();
        let fits = |id: &&String| if whole { *id == asked } else { id.starts_with(asked) };
        wanted.extend(all.iter().filter(fits).cloned());
        ensure!(wanted.len() > before, "no case {asked}; known: {}", all.join(", "));
    }
    Ok(wanted)
}

fn subjects(asked: &[String]) -> Result<Vec<&'static str>> {
    let known = ["yjs", "yrs", "loro", "automerge", "diamond-types", "ropey"];
    let mut subjects = vec!["quire-v1", "quire-v2"];
    for peer in asked {
        match peer.as_str() {
            "none" => {}
            "all" => {
                subjects.extend(["yjs-v1", "yjs-v2"]);
                subjects.extend(&peers::BUILT_IN[2..]);
            }
            "yjs" => subjects.extend(["yjs-v1", "yjs-v2"]),
            peer => {
                let built = peers::BUILT_IN.iter().copied();
                let of: Vec<&str> = built.filter(|subject| subject.starts_with(peer)).collect();
                ensure!(known.contains(&peer), "no such peer: {peer}; known: {}", known.join(", "));
                ensure!(!of.is_empty(), "{peer} is not built in: cargo xtask bench builds it in");
                subjects.extend(of);
            }
        }
    }
    Ok(subjects)
}

/// One case, and how it is measured.
struct Bench<'a> {
    arguments: &'a Arguments,
    case: &'a Case,
    progress: &'a ProgressBar,
    /// What of ours is not as Yjs has it.
    wrong: &'a mut Vec<String>,
}

/// A subject's process and what it gave.
struct Measured {
    subject: &'static str,
    process: Process,
    /// Of the first run, which compared bytes; cold, where a subject has to get warm.
    first: Outcome,
    rounds: u32,
    outcomes: Vec<Outcome>,
}

impl Bench<'_> {
    fn run(&mut self, subjects: &[&'static str], folder: &Path, rows: &mut Rows) -> Result<()> {
        let program = folder.join("program.json");
        fs::write(&program, serde_json::to_vec(&self.case.program)?)?;
        let mut all = Vec::new();
        for &subject in subjects {
            self.say(subject, "bytes");
            let command = self.worker(subject, &program)?;
            let Some(mut process) = Process::start(command, subject)? else { continue };
            let start = Instant::now();
            let first = process.ask("check")?;
            let rounds = self.rounds(&first, start.elapsed().as_secs_f64() * 1000.0);
            all.push(Measured { subject, process, first, rounds, outcomes: Vec::new() });
        }
        let most = all.iter().map(|each| each.rounds).max().unwrap_or_default();
        for round in 0..most {
            for each in all.iter_mut().filter(|each| round < each.rounds) {
                self.say(each.subject, &format!("round {} of {}", round + 1, each.rounds));
                each.outcomes.push(each.process.ask("time")?);
            }
        }
        self.compare(&all);
        for each in all {
            let Measured { subject, process, first, outcomes, .. } = each;
            process.end()?;
            self.tell(subject, &first, &outcomes, rows);
            if subject.starts_with("yjs") || first.done < 1.0 || first.time_ms > BUDGET_MS {
                continue;
            }
            self.say(subject, "allocations");
            let mut command = Command::new(beside("counts")?);
            command.arg(subject).arg(&program).arg("1e9");
            if let Some(mut process) = Process::start(command, subject)? {
                let memory = process.ask("time")?.memory.unwrap_or_default();
                process.end()?;
                let mut add = |measure, value: u64, unit| {
                    rows.add(self.subject(subject), measure, whole(value), unit);
                };
                add("allocations", memory.allocations, "");
                add("bytes allocated", memory.allocated_bytes, "bytes");
                add("peak of the heap", memory.peak_bytes, "bytes");
                if memory.parsed_bytes > 0 {
                    add("heap after parsing", memory.parsed_bytes, "bytes");
                    add("peak while parsing", memory.parse_peak_bytes, "bytes");
                }
            }
            if self.arguments.instructions && first.time_ms < 3_000.0 {
                self.say(subject, "instructions");
                let run = self.instructions(subject, &program, "once")?;
                let prepared = self.instructions(subject, &program, "prepare")?;
                let count = whole(run.saturating_sub(prepared));
                rows.add(self.subject(subject), "instructions", count, "");
            }
        }
        Ok(())
    }

    fn say(&self, subject: &str, what: &str) {
        self.progress.set_message(format!("{subject}, {what}"));
        self.progress.tick();
    }

    fn subject<'a>(&'a self, who: &'a str) -> Subject<'a> {
        Subject { bench: "crdt", id: &self.case.id, who }
    }

    /// The process that runs a program with a subject.
    fn worker(&self, subject: &str, program: &Path) -> Result<Command> {
        let patience_ms = (self.arguments.patience * 1000.0).to_string();
        if subject.starts_with("yjs") {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            let modules = here.join("../crdt/tests/differential");
            ensure!(
                modules.join("node_modules/yjs").is_dir(),
                "no Yjs: npm ci in {} brings it",
                modules.display()
            );
            let mut command = Command::new("node");
            command.args(["--expose-gc", "--max-old-space-size=8192"]);
            command.arg(here.join("yjs/worker.mjs")).arg(modules.canonicalize()?);
            command.arg(subject).arg(program).arg(patience_ms);
            return Ok(command);
        }
        let mut command = Command::new(beside("bench")?);
        command.arg("worker").arg(subject).arg(program).arg(patience_ms);
        Ok(command)
    }

    /// How many rounds are worth their time after a first one, which took so long in all.
    fn rounds(&self, first: &Outcome, whole_ms: f64) -> u32 {
        if first.done < 1.0 {
            return 0;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in bounds")]
        let within = |total_ms: f64, once_ms: f64| (total_ms / once_ms.max(0.001)).min(50.0) as u32;
        within(100.0, first.time_ms).max(self.arguments.rounds).min(within(BUDGET_MS, whole_ms))
    }

    /// Compares what all made of the case.
    fn compare(&mut self, all: &[Measured]) {
        let id = &self.case.id;
        let done = || all.iter().filter(|each| each.first.done >= 1.0);
        for (at, format) in ["v1", "v2"].into_iter().enumerate() {
            let of = |who: &str| done().find(|each| each.subject == format!("{who}-{format}"));
            let Some(ours) = of("quire") else { continue };
            let ours = &ours.first;
            let yjs = of("yjs").map(|yjs| &yjs.first);
            let recorded = self.case.recorded.as_ref().map(|recorded| expected(recorded, at));
            let expected = recorded.as_ref().or(yjs.map(|yjs| &yjs.compared));
            if let Some(expected) = expected
                && *expected != ours.compared
            {
                self.wrong.push(format!("{id}: quire's bytes, {format}, are not Yjs's"));
            }
            if yjs.is_some_and(|yjs| yjs.text != ours.text) {
                self.wrong.push(format!("{id}: quire's text is not Yjs's"));
            }
            for each in done().filter(|each| each.subject.ends_with(format)) {
                if each.first.compared != ours.compared {
                    self.progress.println(format!("{id}: {} writes other bytes", each.subject));
                }
            }
            // Who is concurrent may order letters otherwise, but not lose any.
            for each in done().filter(|each| each.first.units != ours.units) {
                self.wrong.push(format!("{id}: {}'s text has another length", each.subject));
            }
        }
    }

    /// Adds the figures of a subject's runs.
    fn tell(&self, subject: &str, first: &Outcome, outcomes: &[Outcome], rows: &mut Rows) {
        let mut add = |measure, value, unit| rows.add(self.subject(subject), measure, value, unit);
        if first.done < 1.0 {
            // What it would have taken is not guessed: it is longer than this.
            add("time, broken off", first.time_ms, "ms");
            return;
        }
        let first_only = std::slice::from_ref(first);
        let runs = if outcomes.is_empty() { first_only } else { outcomes };
        let middle = |of: &dyn Fn(&Outcome) -> Option<f64>| {
            let values: Vec<f64> = runs.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| median(values))
        };
        add("time", median(runs.iter().map(|run| run.time_ms).collect()), "ms");
        if subject.starts_with("yjs") {
            add("time, cold", first.time_ms, "ms");
        }
        if let Some(value) = middle(&|run| run.encode_ms) {
            add("encode", value, "ms");
        }
        if let Some(value) = middle(&|run| run.parse_ms) {
            add("parse", value, "ms");
        }
        if first.message_bytes > 0 {
            add("messages", whole(first.message_bytes), "bytes");
        }
        if first.state_bytes > 0 {
            add("state", whole(first.state_bytes), "bytes");
        }
        if let (true, Some(memory)) = (subject.starts_with("yjs"), &first.memory) {
            add("heap after parsing", whole(memory.parsed_bytes), "bytes");
        }
        if let Some(size) = self.case.size {
            add("characters", whole(size), "");
        }
    }

    /// Counts the instructions of a process that runs once as told.
    fn instructions(&self, subject: &str, program: &Path, mode: &str) -> Result<u64> {
        let plain = self.worker(subject, program)?;
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        command.arg(plain.get_program()).args(plain.get_args());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("valgrind could not be started")?;
        if let Some(mut input) = child.stdin.take() {
            writeln!(input, "{mode}")?;
        }
        let told = child.wait_with_output()?;
        let told = String::from_utf8_lossy(&told.stderr);
        let line = told.lines().find(|line| line.contains(" refs:"));
        let count = line.and_then(|line| line.rsplit(' ').next()).context("no count")?;
        Ok(count.replace(',', "").parse()?)
    }
}

fn expected(recorded: &Recorded, format: usize) -> Vec<Compared> {
    let compared = |(document, bytes): (usize, &[cases::Bytes; 2])| {
        let cases::Bytes { state, told, messages } = bytes[format].clone();
        Compared { document, state, told, messages }
    };
    recorded.0.iter().enumerate().map(compared).collect()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn whole(number: u64) -> f64 {
    number as f64
}

/// A program that was built beside this one.
fn beside(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    ensure!(path.exists(), "{} is not built: cargo xtask bench builds it", path.display());
    Ok(path)
}

/// A worker that is asked line by line.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    name: String,
}

impl Process {
    /// Starts a worker; `None` if the subject can't do what the case asks for.
    fn start(mut command: Command, name: &str) -> Result<Option<Self>> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().with_context(|| format!("{program} could not start"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.context("piped")?, output.context("piped")?);
        let name = name.to_owned();
        let mut process = Self { child, input, output: BufReader::new(output), name };
        match process.line()?.as_str() {
            "ready" => Ok(Some(process)),
            "unable" => {
                process.end()?;
                Ok(None)
            }
            other => bail!("{}: {other}", process.name),
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            let status = self.child.wait()?;
            bail!("{} ended with {status}", self.name);
        }
        Ok(line.trim().to_owned())
    }

    fn ask(&mut self, mode: &str) -> Result<Outcome> {
        writeln!(self.input, "{mode}")?;
        self.input.flush()?;
        Ok(serde_json::from_str(&self.line()?)?)
    }

    fn end(self) -> Result<()> {
        let Self { mut child, input, .. } = self;
        drop(input);
        child.wait()?;
        Ok(())
    }
}
