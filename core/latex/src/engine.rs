//! Which TeX this machine has, and what to install where it has none or half of one.
//!
//! Looked up once and kept by the caller; looking again is making another [`Toolchain`]. Nothing
//! of a paper takes part in it.

#![expect(clippy::disallowed_methods, reason = "looks for programs")]

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// What typesets a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// The usual one.
    PdfLatex,
    /// Takes the system's fonts.
    XeLatex,
    /// Takes the system's fonts, and Lua.
    LuaLatex,
    /// `XeTeX` in one program, with packages that it fetched before.
    Tectonic,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::PdfLatex, Self::XeLatex, Self::LuaLatex, Self::Tectonic];

    /// Returns its name, as one types it.
    pub fn name(self) -> &'static str {
        self.program().name()
    }

    /// Returns the engine of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Returns the program that it is.
    pub fn program(self) -> Program {
        match self {
            Self::PdfLatex => Program::PdfLatex,
            Self::XeLatex => Program::XeLatex,
            Self::LuaLatex => Program::LuaLatex,
            Self::Tectonic => Program::Tectonic,
        }
    }

    /// Returns what a paper needs to be built with it, besides what its packages need.
    fn needs(self) -> Vec<Program> {
        match self {
            Self::Tectonic => vec![Program::Tectonic],
            engine => vec![engine.program(), Program::Latexmk],
        }
    }
}

/// A program that belongs to TeX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "these are names")]
pub enum Program {
    Latexmk,
    PdfLatex,
    XeLatex,
    LuaLatex,
    Biber,
    Bibtex,
    Makeindex,
    Kpsewhich,
    Tectonic,
}

impl Program {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Latexmk,
        Self::PdfLatex,
        Self::XeLatex,
        Self::LuaLatex,
        Self::Biber,
        Self::Bibtex,
        Self::Makeindex,
        Self::Kpsewhich,
        Self::Tectonic,
    ];

    /// Returns its name, as one types it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latexmk => "latexmk",
            Self::PdfLatex => "pdflatex",
            Self::XeLatex => "xelatex",
            Self::LuaLatex => "lualatex",
            Self::Biber => "biber",
            Self::Bibtex => "bibtex",
            Self::Makeindex => "makeindex",
            Self::Kpsewhich => "kpsewhich",
            Self::Tectonic => "tectonic",
        }
    }
}

/// For whose ways of installing a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "these are names")]
pub enum System {
    Debian,
    Fedora,
    Arch,
    OtherUnix,
    MacOs,
    Windows,
}

impl System {
    /// Returns the one that runs this.
    pub fn this() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::from_os_release(&fs::read_to_string("/etc/os-release").unwrap_or_default())
        }
    }

    /// Returns which Unix it is by the text of its `os-release`.
    fn from_os_release(text: &str) -> Self {
        let like = text
            .lines()
            .filter_map(|line| line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE=")));
        let mut words = like.flat_map(|value| value.trim_matches(['"', '\'']).split_whitespace());
        let known = |word| match word {
            "debian" | "ubuntu" => Some(Self::Debian),
            "fedora" | "rhel" | "centos" => Some(Self::Fedora),
            "arch" | "archlinux" => Some(Self::Arch),
            _ => None,
        };
        words.find_map(known).unwrap_or(Self::OtherUnix)
    }

    /// Returns what brings a program.
    fn package(self, program: Program) -> &'static str {
        match (self, program) {
            (Self::Debian | Self::Fedora | Self::Arch, Program::XeLatex) => "texlive-xetex",
            (Self::Debian | Self::Fedora | Self::Arch, Program::LuaLatex) => "texlive-luatex",
            (Self::Debian, Program::PdfLatex) => "texlive-latex-recommended",
            (Self::Fedora | Self::Arch, Program::PdfLatex) => "texlive-latex",
            (Self::Debian, Program::Bibtex | Program::Makeindex | Program::Kpsewhich) => {
                "texlive-binaries"
            }
            (Self::Fedora, Program::Bibtex) => "texlive-bibtex",
            (Self::Fedora, Program::Makeindex) => "texlive-makeindex",
            (Self::Fedora, Program::Kpsewhich) => "texlive-kpathsea",
            (Self::Arch, Program::Latexmk) => "texlive-binextra",
            (Self::Arch, Program::Bibtex | Program::Makeindex | Program::Kpsewhich) => {
                "texlive-bin"
            }
            (_, program) => program.name(),
        }
    }

    /// Says in plain words what to install.
    fn advice(self, programs: &[Program], nothing: bool) -> String {
        let mut packages: Vec<&str> =
            programs.iter().map(|program| self.package(*program)).collect();
        packages.dedup();
        let whole = |all: &'static str| if nothing { all.to_owned() } else { packages.join(" ") };
        match self {
            Self::Debian => format!(
                "To install it, in a terminal: sudo apt install {}",
                whole(
                    "latexmk biber lmodern texlive-latex-extra texlive-fonts-recommended texlive-science"
                )
            ),
            Self::Fedora => format!(
                "To install it, in a terminal: sudo dnf install {}",
                whole("texlive-scheme-medium latexmk biber")
            ),
            Self::Arch => format!(
                "To install it, in a terminal: sudo pacman -S {}",
                whole(
                    "texlive-basic texlive-latexextra texlive-fontsrecommended texlive-mathscience texlive-binextra biber"
                )
            ),
            Self::MacOs if nothing => {
                "Install MacTeX from https://tug.org/mactex, or in a terminal: \
                 brew install --cask mactex-no-gui"
                    .to_owned()
            }
            Self::Windows if nothing => {
                "Install TeX Live from https://tug.org/texlive, or MiKTeX from https://miktex.org \
                 with Perl, which its latexmk needs"
                    .to_owned()
            }
            Self::MacOs => {
                format!("To install it, in a terminal: sudo tlmgr install {}", packages.join(" "))
            }
            Self::Windows => format!(
                "Install it with the TeX you have: tlmgr install {0}, or in MiKTeX's console: {0}",
                packages.join(" ")
            ),
            Self::OtherUnix if nothing => {
                "Install TeX Live with your system's packages, or from https://tug.org/texlive"
                    .to_owned()
            }
            Self::OtherUnix => {
                format!("Install with your system's packages: {}", packages.join(" "))
            }
        }
    }
}

/// What is not there, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No TeX at all.
    All {
        /// What to install, in plain words.
        advice: String,
    },
    /// Some of it.
    Some {
        /// What is not there.
        programs: Vec<Program>,
        /// What to install, in plain words.
        advice: String,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All { advice } => write!(out, "There is no TeX on this computer. {advice}."),
            Self::Some { programs, advice } => {
                let names: Vec<&str> = programs.iter().map(|program| program.name()).collect();
                let verb = if names.len() == 1 { "is" } else { "are" };
                write!(
                    out,
                    "The TeX on this computer is incomplete: {} {verb} missing. {advice}.",
                    names.join(", ")
                )
            }
        }
    }
}

/// Variables of TeX that name a folder in the person's home.
const OWN_TREES: [&str; 3] = ["TEXMFHOME", "TEXMFVAR", "TEXMFCONFIG"];

/// Variables of TeX that name a folder of the system.
const SYSTEM_TREES: [&str; 3] = ["TEXMFROOT", "TEXMFSYSVAR", "TEXMFSYSCONFIG"];

/// The TeX of this machine.
#[derive(Clone, Debug)]
pub struct Toolchain {
    system: System,
    found: BTreeMap<Program, PathBuf>,
    /// Where it looks for its own files: folders that exist.
    pub(crate) trees: Vec<PathBuf>,
    /// What [`OWN_TREES`] are, as the home folder is another one for a paper.
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

impl Toolchain {
    /// Looks in the folders that this process looks in for programs, and where TeX is usual.
    pub fn look_up() -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
        if cfg!(target_os = "macos") {
            // A program that was started from the desktop does not see what the shell sees.
            folders.extend(["/Library/TeX/texbin", "/opt/homebrew/bin"].map(PathBuf::from));
        }
        Self::look_up_in(&folders, System::this())
    }

    /// Looks in these folders only.
    pub fn look_up_in(folders: &[PathBuf], system: System) -> Self {
        let find = |program: Program| Some((program, find(folders, program.name())?));
        let found: BTreeMap<Program, PathBuf> = Program::ALL.into_iter().filter_map(find).collect();
        let mut tools = Self { system, found, trees: Vec::new(), variables: Vec::new() };
        if let Some(kpsewhich) = tools.path(Program::Kpsewhich).map(Path::to_path_buf) {
            tools.ask_for_trees(&kpsewhich);
        }
        tools
    }

    /// Returns where a program is, if it is there.
    pub fn path(&self, program: Program) -> Option<&Path> {
        self.found.get(&program).map(PathBuf::as_path)
    }

    /// Asks a program which version it is; its first line that says so.
    pub fn version(&self, program: Program) -> Option<String> {
        let mut command = Command::new(self.path(program)?);
        command.arg("--version");
        let answer = process::ask(command)?;
        let line = answer.lines().find(|line| line.chars().any(|char| char.is_ascii_digit()))?;
        Some(line.trim().to_owned())
    }

    /// Returns what a paper lacks that is built with this engine.
    pub fn missing(&self, engine: Engine) -> Option<Missing> {
        let typesets = [Engine::PdfLatex, Engine::XeLatex, Engine::LuaLatex];
        let any = typesets.iter().any(|engine| self.path(engine.program()).is_some());
        let programs: Vec<Program> =
            engine.needs().into_iter().filter(|program| self.path(*program).is_none()).collect();
        if programs.is_empty() {
            return None;
        }
        let nothing = !any && engine != Engine::Tectonic;
        let advice = self.system.advice(&programs, nothing);
        Some(if nothing { Missing::All { advice } } else { Missing::Some { programs, advice } })
    }

    /// Returns the folders of all programs, each once.
    pub(crate) fn folders(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = Vec::new();
        for folder in self.found.values().filter_map(|path| path.parent()) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    fn ask_for_trees(&mut self, kpsewhich: &Path) {
        // One question, one answer a line: a start of a program takes longer than the answer.
        let mut command = Command::new(kpsewhich);
        let question: Vec<String> =
            OWN_TREES.iter().chain(&SYSTEM_TREES).map(|name| format!("${name}")).collect();
        command.arg("--expand-var").arg(question.join("\n"));
        let answer = process::ask(command).unwrap_or_default();
        let mut trees: Vec<PathBuf> =
            answer.lines().flat_map(|line| env::split_paths(OsStr::new(line))).collect();
        let own = OWN_TREES.into_iter().zip(answer.lines());
        self.variables = own.map(|(name, value)| (name, value.into())).collect();
        let mut command = Command::new(kpsewhich);
        command.args(["--expand-path", "$TEXMF:$TEXMFCNF"]);
        let path = process::ask(command).unwrap_or_default();
        trees.extend(env::split_paths(OsStr::new(path.trim())));
        for tree in trees {
            // A whole disk is no tree of TeX, whoever says so.
            let deep = tree.is_absolute() && tree.components().count() > 2;
            if deep && tree.is_dir() && !self.trees.contains(&tree) {
                self.trees.push(tree);
            }
        }
    }
}

/// Returns the first file of that name that may be run.
pub(crate) fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let name = if cfg!(windows) { format!("{name}.exe") } else { name.to_owned() };
    let candidates =
        folders.iter().filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name));
    candidates.into_iter().find(|path| may_be_run(path))
}

fn may_be_run(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else { return false };
    #[cfg(unix)]
    let runs = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let runs = true;
    about.is_file() && runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_known_by_what_they_are_like() {
        let check = |text, expected| assert_eq!(System::from_os_release(text), expected, "{text}");
        check("NAME=x\nID=debian\n", System::Debian);
        check("ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", System::Debian);
        check("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", System::Fedora);
        check("ID=manjaro\nID_LIKE=arch", System::Arch);
        check("ID=nixos", System::OtherUnix);
        check("", System::OtherUnix);
    }

    #[test]
    fn no_tex_and_half_a_tex_are_told_apart_with_what_to_do() {
        for system in [
            System::Debian,
            System::Fedora,
            System::Arch,
            System::OtherUnix,
            System::MacOs,
            System::Windows,
        ] {
            let none = Toolchain::look_up_in(&[], system);
            let all = none.missing(Engine::PdfLatex).unwrap();
            assert!(matches!(all, Missing::All { .. }), "{all}");
            assert!(all.to_string().contains("nstall"), "{all}");
        }
        let mut half = Toolchain::look_up_in(&[], System::Debian);
        half.found.insert(Program::PdfLatex, "/usr/bin/pdflatex".into());
        assert_eq!(
            half.missing(Engine::PdfLatex).unwrap().to_string(),
            "The TeX on this computer is incomplete: latexmk is missing. \
             To install it, in a terminal: sudo apt install latexmk."
        );
        half.found.insert(Program::Latexmk, "/usr/bin/latexmk".into());
        assert_eq!(half.missing(Engine::PdfLatex), None);
        let xetex = half.missing(Engine::XeLatex).unwrap().to_string();
        assert!(xetex.contains("texlive-xetex"), "{xetex}");
        assert!(matches!(half.missing(Engine::Tectonic), Some(Missing::Some { .. })));
    }

    #[cfg(unix)]
    #[test]
    fn only_what_may_be_run_is_a_program() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pdflatex");
        fs::write(&path, "#!/bin/sh\necho noise\necho 'fake 1.2'\n").unwrap();
        let look_up = || Toolchain::look_up_in(&[dir.path().to_path_buf()], System::Debian);
        assert_eq!(look_up().path(Program::PdfLatex), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(look_up().path(Program::PdfLatex), Some(path.as_path()));
        assert_eq!(look_up().version(Program::PdfLatex), Some("fake 1.2".to_owned()));
        fs::create_dir(dir.path().join("biber")).unwrap();
        assert_eq!(look_up().path(Program::Biber), None);
    }
}
