//! Who may: whoever has the paper's secret may edit it.
//!
//! The secret itself is never kept, only its hash; hashes are compared in constant time. It comes
//! in the first message, in the subprotocol (`quire`, `secret.<secret>`), as a bearer, or, since
//! y-websocket clients know no other way, in the query string, which is therefore never logged.

use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, Uri};
use protocol::Secret;

/// The subprotocol that is answered to whoever brings the secret in another one.
pub const SUBPROTOCOL: &str = "quire";
/// What whoever is not let in is told; the same for a wrong secret and an unknown paper.
pub const NOT_ACCEPTED: &str = "this link is not accepted here; ask for a new one";

/// The hash of a paper's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(blake3::Hash);

impl Key {
    /// Returns the hash of a secret.
    pub fn of(secret: &Secret) -> Self {
        Self(blake3::hash(secret.reveal().as_bytes()))
    }

    /// Returns the bytes to keep.
    pub fn to_bytes(self) -> [u8; 32] {
        *self.0.as_bytes()
    }

    /// Reads what was kept.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(blake3::Hash::from_bytes(bytes.try_into().ok()?)))
    }

    /// Whether this secret opens the paper. `blake3::Hash` compares in constant time.
    pub fn opens(self, secret: &Secret) -> bool {
        Self::of(secret) == self
    }
}

/// Returns the secret that a request brings along, and whether by subprotocol.
pub(crate) fn secret_of(headers: &HeaderMap, uri: &Uri) -> Option<Secret> {
    bearer(headers).or_else(|| in_subprotocol(headers)).or_else(|| in_query(uri))
}

/// Returns the secret of a request that is no socket.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Secret> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Secret::parse(secret.trim()))?
}

/// Whether the other side offers our subprotocol.
pub(crate) fn offers_subprotocol(headers: &HeaderMap) -> bool {
    subprotocols(headers).any(|offered| offered == SUBPROTOCOL)
}

fn in_subprotocol(headers: &HeaderMap) -> Option<Secret> {
    subprotocols(headers).find_map(|offered| Secret::parse(offered.strip_prefix("secret.")?))
}

fn subprotocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

fn in_query(uri: &Uri) -> Option<Secret> {
    uri.query()?.split('&').find_map(|pair| Secret::parse(pair.strip_prefix("token=")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "abcdefghijklmnopqrstuvwxyz";

    #[test]
    fn a_secret_is_found_where_each_kind_of_client_can_put_it() {
        let check = |header: Option<(&'static str, String)>, uri: &str| {
            let mut headers = HeaderMap::new();
            if let Some((name, value)) = header {
                headers.insert(name, value.parse().unwrap());
            }
            secret_of(&headers, &uri.parse().unwrap()).map(|secret| secret.reveal().to_owned())
        };
        let found = Some(SECRET.to_owned());
        assert_eq!(check(Some(("authorization", format!("Bearer {SECRET}"))), "/"), found);
        let offered = format!("quire, secret.{SECRET}");
        assert_eq!(check(Some(("sec-websocket-protocol", offered)), "/"), found);
        assert_eq!(check(None, &format!("/p/tree?a=b&token={SECRET}")), found);
        assert_eq!(check(None, "/p/tree?token=short"), None);
        assert_eq!(check(Some(("authorization", format!("Basic {SECRET}"))), "/"), None);
    }

    #[test]
    fn only_the_secret_itself_opens() {
        let key = Key::of(&Secret::parse(SECRET).unwrap());
        assert_eq!(Key::from_bytes(&key.to_bytes()), Some(key));
        assert!(key.opens(&Secret::parse(SECRET).unwrap()));
        assert!(!key.opens(&Secret::parse(&SECRET.to_uppercase()).unwrap()));
        assert_eq!(Key::from_bytes(&[0; 31]), None);
    }
}
