//! First inputs: what Yjs wrote (the vectors of `crdt` and `protocol`), what an older Quire wrote, and a few by hand.

#![expect(clippy::unwrap_used, reason = "what is made here is good")]
#![expect(clippy::disallowed_methods, reason = "reads recordings, writes the inputs")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crdt::{Any, Assoc, ClientId, Doc, Options};
use lib0::write_var_bytes;
use serde_json::Value as Json;

use crate::doors::{MAX_LEN, TARGETS, stored};

/// Inputs by target.
type Seeds = BTreeMap<&'static str, BTreeSet<Vec<u8>>>;

/// Writes the first inputs of every target below a folder; returns how many there are.
///
/// # Errors
/// A file can't be read or written.
pub fn write(folder: &Path) -> std::io::Result<usize> {
    let mut count = 0;
    for (target, inputs) in all()? {
        let folder = folder.join(target);
        fs::create_dir_all(&folder)?;
        for (number, input) in inputs.into_iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), input)?;
            count += 1;
        }
    }
    Ok(count)
}

fn all() -> std::io::Result<Seeds> {
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut seeds = Seeds::new();
    for folder in ["crdt/tests/vectors", "protocol/tests/vectors"] {
        for path in files_below(&core.join(folder))? {
            let vector: Json = serde_json::from_slice(&fs::read(path)?)?;
            from_vector(&vector, "", &mut seeds);
        }
    }
    for path in files_below(&core.join("store/tests/golden"))? {
        let bytes = fs::read(&path)?;
        if path.extension().is_some_and(|extension| extension == "qlog") {
            add(&mut seeds, "log", stored::records(&bytes));
        }
        for which in 0..6 {
            add(&mut seeds, "stored-file", [&[which], bytes.as_slice()].concat());
        }
    }
    by_hand(&mut seeds);
    let known = |name: &&str| TARGETS.iter().any(|target| target.name == *name);
    assert!(seeds.keys().all(known), "a seed for no target");
    Ok(seeds)
}

fn files_below(folder: &Path) -> std::io::Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

fn add(seeds: &mut Seeds, target: &'static str, input: Vec<u8>) {
    if input.len() <= MAX_LEN {
        seeds.entry(target).or_default().insert(input);
    }
}

/// Takes all bytes out of a vector, by the key under which they stand.
fn from_vector(json: &Json, key: &str, seeds: &mut Seeds) {
    match json {
        Json::Array(values) => values.iter().for_each(|value| from_vector(value, key, seeds)),
        Json::Object(members) => {
            let input = members.get("input").and_then(Json::as_str);
            for (inner, value) in members {
                from_vector(value, input.filter(|_| inner == "hex").unwrap_or(inner), seeds);
            }
        }
        Json::String(text) => {
            let Some(bytes) = unhex(text) else { return };
            from_bytes(&bytes, key, seeds);
        }
        _ => {}
    }
}

fn from_bytes(bytes: &[u8], key: &str, seeds: &mut Seeds) {
    let mut behind_length = Vec::new();
    write_var_bytes(&mut behind_length, bytes);
    match key {
        "v1" | "update-v1" => {
            add(seeds, "update-v1", bytes.to_vec());
            add(seeds, "tree", bytes.to_vec());
            add(seeds, "tools-v1", [behind_length.clone(), behind_length].concat());
        }
        "v2" | "update-v2" => {
            add(seeds, "update-v2", bytes.to_vec());
            add(seeds, "stored-snapshot", [&[0], bytes].concat());
            add(seeds, "columns", bytes.to_vec());
            add(seeds, "tools-v2", [behind_length.clone(), behind_length].concat());
        }
        "sv" | "state-vector" => add(seeds, "state-vector", bytes.to_vec()),
        "snapshot-v1" | "snapshot-v2" => add(seeds, "snapshot", bytes.to_vec()),
        "relative-position" => add(seeds, "anchor", bytes.to_vec()),
        "awareness" => add(seeds, "awareness", bytes.to_vec()),
        "hex" | "bytes" | "reply" | "sync" => {
            for target in ["anchor", "any", "awareness", "snapshot", "state-vector"] {
                add(seeds, target, bytes.to_vec());
            }
            for kind in 0..4 {
                add(seeds, "frames", [&[kind], behind_length.as_slice()].concat());
            }
        }
        _ => {}
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if text.len() < 4 || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

/// What no recording has.
fn by_hand(seeds: &mut Seeds) {
    let mut doc =
        Doc::new(ClientId::new(1).unwrap(), Options { gc: false, seed: 1, ..Options::default() });
    let (text, files) = (doc.text("t"), doc.map("files"));
    let mut transaction = doc.transact();
    text.insert(&mut transaction, 0, "one two").unwrap();
    for (id, path) in ["0", "1", "2"].into_iter().zip(["a.tex", "A.tex", "a.tex/b"]) {
        let entry = files.insert_map(&mut transaction, &id.repeat(32)).unwrap();
        entry.insert(&mut transaction, "kind", "text").unwrap();
        entry.insert(&mut transaction, "path", path).unwrap();
        entry.insert(&mut transaction, "person", "Ann").unwrap();
        entry.insert(&mut transaction, "created", 1).unwrap();
    }
    transaction.commit();
    add(seeds, "tree", doc.state_v1());
    add(seeds, "snapshot", doc.snapshot().encode_v1());
    add(seeds, "snapshot", doc.snapshot().encode_v2());
    add(seeds, "state-vector", doc.state_vector().encode());
    for assoc in [Assoc::Before, Assoc::After] {
        for index in [0, 3, 7] {
            let anchor = text.anchor(&doc, index, assoc);
            add(seeds, "anchor", anchor.encode());
            add(seeds, "anchor", anchor.to_json().into_bytes());
        }
    }
    let mut object = crdt::Object::default();
    object.insert("k".to_owned(), Any::Array(vec![Any::Null, Any::from(1.5), Any::BigInt(-7)]));
    object.insert("b".to_owned(), Any::Bytes(vec![1, 2]));
    let mut bytes = Vec::new();
    Any::Object(object).write(&mut bytes);
    add(seeds, "any", bytes);
    let paper = "0123456789abcdef".repeat(2);
    let secret = "ab".repeat(20);
    let room = format!("{paper}/tree");
    let texts: [(&str, &[&str]); 6] = [
        (
            "links",
            &[
                &format!("quire://localhost:4600/{paper}#{secret}"),
                &format!("quire://[::1]:4600/{paper}?plain#{secret}.{}", "0f".repeat(32)),
                &format!("https://example.org/j/{paper}#{secret}"),
                "wss://example.org:443",
                &room,
            ],
        ),
        ("json", &[r#"{"a":[1,-2.5e3,"\u00e9\ud83d\ude00\n",null,true],"b":{}}"#]),
        ("name", &["a/b.tex", "C:\\x", "../x", "COM1.tex", "é/日本 (x).tex", ".git/config"]),
        (
            "paper-toml",
            &[&format!("# x\nformat = 1\nid = \"{paper}\"\nserver = \"h:1\"\n"), "format = 2\n"],
        ),
        (
            "three-way",
            &[
                "one two three\nfour\n\0one 2 three\nfour\n\0one two three\nfour five\n",
                "a\nb\nc\n\0c\na\nb\n\0\n",
            ],
        ),
        (
            "text-format",
            &["one\r\ntwo\nthree\r", "\u{feff}caf\u{e9}\n", "\\documentclass{article}\n"],
        ),
    ];
    for (target, inputs) in texts {
        for input in inputs {
            add(seeds, target, input.as_bytes().to_vec());
        }
    }
    add(seeds, "text-format", b"caf\xe9 \\usepackage[latin1]{inputenc}\n".to_vec());
    add(seeds, "text-format", b"\xff\xfea\0\n\0".to_vec());
    for kind in 0..18 {
        let script: Vec<u8> = (0..200_u32)
            .map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0])
            .collect();
        add(seeds, "script", [&[kind], script.as_slice()].concat());
    }
}
