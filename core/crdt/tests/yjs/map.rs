//! Maps: Yjs's `y-map.tests.js`.

use crdt::{Any, Doc, New, Shared, Value};
use serde_json::{Value as Json, json};

use crate::json::{any, content, doc, events, shown};
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

/// Takes what a replica heard, commit by commit.
fn heard(network: &mut Network, at: usize) -> Json {
    let heard = network.heard(at);
    heard.iter().map(|heard| events(network.doc(at), heard)).collect()
}

/// Lets a replica hear what changes in its map.
fn listen(network: &mut Network, at: usize) {
    let map = network.map(at);
    network.listen(at, |doc| doc.observe(map));
}

/// The events of one commit that changed nothing but these keys of the observed map.
fn changed(keys: Json) -> Json {
    let mut event = json!({ "path": [] });
    event["keys"] = keys;
    json!([[event]])
}

#[test]
fn events_are_of_their_commit_alone() {
    let mut doc = doc(1);
    let map = doc.map("");
    let watch = doc.observe(map);
    let mut set = |key: &str| {
        let mut transaction = doc.transact();
        if !key.is_empty() {
            map.insert(&mut transaction, key, 1).unwrap();
        }
        let commit = transaction.commit();
        (commit.events(watch).to_vec(), events(commit.doc(), commit.events(watch)))
    };
    let (first, shown) = set("a");
    assert_eq!(shown, json!([{ "path": [], "keys": { "a": { "action": "add" } } }]));
    let (_, shown) = set("b");
    assert_eq!(shown, json!([{ "path": [], "keys": { "b": { "action": "add" } } }]));
    let (_, shown) = set("");
    assert_eq!(shown, json!([]));
    // What was taken from an earlier commit says what it did.
    assert_eq!(events(&doc, &first), json!([{ "path": [], "keys": { "a": { "action": "add" } } }]));
}

#[test]
fn a_map_set_below_the_observed_one_is_the_same_everywhere() {
    let mut network = Network::new(4, 14);
    let map = network.map(1);
    network.edit(1, |transaction| map.insert_map(transaction, "map"));
    network.listen(1, |doc| doc.observe_deep(map));
    network.deliver_all();
    let mut told = Vec::new();
    for at in [3, 2] {
        let inner = network.map(at).get(network.doc(at), "map").unwrap().as_map().unwrap();
        network.edit(at, |transaction| inner.insert_map(transaction, "deepmap"));
        network.deliver_all();
        told.push(heard(&mut network, 1));
    }
    let key = |change: Json| json!([[{ "path": ["map"], "keys": { "deepmap": change } }]]);
    let update = json!({ "action": "update", "oldValue": {} });
    assert_eq!(told, [key(json!({ "action": "add" })), key(update)]);
    // The one that the last replica set is the one that each has: what it is given, all show.
    let inner = map.get(network.doc(1), "map").unwrap().as_map().unwrap();
    let deep = inner.get(network.doc(1), "deepmap").unwrap().as_map().unwrap();
    network.edit(1, |transaction| deep.insert(transaction, "by", 1));
    network.deliver_all();
    assert_eq!(maps(&network), vec![json!({ "map": { "deepmap": { "by": 1 } } }); 4]);
    network.converge();
}

#[test]
fn each_change_below_is_heard_with_its_path() {
    let mut network = Network::new(2, 15);
    let map = network.map(0);
    network.listen(0, |doc| doc.observe_deep(map));
    let inner = network.edit(0, |transaction| map.insert_map(transaction, "map"));
    let array = network.edit(0, |transaction| inner.insert_array(transaction, "array"));
    network.edit(0, |transaction| array.insert(transaction, 0, vec!["content".into()]));
    let added = json!({ "action": "add" });
    let expected = json!([
        [{ "path": [], "keys": { "map": added } }],
        [{ "path": ["map"], "keys": { "array": added } }],
        [{ "path": ["map", "array"], "delta": [{ "insert": ["content"] }] }],
    ]);
    assert_eq!(heard(&mut network, 0), expected);
    network.converge();
}

#[test]
fn a_key_that_is_set_comes_before_the_text_beside_it() {
    let mut network = Network::new(2, 16);
    let map = network.map(0);
    let inner = network.edit(0, |transaction| map.insert_map(transaction, "map"));
    let text = network.edit(0, |transaction| {
        let text = inner.insert_text(transaction, "text1")?;
        text.insert(transaction, 0, "initial")?;
        Ok(text)
    });
    network.listen(0, |doc| doc.observe_deep(map));
    network.edit(0, |transaction| {
        text.insert(transaction, 0, "post-")?;
        inner.insert_text(transaction, "text2")?.insert(transaction, 0, "new")
    });
    let expected = json!([[
        { "path": ["map"], "keys": { "text2": { "action": "add" } } },
        { "path": ["map", "text1"], "delta": [{ "insert": "post-" }] },
    ]]);
    assert_eq!(heard(&mut network, 0), expected);
    network.converge();
}

#[test]
fn a_key_is_heard_to_be_added_updated_and_removed() {
    let mut network = Network::new(2, 17);
    let map = network.map(0);
    listen(&mut network, 0);
    set(&mut network, 0, "stuff", 4);
    assert_eq!(heard(&mut network, 0), changed(json!({ "stuff": { "action": "add" } })));
    set(&mut network, 0, "stuff", New::Array);
    let update = json!({ "stuff": { "action": "update", "oldValue": 4 } });
    assert_eq!(heard(&mut network, 0), changed(update));
    set(&mut network, 0, "stuff", 5);
    let update = json!({ "stuff": { "action": "update", "oldValue": [] } });
    assert_eq!(heard(&mut network, 0), changed(update));
    remove(&mut network, 0, "stuff");
    let heard = network.heard(0);
    assert_eq!(heard[0][0].target, Shared::from(map));
    let removal =
        json!([{ "path": [], "keys": { "stuff": { "action": "delete", "oldValue": 5 } } }]);
    assert_eq!(events(network.doc(0), &heard[0]), removal);
    network.converge();
}

#[test]
fn clearing_removes_each_key() {
    let mut network = Network::new(2, 18);
    set(&mut network, 0, "stuff", 4);
    set(&mut network, 0, "otherstuff", New::Array);
    listen(&mut network, 0);
    clear(&mut network, 0);
    let expected = json!({
        "stuff": { "action": "delete", "oldValue": 4 },
        "otherstuff": { "action": "delete", "oldValue": [] },
    });
    assert_eq!(heard(&mut network, 0), changed(expected));
    network.converge();
}

#[test]
fn of_several_changes_in_one_transaction_the_first_value_and_the_last_count() {
    let mut network = Network::new(2, 19);
    let map = network.map(0);
    listen(&mut network, 0);
    let mut told = Vec::new();
    let steps: [&[(&str, Option<u32>)]; 6] = [
        &[("a", Some(1))],
        &[("a", Some(2))],
        &[("a", Some(3)), ("a", Some(4))],
        &[("b", Some(1)), ("b", Some(2))],
        &[("c", Some(1)), ("c", None)],
        &[("d", Some(1)), ("d", Some(2))],
    ];
    for step in steps {
        network.edit(0, |transaction| {
            for (key, value) in step {
                match value {
                    Some(value) => map.insert(transaction, key, *value)?,
                    None => assert!(map.remove(transaction, key)),
                }
            }
            Ok(())
        });
        told.push(heard(&mut network, 0));
    }
    let update = |old: u32| changed(json!({ "a": { "action": "update", "oldValue": old } }));
    let add = |key: &str| changed(json!({ key: { "action": "add" } }));
    // A key that came and went is an event that says nothing.
    let nothing = json!([[{ "path": [] }]]);
    assert_eq!(told, [add("a"), update(1), update(2), add("b"), nothing, add("d")]);
    network.converge();
}

#[test]
fn the_target_of_an_event_has_the_new_value_whoever_set_it() {
    let mut network = Network::new(3, 20);
    listen(&mut network, 0);
    for at in 0..2 {
        set(&mut network, at, "stuff", u32::try_from(at).unwrap() + 2);
        network.deliver_all();
        let [heard] = &network.heard(0)[..] else { panic!("one commit") };
        let [event] = &heard[..] else { panic!("one event") };
        let Shared::Map(target) = event.target else { panic!("{:?}", event.target) };
        let keys: Vec<&str> = event.keys.iter().map(|(key, _)| &**key).collect();
        assert_eq!(keys, ["stuff"]);
        let value = target.get(network.doc(0), keys[0]).unwrap();
        assert_eq!(shown(network.doc(0), &value), json!(at + 2));
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
