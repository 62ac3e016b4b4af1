//! What a window may ask for. Each command translates and passes on; what it gives back as an
//! error is a sentence for a person.
//!
//! The commands of a keystroke ([`edit`], [`set_cursor`], [`close_editor`]) run on the main thread
//! and only queue; all others run apart from it, because they wait.

#![expect(clippy::needless_pass_by_value, reason = "Tauri hands over values")]

use std::path::PathBuf;
use std::sync::Arc;

use replica::{Edit, EditorId, Selection};
use store::disk::{Disk as _, RealDisk};
use tauri::ipc::Channel;
use tauri::{AppHandle, State, WebviewWindow};
use tauri_plugin_clipboard_manager::ClipboardExt as _;
use tauri_plugin_dialog::DialogExt as _;
use tauri_plugin_opener::OpenerExt as _;

use crate::desk::{Desk, OpenPaper};
use crate::shapes::{
    Change, Notice, OpenedEditor, Paper, Person, ShareWhere, Sharing, ShellEvent, Start, file_id,
};
use crate::windows;

type Answer<T> = Result<T, String>;
type TheDesk<'a> = State<'a, Arc<Desk>>;

/// Returns what the start window shows.
#[tauri::command]
pub(crate) async fn start(desk: TheDesk<'_>) -> Answer<Start> {
    let desk = Arc::clone(&desk);
    apart(move || Ok(desk.start())).await
}

/// Takes over what the person wants to be called.
#[tauri::command]
pub(crate) async fn set_person(desk: TheDesk<'_>, person: Person) -> Answer<()> {
    let desk = Arc::clone(&desk);
    apart(move || desk.set_person(&person)).await
}

/// Asks for a folder and opens its paper.
#[tauri::command]
pub(crate) async fn open_folder(app: AppHandle, desk: TheDesk<'_>) -> Answer<()> {
    let desk = Arc::clone(&desk);
    apart(move || {
        let Some(folder) = ask_for_folder(&app, "Open a folder with a paper") else {
            return Ok(());
        };
        let paper = desk.open_folder(&folder)?;
        show(&app, &paper, &desk)
    })
    .await
}

/// Opens a paper that was open before.
#[tauri::command]
pub(crate) async fn open_recent(app: AppHandle, desk: TheDesk<'_>, id: String) -> Answer<()> {
    let desk = Arc::clone(&desk);
    apart(move || {
        let folder = desk.recent_folder(&id)?;
        // A folder that is away must not be made anew, as an empty paper.
        if RealDisk.stat(&folder).is_err() {
            return Err(format!(
                "The folder {} is not there. If it was moved, open it where it is now; if it is \
                 on a drive, plug that in.",
                folder.display()
            ));
        }
        let paper = desk.open_folder(&folder)?;
        show(&app, &paper, &desk)
    })
    .await
}

/// Forgets a paper that was open before; nothing of it is removed.
#[tauri::command]
pub(crate) async fn forget_recent(desk: TheDesk<'_>, id: String) -> Answer<()> {
    let desk = Arc::clone(&desk);
    apart(move || desk.forget(&id)).await
}

/// Asks where to put it, fetches the paper behind a link, and opens it.
#[tauri::command]
pub(crate) async fn join(app: AppHandle, desk: TheDesk<'_>, link: String) -> Answer<()> {
    let desk = Arc::clone(&desk);
    apart(move || join_asking(&app, &desk, &link)).await
}

/// Begins a page: returns its whole paper, and tells its news to the channel from now on.
#[tauri::command]
pub(crate) async fn subscribe(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    channel: Channel<ShellEvent>,
) -> Answer<Paper> {
    let paper = desk.paper(window.label())?;
    apart(move || {
        paper.close_editors();
        paper.outlet.listen(channel);
        paper.view()
    })
    .await
}

/// Opens a text for editing.
#[tauri::command]
pub(crate) async fn open_editor(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    file: String,
) -> Answer<OpenedEditor> {
    let paper = desk.paper(window.label())?;
    apart(move || {
        let opened = paper.replica.open_editor(file_id(&file)?).map_err(said)?;
        paper.note_editor(opened.editor);
        Ok(opened.into())
    })
    .await
}

/// Queues what was typed.
#[tauri::command]
pub(crate) fn edit(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    editor: u64,
    version: u64,
    updates: Vec<Vec<Change>>,
) -> Answer<()> {
    let step = |changes: Vec<Change>| changes.into_iter().map(Into::into).collect();
    let updates = updates.into_iter().map(step).collect();
    desk.paper(window.label())?.replica.edit(Edit { editor: EditorId(editor), version, updates });
    Ok(())
}

/// Closes an editor.
#[tauri::command]
pub(crate) fn close_editor(window: WebviewWindow, desk: TheDesk<'_>, editor: u64) -> Answer<()> {
    desk.paper(window.label())?.close_editor(EditorId(editor));
    Ok(())
}

/// Says where the cursor stands.
#[tauri::command]
pub(crate) fn set_cursor(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    editor: u64,
    version: u64,
    anchor: u32,
    head: u32,
) -> Answer<()> {
    let selection = Selection { editor: EditorId(editor), version, anchor, head };
    desk.paper(window.label())?.replica.set_cursor(selection);
    Ok(())
}

/// Makes an empty file; returns its id.
#[tauri::command]
pub(crate) async fn create_file(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    path: String,
) -> Answer<String> {
    let paper = desk.paper(window.label())?;
    apart(move || paper.replica.create_file(&path).map(|id| id.to_string()).map_err(said)).await
}

/// Gives a file another path.
#[tauri::command]
pub(crate) async fn rename_file(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    file: String,
    path: String,
) -> Answer<()> {
    let paper = desk.paper(window.label())?;
    apart(move || paper.replica.rename_file(file_id(&file)?, &path).map_err(said)).await
}

/// Takes a file out of the paper.
#[tauri::command]
pub(crate) async fn delete_file(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    file: String,
) -> Answer<()> {
    let paper = desk.paper(window.label())?;
    apart(move || paper.replica.delete_file(file_id(&file)?).map_err(said)).await
}

/// Goes offline by choice, or back.
#[tauri::command]
pub(crate) async fn set_offline(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    offline: bool,
) -> Answer<()> {
    let paper = desk.paper(window.label())?;
    apart(move || {
        paper.replica.set_offline(offline);
        Ok(())
    })
    .await
}

/// Shares the paper and returns the link to pass on.
#[tauri::command]
pub(crate) async fn share(
    window: WebviewWindow,
    desk: TheDesk<'_>,
    r#where: ShareWhere,
) -> Answer<Sharing> {
    let paper = desk.paper(window.label())?;
    let desk = Arc::clone(&desk);
    apart(move || desk.share(&paper, &r#where)).await
}

/// Ends sharing the paper.
#[tauri::command]
pub(crate) async fn stop_sharing(window: WebviewWindow, desk: TheDesk<'_>) -> Answer<()> {
    let paper = desk.paper(window.label())?;
    let desk = Arc::clone(&desk);
    apart(move || desk.stop_sharing(&paper)).await
}

/// Shows the paper's folder in the system's file manager.
#[tauri::command]
pub(crate) async fn reveal_folder(
    app: AppHandle,
    window: WebviewWindow,
    desk: TheDesk<'_>,
) -> Answer<()> {
    let paper = desk.paper(window.label())?;
    apart(move || {
        let folder = paper.folder.display().to_string();
        app.opener()
            .open_path(&folder, None::<&str>)
            .map_err(|problem| format!("No file manager shows {folder}: {problem}."))
    })
    .await
}

/// Puts a text, such as the link, on the clipboard.
#[tauri::command]
pub(crate) async fn copy_text(app: AppHandle, text: String) -> Answer<()> {
    apart(move || {
        app.clipboard()
            .write_text(text)
            .map_err(|problem| format!("It could not be copied: {problem}. Select it instead."))
    })
    .await
}

/// Returns what happened since the paper was opened.
#[tauri::command]
pub(crate) async fn notices(window: WebviewWindow, desk: TheDesk<'_>) -> Answer<Vec<Notice>> {
    let paper = desk.paper(window.label())?;
    apart(move || Ok(paper.replica.notices().into_iter().map(Into::into).collect())).await
}

/// Asks where to put it, fetches the paper behind a link, and shows it. Waits: not for the main
/// thread.
pub(crate) fn join_asking(app: &AppHandle, desk: &Desk, link: &str) -> Answer<()> {
    let Some(chosen) = ask_for_folder(app, "Choose an empty folder for the paper") else {
        return Ok(());
    };
    let paper = desk.join(link, &empty_place(chosen))?;
    show(app, &paper, desk)
}

/// Shows an open paper's window.
pub(crate) fn show(app: &AppHandle, paper: &OpenPaper, desk: &Desk) -> Answer<()> {
    windows::paper(app, paper, desk)
        .map_err(|problem| format!("The window could not be opened: {problem}."))
}

/// Runs what waits apart from the main thread and from other commands.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Answer<T> + Send + 'static) -> Answer<T> {
    let done = tauri::async_runtime::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err("Quire made a mistake here and did nothing.".to_owned()))
}

fn ask_for_folder(app: &AppHandle, title: &str) -> Option<PathBuf> {
    let chosen = app.dialog().file().set_title(title).blocking_pick_folder()?;
    chosen.into_path().ok()
}

/// Returns the folder if it is empty, else a free name in it.
fn empty_place(chosen: PathBuf) -> PathBuf {
    if RealDisk.list(&chosen).map_or(true, |names| names.is_empty()) {
        return chosen;
    }
    let free = |name: String| Some(chosen.join(name)).filter(|it| RealDisk.stat(it).is_err());
    free("Shared paper".to_owned())
        .or_else(|| (2..1000).find_map(|number| free(format!("Shared paper {number}"))))
        .unwrap_or(chosen)
}

fn said(problem: replica::Problem) -> String {
    problem.to_string()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make real folders")]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_fetched_paper_never_goes_among_other_files() {
        let dir = tempfile::tempdir().unwrap();
        let chosen = dir.path().to_path_buf();
        assert_eq!(empty_place(chosen.clone()), chosen);
        fs::write(dir.path().join("letter.tex"), "").unwrap();
        assert_eq!(empty_place(chosen.clone()), dir.path().join("Shared paper"));
        fs::create_dir(dir.path().join("Shared paper")).unwrap();
        assert_eq!(empty_place(chosen), dir.path().join("Shared paper 2"));
    }
}
