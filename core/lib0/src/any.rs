//! Self-describing values, as `lib0`'s `writeAny` and `readAny` have them: a tag byte, then the value.
//!
//! ```text
//! 127 undefined   126 null        125 integer (signed, at most 31 bits and a sign; -0 too)
//! 124 float32     123 float64     122 BigInt (64 bits)              (all three big-endian)
//! 121 false       120 true        119 string
//! 118 object: count, then key and value each    117 array: count, then values    116 bytes
//!
//! { size: 1.5, "0": [true, null] }                                 (keys that are array indices come first)
//! 76 02  01 30  75 02 78 7e  04 73 69 7a 65  7c 3f c0 00 00
//! ```
//!
//! A number is an integer if it is whole and fits, else a float32 if that holds it exactly, else a float64. A member
//! named `__proto__` is read and left out, as it is by JavaScript, where setting it makes no member; so that a document
//! that has passed through us has the bytes of one that passed through Yjs. (As JSON text, where JavaScript keeps it,
//! it stays.)
//!
//! ```
//! use lib0::{Any, Reader};
//!
//! let bytes = *b"\x76\x02\x010\x75\x02\x78\x7e\x04size\x7c\x3f\xc0\0\0";
//! let Any::Object(object) = Any::read(&mut Reader::new(&bytes))? else { panic!() };
//! assert_eq!(object.get("size"), Some(&Any::Number(1.5)));
//! assert_eq!(object.get("0"), Some(&Any::Array(vec![Any::Bool(true), Any::Null])));
//! let mut out = Vec::new();
//! Any::Object(object).write(&mut out);
//! assert_eq!(out, bytes);
//! # Ok::<(), lib0::ReadError>(())
//! ```

use crate::read::{ReadError, Reader};
use crate::write::{write_var_bytes, write_var_signed, write_var_str, write_var_u64};

/// Values nested deeper than this are refused.
pub const MAX_DEPTH: usize = 64;

/// A JavaScript value that can stand in a document.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Any {
    /// `undefined`.
    #[default]
    Undefined,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number; how it is written (integer, float32, float64) follows from its value, as in JavaScript.
    Number(f64),
    /// A `BigInt` of 64 bits.
    BigInt(i64),
    /// A string.
    String(String),
    /// A `Uint8Array`.
    Bytes(Vec<u8>),
    /// An array.
    Array(Vec<Self>),
    /// An object, members in JavaScript's order.
    Object(Object),
}

/// The members of an object in JavaScript's order: keys that are array indices first, ascending, then the others as
/// they came. A key appears once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object(Vec<(String, Any)>);

impl Object {
    /// Sets a member; a key that is there keeps its place.
    pub fn insert(&mut self, key: String, value: Any) {
        if let Some(member) = self.0.iter_mut().find(|(k, _)| *k == key) {
            member.1 = value;
            return;
        }
        let at = match array_index(&key) {
            Some(index) => self
                .0
                .iter()
                .position(|(k, _)| array_index(k).is_none_or(|other| other > index))
                .unwrap_or(self.0.len()),
            None => self.0.len(),
        };
        self.0.insert(at, (key, value));
    }

    /// Returns a member.
    pub fn get(&self, key: &str) -> Option<&Any> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Any)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Any)> for Object {
    /// Takes members as a program would set them one after the other.
    fn from_iter<T: IntoIterator<Item = (String, Any)>>(members: T) -> Self {
        let mut seen = std::collections::HashMap::new();
        let mut list: Vec<(String, Any)> = Vec::new();
        for (key, value) in members {
            if let Some(&at) = seen.get(&key) {
                let member: &mut (String, Any) = &mut list[at];
                member.1 = value;
            } else {
                seen.insert(key.clone(), list.len());
                list.push((key, value));
            }
        }
        // Stable: keys that are no index keep the order in which they came.
        list.sort_by_key(|(key, _)| array_index(key).map_or(u64::MAX, u64::from));
        Self(list)
    }
}

/// Returns the array index that a key spells, if it is one in JavaScript's sense: canonical decimal below 2^32 - 1.
fn array_index(key: &str) -> Option<u32> {
    let canonical = key.len() <= 10
        && key.bytes().all(|b| b.is_ascii_digit())
        && (key == "0" || !key.starts_with('0'));
    if !canonical {
        return None;
    }
    key.parse::<u32>().ok().filter(|&index| index != u32::MAX)
}

impl Any {
    /// Reads a value.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        Self::read_at(reader, 0)
    }

    fn read_at(reader: &mut Reader<'_>, depth: usize) -> Result<Self, ReadError> {
        if depth > MAX_DEPTH {
            return Err(reader.error("value nested too deep"));
        }
        let at = reader.position();
        Ok(match reader.u8()? {
            127 => Self::Undefined,
            126 => Self::Null,
            125 => {
                let (negative, magnitude) = reader.var_signed()?;
                #[expect(clippy::cast_precision_loss, reason = "at most 53 bits, checked")]
                let number = magnitude as f64;
                Self::Number(if negative { -number } else { number })
            }
            124 => Self::Number(f64::from(f32::from_be_bytes(array(reader)?))),
            123 => Self::Number(f64::from_be_bytes(array(reader)?)),
            122 => Self::BigInt(i64::from_be_bytes(array(reader)?)),
            121 => Self::Bool(false),
            120 => Self::Bool(true),
            119 => Self::String(reader.var_str()?.to_owned()),
            118 => {
                let count = count(reader, 2)?;
                let mut members = Vec::with_capacity(count);
                for _ in 0..count {
                    let key = reader.var_str()?;
                    let value = Self::read_at(reader, depth + 1)?;
                    if key != "__proto__" {
                        members.push((key.to_owned(), value));
                    }
                }
                Self::Object(members.into_iter().collect())
            }
            117 => {
                let count = count(reader, 1)?;
                let mut values = Vec::with_capacity(count.min(1024));
                for _ in 0..count {
                    values.push(Self::read_at(reader, depth + 1)?);
                }
                Self::Array(values)
            }
            // In JSON it is an object of numbers, one deeper.
            116 if depth == MAX_DEPTH => return Err(reader.error("value nested too deep")),
            116 => Self::Bytes(reader.var_bytes()?.to_owned()),
            _ => return Err(ReadError { at, what: "unknown kind of value" }),
        })
    }

    /// Writes the value.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Undefined => out.push(127),
            Self::Null => out.push(126),
            Self::Bool(value) => out.push(if *value { 120 } else { 121 }),
            Self::Number(number) => write_number(out, *number),
            Self::BigInt(number) => {
                out.push(122);
                out.extend_from_slice(&number.to_be_bytes());
            }
            Self::String(text) => {
                out.push(119);
                write_var_str(out, text);
            }
            Self::Bytes(bytes) => {
                out.push(116);
                write_var_bytes(out, bytes);
            }
            Self::Array(values) => {
                out.push(117);
                write_var_u64(out, values.len() as u64);
                for value in values {
                    value.write(out);
                }
            }
            Self::Object(object) => {
                out.push(118);
                write_var_u64(out, object.len() as u64);
                for (key, value) in object.iter() {
                    write_var_str(out, key);
                    value.write(out);
                }
            }
        }
    }
}

/// Reads a count of members that take at least `least` bytes each, so that it cannot announce more than is there.
fn count(reader: &mut Reader<'_>, least: usize) -> Result<usize, ReadError> {
    let count = usize::try_from(reader.var_u64()?).unwrap_or(usize::MAX);
    if count > reader.remaining() / least {
        return Err(reader.error("count runs past the end"));
    }
    Ok(count)
}

fn array<const N: usize>(reader: &mut Reader<'_>) -> Result<[u8; N], ReadError> {
    let mut out = [0; N];
    out.copy_from_slice(reader.bytes(N)?);
    Ok(out)
}

fn write_number(out: &mut Vec<u8>, number: f64) {
    // A whole number of at most 31 bits is an integer, -0 among them.
    #[expect(clippy::cast_possible_truncation, reason = "whether it is exact is the question")]
    let whole = number as i32;
    #[expect(clippy::float_cmp, reason = "exactness is meant")]
    if f64::from(whole) == number && whole != i32::MIN {
        out.push(125);
        write_var_signed(out, number.is_sign_negative(), u64::from(whole.unsigned_abs()));
        return;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whether it is exact is the question")]
    let single = number as f32;
    #[expect(clippy::float_cmp, reason = "exactness is meant")]
    if f64::from(single) == number {
        out.push(124);
        out.extend_from_slice(&single.to_be_bytes());
    } else {
        out.push(123);
        out.extend_from_slice(&number.to_be_bytes());
    }
}

impl From<&str> for Any {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Any {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Any {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f64> for Any {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Any {
    fn from(number: u32) -> Self {
        Self::Number(f64::from(number))
    }
}

impl From<i32> for Any {
    fn from(number: i32) -> Self {
        Self::Number(f64::from(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_writes_them() {
        let check = |number: f64, expected: &[u8]| {
            let mut out = Vec::new();
            Any::Number(number).write(&mut out);
            assert_eq!(out, expected, "{number}");
            let back = Any::read(&mut Reader::new(&out)).unwrap();
            let Any::Number(read) = back else { panic!("{back:?}") };
            assert_eq!(read.to_bits(), number.to_bits());
        };
        check(5.0, &[125, 5]);
        check(-0.0, &[125, 0x40]);
        check(1440.0, &[125, 0xa0, 0x16]);
        check(f64::from(0x7fff_ffff), &[125, 0xbf, 0xff, 0xff, 0xff, 0x0f]);
        check(-2_147_483_648.0, &[124, 0xcf, 0, 0, 0]);
        check(0.5, &[124, 0x3f, 0, 0, 0]);
        check(0.1, &[123, 0x3f, 0xb9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a]);
    }

    #[test]
    fn members_take_javascripts_order() {
        let object: Object =
            ["x", "1", "b", "0", "01"].into_iter().map(|key| (key.to_owned(), Any::Null)).collect();
        let keys: Vec<_> = object.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["0", "1", "x", "b", "01"]);
    }

    #[test]
    fn a_prototype_is_no_member() {
        // { __proto__: { a: 1 }, b: 2 }: lib0 0.2.120 reads it and writes { b: 2 }.
        let bytes = b"\x76\x02\x09__proto__\x76\x01\x01a\x7d\x01\x01b\x7d\x02";
        let mut out = Vec::new();
        Any::read(&mut Reader::new(bytes)).unwrap().write(&mut out);
        assert_eq!(out, b"\x76\x01\x01b\x7d\x02");
    }

    #[test]
    fn depth_and_counts_are_bounded() {
        let deep = [117, 1].repeat(200_000);
        assert_eq!(Any::read(&mut Reader::new(&deep)).unwrap_err().what, "value nested too deep");
        let many = [117, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(Any::read(&mut Reader::new(&many)).unwrap_err().what, "count runs past the end");
    }
}
