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
        let doc = Doc::new(client, Options { gc, seed: 3, ..Options::default() });
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

/// The patches of a trace's transactions, positions and lengths turned from code points into UTF-16 units.
struct Trace {
    txns: Vec<Vec<(u32, u32, String)>>,
    end: String,
}

/// A text by code points, to find their UTF-16 units: blocks of about 512 characters with their units.
#[derive(Default)]
struct Model {
    blocks: Vec<(Vec<char>, usize)>,
}

impl Model {
    fn units(chars: &[char]) -> usize {
        chars.iter().map(|c| c.len_utf16()).sum()
    }

    /// The block and offset in it of a code point, and the UTF-16 units before it.
    fn find(&self, mut at: usize) -> (usize, usize, usize) {
        let mut units = 0;
        for (index, (chars, width)) in self.blocks.iter().enumerate() {
            if at <= chars.len() {
                return (index, at, units + Self::units(&chars[..at]));
            }
            at -= chars.len();
            units += width;
        }
        assert_eq!(at, 0, "a patch lies in the text");
        (self.blocks.len(), 0, units)
    }

    fn insert(&mut self, at: usize, text: &str) {
        let (index, offset, _) = self.find(at);
        if index == self.blocks.len() {
            self.blocks.push((Vec::new(), 0));
        }
        let block = &mut self.blocks[index];
        block.0.splice(offset..offset, text.chars());
        block.1 = Self::units(&block.0);
        if block.0.len() > 1024 {
            let tail = block.0.split_off(512);
            block.1 = Self::units(&block.0);
            let width = Self::units(&tail);
            self.blocks.insert(index + 1, (tail, width));
        }
    }

    /// Deletes so many code points; returns how many units that were.
    fn delete(&mut self, at: usize, mut count: usize) -> usize {
        let mut units = 0;
        while count > 0 {
            let (mut index, mut offset, _) = self.find(at);
            while offset == self.blocks[index].0.len() {
                (index, offset) = (index + 1, 0);
            }
            let block = &mut self.blocks[index];
            let end = (offset + count).min(block.0.len());
            let gone: Vec<char> = block.0.drain(offset..end).collect();
            units += Self::units(&gone);
            count -= gone.len();
            block.1 = Self::units(&block.0);
            if block.0.is_empty() {
                self.blocks.remove(index);
            }
        }
        units
    }
}

impl Trace {
    fn read(path: &Path) -> Self {
        let trace = unpack(path);
        let mut model = Model::default();
        let number = |value: &Json| usize::try_from(value.as_u64().unwrap()).unwrap();
        let mut txns = Vec::new();
        for txn in trace["txns"].as_array().unwrap() {
            let patches = txn["patches"].as_array().unwrap().iter().map(|patch| {
                let (at, count) = (number(&patch[0]), number(&patch[1]));
                let text = patch[2].as_str().unwrap().to_owned();
                let (_, _, units) = model.find(at);
                let gone = model.delete(at, count);
                if !text.is_empty() {
                    model.insert(at, &text);
                }
                (u32::try_from(units).unwrap(), u32::try_from(gone).unwrap(), text)
            });
            txns.push(patches.collect());
        }
        Self { txns, end: trace["endContent"].as_str().unwrap().to_owned() }
    }
}

#[test]
fn traces_end_in_yjs_bytes() {
    let Some(folder) = traces() else {
        println!("skipped: no traces (QUIRE_TRACES, or shared/traces beside the project)");
        return;
    };
    let hashes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/yjs-hashes.json");
    let hashes: Json = serde_json::from_slice(&std::fs::read(hashes).unwrap()).unwrap();
    let mut read: Option<(String, Trace)> = None;
    let mut differences = Vec::new();
    for run in hashes["runs"].as_array().unwrap() {
        let name = run["trace"].as_str().unwrap();
        if read.as_ref().is_none_or(|(known, _)| known != name) {
            read = Some((name.to_owned(), Trace::read(&folder.join(name))));
        }
        let Some((_, trace)) = &read else { continue };
        let (client, gc) = (run["client"].as_u64().unwrap(), run["gc"].as_bool().unwrap());
        let mut recorded = Recorded::new(client, gc);
        let text = recorded.doc.text("text");
        for patches in &trace.txns {
            recorded.record(|doc| {
                let mut txn = doc.transact();
                for (at, gone, inserted) in patches {
                    text.delete(&mut txn, *at, *gone).unwrap();
                    text.insert(&mut txn, *at, inserted).unwrap();
                }
                txn.commit()
            });
        }
        recorded.doc.check().unwrap();
        assert_eq!(text.read(&recorded.doc), trace.end, "{name}");
        let (v1, v2) = (recorded.doc.state_v1(), recorded.doc.state_v2());
        let snapshot = recorded.doc.snapshot().encode_v1();
        let streams: Vec<(u64, String)> = recorded
            .events
            .iter()
            .map(|(bytes, hash)| (*bytes, hex(&hash.clone().finalize())))
            .collect();
        let got = [
            ("state_v1", v1.len() as u64, sha(&v1)),
            ("state_v2", v2.len() as u64, sha(&v2)),
            ("events_v1", streams[0].0, streams[0].1.clone()),
            ("events_v2", streams[1].0, streams[1].1.clone()),
            ("snapshot_v1", snapshot.len() as u64, sha(&snapshot)),
        ];
        for (field, bytes, hash) in got {
            if run[field]["bytes"] != bytes || run[field]["sha256"] != hash {
                differences.push(format!(
                    "{name}, client {client}, gc {gc}: {field} has {bytes} bytes, expected {}",
                    run[field]["bytes"]
                ));
            }
        }
        if run["events"] != recorded.count {
            differences.push(format!("{name}: {} events", recorded.count));
        }
        println!("{name}, client {client}, gc {gc}");
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Plays a trace of several people: each agent's transactions on a document of its own, merged as the trace says.
#[test]
fn concurrent_traces_end_in_their_text() {
    let Some(folder) = traces() else {
        println!("skipped: no traces (QUIRE_TRACES, or shared/traces beside the project)");
        return;
    };
    for name in ["friendsforever.concurrent.json.gz", "clownschool.concurrent.json.gz"] {
        let trace = unpack(&folder.join(name));
        let txns = trace["txns"].as_array().unwrap();
        let agents = usize::try_from(trace["numAgents"].as_u64().unwrap()).unwrap();
        let mut docs: Vec<Doc> = (0..agents)
            .map(|agent| {
                let client = ClientId::new(agent as u64 + 1).unwrap();
                Doc::new(client, Options { seed: 5, ..Options::default() })
            })
            .collect();
        let index = |value: &Json| usize::try_from(value.as_u64().unwrap()).unwrap();
        // What a transaction rests on, as the last transaction known of each agent: an agent's own follow each other.
        let mut rests: Vec<Vec<usize>> = Vec::with_capacity(txns.len());
        let mut places: Vec<usize> = Vec::with_capacity(txns.len());
        let mut updates: Vec<Vec<Vec<u8>>> = vec![Vec::new(); agents];
        let mut known: Vec<Vec<usize>> = vec![vec![0; agents]; agents];
        for txn in txns {
            let agent = index(&txn["agent"]);
            let mut rest = vec![0; agents];
            for parent in txn["parents"].as_array().unwrap() {
                let parent = index(parent);
                let author = index(&txns[parent]["agent"]);
                for (seen, before) in rest.iter_mut().zip(&rests[parent]) {
                    *seen = (*seen).max(*before);
                }
                rest[author] = rest[author].max(places[parent] + 1);
            }
            assert_eq!(rest[agent], updates[agent].len(), "{name}: an agent knows its own edits");
            for other in (0..agents).filter(|&other| other != agent) {
                assert!(known[agent][other] <= rest[other], "{name}: an agent forgets nothing");
                for update in &updates[other][known[agent][other]..rest[other]] {
                    docs[agent].apply_v1(update).unwrap();
                }
                known[agent][other] = rest[other];
            }
            let text = docs[agent].text("text");
            let mut transaction = docs[agent].transact();
            for patch in txn["patches"].as_array().unwrap() {
                // These traces are ASCII.
                let number = |value: &Json| u32::try_from(value.as_u64().unwrap()).unwrap();
                text.delete(&mut transaction, number(&patch[0]), number(&patch[1])).unwrap();
                let inserted = patch[2].as_str().unwrap();
                text.insert(&mut transaction, number(&patch[0]), inserted).unwrap();
            }
            let update = transaction.commit().update_v1().unwrap();
            places.push(updates[agent].len());
            updates[agent].push(update);
            rests.push(rest);
        }
        // However they arrive: agent by agent, backwards, shuffled with a step.
        let all: Vec<&Vec<u8>> = updates.iter().flatten().collect();
        let count = all.len();
        let orders: [Vec<usize>; 3] = [
            (0..count).collect(),
            (0..count).rev().step_by(7).chain(0..count).collect(),
            (0..count).map(|at| at * 7919 % count).chain(0..count).collect(),
        ];
        for order in orders {
            let mut doc = Doc::new(ClientId::new(99).unwrap(), Options::default());
            for chunk in order.chunks(500) {
                let chunk: Vec<&[u8]> = chunk.iter().map(|&at| all[at].as_slice()).collect();
                doc.apply_v1(&crdt::update::merge_v1(&chunk).unwrap()).unwrap();
            }
            doc.check().unwrap();
            assert_eq!(doc.waiting(), None, "{name}");
            let text = doc.text("text");
            assert!(text.read(&doc) == trace["endContent"].as_str().unwrap(), "{name}");
        }
        println!("{name}: {count} updates by {agents} people");
    }
}
