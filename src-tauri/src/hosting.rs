//! The server inside the app: it hosts one paper while that is open, for this computer only or,
//! when the person said so, for others by an address of theirs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use replica::ServerPlace;

use crate::settings::Hosted;

/// A server that runs for one paper.
#[derive(Debug)]
pub(crate) struct Hosting {
    running: (),
    place: ServerPlace,
}

impl Hosting {
    /// Starts a server whose rooms are kept in `data_dir`. It listens on `port`, or, when that is
    /// 0 or taken, on a free one. Returns how to start it the same way the next time.
    pub(crate) fn start(
        data_dir: &Path,
        address: Option<String>,
        port: u16,
    ) -> Result<(Self, Hosted), String> {
        todo!()
    }

    /// Returns where it is, for the replica and for the link.
    pub(crate) fn place(&self) -> ServerPlace {
        self.place.clone()
    }

    /// Ends it when everything it took is durable.
    pub(crate) fn stop(self) -> Result<(), String> {
        todo!()
    }
}
