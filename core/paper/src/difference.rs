//! What a person did to a text, as few small replacements as make sense to a reader.
//!
//! Used when another program wrote a file: each replacement deletes and inserts in the shared
//! document, so what is not part of the real edit must not be touched, or cursors, comments and
//! the other person's concurrent words would go with it.
//!
//! Common ends are cut off first; then lines are compared, words inside the lines that differ, and
//! the replaced words are trimmed at grapheme borders. Lines with hardly a word in common are
//! replaced whole. Two replicas must find the same edits for the same texts, so nothing here may
//! depend on time, chance or the order of a hash map.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

/// A replacement, in UTF-16 units of the text before all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where the replaced range starts.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// What is there instead.
    pub insert: String,
}

/// Above this share of changed bytes in lines that differ, they are replaced whole.
const REPLACE_WHOLE: (usize, usize) = (6, 10);

/// A replacement in bytes: of `before` by that of `after`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    before: Range<usize>,
    after: Range<usize>,
}

/// Returns the edits that make `after` of `before`, sorted and apart from each other.
pub fn difference(before: &str, after: &str) -> Vec<Edit> {
    let ends = common_ends(before, after);
    let mut hunks = Vec::new();
    for lines in token_hunks(&before[ends.before.clone()], &after[ends.after.clone()], lines) {
        let lines = shift(&lines, &ends);
        if lines.before.is_empty() || lines.after.is_empty() {
            hunks.push(lines);
        } else {
            word_hunks(before, after, &lines, &mut hunks);
        }
    }
    edits(before, after, &hunks)
}

fn shift(hunk: &Hunk, by: &Hunk) -> Hunk {
    let shift = |range: &Range<usize>, start: usize| range.start + start..range.end + start;
    Hunk { before: shift(&hunk.before, by.before.start), after: shift(&hunk.after, by.after.start) }
}

fn word_hunks(before: &str, after: &str, lines: &Hunk, hunks: &mut Vec<Hunk>) {
    let (old, new) = (&before[lines.before.clone()], &after[lines.after.clone()]);
    let trimmed: Vec<Hunk> = token_hunks(old, new, words)
        .into_iter()
        .map(|words| {
            let ends = common_ends(&old[words.before.clone()], &new[words.after.clone()]);
            shift(&shift(&ends, &words), lines)
        })
        .collect();
    let changed: usize = trimmed.iter().map(|hunk| hunk.before.len() + hunk.after.len()).sum();
    if trimmed.len() > 1 && changed * REPLACE_WHOLE.1 > (old.len() + new.len()) * REPLACE_WHOLE.0 {
        hunks.push(shift(&common_ends(old, new), lines));
    } else {
        hunks.extend(trimmed);
    }
}

/// Returns what is left of both when what they share at both ends is cut off, at borders of
/// graphemes.
fn common_ends(before: &str, after: &str) -> Hunk {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let mut start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    while !(is_border(before, start) && is_border(after, start)) {
        start -= 1;
    }
    let rest = old[start..].iter().rev().zip(new[start..].iter().rev());
    let mut end = rest.take_while(|(one, other)| one == other).count();
    while !(is_border(before, old.len() - end) && is_border(after, new.len() - end)) {
        end -= 1;
    }
    Hunk { before: start..old.len() - end, after: start..new.len() - end }
}

/// Is this a border between graphemes? The ends of a text are.
fn is_border(text: &str, at: usize) -> bool {
    if !text.is_char_boundary(at) {
        return false;
    }
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// Words, runs of spaces, line ends, and everything else one by one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_word_bounds()
}

fn token_hunks<'a, T: Iterator<Item = &'a str>>(
    before: &'a str,
    after: &'a str,
    tokens: impl Fn(&'a str) -> T,
) -> Vec<Hunk> {
    let mut input: InternedInput<&str> = InternedInput::default();
    input.update_before(tokens(before));
    input.update_after(tokens(after));
    let old = offsets(tokens(before));
    let new = offsets(tokens(after));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let range = |offsets: &[usize], tokens: Range<u32>| {
        offsets[tokens.start as usize]..offsets[tokens.end as usize]
    };
    diff.hunks()
        .map(|hunk| Hunk { before: range(&old, hunk.before), after: range(&new, hunk.after) })
        .collect()
}

/// Returns where each token starts, and the end.
fn offsets<'a>(tokens: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut offsets = vec![0];
    let mut end = 0;
    for token in tokens {
        end += token.len();
        offsets.push(end);
    }
    offsets
}

fn edits(before: &str, after: &str, hunks: &[Hunk]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::with_capacity(hunks.len());
    // The same place in bytes and in UTF-16 units.
    let mut bytes = 0;
    let mut units = 0;
    for hunk in hunks.iter().filter(|hunk| !hunk.before.is_empty() || !hunk.after.is_empty()) {
        let from = units + utf16_len(&before[bytes..hunk.before.start]);
        let to = from + utf16_len(&before[hunk.before.clone()]);
        let insert = &after[hunk.after.clone()];
        match edits.last_mut() {
            Some(last) if last.to == from => {
                last.to = to;
                last.insert.push_str(insert);
            }
            _ => edits.push(Edit { from, to, insert: insert.to_owned() }),
        }
        bytes = hunk.before.end;
        units = to;
    }
    edits
}

fn utf16_len(text: &str) -> u32 {
    // Texts are at most a few MiB.
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(before: &str, edits: &[Edit]) -> String {
        let mut units: Vec<u16> = before.encode_utf16().collect();
        for edit in edits.iter().rev() {
            units.splice(edit.from as usize..edit.to as usize, edit.insert.encode_utf16());
        }
        String::from_utf16(&units).expect("no pair of surrogates is split")
    }

    fn check(before: &str, after: &str, expected: &[(u32, u32, &str)]) {
        let edits = difference(before, after);
        let found: Vec<_> = edits.iter().map(|e| (e.from, e.to, e.insert.as_str())).collect();
        assert_eq!(found, expected, "{before:?} -> {after:?}");
        assert_eq!(apply(before, &edits), after);
    }

    #[test]
    fn edits_are_as_small_as_a_reader_sees_them() {
        check("same\n", "same\n", &[]);
        check("", "new\n", &[(0, 0, "new\n")]);
        check("old\n", "", &[(0, 4, "")]);
        check("one two three", "one 2 three", &[(4, 7, "2")]);
        check("a\nb\nc\n", "a\nx\nb\nc\n", &[(2, 2, "x\n")]);
        check("a\nb\nc\n", "a\nc\n", &[(2, 4, "")]);
        check(
            "The cat sat on the mat.\nNext line here.\nLast.\n",
            "The dog sat on the mat.\nNext line here.\nLast one.\n",
            &[(4, 7, "dog"), (44, 44, " one")],
        );
        check("no end", "no end\n", &[(6, 6, "\n")]);
    }

    #[test]
    fn graphemes_and_surrogates_stay_whole() {
        check("a\u{1f600}b", "a\u{1f601}b", &[(1, 3, "\u{1f601}")]);
        check("e\u{301}", "e\u{300}", &[(0, 2, "e\u{300}")]);
        check("e", "e\u{301}", &[(0, 1, "e\u{301}")]);
        check("👨‍👩‍👧 x", "👨‍👩‍👦 x", &[(0, 8, "👨‍👩‍👦")]);
        check("🇩🇪🇫🇷", "🇩🇪🇮🇹", &[(4, 8, "🇮🇹")]);
    }

    #[test]
    fn lines_with_little_in_common_are_replaced_whole() {
        let before = "alpha beta gamma delta epsilon\n";
        let after = "one two three delta five six seven eight\n";
        assert_eq!(difference(before, after).len(), 1);
    }

    #[test]
    fn a_paragraph_filled_anew_keeps_its_words() {
        let before = "This is a line that is too long for\nthe editor and gets\nfilled.\n";
        let after = "This is a line that is too\nlong for the editor and gets filled.\n";
        let edits = difference(before, after);
        let touched: u32 = edits.iter().map(|e| e.to - e.from + utf16_len(&e.insert)).sum();
        assert_eq!(apply(before, &edits), after);
        assert!(touched <= 8, "{edits:?}");
    }

    #[test]
    fn random_edits_are_found_again() {
        let mut state = 42_u64;
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let pieces =
            ["a", "b ", "word ", "\n", "\u{1f600}", "e\u{301}", "\\cite{x}", "  ", "🇩🇪", "ß"];
        for _ in 0..500 {
            let before: Vec<&str> = (0..random(80)).map(|_| pieces[random(pieces.len())]).collect();
            let mut after = before.clone();
            for _ in 0..random(6) {
                let at = random(after.len() + 1);
                if random(2) == 0 || at == after.len() {
                    after.insert(at, pieces[random(pieces.len())]);
                } else {
                    after.remove(at);
                }
            }
            let (before, after) = (before.concat(), after.concat());
            let edits = difference(&before, &after);
            assert_eq!(apply(&before, &edits), after);
            assert!(edits.windows(2).all(|pair| pair[0].to < pair[1].from));
        }
    }
}
