//! The disk: the only place of the workspace that touches files, for the store and for the mirror.
//!
//! [`Disk`] is what a file system promises and no more: written bytes are sure only after
//! [`DiskFile::sync`], names only after [`Disk::sync_dir`]. [`RealDisk`] is the computer's own;
//! [`SimulatedDisk`] keeps everything in memory and can lose power, fail or run full at any
//! chosen call. [`replace`] is the one right way to exchange a file's content.

mod real;
mod simulated;

use std::any::Any;
use std::ffi::OsString;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

pub use real::RealDisk;
pub use simulated::{Fault, Operation, SimulatedDisk, SyncCall, Unsynced};

/// How the name of every temporary file ends that this module makes.
pub const TEMPORARY_SUFFIX: &str = ".quire-tmp";

/// What a path names. Links are named, never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, wherever it points.
    Link,
    /// A device, a pipe, a socket.
    Other,
}

/// What the file system says about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// What the path names.
    pub kind: Kind,
    /// Length of a file's content.
    pub byte_len: u64,
    /// Time of the last change of content, nanoseconds since 1970; negative before it.
    pub modified_ns: i128,
    /// Nobody may write to it.
    pub read_only: bool,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name, without the folder.
    pub name: OsString,
}

/// Who may read a new folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The person who runs the program alone (0700).
    Private,
    /// Whom the system's habit lets in.
    Usual,
}

/// What came of asking for a lock.
#[derive(Debug)]
pub enum Locking {
    /// The lock is ours until the value is dropped or the process ends.
    Ours(Box<dyn Any + Send + Sync>),
    /// Another process holds it; the text is what that process wrote into the file.
    Theirs(String),
}

/// A file system.
pub trait Disk: Send + Sync + Debug {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Returns what `path` is. A link is described itself, not what it points to.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Returns the names in the folder, sorted.
    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>>;

    /// Returns a file's whole content; an error of kind `FileTooLarge` when that is more than
    /// `limit` bytes.
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>>;

    /// Returns exactly `len` bytes from `offset`; an error of kind `UnexpectedEof` if there are
    /// fewer.
    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>>;

    /// Makes one folder; its parent must exist.
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()>;

    /// Makes a new, empty file; an error if the name is taken.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Opens an existing file for writing.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Gives the file `to` the mode that `from` has.
    fn copy_mode(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Renames within one file system, replacing what has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file or a link.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in the folder durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Tries to lock the file (made if missing) for this process and writes `note` into it.
    /// An error of kind `Unsupported` where the file system has no locks.
    fn lock(&self, path: &Path, note: &str) -> io::Result<Locking>;
}

/// A file open for writing.
pub trait DiskFile: Send + Debug {
    /// Writes all the bytes at the offset. After an error any part of them may be there.
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes content and length durable.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts or lengthens the file.
    fn set_len(&mut self, byte_len: u64) -> io::Result<()>;
}

/// Makes a folder and the parents it lacks, all of them durable.
pub fn create_dirs(disk: &dyn Disk, path: &Path, access: Access) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut folder = Some(path);
    while let Some(here) = folder.filter(|here| !here.as_os_str().is_empty()) {
        match disk.stat(here) {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing.push(here),
            Err(error) => return Err(error),
        }
        folder = here.parent();
    }
    for folder in missing.into_iter().rev() {
        match disk.create_dir(folder, access) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        sync_parent(disk, folder)?;
    }
    Ok(())
}

/// Exchanges (or makes) the file's content: after a crash it is the old or the new one, whole,
/// and after this function has returned it is the new one. Keeps the file's mode.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    stage(disk, path, bytes)?.commit()
}

/// Writes the new content beside the file, durably, without touching the file yet: the caller
/// may look at the file once more before [`Staged::commit`].
pub fn stage<'d>(disk: &'d dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<Staged<'d>> {
    let temporary = temporary_beside(path)?;
    match disk.remove(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = disk.create(&temporary)?;
    let staged = Staged { disk, temporary, path: path.to_path_buf(), committed: false };
    file.write_all_at(bytes, 0)?;
    match disk.copy_mode(path, &staged.temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    file.sync()?;
    Ok(staged)
}

/// New content, durable under a temporary name. Dropped without [`Staged::commit`], it is
/// removed.
#[derive(Debug)]
pub struct Staged<'d> {
    disk: &'d dyn Disk,
    temporary: PathBuf,
    path: PathBuf,
    committed: bool,
}

impl Staged<'_> {
    /// Returns what the file system says about the new content; it says the same of the file
    /// after [`commit`](Self::commit), as long as nobody else writes to it.
    pub fn stat(&self) -> io::Result<Stat> {
        self.disk.stat(&self.temporary)
    }

    /// Returns the staged bytes as the disk gives them back.
    pub fn read_back(&self, limit: u64) -> io::Result<Vec<u8>> {
        self.disk.read(&self.temporary, limit)
    }

    /// Puts the new content in place, durably.
    pub fn commit(mut self) -> io::Result<()> {
        self.disk.rename(&self.temporary, &self.path)?;
        self.committed = true;
        sync_parent(self.disk, &self.path)
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing can be done about a failure here: `stage` removes a leftover as well.
            drop(self.disk.remove(&self.temporary));
        }
    }
}

/// Returns whether the name is that of a temporary file made by [`stage`].
pub fn is_temporary(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with('.') && name.ends_with(TEMPORARY_SUFFIX))
}

fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    // A hash and not the name itself: a name of 255 bytes has no room for a suffix.
    let hash = blake3::hash(name.as_encoded_bytes()).to_hex();
    Ok(path.with_file_name(format!(".{}{TEMPORARY_SUFFIX}", &hash[..16])))
}

fn sync_parent(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => disk.sync_dir(parent),
        _ => disk.sync_dir(Path::new(".")),
    }
}
