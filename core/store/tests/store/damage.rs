//! Torn ends and damaged media: cut or reported, never silently wrong.

use crate::scene::{DIR, append, client, files, open, options, read, texts};
use std::path::Path;
use store::disk::{Disk as _, SimulatedDisk};
use store::{Severity, Store, StoreError, StoreOptions};

/// A store with a few words in two documents, closed; each word in a batch of its own.
fn small_store() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    for name in ["tree", "main"] {
        let mut document = store.document(name, client()).unwrap();
        for i in 0..6 {
            append(&mut document, &format!("{name}{i} "));
            store.flush().unwrap();
        }
    }
    store.put_meta("fact", b"stays").unwrap();
    store.put_blob(b"a figure").unwrap();
    drop(store);
    disk
}

/// ST-3.
#[test]
fn a_torn_end_is_cut() {
    let disk = small_store();
    let log = files(&disk, "log").remove(0);
    let whole = disk.files()[&log].len();
    let all = texts(&mut open(&disk).unwrap());
    for end in 0..whole {
        let disk = small_store();
        disk.damage(&log, |bytes| bytes.truncate(end)).unwrap();
        let mut store = open(&disk).unwrap();
        for (name, text) in texts(&mut store) {
            assert!(all[&name].starts_with(&text), "cut at {end}: {text:?}");
        }
        assert!(store.reports().iter().all(|report| report.severity < Severity::Warning));
        let mut document = store.document("new", client()).unwrap();
        append(&mut document, "still writes");
        drop((document, store));
        let mut store = open(&disk).unwrap();
        assert_eq!(read(&mut store, "new"), "still writes");
        assert_eq!(store.reports(), [], "cut at {end}: mended once is mended");
    }
}

/// ST-4: every single bit of every file of a small store.
#[test]
fn a_flipped_bit_changes_nothing_or_is_reported() {
    let disk = small_store();
    let all = texts(&mut open(&disk).unwrap());
    let small = disk.files();
    let mut whole_despite = 0;
    for (path, bytes) in &small {
        if path.ends_with("LOCK") {
            continue;
        }
        for bit in 0..bytes.len() * 8 {
            let disk = small_copy(&disk);
            disk.damage(path, |bytes| bytes[bit / 8] ^= 1 << (bit % 8)).unwrap();
            let mut store = match open(&disk) {
                Ok(store) => store,
                Err(error) => panic!("{} bit {bit}: {error}", path.display()),
            };
            let found = texts(&mut store);
            let blob = store.get_blob(blake3::hash(b"a figure").to_hex().as_str());
            let same = found == all
                && store.meta("fact").as_deref() == Some(b"stays")
                && matches!(blob, Ok(Some(_)));
            let said = !store.reports().is_empty();
            assert!(same || said, "{} bit {bit} is silently wrong: {found:?}", path.display());
            for (name, text) in found {
                assert!(all[&name].contains(&text) || said, "{text:?}");
            }
            whole_despite += usize::from(same);
            // The damaged file is still there for who wants to look.
            let warned = store.reports().iter().any(|report| report.severity == Severity::Warning);
            assert_eq!(warned, !files(&disk, "quarantine").is_empty());
        }
    }
    assert!(whole_despite > 0);
}

fn small_copy(disk: &SimulatedDisk) -> SimulatedDisk {
    disk.after_power_loss(store::disk::Unsynced::Kept)
}

#[test]
fn damage_in_the_middle_costs_only_what_was_there() {
    let disk = small_store();
    let log = files(&disk, "log").remove(0);
    let all = texts(&mut open(&disk).unwrap());
    let at = {
        let bytes = &disk.files()[&log];
        bytes.windows(5).position(|window| window == b"main3").unwrap()
    };
    disk.damage(&log, |bytes| bytes[at] ^= 1).unwrap();
    let mut store = open(&disk).unwrap();
    assert_eq!(read(&mut store, "tree"), all["tree"]);
    // Later words of the same person wait for the one that is lost.
    assert_eq!(read(&mut store, "main"), "main0 main1 main2 ");
    assert_eq!(store.needs_resync(), ["main", "tree"]);
    let report = store.reports().remove(0);
    assert_eq!(report.severity, Severity::Warning);
    assert_eq!(report.documents, ["main", "tree"]);
    store.resynced("tree");
    drop(store);
    let mut store = open(&disk).unwrap();
    assert_eq!(store.needs_resync(), ["main"]);
    assert_eq!(store.reports(), []);
    assert_eq!(read(&mut store, "main"), "main0 main1 main2 ");
    assert!(store.document("main", client()).unwrap().doc().waiting().is_some());
}

#[test]
fn a_bad_snapshot_is_replaced_by_the_one_before_and_the_log() {
    let disk = SimulatedDisk::new();
    let small = || StoreOptions { segment_bytes: 1000, ..options(&disk) };
    let mut expected = String::new();
    for turn in 0..4 {
        let mut store = Store::open(Path::new(DIR), small()).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        for i in 0..60 {
            let word = format!("{turn}.{i} ");
            append(&mut document, &word);
            expected.push_str(&word);
            store.flush().unwrap();
        }
    }
    let newest = files(&disk, "snap").pop().unwrap();
    disk.damage(&newest, |bytes| bytes[40] ^= 4).unwrap();
    let mut store = open(&disk).unwrap();
    assert_eq!(read(&mut store, "tree"), expected);
    assert_eq!(store.reports().len(), 1);
    assert_eq!(store.needs_resync(), ["tree"]);
    assert_eq!(files(&disk, "quarantine").len(), 1);
    store.resynced("tree");
    drop(store);
    let mut store = open(&disk).unwrap();
    assert_eq!(read(&mut store, "tree"), expected);
    assert_eq!(store.reports(), [], "reported once is enough");
}

#[test]
fn missing_snapshots_are_reported_once() {
    let disk = SimulatedDisk::new();
    {
        let mut store = open(&disk).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        for _ in 0..60 {
            append(&mut document, "word ");
        }
    }
    let snapshot = files(&disk, "snap").remove(0);
    disk.remove(&snapshot).unwrap();
    let store = open(&disk).unwrap();
    assert_eq!(store.reports().len(), 1);
    assert_eq!(store.reports()[0].documents, ["tree"]);
    assert_eq!(store.needs_resync(), ["tree"]);
    store.resynced("tree");
    drop(store);
    let mut store = open(&disk).unwrap();
    assert_eq!(store.reports(), []);
    assert_eq!(store.needs_resync(), Vec::<String>::new());
    // The log still has it all here.
    assert_eq!(read(&mut store, "tree"), "word ".repeat(60));
}

#[test]
fn a_damaged_figure_is_set_aside_and_can_be_put_again() {
    let disk = SimulatedDisk::new();
    let store = open(&disk).unwrap();
    let name = store.put_blob(b"a figure").unwrap();
    let path = files(&disk, "blob").remove(0);
    disk.damage(&path, |bytes| bytes[0] ^= 1).unwrap();
    let read = store.get_blob(&name);
    assert!(matches!(read, Err(StoreError::BlobDamaged { .. })));
    assert!(!store.has_blob(&name));
    store.put_blob(b"a figure").unwrap();
    assert!(store.get_blob(&name).unwrap().is_some());
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let disk = small_store();
    let path = Path::new(DIR).join("FORMAT");
    let body = format!("quire-store 2\nmin-reader 2\nid {}\nmore x\n", "0".repeat(32));
    let text = format!("{body}crc {:08x}\n", crc32c::crc32c(body.as_bytes()));
    disk.damage(&path, |bytes| *bytes = text.clone().into_bytes()).unwrap();
    let before = disk.files();
    assert!(matches!(open(&disk), Err(StoreError::Newer { format: 2, .. })));
    assert_eq!(disk.files(), before);
}

#[test]
fn any_bytes_in_the_store_are_survived() {
    // A small generator, so that a failure is replayed by its number.
    for seed in 0..300_u64 {
        let disk = small_store();
        let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x
        };
        for path in disk.files().into_keys().filter(|path| !path.ends_with("LOCK")) {
            if next() % 2 == 0 {
                continue;
            }
            disk.damage(&path, |bytes| {
                let len = bytes.len().max(1);
                let at = usize::try_from(next()).unwrap() % len;
                match next() % 4 {
                    0 => bytes.truncate(at),
                    1 => bytes[at..].fill(0),
                    2 => bytes
                        .iter_mut()
                        .skip(at)
                        .take(40)
                        .for_each(|byte| *byte = next().to_le_bytes()[0]),
                    _ => bytes.extend_from_within(at..),
                }
            })
            .unwrap();
        }
        match open(&disk) {
            Ok(mut store) => {
                texts(&mut store);
                let mut document = store.document("new", client()).unwrap();
                append(&mut document, "still writes");
                drop(document);
                store.flush().unwrap();
            }
            Err(error) => assert!(!error.to_string().is_empty(), "seed {seed}"),
        }
    }
}
