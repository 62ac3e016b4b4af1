//! What is written is read again.

use crate::scene::{DIR, append, client, files, listen, open, options, read, together};
use std::path::Path;
use std::sync::Arc;
use store::disk::{RealDisk, SimulatedDisk};
use store::{Base, Lsn, Store, StoreError, StoreOptions};

#[test]
fn a_document_is_the_same_after_reopening() {
    let disk = SimulatedDisk::new();
    for turn in 0..5 {
        let mut store = open(&disk).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        assert_eq!(document.text().read(document.doc()), "ab".repeat(turn));
        append(&mut document, "a");
        append(&mut document, "b");
        drop(document);
        store.flush().unwrap();
        assert_eq!(store.reports(), []);
    }
}

#[test]
fn dropping_everything_writes_everything() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let mut document = store.document("tree", client()).unwrap();
    drop(store);
    append(&mut document, "after the store's own handle is gone");
    drop(document);
    let mut store = open(&disk).unwrap();
    assert_eq!(read(&mut store, "tree"), "after the store's own handle is gone");
}

#[test]
fn documents_do_not_mix() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let names: Vec<_> = (0..20).map(|i| format!("file {i}")).collect();
    let mut documents: Vec<_> =
        names.iter().map(|name| store.document(name, client()).unwrap()).collect();
    for round in 0..10 {
        for (i, document) in documents.iter_mut().enumerate() {
            append(document, &format!("{i}.{round} "));
        }
    }
    drop(documents);
    drop(store);
    let mut store = open(&disk).unwrap();
    assert_eq!(store.names().len(), 20);
    for (i, name) in names.iter().enumerate() {
        let expected = together(10, |round| format!("{i}.{round} "));
        assert_eq!(read(&mut store, name), expected);
    }
}

#[test]
fn a_document_nobody_wrote_to_is_not_kept() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    assert_eq!(read(&mut store, "a name someone asked for"), "");
    drop(store);
    assert!(open(&disk).unwrap().names().is_empty());
}

#[test]
fn a_document_opens_once_at_a_time() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let first = store.document("tree", client()).unwrap();
    let second = store.document("tree", client());
    assert!(matches!(second, Err(StoreError::AlreadyOpen { name }) if name == "tree"));
    drop(first);
    store.document("tree", client()).unwrap();
}

#[test]
fn bases_and_facts_are_kept_and_replaced() {
    let disk = SimulatedDisk::new();
    let base = Base {
        path: "main.tex".into(),
        byte_len: 3,
        modified_ns: 1_700_000_000_000_000_123,
        hash: [7; 32],
        state: vec![1, 2],
        text: "abc".into(),
    };
    let newer = Base { text: "abcd".into(), ..base.clone() };
    let store = open(&disk).unwrap();
    store.put_base("f1", &base).unwrap();
    store.put_base("f1", &newer).unwrap();
    store.put_base("f2", &base).unwrap();
    store.remove_base("f2");
    store.put_meta("link", b"quire://x").unwrap();
    store.put_meta("gone", b"x").unwrap();
    store.remove_meta("gone");
    drop(store);
    let store = open(&disk).unwrap();
    assert_eq!(store.base("f1").unwrap(), Some(newer));
    assert_eq!(store.base("f2").unwrap(), None);
    assert_eq!(store.base_keys(), ["f1"]);
    assert_eq!(store.meta("link").as_deref(), Some(&b"quire://x"[..]));
    assert_eq!(store.meta("gone"), None);
}

#[test]
fn figures_are_kept_under_the_hash_of_their_bytes() {
    let disk = SimulatedDisk::new();
    let store = open(&disk).unwrap();
    let name = store.put_blob(b"%PDF-1.7").unwrap();
    assert_eq!(name, blake3::hash(b"%PDF-1.7").to_hex().as_str());
    assert_eq!(store.put_blob(b"%PDF-1.7").unwrap(), name);
    drop(store);
    let store = open(&disk).unwrap();
    assert!(store.has_blob(&name));
    assert_eq!(store.get_blob(&name).unwrap().as_deref(), Some(&b"%PDF-1.7"[..]));
    assert_eq!(store.get_blob(&"0".repeat(64)).unwrap(), None);
    for bad in ["", "../../etc/passwd", &"A".repeat(64), &"é".repeat(32)] {
        assert!(matches!(store.get_blob(bad), Err(StoreError::NotAllowed { .. })), "{bad}");
        assert!(!store.has_blob(bad));
    }
}

#[test]
fn many_segments_are_one_log() {
    let disk = SimulatedDisk::new();
    let small = || StoreOptions { segment_bytes: 300, ..options(&disk) };
    let mut most = 0;
    for turn in 0..3 {
        let mut store = Store::open(Path::new(DIR), small()).unwrap();
        store.put_meta("turn", &[turn]).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        for i in 0..40 {
            append(&mut document, &format!("{turn}.{i} "));
            store.flush().unwrap();
        }
        most = most.max(files(&disk, "log").len());
    }
    assert!(most > 2, "the log was to be in many files");
    let mut store = Store::open(Path::new(DIR), small()).unwrap();
    let expected: String =
        (0..3).flat_map(|turn| (0..40).map(move |i| format!("{turn}.{i} "))).collect();
    assert_eq!(read(&mut store, "tree"), expected);
    assert_eq!(store.meta("turn"), Some(vec![2]));
    assert_eq!(store.reports(), []);
}

#[test]
fn snapshots_let_old_segments_go() {
    let disk = SimulatedDisk::new();
    let small = || StoreOptions { segment_bytes: 2000, ..options(&disk) };
    let mut expected = String::new();
    for turn in 0..6 {
        let mut store = Store::open(Path::new(DIR), small()).unwrap();
        store.put_meta("fact", b"stays").unwrap();
        let mut document = store.document("tree", client()).unwrap();
        for i in 0..100 {
            let word = format!("{turn}.{i} ");
            append(&mut document, &word);
            expected.push_str(&word);
            store.flush().unwrap();
        }
        drop(document);
        store.finish_snapshots();
        store.flush().unwrap();
        assert_eq!(read(&mut store, "tree"), expected);
    }
    assert!(files(&disk, "snap").len() <= 3, "{:?}", files(&disk, "snap"));
    let bytes: usize = files(&disk, "log").iter().map(|path| disk.files()[path].len()).sum();
    assert!(bytes < 15_000, "the log still has {bytes} bytes");
    for _ in 0..2 {
        let mut store = Store::open(Path::new(DIR), small()).unwrap();
        assert_eq!(store.reports(), []);
        assert_eq!(store.meta("fact").as_deref(), Some(&b"stays"[..]));
        assert_eq!(read(&mut store, "tree"), expected);
    }
    // The newest snapshot has been read back by now: the log holds nothing it does not.
    assert_eq!(files(&disk, "log").len(), 1);
}

/// Case K-010.
#[test]
fn concurrent_writers_lose_nothing() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let documents: Vec<_> =
        (0..8).map(|i| store.document(&format!("d{i}"), client()).unwrap()).collect();
    std::thread::scope(|scope| {
        for mut document in documents {
            scope.spawn(move || {
                for i in 0..40 {
                    append(&mut document, &format!("{i} "));
                }
            });
        }
    });
    drop(store);
    let mut store = open(&disk).unwrap();
    let expected = together(40, |i| format!("{i} "));
    for i in 0..8 {
        assert_eq!(read(&mut store, &format!("d{i}")), expected);
    }
}

/// Cases A-001 and K-003: what waits for a missing update is kept, by the log and by snapshots.
#[test]
fn a_waiting_update_is_kept() {
    let updates: Vec<_> = {
        let disk = SimulatedDisk::new();
        let mut store = open(&disk).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        let text = document.text();
        (0..100)
            .map(|i| {
                let end = text.len(document.doc());
                let (_, written) = document.transact(|t| text.insert(t, end, &format!("{i} ")));
                written.unwrap().update
            })
            .collect()
    };
    let disk = SimulatedDisk::new();
    {
        let mut store = open(&disk).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        for update in &updates[1..] {
            assert!(document.apply(update).unwrap().is_some());
            assert!(document.apply(update).unwrap().is_none(), "known already");
        }
        assert_eq!(document.text().read(document.doc()), "");
    }
    assert_eq!(files(&disk, "snap").len(), 1);
    let mut store = open(&disk).unwrap();
    let mut document = store.document("tree", client()).unwrap();
    assert!(document.doc().waiting().is_some());
    document.apply(&updates[0]).unwrap().unwrap();
    let expected = together(100, |i| format!("{i} "));
    assert_eq!(document.text().read(document.doc()), expected);
}

#[test]
fn an_update_that_is_none_changes_nothing() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let mut document = store.document("tree", client()).unwrap();
    let bad = document.apply(b"\\documentclass{article}");
    assert!(matches!(bad, Err(StoreError::Update { .. })));
    assert_eq!(document.last_lsn(), Lsn::ZERO);
}

#[test]
fn the_callback_names_each_commit() {
    let disk = SimulatedDisk::new();
    let (on_durable, told) = listen();
    let mut store =
        Store::open(Path::new(DIR), StoreOptions { on_durable, ..options(&disk) }).unwrap();
    let mut document = store.document("tree", client()).unwrap();
    let first = append(&mut document, "a");
    let second = append(&mut document, "b");
    assert!(first < second);
    store.flush().unwrap();
    drop((store, document));
    let told: Vec<_> = told.lock().unwrap().drain(..).map(Result::unwrap).collect();
    assert!(told.is_sorted());
    assert_eq!(told.last(), Some(&second));
}

/// ST-10, and on a real disk.
#[test]
fn a_second_open_says_who_has_the_paper() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("papers/p");
    let real = || StoreOptions { disk: Arc::new(RealDisk), ..StoreOptions::default() };
    let mut first = Store::open(&dir, real()).unwrap();
    let mut document = first.document("tree", client()).unwrap();
    append(&mut document, "kept");
    match Store::open(&dir, real()) {
        Err(StoreError::Locked { dir: locked, holder }) => {
            assert_eq!(locked, dir);
            assert_eq!(holder, format!("process {}", std::process::id()));
        }
        other => panic!("{other:?}"),
    }
    drop((document, first));
    let mut again = Store::open(&dir, real()).unwrap();
    assert_eq!(read(&mut again, "tree"), "kept");
}
