//! A server in the test's own process.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use replica::ServerPlace;
use server::{Config, Running};
use tokio::runtime::Runtime;

/// A server on loopback that can be stopped and started again on the same data.
#[derive(Debug)]
pub struct Hosting {
    runtime: Runtime,
    running: Option<Running>,
    address: SocketAddr,
    data_dir: PathBuf,
}

impl Hosting {
    /// Starts a server on a free port.
    pub fn start(data_dir: &Path) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let config = Config::loopback(data_dir.to_path_buf());
        let running = runtime.block_on(server::serve(config)).expect("a server starts");
        let address = running.address();
        Self { runtime, running: Some(running), address, data_dir: data_dir.to_path_buf() }
    }

    /// Where to share a paper.
    pub fn place(&self) -> ServerPlace {
        ServerPlace { address: self.address.to_string(), certificate: None }
    }

    /// Stops the server as a person would.
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            self.runtime.block_on(running.stop());
        }
    }

    /// Starts it again at the same address.
    pub fn start_again(&mut self) {
        let config = Config { listen: self.address, ..Config::loopback(self.data_dir.clone()) };
        let running = self.runtime.block_on(server::serve(config)).expect("the port is free again");
        self.running = Some(running);
    }
}

impl Drop for Hosting {
    fn drop(&mut self) {
        self.stop();
    }
}
