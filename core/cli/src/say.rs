//! Printing: results to standard output, everything said to a person to standard error.
//!
//! Whoever reads may have gone (a closed pipe); that is no reason to stop keeping a paper level.

use std::io::{Write as _, stderr, stdout};

/// Prints one line of a result.
pub(crate) fn result(line: &str) {
    let mut out = stdout().lock();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Prints bytes of a result as they are.
pub(crate) fn bytes(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Says something to the person.
pub(crate) fn to_person(line: &str) {
    drop(writeln!(stderr().lock(), "{line}"));
}
