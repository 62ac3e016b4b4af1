//! Which subdocuments a document has, and what transactions do to them: Yjs's `getSubdocs`, `load` and `subdocs` event.
//!
//! ```
//! use crdt::{ClientId, Doc, Options, Subdoc};
//!
//! let mut ours = Doc::new(ClientId::new(1).unwrap(), Options::default());
//! let chapters = ours.map("chapters");
//! let mut transaction = ours.transact();
//! chapters.insert(&mut transaction, "1", Subdoc::new("a-guid"))?;
//! let commit = transaction.commit();
//! assert_eq!(commit.subdocs().loaded[0].guid, "a-guid");
//! let update = commit.update_v1().unwrap();
//!
//! // Others see that it is there, and load it when they want to.
//! let mut theirs = Doc::new(ClientId::new(2).unwrap(), Options::default());
//! let added = theirs.apply_v1(&update)?.subdocs().added;
//! let mut transaction = theirs.transact();
//! transaction.load(&added[0]);
//! assert_eq!(transaction.commit().subdocs().loaded[0].guid, "a-guid");
//! # Ok::<(), crdt::Error>(())
//! ```
//!
//! Nothing is kept or looked through for documents that have none.

use std::collections::HashMap;

use crate::doc::Doc;
use crate::doc::transaction::{Commit, Transaction};
use crate::encoding::subdoc::Subdoc;
use crate::id::Id;
use crate::structs::changes::SubdocChange;
use crate::structs::item::{Kind, Ref};
use crate::structs::{Payload, Structs};

/// What a transaction did to a document's subdocuments, each in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Subdocs {
    /// Those that are in the document now and were not before.
    pub added: Vec<Subdoc>,
    /// Those that are gone, or were unloaded.
    pub removed: Vec<Subdoc>,
    /// Those that should be loaded now and not before.
    pub loaded: Vec<Subdoc>,
}

impl Structs {
    /// The subdocument that a unit holds; `None` if it is deleted.
    fn subdoc(&self, unit: Ref) -> Option<Subdoc> {
        let item = &self.items[self.find(unit)];
        match (item.kind, item.deleted) {
            (Kind::Doc, false) => self.subdoc_of(item),
            _ => None,
        }
    }

    /// The unit that holds a subdocument of this document, and what is kept of it.
    fn held(&mut self, subdoc: &Subdoc) -> Option<(Ref, &mut Subdoc)> {
        let place = subdoc.place?;
        let unit = Ref { slot: self.slot(place.client)?, clock: place.clock };
        if place.clock >= self.client(unit.slot).next {
            return None;
        }
        let item = &self.items[self.find(unit)];
        let (content, alive) = (item.content, item.kind == Kind::Doc && !item.deleted);
        match self.payload_mut(content).filter(|_| alive)? {
            Payload::Doc(held) => Some((unit, held)),
            _ => None,
        }
    }
}

impl Doc {
    /// The subdocuments, in the order in which they came in. The same guid may stand in several places.
    pub fn subdocs(&self) -> Vec<Subdoc> {
        self.structs.subdocs.iter().filter_map(|&unit| self.structs.subdoc(unit)).collect()
    }
}

impl Transaction<'_> {
    /// Says that a subdocument should be loaded here; returns whether that is new. One that was put in here is loaded
    /// already. The caller makes its document, with this one's client id if Yjs's bytes are wanted.
    pub fn load(&mut self, subdoc: &Subdoc) -> bool {
        let structs = &mut self.doc.structs;
        match structs.held(subdoc) {
            Some((_, held)) if !held.should_load => {
                held.should_load = true;
                let loaded = Subdoc { place: subdoc.place, ..held.clone() };
                structs.changes.subdocs.push(SubdocChange::Loaded(loaded));
                true
            }
            _ => false,
        }
    }

    /// Says that a subdocument's document is not held here any more (Yjs: `destroy` of it): it was removed, and added
    /// as one to be loaded on demand. Returns whether it is in this document.
    pub fn unload(&mut self, subdoc: &Subdoc) -> bool {
        let structs = &mut self.doc.structs;
        let Some((unit, held)) = structs.held(subdoc) else { return false };
        let removed = Subdoc { place: subdoc.place, ..held.clone() };
        held.should_load = false;
        let added = Subdoc { should_load: false, ..removed.clone() };
        let changes = [SubdocChange::Unloaded(removed), SubdocChange::Added(added)];
        structs.changes.subdocs.extend(changes);
        structs.subdocs.retain(|&other| other != unit);
        structs.subdocs.push(unit);
        true
    }
}

impl Commit<'_> {
    /// What happened to subdocuments: Yjs's `subdocs` event, empty where there is none.
    pub fn subdocs(&self) -> Subdocs {
        let mut told = Subdocs::default();
        let mut added: Vec<Option<&Subdoc>> = Vec::new();
        // Where a unit's subdocument is among those.
        let mut places: HashMap<Option<Id>, usize> = HashMap::new();
        for change in &self.doc.structs.changes.subdocs {
            match change {
                SubdocChange::Added(subdoc) => {
                    places.insert(subdoc.place, added.len());
                    added.push(Some(subdoc));
                }
                SubdocChange::Deleted(subdoc) => match places.remove(&subdoc.place) {
                    // What was added and deleted at once was never there.
                    Some(place) => added[place] = None,
                    None => told.removed.push(subdoc.clone()),
                },
                SubdocChange::Loaded(subdoc) => told.loaded.push(subdoc.clone()),
                SubdocChange::Unloaded(subdoc) => told.removed.push(subdoc.clone()),
            }
        }
        told.added.extend(added.into_iter().flatten().cloned());
        told
    }
}

#[cfg(test)]
mod tests {
    use lib0::Any;

    use super::Subdocs;
    use crate::{ClientId, Doc, Options, Subdoc, UndoOptions, Value};

    fn doc(client: u64) -> Doc {
        Doc::new(ClientId::new(client).unwrap(), Options::default())
    }

    fn guids(subdocs: &[Subdoc]) -> Vec<&str> {
        subdocs.iter().map(|subdoc| subdoc.guid.as_str()).collect()
    }

    /// Added, removed, loaded.
    fn told(subdocs: &Subdocs) -> [Vec<&str>; 3] {
        [guids(&subdocs.added), guids(&subdocs.removed), guids(&subdocs.loaded)]
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(digits).collect()
    }

    #[test]
    fn options_are_written_as_yjs_writes_them() {
        let mut doc = doc(1);
        let array = doc.array("a");
        let mut subdoc = Subdoc::new("g");
        (subdoc.gc, subdoc.auto_load) = (false, true);
        subdoc.meta = Any::Object([("t".to_owned(), Any::from(1))].into_iter().collect());
        let mut transaction = doc.transact();
        array.push(&mut transaction, vec![subdoc.into()]).unwrap();
        transaction.commit();
        let v1 = "01010100090101610167760302676379086175746f4c6f616478046d657461760101747d0100";
        let v2 = "000001010000010905026167410001010000010100760302676379086175746f4c6f616478046d65\
                  7461760101747d0100";
        assert_eq!(doc.state_v1(), bytes(v1));
        assert_eq!(doc.state_v2(), bytes(v2));
    }

    #[test]
    fn foreign_options_become_what_yjs_makes_of_them() {
        // The update, what is written again, guid, to be loaded.
        let cases = [
            (
                "010101000901016101677604086175746f4c6f61647d01046d6574617e01787d050267637d0000",
                "01010100090101610167760202676379086175746f4c6f61647800",
                ("g", true),
            ),
            (
                "0101010009010161016776020a73686f756c644c6f616478046d6574617f00",
                "01010100090101610167760000",
                ("g", true),
            ),
            (
                "010101000901016101677601046775696477056f7468657200",
                "0101010009010161056f74686572760000",
                ("other", false),
            ),
            ("010101000901016101677d0500", "01010100090101610167760000", ("g", false)),
            ("010101000901016101677702616200", "01010100090101610167760000", ("g", false)),
        ];
        for (update, written, (guid, loaded)) in cases {
            let mut doc = doc(9);
            let told = doc.apply_v1(&bytes(update)).unwrap().subdocs();
            assert_eq!(guids(&told.added), [guid]);
            assert_eq!(!told.loaded.is_empty(), loaded, "{update}");
            assert_eq!(doc.state_v1(), bytes(written));
        }
        assert!(doc(9).apply_v1(&bytes("010101000901016101677e00")).is_err());
    }

    #[test]
    fn what_comes_goes_and_is_loaded_is_told() {
        let mut ours = doc(1);
        let map = ours.map("mysubdocs");
        let mut transaction = ours.transact();
        map.insert(&mut transaction, "a", Subdoc::new("a")).unwrap();
        let commit = transaction.commit();
        assert_eq!(told(&commit.subdocs()), [vec!["a"], vec![], vec!["a"]]);

        // Setting it again makes it another one of the same name.
        let mut transaction = ours.transact();
        map.insert(&mut transaction, "a", Subdoc::new("a")).unwrap();
        map.insert(&mut transaction, "b", Subdoc::new("a")).unwrap();
        map.insert(&mut transaction, "c", Subdoc::new("c")).unwrap();
        let commit = transaction.commit();
        let expected = [vec!["a", "a", "c"], vec!["a"], vec!["a", "a", "c"]];
        assert_eq!(told(&commit.subdocs()), expected);
        assert_eq!(guids(&ours.subdocs()), ["a", "a", "c"]);
        let commit = ours.transact().commit();
        assert_eq!(commit.subdocs(), Subdocs::default());

        let mut theirs = doc(2);
        let map = theirs.map("mysubdocs");
        let commit = theirs.apply_v1(&ours.state_v1()).unwrap();
        assert_eq!(told(&commit.subdocs()), [vec!["a", "a", "c"], vec![], vec![]]);
        let Some(Value::Doc(subdoc)) = map.get(&theirs, "a") else { panic!("no subdocument") };
        assert!(!subdoc.should_load);
        let mut transaction = theirs.transact();
        assert!(transaction.load(&subdoc));
        assert!(!transaction.load(&subdoc));
        let commit = transaction.commit();
        assert_eq!(told(&commit.subdocs()), [vec![], vec![], vec!["a"]]);
        assert!(commit.update_v1().is_none());
        assert!(map.get(&theirs, "a").unwrap().as_subdoc().unwrap().should_load);
        let mut transaction = theirs.transact();
        map.remove(&mut transaction, "a");
        let commit = transaction.commit();
        assert_eq!(told(&commit.subdocs()), [vec![], vec!["a"], vec![]]);
        assert_eq!(guids(&theirs.subdocs()), ["a", "c"]);
        assert!(!theirs.transact().load(&subdoc));
    }

    #[test]
    fn one_that_was_unloaded_can_be_loaded_again() {
        for auto_load in [false, true] {
            let mut ours = doc(1);
            let array = ours.array("");
            let mut subdoc = Subdoc::new("a");
            subdoc.auto_load = auto_load;
            let mut transaction = ours.transact();
            array.push(&mut transaction, vec![subdoc.into()]).unwrap();
            let subdoc = transaction.commit().subdocs().loaded.remove(0);
            let mut transaction = ours.transact();
            assert!(transaction.unload(&subdoc));
            let commit = transaction.commit();
            assert_eq!(told(&commit.subdocs()), [vec!["a"], vec!["a"], vec![]]);
            assert!(!commit.subdocs().added[0].should_load);
            assert!(commit.subdocs().removed[0].should_load);
            assert_eq!(ours.subdocs().len(), 1);
            let mut transaction = ours.transact();
            assert!(transaction.load(&subdoc));
            assert_eq!(told(&transaction.commit().subdocs()), [vec![], vec![], vec!["a"]]);

            let mut theirs = doc(2);
            let told = theirs.apply_v2(&ours.state_v2()).unwrap().subdocs();
            assert_eq!(guids(&told.added), ["a"]);
            assert_eq!(guids(&told.loaded).len(), usize::from(auto_load));
            let mut transaction = theirs.transact();
            assert_eq!(transaction.load(&told.added[0]), !auto_load);
            transaction.commit();
        }
    }

    #[test]
    fn one_that_was_undone_comes_back_when_redone() {
        let mut doc = doc(1);
        let xml = doc.xml("");
        let undo = doc.track(UndoOptions { scope: vec![xml.into()], ..UndoOptions::default() });
        let mut transaction = doc.transact();
        xml.insert(&mut transaction, 0, vec![Subdoc::new("a").into()]).unwrap();
        transaction.commit();
        let commit = undo.undo(&mut doc).unwrap().unwrap();
        assert_eq!(told(&commit.subdocs()), [vec![], vec!["a"], vec![]]);
        let commit = undo.redo(&mut doc).unwrap().unwrap();
        assert_eq!(told(&commit.subdocs()), [vec!["a"], vec![], vec![]]);
        assert_eq!(xml.len(&doc), 1);
    }
}
