//! What lies in a paper's folder, as one sees it without following links.

#![expect(clippy::disallowed_methods, reason = "reads the paper's folder")]

use std::fs;
use std::io;
use std::path::Path;

use crate::regular;
use crate::root;

/// More names than this are not listed.
const MAX_NAMES: usize = 50_000;

/// Folders below more folders than this are not looked into.
const MAX_DEPTH: usize = 32;

/// A longer text is no text of a paper.
const MAX_TEXT: u64 = 8 << 20;

/// All texts together.
const MAX_TEXTS: u64 = 128 << 20;

/// Names of files that some programs run, as they lie in a folder; Quire runs none of them.
const RUN_BY_OTHERS: [&str; 5] = ["latexmkrc", ".latexmkrc", "latexmk", "texmf.cnf", ".vscode"];

/// The names in a paper's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Files, relative, in order. Names that are no Unicode are left out, TeX would not find them.
    pub files: Vec<String>,
    /// Folders, relative, in order; hidden ones are left out.
    pub folders: Vec<String>,
    /// What the paper brings that other programs would run and Quire does not.
    pub not_run: Vec<String>,
}

/// Lists a paper's folder, without what is below `output`.
pub fn list(paper: &Path, output: Option<&Path>) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut waiting = vec![(String::new(), 0)];
    let mut names = 0;
    while let Some((folder, depth)) = waiting.pop() {
        let entries = match fs::read_dir(paper.join(&folder)) {
            Ok(entries) => entries,
            Err(error) if folder.is_empty() => return Err(error),
            // It went meanwhile, or is somebody else's.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            names += 1;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if is_run_by_others(&name) {
                listing.not_run.push(path.clone());
            }
            if kind.is_dir() {
                let is_output = output.is_some_and(|output| *output == entry.path());
                if !name.starts_with('.') && !is_output && depth < MAX_DEPTH {
                    listing.folders.push(path.clone());
                    waiting.push((path, depth + 1));
                }
            } else {
                listing.files.push(path);
            }
        }
        if names > MAX_NAMES {
            break;
        }
    }
    listing.files.sort_unstable();
    listing.folders.sort_unstable();
    listing.not_run.sort_unstable();
    Ok(listing)
}

fn is_run_by_others(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    RUN_BY_OTHERS.contains(&name.as_str()) || Path::new(&name).extension() == Some("pl".as_ref())
}

/// Reads the TeX files of a listing, as [`root::find`] wants them. What is no UTF-8 is read with
/// signs in place of what is not.
pub fn texts(paper: &Path, listing: &Listing) -> Vec<(String, String)> {
    let mut room = MAX_TEXTS;
    let mut texts = Vec::new();
    for path in listing.files.iter().filter(|path| root::is_tex(path)) {
        let Ok(bytes) = regular::read(&paper.join(path), MAX_TEXT.min(room)) else { continue };
        room -= bytes.len() as u64;
        texts.push((path.clone(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_is_listed_without_its_links_and_outputs() {
        let dir = tempfile::tempdir().unwrap();
        let paper = dir.path();
        for folder in ["s/t", "out", ".git", ".vscode"] {
            fs::create_dir_all(paper.join(folder)).unwrap();
        }
        for file in [
            "a.tex",
            "s/t/b.tex",
            "out/c.tex",
            ".git/d.tex",
            ".latexmkrc",
            "s/LatexMk",
            "s/x.PL",
            "pl",
        ] {
            fs::write(paper.join(file), file).unwrap();
        }
        std::os::unix::fs::symlink("/etc", paper.join("etc")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", paper.join("link.tex")).unwrap();
        let listing = list(paper, Some(&paper.join("out"))).unwrap();
        assert_eq!(
            listing.files,
            [".latexmkrc", "a.tex", "etc", "link.tex", "pl", "s/LatexMk", "s/t/b.tex", "s/x.PL"]
        );
        assert_eq!(listing.folders, ["s", "s/t"]);
        assert_eq!(listing.not_run, [".latexmkrc", ".vscode", "s/LatexMk", "s/x.PL"]);
        let texts = texts(paper, &listing);
        let expected = ["a.tex", "s/t/b.tex"].map(|name| (name.to_owned(), name.to_owned()));
        assert_eq!(texts, expected);
        assert!(list(&paper.join("nowhere"), None).is_err());
    }
}
