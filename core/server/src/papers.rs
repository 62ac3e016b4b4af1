//! Which papers the server has, and which of them are open.
//!
//! A paper is opened once however many want it at the same moment, and let go only while nobody
//! can come in. Its folder is named by its id, never by words from outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::thread;

use crdt::ClientId;
use protocol::Secret;
use protocol::room::is_paper_id;
use store::disk::Disk;
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
    disk: Arc<dyn Disk>,
    limits: Arc<Limits>,
    places: Arc<StdMutex<BTreeMap<String, Place>>>,
    /// Nothing is opened any more.
    closed: Arc<AtomicBool>,
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
    pub(crate) fn new(data_dir: &Path, disk: Arc<dyn Disk>, limits: Limits) -> Self {
        let limits = Arc::new(limits);
        let (places, closed) = (Arc::default(), Arc::default());
        Self { folder: data_dir.join("papers"), disk, limits, places, closed }
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
        let (handle, _) = self.loading(paper, None).await?;
        if handle.key().opens(secret) { Ok(handle) } else { Err(OpenError::NotAccepted) }
    }

    /// Returns the way to a paper, and whether it was loaded for that; `new` as for [`Self::load`].
    ///
    /// In a task of its own: whoever asks may go away meanwhile, and a paper that was loaded for
    /// nobody would hold its store against the next one.
    async fn loading(&self, paper: &str, new: Option<Key>) -> Result<(Handle, bool), OpenError> {
        let (papers, paper) = (self.clone(), paper.to_owned());
        let loading = tokio::spawn(async move {
            let place = papers.place(&paper);
            let mut held = place.clone().lock_owned().await;
            if let Some(handle) = held.as_ref().filter(|handle| handle.is_alive()) {
                return Ok((handle.clone(), false));
            }
            let handle = papers.load(&paper, place, new).await?;
            *held = Some(handle.clone());
            Ok((handle, true))
        });
        loading.await.unwrap_or_else(|error| Err(OpenError::Failed(error.to_string())))
    }

    async fn exists(&self, paper: &str) -> bool {
        let (folder, disk) = (self.folder_of(paper), self.disk.clone());
        spawn_blocking(move || disk.stat(&folder).is_ok()).await.unwrap_or(false)
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
        let (handle, fresh) = self.loading(paper, Some(Key::of(secret))).await?;
        match (handle.key().opens(secret), fresh) {
            (true, true) => Ok(Registered::New),
            // Somebody was quicker.
            (true, false) => Ok(Registered::Known),
            (false, _) => Err(OpenError::NotAccepted),
        }
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
        // Whoever holds a place got it from the map: it is closed there, or found closed here.
        if self.closed.load(Ordering::Acquire) {
            return Err(OpenError::Failed("the server is closing down".to_owned()));
        }
        let (folder, limits, id) = (self.folder_of(paper), self.limits.clone(), paper.to_owned());
        let disk = self.disk.clone();
        let loading = spawn_blocking(move || load(id, &folder, disk, limits, place, new));
        loading.await.unwrap_or_else(|error| Err(OpenError::Failed(error.to_string())))
    }

    /// Begins to let all papers go, without waiting for it.
    pub(crate) fn close_soon(&self) {
        self.closed.store(true, Ordering::Release);
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
        self.closed.store(true, Ordering::Release);
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
    disk: Arc<dyn Disk>,
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
        disk,
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use protocol::message::RoomFrame;
    use protocol::{Framing, Message};
    use store::disk::{Fault, Operation, SimulatedDisk};
    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    use super::*;
    use crate::outbox::{Next, Outbox};
    use crate::paper::Said;
    use crate::room::Seat;

    const PAPER: &str = "0123456789abcdef0123456789abcdef";
    const ROOM: &str = "0123456789abcdef0123456789abcdef/tree";
    /// "from a" at the start of the text `t`, by client 1.
    const UPDATE: [u8; 16] = [1, 1, 1, 0, 4, 1, 1, 116, 6, 102, 114, 111, 109, 32, 97, 0];
    /// A test that waits longer than this hangs.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn secret() -> Secret {
        Secret::parse("a-secret-for-the-tests-of-papers").unwrap()
    }

    fn papers(disk: &SimulatedDisk) -> Papers {
        Papers::new(Path::new("/data"), Arc::new(disk.clone()), Limits::default())
    }

    /// A socket in the room, without the socket.
    struct Sitting {
        handle: Handle,
        outbox: Arc<Outbox>,
        seat: Seat,
    }

    impl Sitting {
        async fn at(papers: &Papers, connection: u64) -> Self {
            let handle = papers.open(PAPER, &secret()).await.unwrap();
            let outbox = Arc::new(Outbox::new(1 << 20));
            let seat = Seat { connection, address: ROOM.into() };
            let (reply, entered) = oneshot::channel();
            let event = Event::Enter {
                room: "tree".to_owned(),
                seat: seat.clone(),
                framing: Framing::ManyRooms,
                outbox: outbox.clone(),
                reply,
            };
            handle.tell(event).unwrap();
            entered.await.unwrap().unwrap();
            Self { handle, outbox, seat }
        }

        async fn say(&self, what: Said) {
            let permit = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
            let (room, seat) = ("tree".to_owned(), self.seat.clone());
            self.handle.tell(Event::Said { room, seat, what, permit }).unwrap();
        }

        async fn hears(&self) -> String {
            match timeout(PATIENCE, self.outbox.next()).await.expect("waited in vain") {
                Next::Close(closing) => format!("closed {}", closing.code),
                Next::Frames(frames) => frames
                    .iter()
                    .map(|frame| match RoomFrame::read(frame).unwrap().message {
                        Message::Update(_) => "update",
                        Message::SyncStatus { taken: true } => "taken",
                        Message::SyncStatus { taken: false } => "not taken",
                        _ => "other",
                    })
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        }
    }

    fn failing(on: Operation, error: io::ErrorKind) -> Fault {
        Fault { on, from: 0, times: u64::MAX, error }
    }

    /// H-006: on a full disk nothing is confirmed, nothing is dropped, and it goes on by itself.
    #[tokio::test]
    async fn a_full_disk_confirms_nothing_and_loses_nothing() {
        let disk = SimulatedDisk::new();
        let papers = papers(&disk);
        papers.register(PAPER, &secret()).await.unwrap();
        let (ann, ben) = (Sitting::at(&papers, 1).await, Sitting::at(&papers, 2).await);
        disk.set_fault(Some(failing(Operation::Write, io::ErrorKind::StorageFull)));
        let calls = disk.calls();
        ann.say(Said::Update(UPDATE.to_vec())).await;
        assert_eq!(ben.hears().await, "update", "others read along all the same");
        while disk.calls() < calls + 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let early = timeout(Duration::from_millis(50), ann.outbox.next()).await;
        assert!(early.is_err(), "nothing is durable yet: {early:?}");
        disk.set_fault(None);
        assert_eq!(ann.hears().await, "taken");
    }

    /// A log that cannot be made durable is not trusted any more: everybody comes again.
    #[tokio::test]
    async fn a_log_that_fails_is_opened_again() {
        let disk = SimulatedDisk::new();
        let papers = papers(&disk);
        papers.register(PAPER, &secret()).await.unwrap();
        let ann = Sitting::at(&papers, 1).await;
        disk.set_fault(Some(failing(Operation::Sync, io::ErrorKind::Other)));
        ann.say(Said::Update(UPDATE.to_vec())).await;
        assert_eq!(ann.hears().await, "closed 1011");
        disk.set_fault(None);
        comes_again(&papers, ann).await;
    }

    /// SE-3: a panic closes its own paper's sockets, and the paper is loaded anew.
    #[tokio::test]
    async fn a_panic_is_its_own_papers_alone() {
        let disk = SimulatedDisk::new();
        let papers = papers(&disk);
        let other = "ffffffffffffffffffffffffffffffff";
        papers.register(PAPER, &secret()).await.unwrap();
        papers.register(other, &secret()).await.unwrap();
        let untouched = papers.open(other, &secret()).await.unwrap();
        let ann = Sitting::at(&papers, 1).await;
        ann.handle.tell(Event::Panic).unwrap();
        assert_eq!(ann.hears().await, "closed 1011");
        comes_again(&papers, ann).await;
        assert!(untouched.is_alive());
    }

    async fn comes_again(papers: &Papers, gone: Sitting) {
        let ended = async {
            while gone.handle.is_alive() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, ended).await.expect("the thread ends");
        let again = Sitting::at(papers, 2).await;
        again.say(Said::Update(UPDATE.to_vec())).await;
        assert_eq!(again.hears().await, "taken");
    }

    #[tokio::test]
    async fn a_paper_is_opened_once_however_many_want_it() {
        let disk = SimulatedDisk::new();
        let papers = papers(&disk);
        papers.register(PAPER, &secret()).await.unwrap();
        papers.close().await;
        assert!(papers.open(PAPER, &secret()).await.is_err(), "closed is closed");
        let papers = self::papers(&disk);
        let secret = secret();
        let opened = [(); 20].map(|()| papers.open(PAPER, &secret));
        // Were it opened twice, the second would find the first one's lock.
        for handle in futures_util::future::join_all(opened).await {
            assert!(handle.unwrap().is_alive());
        }
    }

    #[tokio::test]
    async fn a_paper_whose_making_was_cut_short_can_be_made() {
        let disk = SimulatedDisk::new();
        let folder = Path::new("/data/papers").join(PAPER);
        let options = StoreOptions { disk: Arc::new(disk.clone()), ..StoreOptions::default() };
        drop(Store::open(&folder, options).unwrap());
        let papers = papers(&disk);
        let open = papers.open(PAPER, &secret()).await;
        assert!(matches!(open, Err(OpenError::NotAccepted)));
        assert_eq!(papers.register(PAPER, &secret()).await.unwrap(), Registered::New);
        papers.open(PAPER, &secret()).await.unwrap();
    }
}
