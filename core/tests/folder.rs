//! What is promised about the folder: other programs are one more author, and bytes that nobody
//! edited stay as they were.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use replica::{Change, Config, Edit, Notification, Person, Replica, Saved};
use tempfile::TempDir;
use tests::Desk;

struct Here {
    folder: TempDir,
    data: TempDir,
}

impl Here {
    #[expect(clippy::disallowed_methods, reason = "another program")]
    fn with(files: &[(&str, &[u8])]) -> Self {
        let here = Self { folder: TempDir::new().unwrap(), data: TempDir::new().unwrap() };
        for (name, bytes) in files {
            let path = here.folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        here
    }

    fn open(&self) -> Desk {
        Desk::open("Ann", self.folder.path(), self.data.path()).unwrap()
    }
}

#[test]
fn a_word_typed_changes_only_its_line_on_disk() {
    let before = b"\xef\xbb\xbfone \r\ntwo\r\nthree\nno end";
    let here = Here::with(&[("main.tex", before)]);
    let mut desk = here.open();
    assert_eq!(desk.text("main.tex"), "one \ntwo\nthree\nno end");
    desk.insert("main.tex", "two", "a word, ");
    desk.wait_disk("main.tex", b"\xef\xbb\xbfone \r\na word, two\r\nthree\nno end");
    desk.reopen();
    assert_eq!(desk.text("main.tex"), "one \na word, two\nthree\nno end");
    desk.insert("main.tex", "one", "\n");
    desk.wait_disk("main.tex", b"\xef\xbb\xbf\r\none \r\na word, two\r\nthree\nno end");
}

#[test]
fn old_encodings_are_kept_and_what_does_not_fit_them_is_told() {
    let here = Here::with(&[("a.tex", b"caf\xe9 est l\xe0\n"), ("b.tex", b"x\n")]);
    let mut desk = here.open();
    assert_eq!(desk.text("a.tex"), "café est là\n");
    desk.insert("a.tex", "est", "où ");
    desk.wait_disk("a.tex", b"caf\xe9 o\xf9 est l\xe0\n");
    desk.insert("a.tex", "est", "π");
    let note = desk
        .wait("a note", |desk| desk.files().into_iter().find(|file| file.path == "a.tex")?.note);
    assert!(note.contains('π') && note.contains("windows-1252"), "{note}");
    assert_eq!(desk.disk("a.tex").unwrap(), b"caf\xe9 o\xf9 est l\xe0\n");
}

#[test]
fn an_edit_by_another_program_is_merged_and_moves_no_cursor() {
    let here = Here::with(&[("main.tex", b"first line\nsecond line\nthird line\n")]);
    let mut desk = here.open();
    desk.window("main.tex");
    desk.write("main.tex", "first line\nsecond, edited line\nthird line\n");
    desk.wait_text("main.tex", "first line\nsecond, edited line\nthird line\n");
    let window = desk.window_state("main.tex");
    assert_eq!((window.version, window.own), (1, 0), "one small patch");
    // Replaced by renaming, as `sed -i` and vim do.
    for count in 0..3 {
        let text = format!("first line\nsecond, edited line\nthird line {count}\n");
        desk.write("sedAb12Xy", &text);
        #[expect(clippy::disallowed_methods, reason = "another program")]
        std::fs::rename(desk.path("sedAb12Xy"), desk.path("main.tex")).unwrap();
        desk.wait_text("main.tex", &text);
    }
    assert_eq!(desk.paths(), ["main.tex"]);
}

#[test]
fn typing_and_another_program_at_once_lose_nothing() {
    let here = Here::with(&[("main.tex", b"alpha\nbeta\ngamma\n")]);
    let mut desk = here.open();
    for round in 0..5 {
        desk.insert("main.tex", "beta", &format!("typed{round} "));
        let disk = String::from_utf8(desk.disk("main.tex").unwrap()).unwrap();
        desk.write("main.tex", disk.replace("gamma", &format!("disk{round} gamma")));
        desk.level();
    }
    let text = desk.text("main.tex");
    for round in 0..5 {
        assert_eq!(text.matches(&format!("typed{round} ")).count(), 1, "{text}");
        assert_eq!(text.matches(&format!("disk{round} ")).count(), 1, "{text}");
    }
    assert_eq!(desk.disk("main.tex").unwrap(), text.as_bytes());
}

#[test]
fn what_changed_while_nobody_looked_is_merged_at_the_start() {
    let here = Here::with(&[
        ("main.tex", b"one\ntwo\n"),
        ("gone.tex", b"gone\n"),
        ("old.tex", b"moved\n"),
    ]);
    let mut desk = here.open();
    desk.insert("main.tex", "two", "typed ");
    desk.level();
    desk.replica().rescan();
    let folder = desk.folder().to_path_buf();
    drop(desk);
    #[expect(clippy::disallowed_methods, reason = "another program")]
    {
        std::fs::write(folder.join("main.tex"), "zero\none\ntyped two\n").unwrap();
        std::fs::remove_file(folder.join("gone.tex")).unwrap();
        std::fs::rename(folder.join("old.tex"), folder.join("new.tex")).unwrap();
        std::fs::write(folder.join("fig.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    }
    let mut desk = here.open();
    desk.wait_text("main.tex", "zero\none\ntyped two\n");
    desk.wait("the new list of files", |desk| {
        (desk.paths() == ["fig.png", "main.tex", "new.tex"]).then_some(())
    });
    assert_eq!(desk.text("new.tex"), "moved\n");
}

#[test]
fn touching_a_file_and_a_build_beside_it_are_no_edits() {
    let here = Here::with(&[("main.tex", b"text\n")]);
    let mut desk = here.open();
    desk.window("main.tex");
    for name in ["main.aux", "main.log", "main.synctex.gz", ".main.tex.swp", "4913", ".git/HEAD"] {
        desk.write(name, "x");
    }
    desk.write("main.tex", "text\n");
    desk.level();
    assert_eq!(desk.window_state("main.tex").version, 0);
    assert_eq!(desk.paths(), ["main.tex"]);
}

#[test]
fn a_file_deleted_and_made_again_at_once_is_an_edit() {
    let here = Here::with(&[("main.tex", b"text\n")]);
    let mut desk = here.open();
    let file = desk.file("main.tex");
    desk.window("main.tex");
    #[expect(clippy::disallowed_methods, reason = "another program")]
    std::fs::remove_file(desk.path("main.tex")).unwrap();
    desk.write("main.tex", "text, checked out anew\n");
    desk.wait_text("main.tex", "text, checked out anew\n");
    assert_eq!(desk.file("main.tex"), file);
    #[expect(clippy::disallowed_methods, reason = "another program")]
    std::fs::remove_file(desk.path("main.tex")).unwrap();
    desk.wait("it to be gone from the paper", |desk| desk.paths().is_empty().then_some(()));
    assert!(desk.window_state("main.tex").closed.is_some());
}

#[test]
fn a_text_that_becomes_something_else_stays_in_the_paper() {
    let here = Here::with(&[("main.tex", b"much text that must not go away\n")]);
    let mut desk = here.open();
    desk.window("main.tex");
    desk.write("main.tex", [0_u8; 64]);
    let note = desk.wait("a note", |desk| desk.files().first()?.note.clone());
    assert!(note.contains("no text any more"), "{note}");
    assert_eq!(desk.text("main.tex"), "much text that must not go away\n");
}

#[test]
#[cfg(unix)]
fn links_and_names_that_not_every_system_has_are_listed_and_not_shared() {
    let here = Here::with(&[("main.tex", b"text\n"), ("aux.tex", b"device\n")]);
    std::os::unix::fs::symlink("/etc/passwd", here.folder.path().join("figure.pdf")).unwrap();
    let desk = here.open();
    assert_eq!(desk.paths(), ["main.tex"]);
    let notes: Vec<(String, String)> = desk
        .files()
        .into_iter()
        .filter(|file| file.id.is_none())
        .map(|file| (file.path, file.note.unwrap_or_default()))
        .collect();
    assert_eq!(notes.len(), 2);
    assert!(notes[0].0 == "aux.tex" && notes[0].1.contains("device"), "{notes:?}");
    assert!(notes[1].0 == "figure.pdf" && notes[1].1.contains("link"), "{notes:?}");
}

#[test]
fn files_made_renamed_and_removed_in_the_app_follow_on_disk() {
    let here = Here::with(&[("main.tex", b"text\n")]);
    let mut desk = here.open();
    let file = desk.replica().create_file("sections/intro.tex").unwrap();
    desk.wait_disk("sections/intro.tex", b"");
    desk.insert("sections/intro.tex", "", "Hello");
    desk.wait_disk("sections/intro.tex", b"Hello");
    desk.replica().rename_file(file, "intro.tex").unwrap();
    desk.wait_disk("intro.tex", b"Hello");
    desk.wait_gone("sections");
    for bad in ["../x.tex", "a\\b.tex", "nul.tex", "x.aux", ""] {
        let problem = desk.replica().create_file(bad).unwrap_err().to_string();
        assert!(problem.contains("name"), "{problem}");
    }
    let taken = desk.replica().create_file("Main.tex").unwrap_err().to_string();
    assert!(taken.contains("already"), "{taken}");
    desk.replica().delete_file(file).unwrap();
    desk.wait_gone("intro.tex");
    assert!(desk.replica().open_editor(file).is_err());
}

#[test]
fn one_paper_is_open_in_one_place_and_a_moved_folder_keeps_its_paper() {
    let here = Here::with(&[("main.tex", b"text\n")]);
    let desk = here.open();
    let id = desk.replica().paper();
    let again = Desk::open("Ann", here.folder.path(), here.data.path()).unwrap_err().to_string();
    assert!(again.contains("already open"), "{again}");
    drop(desk);

    let moved = here.folder.path().join("moved");
    #[expect(clippy::disallowed_methods, reason = "another program")]
    {
        std::fs::create_dir(&moved).unwrap();
        std::fs::rename(here.folder.path().join("main.tex"), moved.join("main.tex")).unwrap();
        std::fs::rename(here.folder.path().join(".quire"), moved.join(".quire")).unwrap();
    }
    let desk = Desk::open("Ann", &moved, here.data.path()).unwrap();
    assert_eq!(desk.replica().paper(), id);
    assert_eq!(desk.paths(), ["main.tex"]);
}

#[test]
fn a_folder_that_holds_far_more_than_a_paper_does_not_become_one() {
    let here = Here::with(&[("main.tex", b"text\n")]);
    // A file of 3 GiB that takes no room.
    #[expect(clippy::disallowed_methods, reason = "another program")]
    let film = std::fs::File::create(here.folder.path().join("film.mkv")).unwrap();
    film.set_len(3 << 30).unwrap();
    let problem = Desk::open("Ann", here.folder.path(), here.data.path()).unwrap_err().to_string();
    assert!(problem.contains("more than a paper"), "{problem}");
    assert!(!here.folder.path().join(".quire").exists());
}

#[test]
fn a_folder_that_cannot_be_used_says_so() {
    let data = TempDir::new().unwrap();
    let missing = data.path().join("nowhere");
    let problem = Desk::open("Ann", &missing, data.path()).unwrap_err().to_string();
    assert!(problem.contains("nowhere") && problem.contains("Check"), "{problem}");
}

#[test]
fn an_edit_is_taken_on_the_newest_version_only_and_whole() {
    let here = Here::with(&[("main.tex", "a\u{1f600}b".as_bytes())]);
    let mut desk = here.open();
    let editor = desk.window("main.tex");
    let change = |from, to, insert: &str| Change { from, to, insert: insert.into() };
    let send = |desk: &Desk, version, updates: Vec<Vec<Change>>| {
        desk.replica().edit(Edit { editor, version, updates });
        // Answered after what was queued before.
        desk.status();
    };
    // Two steps, the second one in the text after the first; each is a version.
    send(&desk, 0, vec![vec![change(0, 1, "A"), change(4, 4, "!")], vec![change(5, 5, "?")]]);
    desk.wait_text("main.tex", "A\u{1f600}b!?");
    let window = desk.window_state("main.tex");
    assert_eq!((window.version, window.own), (2, 2));
    // Made on what has gone by, or on what is not yet: ignored.
    send(&desk, 0, vec![vec![change(0, 0, "late")]]);
    send(&desk, 7, vec![vec![change(0, 0, "early")]]);
    assert_eq!(desk.window_state("main.tex").version, 2);
    assert_eq!(desk.window_state("main.tex").closed, None);
    // Half of a character: nothing of it is taken, and the window is told to open the text anew.
    send(&desk, 2, vec![vec![change(0, 0, "x")], vec![change(3, 3, "y")]]);
    assert!(desk.window_state("main.tex").closed.is_some());
    desk.level();
    assert_eq!(desk.disk("main.tex").unwrap(), "A\u{1f600}b!?".as_bytes());
}

#[test]
fn nobody_reads_saved_of_an_edit_that_was_taken_and_is_not_durable() {
    let here = Here::with(&[("main.tex", b"text\n")]);
    let (told, heard) = std::sync::mpsc::channel();
    let config = Config {
        data_dir: here.data.path().to_owned(),
        folder: here.folder.path().to_owned(),
        person: Person { name: "Ann".to_owned(), color: 0 },
    };
    let replica = Replica::open(config, move |notification| drop(told.send(notification))).unwrap();
    replica.level(Duration::from_secs(40)).unwrap();
    let file = replica.view().unwrap().files[0].id.unwrap();
    let editor = replica.open_editor(file).unwrap().editor;
    let mut saved = replica.status().unwrap().saved;
    for version in 0..20 {
        while saved != Saved::Saved {
            if let Notification::Status(status) =
                heard.recv_timeout(Duration::from_secs(40)).unwrap()
            {
                saved = status.saved;
            }
        }
        let change = Change { from: 0, to: 0, insert: "x".into() };
        replica.edit(Edit { editor, version, updates: vec![vec![change]] });
        // What the status says when the edit is confirmed is said knowing of the edit.
        loop {
            match heard.recv_timeout(Duration::from_secs(40)).unwrap() {
                Notification::Status(status) => saved = status.saved,
                Notification::Patches { patches, .. } if patches.iter().any(|patch| patch.own) => {
                    break;
                }
                _ => {}
            }
        }
        let durable = replica.status().unwrap().saved == Saved::Saved;
        assert!(saved != Saved::Saved || durable, "edit {version} was called saved");
    }
    replica.close().unwrap();
}
