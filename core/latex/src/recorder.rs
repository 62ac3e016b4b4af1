//! Which files of the paper a build read, and which it looked for in vain: from latexmk's list of
//! what the result depends on, and the engine's list of the files it opened.
//!
//! A paper can write into both lists; a name is taken only if it lies in the paper.

use std::collections::BTreeSet;

use crate::root::join;

/// More names than this are not taken.
const MAX_NAMES: usize = 20_000;

/// Returns the files that the result depends on, by latexmk's `-deps-out`: one a line, indented,
/// with `\` behind it. `place` makes a name one of the paper.
pub(crate) fn depends_on(deps: &str, place: &Place<'_>) -> BTreeSet<String> {
    let lines = deps.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.map(|line| line.strip_suffix('\\').unwrap_or(line));
    names.filter_map(|name| place.in_paper(name)).take(MAX_NAMES).collect()
}

/// Returns the files that the engine read and did not write, by its `.fls`.
pub(crate) fn was_read(fls: &str, place: &Place<'_>) -> BTreeSet<String> {
    let of = |kind: &'static str| {
        let names = fls.lines().filter_map(move |line| line.strip_prefix(kind));
        names.filter_map(|name| place.in_paper(name)).take(MAX_NAMES)
    };
    let mut read: BTreeSet<String> = of("INPUT ").collect();
    for written in of("OUTPUT ") {
        read.remove(&written);
    }
    read
}

/// Returns the files that TeX looked for in vain, by its log, as they are named there.
pub(crate) fn looked_for(log: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for line in log.lines() {
        let Some(at) = line.find("File `").or_else(|| line.find("file `")) else { continue };
        let Some((name, rest)) = line[at + 6..].split_once('\'') else { continue };
        let rest = rest.trim_start();
        let in_vain = rest.starts_with("not found") || rest == "." && line[..at].contains("find ");
        if in_vain && !names.iter().any(|known| known == name) && names.len() < 1000 {
            names.push(name.to_owned());
        }
    }
    names
}

/// Where names of a build are counted from.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The paper's folder, absolute, `/` between its parts.
    pub(crate) paper: &'a str,
    /// Where TeX runs, relative to it.
    pub(crate) start: &'a str,
    /// What is written, relative to it, if it lies in it.
    pub(crate) written: Option<&'a str>,
}

impl Place<'_> {
    fn in_paper(&self, name: &str) -> Option<String> {
        let name = name.trim();
        if name.is_empty() {
            return None;
        }
        let name = if let Some(rest) = name.strip_prefix(self.paper) {
            join("", rest.strip_prefix('/')?)
        } else if name.starts_with('/') {
            return None;
        } else {
            join(self.start, name)
        };
        let outside = name.is_empty() || name.split('/').next() == Some("..");
        let written = self.written.is_some_and(|written| {
            name.strip_prefix(written).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        (!outside && !written).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place<'_> = Place { paper: "/p/q", start: "s", written: Some("s/out") };

    #[test]
    fn only_files_of_the_paper_are_taken() {
        let check = |name, expected: Option<&str>| {
            assert_eq!(PLACE.in_paper(name).as_deref(), expected, "{name}");
        };
        check("a b é.tex", Some("s/a b é.tex"));
        check("./t//a.tex", Some("s/t/a.tex"));
        check("../a.tex", Some("a.tex"));
        check("../../a.tex", None);
        check("/p/q/a/./b.tex", Some("a/b.tex"));
        check("/p/qq/a.tex", None);
        check("/usr/share/a.sty", None);
        check("out/a.aux", None);
        check("output.tex", Some("s/output.tex"));
        check("/p/q/../../etc/passwd", None);
        check("", None);
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let deps = "#===Dependents, and related info, for a.tex:\n/o/a.pdf :\\\n    ./r.bib\\\n    \
            /etc/texmf.cnf\\\n    b c.tex\\\n    a.tex\n#===End dependents for a.tex:\n";
        let names = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(", ");
        assert_eq!(names(depends_on(deps, &PLACE)), "s/a.tex, s/b c.tex, s/r.bib");
        let fls = "PWD /p/q/s\nINPUT a.tex\nINPUT /usr/x.sty\nOUTPUT made.tmp\nINPUT made.tmp\nINPUT ./i/b.tex\n";
        assert_eq!(names(was_read(fls, &PLACE)), "s/a.tex, s/i/b.tex");
    }

    #[test]
    fn what_was_looked_for_in_vain_is_named() {
        let check = |log, expected: &[&str]| assert_eq!(looked_for(log), expected, "{log}");
        check("./a.tex:3: LaTeX Error: File `nope.sty' not found.\n", &["nope.sty"]);
        check(
            "! LaTeX Error: File `a b' not found.\n! LaTeX Error: File `a b' not found.",
            &["a b"],
        );
        check("! I can't find file `x'.\n", &["x"]);
        check("Package x Warning: file `y' found\nFile `z\n", &[]);
    }
}
