//! What can be set on a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a server is to run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where the papers are kept.
    pub data_dir: PathBuf,
    /// What the bytes travel in.
    pub tls: Tls,
    /// Who may register papers over HTTP.
    pub creation: Creation,
    /// Host names, besides this machine's, under which a server on loopback answers: those of a
    /// proxy in front of it. Others are refused, so that no web page can reach it by a trick
    /// with names. A server that listens elsewhere answers to all names when this is empty.
    pub hosts: Vec<String>,
    /// Origins (`https://example.org`) whose web pages may open sockets. Programs send none.
    pub origins: Vec<String>,
    /// How much of what is taken.
    pub limits: Limits,
}

/// What the bytes travel in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// As they are: on loopback only.
    Plain,
    /// As they are, anywhere: behind a proxy, or where somebody wants it so.
    PlainAnywhere,
    /// A certificate made here once and kept in the data folder; links carry its fingerprint.
    SelfSigned,
    /// A certificate (chain) and its key from PEM files.
    Files {
        /// The certificate, and those that vouch for it.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
}

/// Who may register papers over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// Whoever reaches the server.
    Anybody,
    /// Nobody: papers are registered by [`crate::Running::create_paper`].
    Nobody,
}

/// How much of what is taken, before somebody is refused or has to wait.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Sockets in all.
    pub sockets: usize,
    /// Sockets from one address (a y-websocket client opens one for each room).
    pub sockets_per_address: usize,
    /// Rooms in one socket.
    pub rooms_per_socket: usize,
    /// Bytes before a secret was accepted.
    pub bytes_before_secret: u64,
    /// How long a secret may take to come.
    pub secret_within: Duration,
    /// Bytes of one message.
    pub message: usize,
    /// Bytes of a change that waits for others, in a document.
    pub waiting: usize,
    /// Bytes that wait for one slow reader before it is synced anew instead.
    pub queue: usize,
    /// How long a reader may take nothing at all.
    pub stalled: Duration,
    /// Bytes of one figure.
    pub blob: usize,
    /// How long a paper stays loaded that nobody is in.
    pub idle: Duration,
}

impl Config {
    /// Returns the settings of a server on this machine for itself, on a free port.
    pub fn loopback(data_dir: PathBuf) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir,
            tls: Tls::Plain,
            creation: Creation::Anybody,
            hosts: Vec::new(),
            origins: Vec::new(),
            limits: Limits::default(),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sockets: 20_000,
            sockets_per_address: 1_000,
            rooms_per_socket: 20_000,
            bytes_before_secret: 64 << 10,
            secret_within: Duration::from_secs(10),
            message: 64 << 20,
            waiting: 1 << 20,
            queue: 1 << 20,
            stalled: Duration::from_secs(30),
            blob: 512 << 20,
            idle: Duration::from_mins(1),
        }
    }
}
