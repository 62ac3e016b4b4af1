//! Figures and other files that are not text: each under the name of its content, written once.
//!
//! `blob/ab/abcd...` holds the bytes whose blake3 is `abcd...`. A blob is durable under its name
//! before the log mentions it, so no reference dangles.

use crate::disk::{self, Access, Disk, Kind};
use crate::error::{Report, Severity, StoreError, failed};
use crate::log::Log;
use crate::recovery;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// Largest blob.
const MAX_BLOB: u64 = 1 << 30;

/// A store's figures, for other threads than the one that has the store: moving a large one
/// keeps nobody from typing. It does not keep the store open.
#[derive(Debug, Clone)]
pub struct Blobs(Weak<Log>);

impl Blobs {
    pub(crate) fn new(log: &Arc<Log>) -> Self {
        Self(Arc::downgrade(log))
    }

    fn log(&self) -> Result<Arc<Log>, StoreError> {
        let closed = || StoreError::Poisoned { reason: "the store was closed".to_owned() };
        self.0.upgrade().ok_or_else(closed)
    }

    /// Does what [`Store::put_blob`](crate::Store::put_blob) does.
    pub fn put(&self, bytes: &[u8]) -> Result<String, StoreError> {
        put(&*self.log()?, bytes)
    }

    /// Does what [`Store::get_blob`](crate::Store::get_blob) does.
    pub fn get(&self, hash: &str) -> Result<Option<Vec<u8>>, StoreError> {
        get(&*self.log()?, hash)
    }

    /// Does what [`Store::has_blob`](crate::Store::has_blob) does.
    pub fn has(&self, hash: &str) -> Result<bool, StoreError> {
        Ok(has(&*self.log()?, hash))
    }
}

/// Keeps the bytes and returns their name. They are durable when this returns.
pub(crate) fn put(log: &Log, bytes: &[u8]) -> Result<String, StoreError> {
    let hash = blake3::hash(bytes);
    let name = hash.to_hex().to_string();
    let path = path(log, &name)?;
    if bytes.len() as u64 > MAX_BLOB {
        let given = format!("{} bytes", bytes.len());
        return Err(StoreError::NotAllowed { what: "a figure of", given, why: "at most 1 GiB" });
    }
    let is_there = log.disk().stat(&path).is_ok_and(|stat| stat.byte_len == bytes.len() as u64);
    // An equal length can still be a damaged file: who has the right bytes mends it.
    let folder = path.parent().unwrap_or(&log.folders().blobs);
    if is_there && log.disk().read(&path, MAX_BLOB).is_ok_and(|stored| stored == bytes) {
        // Whoever is just putting it there may not have come to making its name durable.
        log.disk().sync_dir(folder).map_err(failed("sync", folder))?;
    } else {
        disk::create_dirs(log.disk(), folder, Access::Private).map_err(failed("create", folder))?;
        disk::replace(log.disk(), &path, bytes).map_err(failed("write", &path))?;
        log.add_blob(*hash.as_bytes());
    }
    Ok(name)
}

/// Returns the bytes with this name, if they are here; a damaged file is set aside.
pub(crate) fn get(log: &Log, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = path(log, name)?;
    let bytes = match log.disk().read(&path, MAX_BLOB) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    if blake3::hash(&bytes).to_hex().as_str() == name {
        return Ok(Some(bytes));
    }
    recovery::set_aside(log.disk(), &log.folders().quarantine, &path)?;
    log.disk().remove(&path).map_err(failed("remove", &path))?;
    log.report(Report {
        severity: Severity::Warning,
        text: format!("{} is not what its name says: it was set aside", path.display()),
        documents: Vec::new(),
    });
    Err(StoreError::BlobDamaged { hash: name.to_owned() })
}

/// Returns whether a blob of this name is here. Its bytes are checked when they are read.
pub(crate) fn has(log: &Log, name: &str) -> bool {
    path(log, name).is_ok_and(|path| log.disk().stat(&path).is_ok())
}

/// Removes what an interrupted write has left behind, and makes the folders' names durable that
/// a killed process may have made.
pub(crate) fn sweep(disk: &dyn Disk, blobs: &std::path::Path) -> Result<(), StoreError> {
    disk.sync_dir(blobs).map_err(failed("sync", blobs))?;
    for folder in disk.list(blobs).map_err(failed("list", blobs))? {
        let folder = blobs.join(folder.name);
        if disk.stat(&folder).is_ok_and(|stat| stat.kind != Kind::Folder) {
            continue;
        }
        for entry in disk.list(&folder).map_err(failed("list", &folder))? {
            if disk::is_temporary(&entry.name) {
                let path = folder.join(entry.name);
                disk.remove(&path).map_err(failed("remove", path))?;
            }
        }
        disk.sync_dir(&folder).map_err(failed("sync", folder))?;
    }
    Ok(())
}

fn path(log: &Log, name: &str) -> Result<PathBuf, StoreError> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if name.len() == 64 && name.bytes().all(hex) {
        return Ok(log.folders().blobs.join(&name[..2]).join(name));
    }
    let why = "a blake3 in 64 small hex digits";
    Err(StoreError::NotAllowed { what: "the figure's name", given: name.to_owned(), why })
}
