//! diamond-types as released: texts only, and no event of an edit; a message is what was added
//! since the version before. Characters are code points, which are UTF-16 units in all our texts.

use anyhow::{Result, anyhow};
use diamond_types::list::ListCRDT;
use diamond_types::list::encoding::{ENCODE_FULL, ENCODE_PATCH};

use super::{Peer, Speaks};
use crate::program::Op;
use crate::worker::is_text;

pub(crate) struct Diamond {
    doc: ListCRDT,
    agent: diamond_types::AgentId,
}

impl Peer for Diamond {
    const SPEAKS: Speaks = Speaks::Own;

    fn can(op: &Op) -> bool {
        is_text(op)
    }

    fn new(client: u64) -> Result<Self> {
        let mut doc = ListCRDT::new();
        let agent = doc.get_or_create_agent_id(&client.to_string());
        Ok(Self { doc, agent })
    }

    fn with_state(client: u64, state: &[u8]) -> Result<Self> {
        let mut doc = ListCRDT::load_from(state).map_err(|error| anyhow!("{error:?}"))?;
        let agent = doc.get_or_create_agent_id(&client.to_string());
        Ok(Self { doc, agent })
    }

    fn listen(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    fn edit(&mut self, ops: &[Op], tell: bool) -> Result<Option<Vec<u8>>> {
        let before = tell.then(|| self.doc.oplog.local_version());
        for op in ops {
            match op {
                Op::Insert(at, text) => {
                    self.doc.insert(self.agent, *at as usize, text);
                }
                Op::Delete(at, len) => {
                    let (from, to) = (*at as usize, (*at + *len) as usize);
                    self.doc.delete_without_content(self.agent, from..to);
                }
                Op::Array(..) | Op::Set(..) => {}
            }
        }
        Ok(before.map(|before| self.doc.oplog.encode_from(ENCODE_PATCH, &before)))
    }

    fn apply(&mut self, messages: &[&[u8]], _: bool) -> Result<Option<Vec<u8>>> {
        for message in messages {
            self.doc.merge_data_and_ff(message).map_err(|error| anyhow!("{error:?}"))?;
        }
        Ok(None)
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(self.doc.oplog.encode(ENCODE_FULL))
    }

    fn text(&mut self) -> Result<String> {
        Ok(self.doc.branch.content().to_string())
    }
}
