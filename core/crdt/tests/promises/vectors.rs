//! Replays vectors recorded from Yjs: every update event, state, merge and diff must have Yjs's bytes.
//!
//! `QUIRE_VECTORS` names another folder of the same format (`cargo xtask vectors DIR` sets it).

use std::path::{Path, PathBuf};

use crdt::{Anchor, Array, ClientId, Doc, Map, Options, Snapshot, StateVector, Text, update};
use serde_json::Value as Json;

use crate::replay::{Run, bytes, hex};

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
        let all = vector["steps"].as_array().unwrap();
        for format in vector["formats"].as_array().unwrap() {
            let mut run = Run::new(format.as_str().unwrap(), &vector["docs"]);
            run.tells_subdocs = all.iter().any(|step| step.get("subdocs").is_some());
            for (index, step) in all.iter().enumerate() {
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
