//! The paper's folder on disk: what is in it, and reading, writing, moving without ever leaving it.
//!
//! Links are listed, never followed: each folder on the way to a file is looked at before the file
//! is touched. Files are written whole or not at all. What the bytes mean is not known here.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::documents::MAX_FILES;
use paper::{MAX_BLOB_BYTES, PaperPath, ignored};
use store::disk::{Access, Disk, Kind, create_dirs, stage};

/// How deep folders may be nested; more is a loop or an attack.
const MAX_DEPTH: usize = 32;

/// What a file looks like from outside: enough to see that it may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    pub(crate) modified_ns: i128,
}

/// Something in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file that may be shared.
    File(Stamp),
    /// A symbolic link.
    Link,
    /// A file that cannot be shared, and why.
    Unfit(Stamp, String),
}

/// The folder of a paper.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    disk: Arc<dyn Disk>,
    root: PathBuf,
}

impl Folder {
    pub(crate) fn new(disk: Arc<dyn Disk>, root: PathBuf) -> Self {
        Self { disk, root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Is the folder there at all? A stick that was pulled out deletes nothing.
    pub(crate) fn is_there(&self) -> bool {
        self.disk.stat(&self.root).is_ok_and(|stat| stat.kind == Kind::Folder)
    }

    /// Lists what belongs to the paper, by path.
    pub(crate) fn scan(&self) -> io::Result<BTreeMap<String, Found>> {
        let mut found = BTreeMap::new();
        let mut open = vec![(self.root.clone(), String::new(), 0)];
        while let Some((folder, prefix, depth)) = open.pop() {
            let names = match self.disk.list(&folder) {
                Ok(names) => names,
                // A folder inside may vanish or be closed to us meanwhile; the root may not.
                Err(_) if depth > 0 => continue,
                Err(error) => return Err(error),
            };
            for entry in names {
                let lossy = entry.name.to_string_lossy();
                let path = format!("{prefix}{lossy}");
                if ignored(path.split('/')).is_some() {
                    continue;
                }
                let Ok(stat) = self.disk.stat(&folder.join(&entry.name)) else { continue };
                let stamp = Stamp { bytes: stat.byte_len, modified_ns: stat.modified_ns };
                let what = match stat.kind {
                    Kind::Folder if depth < MAX_DEPTH => {
                        open.push((folder.join(&entry.name), format!("{path}/"), depth + 1));
                        continue;
                    }
                    Kind::Folder | Kind::Other => continue,
                    Kind::Link => Found::Link,
                    Kind::File => judge(&path, entry.name.to_str().is_some(), stamp),
                };
                if found.len() >= MAX_FILES {
                    return Ok(found);
                }
                found.insert(path, what);
            }
        }
        Ok(found)
    }

    /// Returns what is at a path; `None` if nothing is, or nothing that we would touch.
    pub(crate) fn look(&self, path: &PaperPath) -> io::Result<Option<Found>> {
        let full = match self.reach(path) {
            Ok(full) => full,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        match self.disk.stat(&full) {
            Ok(stat) => {
                let stamp = Stamp { bytes: stat.byte_len, modified_ns: stat.modified_ns };
                Ok(match stat.kind {
                    Kind::File => Some(judge(path.as_str(), true, stamp)),
                    Kind::Link => Some(Found::Link),
                    Kind::Folder | Kind::Other => None,
                })
            }
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Is there a folder at this path?
    pub(crate) fn is_folder(&self, path: &PaperPath) -> bool {
        let stat = self.reach(path).and_then(|full| self.disk.stat(&full));
        stat.is_ok_and(|stat| stat.kind == Kind::Folder)
    }

    /// Returns a file's bytes and its stamp, taken together: `None` while it is being written.
    pub(crate) fn read(&self, path: &PaperPath) -> io::Result<Option<(Vec<u8>, Stamp)>> {
        let full = self.reach(path)?;
        let before = self.file_stamp(&full)?;
        let bytes = self.disk.read(&full, MAX_BLOB_BYTES)?;
        let after = self.file_stamp(&full)?;
        Ok((before == after && bytes.len() as u64 == after.bytes).then_some((bytes, after)))
    }

    /// Exchanges a file's content, if it still has the stamp `expected` (`None`: is not there).
    ///
    /// Returns the new stamp, or `None` when somebody was faster and nothing was written.
    pub(crate) fn write(
        &self,
        path: &PaperPath,
        bytes: &[u8],
        expected: Option<Stamp>,
    ) -> io::Result<Option<Stamp>> {
        self.make_parents(path)?;
        let full = self.reach(path)?;
        let staged = stage(&*self.disk, &full, bytes)?;
        if self.stamp_if_there(&full)? != expected {
            return Ok(None);
        }
        // Before it has its name: afterwards somebody else may have written to it already.
        let stat = staged.stat()?;
        staged.commit()?;
        Ok(Some(Stamp { bytes: stat.byte_len, modified_ns: stat.modified_ns }))
    }

    /// Moves a file to a free path.
    pub(crate) fn rename(&self, from: &PaperPath, to: &PaperPath) -> io::Result<Stamp> {
        self.make_parents(to)?;
        let (source, target) = (self.reach(from)?, self.reach(to)?);
        // A system that does not tell cases apart names the same file here.
        if from.key() != to.key() && self.stamp_if_there(&target)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.file_stamp(&source)?;
        self.disk.rename(&source, &target)?;
        for path in [&source, &target] {
            if let Some(parent) = path.parent() {
                self.disk.sync_dir(parent)?;
            }
        }
        self.remove_empty_parents(from);
        self.file_stamp(&target)
    }

    /// Removes a file, and the folders that are empty without it.
    pub(crate) fn remove(&self, path: &PaperPath) -> io::Result<()> {
        let full = self.reach(path)?;
        self.file_stamp(&full)?;
        self.disk.remove(&full)?;
        if let Some(parent) = full.parent() {
            self.disk.sync_dir(parent)?;
        }
        self.remove_empty_parents(path);
        Ok(())
    }

    fn remove_empty_parents(&self, path: &PaperPath) {
        let mut folder = path.as_str();
        while let Some((parent, _)) = folder.rsplit_once('/') {
            // Fails for a folder that is not empty: that is where to stop.
            if self.disk.remove_dir(&self.root.join(parent)).is_err() {
                return;
            }
            folder = parent;
        }
    }

    fn make_parents(&self, path: &PaperPath) -> io::Result<()> {
        match path.as_str().rsplit_once('/') {
            Some((parents, _)) => {
                self.check_folders(parents)?;
                create_dirs(&*self.disk, &self.root.join(parents), Access::Usual)
            }
            None => Ok(()),
        }
    }

    /// Returns where a path is, after looking that no link leads to it.
    fn reach(&self, path: &PaperPath) -> io::Result<PathBuf> {
        if let Some((parents, _)) = path.as_str().rsplit_once('/') {
            self.check_folders(parents)?;
        }
        Ok(self.root.join(path.as_str()))
    }

    fn check_folders(&self, parents: &str) -> io::Result<()> {
        let mut folder = self.root.clone();
        for part in parents.split('/') {
            folder.push(part);
            match self.disk.stat(&folder) {
                Ok(stat) if stat.kind == Kind::Folder => {}
                Ok(stat) if stat.kind == Kind::Link => {
                    let text = format!("{} is a link and is not followed", folder.display());
                    return Err(io::Error::new(io::ErrorKind::NotADirectory, text));
                }
                Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
                // What is not there is made as a folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn file_stamp(&self, full: &Path) -> io::Result<Stamp> {
        let stat = self.disk.stat(full)?;
        match stat.kind {
            Kind::File => Ok(Stamp { bytes: stat.byte_len, modified_ns: stat.modified_ns }),
            Kind::Link => Err(io::Error::other("it is a link and is not followed")),
            Kind::Folder => Err(io::ErrorKind::IsADirectory.into()),
            Kind::Other => Err(io::Error::other("it is no ordinary file")),
        }
    }

    fn stamp_if_there(&self, full: &Path) -> io::Result<Option<Stamp>> {
        match self.file_stamp(full) {
            Ok(stamp) => Ok(Some(stamp)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn judge(path: &str, is_unicode: bool, stamp: Stamp) -> Found {
    let problem = if !is_unicode {
        Some("its name is not Unicode".to_owned())
    } else if stamp.bytes > MAX_BLOB_BYTES {
        Some(format!("it is larger than {} MiB", MAX_BLOB_BYTES >> 20))
    } else {
        PaperPath::parse(path).err().map(|error| error.to_string())
    };
    match problem {
        Some(problem) => Found::Unfit(stamp, format!("Stays on this computer: {problem}.")),
        None => Found::File(stamp),
    }
}

#[cfg(test)]
mod tests {
    use store::disk::{RealDisk, replace};

    use super::*;

    fn path(path: &str) -> PaperPath {
        PaperPath::parse(path).unwrap()
    }

    #[test]
    #[cfg(unix)]
    fn nothing_is_read_or_written_through_a_link() {
        let outside = tempfile::tempdir().unwrap();
        let inside = tempfile::tempdir().unwrap();
        replace(&RealDisk, &outside.path().join("secret.tex"), b"secret").unwrap();
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, inside.path().join(name)).unwrap();
        };
        link(outside.path(), "folder");
        link(&outside.path().join("secret.tex"), "file.tex");
        link(inside.path(), "loop");
        let folder = Folder::new(Arc::new(RealDisk), inside.path().to_path_buf());
        let found = folder.scan().unwrap();
        assert_eq!(found.len(), 3);
        assert!(found.values().all(|found| *found == Found::Link), "{found:?}");
        for bad in ["folder/secret.tex", "file.tex"] {
            assert!(folder.read(&path(bad)).is_err());
            assert!(folder.remove(&path(bad)).is_err());
            assert!(folder.write(&path(bad), b"x", None).is_err());
        }
        assert!(folder.write(&path("folder/new.tex"), b"x", None).is_err());
        assert_eq!(RealDisk.read(&outside.path().join("secret.tex"), 9).unwrap(), b"secret");
        assert_eq!(RealDisk.list(outside.path()).unwrap().len(), 1);
    }

    #[test]
    fn a_file_that_somebody_else_wrote_meanwhile_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(Arc::new(RealDisk), dir.path().to_path_buf());
        let stamp = folder.write(&path("a/b.tex"), b"one", None).unwrap().unwrap();
        assert_eq!(folder.write(&path("a/b.tex"), b"two", None).unwrap(), None);
        let newer = folder.write(&path("a/b.tex"), b"three", Some(stamp)).unwrap();
        assert!(newer.is_some());
        assert_eq!(
            folder.read(&path("a/b.tex")).unwrap().unwrap(),
            (b"three".to_vec(), newer.unwrap())
        );
        folder.rename(&path("a/b.tex"), &path("c.tex")).unwrap();
        let names: Vec<String> = folder.scan().unwrap().into_keys().collect();
        assert_eq!(names, ["c.tex"]);
        assert!(
            RealDisk.stat(&dir.path().join("a")).is_err(),
            "an empty folder goes with its file"
        );
    }
}
