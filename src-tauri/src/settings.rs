//! What Quire remembers on this computer beside the papers: who sits here, which papers were open,
//! which of them this app hosts. One JSON file, replaced whole.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use store::disk::{self, Access, Disk as _, RealDisk};

use crate::hosting::Hosted;
use crate::shapes::Person;

/// How many papers are remembered.
const REMEMBERED: usize = 50;

/// A settings file is never this long.
const LIMIT: u64 = 1 << 20;

/// Everything remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// Who sits here; `None` until somebody said so.
    pub person: Option<Person>,
    /// The newest first.
    pub recent: Vec<Recent>,
    /// The papers that this app hosts, by their ids.
    pub hosted: BTreeMap<String, Hosted>,
    /// How the last paper's window stood when it was closed.
    pub window: Option<Frame>,
}

/// How a window stands. Where it stands is left to whoever manages windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// In logical pixels.
    pub width: f64,
    /// In logical pixels.
    pub height: f64,
    /// Does it fill the screen?
    pub maximized: bool,
}

/// A paper that was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recent {
    /// The paper's id.
    pub id: String,
    /// The folder's name.
    pub title: String,
    /// Where the folder is.
    pub folder: PathBuf,
    /// When it was opened last, in milliseconds since 1970.
    pub opened_ms: u64,
    /// Was it shared when it was open last?
    pub shared: bool,
}

/// The settings and their file.
#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    settings: Settings,
}

impl Kept {
    /// Reads the settings in a data folder; none yet are the default ones. A file that can't be
    /// understood is put aside, not overwritten.
    pub(crate) fn open(data_dir: &Path) -> io::Result<Self> {
        disk::create_dirs(&RealDisk, data_dir, Access::Private)?;
        let path = data_dir.join("settings.json");
        let settings = match RealDisk.read(&path, LIMIT) {
            Ok(bytes) => serde_json::from_slice(&bytes).or_else(|problem| {
                let aside = path.with_extension("json.unreadable");
                tracing::warn!(%problem, "settings.json can't be understood and is put aside");
                RealDisk.rename(&path, &aside).map(|()| Settings::default())
            })?,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => Settings::default(),
            Err(problem) => return Err(problem),
        };
        Ok(Self { path, settings })
    }

    /// Returns the settings as they are.
    pub(crate) fn now(&self) -> &Settings {
        &self.settings
    }

    /// Changes the settings and writes them. On an error they hold for this run only.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Settings)) -> io::Result<()> {
        let before = self.settings.clone();
        change(&mut self.settings);
        if self.settings == before {
            return Ok(());
        }
        let bytes = serde_json::to_vec_pretty(&self.settings)?;
        disk::replace(&RealDisk, &self.path, &bytes)
    }
}

impl Settings {
    /// Puts a paper in front of the others.
    pub(crate) fn remember(&mut self, paper: Recent) {
        self.recent.retain(|other| other.folder != paper.folder);
        self.recent.insert(0, paper);
        self.recent.truncate(REMEMBERED);
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests look at the real file")]
mod tests {
    use std::fs;

    use super::*;

    fn recent(folder: &str) -> Recent {
        Recent {
            id: "0".repeat(32),
            title: folder.to_owned(),
            folder: folder.into(),
            opened_ms: 1,
            shared: false,
        }
    }

    #[test]
    fn settings_are_there_the_next_time() {
        let dir = tempfile::tempdir().unwrap();
        let mut kept = Kept::open(dir.path()).unwrap();
        assert_eq!(kept.now(), &Settings::default());
        kept.change(|settings| settings.remember(recent("a"))).unwrap();
        kept.change(|settings| settings.remember(recent("b"))).unwrap();
        kept.change(|settings| settings.remember(recent("a"))).unwrap();
        let again = Kept::open(dir.path()).unwrap();
        assert_eq!(again.now().recent, [recent("a"), recent("b")]);
    }

    #[test]
    fn a_file_that_is_no_settings_is_kept_aside() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("settings.json"), "{ broken").unwrap();
        assert_eq!(Kept::open(dir.path()).unwrap().now(), &Settings::default());
        let aside = fs::read(dir.path().join("settings.json.unreadable")).unwrap();
        assert_eq!(aside, b"{ broken");
    }
}
