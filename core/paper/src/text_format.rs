//! From a file's bytes to a text with LF and back to exactly the same bytes.
//!
//! Encoding, byte order mark and line ends are what is around a text; they are kept beside it (in
//! the tree, so that two people never write two encodings). [`decode`] takes a file for a text
//! only if [`encode`] gives its bytes back, so no file can be damaged by being opened.

use encoding_rs::Encoding as Charset;

use crate::kinds::MAX_TEXT_BYTES;

/// Above this many line ends unlike the others a file is kept whole, as a blob.
const MAX_EXCEPTIONS: usize = 4_096;

/// How characters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
    /// One of the encodings before Unicode, by its WHATWG name.
    Legacy(&'static str),
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Eol {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
    /// `\r`.
    Cr,
}

/// What is around a text in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextFormat {
    /// How characters are written.
    pub encoding: Encoding,
    /// Does the file start with a byte order mark?
    pub bom: bool,
    /// How most lines end.
    pub eol: Eol,
}

/// A file taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text, with LF.
    pub text: String,
    /// What is around it.
    pub format: TextFormat,
    /// The line ends unlike [`TextFormat::eol`], by the position of their LF in UTF-16 units.
    pub exceptions: Vec<(u32, Eol)>,
}

/// Why bytes are no text for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotText {
    /// Larger than [`MAX_TEXT_BYTES`].
    #[error("it is larger than {} MiB", MAX_TEXT_BYTES >> 20)]
    Large,
    /// It holds bytes that no text holds.
    #[error("it holds bytes that no text holds")]
    Binary,
    /// Its lines end in too many ways to keep them apart.
    #[error("its lines end in too many different ways")]
    LineEnds,
}

/// A character that the file's encoding does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{char} cannot be written in {encoding}", encoding = .encoding.label())]
pub struct Unwritable {
    /// The first such character.
    pub char: char,
    /// The file's encoding.
    pub encoding: Encoding,
}

impl Default for TextFormat {
    fn default() -> Self {
        Self { encoding: Encoding::Utf8, bom: false, eol: Eol::Lf }
    }
}

impl Encoding {
    /// Returns its name, for people and for the tree.
    pub fn label(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Legacy(name) => name,
        }
    }

    /// Returns the encoding with this name.
    pub fn from_label(label: &str) -> Option<Self> {
        let charset = Charset::for_label_no_replacement(label.as_bytes())?;
        Some(match charset.name() {
            "UTF-8" => Self::Utf8,
            "UTF-16LE" => Self::Utf16Le,
            "UTF-16BE" => Self::Utf16Be,
            name => Self::Legacy(name),
        })
    }
}

impl Eol {
    /// Returns the bytes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::Cr => "\r",
        }
    }

    /// Returns its name, for people and for the tree.
    pub fn label(self) -> &'static str {
        match self {
            Self::Lf => "LF",
            Self::CrLf => "CRLF",
            Self::Cr => "CR",
        }
    }

    /// Returns the line end with this name.
    pub fn from_label(label: &str) -> Option<Self> {
        [Self::Lf, Self::CrLf, Self::Cr].into_iter().find(|eol| eol.label() == label)
    }
}

/// Takes a file apart, if it is a text.
pub fn decode(bytes: &[u8]) -> Result<Decoded, NotText> {
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(NotText::Large);
    }
    let (encoding, bom, raw) = characters(bytes)?;
    let (text, eol, exceptions) = split_line_ends(&raw);
    if exceptions.len() > MAX_EXCEPTIONS {
        return Err(NotText::LineEnds);
    }
    let decoded = Decoded { text, format: TextFormat { encoding, bom, eol }, exceptions };
    match encode(&decoded.text, decoded.format, &decoded.exceptions) {
        Ok(again) if again == bytes => Ok(decoded),
        _ => Err(NotText::Binary),
    }
}

/// Puts a file together. Exceptions where no LF stands are passed over.
pub fn encode(
    text: &str,
    format: TextFormat,
    exceptions: &[(u32, Eol)],
) -> Result<Vec<u8>, Unwritable> {
    let raw = join_line_ends(text, format.eol, exceptions);
    let mut bytes = Vec::with_capacity(raw.len() + 3);
    match format.encoding {
        Encoding::Utf8 => {
            if format.bom {
                bytes.extend_from_slice(b"\xef\xbb\xbf");
            }
            bytes.extend_from_slice(raw.as_bytes());
        }
        Encoding::Utf16Le | Encoding::Utf16Be => {
            let little = format.encoding == Encoding::Utf16Le;
            let mark = format.bom.then_some(0xfeff);
            for unit in mark.into_iter().chain(raw.encode_utf16()) {
                bytes.extend(if little { unit.to_le_bytes() } else { unit.to_be_bytes() });
            }
        }
        Encoding::Legacy(name) => {
            let charset = Charset::for_label(name.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252);
            let (encoded, _, unmappable) = charset.encode(&raw);
            if unmappable {
                let char = raw.chars().find(|char| charset.encode(&char.to_string()).2);
                let char = char.unwrap_or(char::REPLACEMENT_CHARACTER);
                return Err(Unwritable { char, encoding: format.encoding });
            }
            bytes.extend_from_slice(&encoded);
        }
    }
    Ok(bytes)
}

/// Returns the encoding, whether there is a mark, and the characters behind it.
fn characters(bytes: &[u8]) -> Result<(Encoding, bool, String), NotText> {
    for (mark, encoding) in [(b"\xff\xfe", Encoding::Utf16Le), (b"\xfe\xff", Encoding::Utf16Be)] {
        if let Some(rest) = bytes.strip_prefix(mark) {
            return Ok((encoding, true, utf16(rest, encoding).ok_or(NotText::Binary)?));
        }
    }
    if bytes.contains(&0) || is_known_binary(bytes) {
        return Err(NotText::Binary);
    }
    let (bom, rest) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => (true, rest),
        None => (false, bytes),
    };
    if let Ok(text) = std::str::from_utf8(rest) {
        return Ok((Encoding::Utf8, bom, text.to_owned()));
    }
    let is_control = |&byte: &u8| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0xc);
    if bytes.iter().any(is_control) {
        return Err(NotText::Binary);
    }
    let charset = declared(bytes).unwrap_or_else(|| guessed(bytes));
    // Every byte has a character there, so that something can always be shown.
    for charset in [charset, encoding_rs::WINDOWS_1252] {
        if let Some(text) = charset.decode_without_bom_handling_and_without_replacement(bytes)
            && *charset.encode(&text).0 == *bytes
        {
            return Ok((Encoding::Legacy(charset.name()), false, text.into_owned()));
        }
    }
    Err(NotText::Binary)
}

fn utf16(bytes: &[u8], encoding: Encoding) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|&pair| match encoding {
        Encoding::Utf16Be => u16::from_be_bytes(pair),
        _ => u16::from_le_bytes(pair),
    });
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    (!text.contains('\0')).then_some(text)
}

fn is_known_binary(bytes: &[u8]) -> bool {
    const STARTS: [&[u8]; 10] = [
        b"%PDF-",
        b"\x89PNG",
        b"\xff\xd8\xff",
        b"GIF8",
        b"PK\x03\x04",
        b"\x1f\x8b",
        b"BZh",
        b"II*\0",
        b"MM\0*",
        b"\xc5\xd0\xd3\xc6",
    ];
    STARTS.iter().any(|start| bytes.starts_with(start))
}

/// What LaTeX is told: `\usepackage[latin1]{inputenc}`.
fn declared(bytes: &[u8]) -> Option<&'static Charset> {
    let end = find(bytes, b"]{inputenc}")?;
    let start = bytes[..end].iter().rposition(|&byte| byte == b'[')? + 1;
    let option = std::str::from_utf8(&bytes[start..end]).ok()?;
    let label = match option.trim() {
        "latin1" | "ansinew" | "cp1252" => "windows-1252",
        "latin2" => "iso-8859-2",
        "latin3" => "iso-8859-3",
        "latin4" => "iso-8859-4",
        "latin5" => "windows-1254",
        "latin9" => "iso-8859-15",
        "latin10" => "iso-8859-16",
        "applemac" => "macintosh",
        "cp866" => "ibm866",
        "koi8-r" => "koi8-r",
        "cp1250" => "windows-1250",
        "cp1251" => "windows-1251",
        "cp1257" => "windows-1257",
        _ => return None,
    };
    Charset::for_label(label.as_bytes())
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

fn guessed(bytes: &[u8]) -> &'static Charset {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, chardetng::Utf8Detection::Deny)
}

/// Returns the text with LF, how most lines end, and the others.
fn split_line_ends(raw: &str) -> (String, Eol, Vec<(u32, Eol)>) {
    if !raw.contains('\r') {
        return (raw.to_owned(), Eol::Lf, Vec::new());
    }
    let mut text = String::with_capacity(raw.len());
    let mut ends: Vec<(u32, Eol)> = Vec::new();
    let mut position = 0;
    let mut chars = raw.chars().peekable();
    while let Some(char) = chars.next() {
        let eol = match char {
            '\n' => Some(Eol::Lf),
            '\r' if chars.peek() == Some(&'\n') => {
                chars.next();
                Some(Eol::CrLf)
            }
            '\r' => Some(Eol::Cr),
            _ => None,
        };
        if let Some(eol) = eol {
            ends.push((position, eol));
        }
        text.push(if eol.is_some() { '\n' } else { char });
        position += if char.len_utf16() == 2 { 2 } else { 1 };
    }
    let count = |eol| ends.iter().filter(|(_, other)| *other == eol).count();
    // The first of the most frequent ones.
    let most = [Eol::Cr, Eol::CrLf, Eol::Lf].into_iter().max_by_key(|&eol| count(eol));
    let most = most.unwrap_or(Eol::Lf);
    ends.retain(|(_, eol)| *eol != most);
    (text, most, ends)
}

fn join_line_ends(text: &str, eol: Eol, exceptions: &[(u32, Eol)]) -> String {
    if eol == Eol::Lf && exceptions.is_empty() {
        return text.to_owned();
    }
    let mut raw = String::with_capacity(text.len() + text.len() / 16);
    let mut exceptions = exceptions.iter().peekable();
    let mut position = 0;
    for char in text.chars() {
        if char == '\n' {
            while exceptions.next_if(|(at, _)| *at < position).is_some() {}
            let here = exceptions.next_if(|(at, _)| *at == position);
            raw.push_str(here.map_or(eol, |(_, eol)| *eol).as_str());
        } else {
            raw.push(char);
        }
        position += if char.len_utf16() == 2 { 2 } else { 1 };
    }
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], text: &str, encoding: &str, bom: bool, eol: Eol) {
        let decoded = decode(bytes).unwrap();
        assert_eq!(decoded.text, text);
        assert_eq!(decoded.format.encoding.label(), encoding);
        assert_eq!((decoded.format.bom, decoded.format.eol), (bom, eol));
        assert_eq!(encode(text, decoded.format, &decoded.exceptions).unwrap(), bytes);
        assert_eq!(Encoding::from_label(encoding), Some(decoded.format.encoding));
        assert_eq!(Eol::from_label(eol.label()), Some(eol));
    }

    #[test]
    fn what_is_around_a_text_is_kept() {
        check(b"", "", "UTF-8", false, Eol::Lf);
        check(b"\n", "\n", "UTF-8", false, Eol::Lf);
        check(
            "a\u{e9}\u{1f600} \n\tb".as_bytes(),
            "a\u{e9}\u{1f600} \n\tb",
            "UTF-8",
            false,
            Eol::Lf,
        );
        check(b"\xef\xbb\xbfa\r\nb\r\n", "a\nb\n", "UTF-8", true, Eol::CrLf);
        check(b"a\rb\r", "a\nb\n", "UTF-8", false, Eol::Cr);
        check(b"\xff\xfea\0\r\0\n\0", "a\n", "UTF-16LE", true, Eol::CrLf);
        check(b"\xfe\xff\0a\xd8\x3d\xde\x00", "a\u{1f600}", "UTF-16BE", true, Eol::Lf);
        check(b"le caf\xe9 est l\xe0\n", "le café est là\n", "windows-1252", false, Eol::Lf);
        let koi = b"\\usepackage[koi8-r]{inputenc}\n\xd0\xd2\xc9\xd7\xc5\xd4\n";
        check(koi, "\\usepackage[koi8-r]{inputenc}\nпривет\n", "KOI8-R", false, Eol::Lf);
        check("\u{feff}\u{feff}x".as_bytes(), "\u{feff}x", "UTF-8", true, Eol::Lf);
    }

    #[test]
    fn each_line_keeps_its_own_end() {
        for bytes in
            ["a\r\nb\nc\r\nd\r\re\r\n", "\r\n\n", "\n\r\n\r", "\r\n\u{1f600}\n\n\n", "a\n\rb\r\n"]
        {
            let decoded = decode(bytes.as_bytes()).unwrap();
            assert!(!decoded.text.contains('\r'));
            let again = encode(&decoded.text, decoded.format, &decoded.exceptions).unwrap();
            assert_eq!(again, bytes.as_bytes(), "{bytes:?}");
        }
        let mixed = decode(b"1\r\n2\n3\r\n4").unwrap();
        assert_eq!(
            (mixed.format.eol, mixed.exceptions.as_slice()),
            (Eol::CrLf, &[(3, Eol::Lf)][..])
        );
        // A line more in front: its end is like most, the exception moved along by whoever keeps it.
        let again = encode("0\n1\n2\n3\n4", mixed.format, &[(5, Eol::Lf)]).unwrap();
        assert_eq!(again, b"0\r\n1\r\n2\n3\r\n4");
    }

    #[test]
    fn other_bytes_are_no_text() {
        assert_eq!(decode(b"a\0b"), Err(NotText::Binary));
        assert_eq!(decode(&[0; 4096]), Err(NotText::Binary));
        assert_eq!(decode(b"%PDF-1.5\n%\xd0\xd4\n"), Err(NotText::Binary));
        assert_eq!(decode(b"\xff\xfea"), Err(NotText::Binary));
        assert_eq!(decode(b"\xff\xfe\0\xd8"), Err(NotText::Binary));
        assert_eq!(decode(b"\x01\xe9"), Err(NotText::Binary));
        assert_eq!(
            decode(&vec![b'a'; usize::try_from(MAX_TEXT_BYTES + 1).unwrap()]),
            Err(NotText::Large)
        );
        assert_eq!(decode("a\r\nb\n".repeat(9_999).as_bytes()), Err(NotText::LineEnds));
    }

    #[test]
    fn a_character_outside_the_encoding_is_told_not_replaced() {
        let format =
            TextFormat { encoding: Encoding::Legacy("windows-1252"), ..TextFormat::default() };
        let error = encode("é π", format, &[]).unwrap_err();
        assert_eq!(error, Unwritable { char: 'π', encoding: format.encoding });
        assert_eq!(error.to_string(), "π cannot be written in windows-1252");
    }

    #[test]
    fn any_bytes_come_back_or_are_no_text() {
        // A small generator, so that a failure is the same every time.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..3_000 {
            let mut bytes = Vec::new();
            for _ in 0..state % 24 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let pick = state.to_le_bytes()[5];
                bytes.push(if pick < 90 {
                    b"\r\n\xef\xbb\xbf\xff\xfea"[pick as usize % 8]
                } else {
                    pick
                });
            }
            if let Ok(decoded) = decode(&bytes) {
                assert!(!decoded.text.contains('\r'));
                let again = encode(&decoded.text, decoded.format, &decoded.exceptions);
                assert_eq!(again.unwrap(), bytes);
            }
            state = state.wrapping_add(0x1234_5678_9abc);
        }
    }
}
