//! Doors of `store`: what stands on the disk, on a simulated one.
//!
//! Checksums would keep a fuzzer out of everything behind them, so they are set right after it has had its way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crdt::{ClientId, update};
use lib0::{Reader, write_var_u64};
use store::disk::{SimulatedDisk, Unsynced};
use store::{Base, Store, StoreError, StoreOptions};

const DIR: &str = "/data/paper";
/// Length of a segment's header.
const HEADER: usize = 64;
/// The kind of a record that closes a group commit; it holds the checksums of all records before it.
const MARK: u8 = 6;

/// A store with two documents, a snapshot, a figure, a base and a fact.
fn small_store() -> SimulatedDisk {
    static SMALL: OnceLock<SimulatedDisk> = OnceLock::new();
    let small = SMALL.get_or_init(|| {
        let disk = SimulatedDisk::new();
        let mut store = open(&disk).unwrap();
        for (name, words) in [("tree", 60), ("main", 3)] {
            let mut document = store.document(name, client(1)).unwrap();
            for word in 0..words {
                append(&mut document, &format!("{word} "));
            }
        }
        store.put_blob(b"a figure").unwrap();
        store.put_meta("fact", b"stays").unwrap();
        let base = Base {
            path: "main.tex".to_owned(),
            byte_len: 2,
            modified_ns: 3,
            hash: [4; 32],
            state: vec![0],
            text: "text".to_owned(),
        };
        store.put_base("file", &base).unwrap();
        store.flush().unwrap();
        drop(store);
        disk
    });
    small.after_power_loss(Unsynced::Kept)
}

fn client(id: u64) -> ClientId {
    ClientId::new(id).unwrap()
}

fn open(disk: &SimulatedDisk) -> Result<Store, StoreError> {
    let options = StoreOptions {
        disk: Arc::new(disk.clone()),
        window: Duration::ZERO,
        segment_bytes: 8 << 20,
        on_durable: Box::new(|_| {}),
    };
    Store::open(Path::new(DIR), options)
}

fn append(document: &mut store::Document, what: &str) {
    let text = document.text();
    let end = text.len(document.doc());
    document.transact(|transaction| text.insert(transaction, end, what)).0.unwrap();
}

fn files(disk: &SimulatedDisk, folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(DIR).join(folder);
    disk.files().into_keys().filter(|path| path.starts_with(&folder)).collect()
}

/// A store opens with what it finds, or says why not; if it opens, it goes on, and shows the same when opened again.
fn survives(disk: &SimulatedDisk) {
    let mut store = match open(disk) {
        Ok(store) => store,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut texts = texts(&mut store);
    for key in store.base_keys() {
        drop(store.base(&key));
    }
    store.meta("fact");
    for path in files(disk, "blob") {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        drop(store.get_blob(&name));
    }
    let mut document = store.document("new", client(9)).unwrap();
    append(&mut document, "still writes");
    // The log may have had one of this name.
    texts.insert("new".to_owned(), document.text().read(document.doc()));
    drop(document);
    store.flush().unwrap();
    drop(store);
    let mut store = open(disk).expect("it was open before");
    for (name, text) in texts {
        let document = store.document(&name, client(11)).unwrap();
        assert_eq!(document.text().read(document.doc()), text, "{name:?}");
    }
}

fn texts(store: &mut Store) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for name in store.names() {
        let document = match store.document(&name, client(10)) {
            Ok(document) => document,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        if document.doc().structs() < 2_000 {
            document.doc().check().unwrap();
        }
        texts.insert(name, document.text().read(document.doc()));
    }
    texts
}

/// Records of the log, each behind its length.
pub(super) fn log(bytes: &[u8]) {
    let disk = small_store();
    let path = files(&disk, "log").remove(0);
    disk.damage(&path, |log| {
        log.truncate(HEADER);
        let salt: [u8; 4] = std::array::from_fn(|at| log[32 + at]);
        let mut chain = crc32c::crc32c(&log[32..48]);
        let mut reader = Reader::new(bytes);
        while let Ok(body) = reader.var_bytes() {
            let mut body = body.to_vec();
            if body.first() == Some(&MARK) {
                seal(&mut body, chain);
            }
            let len = u32::try_from(body.len()).expect("a short record");
            let crc = crc32c::crc32c_append(crc32c::crc32c(&salt), &body);
            let crc = crc32c::crc32c_append(crc, &len.to_le_bytes());
            log.extend_from_slice(&len.to_le_bytes());
            log.extend_from_slice(&crc.to_le_bytes());
            log.extend_from_slice(&body);
            chain = crc32c::crc32c_append(chain, &crc.to_le_bytes());
        }
        log.extend_from_slice(reader.rest());
    })
    .unwrap();
    survives(&disk);
}

/// Puts the checksums into a mark.
fn seal(body: &mut Vec<u8>, chain: u32) {
    let mut reader = Reader::new(body);
    let head = reader.bytes(2).and_then(|_| reader.var_u64()).and_then(|_| reader.var_u64());
    if head.is_ok() {
        body.truncate(reader.position());
        body.extend_from_slice(&chain.to_le_bytes());
    }
}

/// The bodies of a log's records, as [`log`] takes them.
pub(crate) fn records(log: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    let mut rest = log.get(HEADER..).unwrap_or_default();
    while let Some((len, behind)) = rest.split_first_chunk::<4>() {
        let len = u32::from_le_bytes(*len) as usize;
        let Some(body) = behind.get(4..4 + len).filter(|_| len > 0) else { break };
        lib0::write_var_bytes(&mut records, body);
        rest = &behind[4 + len..];
    }
    records
}

/// A snapshot: its state, not compressed (first byte even) or compressed.
pub(super) fn snapshot(bytes: &[u8]) {
    let Some((kind, state)) = bytes.split_first() else { return };
    // What was saved may have more structs than an update, and then takes the memory of such a document.
    if update::check_v2(state).is_err_and(|error| error.to_string().contains("more structs")) {
        return;
    }
    let disk = small_store();
    let path = files(&disk, "snap").remove(0);
    disk.damage(&path, |file| {
        // Up to the name.
        let mut reader = Reader::new(file);
        reader.bytes(20).unwrap();
        reader.var_str().unwrap();
        let end = reader.position();
        file.truncate(end);
        if kind.is_multiple_of(2) {
            write_var_u64(file, state.len() as u64);
            file.extend(zstd::bulk::compress(state, 1).expect("in memory"));
        } else {
            file.extend_from_slice(state);
        }
        let crc = crc32c::crc32c(file);
        file.extend_from_slice(&crc.to_le_bytes());
    })
    .unwrap();
    survives(&disk);
}

/// Any file of the store (which one, by the first byte) with any content.
pub(super) fn file(bytes: &[u8]) {
    let Some((which, content)) = bytes.split_first() else { return };
    let disk = small_store();
    let paths: Vec<PathBuf> =
        disk.files().into_keys().filter(|path| !path.ends_with("LOCK")).collect();
    let path = &paths[usize::from(*which) % paths.len()];
    disk.damage(path, |file| {
        *file = content.to_vec();
        if path.ends_with("FORMAT") {
            let crc = crc32c::crc32c(file);
            file.extend(format!("crc {crc:08x}\n").into_bytes());
        }
    })
    .unwrap();
    survives(&disk);
}
