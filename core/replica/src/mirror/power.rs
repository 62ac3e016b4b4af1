//! A replica that is killed, or loses power, at any call that touches the disk, while another program, the person and
//! other people change one file: afterwards every line is there exactly once.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crdt::{ClientId, Doc, Options, Text};
use paper::{FileId, PaperId};
use store::disk::{
    Access, Disk as _, Fault, Operation, SimulatedDisk, Unsynced, create_dirs, replace,
};
use store::{Store, StoreOptions};

use super::Mirror;
use crate::clock::now;
use crate::documents::{Documents, Name, Origin, random_client};
use crate::folder::Folder;

const FOLDER: &str = "/paper";
const FILE: &str = "/paper/main.tex";
const START: &str = "\\documentclass{article}\n\\begin{document}\nOne.\n\\end{document}\n";

/// The other people: a document that has everything which was ever sent, and the paper's tree.
struct Others {
    tree: Doc,
    doc: Doc,
    text: Text,
}

impl Others {
    fn new() -> Self {
        let new = |client| {
            Doc::new(ClientId::new(client).unwrap(), Options { gc: false, ..Options::default() })
        };
        let mut doc = new(1);
        Self { tree: new(2), text: doc.text("text"), doc }
    }

    fn read(&self) -> String {
        self.text.read(&self.doc)
    }
}

/// One run of the program.
struct Run {
    disk: SimulatedDisk,
    documents: Documents,
    mirror: Mirror,
    now: Instant,
    /// Without a network, both get what they lack of each other when everything is worked off.
    offline: bool,
}

impl Run {
    fn start(disk: &SimulatedDisk, others: &mut Others, offline: bool) -> Option<Self> {
        // With such a window only a flush commits, so that each run makes the calls of the last.
        let options = StoreOptions {
            disk: Arc::new(disk.clone()),
            window: Duration::from_hours(1),
            ..StoreOptions::default()
        };
        let store = Store::open(Path::new("/data"), options).ok()?;
        let paper = PaperId::from_bytes([1; 16]);
        let mut documents = Documents::open(store, paper, random_client()).ok()?;
        let folder = Folder::new(Arc::new(disk.clone()), FOLDER.into());
        let mirror = Mirror::open(folder, &mut documents, "Ann".to_owned(), true);
        let now = now();
        let mut run = Self { disk: disk.clone(), documents, mirror, now, offline };
        run.mirror.scan(&mut run.documents, now, true);
        run.mirror.lay_out(&mut run.documents, now);
        for name in run.documents.names() {
            if let Name::File(file) = name {
                run.mirror.changed(file, now);
            }
        }
        run.meet(others)?;
        Some(run)
    }

    /// Both get what they lack of each other.
    fn meet(&mut self, others: &mut Others) -> Option<()> {
        self.pass_on(others);
        for name in [Name::Tree, Name::File(file())] {
            self.documents.ensure(file()).ok()?;
            let doc = if name == Name::Tree { &mut others.tree } else { &mut others.doc };
            let ours = self.documents.doc(name)?;
            doc.apply_v1(&ours.diff_v1(&doc.state_vector())).unwrap();
            let update = doc.diff_v1(&ours.state_vector());
            self.documents.apply(name, Origin::Network, &update).ok()?;
        }
        self.pass_on(others);
        Some(())
    }

    /// Gives what happened here to the others and to the mirror.
    fn pass_on(&mut self, others: &mut Others) {
        for news in self.documents.take_news() {
            match news.name {
                Name::Tree => {
                    if !self.offline {
                        others.tree.apply_v1(&news.update).unwrap();
                    }
                    self.mirror.lay_out(&mut self.documents, self.now);
                }
                Name::File(file) => {
                    if !self.offline {
                        others.doc.apply_v1(&news.update).unwrap();
                    }
                    self.mirror.changed(file, self.now);
                }
            }
        }
    }

    /// A moment passes.
    fn step(&mut self, others: &mut Others, ms: u64) -> Option<()> {
        self.now += Duration::from_millis(ms);
        self.mirror.work(&mut self.documents, self.now).ok()?;
        self.pass_on(others);
        self.documents.store().flush().ok()?;
        self.mirror.work(&mut self.documents, self.now).ok()?;
        self.pass_on(others);
        Some(())
    }

    /// Everything is worked off; `None` when the disk does not let us.
    fn settle(&mut self, others: &mut Others) -> Option<()> {
        for _ in 0..100 {
            self.step(others, 100)?;
            if self.mirror.is_level() {
                self.meet(others)?;
                if self.mirror.is_level() {
                    return Some(());
                }
            }
        }
        None
    }

    fn write(&mut self, others: &mut Others, at: Place, line: &str) -> Option<()> {
        let insert = |text: &str| match at {
            Place::Top => 0,
            Place::Bottom => text.len(),
        };
        let position = |text: &str| u32::try_from(insert(text)).unwrap();
        match line.split(' ').next() {
            Some("disk") => {
                let old = read(&self.disk)?;
                let mut new = String::from_utf8(old).unwrap();
                new.insert_str(insert(&new), line);
                self.disk.advance_ms(5);
                replace(&self.disk, Path::new(FILE), new.as_bytes()).ok()?;
                self.mirror.touch("main.tex", self.now);
            }
            Some("typed") => {
                let at = position(&self.documents.text(file())?);
                self.documents
                    .edit(file(), Origin::Command, |transaction, text| {
                        text.insert(transaction, at, line)
                    })
                    .ok()?;
                self.pass_on(others);
            }
            _ => {
                let at = position(&others.read());
                let mut transaction = others.doc.transact();
                others.text.insert(&mut transaction, at, line).unwrap();
                let update = transaction.commit().update_v1().unwrap();
                if !self.offline {
                    self.documents.apply(Name::File(file()), Origin::Network, &update).ok()?;
                    self.pass_on(others);
                }
            }
        }
        Some(())
    }
}

#[derive(Clone, Copy)]
enum Place {
    Top,
    Bottom,
}

fn file() -> FileId {
    let path = paper::PaperPath::parse("main.tex").unwrap();
    FileId::of_import(PaperId::from_bytes([1; 16]), &path, START.as_bytes())
}

fn read(disk: &SimulatedDisk) -> Option<Vec<u8>> {
    disk.read(Path::new(FILE), 1 << 20).ok()
}

/// What was written before the disk failed.
#[derive(Default)]
struct Written {
    /// Is there exactly once.
    sure: Vec<String>,
    /// Is there at most once: nobody said yet that it is kept.
    perhaps: Vec<String>,
}

/// Lets all three write, until done or until the disk fails.
fn work(disk: &SimulatedDisk, others: &mut Others, seed: u64) -> Written {
    let mut written = Written::default();
    let choice = |of: u64| usize::try_from(of % 3).unwrap();
    let mut session = || {
        let mut run = Run::start(disk, others, seed % 2 == 1)?;
        run.settle(others)?;
        for round in 0..4 {
            let order =
                [["disk", "net", "typed"], ["net", "disk", "typed"], ["typed", "net", "disk"]];
            for (at, who) in (0..).zip(order[choice(seed + round)]) {
                let line = format!("{who} {round}\n");
                let place = if (seed + at).is_multiple_of(2) { Place::Top } else { Place::Bottom };
                written.perhaps.push(line.clone());
                run.write(others, place, &line)?;
                run.step(others, [0, 90, 260][choice(seed / 3 + round)])?;
                written.sure.append(&mut written.perhaps);
            }
            if (seed + round).is_multiple_of(2) {
                run.settle(others)?;
            }
        }
        run.settle(others)
    };
    session();
    written
}

/// Starts again and says what is wrong, if anything.
fn check(disk: &SimulatedDisk, others: &mut Others, written: &Written) -> Result<(), String> {
    let mut run = Run::start(disk, others, false).ok_or("it does not start")?;
    run.settle(others).ok_or("it does not settle")?;
    let text = run.documents.text(file()).ok_or("the file is gone")?;
    let on_disk = read(disk).ok_or("there is no file on disk")?;
    if on_disk != text.as_bytes() || others.read() != text {
        let on_disk = String::from_utf8_lossy(&on_disk);
        return Err(format!("disk:\n{on_disk}\nhere:\n{text}\nothers:\n{}", others.read()));
    }
    let mut left: Vec<&str> = text.lines().collect();
    let sure = START.lines().chain(written.sure.iter().map(|line| line.trim_end()));
    for line in sure {
        let found = left.iter().position(|left| *left == line);
        left.remove(found.ok_or(format!("{line:?} is lost:\n{text}"))?);
    }
    for line in &written.perhaps {
        left.iter().position(|left| *left == line.trim_end()).map(|found| left.remove(found));
    }
    if left.is_empty() {
        Ok(())
    } else {
        Err(format!("{left:?} was not written (so often):\n{text}"))
    }
}

fn prepared() -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    create_dirs(&disk, Path::new(FOLDER), Access::Usual).unwrap();
    replace(&disk, Path::new(FILE), START.as_bytes()).unwrap();
    disk
}

#[test]
fn whenever_it_ends_every_line_is_there_once_afterwards() {
    for seed in 0..6 {
        let disk = prepared();
        let written = work(&disk, &mut Others::new(), seed);
        assert_eq!(written.sure.len(), 12, "undisturbed all is written");
        let before = prepared().calls();
        for call in before..disk.calls() {
            for unsynced in
                [None, Some(Unsynced::Kept), Some(Unsynced::Lost), Some(Unsynced::Chance(call))]
            {
                let disk = prepared();
                let mut others = Others::new();
                disk.cut_power_at(call);
                let mut written = work(&disk, &mut others, seed);
                let disk = match unsynced {
                    // Only the program was killed.
                    None => {
                        disk.restore_power();
                        disk
                    }
                    Some(unsynced) => disk.after_power_loss(unsynced),
                };
                // Starting again can be cut short as well.
                disk.cut_power_at(disk.calls() + call % 20);
                if let Some(mut run) = Run::start(&disk, &mut others, false) {
                    run.settle(&mut others);
                }
                disk.restore_power();
                // And what another program does meanwhile is one more line.
                if call.is_multiple_of(2) && !written.sure.is_empty() {
                    let mut text = read(&disk).unwrap();
                    text.extend_from_slice(b"late\n");
                    disk.advance_ms(5);
                    replace(&disk, Path::new(FILE), &text).unwrap();
                    written.sure.push("late\n".to_owned());
                }
                if let Err(wrong) = check(&disk, &mut others, &written) {
                    panic!("seed {seed}, call {call}, {unsynced:?}: {wrong}");
                }
            }
        }
    }
}

#[test]
fn whatever_the_disk_refuses_once_every_line_is_there_once_afterwards() {
    for seed in 0..2 {
        for on in [Operation::Write, Operation::Sync, Operation::Change] {
            for from in 0..60 {
                let disk = prepared();
                let mut others = Others::new();
                disk.set_fault(Some(Fault {
                    on,
                    from,
                    times: 1,
                    error: std::io::ErrorKind::Other,
                }));
                let written = work(&disk, &mut others, seed);
                disk.set_fault(None);
                if let Err(wrong) = check(&disk, &mut others, &written) {
                    panic!("seed {seed}, {on:?} {from}: {wrong}");
                }
            }
        }
    }
}
