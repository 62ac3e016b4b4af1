//! Loro. Its messages are its updates, its state is its snapshot.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use loro::{ExportMode, LoroDoc, LoroList, LoroMap, LoroText, LoroValue, Subscription};

use super::{Peer, Speaks};
use crate::program::{Op, Value};

pub(crate) struct Loro {
    doc: LoroDoc,
    text: LoroText,
    map: LoroMap,
    list: LoroList,
    told: Arc<Mutex<Option<Vec<u8>>>>,
    listening: Option<Subscription>,
}

impl Peer for Loro {
    const SPEAKS: Speaks = Speaks::Own;

    fn can(_: &Op) -> bool {
        true
    }

    fn new(client: u64) -> Result<Self> {
        let doc = LoroDoc::new();
        doc.set_peer_id(client)?;
        let (text, map, list) = (doc.get_text("text"), doc.get_map("map"), doc.get_list("array"));
        Ok(Self { doc, text, map, list, told: Arc::default(), listening: None })
    }

    fn with_state(client: u64, state: &[u8]) -> Result<Self> {
        let made = Self::new(client)?;
        made.doc.import(state)?;
        Ok(made)
    }

    fn listen(&mut self, tell: bool) -> Result<()> {
        if tell {
            let told = self.told.clone();
            self.listening = Some(self.doc.subscribe_local_update(Box::new(move |update| {
                if let Ok(mut told) = told.lock() {
                    *told = Some(update.clone());
                }
                true
            })));
        }
        Ok(())
    }

    fn edit(&mut self, ops: &[Op], _: bool) -> Result<Option<Vec<u8>>> {
        for op in ops {
            match op {
                Op::Insert(at, text) => self.text.insert(*at as usize, text)?,
                Op::Delete(at, len) => self.text.delete(*at as usize, *len as usize)?,
                Op::Array(at, values) => {
                    for (offset, each) in values.iter().enumerate() {
                        self.list.insert(*at as usize + offset, value(each))?;
                    }
                }
                Op::Set(key, to) => self.map.insert(key, value(to))?,
            }
        }
        self.doc.commit();
        Ok(if self.listening.is_some() {
            self.told.lock().ok().and_then(|mut told| told.take())
        } else {
            None
        })
    }

    fn apply(&mut self, messages: &[&[u8]], _: bool) -> Result<Option<Vec<u8>>> {
        if let [one] = messages {
            self.doc.import(one)?;
        } else {
            let messages: Vec<Vec<u8>> = messages.iter().map(|message| message.to_vec()).collect();
            self.doc.import_batch(&messages)?;
        }
        Ok(None)
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(self.doc.export(ExportMode::Snapshot)?)
    }

    fn text(&mut self) -> Result<String> {
        Ok(self.text.to_string())
    }
}

fn value(of: &Value) -> LoroValue {
    match of {
        Value::Number(number) => LoroValue::Double(*number),
        Value::Text(text) => LoroValue::from(text.as_str()),
        Value::Object(members) => {
            let text =
                |value: &serde_json::Value| LoroValue::from(value.as_str().unwrap_or_default());
            let members = members.iter().map(|(key, value)| (key.clone(), text(value)));
            LoroValue::Map(members.collect::<std::collections::HashMap<_, _>>().into())
        }
    }
}
