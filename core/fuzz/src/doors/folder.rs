//! Doors of `paper` and `replica`: files of the folder, their names, and what the tree says of them.

#![expect(clippy::disallowed_methods, reason = "writes a paper.toml to be read")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use crdt::{ClientId, Doc, Options, Text};
use paper::{FileId, PaperId, PaperPath, Place, Tree, decode, difference, encode, ignored, places};

/// A file's bytes, which are a text or not.
pub(super) fn text_format(bytes: &[u8]) {
    let Ok(decoded) = decode(bytes) else { return };
    let again = encode(&decoded.text, decoded.format, &decoded.exceptions);
    assert_eq!(again.as_deref(), Ok(bytes));
    let label = decoded.format.encoding.label();
    assert_eq!(paper::Encoding::from_label(label), Some(decoded.format.encoding));
    // Exceptions that point nowhere are passed over.
    let shorter: String = decoded.text.chars().skip(1).collect();
    drop(encode(&shorter, decoded.format, &decoded.exceptions));
}

/// A file's name.
pub(super) fn name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    ignored(text.split('/'));
    if let (Ok(file), Ok(paper)) = (FileId::parse(text), PaperId::parse(text)) {
        assert_eq!((file.to_string(), paper.to_string()), (text.to_owned(), text.to_owned()));
    }
    let Ok(path) = PaperPath::parse(text) else { return };
    assert_eq!(path.as_str(), text);
    let joined = PathBuf::from("/folder").join(text);
    assert!(joined.starts_with("/folder"), "{text:?} leads out");
    assert!(joined.components().all(|part| part.as_os_str() != ".."), "{text:?} leads out");
    for note in ["Ann", text, "\u{0}/..\\"] {
        let noted = path.with_note(note);
        PaperPath::parse(noted.as_str()).expect("a note keeps a name good");
        noted.folder_keys();
    }
}

/// A tree that somebody else wrote, as an update of the first format.
pub(super) fn tree(bytes: &[u8]) {
    let mut doc =
        Doc::new(ClientId::new(1).unwrap(), Options { gc: false, seed: 1, ..Options::default() });
    let tree = Tree::new(doc.map(Tree::ROOT));
    if doc.apply_v1(bytes).is_err() || doc.structs() > 2_000 {
        return;
    }
    let entries = tree.entries(&doc);
    let places = places(&entries);
    assert_eq!(places.len(), entries.len());
    let mut taken = BTreeSet::new();
    for place in places.values() {
        if let Place::At(path) = place {
            PaperPath::parse(path.as_str()).expect("a file has a good name");
            assert!(taken.insert(path.key()), "two files are at {path}");
        }
    }
    let Some(&file) = entries.keys().next() else { return };
    let mut transaction = doc.transact();
    assert!(tree.remove(&mut transaction, file));
    transaction.commit();
    assert!(tree.entry(&doc, file).is_none());
}

/// `paper.toml`.
pub(super) fn paper_toml(bytes: &[u8]) {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join(".quire")).expect("a new folder");
        folder
    });
    let path = folder.path().join(".quire/paper.toml");
    std::fs::write(path, bytes).expect("a file can be written");
    match replica::is_paper(folder.path()) {
        Ok(is_paper) => assert!(is_paper),
        Err(problem) => assert!(problem.to_string().contains("paper.toml"), "{problem}"),
    }
}

/// Three texts, cut at zeros: the one that both started from, and what a person and another program made of it.
pub(super) fn three_way(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0');
    let (base, ours) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let theirs = parts.next().unwrap_or("");
    let document = |id| {
        Doc::new(ClientId::new(id).unwrap(), Options { gc: false, seed: id, ..Options::default() })
    };
    let mut person = document(1);
    let text = person.text("text");
    let mut transaction = person.transact();
    text.insert(&mut transaction, 0, base).unwrap();
    transaction.commit();
    let mut program = document(2);
    program.apply_v1(&person.state_v1()).unwrap();
    let at_program = program.text("text");
    become_text(&mut person, text, base, ours);
    become_text(&mut program, at_program, base, theirs);
    let (from_person, from_program) = (person.state_v1(), program.state_v1());
    person.apply_v1(&from_program).unwrap();
    program.apply_v1(&from_person).unwrap();
    let merged = text.read(&person);
    assert_eq!(at_program.read(&program), merged);
    if ours == base {
        assert_eq!(merged, theirs);
    }
    if theirs == base {
        assert_eq!(merged, ours);
    }
    person.check().unwrap();
}

/// Makes another text of the one in a document, by the edits of the difference.
fn become_text(doc: &mut Doc, text: Text, before: &str, after: &str) {
    let edits = difference(before, after);
    let mut last = 0;
    let mut transaction = doc.transact();
    for edit in &edits {
        assert!(edit.from >= last && edit.to >= edit.from, "edits overlap: {edits:?}");
        last = edit.to;
    }
    for edit in edits.iter().rev() {
        text.delete(&mut transaction, edit.from, edit.to - edit.from).unwrap();
        text.insert(&mut transaction, edit.from, &edit.insert).unwrap();
    }
    transaction.commit();
    assert_eq!(text.read(doc), after);
}
