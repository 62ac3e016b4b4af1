//! The computer's own file system.

use super::{Access, Disk, DiskFile, Entry, Kind, Locking, Stat};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// The computer's own file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

#[expect(clippy::disallowed_methods, reason = "this is the place that touches files and clock")]
impl Disk for RealDisk {
    fn now_ms(&self) -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let found = fs::symlink_metadata(path)?;
        let kind = match found.file_type() {
            kind if kind.is_symlink() => Kind::Link,
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            _ => Kind::Other,
        };
        let modified_ns = match found.modified()?.duration_since(UNIX_EPOCH) {
            Ok(since) => i128::try_from(since.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => -i128::try_from(before.duration().as_nanos()).unwrap_or(i128::MAX),
        };
        let read_only = found.permissions().readonly();
        Ok(Stat { kind, byte_len: found.len(), modified_ns, read_only })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = fs::read_dir(folder)?
            .map(|entry| Ok(Entry { name: entry?.file_name() }))
            .collect::<io::Result<Vec<_>>>()?;
        entries.sort();
        Ok(entries)
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        let expected = file.metadata()?.len();
        if expected > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // The file may grow while it is read: one byte more than allowed is asked for and
        // refused.
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes)
    }

    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        if file.metadata()?.len() < offset.saturating_add(len as u64) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = vec![0; len];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        if access == Access::Private {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        #[cfg(not(unix))]
        let _: Access = access;
        builder.create(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile(OpenOptions::new().write(true).open(path)?)))
    }

    fn copy_mode(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mode = fs::symlink_metadata(from)?;
        if mode.is_file() {
            fs::set_permissions(to, mode.permissions())?;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // Windows makes names durable by itself and cannot open a folder as a file.
        if cfg!(windows) {
            return Ok(());
        }
        match File::open(path)?.sync_all() {
            // Some network file systems make names durable by themselves, too, and say so this
            // way.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Locking> {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                // The note is for people; the lock holds without it, so a full disk is no reason
                // to refuse.
                let written = file.set_len(0).and_then(|()| file.write_all(note.as_bytes()));
                drop(written);
                Ok(Locking::Ours(Box::new(file)))
            }
            Err(TryLockError::WouldBlock) => {
                let mut note = Vec::new();
                // Where the lock also keeps others from reading (Windows), there is no note.
                drop((&file).take(4096).read_to_end(&mut note));
                Ok(Locking::Theirs(String::from_utf8_lossy(&note).into_owned()))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(offset))?;
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn set_len(&mut self, byte_len: u64) -> io::Result<()> {
        self.0.set_len(byte_len)
    }
}
