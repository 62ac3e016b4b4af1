//! Who is in a room and where: one small JSON state for each client, with a clock, as in
//! y-protocols.
//!
//! A state counts when its clock is newer than the known one, or equal and "gone". One's own state
//! is renewed before others would drop it, and cannot be removed by them. The states are kept as
//! the text in which they came; what is in them is for the owner. Nothing here reads a clock: time
//! is passed in, in milliseconds.

use std::collections::BTreeMap;

use lib0::{Reader, json, write_var_bytes, write_var_str, write_var_u64};

use crate::Error;
use crate::message::malformed;

/// A state that was not renewed for this long is dropped.
pub const TIMEOUT_MS: u64 = 30_000;
/// One's own state is renewed after this long.
pub const RENEWAL_MS: u64 = TIMEOUT_MS / 2;
/// How often [`Awareness::tick`] wants to be called.
pub const TICK_MS: u64 = TIMEOUT_MS / 10;
/// The longest state taken, in bytes of JSON.
pub const MAX_STATE: usize = 4096;

/// The clock of a client that is gone is forgotten after this long.
const FORGET_MS: u64 = 20 * TIMEOUT_MS;
/// A clock further ahead than this is a lie that would silence the client for ever.
const MAX_JUMP: u64 = 1 << 31;

/// The states of one room.
#[derive(Clone, Debug, Default)]
pub struct Awareness {
    /// Whose own state this side speaks for, if anybody's (a server speaks for nobody).
    own: Option<u64>,
    known: BTreeMap<u64, Known>,
}

#[derive(Clone, Debug)]
struct Known {
    clock: u64,
    /// JSON; `None` when the client is gone (its clock is remembered for a while).
    state: Option<String>,
    renewed_ms: u64,
}

/// What a step did, as lists of clients in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwarenessChange {
    /// Not known before.
    pub added: Vec<u64>,
    /// Have a new clock, and perhaps a new state.
    pub updated: Vec<u64>,
    /// Gone. One's own client here means that somebody tried to remove it: its clock was raised,
    /// and the owner should send it again.
    pub removed: Vec<u64>,
}

/// One client's entry in an awareness message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwarenessEntry<'a> {
    /// Whose state.
    pub client: u64,
    /// Its clock.
    pub clock: u64,
    /// JSON, `null` when the client is gone.
    pub json: &'a str,
}

impl AwarenessChange {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.updated.is_empty() && self.removed.is_empty()
    }

    /// Returns all clients concerned: those to tell others about.
    pub fn clients(&self) -> impl Iterator<Item = u64> + '_ {
        self.added.iter().chain(&self.updated).chain(&self.removed).copied()
    }
}

impl Awareness {
    /// Makes the awareness of somebody: their own state starts as `{}`.
    pub fn of(own: u64, now_ms: u64) -> Self {
        let known = Known { clock: 0, state: Some("{}".to_owned()), renewed_ms: now_ms };
        Self { own: Some(own), known: BTreeMap::from([(own, known)]) }
    }

    /// Makes the awareness of a room, which speaks for nobody.
    pub fn of_room() -> Self {
        Self::default()
    }

    /// Sets one's own state (JSON), or takes it away, and raises its clock.
    ///
    /// # Panics
    /// When this awareness speaks for nobody.
    pub fn set(&mut self, state: Option<String>, now_ms: u64) -> AwarenessChange {
        let own = self.own.expect("only who speaks for somebody sets a state");
        let mut change = AwarenessChange::default();
        match self.known.get(&own) {
            Some(known) if known.state.is_some() && state.is_none() => change.removed.push(own),
            Some(known) if known.state.is_some() => change.updated.push(own),
            _ if state.is_some() => change.added.push(own),
            _ => {}
        }
        let clock = self.known.get(&own).map_or(0, |known| known.clock + 1);
        self.known.insert(own, Known { clock, state, renewed_ms: now_ms });
        change
    }

    /// Returns the state of a client that is there, as JSON.
    pub fn state(&self, client: u64) -> Option<&str> {
        self.known.get(&client)?.state.as_deref()
    }

    /// Returns everybody who is there, with their state.
    pub fn states(&self) -> impl Iterator<Item = (u64, &str)> {
        self.known.iter().filter_map(|(client, known)| Some((*client, known.state.as_deref()?)))
    }

    /// Returns the last clock known of a client.
    pub fn clock(&self, client: u64) -> Option<u64> {
        self.known.get(&client).map(|known| known.clock)
    }

    /// Encodes what is known of these clients, also that they are gone.
    pub fn encode(&self, clients: impl IntoIterator<Item = u64>) -> Vec<u8> {
        let mut count = 0;
        let mut entries = Vec::new();
        for client in clients {
            if let Some(known) = self.known.get(&client) {
                count += 1;
                write_var_u64(&mut entries, client);
                write_var_u64(&mut entries, known.clock);
                write_var_str(&mut entries, known.state.as_deref().unwrap_or("null"));
            }
        }
        let mut update = Vec::with_capacity(entries.len() + 2);
        write_var_u64(&mut update, count);
        update.extend_from_slice(&entries);
        update
    }

    /// Encodes everybody who is there.
    pub fn encode_all(&self) -> Vec<u8> {
        self.encode(self.states().map(|(client, _)| client).collect::<Vec<_>>())
    }

    /// Encodes one's own state; an update about nobody when there is none.
    pub fn encode_own(&self) -> Vec<u8> {
        self.encode(self.own)
    }

    /// Takes in states from the other side, all of them or, on an error, none.
    pub fn apply(&mut self, update: &[u8], now_ms: u64) -> Result<AwarenessChange, Error> {
        let entries = read(update)?;
        Ok(self.apply_entries(&entries, now_ms))
    }

    /// Takes in entries that were read (and perhaps sifted) before.
    pub fn apply_entries(
        &mut self,
        entries: &[AwarenessEntry<'_>],
        now_ms: u64,
    ) -> AwarenessChange {
        let mut change = AwarenessChange::default();
        for entry in entries {
            self.apply_entry(*entry, now_ms, &mut change);
        }
        change
    }

    fn apply_entry(
        &mut self,
        entry: AwarenessEntry<'_>,
        now_ms: u64,
        change: &mut AwarenessChange,
    ) {
        let gone = entry.json.trim() == "null";
        let known = self.known.get(&entry.client);
        let known_clock = known.map_or(0, |known| known.clock);
        let there = known.is_some_and(|known| known.state.is_some());
        let newer = entry.clock > known_clock && entry.clock - known_clock <= MAX_JUMP;
        let removal = entry.clock == known_clock && gone && there;
        if !(newer || removal) {
            return;
        }
        let mut clock = entry.clock;
        let state = if !gone {
            Some(entry.json.to_owned())
        } else if self.own == Some(entry.client) && there {
            clock += 1;
            known.and_then(|known| known.state.clone())
        } else {
            None
        };
        match (known.is_some(), gone) {
            (false, false) => change.added.push(entry.client),
            (true, false) => change.updated.push(entry.client),
            (true, true) => change.removed.push(entry.client),
            (false, true) => {}
        }
        self.known.insert(entry.client, Known { clock, state, renewed_ms: now_ms });
    }

    /// Takes clients away, for instance because their socket closed.
    pub fn remove(&mut self, clients: impl IntoIterator<Item = u64>, now_ms: u64) -> Vec<u64> {
        let mut removed = Vec::new();
        for client in clients {
            if let Some(known) = self.known.get_mut(&client)
                && known.state.take().is_some()
            {
                if self.own == Some(client) {
                    known.clock += 1;
                }
                known.renewed_ms = now_ms;
                removed.push(client);
            }
        }
        removed
    }

    /// Forgets everybody else, clocks too: what is heard on the next connection counts anew. One's
    /// own clock goes on, so that the others take the next state for a newer one.
    pub fn forget_others(&mut self) {
        let own = self.own;
        self.known.retain(|client, _| own == Some(*client));
    }

    /// Renews one's own state when it is due and drops who was silent too long.
    ///
    /// The change lists one's own client as updated when it is to be sent again.
    pub fn tick(&mut self, now_ms: u64) -> AwarenessChange {
        let mut change = AwarenessChange::default();
        let own = self.own;
        self.known.retain(|&client, known| {
            let silent_ms = now_ms.saturating_sub(known.renewed_ms);
            if own == Some(client) {
                if known.state.is_some() && silent_ms >= RENEWAL_MS {
                    known.clock += 1;
                    known.renewed_ms = now_ms;
                    change.updated.push(client);
                }
            } else if known.state.is_some() {
                if silent_ms >= TIMEOUT_MS {
                    known.state = None;
                    known.renewed_ms = now_ms;
                    change.removed.push(client);
                }
            } else if silent_ms >= FORGET_MS {
                return false;
            }
            true
        });
        change
    }
}

/// Reads an awareness update: its entries, each checked.
pub fn read(update: &[u8]) -> Result<Vec<AwarenessEntry<'_>>, Error> {
    let mut reader = Reader::new(update);
    let count = reader.var_u64().map_err(malformed("number of awareness states"))?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let client = reader.var_u64().map_err(malformed("client of an awareness state"))?;
        let clock = reader.var_u64().map_err(malformed("clock of an awareness state"))?;
        let text = reader.var_str().map_err(malformed("awareness state"))?;
        if text.len() > MAX_STATE {
            return Err(Error::AwarenessState { client, problem: "is longer than 4096 bytes" });
        }
        // JavaScript clients throw on what is not JSON, so it must not be passed on to them.
        if json::parse(text).is_none() {
            return Err(Error::AwarenessState { client, problem: "is not JSON" });
        }
        entries.push(AwarenessEntry { client, clock, json: text });
    }
    Ok(entries)
}

/// Encodes entries as an awareness update.
pub fn write(entries: &[AwarenessEntry<'_>]) -> Vec<u8> {
    let mut update = Vec::new();
    write_var_u64(&mut update, entries.len() as u64);
    for entry in entries {
        write_var_u64(&mut update, entry.client);
        write_var_u64(&mut update, entry.clock);
        write_var_bytes(&mut update, entry.json.as_bytes());
    }
    update
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_javascript_client_would_throw_on_is_not_passed_on() {
        let deep = "[".repeat(2000);
        for bad in ["", "{", "nul", "'a'", "{\"a\":1,}", &deep] {
            assert!(read(&write(&[AwarenessEntry { client: 1, clock: 1, json: bad }])).is_err());
        }
        let long = format!("\"{}\"", "a".repeat(MAX_STATE));
        assert!(read(&write(&[AwarenessEntry { client: 1, clock: 1, json: &long }])).is_err());
    }

    #[test]
    fn a_count_beyond_the_bytes_is_refused() {
        assert!(read(&[0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
        assert!(read(&[]).is_err());
    }

    #[test]
    fn a_clock_from_nowhere_does_not_silence_a_client() {
        let mut room = Awareness::of_room();
        let jump = AwarenessEntry { client: 1, clock: 1 << 40, json: "{}" };
        assert!(room.apply_entries(&[jump], 0).is_empty());
        let fair = AwarenessEntry { client: 1, clock: 1, json: "{}" };
        assert_eq!(room.apply_entries(&[fair], 0).added, [1]);
    }

    #[test]
    fn the_own_state_survives_a_reconnect_and_is_newer_for_the_others() {
        let mut ann = Awareness::of(1, 0);
        ann.set(Some(r#"{"name":"Ann"}"#.to_owned()), 0);
        let mut room = Awareness::of_room();
        room.apply(&ann.encode_own(), 0).unwrap();
        // The server saw the socket close.
        assert_eq!(room.remove([1], 10), [1]);
        let before = ann.clock(1).unwrap();
        ann.set(ann.state(1).map(str::to_owned), 20);
        assert_eq!(ann.clock(1), Some(before + 1));
        assert_eq!(room.apply(&ann.encode_own(), 20).unwrap().updated, [1]);
        assert_eq!(room.state(1), Some(r#"{"name":"Ann"}"#));
    }

    #[test]
    fn clocks_of_who_is_gone_are_forgotten_in_the_end() {
        let mut room = Awareness::of_room();
        room.apply_entries(&[AwarenessEntry { client: 1, clock: 5, json: "{}" }], 0);
        assert_eq!(room.tick(TIMEOUT_MS).removed, [1]);
        assert_eq!(room.clock(1), Some(5));
        assert!(room.tick(TIMEOUT_MS + FORGET_MS).is_empty());
        assert_eq!(room.clock(1), None);
    }
}
