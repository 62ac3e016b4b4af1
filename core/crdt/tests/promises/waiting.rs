//! What waits for something that has not arrived is neither lost nor without bounds.

use crdt::{ClientId, Doc, Error, Options};

fn doc(client: u64) -> Doc {
    Doc::new(ClientId::new(client).unwrap(), Options::default())
}

/// Updates in the first format, each of which types ten letters behind those of the one before.
fn chain(client: u64, len: u32) -> Vec<Vec<u8>> {
    let mut doc = doc(client);
    let text = doc.text("t");
    let mut updates = Vec::new();
    for at in 0..len {
        let mut transaction = doc.transact();
        text.insert(&mut transaction, at * 10, "0123456789").unwrap();
        updates.push(transaction.commit().update_v1().unwrap());
    }
    updates
}

/// A deletion of what `chain` types first.
fn deletion(client: u64) -> Vec<u8> {
    let mut doc = doc(client);
    doc.apply_v1(&chain(client, 1)[0]).unwrap();
    let text = doc.text("t");
    let mut transaction = doc.transact();
    text.delete(&mut transaction, 0, 5).unwrap();
    transaction.commit().update_v1().unwrap()
}

#[test]
fn what_waits_survives_saving_and_wakes_in_a_chain() {
    let updates = chain(7, 4);
    for v2 in [false, true] {
        let mut doc = doc(1);
        // The last first; between each two the document is saved and read again.
        for update in [&updates[3], &updates[2], &deletion(7), &updates[1]] {
            assert!(doc.apply_v1(update).unwrap().is_empty());
            let before = doc.waiting().unwrap();
            let mut again = self::doc(1);
            if v2 {
                again.apply_v2(&doc.state_v2()).unwrap();
            } else {
                again.apply_v1(&doc.state_v1()).unwrap();
            }
            assert_eq!(again.waiting().unwrap(), before);
            doc = again;
        }
        assert!(doc.has_waiting_structs() && doc.has_waiting_deletes());
        assert_eq!(doc.waiting().unwrap().missing, [(ClientId::new(7).unwrap(), 9)]);
        let text = doc.text("t");
        assert_eq!(text.len(&doc), 0);
        doc.apply_v1(&updates[0]).unwrap();
        assert_eq!(text.read(&doc), "56789".to_owned() + &"0123456789".repeat(3));
        assert_eq!(doc.waiting(), None);
    }
}

#[test]
fn too_much_is_refused_and_changes_nothing() {
    let updates = chain(7, 40);
    let mut doc =
        Doc::new(ClientId::new(1).unwrap(), Options { max_waiting: 300, ..Options::default() });
    let text = doc.text("t");
    let mut transaction = doc.transact();
    text.insert(&mut transaction, 0, "ours").unwrap();
    transaction.commit();
    let (mut taken, mut refused) = (0, 0);
    for update in updates[1..].iter().rev() {
        let before = (doc.state_v1(), doc.state_v2(), doc.waiting());
        match doc.apply_v1(update) {
            Ok(_) => taken += 1,
            Err(error) => {
                refused += 1;
                let Error::TooMuchWaiting { bytes, max: 300 } = error else { panic!("{error}") };
                assert!(bytes > 300);
                assert_eq!((doc.state_v1(), doc.state_v2(), doc.waiting()), before);
                doc.check().unwrap();
            }
        }
        assert!(doc.waiting().unwrap().bytes <= 300);
    }
    assert!(taken > 5 && refused > 5, "{taken} taken, {refused} refused");

    // In a transaction, what was edited before stays, and stays an edit of ours.
    let mut transaction = doc.transact();
    text.insert(&mut transaction, 4, "!").unwrap();
    assert!(transaction.apply_v1(&updates[1]).is_err());
    assert!(!transaction.commit().is_empty());
    assert_eq!(text.read(&doc), "ours!");

    // Of what does not wait, any amount is taken; in the end everything is.
    let mut all = self::doc(2);
    for update in &updates {
        all.apply_v1(update).unwrap();
    }
    doc.apply_v1(&all.state_v1()).unwrap();
    assert_eq!(doc.waiting(), None);
    assert_eq!(text.len(&doc), 405);
}

#[test]
fn what_was_saved_is_taken_however_much_waits() {
    let updates = chain(7, 40);
    let mut saved = doc(1);
    for update in &updates[1..] {
        saved.apply_v1(update).unwrap();
    }
    let waiting = saved.waiting().unwrap();
    let max_waiting = waiting.bytes / 2;
    for v2 in [false, true] {
        let options = Options { max_waiting, ..Options::default() };
        let mut doc = Doc::new(ClientId::new(1).unwrap(), options);
        assert!(doc.apply_v1(&saved.state_v1()).is_err());
        if v2 {
            doc.apply_own_v2(&saved.state_v2()).unwrap();
        } else {
            doc.apply_own_v1(&saved.state_v1()).unwrap();
        }
        assert_eq!(doc.waiting(), Some(waiting.clone()));
        // More of it is refused, what is there already is not, nor what makes it less.
        assert!(doc.apply_v1(&deletion(8)).is_err());
        doc.apply_v1(&updates[5]).unwrap();
        doc.apply_v1(&updates[0]).unwrap();
        assert_eq!(doc.waiting(), None);
        let text = doc.text("t");
        assert_eq!(text.len(&doc), 400);
    }
}

/// What waits says nothing of units that are here: whoever makes that up cannot have others' edits left out of a state.
#[test]
fn what_waits_does_not_take_the_place_of_what_is_here() {
    let (mut first, mut doc) = (doc(2), doc(1));
    let map = first.map("m");
    let mut transaction = first.transact();
    map.insert_text(&mut transaction, "k").unwrap();
    doc.apply_v1(&transaction.commit().update_v1().unwrap()).unwrap();
    let (map, text) = (doc.map("m"), doc.text("t"));
    let Some(crdt::Value::Shared(crdt::Shared::Text(inner))) = map.get(&doc, "k") else {
        panic!("a text was put there");
    };
    // The first unit of client 1 is collected, and begins where what waits begins.
    let mut transaction = doc.transact();
    inner.insert(&mut transaction, 0, "x").unwrap();
    map.remove(&mut transaction, "k");
    text.insert(&mut transaction, 0, "written").unwrap();
    transaction.commit();
    // 20 letters of client 1, from its first unit on, behind a unit of client 15, of which nobody has heard.
    let made_up = [&[1, 1, 1, 0, 0x84, 15, 0, 20], [b'z'; 20].as_slice(), &[0]].concat();
    assert!(doc.apply_v1(&made_up).unwrap().is_empty());
    assert!(doc.has_waiting_structs());
    let mut loaded = [self::doc(3), self::doc(3)];
    loaded[0].apply_v1(&doc.state_v1()).unwrap();
    loaded[1].apply_v2(&doc.state_v2()).unwrap();
    for mut loaded in loaded {
        let text = loaded.text("t");
        assert!(text.read(&loaded).starts_with("written"));
        assert!(loaded.state_vector().covers(&doc.state_vector()));
    }
}
