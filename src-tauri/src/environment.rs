//! The environment that `WebKitGTK` must be started in. It can't be changed in a running program
//! without `unsafe`, so the app replaces itself by a fresh start where something has to change.

use std::ffi::OsString;
use std::io;

/// Starts the app again in a better environment, if this one must not stay; returns if it may, or
/// if the new start failed.
#[cfg(target_os = "linux")]
pub(crate) fn adjust() -> io::Result<()> {
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::{env, process::Command};

    /// Set in the second start, so that there is no third.
    const ADJUSTED: &str = "QUIRE_ENVIRONMENT_ADJUSTED";

    let mut changes: Vec<(&str, Option<OsString>)> = Vec::new();
    // Windows stay white with NVIDIA's driver otherwise. Who sets it has their reason.
    let dmabuf = "WEBKIT_DISABLE_DMABUF_RENDERER";
    if Path::new("/proc/driver/nvidia/version").exists() && env::var_os(dmabuf).is_none() {
        changes.push((dmabuf, Some("1".into())));
    }
    // Another program must not drive the windows of a release; tests drive development builds.
    let automation = "TAURI_WEBVIEW_AUTOMATION";
    if !cfg!(debug_assertions) && env::var_os(automation).is_some() {
        changes.push((automation, None));
    }
    if changes.is_empty() || env::var_os(ADJUSTED).is_some() {
        return Ok(());
    }
    let mut again = Command::new(env::current_exe()?);
    again.args(env::args_os().skip(1)).env(ADJUSTED, "1");
    for (name, value) in changes {
        match value {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    Err(again.exec())
}

/// Nothing has to change on other systems.
#[cfg(not(target_os = "linux"))]
pub(crate) fn adjust() -> io::Result<()> {
    Ok(())
}
