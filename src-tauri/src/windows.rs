//! The windows: the start window, and one for each open paper.
//!
//! A window shows the page that is built into the program and nothing else.

use std::path::Path;

use tauri::webview::NewWindowResponse;
use tauri::{
    AppHandle, Manager as _, PhysicalPosition, PhysicalSize, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder,
};

use crate::arguments::Half;
use crate::desk::{Desk, OpenPaper};
use crate::settings::Frame;

/// The start window's label.
pub(crate) const START: &str = "start";

/// Nothing fits into less.
const LEAST: (f64, f64) = (640.0, 420.0);

/// Shows the start window.
pub(crate) fn start(app: &AppHandle, data_dir: &Path) -> tauri::Result<()> {
    if let Some(window) = app.get_webview_window(START) {
        return window.set_focus();
    }
    build(app, START, "Quire", data_dir, (1040.0, 700.0)).map(drop)
}

/// Moves a paper's window into a half of its screen.
pub(crate) fn to_half(app: &AppHandle, paper: &OpenPaper, half: Half) -> tauri::Result<()> {
    let Some(window) = app.get_webview_window(&paper.label) else { return Ok(()) };
    let Some(screen) = window.primary_monitor()? else { return Ok(()) };
    let area = *screen.work_area();
    let left = match half {
        Half::Left => 0,
        Half::Right => area.size.width / 2,
    };
    window.set_position(PhysicalPosition::new(
        area.position.x + left.cast_signed(),
        area.position.y,
    ))?;
    window.set_size(PhysicalSize::new(area.size.width / 2, area.size.height))
}

/// Shows an open paper's window; the start window has done its work then.
pub(crate) fn paper(app: &AppHandle, paper: &OpenPaper, desk: &Desk) -> tauri::Result<()> {
    if let Some(window) = app.get_webview_window(&paper.label) {
        window.unminimize()?;
        return window.set_focus();
    }
    let title = format!("{} \u{2013} Quire", paper.title);
    let frame = desk.frame().unwrap_or(Frame { width: 1280.0, height: 820.0, maximized: false });
    let size = (frame.width.max(LEAST.0), frame.height.max(LEAST.1));
    let window = build(app, &paper.label, &title, desk.data_dir(), size)?;
    if frame.maximized {
        window.maximize()?;
    }
    if let Some(start) = app.get_webview_window(START) {
        start.close()?;
    }
    Ok(())
}

/// Returns how a window stands now.
pub(crate) fn frame(app: &AppHandle, label: &str) -> Option<Frame> {
    let window = app.get_webview_window(label)?;
    let size = window.inner_size().ok()?.to_logical(window.scale_factor().ok()?);
    let maximized = window.is_maximized().ok()?;
    Some(Frame { width: size.width, height: size.height, maximized })
}

fn build(
    app: &AppHandle,
    label: &str,
    title: &str,
    data_dir: &Path,
    (width, height): (f64, f64),
) -> tauri::Result<WebviewWindow> {
    let window = WebviewWindowBuilder::new(app, label, WebviewUrl::App("index.html".into()))
        .title(title)
        .inner_size(width, height)
        .min_inner_size(LEAST.0, LEAST.1)
        // Two people on one machine must not share what a browser keeps.
        .data_directory(data_dir.join("webview"))
        .on_navigation(|url| url.scheme() == "tauri" || (url.host_str() == Some("tauri.localhost")))
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .build()?;
    settle(&window)?;
    Ok(window)
}

/// Sets what wry leaves unset in `WebKitGTK`.
#[cfg(target_os = "linux")]
fn settle(window: &WebviewWindow) -> tauri::Result<()> {
    use webkit2gtk::{
        InputMethodContextExt as _, SettingsExt as _, WebContextExt as _, WebViewExt,
    };

    window.with_webview(|platform| {
        let view = platform.inner();
        // What an input method composes is shown in the text.
        if let Some(input) = view.input_method_context() {
            input.set_enable_preedit(true);
        }
        // Wheel scrolling crawls with it (WebKit bug 258926).
        if let Some(settings) = WebViewExt::settings(&view) {
            settings.set_enable_smooth_scrolling(false);
        }
        if let Some(context) = WebViewExt::context(&view) {
            context.set_spell_checking_enabled(true);
            context.set_spell_checking_languages(&["en_US"]);
        }
        // Everything is on this side: a page that crashed is loaded again and asks for it.
        view.connect_web_process_terminated(|view, reason| {
            tracing::error!(?reason, "the page ended and is loaded again");
            view.reload();
        });
    })
}

/// Nothing to set on other systems.
#[cfg(not(target_os = "linux"))]
fn settle(_: &WebviewWindow) -> tauri::Result<()> {
    Ok(())
}
