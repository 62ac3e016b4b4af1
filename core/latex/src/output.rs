//! The folder that a build writes to.
//!
//! ```text
//! OUTPUT/paper.pdf, paper.synctex.gz   the newest pages, put there whole when a build made some
//! OUTPUT/.quire-build/lock             held while a build runs
//! OUTPUT/.quire-build/latexmkrc        our settings; the paper's are never read
//! OUTPUT/.quire-build/home/            the home folder of what runs without a sandbox
//! OUTPUT/.quire-build/tex/             all that TeX writes: the only folder it can write to
//! ```
//!
//! What lies in `tex` was written by a paper and is touched with care: a link in it may lead
//! anywhere.

#![expect(clippy::disallowed_methods, reason = "makes the folders of a build")]

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::regular;

/// The folder for all but the pages.
const OWN: &str = ".quire-build";

/// What can go wrong with the folder.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// Another build has it.
    #[error("another build writes to {0} at this moment")]
    Busy(PathBuf),
    /// There is no room.
    #[error("the disk with {0} is full")]
    Full(PathBuf),
    /// Nobody may write there.
    #[error("nothing can be written to {path}: {cause}")]
    Closed {
        /// Where.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// A folder for builds of one root; nobody else's while this lives.
#[derive(Debug)]
pub(crate) struct Output {
    folder: PathBuf,
    _lock: File,
}

impl Output {
    /// Makes the folder if it is not there, and takes it.
    pub(crate) fn take(folder: &Path) -> Result<Self, OutputError> {
        let own = folder.join(OWN);
        let failed = |cause| failed(folder, cause);
        fs::create_dir_all(folder).map_err(failed)?;
        make_folder(&own).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        for name in ["tex", "home"] {
            make_folder(&folder.join(OWN).join(name)).map_err(failed)?;
        }
        let lock = File::options().create(true).truncate(false).write(true).open(own.join("lock"));
        let lock = lock.map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OutputError::Busy(folder)),
            Err(TryLockError::Error(cause)) => Err(OutputError::Closed { path: folder, cause }),
        }
    }

    /// Returns the folder, without links in its path.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder that TeX writes to.
    pub(crate) fn tex(&self) -> PathBuf {
        self.folder.join(OWN).join("tex")
    }

    /// Returns the home folder of what runs without a sandbox.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join(OWN).join("home")
    }

    /// Makes what `\include` needs, and writes the settings; returns where these are.
    pub(crate) fn prepare(
        &self,
        folders: &[String],
        settings: &str,
    ) -> Result<PathBuf, OutputError> {
        let failed = |cause| failed(&self.folder, cause);
        let tex = self.tex();
        // Parents come before their children.
        for folder in folders {
            let mut path = tex.clone();
            for part in folder.split('/').filter(|part| !matches!(*part, "" | "." | "..")) {
                path.push(part);
                make_folder(&path).map_err(failed)?;
            }
        }
        let path = self.folder.join(OWN).join("latexmkrc");
        drop(fs::remove_file(&path));
        fs::write(&path, settings).map_err(failed)?;
        Ok(path)
    }

    /// Puts the pages that a build made in the place of those that were there.
    pub(crate) fn publish(&self, job: &str) -> Result<bool, OutputError> {
        let tex = self.tex();
        if !regular::is_whole_pdf(&tex.join(format!("{job}.pdf"))) {
            return Ok(false);
        }
        // The places first: pages without places are worse than places of newer pages.
        for ending in ["synctex.gz", "pdf"] {
            let name = format!("{job}.{ending}");
            let to = self.folder.join(&name);
            match regular::publish(&tex.join(&name), &to) {
                Ok(()) => {}
                Err(error) if ending != "pdf" && error.kind() == io::ErrorKind::NotFound => {
                    drop(fs::remove_file(&to));
                }
                Err(cause) => return Err(failed(&self.folder, cause)),
            }
        }
        Ok(true)
    }

    /// Returns a file that TeX wrote, if it is there.
    pub(crate) fn written(&self, job: &str, ending: &str) -> Option<PathBuf> {
        let path = self.tex().join(format!("{job}.{ending}"));
        regular::is_there(&path).then_some(path)
    }

    /// Returns a file of the newest pages, if it is there.
    pub(crate) fn published(&self, job: &str, ending: &str) -> Option<PathBuf> {
        let path = self.folder.join(format!("{job}.{ending}"));
        regular::is_there(&path).then_some(path)
    }

    /// Removes a file that TeX wrote, so that what is there afterwards was written afterwards.
    pub(crate) fn forget(&self, name: &str) {
        drop(fs::remove_file(self.tex().join(name)));
    }

    /// Returns whether there is hardly room for another page.
    pub(crate) fn is_full(&self) -> bool {
        #[cfg(unix)]
        {
            let about = rustix::fs::statvfs(&self.folder);
            about.is_ok_and(|about| about.f_bavail * about.f_frsize < 64 << 10)
        }
        #[cfg(not(unix))]
        false
    }
}

/// Removes all that builds wrote into a folder: what TeX wrote, and the pages of these jobs.
pub(crate) fn clean(folder: &Path, jobs: &[String]) -> Result<(), OutputError> {
    let own = folder.join(OWN);
    if fs::symlink_metadata(&own).is_err() {
        return Ok(());
    }
    let output = Output::take(folder)?;
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(folder, error)),
        _ => Ok(()),
    };
    for job in jobs {
        for ending in ["pdf", "synctex.gz"] {
            let name = format!("{job}.{ending}");
            // Only pages that were built: there is no `.fls` of others.
            if output.written(job, "fls").is_some() || output.written(job, "log").is_some() {
                gone(fs::remove_file(folder.join(name)))?;
            }
        }
    }
    // Links in it are removed, not followed.
    gone(fs::remove_dir_all(output.tex()))?;
    gone(fs::remove_dir_all(output.home()))?;
    gone(fs::remove_file(own.join("latexmkrc")))
}

/// Makes a folder; whatever else has its name goes.
fn make_folder(path: &Path) -> io::Result<()> {
    if let Ok(about) = fs::symlink_metadata(path) {
        if about.is_dir() {
            return Ok(());
        }
        fs::remove_file(path)?;
    }
    fs::create_dir(path)
}

fn failed(folder: &Path, cause: io::Error) -> OutputError {
    let path = folder.to_path_buf();
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => OutputError::Full(path),
        _ => OutputError::Closed { path, cause },
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_has_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let first = Output::take(&dir.path().join("out")).unwrap();
        let second = Output::take(&dir.path().join("out"));
        assert!(matches!(second, Err(OutputError::Busy(_))), "{second:?}");
        drop(first);
        Output::take(&dir.path().join("out")).unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let closed = Output::take(&file);
        assert!(matches!(closed, Err(OutputError::Closed { .. })), "{closed:?}");
    }

    #[test]
    fn nothing_is_made_or_removed_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("keep"), "").unwrap();
        let folder = dir.path().join("out");
        let output = Output::take(&folder).unwrap();
        std::os::unix::fs::symlink(&outside, output.tex().join("s")).unwrap();
        std::os::unix::fs::symlink(outside.join("keep"), output.tex().join("a.log")).unwrap();
        output.prepare(&["s".to_owned(), "s/t".to_owned(), "../x".to_owned()], "").unwrap();
        assert!(!outside.join("t").exists() && output.tex().join("s/t").is_dir());
        std::os::unix::fs::symlink(&outside, output.tex().join("u")).unwrap();
        fs::write(folder.join("b.pdf"), "somebody's own").unwrap();
        drop(output);
        clean(&folder, &["a".to_owned(), "b".to_owned()]).unwrap();
        assert!(outside.join("keep").exists() && folder.join("b.pdf").exists());
        assert!(!folder.join(OWN).join("tex").exists());
        clean(&dir.path().join("nowhere"), &[]).unwrap();
    }

    #[test]
    fn pages_are_replaced_by_whole_ones_only() {
        let dir = tempfile::tempdir().unwrap();
        let output = Output::take(dir.path()).unwrap();
        let pdf = output.tex().join("a.pdf");
        fs::write(&pdf, "%PDF-1.5\none\n%%EOF\n").unwrap();
        assert!(output.publish("a").unwrap());
        fs::write(&pdf, "%PDF-1.5\ntwo").unwrap();
        assert!(!output.publish("a").unwrap());
        let published = fs::read_to_string(dir.path().join("a.pdf")).unwrap();
        assert!(published.contains("one"));
        fs::remove_file(&pdf).unwrap();
        std::os::unix::fs::symlink(dir.path().join("a.pdf"), &pdf).unwrap();
        assert!(!output.publish("a").unwrap());
    }
}
