//! JSON as JavaScript reads and writes it: `JSON.parse` and `JSON.stringify` over [`Any`].
//!
//! The text must equal JavaScript's to the byte, since updates carry it: numbers by the rules of `Number::toString`
//! (`1e+21`, `1e-7`, -0 as `0`), NaN and infinities as `null`, members that are undefined left out.

use crate::any::{Any, MAX_DEPTH, Object};
use std::fmt::Write as _;

/// Returns the value's text, or `None` where JavaScript's is undefined.
pub fn stringify(value: &Any) -> Option<String> {
    if matches!(value, Any::Undefined) {
        return None;
    }
    let mut out = String::new();
    write_value(&mut out, value);
    Some(out)
}

/// Whether `JSON.stringify` gives a text for a value: it is undefined for undefined, and throws on a `BigInt`.
pub fn has_text(value: &Any) -> bool {
    fn is_free_of_bigints(value: &Any) -> bool {
        match value {
            Any::BigInt(_) => false,
            Any::Array(values) => values.iter().all(is_free_of_bigints),
            Any::Object(object) => object.iter().all(|(_, value)| is_free_of_bigints(value)),
            _ => true,
        }
    }
    !matches!(value, Any::Undefined) && is_free_of_bigints(value)
}

fn write_value(out: &mut String, value: &Any) {
    match value {
        Any::Bool(true) => out.push_str("true"),
        Any::Bool(false) => out.push_str("false"),
        Any::Number(number) if number.is_finite() => write_number(out, *number),
        Any::Undefined | Any::Null | Any::Number(_) => out.push_str("null"),
        // JSON.stringify throws on a BigInt; a document that carries one as an embed gets the number it is read as.
        #[expect(clippy::cast_precision_loss, reason = "JSON's numbers have no more digits")]
        Any::BigInt(number) => write_number(out, *number as f64),
        Any::String(text) => write_string(out, text),
        Any::Bytes(bytes) => {
            // A Uint8Array is an object with its indices as keys.
            out.push('{');
            for (index, byte) in bytes.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let _ = write!(out, "{comma}\"{index}\":{byte}");
            }
            out.push('}');
        }
        Any::Array(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, value);
            }
            out.push(']');
        }
        Any::Object(object) => {
            out.push('{');
            let mut first = true;
            for (key, value) in object.iter().filter(|(_, v)| !matches!(v, Any::Undefined)) {
                if !first {
                    out.push(',');
                }
                first = false;
                write_string(out, key);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
    }
}

/// Writes a number as `Number::toString` does: the shortest digits, exponents from 1e21 up and from 1e-7 down.
fn write_number(out: &mut String, number: f64) {
    if number == 0.0 {
        out.push('0');
        return;
    }
    // Rust's exponential form has the same shortest digits: "-1.2345e-7".
    let form = format!("{number:e}");
    let (mantissa, exponent) = form.split_once('e').unwrap_or((&form, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |m| ("-", m));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    out.push_str(sign);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    if (0..21).contains(&exponent) {
        if count <= exponent + 1 {
            out.push_str(&digits);
            out.push_str(&zeros(exponent + 1 - count));
        } else {
            let (whole, part) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
            let _ = write!(out, "{whole}.{part}");
        }
    } else if (-7..0).contains(&exponent) && exponent > -7 {
        let _ = write!(out, "0.{}{digits}", zeros(-exponent - 1));
    } else {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let plus = if exponent > 0 { "+" } else { "" };
        let _ = write!(out, "{first}{point}{rest}e{plus}{exponent}");
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Parses JSON text; `None` if it is none, or nested deeper than [`MAX_DEPTH`]. Lone surrogates become U+FFFD.
pub fn parse(text: &str) -> Option<Any> {
    let mut parser = Parser { bytes: text.as_bytes(), text, at: 0 };
    let value = parser.value(0)?;
    parser.space();
    (parser.at == text.len()).then_some(value)
}

struct Parser<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, wanted: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(wanted).then(|| self.at += wanted.len())
    }

    fn value(&mut self, depth: usize) -> Option<Any> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.space();
        match self.bytes.get(self.at)? {
            b'n' => self.take("null").map(|()| Any::Null),
            b't' => self.take("true").map(|()| Any::Bool(true)),
            b'f' => self.take("false").map(|()| Any::Bool(false)),
            b'"' => self.string().map(Any::String),
            b'[' => {
                self.at += 1;
                let mut values = Vec::new();
                self.space();
                if self.take("]").is_some() {
                    return Some(Any::Array(values));
                }
                loop {
                    values.push(self.value(depth + 1)?);
                    self.space();
                    if self.take(",").is_none() {
                        self.take("]")?;
                        return Some(Any::Array(values));
                    }
                }
            }
            b'{' => {
                self.at += 1;
                let mut members = Vec::new();
                self.space();
                if self.take("}").is_some() {
                    return Some(Any::Object(Object::default()));
                }
                loop {
                    self.space();
                    let key = self.string()?;
                    self.space();
                    self.take(":")?;
                    members.push((key, self.value(depth + 1)?));
                    self.space();
                    if self.take(",").is_none() {
                        self.take("}")?;
                        return Some(Any::Object(members.into_iter().collect()));
                    }
                }
            }
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<Any> {
        let start = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            while parser.bytes.get(parser.at).is_some_and(u8::is_ascii_digit) {
                parser.at += 1;
            }
            parser.at > from
        };
        let _ = self.take("-");
        let whole = self.at;
        if !digits(self) || (self.bytes[whole] == b'0' && self.at - whole > 1) {
            return None;
        }
        if self.take(".").is_some() && !digits(self) {
            return None;
        }
        if self.take("e").or_else(|| self.take("E")).is_some() {
            let _ = self.take("+").or_else(|| self.take("-"));
            if !digits(self) {
                return None;
            }
        }
        self.text[start..self.at].parse().ok().map(Any::Number)
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut units: Vec<u16> = Vec::new();
        let mut out = String::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let c = rest.chars().next()?;
            self.at += c.len_utf8();
            if c != '\\' && !units.is_empty() {
                out.push_str(&String::from_utf16_lossy(&units));
                units.clear();
            }
            match c {
                '"' => return Some(out),
                '\\' => {
                    let escape = *self.bytes.get(self.at)?;
                    self.at += 1;
                    let plain = match escape {
                        b'"' => '"',
                        b'\\' => '\\',
                        b'/' => '/',
                        b'b' => '\u{8}',
                        b'f' => '\u{c}',
                        b'n' => '\n',
                        b'r' => '\r',
                        b't' => '\t',
                        b'u' => {
                            let hex = self.text.get(self.at..self.at + 4)?;
                            if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
                                return None;
                            }
                            units.push(u16::from_str_radix(hex, 16).ok()?);
                            self.at += 4;
                            continue;
                        }
                        _ => return None,
                    };
                    out.push_str(&String::from_utf16_lossy(&units));
                    units.clear();
                    out.push(plain);
                }
                c if c < ' ' => return None,
                c => out.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelled_as_javascript_spells_them() {
        let check = |number: f64, expected: &str| {
            assert_eq!(stringify(&Any::Number(number)).unwrap(), expected);
        };
        check(0.0, "0");
        check(-0.0, "0");
        check(1440.0, "1440");
        check(-1.5, "-1.5");
        check(0.1, "0.1");
        check(0.000_001, "0.000001");
        check(1e-7, "1e-7");
        check(1.25e-7, "1.25e-7");
        check(1e21, "1e+21");
        check(1e20, "100000000000000000000");
        check(1.5e300, "1.5e+300");
        check(123_456.789, "123456.789");
        check(f64::NAN, "null");
    }

    #[test]
    fn what_has_no_text_is_written_as_it_is_read_again() {
        for value in [i64::MAX, i64::MIN, (1 << 53) + 1, -7, 0] {
            let text = stringify(&Any::BigInt(value)).unwrap();
            assert_eq!(stringify(&parse(&text).unwrap()).unwrap(), text);
        }
        assert_eq!(stringify(&Any::BigInt(-7)).unwrap(), "-7");
    }

    #[test]
    fn a_value_that_is_read_is_no_deeper_as_json() {
        let bytes_at = |depth: usize| {
            let value = [[117, 1].repeat(depth), vec![116, 1, 9]].concat();
            Any::read(&mut crate::Reader::new(&value))
        };
        let deepest = bytes_at(MAX_DEPTH - 1).unwrap();
        assert!(parse(&stringify(&deepest).unwrap()).is_some());
        assert!(bytes_at(MAX_DEPTH).is_err());
    }

    #[test]
    fn text_is_read_and_written_again_alike() {
        for text in [
            r#"{"1":2,"a":[null,true,"x\n\"é😀"],"b":{}}"#,
            r#"[1,-2.5,1e+21,"\u0001"]"#,
            "\"\"",
            "[]",
        ] {
            assert_eq!(stringify(&parse(text).unwrap()).unwrap(), text);
        }
        assert_eq!(parse(r#""\ud83d\ude00""#), Some(Any::from("😀")));
        for text in ["", "{", "[1,]", "01", "1.", "nul", "\"\\x\"", "{\"a\" 1}", "1 2"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
    }
}
