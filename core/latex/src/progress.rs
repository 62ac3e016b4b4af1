//! How far a build is, read from what latexmk and the engines print while they run.
//!
//! Only told, never relied on: a paper can print what it likes.

use std::time::Duration;

/// Of longer lines the rest is not looked at.
const MAX_LINE: usize = 1 << 12;

/// More commands than this are not listed; a paper could have as many printed as it likes.
const MAX_RAN: usize = 1000;

/// One step of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A program begins.
    Rule {
        /// What is run, as latexmk calls it: `pdflatex`, `bibtex`.
        name: String,
        /// For the how many-th time in this build.
        run: u32,
    },
    /// The program that runs made one more page.
    Page {
        /// How many it made.
        number: u32,
    },
}

/// A command that a build ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// As it was given to the system.
    pub command: String,
    /// Nothing if it was ended before it came to its end.
    pub code: Option<i32>,
    /// From start to end.
    pub took: Duration,
}

/// Reads the output of a build as it comes.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    page: Page,
    pages: u32,
    ran: Vec<Ran>,
    /// When the last of them began, if it still runs.
    began: Option<Duration>,
    /// Something said that there is no room on the disk.
    pub(crate) disk_full: bool,
}

/// Where in `[12]` the reading is.
#[derive(Clone, Copy, Debug, Default)]
enum Page {
    #[default]
    Outside,
    /// A page may begin with the next byte.
    Before,
    Number(u32),
}

impl Reader {
    pub(crate) fn feed(&mut self, bytes: &[u8], now: Duration, tell: &mut dyn FnMut(Progress)) {
        for byte in bytes {
            self.look_for_page(*byte, tell);
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.read(&String::from_utf8_lossy(&line), now, tell);
            } else if self.line.len() < MAX_LINE {
                self.line.push(*byte);
            }
        }
    }

    /// Returns what ran. The last one came to its end only if the build did.
    pub(crate) fn finish(mut self, now: Duration, ended: bool) -> Vec<Ran> {
        self.close(now, ended);
        self.ran
    }

    /// TeX prints `[12` when a page begins to be written, and `]` or more when it is.
    fn look_for_page(&mut self, byte: u8, tell: &mut dyn FnMut(Progress)) {
        self.page = match (self.page, byte) {
            (Page::Before, b'[') => Page::Number(0),
            (Page::Number(digits), b'0'..=b'9') if digits < 6 => Page::Number(digits + 1),
            (Page::Number(digits), b']' | b'{' | b'<' | b' ' | b'\n') if digits > 0 => {
                if self.began.is_some() {
                    self.pages += 1;
                    tell(Progress::Page { number: self.pages });
                }
                Page::Before
            }
            (_, b'\n' | b' ' | b')' | b']' | b'>') => Page::Before,
            _ => Page::Outside,
        };
    }

    fn read(&mut self, line: &str, now: Duration, tell: &mut dyn FnMut(Progress)) {
        if line.contains("No space left on device") || line.contains("fwrite() failed") {
            self.disk_full = true;
        }
        if let Some(rest) = line.strip_prefix("Run number ") {
            let Some((run, rule)) = rest.split_once(" of rule '") else { return };
            // A rule may be called after its file as well: `bibtex /long/path/main`.
            let name = rule.split([' ', '\'']).next().unwrap_or_default().to_owned();
            let Ok(run) = run.parse() else { return };
            self.pages = 0;
            tell(Progress::Rule { name, run });
        } else if let Some(command) = line.strip_prefix("Running '") {
            self.close(now, true);
            let command = command.strip_suffix('\'').unwrap_or(command);
            let command = command.split_whitespace().collect::<Vec<_>>().join(" ");
            if self.ran.len() < MAX_RAN {
                self.ran.push(Ran { command, code: None, took: Duration::ZERO });
                self.began = Some(now);
            }
        } else if line.starts_with("Latexmk:") {
            self.close(now, true);
        } else if let Some((rule, code)) = line.split_once(": Command for '") {
            let Some((_, code)) = code.split_once("gave return code ") else { return };
            let code = code.trim().parse().ok();
            let name = rule.split_whitespace().next().unwrap_or_default();
            let of_rule = |ran: &&mut Ran| ran.command.split(' ').next() == Some(name);
            if let Some(ran) = self.ran.iter_mut().rev().find(of_rule) {
                ran.code = code;
            }
        }
    }

    fn close(&mut self, now: Duration, ended: bool) {
        let Some(began) = self.began.take() else { return };
        if let Some(ran) = self.ran.last_mut() {
            ran.took = now.saturating_sub(began);
            ran.code = ran.code.or(ended.then_some(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told of a text that comes in one piece, and in pieces of one byte.
    fn told(text: &str) -> (Vec<String>, Vec<Ran>) {
        let read = |pieces: Vec<&[u8]>| {
            let mut told = Vec::new();
            let mut reader = Reader::default();
            let mut tell = |progress| {
                told.push(match progress {
                    Progress::Rule { name, run } => format!("{name} {run}"),
                    Progress::Page { number } => format!("[{number}]"),
                });
            };
            for piece in pieces {
                reader.feed(piece, Duration::from_secs(3), &mut tell);
            }
            (told, reader.finish(Duration::from_secs(5), true))
        };
        let whole = read(vec![text.as_bytes()]);
        assert_eq!(whole, read(text.as_bytes().chunks(1).collect()));
        whole
    }

    #[test]
    fn rules_and_pages_are_told() {
        let text = "[1]\nRun number 2 of rule 'pdflatex'\nRunning 'pdflatex  \"a.tex\"'\n\
            (./a.tex [1{/x/pdftex.map}] [2 <./f.pdf>] [3] [] [x] text[9] [12][13\n] (./b.tex\n[4])\n\
            Latexmk: Getting\n [5] \nRun number 1 of rule 'bibtex /tmp/o/a'\nRunning 'bibtex  \"a.aux\"'\n";
        let (told, ran) = told(text);
        assert_eq!(told, ["pdflatex 2", "[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "bibtex 1"]);
        assert_eq!(ran[0].command, "pdflatex \"a.tex\"");
        assert_eq!((ran[0].took, ran[1].took), (Duration::ZERO, Duration::from_secs(2)));
    }

    #[test]
    fn codes_are_those_that_latexmk_tells_at_its_end() {
        let (_, ran) = told(
            "Running 'pdflatex a'\nLatexmk: x\nRunning 'biber a'\nLatexmk: x\nRunning 'pdflatex a'\n\
             Collected error summary (may duplicate other messages):\n  \
             pdflatex: Command for 'pdflatex' gave return code 1\n",
        );
        let codes: Vec<_> = ran.iter().map(|ran| ran.code).collect();
        assert_eq!(codes, [Some(0), Some(0), Some(1)]);
    }

    #[test]
    fn hostile_output_is_no_trouble() {
        let long = "[1".repeat(100_000) + &"Running 'x'\n".repeat(5000);
        let (_, ran) = told(&long);
        assert!(ran.len() <= MAX_RAN);
        told("Run number 99999999999 of rule 'x'\nRun number \nRunning '\n: Command for '\n");
    }
}
