//! What fuzzing has found worth keeping goes through its door in every test run, and so do a few random parties.

#![expect(clippy::print_stdout, reason = "it tells how much ran")]
#![expect(clippy::disallowed_methods, reason = "reads the corpus")]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use fuzz::convergence::party;
use fuzz::party::Counts;
use fuzz::{MAX_LEN, TARGETS};

#[test]
fn every_door_takes_every_input_kept() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let (mut inputs, mut bytes, mut failed) = (0, 0, Vec::new());
    for target in TARGETS {
        let mut files: Vec<_> = fs::read_dir(corpus.join(target.name))
            .unwrap_or_else(|error| panic!("corpus/{}: {error}", target.name))
            .map(|entry| entry.expect("an entry can be read").path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "corpus/{} is empty", target.name);
        for path in files {
            let input = fs::read(&path).expect("a file can be read");
            assert!(input.len() <= MAX_LEN, "{} is long", path.display());
            if catch_unwind(|| (target.run)(&input)).is_err() {
                println!("failed: {}", path.display());
                failed.push(path);
            }
            inputs += 1;
            bytes += input.len();
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    println!("{inputs} inputs, {bytes} bytes, {} targets", TARGETS.len());
    assert!(bytes < 600_000, "the corpus is to stay small");
}

#[test]
fn six_replicas_converge() {
    let mut total = Counts::default();
    let mut seed = 1_000_000;
    while total.edits < 20_000 {
        total.add(party(seed, 20_000 - total.edits).unwrap_or_else(|problem| panic!("{problem}")));
        seed += 1;
    }
    println!("{total:?}");
}
