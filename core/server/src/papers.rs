//! Which papers the server has, and which of them are open.
//!
//! A paper is opened once however many want it at the same moment, and let go only while nobody
//! can come in. Its folder is named by its id, never by words from outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::thread;

use crdt::ClientId;
use protocol::Secret;
use protocol::room::is_paper_id;
use store::disk::{Disk as _, RealDisk};
use store::{Store, StoreError, StoreOptions};
use tokio::sync::{Mutex, oneshot};
use tokio::task::spawn_blocking;

use crate::access::Key;
use crate::config::Limits;
use crate::paper::{self, Event, Handle};

/// Under which name a paper's store keeps the hash of its secret.
const KEY: &str = "secret";

/// The papers of one data folder.
#[derive(Clone, Debug)]
pub(crate) struct Papers {
    folder: PathBuf,
    limits: Arc<Limits>,
    places: Arc<StdMutex<BTreeMap<String, Place>>>,
}

/// Where a paper is when it is open. Held locked while it is opened or let go.
type Place = Arc<Mutex<Option<Handle>>>;

/// Why a paper is not to be had.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// There is none, or the secret is not its secret: not told apart.
    NotAccepted,
    /// It is there and could not be loaded.
    Failed(String),
}

/// What came of registering a paper.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Registered {
    New,
    /// It was there, with the same secret.
    Known,
}

impl Papers {
    pub(crate) fn new(data_dir: &Path, limits: Limits) -> Self {
        let limits = Arc::new(limits);
        Self { folder: data_dir.join("papers"), limits, places: Arc::default() }
    }

    fn folder_of(&self, paper: &str) -> PathBuf {
        self.folder.join(paper)
    }

    fn place(&self, paper: &str) -> Place {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry(paper.to_owned()).or_default().clone()
    }

    /// Returns the way to a paper, for whoever has its secret.
    pub(crate) async fn open(&self, paper: &str, secret: &Secret) -> Result<Handle, OpenError> {
        if !is_paper_id(paper) || !self.exists(paper).await {
            return Err(OpenError::NotAccepted);
        }
        let place = self.place(paper);
        let mut held = place.clone().lock_owned().await;
        let handle = match &*held {
            Some(handle) if handle.is_alive() => handle.clone(),
            _ => {
                let handle = self.load(paper, place, None).await?;
                *held = Some(handle.clone());
                handle
            }
        };
        drop(held);
        if handle.key().opens(secret) { Ok(handle) } else { Err(OpenError::NotAccepted) }
    }

    async fn exists(&self, paper: &str) -> bool {
        let folder = self.folder_of(paper);
        spawn_blocking(move || RealDisk.stat(&folder).is_ok()).await.unwrap_or(false)
    }

    /// Makes a paper with this secret, or finds it with the same.
    pub(crate) async fn register(
        &self,
        paper: &str,
        secret: &Secret,
    ) -> Result<Registered, OpenError> {
        if !is_paper_id(paper) {
            return Err(OpenError::NotAccepted);
        }
        if self.exists(paper).await {
            match self.open(paper, secret).await {
                Ok(_) => return Ok(Registered::Known),
                // A folder without a key: the making of it was cut short.
                Err(OpenError::NotAccepted) if self.is_unfinished(paper).await => {}
                Err(error) => return Err(error),
            }
        }
        let place = self.place(paper);
        let mut held = place.clone().lock_owned().await;
        if let Some(handle) = held.as_ref().filter(|handle| handle.is_alive()) {
            // Somebody was quicker.
            return if handle.key().opens(secret) {
                Ok(Registered::Known)
            } else {
                Err(OpenError::NotAccepted)
            };
        }
        let handle = self.load(paper, place, Some(Key::of(secret))).await?;
        let opens = handle.key().opens(secret);
        *held = Some(handle);
        if opens { Ok(Registered::New) } else { Err(OpenError::NotAccepted) }
    }

    /// Whether a paper's folder is there and has no key, since its making was cut short.
    async fn is_unfinished(&self, paper: &str) -> bool {
        let place = self.place(paper);
        let held = place.lock().await;
        held.is_none()
    }

    /// Opens a paper's store and starts its thread; the place must be held. With `new` the paper
    /// is made with this key, unless it has one.
    async fn load(&self, paper: &str, place: Place, new: Option<Key>) -> Result<Handle, OpenError> {
        let (folder, limits, id) = (self.folder_of(paper), self.limits.clone(), paper.to_owned());
        let loading = spawn_blocking(move || load(id, &folder, limits, place, new));
        loading.await.unwrap_or_else(|error| Err(OpenError::Failed(error.to_string())))
    }

    /// Begins to let all papers go, without waiting for it.
    pub(crate) fn close_soon(&self) {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        for place in places.values() {
            // A place that is held is on its way open or closed; it is let go when it is idle.
            if let Some(handle) = place.try_lock().ok().and_then(|mut held| held.take()) {
                let (reply, _closed) = oneshot::channel();
                // An error means that its thread has ended.
                let _ = handle.tell(Event::Close { reply });
            }
        }
    }

    /// Makes everything durable and lets all papers go.
    pub(crate) async fn close(&self) {
        let places: Vec<Place> = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *places).into_values().collect()
        };
        let mut closing = Vec::new();
        for place in places {
            if let Some(handle) = place.lock().await.take() {
                let (reply, closed) = oneshot::channel();
                if handle.tell(Event::Close { reply }).is_ok() {
                    closing.push(closed);
                }
            }
        }
        for closed in closing {
            // An error means that the thread has ended, too.
            let _ = closed.await;
        }
    }
}

fn load(
    id: String,
    folder: &Path,
    limits: Arc<Limits>,
    place: Place,
    new: Option<Key>,
) -> Result<Handle, OpenError> {
    let failed = |error: StoreError| {
        tracing::error!(paper = id, %error, "a paper could not be loaded");
        OpenError::Failed(error.to_string())
    };
    let (events, receiver) = channel();
    let durable = events.clone();
    let options = StoreOptions {
        // The thread may have ended: then nobody waits for it.
        on_durable: Box::new(move |lsn| drop(durable.send(Event::Durable(lsn)))),
        ..StoreOptions::default()
    };
    let store = Store::open(folder, options).map_err(failed)?;
    for report in store.reports() {
        tracing::warn!(paper = id, "{report}");
    }
    let key = store.meta(KEY).and_then(|bytes| Key::from_bytes(&bytes));
    let key = match (key, new) {
        (Some(key), _) => key,
        (None, Some(key)) => {
            store.put_meta(KEY, &key.to_bytes()).map_err(failed)?;
            store.flush().map_err(failed)?;
            key
        }
        (None, None) => return Err(OpenError::NotAccepted),
    };
    let (handle, alive) = Handle::new(events, key, store.blobs());
    let client = random_client();
    let run = move || {
        paper::run(id, store, client, limits, &receiver, alive, |let_go| {
            let mut held = place.blocking_lock();
            let unwanted = held.as_ref().is_none_or(Handle::is_unclaimed);
            if unwanted {
                let_go();
                *held = None;
            }
            unwanted
        });
    };
    match thread::Builder::new().name("paper".to_owned()).spawn(run) {
        Ok(_) => Ok(handle),
        Err(error) => Err(OpenError::Failed(error.to_string())),
    }
}

/// The server writes nothing into documents, but a document has to be somebody's.
fn random_client() -> ClientId {
    let mut bytes = [0; 8];
    // Without randomness any number does: see above.
    let _ = getrandom::fill(&mut bytes);
    ClientId::new(u64::from_le_bytes(bytes) >> 11).expect("53 bits")
}
