//! Quire's app: windows around the replicas of papers.
//!
//! This file starts and ends it. What a window may ask for is in `commands.rs`, what it is told in
//! `events.rs`, the border's shapes in `shapes.rs`, what is open in `desk.rs`.

mod arguments;
mod environment;
mod shapes;

mod hosting;
mod settings;

mod events;

mod desk;

mod windows;

mod commands;

use std::env;
use std::io::Write as _;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use store::disk::{self, RealDisk};
use tauri::{AppHandle, Manager as _, RunEvent, WindowEvent};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, Opening};
use crate::desk::{Desk, OpenPaper};
use crate::settings::Kept;
use crate::shapes::{Person, ShareWhere};

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    environment::adjust().context("Quire could not be started in the environment it needs")?;
    let filter = EnvFilter::try_from_env("QUIRE_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();

    let own_data_dir = arguments.data_dir();
    let data_dir = own_data_dir
        .clone()
        .or_else(replica::default_data_dir)
        .context("This computer names no folder for data; say one by --data-dir")?;
    let data_dir = std::path::absolute(data_dir)?;
    let cannot_keep = || format!("Quire can't keep its data in {}", data_dir.display());
    let kept = Kept::open(&data_dir).with_context(cannot_keep)?;
    let guest = guest(&arguments, &kept);
    let desk = Arc::new(Desk::new(data_dir.clone(), kept, guest));

    let mut builder = tauri::Builder::default();
    // Who names a data folder wants an app of their own.
    if own_data_dir.is_none() {
        builder = builder.plugin(tauri_plugin_single_instance::init(|app, line, folder| {
            let arguments = Arguments::try_parse_from(line).unwrap_or_default();
            begin(app, arguments, folder.into());
        }));
    }
    let app = builder
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_opener::init())
        .plugin(tauri_plugin_clipboard_manager::init())
        .manage(desk)
        .invoke_handler(tauri::generate_handler![
            commands::start,
            commands::set_person,
            commands::open_folder,
            commands::open_recent,
            commands::forget_recent,
            commands::join,
            commands::subscribe,
            commands::open_editor,
            commands::edit,
            commands::close_editor,
            commands::set_cursor,
            commands::create_file,
            commands::rename_file,
            commands::delete_file,
            commands::set_offline,
            commands::share,
            commands::stop_sharing,
            commands::reveal_folder,
            commands::copy_text,
            commands::notices,
        ])
        .setup(move |app| {
            // Whoever started it can end exactly this one.
            let pid = process::id().to_string();
            disk::replace(&RealDisk, &data_dir.join("app.pid"), pid.as_bytes())?;
            end_when_told(app.handle().clone());
            begin(app.handle(), arguments, env::current_dir()?);
            Ok(())
        })
        .build(tauri::generate_context!())
        .context("Quire could not be started")?;
    app.run(on_event);
    Ok(())
}

/// Returns who sits here this time, if the command line says so.
fn guest(arguments: &Arguments, kept: &Kept) -> Option<Person> {
    if arguments.name.is_none() && arguments.color.is_none() {
        return None;
    }
    let mut person = kept.now().person.clone().unwrap_or_else(Person::unnamed);
    if let Some(name) = &arguments.name {
        person.name.clone_from(name);
    }
    if let Some(color) = arguments.color {
        person.color = color;
    }
    Some(person)
}

/// Opens what a command line names, apart from the main thread: it waits for disk and network.
fn begin(app: &AppHandle, arguments: Arguments, from: PathBuf) {
    let app = app.clone();
    tauri::async_runtime::spawn_blocking(move || {
        let desk = Arc::clone(&app.state::<Arc<Desk>>());
        let opening = arguments.opening(&from);
        let asked_for = matches!(opening, Opening::Join { .. }) || arguments.share;
        let Err(problem) = open(&app, &desk, opening, &arguments) else { return };
        if asked_for {
            // Somebody at a terminal waits for the link, or for the paper behind it.
            drop(writeln!(std::io::stderr(), "{problem}"));
            app.exit(1);
            return;
        }
        show_start(&app, &desk);
        app.dialog().message(problem).title("Quire").kind(MessageDialogKind::Error).show(|_| {});
    });
}

fn open(
    app: &AppHandle,
    desk: &Desk,
    opening: Opening,
    arguments: &Arguments,
) -> Result<(), String> {
    let paper = match opening {
        Opening::Start => {
            show_start(app, desk);
            return Ok(());
        }
        Opening::Link(link) => {
            show_start(app, desk);
            return commands::join_asking(app, desk, &link);
        }
        Opening::Folder(folder) => desk.open_folder(&folder)?,
        Opening::Join { link, into } => desk.join(&link, &into)?,
    };
    if arguments.share {
        let sharing = desk.share(&paper, &ShareWhere::Here { address: None })?;
        let mut out = std::io::stdout();
        let printed = writeln!(out, "{}", sharing.link).and_then(|()| out.flush());
        printed.map_err(|problem| format!("The link could not be printed: {problem}"))?;
    }
    commands::show(app, &paper, desk)?;
    if let Some(half) = arguments.half
        && let Err(problem) = windows::to_half(app, &paper, half)
    {
        tracing::warn!(%problem, "the window could not be placed");
    }
    Ok(())
}

fn show_start(app: &AppHandle, desk: &Desk) {
    if let Err(problem) = windows::start(app, desk.data_dir()) {
        tracing::error!(%problem, "the start window could not be opened");
    }
}

fn on_event(app: &AppHandle, event: RunEvent) {
    let desk = app.state::<Arc<Desk>>();
    let (label, event) = match event {
        RunEvent::WindowEvent { label, event, .. } => (label, event),
        // The last window is gone, its paper not yet.
        RunEvent::ExitRequested { code: None, api, .. } if desk.is_closing() => {
            return api.prevent_exit();
        }
        _ => return,
    };
    match event {
        WindowEvent::Focused(true) => {
            // Somebody may have worked in the folder with something else.
            if let Ok(paper) = desk.paper(&label) {
                paper.replica.rescan();
            }
        }
        WindowEvent::CloseRequested { api, .. } => {
            let Ok(paper) = desk.paper(&label) else { return };
            let saved = paper.replica.status().map(|status| status.saved);
            if let Ok(replica::Saved::Failed { problem }) = saved {
                api.prevent_close();
                ask_before_loss(app, label, &problem);
            } else if let Some(frame) = windows::frame(app, &label) {
                desk.set_frame(frame);
            }
        }
        WindowEvent::Destroyed => {
            if let Some(paper) = desk.remove(&label) {
                close(app.clone(), Arc::clone(&desk), paper);
            }
        }
        _ => {}
    }
}

/// Writes a paper out and ends it, apart from the main thread; the program ends after the last.
fn close(app: AppHandle, desk: Arc<Desk>, paper: Arc<OpenPaper>) {
    tauri::async_runtime::spawn_blocking(move || {
        if let Err(problem) = paper.close() {
            tracing::error!(problem, "not everything was written when the window closed");
        }
        tracing::info!("a paper is closed");
        desk.closed();
        if !desk.is_closing() && app.webview_windows().is_empty() {
            app.exit(0);
        }
    });
}

/// Closes all windows when the system ends the session, or a terminal says so: papers are written
/// out as they are when a person closes them.
#[cfg(unix)]
fn end_when_told(app: AppHandle) {
    use tokio::signal::unix::{SignalKind, signal};

    tauri::async_runtime::spawn(async move {
        let told = (
            signal(SignalKind::terminate()),
            signal(SignalKind::interrupt()),
            signal(SignalKind::hangup()),
        );
        let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = told else {
            tracing::warn!("the system's word to end will not be heard");
            return;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
        let windows = app.webview_windows();
        if windows.is_empty() {
            app.exit(0);
        }
        for window in windows.into_values() {
            if let Err(problem) = window.destroy() {
                tracing::error!(%problem, "a window could not be closed");
            }
        }
    });
}

/// Other systems ask windows.
#[cfg(not(unix))]
fn end_when_told(_: AppHandle) {}

/// Closing now would lose text: the one moment in which Quire asks.
fn ask_before_loss(app: &AppHandle, label: String, problem: &str) {
    let handle = app.clone();
    app.dialog()
        .message(format!("{problem}\n\nClosed now, the last edits are lost."))
        .title("Not everything is saved")
        .kind(MessageDialogKind::Warning)
        .buttons(MessageDialogButtons::OkCancelCustom(
            "Close and lose them".into(),
            "Keep the window".into(),
        ))
        .show(move |close| {
            if close
                && let Some(window) = handle.get_webview_window(&label)
                && let Err(problem) = window.destroy()
            {
                tracing::error!(%problem, "the window could not be closed");
            }
        });
}
