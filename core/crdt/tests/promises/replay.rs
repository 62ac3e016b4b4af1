//! Replays the steps of vectors: what a document does must be what Yjs was recorded doing, to the byte.

use std::collections::BTreeMap;

use crdt::update::Obfuscate;
use crdt::{
    Anchor, Any, Assoc, Candidate, ClientId, Commit, Delta, Direction, Doc, Event, Inserted,
    KeyChange, New, Object, Observer, Options, Origin, PathStep, Shared, Snapshot, StateVector,
    Subdoc, Text, TextChange, UndoEvent, UndoManager, UndoOptions, Value, update,
};
use serde_json::Value as Json;

/// Bytes from their hexadecimal digits.
pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

/// The hexadecimal digits of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn equal(got: &[u8], expected: &[u8]) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    Err(format!("\n  expected {}\n  got      {}", hex(expected), hex(got)))
}

/// Compares the update events of a step, in both formats.
fn check_emits(step: &Json, got: [Vec<Vec<u8>>; 2]) -> Result<(), String> {
    if step.get("emits").is_none() {
        return Ok(());
    }
    if step["emits"].is_null() {
        return if got[0].is_empty() { Ok(()) } else { Err(format!("event {got:?}")) };
    }
    for (got, format) in got.into_iter().zip(["v1", "v2"]) {
        let expected: Vec<Vec<u8>> = match &step["emits"][format] {
            Json::String(text) => vec![bytes(text)],
            Json::Array(events) => events.iter().map(|e| bytes(e.as_str().unwrap())).collect(),
            _ => Vec::new(),
        };
        if got.len() != expected.len() {
            return Err(format!("{} events, expected {}", got.len(), expected.len()));
        }
        for (got, expected) in got.iter().zip(&expected) {
            equal(got, expected)?;
        }
    }
    Ok(())
}

/// Compares what a step tells of subdocuments.
fn check_subdocs(step: &Json, commit: &Commit<'_>) -> Result<(), String> {
    let told = commit.subdocs();
    for (what, got) in [("added", told.added), ("removed", told.removed), ("loaded", told.loaded)] {
        let got: Vec<String> = got.into_iter().map(|subdoc| subdoc.guid).collect();
        let expected: Vec<&str> = step["subdocs"][what]
            .as_array()
            .map(|guids| guids.iter().map(|guid| guid.as_str().unwrap()).collect())
            .unwrap_or_default();
        if got != expected {
            return Err(format!("subdocuments {what}: {got:?}, expected {expected:?}"));
        }
    }
    Ok(())
}

/// For a filter of what is collected: values under keys, and what does not end at every third clock.
fn is_third_end(candidate: Candidate<'_>) -> bool {
    candidate.key().is_some() || !candidate.clocks().end.is_multiple_of(3)
}

/// For a filter of what an undo deletes: what does not start at every third clock.
fn is_third(candidate: Candidate<'_>) -> bool {
    !candidate.clocks().start.is_multiple_of(3)
}

/// Transactions that bring an odd number of units, and all that undo managers make.
fn brings_odd(commit: &Commit<'_>, origin: Option<Origin>) -> bool {
    let update = commit.update_v1().unwrap();
    let clients = update::info_v1(&update).unwrap().clients;
    let units: u32 = clients.iter().map(|(_, first, end, _)| end - first).sum();
    origin.is_none() || units % 2 == 1
}

fn moment(bytes: &[u8], v1: bool) -> Snapshot {
    if v1 { Snapshot::decode_v1(bytes) } else { Snapshot::decode_v2(bytes) }.unwrap()
}

/// A vector that is being replayed.
pub(crate) struct Run {
    v1: bool,
    docs: BTreeMap<String, Doc>,
    /// The root texts that a document had from the start, whose deltas are followed.
    texts: BTreeMap<String, Vec<Text>>,
    /// What is observed in a document: the types, each with a deep observer and one of itself.
    observers: BTreeMap<String, Vec<Observed>>,
    /// Bytes by name, in each format; the same where the format does not matter.
    slots: BTreeMap<String, [Option<Vec<u8>>; 2]>,
    undo: BTreeMap<String, (String, UndoManager)>,
    /// How many steps each undo manager has had.
    counts: BTreeMap<String, u32>,
    origins: Vec<String>,
    now_ms: u64,
    /// Whether the steps say what happens to subdocuments: older vectors do not.
    pub(crate) tells_subdocs: bool,
}

/// Where a path leads.
enum At {
    Shared(Shared),
    Value(Any),
}

impl Run {
    /// Makes the documents of a vector that is replayed in a format.
    pub(crate) fn new(format: &str, docs: &Json) -> Self {
        let mut run = Self {
            v1: format == "v1",
            docs: BTreeMap::new(),
            texts: BTreeMap::new(),
            observers: BTreeMap::new(),
            slots: BTreeMap::new(),
            undo: BTreeMap::new(),
            counts: BTreeMap::new(),
            origins: Vec::new(),
            now_ms: 1_000_000,
            tells_subdocs: true,
        };
        for (name, options) in docs.as_object().unwrap() {
            run.add(name, options);
        }
        run
    }

    fn add(&mut self, name: &str, options: &Json) {
        let client = ClientId::new(options["client"].as_u64().unwrap()).unwrap();
        let gc = options["gc"].as_bool().unwrap_or(true);
        let mut doc = Doc::new(client, Options { gc, seed: 7, ..Options::default() });
        for root in options["roots"].as_array().unwrap_or(&Vec::new()) {
            let At::Shared(shared) = resolve(&mut doc, root.as_array().unwrap()) else { continue };
            if options["observed"] == true {
                self.observers.entry(name.to_owned()).or_default().push(observe(&mut doc, shared));
            }
            if let Shared::Text(text) = shared {
                self.texts.entry(name.to_owned()).or_default().push(text);
            }
        }
        if options["gcFilter"] == true {
            doc.set_gc_filter(is_third_end);
        }
        self.docs.insert(name.to_owned(), doc);
    }

    /// The number of an origin; `null` is nobody.
    fn origin(&mut self, origin: &Json) -> Origin {
        let Some(name) = origin.as_str() else { return Origin::default() };
        let known = self.origins.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.origins.push(name.to_owned());
            self.origins.len() - 1
        });
        Origin(at as u64 + 1)
    }

    /// What a step should give, in the format it is done in.
    fn expected(v1: bool, value: &Json) -> Option<Vec<u8>> {
        match value {
            Json::String(text) => Some(bytes(text)),
            Json::Object(_) => Self::expected(v1, &value[if v1 { "v1" } else { "v2" }]),
            _ => None,
        }
    }

    /// Keeps what a step should give for later steps; of several events each under a name of its own.
    fn keep(&mut self, step: &Json, expected: &Json) {
        let Some(name) = step["out"].as_str() else { return };
        let events = ["v1", "v2"].map(|format| expected[format].as_array());
        if let [Some(v1), Some(v2)] = events {
            for (at, (v1, v2)) in v1.iter().zip(v2).enumerate() {
                let name = if at == 0 { name.to_owned() } else { format!("{name}.{at}") };
                let both = [v1, v2].map(|event| event.as_str().map(bytes));
                self.slots.insert(name, both);
            }
        } else {
            let both = [true, false].map(|v1| Self::expected(v1, expected));
            self.slots.insert(name.to_owned(), both);
        }
    }

    fn slot(&self, name: &str, v1: bool) -> Vec<u8> {
        let slot = &self.slots[name];
        slot[usize::from(!v1)]
            .clone()
            .unwrap_or_else(|| panic!("{name} is not there in this format"))
    }

    /// Compares what a step did to the stacks of a document's undo managers, and numbers the new steps.
    fn check_stacks(&mut self, step: &Json, doc_name: &str) -> Result<(), String> {
        let Some(stacks) = step["stacks"].as_object() else { return Ok(()) };
        let doc = self.docs.get_mut(doc_name).unwrap();
        for (id, expected) in stacks {
            let manager = self.undo[id].1;
            let name = |direction: &Direction| match direction {
                Direction::Undo => "undo",
                Direction::Redo => "redo",
            };
            let mut got = Vec::new();
            for event in manager.events(doc).to_vec() {
                got.push(match &event {
                    UndoEvent::Added(direction) => {
                        let count = self.counts.entry(id.clone()).or_default();
                        assert!(manager.set_meta(doc, *direction, Any::from(*count)));
                        *count += 1;
                        serde_json::json!(["added", name(direction)])
                    }
                    UndoEvent::Updated => serde_json::json!(["updated", "undo"]),
                    UndoEvent::Popped(direction, meta) => {
                        let Some(Any::Number(count)) = meta else { panic!("no meta") };
                        #[expect(clippy::cast_possible_truncation, reason = "a small count")]
                        let count = *count as i64;
                        serde_json::json!(["popped", name(direction), count])
                    }
                    UndoEvent::Cleared(direction) => {
                        serde_json::json!(["cleared", name(direction)])
                    }
                });
            }
            if Json::from(got.clone()) != *expected {
                return Err(format!("{id}: {got:?}, expected {expected}"));
            }
        }
        Ok(())
    }

    fn follow(&self, name: &str) -> Follow {
        let texts = self.texts.get(name).cloned().unwrap_or_default();
        let doc = &self.docs[name];
        Follow {
            before: texts.into_iter().map(|text| (text, units(doc, text))).collect(),
            observed: self.observers.get(name).cloned().unwrap_or_default(),
        }
    }

    fn vector(&self, step: &Json, v1: bool) -> StateVector {
        let Some(text) = step["sv"].as_str() else { return StateVector::default() };
        if let Some(name) = text.strip_prefix("doc:") {
            return self.docs[name].state_vector();
        }
        let bytes = match text.strip_prefix("slot:") {
            Some(name) => self.slot(name, v1),
            None => bytes(text),
        };
        StateVector::decode(&bytes).unwrap()
    }

    /// Does one step; an error tells what differs.
    pub(crate) fn step(&mut self, step: &Json) -> Result<(), String> {
        let doc_name = step["doc"].as_str().unwrap_or_default().to_owned();
        let v1 = step["format"].as_str().map_or(self.v1, |format| format == "v1");
        let input = |run: &Self| match step["in"].as_str() {
            Some(name) => run.slot(name, v1),
            None => bytes(step["hex"].as_str().unwrap()),
        };
        match step["do"].as_str().unwrap() {
            "doc" => {
                let name = step["id"].as_str().unwrap().to_owned();
                self.add(&name, step);
            }
            "txn" => {
                let (origin, now_ms) = (self.origin(&step["origin"]), self.now_ms);
                let follow = self.follow(&doc_name);
                let doc = self.docs.get_mut(&doc_name).unwrap();
                for op in step["ops"].as_array().unwrap() {
                    resolve(doc, &op["at"].as_array().unwrap()[..2]);
                }
                let ops: Vec<_> = step["ops"].as_array().unwrap().iter().collect();
                let commit = transact(doc, &ops, origin, now_ms);
                let got = events(&commit);
                follow.check(&commit, step)?;
                if self.tells_subdocs {
                    check_subdocs(step, &commit)?;
                }
                doc.check()?;
                doc.check_origins()?;
                check_emits(step, got)?;
                self.keep(step, &step["emits"]);
                self.check_stacks(step, &doc_name)?;
            }
            "apply" => {
                let update = input(self);
                let (origin, now_ms) = (self.origin(&step["origin"]), self.now_ms);
                for _ in 0..step["times"].as_u64().unwrap_or(1) {
                    let follow = self.follow(&doc_name);
                    let doc = self.docs.get_mut(&doc_name).unwrap();
                    let before = doc.state_v1();
                    let mut transaction = doc.transact_as(origin, now_ms);
                    let applied = if v1 {
                        transaction.apply_v1(&update)
                    } else {
                        transaction.apply_v2(&update)
                    };
                    let commit = transaction.commit();
                    let got = events(&commit);
                    follow.check(&commit, step)?;
                    if self.tells_subdocs {
                        check_subdocs(step, &commit)?;
                    }
                    let refused = applied.is_err();
                    if refused != step["error"].as_bool().unwrap_or(false) {
                        return Err(format!("refused: {refused}, {:?}", applied.err()));
                    }
                    doc.check()?;
                    doc.check_origins()?;
                    if refused {
                        equal(&doc.state_v1(), &before)?;
                    }
                    check_emits(step, got)?;
                }
                self.keep(step, &step["emits"]);
                self.check_stacks(step, &doc_name)?;
            }
            "encode" => {
                let than = self.vector(step, v1);
                let doc = &self.docs[&doc_name];
                let got = if v1 { doc.diff_v1(&than) } else { doc.diff_v2(&than) };
                let expected = Self::expected(v1, &step["bytes"]);
                self.keep(step, &step["bytes"]);
                if step["advisory"].is_null() {
                    equal(&got, &expected.unwrap())?;
                }
            }
            "sv" => {
                let expected = Self::expected(v1, &step["bytes"]).unwrap();
                self.keep(step, &step["bytes"]);
                equal(&self.docs[&doc_name].state_vector().encode(), &expected)?;
            }
            "merge" => {
                let inputs: Vec<_> = step["in"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| self.slot(name.as_str().unwrap(), v1))
                    .collect();
                let slices: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
                let got = if v1 { update::merge_v1(&slices) } else { update::merge_v2(&slices) };
                let expected = Self::expected(v1, &step["bytes"]).unwrap();
                self.keep(step, &step["bytes"]);
                equal(&got.map_err(|e| e.to_string())?, &expected)?;
            }
            "diff" => {
                let (update, than) = (input(self), self.vector(step, v1));
                let got = if v1 {
                    update::diff_v1(&update, &than)
                } else {
                    update::diff_v2(&update, &than)
                };
                let expected = Self::expected(v1, &step["bytes"]).unwrap();
                self.keep(step, &step["bytes"]);
                equal(&got.map_err(|e| e.to_string())?, &expected)?;
            }
            "svOf" => {
                let update = input(self);
                let got = if v1 {
                    update::state_vector_v1(&update)
                } else {
                    update::state_vector_v2(&update)
                };
                let got = got.map_err(|e| e.to_string())?.encode();
                equal(&got, &Self::expected(v1, &step["bytes"]).unwrap())?;
            }
            "convert" => {
                let update = input(self);
                let got = if v1 { update::v1_to_v2(&update) } else { update::v2_to_v1(&update) };
                equal(
                    &got.map_err(|e| e.to_string())?,
                    &Self::expected(v1, &step["result"]).unwrap(),
                )?;
                self.keep(step, &step["result"]);
            }
            "obfuscate" => {
                let update = input(self);
                let option = |name: &str| step["options"][name].as_bool().unwrap_or(true);
                let what = Obfuscate {
                    formatting: option("formatting"),
                    subdocs: option("subdocs"),
                    xml_names: option("yxml"),
                };
                let got = if v1 {
                    update::obfuscate_v1(&update, what)
                } else {
                    update::obfuscate_v2(&update, what)
                };
                let expected = Self::expected(v1, &step["bytes"]).unwrap();
                self.keep(step, &step["bytes"]);
                equal(&got.map_err(|e| e.to_string())?, &expected)?;
            }
            "pending" => {
                let doc = &self.docs[&doc_name];
                let got = (doc.has_waiting_structs(), doc.has_waiting_deletes());
                let want = (step["structs"].as_bool().unwrap(), step["ds"].as_bool().unwrap());
                if got != want {
                    return Err(format!("waiting {got:?}, expected {want:?}"));
                }
            }
            "clientId" => {
                let changed = self.docs[&doc_name].client().get() != step["was"].as_u64().unwrap();
                if changed != step["changed"].as_bool().unwrap() {
                    return Err(format!("client id changed: {changed}"));
                }
            }
            "check" => {
                let doc = self.docs.get_mut(&doc_name).unwrap();
                for want in step["want"].as_array().unwrap() {
                    let want = want.as_str().unwrap();
                    let got = match resolve(doc, step["at"].as_array().unwrap()) {
                        At::Shared(Shared::Text(text)) if want == "delta" => delta(doc, text),
                        At::Shared(shared) if want == "length" => match shared {
                            Shared::Text(text) => Any::from(text.len(doc)),
                            Shared::Array(array) => Any::from(array.len(doc)),
                            _ => return Err("no length".to_owned()),
                        },
                        At::Shared(shared) => read(doc, shared),
                        At::Value(value) => value,
                    };
                    let fits = match step["anyOf"][want].as_array() {
                        Some(options) => options.iter().any(|option| same(&got, &any(option))),
                        None => same(&got, &any(&step[want])),
                    };
                    let advisory = match &step["advisory"] {
                        Json::Array(fields) => fields.iter().any(|field| field == want),
                        other => other == true,
                    };
                    if !fits && !advisory {
                        return Err(format!(
                            "{want} is {got:?}, expected {} {}",
                            step[want], step["anyOf"]
                        ));
                    }
                }
            }
            "observe" => {
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let At::Shared(shared) = resolve(doc, step["at"].as_array().unwrap()) else {
                    return Err("nothing to observe".to_owned());
                };
                let observed = observe(doc, shared);
                self.observers.entry(doc_name).or_default().push(observed);
            }
            "advance" => self.now_ms += step["ms"].as_u64().unwrap(),
            "um" => {
                let origins = step["origins"].as_array().unwrap().iter();
                let origins = origins.map(|origin| self.origin(origin)).collect();
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let scope = step["scope"].as_array().unwrap().iter().map(|at| {
                    match resolve(doc, at.as_array().unwrap()) {
                        At::Shared(shared) => shared,
                        At::Value(_) => panic!("scope {at}"),
                    }
                });
                let options = UndoOptions {
                    scope: scope.collect(),
                    origins,
                    capture_ms: step["captureMs"].as_u64().unwrap_or(0),
                    ignore_remote_map_changes: step["ignoreRemote"].as_bool().unwrap_or(false),
                };
                let manager = doc.track(options);
                if step["capture"] == true {
                    manager.set_capture(doc, brings_odd);
                }
                if step["deleteFilter"] == true {
                    manager.set_delete_filter(doc, is_third);
                }
                self.undo.insert(step["id"].as_str().unwrap().to_owned(), (doc_name, manager));
            }
            "scope" => {
                let (_, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let At::Shared(shared) = resolve(doc, step["at"].as_array().unwrap()) else {
                    panic!("scope {}", step["at"]);
                };
                manager.add_to_scope(doc, shared);
            }
            "origin" => {
                let origin = self.origin(&step["origin"]);
                let (doc_name, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                let doc = self.docs.get_mut(&doc_name).unwrap();
                if step["add"] == true {
                    manager.add_origin(doc, origin);
                } else {
                    manager.remove_origin(doc, origin);
                }
            }
            "untrack" => {
                let (doc_name, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                manager.untrack(self.docs.get_mut(&doc_name).unwrap());
            }
            "clear" => {
                let (doc_name, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                let doc = self.docs.get_mut(&doc_name).unwrap();
                manager.clear(doc);
                doc.check()?;
                doc.check_origins()?;
            }
            "stop" => {
                let (doc_name, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                manager.stop(self.docs.get_mut(&doc_name).unwrap());
            }
            direction @ ("undo" | "redo") => {
                let (doc_name, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                let follow = self.follow(&doc_name);
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let commit =
                    if direction == "undo" { manager.undo(doc) } else { manager.redo(doc) };
                let commit = commit.unwrap();
                let got = commit.as_ref().map(events).unwrap_or_default();
                if let Some(commit) = &commit {
                    follow.check(commit, step)?;
                    if self.tells_subdocs {
                        check_subdocs(step, commit)?;
                    }
                }
                doc.check()?;
                doc.check_origins()?;
                let left = [manager.undo_len(doc) as u64, manager.redo_len(doc) as u64];
                if step["left"].as_array().unwrap().iter().zip(left).any(|(want, got)| *want != got)
                {
                    return Err(format!("{left:?} steps left, expected {}", step["left"]));
                }
                check_emits(step, got)?;
                self.keep(step, &step["emits"]);
                self.check_stacks(step, &doc_name)?;
            }
            "relpos" => {
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let At::Shared(Shared::Text(text)) = resolve(doc, step["at"].as_array().unwrap())
                else {
                    return Err("no text".to_owned());
                };
                let before = step["assoc"].as_i64().unwrap() < 0;
                let assoc = if before { Assoc::Before } else { Assoc::After };
                let index = u32::try_from(step["index"].as_u64().unwrap()).unwrap();
                let anchor = text.anchor(doc, index, assoc);
                let expected = Self::expected(v1, &step["bytes"]).unwrap();
                self.keep(step, &step["bytes"]);
                equal(&anchor.encode(), &expected)?;
                let json: Json = serde_json::from_str(&anchor.to_json()).unwrap();
                if !same(&any(&json), &any(&step["json"])) {
                    return Err(format!("JSON {json}, expected {}", step["json"]));
                }
            }
            "abspos" => {
                let bytes = input(self);
                let anchor = Anchor::decode(&bytes).map_err(|e| e.to_string())?;
                let got = anchor.resolve(&self.docs[&doc_name]).map(u64::from);
                if got != step["index"].as_u64() {
                    return Err(format!("at {got:?}, expected {}", step["index"]));
                }
            }
            "snapshot" | "emptySnapshot" => {
                let snapshot = match step["do"].as_str() {
                    Some("snapshot") => self.docs[&doc_name].snapshot(),
                    _ => Snapshot::default(),
                };
                let expected = Self::expected(v1, &step["bytes"]).unwrap();
                self.keep(step, &step["bytes"]);
                let got = if v1 { snapshot.encode_v1() } else { snapshot.encode_v2() };
                equal(&got, &expected)?;
                if moment(&expected, v1) != snapshot {
                    return Err("reads back as another moment".to_owned());
                }
            }
            "restore" => {
                let moment = moment(&input(self), v1);
                let client = ClientId::new(4_000_000_000).unwrap();
                let restored = self.docs.get_mut(&doc_name).unwrap().restore(&moment, client);
                match (restored, step["error"].as_bool().unwrap_or(false)) {
                    (Ok(restored), false) => {
                        restored.check()?;
                        self.docs.insert(step["as"].as_str().unwrap().to_owned(), restored);
                    }
                    (Err(_), true) => {}
                    (restored, _) => return Err(format!("restored: {:?}", restored.err())),
                }
                self.docs[&doc_name].check()?;
            }
            "shallow" => {
                let moment = moment(&input(self), v1);
                let doc = &self.docs[&doc_name];
                let shallow = if v1 { doc.shallow_v1(&moment) } else { doc.shallow_v2(&moment) };
                let shallow = shallow.map_err(|e| e.to_string())?;
                let name = step["as"].as_str().unwrap();
                let mut options = step.clone();
                options["gc"] = Json::Bool(false);
                self.add(name, &options);
                let doc = self.docs.get_mut(name).unwrap();
                let applied = if v1 { doc.apply_v1(&shallow) } else { doc.apply_v2(&shallow) };
                applied.map_err(|e| e.to_string())?;
                doc.check()?;
                doc.check_origins()?;
            }
            "snapDelta" => {
                let moment =
                    |field: &str| step[field].as_str().map(|name| moment(&self.slot(name, v1), v1));
                let (now, earlier) = (moment("now"), moment("prev"));
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let At::Shared(Shared::Text(text)) = resolve(doc, step["at"].as_array().unwrap())
                else {
                    return Err("no text".to_owned());
                };
                let steps = text.delta_between(doc, now.as_ref(), earlier.as_ref(), None);
                doc.check()?;
                doc.check_origins()?;
                let got = delta_of(doc, steps);
                if !same(&got, &any(&step["delta"])) {
                    return Err(format!("{got:?}, expected {}", step["delta"]));
                }
            }
            "same" => {
                let names: Vec<_> = step["docs"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap().to_owned())
                    .collect();
                let mut seen = Vec::new();
                for name in &names {
                    let doc = self.docs.get_mut(name).unwrap();
                    let contents: Vec<_> =
                        step["at"].as_array().unwrap().iter().map(|at| whole(doc, at)).collect();
                    seen.push((contents, doc.state_vector()));
                }
                if !seen.windows(2).all(|pair| {
                    pair[0].1 == pair[1].1
                        && pair[0].0.iter().zip(&pair[1].0).all(|(left, right)| same(left, right))
                }) {
                    return Err(format!("differ: {seen:?}"));
                }
            }
            other => return Err(format!("unknown step {other}")),
        }
        Ok(())
    }
}

/// Texts before a transaction, from which its deltas must lead to the texts after it.
struct Follow {
    before: Vec<(Text, Vec<u16>)>,
    observed: Vec<Observed>,
}

/// A type, its deep observer, and one of itself.
type Observed = (Shared, [Observer; 2]);

fn observe(doc: &mut Doc, shared: Shared) -> Observed {
    (shared, [doc.observe_deep(shared), doc.observe(shared)])
}

impl Follow {
    fn check(&self, commit: &Commit<'_>, step: &Json) -> Result<(), String> {
        self.check_events(commit, step)?;
        for (text, before) in &self.before {
            let delta = commit.text_delta(*text);
            let mut rest = before.as_slice();
            let mut got = Vec::new();
            for change in &delta {
                match change {
                    TextChange::Retain(len) => {
                        let (kept, tail) = rest.split_at(*len as usize);
                        got.extend_from_slice(kept);
                        rest = tail;
                    }
                    TextChange::Insert(text) => got.extend(text.encode_utf16()),
                    TextChange::Delete(len) => rest = &rest[*len as usize..],
                }
            }
            got.extend_from_slice(rest);
            // That a character was cut in two is told by no delta.
            let whole = |units: &[u16]| -> Vec<u16> {
                let is_half = |unit| (0xd800..0xe000).contains(&unit);
                units.iter().map(|&unit| if is_half(unit) { 0xfffd } else { unit }).collect()
            };
            let after = units(commit.doc(), *text);
            if whole(&got) != whole(&after) {
                return Err(format!("{delta:?} does not lead from {before:?} to {after:?}"));
            }
        }
        Ok(())
    }
}

impl Follow {
    /// Compares the events of what is observed, and the deltas of texts, with Yjs's.
    fn check_events(&self, commit: &Commit<'_>, step: &Json) -> Result<(), String> {
        let Some(expected) = step["events"].as_array() else { return Ok(()) };
        for ((shared, [deep, own]), expected) in self.observed.iter().zip(expected) {
            let got = commit.events(*deep);
            let shown = Any::Array(got.iter().map(event).collect());
            let expected = any(expected);
            if !same(&shown, &expected) {
                return Err(format!("events {shown:?}\n  expected {expected:?}"));
            }
            let of_itself: Vec<&Event> = got.iter().filter(|event| event.path.is_empty()).collect();
            let own = commit.events(*own);
            let same_event = |(own, one): (&Event, &&Event)| same(&event(own), &event(one));
            if own.len() != of_itself.len() || !own.iter().zip(&of_itself).all(same_event) {
                return Err(format!("events of itself: {own:?}"));
            }
            if let Shared::Text(text) = shared {
                // The second event, if any, is a cleaning's: it changes no text.
                let expected = of_itself.first().map_or(Vec::new(), |event| plain(&event.delta));
                let got = commit.text_delta(*text);
                if got != expected {
                    return Err(format!("text delta {got:?}, expected {expected:?}"));
                }
            }
        }
        Ok(())
    }
}

fn members<const N: usize>(members: [(&str, Any); N]) -> Any {
    Any::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// An event as it is recorded.
pub(crate) fn event(event: &Event) -> Any {
    let path = event.path.iter().map(|step| match step {
        PathStep::Key(key) => Any::from(&**key),
        PathStep::Index(index) => Any::from(*index),
    });
    let delta = event.delta.iter().map(|step| {
        let (what, attributes) = match step {
            Delta::Delete(len) => return members([("delete", Any::from(*len))]),
            Delta::Retain(len, attributes) => (("retain", Any::from(*len)), attributes),
            Delta::Insert(inserted, attributes) => {
                let what = match inserted {
                    Inserted::Text(text) => ("insert", Any::from(text.as_str())),
                    Inserted::Embed(value) => ("insert", value.clone()),
                    Inserted::Shared(shared) => ("insert", told(&Value::Shared(*shared))),
                    Inserted::Values(values) => {
                        ("values", Any::Array(values.iter().map(told).collect()))
                    }
                };
                (what, attributes)
            }
        };
        if attributes.is_empty() {
            members([what])
        } else {
            members([what, ("attributes", Any::Object(attributes.clone()))])
        }
    });
    let keys = event.keys.iter().map(|(key, change)| {
        let key = Any::from(&**key);
        Any::Array(match change {
            KeyChange::Added => vec![key, Any::from("add")],
            KeyChange::Updated(old) => vec![key, Any::from("update"), told(old)],
            KeyChange::Removed(old) => vec![key, Any::from("delete"), told(old)],
        })
    });
    members([
        ("path", Any::Array(path.collect())),
        ("delta", Any::Array(delta.collect())),
        ("keys", Any::Array(keys.collect())),
    ])
}

/// A value in an event: of a shared type only its kind.
fn told(value: &Value) -> Any {
    let kind = match value {
        Value::Any(value) => return value.clone(),
        Value::Doc(subdoc) => return Any::from(subdoc.guid.as_str()),
        Value::Shared(Shared::Array(_)) => "array",
        Value::Shared(Shared::Map(_)) => "map",
        Value::Shared(Shared::Text(_)) => "text",
        Value::Shared(Shared::Xml(_)) => "xml",
    };
    members([("$t", Any::from("shared")), ("v", Any::from(kind))])
}

/// A delta without attributes.
fn plain(delta: &[Delta]) -> Vec<TextChange> {
    let mut steps: Vec<TextChange> = Vec::new();
    for step in delta {
        let step = match step {
            Delta::Retain(len, _) => TextChange::Retain(*len),
            Delta::Delete(len) => TextChange::Delete(*len),
            Delta::Insert(Inserted::Text(text), _) => TextChange::Insert(text.clone()),
            Delta::Insert(..) => TextChange::Insert("\u{fffc}".to_owned()),
        };
        match (steps.last_mut(), step) {
            (Some(TextChange::Retain(all)), TextChange::Retain(len))
            | (Some(TextChange::Delete(all)), TextChange::Delete(len)) => *all += len,
            (Some(TextChange::Insert(all)), TextChange::Insert(text)) => all.push_str(&text),
            (_, step) => steps.push(step),
        }
    }
    steps.pop_if(|step| matches!(step, TextChange::Retain(_)));
    steps
}

/// A text in UTF-16 units; whatever else stands in it is U+FFFC.
fn units(doc: &Doc, text: Text) -> Vec<u16> {
    let inserted = text.delta(doc).into_iter().map(|step| match step {
        Delta::Insert(Inserted::Text(text), _) => text,
        _ => "\u{fffc}".to_owned(),
    });
    inserted.collect::<String>().encode_utf16().collect()
}

/// Equal values; maps without an order.
pub(crate) fn same(left: &Any, right: &Any) -> bool {
    match (left, right) {
        (Any::Number(left), Any::Number(right)) => {
            left.total_cmp(right).is_eq() || left.is_nan() && right.is_nan()
        }
        (Any::Array(left), Any::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Any::Object(left), Any::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|r| same(value, r)))
        }
        _ => left == right,
    }
}

pub(crate) fn any(json: &Json) -> Any {
    match json {
        Json::Null => Any::Null,
        Json::Bool(value) => Any::Bool(*value),
        Json::Number(number) => Any::Number(number.as_f64().unwrap()),
        Json::String(text) => Any::from(text.as_str()),
        Json::Array(values) => Any::Array(values.iter().map(any).collect()),
        Json::Object(object) => match object.get("$t").and_then(Json::as_str) {
            None => {
                Any::Object(object.iter().map(|(key, value)| (key.clone(), any(value))).collect())
            }
            Some("undefined") => Any::Undefined,
            Some("bigint") => Any::BigInt(json["v"].as_str().unwrap().parse().unwrap()),
            Some("bytes") => Any::Bytes(bytes(json["hex"].as_str().unwrap())),
            Some("num") => Any::Number(match json["v"].as_str().unwrap() {
                "-0" => -0.0,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => f64::NAN,
            }),
            Some("doc") => Any::from(json["guid"].as_str().unwrap()),
            Some("xml" | "shared") => Any::Object(
                object
                    .iter()
                    .map(|(key, value)| (key.clone(), Any::from(value.as_str().unwrap())))
                    .collect(),
            ),
            Some(other) => panic!("value {other}"),
        },
    }
}

fn new(json: &Json) -> New {
    match json["$t"].as_str() {
        Some("map") => New::Map,
        Some("array") => New::Array,
        Some("text") => New::Text,
        Some("xmlText") => New::XmlText,
        Some("xmlFragment") => New::XmlFragment,
        Some("xmlElement") => New::XmlElement(json["name"].as_str().unwrap().to_owned()),
        Some("xmlHook") => New::XmlHook(json["name"].as_str().unwrap().to_owned()),
        Some("doc") => {
            let mut subdoc = Subdoc::new(json["guid"].as_str().unwrap());
            subdoc.auto_load = json["autoLoad"] == true;
            subdoc.gc = json["gc"] != false;
            if !json["meta"].is_null() {
                subdoc.meta = any(&json["meta"]);
            }
            New::from(subdoc)
        }
        _ => New::Any(any(json)),
    }
}

fn resolve(doc: &mut Doc, path: &[Json]) -> At {
    let name = path[1].as_str().unwrap();
    let mut at = match path[0].as_str().unwrap() {
        "text" => Shared::from(doc.text(name)),
        "map" => Shared::from(doc.map(name)),
        "array" => Shared::from(doc.array(name)),
        "xml" => Shared::from(doc.xml(name)),
        other => panic!("root {other}"),
    };
    for part in &path[2..] {
        let value = match at {
            Shared::Map(map) => map.get(doc, part.as_str().unwrap()),
            Shared::Array(array) => array.get(doc, u32::try_from(part.as_u64().unwrap()).unwrap()),
            Shared::Xml(xml) => xml.get(doc, u32::try_from(part.as_u64().unwrap()).unwrap()),
            Shared::Text(_) => None,
        };
        match value {
            Some(Value::Shared(shared)) => at = shared,
            Some(Value::Any(value)) => return At::Value(value),
            _ => return At::Value(Any::Undefined),
        }
    }
    At::Shared(at)
}

fn delta(doc: &Doc, text: Text) -> Any {
    delta_of(doc, text.delta(doc))
}

fn delta_of(doc: &Doc, steps: Vec<Delta>) -> Any {
    let step = |step: Delta| {
        let Delta::Insert(inserted, attributes) = step else { unreachable!("a text inserts") };
        let inserted = match inserted {
            Inserted::Text(text) => Any::from(text),
            Inserted::Embed(value) => value,
            Inserted::Shared(shared) => read(doc, shared),
            Inserted::Values(_) => unreachable!("a text has no elements"),
        };
        let mut members = vec![("insert".to_owned(), inserted)];
        if !attributes.is_empty() {
            members.push(("attributes".to_owned(), Any::Object(attributes)));
        }
        Any::Object(members.into_iter().collect())
    };
    Any::Array(steps.into_iter().map(step).collect())
}

fn object(json: &Json) -> Object {
    match json {
        Json::Object(_) => match any(json) {
            Any::Object(object) => object,
            _ => Object::default(),
        },
        _ => Object::default(),
    }
}

/// What two replicas must agree on at a path: texts with their formats.
fn whole(doc: &mut Doc, at: &Json) -> Any {
    match resolve(doc, at.as_array().unwrap()) {
        At::Shared(Shared::Text(text)) => delta(doc, text),
        At::Shared(shared) => read(doc, shared),
        At::Value(value) => value,
    }
}

fn read(doc: &Doc, shared: Shared) -> Any {
    let value = |value: Value| match value {
        Value::Any(value) => value,
        Value::Shared(shared) => read(doc, shared),
        Value::Doc(subdoc) => Any::from(subdoc.guid),
    };
    match shared {
        Shared::Text(text) => Any::from(text.read(doc)),
        Shared::Array(array) => Any::Array(array.read(doc).into_iter().map(value).collect()),
        Shared::Map(map) => Any::Object(
            map.keys(doc)
                .into_iter()
                .map(|key| {
                    let member = value(map.get(doc, &key).unwrap());
                    (key, member)
                })
                .collect(),
        ),
        Shared::Xml(xml) => Any::Object(
            [("$t".to_owned(), Any::from("xml")), ("v".to_owned(), Any::from(xml.to_xml(doc)))]
                .into_iter()
                .collect(),
        ),
    }
}

/// Runs ops in one transaction.
fn transact<'a>(doc: &'a mut Doc, ops: &[&Json], origin: Origin, now_ms: u64) -> Commit<'a> {
    // Paths lead through what earlier ops of the same transaction made, so they are walked inside it.
    let roots: Vec<Shared> = ops
        .iter()
        .map(|op| match resolve(doc, &op["at"].as_array().unwrap()[..2]) {
            At::Shared(shared) => shared,
            At::Value(_) => unreachable!("a root is shared"),
        })
        .collect();
    let mut transaction = doc.transact_as(origin, now_ms);
    for (op, root) in ops.iter().zip(roots) {
        let (mut at, mut subdoc) = (root, None);
        for part in &op["at"].as_array().unwrap()[2..] {
            let doc = transaction.doc();
            let value = match at {
                Shared::Map(map) => map.get(doc, part.as_str().unwrap()),
                Shared::Array(array) => {
                    array.get(doc, u32::try_from(part.as_u64().unwrap()).unwrap())
                }
                Shared::Xml(xml) => xml.get(doc, u32::try_from(part.as_u64().unwrap()).unwrap()),
                Shared::Text(_) => None,
            };
            match value {
                Some(Value::Shared(shared)) => at = shared,
                Some(Value::Doc(held)) => subdoc = Some(held),
                _ => panic!("path {}", op["at"]),
            }
        }
        let number = |field: &str| u32::try_from(op[field].as_u64().unwrap()).unwrap();
        let values = || op["values"].as_array().unwrap().iter().map(new).collect::<Vec<New>>();
        if let Some(subdoc) = subdoc {
            match op["op"].as_str().unwrap() {
                "load" => transaction.load(&subdoc),
                "unload" => transaction.unload(&subdoc),
                op => panic!("op {op}"),
            };
            continue;
        }
        match (op["op"].as_str().unwrap(), at) {
            ("insert", Shared::Text(text)) => {
                let (index, inserted) = (number("index"), op["text"].as_str().unwrap());
                if op["attrs"].is_null() {
                    text.insert(&mut transaction, index, inserted).unwrap();
                } else {
                    let attributes = object(&op["attrs"]);
                    text.insert_with(&mut transaction, index, inserted, &attributes).unwrap();
                }
            }
            ("embed", Shared::Text(text)) => {
                let attributes = (!op["attrs"].is_null()).then(|| object(&op["attrs"]));
                let value = new(&op["value"]);
                text.embed(&mut transaction, number("index"), value, attributes.as_ref()).unwrap();
            }
            ("format", Shared::Text(text)) => text
                .format(&mut transaction, number("index"), number("len"), &object(&op["attrs"]))
                .unwrap(),
            ("delta", Shared::Text(text)) => {
                let steps: Vec<Delta> = op["delta"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|step| {
                        let attributes = object(&step["attributes"]);
                        if let Some(len) = step["retain"].as_u64() {
                            Delta::Retain(u32::try_from(len).unwrap(), attributes)
                        } else if let Some(len) = step["delete"].as_u64() {
                            Delta::Delete(u32::try_from(len).unwrap())
                        } else {
                            let inserted = match &step["insert"] {
                                Json::String(text) => Inserted::Text(text.clone()),
                                other => Inserted::Embed(any(other)),
                            };
                            Delta::Insert(inserted, attributes)
                        }
                    })
                    .collect();
                text.apply_delta(&mut transaction, &steps).unwrap();
            }
            ("insert", Shared::Xml(xml)) => {
                xml.insert(&mut transaction, number("index"), values()).unwrap();
            }
            ("delete", Shared::Xml(xml)) => {
                xml.delete(&mut transaction, number("index"), number("len")).unwrap();
            }
            ("setAttr", Shared::Xml(xml)) => xml
                .set_attribute(&mut transaction, op["key"].as_str().unwrap(), new(&op["value"]))
                .unwrap(),
            ("setAttr", Shared::Text(text)) => text
                .set_attribute(&mut transaction, op["key"].as_str().unwrap(), new(&op["value"]))
                .unwrap(),
            ("removeAttr", Shared::Xml(xml)) => {
                xml.remove_attribute(&mut transaction, op["key"].as_str().unwrap());
            }
            ("removeAttr", Shared::Text(text)) => {
                text.remove_attribute(&mut transaction, op["key"].as_str().unwrap());
            }
            ("insert", Shared::Array(array)) => {
                array.insert(&mut transaction, number("index"), values()).unwrap();
            }
            ("push", Shared::Array(array)) => array.push(&mut transaction, values()).unwrap(),
            ("delete", Shared::Text(text)) => {
                text.delete(&mut transaction, number("index"), number("len")).unwrap();
            }
            ("delete", Shared::Array(array)) => {
                array.delete(&mut transaction, number("index"), number("len")).unwrap();
            }
            ("set", Shared::Map(map)) => map
                .insert(&mut transaction, op["key"].as_str().unwrap(), new(&op["value"]))
                .unwrap(),
            ("remove", Shared::Map(map)) => {
                map.remove(&mut transaction, op["key"].as_str().unwrap());
            }
            (op, _) => panic!("op {op}"),
        }
    }
    transaction.commit()
}

fn events(commit: &Commit<'_>) -> [Vec<Vec<u8>>; 2] {
    [commit.events_v1(), commit.events_v2()]
}
