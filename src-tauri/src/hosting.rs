//! The server inside the app: it hosts one paper while that is open, for this computer only or,
//! when the person said so, for others by an address of theirs.
//!
//! On loopback the bytes travel as they are; beyond, in TLS with a certificate made here, whose
//! fingerprint the link carries. Nobody else can put papers here.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use replica::{Secret, ServerPlace};
use serde::{Deserialize, Serialize};
use server::{Config, Creation, Running, ServeError, Tls};
use store::disk::{Disk, Kind, RealDisk};
use tauri::async_runtime::block_on;

/// How a paper is hosted: what to know to do it the same way again, so that its link stays good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hosted {
    /// The address that others reach this computer by; `None`: only this computer does.
    pub(crate) address: Option<String>,
    /// Where the server listened last; 0: nowhere yet.
    pub(crate) port: u16,
    /// The name of the server's folder. Each sharing has its own: a link that was stopped opens
    /// nothing ever again.
    pub(crate) folder: String,
}

/// A server that runs for one paper.
#[derive(Debug)]
pub(crate) struct Hosting {
    running: Running,
    place: ServerPlace,
}

/// An address as a person typed it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Typed {
    host: String,
    port: Option<u16>,
}

impl Hosting {
    /// Starts a server that keeps this one paper in a folder of `data_dir`. Where it listens at
    /// last is noted in `hosted`. Waits; not for the main thread.
    pub(crate) fn start(
        data_dir: &Path,
        hosted: &mut Hosted,
        paper: &str,
        secret: &Secret,
    ) -> Result<Self, String> {
        let here =
            Config { creation: Creation::Nobody, ..Config::loopback(folder(data_dir, hosted)) };
        let (host, running) = if let Some(address) = &hosted.address {
            let Typed { host, port } = Typed::parse(address)?;
            // Only there if it is an address of this computer's own; else, behind a router or by
            // a name, everywhere.
            let own = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
            let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
            let interfaces: Vec<IpAddr> = own.into_iter().chain([everywhere]).collect();
            let config = Config { tls: Tls::SelfSigned, ..here };
            // A port that the person named is that one or none.
            let ports = port.map_or_else(|| vec![hosted.port, 0], |port| vec![port]);
            let running = listen(&interfaces, &ports, &config)?;
            (host, running)
        } else {
            let interfaces = [IpAddr::V4(Ipv4Addr::LOCALHOST)];
            ("127.0.0.1".to_owned(), listen(&interfaces, &[hosted.port, 0], &here)?)
        };
        if let Err(problem) = block_on(running.create_paper(paper, secret)) {
            block_on(running.stop());
            return Err(in_words(&problem));
        }
        hosted.port = running.address().port();
        let place = ServerPlace {
            address: format!("{host}:{}", hosted.port),
            certificate: running.fingerprint().map(str::to_owned),
        };
        Ok(Self { running, place })
    }

    /// Returns where it is, for the replica and for the link.
    pub(crate) fn place(&self) -> ServerPlace {
        self.place.clone()
    }

    /// Ends it when everything it took is durable.
    pub(crate) fn stop(self) {
        block_on(self.running.stop());
    }
}

/// Removes what a stopped server kept. What cannot be removed stays; nobody reads it.
pub(crate) fn discard(data_dir: &Path, hosted: &Hosted) {
    if let Err(problem) = remove(&RealDisk, &folder(data_dir, hosted)) {
        tracing::warn!(%problem, "what the app's server kept can't be removed");
    }
}

fn folder(data_dir: &Path, hosted: &Hosted) -> PathBuf {
    data_dir.join("hosting").join(&hosted.folder)
}

/// Listens on the first port and interface that are free.
fn listen(interfaces: &[IpAddr], ports: &[u16], config: &Config) -> Result<Running, String> {
    let mut problem = None;
    for port in ports {
        for interface in interfaces {
            let config = Config { listen: SocketAddr::new(*interface, *port), ..config.clone() };
            match block_on(server::serve(config)) {
                Ok(running) => return Ok(running),
                Err(refused @ ServeError::Listen { .. }) => problem = Some(refused),
                Err(refused) => return Err(in_words(&refused)),
            }
        }
    }
    Err(problem.as_ref().map_or_else(String::new, in_words))
}

fn in_words(problem: &ServeError) -> String {
    format!("This computer can't host the paper: {problem}.")
}

impl Typed {
    /// Reads `host`, `host:port` or `[v6]:port`.
    fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "{text} is not an address of a computer. Type it as in 192.168.1.20, or as in \
                 desk.example.org:4300."
            )
        };
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
                let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(bad)?;
                (host.to_owned(), Some(port))
            }
            Some(_) if !text.starts_with('[') => (format!("[{text}]"), None),
            _ => (text.to_owned(), None),
        };
        let v6 = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let letter = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
        let fits = v6.map_or(!host.is_empty() && host.chars().all(letter), |v6| {
            v6.parse::<std::net::Ipv6Addr>().is_ok()
        });
        if fits { Ok(Self { host, port }) } else { Err(bad()) }
    }
}

fn remove(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let stat = match disk.stat(path) {
        Ok(stat) => stat,
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(problem) => return Err(problem),
    };
    if stat.kind != Kind::Folder {
        return disk.remove(path);
    }
    for entry in disk.list(path)? {
        remove(disk, &path.join(entry.name))?;
    }
    disk.remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(data_dir: &Path, hosted: &mut Hosted) -> Result<Hosting, String> {
        let secret = Secret::parse("abcdefghijklmnopqrstuvwxyz").unwrap();
        Hosting::start(data_dir, hosted, "00112233445566778899aabbccddeeff", &secret)
    }

    #[test]
    fn an_address_is_read_as_people_type_it() {
        let check = |text: &str, expected: Option<(&str, Option<u16>)>| {
            let typed = Typed::parse(text).ok();
            let typed = typed.as_ref().map(|typed| (typed.host.as_str(), typed.port));
            assert_eq!(typed, expected, "{text}");
        };
        check("192.168.1.20", Some(("192.168.1.20", None)));
        check("192.168.1.20:4300", Some(("192.168.1.20", Some(4300))));
        check("desk.example.org", Some(("desk.example.org", None)));
        check("fe80::1", Some(("[fe80::1]", None)));
        check("[fe80::1]:4300", Some(("[fe80::1]", Some(4300))));
        check("", None);
        check("desk:", None);
        check("desk:0", None);
        check("desk:99999", None);
        check("wss://desk", None);
        check("desk/../../etc", None);
        check("a b", None);
    }

    #[test]
    fn a_server_listens_again_where_its_link_leads() {
        let dir = tempfile::tempdir().unwrap();
        let mut hosted = Hosted { address: None, port: 0, folder: "a".into() };
        let first = start(dir.path(), &mut hosted).unwrap();
        let place = first.place();
        assert_eq!(place.address, format!("127.0.0.1:{}", hosted.port));
        assert_eq!(place.certificate, None);
        // Taken: another port.
        let mut other = Hosted { folder: "b".into(), ..hosted.clone() };
        let second = start(dir.path(), &mut other).unwrap();
        assert_ne!(other.port, hosted.port);
        second.stop();
        first.stop();
        let again = start(dir.path(), &mut hosted).unwrap();
        assert_eq!(again.place().address, place.address);
        again.stop();
        discard(dir.path(), &hosted);
        assert!(RealDisk.stat(&dir.path().join("hosting").join("a")).is_err());
    }

    #[test]
    fn beyond_this_computer_it_is_encrypted() {
        let dir = tempfile::tempdir().unwrap();
        let mut hosted = Hosted { address: Some("127.0.0.1".into()), port: 0, folder: "a".into() };
        let hosting = start(dir.path(), &mut hosted).unwrap();
        assert!(hosting.place().certificate.is_some_and(|it| it.len() == 64));
        hosting.stop();
    }
}
