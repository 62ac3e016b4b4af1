//! `quire share`, `join` and `sync`: a replica without a window, for vim and server people.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::bail;
use client::Invitation;
use replica::{
    Config, Level, Network, Notification, PERSON_COLORS, Person, Replica, Saved, ServerPlace,
};
use server::Running;
use tokio::runtime::Runtime;

use crate::arguments::{Desk, Join, Share, Sync};
use crate::{hosting, say};

pub(crate) fn share(share: &Share) -> anyhow::Result<()> {
    let runtime = hosting::runtime()?;
    let replica = Replica::open(config(&share.folder, &share.desk)?, tell())?;
    let (place, running) = if let Some(address) = &share.server {
        let (address, certificate) = (address.clone(), share.fingerprint.clone());
        (ServerPlace { address, certificate }, None)
    } else {
        let running = host(&runtime, &replica, share)?;
        let address = running.address().to_string();
        let certificate = running.fingerprint().map(str::to_owned);
        (ServerPlace { address, certificate }, Some(running))
    };
    let link = replica.share(&place)?;
    say::result(&link);
    let done = keep_level(&runtime, replica, &share.desk);
    if let Some(running) = running {
        runtime.block_on(running.stop());
    }
    done
}

/// Hosts the paper here, where it was hosted last time if that is possible: the link stays valid.
fn host(runtime: &Runtime, replica: &Replica, share: &Share) -> anyhow::Result<Running> {
    let data_dir = share.desk.data.path()?;
    let before = || -> Option<SocketAddr> {
        let sharing = replica.status().ok()?.sharing?;
        let server = Invitation::parse(&sharing.link).ok()?.server;
        server.is_loopback().then(|| SocketAddr::from(([127, 0, 0, 1], server.port())))
    };
    let running = match share.listen.or_else(before) {
        Some(listen) => hosting::host(runtime, &data_dir, Some(listen)).or_else(|error| {
            // Somebody else has the port now: better another link than none.
            if share.listen.is_some() {
                Err(error)
            } else {
                hosting::host(runtime, &data_dir, None)
            }
        })?,
        None => hosting::host(runtime, &data_dir, None)?,
    };
    let secret = replica.secret()?;
    runtime.block_on(running.create_paper(&replica.paper().to_string(), &secret))?;
    Ok(running)
}

pub(crate) fn join(join: &Join) -> anyhow::Result<()> {
    let runtime = hosting::runtime()?;
    let replica = Replica::join(config(&join.folder, &join.desk)?, &join.link, tell())?;
    say::to_person(&format!("The paper is in {}.", join.folder.display()));
    keep_level(&runtime, replica, &join.desk)
}

pub(crate) fn sync(sync: &Sync) -> anyhow::Result<()> {
    if !replica::is_paper(&sync.folder)? {
        bail!(replica::Problem::NotAPaper { folder: sync.folder.clone() });
    }
    let runtime = hosting::runtime()?;
    let replica = Replica::open(config(&sync.folder, &sync.desk)?, tell())?;
    if replica.status()?.network == Network::Alone {
        say::to_person("This paper is shared with nobody; `quire share` would.");
    }
    keep_level(&runtime, replica, &sync.desk)
}

/// Until somebody stops it, or with `--once` until all is level.
fn keep_level(runtime: &Runtime, replica: Replica, desk: &Desk) -> anyhow::Result<()> {
    if desk.once {
        replica.level(Duration::from_secs(desk.within))?;
    } else {
        hosting::wait_for_end(runtime)?;
        say::to_person("Closing; everything is made durable.");
    }
    Ok(replica.close()?)
}

fn config(folder: &Path, desk: &Desk) -> anyhow::Result<Config> {
    let name = desk.name.clone().or_else(|| std::env::var("USER").ok());
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "Somebody".to_owned());
    // The same name has the same color, on every day.
    let sum = name.bytes().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    let person = Person { name, color: sum % PERSON_COLORS };
    Ok(Config { data_dir: desk.data.path()?, folder: folder.to_path_buf(), person })
}

/// Says what the replica notices, and how the connection stands when that changes.
fn tell() -> impl Fn(Notification) + Send + 'static {
    let last = Mutex::new(None);
    move |notification| match notification {
        Notification::Notice(notice) => {
            let mark = match notice.level {
                Level::Info => "",
                Level::Warn => "Note: ",
                Level::Bad => "Trouble: ",
            };
            say::to_person(&format!("{mark}{}", notice.text));
        }
        Notification::Status(status) => {
            let Ok(mut last) = last.lock() else { return };
            let network = match &status.network {
                Network::Alone => "Shared with nobody.".to_owned(),
                Network::Connecting => "Connecting.".to_owned(),
                Network::Online => "Connected.".to_owned(),
                Network::Offline { .. } => "Offline.".to_owned(),
                Network::Unreachable { problem, .. } => format!("Not connected: {problem}"),
                Network::Refused { problem } => format!("The server refused: {problem}"),
            };
            let saved = match &status.saved {
                Saved::Failed { problem } => format!(" Not saved: {problem}"),
                Saved::Saved | Saved::Saving => String::new(),
            };
            let line = network + &saved;
            if last.as_ref() != Some(&line) {
                say::to_person(&line);
                *last = Some(line);
            }
        }
        _ => {}
    }
}
