//! XML: Yjs's `y-xml.tests.js`.

use crdt::{Any, Doc, Error, New, Shared, Transaction, Value, Xml};
use serde_json::{Value as Json, json};

use crate::json::{content, delta, doc, events, object, steps};
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

/// An element to be inserted.
fn element(name: &str) -> New {
    New::XmlElement(name.to_owned())
}

/// A child, which is a type.
fn child(doc: &Doc, parent: Xml, index: u32) -> Shared {
    match parent.get(doc, index) {
        Some(Value::Shared(child)) => child,
        other => panic!("{other:?} is no child"),
    }
}

/// A child, which is an element.
fn child_element(doc: &Doc, parent: Xml, index: u32) -> Xml {
    match child(doc, parent, index) {
        Shared::Xml(xml) => xml,
        other => panic!("{other:?} is no element"),
    }
}

#[test]
fn elements_are_found_by_name_at_any_depth_in_their_order() {
    let mut network = Network::new(3, 3);
    let xml = network.xml(0);
    network.edit(0, |transaction| {
        xml.insert(transaction, 0, vec![element("p"), element("p"), element("img")])?;
        let first = child_element(transaction.doc(), xml, 0);
        first.insert(transaction, 0, vec![New::XmlText, New::XmlText])
    });
    let doc = network.doc(0);
    let (first, second) = (child_element(doc, xml, 0), child_element(doc, xml, 1));
    assert_eq!(xml.elements(doc, "p").collect::<Vec<Xml>>(), [first, second]);
    assert_eq!(xml.elements(doc, "P").next(), Some(first));
    assert_eq!(xml.elements(doc, "div").next(), None);
    let everything = [
        first.into(),
        child(doc, first, 0),
        child(doc, first, 1),
        second.into(),
        child(doc, xml, 2),
    ];
    assert_eq!(xml.descendants(doc).collect::<Vec<Shared>>(), everything);
    // What is deleted is passed over with all that is in it; the walk ends with the element it began in.
    network.edit(0, |transaction| {
        second.insert(transaction, 0, vec![element("p")])?;
        xml.delete(transaction, 0, 1)
    });
    let doc = network.doc(0);
    let inner = child_element(doc, second, 0);
    assert_eq!(xml.elements(doc, "p").collect::<Vec<Xml>>(), [second, inner]);
    assert_eq!(second.descendants(doc).collect::<Vec<Shared>>(), [inner.into()]);
    assert_eq!(inner.descendants(doc).next(), None);
    network.converge();
}

#[test]
fn siblings_and_parents_are_found() {
    let mut doc = doc(1);
    let xml = doc.xml("");
    let mut transaction = doc.transact();
    xml.insert(&mut transaction, 0, vec![New::XmlText, element("p")]).unwrap();
    transaction.commit();
    let (first, second) = (child(&doc, xml, 0), child(&doc, xml, 1));
    assert_eq!(first.next_sibling(&doc), Some(second));
    assert_eq!(second.previous_sibling(&doc), Some(first));
    assert_eq!((first.previous_sibling(&doc), second.next_sibling(&doc)), (None, None));
    assert_eq!(first.parent(&doc), Some(xml.into()));
    assert_eq!(Shared::from(xml).parent(&doc), None);
    assert_eq!(xml.first_child(&doc), Some(first));
    // What is deleted stands between others, and has none itself.
    let mut transaction = doc.transact();
    xml.insert(&mut transaction, 1, vec![element("gone")]).unwrap();
    transaction.commit();
    let gone = child(&doc, xml, 1);
    assert_eq!(gone.next_sibling(&doc), Some(second));
    let mut transaction = doc.transact();
    xml.delete(&mut transaction, 1, 1).unwrap();
    transaction.commit();
    assert_eq!(first.next_sibling(&doc), Some(second));
    assert_eq!((gone.next_sibling(&doc), gone.parent(&doc)), (None, None));
}

#[test]
fn children_are_inserted_behind_others() {
    let mut doc = doc(1);
    let xml = doc.xml("");
    let mut transaction = doc.transact();
    xml.insert_after(&mut transaction, None, vec![New::XmlText, element("p")]).unwrap();
    let second = child_element(transaction.doc(), xml, 1);
    second.insert_after(&mut transaction, None, vec![element("span")]).unwrap();
    let span = child(transaction.doc(), second, 0);
    second.insert_after(&mut transaction, Some(span), vec![New::XmlText]).unwrap();
    xml.insert_after(&mut transaction, Some(second.into()), vec![element("b")]).unwrap();
    let third = child_element(transaction.doc(), xml, 2);
    let refused = third.insert_after(&mut transaction, Some(span), vec![New::XmlText]);
    assert_eq!(refused, Err(Error::Gone), "it is another's child");
    transaction.commit();
    assert_eq!(xml.to_xml(&doc), "<p><span></span></p><b></b>");
    assert_eq!((xml.len(&doc), second.len(&doc), third.len(&doc)), (3, 2, 0));
    assert_eq!(child(&doc, second, 0), span);
    assert!(matches!(child(&doc, second, 1), Shared::Text(_)));
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

/// The hexadecimal digits of a state.
fn state(doc: &Doc) -> String {
    doc.state_v1().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[test]
fn a_copy_has_all_that_is_in_a_fragment() {
    let mut doc = doc(0);
    let (xml, copies) = (doc.xml(""), doc.array("copies"));
    let mut transaction = doc.transact();
    xml.insert(&mut transaction, 0, vec![New::XmlText]).unwrap();
    let Shared::Text(text) = child(transaction.doc(), xml, 0) else { panic!("a text") };
    text.insert(&mut transaction, 0, "text").unwrap();
    xml.insert(&mut transaction, 1, vec![element("p"), element("p")]).unwrap();
    let first = child_element(transaction.doc(), xml, 1);
    first.set_attribute(&mut transaction, "id", "one").unwrap();
    first.insert(&mut transaction, 0, vec![element("b")]).unwrap();
    text.format(&mut transaction, 0, 2, &object(json!({ "em": {} }))).unwrap();
    let Ok(Shared::Xml(copy)) = copies.insert_copy(&mut transaction, 0, xml) else {
        panic!("a fragment was copied")
    };
    transaction.commit();
    let written = "<em>te</em>xt<p id=\"one\"><b></b></p><p></p>";
    assert_eq!((xml.to_xml(&doc), copy.to_xml(&doc)), (written.to_owned(), written.to_owned()));
    assert_eq!(copy.len(&doc), 3);
    assert_eq!(Shared::from(copy).parent(&doc), Some(copies.into()));
    // The state that Yjs has after the same edits.
    let expected = "0113000007010006040000000274658400020278748700000301708700050301702800000502\
        69640177036f6e650700000503016246000102656d027b7dc60002000302656d046e756c6c07\
        0106636f70696573040700000b060600000c02656d027b7d84000d02746586000f02656d046e\
        756c6c84001002787487000c03017007000013030162280000130269640177036f6e65870013\
        03017000";
    assert_eq!(state(&doc), expected);
}

#[test]
fn lists_and_maps_are_copied_beside_and_into_themselves() {
    let mut doc = doc(0);
    let (array, map) = (doc.array("a"), doc.map("m"));
    let mut transaction = doc.transact();
    let bytes = Any::Bytes(vec![7]);
    let elements = vec![1.into(), "two".into(), New::Map, 3.into(), New::Any(bytes)];
    array.insert(&mut transaction, 0, elements).unwrap();
    let source = array.get(transaction.doc(), 2).unwrap().as_map().unwrap();
    source.insert(&mut transaction, "k", "v").unwrap();
    let inner = source.insert_array(&mut transaction, "inner").unwrap();
    inner.insert(&mut transaction, 0, vec![true.into(), New::Any(Any::Null)]).unwrap();
    source.insert_text(&mut transaction, "t").unwrap().insert(&mut transaction, 0, "x").unwrap();
    source.insert(&mut transaction, "gone", 1).unwrap();
    assert!(source.remove(&mut transaction, "gone"));
    array.insert_copy(&mut transaction, 5, array).unwrap();
    map.insert_copy(&mut transaction, "copy", source).unwrap();
    transaction.commit();
    let copied = json!({ "k": "v", "inner": [true, null], "t": "x" });
    let list = json!([1, "two", copied, 3, [7]]);
    let mut both = list.clone();
    both.as_array_mut().unwrap().push(list);
    assert_eq!(content(&doc, array), both);
    assert_eq!(content(&doc, map), json!({ "copy": copied }));
    // The state that Yjs has after the same edits.
    let expected = "011a000008010161027d01770374776f87000101880002017d03830003010728000002016b01\
        7701762700000205696e6e6572000800000602787e2700000201740204000009017821000002\
        04676f6e6501870004000800000c027d01770374776f87000e012800000f016b017701762700\
        000f05696e6e6572000800001102787e2700000f01740204000014017888000f017d03830016\
        01072701016d04636f70790128000018016b017701762700001805696e6e6572000800001a02\
        787e270000180174020400001d01780100010b01";
    assert_eq!(state(&doc), expected);
    let mut transaction = doc.transact();
    array.delete(&mut transaction, 2, 1).unwrap();
    assert_eq!(map.insert_copy(&mut transaction, "gone", source), Err(Error::Gone));
    transaction.commit();
}
