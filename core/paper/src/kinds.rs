//! What in the folder belongs to the paper, and what does not.
//!
//! Everything belongs to it except what other programs leave there: what TeX wrote, editors'
//! temporary files, version control's folders. Nothing of it is ever deleted, only not shared.

/// The largest text that is edited together, in bytes.
pub const MAX_TEXT_BYTES: u64 = 4 << 20;

/// The largest other file that is shared, in bytes.
pub const MAX_BLOB_BYTES: u64 = 256 << 20;

/// Why something in the folder is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// A folder of version control, of an editor, or Quire's own.
    Folder,
    /// An editor's or a system's temporary or hidden file.
    Temporary,
    /// TeX or a tool beside it wrote it.
    Built,
}

/// Folders that are passed over with all that is in them.
const FOLDERS: [&str; 12] = [
    ".git",
    ".hg",
    ".svn",
    ".bzr",
    ".quire",
    ".ssh",
    ".idea",
    ".vscode",
    ".vs",
    "__pycache__",
    "node_modules",
    ".texpadtmp",
];

/// Suffixes of what TeX and its tools write beside the source.
const BUILT: [&str; 62] = [
    ".acn",
    ".acr",
    ".alg",
    ".aux",
    ".auxlock",
    ".bbl",
    ".bbl-save-error",
    ".bcf",
    ".bcf-save-error",
    ".blg",
    ".brf",
    ".dvi",
    ".fdb_latexmk",
    ".fls",
    ".fmt",
    ".fot",
    ".glg",
    ".glo",
    ".gls",
    ".glsdefs",
    ".idx",
    ".ilg",
    ".ind",
    ".ist",
    ".lof",
    ".log",
    ".lol",
    ".lot",
    ".maf",
    ".mtc",
    ".mtc0",
    ".nav",
    ".nlg",
    ".nlo",
    ".nls",
    ".out",
    ".out.ps",
    ".pdfsync",
    ".pre",
    ".pyg",
    ".pytxcode",
    ".run.xml",
    ".sagetex.sage",
    ".sagetex.scmd",
    ".slg",
    ".slo",
    ".sls",
    ".snm",
    ".soc",
    ".spl",
    ".synctex",
    ".synctex(busy)",
    ".synctex.gz",
    ".synctex.gz(busy)",
    ".tdo",
    ".thm",
    ".toc",
    ".tuc",
    ".vrb",
    ".xdv",
    ".xdy",
    ".upa",
];

/// Says why a file or folder is passed over, if it is. `parts` are the names from the paper's
/// folder down to it.
pub fn ignored<'a>(parts: impl IntoIterator<Item = &'a str>) -> Option<Ignored> {
    let mut parts = parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        let lower = part.to_ascii_lowercase();
        // A file named like such a folder (`.git` in a worktree) is none of ours either.
        if FOLDERS.contains(&lower.as_str()) {
            return Some(Ignored::Folder);
        }
        if parts.peek().is_none() {
            return ignored_file(&lower);
        }
    }
    None
}

fn ignored_file(lower: &str) -> Option<Ignored> {
    if is_temporary(lower) {
        return Some(Ignored::Temporary);
    }
    // A file that is only a suffix (`.log`) is somebody's own.
    let built = |suffix: &&str| lower.len() > suffix.len() && lower.ends_with(*suffix);
    BUILT.iter().any(built).then_some(Ignored::Built)
}

fn is_temporary(lower: &str) -> bool {
    let vim_swap = lower.starts_with('.')
        && [".swp", ".swo", ".swx", ".swn"].iter().any(|suffix| lower.ends_with(suffix));
    let vim_probe = lower == "4913";
    let backup = lower.ends_with('~') || lower.ends_with(".bak~");
    let emacs = (lower.starts_with('#') && lower.ends_with('#') && lower.len() > 1)
        || lower.starts_with(".#");
    let office = lower.starts_with(".~lock.") || lower.starts_with("~$");
    let jetbrains = lower.ends_with("___jb_tmp___") || lower.ends_with("___jb_old___");
    let kate = lower.starts_with('.') && lower.ends_with(".kate-swp");
    let gnome = lower.starts_with(".goutputstream-");
    // `sed -i` writes sedXXXXXX (6 letters or digits) and renames it.
    let sed = lower.len() == 9
        && lower.starts_with("sed")
        && lower.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let sync = lower.starts_with(".syncthing.") || lower.starts_with("~syncthing~");
    let own = lower.starts_with('.') && lower.ends_with(".quire-tmp");
    let system =
        matches!(lower, ".ds_store" | "thumbs.db" | "desktop.ini" | ".directory" | "ehthumbs.db")
            || lower.starts_with("._");
    let parts = [".crdownload", ".part"].iter().any(|suffix| lower.ends_with(suffix));
    vim_swap
        || vim_probe
        || backup
        || emacs
        || office
        || jetbrains
        || kate
        || gnome
        || sed
        || sync
        || own
        || system
        || parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<Ignored>) {
        assert_eq!(ignored(path.split('/')), expected, "{path}");
    }

    #[test]
    fn a_paper_s_own_files_belong_to_it() {
        for path in [
            "main.tex",
            "references.bib",
            "fig/a.pdf",
            "latexmkrc",
            ".latexmkrc",
            ".gitignore",
            "main.pdf",
            "sedation.tex",
            "LOG",
            ".log",
            "4913.tex",
            "data.csv",
            "style.cls",
            "a.bst",
            "Makefile",
            "build/x.tex",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn what_others_leave_does_not() {
        for path in
            [".git/HEAD", "a/.git", "x/.svn/y", ".quire/paper.toml", ".vscode/settings.json"]
        {
            check(path, Some(Ignored::Folder));
        }
        for path in [
            ".main.tex.swp",
            "4913",
            "main.tex~",
            "#main.tex#",
            ".#main.tex",
            "sedAb1x9Z",
            ".~lock.a.odt#",
            ".DS_Store",
            "Thumbs.db",
            "main.tex___jb_tmp___",
            "fig/._a.png",
            ".0f3a9c.quire-tmp",
        ] {
            check(path, Some(Ignored::Temporary));
        }
        for path in [
            "main.aux",
            "chapters/a.AUX",
            "main.synctex.gz",
            "main.run.xml",
            "main.fdb_latexmk",
            "main.toc",
        ] {
            check(path, Some(Ignored::Built));
        }
    }
}
