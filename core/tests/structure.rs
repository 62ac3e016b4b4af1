//! Knowledge runs one way: crates use only those below them, and within a crate a module uses only
//! those that `lib.rs` (or `main.rs`) declares above it.

#![expect(clippy::disallowed_methods, reason = "looks at the sources")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Which of our crates each crate may use; the table of the design.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("lib0", &[]),
    ("crdt", &["lib0"]),
    ("protocol", &["crdt", "lib0"]),
    ("store", &["crdt", "lib0"]),
    ("paper", &["crdt"]),
    ("client", &["protocol"]),
    ("replica", &["paper", "store", "client", "protocol", "crdt"]),
    ("server", &["protocol", "store", "crdt"]),
    ("latex", &[]),
    (
        "cli",
        &["lib0", "crdt", "protocol", "store", "paper", "client", "replica", "server", "latex"],
    ),
];

/// Modules of `crdt` that are one web: the document, the shared types and its past need each other.
const ONE_WEB: [&str; 3] = ["doc", "history", "types"];

/// Crates that know of no files, clocks, threads or sockets; and what would bring these in.
const PURE: [&str; 4] = ["lib0", "crdt", "protocol", "paper"];
const IMPURE: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::thread",
    "std::time::Instant",
    "SystemTime",
    "tokio",
    "std::env",
    "std::process",
    "getrandom",
];

fn core() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn crates_use_only_those_below_them() {
    let ours: Vec<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    for (name, may) in MAY_USE {
        let manifest = read(&core().join(name).join("Cargo.toml"));
        let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        for line in section.lines() {
            let used = line.split(['.', ' ', '=']).next().unwrap_or_default();
            assert!(!ours.contains(&used) || may.contains(&used), "{name} may not use {used}");
        }
    }
}

#[test]
fn modules_use_only_those_above_them() {
    let mut below = Vec::new();
    for (name, _) in MAY_USE {
        let web = |module: &str| name == "crdt" && ONE_WEB.contains(&module);
        let sources = core().join(name).join("src");
        let root = ["lib.rs", "main.rs"].map(|root| sources.join(root));
        let root = root.iter().find(|root| root.exists()).expect("a crate has a root");
        let order: BTreeMap<String, usize> =
            read(root).lines().filter_map(declared).enumerate().map(|(at, it)| (it, at)).collect();
        for file in files_below(&sources) {
            let inside = file.strip_prefix(&sources).expect("below").with_extension("");
            let module = inside.iter().next().expect("a name").to_string_lossy().into_owned();
            let Some(own) = order.get(&module) else { continue };
            for used in used_modules(&read(&file)) {
                if web(&module) && web(&used) {
                    continue;
                }
                if order.get(&used).is_some_and(|other| other > own) {
                    below.push(format!("{name}: {} uses {used}", inside.display()));
                }
            }
        }
    }
    below.sort();
    below.dedup();
    assert!(below.is_empty(), "declared below: {below:#?}");
}

#[test]
fn pure_crates_stay_pure() {
    for name in PURE {
        for file in files_below(&core().join(name).join("src")) {
            let text = read(&file);
            let code =
                without_tests(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                let impure = IMPURE.iter().find(|word| line.contains(**word));
                assert!(impure.is_none(), "{}: {line}", file.display());
            }
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Returns the module that a line declares.
fn declared(line: &str) -> Option<String> {
    let line = line.strip_prefix("pub ").or(line.strip_prefix("pub(crate) ")).unwrap_or(line);
    Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or(text)
}

/// Returns the first names behind each `crate::`, in braces as well.
fn used_modules(text: &str) -> Vec<String> {
    let code = without_tests(text).lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: Vec<&str> = code.collect();
    let code = code.join("\n");
    let mut used = Vec::new();
    for rest in code.split("crate::").skip(1) {
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let mut start = true;
            for part in list.split_inclusive(['{', '}', ',']) {
                let name = part.trim().split([':', ',', '}', '{', ' ']).next().unwrap_or_default();
                if depth == 0 && start {
                    used.push(name.to_owned());
                }
                start = part.ends_with(',') || part.ends_with('{');
                match part.chars().last() {
                    Some('{') => depth += 1,
                    Some('}') if depth == 0 => break,
                    Some('}') => depth -= 1,
                    _ => {}
                }
            }
        } else {
            let name: String =
                rest.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
            used.push(name);
        }
    }
    used
}
