//! The vectors of y-protocols: awareness clocks and timeouts, the sync handshake, hostile input.
//!
//! `QUIRE_VECTORS` names another folder of the same format.

#![expect(clippy::disallowed_methods, reason = "a test reads recordings")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use crdt::{ClientId, Doc, Options, StateVector};
use lib0::{Reader, write_var_bytes, write_var_u64};
use protocol::{Awareness, AwarenessChange, Framing, Message};
use serde_json::{Value, json};

/// Where the recordings of the conversation lie, and those of the core with its hostile input.
fn folders() -> Vec<PathBuf> {
    match std::env::var_os("QUIRE_VECTORS") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => ["tests/vectors", "../crdt/tests/vectors"]
            .map(|folder| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder))
            .to_vec(),
    }
}

fn vector(id: &str) -> Value {
    let path = folders()[0].join(format!("{id}.json"));
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn clients(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|client| client.as_u64().unwrap()).collect()
}

/// People in a room whose clock is the test's.
#[derive(Default)]
struct People {
    by_name: BTreeMap<String, (u64, Awareness)>,
    slots: BTreeMap<String, Vec<u8>>,
    now_ms: u64,
}

impl People {
    fn step(&mut self, step: &Value) {
        let text = |name: &str| step[name].as_str().unwrap();
        let now_ms = self.now_ms;
        match text("do") {
            "aw.new" => {
                let client = step["client"].as_u64().unwrap();
                let awareness = Awareness::of(client, now_ms);
                self.by_name.insert(text("id").to_owned(), (client, awareness));
            }
            "advance" => {
                let end = now_ms + step["ms"].as_u64().unwrap();
                while self.now_ms < end {
                    // The reference's timer runs every three seconds of its own.
                    let tick = protocol::awareness::TICK_MS;
                    self.now_ms = end.min((self.now_ms / tick + 1) * tick);
                    if self.now_ms.is_multiple_of(tick) {
                        for (_, awareness) in self.by_name.values_mut() {
                            awareness.tick(self.now_ms);
                        }
                    }
                }
            }
            "aw.set" => {
                let state = &step["state"];
                let state = (!state.is_null()).then(|| ordered(state));
                self.by_name.get_mut(text("id")).unwrap().1.set(state, now_ms);
            }
            "aw.encode" => {
                let bytes = self.by_name[text("id")].1.encode(clients(&step["clients"]));
                assert_eq!(bytes, unhex(text("bytes")), "{step}");
                self.slots.insert(text("out").to_owned(), bytes);
            }
            "aw.apply" => {
                let bytes = match step["hex"].as_str() {
                    Some(hex) => unhex(hex),
                    None => self.slots[text("in")].clone(),
                };
                let awareness = &mut self.by_name.get_mut(text("id")).unwrap().1;
                let change = awareness.apply(&bytes, now_ms).unwrap();
                let expected = match &step["change"] {
                    Value::Null => AwarenessChange::default(),
                    change => AwarenessChange {
                        added: clients(&change["added"]),
                        updated: clients(&change["updated"]),
                        removed: clients(&change["removed"]),
                    },
                };
                assert_eq!(change, expected, "{step}");
            }
            "aw.states" => {
                let (_, awareness) = &self.by_name[text("id")];
                let mut states = BTreeMap::new();
                let mut clocks = BTreeMap::new();
                for (client, state) in awareness.states() {
                    let state: Value = serde_json::from_str(state).unwrap();
                    states.insert(client.to_string(), state);
                }
                for client in step["clocks"].as_object().unwrap().keys() {
                    clocks.insert(client.clone(), awareness.clock(client.parse().unwrap()));
                }
                assert_eq!(json!(states), step["states"], "{step}");
                assert_eq!(json!(clocks), step["clocks"], "{step}");
            }
            other => panic!("unknown step {other}"),
        }
    }
}

/// The states of the vectors have at most two keys, `user` before `cursor`.
fn ordered(state: &Value) -> String {
    let object = state.as_object().unwrap();
    let mut keys: Vec<&String> = object.keys().collect();
    keys.sort_by_key(|key| *key != "user");
    let members: Vec<String> =
        keys.iter().map(|key| format!("{}:{}", json!(key), object[*key])).collect();
    format!("{{{}}}", members.join(","))
}

fn run_awareness(id: &str) {
    let vector = vector(id);
    let mut people = People::default();
    for step in vector["steps"].as_array().unwrap() {
        people.step(step);
    }
}

#[test]
fn awareness_clock_rules() {
    run_awareness("awareness-clock-rules");
}

#[test]
fn awareness_timeout() {
    run_awareness("awareness-timeout");
}

/// Writes a sync message as the vectors have it: without the type in front.
fn sync(step: u64, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_var_u64(&mut out, step);
    write_var_bytes(&mut out, bytes);
    out
}

fn doc(client: &Value) -> Doc {
    let client = ClientId::new(client.as_u64().unwrap()).unwrap();
    let mut doc = Doc::new(client, Options::default());
    doc.text("t");
    doc.map("m");
    doc
}

#[test]
fn sync_handshake() {
    let vector = vector("sync-handshake");
    let mut docs: BTreeMap<String, Doc> = BTreeMap::new();
    for (name, of) in vector["docs"].as_object().unwrap() {
        docs.insert(name.clone(), doc(&of["client"]));
    }
    let mut slots: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for step in vector["steps"].as_array().unwrap() {
        let text = |name: &str| step[name].as_str().unwrap();
        match text("do") {
            // The edits themselves are the core's vectors; here their updates do.
            "txn" => {
                let update = unhex(step["emits"]["v1"].as_str().unwrap());
                docs.get_mut(text("doc")).unwrap().apply_v1(&update).unwrap();
                slots.insert(text("out").to_owned(), update);
            }
            "sync.step1" => {
                let bytes = sync(0, &docs[text("doc")].state_vector().encode());
                assert_eq!(bytes, unhex(text("bytes")), "{step}");
                slots.insert(text("out").to_owned(), bytes);
            }
            "sync.update" => {
                let bytes = sync(2, &slots[text("in")]);
                assert_eq!(bytes, unhex(text("bytes")), "{step}");
                slots.insert(text("out").to_owned(), bytes);
            }
            "sync.read" => {
                let mut framed = vec![0];
                framed.extend_from_slice(&slots[text("in")]);
                let message = Message::read(&mut Reader::new(&framed), Framing::OneRoom).unwrap();
                let doc = docs.get_mut(text("doc")).unwrap();
                let (kind, reply) = match message {
                    Message::Step1(state) => {
                        let state = StateVector::decode(state).unwrap();
                        (0, Some(sync(1, &doc.diff_v1(&state))))
                    }
                    Message::Step2(update) => {
                        doc.apply_v1(update).unwrap();
                        (1, None)
                    }
                    Message::Update(update) => {
                        doc.apply_v1(update).unwrap();
                        (2, None)
                    }
                    other => panic!("{other:?}"),
                };
                assert_eq!(json!(kind), step["type"], "{step}");
                assert_eq!(reply, step["reply"].as_str().map(unhex), "{step}");
                if let (Some(reply), Some(out)) = (reply, step["out"].as_str()) {
                    slots.insert(out.to_owned(), reply);
                }
            }
            "same" => {
                let states: Vec<_> = docs.values().map(Doc::state_v1).collect();
                assert!(states.windows(2).all(|pair| pair[0] == pair[1]), "{step}");
            }
            "check" => {
                let doc = docs.get_mut(text("doc")).unwrap();
                assert_eq!(doc.text("t").read(doc), text("text"));
            }
            other => panic!("unknown step {other}"),
        }
    }
}

/// Puts together the bytes of a hostile case.
fn hostile(case: &Value) -> Vec<u8> {
    match case["hex"].as_str() {
        Some(hex) => unhex(hex),
        None => case["parts"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|part| {
                let times = usize::try_from(part["times"].as_u64().unwrap_or(1)).unwrap();
                unhex(part["hex"].as_str().unwrap()).repeat(times)
            })
            .collect(),
    }
}

/// Every hostile awareness and sync message is refused, and nothing hangs or grows.
#[test]
fn hostile_messages() {
    let mut seen = 0;
    let files = folders().into_iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    for file in files {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "json") {
            continue;
        }
        let vector: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for case in vector["cases"].as_array().into_iter().flatten() {
            if case["base"].is_string() {
                continue;
            }
            let bytes = hostile(case);
            let refused = match case["input"].as_str() {
                Some("awareness") => Awareness::of_room().apply(&bytes, 0).is_err(),
                Some("sync") => {
                    let framed = [&[0], bytes.as_slice()].concat();
                    let message = Message::read(&mut Reader::new(&framed), Framing::OneRoom);
                    let mut doc = doc(&json!(1));
                    match message {
                        Err(_) => true,
                        Ok(Message::Step1(state)) => StateVector::decode(state).is_err(),
                        Ok(Message::Step2(update) | Message::Update(update)) => {
                            doc.apply_v1(update).is_err()
                        }
                        Ok(_) => false,
                    }
                }
                _ => continue,
            };
            seen += 1;
            if case["expect"] == "error" {
                assert!(refused, "{}: {case}", path.display());
            }
            // The same bytes as a frame of a socket: no matter what, no panic.
            drop(protocol::message::RoomFrame::read(&bytes));
        }
    }
    assert!(seen > 0, "the vectors have hostile messages");
}
