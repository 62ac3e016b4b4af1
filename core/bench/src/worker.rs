//! Runs a program with one subject, as often as it is told to, in a process of its own: nobody's
//! heap is another's, and processor time is the subject's alone.
//!
//! Lines come in by standard input; for each an [`Outcome`] goes out as a line. `time` measures all,
//! `once` only what the clock runs for and `prepare` not even that, to tell their difference from
//! outside; `check` has every document tell what it applies as well, and compares bytes.

use std::cell::RefCell;
use std::io::{BufRead as _, Write as _};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use cpu_time::ProcessTime;
use sha2::{Digest as _, Sha256};

use crate::peers::{self, Peer, Speaks};
use crate::program::{Compared, Memory, Op, Outcome, Program, Step};

/// What a process that counts its allocations knows.
#[derive(Debug, Clone, Copy)]
pub struct Counters {
    /// Allocations and reallocations so far.
    pub allocations: u64,
    /// Bytes asked for so far.
    pub allocated_bytes: u64,
    /// Bytes given back so far.
    pub freed_bytes: u64,
    /// Most bytes held at once more than at the last reset.
    pub peak_bytes: u64,
}

/// How allocations are counted, in the program that does.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    /// Starts the peak anew.
    pub reset: fn(),
    /// Reads the counters.
    pub read: fn() -> Counters,
}

/// Serves one subject and program until standard input ends. `patience_ms` is how long one run may
/// take before it is broken off.
///
/// # Errors
/// The subject is not known or not built in, can't do what the program asks for, or failed at it.
pub fn serve(
    subject: &str,
    program: &Path,
    patience_ms: f64,
    counting: Option<Counting>,
) -> Result<()> {
    let text = std::fs::read(program).with_context(|| format!("reading {}", program.display()))?;
    let program: Program = serde_json::from_slice(&text)?;
    drop(text);
    let job = Job::new(program, patience_ms, counting);
    peers::with(subject, &job)
}

/// A program and how it is to be run.
#[derive(Debug)]
pub(crate) struct Job {
    /// Without what is measured.
    program: Program,
    /// What is measured, and its operations in a row.
    timed: Vec<Timed>,
    ops: Vec<Op>,
    needed: Vec<bool>,
    listens: Vec<bool>,
    patience_ms: f64,
    counting: Option<Counting>,
    /// In what every document starts, once it is known.
    state: RefCell<Option<Vec<u8>>>,
}

/// A step that is measured. All its operations lie in one row and were made one after the other, since looking for
/// them here and there would take longer than some edits do.
#[derive(Debug)]
enum Timed {
    Edit(usize, Range<usize>),
    Apply(usize, Vec<usize>),
}

impl Job {
    fn new(mut program: Program, patience_ms: f64, counting: Option<Counting>) -> Self {
        let (needed, listens) = (program.needed(), program.listens());
        let (mut timed, mut ops) = (Vec::with_capacity(program.timed.len()), Vec::new());
        for step in &program.timed {
            timed.push(match step {
                Step::Edit(document, of_step) => {
                    ops.extend_from_slice(of_step);
                    Timed::Edit(*document, ops.len() - of_step.len()..ops.len())
                }
                Step::Apply(document, numbers) => Timed::Apply(*document, numbers.clone()),
            });
        }
        program.timed = Vec::new();
        let state = RefCell::default();
        Self { program, timed, ops, needed, listens, patience_ms, counting, state }
    }

    /// Serves a peer.
    pub(crate) fn serve<P: Peer>(&self) -> Result<()> {
        let able = self.program.ops().chain(&self.ops).all(P::can);
        let talks = self.needed.iter().any(|&needed| needed);
        if !able || (talks && P::SPEAKS == Speaks::Nothing) {
            println!("unable");
            return Ok(());
        }
        println!("ready");
        for line in std::io::stdin().lock().lines() {
            let outcome = self.run::<P>(&line?)?;
            println!("{}", serde_json::to_string(&outcome)?);
            std::io::stdout().flush()?;
        }
        Ok(())
    }

    fn documents<P: Peer>(&self, check: bool) -> Result<Vec<P>> {
        let ending = match P::SPEAKS {
            Speaks::YjsV1 => Some("v1"),
            Speaks::YjsV2 => Some("v2"),
            Speaks::Own | Speaks::Nothing => None,
        };
        let mut state = self.state.borrow_mut();
        if let (None, Some(path), Some(ending)) = (&*state, &self.program.state, ending) {
            *state = Some(std::fs::read(format!("{path}.{ending}"))?);
        }
        let seed = |mut document: P| -> Result<P> {
            for ops in &self.program.seed {
                document.edit(ops, false)?;
            }
            Ok(document)
        };
        // They must be one and the same person's letters, or each would keep its own.
        if state.is_none() && P::SPEAKS == Speaks::Own && !self.program.seed.is_empty() {
            *state = Some(seed(P::new(1_000)?)?.save()?);
        }
        let mut documents = Vec::with_capacity(self.program.documents);
        for number in 0..self.program.documents {
            let client = number as u64 + 1;
            let mut document = match &*state {
                Some(state) => P::with_state(client, state)?,
                None => seed(P::new(client)?)?,
            };
            document.listen(check || self.listens[number])?;
            documents.push(document);
        }
        Ok(documents)
    }

    fn run<P: Peer>(&self, mode: &str) -> Result<Outcome> {
        let program = &self.program;
        let check = mode == "check";
        let documents = self.documents::<P>(check)?;
        let mut run = Run {
            told: vec![(0, Sha256::new()); documents.len()],
            documents,
            messages: vec![Vec::new(); self.needed.len()],
            next: 0,
            message_bytes: 0,
            check,
        };
        for step in &program.before {
            run.step(step, self)?;
        }
        if mode == "prepare" {
            return Ok(Outcome::default());
        }
        run.message_bytes = 0;
        let first = run.next;
        let total = self.timed.len() * program.repeat.max(1) as usize;
        let mut did = 0;
        let counters = self.start();
        let start = ProcessTime::now();
        'all: for _ in 0..program.repeat.max(1) {
            run.next = first;
            for step in &self.timed {
                did += 1;
                match step {
                    Timed::Edit(document, ops) => {
                        run.edit(*document, &self.ops[ops.clone()], self)?;
                    }
                    Timed::Apply(document, numbers) => run.apply(*document, numbers, self)?,
                }
                // Few looks at the clock: each is a call of the kernel.
                if (did % 1024 == 0 || did < 8)
                    && start.elapsed().as_secs_f64() * 1000.0 > self.patience_ms
                {
                    break 'all;
                }
            }
        }
        let time_ms = start.elapsed().as_secs_f64() * 1000.0;
        let worked = self.since(counters);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let done = did as f64 / total.max(1) as f64;
        let mut outcome = Outcome { time_ms, done, ..Outcome::default() };
        outcome.message_bytes = run.message_bytes;
        if did < total || mode == "once" {
            return Ok(outcome);
        }
        if check {
            for step in &program.after {
                run.step(step, self)?;
            }
            for &document in &program.compare {
                let state = run.documents[document].save()?;
                let (told, messages) = run.told[document].clone();
                outcome.compared.push(Compared {
                    document,
                    state: sha256(&state),
                    told,
                    messages: hex(messages),
                });
            }
        }
        let text = run.documents[program.result].text()?;
        outcome.units = text.encode_utf16().count() as u64;
        outcome.text = sha256(text.as_bytes());
        if P::SPEAKS != Speaks::Nothing {
            self.encode_and_parse(&mut run.documents[program.result], &text, &mut outcome)?;
        }
        if let Some(worked) = worked {
            outcome.memory = Some(Memory {
                allocations: worked.allocations,
                allocated_bytes: worked.allocated_bytes,
                peak_bytes: worked.peak_bytes,
                ..outcome.memory.unwrap_or_default()
            });
        }
        Ok(outcome)
    }

    fn encode_and_parse<P: Peer>(
        &self,
        document: &mut P,
        text: &str,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let mut state = Vec::new();
        outcome.encode_ms = Some(often(|| {
            state = document.save()?;
            Ok(())
        })?);
        outcome.state_bytes = state.len() as u64;
        outcome.parse_ms = Some(often(|| {
            let mut parsed = P::with_state(u64::from(u32::MAX), &state)?;
            let read = parsed.text()?;
            Ok((parsed, read))
        })?);
        ensure!(P::with_state(1, &state)?.text()? == text, "what was parsed has another text");
        if self.counting.is_some() {
            let counters = self.start();
            let mut parsed = P::with_state(u64::from(u32::MAX), &state)?;
            // Who reads lazily has read it then.
            drop(parsed.text()?);
            let counted = self.since(counters).unwrap_or_default();
            drop(parsed);
            outcome.memory = Some(Memory {
                parsed_bytes: counted.parsed_bytes,
                parse_peak_bytes: counted.peak_bytes,
                ..Memory::default()
            });
        }
        Ok(())
    }

    fn start(&self) -> Option<Counters> {
        self.counting.map(|counting| {
            (counting.reset)();
            (counting.read)()
        })
    }

    fn since(&self, before: Option<Counters>) -> Option<Memory> {
        let (before, now) = (before?, (self.counting?.read)());
        let allocated_bytes = now.allocated_bytes - before.allocated_bytes;
        Some(Memory {
            allocations: now.allocations - before.allocations,
            allocated_bytes,
            peak_bytes: now.peak_bytes,
            parsed_bytes: allocated_bytes.saturating_sub(now.freed_bytes - before.freed_bytes),
            parse_peak_bytes: 0,
        })
    }
}

/// One run's documents and what they told.
struct Run<P> {
    documents: Vec<P>,
    told: Vec<(u64, Sha256)>,
    messages: Vec<Vec<u8>>,
    next: usize,
    message_bytes: u64,
    check: bool,
}

impl<P: Peer> Run<P> {
    fn step(&mut self, step: &Step, job: &Job) -> Result<()> {
        match step {
            Step::Edit(document, ops) => self.edit(*document, ops, job),
            Step::Apply(document, numbers) => self.apply(*document, numbers, job),
        }
    }

    fn edit(&mut self, document: usize, ops: &[Op], job: &Job) -> Result<()> {
        let needed = job.needed[self.next];
        let tell = job.program.tell || needed;
        let message = self.documents[document].edit(ops, tell)?;
        if self.check
            && let Some(message) = &message
        {
            self.told[document].0 += 1;
            self.told[document].1.update(message);
        }
        if let Some(message) = message {
            self.message_bytes += message.len() as u64;
            if needed {
                self.messages[self.next] = message;
            }
        }
        self.next += 1;
        Ok(())
    }

    fn apply(&mut self, document: usize, numbers: &[usize], job: &Job) -> Result<()> {
        let tell = self.check || job.listens[document];
        let told = if let [one] = numbers {
            self.documents[document].apply(&[&self.messages[*one]], tell)?
        } else {
            let messages: Vec<&[u8]> =
                numbers.iter().map(|&number| self.messages[number].as_slice()).collect();
            self.documents[document].apply(&messages, tell)?
        };
        if self.check
            && let Some(told) = told
        {
            self.told[document].0 += 1;
            self.told[document].1.update(&told);
        }
        Ok(())
    }
}

/// Does something for at least a millisecond; returns how many each time took. Dropping what it
/// gives is not counted.
fn often<R>(mut work: impl FnMut() -> Result<R>) -> Result<f64> {
    let (mut took, mut times) = (0.0, 0.0);
    while took < 1.0 {
        let start = ProcessTime::now();
        let done = work()?;
        took += start.elapsed().as_secs_f64() * 1000.0;
        times += 1.0;
        drop(done);
    }
    Ok(took / times)
}

fn sha256(of: &[u8]) -> String {
    hex(Sha256::new_with_prefix(of))
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |text, byte| text + format!("{byte:02x}").as_str())
}

/// Whether an operation is one on a text.
pub(crate) fn is_text(op: &Op) -> bool {
    matches!(op, Op::Insert(..) | Op::Delete(..))
}
