//! What one TeX file says of other files: one pass over its text, comments and verbatim text left
//! out. Commands are found by their names; what macros make of them is not seen.

use super::MAX_NAMES;

/// What a file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// `% !TEX root = ...`
    pub(super) magic_root: Option<String>,
    /// `% !TeX program = ...`
    pub(super) magic_program: Option<String>,
    /// The class of `\documentclass`.
    pub(super) class: Option<String>,
    /// Its options.
    pub(super) class_options: String,
    pub(super) begins_document: bool,
    pub(super) refers: Vec<Refers>,
    pub(super) packages: Vec<String>,
    /// Asks which engine runs it.
    pub(super) asks_engine: bool,
    pub(super) uses_lua: bool,
}

/// Another file, as it is named.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refers {
    /// From the folder that TeX runs in.
    Input(String),
    /// As `Input`, or from the folder of the file itself.
    Subfile(String),
    /// `\import`: a folder, from the one that TeX runs in, and a file.
    Import(String, String),
    /// `\subimport`: a folder, from the one that was imported from last, and a file.
    Subimport(String, String),
}

pub(super) fn scan(text: &str) -> Scan {
    let mut scan = Scan::default();
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '%']) {
        let here = &rest[at..];
        if let Some(comment) = here.strip_prefix('%') {
            let (line, after) = comment.split_once('\n').unwrap_or((comment, ""));
            scan.magic(line);
            rest = after;
            continue;
        }
        let name_and_rest = &here[1..];
        let length = name_and_rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        if length == 0 {
            // An escaped sign: `\%` begins no comment.
            let sign = name_and_rest.chars().next().map_or(0, char::len_utf8);
            rest = &name_and_rest[sign..];
            continue;
        }
        let (name, after) = name_and_rest.split_at(length);
        rest = scan.command(name, after);
        if scan.ended(name) {
            break;
        }
    }
    scan
}

impl Scan {
    fn ended(&self, name: &str) -> bool {
        name == "endinput" || self.refers.len() + self.packages.len() >= MAX_NAMES
    }

    fn magic(&mut self, comment: &str) {
        let comment = comment.trim_start_matches('%').trim_start();
        let Some(comment) = comment.strip_prefix('!') else { return };
        let comment = comment.trim_start();
        let Some(tex) = comment.get(..3).filter(|tex| tex.eq_ignore_ascii_case("tex")) else {
            return;
        };
        let Some((key, value)) = comment[tex.len()..].split_once('=') else { return };
        let value = value.trim().to_owned();
        match key.trim().to_ascii_lowercase().as_str() {
            "root" if self.magic_root.is_none() => self.magic_root = Some(value),
            "program" | "ts-program" if self.magic_program.is_none() => {
                self.magic_program = Some(value);
            }
            _ => {}
        }
    }

    /// Takes a command and what it needs of the text behind it; returns the rest.
    fn command<'a>(&mut self, name: &str, after: &'a str) -> &'a str {
        match name {
            "documentclass" => {
                let (options, after) = optional(after);
                let (class, after) = argument(after);
                if let (None, Some(class)) = (&self.class, class) {
                    self.class = Some(class);
                    options.unwrap_or_default().clone_into(&mut self.class_options);
                }
                after
            }
            "usepackage" | "RequirePackage" | "RequirePackageWithOptions" => {
                let (_, after) = optional(after);
                let (names, after) = argument(after);
                let names = names.unwrap_or_default();
                let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                self.packages.extend(names.map(str::to_owned));
                after
            }
            "input" | "include" | "InputIfFileExists" | "loadglsentries" | "LoadClass" => {
                let (file, after) = argument(after);
                let (file, after) = match file {
                    Some(file) => (Some(file), after),
                    None if name == "input" => bare_name(after),
                    None => (None, after),
                };
                self.refers.extend(file.map(Refers::Input));
                after
            }
            "subfile" | "subfileinclude" => {
                let (file, after) = argument(after);
                self.refers.extend(file.map(Refers::Subfile));
                after
            }
            "import" | "includefrom" | "inputfrom" | "subimport" | "subincludefrom"
            | "subinputfrom" => {
                let (folder, after) = argument(after.strip_prefix('*').unwrap_or(after));
                let (file, after) = argument(after);
                if let (Some(folder), Some(file)) = (folder, file) {
                    self.refers.push(if name.starts_with("sub") {
                        Refers::Subimport(folder, file)
                    } else {
                        Refers::Import(folder, file)
                    });
                }
                after
            }
            "begin" => {
                let (environment, behind) = argument(after);
                match environment.as_deref() {
                    Some("document") => self.begins_document = true,
                    Some(
                        name @ ("verbatim" | "verbatim*" | "Verbatim" | "lstlisting" | "minted"
                        | "comment" | "filecontents" | "filecontents*"),
                    ) => return behind_end(name, behind),
                    Some("luacode" | "luacode*") => self.uses_lua = true,
                    _ => {}
                }
                behind
            }
            "verb" | "lstinline" => behind_verb(after),
            "ifxetex" | "ifluatex" | "ifpdftex" | "ifXeTeX" | "ifLuaTeX" | "ifPDFTeX"
            | "iftutex" | "ifTUTeX" | "ifxetexorluatex" => {
                self.asks_engine = true;
                after
            }
            "directlua" | "luaexec" | "luadirect" => {
                self.uses_lua = true;
                after
            }
            _ => after,
        }
    }
}

/// Returns what stands in square brackets next, if something does.
fn optional(text: &str) -> (Option<&str>, &str) {
    let Some(inside) = text.trim_start().strip_prefix('[') else { return (None, text) };
    let mut depth = 0_u32;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b']' if depth == 0 => return (Some(&inside[..at]), &inside[at + 1..]),
            _ => {}
        }
    }
    (None, text)
}

/// Returns a name in braces next, on one line or folded over several, with its comments gone.
fn argument(text: &str) -> (Option<String>, &str) {
    let Some(inside) = text.trim_start().strip_prefix('{') else { return (None, text) };
    let Some(end) = inside.find(['}', '{']).filter(|end| inside.as_bytes()[*end] == b'}') else {
        return (None, text);
    };
    let lines = inside[..end].lines().map(|line| line.split('%').next().unwrap_or_default().trim());
    let name = lines.collect::<Vec<_>>().join("");
    let name = name.trim_matches('"').to_owned();
    (Some(name), &inside[end + 1..])
}

/// Returns the name behind `\input` without braces.
fn bare_name(text: &str) -> (Option<String>, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    let quoted = text.strip_prefix('"');
    let (name, after) = match quoted.and_then(|text| text.split_once('"')) {
        Some(both) => both,
        None => text.split_at(
            text.find([' ', '\t', '\n', '\r', '\\', '{', '}', '%']).unwrap_or(text.len()),
        ),
    };
    ((!name.is_empty()).then(|| name.to_owned()), after)
}

fn behind_end<'a>(environment: &str, text: &'a str) -> &'a str {
    let end = format!("\\end{{{environment}}}");
    text.find(&end).map_or("", |at| &text[at + end.len()..])
}

fn behind_verb(text: &str) -> &str {
    let text = text.strip_prefix('*').unwrap_or(text);
    let Some(sign) = text.chars().next().filter(|sign| !sign.is_whitespace()) else { return text };
    let inside = &text[sign.len_utf8()..];
    let line = inside.split('\n').next().unwrap_or_default();
    line.find(sign).map_or(text, |at| &inside[at + sign.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refers(text: &str) -> String {
        let name = |refers: &Refers| match refers {
            Refers::Input(file) => file.clone(),
            Refers::Subfile(file) => format!("sub {file}"),
            Refers::Import(folder, file) => format!("{folder}|{file}"),
            Refers::Subimport(folder, file) => format!("sub {folder}|{file}"),
        };
        scan(text).refers.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn files_are_found_where_tex_would_read_them() {
        let check = |text, expected| assert_eq!(refers(text), expected, "{text}");
        check("\\input{a}\\include{b/c}\\input d \\input e\\x", "a, b/c, d, e");
        check("\\input{\"a b\"} \\input \"c d\" x", "a b, c d");
        check("\\input % why\n{a}", "");
        check("%\\input{a}\n\\%\\input{b}", "b");
        check("\\verb|\\input{a}|\\verb*!%!\\input{b}", "b");
        check("\\begin{verbatim}\\input{a}\\end{verbatim}\\input{b}", "b");
        check("\\begin{comment}\\input{a}", "");
        check("\\import{a/}{b} \\subimport*{c}{d}\\subfile{e}", "a/|b, sub c|d, sub e");
        check("\\includegraphics{a}\\inputx{b}\\input{c", "");
        check("\\input{a}\\endinput\\input{b}", "a");
        check("\\input{\\dir/a}", "\\dir/a");
        check("\\", "");
        check("\\verb", "");
        check("\\input{é}\\é\\input{\n a % x\n}", "é, a");
    }

    #[test]
    fn magic_comments_are_read_as_they_are_written() {
        let magic = |text| {
            let scan = scan(text);
            (scan.magic_root.unwrap_or_default(), scan.magic_program.unwrap_or_default())
        };
        let check = |text, root: &str, program: &str| {
            assert_eq!(magic(text), (root.to_owned(), program.to_owned()), "{text}");
        };
        check("% !TEX root = ../main.tex\n", "../main.tex", "");
        check("%!TeX root=a b.tex\r\n% !tex program = xelatex", "a b.tex", "xelatex");
        check("%% ! TEX TS-program = lualatex", "", "lualatex");
        check("% arara: pdflatex: { shell: yes }\n% !TEX spellcheck = de", "", "");
        check("% !TÉX root = a", "", "");
        check("% !TEX root = a\n% !TEX root = b", "a", "");
    }

    #[test]
    fn class_and_packages_are_found() {
        let scan = scan("\\documentclass[a={]},b]{x}\\usepackage[o]{p, q,\n r}\\begin{document}");
        assert_eq!(scan.class.as_deref(), Some("x"));
        assert_eq!(scan.class_options, "a={]},b");
        assert_eq!(scan.packages, ["p", "q", "r"]);
        assert!(scan.begins_document && !scan.asks_engine && !scan.uses_lua);
    }
}
