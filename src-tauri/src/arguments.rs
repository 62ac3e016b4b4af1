//! What may stand behind `quire-app` on a command line.

use std::env;
use std::path::{Path, PathBuf};

use clap::Parser;
use tauri::Url;

/// Write LaTeX papers together.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "quire-app", version)]
pub(crate) struct Arguments {
    /// The paper's folder, or one of its `.tex` files, or a link to join.
    pub what: Option<String>,
    /// Fetches the paper behind this link.
    #[arg(long, value_name = "LINK", requires = "into")]
    pub join: Option<String>,
    /// Where the fetched paper goes.
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
    /// Hosts the paper on this computer and prints the link, alone on a line.
    #[arg(long)]
    pub share: bool,
    /// Where Quire keeps its data; also by `QUIRE_DATA_DIR`.
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// What co-authors call you, this time.
    #[arg(long)]
    pub name: Option<String>,
    /// Which of the colors for people is yours, this time (0 to 7).
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..8))]
    pub color: Option<u8>,
    /// Puts the first window into one half of the screen, to leave the other to somebody else.
    #[arg(long, value_name = "SIDE")]
    pub half: Option<Half>,
}

/// A half of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Half {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

/// What to open first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The start window.
    Start,
    /// A folder's paper.
    Folder(PathBuf),
    /// The paper behind a link; where to is asked.
    Link(String),
    /// The paper behind a link, into a folder.
    Join {
        /// The link.
        link: String,
        /// The folder.
        into: PathBuf,
    },
}

impl Arguments {
    /// Returns what to open, with paths seen from the folder `from`.
    pub(crate) fn opening(&self, from: &Path) -> Opening {
        if let (Some(link), Some(into)) = (&self.join, &self.into) {
            return Opening::Join { link: link.clone(), into: from.join(into) };
        }
        let Some(what) = &self.what else { return Opening::Start };
        if what.starts_with("quire://") {
            return Opening::Link(what.clone());
        }
        // A desktop hands files over as addresses.
        let address = what.starts_with("file://").then(|| Url::parse(what).ok()).flatten();
        let path = address.and_then(|address| address.to_file_path().ok());
        let path = path.unwrap_or_else(|| from.join(what));
        // A file by its name; whether anything is there is told by whoever opens it.
        match (path.extension(), path.parent()) {
            (Some(suffix), Some(folder)) if suffix == "tex" && !path.is_dir() => {
                Opening::Folder(folder.to_path_buf())
            }
            _ => Opening::Folder(path),
        }
    }

    /// Returns the data folder that was asked for, by argument or environment.
    pub(crate) fn data_dir(&self) -> Option<PathBuf> {
        let set = self.data_dir.clone();
        set.or_else(|| env::var_os("QUIRE_DATA_DIR").filter(|dir| !dir.is_empty()).map(Into::into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[&str], expected: &Opening) {
        let line = ["quire-app"].iter().chain(line);
        let arguments = Arguments::try_parse_from(line).unwrap();
        assert_eq!(&arguments.opening(Path::new("/desk")), expected);
    }

    #[test]
    fn what_stands_behind_the_program_is_opened() {
        check(&[], &Opening::Start);
        check(&["my paper"], &Opening::Folder("/desk/my paper".into()));
        check(&["/a/main.tex"], &Opening::Folder("/a".into()));
        check(&["main.tex"], &Opening::Folder("/desk".into()));
        check(&["file:///my%20paper/main.tex"], &Opening::Folder("/my paper".into()));
        check(&["quire://h/p#s"], &Opening::Link("quire://h/p#s".into()));
        check(
            &["--join", "quire://h/p#s", "--into", "copy"],
            &Opening::Join { link: "quire://h/p#s".into(), into: "/desk/copy".into() },
        );
    }

    #[test]
    fn a_link_needs_a_place_and_a_color_is_one_of_eight() {
        assert!(Arguments::try_parse_from(["quire-app", "--join", "quire://h/p#s"]).is_err());
        assert!(Arguments::try_parse_from(["quire-app", "--color", "8"]).is_err());
    }
}
