//! Ways through nested types: parents, siblings, and everything below an XML element.

use std::iter;

use crate::doc::Doc;
use crate::doc::transaction::Transaction;
use crate::encoding::content::TypeKind;
use crate::error::Error;
use crate::structs::Structs;
use crate::structs::item::{Kind, NIL};
use crate::types::array::Array;
use crate::types::value::{New, Shared, Value};
use crate::types::xml::Xml;

impl Shared {
    /// The type that holds this one; `None` for a root, and for what was deleted.
    pub fn parent(self, doc: &Doc) -> Option<Self> {
        let holder = holder(&doc.structs, self)?;
        Some(Self::of(&doc.structs, doc.structs.items[holder].parent))
    }

    /// The next child of the parent, if it is a type (as all children of XML are).
    pub fn next_sibling(self, doc: &Doc) -> Option<Self> {
        let structs = &doc.structs;
        let mut at = structs.items[holder(structs, self)?].right;
        while at != NIL && structs.items[at].deleted {
            at = structs.items[at].right;
        }
        held(structs, at)
    }

    /// The previous child of the parent, if it is a type.
    pub fn previous_sibling(self, doc: &Doc) -> Option<Self> {
        let structs = &doc.structs;
        let mut at = structs.items[holder(structs, self)?].left;
        while at != NIL && structs.items[at].deleted {
            at = structs.items[at].left;
        }
        held(structs, at)
    }
}

impl Xml {
    /// The first child.
    pub fn first_child(self, doc: &Doc) -> Option<Shared> {
        match self.get(doc, 0) {
            Some(Value::Shared(child)) => Some(child),
            _ => None,
        }
    }

    /// Inserts children behind one, or before all others.
    ///
    /// # Errors
    /// What they shall stand behind is no child; the parent was deleted; the client has made 2^32 units.
    pub fn insert_after(
        self,
        transaction: &mut Transaction<'_>,
        child: Option<Shared>,
        children: Vec<New>,
    ) -> Result<(), Error> {
        let index = match child {
            None => 0,
            Some(child) => {
                let structs = &transaction.doc.structs;
                let holder = holder(structs, child).ok_or(Error::Gone)?;
                if structs.items[holder].parent != self.0 || structs.items[holder].key != NIL {
                    return Err(Error::Gone);
                }
                structs.position(holder) + 1
            }
        };
        Array(self.0).insert(transaction, index, children)
    }

    /// Everything below, each element before what is in it: Yjs's tree walker.
    pub fn descendants(self, doc: &Doc) -> impl Iterator<Item = Shared> {
        let structs = &doc.structs;
        let mut at = structs.types[self.0 as usize].start;
        iter::from_fn(move || {
            while at != NIL {
                let found = held(structs, at);
                at = following(structs, self.0, at);
                if found.is_some() {
                    return found;
                }
            }
            None
        })
    }

    /// The elements below that have a name, whatever the case of its letters (`querySelectorAll`).
    pub fn elements(self, doc: &Doc, name: &str) -> impl Iterator<Item = Self> {
        let name = name.to_uppercase();
        self.descendants(doc).filter_map(move |shared| match shared {
            Shared::Xml(xml) => match &doc.structs.types[xml.0 as usize].kind {
                TypeKind::XmlElement(known) if known.to_uppercase() == name => Some(xml),
                _ => None,
            },
            _ => None,
        })
    }
}

/// The item that holds a type.
fn holder(structs: &Structs, shared: Shared) -> Option<u32> {
    let handle = shared.handle();
    let holder = structs.types[handle as usize].item;
    (holder != NIL && !structs.is_type_deleted(handle)).then_some(holder)
}

/// The type that an item holds.
fn held(structs: &Structs, handle: u32) -> Option<Shared> {
    if handle == NIL {
        return None;
    }
    let item = &structs.items[handle];
    (!item.deleted && item.kind == Kind::Type).then(|| Shared::of(structs, item.content))
}

/// The item that comes after one in the order of a document: its first child, else what is right of it, else what is
/// right of the next one above that has something there. `NIL` at the end of the root.
fn following(structs: &Structs, root: u32, handle: u32) -> u32 {
    if let Some(Shared::Xml(xml)) = held(structs, handle) {
        let first = structs.types[xml.0 as usize].start;
        if first != NIL {
            return first;
        }
    }
    let mut at = handle;
    loop {
        let item = &structs.items[at];
        if item.right != NIL {
            return item.right;
        }
        if item.parent == root {
            return NIL;
        }
        at = structs.types[item.parent as usize].item;
    }
}
