//! UTF-16 code units, JavaScript's measure of text, over UTF-8 strings.

use std::borrow::Cow;

/// What stands for each half of a character that was cut in two.
pub const REPLACEMENT: &str = "\u{fffd}";

/// Returns the length in UTF-16 units.
#[inline]
pub fn len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Where an offset in UTF-16 units falls in UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Between two characters, at this byte.
    Border(usize),
    /// Between the halves of the four-byte character that starts at this byte.
    Inside(usize),
    /// Past the end.
    Beyond,
}

/// Finds the byte of an offset in UTF-16 units; linear in the offset unless the text is ASCII.
pub fn place(text: &str, units: usize) -> Place {
    if text.is_ascii() {
        return if units <= text.len() { Place::Border(units) } else { Place::Beyond };
    }
    scan(text, units)
}

/// As [`place`], without looking at the whole text first: linear in the offset only.
pub(crate) fn scan(text: &str, units: usize) -> Place {
    let mut left = units;
    for (at, c) in text.char_indices() {
        if left == 0 {
            return Place::Border(at);
        }
        let width = c.len_utf16();
        if width > left {
            return Place::Inside(at);
        }
        left -= width;
    }
    if left == 0 { Place::Border(text.len()) } else { Place::Beyond }
}

/// Cuts a text at an offset in UTF-16 units; a character cut in two leaves U+FFFD on both sides, so that the lengths
/// add up, as in Yjs. An offset past the end leaves everything on the left.
pub fn split(text: &str, units: usize) -> (Cow<'_, str>, Cow<'_, str>) {
    match place(text, units) {
        Place::Border(at) => (Cow::Borrowed(&text[..at]), Cow::Borrowed(&text[at..])),
        Place::Inside(at) => (
            Cow::Owned(format!("{}{REPLACEMENT}", &text[..at])),
            Cow::Owned(format!("{REPLACEMENT}{}", &text[at + 4..])),
        ),
        Place::Beyond => (Cow::Borrowed(text), Cow::Borrowed("")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_inside_a_pair_keeps_the_length() {
        let check = |text: &str, at: usize, left: &str, right: &str| {
            let (l, r) = split(text, at);
            assert_eq!((&*l, &*r), (left, right));
            assert_eq!(len(&l) + len(&r), len(text));
        };
        check("abc", 1, "a", "bc");
        check("äb", 1, "ä", "b");
        check("a😀b", 1, "a", "😀b");
        check("a😀b", 2, "a\u{fffd}", "\u{fffd}b");
        check("a😀b", 3, "a😀", "b");
        check("a", 9, "a", "");
    }
}
