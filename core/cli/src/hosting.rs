//! A server inside this process, and waiting until somebody wants to stop.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context as _, bail};
use server::{Config, Creation, Running, Tls};
use tokio::runtime::Runtime;

/// Makes the runtime that servers and signals live on.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Runtime::new().context("threads cannot be started")
}

/// Starts a server for one's own paper; it takes no others.
pub(crate) fn host(
    runtime: &Runtime,
    data_dir: &Path,
    listen: Option<SocketAddr>,
) -> anyhow::Result<Running> {
    let listen = listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    if listen.ip().is_unspecified() {
        bail!("{listen} is every address of this machine; name the one that the others reach");
    }
    let tls = if listen.ip().is_loopback() { Tls::Plain } else { Tls::SelfSigned };
    let config = Config {
        listen,
        tls,
        creation: Creation::Nobody,
        ..Config::loopback(data_dir.join("hosting"))
    };
    Ok(runtime.block_on(server::serve(config))?)
}

/// Waits for Ctrl+C or a request to end.
pub(crate) fn wait_for_end(runtime: &Runtime) -> anyhow::Result<()> {
    runtime.block_on(async {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut end = signal(SignalKind::terminate()).context("signals cannot be heard")?;
            tokio::select! {
                done = tokio::signal::ctrl_c() => done.context("signals cannot be heard"),
                _ = end.recv() => Ok(()),
            }
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await.context("signals cannot be heard")
    })
}
