//! Doors of `lib0`: values in bytes, as JSON, and in columns.

use lib0::columns::{IntDiffOptRleReader, RleReader, StringReader, UintOptRleReader};
use lib0::{Any, Reader, json};

/// A value that describes itself.
pub(super) fn any(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let Ok(value) = Any::read(&mut reader) else { return };
    let mut written = Vec::new();
    value.write(&mut written);
    let again = Any::read(&mut Reader::new(&written)).expect("our own");
    assert_eq!(format!("{again:?}"), format!("{value:?}"));
    if let Some(text) = json::stringify(&value) {
        json::parse(&text).expect("our own JSON");
    }
}

/// JSON.
pub(super) fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Some(value) = json::parse(text) else { return };
    let written = json::stringify(&value).expect("JSON has no undefined");
    let again = json::parse(&written).expect("our own");
    assert_eq!(json::stringify(&again), Some(written));
    // Both read the same language; ours stops at a depth, takes halves of characters, and reads what is too large for
    // a number as JavaScript does, as infinite.
    let theirs: Result<serde_json::Value, _> = serde_json::from_str(text);
    let is_ours = |problem: &serde_json::Error| {
        text.contains("\\u") || problem.to_string().starts_with("number out of range")
    };
    assert!(theirs.as_ref().err().is_none_or(is_ours), "{text:?}: {theirs:?}");
}

/// Columns of the second format of updates.
pub(super) fn columns(bytes: &[u8]) {
    const ENOUGH: usize = 1_000;
    let mut numbers = UintOptRleReader::new(Reader::new(bytes));
    let mut differences = IntDiffOptRleReader::new(Reader::new(bytes));
    let mut letters = RleReader::new(Reader::new(bytes));
    (0..ENOUGH).take_while(|_| numbers.read().is_ok()).for_each(drop);
    (0..ENOUGH).take_while(|_| differences.read().is_ok()).for_each(drop);
    (0..ENOUGH).take_while(|_| letters.read().is_ok()).for_each(drop);
    if let Ok(mut texts) = StringReader::new(Reader::new(bytes)) {
        (0..ENOUGH).take_while(|_| texts.read().is_ok()).for_each(drop);
    }
}
