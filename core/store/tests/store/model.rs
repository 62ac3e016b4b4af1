//! ST-12: any order of writing, flushing, closing, losing power and opening again, against a
//! model that remembers what was written and what was promised.

use crate::scene::{DIR, append, client, options, read};
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::collections::BTreeMap;
use std::path::Path;
use store::disk::{SimulatedDisk, Unsynced};
use store::{Document, Lsn, Store, StoreOptions};

#[derive(Debug, Clone)]
enum Step {
    /// Appends so many words to a document.
    Append(u8, u8),
    /// Sets or removes a small fact.
    Fact(u8, Option<u8>),
    /// Keeps a figure.
    Blob(u8),
    Flush,
    /// Closes a document, which may leave a snapshot.
    Rest(u8),
    /// Closes and opens everything.
    Reopen,
    /// Loses power; chance decides what arrives of the unsynced.
    PowerLoss(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_u8, 1..40_u8).prop_map(|(document, words)| Step::Append(document, words)),
        2 => (0..3_u8, any::<Option<u8>>()).prop_map(|(key, value)| Step::Fact(key, value)),
        1 => (0..4_u8).prop_map(Step::Blob),
        3 => Just(Step::Flush),
        2 => (0..3_u8).prop_map(Step::Rest),
        1 => Just(Step::Reopen),
        1 => any::<u64>().prop_map(Step::PowerLoss),
    ]
}

/// What was written, oldest first, each with its lsn.
#[derive(Default)]
struct Model {
    words: BTreeMap<u8, Vec<(Lsn, String)>>,
    facts: BTreeMap<u8, Vec<(Lsn, Option<u8>)>>,
    blobs: BTreeMap<u8, String>,
    durable: Lsn,
    written: usize,
}

struct Scene {
    disk: SimulatedDisk,
    store: Option<Store>,
    documents: BTreeMap<u8, Document>,
    model: Model,
}

fn name(document: u8) -> String {
    format!("document {document}")
}

fn key(fact: u8) -> String {
    format!("fact {fact}")
}

impl Scene {
    fn new() -> Self {
        let (disk, documents) = (SimulatedDisk::new(), BTreeMap::new());
        let mut scene = Self { disk, store: None, documents, model: Model::default() };
        scene.open();
        scene
    }

    fn open(&mut self) {
        let options = StoreOptions { segment_bytes: 700, ..options(&self.disk) };
        self.store = Some(Store::open(Path::new(DIR), options).unwrap());
    }

    fn store(&mut self) -> &mut Store {
        self.store.as_mut().unwrap()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Append(document, words) => {
                if !self.documents.contains_key(&document) {
                    let open = self.store().document(&name(document), client()).unwrap();
                    self.documents.insert(document, open);
                }
                for _ in 0..words {
                    self.model.written += 1;
                    let word = format!("{} ", self.model.written);
                    let lsn = append(self.documents.get_mut(&document).unwrap(), &word);
                    self.model.words.entry(document).or_default().push((lsn, word));
                }
            }
            Step::Fact(fact, value) => {
                let lsn = match value {
                    Some(value) => self.store().put_meta(&key(fact), &[value]).unwrap(),
                    None => self.store().remove_meta(&key(fact)),
                };
                self.model.facts.entry(fact).or_default().push((lsn, value));
            }
            Step::Blob(blob) => {
                let hash = self.store().put_blob(&[blob; 50]).unwrap();
                self.model.blobs.insert(blob, hash);
            }
            Step::Flush => self.model.durable = self.store().flush().unwrap(),
            Step::Rest(document) => {
                self.documents.remove(&document);
            }
            Step::Reopen => {
                self.close();
                self.open();
                self.model.durable = self.store().durable();
                self.check();
                assert_eq!(self.store().reports(), []);
            }
            Step::PowerLoss(seed) => {
                let lost = self.disk.after_power_loss(Unsynced::Chance(seed));
                // What goes on behind this moment goes to a disk that nobody sees again.
                self.close();
                self.disk = lost;
                self.open();
                self.check();
                self.model.durable = self.store().durable();
            }
        }
    }

    fn close(&mut self) {
        self.documents.clear();
        self.store = None;
    }

    /// Compares with the model, and lets the model forget what was lost and never promised.
    fn check(&mut self) {
        let durable = self.model.durable;
        let store = self.store.as_mut().unwrap();
        for (document, words) in &mut self.model.words {
            let text = read(store, &name(*document));
            let (mut kept, mut len) = (0, 0);
            for (lsn, word) in words.iter() {
                if !text[len..].starts_with(word.as_str()) {
                    assert!(*lsn > durable, "{word:?} was promised: {text:?}");
                    break;
                }
                (kept, len) = (kept + 1, len + word.len());
            }
            assert_eq!(text.len(), len, "nobody wrote the end of {text:?}");
            words.truncate(kept);
        }
        for (fact, values) in &mut self.model.facts {
            let found = store.meta(&key(*fact)).map(|value| value[0]);
            let promised = values.iter().rposition(|(lsn, _)| *lsn <= durable);
            let before = promised.is_none().then_some((Lsn::ZERO, None));
            let possible = before.into_iter().chain(values.drain(promised.unwrap_or(0)..));
            let kept = possible.into_iter().rfind(|(_, value)| *value == found);
            assert!(kept.is_some(), "fact {fact} is {found:?}");
            *values = kept.into_iter().collect();
        }
        for (blob, hash) in &self.model.blobs {
            assert_eq!(store.get_blob(hash).unwrap(), Some(vec![*blob; 50]));
        }
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_store_is_its_model(steps in prop::collection::vec(step(), 1..40)) {
        let mut scene = Scene::new();
        for step in &steps {
            scene.step(step);
        }
        scene.step(&Step::Reopen);
    }
}
