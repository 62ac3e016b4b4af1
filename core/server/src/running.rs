//! Starting and stopping a server, alone or inside another program.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;
use protocol::Secret;
use store::disk::{Access, RealDisk, create_dirs};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::certificate::{self, Certificate, CertificateError};
use crate::config::{Config, Tls};
use crate::http::{Doors, router};
use crate::papers::{OpenError, Papers};

/// How long the head of a request may take.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long sockets and requests have to end when the server closes down.
const END_WITHIN: Duration = Duration::from_secs(6);

/// Why a server does not start, or a paper could not be registered.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Plain outside this machine, without saying so.
    #[error(
        "{0} can be reached from other machines: turn on TLS, or say that plain text is wanted"
    )]
    PlainOutside(SocketAddr),
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}; choose another port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's words.
        source: io::Error,
    },
    /// The data folder cannot be made.
    #[error("the data folder {folder} cannot be used: {source}")]
    DataDir {
        /// The folder.
        folder: String,
        /// The system's words.
        source: io::Error,
    },
    /// There is no certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A paper is registered with another secret, or its id is none.
    #[error("the paper {0} is registered here with another secret")]
    OtherSecret(String),
    /// A paper could not be made or loaded.
    #[error("the paper {paper} cannot be loaded: {problem}")]
    Paper {
        /// The paper's id.
        paper: String,
        /// What is wrong.
        problem: String,
    },
}

/// A server that runs. Dropping it ends it abruptly; what was acknowledged is safe even then.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    fingerprint: Option<String>,
    papers: Papers,
    handle: Handle<SocketAddr>,
    closing: watch::Sender<bool>,
    sockets: mpsc::Receiver<()>,
}

/// Starts a server on the runtime in which this is called.
pub async fn serve(config: Config) -> Result<Running, ServeError> {
    if config.tls == Tls::Plain && !config.listen.ip().is_loopback() {
        return Err(ServeError::PlainOutside(config.listen));
    }
    create_dirs(&RealDisk, &config.data_dir, Access::Private).map_err(|source| {
        ServeError::DataDir { folder: config.data_dir.display().to_string(), source }
    })?;
    let certificate = certificate::load(&config.tls, &config.data_dir)?;
    let listen = |source| ServeError::Listen { address: config.listen, source };
    let listener = TcpListener::bind(config.listen).map_err(listen)?;
    listener.set_nonblocking(true).map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let papers = Papers::new(&config.data_dir, Arc::new(RealDisk), config.limits.clone());
    let (closing, closes) = watch::channel(false);
    let (running, sockets) = mpsc::channel(1);
    let handle = Handle::new();
    let service = router(Doors::new(config.clone(), papers.clone(), closes, running))
        .into_make_service_with_connect_info::<SocketAddr>();
    let fingerprint = certificate.as_ref().and_then(|made| made.fingerprint.clone());
    let mut server = axum_server::from_tcp(listener)
        .map_err(listen)?
        .handle(handle.clone())
        .acceptor(NoDelayAcceptor::new());
    server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN);
    // Both end through the handle.
    match certificate {
        None => drop(tokio::spawn(server.serve(service))),
        Some(Certificate { config, .. }) => {
            let tls = RustlsAcceptor::new(RustlsConfig::from_config(config));
            let server = server.map(|no_delay| tls.acceptor(no_delay));
            drop(tokio::spawn(server.serve(service)));
        }
    }
    tracing::info!(%address, "listening");
    Ok(Running { address, fingerprint, papers, handle, closing, sockets })
}

impl Running {
    /// Returns where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the fingerprint (blake3, 64 hex digits) of a certificate made here, for links.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Registers a paper with its secret, whatever the settings say about others; no harm when
    /// it is there with the same secret.
    pub async fn create_paper(&self, paper: &str, secret: &Secret) -> Result<(), ServeError> {
        match self.papers.register(paper, secret).await {
            Ok(_) => Ok(()),
            Err(OpenError::NotAccepted) => Err(ServeError::OtherSecret(paper.to_owned())),
            Err(OpenError::Failed(problem)) => {
                Err(ServeError::Paper { paper: paper.to_owned(), problem })
            }
        }
    }

    /// Closes all sockets, makes everything durable, and ends. Takes a few seconds at most.
    pub async fn stop(mut self) {
        self.closing.send_replace(true);
        self.handle.graceful_shutdown(Some(END_WITHIN));
        // Every socket holds a sender, and nothing is ever sent; the doors hold the last one.
        let _ = timeout(END_WITHIN, self.sockets.recv()).await;
        self.papers.close().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.closing.send_replace(true);
        self.handle.shutdown();
        self.papers.close_soon();
    }
}
