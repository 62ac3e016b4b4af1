//! The box that TeX runs in, so that a paper of somebody else cannot reach anything of this
//! computer.
//!
//! TeX's own switches (`openin_any`, no shell escape) are good manners: Lua and a symbolic link
//! step over them. So bubblewrap gives TeX a computer of its own that has TeX's trees, fonts and
//! what programs need to run, all of it read-only; the paper, read-only; one folder for what is
//! written; no network, no home, no other processes. Links out of the paper lead to nothing there.

#![expect(clippy::disallowed_methods, reason = "looks which folders of the system there are")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engine::{self, Toolchain};
use crate::process::{self, Cancel, End, Limits};

/// What programs need to run, where it lies on the systems we know.
const SYSTEM: [&str; 37] = [
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/usr/share/biber",
    "/usr/share/color",
    "/usr/share/fontconfig",
    "/usr/share/fonts",
    "/usr/share/ghostscript",
    "/usr/share/icu",
    "/usr/share/locale",
    "/usr/share/perl",
    "/usr/share/perl5",
    "/usr/share/poppler",
    "/usr/share/texlive",
    "/usr/share/texmf",
    "/usr/share/texmf-dist",
    "/usr/share/tlpkg",
    "/usr/share/zoneinfo",
    "/usr/local/share/fonts",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/papersize",
    "/etc/perl",
    "/etc/texmf",
    "/var/cache/fontconfig",
    "/var/lib/texmf",
    "/var/lib/ghostscript",
];

/// The home folder of a paper: empty, and gone with the build.
const HOME: &str = "/tmp/home";

/// Where a person's own fonts lie, below the home folder.
const OWN_FONTS: [&str; 2] = [".fonts", ".local/share/fonts"];

/// What is in a paper's folder that its text has no business with.
const HIDDEN_FOLDERS: [&str; 1] = [".quire"];

/// As above; this one may hold passwords for servers.
const HIDDEN_FILES: [&str; 1] = [".git/config"];

/// How a paper is kept from the rest of this computer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// It is, by this program.
    Bubblewrap(PathBuf),
    /// It can't be.
    None {
        /// Why, in plain words.
        reason: String,
    },
}

impl Sandbox {
    /// Finds out what works on this computer, by trying.
    pub fn find() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        folders.push("/usr/bin".into());
        Self::find_in(&folders)
    }

    /// Finds out what works with the programs of these folders.
    pub fn find_in(folders: &[PathBuf]) -> Self {
        if !cfg!(target_os = "linux") {
            return Self::None { reason: "Quire has no sandbox for this system".to_owned() };
        }
        let Some(program) = engine::find(folders, "bwrap") else {
            let reason = "bubblewrap is not installed (the package is called bubblewrap)";
            return Self::None { reason: reason.to_owned() };
        };
        let mut command = Command::new(&program);
        command.args([
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--ro-bind",
            "/",
            "/",
        ]);
        command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/sh", "-c", ":"]);
        let mut said = Vec::new();
        let mut hear = |_, bytes: &[u8]| {
            let room = 2000_usize.saturating_sub(said.len());
            said.extend_from_slice(&bytes[..bytes.len().min(room)]);
        };
        let limits = Limits { wall: std::time::Duration::from_secs(10), ..Limits::default() };
        let ended = process::run(command, &limits, None, &Cancel::new(), &mut hear);
        let said = String::from_utf8_lossy(&said);
        let said = said.lines().next().unwrap_or("it ended without a word").trim();
        match ended.map(|ended| ended.end) {
            Ok(End::Exited(Some(0))) => Self::Bubblewrap(program),
            Ok(_) => Self::None { reason: format!("bubblewrap does not work here: {said}") },
            Err(error) => Self::None { reason: format!("bubblewrap cannot be started: {error}") },
        }
    }
}

/// What a run may see and do.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) tools: &'a Toolchain,
    /// The paper's folder; absolute, without links in it, as all paths here.
    pub(crate) paper: &'a Path,
    /// It may be written to.
    pub(crate) paper_writable: bool,
    /// The one folder that may be written to.
    pub(crate) written: PathBuf,
    /// Files and folders to read beside all that.
    pub(crate) also: Vec<PathBuf>,
    /// Where it starts.
    pub(crate) start: PathBuf,
    pub(crate) variables: Vec<(&'static str, OsString)>,
    pub(crate) limits: &'a Limits,
    /// The program and its arguments.
    pub(crate) words: Vec<OsString>,
}

impl Plan<'_> {
    /// Makes the command that does it in the box.
    pub(crate) fn inside(&self, bwrap: &Path) -> Command {
        let mut command = Command::new(bwrap);
        // Whatever this process was started with stays with it.
        command.env_clear().current_dir("/");
        command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
        command.args(["--cap-drop", "ALL", "--hostname", "quire"]);
        for (name, value) in self.environment(Path::new(HOME)) {
            command.arg("--setenv").arg(name).arg(value);
        }
        for path in self.system() {
            match fs::read_link(&path) {
                // `/bin` and the like are links into `/usr` on most systems.
                Ok(target) => command.arg("--symlink").arg(target).arg(&path),
                Err(_) => command.arg("--ro-bind-try").arg(&path).arg(&path),
            };
        }
        command.args(["--proc", "/proc", "--dev", "/dev"]);
        let memory = (self.limits.memory_bytes / 4).to_string();
        for folder in ["/dev/shm", "/tmp"] {
            command.args(["--size", &memory, "--tmpfs", folder]);
        }
        command.args(["--dir", HOME]);
        if let Some(home) = std::env::home_dir() {
            for fonts in OWN_FONTS {
                command.arg("--ro-bind-try").arg(home.join(fonts)).arg(Path::new(HOME).join(fonts));
            }
        }
        let bind = if self.paper_writable { "--bind" } else { "--ro-bind" };
        command.arg(bind).arg(self.paper).arg(self.paper);
        for folder in HIDDEN_FOLDERS.map(|name| self.paper.join(name)) {
            if is_folder(&folder) {
                command.args(["--size", "4096", "--tmpfs"]).arg(&folder);
                command.arg("--remount-ro").arg(&folder);
            }
        }
        for file in HIDDEN_FILES.map(|name| self.paper.join(name)) {
            let above = file.parent().is_some_and(|above| above == self.paper || is_folder(above));
            if above && fs::symlink_metadata(&file).is_ok_and(|about| about.is_file()) {
                command.args(["--ro-bind", "/dev/null"]).arg(&file);
            }
        }
        command.arg("--bind").arg(&self.written).arg(&self.written);
        for path in &self.also {
            command.arg("--ro-bind-try").arg(path).arg(path);
        }
        command.args(["--remount-ro", "/", "--remount-ro", "/dev", "--chdir"]).arg(&self.start);
        command.arg("--").args(self.limited_words(counts_apart()));
        command
    }

    /// Makes the command that does it without a box: for papers that are trusted.
    pub(crate) fn outside(&self, home: &Path) -> Command {
        let environment = self.environment(home);
        let words = self.limited_words(false);
        let mut words = words.into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env_clear().envs(environment).current_dir(&self.start);
        command
    }

    fn limited_words(&self, alone: bool) -> Vec<OsString> {
        if cfg!(unix) {
            process::limited(self.limits, &self.words, alone)
        } else {
            self.words.clone()
        }
    }

    fn environment(&self, home: &Path) -> Vec<(&'static str, OsString)> {
        let mut folders = self.tools.folders();
        folders.extend(["/usr/bin", "/bin"].map(Path::new));
        let mut variables: Vec<(&'static str, OsString)> = self.tools.variables.clone();
        variables.push(("PATH", std::env::join_paths(folders).unwrap_or_default()));
        variables.push(("HOME", home.into()));
        variables.push(("LC_ALL", "C.UTF-8".into()));
        if cfg!(windows) {
            let kept = ["SYSTEMROOT", "TEMP", "TMP", "PATHEXT", "COMSPEC"];
            let value = |name| Some((name, std::env::var_os(name)?));
            variables.extend(kept.into_iter().filter_map(value));
        }
        variables.extend(self.variables.iter().cloned());
        variables
    }

    /// Returns what is seen of the system: what programs need, and TeX's trees wherever they are.
    fn system(&self) -> Vec<PathBuf> {
        let mut seen: Vec<PathBuf> = SYSTEM.map(PathBuf::from).into();
        seen.retain(|path| path.exists());
        let programs = self.tools.folders();
        let behind_links = programs.iter().filter_map(|folder| folder.canonicalize().ok());
        let more: Vec<PathBuf> = behind_links
            .chain(programs.iter().map(|folder| folder.to_path_buf()))
            .chain(self.tools.trees.iter().cloned())
            .collect();
        let home = std::env::home_dir();
        for path in more {
            // A folder that holds the person's home, the paper or what is written is no tree.
            let holds = |inner: &Path| inner.starts_with(&path);
            if holds(self.paper) || holds(&self.written) || home.as_deref().is_some_and(holds) {
                continue;
            }
            if path.components().count() > 2 && !seen.iter().any(|seen| path.starts_with(seen)) {
                seen.push(path);
            }
        }
        seen
    }
}

/// Returns whether processes in a user namespace are counted apart: since Linux 5.14.
fn counts_apart() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|part| part.trim().parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (5, 14)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn where_there_is_no_sandbox_the_reason_is_told() {
        let Sandbox::None { reason } = Sandbox::find_in(&[]) else { panic!("there is none") };
        assert!(reason.contains("not installed"), "{reason}");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bwrap");
        fs::write(
            &path,
            "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n",
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let found = Sandbox::find_in(&[dir.path().to_path_buf()]);
        let Sandbox::None { reason } = found else { panic!("it refused: {found:?}") };
        assert!(reason.contains("No permissions"), "{reason}");
    }
}
