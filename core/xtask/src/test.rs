//! Runs every test: Rust, the page, and the real app driven end to end. Ends with one line of
//! counts over all of them.

use std::env;
use std::fs;
use std::process::Command;

use anyhow::{Result, bail};

use crate::step::{self, Counts};
use crate::{display, run, setup, workspace};

/// A part of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Crates, and promises across crates.
    Rust,
    /// The page, in Node and in a browser.
    Ui,
    /// The real app under a virtual display.
    E2e,
}

/// Runs one part, or all. Parts after a failed one run as well.
pub(crate) fn test(part: Option<Part>, yes: bool) -> Result<()> {
    setup::everything(yes)?;
    let all = [Part::Rust, Part::Ui, Part::E2e];
    let mut total = Counts::default();
    let mut table = Vec::new();
    for each in all.into_iter().filter(|each| part.is_none_or(|part| part == *each)) {
        let counts = match each {
            Part::Rust => rust(),
            Part::Ui => page(),
            Part::E2e => end_to_end(),
        };
        let counts = counts.unwrap_or_else(|problem| {
            println!("{problem:#}");
            Counts { failed: 1, ..Counts::default() }
        });
        total.add(counts);
        table.push((each, counts));
    }
    step::title("Tests");
    for (each, counts) in table {
        println!(
            "{:<6}{:>6} passed{:>6} failed{:>6} skipped",
            format!("{each:?}").to_lowercase(),
            counts.passed,
            counts.failed,
            counts.skipped
        );
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed > 0 || total.passed == 0 {
        bail!("not every test passed");
    }
    Ok(())
}

fn rust() -> Result<Counts> {
    // The end-to-end tests among them need a built app and a display: they are their own part.
    let mut command = Command::new(env!("CARGO"));
    if step::is_there("cargo-nextest", "--version") {
        command.args(["nextest", "run", "--no-fail-fast", "--status-level", "fail"]);
    } else {
        command.args(["test", "--no-fail-fast", "--all-targets"]);
    }
    command.args(["--workspace", "--exclude", "bench"]).current_dir(workspace::root());
    let mut counts = step::count("Tests of the crates", &mut command)?;
    let mut examples = Command::new(env!("CARGO"));
    examples.args(["test", "--doc", "--no-fail-fast", "--workspace", "--exclude", "bench"]);
    counts.add(step::count(
        "Examples in the documentation",
        examples.current_dir(workspace::root()),
    )?);
    Ok(counts)
}

fn page() -> Result<Counts> {
    let mut counts = Counts::default();
    for (what, script) in
        [("Tests of the page", "test"), ("Tests of the page in a browser", "test:pages")]
    {
        counts.add(step::count(
            what,
            Command::new("npm").args(["run", "--silent", script]).current_dir(workspace::page()),
        )?);
    }
    Ok(counts)
}

fn end_to_end() -> Result<Counts> {
    run::build()?;
    let display = display::Virtual::start()?;
    let pictures = workspace::target().join("e2e");
    let runtime = pictures.join("runtime");
    fs::create_dir_all(&runtime)?;
    private(&runtime)?;
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["test", "--package", "tests", "--features", "e2e", "--test", "e2e", "--"])
        // One after the other: they share one display and are about what a person sees.
        .args(["--test-threads", "1"])
        .env("QUIRE_APP", workspace::built("quire-app"))
        .env("QUIRE_E2E_DIR", &pictures)
        .env("DISPLAY", display.name())
        .env("XDG_RUNTIME_DIR", &runtime)
        .env("NO_AT_BRIDGE", "1")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .current_dir(workspace::root());
    let counts = step::count("The app, end to end", &mut command)?;
    println!("Pictures of the windows are in {}", pictures.display());
    Ok(counts)
}

#[cfg(unix)]
fn private(folder: &std::path::Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?)
}

#[cfg(not(unix))]
fn private(_: &std::path::Path) -> Result<()> {
    Ok(())
}
