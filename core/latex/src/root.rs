//! Which file of a paper TeX is run on, and with which engine.
//!
//! Pure: names and texts go in. Whoever must be asked is asked with what speaks for each file; the
//! one that most speaks for comes first.

mod scan;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::Engine;
use scan::{Refers, Scan, scan};

/// More files and packages than this are not followed in one file.
const MAX_NAMES: usize = 10_000;

/// More files that begin a document are not looked at: nobody could choose from them.
const MAX_CANDIDATES: usize = 64;

/// File names that people give to what they build, without the ending.
const USUAL: [&str; 10] = [
    "main",
    "paper",
    "thesis",
    "dissertation",
    "manuscript",
    "article",
    "book",
    "report",
    "ms",
    "master",
];

/// Packages that need `XeTeX` or `LuaTeX`.
const UNICODE_PACKAGES: [&str; 7] =
    ["fontspec", "polyglossia", "unicode-math", "mathspec", "xltxtra", "xeCJK", "xunicode"];

/// Packages that need `LuaTeX`.
const LUA_PACKAGES: [&str; 6] =
    ["luacode", "luatexbase", "luatextra", "luatexja", "luamplib", "lua-widow-control"];

/// A text of the paper.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Relative to the paper's folder, `/` between its parts.
    pub path: &'a str,
    /// What is in it.
    pub text: &'a str,
}

/// A file that TeX can be run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Relative to the paper's folder.
    pub path: String,
    /// What it asks for, or what its packages need.
    pub engine: Engine,
    /// The files of the paper that it is made of, itself among them.
    pub reaches: BTreeSet<String>,
}

/// What is known of a paper's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// It is this one.
    Sure(Candidate),
    /// It may be any of these; the likeliest first.
    Ask(Vec<Candidate>),
    /// No file begins a document.
    None,
}

impl Root {
    /// Returns all that it may be.
    pub fn candidates(&self) -> &[Candidate] {
        match self {
            Self::Sure(candidate) => std::slice::from_ref(candidate),
            Self::Ask(candidates) => candidates,
            Self::None => &[],
        }
    }
}

/// Finds the root of a paper; of the file that a person looks at, if there is one.
pub fn find(sources: &[Source<'_>], open: Option<&str>) -> Root {
    let paper = Paper::read(sources);
    let begins = |scan: &Scan| scan.class.is_some() && scan.begins_document;
    let mut roots: Vec<&str> =
        paper.scans.iter().filter(|(_, scan)| begins(scan)).map(|(path, _)| *path).collect();
    roots.sort_by_key(|path| unlikeliness(path));
    roots.truncate(MAX_CANDIDATES);
    let mut candidates: Vec<Candidate> =
        roots.into_iter().filter_map(|path| paper.candidate(path)).collect();
    // What says itself that it is part of another file is not built alone; nor what another takes
    // in, for it too may begin a document (a figure of its own, a subfile).
    let named = paper.named_roots();
    let part: BTreeSet<&str> = candidates
        .iter()
        .flat_map(|candidate| candidate.reaches.iter().filter(|path| **path != candidate.path))
        .map(String::as_str)
        .chain(named.iter().filter(|(from, to)| from != to).map(|(from, _)| from.as_str()))
        .collect();
    let part: BTreeSet<String> = part.into_iter().map(str::to_owned).collect();
    if candidates.iter().any(|candidate| !part.contains(&candidate.path)) {
        candidates.retain(|candidate| !part.contains(&candidate.path));
    }
    if let Some(open) = open {
        let named_by_open = named.get(open);
        let of_open = |candidate: &Candidate| match named_by_open {
            Some(root) => candidate.path == *root,
            None => candidate.reaches.contains(open),
        };
        if candidates.iter().any(of_open) {
            candidates.retain(of_open);
        }
    }
    // All who name a root name the same one, and nobody else's files would be left without.
    let voted: BTreeSet<&String> = named.values().collect();
    let voted = voted.first().filter(|_| voted.len() == 1);
    if let Some(at) = voted.and_then(|root| candidates.iter().position(|it| it.path == **root)) {
        return Root::Sure(candidates.swap_remove(at));
    }
    candidates.sort_by_key(|candidate| {
        let files = std::cmp::Reverse(candidate.reaches.len());
        (unlikeliness(&candidate.path), files, candidate.path.clone())
    });
    if candidates.len() > 1 {
        return Root::Ask(candidates);
    }
    candidates.pop().map_or(Root::None, Root::Sure)
}

/// Returns how unlikely a name is one that people build: near the top, and a usual one.
fn unlikeliness(path: &str) -> (usize, usize) {
    let (folder, name) = split(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_ascii_lowercase();
    let usual = USUAL.iter().position(|usual| *usual == stem).unwrap_or(USUAL.len());
    (if folder.is_empty() { 0 } else { folder.split('/').count() }, usual)
}

/// Returns what is known of a file as a root that somebody chose.
pub fn chosen(sources: &[Source<'_>], path: &str) -> Option<Candidate> {
    Paper::read(sources).candidate(path)
}

/// Returns whether a file is one that roots are looked for in.
pub fn is_tex(path: &str) -> bool {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ["tex", "ltx", "latex", "sty", "cls"].contains(&ending.as_str()))
}

struct Paper<'a> {
    scans: BTreeMap<&'a str, Scan>,
}

impl<'a> Paper<'a> {
    fn read(sources: &[Source<'a>]) -> Self {
        let tex = sources.iter().filter(|source| is_tex(source.path));
        Self { scans: tex.map(|source| (source.path, scan(source.text))).collect() }
    }

    /// Returns which file names which as its root.
    fn named_roots(&self) -> HashMap<String, String> {
        let mut named = HashMap::new();
        for (path, scan) in &self.scans {
            let subfile_of = (scan.class.as_deref() == Some("subfiles"))
                .then(|| scan.class_options.trim().to_owned());
            let Some(root) = scan.magic_root.clone().or(subfile_of) else { continue };
            let (folder, _) = split(path);
            if let Some(root) = self.tex_file(&join(folder, &root)) {
                named.insert((*path).to_owned(), root.to_owned());
            }
        }
        named
    }

    fn candidate(&self, path: &str) -> Option<Candidate> {
        let (path, _) = self.scans.get_key_value(path)?;
        let reaches = self.reach(path);
        let engine = self.engine(path, &reaches);
        let reaches = reaches.into_iter().map(str::to_owned).collect();
        Some(Candidate { path: (*path).to_owned(), engine, reaches })
    }

    /// Returns all TeX files that a root takes in.
    fn reach(&self, root: &'a str) -> BTreeSet<&'a str> {
        let (base, _) = split(root);
        let mut reached = BTreeSet::from([root]);
        // With the folder that `\subimport` counts from.
        let mut waiting = vec![(root, base.to_owned())];
        while let Some((path, imported)) = waiting.pop() {
            let Some(scan) = self.scans.get(path) else { continue };
            let mut found: Vec<(String, String)> = Vec::new();
            for refers in &scan.refers {
                match refers {
                    Refers::Input(name) => {
                        found.push((join(&imported, name), imported.clone()));
                        found.push((join(base, name), imported.clone()));
                    }
                    Refers::Subfile(name) => {
                        for from in [base, split(path).0] {
                            let file = join(from, name);
                            let folder = split(&file).0.to_owned();
                            found.push((file, folder));
                        }
                    }
                    Refers::Import(folder, name) => {
                        let folder = join(base, folder);
                        found.push((join(&folder, name), folder));
                    }
                    Refers::Subimport(folder, name) => {
                        let folder = join(&imported, folder);
                        found.push((join(&folder, name), folder));
                    }
                }
            }
            let local = scan.packages.iter().map(|name| format!("{name}.sty"));
            let class = scan.class.iter().map(|name| format!("{name}.cls"));
            found.extend(local.chain(class).map(|name| (join(base, &name), imported.clone())));
            for (file, imported) in found {
                if let Some(file) = self.tex_file(&file)
                    && reached.insert(file)
                {
                    waiting.push((file, imported));
                }
            }
        }
        reached
    }

    /// Returns the file that a name names, with or without its ending.
    fn tex_file(&self, name: &str) -> Option<&'a str> {
        let name = name.trim();
        let with_ending = || self.scans.get_key_value(format!("{name}.tex").as_str());
        self.scans.get_key_value(name).or_else(with_ending).map(|(path, _)| *path)
    }

    fn engine(&self, root: &str, reaches: &BTreeSet<&str>) -> Engine {
        let scans = || reaches.iter().filter_map(|path| self.scans.get(path));
        let said = self.scans.get(root).and_then(|scan| scan.magic_program.as_deref());
        let said = said.or_else(|| scans().find_map(|scan| scan.magic_program.as_deref()));
        if let Some(engine) = said.and_then(Engine::from_name) {
            return engine;
        }
        // Made for several engines: then the usual one does.
        if scans().any(|scan| scan.asks_engine) {
            return Engine::PdfLatex;
        }
        let uses = |wanted: &[&str]| {
            scans().any(|scan| scan.packages.iter().any(|name| wanted.contains(&name.as_str())))
        };
        if scans().any(|scan| scan.uses_lua) || uses(&LUA_PACKAGES) {
            Engine::LuaLatex
        } else if uses(&UNICODE_PACKAGES) {
            Engine::XeLatex
        } else {
            Engine::PdfLatex
        }
    }
}

/// Splits a path into its folder and its name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Returns where a name leads from a folder, without `.` and `..`. What leads out of the paper
/// keeps a `..` in front, and so names no file.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if name.starts_with('/') {
        return "..".to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split(['/', '\\'])) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str = "\\documentclass{article}\\begin{document}";

    /// Files as `path: text`, one a line, `DOC` for a beginning; expects `root engine`, the
    /// candidates with `? ` in front, or nothing.
    fn check_for(open: Option<&str>, files: &[&str], expected: &str) {
        let texts: Vec<(String, String)> = files
            .iter()
            .map(|file| file.split_once(": ").expect("path: text"))
            .map(|(path, text)| (path.to_owned(), text.replace("DOC", DOC)))
            .collect();
        let sources: Vec<Source<'_>> =
            texts.iter().map(|(path, text)| Source { path, text }).collect();
        let found = match find(&sources, open) {
            Root::Sure(one) => format!("{} {}", one.path, one.engine.name()),
            Root::Ask(some) => {
                let paths: Vec<&str> = some.iter().map(|one| one.path.as_str()).collect();
                format!("? {}", paths.join(" "))
            }
            Root::None => String::new(),
        };
        assert_eq!(found, expected, "{files:?}");
    }

    fn check(files: &[&str], expected: &str) {
        check_for(None, files, expected);
    }

    #[test]
    fn one_document_is_the_root() {
        check(&["a.tex: DOC"], "a.tex pdflatex");
        check(&["a.tex: DOC \\input{s/b}", "s/b.tex: text"], "a.tex pdflatex");
        check(&["s/a.tex: DOC \\input{b}", "s/b.tex: text"], "s/a.tex pdflatex");
        check(&["a.tex: %DOC", "b.tex: text", "c.md: DOC"], "");
        check(&["a.sty: \\documentclass{x}", "b.tex: \\documentclass{minimal}"], "");
        check(&[], "");
    }

    #[test]
    fn what_another_takes_in_is_no_root() {
        check(&["a.tex: DOC \\input{fig/b}", "fig/b.tex: DOC"], "a.tex pdflatex");
        check(
            &[
                "main.tex: DOC \\subfile{s/b}",
                "s/b.tex: \\documentclass[../main]{subfiles}\\begin{document}",
            ],
            "main.tex pdflatex",
        );
        check(
            &["main.tex: DOC", "s/b.tex: \\documentclass[../main.tex]{subfiles}\\begin{document}"],
            "main.tex pdflatex",
        );
        check(
            &["a.tex: DOC \\import{s/}{b}", "s/b.tex: \\subimport{t}{c}", "s/t/c.tex: DOC"],
            "a.tex pdflatex",
        );
        // Both take each other in: better asked than nothing.
        check(&["a.tex: DOC\\input{b}", "b.tex: DOC\\input{a}"], "? a.tex b.tex");
    }

    #[test]
    fn several_are_asked_about_the_likeliest_first() {
        check(
            &["talk.tex: DOC", "paper.tex: DOC", "x/main.tex: DOC"],
            "? paper.tex talk.tex x/main.tex",
        );
        check(&["a.tex: DOC", "b.tex: DOC \\input{c}", "c.tex: x"], "? b.tex a.tex");
    }

    #[test]
    fn a_magic_comment_decides() {
        check(&["a.tex: DOC", "b.tex: DOC", "c.tex: % !TEX root = b.tex"], "b.tex pdflatex");
        check(&["a.tex: DOC", "b.tex: DOC", "s/c.tex: % !TEX root = ../a"], "a.tex pdflatex");
        check(
            &["a.tex: DOC", "b.tex: DOC", "c.tex: % !TEX root = ../../etc/passwd"],
            "? a.tex b.tex",
        );
        let split = [
            "a.tex: DOC",
            "b.tex: DOC",
            "c.tex: % !TEX root = a.tex",
            "d.tex: % !TEX root = b.tex",
        ];
        check(&split, "? a.tex b.tex");
        check_for(Some("c.tex"), &split, "a.tex pdflatex");
        check_for(Some("d.tex"), &split, "b.tex pdflatex");
    }

    #[test]
    fn the_open_file_decides_if_one_root_takes_it_in() {
        let files = ["a.tex: DOC \\input{c}", "b.tex: DOC", "c.tex: x", "d.tex: x"];
        check_for(Some("c.tex"), &files, "a.tex pdflatex");
        check_for(Some("b.tex"), &files, "b.tex pdflatex");
        check_for(Some("d.tex"), &files, "? a.tex b.tex");
    }

    #[test]
    fn the_engine_is_what_is_asked_for_or_needed() {
        check(&["a.tex: % !TEX program = lualatex\nDOC"], "a.tex lualatex");
        check(&["a.tex: % !TEX program = rm\nDOC"], "a.tex pdflatex");
        check(&["a.tex: \\usepackage{x,fontspec} DOC"], "a.tex xelatex");
        check(&["a.tex: \\usepackage{fontspec} DOC \\directlua{}"], "a.tex lualatex");
        check(
            &["a.tex: \\usepackage{own} DOC", "own.sty: \\RequirePackage{unicode-math}"],
            "a.tex xelatex",
        );
        check(&["a.tex: \\ifxetex\\usepackage{fontspec}\\fi DOC"], "a.tex pdflatex");
        check(&["a.tex: %\\usepackage{fontspec}\nDOC"], "a.tex pdflatex");
    }

    #[test]
    fn files_that_name_each_other_without_end_are_seen_once() {
        let text = DOC.to_owned() + &"\\input{a}\\subfile{a}\\subimport{.}{a}".repeat(3000);
        let sources = [Source { path: "a.tex", text: &text }];
        assert_eq!(find(&sources, None).candidates().len(), 1);
        let names: Vec<String> = (0..2000).map(|at| format!("f{at}.tex")).collect();
        let texts: Vec<String> =
            (0..2000).map(|at| format!("{DOC}\\input{{f{}}}", (at + 1) % 2000)).collect();
        let sources: Vec<Source<'_>> =
            std::iter::zip(&names, &texts).map(|(path, text)| Source { path, text }).collect();
        assert_eq!(find(&sources, None).candidates().len(), MAX_CANDIDATES);
    }
}
