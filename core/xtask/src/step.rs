//! One program started and waited for, with a line above it that says what is going on.
//!
//! What a test runner prints is passed on line by line, and its counts are read from it.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, bail};

/// Says what begins now.
pub(crate) fn title(what: &str) {
    println!("\n== {what}");
}

/// Runs a program to its end and passes on what it prints; an exit code other than 0 is an error.
pub(crate) fn run(what: &str, command: &mut Command) -> Result<()> {
    title(what);
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("{what}: {} ended with {status}", shown(command));
    }
    Ok(())
}

/// Returns whether a program can be started at all.
pub(crate) fn is_there(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What a test runner counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    /// Adds another runner's counts to these.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// Reads the counts of a runner's closing line: nextest, libtest, Vitest, or the plain
    /// `N passed, N failed`. Returns `None` for any other line.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let plain = without_colors(line);
        let line = plain.trim();
        let counted = if line.starts_with("Summary [") {
            line.split_once(" run: ")?.1
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            rest.split_once(". ")?.1
        } else if let Some(rest) = line.strip_prefix("Tests ") {
            if !line.ends_with(')') {
                return None;
            }
            rest
        } else if line.starts_with(|first: char| first.is_ascii_digit()) && line.ends_with("failed")
        {
            line
        } else {
            return None;
        };
        let mut counts = Self::default();
        let mut found = false;
        let words: Vec<&str> =
            counted.split([' ', ',', ';', '|', '(', ')']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let (Some(number), Some(&word)) = (pair.first(), pair.get(1)) else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match word {
                "passed" => counts.passed += number,
                "failed" | "timed" => counts.failed += number,
                "skipped" | "ignored" | "todo" => counts.skipped += number,
                _ => continue,
            }
            found = true;
        }
        found.then_some(counts)
    }
}

/// Runs a test runner to its end, passes on what it prints, and returns what it counted. A runner
/// that fails without having counted a failure counts as one.
pub(crate) fn count(what: &str, command: &mut Command) -> Result<Counts> {
    title(what);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| cannot_start(command))?;
    let (sender, lines) = mpsc::channel();
    let readers = [
        child.stdout.take().map(|out| pass_on(out, sender.clone())),
        child.stderr.take().map(|err| pass_on(err, sender)),
    ];
    let mut counts = Counts::default();
    for line in lines {
        println!("{line}");
        if let Some(more) = Counts::read(&line) {
            if line.contains("Summary [") {
                // It counts all; failed tests showed their own closing lines before.
                counts = Counts::default();
            }
            counts.add(more);
        }
    }
    for reader in readers.into_iter().flatten() {
        if reader.join().is_err() {
            bail!("{what}: its output could not be read");
        }
    }
    let status = child.wait()?;
    if !status.success() && counts.failed == 0 {
        println!("{} ended with {status}", shown(command));
        counts.failed += 1;
    }
    Ok(counts)
}

fn pass_on(
    source: impl Read + Send + 'static,
    lines: mpsc::Sender<String>,
) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut source = BufReader::new(source);
        let mut line = Vec::new();
        while source.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if lines.send(text).is_err() {
                return;
            }
            line.clear();
        }
    })
}

fn without_colors(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        if next == '\u{1b}' {
            rest.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(next);
        }
    }
    plain
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

fn cannot_start(command: &Command) -> String {
    format!("{} could not be started; is it installed?", shown(command))
}

#[cfg(test)]
mod tests {
    use super::Counts;

    fn check(line: &str, expected: Option<(usize, usize, usize)>) {
        let counts = Counts::read(line).map(|it| (it.passed, it.failed, it.skipped));
        assert_eq!(counts, expected, "{line}");
    }

    #[test]
    fn closing_lines_are_counted_and_others_are_not() {
        check("     Summary [   0.012s] 5 tests run: 5 passed, 0 skipped", Some((5, 0, 0)));
        check(
            "     Summary [   9.1s] 9 tests run: 7 passed (1 slow), 2 failed, 3 skipped",
            Some((7, 2, 3)),
        );
        check(
            "test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out",
            Some((4, 0, 1)),
        );
        check("      Tests  12 passed (12)", Some((12, 0, 0)));
        check("      Tests  1 failed | 11 passed | 2 skipped (14)", Some((11, 1, 2)));
        check("\u{1b}[1m      Tests \u{1b}[22m \u{1b}[32m3 passed\u{1b}[39m (3)", Some((3, 0, 0)));
        check("8 passed, 1 failed", Some((8, 1, 0)));
        check("Tests of the page", None);
        check(" Test Files  2 passed (2)", None);
        check("        PASS [   0.004s] store log::a_torn_tail_is_cut", None);
    }
}
