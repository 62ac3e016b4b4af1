//! Our own core, in either of Yjs's formats.

use anyhow::{Context as _, Result};
use crdt::{Any, Array, ClientId, Commit, Doc, Map, New, Options, Text};

use super::{Peer, Speaks};
use crate::program::{Op, Value};

/// A document that speaks the first or second format.
pub(crate) struct Quire<const FORMAT: u8> {
    doc: Doc,
    text: Text,
    map: Map,
    array: Array,
}

impl<const FORMAT: u8> Peer for Quire<FORMAT> {
    const SPEAKS: Speaks = if FORMAT == 1 { Speaks::YjsV1 } else { Speaks::YjsV2 };

    fn can(_: &Op) -> bool {
        true
    }

    fn new(client: u64) -> Result<Self> {
        let client = ClientId::new(client).context("a client id below 2^53")?;
        let mut doc = Doc::new(client, Options { gc: true, ..Options::default() });
        let (text, map, array) = (doc.text("text"), doc.map("map"), doc.array("array"));
        Ok(Self { doc, text, map, array })
    }

    fn with_state(client: u64, state: &[u8]) -> Result<Self> {
        let mut made = Self::new(client)?;
        made.apply(&[state], false)?;
        Ok(made)
    }

    fn listen(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    fn edit(&mut self, ops: &[Op], tell: bool) -> Result<Option<Vec<u8>>> {
        let mut transaction = self.doc.transact();
        for op in ops {
            match op {
                Op::Insert(at, text) => self.text.insert(&mut transaction, *at, text)?,
                Op::Delete(at, len) => self.text.delete(&mut transaction, *at, *len)?,
                Op::Array(at, values) => {
                    let values = values.iter().map(|value| New::Any(any(value))).collect();
                    self.array.insert(&mut transaction, *at, values)?;
                }
                Op::Set(key, value) => {
                    self.map.insert(&mut transaction, key, New::Any(any(value)))?;
                }
            }
        }
        Ok(told::<FORMAT>(&transaction.commit(), tell))
    }

    fn apply(&mut self, messages: &[&[u8]], tell: bool) -> Result<Option<Vec<u8>>> {
        let mut transaction = self.doc.transact();
        for message in messages {
            if FORMAT == 1 {
                transaction.apply_v1(message)?;
            } else {
                transaction.apply_v2(message)?;
            }
        }
        Ok(told::<FORMAT>(&transaction.commit(), tell))
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(if FORMAT == 1 { self.doc.state_v1() } else { self.doc.state_v2() })
    }

    fn text(&mut self) -> Result<String> {
        Ok(self.text.read(&self.doc))
    }
}

fn told<const FORMAT: u8>(commit: &Commit<'_>, tell: bool) -> Option<Vec<u8>> {
    match FORMAT {
        _ if !tell => None,
        1 => commit.update_v1(),
        _ => commit.update_v2(),
    }
}

fn any(value: &Value) -> Any {
    match value {
        Value::Number(number) => Any::Number(*number),
        Value::Text(text) => Any::from(text.as_str()),
        Value::Object(members) => {
            let text = |value: &serde_json::Value| Any::from(value.as_str().unwrap_or_default());
            Any::Object(members.iter().map(|(key, value)| (key.clone(), text(value))).collect())
        }
    }
}
