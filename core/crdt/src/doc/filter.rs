//! What a caller may say of single items: which deleted ones are collected, and which of its own an undo deletes.

use std::fmt;
use std::sync::Arc;

use crate::doc::Doc;
use crate::id::ClientId;
use crate::structs::item::{Item, Kind};
use crate::types::value::{Shared, Value};

/// A stretch of one client's units that is about to be collected, or deleted by an undo.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    doc: &'a Doc,
    handle: u32,
}

impl<'a> Candidate<'a> {
    pub(crate) fn new(doc: &'a Doc, handle: u32) -> Self {
        Self { doc, handle }
    }

    fn item(self) -> &'a Item {
        &self.doc.structs.items[self.handle]
    }

    /// The document, as it is at this moment.
    pub fn doc(self) -> &'a Doc {
        self.doc
    }

    /// Who made it.
    pub fn client(self) -> ClientId {
        self.doc.structs.client(self.item().slot).id
    }

    /// How many units that client had made before, and how many these are.
    pub fn clocks(self) -> std::ops::Range<u32> {
        self.item().clock..self.item().end()
    }

    /// The text, map, array or XML type that it stands in.
    pub fn parent(self) -> Shared {
        Shared::of(&self.doc.structs, self.item().parent)
    }

    /// The key it stands under; `None` in a list or text.
    pub fn key(self) -> Option<&'a str> {
        self.doc.structs.known_key_name(self.item().key)
    }

    /// Its first unit: an element, a value, or a text's UTF-16 unit.
    pub fn value(self) -> Value {
        Value::of(&self.doc.structs, self.item(), 0)
    }

    /// Whether it stands in a type, at whatever depth.
    pub fn is_inside(self, shared: impl Into<Shared>) -> bool {
        self.doc.structs.is_inside(self.handle, shared.into().handle())
    }
}

/// A caller's answer for each candidate. A clone of a document has the same.
#[derive(Clone)]
pub(crate) struct Filter(Arc<dyn Fn(Candidate<'_>) -> bool + Send + Sync>);

impl Filter {
    pub(crate) fn new(filter: impl Fn(Candidate<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(filter))
    }

    pub(crate) fn allows(&self, doc: &Doc, handle: u32) -> bool {
        (self.0)(Candidate::new(doc, handle))
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filter")
    }
}

impl Doc {
    /// Sets which deleted items may be collected (`gcFilter`): `true` for those that may. The others keep their
    /// contents, which changes the bytes of later states. What lies in a collected type goes with it unasked.
    pub fn set_gc_filter(
        &mut self,
        filter: impl Fn(Candidate<'_>) -> bool + Send + Sync + 'static,
    ) {
        self.gc_filter = Some(Filter::new(filter));
        self.structs.is_filtered = true;
    }

    /// Ends the transaction in the structs.
    pub(crate) fn finish(&mut self) {
        let filter = if self.options.gc { self.gc_filter.clone() } else { None };
        let Some(filter) = filter else {
            self.structs.finish(self.options.gc);
            return;
        };
        for at in (0..self.structs.changes.deletes.len()).rev() {
            let (slot, range) = self.structs.changes.deletes[at];
            let clocks = &self.structs.client(slot).clocks;
            let handles: Vec<u32> = clocks
                .iter_from(Some(clocks.find(range.clock)))
                .take_while(|&handle| self.structs.items[handle].clock < range.end())
                .collect();
            for handle in handles {
                let item = &self.structs.items[handle];
                let collects =
                    item.deleted && !item.keep && !matches!(item.kind, Kind::Gc | Kind::Deleted);
                if collects && filter.allows(self, handle) {
                    self.structs.collect_item(handle);
                }
            }
        }
        self.structs.finish(false);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Any, ClientId, Doc, New, Options, Shared, UndoOptions, Value};

    fn doc() -> Doc {
        Doc::new(ClientId::new(1).unwrap(), Options::default())
    }

    #[test]
    fn what_the_filter_refuses_is_not_collected() {
        let mut doc = doc();
        let (kept, gone, map) = (doc.text("kept"), doc.text("gone"), doc.map("m"));
        doc.set_gc_filter(move |candidate| {
            let parent = candidate.parent();
            let key = (parent == Shared::Map(map)).then_some("n");
            assert_eq!(candidate.key(), key, "what is inside is not asked for");
            assert_eq!(candidate.is_inside(kept), parent == Shared::Text(kept));
            if parent == Shared::Text(gone) {
                assert_eq!((candidate.client().get(), candidate.clocks()), (1, 3..5));
                assert_eq!(candidate.value(), Value::Any(Any::from("d")));
                assert_eq!(gone.len(candidate.doc()), 1);
            }
            parent != Shared::Text(kept)
        });
        let mut transaction = doc.transact();
        kept.insert(&mut transaction, 0, "abc").unwrap();
        gone.insert(&mut transaction, 0, "def").unwrap();
        let inner = map.insert_map(&mut transaction, "n").unwrap();
        inner.insert(&mut transaction, "x", 1).unwrap();
        transaction.commit();
        let mut transaction = doc.transact();
        kept.delete(&mut transaction, 0, 2).unwrap();
        gone.delete(&mut transaction, 0, 2).unwrap();
        map.remove(&mut transaction, "n");
        transaction.commit();
        let hex = |bytes: Vec<u8>| {
            bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
        };
        assert_eq!(hex(doc.state_v1()), V1);
        assert_eq!(hex(doc.state_v2()), V2);
        doc.check().unwrap();
    }

    const V1: &str = "010601000401046b6570740261628401010163010104676f6e650284010401662101016d016e010001010103000203020602";
    const V2: &str = "0000024101020206000b0400840001008400210000150e6b657074616263676f6e65666d6e04020104410101010003024100010600010103000101010101";

    #[test]
    fn an_undo_deletes_what_the_filter_allows() {
        let mut doc = doc();
        let array = doc.array("a");
        let undo = doc.track(UndoOptions { scope: vec![array.into()], ..UndoOptions::default() });
        undo.set_delete_filter(&mut doc, |candidate| {
            matches!(
                candidate.value(),
                Value::Shared(Shared::Map(map)) if map.keys(candidate.doc()).is_empty()
            )
        });
        let mut transaction = doc.transact();
        array.insert(&mut transaction, 0, vec![New::Map, New::Map]).unwrap();
        let first = array.get(transaction.doc(), 0).unwrap().as_map().unwrap();
        first.insert(&mut transaction, "hi", 1).unwrap();
        transaction.commit();
        undo.undo(&mut doc).unwrap().unwrap();
        assert_eq!(array.len(&doc), 1);
        assert_eq!(first.keys(&doc), ["hi"]);
    }
}
