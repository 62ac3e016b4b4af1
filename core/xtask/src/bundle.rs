//! Installers for this machine. The bundler is an npm module of the page's, so nothing is compiled
//! for it.

use std::process::Command;

use anyhow::Result;

use crate::{setup, step, workspace};

/// Builds the app for release and packs it.
pub(crate) fn bundle() -> Result<()> {
    setup::everything(false)?;
    step::run(
        "Building the page",
        Command::new("npm").args(["run", "--silent", "build"]).current_dir(workspace::page()),
    )?;
    step::run(
        "Building the app for release",
        Command::new(env!("CARGO"))
            .args(["build", "--release", "--package", "app"])
            .current_dir(workspace::root()),
    )?;
    step::run(
        "Packing",
        Command::new(workspace::page().join("node_modules").join(".bin").join("tauri"))
            .args(["bundle", "--bundles", "deb,rpm"])
            .current_dir(workspace::root()),
    )?;
    println!("\nThey are in {}", workspace::target().join("release").join("bundle").display());
    Ok(())
}
