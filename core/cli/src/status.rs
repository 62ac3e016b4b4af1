//! `quire status`: how a paper stands, for people or as JSON.

use replica::{FileKind, Glance};
use serde::Serialize;

use crate::arguments::Status;
use crate::say;

/// The shape of `--json`.
#[derive(Serialize)]
struct Shape<'a> {
    paper: String,
    folder: String,
    server: Option<&'a str>,
    open_elsewhere: Option<&'a str>,
    files: Vec<FileShape<'a>>,
    changed: &'a [String],
}

#[derive(Serialize)]
struct FileShape<'a> {
    id: Option<String>,
    path: &'a str,
    kind: &'static str,
    bytes: u64,
    note: Option<&'a str>,
}

pub(crate) fn run(status: &Status) -> anyhow::Result<()> {
    let glance = replica::glance(&status.data.path()?, &status.folder)?;
    if status.json {
        say::result(&serde_json::to_string_pretty(&shape(&glance))?);
    } else {
        tell(&glance);
    }
    Ok(())
}

fn shape(glance: &Glance) -> Shape<'_> {
    let file = |file: &replica::FileView| file.id.map(|id| id.to_string());
    Shape {
        paper: glance.paper.to_string(),
        folder: glance.folder.display().to_string(),
        server: glance.server.as_deref(),
        open_elsewhere: glance.open_elsewhere.as_deref(),
        files: glance
            .files
            .iter()
            .map(|view| FileShape {
                id: file(view),
                path: &view.path,
                kind: match view.kind {
                    FileKind::Text => "text",
                    FileKind::Blob => "blob",
                    FileKind::Link => "link",
                },
                bytes: view.bytes,
                note: view.note.as_deref(),
            })
            .collect(),
        changed: &glance.changed,
    }
}

fn tell(glance: &Glance) {
    say::result(&format!("paper    {}", glance.paper));
    say::result(&format!("folder   {}", glance.folder.display()));
    say::result(&format!("server   {}", glance.server.as_deref().unwrap_or("none: not shared")));
    if let Some(holder) = &glance.open_elsewhere {
        say::result(&format!("open     in another Quire ({holder})"));
        return;
    }
    let texts = glance.files.iter().filter(|file| file.kind == FileKind::Text).count();
    let all = glance.files.iter().filter(|file| file.id.is_some()).count();
    say::result(&format!("files    {texts} texts, {} others", all - texts));
    for path in &glance.changed {
        say::result(&format!("changed  {path}"));
    }
    for file in &glance.files {
        if let Some(note) = &file.note {
            say::result(&format!("note     {}: {note}", file.path));
        }
    }
}
