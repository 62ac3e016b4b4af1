//! The doors of the server.
//!
//! ```text
//! GET  /                          (upgrade) a socket with many rooms
//! GET  /<paper id>/<document>     (upgrade) a socket that is one room
//! PUT  /papers/<paper id>         registers a paper with the bearer's secret
//! HEAD, GET, PUT /papers/<paper id>/blobs/<blake3>   figures, for whoever has the secret
//! GET  /healthz, /readyz          is the server alive, can it write
//! ```
//! No address is logged: a query string may have a secret in it.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::header::{
    ACCEPT_RANGES, CONNECTION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HOST, ORIGIN, RANGE,
    SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use protocol::RoomName;
use store::disk::{Disk as _, Kind, RealDisk};
use store::{Blobs, StoreError};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::access::{self, NOT_ACCEPTED, SUBPROTOCOL};
use crate::config::{Config, Creation};
use crate::connection::{self, Opening};
use crate::outbox::Outbox;
use crate::paper::Handle;
use crate::papers::{OpenError, Papers, Registered};

/// How many figures are moved at once: each is in memory meanwhile.
const FIGURES_AT_ONCE: usize = 4;

/// What all requests share.
pub(crate) struct Doors {
    config: Config,
    papers: Papers,
    sockets: Sockets,
    figures: Semaphore,
    /// True once the server closes down.
    closing: watch::Receiver<bool>,
    /// Held by every socket, so that one can wait for all to end.
    running: mpsc::Sender<()>,
    next_socket: AtomicU64,
}

/// How many sockets there are, in all and from where.
#[derive(Default)]
struct Sockets(Mutex<HashMap<IpAddr, usize>>);

/// One socket, counted while it lasts.
struct Counted {
    doors: Arc<Doors>,
    from: IpAddr,
}

impl Sockets {
    fn take(&self, from: IpAddr, all: usize, each: usize) -> bool {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = sockets.values().sum();
        let here = sockets.get(&from).copied().unwrap_or(0);
        if total >= all || here >= each {
            return false;
        }
        sockets.insert(from, here + 1);
        true
    }

    fn give_back(&self, from: IpAddr) {
        let mut sockets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sockets.get_mut(&from) {
            Some(1) => {
                sockets.remove(&from);
            }
            Some(count) => *count -= 1,
            None => {}
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.doors.sockets.give_back(self.from);
    }
}

impl Doors {
    pub(crate) fn new(
        config: Config,
        papers: Papers,
        closing: watch::Receiver<bool>,
        running: mpsc::Sender<()>,
    ) -> Arc<Self> {
        Arc::new(Self {
            config,
            papers,
            sockets: Sockets::default(),
            figures: Semaphore::new(FIGURES_AT_ONCE),
            closing,
            running,
            next_socket: AtomicU64::new(0),
        })
    }
}

/// Returns all doors.
pub(crate) fn router(doors: Arc<Doors>) -> Router {
    Router::new()
        .route("/", get(many_rooms))
        .route("/{paper}/{document}", get(one_room))
        .route("/papers/{paper}", any(paper))
        .route("/papers/{paper}/blobs/{hash}", any(blob))
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .layer(middleware::from_fn_with_state(doors.clone(), known_host))
        .with_state(doors)
}

fn words(status: StatusCode, text: &'static str) -> Response {
    (status, text).into_response()
}

/// Refuses requests for other names than ours: a web page may have bent its own name to our
/// address.
async fn known_host(State(doors): State<Arc<Doors>>, request: Request, next: Next) -> Response {
    let hosts = &doors.config.hosts;
    let loopback = doors.config.listen.ip().is_loopback();
    if loopback || !hosts.is_empty() {
        let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
        let name = host_name(host);
        let ours = name.eq_ignore_ascii_case("localhost")
            || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback() || !loopback);
        if !ours && !hosts.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return words(StatusCode::MISDIRECTED_REQUEST, "this server has another name\n");
        }
    }
    next.run(request).await
}

/// Returns the name in `name[:port]`, without the brackets of IPv6.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(name, _)| name);
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

async fn ready(State(doors): State<Arc<Doors>>) -> Response {
    let folder: PathBuf = doors.config.data_dir.clone();
    let there = tokio::task::spawn_blocking(move || {
        RealDisk.stat(&folder).is_ok_and(|stat| stat.kind == Kind::Folder && !stat.read_only)
    });
    if there.await.unwrap_or(false) && !*doors.closing.borrow() {
        words(StatusCode::OK, "ready\n")
    } else {
        words(StatusCode::SERVICE_UNAVAILABLE, "the data folder cannot be written\n")
    }
}

async fn many_rooms(
    State(doors): State<Arc<Doors>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let secret = access::secret_of(request.headers(), request.uri());
    upgrade(&doors, from, request, Opening { room: None, secret })
}

async fn one_room(
    State(doors): State<Arc<Doors>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    Path((paper, document)): Path<(String, String)>,
    request: Request,
) -> Response {
    let room = format!("{paper}/{document}");
    if RoomName::parse(&room).is_err() {
        return words(StatusCode::NOT_FOUND, "there is nothing here\n");
    }
    let secret = access::secret_of(request.headers(), request.uri());
    upgrade(&doors, from, request, Opening { room: Some(room), secret })
}

/// Makes a socket of a request, if it asks for one in the proper way.
fn upgrade(
    doors: &Arc<Doors>,
    from: SocketAddr,
    mut request: Request,
    opening: Opening,
) -> Response {
    let headers = request.headers();
    let asks = |name, wanted: &str| {
        headers
            .get_all(name)
            .into_iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(wanted)))
    };
    if !asks(CONNECTION, "upgrade") || !asks(UPGRADE, "websocket") {
        return words(StatusCode::OK, "This is a Quire server. Open a paper's link in Quire.\n");
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).cloned();
    let (Some(key), true) = (key, asks(SEC_WEBSOCKET_VERSION, "13")) else {
        return words(StatusCode::BAD_REQUEST, "not a WebSocket of version 13\n");
    };
    if let Some(origin) = headers.get(ORIGIN) {
        let known =
            origin.to_str().is_ok_and(|origin| doors.config.origins.iter().any(|o| o == origin));
        if !known {
            return words(StatusCode::FORBIDDEN, "web pages from there may not come in here\n");
        }
    }
    let limits = &doors.config.limits;
    if *doors.closing.borrow()
        || !doors.sockets.take(from.ip(), limits.sockets, limits.sockets_per_address)
    {
        return words(StatusCode::SERVICE_UNAVAILABLE, "too many connections; try again later\n");
    }
    let counted = Counted { doors: doors.clone(), from: from.ip() };
    let ours = access::offers_subprotocol(headers);
    let upgraded = hyper::upgrade::on(&mut request);
    // The task ends with its socket, or when the server closes down.
    drop(tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            socket(&counted.doors, upgraded, opening).await;
        }
    }));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answers = response.headers_mut();
    answers.insert(CONNECTION, "upgrade".parse().expect("plain"));
    answers.insert(UPGRADE, "websocket".parse().expect("plain"));
    let accept = derive_accept_key(key.as_bytes()).parse().expect("base64");
    answers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if ours {
        answers.insert(SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL.parse().expect("plain"));
    }
    response
}

async fn socket(doors: &Doors, upgraded: hyper::upgrade::Upgraded, opening: Opening) {
    let _running = doors.running.clone();
    let limits = &doors.config.limits;
    let outbox = Arc::new(Outbox::new(limits.queue));
    let number = doors.next_socket.fetch_add(1, Ordering::Relaxed);
    let mut closing = doors.closing.clone();
    let serve = connection::serve(upgraded, opening, number, &doors.papers, limits, &outbox);
    tokio::pin!(serve);
    tokio::select! {
        () = &mut serve => return,
        // An error means that the server is gone altogether.
        _ = closing.wait_for(|closing| *closing) => {}
    }
    outbox.close(1001, "the server is closing down");
    serve.await;
}

/// Registers a paper.
async fn paper(
    State(doors): State<Arc<Doors>>,
    Path(paper): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if method != Method::PUT && method != Method::POST {
        return words(StatusCode::METHOD_NOT_ALLOWED, "a paper is registered by PUT\n");
    }
    let Some(secret) = access::bearer(&headers) else {
        return words(StatusCode::UNAUTHORIZED, "a secret of 22 to 128 letters is needed\n");
    };
    if doors.config.creation == Creation::Nobody {
        // Who has the secret of a paper that is there may say so again.
        return match doors.papers.open(&paper, &secret).await {
            Ok(_) => words(StatusCode::OK, "the paper is registered\n"),
            Err(_) => words(StatusCode::FORBIDDEN, "papers are not registered here by others\n"),
        };
    }
    match doors.papers.register(&paper, &secret).await {
        Ok(Registered::New) => words(StatusCode::CREATED, "the paper is registered\n"),
        Ok(Registered::Known) => words(StatusCode::OK, "the paper is registered\n"),
        Err(error) => not_open(&error),
    }
}

fn not_open(error: &OpenError) -> Response {
    match error {
        OpenError::NotAccepted => words(StatusCode::FORBIDDEN, NOT_ACCEPTED),
        OpenError::Failed(_) => {
            words(StatusCode::SERVICE_UNAVAILABLE, "the paper cannot be loaded\n")
        }
    }
}

/// Moves a figure.
async fn blob(
    State(doors): State<Arc<Doors>>,
    Path((paper, hash)): Path<(String, String)>,
    request: Request,
) -> Response {
    let Some(secret) = access::bearer(request.headers()) else {
        return words(StatusCode::UNAUTHORIZED, NOT_ACCEPTED);
    };
    let lower = !hash.bytes().any(|b| b.is_ascii_uppercase());
    let Ok(wanted) = blake3::Hash::from_hex(&hash).map(|hash| hash.to_hex()) else {
        return words(StatusCode::BAD_REQUEST, "a figure is named by its blake3 hash\n");
    };
    if !lower {
        return words(StatusCode::BAD_REQUEST, "a figure is named by its blake3 hash\n");
    }
    let handle = match doors.papers.open(&paper, &secret).await {
        Ok(handle) => handle,
        Err(error) => return not_open(&error),
    };
    let Ok(_one_of_few) = doors.figures.acquire().await else {
        return words(StatusCode::SERVICE_UNAVAILABLE, "closing down\n");
    };
    match *request.method() {
        Method::HEAD => match with_blobs(&handle, move |blobs| blobs.has(&hash)).await {
            Some(Ok(true)) => StatusCode::OK.into_response(),
            Some(Ok(false)) => StatusCode::NOT_FOUND.into_response(),
            Some(Err(error)) => broken(&error),
            None => gone(),
        },
        Method::GET => match with_blobs(&handle, move |blobs| blobs.get(&hash)).await {
            Some(Ok(Some(bytes))) => send(bytes, request.headers()),
            Some(Ok(None)) => words(StatusCode::NOT_FOUND, "there is no such figure\n"),
            Some(Err(error)) => broken(&error),
            None => gone(),
        },
        Method::PUT => {
            let Ok(bytes) = to_bytes(request.into_body(), doors.config.limits.blob).await else {
                return words(StatusCode::PAYLOAD_TOO_LARGE, "the figure is too large\n");
            };
            if blake3::hash(&bytes).to_hex() != wanted {
                return words(StatusCode::BAD_REQUEST, "the bytes are not those of this name\n");
            }
            match with_blobs(&handle, move |blobs| blobs.put(&bytes)).await {
                Some(Ok(_)) => StatusCode::CREATED.into_response(),
                Some(Err(error)) => broken(&error),
                None => gone(),
            }
        }
        _ => words(StatusCode::METHOD_NOT_ALLOWED, "a figure is moved by GET, HEAD and PUT\n"),
    }
}

/// Touches the disk where that keeps nobody waiting; `None` when it panicked.
async fn with_blobs<T: Send + 'static>(
    handle: &Handle,
    touch: impl FnOnce(&Blobs) -> T + Send + 'static,
) -> Option<T> {
    let blobs = handle.blobs().clone();
    tokio::task::spawn_blocking(move || touch(&blobs)).await.ok()
}

fn gone() -> Response {
    words(StatusCode::SERVICE_UNAVAILABLE, "the paper has to be opened again; try again\n")
}

fn broken(error: &StoreError) -> Response {
    tracing::error!(%error, "a figure could not be moved");
    words(StatusCode::INSUFFICIENT_STORAGE, "the server could not keep or read the figure\n")
}

/// Answers with a figure, or with its end when that is asked for (to go on after a break).
fn send(bytes: Vec<u8>, headers: &HeaderMap) -> Response {
    let whole = bytes.len();
    let bytes = Bytes::from(bytes);
    let from = headers
        .get(RANGE)
        .and_then(|range| {
            range.to_str().ok()?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
        })
        .filter(|from: &usize| *from > 0 && *from < whole);
    let kind = [(CONTENT_TYPE, "application/octet-stream"), (ACCEPT_RANGES, "bytes")];
    match from {
        None => (kind, bytes).into_response(),
        Some(from) => {
            let range = format!("bytes {from}-{}/{whole}", whole - 1);
            let rest = bytes.slice(from..);
            let length = rest.len().to_string();
            let part = [(CONTENT_RANGE, range), (CONTENT_LENGTH, length)];
            (StatusCode::PARTIAL_CONTENT, kind, part, rest).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_from_its_port() {
        assert_eq!(host_name("localhost:80"), "localhost");
        assert_eq!(host_name("[::1]:80"), "::1");
        assert_eq!(host_name("example.org"), "example.org");
    }

    #[test]
    fn sockets_are_counted_by_address_and_in_all() {
        let (sockets, a, b) = (Sockets::default(), [1, 1, 1, 1].into(), [2, 2, 2, 2].into());
        assert!(sockets.take(a, 3, 2));
        assert!(sockets.take(a, 3, 2));
        assert!(!sockets.take(a, 3, 2));
        assert!(sockets.take(b, 3, 2));
        assert!(!sockets.take(b, 3, 2));
        sockets.give_back(a);
        assert!(sockets.take(b, 3, 2));
    }
}
