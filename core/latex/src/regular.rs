//! Reads and writes ordinary files in folders that a paper's TeX could write to: a link or a pipe
//! put in a file's place leads nowhere and holds nothing up.

#![expect(clippy::disallowed_methods, reason = "reads what TeX wrote")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// Opens an ordinary file; the last part of its path is not followed if it is a link.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = flags.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    #[cfg(not(unix))]
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("no ordinary file"));
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("no ordinary file"));
    }
    Ok(file)
}

/// Reads an ordinary file, if it is not longer than this.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is too large"));
    }
    Ok(bytes)
}

/// Reads an ordinary file as text, no more of it than this.
pub(crate) fn text(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether an ordinary file lies there.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_file())
}

/// Returns whether a file is a PDF from its first to its last line: one that is being written, or
/// whose program was ended, is not.
pub(crate) fn is_whole_pdf(path: &Path) -> bool {
    let look = || -> io::Result<bool> {
        let mut file = open(path)?;
        let mut start = [0; 5];
        file.read_exact(&mut start)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(1024)))?;
        let mut end = Vec::new();
        file.take(1024).read_to_end(&mut end)?;
        let end = end.trim_ascii_end();
        Ok(start == *b"%PDF-" && end.ends_with(b"%%EOF"))
    };
    look().unwrap_or(false)
}

/// Puts a copy of an ordinary file in another's place, whole or not at all.
pub(crate) fn publish(from: &Path, to: &Path) -> io::Result<()> {
    let folder = to.parent().ok_or_else(|| io::Error::other("no folder"))?;
    let name = to.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.quire-tmp"));
    let copied = (|| {
        let mut source = open(from)?;
        drop(fs::remove_file(&temporary));
        let mut target = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        io::copy(&mut source, &mut target)?;
        drop(target);
        fs::rename(&temporary, to)
    })();
    if copied.is_err() {
        drop(fs::remove_file(&temporary));
    }
    copied
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_pipes_and_folders_are_no_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        fs::create_dir(at("folder")).unwrap();
        assert_eq!(read(&at("file"), 4).unwrap(), b"text");
        assert!(read(&at("file"), 3).is_err());
        assert_eq!(text(&at("file"), 3).unwrap(), "tex");
        for name in ["link", "pipe", "folder", "nothing"] {
            assert!(read(&at(name), 100).is_err(), "{name}");
            assert!(publish(&at(name), &at("to")).is_err(), "{name}");
            assert!(!at("to").exists());
        }
        publish(&at("file"), &at("to")).unwrap();
        assert_eq!(read(&at("to"), 100).unwrap(), b"text");
        // What lies in the way of the copy is replaced, not written through.
        std::os::unix::fs::symlink(at("file"), at(".to.quire-tmp")).unwrap();
        fs::write(at("more"), "more").unwrap();
        publish(&at("more"), &at("to")).unwrap();
        assert_eq!(read(&at("file"), 100).unwrap(), b"text");
    }

    #[test]
    fn only_a_whole_pdf_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.pdf");
        let check = |bytes: &[u8], expected| {
            fs::write(&path, bytes).unwrap();
            assert_eq!(is_whole_pdf(&path), expected, "{}", String::from_utf8_lossy(bytes));
        };
        check(b"%PDF-1.5\nx\n%%EOF\n", true);
        check(b"%PDF-1.5\nx\n%%EOF", true);
        check(b"%PDF-1.5\nx\n%%EO", false);
        check(b"%PDF-1.5\n%%EOF\nobj more", false);
        check(b"%!PS\n%%EOF\n", false);
        check(b"%PDF", false);
        check(b"", false);
        let long = [b"%PDF-1.5\n".as_slice(), &[b'x'; 5000], b"\n%%EOF\n"].concat();
        check(&long, true);
        check(&long[..4000], false);
    }
}
