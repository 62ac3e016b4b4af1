//! Walks the table "The journey of one keystroke": an edit in one desk's editor becomes an update,
//! a record, a message, a delta and at last a patch in the other desk's editor, and each stage has
//! what the one before gave it.

use crdt::{ClientId, Doc, Options};
use replica::Saved;
use store::{Store, StoreOptions};
use tempfile::TempDir;
use tests::{Desk, Hosting};

#[test]
fn a_key_pressed_here_is_a_letter_there_and_a_record_on_three_disks() {
    let dirs = TempDir::new().unwrap();
    let mut hosting = Hosting::start(&dirs.path().join("server"));
    let desk = |name: &str| (dirs.path().join(name), dirs.path().join(format!("{name}-data")));
    let ((ann_folder, ann_data), (bo_folder, bo_data)) = (desk("ann"), desk("bo"));
    #[expect(clippy::disallowed_methods, reason = "another program")]
    {
        std::fs::create_dir(&ann_folder).unwrap();
        std::fs::write(ann_folder.join("main.tex"), "Hell").unwrap();
    }
    let mut ann = Desk::open("Ann", &ann_folder, &ann_data).unwrap();
    let link = ann.replica().share(&hosting.place()).unwrap();
    let mut bo = Desk::join("Bo", &bo_folder, &bo_data, &link).unwrap();
    let (paper, file) = (ann.replica().paper(), ann.file("main.tex"));
    bo.window("main.tex");

    // 1 to 5: the edit is taken, because it is made on the newest version, and confirmed.
    ann.insert("main.tex", "", "o");
    let window = ann.window_state("main.tex");
    assert_eq!((window.version, window.own), (1, 1));
    // 6 and 7: the document has it, and its record is durable.
    ann.wait("saved", |ann| (ann.status().saved == Saved::Saved).then_some(()));
    // 8 to 11: the server has it, durably, and has said so.
    ann.wait_sent();
    // 12 to 15: the other desk has it, as a patch of somebody else's.
    bo.wait_text("main.tex", "Hello");
    let window = bo.window_state("main.tex");
    assert_eq!((window.version, window.own), (1, 0));
    bo.wait_disk("main.tex", "Hello");

    ann.level();
    bo.level();
    drop((ann, bo));
    hosting.stop();
    // What each of the three stores reads back when nothing runs any more.
    let on_disk = |folder: std::path::PathBuf, name: &str| {
        let mut store = Store::open(&folder, StoreOptions::default()).unwrap();
        let document = store.document(name, ClientId::new(9).unwrap()).unwrap();
        (document.text().read(document.doc()), document.doc().state_v1())
    };
    let (text, ours) = on_disk(ann_data.join(format!("papers/{paper}")), &file.to_string());
    assert_eq!(text, "Hello");
    let (text, theirs) = on_disk(bo_data.join(format!("papers/{paper}")), &file.to_string());
    assert_eq!(text, "Hello");
    let mut both = Doc::new(ClientId::new(9).unwrap(), Options::default());
    both.apply_v1(&ours).unwrap();
    assert!(both.apply_v1(&theirs).unwrap().is_empty(), "the same items on both sides");
    let server = dirs.path().join(format!("server/papers/{paper}"));
    let (text, _) = on_disk(server, &file.to_string());
    assert_eq!(text, "Hello");
}
