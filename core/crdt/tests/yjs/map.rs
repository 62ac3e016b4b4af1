//! Maps: Yjs's `y-map.tests.js`.

use crdt::{Any, Doc, New, Value};
use serde_json::{Value as Json, json};

use crate::json::{any, content, doc, shown};
use crate::network::{Edit, Network, edit_at_random};

/// What the maps of all replicas show.
fn maps(network: &Network) -> Vec<Json> {
    (0..network.len()).map(|at| content(network.doc(at), network.map(at))).collect()
}

/// Sets a key of the map of a replica.
fn set(network: &mut Network, at: usize, key: &str, value: impl Into<New>) {
    let map = network.map(at);
    network.edit(at, |transaction| map.insert(transaction, key, value));
}

/// Removes a key from the map of a replica; returns whether it was there.
fn remove(network: &mut Network, at: usize, key: &str) -> bool {
    let map = network.map(at);
    network.edit(at, |transaction| Ok(map.remove(transaction, key)))
}

/// How many keys the map of a replica has.
fn len(network: &Network, at: usize) -> usize {
    network.map(at).keys(network.doc(at)).len()
}

/// Empties the map of a replica.
fn clear(network: &mut Network, at: usize) {
    let map = network.map(at);
    network.edit(at, |transaction| {
        for key in map.keys(transaction.doc()) {
            map.remove(transaction, &key);
        }
        Ok(())
    });
}

/// The value of a key as JSON; `None` if there is none.
fn get(network: &Network, at: usize, key: &str) -> Option<Json> {
    let value = network.map(at).get(network.doc(at), key)?;
    Some(shown(network.doc(at), &value))
}

#[test]
fn a_map_has_its_keys_in_the_order_in_which_they_came() {
    let mut doc = doc(1);
    let map = doc.map("");
    assert_eq!(map.keys(&doc), Vec::<String>::new());
    let mut transaction = doc.transact();
    for key in ["b", "a", "c"] {
        map.insert(&mut transaction, key, key).unwrap();
    }
    map.remove(&mut transaction, "a");
    transaction.commit();
    assert_eq!(map.keys(&doc), ["b", "c"]);
    let entries: Vec<(String, Option<Value>)> =
        map.keys(&doc).into_iter().map(|key| (key.clone(), map.get(&doc, &key))).collect();
    let expected = ["b", "c"].map(|key| (key.to_owned(), Some(Value::Any(Any::from(key)))));
    assert_eq!(entries, expected);
}

#[test]
fn a_map_under_a_key_takes_the_entries_of_others() {
    let mut network = Network::new(1, 1);
    let map = network.map(0);
    network.edit(0, |transaction| {
        let first = map.insert_map(transaction, "m1")?;
        first.insert(transaction, "number", 1.0)?;
        first.insert(transaction, "string", "hello")?;
        let second = map.insert_map(transaction, "m2")?;
        second.insert(transaction, "object", any(json!({ "x": 1 })))?;
        second.insert(transaction, "boolean", true)?;
        let third = map.insert_map(transaction, "m3")?;
        for source in [first, second] {
            for key in source.keys(transaction.doc()) {
                let Some(Value::Any(value)) = source.get(transaction.doc(), &key) else {
                    panic!("{key} has a plain value")
                };
                third.insert(transaction, &key, value)?;
            }
        }
        Ok(())
    });
    let first = json!({ "number": 1, "string": "hello" });
    let second = json!({ "object": { "x": 1 }, "boolean": true });
    let third = json!({ "number": 1, "string": "hello", "object": { "x": 1 }, "boolean": true });
    assert_eq!(content(network.doc(0), map), json!({ "m1": first, "m2": second, "m3": third }));
}

#[test]
fn values_of_all_kinds_reach_those_who_are_there_and_those_who_come_back() {
    let mut network = Network::new(3, 2);
    network.disconnect(2);
    let plain = json!({
        "null": null,
        "number": 1,
        "string": "hello Y",
        "object": { "key": { "key2": "value" } },
        "boolean1": true,
        "boolean0": false,
    });
    for (key, value) in plain.as_object().unwrap() {
        set(&mut network, 0, key, any(value.clone()));
    }
    set(&mut network, 0, "y-map", New::Map);
    let inner = network.map(0).get(network.doc(0), "y-map").unwrap().as_map().unwrap();
    let array = network.edit(0, |transaction| inner.insert_array(transaction, "y-array"));
    for number in [0.0, -1.0] {
        network.edit(0, |transaction| array.insert(transaction, 0, vec![number.into()]));
    }
    let mut expected = plain;
    expected["y-map"] = json!({ "y-array": [-1, 0] });
    assert_eq!(maps(&network)[0], expected);
    network.deliver_all();
    assert_eq!(maps(&network), [expected.clone(), expected.clone(), json!({})]);
    network.connect(2);
    network.deliver_all();
    assert_eq!(maps(&network), vec![expected; 3]);
    for at in 0..3 {
        assert_eq!(len(&network, at), 7);
    }
    network.converge();
}

#[test]
fn undefined_and_null_are_values_of_their_own() {
    let mut network = Network::new(2, 3);
    set(&mut network, 0, "stuff", "stuffy");
    set(&mut network, 0, "undefined", Any::Undefined);
    set(&mut network, 0, "null", Any::Null);
    network.deliver_all();
    for at in 0..2 {
        let get = |key: &str| network.map(at).get(network.doc(at), key);
        assert_eq!(get("stuff"), Some(Value::Any(Any::from("stuffy"))));
        assert_eq!(get("undefined"), Some(Value::Any(Any::Undefined)));
        assert_eq!(get("null"), Some(Value::Any(Any::Null)));
        assert_eq!(get("other"), None);
    }
    network.converge();
}

#[test]
fn a_map_that_was_set_is_the_one_that_is_read() {
    let mut network = Network::new(2, 4);
    let map = network.map(0);
    let inner = network.edit(0, |transaction| map.insert_map(transaction, "Map"));
    assert_eq!(map.get(network.doc(0), "Map"), Some(Value::Shared(inner.into())));
    network.edit(0, |transaction| inner.insert(transaction, "one", 1.0));
    network.converge();
    assert_eq!(maps(&network), vec![json!({ "Map": { "one": 1 } }); 2]);
}

#[test]
fn an_array_that_was_set_is_the_one_that_is_read() {
    let mut network = Network::new(2, 5);
    let map = network.map(0);
    let array = network.edit(0, |transaction| map.insert_array(transaction, "Array"));
    assert_eq!(map.get(network.doc(0), "Array"), Some(Value::Shared(array.into())));
    network.edit(0, |transaction| {
        array.insert(transaction, 0, vec![1.0.into(), 2.0.into(), 3.0.into()])
    });
    network.converge();
    assert_eq!(maps(&network), vec![json!({ "Array": [1, 2, 3] }); 2]);
}

#[test]
fn a_key_that_was_set_is_set_everywhere() {
    let mut network = Network::new(2, 6);
    set(&mut network, 0, "stuff", "stuffy");
    assert_eq!(maps(&network), [json!({ "stuff": "stuffy" }), json!({})]);
    network.deliver_all();
    assert_eq!(maps(&network), vec![json!({ "stuff": "stuffy" }); 2]);
    network.converge();
}

#[test]
fn of_two_values_set_at_once_the_higher_client_s_holds() {
    let mut network = Network::new(3, 7);
    set(&mut network, 0, "stuff", "c0");
    set(&mut network, 1, "stuff", "c1");
    network.deliver_all();
    assert_eq!(maps(&network), vec![json!({ "stuff": "c1" }); 3]);
    network.converge();
}

#[test]
fn a_removed_key_does_not_count() {
    let mut network = Network::new(1, 8);
    set(&mut network, 0, "stuff", "c0");
    set(&mut network, 0, "otherstuff", "c1");
    assert_eq!(len(&network, 0), 2);
    assert!(remove(&mut network, 0, "stuff"));
    assert_eq!(len(&network, 0), 1);
    assert!(remove(&mut network, 0, "otherstuff"));
    assert_eq!(len(&network, 0), 0);
    assert!(!remove(&mut network, 0, "otherstuff"), "it is gone already");
}

#[test]
fn removing_the_value_that_wins_leaves_none() {
    let mut network = Network::new(3, 9);
    set(&mut network, 0, "stuff", "c0");
    set(&mut network, 1, "stuff", "c1");
    remove(&mut network, 1, "stuff");
    network.deliver_all();
    for at in 0..3 {
        assert_eq!(get(&network, at, "stuff"), None);
    }
    network.converge();
}

#[test]
fn clearing_removes_all_keys() {
    let mut network = Network::new(1, 10);
    set(&mut network, 0, "stuff", "c0");
    set(&mut network, 0, "otherstuff", "c1");
    clear(&mut network, 0);
    assert_eq!(maps(&network), [json!({})]);
    assert_eq!(len(&network, 0), 0);
    network.converge();
}

#[test]
fn clearing_by_the_highest_client_removes_what_was_set_at_once() {
    let mut network = Network::new(4, 11);
    set(&mut network, 0, "stuff", "c0");
    set(&mut network, 1, "stuff", "c1");
    set(&mut network, 1, "stuff", "c2");
    set(&mut network, 2, "stuff", "c3");
    network.deliver_all();
    assert_eq!(maps(&network), vec![json!({ "stuff": "c3" }); 4]);
    for at in 0..4 {
        set(&mut network, at, "otherstuff", format!("c{at}"));
    }
    clear(&mut network, 3);
    network.deliver_all();
    assert_eq!(maps(&network), vec![json!({}); 4]);
    for at in 0..4 {
        assert_eq!(len(&network, at), 0);
    }
    network.converge();
}

#[test]
fn of_values_set_by_three_at_once_the_highest_client_s_holds() {
    let mut network = Network::new(3, 12);
    set(&mut network, 0, "stuff", "c0");
    set(&mut network, 1, "stuff", "c1");
    set(&mut network, 1, "stuff", "c2");
    set(&mut network, 2, "stuff", "c3");
    network.deliver_all();
    assert_eq!(maps(&network), vec![json!({ "stuff": "c3" }); 3]);
    network.converge();
}

#[test]
fn removing_the_value_that_wins_over_three_others_leaves_none() {
    let mut network = Network::new(4, 13);
    set(&mut network, 0, "stuff", "c0");
    set(&mut network, 1, "stuff", "c1");
    set(&mut network, 1, "stuff", "c2");
    set(&mut network, 2, "stuff", "c3");
    network.deliver_all();
    for (at, value) in ["deleteme", "c1", "c2", "c3"].into_iter().enumerate() {
        set(&mut network, at, "stuff", value);
    }
    remove(&mut network, 3, "stuff");
    network.deliver_all();
    for at in 0..4 {
        assert_eq!(get(&network, at, "stuff"), None);
    }
    network.converge();
}

const KEYS: [&str; 2] = ["one", "two"];

/// Edits the map of a replica and holds it against what is expected to be under the key.
fn against_a_model(
    network: &mut Network,
    at: usize,
    key: &str,
    expected: Option<Json>,
    edit: impl FnOnce(&mut crdt::Transaction<'_>) -> Result<(), crdt::Error>,
) {
    let show = |doc: &Doc| content(doc, network.map(at));
    let mut model = show(network.doc(at));
    match expected {
        Some(value) => model[key] = value,
        None => drop(model.as_object_mut().unwrap().shift_remove(key)),
    }
    network.edit(at, edit);
    assert_eq!(content(network.doc(at), network.map(at)), model);
}

fn set_text(network: &mut Network, at: usize) {
    let (key, map) = (*network.random.pick(&KEYS), network.map(at));
    let letters = ["a", "é", "語", "😀", "\u{0}", "\u{10ffff}"];
    let value: String =
        (0..network.random.below(8)).map(|_| *network.random.pick(&letters)).collect();
    against_a_model(network, at, key, Some(json!(value)), |transaction| {
        map.insert(transaction, key, value.as_str())
    });
}

fn set_shared(network: &mut Network, at: usize) {
    let (key, map) = (*network.random.pick(&KEYS), network.map(at));
    if network.random.chance(50) {
        against_a_model(network, at, key, Some(json!([1, 2, 3, 4])), |transaction| {
            let array = map.insert_array(transaction, key)?;
            array.insert(transaction, 0, [1.0, 2.0, 3.0, 4.0].map(New::from).to_vec())
        });
    } else {
        against_a_model(network, at, key, Some(json!({ "deepkey": "deepvalue" })), |transaction| {
            map.insert_map(transaction, key)?.insert(transaction, "deepkey", "deepvalue")
        });
    }
}

fn remove_one(network: &mut Network, at: usize) {
    let (key, map) = (*network.random.pick(&KEYS), network.map(at));
    against_a_model(network, at, key, None, |transaction| {
        map.remove(transaction, key);
        Ok(())
    });
}

const EDITS: [Edit; 3] = [set_text, set_shared, remove_one];

#[test]
fn random_edits_converge() {
    for (seed, edits) in
        [3, 40, 42, 43, 44, 45, 46, 300, 400, 500, 600, 1000, 1800].into_iter().enumerate()
    {
        edit_at_random(seed as u64, edits, &EDITS);
    }
}

#[test]
#[ignore = "takes long"]
fn many_random_edits_converge() {
    for edits in [5000, 10_000, 100_000] {
        edit_at_random(edits as u64, edits, &EDITS);
    }
}
