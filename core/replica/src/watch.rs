//! Hears from the system what changes in the paper's folder.
//!
//! Paths are collected until the loop takes them, each once, so that a storm of events (a build
//! raises thousands) costs one wake-up; past a bound it only says "look through everything".
//! What it may miss is found by the mirror's scans.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use paper::ignored;

/// More paths than this are not kept.
const MAX_PATHS: usize = 4_096;

/// What was heard since the last time.
#[derive(Debug, Default)]
pub(crate) struct HeardOnDisk {
    /// Relative, with `/`.
    pub(crate) paths: BTreeSet<String>,
    /// Something was missed.
    pub(crate) overflow: bool,
}

/// Watches one folder.
#[derive(Debug)]
pub(crate) struct Watch {
    // Watches as long as it lives.
    _watcher: RecommendedWatcher,
    heard: Arc<Mutex<HeardOnDisk>>,
}

impl Watch {
    /// Starts watching; `wake` is called when there is something to take.
    pub(crate) fn start(root: &Path, wake: impl Fn() + Send + 'static) -> notify::Result<Self> {
        let heard: Arc<Mutex<HeardOnDisk>> = Arc::default();
        let (into, base) = (Arc::clone(&heard), root.to_path_buf());
        let on_event = move |event: notify::Result<Event>| {
            let mut heard = into.lock().unwrap_or_else(PoisonError::into_inner);
            let was_empty = heard.paths.is_empty() && !heard.overflow;
            hear(&mut heard, &base, event);
            if was_empty && (!heard.paths.is_empty() || heard.overflow) {
                wake();
            }
        };
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(on_event, config)?;
        watcher.watch(root, RecursiveMode::Recursive)?;
        Ok(Self { _watcher: watcher, heard })
    }

    /// Takes what was heard.
    pub(crate) fn take(&self) -> HeardOnDisk {
        std::mem::take(&mut self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn hear(heard: &mut HeardOnDisk, base: &Path, event: notify::Result<Event>) {
    let Ok(event) = event else {
        heard.overflow = true;
        return;
    };
    heard.overflow |= event.need_rescan();
    if matches!(event.kind, EventKind::Access(_)) {
        return;
    }
    for path in &event.paths {
        if heard.paths.len() >= MAX_PATHS {
            heard.overflow = true;
            return;
        }
        if let Some(path) = relative(base, path) {
            heard.paths.insert(path);
        }
    }
}

/// Returns the path within the folder; `None` for what does not belong to the paper.
fn relative(base: &Path, path: &Path) -> Option<String> {
    let inside = path.strip_prefix(base).ok()?;
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    if parts.is_empty() || ignored(parts.iter().map(|part| &**part)).is_some() {
        return None;
    }
    Some(parts.join("/"))
}
