//! The text that is passed on to let somebody into a paper:
//! `quire://host[:port]/<paper id>[?plain]#<secret>[.<certificate fingerprint>]`.
//!
//! The secret stands in the fragment, which browsers and servers do not send or log. The bytes
//! travel by TLS unless the host is this machine or `?plain` says otherwise; a fingerprint names
//! the one certificate to trust, for a server that has no public name.
//! `https://host/j/<paper id>#<secret>`, the page for people without the app, is read as well.

use std::fmt;

use protocol::Secret;
use protocol::room::is_paper_id;

use crate::server_address::{AddressError, Fingerprint, ServerAddress, Transport};

/// What a link says.
#[derive(Clone)]
pub struct Invitation {
    /// Where the paper is shared.
    pub server: ServerAddress,
    /// The paper's id: 32 hex digits, kept by the constructors.
    paper: String,
    /// What lets one in.
    pub secret: Secret,
}

/// Why a text is no invitation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// It does not start as a link does.
    #[error("a link to a paper starts with quire://; copy the whole link and try again")]
    Scheme,
    /// The server's address is none.
    #[error("the link's server is not understood: {0}")]
    Server(#[from] AddressError),
    /// The part that names the paper is missing or cut.
    #[error(
        "the link does not name a paper (32 hex digits); perhaps it was cut when it was copied"
    )]
    Paper,
    /// The secret is missing or cut.
    #[error("the link has no secret after the #; perhaps it was cut when it was copied")]
    Secret,
}

impl Invitation {
    /// Makes an invitation to a paper, given by its id.
    pub fn new(
        server: ServerAddress,
        paper: &str,
        secret: Secret,
    ) -> Result<Self, InvitationError> {
        if !is_paper_id(paper) {
            return Err(InvitationError::Paper);
        }
        Ok(Self { server, paper: paper.to_owned(), secret })
    }

    /// Reads a link.
    pub fn parse(link: &str) -> Result<Self, InvitationError> {
        let link = link.trim();
        let (rest, page) = if let Some(rest) = link.strip_prefix("quire://") {
            (rest, false)
        } else if let Some(rest) = link.strip_prefix("https://") {
            (rest, true)
        } else {
            return Err(InvitationError::Scheme);
        };
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let paper = if page { path.strip_prefix("j/").unwrap_or("") } else { path };
        let paper = paper.strip_suffix('/').unwrap_or(paper);
        let plain = if page { Some(false) } else { (query == "plain").then_some(true) };
        let mut server = ServerAddress::from_authority(authority, plain)?;
        if !is_paper_id(paper) {
            return Err(InvitationError::Paper);
        }
        let (secret, fingerprint) = match fragment.split_once('.') {
            Some((secret, fingerprint)) => (secret, Some(fingerprint)),
            None => (fragment, None),
        };
        if let Some(fingerprint) = fingerprint {
            server = Self::certified(server, Fingerprint::parse(fingerprint)?, authority, query)?;
        }
        Self::new(server, paper, Secret::parse(secret).ok_or(InvitationError::Secret)?)
    }

    /// A fingerprint means TLS, also on this machine.
    fn certified(
        server: ServerAddress,
        certificate: Fingerprint,
        authority: &str,
        query: &str,
    ) -> Result<ServerAddress, InvitationError> {
        if query == "plain" {
            return Err(AddressError::Fingerprint.into());
        }
        let tls = match server.transport() {
            Transport::Plain => ServerAddress::from_authority(authority, Some(false))?,
            Transport::Tls(_) => server,
        };
        Ok(tls.with_certificate(certificate))
    }

    /// Returns the paper's id: 32 hex digits.
    pub fn paper(&self) -> &str {
        &self.paper
    }

    /// Returns the link to pass on. It has the secret in it: show it only to who may have it.
    pub fn link(&self) -> String {
        let (plain, fingerprint) = match self.server.transport() {
            Transport::Plain if !self.server.is_loopback() => ("?plain", String::new()),
            Transport::Tls(Some(fingerprint)) => ("", format!(".{fingerprint}")),
            // TLS to this machine without a fingerprint cannot be said; nobody trusts such a
            // certificate.
            Transport::Plain | Transport::Tls(None) => ("", String::new()),
        };
        let (server, paper, secret) = (&self.server, &self.paper, self.secret.reveal());
        format!("quire://{server}/{paper}{plain}#{secret}{fingerprint}")
    }
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation(quire://{}/{}#hidden)", self.server, self.paper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: &str = "0123456789abcdef0123456789abcdef";
    const SECRET: &str = "abcdefghijklmnopqrstuvwxyz";

    fn check(link: &str) -> Invitation {
        let read = Invitation::parse(link).unwrap();
        assert_eq!(read.link(), link);
        assert_eq!(read.paper(), PAPER);
        assert_eq!(read.secret.reveal(), SECRET);
        read
    }

    #[test]
    fn a_link_is_read_as_it_is_written() {
        let fingerprint = "0f".repeat(32);
        let plain = check(&format!("quire://127.0.0.1:4000/{PAPER}#{SECRET}"));
        assert_eq!(plain.server.transport(), Transport::Plain);
        let public = check(&format!("quire://papers.example.org/{PAPER}#{SECRET}"));
        assert_eq!(public.server.transport(), Transport::Tls(None));
        assert_eq!(public.server.port(), 443);
        let desk = check(&format!("quire://192.168.1.7:4000/{PAPER}#{SECRET}.{fingerprint}"));
        assert!(matches!(desk.server.transport(), Transport::Tls(Some(_))));
        check(&format!("quire://127.0.0.1:4000/{PAPER}#{SECRET}.{fingerprint}"));
        check(&format!("quire://10.0.0.1:4000/{PAPER}?plain#{SECRET}"));
        check(&format!("quire://[::1]:4000/{PAPER}#{SECRET}"));
    }

    #[test]
    fn the_page_of_a_paper_is_a_link_too() {
        let link = format!(" https://papers.example.org/j/{PAPER}#{SECRET}\n");
        let read = Invitation::parse(&link).unwrap();
        assert_eq!(read.link(), format!("quire://papers.example.org/{PAPER}#{SECRET}"));
    }

    #[test]
    fn a_cut_or_strange_link_says_what_is_missing() {
        let bad = |link: &str| Invitation::parse(link).unwrap_err();
        assert_eq!(bad("hello"), InvitationError::Scheme);
        assert_eq!(bad(&format!("http://host/{PAPER}#{SECRET}")), InvitationError::Scheme);
        assert!(matches!(bad("quire://"), InvitationError::Server(_)));
        assert_eq!(bad("quire://host"), InvitationError::Paper);
        assert_eq!(bad(&format!("quire://host/{}#{SECRET}", &PAPER[1..])), InvitationError::Paper);
        assert_eq!(bad(&format!("quire://host/{PAPER}")), InvitationError::Secret);
        assert_eq!(bad(&format!("quire://host/{PAPER}#abc")), InvitationError::Secret);
        let cut = format!("quire://host/{PAPER}#{SECRET}.0f0f");
        assert!(matches!(bad(&cut), InvitationError::Server(AddressError::Fingerprint)));
    }

    #[test]
    fn the_secret_does_not_show_in_debug_output() {
        let link = format!("quire://host/{PAPER}#{SECRET}");
        assert!(!format!("{:?}", Invitation::parse(&link).unwrap()).contains(SECRET));
    }
}
