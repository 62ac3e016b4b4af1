//! ST-1: a process that is killed at any moment has lost nothing it had called durable.
//!
//! The test starts itself again as the process to be killed. That one writes numbers and prints
//! what it wrote and what became durable; after a random number of lines it is killed.

use crate::scene::{append, read};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{Lsn, Store, StoreError, StoreOptions};

const FOLDER: &str = "QUIRE_KILL_FOLDER";
const ROUNDS: &str = "QUIRE_KILL_ROUNDS";

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Who listens may be gone already; the kill is on its way.
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Writes numbers until it is killed.
fn write_numbers(folder: &Path) {
    let on_durable = Box::new(|news: Result<Lsn, StoreError>| {
        say(&news.map_or_else(|e| format!("trouble {e}"), |lsn| format!("durable {}", lsn.get())));
    });
    let window = Duration::from_millis(1);
    let options =
        StoreOptions { window, segment_bytes: 4000, on_durable, ..StoreOptions::default() };
    let mut store = Store::open(folder, options).unwrap();
    let mut document = store.document("tree", client_of_this_process()).unwrap();
    let text = document.text().read(document.doc());
    let mut next = text.split_whitespace().count();
    loop {
        let lsn = append(&mut document, &format!("{next} "));
        say(&format!("wrote {next} {}", lsn.get()));
        next += 1;
        if next.is_multiple_of(7) {
            store.flush().unwrap();
        }
    }
}

fn client_of_this_process() -> crdt::ClientId {
    crdt::ClientId::new(u64::from(std::process::id()) + (1 << 40)).unwrap()
}

#[test]
fn a_kill_loses_nothing_that_was_durable() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_numbers(Path::new(&folder));
    }
    let rounds = std::env::var(ROUNDS).map_or(200, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut chance = 0x2545_f491_4f6c_dd1d_u64;
    for round in 0..rounds {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        let lines = usize::try_from(chance % 120).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::a_kill_loses_nothing_that_was_durable", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut heard: Vec<String> = said.by_ref().take(lines).map(Result::unwrap).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        heard.extend(said.map_while(Result::ok));

        let mut numbers = BTreeMap::new();
        let mut durable = 0;
        for line in &heard {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["wrote", number, lsn] => {
                    numbers.insert(lsn.parse::<u64>().unwrap(), number.parse::<usize>().unwrap());
                }
                ["durable", lsn] => durable = lsn.parse().unwrap(),
                ["trouble", ..] => panic!("{line}"),
                // What the test harness of the other process says.
                _ => {}
            }
        }
        let mut store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let text = read(&mut store, "tree");
        let found = text.split_whitespace().count();
        let expected: Vec<_> = (0..found).map(|number| format!("{number} ")).collect();
        assert_eq!(text, expected.concat(), "round {round}");
        if let Some((_, number)) = numbers.range(..=durable).next_back() {
            assert!(found > *number, "round {round}: {number} was durable, {found} are left");
        }
        let reports = store.reports();
        let bad = reports.iter().find(|report| report.severity == store::Severity::Warning);
        assert_eq!(bad, None, "round {round}");
    }
}
