//! Where things are in the work tree.

use std::env;
use std::path::{Path, PathBuf};

/// Returns the work tree's top folder.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// Returns the folder of the page, with its `package.json`.
pub(crate) fn page() -> PathBuf {
    root().join("ui")
}

/// Returns the folder that cargo builds into.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |set| root().join(set))
}

/// Returns a program that cargo built for development.
pub(crate) fn built(program: &str) -> PathBuf {
    target().join("debug").join(format!("{program}{}", env::consts::EXE_SUFFIX))
}
