//! Yrs, the port of Yjs by its makers, in either format.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use yrs::updates::decoder::Decode as _;
use yrs::{
    Any, Array as _, ArrayRef, ClientID, Doc, GetString as _, Map as _, MapRef, OffsetKind,
    Options, ReadTxn as _, StateVector, Text as _, TextRef, Transact as _, Update,
};

use super::{Peer, Speaks};
use crate::program::{Op, Value};

/// A document that speaks the first or second format.
pub(crate) struct Yrs<const FORMAT: u8> {
    doc: Doc,
    text: TextRef,
    map: MapRef,
    array: ArrayRef,
    told: Arc<Mutex<Option<Vec<u8>>>>,
    listening: bool,
}

impl<const FORMAT: u8> Peer for Yrs<FORMAT> {
    const SPEAKS: Speaks = if FORMAT == 1 { Speaks::YjsV1 } else { Speaks::YjsV2 };

    fn can(_: &Op) -> bool {
        true
    }

    fn new(client: u64) -> Result<Self> {
        let doc = Doc::with_options(Options {
            client_id: ClientID::new(client),
            offset_kind: OffsetKind::Utf16,
            ..Options::default()
        });
        let text = doc.get_or_insert_text("text");
        let (map, array) = (doc.get_or_insert_map("map"), doc.get_or_insert_array("array"));
        Ok(Self { doc, text, map, array, told: Arc::default(), listening: false })
    }

    fn with_state(client: u64, state: &[u8]) -> Result<Self> {
        let mut made = Self::new(client)?;
        made.apply(&[state], false)?;
        Ok(made)
    }

    fn listen(&mut self, tell: bool) -> Result<()> {
        if !tell {
            return Ok(());
        }
        let told = self.told.clone();
        let keep = move |update: &[u8]| {
            if let Ok(mut told) = told.lock() {
                *told = Some(update.to_vec());
            }
        };
        if FORMAT == 1 {
            self.doc.observe_update_v1("bench", move |_, event| keep(&event.update))?;
        } else {
            self.doc.observe_update_v2("bench", move |_, event| keep(&event.update))?;
        }
        self.listening = true;
        Ok(())
    }

    fn edit(&mut self, ops: &[Op], _: bool) -> Result<Option<Vec<u8>>> {
        let mut transaction = self.doc.transact_mut();
        for op in ops {
            match op {
                Op::Insert(at, text) => self.text.insert(&mut transaction, *at, text),
                Op::Delete(at, len) => self.text.remove_range(&mut transaction, *at, *len),
                Op::Array(at, values) => {
                    self.array.insert_range(&mut transaction, *at, values.iter().map(any));
                }
                Op::Set(key, value) => {
                    self.map.insert(&mut transaction, key.as_str(), any(value));
                }
            }
        }
        drop(transaction);
        Ok(self.take())
    }

    fn apply(&mut self, messages: &[&[u8]], _: bool) -> Result<Option<Vec<u8>>> {
        let mut transaction = self.doc.transact_mut();
        for message in messages {
            transaction.apply_update(if FORMAT == 1 {
                Update::decode_v1(message)?
            } else {
                Update::decode_v2(message)?
            })?;
        }
        drop(transaction);
        Ok(self.take())
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        let transaction = self.doc.transact();
        Ok(if FORMAT == 1 {
            transaction.encode_state_as_update_v1(&StateVector::default())
        } else {
            transaction.encode_state_as_update_v2(&StateVector::default())
        })
    }

    fn text(&mut self) -> Result<String> {
        Ok(self.text.get_string(&self.doc.transact()))
    }
}

impl<const FORMAT: u8> Yrs<FORMAT> {
    fn take(&self) -> Option<Vec<u8>> {
        if self.listening { self.told.lock().ok()?.take() } else { None }
    }
}

fn any(value: &Value) -> Any {
    match value {
        // As a float it would stay one in the bytes, where Yjs writes an integer.
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
        Value::Number(number) if number.fract() == 0.0 => Any::from(*number as i64),
        Value::Number(number) => Any::from(*number),
        Value::Text(text) => Any::String(text.as_str().into()),
        Value::Object(members) => {
            let text =
                |value: &serde_json::Value| Any::String(value.as_str().unwrap_or_default().into());
            let members = members.iter().map(|(key, value)| (key.clone(), text(value)));
            Any::Map(Arc::new(members.collect()))
        }
    }
}
