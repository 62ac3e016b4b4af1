//! Formatting and lints of both languages, and of the dependencies where the tools are installed.
//! Every check runs, then the failed ones are named.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{setup, step, workspace};

/// Runs every check.
pub(crate) fn lint() -> Result<()> {
    setup::everything(false)?;
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments).current_dir(workspace::root());
        command
    };
    let mut checks = vec![
        ("Formatting", cargo(&["fmt", "--all", "--check"])),
        (
            "Lints",
            cargo(&[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ]),
        ),
    ];
    let mut page = Command::new("npm");
    page.args(["run", "--silent", "lint"]).current_dir(workspace::page());
    checks.push(("Lints of the page", page));
    if step::is_there("cargo-deny", "--version") {
        checks.push((
            "Dependencies",
            cargo(&["deny", "--config", ".deny.toml", "check", "bans", "licenses"]),
        ));
    } else {
        println!("cargo-deny isn't installed: dependencies and licenses are not checked.");
    }
    if step::is_there("typos", "--version") {
        let mut typos = Command::new("typos");
        typos.current_dir(workspace::root());
        checks.push(("Spelling", typos));
    } else {
        println!("typos isn't installed: spelling is not checked.");
    }
    let mut failed = Vec::new();
    for (what, mut command) in checks {
        if let Err(problem) = step::run(what, &mut command) {
            println!("{problem:#}");
            failed.push(what);
        }
    }
    if !failed.is_empty() {
        bail!("Not clean: {}", failed.join(", "));
    }
    println!("\nAll clean.");
    Ok(())
}
