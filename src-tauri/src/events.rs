//! What a replica tells its window: one channel for as long as the window's page lives.
//!
//! What is said before a page listens is not kept: a page begins with the whole paper.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tauri::ipc::Channel;

use crate::shapes::ShellEvent;

/// Carries a replica's news to the page that listens now.
#[derive(Default)]
pub(crate) struct Outlet {
    channel: Mutex<Option<Channel<ShellEvent>>>,
    hosted_here: AtomicBool,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlet").finish_non_exhaustive()
    }
}

impl Outlet {
    /// From now on the page behind `channel` listens, and no other.
    pub(crate) fn listen(&self, channel: Channel<ShellEvent>) {
        *self.channel.lock().unwrap_or_else(PoisonError::into_inner) = Some(channel);
    }

    /// Translates the news and sends it. Called in order, from the replica's thread.
    pub(crate) fn send(&self, news: replica::Notification) {
        let here = self.hosted_here();
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = &*channel
            && let Err(problem) = channel.send(ShellEvent::of(news, here))
        {
            tracing::warn!(%problem, "the window could not be told");
        }
    }

    /// Does this app host the paper?
    pub(crate) fn hosted_here(&self) -> bool {
        self.hosted_here.load(Ordering::Acquire)
    }

    /// Says whether this app hosts the paper, before the replica tells of its new place.
    pub(crate) fn set_hosted_here(&self, here: bool) {
        self.hosted_here.store(here, Ordering::Release);
    }
}
