//! `doc.tests.js`: what belongs to a document as a whole.

use std::collections::BTreeSet;

use crdt::{Any, Array, Commit, Doc, Map, New, Origin, Shared, Subdoc, UndoOptions, Value};
use serde_json::json;

use crate::json::{content, doc, object, values};

#[test]
fn a_transaction_may_make_thousands_of_types() {
    let mut doc = doc(1);
    let xml = doc.xml("");
    let mut edit = doc.transact();
    for index in 0..15_000 {
        xml.insert(&mut edit, index, vec![New::XmlText]).unwrap();
        let Some(Value::Shared(Shared::Text(text))) = xml.get(edit.doc(), index) else {
            unreachable!("a text was inserted")
        };
        text.insert(&mut edit, 0, "a").unwrap();
    }
    let commit = edit.commit();
    assert_eq!(xml.to_xml(commit.doc()), "a".repeat(15_000));
    let update = commit.update_v1().unwrap();
    let mut reader = crate::json::doc(2);
    reader.apply_v1(&update).unwrap();
    assert_eq!(reader.state_v1(), doc.state_v1());
}

#[test]
fn reading_a_moment_is_nobodys_step() {
    let mut doc = doc(1);
    let text = doc.text("");
    let mut watch =
        |origin| doc.track(UndoOptions { origins: vec![Origin(origin)], ..UndoOptions::default() });
    let (nobody, first, second) = (watch(0), watch(1), watch(2));
    let mut edit = doc.transact_as(Origin(1), 1_000);
    text.insert(&mut edit, 0, "0").unwrap();
    edit.commit();
    // To read a moment, items are cut and joined again: a transaction of its own, which changes nothing.
    let moment = doc.snapshot();
    text.delta_between(&mut doc, Some(&moment), None, None);
    let mut edit = doc.transact_as(Origin(2), 1_000);
    text.insert(&mut edit, 0, "a").unwrap();
    edit.commit();
    assert_eq!(
        [nobody, first, second].map(|manager| manager.undo_len(&doc)),
        [0, 1, 1],
        "each origin has its own transaction"
    );
}

#[test]
fn a_client_id_that_somebody_else_uses_is_changed() {
    let (mut doc1, mut doc2) = (doc(0), doc(0));
    assert_eq!(doc1.client(), doc2.client());
    let array = doc1.array("a");
    let mut edit = doc1.transact();
    array.insert(&mut edit, 0, values(json!([1, 2]))).unwrap();
    edit.commit();
    doc2.apply_v1(&doc1.state_v1()).unwrap();
    assert_ne!(doc1.client(), doc2.client());
    assert_eq!(doc1.client().get(), 0);
    let array = doc2.array("a");
    assert_eq!(content(&doc2, array), json!([1, 2]));
}

#[test]
fn a_root_may_have_no_name() {
    let mut doc1 = doc(1);
    for (index, letter) in [(0, "h"), (1, "i")] {
        let text = doc1.text("");
        let mut edit = doc1.transact();
        text.insert(&mut edit, index, letter).unwrap();
        edit.commit();
    }
    let mut doc2 = doc(2);
    doc2.apply_v1(&doc1.state_v1()).unwrap();
    assert_eq!(doc2.text("").read(&doc2), "hi");
}

/// The guids of what came, what went and what is to be loaded.
fn told(commit: &Commit<'_>) -> [Vec<String>; 3] {
    let subdocs = commit.subdocs();
    [subdocs.added, subdocs.removed, subdocs.loaded]
        .map(|list| list.into_iter().map(|subdoc| subdoc.guid).collect())
}

/// The guids of all subdocuments, each once.
fn guids(doc: &Doc) -> BTreeSet<String> {
    doc.subdocs().into_iter().map(|subdoc| subdoc.guid).collect()
}

fn subdoc(doc: &Doc, map: Map, key: &str) -> Subdoc {
    map.get(doc, key).as_ref().and_then(Value::as_subdoc).unwrap().clone()
}

#[test]
fn subdocuments_come_go_and_are_loaded() {
    let list = |guids: &[&str]| guids.iter().map(|&guid| guid.to_owned()).collect::<Vec<_>>();
    let event = |added: &[&str], removed: &[&str], loaded: &[&str]| {
        [list(added), list(removed), list(loaded)]
    };
    let mut ours = doc(1);
    let map = ours.map("mysubdocs");
    let set = |doc: &mut Doc, key: &str, subdoc: Subdoc| {
        let mut edit = doc.transact();
        map.insert(&mut edit, key, subdoc).unwrap();
        told(&edit.commit())
    };
    let load = |doc: &mut Doc, map: Map, key: &str| {
        let subdoc = subdoc(doc, map, key);
        let mut edit = doc.transact();
        edit.load(&subdoc);
        told(&edit.commit())
    };
    assert_eq!(set(&mut ours, "a", Subdoc::new("a")), event(&["a"], &[], &["a"]));
    // It is loaded already.
    assert_eq!(load(&mut ours, map, "a"), event(&[], &[], &[]));
    let held = subdoc(&ours, map, "a");
    let mut edit = ours.transact();
    assert!(edit.unload(&held));
    assert_eq!(told(&edit.commit()), event(&["a"], &["a"], &[]));
    assert_eq!(load(&mut ours, map, "a"), event(&[], &[], &["a"]));
    let mut on_demand = Subdoc::new("a");
    on_demand.should_load = false;
    assert_eq!(set(&mut ours, "b", on_demand), event(&["a"], &[], &[]));
    assert_eq!(load(&mut ours, map, "b"), event(&[], &[], &["a"]));
    assert_eq!(set(&mut ours, "c", Subdoc::new("c")), event(&["c"], &[], &["c"]));
    let both: BTreeSet<String> = list(&["a", "c"]).into_iter().collect();
    assert_eq!(guids(&ours), both);

    let mut theirs = doc(2);
    let map = theirs.map("mysubdocs");
    assert_eq!(theirs.subdocs(), []);
    let commit = theirs.apply_v1(&ours.state_v1()).unwrap();
    assert_eq!(told(&commit), event(&["a", "a", "c"], &[], &[]));
    assert_eq!(load(&mut theirs, map, "a"), event(&[], &[], &["a"]));
    assert_eq!(guids(&theirs), both);
    let mut edit = theirs.transact();
    assert!(map.remove(&mut edit, "a"));
    assert_eq!(told(&edit.commit()), event(&[], &["a"], &[]));
    // One of the same guid stands under another key.
    assert_eq!(guids(&theirs), both);
    assert_eq!(theirs.subdocs().len(), 2);
}

/// Puts a subdocument into an array, unloads it and loads it again; others get it. Returns whether they are to load it
/// at once.
fn others_load(auto_load: bool) -> bool {
    let mut ours = doc(1);
    let array = ours.array("");
    let first = |doc: &Doc, array: Array| {
        array.get(doc, 0).as_ref().and_then(Value::as_subdoc).unwrap().clone()
    };
    let mut new = Subdoc::new("a");
    new.auto_load = auto_load;
    let mut edit = ours.transact();
    array.insert(&mut edit, 0, vec![new.into()]).unwrap();
    let subdocs = edit.commit().subdocs();
    let held = first(&ours, array);
    assert!(held.should_load);
    assert_eq!(held.auto_load, auto_load);
    assert_eq!((subdocs.added, subdocs.loaded), (vec![held.clone()], vec![held.clone()]));

    let mut edit = ours.transact();
    edit.unload(&held);
    let subdocs = edit.commit().subdocs();
    let unloaded = first(&ours, array);
    assert_ne!(unloaded, held);
    assert_eq!((subdocs.added, subdocs.loaded), (vec![unloaded.clone()], vec![]));

    let mut edit = ours.transact();
    assert!(edit.load(&unloaded));
    let subdocs = edit.commit().subdocs();
    assert_eq!((subdocs.added, subdocs.loaded), (vec![], vec![first(&ours, array)]));

    let mut theirs = doc(2);
    let array = theirs.array("");
    let subdocs = theirs.apply_v1(&ours.state_v1()).unwrap().subdocs();
    let held = first(&theirs, array);
    assert_eq!(held.auto_load, auto_load);
    assert_eq!(subdocs.added, std::slice::from_ref(&held));
    let at_once = held.should_load;
    assert_eq!(subdocs.loaded, if at_once { vec![held.clone()] } else { vec![] });
    let mut edit = theirs.transact();
    assert_eq!(edit.load(&held), !at_once);
    let subdocs = edit.commit().subdocs();
    assert_eq!((subdocs.added.len(), subdocs.loaded.len()), (0, usize::from(!at_once)));
    assert!(first(&theirs, array).should_load);
    at_once
}

#[test]
fn others_load_a_subdocument_when_they_want_to() {
    assert!(!others_load(false));
}

#[test]
fn others_load_a_subdocument_at_once_if_it_says_so() {
    assert!(others_load(true));
}

#[test]
fn a_subdocument_is_undone_and_redone() {
    let mut doc = doc(1);
    let xml = doc.xml("");
    let manager = doc.track(UndoOptions { scope: vec![xml.into()], ..UndoOptions::default() });
    let mut edit = doc.transact();
    xml.insert(&mut edit, 0, vec![Subdoc::new("a").into()]).unwrap();
    edit.commit();
    assert!(manager.undo(&mut doc).unwrap().is_some());
    assert!(xml.is_empty(&doc));
    assert!(doc.subdocs().is_empty());
    assert!(manager.redo(&mut doc).unwrap().is_some());
    assert_eq!(xml.len(&doc), 1);
    assert_eq!(doc.subdocs()[0].guid, "a");
}

#[test]
fn a_document_is_written_as_json() {
    let mut doc = doc(1);
    assert_eq!(doc.to_json(), "{}");
    let (array, map) = (doc.array("array"), doc.map("map"));
    let mut edit = doc.transact();
    array.push(&mut edit, values(json!(["test1"]))).unwrap();
    map.insert(&mut edit, "k1", "v1").unwrap();
    let inner = map.insert_map(&mut edit, "k2").unwrap();
    inner.insert(&mut edit, "m2k1", "m2v1").unwrap();
    edit.commit();
    assert_eq!(doc.to_json(), r#"{"array":["test1"],"map":{"k1":"v1","k2":{"m2k1":"m2v1"}}}"#);
}

#[test]
fn all_kinds_are_written_as_json() {
    let mut doc = doc(1);
    let (array, map, text, xml) = (doc.array("array"), doc.map("map"), doc.text("b"), doc.xml("a"));
    doc.text("1");
    // A root that came in an update, and that nobody has asked for by a type.
    let mut other = crate::json::doc(2);
    let untyped = other.text("untyped");
    let mut edit = other.transact();
    untyped.insert(&mut edit, 0, "never seen").unwrap();
    doc.apply_v1(&edit.commit().update_v1().unwrap()).unwrap();
    let format = |name: &str| object(json!({ name: {} }));
    let mut edit = doc.transact();
    text.insert_with(&mut edit, 0, "x\"y", &object(json!({ "bold": true }))).unwrap();
    xml.insert(&mut edit, 0, vec![New::XmlElement("p".to_owned()), New::XmlText]).unwrap();
    let as_text = |value: Option<Value>| match value {
        Some(Value::Shared(Shared::Text(text))) => text,
        other => panic!("{other:?} is no text"),
    };
    let inner = as_text(xml.get(edit.doc(), 1));
    inner.insert_with(&mut edit, 0, "t", &format("i")).unwrap();
    map.insert(&mut edit, "k", "v").unwrap();
    map.insert(&mut edit, "10", Any::Undefined).unwrap();
    map.insert(&mut edit, "9", Any::Null).unwrap();
    map.insert(&mut edit, "2", Any::Bytes(vec![7])).unwrap();
    let subdoc = Subdoc::new("g").into();
    let hook = New::XmlHook("h".to_owned());
    array.push(&mut edit, vec![Any::Null.into(), subdoc, 1.5.into(), New::XmlText, hook]).unwrap();
    let inner = as_text(array.get(edit.doc(), 3));
    inner.insert_with(&mut edit, 0, "u", &format("b")).unwrap();
    let Some(Value::Shared(Shared::Xml(hook))) = array.get(edit.doc(), 4) else {
        unreachable!("a hook was inserted")
    };
    hook.set_attribute(&mut edit, "z", 1).unwrap();
    edit.commit();
    // As `JSON.stringify(doc.toJSON())` has it: keys that are numbers first, what is undefined left out.
    let array = r#"[null,{},1.5,"<b>u</b>",{"z":1}]"#;
    let map = r#"{"2":{"0":7},"9":null,"k":"v"}"#;
    let expected =
        format!(r#"{{"1":"","array":{array},"map":{map},"b":"x\"y","a":"<p></p><i>t</i>"}}"#);
    assert_eq!(doc.to_json(), expected);
    assert_eq!(Shared::from(hook).to_json(&doc), r#"{"z":1}"#);
}

#[test]
fn depth_costs_no_stack_in_json() {
    let mut doc = doc(1);
    let mut map = doc.map("m");
    let mut edit = doc.transact();
    for _ in 0..20_000 {
        map = map.insert_map(&mut edit, "m").unwrap();
    }
    edit.commit();
    let json = doc.to_json();
    assert_eq!(json, format!("{}{{}}{}", r#"{"m":"#.repeat(20_001), "}".repeat(20_001)));
}
