//! The secret that a link carries: whoever has it may edit the paper.
//!
//! It never shows in a log or an error: `Debug` hides it, and there is no `Display`.

use std::fmt;

/// The secret of a paper: 22 to 128 characters of `A-Z a-z 0-9 - _`.
///
/// Compare hashes of secrets, not secrets: there is no `==`.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret of random bytes: 160 bits as 40 hex digits.
    pub fn from_random(bytes: [u8; 20]) -> Self {
        use fmt::Write as _;
        let mut text = String::with_capacity(40);
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// Reads a secret; `None` when this cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let valid = (22..=128).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        valid.then(|| Self(text.to_owned()))
    }

    /// Returns the secret itself, to be sent or put into a link, never to be shown otherwise.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_is_revealed_and_hides_in_debug_output() {
        let secret = Secret::from_random([0xab; 20]);
        assert_eq!(secret.reveal(), "ab".repeat(20));
        assert!(Secret::parse(secret.reveal()).is_some());
        assert!(!format!("{secret:?}").contains("ab"));
        assert!(Secret::parse("short").is_none());
        assert!(Secret::parse(&"a b".repeat(20)).is_none());
    }
}
