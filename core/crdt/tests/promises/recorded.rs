//! Replays the recorded benchmark suite and traces: every state and event stream must hash as under Yjs 13.6.
//!
//! B1 to B3 are in `tests/recorded`. The traces come from public sources and are looked for in the folder that
//! `QUIRE_TRACES` names, else in `shared/traces` beside the project.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crdt::{Any, ClientId, Commit, Doc, New, Options};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

fn unpack(path: &Path) -> Json {
    let file = std::fs::File::open(path).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn sha(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// A document and what it told in events so far.
struct Recorded {
    doc: Doc,
    events: [(u64, Sha256); 2],
    count: u64,
}

impl Recorded {
    fn new(client: u64, gc: bool) -> Self {
        let client = ClientId::new(client).unwrap();
        let doc = Doc::new(client, Options { gc, seed: 3 });
        Self { doc, events: [(0, Sha256::new()), (0, Sha256::new())], count: 0 }
    }

    /// Closes a transaction that `change` made; returns its update of the second format.
    fn record(&mut self, change: impl FnOnce(&mut Doc) -> Commit<'_>) -> Option<Vec<u8>> {
        let commit = change(&mut self.doc);
        let updates = [commit.update_v1(), commit.update_v2()];
        if updates[0].is_some() {
            self.count += 1;
        }
        for (update, (bytes, hash)) in updates.iter().flatten().zip(&mut self.events) {
            *bytes += update.len() as u64;
            hash.update(update);
        }
        updates.into_iter().flatten().nth(1)
    }

    fn ops(&mut self, ops: &[Json]) -> Option<Vec<u8>> {
        let (text, map, array) =
            (self.doc.text("text"), self.doc.map("map"), self.doc.array("array"));
        self.record(|doc| {
            let mut txn = doc.transact();
            for op in ops {
                let at = || u32::try_from(op[1].as_u64().unwrap()).unwrap();
                match op[0].as_str().unwrap() {
                    "t" => text.insert(&mut txn, at(), op[2].as_str().unwrap()).unwrap(),
                    "T" => {
                        let len = u32::try_from(op[2].as_u64().unwrap()).unwrap();
                        text.delete(&mut txn, at(), len).unwrap();
                    }
                    "a" => {
                        let values = op[2].as_array().unwrap().iter().map(|v| New::Any(any(v)));
                        array.insert(&mut txn, at(), values.collect()).unwrap();
                    }
                    "m" => map
                        .insert(&mut txn, op[1].as_str().unwrap(), New::Any(any(&op[2])))
                        .unwrap(),
                    other => panic!("op {other}"),
                }
            }
            txn.commit()
        })
    }

    fn differences(&mut self, expected: &Json) -> Vec<String> {
        self.doc.check().unwrap();
        let (v1, v2) = (self.doc.state_v1(), self.doc.state_v2());
        let (bytes, hashes): (Vec<_>, Vec<_>) =
            self.events.iter().map(|(bytes, hash)| (*bytes, hex(&hash.clone().finalize()))).unzip();
        [
            ("structs", Json::from(self.doc.structs())),
            ("v1len", Json::from(v1.len())),
            ("v1sha", Json::from(sha(&v1))),
            ("v2len", Json::from(v2.len())),
            ("v2sha", Json::from(sha(&v2))),
            ("updN", Json::from(self.count)),
            ("updV1bytes", Json::from(bytes[0])),
            ("updV1sha", Json::from(hashes[0].clone())),
            ("updV2bytes", Json::from(bytes[1])),
            ("updV2sha", Json::from(hashes[1].clone())),
        ]
        .into_iter()
        .filter(|(field, got)| expected[field] != *got)
        .map(|(field, got)| format!("{field} is {got}, expected {}", expected[field]))
        .collect()
    }
}

fn any(json: &Json) -> Any {
    match json {
        Json::Number(number) => Any::Number(number.as_f64().unwrap()),
        Json::String(text) => Any::from(text.as_str()),
        Json::Object(members) => {
            Any::Object(members.iter().map(|(key, value)| (key.clone(), any(value))).collect())
        }
        other => panic!("value {other}"),
    }
}

#[test]
fn the_benchmark_suite_ends_in_yjs_bytes() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/crdt-benchmarks-b1-b3.json.gz");
    let suite = unpack(&path);
    let mut differences = Vec::new();
    let mut ran = 0;
    for (name, entry) in suite.as_object().unwrap() {
        let Some(scripts) = entry["docs"].as_array().filter(|docs| !docs.is_empty()) else {
            continue;
        };
        let scripts: Vec<&[Json]> =
            scripts.iter().map(|ops| ops.as_array().unwrap().as_slice()).collect();
        let mut docs: Vec<Recorded> =
            (0..scripts.len()).map(|at| Recorded::new(at as u64 + 1, true)).collect();
        if name.starts_with("[B1") {
            for op in scripts[1] {
                let update = docs[1].ops(std::slice::from_ref(op)).unwrap();
                docs[0].record(|doc| doc.apply_v2(&update).unwrap());
            }
        } else if name.starts_with("[B2") {
            for (from, ops) in [(0, &scripts[0][..1]), (0, &scripts[0][1..]), (1, scripts[1])] {
                let update = docs[from].ops(ops).unwrap();
                docs[1 - from].record(|doc| doc.apply_v2(&update).unwrap());
            }
        } else {
            let updates: Vec<_> =
                docs.iter_mut().zip(&scripts).map(|(doc, ops)| doc.ops(ops).unwrap()).collect();
            for doc in &mut docs[..2] {
                doc.record(|doc| {
                    let mut txn = doc.transact();
                    for update in &updates {
                        txn.apply_v2(update).unwrap();
                    }
                    txn.commit()
                });
            }
        }
        for (at, expected) in entry["ref"].as_array().unwrap().iter().enumerate() {
            ran += 1;
            for difference in docs[at].differences(expected) {
                differences.push(format!("{name}, document {at}: {difference}"));
            }
        }
    }
    println!("{ran} documents of B1 to B3");
    assert!(ran >= 38, "only {ran} documents ran");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn traces() -> Option<PathBuf> {
    let folder = std::env::var_os("QUIRE_TRACES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    );
    folder.is_dir().then_some(folder)
}

#[test]
fn b4_ends_in_yjs_bytes() {
    let Some(folder) = traces() else {
        println!("skipped: no traces (QUIRE_TRACES, or shared/traces beside the project)");
        return;
    };
    let suite = unpack(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/crdt-benchmarks-b1-b3.json.gz"),
    );
    let (_, entry) =
        suite.as_object().unwrap().iter().find(|(name, _)| name.starts_with("[B4]")).unwrap();
    let mut recorded = Recorded::new(1, true);
    let text = recorded.doc.text("text");
    let trace = unpack(&folder.join("automerge-paper.json.gz"));
    for txn in trace["txns"].as_array().unwrap() {
        recorded.record(|doc| {
            let mut transaction = doc.transact();
            for patch in txn["patches"].as_array().unwrap() {
                // The trace is ASCII: code points are UTF-16 units.
                let at = u32::try_from(patch[0].as_u64().unwrap()).unwrap();
                let delete = u32::try_from(patch[1].as_u64().unwrap()).unwrap();
                text.delete(&mut transaction, at, delete).unwrap();
                text.insert(&mut transaction, at, patch[2].as_str().unwrap()).unwrap();
            }
            transaction.commit()
        });
    }
    assert_eq!(text.read(&recorded.doc), trace["endContent"].as_str().unwrap());
    let differences = recorded.differences(&entry["ref"][0]);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
