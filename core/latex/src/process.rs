//! One foreign program from start to end: what it prints is handed on as it comes, limits hold,
//! and when it ends, by itself or by us, nothing that it started lives on.
//!
//! The program leads a process group of its own. Limits are held twice: by the system for each
//! process (a wrapping `sh` sets them), and here by looking at all of them together every
//! twentieth of a second. Nothing here knows of TeX.

#![expect(clippy::disallowed_methods, reason = "processes and how long they take")]

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the running processes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(1);

/// In whose environment this stands belongs to one of our builds, wherever it moved.
#[cfg(target_os = "linux")]
const TAG: &str = "QUIRE_BUILD";

/// More files than this are not counted: there are too many anyway.
const MAX_FILES: usize = 100_000;

/// A wish to end what runs, from any thread. Clones are the same wish.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Makes a wish that was not uttered yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Utters it, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Returns whether it was uttered.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What a build may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From start to end.
    pub wall: Duration,
    /// Of all its processes together.
    pub cpu: Duration,
    /// Of all its processes together; also what one may reserve.
    pub memory_bytes: u64,
    /// What it may write, all files together.
    pub output_bytes: u64,
    /// What it may write into one file.
    pub file_bytes: u64,
    /// How many processes there may be at once.
    pub processes: usize,
}

impl Default for Limits {
    /// Ample for a book of a thousand pages on a slow machine.
    fn default() -> Self {
        Self {
            wall: Duration::from_mins(20),
            cpu: Duration::from_mins(40),
            memory_bytes: 4 << 30,
            output_bytes: 2 << 30,
            file_bytes: 1 << 30,
            processes: 128,
        }
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Time from start to end.
    Wall,
    /// Computing time.
    Cpu,
    /// Memory.
    Memory,
    /// What was written.
    Output,
    /// The number of processes.
    Processes,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself; without a code if a signal ended it.
    Exited(Option<i32>),
    Cancelled,
    Over(Limit),
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) end: End,
    /// Of all processes, as last seen: short by at most one look's time. Nothing where the system
    /// tells nothing.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
}

/// Wraps a command so that each of its processes is held to the limits by the system, and leaves
/// the computer to the person who types. `alone` is whether the system counts its processes apart
/// from the person's others.
pub(crate) fn limited(limits: &Limits, words: &[OsString], alone: bool) -> Vec<OsString> {
    // A system that doesn't know one of the limits goes without it: we look ourselves as well. But
    // a program that starts programs without end is faster than we look.
    let set = "ulimit -c 0; ulimit -t \"$1\"; ulimit -v \"$2\"; ulimit -f \"$3\"; \
               { ulimit -u \"$4\" || ulimit -p \"$4\"; }; shift 4; exec nice -n 5 \"$@\" 2>&4 4>&-";
    let script = format!("exec 4>&2 2>/dev/null; {set}");
    let mut all: Vec<OsString> = ["/bin/sh", "-c", &script, "sh"].map(OsString::from).into();
    all.push(limits.cpu.as_secs().max(1).to_string().into());
    all.push((limits.memory_bytes / 1024).to_string().into());
    all.push((limits.file_bytes / 512).to_string().into());
    all.push(if alone { 2 * limits.processes } else { 8192 }.to_string().into());
    all.extend_from_slice(words);
    all
}

/// Runs a command to its end. `hear` gets all that it prints, in pieces, and how long after the
/// start it came; `written` is the folder
/// that counts as its output.
pub(crate) fn run(
    mut command: Command,
    limits: &Limits,
    written: Option<&Path>,
    cancel: &Cancel,
    hear: &mut dyn FnMut(Duration, &[u8]),
) -> io::Result<Ended> {
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let tag = tag(&mut command);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let started = Instant::now();
    let child = command.spawn()?;
    // Our copies of the pipe's writing end go, so that it ends with the last of the processes.
    drop(command);
    let mut family = Family { child, tag, cpu: Duration::ZERO };
    let (sender, heard) = sync_channel(16);
    let listener = thread::Builder::new().name("tex output".to_owned()).spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length) = reader.read(&mut buffer) {
            if length == 0 || sender.send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    if let Err(error) = listener {
        family.end();
        return Err(error);
    }
    let end = follow(&mut family, limits, written, cancel, started, &heard, hear);
    family.end();
    let end = end?;
    drain(started, &heard, hear);
    Ok(Ended { end, cpu: family.cpu, wall: started.elapsed() })
}

fn follow(
    family: &mut Family,
    limits: &Limits,
    written: Option<&Path>,
    cancel: &Cancel,
    started: Instant,
    heard: &Receiver<Vec<u8>>,
    hear: &mut dyn FnMut(Duration, &[u8]),
) -> io::Result<End> {
    let mut look_at = started;
    // Counting files costs more than counting processes: as long again as it took, at least.
    let mut count_at = started;
    loop {
        if cancel.is_cancelled() {
            return Ok(End::Cancelled);
        }
        let now = Instant::now();
        if now.duration_since(started) > limits.wall {
            return Ok(End::Over(Limit::Wall));
        }
        if now >= look_at {
            if let Some(limit) = family.look(limits) {
                return Ok(End::Over(limit));
            }
            look_at = now + LOOK_EVERY;
            if let Some(folder) = written.filter(|_| now >= count_at) {
                if bytes_below(folder, limits.output_bytes) > limits.output_bytes {
                    return Ok(End::Over(Limit::Output));
                }
                count_at = Instant::now() + 4 * LOOK_EVERY + 8 * now.elapsed();
            }
        }
        match heard.recv_timeout(Duration::from_millis(10)) {
            Ok(bytes) => {
                hear(started.elapsed(), &bytes);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            // All ends of the pipe are closed: it is ending, or has nothing more to say.
            Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(5)),
        }
        if let Some(status) = family.child.try_wait()? {
            return Ok(End::Exited(status.code()));
        }
    }
}

/// Hears what was printed before the end. The pipe closes with the last process.
fn drain(started: Instant, heard: &Receiver<Vec<u8>>, hear: &mut dyn FnMut(Duration, &[u8])) {
    let until = Instant::now() + GRACE;
    while let Ok(bytes) = heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
        hear(started.elapsed(), &bytes);
    }
}

/// Asks a program that should answer at once; nothing where it fails or takes long.
pub(crate) fn ask(command: Command) -> Option<String> {
    let limits = Limits { wall: Duration::from_secs(10), ..Limits::default() };
    let mut answer = Vec::new();
    let mut hear = |_: Duration, bytes: &[u8]| {
        let room = (1_usize << 16).saturating_sub(answer.len());
        answer.extend_from_slice(&bytes[..bytes.len().min(room)]);
    };
    let ended = run(command, &limits, None, &Cancel::new(), &mut hear).ok()?;
    (ended.end == End::Exited(Some(0))).then(|| String::from_utf8_lossy(&answer).into_owned())
}

fn tag(command: &mut Command) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let tag = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    #[cfg(target_os = "linux")]
    command.env(TAG, &tag);
    #[cfg(not(target_os = "linux"))]
    let _ = command;
    tag
}

/// A program and all that it started.
struct Family {
    child: Child,
    tag: String,
    cpu: Duration,
}

impl Family {
    /// Ends all of it: asks first, then does not.
    fn end(&mut self) {
        self.signal(false);
        let until = Instant::now() + GRACE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        self.signal(true);
        drop(self.child.kill());
        drop(self.child.wait());
        self.end_strays();
    }

    #[cfg(unix)]
    fn signal(&self, kill: bool) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = if kill { Signal::KILL } else { Signal::TERM };
        // The group outlives its leader while it has members, and is gone when it has none.
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&self, _kill: bool) {}

    /// Ends what left the group. Again and again, as it may be starting others meanwhile.
    #[cfg(target_os = "linux")]
    fn end_strays(&self) {
        use rustix::process::{Pid, Signal, kill_process};
        let wanted = format!("{TAG}={}", self.tag).into_bytes();
        for _ in 0..100 {
            let mut found = false;
            for id in process_ids() {
                let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
                if environment.split(|byte| *byte == 0).any(|pair| pair == wanted) {
                    found = true;
                    if let Some(id) = Pid::from_raw(id) {
                        let _ = kill_process(id, Signal::KILL);
                    }
                }
            }
            if !found {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn end_strays(&self) {
        let _ = &self.tag;
    }

    /// Looks at all its processes; returns the limit that they are over.
    fn look(&mut self, limits: &Limits) -> Option<Limit> {
        let mut cpu = Duration::ZERO;
        let mut memory = 0;
        let mut waiting = vec![self.child.id()];
        let mut seen = HashSet::new();
        while let Some(id) = waiting.pop() {
            if !seen.insert(id) {
                continue;
            }
            if seen.len() > limits.processes {
                return Some(Limit::Processes);
            }
            let Some(figures) = figures(id) else { continue };
            cpu += figures.cpu;
            memory += figures.memory_bytes;
            waiting.extend(figures.children);
        }
        self.cpu = self.cpu.max(cpu);
        if cpu > limits.cpu {
            Some(Limit::Cpu)
        } else if memory > limits.memory_bytes {
            Some(Limit::Memory)
        } else {
            None
        }
    }
}

/// What one process uses.
struct Figures {
    /// Its own, and that of its children that ended.
    cpu: Duration,
    memory_bytes: u64,
    children: Vec<u32>,
}

#[cfg(target_os = "linux")]
fn figures(id: u32) -> Option<Figures> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    let ticks: u64 = (11..15).filter_map(number).sum();
    let memory_bytes = number(21).unwrap_or(0) * rustix::param::page_size() as u64;
    let cpu = Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second());
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{id}/task")).ok()?.flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.extend(list.split_ascii_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    Some(Figures { cpu, memory_bytes, children })
}

#[cfg(not(target_os = "linux"))]
fn figures(_id: u32) -> Option<Figures> {
    None
}

#[cfg(target_os = "linux")]
fn process_ids() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Counts what lies in a folder, links as themselves; stops when it is more than asked for.
fn bytes_below(folder: &Path, enough: u64) -> u64 {
    let mut bytes = 0;
    let mut files = 0;
    let mut folders: Vec<PathBuf> = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            files += 1;
            let Ok(about) = entry.metadata() else { continue };
            if about.is_dir() {
                folders.push(entry.path());
            }
            bytes += about.len();
            if files > MAX_FILES {
                return u64::MAX;
            }
            if bytes > enough {
                return bytes;
            }
        }
    }
    bytes
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn end_of(script: &str, limits: &Limits, written: Option<&Path>) -> (End, String) {
        let mut heard = Vec::new();
        let mut hear = |_: Duration, bytes: &[u8]| heard.extend_from_slice(bytes);
        let ended = run(sh(script), limits, written, &Cancel::new(), &mut hear).unwrap();
        (ended.end, String::from_utf8(heard).unwrap())
    }

    #[test]
    fn all_that_is_printed_is_heard_and_the_code_told() {
        let (end, heard) = end_of("echo out; echo err >&2; exit 3", &Limits::default(), None);
        assert_eq!(end, End::Exited(Some(3)));
        assert_eq!(heard, "out\nerr\n");
        let (end, heard) =
            end_of("head -c 3000000 /dev/zero | tr '\\0' x", &Limits::default(), None);
        assert_eq!((end, heard.len()), (End::Exited(Some(0)), 3_000_000));
        assert!(
            run(Command::new("/nowhere"), &Limits::default(), None, &Cancel::new(), &mut |_, _| ())
                .is_err()
        );
    }

    #[test]
    fn each_limit_ends_it() {
        let wall = Limits { wall: Duration::from_millis(300), ..Limits::default() };
        assert_eq!(end_of("sleep 60", &wall, None).0, End::Over(Limit::Wall));
        assert_eq!(end_of("yes", &wall, None).0, End::Over(Limit::Wall));
        // Deaf to being asked.
        assert_eq!(
            end_of("trap '' TERM; while :; do sleep 1; done", &wall, None).0,
            End::Over(Limit::Wall)
        );
        let dir = tempfile::tempdir().unwrap();
        let output =
            Limits { output_bytes: 1 << 20, wall: Duration::from_mins(1), ..Limits::default() };
        let write = format!(
            "while :; do echo x >> '{0}/a'; cp '{0}/a' '{0}/b'; head -c 90000 /dev/zero >> '{0}/a'; done",
            dir.path().display()
        );
        assert_eq!(end_of(&write, &output, Some(dir.path())).0, End::Over(Limit::Output));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn limits_over_all_processes_together_end_it() {
        let processes = Limits { processes: 10, ..Limits::default() };
        let many = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 60 & done; wait";
        assert_eq!(end_of(many, &processes, None).0, End::Over(Limit::Processes));
        let cpu = Limits { cpu: Duration::from_millis(300), ..Limits::default() };
        assert_eq!(
            end_of("(while :; do :; done) & while :; do :; done", &cpu, None).0,
            End::Over(Limit::Cpu)
        );
        let memory = Limits { memory_bytes: 64 << 20, ..Limits::default() };
        assert_eq!(
            end_of("head -c 300000000 /dev/zero | tail -n 1 | sleep 5", &memory, None).0,
            End::Over(Limit::Memory)
        );
    }

    #[test]
    fn the_system_holds_each_process_to_the_limits() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let limits = Limits { file_bytes: 1 << 20, memory_bytes: 512 << 20, ..Limits::default() };
        let script = format!("ulimit -v; head -c 9000000 /dev/zero > '{}'", file.display());
        let words = limited(&limits, &["/bin/sh".into(), "-c".into(), script.into()], false);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        let mut heard = Vec::new();
        let mut hear = |_: Duration, bytes: &[u8]| heard.extend_from_slice(bytes);
        let ended = run(command, &limits, None, &Cancel::new(), &mut hear).unwrap();
        assert_ne!(ended.end, End::Exited(Some(0)));
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 1 << 20);
        assert!(String::from_utf8(heard).unwrap().contains("524288"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_lives_on_wherever_it_went() {
        let dir = tempfile::tempdir().unwrap();
        let marks = dir.path().join("marks");
        // In the group, in a session of its own, and left behind by a parent that ended.
        let script = format!(
            "sleep 4711 & echo $! >> '{0}'; setsid sleep 4712 & echo $! >> '{0}'; \
             (setsid sh -c 'echo $$ >> \"{0}\"; sleep 4713; :' &); echo ready; SLEEP",
            marks.display()
        );
        for (last, cancelled) in [("sleep 60", true), ("sleep 0.3", false)] {
            drop(std::fs::remove_file(&marks));
            let cancel = Cancel::new();
            let mut hear = |_: Duration, bytes: &[u8]| {
                if cancelled && bytes.starts_with(b"ready") {
                    thread::sleep(Duration::from_millis(200));
                    cancel.cancel();
                }
            };
            let command = sh(&script.replace("SLEEP", last));
            let ended = run(command, &Limits::default(), None, &cancel, &mut hear).unwrap();
            let expected = if cancelled { End::Cancelled } else { End::Exited(Some(0)) };
            assert_eq!(ended.end, expected);
            let ids = std::fs::read_to_string(&marks).unwrap();
            assert_eq!(ids.lines().count(), 3);
            for id in ids.lines() {
                let line =
                    std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
                assert!(!line.contains("471"), "{id} lives: {line}");
            }
        }
    }
}
