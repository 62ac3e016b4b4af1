//! `.quire/paper.toml` in the paper's folder: which paper this is, and nothing else that matters.
//!
//! No state and no secret: the file may be copied, mailed or put under version control. What it
//! does not know it leaves alone when reading.

use std::io;
use std::path::{Path, PathBuf};

use paper::PaperId;
use serde::{Deserialize, Serialize};
use store::disk::{Access, Disk, create_dirs, replace};

use crate::problem::Problem;

/// The newest form that this program can read.
const FORMAT: u32 = 1;
/// No such file is longer.
const MAX_BYTES: u64 = 64 << 10;

#[derive(Serialize, Deserialize)]
struct Shape {
    format: u32,
    id: String,
    server: Option<String>,
}

/// What `paper.toml` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PaperToml {
    pub(crate) id: PaperId,
    /// The server's address, for people's eyes.
    pub(crate) server: Option<String>,
}

fn path(folder: &Path) -> PathBuf {
    folder.join(".quire").join("paper.toml")
}

/// Reads the folder's `paper.toml`; `None` if there is none.
pub(crate) fn read(disk: &dyn Disk, folder: &Path) -> Result<Option<PaperToml>, Problem> {
    let path = path(folder);
    let problem = |cause: String| Problem::PaperToml { path: path.clone(), cause };
    let bytes = match disk.read(&path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(problem(error.to_string())),
    };
    let text = String::from_utf8(bytes).map_err(|_| problem("it is not UTF-8".to_owned()))?;
    let shape: Shape =
        toml::from_str(&text).map_err(|error| problem(error.message().to_owned()))?;
    if shape.format > FORMAT {
        return Err(problem("it was made by a newer Quire; update this one".to_owned()));
    }
    let id = PaperId::parse(&shape.id).map_err(|error| problem(format!("id: {error}")))?;
    Ok(Some(PaperToml { id, server: shape.server }))
}

/// Writes the folder's `paper.toml`.
pub(crate) fn write(disk: &dyn Disk, folder: &Path, paper: &PaperToml) -> Result<(), Problem> {
    let shape = Shape { format: FORMAT, id: paper.id.to_string(), server: paper.server.clone() };
    let problem = |cause: String| Problem::Folder { folder: folder.to_path_buf(), cause };
    let body = toml::to_string(&shape).map_err(|error| problem(error.to_string()))?;
    let text = format!("# Which paper this folder is. Quire made it; it holds no secret.\n{body}");
    let path = path(folder);
    create_dirs(disk, &folder.join(".quire"), Access::Usual)
        .and_then(|()| replace(disk, &path, text.as_bytes()))
        .map_err(|error| problem(error.to_string()))
}

#[cfg(test)]
mod tests {
    use store::disk::RealDisk;

    use super::*;

    #[test]
    fn it_is_read_as_it_was_written_and_judged_gently() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(&RealDisk, dir.path()).unwrap(), None);
        let paper = PaperToml { id: PaperId::from_bytes([9; 16]), server: Some("h:1".into()) };
        write(&RealDisk, dir.path(), &paper).unwrap();
        assert_eq!(read(&RealDisk, dir.path()).unwrap(), Some(paper));
        for (text, word) in [
            ("", "format"),
            ("format = 1\nid = \"../..\"", "id"),
            ("format = 2\nid = \"x\"", "newer"),
            ("\u{0}", "toml"),
        ] {
            replace(&RealDisk, &path(dir.path()), text.as_bytes()).unwrap();
            let problem = read(&RealDisk, dir.path()).unwrap_err().to_string();
            assert!(problem.contains(word) && problem.contains("paper.toml"), "{problem}");
        }
    }
}
