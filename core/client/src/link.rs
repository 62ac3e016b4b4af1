//! A socket to a server that comes back by itself: many rooms, binary frames, nothing about
//! documents.
//!
//! It knocks again after a growing, random pause, which starts small anew only after a connection
//! that lasted. It sends a ping after 20 s and takes 45 s without any word for a lost connection.
//! Frames of one connection never reach the next: each [`LinkEvent::Connected`] brings its own
//! [`Wire`], and an old one leads nowhere.

use std::fmt;
use std::time::{Duration, SystemTime};

use futures_util::{SinkExt as _, StreamExt as _};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_tungstenite::tungstenite::Bytes;
use tokio_tungstenite::tungstenite::error::Error as SocketError;
use tokio_tungstenite::tungstenite::http::StatusCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::server_address::{ServerAddress, Transport};
use crate::tls;

/// How long one attempt to connect may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// After this long a ping is sent.
const PING_EVERY: Duration = Duration::from_secs(20);
/// After this long without any word the connection is taken for lost.
const SILENCE: Duration = Duration::from_secs(45);
/// How often the wall clock is looked at, and by how much it has to jump for a sleep.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const SLEPT: Duration = Duration::from_secs(30);
/// A connection that lasted this long makes the next pause small again.
const STABLE: Duration = Duration::from_secs(10);
/// The first pause.
const FIRST_PAUSE_MS: u64 = 250;
/// The longest pause.
const LONGEST_PAUSE_MS: u64 = 30_000;
/// The largest message taken from a server.
const MAX_MESSAGE: usize = 64 << 20;

/// What happens on a link, in order.
#[derive(Debug)]
pub enum LinkEvent {
    /// A connection stands. Say who you are through this wire.
    Connected(Wire),
    /// A frame came.
    Frame(Vec<u8>),
    /// The connection is gone, or could not be made.
    Lost {
        /// What happened and what to do, for a person.
        problem: String,
        /// When it is tried again; `None` while the link is offline on purpose.
        retry_ms: Option<u64>,
    },
    /// The server is there and does not want us, or is not the one that the link names.
    Refused {
        /// What happened and what to do, for a person.
        problem: String,
        /// When it is tried again.
        retry_ms: u64,
    },
}

/// The way out of one connection.
#[derive(Clone)]
pub struct Wire(mpsc::UnboundedSender<Vec<u8>>);

/// A link to a server. Dropping it closes the connection.
#[derive(Debug)]
pub struct Link {
    wish: watch::Sender<Wish>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wish {
    offline: bool,
    /// Raised to make a pause end at once.
    nudges: u64,
}

impl Wire {
    /// Sends a frame after those before it; does nothing when the connection is gone.
    pub fn send(&self, frame: Vec<u8>) {
        // Who finds the connection gone hears it as an event, too.
        drop(self.0.send(frame));
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_closed() { "Wire(gone)" } else { "Wire" })
    }
}

impl Link {
    /// Starts a link on a runtime; what happens is sent to `events`, as its owner's own kind of
    /// event.
    ///
    /// A full channel holds the server back, so nothing piles up here. The link ends when the
    /// channel closes or the link is dropped.
    pub fn connect<E>(runtime: &Handle, server: ServerAddress, events: mpsc::Sender<E>) -> Self
    where
        E: From<LinkEvent> + Send + 'static,
    {
        let (wish, wishes) = watch::channel(Wish::default());
        // The task ends by itself when this link is dropped.
        drop(runtime.spawn(run(server, events, wishes)));
        Self { wish }
    }

    /// Closes the connection and keeps it closed, or lets it come back.
    pub fn set_offline(&self, offline: bool) {
        self.wish.send_modify(|wish| wish.offline = offline);
    }

    /// Tries again at once instead of after the pause, for instance when the network came back.
    pub fn retry_now(&self) {
        self.wish.send_modify(|wish| wish.nudges += 1);
    }
}

/// Why a connection could not be made or did not hold.
enum Trouble {
    Lost(String),
    Refused(String),
    /// The owner wishes so, or is gone.
    Wished,
}

/// How the loop goes on.
struct Ended;

async fn run<E>(server: ServerAddress, events: mpsc::Sender<E>, mut wishes: watch::Receiver<Wish>)
where
    E: From<LinkEvent> + Send + 'static,
{
    // An error means that nobody listens any more.
    let _ = run_to_end(&server, &events, &mut wishes).await;
}

async fn run_to_end<E: From<LinkEvent>>(
    server: &ServerAddress,
    events: &mpsc::Sender<E>,
    wishes: &mut watch::Receiver<Wish>,
) -> Result<(), Ended> {
    let mut attempt = 0;
    loop {
        wishes.wait_for(|wish| !wish.offline).await.map_err(|_| Ended)?;
        // A wish that holds already is found also when nobody can wish any more.
        wishes.has_changed().map_err(|_| Ended)?;
        let trouble = tokio::select! {
            trouble = connect_and_talk(server, events, &mut attempt) => trouble?,
            () = offline_or_gone(wishes) => Trouble::Wished,
        };
        let retry_ms = pause_ms(attempt);
        attempt = attempt.saturating_add(1);
        let event = match trouble {
            Trouble::Lost(problem) => LinkEvent::Lost { problem, retry_ms: Some(retry_ms) },
            Trouble::Refused(problem) => LinkEvent::Refused { problem, retry_ms },
            Trouble::Wished => {
                attempt = 0;
                LinkEvent::Lost { problem: "Working offline.".to_owned(), retry_ms: None }
            }
        };
        let offline = matches!(event, LinkEvent::Lost { retry_ms: None, .. });
        tell(events, event).await?;
        if !offline {
            tokio::select! {
                () = sleep(Duration::from_millis(retry_ms)) => {}
                changed = wishes.changed() => changed.map_err(|_| Ended)?,
            }
        }
    }
}

/// Waits until the connection is not wanted; ends at once when the link was dropped.
async fn offline_or_gone(wishes: &mut watch::Receiver<Wish>) {
    // An error means that the link was dropped.
    drop(wishes.wait_for(|wish| wish.offline).await);
}

async fn tell<E: From<LinkEvent>>(events: &mpsc::Sender<E>, event: LinkEvent) -> Result<(), Ended> {
    events.send(event.into()).await.map_err(|_| Ended)
}

async fn connect_and_talk<E: From<LinkEvent>>(
    server: &ServerAddress,
    events: &mpsc::Sender<E>,
    attempt: &mut u32,
) -> Result<Trouble, Ended> {
    let socket = match timeout(CONNECT_TIMEOUT, connect(server)).await {
        Ok(Ok(socket)) => socket,
        Ok(Err(trouble)) => return Ok(trouble),
        Err(_) => {
            return Ok(Trouble::Lost(format!(
                "{server} does not answer. Quire keeps trying; your edits are kept here."
            )));
        }
    };
    let (wire, frames) = mpsc::unbounded_channel();
    tell(events, LinkEvent::Connected(Wire(wire))).await?;
    let since = Instant::now();
    let trouble = talk(socket, frames, events).await?;
    if since.elapsed() >= STABLE {
        *attempt = 0;
    }
    Ok(trouble)
}

/// Carries frames both ways until the connection ends.
async fn talk<E: From<LinkEvent>>(
    socket: WebSocketStream<Box<dyn Stream>>,
    mut frames: mpsc::UnboundedReceiver<Vec<u8>>,
    events: &mpsc::Sender<E>,
) -> Result<Trouble, Ended> {
    let (mut sink, mut stream) = socket.split();
    // Both directions at once: a side that does not read while it writes can block the other.
    let send = async {
        let mut pings = interval(PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pings.tick().await;
        loop {
            tokio::select! {
                frame = frames.recv() => {
                    let Some(frame) = frame else {
                        // The owner let go of the wire; the connection goes on listening.
                        std::future::pending::<()>().await;
                        continue;
                    };
                    sink.feed(Message::Binary(frame.into())).await?;
                    while let Ok(frame) = frames.try_recv() {
                        sink.feed(Message::Binary(frame.into())).await?;
                    }
                }
                _ = pings.tick() => sink.feed(Message::Ping(Bytes::new())).await?,
            }
            sink.flush().await?;
        }
    };
    let receive = async {
        loop {
            let message = match timeout(SILENCE, stream.next()).await {
                Err(_) => return Ok(Trouble::Lost("The server has fallen silent.".to_owned())),
                Ok(None) => return Ok(closed(None)),
                Ok(Some(Err(error))) => return Ok(Trouble::Lost(broken(&error))),
                Ok(Some(Ok(message))) => message,
            };
            match message {
                Message::Binary(frame) => tell(events, LinkEvent::Frame(frame.into())).await?,
                Message::Close(frame) => return Ok(closed(frame.as_ref())),
                Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    };
    tokio::select! {
        result = send => {
            let result: Result<(), SocketError> = result;
            Ok(Trouble::Lost(result.err().map_or_else(String::new, |error| broken(&error))))
        }
        trouble = receive => trouble,
        () = slept() => Ok(Trouble::Lost("This computer was asleep; Quire connects again.".to_owned())),
    }
}

/// Waits until the computer wakes from sleep: by then the other side has given up, but nobody has
/// told us, and the clock that counts silence stood still.
async fn slept() {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = wall_clock();
    loop {
        ticks.tick().await;
        let now = wall_clock();
        if now.duration_since(last).is_ok_and(|passed| passed > LOOK_EVERY + SLEPT) {
            return;
        }
        last = now;
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the wall clock goes on while the computer sleeps"
)]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}

fn broken(error: &SocketError) -> String {
    format!("The connection broke off ({error}). Quire connects again; your edits are kept here.")
}

fn closed(frame: Option<&CloseFrame>) -> Trouble {
    let (code, reason) = frame.map_or((1005, ""), |frame| (frame.code.into(), &*frame.reason));
    tracing::debug!(code, "the server closed the connection");
    match code {
        // The range in which a server says that coming back is of no use.
        4400..=4499 => Trouble::Refused(format!("The server ended the connection: {reason}")),
        1001 => Trouble::Lost("The server is closing down; Quire connects again.".to_owned()),
        _ if reason.is_empty() => Trouble::Lost("The server closed the connection.".to_owned()),
        _ => Trouble::Lost(format!("The server closed the connection: {reason}")),
    }
}

/// What a socket is laid on: plain or TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

async fn connect(server: &ServerAddress) -> Result<WebSocketStream<Box<dyn Stream>>, Trouble> {
    let stream = TcpStream::connect((server.host(), server.port()))
        .await
        .map_err(|error| Trouble::Lost(unreachable(server, &error)))?;
    // Without it a keystroke may wait 40 ms for the confirmation of the one before.
    stream.set_nodelay(true).map_err(|error| Trouble::Lost(unreachable(server, &error)))?;
    let stream: Box<dyn Stream> = match server.transport() {
        Transport::Plain => Box::new(stream),
        Transport::Tls(certificate) => {
            let config = tls::config(certificate).map_err(|error| no_tls(server, &error))?;
            let name = ServerName::try_from(server.host().to_owned())
                .map_err(|error| no_tls(server, &error))?;
            let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
            let stream =
                connector.connect(name, stream).await.map_err(|error| no_tls(server, &error))?;
            Box::new(stream)
        }
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(16 << 10)
        .max_message_size(Some(MAX_MESSAGE))
        .max_frame_size(Some(MAX_MESSAGE));
    match client_async_with_config(server.socket(), stream, Some(config)).await {
        Ok((socket, _)) => Ok(socket),
        Err(SocketError::Http(response)) => Err(not_welcome(server, response.status())),
        Err(error) => Err(Trouble::Lost(format!(
            "{server} does not speak as a Quire server does ({error}). Check the address."
        ))),
    }
}

fn unreachable(server: &ServerAddress, error: &std::io::Error) -> String {
    format!("{server} cannot be reached ({error}). Quire keeps trying; your edits are kept here.")
}

fn no_tls(server: &ServerAddress, error: &dyn std::error::Error) -> Trouble {
    let text = error.to_string();
    if text.contains(tls::OTHER_CERTIFICATE) {
        Trouble::Refused(format!(
            "{server} shows another certificate than the link names. Nothing was sent. Ask for a \
             new link; if it stays so, somebody may be listening in between."
        ))
    } else {
        Trouble::Lost(format!("No protected connection to {server} could be made ({text})."))
    }
}

fn not_welcome(server: &ServerAddress, status: StatusCode) -> Trouble {
    match status.as_u16() {
        401 | 403 => Trouble::Refused(format!(
            "{server} does not let this app in (answer {status}). Ask for a new link."
        )),
        429 | 500..=599 => Trouble::Lost(format!(
            "{server} is too busy (answer {status}). Quire keeps trying; your edits are kept here."
        )),
        _ => Trouble::Refused(format!(
            "At {server} no Quire server answers (answer {status}). Check the address."
        )),
    }
}

/// Returns how long to wait before attempt `attempt + 1`: doubling, and random in its upper half.
fn pause_ms(attempt: u32) -> u64 {
    let full = FIRST_PAUSE_MS.saturating_mul(1 << attempt.min(10)).min(LONGEST_PAUSE_MS);
    let mut bytes = [0; 8];
    // Without randomness the pause is merely less spread out.
    let _ = getrandom::fill(&mut bytes);
    full / 2 + u64::from_le_bytes(bytes) % (full / 2 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_differ_and_have_an_end() {
        for attempt in 0..64 {
            let full = (FIRST_PAUSE_MS << attempt.min(10)).min(LONGEST_PAUSE_MS);
            let pause = pause_ms(attempt);
            assert!((full / 2..=full).contains(&pause), "{attempt}: {pause}");
        }
        let pauses: std::collections::BTreeSet<_> = (0..20).map(|_| pause_ms(9)).collect();
        assert!(pauses.len() > 1, "a restarted server must not meet everybody at once");
    }
}
