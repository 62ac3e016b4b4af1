//! Replays vectors recorded from Yjs: every update event, state, merge and diff must have Yjs's bytes.
//!
//! `QUIRE_VECTORS` names another folder of the same format (`cargo xtask vectors DIR` sets it).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crdt::{
    Anchor, Any, Array, Assoc, ClientId, Commit, Delta, Doc, Inserted, Map, New, Object, Options,
    Origin, Shared, Snapshot, StateVector, Text, UndoManager, UndoOptions, Value, update,
};
use serde_json::Value as Json;

/// Groups that are about the conversation, tested in `protocol`.
const LATER: [&str; 2] = ["awareness-", "sync-"];

#[test]
fn vectors_have_yjs_bytes() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let folder = std::env::var_os("QUIRE_VECTORS").map_or(own, PathBuf::from);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let (mut vectors, mut steps, mut hostile, mut later) = (0, 0, 0, Vec::new());
    let mut differences = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if LATER.iter().any(|prefix| name.starts_with(prefix)) {
            later.push(name);
            continue;
        }
        let vector: Json = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        vectors += 1;
        if let Some(cases) = vector["cases"].as_array() {
            for case in cases {
                hostile += run_hostile(&name, case, &mut differences);
            }
            continue;
        }
        for format in vector["formats"].as_array().unwrap() {
            let mut run = Run::new(format.as_str().unwrap(), &vector["docs"]);
            for (index, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
                steps += 1;
                if let Err(difference) = run.step(step) {
                    differences.push(format!(
                        "{name}, {format}, step {index} {}: {difference}",
                        step["do"]
                    ));
                    break;
                }
            }
        }
    }
    println!(
        "{vectors} vectors, {steps} steps, {hostile} hostile inputs; about the conversation: {}",
        later.join(", ")
    );
    assert!(vectors > 0, "no vectors in {}", folder.display());
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn equal(got: &[u8], expected: &[u8]) -> Result<(), String> {
    if got == expected {
        return Ok(());
    }
    Err(format!("\n  expected {}\n  got      {}", hex(expected), hex(got)))
}

struct Run {
    v1: bool,
    format: String,
    docs: BTreeMap<String, Doc>,
    slots: BTreeMap<String, Vec<u8>>,
    undo: BTreeMap<String, (String, UndoManager)>,
    origins: Vec<String>,
    now_ms: u64,
}

/// Where a path leads.
enum At {
    Shared(Shared),
    Value(Any),
}

impl Run {
    fn new(format: &str, docs: &Json) -> Self {
        let mut run = Self {
            v1: format == "v1",
            format: format.to_owned(),
            docs: BTreeMap::new(),
            slots: BTreeMap::new(),
            undo: BTreeMap::new(),
            origins: Vec::new(),
            now_ms: 1_000_000,
        };
        for (name, options) in docs.as_object().unwrap() {
            run.add(name, options);
        }
        run
    }

    fn add(&mut self, name: &str, options: &Json) {
        let client = ClientId::new(options["client"].as_u64().unwrap()).unwrap();
        let gc = options["gc"].as_bool().unwrap_or(true);
        self.docs.insert(name.to_owned(), Doc::new(client, Options { gc, seed: 7 }));
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

    fn check_emits(&mut self, step: &Json, got: [Vec<Vec<u8>>; 2]) -> Result<(), String> {
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

    fn expected(&self, value: &Json) -> Option<Vec<u8>> {
        match value {
            Json::String(text) => Some(bytes(text)),
            Json::Object(_) => self.expected(&value[&self.format]),
            _ => None,
        }
    }

    fn keep(&mut self, step: &Json, expected: Option<&Vec<u8>>) {
        if let (Some(name), Some(expected)) = (step["out"].as_str(), expected) {
            self.slots.insert(name.to_owned(), expected.clone());
        }
    }

    fn moment(&self, bytes: &[u8], v1: bool) -> Snapshot {
        if v1 { Snapshot::decode_v1(bytes) } else { Snapshot::decode_v2(bytes) }.unwrap()
    }

    fn vector(&self, step: &Json) -> StateVector {
        let Some(text) = step["sv"].as_str() else { return StateVector::default() };
        if let Some(name) = text.strip_prefix("doc:") {
            return self.docs[name].state_vector();
        }
        let bytes = match text.strip_prefix("slot:") {
            Some(name) => self.slots[name].clone(),
            None => bytes(text),
        };
        StateVector::decode(&bytes).unwrap()
    }

    fn step(&mut self, step: &Json) -> Result<(), String> {
        let doc_name = step["doc"].as_str().unwrap_or_default().to_owned();
        let input = |run: &Self| match step["in"].as_str() {
            Some(name) => run.slots[name].clone(),
            None => bytes(step["hex"].as_str().unwrap()),
        };
        let v1 = step["format"].as_str().map_or(self.v1, |format| format == "v1");
        match step["do"].as_str().unwrap() {
            "doc" => {
                let name = step["id"].as_str().unwrap().to_owned();
                self.add(&name, step);
            }
            "txn" => {
                let (origin, now_ms) = (self.origin(&step["origin"]), self.now_ms);
                let doc = self.docs.get_mut(&doc_name).unwrap();
                for op in step["ops"].as_array().unwrap() {
                    resolve(doc, &op["at"].as_array().unwrap()[..2]);
                }
                let ops: Vec<_> = step["ops"].as_array().unwrap().iter().collect();
                let got = transact(doc, &ops, origin, now_ms);
                doc.check()?;
                self.check_emits(step, got)?;
                let expected = self.expected(&step["emits"]);
                self.keep(step, expected.as_ref());
            }
            "apply" => {
                let update = input(self);
                let (origin, now_ms) = (self.origin(&step["origin"]), self.now_ms);
                let doc = self.docs.get_mut(&doc_name).unwrap();
                for _ in 0..step["times"].as_u64().unwrap_or(1) {
                    let before = doc.state_v1();
                    let mut transaction = doc.transact_as(origin, now_ms);
                    let applied = if v1 {
                        transaction.apply_v1(&update)
                    } else {
                        transaction.apply_v2(&update)
                    };
                    transaction.commit();
                    let refused = applied.is_err();
                    if refused != step["error"].as_bool().unwrap_or(false) {
                        return Err(format!("refused: {refused}, {:?}", applied.err()));
                    }
                    doc.check()?;
                    if refused {
                        equal(&doc.state_v1(), &before)?;
                    }
                }
            }
            "encode" => {
                let than = self.vector(step);
                let doc = &self.docs[&doc_name];
                let got = if v1 { doc.diff_v1(&than) } else { doc.diff_v2(&than) };
                let expected = self.expected(&step["bytes"]);
                self.keep(step, expected.as_ref());
                if step["advisory"].is_null() {
                    equal(&got, &expected.unwrap())?;
                }
            }
            "sv" => {
                let expected = self.expected(&step["bytes"]).unwrap();
                self.keep(step, Some(&expected));
                equal(&self.docs[&doc_name].state_vector().encode(), &expected)?;
            }
            "merge" => {
                let inputs: Vec<_> = step["in"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| self.slots[name.as_str().unwrap()].clone())
                    .collect();
                let slices: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
                let got = if v1 { update::merge_v1(&slices) } else { update::merge_v2(&slices) };
                let expected = self.expected(&step["bytes"]).unwrap();
                self.keep(step, Some(&expected));
                equal(&got.map_err(|e| e.to_string())?, &expected)?;
            }
            "diff" => {
                let (update, than) = (input(self), self.vector(step));
                let got = if v1 {
                    update::diff_v1(&update, &than)
                } else {
                    update::diff_v2(&update, &than)
                };
                let expected = self.expected(&step["bytes"]).unwrap();
                self.keep(step, Some(&expected));
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
                equal(&got, &self.expected(&step["bytes"]).unwrap())?;
            }
            "convert" => {
                let update = input(self);
                let got = if v1 { update::v1_to_v2(&update) } else { update::v2_to_v1(&update) };
                equal(&got.map_err(|e| e.to_string())?, &self.expected(&step["result"]).unwrap())?;
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
                    ..UndoOptions::default()
                };
                let manager = doc.track(options);
                self.undo.insert(step["id"].as_str().unwrap().to_owned(), (doc_name, manager));
            }
            "stop" => {
                let (doc_name, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                manager.stop(self.docs.get_mut(&doc_name).unwrap());
            }
            direction @ ("undo" | "redo") => {
                let (doc_name, manager) = self.undo[step["um"].as_str().unwrap()].clone();
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let commit =
                    if direction == "undo" { manager.undo(doc) } else { manager.redo(doc) };
                let got = commit.unwrap().map(|commit| events(&commit)).unwrap_or_default();
                doc.check()?;
                let left = [manager.undo_len(doc) as u64, manager.redo_len(doc) as u64];
                if step["left"].as_array().unwrap().iter().zip(left).any(|(want, got)| *want != got)
                {
                    return Err(format!("{left:?} steps left, expected {}", step["left"]));
                }
                self.check_emits(step, got)?;
                let expected = self.expected(&step["emits"]);
                self.keep(step, expected.as_ref());
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
                let expected = self.expected(&step["bytes"]).unwrap();
                self.keep(step, Some(&expected));
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
                let expected = self.expected(&step["bytes"]).unwrap();
                self.keep(step, Some(&expected));
                let got = if v1 { snapshot.encode_v1() } else { snapshot.encode_v2() };
                equal(&got, &expected)?;
                if self.moment(&expected, v1) != snapshot {
                    return Err("reads back as another moment".to_owned());
                }
            }
            "restore" => {
                let moment = self.moment(&input(self), v1);
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
            "snapDelta" => {
                let moment = |field: &str| {
                    step[field].as_str().map(|name| self.moment(&self.slots[name], v1))
                };
                let (now, earlier) = (moment("now"), moment("prev"));
                let doc = self.docs.get_mut(&doc_name).unwrap();
                let At::Shared(Shared::Text(text)) = resolve(doc, step["at"].as_array().unwrap())
                else {
                    return Err("no text".to_owned());
                };
                let steps = text.delta_between(doc, now.as_ref(), earlier.as_ref(), None);
                doc.check()?;
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

/// Equal values; maps without an order.
fn same(left: &Any, right: &Any) -> bool {
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

fn any(json: &Json) -> Any {
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
            Some("xml") => Any::Object(
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
        Some("doc") => {
            New::Doc(json["guid"].as_str().unwrap().to_owned(), Any::Object(Object::default()))
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
        Value::Doc(guid) => Any::from(guid),
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

/// Runs ops in one transaction; returns the two update events.
fn transact(doc: &mut Doc, ops: &[&Json], origin: Origin, now_ms: u64) -> [Vec<Vec<u8>>; 2] {
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
        let mut at = root;
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
            let Some(Value::Shared(shared)) = value else { panic!("path {}", op["at"]) };
            at = shared;
        }
        let number = |field: &str| u32::try_from(op[field].as_u64().unwrap()).unwrap();
        let values = || op["values"].as_array().unwrap().iter().map(new).collect::<Vec<New>>();
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
                let value = New::Any(any(&op["value"]));
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
                xml.insert(&mut transaction, number("index"), values()).unwrap()
            }
            ("delete", Shared::Xml(xml)) => {
                xml.delete(&mut transaction, number("index"), number("len")).unwrap()
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
    events(&transaction.commit())
}

fn events(commit: &Commit<'_>) -> [Vec<Vec<u8>>; 2] {
    [commit.events_v1(), commit.events_v2()]
}

/// Gives hostile bytes to the reader they are for; returns how many inputs that were.
fn run_hostile(name: &str, case: &Json, differences: &mut Vec<String>) -> usize {
    let reader = case["input"].as_str().unwrap();
    if matches!(reader, "awareness" | "sync") {
        return 0;
    }
    let mut inputs = Vec::new();
    if let Some(base) = case["base"].as_str().map(bytes) {
        match case["mutate"].as_str().unwrap() {
            "truncate" => inputs.extend((0..base.len()).map(|end| base[..end].to_vec())),
            "bitflip" => inputs.extend((0..base.len() * 8).map(|bit| {
                let mut flipped = base.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                flipped
            })),
            "byteset" => {
                for value in case["values"].as_array().unwrap() {
                    inputs.extend((0..base.len()).map(|at| {
                        let mut set = base.clone();
                        set[at] = u8::try_from(value.as_u64().unwrap()).unwrap();
                        set
                    }));
                }
            }
            other => panic!("mutation {other}"),
        }
    } else if let Some(parts) = case["parts"].as_array() {
        let mut input = Vec::new();
        for part in parts {
            let piece = bytes(part["hex"].as_str().unwrap());
            input.extend(
                piece.repeat(usize::try_from(part["times"].as_u64().unwrap_or(1)).unwrap()),
            );
        }
        inputs.push(input);
    } else {
        inputs.push(bytes(case["hex"].as_str().unwrap()));
    }
    let count = inputs.len();
    for input in inputs {
        let start = std::time::Instant::now();
        let outcome = give(reader, &input);
        let refused = match &outcome {
            Ok(refused) => *refused,
            Err(problem) => {
                differences.push(format!("{name}, {}: {problem} on {}", case["name"], hex(&input)));
                continue;
            }
        };
        if case["expect"] == "error" && !refused {
            differences.push(format!("{name}, {}: accepted {}", case["name"], hex(&input)));
        }
        assert!(start.elapsed().as_secs() < 20, "{name}, {} hangs", case["name"]);
    }
    count
}

/// Whether the reader refused; an error if the document suffered.
fn give(reader: &str, input: &[u8]) -> Result<bool, String> {
    match reader {
        "state-vector" => return Ok(StateVector::decode(input).is_err()),
        "snapshot-v1" => return Ok(Snapshot::decode_v1(input).is_err()),
        "snapshot-v2" => return Ok(Snapshot::decode_v2(input).is_err()),
        "relative-position" => return Ok(Anchor::decode(input).is_err()),
        _ => {}
    }
    let mut doc = Doc::new(ClientId::new(77).unwrap(), Options::default());
    let text = doc.text("t");
    let mut transaction = doc.transact();
    text.insert(&mut transaction, 0, "before").unwrap();
    transaction.commit();
    let before = doc.state_v1();
    let refused =
        if reader == "update-v1" { doc.apply_v1(input) } else { doc.apply_v2(input) }.is_err();
    if refused && doc.state_v1() != before {
        return Err("refused, but the document changed".to_owned());
    }
    doc.check()?;
    let mut transaction = doc.transact();
    let end = text.len(transaction.doc());
    text.insert(&mut transaction, end, "after").map_err(|e| e.to_string())?;
    transaction.commit();
    doc.check()?;
    for state in [doc.state_v1(), update::v2_to_v1(&doc.state_v2()).map_err(|e| e.to_string())?] {
        let mut fresh = Doc::new(ClientId::new(78).unwrap(), Options::default());
        fresh.apply_v1(&state).map_err(|e| format!("does not load again: {e}"))?;
        let read = fresh.text("t").read(&fresh);
        if read != text.read(&doc) {
            return Err(format!("loads again as {read:?}"));
        }
    }
    Ok(refused)
}

#[test]
fn handles_are_what_they_were_asked_for() {
    let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
    let (text, map, array): (Text, Map, Array) = (doc.text("t"), doc.map("m"), doc.array("a"));
    assert_eq!((text.len(&doc), map.keys(&doc).len(), array.len(&doc)), (0, 0, 0));
}
