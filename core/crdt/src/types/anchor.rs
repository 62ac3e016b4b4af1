//! Anchors: positions that move along with what is around them (Yjs: relative positions).
//!
//! An anchor holds to a unit (client, clock), or to the start or end of a type; the unit's item says where that is now.
//!
//! ```text
//! 00  client  clock  side       at a unit
//! 01  name           side       at the start or end of a root
//! 02  client  clock  side       at the start or end of a nested type, by the item that holds it
//! ```
//!
//! The side is a signed number: from 0 on the anchor holds to the unit behind it (and to the end), below 0 to the unit
//! before it (and to the start). As JSON it has the members `type`, `tname`, `item` and `assoc`.
//!
//! ```
//! use crdt::{Anchor, Assoc, ClientId, Doc, Options};
//!
//! let mut doc = Doc::new(ClientId::new(1).unwrap(), Options::default());
//! let text = doc.text("t");
//! text.insert(&mut doc.transact(), 0, "abc")?;
//! assert_eq!(text.anchor(&doc, 2, Assoc::After).encode(), [0, 1, 2, 0]);
//! assert_eq!(text.anchor(&doc, 3, Assoc::After).encode(), [1, 1, b't', 0]);
//! assert_eq!(text.anchor(&doc, 2, Assoc::Before).encode(), [0, 1, 1, 0x41]);
//!
//! let anchor = Anchor::decode(&[0, 1, 2, 0])?;
//! text.insert(&mut doc.transact(), 0, "more ")?;
//! assert_eq!(anchor.resolve(&doc), Some(7));
//! # Ok::<(), crdt::Error>(())
//! ```

use lib0::any::Object;
use lib0::{Any, Reader, json, write_var_i64, write_var_str, write_var_u64};

use crate::doc::Doc;
use crate::error::Error;
use crate::id::{ClientId, Id};
use crate::structs::Structs;
use crate::structs::item::{Kind, NIL, Ref};

/// To which side an anchor holds when something is typed right at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assoc {
    /// To the unit before it: what is typed at it comes after it.
    Before,
    /// To the unit behind it: what is typed at it comes before it.
    After,
}

/// A position in a text or array that moves along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The unit it holds to; `None`: the start or end of the type.
    unit: Option<Id>,
    /// The type, by the item that holds it or the root's name.
    owner: Owner,
    /// Yjs's number for the side: below 0 before, else after. Kept as it was read.
    assoc: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Owner {
    Root(String),
    Item(Id),
    /// Left out by the writer: the unit says it.
    Unsaid,
}

impl Anchor {
    pub(crate) fn new(structs: &Structs, parent: u32, index: u32, assoc: Assoc) -> Self {
        let owner_type = &structs.types[parent as usize];
        let owner = if let Some(unit) = owner_type.gone {
            Owner::Item(structs.id(unit))
        } else if owner_type.item == NIL {
            Owner::Root(structs.key(owner_type.name).to_owned())
        } else {
            let item = &structs.items[owner_type.item];
            Owner::Item(structs.id(Ref { slot: item.slot, clock: item.clock }))
        };
        let len = owner_type.order.len();
        let at = match assoc {
            Assoc::Before => index.checked_sub(1),
            Assoc::After => Some(index),
        };
        let unit = match at {
            Some(at) if at < len => {
                let (handle, offset) = structs.nodes.find(&owner_type.order, at);
                let item = &structs.items[handle];
                Some(structs.id(Ref { slot: item.slot, clock: item.clock + offset }))
            }
            _ => None,
        };
        Self { unit, owner, assoc: if assoc == Assoc::Before { -1 } else { 0 } }
    }

    /// To which side it holds.
    pub fn assoc(&self) -> Assoc {
        if self.assoc < 0 { Assoc::Before } else { Assoc::After }
    }

    /// Returns where the anchor is now, in UTF-16 units or elements; `None` if what it holds to is not known or gone.
    /// Where a deletion was undone here, it is in the copy that was brought back.
    pub fn resolve(&self, doc: &Doc) -> Option<u32> {
        self.find(doc, true)
    }

    /// As [`Anchor::resolve`], but what was deleted stays so, even if it was brought back: only the document that
    /// undid a deletion knows the copy, while this is the same in all (`followUndoneDeletions` set to `false`).
    pub fn resolve_unfollowed(&self, doc: &Doc) -> Option<u32> {
        self.find(doc, false)
    }

    fn find(&self, doc: &Doc, follow: bool) -> Option<u32> {
        let structs = &doc.structs;
        let known = |id: Id| {
            let slot = structs.slot(id.client)?;
            if id.clock >= structs.client(slot).next {
                return None;
            }
            let unit = Ref { slot, clock: id.clock };
            if follow {
                return Some(structs.follow(unit));
            }
            let handle = structs.find(unit);
            Some((handle, unit.clock - structs.items[handle].clock))
        };
        if let Some(unit) = self.unit {
            let (handle, offset) = known(unit)?;
            let item = &structs.items[handle];
            if item.kind == Kind::Gc || item.key != NIL || structs.is_type_deleted(item.parent) {
                return None;
            }
            let start = structs.position(handle);
            if item.visible() == 0 {
                return Some(start);
            }
            return Some(start + offset + u32::from(self.assoc() == Assoc::Before));
        }
        let owner = match &self.owner {
            Owner::Root(name) => structs.known_root(name)?,
            Owner::Item(id) => {
                let item = &structs.items[known(*id)?.0];
                (item.kind == Kind::Type).then_some(item.content)?
            }
            Owner::Unsaid => return None,
        };
        // Yjs answers 0 until a deleted text is collected, and nothing from then on.
        if structs.is_type_deleted(owner) {
            return None;
        }
        match self.assoc() {
            Assoc::Before => Some(0),
            Assoc::After => Some(structs.types[owner as usize].order.len()),
        }
    }

    /// Writes Yjs's binary form (`encodeRelativePosition`).
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let id = |out: &mut Vec<u8>, id: Id| {
            write_var_u64(out, id.client.get());
            write_var_u64(out, u64::from(id.clock));
        };
        match (self.unit, &self.owner) {
            (Some(unit), _) => {
                out.push(0);
                id(&mut out, unit);
            }
            (None, Owner::Root(name)) => {
                out.push(1);
                write_var_str(&mut out, name);
            }
            (None, Owner::Item(owner)) => {
                out.push(2);
                id(&mut out, *owner);
            }
            (None, Owner::Unsaid) => {}
        }
        write_var_i64(&mut out, self.assoc);
        out
    }

    /// Reads Yjs's binary form.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        let id = |reader: &mut Reader<'_>| -> Result<Id, Error> {
            let client = ClientId::new(reader.var_u64()?)
                .ok_or_else(|| reader.error("client beyond 53 bits"))?;
            Ok(Id { client, clock: reader.var_u32()? })
        };
        let (unit, owner) = match reader.var_u64()? {
            0 => (Some(id(&mut reader)?), Owner::Unsaid),
            1 => (None, Owner::Root(reader.var_str()?.to_owned())),
            2 => (None, Owner::Item(id(&mut reader)?)),
            _ => return Err(reader.error("unknown kind of relative position").into()),
        };
        // Positions of old versions end here.
        let mut assoc = 0;
        if !reader.is_empty() {
            let (negative, magnitude) = reader.var_signed()?;
            assoc = i64::try_from(magnitude).map_err(|_| reader.error("side beyond 63 bits"))?;
            if negative {
                assoc = -assoc;
            }
        }
        if !reader.is_empty() {
            return Err(reader.error("bytes after the end of a relative position").into());
        }
        Ok(Self { unit, owner, assoc })
    }

    /// Writes the JSON form that y-codemirror and others put into awareness.
    pub fn to_json(&self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "client ids are below 2^53")]
        let id = |id: Id| {
            let members = [
                ("client".to_owned(), Any::Number(id.client.get() as f64)),
                ("clock".to_owned(), Any::from(id.clock)),
            ];
            Any::Object(members.into_iter().collect())
        };
        let mut object = Object::default();
        match &self.owner {
            Owner::Root(name) => object.insert("tname".to_owned(), Any::from(name.as_str())),
            Owner::Item(owner) => object.insert("type".to_owned(), id(*owner)),
            Owner::Unsaid => {}
        }
        if let Some(unit) = self.unit {
            object.insert("item".to_owned(), id(unit));
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 53 bits where Yjs wrote it")]
        object.insert("assoc".to_owned(), Any::Number(self.assoc as f64));
        json::stringify(&Any::Object(object)).unwrap_or_default()
    }

    /// Reads the JSON form; `None` if it is none.
    pub fn from_json(text: &str) -> Option<Self> {
        let Any::Object(object) = json::parse(text)? else { return None };
        let id = |value: &Any| {
            let Any::Object(object) = value else { return None };
            let (Any::Number(client), Any::Number(clock)) =
                (object.get("client")?, object.get("clock")?)
            else {
                return None;
            };
            let whole = |number: f64, bound: f64| {
                (number.fract().abs() == 0.0 && (0.0..bound).contains(&number)).then_some(number)
            };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            Some(Id {
                client: ClientId::new(whole(*client, 9_007_199_254_740_992.0)? as u64)?,
                clock: whole(*clock, 4_294_967_296.0)? as u32,
            })
        };
        let present = |key: &str| object.get(key).filter(|value| **value != Any::Null);
        let unit = match present("item") {
            Some(value) => Some(id(value)?),
            None => None,
        };
        let owner = match (present("tname"), present("type")) {
            (Some(Any::String(name)), _) => Owner::Root(name.clone()),
            (None, Some(value)) => Owner::Item(id(value)?),
            (None, None) if unit.is_some() => Owner::Unsaid,
            _ => return None,
        };
        let assoc = match present("assoc") {
            // Any number below 0 is a side before, be it a fraction; one that could not be written in bytes is none.
            Some(Any::Number(number)) if number.floor().abs() > 9_007_199_254_740_991.0 => {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "floored, and at most 53 bits")]
            Some(Any::Number(number)) => number.floor() as i64,
            _ => 0,
        };
        Some(Self { unit, owner, assoc })
    }
}

#[cfg(test)]
mod tests {
    use super::Anchor;

    #[test]
    fn a_side_that_bytes_cannot_carry_is_no_side() {
        let with_side =
            |side: &str| Anchor::from_json(&format!(r#"{{"tname":"t","assoc":{side}}}"#));
        for side in ["9007199254740992", "-9007199254740992", "1e300", "-1e300"] {
            assert_eq!(with_side(side), None, "{side}");
        }
        for side in ["9007199254740991", "-9007199254740991", "-0.5", "-0", "null"] {
            let anchor = with_side(side).expect(side);
            assert_eq!(Anchor::decode(&anchor.encode()).as_ref(), Ok(&anchor), "{side}");
        }
    }
}
