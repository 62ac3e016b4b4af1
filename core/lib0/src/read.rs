//! Reads lib0's primitive forms from a byte slice: the only place that looks at foreign bytes one by one.
//!
//! ```text
//! unsigned   7 bits a byte, lowest first; 0x80: more follows
//!            300 = 0b10_0101100        ->  1|0101100  0|0000010              ac 02
//! signed     the first byte spends 0x40 on the sign and has 6 bits, so that -0 differs from 0
//!            -300 = -(0b100_101100)    ->  1|1|101100  0|0000100             ec 04
//!            0                                                               00
//!            -0                                                              40
//! bytes      unsigned length in bytes, then the bytes
//! string     the same, of UTF-8
//! ```
//!
//! Numbers have at most 53 bits, as in JavaScript. Longer ones, and bytes that run past the end, are errors that name
//! the byte.
//!
//! ```
//! use lib0::{Reader, write_var_i64, write_var_str, write_var_u64};
//!
//! let mut out = Vec::new();
//! write_var_u64(&mut out, 300);
//! write_var_i64(&mut out, -300);
//! write_var_str(&mut out, "hé");
//! assert_eq!(out, [0xac, 0x02, 0xec, 0x04, 3, b'h', 0xc3, 0xa9]);
//!
//! let mut reader = Reader::new(&out);
//! assert_eq!(reader.var_u64()?, 300);
//! assert_eq!(reader.var_signed()?, (true, 300));
//! assert_eq!(reader.var_str()?, "hé");
//! assert!(reader.u8().is_err());
//! # Ok::<(), lib0::ReadError>(())
//! ```

use thiserror::Error;

/// The largest integer that JavaScript holds exactly, and so the largest number of the format.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// What was wrong with foreign bytes, and at which byte of the input.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} at byte {at}")]
pub struct ReadError {
    /// Offset into the bytes that were read.
    pub at: usize,
    /// What was wrong, in words.
    pub what: &'static str,
}

/// A cursor over bytes from outside.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` starts in the whole input, so that errors name a byte of the whole.
    base: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, base: 0 }
    }

    /// Offset of the next byte in the whole input.
    pub fn position(&self) -> usize {
        self.base + self.at
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Returns an error that names the next byte.
    pub fn error(&self, what: &'static str) -> ReadError {
        ReadError { at: self.position(), what }
    }

    /// Reads one byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, ReadError> {
        match self.bytes.get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(self.error("unexpected end")),
        }
    }

    /// Reads `len` raw bytes.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], ReadError> {
        if len > self.remaining() {
            return Err(self.error("length runs past the end"));
        }
        let slice = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(slice)
    }

    /// Reads everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let slice = &self.bytes[self.at..];
        self.at = self.bytes.len();
        slice
    }

    /// The next eight bytes, lowest first, if as many are there.
    #[inline]
    pub fn peek(&self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..)?.first_chunk::<8>()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Passes over bytes that were peeked at.
    #[inline]
    pub fn skip(&mut self, len: usize) {
        self.at = (self.at + len).min(self.bytes.len());
    }

    /// As [`Reader::quick_var_u64`], of up to four bytes, at once.
    #[inline]
    pub fn quick_var_u32(&mut self) -> Option<u32> {
        #[expect(clippy::cast_possible_truncation, reason = "the lower four bytes")]
        let word = self.peek()? as u32;
        // The lowest top bit that is not set is in the last byte.
        let ends = !word & 0x8080_8080;
        if ends == 0 {
            return None;
        }
        let groups = word & (ends ^ (ends - 1)) & 0x7f7f_7f7f;
        let pairs = groups & 0x007f_007f | (groups & 0x7f00_7f00) >> 1;
        self.at += ends.trailing_zeros() as usize / 8 + 1;
        Some(pairs & 0x3fff | (pairs & 0x3fff_0000) >> 2)
    }

    /// As [`Reader::var_u64`], for who reads once more, slowly, what could not be read like this: `None` for what is
    /// malformed, and for numbers within eight bytes of the end. What was read until then is lost.
    #[inline]
    pub fn quick_var_u64(&mut self) -> Option<u64> {
        match *self.bytes.get(self.at..)? {
            [first, ..] if first < 0x80 => {
                self.at += 1;
                Some(u64::from(first))
            }
            [first, second, ..] if second < 0x80 => {
                self.at += 2;
                Some(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            _ => self.var_u64_at_once(),
        }
    }

    /// Reads an unsigned number of at most 53 bits.
    #[inline]
    pub fn var_u64(&mut self) -> Result<u64, ReadError> {
        match self.bytes.get(self.at) {
            Some(&first) if first < 0x80 => {
                self.at += 1;
                Ok(u64::from(first))
            }
            _ => match self.var_u64_at_once() {
                Some(number) => Ok(number),
                None => self.slow_var_u64(),
            },
        }
    }

    /// Reads a number of up to eight bytes at once, if as many are there and it is one. Out of line and without an
    /// error to hand back, so that it is a call with nothing but registers.
    #[inline(never)]
    fn var_u64_at_once(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..)?.first_chunk::<8>()?;
        let word = u64::from_le_bytes(*bytes);
        // The lowest top bit that is not set is in the last byte.
        let ends = !word & 0x8080_8080_8080_8080;
        let groups = word & (ends ^ ends.wrapping_sub(1)) & 0x7f7f_7f7f_7f7f_7f7f;
        // Groups of 7 bits move together: two, then four, then all eight.
        let pairs = groups & 0x007f_007f_007f_007f | (groups & 0x7f00_7f00_7f00_7f00) >> 1;
        let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
        let number = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
        if ends == 0 || number > MAX_SAFE_INTEGER {
            return None;
        }
        self.at += ends.trailing_zeros() as usize / 8 + 1;
        Some(number)
    }

    /// Reads a number byte by byte: near the end, and what is none.
    #[cold]
    fn slow_var_u64(&mut self) -> Result<u64, ReadError> {
        let first = self.u8()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.u8()?;
            if shift > 49 {
                return Err(self.error("number beyond 53 bits"));
            }
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return if number <= MAX_SAFE_INTEGER {
                    Ok(number)
                } else {
                    Err(self.error("number beyond 53 bits"))
                };
            }
        }
    }

    /// Reads an unsigned number that must fit 32 bits.
    #[inline]
    pub fn var_u32(&mut self) -> Result<u32, ReadError> {
        let number = self.var_u64()?;
        u32::try_from(number).map_err(|_| self.error("number beyond 32 bits"))
    }

    /// Reads a signed number as its sign (`true` for minus, so that -0 is kept) and its magnitude of at most 53 bits.
    #[inline]
    pub fn var_signed(&mut self) -> Result<(bool, u64), ReadError> {
        let first = self.u8()?;
        let negative = first & 0x40 != 0;
        let mut number = u64::from(first & 0x3f);
        if first < 0x80 {
            return Ok((negative, number));
        }
        let mut shift = 6;
        loop {
            let byte = self.u8()?;
            if shift > 48 {
                return Err(self.error("number beyond 53 bits"));
            }
            number |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return if number <= MAX_SAFE_INTEGER {
                    Ok((negative, number))
                } else {
                    Err(self.error("number beyond 53 bits"))
                };
            }
        }
    }

    /// Reads a length and that many bytes.
    #[inline]
    pub fn var_bytes(&mut self) -> Result<&'a [u8], ReadError> {
        let len = self.var_u64()?;
        self.bytes(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// Reads a length and that many bytes as a reader of their own, whose errors name bytes of the whole input.
    pub fn var_reader(&mut self) -> Result<Self, ReadError> {
        let bytes = self.var_bytes()?;
        Ok(Self { bytes, at: 0, base: self.position() - bytes.len() })
    }

    /// Reads a length and that many bytes of UTF-8.
    #[inline]
    pub fn var_str(&mut self) -> Result<&'a str, ReadError> {
        let bytes = self.var_bytes()?;
        core::str::from_utf8(bytes).map_err(|e| ReadError {
            at: self.position() - bytes.len() + e.valid_up_to(),
            what: "not UTF-8",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{write_var_i64, write_var_u64};

    #[test]
    fn numbers_at_the_borders_of_their_groups_come_back() {
        for bits in [0, 6, 7, 13, 14, 20, 21, 28, 32, 52, 53] {
            for near in [-1_i64, 0, 1] {
                let Ok(number) = u64::try_from((1_i64 << bits) + near) else { continue };
                if number > MAX_SAFE_INTEGER {
                    continue;
                }
                let mut out = Vec::new();
                write_var_u64(&mut out, number);
                assert_eq!(Reader::new(&out).var_u64(), Ok(number));
                let mut long = out.clone();
                long.extend([0xff; 8]);
                let mut reader = Reader::new(&long);
                assert_eq!((reader.var_u64(), reader.position()), (Ok(number), out.len()));
                let mut reader = Reader::new(&long);
                assert_eq!((reader.quick_var_u64(), reader.position()), (Some(number), out.len()));
                let mut reader = Reader::new(&long);
                if number < 1 << 28 {
                    assert_eq!(reader.quick_var_u32().map(u64::from), Some(number));
                    assert_eq!(reader.position(), out.len());
                } else {
                    assert_eq!((reader.quick_var_u32(), reader.position()), (None, 0));
                }
                let signed = i64::try_from(number).unwrap();
                for value in [signed, -signed] {
                    let mut out = Vec::new();
                    write_var_i64(&mut out, value);
                    assert_eq!(Reader::new(&out).var_signed(), Ok((value < 0, number)));
                }
            }
        }
    }

    #[test]
    fn over_long_numbers_are_refused_where_they_stand() {
        let bytes = [0xff_u8; 12];
        let error = Reader::new(&bytes).var_u64().unwrap_err();
        assert_eq!(error.what, "number beyond 53 bits");
        assert!(error.at <= 9);
        assert!(Reader::new(&bytes).var_signed().is_err());
        // 2^53 and its neighbor below, in eight bytes, with more behind them and without.
        let mut bytes = vec![0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
        for more in 0..9 {
            let error = Reader::new(&bytes).var_u64().unwrap_err();
            assert_eq!((error.what, error.at), ("number beyond 53 bits", 8), "{more} bytes behind");
            bytes.push(1);
        }
    }

    #[test]
    fn numbers_longer_than_need_be_are_read_as_they_are() {
        for zeros in 0..7 {
            let mut bytes = vec![0x85];
            bytes.extend(vec![0x80; zeros]);
            bytes.extend([0; 10]);
            let mut reader = Reader::new(&bytes);
            assert_eq!((reader.var_u64(), reader.position()), (Ok(5), zeros + 2));
        }
    }

    #[test]
    fn lengths_are_checked_before_anything_is_taken() {
        let bytes = [0xff, 0xff, 0xff, 0x7f, b'a'];
        assert!(Reader::new(&bytes).var_bytes().is_err());
        assert_eq!(Reader::new(&[2, b'a']).var_str().unwrap_err().at, 1);
        assert_eq!(Reader::new(&[2, b'a', 0xff]).var_str().unwrap_err().at, 2);
    }
}
