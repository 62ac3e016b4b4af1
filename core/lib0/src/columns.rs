//! The run-length columns of the second update format: fields of one kind, written one behind the other without the
//! others between them, so that what repeats is close together.
//!
//! ```text
//! UintOptRle     a run of equal numbers: the number, signed; minus (also -0) says that its count - 2 follows
//!                7 7 7 0        ->  -7, 3-2 | 0                                        47 01 00
//! IntDiffOptRle  a run of equal differences to the number before (0 before the first): difference * 2 + 1 if its
//!                count - 2 follows, else difference * 2; signed
//!                3 4 5 9        ->  3*2 | 1*2+1, 2-2 | 4*2    (differences 3 1 1 4)    06 03 00 08
//! Rle            a run of equal bytes: the byte, count - 1; the last run has no count and never ends
//!                7 7 1          ->  7, 2-1 | 1                                         07 01 01
//! String         all strings joined, as one string; then their lengths in UTF-16 units as UintOptRle
//!                "a" "é" "bc"   ->  5 bytes, 61 c3 a9 62 63 | -1, 2-2 | 2              05 61 c3 a9 62 63 41 00 02
//! ```
//!
//! A reader that is asked for more than was written gets an error, but for the last run of Rle.
//!
//! ```
//! use lib0::columns::{IntDiffOptRleWriter, RleWriter, StringWriter, UintOptRleWriter};
//!
//! let mut numbers = UintOptRleWriter::default();
//! [7, 7, 7, 0].map(|number| numbers.write(number));
//! assert_eq!(numbers.finish(), [0x47, 1, 0]);
//!
//! let mut clocks = IntDiffOptRleWriter::default();
//! [3, 4, 5, 9].map(|clock| clocks.write(clock));
//! assert_eq!(clocks.finish(), [6, 3, 0, 8]);
//!
//! let mut bytes = RleWriter::default();
//! [7, 7, 1].map(|byte| bytes.write(byte));
//! assert_eq!(bytes.finish(), [7, 1, 1]);
//!
//! let mut strings = StringWriter::default();
//! ["a", "é", "bc"].map(|text| strings.write(text, text.encode_utf16().count() as u64));
//! assert_eq!(strings.finish(), ("aébc".as_bytes(), &[0x41, 0, 2][..]));
//! ```

use std::borrow::Cow;

use crate::read::{ReadError, Reader};
use crate::utf16::{self, Place};
use crate::write::{
    Sink, var_u64_len, write_var_bytes, write_var_i64, write_var_signed, write_var_u64,
};

/// Bytes a column holds before it takes memory of its own: more than one edit writes.
const NEAR: usize = 22;

/// A column that is being written. An update of one edit has ten of them with a few bytes each, so these lie in the
/// column itself.
#[derive(Debug, Default)]
struct Column {
    len: usize,
    near: [u8; NEAR],
    /// All bytes, once they are more than `NEAR`.
    far: Vec<u8>,
}

impl Column {
    fn bytes(&self) -> &[u8] {
        if self.len <= NEAR { &self.near[..self.len] } else { &self.far }
    }

    #[cold]
    fn spill(&mut self) {
        self.far.reserve(4 * NEAR);
        self.far.extend_from_slice(&self.near[..self.len]);
    }
}

impl Sink for Column {
    #[inline]
    fn push(&mut self, byte: u8) {
        if self.len < NEAR {
            self.near[self.len] = byte;
        } else {
            if self.len == NEAR {
                self.spill();
            }
            self.far.push(byte);
        }
        self.len += 1;
    }

    #[inline]
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        if end <= NEAR {
            self.near[self.len..end].copy_from_slice(bytes);
        } else {
            if self.len <= NEAR {
                self.spill();
            }
            self.far.extend_from_slice(bytes);
        }
        self.len = end;
    }
}

/// Writes unsigned numbers, runs of equal ones as one.
#[derive(Debug, Default)]
pub struct UintOptRleWriter {
    out: Column,
    value: u64,
    count: u64,
}

impl UintOptRleWriter {
    /// Adds a number.
    #[inline]
    pub fn write(&mut self, value: u64) {
        if self.value == value && self.count > 0 {
            self.count += 1;
        } else {
            self.flush();
            self.count = 1;
            self.value = value;
        }
    }

    fn flush(&mut self) {
        if self.count > 0 {
            write_var_signed(&mut self.out, self.count > 1, self.value);
            if self.count > 1 {
                write_var_u64(&mut self.out, self.count - 2);
            }
        }
    }

    /// Ends the column; returns its bytes.
    pub fn finish(&mut self) -> &[u8] {
        self.flush();
        self.count = 0;
        self.out.bytes()
    }
}

/// Reads what [`UintOptRleWriter`] wrote.
#[derive(Debug, Clone)]
pub struct UintOptRleReader<'a> {
    reader: Reader<'a>,
    value: u64,
    count: u64,
}

impl<'a> UintOptRleReader<'a> {
    /// Starts at the column's first number.
    pub fn new(reader: Reader<'a>) -> Self {
        Self { reader, value: 0, count: 0 }
    }

    /// Reads a number.
    #[inline]
    pub fn read(&mut self) -> Result<u64, ReadError> {
        if self.count == 0 {
            self.next_run()?;
        }
        self.count -= 1;
        Ok(self.value)
    }

    /// Passes over so many numbers, if these are equal to one and in one run. Returns whether they are.
    #[inline]
    pub fn pass(&mut self, value: u64, count: u64) -> Result<bool, ReadError> {
        if self.count == 0 {
            self.next_run()?;
        }
        let is_passed = self.value == value && self.count >= count;
        if is_passed {
            self.count -= count;
        }
        Ok(is_passed)
    }

    fn next_run(&mut self) -> Result<(), ReadError> {
        let (negative, value) = self.reader.var_signed()?;
        self.value = value;
        self.count = if negative { self.reader.var_u64()?.saturating_add(2) } else { 1 };
        Ok(())
    }
}

/// Writes numbers as differences, runs of equal differences as one.
#[derive(Debug, Default)]
pub struct IntDiffOptRleWriter {
    out: Column,
    value: i64,
    difference: i64,
    count: u64,
}

impl IntDiffOptRleWriter {
    /// Adds a number of at most 53 bits.
    #[inline]
    pub fn write(&mut self, value: u64) {
        #[expect(clippy::cast_possible_wrap, reason = "at most 53 bits")]
        let value = value as i64;
        if self.count > 0 && self.difference == value - self.value {
            self.count += 1;
        } else {
            self.flush();
            self.count = 1;
            self.difference = value - self.value;
        }
        self.value = value;
    }

    fn flush(&mut self) {
        if self.count > 0 {
            write_var_i64(&mut self.out, self.difference * 2 + i64::from(self.count > 1));
            if self.count > 1 {
                write_var_u64(&mut self.out, self.count - 2);
            }
        }
    }

    /// Ends the column; returns its bytes.
    pub fn finish(&mut self) -> &[u8] {
        self.flush();
        self.count = 0;
        self.out.bytes()
    }
}

/// Reads what [`IntDiffOptRleWriter`] wrote.
#[derive(Debug, Clone)]
pub struct IntDiffOptRleReader<'a> {
    reader: Reader<'a>,
    value: i64,
    difference: i64,
    count: u64,
}

impl<'a> IntDiffOptRleReader<'a> {
    /// Starts at the column's first number.
    pub fn new(reader: Reader<'a>) -> Self {
        Self { reader, value: 0, difference: 0, count: 0 }
    }

    /// Reads a number; one below zero or beyond 53 bits is an error.
    #[inline]
    pub fn read(&mut self) -> Result<u64, ReadError> {
        if self.count == 0 {
            let (negative, magnitude) = self.reader.var_signed()?;
            #[expect(clippy::cast_possible_wrap, reason = "at most 53 bits")]
            let encoded = if negative { -(magnitude as i64) } else { magnitude as i64 };
            self.difference = encoded.div_euclid(2);
            self.count =
                if encoded & 1 == 1 { self.reader.var_u64()?.saturating_add(2) } else { 1 };
        }
        self.count -= 1;
        self.value += self.difference;
        u64::try_from(self.value)
            .ok()
            .filter(|&value| value <= crate::read::MAX_SAFE_INTEGER)
            .ok_or_else(|| self.reader.error("number out of bounds"))
    }
}

/// Writes bytes, runs of equal ones as one; the last run's count is left out.
#[derive(Debug, Default)]
pub struct RleWriter {
    out: Column,
    value: Option<u8>,
    count: u64,
}

impl RleWriter {
    /// Adds a byte.
    #[inline]
    pub fn write(&mut self, value: u8) {
        if self.value == Some(value) {
            self.count += 1;
        } else {
            if self.count > 0 {
                write_var_u64(&mut self.out, self.count - 1);
            }
            self.count = 1;
            self.out.push(value);
            self.value = Some(value);
        }
    }

    /// Ends the column; returns its bytes.
    pub fn finish(&mut self) -> &[u8] {
        self.out.bytes()
    }
}

/// Reads what [`RleWriter`] wrote.
#[derive(Debug, Clone)]
pub struct RleReader<'a> {
    reader: Reader<'a>,
    value: u8,
    /// `None`: the last run, which never ends.
    count: Option<u64>,
}

impl<'a> RleReader<'a> {
    /// Starts at the column's first byte.
    pub fn new(reader: Reader<'a>) -> Self {
        Self { reader, value: 0, count: Some(0) }
    }

    /// Reads a byte.
    #[inline]
    pub fn read(&mut self) -> Result<u8, ReadError> {
        let value = self.peek()?;
        self.count = self.count.map(|count| count - 1);
        Ok(value)
    }

    /// The byte that is read next.
    #[inline]
    pub fn peek(&mut self) -> Result<u8, ReadError> {
        if self.count == Some(0) {
            self.value = self.reader.u8()?;
            self.count = if self.reader.is_empty() {
                None
            } else {
                Some(self.reader.var_u64()?.saturating_add(1))
            };
        }
        Ok(self.value)
    }
}

/// Writes strings, joined, with their lengths in a column of their own.
#[derive(Debug, Default)]
pub struct StringWriter {
    text: Column,
    lengths: UintOptRleWriter,
}

impl StringWriter {
    /// Adds a string of so many UTF-16 units.
    #[inline]
    pub fn write(&mut self, text: &str, units: u64) {
        self.text.extend_from_slice(text.as_bytes());
        self.lengths.write(units);
    }

    /// Ends the column; returns its parts: the joined strings, which take their length in front, and the lengths.
    pub fn finish(&mut self) -> (&[u8], &[u8]) {
        (self.text.bytes(), self.lengths.finish())
    }
}

/// Joins columns, each with its length in front, and what has no column behind them.
///
/// The strings stand behind `before` and before `after`.
pub fn join(
    before: &[&[u8]],
    (text, lengths): (&[u8], &[u8]),
    after: &[&[u8]],
    rest: &[u8],
) -> Vec<u8> {
    let string_len = var_u64_len(text.len() as u64) + text.len() + lengths.len();
    let columns: usize = before.iter().chain(after).map(|column| column.len()).sum();
    // Lengths in front of columns take a byte each, or little beside the column.
    let lens = 2 * (before.len() + after.len() + 1);
    let mut out = Vec::with_capacity(1 + lens + columns + string_len + rest.len());
    out.push(0);
    for column in before {
        write_var_bytes(&mut out, column);
    }
    write_var_u64(&mut out, string_len as u64);
    write_var_bytes(&mut out, text);
    out.extend_from_slice(lengths);
    for column in after {
        write_var_bytes(&mut out, column);
    }
    out.extend_from_slice(rest);
    out
}

/// Reads what [`StringWriter`] wrote.
#[derive(Debug, Clone)]
pub struct StringReader<'a> {
    text: &'a str,
    ascii: bool,
    /// The next string starts with the second half of the character before.
    half: bool,
    lengths: UintOptRleReader<'a>,
}

impl Default for StringReader<'_> {
    /// An empty column.
    fn default() -> Self {
        Self {
            text: "",
            ascii: true,
            half: false,
            lengths: UintOptRleReader::new(Reader::new(&[])),
        }
    }
}

impl<'a> StringReader<'a> {
    /// Starts at the column's first string.
    pub fn new(mut reader: Reader<'a>) -> Result<Self, ReadError> {
        let text = reader.var_str()?;
        Ok(Self {
            text,
            ascii: text.is_ascii(),
            half: false,
            lengths: UintOptRleReader::new(reader),
        })
    }

    /// Reads a string and its length in UTF-16 units. A character cut in two by the lengths is U+FFFD in both.
    #[inline]
    pub fn read(&mut self) -> Result<(Cow<'a, str>, usize), ReadError> {
        let units = usize::try_from(self.lengths.read()?).unwrap_or(usize::MAX);
        if self.ascii {
            if units > self.text.len() {
                return Err(self.lengths.reader.error("string runs past its column"));
            }
            let (head, tail) = self.text.split_at(units);
            self.text = tail;
            return Ok((Cow::Borrowed(head), units));
        }
        if units == 0 {
            return Ok((Cow::Borrowed(""), 0));
        }
        let lead = std::mem::take(&mut self.half);
        let wanted = units - usize::from(lead);
        let (head, rest, cut) = match utf16::scan(self.text, wanted) {
            Place::Border(at) => (&self.text[..at], &self.text[at..], false),
            Place::Inside(at) => (&self.text[..at], &self.text[at + 4..], true),
            Place::Beyond => return Err(self.lengths.reader.error("string runs past its column")),
        };
        self.text = rest;
        self.half = cut;
        if !lead && !cut {
            return Ok((Cow::Borrowed(head), units));
        }
        let mut text = String::with_capacity(head.len() + 6);
        if lead {
            text.push_str(utf16::REPLACEMENT);
        }
        text.push_str(head);
        if cut {
            text.push_str(utf16::REPLACEMENT);
        }
        Ok((Cow::Owned(text), units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::write_var_str;

    #[test]
    fn numbers_come_back() {
        let rows: [&[u64]; 5] =
            [&[], &[0], &[0, 0, 0], &[1, 2, 3, 4, 9, 9], &[1 << 40, 0, 7, 7, 7, (1 << 32) - 1]];
        for row in rows {
            let mut uint = UintOptRleWriter::default();
            let mut diff = IntDiffOptRleWriter::default();
            for &n in row {
                uint.write(n);
                diff.write(n);
            }
            let (uint, diff) = (uint.finish(), diff.finish());
            let mut uint = UintOptRleReader::new(Reader::new(uint));
            let mut diff = IntDiffOptRleReader::new(Reader::new(diff));
            for &n in row {
                assert_eq!(uint.read(), Ok(n));
                assert_eq!(diff.read(), Ok(n));
            }
            assert!(uint.read().is_err(), "nothing may follow");
            assert!(diff.read().is_err(), "nothing may follow");
        }
    }

    #[test]
    fn the_last_run_of_bytes_never_ends() {
        let mut writer = RleWriter::default();
        for byte in [7, 7, 1] {
            writer.write(byte);
        }
        let bytes = writer.finish();
        assert_eq!(bytes, [7, 1, 1]);
        let mut reader = RleReader::new(Reader::new(bytes));
        let read: Vec<_> = (0..5).map(|_| reader.read().unwrap()).collect();
        assert_eq!(read, [7, 7, 1, 1, 1]);
    }

    #[test]
    fn strings_come_back_and_a_cut_pair_is_two_replacements() {
        let mut writer = StringWriter::default();
        for text in ["a", "", "ö😀", "bc"] {
            writer.write(text, utf16::len(text) as u64);
        }
        let (text, lengths) = writer.finish();
        let mut bytes = Vec::new();
        write_var_str(&mut bytes, core::str::from_utf8(text).unwrap());
        bytes.extend_from_slice(lengths);
        let mut reader = StringReader::new(Reader::new(&bytes)).unwrap();
        for (text, len) in [("a", 1), ("", 0), ("ö😀", 3), ("bc", 2)] {
            let (read, units) = reader.read().unwrap();
            assert_eq!((&*read, units), (text, len));
        }
        assert!(reader.read().is_err());

        let mut bytes = Vec::new();
        write_var_str(&mut bytes, "😀");
        bytes.extend([1, 1]);
        let mut reader = StringReader::new(Reader::new(&bytes)).unwrap();
        assert_eq!(reader.read().unwrap().0, "\u{fffd}");
        assert_eq!(reader.read().unwrap().0, "\u{fffd}");
    }
}
