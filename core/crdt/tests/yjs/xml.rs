//! XML: Yjs's `y-xml.tests.js`.

use crdt::{Any, Error, New, Shared, Transaction, Value};
use serde_json::{Value as Json, json};

use crate::json::{delta, doc, events, steps};
use crate::network::Network;

/// An attribute of the XML of a replica.
fn attribute(network: &Network, at: usize, key: &str) -> Option<Value> {
    network.xml(at).attribute(network.doc(at), key)
}

#[test]
fn an_attribute_that_was_never_set_is_none() {
    let mut doc = doc(1);
    let map = doc.map("");
    let mut transaction = doc.transact();
    map.insert(&mut transaction, "yxml", New::XmlElement("test".to_owned())).unwrap();
    transaction.commit();
    let Some(Value::Shared(Shared::Xml(element))) = map.get(&doc, "yxml") else {
        panic!("an element was set")
    };
    assert_eq!(element.name(&doc), Some("test"));
    for key in ["num", "str", "dtrn"] {
        assert_eq!(element.attribute(&doc, key), None);
    }
    assert_eq!(element.attributes(&doc), Vec::<String>::new());
}

#[test]
fn an_attribute_is_set_and_removed_everywhere() {
    let mut network = Network::new(2, 1);
    let xml = network.xml(0);
    let ten = Some(Value::Any(Any::from("10")));
    network.edit(0, |transaction| xml.set_attribute(transaction, "height", "10"));
    assert_eq!(attribute(&network, 0, "height"), ten);
    assert_eq!(attribute(&network, 1, "height"), None);
    network.deliver_all();
    assert_eq!(attribute(&network, 1, "height"), ten);
    assert!(network.edit(0, |transaction| Ok(xml.remove_attribute(transaction, "height"))));
    assert_eq!(attribute(&network, 0, "height"), None);
    assert_eq!(attribute(&network, 1, "height"), ten);
    network.deliver_all();
    assert_eq!(attribute(&network, 1, "height"), None);
    network.converge();
}

#[test]
fn attributes_and_children_that_change_are_heard_everywhere() {
    let mut network = Network::new(2, 2);
    let xml = network.xml(0);
    for at in 0..2 {
        let xml = network.xml(at);
        network.listen(at, |doc| doc.observe(xml));
    }
    let mut edit = |edit: &dyn Fn(&mut Transaction<'_>) -> Result<(), Error>, expected: Json| {
        network.edit(0, edit);
        for at in 0..2 {
            network.deliver_all();
            let heard = network.heard(at);
            let heard: Json = heard.iter().map(|heard| events(network.doc(at), heard)).collect();
            assert_eq!(heard, json!([[expected]]), "replica {at}");
        }
    };
    edit(
        &|transaction| xml.set_attribute(transaction, "key", "value"),
        json!({ "path": [], "keys": { "key": { "action": "add" } } }),
    );
    edit(
        &|transaction| {
            assert!(xml.remove_attribute(transaction, "key"));
            Ok(())
        },
        json!({ "path": [], "keys": { "key": { "action": "delete", "oldValue": "value" } } }),
    );
    edit(
        &|transaction| {
            xml.insert(transaction, 0, vec![New::XmlText])?;
            let child = xml.get(transaction.doc(), 0);
            let Some(Value::Shared(Shared::Text(text))) = child else {
                panic!("{child:?} is no text")
            };
            text.insert(transaction, 0, "some text")
        },
        json!({ "path": [], "delta": [{ "insert": ["some text"] }] }),
    );
    edit(
        &|transaction| xml.delete(transaction, 0, 1),
        json!({ "path": [], "delta": [{ "delete": 1 }] }),
    );
    network.converge();
}

#[test]
fn a_text_has_attributes_as_a_whole() {
    let mut doc = doc(1);
    let text = doc.text("");
    let watch = doc.observe(text);
    let mut transaction = doc.transact();
    text.set_attribute(&mut transaction, "test", 42).unwrap();
    let commit = transaction.commit();
    let expected = json!([{ "path": [], "keys": { "test": { "action": "add" } } }]);
    assert_eq!(events(commit.doc(), commit.events(watch)), expected);
    assert_eq!(text.attribute(&doc, "test"), Some(Value::Any(Any::from(42))));
    assert_eq!(text.attribute(&doc, "other"), None);
    assert_eq!(delta(&doc, text), json!([]), "they are no formats");
}

#[test]
fn formats_of_empty_objects_end_where_they_should() {
    let mut doc = doc(1);
    let text = doc.text("");
    let change = json!([
        { "insert": "A", "attributes": { "em": {}, "strong": {} } },
        { "insert": "B", "attributes": { "em": {} } },
        { "insert": "C", "attributes": { "em": {}, "strong": {} } },
    ]);
    let mut transaction = doc.transact();
    text.apply_delta(&mut transaction, &steps(change.clone())).unwrap();
    transaction.commit();
    assert_eq!(delta(&doc, text), change);
}

#[test]
fn children_are_read_as_they_were_inserted() {
    let mut doc = doc(1);
    let xml = doc.xml("");
    let mut transaction = doc.transact();
    xml.insert(&mut transaction, 0, vec![New::XmlText, New::XmlText]).unwrap();
    for (at, content) in ["text1", "text2"].into_iter().enumerate() {
        let child = xml.get(transaction.doc(), u32::try_from(at).unwrap());
        let Some(Value::Shared(Shared::Text(text))) = child else { panic!("{child:?} is no text") };
        text.insert(&mut transaction, 0, content).unwrap();
    }
    transaction.commit();
    assert_eq!(xml.to_xml(&doc), "text1text2");
    let read: Vec<Option<Value>> = (0..3).map(|at| xml.get(&doc, at)).collect();
    let children: Vec<Value> = xml.children(&doc);
    assert_eq!(children.len(), 2);
    assert_eq!(read, [Some(children[0].clone()), Some(children[1].clone()), None]);
}
