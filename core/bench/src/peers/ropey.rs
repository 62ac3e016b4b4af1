//! The floor: ropey, a text without history, which merges with nobody. What it can't do costs it
//! nothing; a CRDT near it has little left to win. Characters are code points, which are UTF-16
//! units in all our texts.

use anyhow::{Result, bail};
use ropey::Rope;

use super::{Peer, Speaks};
use crate::program::Op;
use crate::worker::is_text;

pub(crate) struct Floor(Rope);

impl Peer for Floor {
    const SPEAKS: Speaks = Speaks::Nothing;

    fn can(op: &Op) -> bool {
        is_text(op)
    }

    fn new(_: u64) -> Result<Self> {
        Ok(Self(Rope::new()))
    }

    fn with_state(_: u64, state: &[u8]) -> Result<Self> {
        Ok(Self(Rope::from_str(std::str::from_utf8(state)?)))
    }

    fn listen(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    fn edit(&mut self, ops: &[Op], _: bool) -> Result<Option<Vec<u8>>> {
        for op in ops {
            match op {
                Op::Insert(at, text) => self.0.insert(*at as usize, text),
                Op::Delete(at, len) => self.0.remove(*at as usize..(*at + *len) as usize),
                Op::Array(..) | Op::Set(..) => {}
            }
        }
        Ok(None)
    }

    fn apply(&mut self, _: &[&[u8]], _: bool) -> Result<Option<Vec<u8>>> {
        bail!("a rope merges with nobody")
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(self.0.to_string().into_bytes())
    }

    fn text(&mut self) -> Result<String> {
        Ok(self.0.to_string())
    }
}
