//! A disk in memory that keeps what was synced apart from what was only written, and that loses
//! power, fails or runs full at a chosen call: the main proof of the store's promises.
//!
//! Every folder and every file is kept twice: as programs see it now, and as it was at its last
//! sync, with the list of changes between. [`SimulatedDisk::after_power_loss`] gives a new disk
//! on which any choice of the unsynced changes has arrived: none, all, or for each one by chance
//! nothing, all, a beginning or scattered bytes of it, the length independent of the content.

use super::{Access, Disk, DiskFile, Entry, Kind, Locking, Stat};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A kind of call that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Writing bytes into a file. Before the error a part of the bytes arrives.
    Write,
    /// Making a file or a folder durable.
    Sync,
    /// Making, renaming or removing a file or folder, or changing its length.
    Change,
}

/// An error that the disk gives back instead of doing its work.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// Calls of this kind fail ...
    pub on: Operation,
    /// ... beginning with this one (the first is 0) ...
    pub from: u64,
    /// ... so many times ...
    pub times: u64,
    /// ... with this error.
    pub error: io::ErrorKind,
}

/// What becomes of unsynced changes when power is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// Nothing that was not synced has arrived.
    Lost,
    /// All of it has.
    Kept,
    /// Chance decides for each change; the number replays it.
    Chance(u64),
}

/// One call of sync, to look at or to leave out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SyncCall {
    /// The file or folder.
    pub path: PathBuf,
    /// It was a folder.
    pub folder: bool,
}

type LeaveOut = Box<dyn Fn(&SyncCall) -> bool + Send>;

/// A disk in memory. Clones share it.
#[derive(Clone)]
pub struct SimulatedDisk {
    world: Arc<Mutex<World>>,
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedDisk").field("calls", &self.world().calls).finish_non_exhaustive()
    }
}

impl Default for SimulatedDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimulatedDisk {
    /// Returns an empty disk: the root folder, durable.
    pub fn new() -> Self {
        Self::with_nodes(vec![Node::Folder(Folder::default())])
    }

    fn with_nodes(nodes: Vec<Node>) -> Self {
        let world = World {
            nodes,
            locks: BTreeSet::new(),
            calls: 0,
            by_kind: [0; 3],
            power_cut: None,
            fault: None,
            leave_out: None,
            syncs: Vec::new(),
            now_ms: 1_700_000_000_000,
        };
        Self { world: Arc::new(Mutex::new(world)) }
    }

    /// Cuts the power at the given call (counted over all kinds, the first is 0): that call and
    /// all later ones fail, and a sync that fails has not happened.
    pub fn cut_power_at(&self, call: u64) {
        self.world().power_cut = Some(call);
    }

    /// Undoes [`cut_power_at`](Self::cut_power_at) with nothing lost: as if only the process
    /// had been killed at that call.
    pub fn restore_power(&self) {
        self.world().power_cut = None;
    }

    /// Makes calls fail.
    pub fn set_fault(&self, fault: Option<Fault>) {
        let mut world = self.world();
        world.by_kind = [0; 3];
        world.fault = fault;
    }

    /// Pretends for some syncs: they succeed and do nothing.
    pub fn leave_out_syncs(&self, which: impl Fn(&SyncCall) -> bool + Send + 'static) {
        self.world().leave_out = Some(Box::new(which));
    }

    /// Returns how many calls that change something there have been.
    pub fn calls(&self) -> u64 {
        self.world().calls
    }

    /// Returns all syncs so far, in order.
    pub fn syncs(&self) -> Vec<SyncCall> {
        self.world().syncs.clone()
    }

    /// Moves the clock.
    pub fn advance_ms(&self, by: u64) {
        self.world().now_ms += by;
    }

    /// Returns the disk as it is found when power is back.
    #[must_use]
    pub fn after_power_loss(&self, unsynced: Unsynced) -> Self {
        let mut chance = Chance(match unsynced {
            Unsynced::Chance(seed) => seed,
            Unsynced::Lost | Unsynced::Kept => 0,
        });
        let nodes = (self.world().nodes.iter())
            .map(|node| match node {
                Node::Folder(folder) => {
                    let names = match unsynced {
                        Unsynced::Lost => folder.durable.clone(),
                        Unsynced::Kept => folder.now.clone(),
                        Unsynced::Chance(_) => folder.by_chance(&mut chance),
                    };
                    Node::Folder(Folder { durable: names.clone(), now: names, unsynced: vec![] })
                }
                Node::File(file) => {
                    let bytes = match unsynced {
                        Unsynced::Lost => file.durable.clone(),
                        Unsynced::Kept => file.now.clone(),
                        Unsynced::Chance(_) => file.by_chance(&mut chance),
                    };
                    let (durable, now) = (bytes.clone(), bytes);
                    Node::File(File {
                        durable,
                        now,
                        unsynced: vec![],
                        modified_ms: file.modified_ms,
                    })
                }
            })
            .collect();
        Self::with_nodes(nodes)
    }

    /// Returns every file's path and content as programs see them now.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let world = self.world();
        let mut files = BTreeMap::new();
        let mut folders = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, folder)) = folders.pop() {
            if let Node::Folder(folder) = &world.nodes[folder] {
                for (name, &node) in &folder.now {
                    match &world.nodes[node] {
                        Node::Folder(_) => folders.push((path.join(name), node)),
                        Node::File(file) => {
                            files.insert(path.join(name), file.now.clone());
                        }
                    }
                }
            }
        }
        files
    }

    /// Exchanges a file's content behind every program's back, as a dying disk does.
    pub fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut world = self.world();
        let node = world.find(path)?;
        let file = world.file(node)?;
        change(&mut file.now);
        file.durable.clone_from(&file.now);
        file.unsynced.clear();
        Ok(())
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const ROOT: usize = 0;

struct World {
    nodes: Vec<Node>,
    locks: BTreeSet<usize>,
    calls: u64,
    by_kind: [u64; 3],
    power_cut: Option<u64>,
    fault: Option<Fault>,
    leave_out: Option<LeaveOut>,
    syncs: Vec<SyncCall>,
    now_ms: u64,
}

enum Node {
    Folder(Folder),
    File(File),
}

#[derive(Default)]
struct Folder {
    durable: BTreeMap<OsString, usize>,
    now: BTreeMap<OsString, usize>,
    unsynced: Vec<NameChange>,
}

#[derive(Clone)]
enum NameChange {
    Appears(OsString, usize),
    Vanishes(OsString),
    Renamed(OsString, OsString, usize),
}

struct File {
    durable: Vec<u8>,
    now: Vec<u8>,
    unsynced: Vec<ContentChange>,
    modified_ms: u64,
}

enum ContentChange {
    Written(usize, Vec<u8>),
    Length(usize),
}

/// A small generator (splitmix64): the same number gives the same disk everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or(0)
    }
}

impl Folder {
    fn change(&mut self, change: NameChange) {
        apply_name(&mut self.now, &change);
        self.unsynced.push(change);
    }

    fn by_chance(&self, chance: &mut Chance) -> BTreeMap<OsString, usize> {
        let mut names = self.durable.clone();
        for change in &self.unsynced {
            if chance.below(2) == 0 {
                apply_name(&mut names, change);
            }
        }
        names
    }
}

fn apply_name(names: &mut BTreeMap<OsString, usize>, change: &NameChange) {
    match change {
        NameChange::Appears(name, node) => {
            names.insert(name.clone(), *node);
        }
        NameChange::Vanishes(name) => {
            names.remove(name);
        }
        NameChange::Renamed(from, to, node) => {
            names.remove(from);
            names.insert(to.clone(), *node);
        }
    }
}

impl File {
    fn change(&mut self, change: ContentChange) {
        apply_content(&mut self.now, &change);
        self.unsynced.push(change);
    }

    fn by_chance(&self, chance: &mut Chance) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for change in &self.unsynced {
            match (change, chance.below(4)) {
                (_, 0) => {}
                (ContentChange::Written(at, written), 1) => {
                    let kept = written[..chance.below(written.len())].to_vec();
                    apply_content(&mut bytes, &ContentChange::Written(*at, kept));
                }
                (ContentChange::Written(at, written), 2) => {
                    // The length has arrived, of the content scattered bytes only.
                    let end = at + written.len();
                    if bytes.len() < end {
                        bytes.resize(end, 0);
                    }
                    for (i, byte) in written.iter().enumerate() {
                        if chance.below(2) == 0 {
                            bytes[at + i] = *byte;
                        }
                    }
                }
                (change, _) => apply_content(&mut bytes, change),
            }
        }
        if !self.unsynced.is_empty() && chance.below(4) == 0 && bytes.len() > self.durable.len() {
            let end = self.durable.len() + chance.below(bytes.len() - self.durable.len());
            bytes.truncate(end);
        }
        bytes
    }
}

fn apply_content(bytes: &mut Vec<u8>, change: &ContentChange) {
    match change {
        ContentChange::Written(at, written) => {
            let end = at + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at..end].copy_from_slice(written);
        }
        ContentChange::Length(len) => bytes.resize(*len, 0),
    }
}

impl World {
    /// Counts a call that changes something and says whether it may go on.
    fn call(&mut self, operation: Operation) -> io::Result<()> {
        let call = self.calls;
        self.calls += 1;
        if self.power_cut.is_some_and(|cut| call >= cut) {
            return Err(io::Error::other("the power is off"));
        }
        let nth = self.by_kind[operation as usize];
        self.by_kind[operation as usize] += 1;
        match self.fault {
            Some(fault)
                if fault.on == operation
                    && (fault.from..fault.from.saturating_add(fault.times)).contains(&nth) =>
            {
                Err(fault.error.into())
            }
            _ => Ok(()),
        }
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut node = ROOT;
        for part in path.components() {
            if let std::path::Component::Normal(name) = part {
                let Node::Folder(folder) = &self.nodes[node] else {
                    return Err(io::ErrorKind::NotADirectory.into());
                };
                node = *folder.now.get(name).ok_or(io::ErrorKind::NotFound)?;
            }
        }
        Ok(node)
    }

    fn parent(&mut self, path: &Path) -> io::Result<(&mut Folder, OsString)> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_os_string();
        let parent = self.find(path.parent().unwrap_or(Path::new("/")))?;
        match &mut self.nodes[parent] {
            Node::Folder(folder) => Ok((folder, name)),
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn file(&mut self, node: usize) -> io::Result<&mut File> {
        match &mut self.nodes[node] {
            Node::File(file) => Ok(file),
            Node::Folder(_) => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn add(&mut self, path: &Path, node: Node) -> io::Result<usize> {
        let id = self.nodes.len();
        let (folder, name) = self.parent(path)?;
        if folder.now.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        folder.change(NameChange::Appears(name, id));
        self.nodes.push(node);
        Ok(id)
    }

    fn sync(&mut self, call: SyncCall, node: usize) {
        let left_out = self.leave_out.as_ref().is_some_and(|leave_out| leave_out(&call));
        self.syncs.push(call);
        if left_out {
            return;
        }
        match &mut self.nodes[node] {
            Node::File(file) => {
                file.durable.clone_from(&file.now);
                file.unsynced.clear();
            }
            Node::Folder(folder) => {
                folder.durable.clone_from(&folder.now);
                folder.unsynced.clear();
            }
        }
    }
}

impl Disk for SimulatedDisk {
    fn now_ms(&self) -> u64 {
        self.world().now_ms
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let mut world = self.world();
        let node = world.find(path)?;
        Ok(match &mut world.nodes[node] {
            Node::Folder(_) => {
                Stat { kind: Kind::Folder, byte_len: 0, modified_ns: 0, read_only: false }
            }
            Node::File(file) => Stat {
                kind: Kind::File,
                byte_len: file.now.len() as u64,
                modified_ns: i128::from(file.modified_ms) * 1_000_000,
                read_only: false,
            },
        })
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<Entry>> {
        let world = self.world();
        match &world.nodes[world.find(folder)?] {
            Node::Folder(folder) => {
                Ok(folder.now.keys().map(|name| Entry { name: name.clone() }).collect())
            }
            Node::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let mut world = self.world();
        let node = world.find(path)?;
        let file = world.file(node)?;
        if file.now.len() as u64 > limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(file.now.clone())
    }

    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut world = self.world();
        let node = world.find(path)?;
        let file = world.file(node)?;
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let range = file.now.get(start..start.saturating_add(len));
        range.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn create_dir(&self, path: &Path, _access: Access) -> io::Result<()> {
        let mut world = self.world();
        world.call(Operation::Change)?;
        world.add(path, Node::Folder(Folder::default()))?;
        Ok(())
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut world = self.world();
        world.call(Operation::Change)?;
        let modified_ms = world.now_ms;
        let file = File { durable: vec![], now: vec![], unsynced: vec![], modified_ms };
        let node = world.add(path, Node::File(file))?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), path: path.to_path_buf(), node }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut world = self.world();
        let node = world.find(path)?;
        world.file(node)?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), path: path.to_path_buf(), node }))
    }

    fn copy_mode(&self, from: &Path, to: &Path) -> io::Result<()> {
        let world = self.world();
        world.find(from)?;
        world.find(to)?;
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.call(Operation::Change)?;
        if from.parent() != to.parent() {
            // Two folders become durable apart; nobody here needs to rely on either order.
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        let node = world.find(from)?;
        let (folder, new_name) = world.parent(to)?;
        let old_name = from.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_os_string();
        folder.change(NameChange::Renamed(old_name, new_name, node));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.find(path)?;
        world.call(Operation::Change)?;
        let (folder, name) = world.parent(path)?;
        folder.change(NameChange::Vanishes(name));
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.remove(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.call(Operation::Sync)?;
        let node = world.find(path)?;
        world.sync(SyncCall { path: path.to_path_buf(), folder: true }, node);
        Ok(())
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Locking> {
        let file = match self.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.create(path)?,
            other => other?,
        };
        drop(file);
        let mut world = self.world();
        let node = world.find(path)?;
        if !world.locks.insert(node) {
            let theirs = String::from_utf8_lossy(&world.file(node)?.now).into_owned();
            return Ok(Locking::Theirs(theirs));
        }
        world.file(node)?.now = note.as_bytes().to_vec();
        Ok(Locking::Ours(Box::new(SimulatedLock { disk: self.clone(), node })))
    }
}

struct SimulatedLock {
    disk: SimulatedDisk,
    node: usize,
}

impl Drop for SimulatedLock {
    fn drop(&mut self) {
        self.disk.world().locks.remove(&self.node);
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    path: PathBuf,
    node: usize,
}

impl DiskFile for SimulatedFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut world = self.disk.world();
        let called = world.call(Operation::Write);
        let now_ms = world.now_ms;
        let file = world.file(self.node)?;
        let at = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let arrives = if called.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        file.change(ContentChange::Written(at, arrives.to_vec()));
        file.modified_ms = now_ms;
        called
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut world = self.disk.world();
        world.call(Operation::Sync)?;
        world.sync(SyncCall { path: self.path.clone(), folder: false }, self.node);
        Ok(())
    }

    fn set_len(&mut self, byte_len: u64) -> io::Result<()> {
        let mut world = self.disk.world();
        world.call(Operation::Change)?;
        let len = usize::try_from(byte_len).map_err(|_| io::ErrorKind::FileTooLarge)?;
        world.file(self.node)?.change(ContentChange::Length(len));
        Ok(())
    }
}
