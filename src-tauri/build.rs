//! Lists the commands that a window may be allowed to call; all others are refused to all windows.

#![expect(clippy::disallowed_methods, reason = "a build script has no other disk")]

use std::fs;
use std::path::Path;

const COMMANDS: &[&str] = &[
    "start",
    "set_person",
    "open_folder",
    "open_recent",
    "forget_recent",
    "join",
    "subscribe",
    "open_editor",
    "edit",
    "close_editor",
    "set_cursor",
    "create_file",
    "rename_file",
    "delete_file",
    "set_offline",
    "share",
    "stop_sharing",
    "reveal_folder",
    "copy_text",
    "notices",
];

fn main() {
    // The page is built before the shell. Where it wasn't yet (an editor that only checks the Rust
    // side), a line that says so stands in for it.
    let page = Path::new("../ui/dist/index.html");
    if !page.exists() {
        fs::create_dir_all("../ui/dist").expect("ui/dist can be created");
        fs::write(
            page,
            "<!doctype html><title>Quire</title><p>Build the page first: cargo xtask run",
        )
        .expect("ui/dist can be written");
    }
    println!("cargo:rerun-if-changed={}", page.display());
    let manifest = tauri_build::AppManifest::new().commands(COMMANDS);
    tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest))
        .expect("tauri.conf.json and the capabilities are valid");
}
