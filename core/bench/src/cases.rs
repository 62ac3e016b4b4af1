//! The cases: those of the suite `crdt-benchmarks`, replayed from what was recorded of it, those
//! that it lacks, and the recorded histories of real documents.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use crdt::{ClientId, Doc, Options};
use serde_json::Value as Json;

use crate::program::{Op, Program, Step};
use crate::trace::{self, Trace, unpack};

/// A case of the suite.
#[derive(Debug)]
pub struct Case {
    /// By which it is asked for.
    pub id: String,
    /// What happens in it.
    pub title: String,
    /// Which table it stands in.
    pub group: Group,
    /// What is run.
    pub program: Program,
    /// What Yjs's documents are, if that is recorded.
    pub recorded: Option<Recorded>,
    /// A size by which cases of one kind are compared.
    pub size: Option<u64>,
}

/// What was recorded of Yjs: for each compared document SHA-256 of the state and of all messages,
/// in both formats.
#[derive(Debug)]
pub struct Recorded(pub Vec<[Bytes; 2]>);

/// SHA-256 of a document's state and of its messages joined, and their number.
#[derive(Debug, Clone)]
pub struct Bytes {
    /// Of the state.
    pub state: String,
    /// How many messages there were.
    pub told: u64,
    /// Of the messages.
    pub messages: String,
}

/// What a case is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// The suite's own cases.
    Suite,
    /// The paper of B4 in other ways, and a hundred times.
    Paper,
    /// Several people at once, beyond the suite.
    Together,
    /// Documents of growing size.
    Growth,
    /// Other recorded histories.
    Traces,
}

/// How a case is made.
type Make = fn(&str, &Path) -> Result<Case>;

/// Every case's id, in the order in which they run.
pub fn ids() -> Vec<String> {
    all().into_iter().map(|(id, _)| id).collect()
}

/// Makes the case of an id; files that its programs need go into a folder.
///
/// # Errors
/// There is none of that id, or what was recorded can't be read.
pub fn make(id: &str, folder: &Path) -> Result<Case> {
    let found = all().into_iter().find(|(known, _)| known == id);
    let (_, make) = found.with_context(|| format!("there is no case {id}"))?;
    make(id, folder).with_context(|| format!("making the case {id}"))
}

fn all() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    let b1 = (1..=11).map(|n| format!("B1.{n}"));
    let b2 = (1..=4).map(|n| format!("B2.{n}"));
    let b3 = (1..=5).map(|n| format!("B3.{n}"));
    all.extend(b1.chain(b2).chain(b3).map(|id| (id, suite as Make)));
    all.extend((1..=4).map(|n| (format!("B2.{n}-at-once"), suite as Make)));
    for id in ["B4", "B4-silent", "B4-one-transaction", "B4x100"] {
        all.push((id.to_owned(), paper));
    }
    all.push(("prepend-at-once".to_owned(), prepend));
    all.push(("week-offline".to_owned(), week));
    for id in trace::TOGETHER {
        all.push((id.to_owned(), together));
    }
    all.extend((3..=7).map(|power| (format!("grow-1e{power}"), grow as Make)));
    all.extend(trace::ALONE.iter().map(|id| ((*id).to_owned(), history as Make)));
    all
}

fn suite(id: &str, _: &Path) -> Result<Case> {
    let (base, at_once) = match id.strip_suffix("-at-once") {
        Some(base) => (base, true),
        None => (id, false),
    };
    let recorded = unpack(&recorded().join("crdt-benchmarks-b1-b3.json.gz"))?;
    let suite = recorded.as_object().context("an object of cases")?;
    let (name, entry) = suite
        .iter()
        .find(|(name, _)| name.starts_with(&format!("[{base}]")))
        .context("it was not recorded")?;
    let docs: Vec<Vec<Op>> = entry["docs"]
        .as_array()
        .context("documents")?
        .iter()
        .map(|ops| ops.as_array().context("operations")?.iter().map(op).collect())
        .collect::<Result<_>>()?;
    let mut program = Program { documents: docs.len(), repeat: 1, ..Program::default() };
    program.compare = vec![0, 1];
    let edits = |document, ops: &[Op]| -> Vec<Step> {
        ops.iter().map(|op| Step::Edit(document, vec![op.clone()])).collect()
    };
    match base.get(..2) {
        Some("B1") => {
            program.timed = edits(1, &docs[1]);
            let count = program.timed.len();
            program.timed.extend((0..count).map(|message| Step::Apply(0, vec![message])));
        }
        Some("B2") => {
            program.before = edits(0, &docs[0][..1]);
            program.before.push(Step::Apply(1, vec![0]));
            let (ann, ben) = (Step::Edit(0, docs[0][1..].to_vec()), Step::Edit(1, docs[1].clone()));
            let (to_ann, to_ben) = (Step::Apply(0, vec![2]), Step::Apply(1, vec![1]));
            program.timed = if at_once {
                vec![ann, ben, to_ben, to_ann]
            } else {
                vec![ann, to_ben, ben, to_ann]
            };
        }
        _ => {
            for (document, ops) in docs.iter().enumerate() {
                program.before.push(Step::Edit(document, ops.clone()));
            }
            let everything: Vec<usize> = (0..docs.len()).collect();
            program.timed = vec![Step::Apply(0, everything.clone())];
            program.after = vec![Step::Apply(1, everything)];
        }
    }
    let title = name.split_once("] ").map_or(name.as_str(), |(_, title)| title);
    let recorded = entry["ref"].as_array().filter(|_| !at_once).map(|documents| {
        let bytes = |document: &Json, state: &str, messages: &str| Bytes {
            state: document[state].as_str().unwrap_or_default().to_owned(),
            told: document["updN"].as_u64().unwrap_or_default(),
            messages: document[messages].as_str().unwrap_or_default().to_owned(),
        };
        let both =
            |document| [bytes(document, "v1sha", "updV1sha"), bytes(document, "v2sha", "updV2sha")];
        Recorded(documents.iter().map(both).collect())
    });
    let (group, title) = if at_once {
        (Group::Together, format!("{title}, truly at once"))
    } else {
        (Group::Suite, title.to_owned())
    };
    Ok(Case { id: id.to_owned(), title, group, program, recorded, size: None })
}

fn op(json: &Json) -> Result<Op> {
    let number = |at: usize| -> Result<u32> {
        Ok(u32::try_from(json[at].as_u64().context("a whole number")?)?)
    };
    Ok(match json[0].as_str() {
        Some("t") => Op::Insert(number(1)?, serde_json::from_value(json[2].clone())?),
        Some("T") => Op::Delete(number(1)?, number(2)?),
        Some("a") => Op::Array(number(1)?, serde_json::from_value(json[2].clone())?),
        Some("m") => Op::Set(
            json[1].as_str().context("a key")?.to_owned(),
            serde_json::from_value(json[2].clone())?,
        ),
        other => anyhow::bail!("an operation {other:?}"),
    })
}

fn paper(id: &str, _: &Path) -> Result<Case> {
    let case = history("B4", Path::new(""))?;
    let mut program = case.program;
    let (title, recorded) = match id {
        "B4" => ("Apply a real editing history, a message an edit", case.recorded),
        "B4-silent" => {
            program.tell = false;
            program.compare.clear();
            ("B4 without messages", None)
        }
        "B4-one-transaction" => {
            let steps = std::mem::take(&mut program.timed);
            let ops = steps.into_iter().flat_map(|step| match step {
                Step::Edit(_, ops) => ops,
                Step::Apply(..) => Vec::new(),
            });
            program.timed = vec![Step::Edit(0, ops.collect())];
            program.compare.clear();
            ("B4 in one transaction", None)
        }
        _ => {
            program.repeat = 100;
            program.compare.clear();
            ("B4 a hundred times, each before the last", None)
        }
    };
    let group = if id == "B4" { Group::Suite } else { Group::Paper };
    Ok(Case { id: id.to_owned(), title: title.to_owned(), group, program, recorded, size: None })
}

/// Two people put single letters before everything, each without the other's: the worst case of the
/// algorithm, since every letter meets all of the other's.
#[expect(clippy::unnecessary_wraps, reason = "every case is made so")]
fn prepend(id: &str, _: &Path) -> Result<Case> {
    const LETTERS: usize = 3_000;
    let mut program = Program { documents: 2, repeat: 1, ..Program::default() };
    for document in 0..2 {
        let letter = ["a", "b"][document];
        let edit = || Step::Edit(document, vec![Op::Insert(0, letter.to_owned())]);
        program.before.extend((0..LETTERS).map(|_| edit()));
    }
    program.timed.extend((0..LETTERS).map(|at| Step::Apply(0, vec![LETTERS + at])));
    program.timed.extend((0..LETTERS).map(|at| Step::Apply(1, vec![at])));
    program.compare = vec![0, 1];
    let title = format!("2 people prepend {LETTERS} single letters each at once");
    Ok(Case::new(id, title, Group::Together, program))
}

/// Three people were away for a week and edited one paper; somebody applies all that they did.
fn week(id: &str, folder: &Path) -> Result<Case> {
    const UPDATES: usize = 10_000;
    const PEOPLE: usize = 3;
    let text = Trace::read("B4")?.end;
    let mut program = Program { documents: PEOPLE + 1, repeat: 1, ..Program::default() };
    program.state = Some(state(folder, id, |doc| insert(doc, 0, &text))?);
    program.seed = vec![vec![Op::Insert(0, text.clone())]];
    let mut random = Random(42);
    for person in 0..PEOPLE {
        let mut len = u32::try_from(text.len())?;
        let mut at = 0;
        for edit in 0..UPDATES / PEOPLE + usize::from(person < UPDATES % PEOPLE) {
            if edit % 30 == 0 {
                at = random.below(len + 1);
            }
            let step = if random.below(100) < 85 || at < 4 {
                let letters = 1 + random.below(4);
                let written = random.letters(letters);
                let step = Op::Insert(at, written.clone());
                at += u32::try_from(written.len())?;
                len += u32::try_from(written.len())?;
                step
            } else {
                at -= 2;
                len -= 2;
                Op::Delete(at, 2)
            };
            program.before.push(Step::Edit(person + 1, vec![step]));
        }
    }
    program.timed = (0..UPDATES).map(|message| Step::Apply(0, vec![message])).collect();
    program.compare = vec![0];
    let title = format!("Apply {UPDATES} updates of {PEOPLE} people's week offline");
    Ok(Case::new(id, title, Group::Together, program))
}

/// Typing in a document that was written in words at random places, ten letters an item.
fn grow(id: &str, folder: &Path) -> Result<Case> {
    const WORD: u32 = 10;
    let power: u32 = id.trim_start_matches("grow-1e").parse()?;
    let size = 10_u32.pow(power);
    let mut random = Random(7);
    let words: Vec<(u32, String)> = (0..size / WORD)
        .map(|word| (random.below(word * WORD + 1), random.letters(WORD)))
        .collect();
    let mut program = Program { documents: 1, repeat: 1, tell: true, ..Program::default() };
    program.state = Some(state(folder, id, |doc| {
        words.iter().try_for_each(|(at, word)| insert(doc, *at, word))
    })?);
    // One by one, since what one transaction costs is another question.
    program.seed = words.into_iter().map(|(at, word)| vec![Op::Insert(at, word)]).collect();
    for _ in 0..400 {
        let at = random.below(size);
        let typed = (0..4).map(|letter| Op::Insert(at + letter, random.letters(1)));
        let ops: Vec<Op> = typed.chain([Op::Delete(at + 3, 1), Op::Delete(at + 2, 1)]).collect();
        program.timed.extend(ops.into_iter().map(|op| Step::Edit(0, vec![op])));
    }
    program.compare = vec![0];
    let title = format!("2,400 edits at 400 places of a text of 10^{power} characters");
    Ok(Case { size: Some(u64::from(size)), ..Case::new(id, title, Group::Growth, program) })
}

/// A history of one document, typed again.
fn history(id: &str, _: &Path) -> Result<Case> {
    let trace = Trace::read(id)?;
    let mut program = Program { documents: 1, repeat: 1, tell: true, ..Program::default() };
    let title = format!("{} edits of a real document", trace.edits());
    for patches in trace.transactions {
        program.timed.push(Step::Edit(0, patches.into_iter().flat_map(trace::ops).collect()));
    }
    program.compare = vec![0];
    let [v1, v2] = trace::references(id)?;
    let recorded = Some(Recorded(vec![[v1, v2]]));
    Ok(Case { recorded, ..Case::new(id, title, Group::Traces, program) })
}

/// A history of several people, each with a document of their own, merged where they merged.
fn together(id: &str, _: &Path) -> Result<Case> {
    let (agents, timed) = trace::together(id)?;
    let edits = timed.iter().filter(|step| matches!(step, Step::Edit(..))).count();
    ensure!(edits > 0, "nobody edits");
    let mut program = Program { documents: agents, repeat: 1, timed, ..Program::default() };
    program.compare = vec![0];
    let how =
        if id.ends_with("-out-of-order") { "before what they rest on" } else { "as they came" };
    let title = format!("{edits} edits of {agents} people, merged {how}");
    Ok(Case::new(id, title, Group::Together, program))
}

impl Case {
    fn new(id: &str, title: String, group: Group, program: Program) -> Self {
        Self { id: id.to_owned(), title, group, program, recorded: None, size: None }
    }
}

fn insert(doc: &mut Doc, at: u32, text: &str) -> Result<()> {
    let root = doc.text("text");
    let mut transaction = doc.transact();
    root.insert(&mut transaction, at, text)?;
    let _: bool = transaction.commit().is_empty();
    Ok(())
}

/// Writes the state of a document by somebody else than the program's people; returns its name.
fn state(folder: &Path, id: &str, make: impl FnOnce(&mut Doc) -> Result<()>) -> Result<String> {
    let mut doc = Doc::new(ClientId::new(1_000).context("small")?, Options::default());
    make(&mut doc)?;
    let name = folder.join(id);
    std::fs::write(name.with_extension("v1"), doc.state_v1())?;
    std::fs::write(name.with_extension("v2"), doc.state_v2())?;
    Ok(name.to_string_lossy().into_owned())
}

/// The folder with what was recorded of Yjs.
fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crdt/tests/recorded")
}

/// Numbers that are the same in every run (`SplitMix64`).
#[derive(Debug, Clone)]
struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_possible_truncation, reason = "it is below `end`")]
        let number = ((mixed ^ (mixed >> 31)) % u64::from(end.max(1))) as u32;
        number
    }

    fn letters(&mut self, count: u32) -> String {
        (0..count).map(|_| char::from(b'a' + u8::try_from(self.below(26)).unwrap_or(0))).collect()
    }
}
