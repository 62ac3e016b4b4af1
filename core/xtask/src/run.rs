//! Builds Quire and opens it: one window on the sample paper, or two people on one paper.
//!
//! Everything that such a run leaves is under `target/run`; what the last run left is kept beside
//! it until the next one.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::{display, setup, step, workspace};

/// Opens one window on the sample paper's copy, or on `folder`.
pub(crate) fn alone(folder: Option<PathBuf>, yes: bool) -> Result<()> {
    prepare(yes)?;
    let place = workspace::target().join("run").join("alone");
    let folder = folder.map_or_else(|| sample(&place), Ok)?;
    step::title(&format!("Quire on {}", folder.display()));
    let status = Command::new(workspace::built("quire-app"))
        .arg(&folder)
        .arg("--data-dir")
        .arg(place.join("data"))
        .status()
        .context("the app could not be started")?;
    if !status.success() {
        bail!("Quire ended with {status}");
    }
    Ok(())
}

/// Opens two windows with two people on the same paper, the first hosting it on this machine.
pub(crate) fn pair(folder: Option<PathBuf>, yes: bool) -> Result<()> {
    prepare(yes)?;
    let place = workspace::target().join("run").join("pair");
    set_aside(&place)?;
    let first_folder = folder.map_or_else(|| sample(&place.join("Ada")), Ok)?;
    step::title(&format!("Ada's window on {}", first_folder.display()));
    let mut ada = person(&place, "Ada", 0);
    ada.arg(&first_folder).args(["--share", "--half", "left"]);
    let (mut ada, link) = start_and_read_link(&mut ada)?;

    let second_folder = place.join("Ben").join("night-migrants");
    step::title(&format!("Ben's window on {}", second_folder.display()));
    let mut ben = person(&place, "Ben", 1);
    ben.arg("--join").arg(&link).arg("--into").arg(&second_folder).args(["--half", "right"]);
    let ben = ben.spawn().context("the second window could not be opened");
    let mut ben = match ben {
        Ok(ben) => ben,
        Err(problem) => {
            ada.kill()?;
            return Err(problem);
        }
    };
    println!("\nBoth are open. Type in one and read in the other; close both windows to end.");
    let (ada, ben) = (ada.wait()?, ben.wait()?);
    if !ada.success() || !ben.success() {
        bail!("Ada's window ended with {ada}, Ben's with {ben}");
    }
    Ok(())
}

/// Sets up and builds all that a window needs.
pub(crate) fn prepare(yes: bool) -> Result<()> {
    setup::everything(yes)?;
    display::required()?;
    build()
}

/// Builds the page, then the app and `quire`.
pub(crate) fn build() -> Result<()> {
    step::run(
        "Building the page",
        Command::new("npm").args(["run", "--silent", "build"]).current_dir(workspace::page()),
    )?;
    step::run(
        "Building the app",
        Command::new(env!("CARGO"))
            .args(["build", "--package", "app", "--package", "cli"])
            .current_dir(workspace::root()),
    )
}

fn person(place: &Path, name: &str, color: u8) -> Command {
    let mut command = Command::new(workspace::built("quire-app"));
    command
        .args(["--name", name, "--color", &color.to_string(), "--data-dir"])
        .arg(place.join(name).join("data"))
        .stdin(Stdio::null());
    command
}

fn start_and_read_link(command: &mut Command) -> Result<(Child, String)> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().context("the first window could not be opened")?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let link = line.trim().to_owned();
    if link.is_empty() {
        let status = child.wait()?;
        bail!("the first window shared no link and ended with {status}");
    }
    Ok((child, link))
}

/// Keeps what the last run left, in place of what the run before it left.
fn set_aside(place: &Path) -> Result<()> {
    if place.exists() {
        let before = place.with_file_name("pair-before");
        if before.exists() {
            fs::remove_dir_all(&before)?;
        }
        fs::rename(place, &before)?;
        println!("The last run's folders are in {}", before.display());
    }
    Ok(())
}

/// Returns a copy of the sample paper in `place`; one that is there is left as it is.
fn sample(place: &Path) -> Result<PathBuf> {
    let into = place.join("night-migrants");
    if !into.exists() {
        let from = workspace::root().join("assets").join("sample-paper");
        copy(&from, &into)
            .with_context(|| format!("the sample can't be copied to {}", into.display()))?;
    }
    Ok(into)
}

fn copy(from: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = into.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
