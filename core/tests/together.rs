//! Two desks, one paper: what is promised when people write together through a server.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use replica::{FileKind, Network};
use tempfile::TempDir;
use tests::{Desk, Hosting, files_below};

struct Room {
    dirs: TempDir,
    hosting: Hosting,
}

impl Room {
    fn new() -> Self {
        let dirs = TempDir::new().unwrap();
        let hosting = Hosting::start(&dirs.path().join("server"));
        Self { dirs, hosting }
    }

    /// Ann has the files and shares them; Bo joins.
    #[expect(clippy::disallowed_methods, reason = "another program")]
    fn two(&self, files: &[(&str, &[u8])]) -> (Desk, Desk) {
        for (name, bytes) in files {
            let path = self.dirs.path().join("ann").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let ann = self.desk("ann", None).unwrap();
        let link = ann.replica().share(&self.hosting.place()).unwrap();
        ann.wait_sent();
        let bo = self.desk("bo", Some(&link)).unwrap();
        (ann, bo)
    }

    fn desk(&self, name: &str, link: Option<&str>) -> Result<Desk, replica::Problem> {
        let folder = self.dirs.path().join(name);
        let data = self.dirs.path().join(format!("{name}-data"));
        match link {
            None => Desk::open(name, &folder, &data),
            Some(link) => Desk::join(name, &folder, &data, link),
        }
    }
}

fn same_folders(one: &Desk, other: &Desk) {
    one.level();
    other.level();
    other.wait("equal folders", |other| {
        (files_below(one.folder()) == files_below(other.folder())).then_some(())
    });
}

#[test]
fn what_one_types_the_other_reads_and_both_folders_hold_it() {
    let room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"Hello.\n"), ("sections/a.tex", b"")]);
    bo.wait_disk("main.tex", b"Hello.\n");
    bo.wait_disk("sections/a.tex", b"");
    ann.insert("main.tex", "Hello", "Dear all. ");
    bo.wait_text("main.tex", "Dear all. Hello.\n");
    bo.insert("sections/a.tex", "", "\u{1f600} ß");
    ann.wait_text("sections/a.tex", "\u{1f600} ß");
    ann.wait_sent();
    same_folders(&ann, &bo);
    assert_eq!(ann.disk("main.tex").unwrap(), b"Dear all. Hello.\n");
}

#[test]
fn typing_in_one_line_at_once_keeps_every_word() {
    let room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"<>")]);
    ann.window("main.tex");
    bo.window("main.tex");
    for round in 0..30 {
        ann.insert("main.tex", ">", &format!("a{round} "));
        bo.insert("main.tex", ">", &format!("b{round} "));
    }
    ann.wait_sent();
    bo.wait_sent();
    same_folders(&ann, &bo);
    let text = ann.text("main.tex");
    bo.wait_text("main.tex", &text);
    for round in 0..30 {
        assert_eq!(text.matches(&format!("a{round} ")).count(), 1, "{text}");
        assert_eq!(text.matches(&format!("b{round} ")).count(), 1, "{text}");
    }
}

#[test]
fn offline_both_type_on_and_back_again_both_have_all() {
    let room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"start end\n")]);
    bo.replica().set_offline(true);
    bo.wait("offline", |bo| matches!(bo.status().network, Network::Offline { .. }).then_some(()));
    ann.insert("main.tex", "end", "ann ");
    bo.insert("main.tex", "end", "bo ");
    bo.replica().create_file("new.tex").unwrap();
    bo.insert("new.tex", "", "made offline");
    let unsent = bo.wait("a number of unsent changes", |bo| {
        let status = bo.status();
        (status.unsent > 1).then_some(status.unsent)
    });
    assert!(unsent >= 2);
    bo.reopen();
    bo.wait_text("main.tex", "start bo end\n");
    bo.replica().set_offline(false);
    bo.wait_sent();
    same_folders(&ann, &bo);
    let text = ann.text("main.tex");
    assert!(text.contains("ann ") && text.contains("bo "), "{text}");
    assert_eq!(ann.disk("new.tex").unwrap(), b"made offline");
}

#[test]
fn the_server_goes_and_comes_back_and_nothing_is_lost() {
    let mut room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"start end\n")]);
    ann.insert("main.tex", "end", "before ");
    ann.wait_sent();
    room.hosting.stop();
    ann.wait("unreachable", |ann| {
        matches!(ann.status().network, Network::Unreachable { .. }).then_some(())
    });
    ann.insert("main.tex", "end", "meanwhile ");
    ann.wait("unsent", |ann| (ann.status().unsent == 1).then_some(()));
    room.hosting.start_again();
    ann.wait_sent();
    bo.wait_text("main.tex", "start before meanwhile end\n");
    same_folders(&ann, &bo);
}

#[test]
fn after_a_restart_without_the_server_the_status_still_knows_what_was_not_sent() {
    let mut room = Room::new();
    let (mut ann, _bo) = room.two(&[("main.tex", b"start end\n"), ("other.tex", b"x\n")]);
    ann.level();
    ann.reopen();
    ann.wait_sent();
    room.hosting.stop();
    ann.reopen();
    assert_eq!(ann.status().unsent, 0, "all was sent before");
    ann.insert("main.tex", "end", "typed alone ");
    ann.reopen();
    assert_eq!(ann.status().unsent, 1, "one document has something that was not sent");
    room.hosting.start_again();
    ann.wait_sent();
}

#[test]
fn sharing_is_stopped_and_taken_up_again_with_the_same_link() {
    let room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"x\n")]);
    let link = ann.status().sharing.unwrap().link;
    ann.replica().stop_sharing().unwrap();
    assert_eq!(ann.status().network, Network::Alone);
    bo.wait("Ann to be gone", |bo| (bo.status().people.len() == 1).then_some(()));
    ann.insert("main.tex", "x", "alone ");
    ann.reopen();
    assert_eq!(ann.status().sharing, None);
    assert_eq!(ann.replica().share(&room.hosting.place()).unwrap(), link);
    bo.wait_text("main.tex", "alone x\n");
}

#[test]
fn what_cannot_be_written_is_told_kept_and_written_later() {
    let room = Room::new();
    let (ann, mut bo) = room.two(&[("main.tex", b"x\n")]);
    // A folder with nothing of the paper in it has the name.
    bo.write("notes.tex/notes.aux", "built");
    ann.write("notes.tex", "notes\n");
    let note = bo.wait("a note", |bo| {
        let file = bo.files().into_iter().find(|file| file.path == "notes.tex")?;
        file.note.filter(|note| note.contains("a folder has its name"))
    });
    assert!(note.starts_with("Not on disk"), "{note}");
    // It can be read and edited all the same.
    bo.wait_text("notes.tex", "notes\n");
    bo.insert("notes.tex", "notes", "our ");
    ann.wait_disk("notes.tex", b"our notes\n");
    #[expect(clippy::disallowed_methods, reason = "another program")]
    std::fs::remove_dir_all(bo.path("notes.tex")).unwrap();
    bo.wait_disk("notes.tex", b"our notes\n");
    bo.wait("the note to be gone", |bo| bo.files().iter().all(|f| f.note.is_none()).then_some(()));
    same_folders(&ann, &bo);
}

#[test]
fn figures_travel_and_follow_their_file() {
    let room = Room::new();
    let figure = |seed: u8| {
        let body = (0..200_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed);
        b"\x89PNG\r\n\x1a\n\0".iter().copied().chain(body).collect::<Vec<u8>>()
    };
    let (ann, bo) = room.two(&[("fig/a.png", &figure(1)), ("main.tex", b"x\n")]);
    bo.wait_disk("fig/a.png", figure(1));
    ann.write("fig/a.png", figure(2));
    bo.wait_disk("fig/a.png", figure(2));
    bo.write("fig/b.png", figure(3));
    ann.wait_disk("fig/b.png", figure(3));
    let kinds: Vec<FileKind> = ann.files().into_iter().map(|file| file.kind).collect();
    assert_eq!(kinds, [FileKind::Blob, FileKind::Blob, FileKind::Text]);
    same_folders(&ann, &bo);
}

#[test]
fn every_shape_of_text_is_the_same_on_the_other_desk() {
    let room = Room::new();
    let shapes: [(&str, &[u8]); 8] = [
        ("bom.tex", b"\xef\xbb\xbfone\r\ntwo\r\n"),
        ("cr.tex", b"one\rtwo\rthree"),
        ("empty.tex", b""),
        ("latin.tex", b"\\usepackage[latin1]{inputenc}\nd\xe9j\xe0 vu\n"),
        ("mixed.tex", b"one\r\ntwo\nthree\r\n\rfour\n\r\n"),
        ("newline.tex", b"\n"),
        ("spaces é #%.tex", b"x \n"),
        ("wide.tex", b"\xff\xfeo\0n\0e\0\r\0\n\0"),
    ];
    let (ann, mut bo) = room.two(&shapes);
    same_folders(&ann, &bo);
    for (name, bytes) in shapes {
        assert_eq!(ann.disk(name).unwrap(), bytes, "{name}");
    }
    // A word typed on one desk changes that word on the other's disk, and nothing else.
    bo.insert("mixed.tex", "three", "and ");
    bo.insert("latin.tex", "vu", "é");
    bo.insert("wide.tex", "one", "s");
    bo.insert("cr.tex", "three", "\n");
    ann.wait_disk("mixed.tex", b"one\r\ntwo\nand three\r\n\rfour\n\r\n");
    ann.wait_disk("latin.tex", b"\\usepackage[latin1]{inputenc}\nd\xe9j\xe0 \xe9vu\n");
    ann.wait_disk("wide.tex", b"\xff\xfes\0o\0n\0e\0\r\0\n\0");
    ann.wait_disk("cr.tex", b"one\rtwo\r\rthree");
    same_folders(&ann, &bo);
}

#[test]
fn renamed_and_removed_files_follow_and_edited_ones_are_kept() {
    let room = Room::new();
    let (ann, mut bo) =
        room.two(&[("a.tex", b"a\n"), ("b.tex", b"b\n"), ("c.tex", b"c\n"), ("d.tex", b"d\n")]);
    #[expect(clippy::disallowed_methods, reason = "another program")]
    std::fs::rename(ann.path("a.tex"), ann.path("z.tex")).unwrap();
    bo.wait_disk("z.tex", b"a\n");
    bo.wait_gone("a.tex");
    #[expect(clippy::disallowed_methods, reason = "another program")]
    std::fs::remove_file(ann.path("b.tex")).unwrap();
    bo.wait_gone("b.tex");

    // Offline, Bo works on a file in the app that Ann removes meanwhile.
    bo.replica().set_offline(true);
    bo.insert("c.tex", "c", "still needed: ");
    ann.replica().delete_file(ann.file("c.tex")).unwrap();
    ann.replica().delete_file(ann.file("d.tex")).unwrap();
    ann.wait_sent();
    bo.replica().set_offline(false);
    ann.wait_disk("c.tex", b"still needed: c\n");
    bo.wait_gone("d.tex");
    same_folders(&ann, &bo);
    assert!(bo.notices().iter().any(|text| text.contains("c.tex")), "{:?}", bo.notices());
}

#[test]
fn two_people_make_one_name_and_both_files_are_kept() {
    let room = Room::new();
    let (ann, bo) = room.two(&[("main.tex", b"x\n")]);
    bo.replica().set_offline(true);
    bo.write("notes.tex", "from bo\n");
    bo.file("notes.tex");
    ann.write("notes.tex", "from ann\n");
    ann.file("notes.tex");
    ann.wait_sent();
    bo.replica().set_offline(false);
    bo.wait_sent();
    ann.wait("three files", |ann| (ann.paths().len() == 3).then_some(()));
    same_folders(&ann, &bo);
    let files = files_below(ann.folder());
    let notes: Vec<&Vec<u8>> =
        files.iter().filter(|(name, _)| name.starts_with("notes")).map(|(_, text)| text).collect();
    assert_eq!(notes.len(), 2);
    assert!(notes.contains(&&b"from bo\n".to_vec()) && notes.contains(&&b"from ann\n".to_vec()));
    assert!(files.contains_key("notes.tex"), "{:?}", files.keys());
    assert!(files.keys().any(|name| name.contains("'s copy).tex")), "{:?}", files.keys());
}

#[test]
fn joining_a_folder_that_holds_something_keeps_both() {
    let room = Room::new();
    let (ann, _bo) = room.two(&[("main.tex", b"the paper\n"), ("same.tex", b"same\n")]);
    let link = ann.status().sharing.unwrap().link;
    let eve = room.dirs.path().join("eve");
    #[expect(clippy::disallowed_methods, reason = "another program")]
    {
        std::fs::create_dir_all(&eve).unwrap();
        std::fs::write(eve.join("main.tex"), "something else\n").unwrap();
        std::fs::write(eve.join("same.tex"), "same\n").unwrap();
        std::fs::write(eve.join("extra.tex"), "extra\n").unwrap();
    }
    let eve = room.desk("eve", Some(&link)).unwrap();
    same_folders(&ann, &eve);
    let files = files_below(ann.folder());
    assert_eq!(files["main.tex"], b"the paper\n");
    assert_eq!(files["same.tex"], b"same\n");
    assert_eq!(files["extra.tex"], b"extra\n");
    assert_eq!(files["main (eve's copy).tex"], b"something else\n");
    assert_eq!(files.len(), 4);
}

#[test]
fn two_who_see_the_same_change_on_disk_do_not_double_it() {
    // As when both folders are in one Dropbox, or both pull the same commit.
    let room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"one\ntwo\nthree\n")]);
    same_folders(&ann, &bo);
    bo.replica().set_offline(true);
    ann.write("main.tex", "one\ntwo and more\nthree\nfour\n");
    bo.write("main.tex", "one\ntwo and more\nthree\nfour\n");
    ann.wait_text("main.tex", "one\ntwo and more\nthree\nfour\n");
    bo.wait_text("main.tex", "one\ntwo and more\nthree\nfour\n");
    ann.wait_sent();
    bo.replica().set_offline(false);
    bo.wait_sent();
    same_folders(&ann, &bo);
    ann.wait_text("main.tex", "one\ntwo and more\nthree\nfour\n");
    bo.wait_text("main.tex", "one\ntwo and more\nthree\nfour\n");
}

#[test]
fn people_and_cursors_are_seen_and_go() {
    let room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"one\ntwo\n")]);
    ann.window("main.tex");
    bo.window("main.tex");
    bo.place_cursor("main.tex", 5);
    let file = ann.file("main.tex");
    ann.wait("Bo in line 2", |ann| {
        let status = ann.status();
        let bo = status.people.iter().find(|person| !person.me)?;
        (bo.name == "bo" && bo.file == Some(file) && bo.line == Some(2)).then_some(())
    });
    // A cursor moves along with the text before it.
    ann.insert("main.tex", "one", "zero ");
    ann.wait_window("main.tex", "Bo's cursor to move along", |window| {
        window.cursors.first().is_some_and(|cursor| cursor.head == 10)
    });
    let cursors = ann.window_state("main.tex").cursors;
    assert_eq!(cursors.len(), 1);
    assert_eq!((cursors[0].head, cursors[0].name.as_str()), (10, "bo"));
    // Gone and back again: seen anew at once, not only after the next renewal.
    for _ in 0..3 {
        bo.replica().set_offline(true);
        ann.wait("Bo to be gone", |ann| (ann.status().people.len() == 1).then_some(()));
        bo.replica().set_offline(false);
        ann.wait("Bo to be back", |ann| (ann.status().people.len() == 2).then_some(()));
        bo.wait("Ann to be seen again", |bo| (bo.status().people.len() == 2).then_some(()));
    }
    ann.wait_window("main.tex", "Bo's cursor to be back", |window| window.cursors.len() == 1);
    drop(bo);
    ann.wait("Bo to be gone", |ann| (ann.status().people.len() == 1).then_some(()));
    assert_eq!(ann.window_state("main.tex").cursors, []);
}

#[test]
fn a_wrong_link_is_refused_and_leaves_nothing_behind() {
    let room = Room::new();
    let (ann, _bo) = room.two(&[("main.tex", b"x\n")]);
    let link = ann.status().sharing.unwrap().link;
    let (head, _) = link.split_once('#').unwrap();
    let problem = |link: &str| room.desk("eve", Some(link)).unwrap_err().to_string();
    let wrong = problem(&format!("{head}#{}", "w".repeat(40)));
    assert!(wrong.contains("refused"), "{wrong}");
    assert!(problem("hello").contains("quire://"));
    assert!(problem(head).contains("secret"));
    assert!(!room.dirs.path().join("eve").exists(), "the folder is as it was");
    let data = room.dirs.path().join("eve-data");
    assert!(!data.exists() || files_below(&data).is_empty(), "no store is left");
}

/// A small generator, so that a failure is the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn three_authors_and_a_flaky_link_lose_no_word_and_double_none() {
    let mut room = Room::new();
    let (mut ann, mut bo) = room.two(&[("main.tex", b"start\n"), ("other.tex", b"start\n")]);
    let seed = std::env::var("QUIRE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    let mut chance = Chance(seed);
    let mut words = Vec::new();
    for round in 0..120_u64 {
        let path = if chance.below(3) == 0 { "other.tex" } else { "main.tex" };
        let word = format!("w{round}-");
        match chance.below(10) {
            0 => bo.replica().set_offline(true),
            1 | 2 => bo.replica().set_offline(false),
            3 if round % 2 == 0 => {
                room.hosting.stop();
                room.hosting.start_again();
            }
            4 => {
                // Another program appends a line on Ann's disk.
                ann.level_here();
                let mut text = ann.disk(path).unwrap();
                text.extend_from_slice(format!("{word}\n").as_bytes());
                ann.write(path, text);
                words.push((path, word));
            }
            5..=7 => {
                bo.insert(path, "start", &word);
                words.push((path, word));
            }
            _ => {
                ann.insert(path, "start", &word);
                words.push((path, word));
            }
        }
    }
    bo.replica().set_offline(false);
    ann.wait_sent();
    bo.wait_sent();
    same_folders(&ann, &bo);
    for path in ["main.tex", "other.tex"] {
        let text = ann.text(path);
        bo.wait_text(path, &text);
        assert_eq!(ann.disk(path).unwrap(), text.as_bytes());
        for (_, word) in words.iter().filter(|(in_path, _)| *in_path == path) {
            assert_eq!(text.matches(word.as_str()).count(), 1, "{word} in {path}: {text}");
        }
    }
}
