//! Where a server is, and how its certificate is recognized.

use std::fmt;
use std::net::IpAddr;

/// A server's place in the network.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerAddress {
    /// A name or an IP address, without brackets.
    host: String,
    port: u16,
    transport: Transport,
}

/// What the bytes travel in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// As they are: for this machine itself, or where somebody said so.
    Plain,
    /// TLS. With a fingerprint exactly that certificate is trusted, else those that the system trusts.
    Tls(Option<Fingerprint>),
}

/// The blake3 hash of a certificate (its DER bytes), written as 64 hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// Why a text is no server's address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The host is missing or has characters that no host has.
    #[error("{0:?} is not the name or address of a server")]
    Host(String),
    /// The port is no number from 1 to 65535.
    #[error("{0:?} is not a port (1 to 65535)")]
    Port(String),
    /// The scheme is not one of those understood.
    #[error("a server's address starts with https:// or http:// (or neither), not with {0:?}")]
    Scheme(String),
    /// Something stands after host and port.
    #[error("a server's address is host and port only; {0:?} is too much")]
    Path(String),
    /// A fingerprint is not 64 hex digits.
    #[error("a certificate's fingerprint has 64 hex digits")]
    Fingerprint,
}

impl Fingerprint {
    /// Returns the fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        Self(*blake3::hash(certificate).as_bytes())
    }

    /// Reads 64 hex digits.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let hash = blake3::Hash::from_hex(text).map_err(|_| AddressError::Fingerprint)?;
        Ok(Self(*hash.as_bytes()))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl ServerAddress {
    /// Makes an address; the host is a name or an IP address (IPv6 without brackets).
    pub fn new(host: &str, port: u16, transport: Transport) -> Result<Self, AddressError> {
        let name = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_';
        let is_name = (1..=253).contains(&host.len()) && host.bytes().all(name);
        if !is_name && host.parse::<IpAddr>().is_err() {
            return Err(AddressError::Host(host.chars().take(80).collect()));
        }
        if port == 0 {
            return Err(AddressError::Port("0".to_owned()));
        }
        Ok(Self { host: host.to_ascii_lowercase(), port, transport })
    }

    /// Reads `host[:port]`, or the same after `https://`, `http://`, `wss://` or `ws://`.
    ///
    /// Without a scheme this machine itself is spoken to in the plain, others by TLS.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme), rest),
            None => (None, text),
        };
        let plain = match scheme {
            Some("http" | "ws") => Some(true),
            Some("https" | "wss") => Some(false),
            None => None,
            Some(other) => return Err(AddressError::Scheme(other.chars().take(20).collect())),
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Some(at) = authority.find(['/', '?', '#', '@']) {
            return Err(AddressError::Path(authority[at..].chars().take(80).collect()));
        }
        Self::from_authority(authority, plain)
    }

    /// Reads `host[:port]`; `plain` says how to speak when it is known.
    pub(crate) fn from_authority(text: &str, plain: Option<bool>) -> Result<Self, AddressError> {
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, port) =
                rest.split_once(']').ok_or_else(|| AddressError::Host(text.to_owned()))?;
            let port = match port {
                "" => None,
                _ => Some(port.strip_prefix(':').ok_or_else(|| AddressError::Port(port.into()))?),
            };
            (host, port)
        } else {
            match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        let transport = if plain.unwrap_or_else(|| is_loopback(host)) {
            Transport::Plain
        } else {
            Transport::Tls(None)
        };
        let port = match port {
            Some(port) => port.parse().map_err(|_| AddressError::Port(port.to_owned()))?,
            None => default_port(transport),
        };
        Self::new(host, port, transport)
    }

    /// Returns the same address, whose certificate is known by its fingerprint.
    #[must_use]
    pub fn with_certificate(self, certificate: Fingerprint) -> Self {
        Self { transport: Transport::Tls(Some(certificate)), ..self }
    }

    /// Returns the host: a name or an IP address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns what the bytes travel in.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Whether the server is on this machine.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Returns `host` or `host:port`, as it stands in links and for people.
    pub fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == default_port(self.transport) {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// Returns the address for HTTP, without a slash at its end.
    pub(crate) fn http(&self) -> String {
        let scheme = if self.transport == Transport::Plain { "http" } else { "https" };
        format!("{scheme}://{}", self.authority())
    }

    /// Returns the address of the socket that has many rooms.
    pub(crate) fn socket(&self) -> String {
        let scheme = if self.transport == Transport::Plain { "ws" } else { "wss" };
        format!("{scheme}://{}/", self.authority())
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority())
    }
}

fn default_port(transport: Transport) -> u16 {
    match transport {
        Transport::Plain => 80,
        Transport::Tls(_) => 443,
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, url: &str) {
        assert_eq!(ServerAddress::parse(text).unwrap().http(), url, "{text}");
    }

    #[test]
    fn this_machine_is_plain_and_others_are_not() {
        check("localhost:4000", "http://localhost:4000");
        check("127.0.0.1", "http://127.0.0.1");
        check("[::1]:4000", "http://[::1]:4000");
        check("papers.example.org", "https://papers.example.org");
        check("10.0.0.7:8443", "https://10.0.0.7:8443");
        check("http://10.0.0.7:8080/", "http://10.0.0.7:8080");
        check("wss://Papers.Example.org", "https://papers.example.org");
        check("https://localhost", "https://localhost");
    }

    #[test]
    fn what_is_no_address_says_why() {
        let bad = |text: &str| ServerAddress::parse(text).unwrap_err();
        assert!(matches!(bad(""), AddressError::Host(_)));
        assert!(matches!(bad("a b"), AddressError::Host(_)));
        assert!(matches!(bad("host:99999"), AddressError::Port(_)));
        assert!(matches!(bad("host:0"), AddressError::Port(_)));
        assert!(matches!(bad("ftp://host"), AddressError::Scheme(_)));
        assert!(matches!(bad("https://host/path"), AddressError::Path(_)));
        assert!(matches!(bad("https://me@host"), AddressError::Path(_)));
        assert!(matches!(bad("[::1"), AddressError::Host(_)));
    }
}
