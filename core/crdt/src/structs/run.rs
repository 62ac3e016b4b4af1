//! The texts of one client, one after the other in the order of its clocks: an item holds only where its text starts.
//!
//! Places are counted in UTF-16 units from the start of the run, so that cutting an item is an addition and joining two
//! that a person typed one after the other is nothing at all. UTF-8 bytes are found through marks, one about every 256
//! bytes; as long as all is ASCII the unit is the byte.

use lib0::utf16;

/// Bytes between two marks.
const STEP: usize = 256;

/// Append-only text.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextRun {
    text: String,
    units: u32,
    /// Leading bytes that are ASCII.
    ascii: usize,
    /// Beyond the ASCII part: byte and unit of a border between characters, ascending.
    marks: Vec<(usize, u32)>,
}

impl TextRun {
    /// Appends a text of `units` UTF-16 units; returns where it starts, or `None` past 2^32 - 1 units.
    #[inline]
    pub(crate) fn push(&mut self, text: &str, units: u32) -> Option<u32> {
        debug_assert_eq!(utf16::len(text), units as usize);
        let start = self.units;
        let end = start.checked_add(units)?;
        if text.len() == units as usize && self.ascii == self.text.len() {
            self.ascii += text.len();
        } else {
            self.mark(text);
        }
        self.text.push_str(text);
        self.units = end;
        Some(start)
    }

    /// Sets the marks in a text that is about to be appended.
    fn mark(&mut self, text: &str) {
        let mut unit = self.units;
        let base = self.text.len();
        let mut last = self.marks.last().map_or(self.ascii, |mark| mark.0);
        for (at, c) in text.char_indices() {
            if base + at >= last + STEP {
                last = base + at;
                self.marks.push((last, unit));
            }
            if self.ascii == base + at && c.is_ascii() {
                self.ascii += 1;
                last = self.ascii;
            }
            unit += if c.len_utf8() == 4 { 2 } else { 1 };
        }
    }

    /// Finds the byte of a unit; `Err` with the byte of the character's start if the unit lies between two halves.
    #[inline]
    fn byte(&self, unit: u32) -> Result<usize, usize> {
        if unit as usize <= self.ascii { Ok(unit as usize) } else { self.byte_beyond_ascii(unit) }
    }

    fn byte_beyond_ascii(&self, unit: u32) -> Result<usize, usize> {
        let after = self.marks.partition_point(|mark| mark.1 <= unit);
        let (mut byte, mut at) = match after {
            #[expect(clippy::cast_possible_truncation, reason = "units fit 32 bits")]
            0 => (self.ascii, self.ascii as u32),
            _ => self.marks[after - 1],
        };
        for c in self.text[byte..].chars() {
            if at >= unit {
                break;
            }
            let width = if c.len_utf8() == 4 { 2 } else { 1 };
            if at + width > unit {
                return Err(byte);
            }
            at += width;
            byte += c.len_utf8();
        }
        Ok(byte)
    }

    /// Whether a unit lies between the halves of a character.
    pub(crate) fn is_inside_pair(&self, unit: u32) -> bool {
        self.byte(unit).is_err()
    }

    /// Returns `len` units from `start` on. Both ends lie between characters: whoever cuts an item inside a pair puts
    /// U+FFFD in its place first.
    pub(crate) fn slice(&self, start: u32, len: u32) -> &str {
        let from = self.byte(start).unwrap_or_else(|byte| byte);
        let to = self.byte(start + len).unwrap_or_else(|byte| byte);
        &self.text[from..to]
    }

    /// As [`TextRun::slice`]; `None` if an end lies inside a pair.
    #[inline]
    pub(crate) fn part(&self, start: u32, len: u32) -> Option<&str> {
        let (from, to) = (self.byte(start).ok()?, self.byte(start + len).ok()?);
        Some(&self.text[from..to])
    }

    /// Length in UTF-16 units.
    pub(crate) fn len(&self) -> u32 {
        self.units
    }

    /// Bytes held.
    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity() + self.marks.capacity() * size_of::<(usize, u32)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_equals_the_strings_own() {
        let mut run = TextRun::default();
        let mut model: Vec<u16> = Vec::new();
        let pieces = ["plain ascii ", "é", "日本語", "😀", "more ascii ", "x😀y"];
        for n in 0..600 {
            let piece = pieces[if n < 20 { 0 } else { n * 7 % pieces.len() }];
            let units = u32::try_from(utf16::len(piece)).unwrap();
            assert_eq!(run.push(piece, units), u32::try_from(model.len()).ok());
            model.extend(piece.encode_utf16());
        }
        let inside = |at: usize| (0xdc00..0xe000).contains(&model[at]);
        for start in (0..model.len() - 40).step_by(3) {
            assert_eq!(run.is_inside_pair(u32::try_from(start).unwrap()), inside(start));
            for len in [0, 1, 2, 7, 33] {
                if inside(start) || inside(start + len) {
                    continue;
                }
                let slice = run.slice(u32::try_from(start).unwrap(), u32::try_from(len).unwrap());
                assert_eq!(slice, String::from_utf16(&model[start..start + len]).unwrap());
            }
        }
    }
}
