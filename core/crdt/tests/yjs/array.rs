//! Arrays: Yjs's `y-array.tests.js`.

use crdt::{Any, Array, Doc, Error, New, Shared, Transaction, Value};
use serde_json::{Value as Json, json};

use crate::json::{content, doc, events, values};
use crate::network::{Edit, Network, edit_at_random};

/// What the arrays of all replicas show.
fn arrays(network: &Network) -> Vec<Json> {
    (0..network.len()).map(|at| content(network.doc(at), network.array(at))).collect()
}

/// Inserts plain values into the array of a replica.
fn insert(network: &mut Network, at: usize, index: u32, elements: Json) {
    let array = network.array(at);
    network.edit(at, |transaction| array.insert(transaction, index, values(elements)));
}

/// Deletes from the array of a replica.
fn delete(network: &mut Network, at: usize, index: u32, len: u32) {
    let array = network.array(at);
    network.edit(at, |transaction| array.delete(transaction, index, len));
}

/// Replicas whose arrays start with the same values.
fn network_of(replicas: usize, seed: u64, elements: Json) -> Network {
    let mut network = Network::new(replicas, seed);
    insert(&mut network, 0, 0, elements);
    network.deliver_all();
    network
}

#[test]
fn a_state_brings_an_array_to_another_document() {
    let (mut ours, mut theirs) = (doc(1), doc(2));
    let array = ours.array("array");
    let mut transaction = ours.transact();
    array.insert(&mut transaction, 0, values(json!(["hi"]))).unwrap();
    transaction.commit();
    theirs.apply_v1(&ours.state_v1()).unwrap();
    let array = theirs.array("array");
    assert_eq!(content(&theirs, array), json!(["hi"]));
}

#[test]
fn a_slice_has_the_elements_of_its_range() {
    let mut doc = doc(1);
    let array = doc.array("array");
    let mut transaction = doc.transact();
    array.insert(&mut transaction, 0, values(json!([1, 2, 3]))).unwrap();
    transaction.commit();
    let numbers = |values: Vec<Value>| -> Vec<f64> {
        values.iter().map(|value| value.as_f64().unwrap()).collect()
    };
    assert_eq!(numbers(array.slice(&doc, ..)), [1.0, 2.0, 3.0]);
    assert_eq!(numbers(array.slice(&doc, 1..)), [2.0, 3.0]);
    assert_eq!(numbers(array.slice(&doc, ..array.len(&doc) - 1)), [1.0, 2.0]);
    let mut transaction = doc.transact();
    array.insert(&mut transaction, 0, values(json!([0]))).unwrap();
    transaction.commit();
    assert_eq!(numbers(array.slice(&doc, ..)), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(numbers(array.slice(&doc, 0..2)), [0.0, 1.0]);
    // Deleted elements are passed over; a range may go past the end.
    let mut transaction = doc.transact();
    array.delete(&mut transaction, 2, 1).unwrap();
    transaction.commit();
    assert_eq!(numbers(array.slice(&doc, 1..=2)), [1.0, 3.0]);
    assert_eq!(numbers(array.slice(&doc, 2..9)), [3.0]);
    assert_eq!(numbers(array.slice(&doc, 3..)), [0.0; 0]);
    assert_eq!(numbers(array.slice(&doc, 9..)), [0.0; 0]);
}

#[test]
fn an_array_put_under_a_key_holds_what_is_put_into_it() {
    let mut doc = doc(1);
    let root = doc.map("root");
    let mut transaction = doc.transact();
    let array = root.insert_array(&mut transaction, "array").unwrap();
    array.insert(&mut transaction, 0, values(json!([0, 1, 2]))).unwrap();
    transaction.commit();
    assert_eq!(content(&doc, array), json!([0, 1, 2]));
    assert_eq!(content(&doc, root), json!({ "array": [0, 1, 2] }));
}

#[test]
fn the_length_follows_deletions_and_insertions_between_each_other() {
    let mut doc = doc(1);
    let array = doc.array("array");
    let mut transaction = doc.transact();
    let replace = |transaction: &mut Transaction<'_>, index: u32| {
        for elements in [None, Some(json!([index]))] {
            match elements {
                None => array.delete(transaction, index, 1).unwrap(),
                Some(elements) => array.insert(transaction, index, values(elements)).unwrap(),
            }
            let shown = array.read(transaction.doc()).len();
            assert_eq!(array.len(transaction.doc()) as usize, shown, "at {index}");
        }
    };
    array.push(&mut transaction, values(json!([0, 1, 2, 3]))).unwrap();
    replace(&mut transaction, 0);
    transaction.commit();
    let mut transaction = doc.transact();
    replace(&mut transaction, 1);
    replace(&mut transaction, 2);
    transaction.commit();
    let mut transaction = doc.transact();
    replace(&mut transaction, 1);
    transaction.commit();
    assert_eq!(content(&doc, array), json!([0, 1, 2, 3]));
}

#[test]
fn an_index_past_the_end_is_refused_and_leaves_the_transaction_usable() {
    let mut doc = doc(0);
    let array = doc.array("");
    let one = |doc: &mut Doc, index: u32, name: &str| {
        let mut transaction = doc.transact();
        array.insert(&mut transaction, index, vec![New::from(name)]).unwrap();
        transaction.commit();
    };
    one(&mut doc, 0, "group2");
    one(&mut doc, 1, "rectangle3");
    let mut transaction = doc.transact();
    array.delete(&mut transaction, 0, 1).unwrap();
    array.insert(&mut transaction, 0, vec!["rectangle3".into()]).unwrap();
    transaction.commit();
    let mut transaction = doc.transact();
    array.delete(&mut transaction, 1, 1).unwrap();
    transaction.commit();
    one(&mut doc, 1, "ellipse4");
    one(&mut doc, 2, "ellipse3");
    one(&mut doc, 3, "ellipse2");
    let mut transaction = doc.transact();
    let refused = array.insert(&mut transaction, 5, vec!["rectangle2".into()]);
    assert_eq!(refused, Err(Error::OutOfBounds { index: 5, len: 4 }));
    array.insert(&mut transaction, 4, vec!["rectangle2".into()]).unwrap();
    array.delete(&mut transaction, 4, 1).unwrap();
    transaction.commit();
    assert_eq!(content(&doc, array), json!(["rectangle3", "ellipse4", "ellipse3", "ellipse2"]));
    // The state that Yjs has after the same edits.
    let expected = b"\x01\x03\x00\x00\x01\x01\x00\x02\x48\x00\x00\x04\
        w\x0arectangle3w\x08ellipse4w\x08ellipse3w\x08ellipse2\
        \xc1\x00\x05\x00\x00\x01\x01\x00\x02\x00\x02\x06\x01";
    assert_eq!(doc.state_v1(), expected);
}

#[test]
fn deleting_nothing_is_fine_where_a_position_is_and_deleting_past_the_end_is_not() {
    let mut network = Network::new(2, 1);
    delete(&mut network, 0, 0, 0);
    let array = network.array(0);
    let refused = network.edit(0, |transaction| Ok(array.delete(transaction, 1, 1)));
    assert_eq!(refused, Err(Error::OutOfBounds { index: 2, len: 0 }));
    insert(&mut network, 0, 0, json!(["A"]));
    delete(&mut network, 0, 1, 0);
    network.converge();
    assert_eq!(arrays(&network), vec![json!(["A"]); 2]);
}

#[test]
fn elements_of_several_kinds_are_the_same_after_they_were_sent() {
    let mut network = Network::new(2, 2);
    insert(&mut network, 0, 0, json!([1, true, false]));
    assert_eq!(arrays(&network), [json!([1, true, false]), json!([])]);
    network.deliver_all();
    assert_eq!(arrays(&network), vec![json!([1, true, false]); 2]);
    network.converge();
}

#[test]
fn insertions_of_three_replicas_at_one_place_stand_in_the_order_of_their_clients() {
    let mut network = Network::new(3, 3);
    for at in 0..3 {
        insert(&mut network, at, 0, json!([at]));
    }
    network.converge();
    assert_eq!(arrays(&network), vec![json!([0, 1, 2]); 3]);
}

#[test]
fn insertions_and_deletions_at_one_place_both_hold() {
    let mut network = network_of(3, 4, json!(["x", "y", "z"]));
    insert(&mut network, 0, 1, json!([0]));
    delete(&mut network, 1, 0, 1);
    delete(&mut network, 1, 1, 1);
    insert(&mut network, 2, 1, json!([2]));
    network.converge();
    assert_eq!(arrays(&network), vec![json!([0, 2, "y"]); 3]);
}

#[test]
fn insertions_made_offline_find_their_place() {
    let mut network = network_of(3, 5, json!(["x", "y"]));
    network.disconnect(1);
    network.disconnect(2);
    for at in 0..3 {
        insert(&mut network, at, 1, json!([format!("user{at}")]));
    }
    network.connect(1);
    network.connect(2);
    network.deliver_all();
    assert_eq!(arrays(&network), vec![json!(["x", "user0", "user1", "user2", "y"]); 3]);
    network.converge();
}

#[test]
fn nothing_reaches_a_replica_that_is_offline() {
    let mut network = network_of(3, 6, json!(["x", "y"]));
    network.disconnect(1);
    network.disconnect(2);
    insert(&mut network, 0, 1, json!(["user0"]));
    insert(&mut network, 1, 1, json!(["user1"]));
    network.deliver_all();
    let expected = [json!(["x", "user0", "y"]), json!(["x", "user1", "y"]), json!(["x", "y"])];
    assert_eq!(arrays(&network), expected);
    network.connect(1);
    network.connect(2);
    network.converge();
    assert_eq!(arrays(&network), vec![json!(["x", "user0", "user1", "y"]); 3]);
}

#[test]
fn deletions_made_offline_are_taken_over() {
    let mut network = network_of(2, 7, json!(["x", "y"]));
    network.disconnect(1);
    delete(&mut network, 1, 1, 1);
    delete(&mut network, 0, 0, 2);
    network.connect(1);
    network.converge();
    assert_eq!(arrays(&network), vec![json!([]); 2]);
}

#[test]
fn one_deletion_of_everything_reaches_a_replica_that_was_offline() {
    let mut network = network_of(2, 8, json!(["x", "y", "z"]));
    network.disconnect(0);
    delete(&mut network, 1, 0, 3);
    assert_eq!(arrays(&network), [json!(["x", "y", "z"]), json!([])]);
    network.connect(0);
    network.converge();
    assert_eq!(arrays(&network), vec![json!([]); 2]);
}

#[test]
fn what_was_deleted_offline_is_collected_everywhere() {
    let mut network = network_of(3, 9, json!(["x", "y", "z"]));
    network.disconnect(0);
    delete(&mut network, 0, 0, 3);
    network.connect(0);
    network.deliver_all();
    for at in 0..3 {
        // Client 0, clock 0, a root's list "array": three deleted units and nothing of what they were.
        let expected = b"\x01\x01\x00\x00\x01\x01\x05array\x03\x01\x00\x01\x00\x03";
        assert_eq!(network.doc(at).state_v1(), expected, "replica {at}");
    }
    network.converge();
}

#[test]
fn maps_in_an_array_are_read_in_order() {
    let mut doc = doc(1);
    let array = doc.array("arr");
    for number in 0..10 {
        let mut transaction = doc.transact();
        let len = array.len(transaction.doc());
        let Shared::Map(map) = array.insert_map(&mut transaction, len).unwrap() else {
            panic!("a map was inserted")
        };
        map.insert(&mut transaction, "value", f64::from(number)).unwrap();
        transaction.commit();
    }
    let read: Vec<f64> = array
        .read(&doc)
        .iter()
        .map(|element| element.as_map().unwrap().get(&doc, "value").unwrap().as_f64().unwrap())
        .collect();
    assert_eq!(read, (0..10).map(f64::from).collect::<Vec<f64>>());
}

/// Lets a replica hear what changes in its array.
fn listen(network: &mut Network, at: usize) {
    let array = network.array(at);
    network.listen(at, |doc| doc.observe(array));
}

/// Takes what a replica heard, commit by commit.
fn heard(network: &mut Network, at: usize) -> Json {
    let heard = network.heard(at);
    heard.iter().map(|heard| events(network.doc(at), heard)).collect()
}

/// The events of one commit that changed nothing but the elements of the observed array.
fn changed(delta: Json) -> Json {
    let mut event = json!({ "path": [] });
    event["delta"] = delta;
    json!([[event]])
}

#[test]
fn each_insertion_and_deletion_is_heard() {
    let mut network = Network::new(2, 10);
    listen(&mut network, 0);
    insert(&mut network, 0, 0, json!([0, 1, 2]));
    assert_eq!(heard(&mut network, 0), changed(json!([{ "insert": [0, 1, 2] }])));
    delete(&mut network, 0, 0, 1);
    assert_eq!(heard(&mut network, 0), changed(json!([{ "delete": 1 }])));
    delete(&mut network, 0, 0, 2);
    assert_eq!(heard(&mut network, 0), changed(json!([{ "delete": 2 }])));
    network.converge();
    assert_eq!(heard(&mut network, 0), json!([]));
}

#[test]
fn who_hears_of_a_change_may_make_the_next() {
    let mut network = Network::new(2, 11);
    listen(&mut network, 0);
    insert(&mut network, 0, 0, json!([0]));
    assert_eq!(heard(&mut network, 0), changed(json!([{ "insert": [0] }])));
    insert(&mut network, 0, 1, json!([1]));
    assert_eq!(heard(&mut network, 0), changed(json!([{ "retain": 1 }, { "insert": [1] }])));
    network.converge();
    assert_eq!(arrays(&network), vec![json!([0, 1]); 2]);
}

#[test]
fn a_shared_type_that_comes_and_goes_is_heard() {
    let mut network = Network::new(2, 12);
    let array = network.array(0);
    listen(&mut network, 0);
    network.edit(0, |transaction| array.insert(transaction, 0, vec![New::Array]));
    assert_eq!(heard(&mut network, 0), changed(json!([{ "insert": [[]] }])));
    delete(&mut network, 0, 0, 1);
    assert_eq!(heard(&mut network, 0), changed(json!([{ "delete": 1 }])));
    network.edit(0, |transaction| array.insert(transaction, 0, vec!["hi".into(), New::Map]));
    assert_eq!(heard(&mut network, 0), changed(json!([{ "insert": ["hi", {}] }])), "one event");
    delete(&mut network, 0, 1, 1);
    assert_eq!(heard(&mut network, 0), changed(json!([{ "retain": 1 }, { "delete": 1 }])));
    network.converge();
}

#[test]
fn the_delta_says_what_came_and_went() {
    let mut network = Network::new(2, 13);
    let array = network.array(0);
    listen(&mut network, 0);
    network.edit(0, |transaction| {
        array.insert(transaction, 0, vec![New::Array, 4.into(), "dtrn".into()])
    });
    assert_eq!(heard(&mut network, 0), changed(json!([{ "insert": [[], 4, "dtrn"] }])));
    delete(&mut network, 0, 0, 2);
    assert_eq!(heard(&mut network, 0), changed(json!([{ "delete": 2 }])));
    insert(&mut network, 0, 1, json!([0.1]));
    assert_eq!(heard(&mut network, 0), changed(json!([{ "retain": 1 }, { "insert": [0.1] }])));
    network.converge();
}

#[test]
fn events_of_outer_types_come_before_those_of_inner_ones() {
    let mut network = Network::new(2, 14);
    let array = network.array(0);
    network.listen(0, |doc| doc.observe_deep(array));
    network.edit(0, |transaction| array.insert(transaction, 0, vec![New::Map]));
    let map = array.get(network.doc(0), 0).unwrap().as_map().unwrap();
    assert_eq!(heard(&mut network, 0), changed(json!([{ "insert": [{}] }])));
    network.edit(0, |transaction| {
        map.insert(transaction, "a", "a")?;
        array.insert(transaction, 0, vec![0.into()])
    });
    // The inner one's path is where it is after the insertion before it.
    let expected = json!([[
        { "path": [], "delta": [{ "insert": [0] }] },
        { "path": [1], "keys": { "a": { "action": "add" } } },
    ]]);
    assert_eq!(heard(&mut network, 0), expected);
}

#[test]
fn the_path_counts_elements_not_items() {
    let mut doc = doc(1);
    let root = doc.map("");
    let mut transaction = doc.transact();
    let array = root.insert_array(&mut transaction, "my-array").unwrap();
    transaction.commit();
    let mut transaction = doc.transact();
    let elements = vec!["a".into(), "b".into(), "c".into(), New::Map];
    array.push(&mut transaction, elements).unwrap();
    transaction.commit();
    let watch = doc.observe_deep(root);
    let map = array.get(&doc, 3).unwrap().as_map().unwrap();
    let mut transaction = doc.transact();
    map.insert(&mut transaction, "hello", "world").unwrap();
    let commit = transaction.commit();
    let expected = json!([{ "path": ["my-array", 3], "keys": { "hello": { "action": "add" } } }]);
    assert_eq!(events(commit.doc(), commit.events(watch)), expected);
}

#[test]
fn a_type_made_in_the_transaction_has_no_event_of_its_own() {
    let mut network = Network::new(2, 15);
    let array = network.array(0);
    network.listen(0, |doc| doc.observe_deep(array));
    network.edit(0, |transaction| {
        array.insert(transaction, 0, vec![New::Map])?;
        let map = array.get(transaction.doc(), 0).unwrap().as_map().unwrap();
        map.insert(transaction, "tst", 42)
    });
    assert_eq!(heard(&mut network, 0), changed(json!([{ "insert": [{ "tst": 42 }] }])));
}

#[test]
fn the_target_of_an_event_is_the_array_whoever_changed_it() {
    let mut network = Network::new(3, 16);
    let target = Shared::from(network.array(0));
    listen(&mut network, 0);
    for at in 0..3 {
        insert(&mut network, at, 0, json!(["stuff"]));
        network.deliver_all();
        let [heard] = &network.heard(0)[..] else { panic!("one commit") };
        let [event] = &heard[..] else { panic!("one event") };
        assert_eq!(event.target, target, "by replica {at}");
    }
    network.converge();
}

/// Changes the array of a replica and holds it against a model.
fn against_a_model(
    network: &mut Network,
    at: usize,
    change: impl FnOnce(&mut Transaction<'_>, Array, &mut Vec<Value>) -> Result<(), Error>,
) {
    let array = network.array(at);
    network.edit(at, |transaction| {
        let mut model = array.read(transaction.doc());
        change(transaction, array, &mut model)?;
        assert!(array.read(transaction.doc()) == model, "the array differs from its model");
        assert_eq!(array.len(transaction.doc()) as usize, model.len());
        Ok(())
    });
}

/// An index of an array at which something can be inserted.
fn place(network: &mut Network, at: usize) -> u32 {
    let len = network.array(at).len(network.doc(at));
    network.random.below(len + 1)
}

fn insert_numbers(network: &mut Network, at: usize) {
    let index = place(network, at);
    let (number, count) = (network.random.below(1 << 30), 1 + network.random.below(4));
    against_a_model(network, at, |transaction, array, model| {
        let elements = vec![Any::from(number); count as usize];
        let shown = elements.iter().cloned().map(Value::Any);
        model.splice(index as usize..index as usize, shown);
        array.insert(transaction, index, elements.into_iter().map(New::Any).collect())
    });
}

fn insert_array(network: &mut Network, at: usize) {
    let index = place(network, at);
    against_a_model(network, at, |transaction, array, model| {
        array.insert(transaction, index, vec![New::Array])?;
        let element = array.get(transaction.doc(), index).unwrap();
        let Value::Shared(Shared::Array(inner)) = element else {
            panic!("{element:?} is no array")
        };
        model.insert(index as usize, element);
        inner.insert(transaction, 0, values(json!([1, 2, 3, 4])))?;
        assert_eq!(content(transaction.doc(), inner), json!([1, 2, 3, 4]));
        Ok(())
    });
}

fn insert_map(network: &mut Network, at: usize) {
    let index = place(network, at);
    against_a_model(network, at, |transaction, array, model| {
        array.insert(transaction, index, vec![New::Map])?;
        let element = array.get(transaction.doc(), index).unwrap();
        let map = element.as_map().unwrap();
        model.insert(index as usize, element);
        for number in [42, 43, 44] {
            map.insert(transaction, "someprop", number)?;
        }
        assert_eq!(content(transaction.doc(), map), json!({ "someprop": 44 }));
        Ok(())
    });
}

fn insert_null(network: &mut Network, at: usize) {
    let index = place(network, at);
    against_a_model(network, at, |transaction, array, model| {
        model.insert(index as usize, Value::Any(Any::Null));
        array.insert(transaction, index, vec![New::Any(Any::Null)])
    });
}

/// Deletes one or two elements, or as many of an array inside.
fn delete_some(network: &mut Network, at: usize) {
    let len = network.array(at).len(network.doc(at));
    if len == 0 {
        return;
    }
    let index = network.random.below(len);
    let inside = network.random.chance(50);
    let (first, count) = (network.random.below(4), 1 + network.random.below(2));
    against_a_model(network, at, |transaction, array, model| {
        if !inside {
            let count = count.min(len - index);
            model.drain(index as usize..(index + count) as usize);
            return array.delete(transaction, index, count);
        }
        let Some(Value::Shared(Shared::Array(inner))) = array.get(transaction.doc(), index) else {
            return Ok(());
        };
        let mut expected = inner.read(transaction.doc());
        let len = inner.len(transaction.doc());
        let first = first.min(len);
        let count = count.min(len - first);
        expected.drain(first as usize..(first + count) as usize);
        inner.delete(transaction, first, count)?;
        assert_eq!(inner.read(transaction.doc()), expected);
        Ok(())
    });
}

const EDITS: [Edit; 5] = [insert_numbers, insert_array, insert_map, insert_null, delete_some];

#[test]
fn random_edits_converge() {
    for (seed, edits) in
        [6, 40, 42, 43, 44, 45, 46, 300, 400, 500, 600, 1000, 1800].into_iter().enumerate()
    {
        edit_at_random(seed as u64, edits, &EDITS);
    }
}

#[test]
#[ignore = "takes long"]
fn many_random_edits_converge() {
    for edits in [3000, 5000, 30_000] {
        edit_at_random(edits as u64, edits, &EDITS);
    }
}
