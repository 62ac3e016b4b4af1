//! One socket: frames in, through the `Peer`, to the papers; frames out of its outbox.
//!
//! Reading and writing go on at once. Nothing is read while the answers pile up, while a secret
//! is checked and its paper loaded, or while too much of this socket waits for a paper. Before a
//! secret was accepted, the stream itself ends after a few bytes (see [`Metered`]).

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Bytes;
use futures_util::{SinkExt, Stream, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use protocol::{Framing, Heard, Message, Peer, RoomName, Secret};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Duration, Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message as SocketMessage};

use crate::access::NOT_ACCEPTED;
use crate::config::Limits;
use crate::outbox::{Next, Outbox};
use crate::paper::{Event, Handle, Said};
use crate::papers::{OpenError, Papers};
use crate::room::Seat;

/// After this long a ping is sent, and a message to clients that do not see pings.
const PING_EVERY: Duration = Duration::from_secs(20);
/// After this long without any word the other side is taken for gone.
const SILENCE: Duration = Duration::from_mins(1);
/// How long the last words may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// What the shortest message costs of a socket's credit: its acknowledgement takes room, too.
const MIN_COST: usize = 1 << 10;
/// How many rooms may be refused before the socket is closed.
const MAX_DENIED: u32 = 8;

/// How a socket begins.
pub(crate) struct Opening {
    /// The one room that the address names; without, the socket has many rooms.
    pub(crate) room: Option<String>,
    /// The secret that came with the request; else it comes in the first message.
    pub(crate) secret: Option<Secret>,
}

/// Carries a socket to its end.
pub(crate) async fn serve(
    upgraded: Upgraded,
    opening: Opening,
    number: u64,
    papers: &Papers,
    limits: &Limits,
    outbox: &Arc<Outbox>,
) {
    let authenticated = Arc::new(AtomicBool::new(false));
    let stream = Metered {
        io: TokioIo::new(upgraded),
        left: limits.bytes_before_secret,
        authenticated: authenticated.clone(),
    };
    let config = WebSocketConfig::default()
        // The default of 128 KiB a socket costs fifteen times the memory and twice the time.
        .read_buffer_size(4 << 10)
        .max_message_size(Some(limits.message))
        .max_frame_size(Some(limits.message));
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let (sink, stream) = socket.split();
    let Opening { room, secret } = opening;
    let peer = room.as_deref().map_or_else(Peer::client, Peer::client_of);
    let mut connection = Connection {
        number,
        papers,
        limits,
        outbox: outbox.clone(),
        peer,
        secret,
        open: BTreeMap::new(),
        denied: 0,
        credit: Arc::new(Semaphore::new(limits.message)),
        authenticated,
    };
    let (make_up, made_up) = (AtomicBool::new(false), tokio::sync::Notify::new());
    let write = write(sink, outbox, limits, connection.peer.framing(), || {
        make_up.store(true, Ordering::Release);
        made_up.notify_one();
    });
    tokio::pin!(write);
    let ended = {
        let read = connection.read(stream, room.as_deref(), &make_up, &made_up);
        tokio::pin!(read);
        tokio::select! {
            () = &mut write => None,
            closing = &mut read => Some(closing),
        }
    };
    connection.tell_all(|number| Event::Gone { connection: number });
    if let Some((code, reason)) = ended {
        outbox.close(code, reason);
        // Who does not take the last words goes without.
        let _ = timeout(FAREWELL, write).await;
    }
}

/// Writes what waits, and pings, until the socket closes or the reader stalls.
async fn write<S>(
    mut sink: S,
    outbox: &Outbox,
    limits: &Limits,
    framing: Framing,
    make_up: impl Fn(),
) where
    S: SinkExt<SocketMessage, Error = SocketError> + Unpin,
{
    let mut pings = interval(PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings.tick().await;
    let mut said = Instant::now();
    loop {
        let written = tokio::select! {
            next = outbox.next() => match next {
                Next::Frames(frames) => {
                    said = Instant::now();
                    let bytes = frames.iter().map(Bytes::len).sum();
                    let all = async {
                        for frame in frames {
                            sink.feed(SocketMessage::Binary(frame)).await?;
                        }
                        sink.flush().await
                    };
                    let done = timeout(limits.stalled, all).await;
                    if outbox.written(bytes) {
                        make_up();
                    }
                    done
                }
                Next::Close(closing) => {
                    tracing::debug!(code = closing.code, reason = closing.reason, "closing a socket");
                    let frame = CloseFrame {
                        code: CloseCode::from(closing.code),
                        reason: closing.reason.into(),
                    };
                    let bye = sink.send(SocketMessage::Close(Some(frame)));
                    // It closes whether it is heard or not.
                    drop(timeout(FAREWELL, bye).await);
                    return;
                }
            },
            _ = pings.tick() => {
                let silent = said.elapsed() >= PING_EVERY;
                let ping = async {
                    sink.feed(SocketMessage::Ping(Bytes::new())).await?;
                    if silent {
                        sink.feed(SocketMessage::Binary(still_here(framing))).await?;
                    }
                    sink.flush().await
                };
                timeout(limits.stalled, ping).await
            }
        };
        match written {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "a socket broke");
                return;
            }
            Err(_) => {
                tracing::info!("closed a socket whose reader took nothing");
                return;
            }
        }
    }
}

/// A message that says nothing: programs in a browser do not see pings.
fn still_here(framing: Framing) -> Bytes {
    match framing {
        Framing::OneRoom => Message::Awareness(&[0]).one_room().into(),
        Framing::ManyRooms => Message::Ping.many_rooms("").into(),
    }
}

struct Connection<'a> {
    number: u64,
    papers: &'a Papers,
    limits: &'a Limits,
    outbox: Arc<Outbox>,
    peer: Peer,
    /// The secret that came with the request.
    secret: Option<Secret>,
    /// The papers of the rooms that this socket is in.
    open: BTreeMap<String, Handle>,
    denied: u32,
    /// Bytes that may wait for papers.
    credit: Arc<Semaphore>,
    authenticated: Arc<AtomicBool>,
}

/// With which words a socket is closed.
type Closing = (u16, &'static str);

impl Connection<'_> {
    /// Reads until the socket is to be closed, and says how.
    async fn read<S>(
        &mut self,
        mut stream: S,
        room: Option<&str>,
        make_up: &AtomicBool,
        made_up: &tokio::sync::Notify,
    ) -> Closing
    where
        S: Stream<Item = Result<SocketMessage, SocketError>> + Unpin,
    {
        if let Some(room) = room {
            if let Err(closing) = self.enter(room, "").await {
                return closing;
            }
            if !self.peer.is_authenticated() {
                // From 4400 to 4499: coming back is of no use.
                return (4401, NOT_ACCEPTED);
            }
        }
        let mut heard = Instant::now();
        let opened = heard;
        loop {
            let until = if self.peer.is_authenticated() {
                heard + SILENCE
            } else {
                opened + self.limits.secret_within
            };
            let message = tokio::select! {
                message = timeout(until.saturating_duration_since(Instant::now()), async {
                    self.outbox.has_room().await;
                    stream.next().await
                }) => message,
                () = made_up.notified() => {
                    if make_up.swap(false, Ordering::AcqRel) {
                        self.tell_all(|number| Event::MakeUp { connection: number });
                    }
                    continue;
                }
            };
            let message = match message {
                Ok(Some(Ok(message))) => message,
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "a socket broke");
                    return match error {
                        SocketError::Capacity(_) => (1009, "too long a message"),
                        _ => (1002, "not a proper socket"),
                    };
                }
                Ok(None) => return (1000, ""),
                Err(_) if self.peer.is_authenticated() => return (1001, "nothing was heard"),
                Err(_) => return (4401, "no secret came"),
            };
            heard = Instant::now();
            match message {
                SocketMessage::Binary(frame) => {
                    if let Err(closing) = self.hear(&frame).await {
                        return closing;
                    }
                }
                SocketMessage::Text(_) => return (1003, "messages are binary"),
                SocketMessage::Close(_) => return (1000, ""),
                SocketMessage::Ping(_) | SocketMessage::Pong(_) | SocketMessage::Frame(_) => {}
            }
        }
    }

    async fn hear(&mut self, frame: &[u8]) -> Result<(), Closing> {
        let heard = self.peer.hear(frame).map_err(|error| {
            tracing::info!(%error, "closed a socket");
            (1002, "malformed message")
        })?;
        for heard in heard {
            match heard {
                Heard::Token { room, token } => self.enter(&room, token).await?,
                Heard::StateVector { room, state } => {
                    self.say(room, Said::StateVector(state), frame.len()).await?;
                }
                Heard::Update { room, update, .. } => {
                    self.say(room, Said::Update(update.to_vec()), frame.len()).await?;
                }
                Heard::Awareness { room, update } => {
                    self.say(room, Said::Awareness(update.to_vec()), frame.len()).await?;
                }
                Heard::AwarenessQuery { room } => {
                    self.say(room, Said::AwarenessQuery, frame.len()).await?;
                }
                Heard::Left { room, .. } => {
                    if let Ok((paper, document)) = split(&room) {
                        self.tell(&paper, |seat| Event::Leave { room: document, seat }, &room)?;
                    }
                }
                // What only a server says.
                Heard::Allowed { .. }
                | Heard::Denied { .. }
                | Heard::Acknowledged { .. }
                | Heard::Refused { .. } => {}
            }
        }
        self.flush();
        Ok(())
    }

    /// Passes on what the peer has to say.
    fn flush(&mut self) {
        while let Some(frame) = self.peer.next_frame() {
            self.outbox.push(frame.into());
        }
    }

    /// Lets the socket into a room if the secret opens its paper.
    async fn enter(&mut self, address: &str, token: &str) -> Result<(), Closing> {
        let denied = match self.try_enter(address, token).await {
            Ok(()) => {
                self.authenticated.store(true, Ordering::Release);
                self.peer.allow(address, false);
                None
            }
            Err(reason) => Some(reason),
        };
        if let Some(reason) = denied {
            self.peer.deny(address, reason);
            self.denied += 1;
        }
        self.flush();
        if self.denied > MAX_DENIED { Err((4401, NOT_ACCEPTED)) } else { Ok(()) }
    }

    async fn try_enter(&mut self, address: &str, token: &str) -> Result<(), &'static str> {
        const NOT_LOADED: &str = "the server could not load this; its keeper has to look at it";
        let (paper, document) = split(address).map_err(|()| NOT_ACCEPTED)?;
        let secret = Secret::parse(token).or_else(|| self.secret.clone()).ok_or(NOT_ACCEPTED)?;
        if self.peer.rooms().count() >= self.limits.rooms_per_socket {
            return Err("too many rooms in one socket");
        }
        // The secret is checked for every room, also where the paper is open already.
        let handle = match self.papers.open(&paper, &secret).await {
            Ok(handle) => handle,
            Err(OpenError::NotAccepted) => return Err(NOT_ACCEPTED),
            Err(OpenError::Failed(_)) => return Err(NOT_LOADED),
        };
        let (reply, entered) = oneshot::channel();
        let event = Event::Enter {
            room: document,
            seat: self.seat(address),
            framing: self.peer.framing(),
            outbox: self.outbox.clone(),
            reply,
        };
        handle.tell(event).map_err(|_| NOT_LOADED)?;
        match entered.await {
            Ok(Ok(())) => {
                self.open.insert(paper, handle);
                Ok(())
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "a room could not be loaded");
                Err(NOT_LOADED)
            }
            Err(_) => Err(NOT_LOADED),
        }
    }

    fn seat(&self, address: &str) -> Seat {
        Seat { connection: self.number, address: address.into() }
    }

    /// Tells a room's paper what was said, when this socket has credit for so many bytes.
    async fn say(&mut self, address: String, what: Said, byte_len: usize) -> Result<(), Closing> {
        let Ok((paper, room)) = split(&address) else { return Ok(()) };
        let all = self.limits.message;
        let cost = match what {
            // Short questions with long answers: one at a time, so that what waits for this
            // reader is looked at before the next.
            Said::StateVector(_) | Said::AwarenessQuery => all,
            Said::Update(_) | Said::Awareness(_) => byte_len.clamp(MIN_COST.min(all), all),
        };
        let cost = u32::try_from(cost).unwrap_or(u32::MAX);
        let Ok(permit) = self.credit.clone().acquire_many_owned(cost).await else {
            return Ok(());
        };
        self.tell(&paper, |seat| Event::Said { room, seat, what, permit }, &address)
    }

    fn tell(
        &self,
        paper: &str,
        event: impl FnOnce(Seat) -> Event,
        address: &str,
    ) -> Result<(), Closing> {
        match self.open.get(paper) {
            Some(handle) => handle
                .tell(event(self.seat(address)))
                .map_err(|_| (1011, "the paper has to be opened again")),
            None => Ok(()),
        }
    }

    fn tell_all(&self, event: impl Fn(u64) -> Event) {
        for handle in self.open.values() {
            // Where a paper has ended, there is nobody to be told.
            let _ = handle.tell(event(self.number));
        }
    }
}

/// Returns the paper and the document of an address: a room's name, and perhaps a session.
fn split(address: &str) -> Result<(String, String), ()> {
    let name = address.split_once('\0').map_or(address, |(name, _session)| name);
    let room = RoomName::parse(name).map_err(|_| ())?;
    Ok((room.paper().to_owned(), room.document().to_owned()))
}

/// A stream that ends after a few bytes, until a secret was accepted: what is buffered of a
/// stranger's message grows with what arrives, and this is all that arrives.
struct Metered {
    io: TokioIo<Upgraded>,
    left: u64,
    authenticated: Arc<AtomicBool>,
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let poll = Pin::new(&mut self.io).poll_read(cx, buf);
        if !self.authenticated.load(Ordering::Acquire) {
            let read = (buf.filled().len() - before) as u64;
            match self.left.checked_sub(read) {
                Some(left) => self.left = left,
                None => return Poll::Ready(Err(io::Error::other("too much before a secret"))),
            }
        }
        poll
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
