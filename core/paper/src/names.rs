//! Which names a file of a paper may have, on every system alike.
//!
//! The verdict is pure and the same for all: a name that one person's computer cannot hold, or
//! that would reach out of the folder, is refused by everybody's replica, not only by theirs.
//! Spelling is kept as it came; two names are the same file when their [`PaperPath::key`]s are.

use std::fmt;

use caseless::Caseless as _;
use unicode_normalization::UnicodeNormalization as _;

/// The longest path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;
/// The longest part between slashes, in bytes.
const MAX_PART_BYTES: usize = 255;
/// Names that Windows keeps for devices, with any extension.
const DEVICES: [&str; 8] = ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$", "$mft"];
/// Folders and files through which another program could be made to run code or lose its data.
const RESERVED: [&str; 6] = [".git", ".gitmodules", ".hg", ".svn", ".ssh", ".quire"];

/// A relative path with `/`, fit for every system.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaperPath(String);

/// Why a string cannot be the path of a file in a paper.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing, or nothing between two slashes.
    #[error("a part of it is empty")]
    Empty,
    /// It starts at the root, a drive or a network share.
    #[error("it does not start in the paper's folder")]
    Absolute,
    /// A part is `.` or `..`.
    #[error("it may not hold . or .. as a part")]
    Dots,
    /// It holds a character that some system, or a reader's eye, takes for something else.
    #[error("it holds the character {}, which not every system can keep", .0.escape_unicode())]
    Character(char),
    /// A part ends in a dot or a space.
    #[error("a part of it ends in a dot or a space, which Windows drops")]
    Ending,
    /// Windows keeps the name for a device.
    #[error("{0} is a device's name on Windows")]
    Device(String),
    /// The name belongs to version control, to secrets, or to Quire.
    #[error("{0} belongs to another program")]
    Reserved(String),
    /// Longer than some file systems take.
    #[error("it is longer than {MAX_PART_BYTES} bytes a part or {MAX_PATH_BYTES} in all")]
    Long,
}

impl PaperPath {
    /// Checks a path.
    pub fn parse(path: &str) -> Result<Self, NameError> {
        if path.is_empty() {
            return Err(NameError::Empty);
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(NameError::Long);
        }
        if path.starts_with(['/', '\\']) || has_drive(path) {
            return Err(NameError::Absolute);
        }
        path.split('/').try_for_each(check_part)?;
        Ok(Self(path.to_owned()))
    }

    /// Returns the path as it is spelled.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns what is equal for two names that some system takes for one file.
    pub fn key(&self) -> String {
        self.0.chars().nfd().default_case_fold().nfc().collect()
    }

    /// Returns the keys of the folders it lies in, outermost first.
    pub fn folder_keys(&self) -> Vec<String> {
        let key = self.key();
        key.match_indices('/').map(|(at, _)| key[..at].to_owned()).collect()
    }

    /// Returns the last part.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// Returns the path with ` (note)` before the extension: `a/b.tex` becomes `a/b (note).tex`.
    ///
    /// What a name cannot hold is left out of the note, and what does not fit is cut.
    #[must_use]
    pub fn with_note(&self, note: &str) -> Self {
        let (folder, name) = match self.0.rfind('/') {
            Some(slash) => self.0.split_at(slash + 1),
            None => ("", self.0.as_str()),
        };
        let (stem, extension) = match name.rfind('.') {
            Some(dot) if dot > 0 => name.split_at(dot),
            _ => (name, ""),
        };
        let note: String =
            note.chars().filter(|&char| char != '/' && check_char(char).is_ok()).collect();
        let note = cut(note.trim(), 64);
        let spare = MAX_PART_BYTES.saturating_sub(extension.len() + note.len() + 3);
        let stem = cut(stem, spare).trim_end();
        let noted = Self(format!("{folder}{stem} ({note}){extension}"));
        // Only a path that was too long before, or a device's name with a note, can fail here.
        Self::parse(&noted.0).unwrap_or_else(|_| Self(format!("copy-{}", short_hash(&noted.0))))
    }
}

impl fmt::Display for PaperPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PaperPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

fn short_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

fn has_drive(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

fn check_part(part: &str) -> Result<(), NameError> {
    if part.is_empty() {
        return Err(NameError::Empty);
    }
    if part == "." || part == ".." {
        return Err(NameError::Dots);
    }
    if part.len() > MAX_PART_BYTES {
        return Err(NameError::Long);
    }
    part.chars().try_for_each(check_char)?;
    if part.ends_with(['.', ' ']) {
        return Err(NameError::Ending);
    }
    let folded: String =
        part.chars().nfkd().default_case_fold().filter(|&char| !is_ignored_by_hfs(char)).collect();
    if is_device(&folded) {
        return Err(NameError::Device(part.to_owned()));
    }
    if RESERVED.contains(&folded.as_str()) || is_short_name_of_reserved(&folded) {
        return Err(NameError::Reserved(part.to_owned()));
    }
    Ok(())
}

fn check_char(char: char) -> Result<(), NameError> {
    let refused = char.is_control()
        || matches!(char, '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*')
        // What changes the direction of what is read, or is not seen.
        || matches!(char,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    if refused { Err(NameError::Character(char)) } else { Ok(()) }
}

/// The code points that Apple's HFS+ skips when it compares names.
fn is_ignored_by_hfs(char: char) -> bool {
    matches!(char, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

fn is_device(folded: &str) -> bool {
    let stem = folded.split('.').next().unwrap_or(folded).trim_end();
    if DEVICES.contains(&stem) {
        return true;
    }
    let port = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    // Superscript digits are folded to digits already.
    port.is_some_and(|digit| digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit())
}

/// `GIT~1` is how FAT and NTFS may call `.git` too.
fn is_short_name_of_reserved(folded: &str) -> bool {
    let Some((stem, number)) = folded.split_once('~') else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        && matches!(stem, "git" | "gitmod" | "hg" | "svn" | "ssh" | "quire" | "gi7eba" | "gi7d29")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "the cases below read as a table")]
    fn check(path: &str, expected: Result<(), NameError>) {
        assert_eq!(PaperPath::parse(path).map(drop), expected, "{path:?}");
    }

    #[test]
    fn ordinary_names_are_taken_as_spelled() {
        for path in [
            "main.tex",
            "sections/intro.tex",
            "a b/c d.tex",
            "übung/研二.tex",
            "A\u{308}.tex",
            "-dash.tex",
            "#1 100% ~x.tex",
            ".latexmkrc",
            ".gitignore",
            ".gitattributes",
            "git~1x",
            "auxiliary.tex",
            "console.tex",
            "com.tex",
            "com10.tex",
            "git",
            "..tex",
            "a..b",
            "it's (2) [x] {y} & z;.bib",
            "x~",
            "emoji 😀.tex",
            "עברית.tex",
        ] {
            check(path, Ok(()));
            assert_eq!(PaperPath::parse(path).unwrap().as_str(), path);
        }
        check(&"a".repeat(255), Ok(()));
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        check("", Err(NameError::Empty));
        check("a//b", Err(NameError::Empty));
        check("a/", Err(NameError::Empty));
        check("/etc/passwd", Err(NameError::Absolute));
        check("//host/share", Err(NameError::Absolute));
        check("\\\\host\\share", Err(NameError::Absolute));
        check("C:\\x", Err(NameError::Absolute));
        check("c:x", Err(NameError::Absolute));
        check("..", Err(NameError::Dots));
        check("../x", Err(NameError::Dots));
        check("a/../../x", Err(NameError::Dots));
        check("./x", Err(NameError::Dots));
        check("a\\b", Err(NameError::Character('\\')));
    }

    #[test]
    fn names_that_some_system_cannot_hold_are_refused() {
        check("a\0b", Err(NameError::Character('\0')));
        check("a\nb", Err(NameError::Character('\n')));
        check("file.tex:stream", Err(NameError::Character(':')));
        check("a?b", Err(NameError::Character('?')));
        check("abc\u{202e}xet.exe", Err(NameError::Character('\u{202e}')));
        check("a\u{200b}b", Err(NameError::Character('\u{200b}')));
        check("a.", Err(NameError::Ending));
        check("a /b", Err(NameError::Ending));
        check("...", Err(NameError::Ending));
        for device in
            ["aux.tex", "CON", "nul.tar.gz", "Com1", "lpt9.log", "COM\u{b9}", "CONIN$", "aux .tex"]
        {
            check(device, Err(NameError::Device(device.into())));
        }
        check(&"a".repeat(256), Err(NameError::Long));
        check(&"a/".repeat(600), Err(NameError::Long));
    }

    #[test]
    fn other_programs_folders_are_refused_however_spelled() {
        for part in [
            ".git",
            ".GIT",
            ".Git",
            "GIT~1",
            "git~2",
            ".hg",
            ".svn",
            ".ssh",
            ".Quire",
            ".gitmodules",
            "GITMOD~1",
        ] {
            check(part, Err(NameError::Reserved(part.into())));
            check(&format!("a/{part}/config"), Err(NameError::Reserved(part.into())));
        }
        // A zero-width character between is refused as such.
        check(".g\u{200c}it", Err(NameError::Character('\u{200c}')));
        // Full-width letters are folded before they are compared.
        check(".ｇｉｔ", Err(NameError::Reserved(".ｇｉｔ".into())));
    }

    #[test]
    fn names_that_a_system_takes_for_one_have_one_key() {
        let key = |path: &str| PaperPath::parse(path).unwrap().key();
        assert_eq!(key("Fig.pdf"), key("fig.PDF"));
        assert_eq!(key("\u{e5}.tex"), key("a\u{30a}.tex"));
        assert_eq!(key("STRASSE.tex"), key("straße.tex"));
        assert_ne!(key("a.tex"), key("b.tex"));
        assert_eq!(PaperPath::parse("A/b/c.tex").unwrap().folder_keys(), ["a", "a/b"]);
    }

    #[test]
    fn a_note_goes_before_the_extension() {
        let note =
            |path: &str, note: &str| PaperPath::parse(path).unwrap().with_note(note).to_string();
        assert_eq!(note("a/b.tex", "Ann's copy"), "a/b (Ann's copy).tex");
        assert_eq!(note("Makefile", "2"), "Makefile (2)");
        assert_eq!(note(".latexmkrc", "2"), ".latexmkrc (2)");
        assert_eq!(note("x.tex", "../../Eve\n"), "x (....Eve).tex");
        let long = note(&format!("{}.tex", "ü".repeat(125)), "copy");
        assert!(long.len() <= 255 && long.ends_with(" (copy).tex"), "{long}");
    }
}
