//! One paper's folder on this device.
//!
//! ```text
//! FORMAT       what version wrote this, and the store's own id
//! LOCK         held by the one process that has the store open
//! log/         segments of the log, named after their first lsn
//! snap/        documents' whole states, two of each
//! blob/ab/     figures, named by their blake3
//! quarantine/  damaged files, never removed by the program
//! ```

use crate::blob::{self, Blobs};
use crate::disk::{self, Access, Disk, Locking, RealDisk};
use crate::document::Document;
use crate::error::{Report, Severity, StoreError, failed};
use crate::index::Base;
use crate::log::{Log, LogOptions, OnDurable};
use crate::record::{Kind, Lsn};
use crate::recovery::{self, Folders};
use crdt::ClientId;
use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The format this version writes, and the newest it reads.
const FORMAT: u32 = 1;

/// Longest value of a small fact.
const MAX_META: usize = 16 << 20;

/// How a store is opened.
pub struct StoreOptions {
    /// Where the files are.
    pub disk: Arc<dyn Disk>,
    /// A busy log is synced at most this often.
    pub window: Duration,
    /// A log file of this size is followed by a new one.
    pub segment_bytes: u64,
    /// Is told what has become durable, on the log's own thread.
    pub on_durable: OnDurable,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            disk: Arc::new(RealDisk),
            window: Duration::from_millis(20),
            segment_bytes: 8 << 20,
            on_durable: Box::new(|_| {}),
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { disk, window, segment_bytes, on_durable: _ } = self;
        f.debug_struct("StoreOptions")
            .field("disk", disk)
            .field("window", window)
            .field("segment_bytes", segment_bytes)
            .finish_non_exhaustive()
    }
}

/// One paper's folder, open in this process alone.
///
/// It stays open until the store and all its documents are dropped; dropping the last of them
/// waits until all is written.
#[derive(Debug)]
pub struct Store {
    log: Arc<Log>,
    dir: PathBuf,
}

impl Store {
    /// Opens the store in `dir`, made if missing, and mends what the last run left broken.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions { disk, window, segment_bytes, on_durable } = options;
        let folders = Folders::of(dir);
        disk::create_dirs(&*disk, dir, Access::Private).map_err(failed("create", dir))?;
        let lock = lock(&*disk, dir)?;
        let (id, mut reports) = read_format(&*disk, dir, &folders)?;
        for folder in [&folders.log, &folders.snapshots, &folders.blobs] {
            disk::create_dirs(&*disk, folder, Access::Private).map_err(failed("create", folder))?;
        }
        blob::sweep(&*disk, &folders.blobs)?;
        let mut recovered = recovery::recover(&disk, &folders, id)?;
        reports.append(&mut recovered.reports);
        recovered.reports = reports;
        let options = LogOptions { window, segment_bytes, on_durable };
        let log = Log::start(disk, folders, recovered, options, lock)
            .map_err(failed("start the log of", dir))?;
        Ok(Self { log: Arc::new(log), dir: dir.to_path_buf() })
    }

    /// Returns the store's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns what opening the store and its documents has found, oldest first.
    pub fn reports(&self) -> Vec<Report> {
        self.log.reports()
    }

    /// Returns the documents that may lack something because of damage, until
    /// [`resynced`](Self::resynced) says that another replica has been asked.
    pub fn needs_resync(&self) -> Vec<String> {
        self.log.needs_resync()
    }

    /// Says that a document has been compared with another replica since the damage.
    pub fn resynced(&self, name: &str) {
        self.log.mark_needs_resync(name, false);
    }

    /// Loads a document, an empty one if the name is new; `client` must be new for each open.
    pub fn document(&mut self, name: &str, client: ClientId) -> Result<Document, StoreError> {
        check_name("the document's name", name)?;
        Document::open(self.log.clone(), name, client)
    }

    /// Returns the names of the documents that hold something, sorted.
    pub fn names(&self) -> Vec<String> {
        self.log.index(|index| index.documents().map(|(name, _)| name.to_owned()).collect())
    }

    /// Returns the last lsn that is durable, with all before it.
    pub fn durable(&self) -> Lsn {
        self.log.durable()
    }

    /// Waits until everything written so far is durable.
    pub fn flush(&self) -> Result<Lsn, StoreError> {
        self.log.flush()
    }

    /// Returns the way to the figures alone, for other threads.
    pub fn blobs(&self) -> Blobs {
        Blobs::new(&self.log)
    }

    /// Keeps a figure's bytes, durably, and returns their name: their blake3 in hex.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<String, StoreError> {
        blob::put(&self.log, bytes)
    }

    /// Returns the bytes with this name, if they are here.
    pub fn get_blob(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        blob::get(&self.log, hash)
    }

    /// Returns whether bytes of this name are here.
    pub fn has_blob(&self, hash: &str) -> bool {
        blob::has(&self.log, hash)
    }

    /// Keeps the base of a mirrored file, in place of the one it had.
    pub fn put_base(&self, key: &str, base: &Base) -> Result<Lsn, StoreError> {
        check_name("the base's key", key)?;
        let bytes = base.encode();
        check_len("a base of", bytes.len())?;
        Ok(self.log.set(Kind::Base, key, Some(bytes)))
    }

    /// Forgets the base of a file.
    pub fn remove_base(&self, key: &str) -> Lsn {
        self.log.set(Kind::Base, key, None)
    }

    /// Returns the base of a file.
    pub fn base(&self, key: &str) -> Result<Option<Base>, StoreError> {
        let bytes = self.log.index(|index| index.fact(Kind::Base, key).map(<[u8]>::to_vec));
        bytes.map(|bytes| Base::decode(key, &bytes)).transpose()
    }

    /// Returns the keys of all bases, sorted.
    pub fn base_keys(&self) -> Vec<String> {
        self.log.index(|index| index.fact_names(Kind::Base))
    }

    /// Keeps a small fact, in place of the one under this key.
    pub fn put_meta(&self, key: &str, value: &[u8]) -> Result<Lsn, StoreError> {
        check_name("the key", key)?;
        if key == recovery::NEEDS_RESYNC {
            let why = "the store's own";
            return Err(StoreError::NotAllowed { what: "the key", given: key.to_owned(), why });
        }
        check_len("a fact of", value.len())?;
        Ok(self.log.set(Kind::Meta, key, Some(value.to_vec())))
    }

    /// Forgets a small fact.
    pub fn remove_meta(&self, key: &str) -> Lsn {
        self.log.set(Kind::Meta, key, None)
    }

    /// Returns a small fact.
    pub fn meta(&self, key: &str) -> Option<Vec<u8>> {
        self.log.index(|index| index.fact(Kind::Meta, key).map(<[u8]>::to_vec))
    }

    /// Waits for the snapshots that are being written, so that what follows sees them.
    pub fn finish_snapshots(&self) {
        self.log.finish_snapshots();
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), StoreError> {
    if name.is_empty() || name.len() > 1024 || name.chars().any(char::is_control) {
        let why = "1 to 1024 bytes without control characters";
        return Err(StoreError::NotAllowed { what, given: name.to_owned(), why });
    }
    Ok(())
}

fn check_len(what: &'static str, len: usize) -> Result<(), StoreError> {
    if len > MAX_META {
        let given = format!("{len} bytes");
        return Err(StoreError::NotAllowed { what, given, why: "at most 16 MiB" });
    }
    Ok(())
}

fn lock(disk: &dyn Disk, dir: &Path) -> Result<Box<dyn Any + Send + Sync>, StoreError> {
    let path = dir.join("LOCK");
    let note = format!("process {}", std::process::id());
    match disk.lock(&path, &note) {
        Ok(Locking::Ours(lock)) => Ok(lock),
        Ok(Locking::Theirs(holder)) => {
            let known = !holder.is_empty() && holder.chars().all(|c| !c.is_control());
            let holder = if known { holder } else { "it did not say which".to_owned() };
            Err(StoreError::Locked { dir: dir.to_path_buf(), holder })
        }
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            Err(StoreError::NoLocks { dir: dir.to_path_buf() })
        }
        Err(error) => Err(failed("lock", path)(error)),
    }
}

/// Reads the file that says what this folder is, or makes it for a new store.
fn read_format(
    disk: &dyn Disk,
    dir: &Path,
    folders: &Folders,
) -> Result<([u8; 16], Vec<Report>), StoreError> {
    let path = dir.join("FORMAT");
    let mut reports = Vec::new();
    match disk.read(&path, 4096) {
        Ok(bytes) => match parse_format(&bytes) {
            Some((min_reader, _)) if min_reader > FORMAT => {
                let dir = dir.to_path_buf();
                return Err(StoreError::Newer { dir, format: min_reader });
            }
            Some((_, id)) => {
                disk.sync_dir(dir).map_err(failed("sync", dir))?;
                return Ok((id, reports));
            }
            None => {
                recovery::set_aside(disk, &folders.quarantine, &path)?;
                let text = format!("{} was damaged: it was written anew", path.display());
                reports.push(Report { severity: Severity::Warning, text, documents: Vec::new() });
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("read", path)(error)),
    }
    let id = if let Some(id) = recovery::store_id(disk, &folders.log) {
        id
    } else {
        let mut id = [0; 16];
        getrandom::fill(&mut id)
            .map_err(|error| failed("get randomness for", &path)(io::Error::other(error)))?;
        id
    };
    disk::replace(disk, &path, format_text(id).as_bytes()).map_err(failed("write", path))?;
    Ok((id, reports))
}

fn format_text(id: [u8; 16]) -> String {
    let id = u128::from_be_bytes(id);
    let body = format!("quire-store {FORMAT}\nmin-reader {FORMAT}\nid {id:032x}\n");
    let crc = crc32c::crc32c(body.as_bytes());
    format!("{body}crc {crc:08x}\n")
}

/// Reads the oldest reader allowed and the store's id; `None` if the text is damaged. Later
/// formats may have more lines.
fn parse_format(bytes: &[u8]) -> Option<(u32, [u8; 16])> {
    let text = str::from_utf8(bytes).ok()?;
    let (body, crc) = text.strip_suffix('\n')?.rsplit_once("\ncrc ")?;
    let body = format!("{body}\n");
    if crc != format!("{:08x}", crc32c::crc32c(body.as_bytes())) {
        return None;
    }
    let field = |key: &str| body.lines().find_map(|line| line.strip_prefix(key));
    field("quire-store ")?;
    let min_reader = field("min-reader ")?.parse().ok()?;
    let id = u128::from_str_radix(field("id ")?, 16).ok()?;
    Some((min_reader, id.to_be_bytes()))
}
