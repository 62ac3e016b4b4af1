//! What is promised across crates; the tests are beside this folder.
//!
//! Here is what they share: a [`Desk`] (a person with a folder, a data folder and a window), and a
//! server in the same process.

#![expect(clippy::disallowed_methods, reason = "tests look at the folder as another program would")]

mod desk;
mod hosting;

use std::path::{Path, PathBuf};

pub use desk::{Desk, Window};
pub use hosting::Hosting;

/// Returns a folder of data shared by all tests: from the variable, else beside the workspace.
///
/// `None` if it is not there; a test that needs it says so and skips.
pub fn shared_data(variable: &str, name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    let folder = std::env::var_os(variable).map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// Returns every file below a folder with its bytes, by relative path; `.quire` is left out.
pub fn files_below(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(here) = open.pop() {
        for entry in std::fs::read_dir(&here).expect("a folder can be listed") {
            let path = entry.expect("an entry can be read").path();
            if path.ends_with(".quire") {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path).expect("a file can be read"));
            }
        }
    }
    files
}

/// Copies a folder with all that is in it.
pub fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in files_below(from) {
        write_file(&to.join(name), &bytes);
    }
}

/// Writes a file, and makes the folders that it lies in.
pub fn write_file(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
    std::fs::write(path, bytes).expect("a file can be written");
}
