//! The tree document: which files a paper has, and where they are in each person's folder.
//!
//! A map `files` from file id to a map with the file's path and what is around its content. What
//! another replica (or any Yjs client) wrote there is not trusted: an entry that makes no sense is
//! passed over, a name that may not be is shown and not written.
//!
//! Two files may want one name, because two people made them apart. [`places`] gives the name to
//! one and a second name to the other, the same on every replica, without writing anything.

use std::collections::{BTreeMap, BTreeSet};

use crdt::{Any, Doc, Error, Map, Transaction, Value};

use crate::ids::FileId;
use crate::names::{NameError, PaperPath};
use crate::text_format::{Encoding, Eol, TextFormat};

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text that is edited together; its document has the file's id.
    Text {
        /// What is around it.
        format: TextFormat,
        /// Line ends unlike the format's: the anchor of their LF (as JSON), and which.
        exceptions: Vec<(String, Eol)>,
    },
    /// A figure or another file that is taken whole.
    Blob {
        /// Its blake3 hash, 64 hex digits.
        hash: String,
        /// Its size.
        bytes: u64,
    },
}

/// A file of the paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path as it was written; not checked.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The name of the person who made it.
    pub person: String,
    /// When it was made, in milliseconds since 1970, by that person's clock.
    pub created_ms: u64,
}

/// Where a file is in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// There.
    At(PaperPath),
    /// Nowhere, because its name may not be.
    Refused(NameError),
}

/// A view of the tree document.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    files: Map,
}

impl Tree {
    /// The name of the root map in the tree document.
    pub const ROOT: &'static str = "files";

    /// Looks at the tree document's map [`Self::ROOT`].
    pub fn new(files: Map) -> Self {
        Self { files }
    }

    /// Returns all entries that make sense.
    pub fn entries(self, doc: &Doc) -> BTreeMap<FileId, Entry> {
        let keys = self.files.keys(doc);
        keys.iter()
            .filter_map(|key| {
                let file = FileId::parse(key).ok()?;
                Some((file, self.entry(doc, file)?))
            })
            .collect()
    }

    /// Returns a file's entry, if it is there and makes sense.
    pub fn entry(self, doc: &Doc, file: FileId) -> Option<Entry> {
        let map = self.map(doc, file)?;
        let kind = match string(doc, map, "kind")?.as_str() {
            "text" => Kind::Text {
                format: TextFormat {
                    encoding: string(doc, map, "encoding")
                        .and_then(|label| Encoding::from_label(&label))
                        .unwrap_or(Encoding::Utf8),
                    bom: matches!(map.get(doc, "bom"), Some(Value::Any(Any::Bool(true)))),
                    eol: string(doc, map, "eol")
                        .and_then(|label| Eol::from_label(&label))
                        .unwrap_or(Eol::Lf),
                },
                exceptions: exceptions(doc, map),
            },
            "blob" => Kind::Blob {
                hash: string(doc, map, "hash").filter(|hash| is_hash(hash))?,
                bytes: number(doc, map, "bytes")?,
            },
            _ => return None,
        };
        Some(Entry {
            path: string(doc, map, "path")?,
            kind,
            person: string(doc, map, "person").unwrap_or_default(),
            created_ms: number(doc, map, "created").unwrap_or_default(),
        })
    }

    /// Adds a file, or writes all of its entry anew.
    pub fn insert(
        self,
        transaction: &mut Transaction<'_>,
        file: FileId,
        entry: &Entry,
    ) -> Result<(), Error> {
        let map = self.files.insert_map(transaction, &file.to_string())?;
        map.insert(transaction, "path", Any::String(entry.path.clone()))?;
        map.insert(transaction, "person", Any::String(entry.person.clone()))?;
        map.insert(transaction, "created", number_any(entry.created_ms))?;
        write_kind(transaction, map, &entry.kind)
    }

    /// Gives a file another path; `false` if there is no such file.
    pub fn set_path(
        self,
        transaction: &mut Transaction<'_>,
        file: FileId,
        path: &PaperPath,
    ) -> Result<bool, Error> {
        let Some(map) = self.map(transaction.doc(), file) else { return Ok(false) };
        map.insert(transaction, "path", Any::String(path.as_str().to_owned()))?;
        Ok(true)
    }

    /// Says what a file is from now on; `false` if there is no such file.
    pub fn set_kind(
        self,
        transaction: &mut Transaction<'_>,
        file: FileId,
        kind: &Kind,
    ) -> Result<bool, Error> {
        let Some(map) = self.map(transaction.doc(), file) else { return Ok(false) };
        write_kind(transaction, map, kind)?;
        Ok(true)
    }

    /// Removes a file from the paper; `false` if there is no such file.
    pub fn remove(self, transaction: &mut Transaction<'_>, file: FileId) -> bool {
        self.files.remove(transaction, &file.to_string())
    }

    fn map(self, doc: &Doc, file: FileId) -> Option<Map> {
        self.files.get(doc, &file.to_string())?.as_map()
    }
}

fn write_kind(transaction: &mut Transaction<'_>, map: Map, kind: &Kind) -> Result<(), Error> {
    match kind {
        Kind::Text { format, exceptions } => {
            map.insert(transaction, "kind", Any::String("text".to_owned()))?;
            let label = format.encoding.label().to_owned();
            map.insert(transaction, "encoding", Any::String(label))?;
            map.insert(transaction, "eol", Any::String(format.eol.label().to_owned()))?;
            map.insert(transaction, "bom", Any::Bool(format.bom))?;
            if !exceptions.is_empty() || map.get(transaction.doc(), "eols").is_some() {
                let flat = exceptions.iter().flat_map(|(anchor, eol)| {
                    [Any::String(anchor.clone()), Any::String(eol.label().to_owned())]
                });
                map.insert(transaction, "eols", Any::Array(flat.collect()))?;
            }
        }
        Kind::Blob { hash, bytes } => {
            map.insert(transaction, "kind", Any::String("blob".to_owned()))?;
            map.insert(transaction, "hash", Any::String(hash.clone()))?;
            map.insert(transaction, "bytes", number_any(*bytes))?;
        }
    }
    Ok(())
}

fn exceptions(doc: &Doc, map: Map) -> Vec<(String, Eol)> {
    let Some(Value::Any(Any::Array(flat))) = map.get(doc, "eols") else { return Vec::new() };
    let (pairs, _) = flat.as_chunks::<2>();
    pairs
        .iter()
        .filter_map(|pair| match pair {
            [Any::String(anchor), Any::String(eol)] => {
                Some((anchor.clone(), Eol::from_label(eol)?))
            }
            _ => None,
        })
        .collect()
}

fn string(doc: &Doc, map: Map, key: &str) -> Option<String> {
    match map.get(doc, key) {
        Some(Value::Any(Any::String(text))) => Some(text),
        _ => None,
    }
}

/// Whole numbers up to 2^53, as JavaScript has them.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to fit")]
fn number(doc: &Doc, map: Map, key: &str) -> Option<u64> {
    match map.get(doc, key) {
        Some(Value::Any(Any::Number(number)))
            if number.fract() == 0.0 && (0.0..9e15).contains(&number) =>
        {
            Some(number as u64)
        }
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes and times are below 2^53")]
fn number_any(number: u64) -> Any {
    Any::Number(number as f64)
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns where each file is: its own path, or a second name when another file has that one.
///
/// Who made it first keeps the name; ids decide between equal times. A name that is a folder's is
/// taken as well.
pub fn places(entries: &BTreeMap<FileId, Entry>) -> BTreeMap<FileId, Place> {
    let mut places = BTreeMap::new();
    let mut wanted = Vec::new();
    let mut taken = BTreeSet::new();
    for (&file, entry) in entries {
        match PaperPath::parse(&entry.path) {
            Ok(path) => {
                taken.extend(path.folder_keys());
                wanted.push((entry.created_ms, file, path));
            }
            Err(error) => {
                places.insert(file, Place::Refused(error));
            }
        }
    }
    wanted.sort();
    let mut second = Vec::new();
    for (_, file, path) in wanted {
        if taken.insert(path.key()) {
            places.insert(file, Place::At(path));
        } else {
            second.push((file, path));
        }
    }
    // Only now, so that a second name never takes the name of a file that is called so itself.
    for (file, path) in second {
        let person = entries.get(&file).map_or("", |entry| entry.person.trim());
        let note = if person.is_empty() { "copy".to_owned() } else { format!("{person}'s copy") };
        let names = (1..).map(|count: u32| match count {
            1 => path.with_note(&note),
            _ => path.with_note(&format!("{note} {count}")),
        });
        // Each name differs from those before, so one is free in the end.
        if let Some(free) = names.take(entries.len() + 1).find(|name| taken.insert(name.key())) {
            places.insert(file, Place::At(free));
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use crdt::{ClientId, Options};

    use super::*;

    fn entry(path: &str, person: &str, created_ms: u64) -> Entry {
        let kind = Kind::Text { format: TextFormat::default(), exceptions: Vec::new() };
        Entry { path: path.into(), kind, person: person.into(), created_ms }
    }

    fn id(number: u8) -> FileId {
        FileId::from_bytes([number; 16])
    }

    fn check_places(entries: &[Entry], expected: &[&str]) {
        let numbered = (0..).zip(entries).map(|(number, entry)| (id(number), entry.clone()));
        let places = places(&numbered.collect());
        let found: Vec<String> = places
            .values()
            .map(|place| match place {
                Place::At(path) => path.to_string(),
                Place::Refused(_) => "-".to_owned(),
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn two_files_never_share_a_name() {
        check_places(&[entry("a.tex", "Ann", 1), entry("b.tex", "Bo", 2)], &["a.tex", "b.tex"]);
        check_places(
            &[entry("a.tex", "Ann", 2), entry("a.tex", "Bo", 1)],
            &["a (Ann's copy).tex", "a.tex"],
        );
        check_places(
            &[entry("Fig.png", "Ann", 1), entry("fig.png", "", 1)],
            &["Fig.png", "fig (copy).png"],
        );
        check_places(
            &[entry("a.tex", "Bo", 1), entry("a.tex", "Bo", 2), entry("A.tex", "Bo", 3)],
            &["a.tex", "a (Bo's copy).tex", "A (Bo's copy 2).tex"],
        );
        check_places(
            &[
                entry("a.tex", "Bo", 1),
                entry("a.tex", "Bo", 2),
                entry("a (Bo's copy).tex", "Bo", 3),
            ],
            &["a.tex", "a (Bo's copy 2).tex", "a (Bo's copy).tex"],
        );
        check_places(
            &[entry("a", "Ann", 1), entry("a/b.tex", "Bo", 2)],
            &["a (Ann's copy)", "a/b.tex"],
        );
        check_places(&[entry("../x", "Eve", 1), entry("x", "Bo", 2)], &["-", "x"]);
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let mut doc =
            Doc::new(ClientId::new(1).unwrap(), Options { gc: false, ..Options::default() });
        let tree = Tree::new(doc.map(Tree::ROOT));
        let text = Entry {
            kind: Kind::Text {
                format: TextFormat {
                    encoding: Encoding::Legacy("windows-1252"),
                    bom: true,
                    eol: Eol::CrLf,
                },
                exceptions: vec![("{}".into(), Eol::Lf)],
            },
            ..entry("a.tex", "Ann", 1_700_000_000_000)
        };
        let blob = Entry {
            kind: Kind::Blob { hash: "0f".repeat(32), bytes: 5_000_000_000 },
            ..entry("b.png", "", 3)
        };
        let mut transaction = doc.transact();
        tree.insert(&mut transaction, id(1), &text).unwrap();
        tree.insert(&mut transaction, id(2), &blob).unwrap();
        transaction.commit();
        assert_eq!(tree.entry(&doc, id(1)), Some(text.clone()));
        assert_eq!(tree.entry(&doc, id(2)), Some(blob));

        let mut transaction = doc.transact();
        assert!(
            tree.set_path(&mut transaction, id(1), &PaperPath::parse("c.tex").unwrap()).unwrap()
        );
        assert!(
            !tree.set_path(&mut transaction, id(9), &PaperPath::parse("c.tex").unwrap()).unwrap()
        );
        assert!(tree.remove(&mut transaction, id(2)));
        transaction.commit();
        let left = BTreeMap::from([(id(1), Entry { path: "c.tex".into(), ..text })]);
        assert_eq!(tree.entries(&doc), left);
    }

    #[test]
    fn entries_without_sense_are_passed_over() {
        let mut doc =
            Doc::new(ClientId::new(1).unwrap(), Options { gc: false, ..Options::default() });
        let files = doc.map(Tree::ROOT);
        let mut transaction = doc.transact();
        files.insert(&mut transaction, "nonsense", Any::Null).unwrap();
        files.insert(&mut transaction, &id(1).to_string(), Any::Bool(true)).unwrap();
        let no_path = files.insert_map(&mut transaction, &id(2).to_string()).unwrap();
        no_path.insert(&mut transaction, "kind", Any::String("text".into())).unwrap();
        let bad_hash = files.insert_map(&mut transaction, &id(3).to_string()).unwrap();
        for (key, value) in [("kind", "blob"), ("path", "x"), ("hash", "../../etc/passwd")] {
            bad_hash.insert(&mut transaction, key, Any::String(value.into())).unwrap();
        }
        transaction.commit();
        assert_eq!(Tree::new(files).entries(&doc), BTreeMap::new());
    }
}
