//! Automerge. Its messages are its incremental saves, its state is its full save. Characters are
//! counted in code points, which are UTF-16 units in all our texts.

use anyhow::{Context as _, Result};
use automerge::transaction::Transactable as _;
use automerge::{ActorId, AutoCommit, ObjId, ObjType, ROOT, ReadDoc as _, ScalarValue};

use super::{Peer, Speaks};
use crate::program::{Op, Value};

pub(crate) struct Automerge {
    doc: AutoCommit,
    text: ObjId,
    map: ObjId,
    list: ObjId,
}

impl Peer for Automerge {
    const SPEAKS: Speaks = Speaks::Own;

    fn can(_: &Op) -> bool {
        true
    }

    fn new(client: u64) -> Result<Self> {
        // Documents merge only if their objects are the same: everyone starts from one person's.
        let mut first = AutoCommit::new().with_actor(ActorId::from(0_u64.to_be_bytes().as_slice()));
        first.put_object(ROOT, "text", ObjType::Text)?;
        first.put_object(ROOT, "map", ObjType::Map)?;
        first.put_object(ROOT, "array", ObjType::List)?;
        let mut made = Self::with_state(client, &first.save())?;
        // What is saved incrementally begins here.
        made.doc.save_incremental();
        Ok(made)
    }

    fn with_state(client: u64, state: &[u8]) -> Result<Self> {
        let actor = ActorId::from(client.to_be_bytes().as_slice());
        let doc = AutoCommit::load(state)?.with_actor(actor);
        let object = |name: &str| -> Result<ObjId> {
            let (_, object) = doc.get(ROOT, name)?.context("the object is there")?;
            Ok(object)
        };
        let (text, map, list) = (object("text")?, object("map")?, object("array")?);
        Ok(Self { doc, text, map, list })
    }

    fn listen(&mut self, tell: bool) -> Result<()> {
        if tell {
            self.doc.save_incremental();
        }
        Ok(())
    }

    fn edit(&mut self, ops: &[Op], tell: bool) -> Result<Option<Vec<u8>>> {
        for op in ops {
            match op {
                Op::Insert(at, text) => {
                    self.doc.splice_text(&self.text, *at as usize, 0, text)?;
                }
                Op::Delete(at, len) => {
                    let len = isize::try_from(*len)?;
                    self.doc.splice_text(&self.text, *at as usize, len, "")?;
                }
                Op::Array(at, values) => {
                    for (offset, value) in values.iter().enumerate() {
                        self.doc.insert(&self.list, *at as usize + offset, scalar(value))?;
                    }
                }
                Op::Set(key, Value::Object(members)) => {
                    let object = self.doc.put_object(&self.map, key.as_str(), ObjType::Map)?;
                    for (key, value) in members.iter() {
                        let text = value.as_str().unwrap_or_default();
                        self.doc.put(&object, key.as_str(), text)?;
                    }
                }
                Op::Set(key, value) => self.doc.put(&self.map, key.as_str(), scalar(value))?,
            }
        }
        self.doc.commit();
        Ok(tell.then(|| self.doc.save_incremental()))
    }

    fn apply(&mut self, messages: &[&[u8]], _: bool) -> Result<Option<Vec<u8>>> {
        if let [one] = messages {
            self.doc.load_incremental(one)?;
        } else {
            self.doc.load_incremental(&messages.concat())?;
        }
        Ok(None)
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(self.doc.save())
    }

    fn text(&mut self) -> Result<String> {
        Ok(self.doc.text(&self.text)?)
    }
}

fn scalar(value: &Value) -> ScalarValue {
    match value {
        Value::Number(number) => ScalarValue::F64(*number),
        Value::Text(text) => ScalarValue::Str(text.as_str().into()),
        Value::Object(_) => ScalarValue::Null,
    }
}
