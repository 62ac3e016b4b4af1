//! What goes over HTTP: registering a paper at a server, and moving its figures.
//!
//! A figure (a blob) is named by the blake3 hash of its bytes, and checked against it.

use std::fmt;

use protocol::Secret;
use protocol::room::is_paper_id;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};

use crate::server_address::{ServerAddress, Transport};
use crate::tls;

/// One paper at one server, over HTTP.
#[derive(Clone)]
pub struct Papers {
    client: Client,
    server: ServerAddress,
    paper: String,
    secret: Secret,
}

/// Why something over HTTP did not go.
#[derive(Debug, thiserror::Error)]
pub enum PapersError {
    /// The server could not be reached, or the connection broke.
    #[error("{server} cannot be reached ({problem})")]
    Unreachable {
        /// The server's address.
        server: String,
        /// What went wrong below.
        problem: String,
    },
    /// The server does not accept the secret, or does not let papers be made.
    #[error("{server} refuses: {problem}")]
    Refused {
        /// The server's address.
        server: String,
        /// Its answer.
        problem: String,
    },
    /// The server has no such figure.
    #[error("{server} does not have the figure {hash}")]
    Missing {
        /// The server's address.
        server: String,
        /// The figure's hash.
        hash: String,
    },
    /// The bytes that came are not those asked for.
    #[error("{server} sent other bytes than the figure {hash}")]
    OtherBytes {
        /// The server's address.
        server: String,
        /// The figure's hash.
        hash: String,
    },
    /// A figure is larger than the limit.
    #[error("the figure {hash} is larger than {limit} bytes")]
    TooLarge {
        /// The figure's hash.
        hash: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The name of a figure is no hash, or a paper's id is none.
    #[error("{0:?} is not the name of a paper or a figure")]
    Name(String),
}

impl Papers {
    /// Prepares to speak about a paper, given by its id.
    pub fn new(server: ServerAddress, paper: &str, secret: Secret) -> Result<Self, PapersError> {
        if !is_paper_id(paper) {
            return Err(PapersError::Name(paper.chars().take(80).collect()));
        }
        let certificate = match server.transport() {
            Transport::Tls(certificate) => certificate,
            Transport::Plain => None,
        };
        let unreachable =
            |problem: String| PapersError::Unreachable { server: server.to_string(), problem };
        let tls = tls::config(certificate).map_err(|error| unreachable(error.to_string()))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            // A redirect could carry the secret elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(std::time::Duration::from_secs(15))
            .read_timeout(std::time::Duration::from_secs(45))
            .tcp_nodelay(true)
            .build()
            .map_err(|error| unreachable(reason(&error)))?;
        Ok(Self { client, server, paper: paper.to_owned(), secret })
    }

    /// Registers the paper with its secret; no harm when it is there with the same secret.
    pub async fn create(&self) -> Result<(), PapersError> {
        let response = self.request(Method::PUT, "").send().await;
        self.welcome(response).await.map(drop)
    }

    /// Whether the server has a figure.
    pub async fn has_blob(&self, hash: &str) -> Result<bool, PapersError> {
        let response = self.blob(Method::HEAD, hash)?.send().await;
        if let Ok(response) = &response
            && response.status() == StatusCode::NOT_FOUND
        {
            return Ok(false);
        }
        self.welcome(response).await.map(|_| true)
    }

    /// Fetches a figure of at most `limit` bytes.
    pub async fn get_blob(&self, hash: &str, limit: u64) -> Result<Vec<u8>, PapersError> {
        let response = self.blob(Method::GET, hash)?.send().await;
        if let Ok(response) = &response
            && response.status() == StatusCode::NOT_FOUND
        {
            return Err(PapersError::Missing { server: self.name(), hash: hash.to_owned() });
        }
        let mut response = self.welcome(response).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if (bytes.len() + chunk.len()) as u64 > limit {
                return Err(PapersError::TooLarge { hash: hash.to_owned(), limit });
            }
            bytes.extend_from_slice(&chunk);
        }
        if blake3::hash(&bytes).to_hex().as_str() == hash {
            Ok(bytes)
        } else {
            Err(PapersError::OtherBytes { server: self.name(), hash: hash.to_owned() })
        }
    }

    /// Gives the server a figure; returns its hash. It is durable there afterwards.
    pub async fn put_blob(&self, bytes: Vec<u8>) -> Result<String, PapersError> {
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let response = self.blob(Method::PUT, &hash)?.body(bytes).send().await;
        self.welcome(response).await?;
        Ok(hash)
    }

    fn name(&self) -> String {
        self.server.to_string()
    }

    fn blob(&self, method: Method, hash: &str) -> Result<RequestBuilder, PapersError> {
        if blake3::Hash::from_hex(hash).is_err() || hash.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(PapersError::Name(hash.chars().take(80).collect()));
        }
        Ok(self.request(method, &format!("/blobs/{hash}")))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/papers/{}{path}", self.server.http(), self.paper);
        self.client.request(method, url).bearer_auth(self.secret.reveal())
    }

    async fn welcome(
        &self,
        response: Result<Response, reqwest::Error>,
    ) -> Result<Response, PapersError> {
        let mut response = response.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        // The server's own words, if they are short enough to be words.
        let said = match response.chunk().await {
            Ok(Some(chunk)) if chunk.len() <= 500 => String::from_utf8_lossy(&chunk).into_owned(),
            _ => String::new(),
        };
        let problem = if said.is_empty() { status.to_string() } else { said };
        Err(PapersError::Refused { server: self.name(), problem })
    }

    fn unreachable(&self, error: &reqwest::Error) -> PapersError {
        PapersError::Unreachable { server: self.name(), problem: reason(error) }
    }
}

impl fmt::Debug for Papers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Papers({} at {})", self.paper, self.server)
    }
}

/// The innermost cause: the outer ones only say that a request failed.
fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
