//! What a case of the suite does, as data: documents, edits, messages applied. Every subject runs
//! the same programs, those in Rust by `worker.rs`, Yjs by `yjs/worker.mjs`.

use serde::{Deserialize, Serialize};

/// One case: what happens before the clock runs, while it runs, and afterwards.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Program {
    /// How many documents there are; number `n` edits as client `n + 1`.
    pub documents: usize,
    /// Files, less `.v1` and `.v2`, with the update in which every document starts. Subjects that
    /// speak another format take `seed` instead, which makes the same text.
    pub state: Option<String>,
    /// Makes what `state` holds; edited into every document, without messages.
    pub seed: Vec<Vec<Op>>,
    /// What happens before the clock runs.
    pub before: Vec<Step>,
    /// What is measured.
    pub timed: Vec<Step>,
    /// How often `timed` is done.
    pub repeat: u32,
    /// What happens after the clock, when only bytes are compared.
    pub after: Vec<Step>,
    /// Whether each edit's message is taken.
    pub tell: bool,
    /// The document that is encoded, parsed and read in the end.
    pub result: usize,
    /// Documents whose bytes are compared with Yjs's.
    pub compare: Vec<usize>,
}

/// Something that happens to one document in one transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Step {
    /// The document is edited; its message gets the next number.
    #[serde(rename = "e")]
    Edit(usize, Vec<Op>),
    /// The document applies messages, by their numbers.
    #[serde(rename = "a")]
    Apply(usize, Vec<usize>),
}

/// One edit, in UTF-16 units, to the text, array or map of the document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Op {
    /// Inserts into the text.
    #[serde(rename = "t")]
    Insert(u32, String),
    /// Deletes so many units of the text.
    #[serde(rename = "T")]
    Delete(u32, u32),
    /// Inserts values into the array.
    #[serde(rename = "a")]
    Array(u32, Vec<Value>),
    /// Sets a key of the map.
    #[serde(rename = "m")]
    Set(String, Value),
}

/// What the suite puts into arrays and maps.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// An object, its members in order.
    Object(Box<serde_json::Map<String, serde_json::Value>>),
}

impl Program {
    /// Returns how many transactions are measured, all repeats together.
    pub fn edits(&self) -> usize {
        let edits = self.timed.iter().filter(|step| matches!(step, Step::Edit(..))).count();
        edits * self.repeat as usize
    }

    /// Returns, for each message's number, whether somebody applies it.
    pub fn needed(&self) -> Vec<bool> {
        let steps = || self.before.iter().chain(&self.timed).chain(&self.after);
        let made = steps().filter(|step| matches!(step, Step::Edit(..))).count();
        let mut needed = vec![false; made];
        for step in steps() {
            let Step::Apply(_, messages) = step else { continue };
            for &message in messages {
                needed[message] = true;
            }
        }
        needed
    }

    /// Returns, for each document, whether somebody listens to it: to those that edit and whose
    /// messages matter. As in the suite, a listener hears of what is applied, too.
    pub fn listens(&self) -> Vec<bool> {
        let matter = self.tell || self.needed().contains(&true);
        let mut listens = vec![false; self.documents];
        for step in self.before.iter().chain(&self.timed).chain(&self.after) {
            if let Step::Edit(document, _) = step {
                listens[*document] = matter;
            }
        }
        listens
    }

    /// Returns every edit, the seed's among them.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        let steps = self.before.iter().chain(&self.timed).chain(&self.after);
        let edits = steps.filter_map(|step| match step {
            Step::Edit(_, ops) => Some(ops),
            Step::Apply(..) => None,
        });
        self.seed.iter().chain(edits).flatten()
    }
}

/// What one run of a program took and gave.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// CPU time of what is measured, in milliseconds.
    pub time_ms: f64,
    /// How much of it was done before patience ended; 1 is all.
    pub done: f64,
    /// CPU time of encoding the result's state, in milliseconds.
    pub encode_ms: Option<f64>,
    /// CPU time of making a document of that state and reading its text, in milliseconds.
    pub parse_ms: Option<f64>,
    /// Bytes of all messages while the clock ran.
    pub message_bytes: u64,
    /// Bytes of the result's state.
    pub state_bytes: u64,
    /// UTF-16 units of the result's text.
    pub units: u64,
    /// SHA-256 of the result's text.
    pub text: String,
    /// The bytes of the compared documents: of their states and of all that they told.
    pub compared: Vec<Compared>,
    /// Allocations, where they are counted.
    pub memory: Option<Memory>,
}

/// A document's bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Which document.
    pub document: usize,
    /// SHA-256 of its state.
    pub state: String,
    /// How many messages it told.
    pub told: u64,
    /// SHA-256 of these, joined.
    pub messages: String,
}

/// Allocations and bytes of the heap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Allocations and reallocations while the clock ran.
    pub allocations: u64,
    /// Bytes that these asked for.
    pub allocated_bytes: u64,
    /// Most bytes held at once more than before the clock ran.
    pub peak_bytes: u64,
    /// Bytes held by a document that was made of the encoded state.
    pub parsed_bytes: u64,
    /// Most bytes held at once while it was made.
    pub parse_peak_bytes: u64,
}
