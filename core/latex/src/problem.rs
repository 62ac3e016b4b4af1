//! What is wrong with a paper, as a person reads it: one shape for TeX's own log, the logs of its
//! helpers, and our checker.

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing: an overfull box.
    Info,
    /// The page is there, but something on it is not as meant.
    Warning,
    /// TeX stopped, or went on without what was meant.
    Error,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Relative to the paper's folder, `/` between the parts.
    pub file: String,
    /// From 1; none where only the file is known.
    pub line: Option<u32>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Where it was reported; none where nothing of the paper is to blame.
    pub place: Option<Place>,
    /// What the program said, without its decoration: one line, or a few.
    pub message: String,
    /// Where it truly began, if that is known and another place.
    pub cause: Option<Place>,
}
