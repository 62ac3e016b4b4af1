//! Brings what Quire needs onto this machine: system packages, and the modules of the page and of
//! the tests that run in Node.
//!
//! Does nothing when all is there, and never installs a system package unasked, unless told so by
//! `--yes` or `CI`.

use std::env;
use std::fs;
use std::io::{IsTerminal as _, Write as _, stdin, stdout};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::{step, workspace};

/// Debian's names: to build the window, to show it, to drive it in tests.
const PACKAGES: &[&str] = &[
    "bubblewrap",
    "build-essential",
    "chromium",
    "dbus-x11",
    "libsoup-3.0-dev",
    "librsvg2-dev",
    "libwebkit2gtk-4.1-dev",
    "pkg-config",
    "webkit2gtk-driver",
    "xauth",
    "xdg-utils",
    "xvfb",
];

/// TeX, and the sandbox it runs in: enough for the sample, the tests and most papers.
const TEX: &[&str] = &[
    "biber",
    "latexmk",
    "lmodern",
    "texlive-bibtex-extra",
    "texlive-fonts-recommended",
    "texlive-lang-cyrillic",
    "texlive-latex-extra",
    "texlive-latex-recommended",
    "texlive-luatex",
    "texlive-pictures",
    "texlive-plain-generic",
    "texlive-science",
    "texlive-xetex",
];

/// Where the real Yjs is, with which tests and benchmarks compare.
const YJS: &str = "core/crdt/tests/differential";

/// Installs everything that is missing.
pub(crate) fn everything(yes: bool) -> Result<()> {
    packages(yes)?;
    modules()
}

/// Installs the system packages that are missing, after a question.
pub(crate) fn packages(yes: bool) -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    if !step::is_there("dpkg-query", "--version") {
        step::title("System packages");
        println!(
            "This isn't a Debian-like system, so nothing is installed for you. Quire needs, by \
             their Debian names:\n    {}",
            PACKAGES.join(" ")
        );
        return Ok(());
    }
    let mut missing: Vec<&str> =
        PACKAGES.iter().copied().filter(|package| !is_installed(package)).collect();
    // Many people have Node.js from elsewhere than the system's packages.
    for (program, package) in [("node", "nodejs"), ("npm", "npm")] {
        if !step::is_there(program, "--version") {
            missing.push(package);
        }
    }
    // Whoever brought a TeX of their own keeps it.
    let own_tex = step::is_there("latexmk", "--version") && !is_installed("latexmk");
    if !own_tex {
        missing.extend(TEX.iter().filter(|package| !is_installed(package)));
    }
    if missing.is_empty() {
        return Ok(());
    }
    step::title("System packages");
    println!("Missing: {}", missing.join(" "));
    if !yes && env::var_os("CI").is_none() && !agreed()? {
        bail!("Nothing was installed. To install them later: cargo xtask setup");
    }
    apt("Reading the list of packages", &["update", "-q"])?;
    let mut arguments = vec!["install", "-q", "-y", "--no-install-recommends"];
    arguments.extend(&missing);
    apt("Installing", &arguments)
}

/// Installs the modules of every folder that has some and whose lock file has changed since.
fn modules() -> Result<()> {
    let page = workspace::page();
    if !page.join("package.json").exists() {
        bail!("{} has no package.json", page.display());
    }
    install("Modules of the page", &page)?;
    for folder in ["core/tests/node", YJS] {
        let folder = workspace::root().join(folder);
        if folder.join("package.json").exists() {
            install("Modules of tests with the real Yjs", &folder)?;
        }
    }
    Ok(())
}

/// Installs the real Yjs that tests and benchmarks compare with.
pub(crate) fn modules_of_yjs() -> Result<()> {
    install("Modules of Yjs", &workspace::root().join(YJS))
}

/// Installs the modules of a folder if its lock file has changed since.
pub(crate) fn install(what: &str, folder: &Path) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("{} can't be read", lock.display()))?;
    // A copy of the lock file beside the modules tells what they were installed from; times would
    // lie after a checkout.
    let stamp = folder.join("node_modules").join(".installed-from");
    if fs::read(&stamp).is_ok_and(|from| from == wanted) {
        return Ok(());
    }
    step::run(
        what,
        Command::new("npm").args(["ci", "--no-fund", "--no-audit"]).current_dir(folder),
    )?;
    fs::write(&stamp, wanted).with_context(|| format!("{} can't be written", stamp.display()))
}

fn is_installed(package: &str) -> bool {
    let shown = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output();
    shown.is_ok_and(|shown| shown.stdout == b"installed")
}

fn agreed() -> Result<bool> {
    if !stdin().is_terminal() {
        println!("(nobody to ask; --yes installs them)");
        return Ok(false);
    }
    print!("Install them now with apt-get? [Y/n] ");
    stdout().flush()?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
}

fn apt(what: &str, arguments: &[&str]) -> Result<()> {
    let mut command = if is_root() || !step::is_there("sudo", "--version") {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        sudo
    };
    // Another package manager at work is waited for.
    command.args(["-o", "DPkg::Lock::Timeout=600"]).args(arguments);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    step::run(what, &mut command)
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}
