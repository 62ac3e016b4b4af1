//! Loss of power at every call that touches the disk (ST-2), and its proof that it would notice:
//! leave out any one kind of sync and it fails.

use crate::scene::{DIR, append, client, options, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::disk::{SimulatedDisk, SyncCall, Unsynced};
use store::{Base, Lsn, Severity, Store, StoreError, StoreOptions};

/// Everything that was promised before the power went.
#[derive(Debug, Default, Clone)]
struct Promised {
    /// Words of the documents, in order, with their lsns.
    words: BTreeMap<String, Vec<(Lsn, String)>>,
    facts: Vec<(Lsn, u8)>,
    blobs: Vec<(String, Vec<u8>)>,
    durable: Lsn,
}

/// Works on the disk until it is done or the power goes; never panics over the latter.
fn work(disk: &SimulatedDisk) -> Promised {
    let mut promised = Promised::default();
    for session in 0..3 {
        if session_of_work(disk, session, &mut promised).is_none() {
            break;
        }
    }
    promised
}

fn session_of_work(disk: &SimulatedDisk, session: u8, promised: &mut Promised) -> Option<()> {
    let durable = Arc::new(Mutex::new(promised.durable));
    let told = durable.clone();
    let on_durable = Box::new(move |news: Result<Lsn, StoreError>| {
        if let Ok(lsn) = news {
            let mut durable = told.lock().unwrap();
            *durable = lsn.max(*durable);
        }
    });
    // With such a window only a flush commits, which makes each run the same as the last.
    let window = Duration::from_hours(1);
    let options = StoreOptions { segment_bytes: 600, window, on_durable, ..options(disk) };
    let result = (|| {
        let mut store = Store::open(Path::new(DIR), options).ok()?;
        for name in ["tree", "main"] {
            let mut document = store.document(name, client()).ok()?;
            for i in 0..60 {
                let word = format!("{name}{session}.{i} ");
                let lsn = append(&mut document, &word);
                promised.words.entry(name.to_owned()).or_default().push((lsn, word));
                if i % 10 == 0 {
                    store.flush().ok()?;
                }
            }
            drop(document);
            // Who waits for snapshots makes the next run the same as this one.
            store.finish_snapshots();
            store.flush().ok()?;
        }
        promised.facts.push((store.put_meta("fact", &[session]).ok()?, session));
        let base = Base {
            path: "main.tex".into(),
            byte_len: 1,
            modified_ns: 0,
            hash: [session; 32],
            state: vec![],
            text: "x".repeat(30),
        };
        store.put_base("main", &base).ok()?;
        let bytes = vec![session; 40];
        promised.blobs.push((store.put_blob(&bytes).ok()?, bytes));
        store.flush().ok()?;
        Some(())
    })();
    // The store is closed here, so nothing is told any more.
    promised.durable = *durable.lock().unwrap();
    result
}

/// Returns what is wrong with the disk, if anything.
fn check(disk: &SimulatedDisk, promised: &Promised, way: Unsynced) -> Result<(), String> {
    let mut store =
        Store::open(Path::new(DIR), options(disk)).map_err(|error| error.to_string())?;
    let warning = store.reports().into_iter().find(|report| report.severity == Severity::Warning);
    if let (Some(warning), Unsynced::Lost | Unsynced::Kept) = (warning, way) {
        return Err(format!("it calls damage what is none: {warning}"));
    }
    for (name, words) in &promised.words {
        let text = read(&mut store, name);
        let all: String = words.iter().map(|(_, word)| word.as_str()).collect();
        let sure = words.iter().filter(|(lsn, _)| *lsn <= promised.durable);
        let sure: String = sure.map(|(_, word)| word.as_str()).collect();
        if !text.starts_with(&sure) {
            return Err(format!("{name} has {text:?}, promised was {sure:?}"));
        }
        if !all.starts_with(&text) {
            return Err(format!("{name} has {text:?}, which nobody wrote"));
        }
    }
    if let Some((_, value)) = promised.facts.iter().rfind(|(lsn, _)| *lsn <= promised.durable) {
        let found = store.meta("fact").and_then(|found| found.first().copied());
        if found.is_none_or(|found| found < *value) {
            return Err(format!("the fact is {found:?}, promised was {value}"));
        }
    }
    for (name, bytes) in &promised.blobs {
        match store.get_blob(name) {
            Ok(Some(found)) if found == *bytes => {}
            other => return Err(format!("a figure is {other:?}")),
        }
    }
    Ok(())
}

/// Tries every way of losing power at the given calls; returns the first thing found wrong.
fn lose_power(calls: impl Iterator<Item = u64>, leave_out: Option<&Class>) -> Result<(), String> {
    for call in calls {
        let disk = SimulatedDisk::new();
        if let Some(class) = leave_out.cloned() {
            disk.leave_out_syncs(move |sync| class_of(sync) == class);
        }
        disk.cut_power_at(call);
        let promised = work(&disk);
        let ways = [Unsynced::Lost, Unsynced::Kept]
            .into_iter()
            .chain((0..4).map(|seed| Unsynced::Chance(call * 4 + seed)));
        for way in ways {
            let found = disk.after_power_loss(way);
            check(&found, &promised, way)
                .map_err(|wrong| format!("power lost at call {call}, {way:?}: {wrong}"))?;
            // Recovery itself can lose power: what it leaves must recover as well.
            let again = disk.after_power_loss(way);
            again.cut_power_at(call % 12);
            drop(Store::open(Path::new(DIR), options(&again)));
            check(&again.after_power_loss(way), &promised, way).map_err(|wrong| {
                format!("power lost at call {call} and again, {way:?}: {wrong}")
            })?;
        }
    }
    Ok(())
}

fn calls_of_work() -> u64 {
    let disk = SimulatedDisk::new();
    let promised = work(&disk);
    check(&disk, &promised, Unsynced::Kept).unwrap();
    disk.calls()
}

#[test]
fn what_was_promised_survives_loss_of_power_at_every_call() {
    let calls = calls_of_work();
    assert!(calls > 150, "the work is too small: {calls} calls");
    lose_power((0..calls).chain([1 << 40]), None).unwrap();
}

/// What a killed process had written without coming to sync it is shown by the next open, so it
/// has to be as safe from then on as everything else that is shown as saved.
#[test]
fn what_a_killed_process_left_is_promised_when_it_is_shown() {
    for call in 0..calls_of_work() {
        let disk = SimulatedDisk::new();
        disk.cut_power_at(call);
        let mut promised = work(&disk);
        disk.restore_power();
        let mut store = Store::open(Path::new(DIR), options(&disk)).unwrap();
        promised.durable = store.durable();
        for (name, words) in &mut promised.words {
            let shown = read(&mut store, name).len();
            let mut len = 0;
            words.retain(|(_, word)| {
                len += word.len();
                len <= shown
            });
        }
        let figures = (0..3).map(|session| blake3::hash(&[session; 40]).to_hex());
        let figures: Vec<_> = figures.filter(|figure| store.has_blob(figure)).collect();
        drop(store);
        let found = disk.after_power_loss(Unsynced::Lost);
        let mut store = Store::open(Path::new(DIR), options(&found)).unwrap();
        for figure in figures {
            assert!(store.get_blob(&figure).unwrap().is_some(), "killed at call {call}");
        }
        for (name, words) in promised.words {
            let expected: String = words.into_iter().map(|(_, word)| word).collect();
            assert_eq!(read(&mut store, &name), expected, "killed at call {call}");
        }
    }
}

/// Which sync it is: file or folder, and which kind by name.
type Class = (bool, String);

fn class_of(sync: &SyncCall) -> Class {
    let name = sync.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parent = sync.path.parent().and_then(Path::file_name).unwrap_or_default();
    let parent = parent.to_string_lossy().into_owned();
    let kind = match sync.path.extension() {
        Some(extension) => format!("{parent}/*.{}", extension.to_string_lossy()),
        None if parent == "blob" => "blob/*".to_owned(),
        None => name,
    };
    (sync.folder, kind)
}

#[test]
fn every_sync_is_needed() {
    let disk = SimulatedDisk::new();
    work(&disk);
    let classes: BTreeSet<_> = disk.syncs().iter().map(class_of).collect();
    // The data folder's own parents, the store's folder and its subfolders, each kind of file.
    assert!(classes.len() >= 9, "{classes:?}");
    let calls = calls_of_work();
    for class in classes {
        // From the end, where most is promised, and then more finely.
        let late = [1 << 40].into_iter().chain((0..calls).rev().step_by(5));
        assert!(
            lose_power(late.chain(0..calls), Some(&class)).is_err(),
            "nothing is lost without syncing {class:?}"
        );
    }
}
