//! One build of a paper: from its folder to pages, problems and a list of what ran.
//!
//! latexmk decides what to run and how often, with our settings only. What comes out is looked at
//! with suspicion, as a paper of somebody else made it; nothing of the paper is changed.

#![expect(clippy::disallowed_methods, reason = "finds the folders that a build is about")]

mod settings;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::engine::{Engine, Missing, Program, Toolchain};
use crate::folder::{self, Listing};
use crate::output::{self, Output, OutputError};
use crate::process::{self, Cancel, End, Ended, Limit, Limits};
use crate::progress::{Progress, Ran, Reader};
use crate::recorder::{self, Place};
use crate::regular;
use crate::root::{join, split};
use crate::sandbox::{Plan, Sandbox};
use settings::settings;

/// Of a longer log, only so much is read.
const MAX_LOG: u64 = 128 << 20;

/// Of longer lists of files, only so much is read.
const MAX_LIST: u64 = 16 << 20;

/// Whether a person said that a paper may do on this device what its authors want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Not asked, or answered with no.
    NotGiven,
    /// For this paper, on this device.
    Given,
}

/// What is to be built, and how.
#[derive(Debug)]
pub struct Order<'a> {
    /// The paper's folder.
    pub paper: &'a Path,
    /// The file that TeX is run on, relative to it.
    pub root: &'a str,
    /// With what.
    pub engine: Engine,
    /// The folder for what comes out; made if it is not there. Best outside of the paper.
    pub output: &'a Path,
    /// The TeX of this machine.
    pub tools: &'a Toolchain,
    /// How the paper is kept from the rest of this machine.
    pub sandbox: &'a Sandbox,
    /// Needed where it is not kept from it.
    pub trust: Trust,
    /// The paper may have TeX run commands, and write into its own folder; only with trust.
    pub shell_escape: bool,
    /// What it may use.
    pub limits: Limits,
}

/// Why nothing was built at all.
#[derive(Debug, thiserror::Error)]
pub enum Cannot {
    /// There is no TeX, or half of one.
    #[error("{0}")]
    NoTex(Missing),
    /// A paper can run programs through TeX, and nothing would keep it from the computer.
    #[error("this paper is not built before you trust it: {reason}")]
    NeedsTrust {
        /// What is missing that would make trust needless, or what was asked for that needs it.
        reason: String,
    },
    /// The paper's folder can't be read.
    #[error("the paper's folder {path} cannot be read: {cause}")]
    Paper {
        /// Where.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A folder that is more than a paper.
    #[error("{0} holds the home folder or the whole disk; a paper has a folder of its own")]
    TooWide(PathBuf),
    /// The root is not there.
    #[error("there is no file {root} in {paper}")]
    Root {
        /// What was asked for.
        root: String,
        /// Where.
        paper: PathBuf,
    },
    /// A name that cannot be handed to TeX.
    #[error("TeX cannot take the name {0}: none of \" $ % \\ ` ~ # & ; may be in it")]
    Name(String),
    /// The folder for what comes out.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The folder for what comes out would be the paper's, and more.
    #[error("{0} holds the paper itself; what is built goes to a folder of its own")]
    OutputHoldsPaper(PathBuf),
    /// The system starts no program.
    #[error("TeX cannot be started: {0}")]
    Start(io::Error),
}

/// How a build ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is made.
    Done,
    /// Something went wrong.
    Failed(Failure),
    /// Somebody wanted it to end.
    Cancelled,
}

/// What went wrong with a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The paper's source, or what it needs: see the problems.
    #[error("TeX found errors in the paper")]
    Errors,
    /// It took too much.
    #[error("the build was ended because it {}", over(*.0))]
    Over(Limit),
    /// There was no room for what TeX wrote.
    #[error("the disk is full")]
    DiskFull,
    /// The root vanished meanwhile.
    #[error("the file that was built is no longer there")]
    RootGone,
    /// TeX said that all is well, and yet there are no pages.
    #[error("TeX made no pages")]
    NoPages,
    /// There are pages, but they are cut off.
    #[error("the PDF that TeX made is damaged")]
    Damaged,
}

fn over(limit: Limit) -> &'static str {
    match limit {
        Limit::Wall => "took longer than is allowed",
        Limit::Cpu => "took more computing time than is allowed",
        Limit::Memory => "took more memory than is allowed",
        Limit::Output => "wrote more than is allowed",
        Limit::Processes => "started more programs than are allowed",
    }
}

/// Pages that can be shown. They stay until newer ones take their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// A whole PDF.
    pub pdf: PathBuf,
    /// What leads from the pages to the source and back.
    pub synctex: Option<PathBuf>,
    /// An earlier build made them; this one made none.
    pub earlier: bool,
}

/// What a build came to.
#[derive(Debug)]
pub struct Built {
    /// The file that TeX was run on, relative to the paper's folder.
    pub root: String,
    /// With what.
    pub engine: Engine,
    /// How it ended.
    pub outcome: Outcome,
    /// The newest pages there are; those of a failed build may lack what failed.
    pub pages: Option<Pages>,
    /// What the engine wrote about its work.
    pub log: Option<PathBuf>,
    /// What `bibtex` or `biber` wrote about theirs.
    pub blg: Option<PathBuf>,
    /// What `makeindex` wrote about its.
    pub ilg: Option<PathBuf>,
    /// The files that the engine opened.
    pub fls: Option<PathBuf>,
    /// The files of the paper that the pages depend on, relative; nothing if that is not known.
    pub sources: BTreeSet<String>,
    /// Files that TeX looked for in vain, as it named them.
    pub missing: Vec<String>,
    /// What the paper brings that other programs would run; it was not run.
    pub not_run: Vec<String>,
    /// What ran.
    pub ran: Vec<Ran>,
    /// It was kept from the rest of the machine.
    pub sandboxed: bool,
    /// Computing time of all that ran; nothing where the system tells nothing.
    pub cpu: Duration,
    /// From start to end.
    pub wall: Duration,
}

/// Builds a paper. Takes as long as that takes; `tell` hears how far it is.
pub fn build(
    order: &Order<'_>,
    cancel: &Cancel,
    tell: &mut dyn FnMut(Progress),
) -> Result<Built, Cannot> {
    let site = Site::look(order)?;
    if let Some(missing) = order.tools.missing(order.engine) {
        return Err(Cannot::NoTex(missing));
    }
    check_trust(order)?;
    let output = Output::take(order.output)?;
    let listing = folder::list(&site.paper, Some(output.folder()))
        .map_err(|cause| Cannot::Paper { path: site.paper.clone(), cause })?;
    if site.paper.starts_with(output.tex()) {
        return Err(Cannot::OutputHoldsPaper(output.folder().to_path_buf()));
    }
    check_name(&output.tex().to_string_lossy())?;
    // So that what is there afterwards is of this build.
    for name in [DEPENDS_ON.to_owned(), format!("{}.log", site.job)] {
        output.forget(&name);
    }
    let plan = plan(order, &site, &output, &listing)?;
    let command = match order.sandbox {
        Sandbox::Bubblewrap(bwrap) => plan.inside(bwrap),
        Sandbox::None { .. } => plan.outside(&output.home()),
    };
    let mut reader = Reader::default();
    let mut hear = |at, bytes: &[u8]| reader.feed(bytes, at, tell);
    let tex = output.tex();
    let ended = process::run(command, &order.limits, Some(&tex), cancel, &mut hear);
    let ended = ended.map_err(Cannot::Start)?;
    let whole = regular::is_whole_pdf(&tex.join(format!("{}.pdf", site.job)));
    let outcome = outcome(&ended, &reader, &site, &output, whole);
    // A build that was ended may have left the pages of an earlier run, or a part of them.
    let newer = matches!(outcome, Outcome::Done | Outcome::Failed(Failure::Errors))
        && output.publish(&site.job)?;
    let pages = output.published(&site.job, "pdf").map(|pdf| Pages {
        pdf,
        synctex: output.published(&site.job, "synctex.gz"),
        earlier: !newer,
    });
    let (sources, missing) = site.files(&output);
    let by_itself = matches!(ended.end, End::Exited(Some(_)));
    Ok(Built {
        root: order.root.to_owned(),
        engine: order.engine,
        outcome,
        pages,
        log: output.written(&site.job, "log"),
        blg: output.written(&site.job, "blg"),
        ilg: output.written(&site.job, "ilg"),
        fls: output.written(&site.job, "fls"),
        sources,
        missing,
        not_run: listing.not_run,
        ran: reader.finish(ended.wall, by_itself),
        sandboxed: matches!(order.sandbox, Sandbox::Bubblewrap(_)),
        cpu: ended.cpu,
        wall: ended.wall,
    })
}

/// Removes what builds of these roots wrote into a folder. Another build's work stays.
pub fn clean(output: &Path, roots: &[&str]) -> Result<(), Cannot> {
    let jobs: Vec<String> = roots.iter().map(|root| job_name(root).to_owned()).collect();
    Ok(output::clean(output, &jobs)?)
}

/// Where latexmk writes what the pages depend on.
const DEPENDS_ON: &str = "depends-on";

/// Where things are.
struct Site {
    /// Absolute, without links.
    paper: PathBuf,
    /// The folder of the root, relative to the paper; empty if it is the paper's.
    start: String,
    /// The root's name in that folder.
    name: String,
    /// What all that comes out is called.
    job: String,
}

impl Site {
    fn look(order: &Order<'_>) -> Result<Self, Cannot> {
        let failed = |cause| Cannot::Paper { path: order.paper.to_path_buf(), cause };
        let paper = order.paper.canonicalize().map_err(failed)?;
        fs::read_dir(&paper).map_err(failed)?;
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        if paper.parent().is_none() || home.is_some_and(|home| home.starts_with(&paper)) {
            return Err(Cannot::TooWide(paper));
        }
        let gone = || Cannot::Root { root: order.root.to_owned(), paper: paper.clone() };
        let root = join("", order.root);
        // In every folder above it as well, a link would lead out of the paper.
        let real = paper.join(&root).canonicalize().map_err(|_| gone())?;
        if root.starts_with("..") || real != paper.join(&root) || !regular::is_there(&real) {
            return Err(gone());
        }
        check_name(&root)?;
        let (start, name) = split(&root);
        let (start, name) = (start.to_owned(), name.to_owned());
        let job = job_name(&name).to_owned();
        Ok(Self { paper, start, name, job })
    }

    fn start(&self) -> PathBuf {
        if self.start.is_empty() { self.paper.clone() } else { self.paper.join(&self.start) }
    }

    /// Returns the sources, and the files that were looked for in vain.
    fn files(&self, output: &Output) -> (BTreeSet<String>, Vec<String>) {
        let paper = self.paper.to_string_lossy();
        let written = output.folder().strip_prefix(&self.paper).ok();
        let written = written.map(|path| path.to_string_lossy().into_owned());
        // What is built into the paper's own folder lies beside the sources.
        let written =
            written.map(|path| if path.is_empty() { ".quire-build".to_owned() } else { path });
        let place = Place { paper: &paper, start: &self.start, written: written.as_deref() };
        let text =
            |name: &str| regular::text(&output.tex().join(name), MAX_LIST).unwrap_or_default();
        let mut sources = recorder::depends_on(&text(DEPENDS_ON), &place);
        sources.extend(recorder::was_read(&text(&format!("{}.fls", self.job)), &place));
        let log = output.tex().join(format!("{}.log", self.job));
        let mut missing = recorder::looked_for(&regular::text(&log, MAX_LOG).unwrap_or_default());
        // What latexmk found to be needed, and is not there.
        for name in sources.iter().filter(|name| !self.paper.join(name).exists()) {
            if !missing.iter().any(|known| join(&self.start, known) == *name) {
                missing.push(name.clone());
            }
        }
        sources.retain(|name| self.paper.join(name).exists());
        (sources, missing)
    }
}

fn job_name(root: &str) -> &str {
    let (_, name) = split(root);
    name.rsplit_once('.').map_or(name, |(job, _)| job)
}

/// latexmk hands names to a shell: what means something there never gets that far.
fn check_name(name: &str) -> Result<(), Cannot> {
    let bad = |char: char| "\"$%\\`~#&;".contains(char) || char.is_control();
    let bad_part = name.split('/').any(|part| part.starts_with('-'));
    let windows = cfg!(windows) && !name.contains(['"', '$', '%', '`']);
    if !windows && name.contains(bad) || bad_part || name.is_empty() {
        return Err(Cannot::Name(name.to_owned()));
    }
    Ok(())
}

fn check_trust(order: &Order<'_>) -> Result<(), Cannot> {
    if order.trust == Trust::Given {
        return Ok(());
    }
    if let Sandbox::None { reason } = order.sandbox {
        return Err(Cannot::NeedsTrust { reason: reason.clone() });
    }
    if order.shell_escape {
        let reason = "it is to run commands by TeX (shell escape)".to_owned();
        return Err(Cannot::NeedsTrust { reason });
    }
    Ok(())
}

fn plan<'a>(
    order: &'a Order<'a>,
    site: &'a Site,
    output: &Output,
    listing: &Listing,
) -> Result<Plan<'a>, Cannot> {
    let below_start = |folder: &String| {
        let rest = if site.start.is_empty() {
            Some(folder.as_str())
        } else {
            folder.strip_prefix(&site.start)?.strip_prefix('/')
        };
        rest.map(str::to_owned)
    };
    let folders: Vec<String> = listing.folders.iter().filter_map(below_start).collect();
    let settings = settings(order.engine, order.shell_escape);
    let settings = output.prepare(&folders, &settings)?;
    let tex = output.tex();
    let program =
        if order.engine == Engine::Tectonic { Program::Tectonic } else { Program::Latexmk };
    let program = order.tools.path(program).map(Path::to_path_buf).unwrap_or_default();
    let mut words: Vec<OsString> = vec![program.into()];
    if order.engine == Engine::Tectonic {
        words
            .extend(["-X", "compile", "--only-cached", "--untrusted", "--synctex"].map(Into::into));
        words.extend(["--keep-logs", "--keep-intermediates", "--outdir"].map(Into::into));
        words.extend([tex.clone().into(), "--".into()]);
    } else {
        words.extend(["-norc", "-r"].map(Into::into));
        words.push(settings.clone().into());
        words.push("-recorder".into());
        words.push(option("-outdir=", &tex));
        words.push(option("-deps-out=", &tex.join(DEPENDS_ON)));
    }
    words.push(site.name.clone().into());
    // Files beside the root's folder are the paper's too, but a careful TeX won't read upwards.
    let reads = match (order.sandbox, site.start.is_empty()) {
        (_, true) => "p",
        (Sandbox::Bubblewrap(_), false) => "a",
        (Sandbox::None { .. }, false) => "r",
    };
    let mut variables: Vec<(&'static str, OsString)> = vec![
        ("openin_any", reads.into()),
        ("openout_any", "p".into()),
        ("TEXMFOUTPUT", tex.clone().into()),
        ("TEXMFCACHE", tex.join(".cache").into()),
        // Logs whose lines are not broken, wherever they come from.
        ("max_print_line", "10000".into()),
        ("error_line", "254".into()),
        ("half_error_line", "238".into()),
    ];
    let mut also = vec![settings];
    if order.engine == Engine::Tectonic {
        let home = std::env::home_dir().unwrap_or_default();
        let cache =
            if cfg!(target_os = "macos") { "Library/Caches/Tectonic" } else { ".cache/Tectonic" };
        variables.push(("TECTONIC_CACHE_DIR", home.join(cache).into()));
        also.push(home.join(cache));
    }
    Ok(Plan {
        tools: order.tools,
        paper: &site.paper,
        paper_writable: order.shell_escape,
        written: tex,
        also,
        start: site.start(),
        variables,
        limits: &order.limits,
        words,
    })
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

fn outcome(ended: &Ended, reader: &Reader, site: &Site, output: &Output, whole: bool) -> Outcome {
    let made = output.written(&site.job, "pdf").is_some();
    let failure = match ended.end {
        End::Cancelled => return Outcome::Cancelled,
        End::Exited(Some(0)) if whole => return Outcome::Done,
        End::Over(limit) => Failure::Over(limit),
        End::Exited(_) if !regular::is_there(&site.start().join(&site.name)) => Failure::RootGone,
        End::Exited(_) if reader.disk_full || output.is_full() => Failure::DiskFull,
        End::Exited(Some(0)) if made => Failure::Damaged,
        End::Exited(Some(0)) => Failure::NoPages,
        End::Exited(_) => Failure::Errors,
    };
    Outcome::Failed(failure)
}
