//! A disk that refuses: full, failing, gone.

use crate::scene::{DIR, append, client, listen, open, options, read, together};
use std::io::ErrorKind;
use std::path::Path;
use store::disk::{Fault, Operation, SimulatedDisk};
use store::{Store, StoreError, StoreOptions};

/// ST-6.
#[test]
fn a_failed_sync_promises_nothing_any_more() {
    for error in [ErrorKind::Other, ErrorKind::StorageFull] {
        let disk = SimulatedDisk::new();
        let (on_durable, told) = listen();
        let mut store =
            Store::open(Path::new(DIR), StoreOptions { on_durable, ..options(&disk) }).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        append(&mut document, "sure ");
        store.flush().unwrap();
        let durable = store.durable();
        disk.set_fault(Some(Fault { on: Operation::Sync, from: 0, times: 1, error }));
        append(&mut document, "unsure ");
        assert!(matches!(store.flush(), Err(StoreError::Poisoned { .. })));
        // The disk works again, but its word is worth nothing.
        append(&mut document, "unsure ");
        assert!(matches!(store.flush(), Err(StoreError::Poisoned { .. })));
        assert_eq!(store.durable(), durable);
        // All of it is still in memory, for the store that is opened next.
        let kept = document.doc().state_v1();
        drop((document, store));
        assert!(matches!(told.lock().unwrap().last(), Some(Err(StoreError::Poisoned { .. }))));
        let mut store = open(&disk).unwrap();
        let mut document = store.document("tree", client()).unwrap();
        document.apply(&kept).unwrap();
        store.flush().unwrap();
        assert_eq!(document.text().read(document.doc()), "sure unsure unsure ");
    }
}

/// ST-7: a full disk, at every write; when there is room again, everything goes on by itself.
#[test]
fn a_full_disk_stalls_and_goes_on() {
    for from in 0..12 {
        let disk = SimulatedDisk::new();
        let mut store =
            Store::open(Path::new(DIR), StoreOptions { segment_bytes: 200, ..options(&disk) })
                .unwrap();
        let mut document = store.document("tree", client()).unwrap();
        let error = ErrorKind::StorageFull;
        disk.set_fault(Some(Fault { on: Operation::Write, from, times: 3, error }));
        let mut stalled = 0;
        for i in 0..12 {
            append(&mut document, &format!("{i} "));
            stalled += usize::from(matches!(store.flush(), Err(StoreError::Stalled { .. })));
        }
        assert!(stalled > 0 || from > 8, "writing was to stall at write {from}");
        disk.set_fault(None);
        store.flush().unwrap();
        drop((document, store));
        let mut store = open(&disk).unwrap();
        let expected = together(12, |i| format!("{i} "));
        assert_eq!(read(&mut store, "tree"), expected);
        assert_eq!(store.reports(), []);
    }
}

#[test]
fn a_fault_at_any_call_of_opening_is_an_error_and_no_harm() {
    for on in [Operation::Write, Operation::Sync, Operation::Change] {
        for from in 0..12 {
            let disk = SimulatedDisk::new();
            let error = ErrorKind::PermissionDenied;
            disk.set_fault(Some(Fault { on, from, times: 1, error }));
            if let Err(error) = open(&disk) {
                assert!(error.to_string().contains(DIR), "{error}");
            }
            disk.set_fault(None);
            let mut store = open(&disk).unwrap();
            let mut document = store.document("tree", client()).unwrap();
            append(&mut document, "well");
            store.flush().unwrap();
        }
    }
}

#[test]
fn no_snapshot_is_no_harm() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let mut document = store.document("tree", client()).unwrap();
    for _ in 0..60 {
        append(&mut document, "word ");
    }
    store.flush().unwrap();
    let error = ErrorKind::StorageFull;
    disk.set_fault(Some(Fault { on: Operation::Change, from: 0, times: 100, error }));
    drop(document);
    store.finish_snapshots();
    assert_eq!(store.reports().len(), 1);
    disk.set_fault(None);
    assert_eq!(read(&mut store, "tree"), "word ".repeat(60));
}

#[test]
fn an_update_too_large_to_keep_is_refused() {
    let disk = SimulatedDisk::new();
    let mut store = open(&disk).unwrap();
    let mut document = store.document("tree", client()).unwrap();
    append(&mut document, "kept ");
    store.flush().unwrap();
    let large = vec![0; 64 << 20];
    assert!(matches!(document.apply(&large), Err(StoreError::NotAllowed { .. })));
    drop((document, store));
    assert_eq!(read(&mut open(&disk).unwrap(), "tree"), "kept ");
}
