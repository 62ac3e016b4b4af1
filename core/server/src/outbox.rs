//! What waits to be written to one socket: bounded, so that a reader who does not read costs a
//! megabyte and no more.
//!
//! Past the bound the rooms stop adding and note what the reader has; when most of what waits was
//! written, [`Outbox::written`] says that they may go on, and they send what it lacks in one
//! update.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::Notify;

/// The frames that wait for one socket.
#[derive(Debug)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Something was added, or the socket is to close.
    added: Notify,
    /// Something was written.
    removed: Notify,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    frames: VecDeque<Bytes>,
    /// Bytes added and not yet written, also those that are being written.
    bytes: usize,
    /// Whether a room had to leave something out.
    lagging: bool,
    close: Option<Closing>,
}

/// Why a socket is closed from here.
#[derive(Clone, Debug)]
pub(crate) struct Closing {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
}

/// What is to be written next.
#[derive(Debug)]
pub(crate) enum Next {
    Frames(VecDeque<Bytes>),
    Close(Closing),
}

impl Outbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), added: Notify::new(), removed: Notify::new(), limit }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a frame, whatever waits.
    pub(crate) fn push(&self, frame: Bytes) {
        let mut state = self.state();
        if state.close.is_none() {
            state.bytes += frame.len();
            state.frames.push_back(frame);
            drop(state);
            self.added.notify_one();
        }
    }

    /// Whether so much waits that only what must be said is to be added.
    pub(crate) fn is_full(&self) -> bool {
        self.state().bytes > self.limit
    }

    /// Whether so much waits that a change is to be left out; if so it is noted, and made up for
    /// when most of the rest is written.
    ///
    /// One step, not two: the rest may be written between them, and nobody would make up for it.
    pub(crate) fn lags(&self) -> bool {
        let mut state = self.state();
        let full = state.bytes > self.limit;
        state.lagging |= full;
        full
    }

    /// Closes the socket, after what waits unless that is too much.
    pub(crate) fn close(&self, code: u16, reason: &'static str) {
        let mut state = self.state();
        if state.bytes > self.limit {
            state.frames.clear();
        }
        state.close.get_or_insert(Closing { code, reason });
        drop(state);
        self.added.notify_one();
        self.removed.notify_one();
    }

    /// Waits for something to write.
    pub(crate) async fn next(&self) -> Next {
        loop {
            {
                let mut state = self.state();
                if !state.frames.is_empty() {
                    return Next::Frames(std::mem::take(&mut state.frames));
                }
                if let Some(closing) = state.close.clone() {
                    return Next::Close(closing);
                }
            }
            self.added.notified().await;
        }
    }

    /// Notes that bytes were written; whether the rooms are to make up for what they left out.
    pub(crate) fn written(&self, bytes: usize) -> bool {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
        let make_up = state.bytes <= self.limit / 2 && std::mem::take(&mut state.lagging);
        drop(state);
        self.removed.notify_one();
        make_up
    }

    /// Waits until there is room: who does not read what we say is not listened to.
    pub(crate) async fn has_room(&self) {
        while self.is_full() && self.state().close.is_none() {
            self.removed.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_outbox_says_so_and_when_it_is_empty_again() {
        let outbox = Outbox::new(10);
        outbox.push(Bytes::from_static(b"12345678"));
        assert!(!outbox.is_full());
        outbox.push(Bytes::from_static(b"1234"));
        assert!(outbox.is_full());
        assert!(outbox.lags());
        assert!(!outbox.written(4), "more than half still waits");
        assert!(!outbox.is_full());
        assert!(!outbox.lags(), "there is room again");
        assert!(outbox.written(4));
        assert!(!outbox.written(4), "made up for once");
    }

    #[tokio::test]
    async fn what_waits_is_written_before_the_socket_closes() {
        let outbox = Outbox::new(10);
        outbox.push(Bytes::from_static(b"1"));
        outbox.close(1001, "bye");
        outbox.push(Bytes::from_static(b"2"));
        assert!(matches!(outbox.next().await, Next::Frames(frames) if frames.len() == 1));
        assert!(matches!(outbox.next().await, Next::Close(Closing { code: 1001, .. })));
    }
}
