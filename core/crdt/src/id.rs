//! Names of things in documents: clients, ids, and how much of each client is known.
//!
//! A client counts what it makes in units (UTF-16 units of text, one for anything else); the clock of a unit is how many
//! it had made before. A state vector is the next clock of each client:
//!
//! ```text
//! 02  ac 02  02  01  03         two clients, highest id first: of client 300 two units are known, of client 1 three
//! ```
//!
//! ```
//! use crdt::{ClientId, StateVector};
//!
//! let vector = StateVector::decode(&[2, 0xac, 2, 2, 1, 3])?;
//! assert_eq!(vector.get(ClientId::new(300).unwrap()), 2);
//! assert_eq!(vector.encode(), [2, 0xac, 2, 2, 1, 3]);
//! # Ok::<(), crdt::Error>(())
//! ```

use std::collections::BTreeMap;

use lib0::{Reader, write_var_u64};

use crate::error::Error;

/// Who made an edit: a number below 2^53, drawn at random for each replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(u64);

impl ClientId {
    /// Takes a number below 2^53, the largest that JavaScript holds exactly.
    pub fn new(id: u64) -> Option<Self> {
        (id < 1 << 53).then_some(Self(id))
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// The place of one unit in one client's sequence of edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    /// Who made it.
    pub client: ClientId,
    /// How many units that client had made before.
    pub clock: u32,
}

/// How many units of each client are known; a client that is not listed has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StateVector(BTreeMap<ClientId, u32>);

impl StateVector {
    /// Returns how many units of a client are known.
    pub fn get(&self, client: ClientId) -> u32 {
        self.0.get(&client).copied().unwrap_or(0)
    }

    /// The clients and their clocks, lowest client first.
    pub fn iter(&self) -> impl Iterator<Item = (ClientId, u32)> {
        self.0.iter().map(|(&client, &clock)| (client, clock))
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether everything that `other` knows is known here.
    pub fn covers(&self, other: &Self) -> bool {
        other.iter().all(|(client, clock)| self.get(client) >= clock)
    }

    pub(crate) fn insert(&mut self, client: ClientId, clock: u32) {
        self.0.insert(client, clock);
    }

    /// Reads `encodeStateVector`'s form: a count, then client and clock each. The whole input must be read.
    ///
    /// # Errors
    /// Truncated input, numbers out of bounds, bytes left over.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let count = usize::try_from(reader.var_u64()?).unwrap_or(usize::MAX);
        if count > reader.remaining() / 2 {
            return Err(reader.error("count runs past the end").into());
        }
        let mut vector = Self::default();
        for _ in 0..count {
            let client = ClientId(reader.var_u64()?);
            let clock = reader.var_u32()?;
            if clock > 0 {
                vector.insert(client, clock);
            }
        }
        if !reader.is_empty() {
            return Err(reader.error("bytes after the end of a state vector").into());
        }
        Ok(vector)
    }

    /// Writes `encodeStateVector`'s form, highest client first.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(1 + self.0.len() * 8);
        write_var_u64(&mut out, self.0.len() as u64);
        for (client, clock) in self.0.iter().rev() {
            write_var_u64(&mut out, client.0);
            write_var_u64(&mut out, u64::from(*clock));
        }
        out
    }
}

impl FromIterator<(ClientId, u32)> for StateVector {
    fn from_iter<T: IntoIterator<Item = (ClientId, u32)>>(entries: T) -> Self {
        Self(entries.into_iter().filter(|&(_, clock)| clock > 0).collect())
    }
}
