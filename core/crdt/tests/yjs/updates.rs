//! `updates.tests.js`: updates merged, cut and waiting, without a document and through one.

use crdt::update::Obfuscate;
use crdt::{
    ClientId, Commit, Delta, Doc, Error, Inserted, New, Shared, StateVector, Subdoc, Value, update,
};
use serde_json::json;

use crate::json::{content, delta, doc, doc_with_history, object, steps, values};
use crate::network::Network;

type Bytes = Result<Vec<u8>, Error>;

/// One way to work with updates: in either format, or by documents that take them in and write them out again.
struct Way {
    name: &'static str,
    merge: fn(&[&[u8]]) -> Bytes,
    diff: fn(&[u8], &StateVector) -> Bytes,
    info: fn(&[u8]) -> Result<update::Info, Error>,
    state_vector: fn(&[u8]) -> Result<StateVector, Error>,
    state: fn(&Doc) -> Vec<u8>,
    apply: for<'a> fn(&'a mut Doc, &[u8]) -> Result<Commit<'a>, Error>,
    told: fn(&Commit<'_>) -> Option<Vec<u8>>,
    /// Whether what is merged keeps its blocks apart; a document joins them.
    keeps_blocks: bool,
}

const WAYS: [Way; 3] = [
    Way {
        name: "first format",
        merge: update::merge_v1,
        diff: update::diff_v1,
        info: update::info_v1,
        state_vector: update::state_vector_v1,
        state: Doc::state_v1,
        apply: Doc::apply_v1,
        told: |commit| commit.update_v1(),
        keeps_blocks: true,
    },
    Way {
        name: "second format",
        merge: update::merge_v2,
        diff: update::diff_v2,
        info: update::info_v2,
        state_vector: update::state_vector_v2,
        state: Doc::state_v2,
        apply: Doc::apply_v2,
        told: |commit| commit.update_v2(),
        keeps_blocks: true,
    },
    Way {
        name: "through a document",
        merge: |updates| {
            let mut doc = doc_with_history(900);
            for update in updates {
                doc.apply_v2(update)?;
            }
            Ok(doc.state_v2())
        },
        diff: |update, than| {
            let mut doc = doc_with_history(900);
            doc.apply_v2(update)?;
            Ok(doc.diff_v2(than))
        },
        info: update::info_v2,
        state_vector: update::state_vector_v2,
        state: Doc::state_v2,
        apply: Doc::apply_v2,
        told: |commit| commit.update_v2(),
        keeps_blocks: false,
    },
];

fn slices(updates: &[Vec<u8>]) -> Vec<&[u8]> {
    updates.iter().map(Vec::as_slice).collect()
}

#[test]
fn merged_states_hold_what_each_replica_made() {
    let mut network = Network::new(3, 1);
    for (at, number) in [(0, 1), (1, 2)] {
        let array = network.array(at);
        network.edit(at, |edit| array.insert(edit, 0, values(json!([number]))));
    }
    network.converge();
    for way in &WAYS {
        let states: Vec<Vec<u8>> = (0..3).map(|at| (way.state)(network.doc(at))).collect();
        let mut merged = doc(900);
        (way.apply)(&mut merged, &(way.merge)(&slices(&states)).unwrap()).unwrap();
        let array = merged.array("array");
        assert_eq!(content(&merged, array), network.shown(0)["array"], "{}", way.name);
    }
}

#[test]
fn keys_of_formats_survive_the_second_format() {
    let mut network = Network::new(2, 1);
    let italic = object(json!({ "italic": true }));
    let text = network.text(0);
    network.edit(0, |edit| text.insert_with(edit, 0, "a", &italic));
    network.edit(0, |edit| text.insert(edit, 0, "b"));
    network.edit(0, |edit| text.insert_with(edit, 0, "c", &italic));
    let state = network.doc(0).state_v2();
    network.commit(1, |doc| Some(doc.apply_v2(&state).unwrap()));
    assert_eq!(
        delta(network.doc(1), network.text(1)),
        json!([
            { "insert": "c", "attributes": { "italic": true } },
            { "insert": "b" },
            { "insert": "a", "attributes": { "italic": true } },
        ])
    );
    network.converge();
}

/// Merges a document's updates in several orders, overlapping, with holes and doubled: each has all of them, and cut
/// at any point it has exactly what is missing there.
fn check_merges(way: &Way, whole: &mut Doc, updates: &[Vec<u8>]) {
    let merge = |updates: &[Vec<u8>]| (way.merge)(&slices(updates)).unwrap();
    let mut cases = vec![
        merge(updates),
        merge(&[merge(&updates[2..]), merge(&updates[..2])]),
        merge(&[merge(&updates[2..]), merge(&updates[1..3]), updates[0].clone()]),
        merge(&[
            merge(&[updates[0].clone(), updates[2].clone()]),
            merge(&[updates[1].clone(), updates[3].clone()]),
            merge(&updates[4..]),
        ]),
    ];
    cases.push(merge(&cases));
    for (number, case) in cases.iter().enumerate() {
        let about = format!("{}, case {number}", way.name);
        let mut merged = doc_with_history(901);
        (way.apply)(&mut merged, case).unwrap();
        let (ours, theirs) = (merged.array("array"), whole.array("array"));
        assert_eq!(content(&merged, ours), content(whole, theirs), "{about}");
        assert_eq!(merged.waiting(), None, "{about}");
        assert_eq!(merged.state_vector(), (way.state_vector)(case).unwrap(), "{about}");
        for (client, first, end, _) in (way.info)(case).unwrap().clients {
            assert_eq!((first, end), (0, merged.state_vector().get(client)), "{about}");
        }
        for known in 1..updates.len() {
            let rest = merge(&updates[known..]);
            let state = (way.state_vector)(&merge(&updates[..known])).unwrap();
            let cut = (way.diff)(case, &state).unwrap();
            let clients = |update: &[u8]| -> Vec<(ClientId, u32, u32)> {
                let info = (way.info)(update).unwrap();
                info.clients.into_iter().map(|(id, first, end, _)| (id, first, end)).collect()
            };
            assert_eq!(clients(&cut), clients(&rest), "{about}, cut at {known}");
            // A cut names all deletions, the rest only its own: with them added both are the same bytes.
            let deletes = (way.diff)(&cut, &merged.state_vector()).unwrap();
            if way.keeps_blocks {
                assert_eq!(cut, merge(&[deletes, rest]), "{about}, cut at {known}");
            }
        }
    }
}

#[test]
fn updates_of_insertions_merge_in_any_order() {
    for way in &WAYS {
        let mut doc = doc_with_history(1);
        let array = doc.array("array");
        let mut updates = Vec::new();
        for number in 1..=4 {
            let mut edit = doc.transact();
            array.insert(&mut edit, 0, values(json!([number]))).unwrap();
            updates.push((way.told)(&edit.commit()).unwrap());
        }
        assert_eq!(content(&doc, array), json!([4, 3, 2, 1]));
        check_merges(way, &mut doc, &updates);
    }
}

#[test]
fn updates_with_deletions_merge_in_any_order() {
    for way in &WAYS {
        let mut doc = doc_with_history(1);
        let array = doc.array("array");
        let mut updates = Vec::new();
        for step in 0..4 {
            let mut edit = doc.transact();
            match step {
                0 => array.insert(&mut edit, 0, values(json!([1, 2]))),
                1 => array.delete(&mut edit, 1, 1),
                2 => array.insert(&mut edit, 0, values(json!([3, 4]))),
                _ => array.delete(&mut edit, 1, 2),
            }
            .unwrap();
            updates.push((way.told)(&edit.commit()).unwrap());
        }
        assert_eq!(content(&doc, array), json!([3]));
        check_merges(way, &mut doc, &updates);
    }
}

#[test]
fn what_waits_is_passed_on_until_it_is_no_longer_missing() {
    let mut server = doc(1);
    let text = server.text("textBlock");
    let mut updates = Vec::new();
    for letter in ["r", "o", "n", "e", "n"] {
        let mut edit = server.transact();
        text.insert(&mut edit, 0, letter).unwrap();
        updates.push(edit.commit().update_v1().unwrap());
    }
    // Each document gets the state of the one before, and one update more; the fourth comes before the third.
    let mut state = update::EMPTY_V1.to_vec();
    for (number, (arrives, waits)) in
        [(0, false), (1, false), (3, true), (2, false), (4, false)].into_iter().enumerate()
    {
        let mut next = doc(2 + number as u64);
        next.apply_v1(&state).unwrap();
        next.apply_v1(&updates[arrives]).unwrap();
        assert_eq!(next.has_waiting_structs(), waits, "after update {arrives}");
        state = next.state_v1();
        if number == 4 {
            assert_eq!(next.text("textBlock").read(&next), "nenor");
        }
    }
    assert_eq!(state, server.state_v1());
}

#[test]
fn an_obfuscated_update_has_the_same_shape_and_says_nothing() {
    let mut doc = doc(1);
    let (text, map, array) = (doc.text("text"), doc.map("map"), doc.array("array"));
    let words = json!([
        { "insert": "text", "attributes": { "bold": true } },
        { "insert": { "href": "supersecreturl" } },
    ]);
    let mut edit = doc.transact();
    text.apply_delta(&mut edit, &steps(words)).unwrap();
    edit.commit();
    for secret in ["secret1", "secret2"] {
        let mut edit = doc.transact();
        map.insert(&mut edit, "key", secret).unwrap();
        edit.commit();
    }
    let mut edit = doc.transact();
    let element = New::XmlElement("secretnodename".to_owned());
    let elements = vec!["teststring".into(), 42.into(), element, Subdoc::new("secret").into()];
    array.insert(&mut edit, 0, elements).unwrap();
    let Some(Value::Shared(Shared::Xml(element))) = array.get(edit.doc(), 2) else {
        unreachable!("an element was inserted")
    };
    element.set_attribute(&mut edit, "attr", "val").unwrap();
    edit.commit();

    let what = Obfuscate::default();
    let v1 = update::obfuscate_v1(&doc.state_v1(), what).unwrap();
    let v2 = update::obfuscate_v2(&doc.state_v2(), what).unwrap();
    assert_eq!(update::v1_to_v2(&v1).unwrap(), v2);
    for secret in ["bold", "supersecreturl", "secret", "key", "teststring", "attr", "val"] {
        let found = v1.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "{secret} is still there");
    }
    let mut obfuscated = crate::json::doc(2);
    let (text, map, array) =
        (obfuscated.text("text"), obfuscated.map("map"), obfuscated.array("array"));
    obfuscated.apply_v1(&v1).unwrap();
    let shown = text.delta(&obfuscated);
    let [Delta::Insert(Inserted::Text(word), formats), Delta::Insert(embedded, none)] =
        shown.as_slice()
    else {
        panic!("{shown:?} has another shape")
    };
    assert_eq!((word.len(), formats.len(), none.len()), (4, 1, 0));
    assert_ne!(word, "text");
    assert!(formats.get("bold").is_none());
    assert!(matches!(embedded, Inserted::Embed(_)));
    assert_eq!(map.keys(&obfuscated).len(), 1);
    assert_eq!(map.get(&obfuscated, "key"), None);
    let elements = array.read(&obfuscated);
    let [string, number, Value::Shared(Shared::Xml(element)), Value::Doc(subdoc)] =
        elements.as_slice()
    else {
        panic!("{elements:?} has another shape")
    };
    assert_ne!(string.as_str(), Some("teststring"));
    assert_ne!(number.as_f64(), Some(42.0));
    assert_ne!(element.name(&obfuscated), Some("secretnodename"));
    assert_eq!(element.attributes(&obfuscated).len(), 1);
    assert_eq!(element.attribute(&obfuscated, "attr"), None);
    assert_ne!(subdoc.guid, "secret");
}
