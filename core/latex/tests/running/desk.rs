//! A paper in a folder of its own, and somebody who builds it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use latex::{
    Built, Cancel, Cannot, Engine, Limits, Order, Outcome, Progress, Sandbox, Toolchain, Trust,
};
use tempfile::TempDir;

static TOOLS: LazyLock<Toolchain> = LazyLock::new(Toolchain::look_up);
static SANDBOX: LazyLock<Sandbox> = LazyLock::new(Sandbox::find);

/// Says why a test is skipped where there is no TeX.
pub(crate) fn has_tex(engine: Engine) -> bool {
    let missing = TOOLS.missing(engine);
    if let Some(missing) = &missing {
        eprintln!("skipped: {missing}");
    }
    missing.is_none()
}

/// Says why a test is skipped where there is no sandbox.
pub(crate) fn has_sandbox() -> bool {
    if let Sandbox::None { reason } = &*SANDBOX {
        eprintln!("skipped: {reason}");
        return false;
    }
    true
}

pub(crate) fn sandbox() -> &'static Sandbox {
    &SANDBOX
}

pub(crate) fn tools() -> &'static Toolchain {
    &TOOLS
}

/// A folder that has the paper in `paper`, what is built in `out`, and room for what is neither.
pub(crate) struct Desk {
    dir: TempDir,
    pub(crate) root: String,
    pub(crate) engine: Engine,
    pub(crate) sandbox: Sandbox,
    pub(crate) trust: Trust,
    pub(crate) shell_escape: bool,
    pub(crate) limits: Limits,
    pub(crate) output: PathBuf,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("paper")).unwrap();
        Self {
            root: "main.tex".to_owned(),
            engine: Engine::PdfLatex,
            sandbox: SANDBOX.clone(),
            // Where there is no sandbox, what does not try to break out is built without.
            trust: if matches!(&*SANDBOX, Sandbox::None { .. }) {
                Trust::Given
            } else {
                Trust::NotGiven
            },
            shell_escape: false,
            limits: Limits::default(),
            output: dir.path().join("out"),
            dir,
        }
    }

    /// A paper of one file.
    pub(crate) fn of(text: &str) -> Self {
        let desk = Self::new();
        desk.write("paper/main.tex", text);
        desk
    }

    /// A paper that is copied from a folder.
    pub(crate) fn copy_of(folder: &Path) -> Self {
        let desk = Self::new();
        let copied = Command::new("cp").arg("-R").arg(folder.join(".")).arg(desk.paper()).status();
        assert!(copied.unwrap().success());
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn paper(&self) -> PathBuf {
        self.path("paper")
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn build(&self) -> Result<Built, Cannot> {
        self.build_with(&Cancel::new(), &mut |_| ())
    }

    pub(crate) fn build_with(
        &self,
        cancel: &Cancel,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<Built, Cannot> {
        let order = Order {
            paper: &self.paper(),
            root: &self.root,
            engine: self.engine,
            output: &self.output,
            tools: &TOOLS,
            sandbox: &self.sandbox,
            trust: self.trust,
            shell_escape: self.shell_escape,
            limits: self.limits.clone(),
        };
        latex::build(&order, cancel, tell)
    }

    /// Builds what must succeed.
    pub(crate) fn built(&self) -> Built {
        let built = self.build().unwrap();
        assert_eq!(built.outcome, Outcome::Done, "{built:#?}\n{}", log(&built));
        built
    }

    /// Returns the names in the paper's folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.paper()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub(crate) fn log(built: &Built) -> String {
    let log = built.log.as_ref().map(std::fs::read).transpose().unwrap_or_default();
    String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
}

/// Returns what is written on the pages, if this machine has `pdftotext`.
pub(crate) fn text_of(pdf: &Path) -> Option<String> {
    let output = Command::new("pdftotext").arg(pdf).arg("-").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
