//! A store on a simulated disk and what the tests do with it.

use crdt::ClientId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use store::disk::SimulatedDisk;
use store::{Lsn, OnDurable, Store, StoreError, StoreOptions};

pub(crate) const DIR: &str = "/data/papers/p";

/// Returns a client id that no earlier call has returned.
pub(crate) fn client() -> ClientId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    ClientId::new(NEXT.fetch_add(1, Ordering::Relaxed)).unwrap()
}

pub(crate) fn options(disk: &SimulatedDisk) -> StoreOptions {
    StoreOptions {
        disk: Arc::new(disk.clone()),
        window: Duration::ZERO,
        segment_bytes: 8 << 20,
        on_durable: Box::new(|_| {}),
    }
}

pub(crate) fn open(disk: &SimulatedDisk) -> Result<Store, StoreError> {
    Store::open(Path::new(DIR), options(disk))
}

/// What a callback has been told.
pub(crate) type Told = Arc<Mutex<Vec<Result<Lsn, StoreError>>>>;

/// Returns a callback and what it has been told.
pub(crate) fn listen() -> (OnDurable, Told) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = told.clone();
    (Box::new(move |news| teller.lock().unwrap().push(news)), told)
}

/// Appends to the document's text and returns the lsn.
pub(crate) fn append(document: &mut store::Document, what: &str) -> Lsn {
    let text = document.text();
    let end = text.len(document.doc());
    let (done, written) = document.transact(|t| text.insert(t, end, what));
    done.unwrap();
    written.unwrap().lsn
}

/// Returns the document's text.
pub(crate) fn read(store: &mut Store, name: &str) -> String {
    let document = store.document(name, client()).unwrap();
    document.text().read(document.doc())
}

/// Returns the texts of all documents.
pub(crate) fn texts(store: &mut Store) -> BTreeMap<String, String> {
    let names = store.names();
    names.into_iter().map(|name| (name.clone(), read(store, &name))).collect()
}

/// Returns the paths of the files in a folder of the store.
pub(crate) fn files(disk: &SimulatedDisk, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(DIR).join(folder);
    disk.files().into_keys().filter(|path| path.starts_with(&folder)).collect()
}

/// Returns what `words` from 0 up to `end` are together.
pub(crate) fn together(end: usize, word: impl Fn(usize) -> String) -> String {
    (0..end).map(word).collect::<Vec<_>>().concat()
}
