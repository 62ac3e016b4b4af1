//! The real app, end to end: two programs, two people, two folders, driven by `WebDriver`.
//!
//! `cargo xtask test e2e` builds the app and gives these tests a display. Pictures of the windows
//! are kept in `target/e2e`.

#![expect(clippy::disallowed_methods, reason = "real files, real time")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod window;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::window::{Person, Window, place};

const MAIN: &str = r"\documentclass{article}
\begin{document}
Birds cross at night.
Nobody sees them.
\input{sections/model}
\end{document}
";

const MODEL: &str = "\\section{Model}\nA bird is seen or not.\n";

/// Ada, who has the paper, and Ben, who has an empty desk.
fn people(test: &str) -> (Person, Person) {
    let place = place(test);
    let ada = Person { name: "Ada", color: 0, place: place.clone() };
    let ben = Person { name: "Ben", color: 1, place };
    let folder = ada.folder();
    fs::create_dir_all(folder.join("sections")).unwrap();
    fs::create_dir_all(folder.join("figures")).unwrap();
    fs::write(folder.join("main.tex"), MAIN).unwrap();
    fs::write(folder.join("sections/model.tex"), MODEL).unwrap();
    let figure =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/sample-paper/figures/tracks.png");
    fs::copy(figure, folder.join("figures/tracks.png")).unwrap();
    (ada, ben)
}

/// Both windows on the paper, sharing through Ada's program.
async fn pair(ada: &Person, ben: &Person) -> (Window, Window) {
    let a = ada.open().await;
    a.until_text("the paper", |text| text == MAIN).await;
    let link = a.share().await;
    let b = ben.join(&link).await;
    b.until_text("the paper", |text| text == MAIN).await;
    for window in [&a, &b] {
        window
            .until("the other person", async |window: &Window| {
                window.status().await["people"] == "1"
            })
            .await;
        window.focus().await;
    }
    (a, b)
}

/// Waits until both windows show the same, wanted text and both folders hold it.
async fn until_same(
    windows: (&Window, &Window),
    people: (&Person, &Person),
    what: &str,
    wanted: impl Fn(&str) -> bool,
) -> String {
    let (a, b) = windows;
    a.until_text(what, &wanted).await;
    let text = a.text().await;
    b.until_text(what, |other| other == text).await;
    for (window, person) in [(a, people.0), (b, people.1)] {
        window.until_settled().await;
        window.until("the folder", async |_: &Window| person.read("main.tex") == text).await;
    }
    text
}

#[tokio::test]
async fn what_one_types_the_other_reads() {
    let (ada, ben) = people("what_one_types_the_other_reads");
    let (a, b) = pair(&ada, &ben).await;
    a.go_to_end_of_line(4).await;
    a.keys("\nBut a camera does: é, \\beta, ß.").await;
    let wanted = MAIN.replace("them.\n", "them.\nBut a camera does: é, \\beta, ß.\n");
    until_same((&a, &b), (&ada, &ben), "Ada's line", |text| text == wanted).await;
    b.go_to_end_of_line(3).await;
    b.keys(" In silence.").await;
    let wanted = wanted.replace("at night.", "at night. In silence.");
    until_same((&a, &b), (&ada, &ben), "Ben's words", |text| text == wanted).await;
    assert_eq!(ben.read("sections/model.tex"), MODEL);
    let figure = "figures/tracks.png";
    assert_eq!(
        fs::read(ada.folder().join(figure)).unwrap(),
        fs::read(ben.folder().join(figure)).unwrap()
    );
    a.picture("both").await;
    b.picture("both").await;
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn both_type_in_one_line_and_every_letter_is_there() {
    let (ada, ben) = people("both_type_in_one_line_and_every_letter_is_there");
    let (a, b) = pair(&ada, &ben).await;
    a.go_to_end_of_line(3).await;
    b.go_to_end_of_line(3).await;
    let (left, right) = (" aaaaaaaaaaaaaaaaaaaaaaaa", " bbbbbbbbbbbbbbbbbbbbbbbb");
    tokio::join!(a.keys(left), b.keys(right));
    let text = until_same((&a, &b), (&ada, &ben), "all letters", |text| {
        text.matches('\u{61}').count() >= 24 && text.len() == MAIN.len() + left.len() + right.len()
    })
    .await;
    let line = text.lines().nth(2).unwrap().strip_prefix("Birds cross at night.").unwrap();
    for letter in ['a', 'b'] {
        assert_eq!(line.matches(letter).count(), 24, "{line}");
    }
    a.picture("one-line").await;
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn offline_both_write_on_and_meet_again() {
    let (ada, ben) = people("offline_both_write_on_and_meet_again");
    let (a, b) = pair(&ada, &ben).await;
    b.switch_offline(true).await;
    b.focus().await;
    b.go_to_end_of_line(3).await;
    b.keys(" Ben wrote this on a train.").await;
    a.go_to_end_of_line(4).await;
    a.keys(" Ada wrote this at home.").await;
    b.until_text("Ben's words", |text| text.contains("on a train.")).await;
    a.until_text("Ada's words", |text| text.contains("at home.")).await;
    b.until("unsent edits, saved here", async |window: &Window| {
        let status = window.status().await;
        status["saved"] == "saved" && status["unsent"] != "0"
    })
    .await;
    assert!(!b.text().await.contains("at home"), "no network means no network");
    assert!(!a.text().await.contains("train"));
    b.picture("offline").await;
    b.switch_offline(false).await;
    let wanted = MAIN
        .replace("at night.", "at night. Ben wrote this on a train.")
        .replace("them.", "them. Ada wrote this at home.");
    until_same((&a, &b), (&ada, &ben), "both sentences", |text| text == wanted).await;
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn after_a_crash_all_that_was_shown_as_saved_is_there() {
    let (ada, ben) = people("after_a_crash_all_that_was_shown_as_saved_is_there");
    let (a, b) = pair(&ada, &ben).await;
    a.go_to_end_of_line(4).await;
    let mut saved = String::new();
    for word in 0..40 {
        a.keys(&format!(" word{word}")).await;
        let (text, status) = a.text_and_status().await;
        if status["saved"] == "saved" {
            saved = text;
        }
    }
    assert!(saved.contains("word0"), "nothing was ever shown as saved: {saved}");
    a.kill_while_typing(&" and more".repeat(40)).await;

    let a = ada.open().await;
    let words: Vec<&str> = saved.split_whitespace().collect();
    a.until_text("all that was saved", |text| {
        let there: Vec<&str> = text.split_whitespace().collect();
        words.iter().all(|word| there.contains(word))
    })
    .await;
    // The link is still good: Ben is back without doing anything.
    a.until("Ben", async |window: &Window| window.status().await["people"] == "1").await;
    let text = a.text().await;
    b.until_text("the same", |other| other == text).await;
    a.focus().await;
    a.go_to_end_of_line(3).await;
    a.keys(" On we go.").await;
    until_same((&a, &b), (&ada, &ben), "a new sentence", |text| text.contains("On we go.")).await;
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn another_program_changes_the_folder_and_no_caret_moves() {
    let (ada, ben) = people("another_program_changes_the_folder_and_no_caret_moves");
    let (a, b) = pair(&ada, &ben).await;
    a.go_to_end_of_line(3).await;
    b.go_to_end_of_line(4).await;
    let done = Command::new("sed")
        .args(["-i", "s/documentclass{article}/documentclass[12pt]{article}/"])
        .arg(ada.folder().join("main.tex"))
        .status()
        .unwrap();
    assert!(done.success());
    let wanted = MAIN.replace("{article}", "[12pt]{article}");
    until_same((&a, &b), (&ada, &ben), "sed's change", |text| text == wanted).await;
    a.keys(" Here stood Ada.").await;
    b.keys(" Here stood Ben.").await;
    let wanted = wanted
        .replace("at night.", "at night. Here stood Ada.")
        .replace("them.", "them. Here stood Ben.");
    until_same((&a, &b), (&ada, &ben), "both at their places", |text| text == wanted).await;
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn undo_takes_back_ones_own_words_only() {
    let (ada, ben) = people("undo_takes_back_ones_own_words_only");
    let (a, b) = pair(&ada, &ben).await;
    a.go_to_end_of_line(3).await;
    a.keys(" Mine.").await;
    b.until_text("Ada's word", |text| text.contains("Mine.")).await;
    b.go_to_end_of_line(4).await;
    b.keys(" Yours.").await;
    a.until_text("Ben's word", |text| text.contains("Yours.")).await;
    a.control('z').await;
    let wanted = MAIN.replace("them.", "them. Yours.");
    until_same((&a, &b), (&ada, &ben), "only Ada's word gone", |text| text == wanted).await;
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn closed_and_opened_again_it_is_the_same_text_and_place() {
    let (ada, _) = people("closed_and_opened_again_it_is_the_same_text_and_place");
    let a = ada.open().await;
    a.open_file("sections/model.tex").await;
    a.until_text("the section", |text| text == MODEL).await;
    a.focus().await;
    a.go_to_end_of_line(2).await;
    a.keys(" Mostly not.").await;
    let wanted = MODEL.replace("or not.", "or not. Mostly not.");
    a.until_text("the words", |text| text == wanted).await;
    a.until("saved", async |window: &Window| window.status().await["saved"] == "saved").await;
    assert_eq!(a.shown("status-caret").await, "Line 2, column 35");
    a.close().await;
    assert_eq!(ada.read("sections/model.tex"), wanted);

    let a = ada.open().await;
    a.until_text("the section again", |text| text == wanted).await;
    // The page tells of its caret a moment after the last letter; the program may have ended then.
    a.until("the caret's line", async |window: &Window| {
        window.shown("status-caret").await.starts_with("Line 2,")
    })
    .await;
    a.close().await;
}

#[tokio::test]
async fn beyond_this_computer_the_link_carries_the_certificate() {
    let (ada, ben) = people("beyond_this_computer_the_link_carries_the_certificate");
    let a = ada.open().await;
    let link = a.share_at("127.0.0.1").await;
    let (_, secret) = link.split_once('#').unwrap();
    let (_, fingerprint) = secret.split_once('.').expect("a fingerprint stands in the link");
    assert_eq!(fingerprint.len(), 64);
    let other: String = fingerprint.chars().rev().collect();
    let into = ben.folder().display().to_string();
    let wrong = link.replace(fingerprint, &other);
    refused(&ben, &["--join", &wrong, "--into", &into], "another certificate");
    let b = ben.join(&link).await;
    b.until_text("the paper", |text| text == MAIN).await;
    b.focus().await;
    b.go_to_end_of_line(3).await;
    b.keys(" Unheard.").await;
    let wanted = MAIN.replace("night.", "night. Unheard.");
    until_same((&a, &b), (&ada, &ben), "Ben's word", |text| text == wanted).await;
    b.close().await;
    a.close().await;
}

#[tokio::test]
async fn a_page_that_is_loaded_anew_goes_on_where_it_was() {
    let (ada, ben) = people("a_page_that_is_loaded_anew_goes_on_where_it_was");
    let (a, b) = pair(&ada, &ben).await;
    a.go_to_end_of_line(3).await;
    a.keys(" Before.").await;
    b.until_text("Ada's word", |text| text.contains("Before.")).await;
    a.load_anew().await;
    a.until_text("the same text", |text| text.contains("Before.")).await;
    a.focus().await;
    a.keys(" After.").await;
    b.go_to_end_of_line(4).await;
    b.keys(" Ben.").await;
    let wanted = MAIN.replace("night.", "night. Before. After.").replace("them.", "them. Ben.");
    until_same((&a, &b), (&ada, &ben), "both go on", |text| text == wanted).await;
    a.close().await;
    b.close().await;
}

/// Starts the app for somebody at a terminal and waits until it has ended by itself.
fn at_a_terminal(person: &Person, arguments: &[&str]) -> Output {
    fs::create_dir_all(person.data_dir()).unwrap();
    Command::new(std::env::var_os("QUIRE_APP").expect("QUIRE_APP names the built app"))
        .args(arguments)
        .arg("--data-dir")
        .arg(person.data_dir())
        .output()
        .unwrap()
}

fn refused(person: &Person, arguments: &[&str], because: &str) {
    let output = at_a_terminal(person, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{arguments:?} was carried out");
    assert!(said.contains(because), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    assert!(output.stdout.is_empty(), "a link was printed");
}

#[tokio::test]
async fn a_link_that_leads_nowhere_is_told_and_leaves_nothing() {
    let (ada, ben) = people("a_link_that_leads_nowhere_is_told_and_leaves_nothing");
    let a = ada.open().await;
    let link = a.share().await;
    let into = ben.folder().display().to_string();
    let (start, secret) = link.split_once('#').unwrap();
    let other: String = secret.chars().rev().collect();
    for (link, because) in [
        ("https://example.org", "not a link"),
        (
            "quire://127.0.0.1:1/00112233445566778899aabbccddeeff#abcdefghijklmnopqrstuvwxyz",
            "server",
        ),
        (&format!("{start}#{other}"), "new link"),
    ] {
        refused(&ben, &["--join", link, "--into", &into], because);
        assert!(!ben.folder().exists(), "{link}");
    }
    a.close().await;
}

#[tokio::test]
async fn a_paper_that_is_open_is_not_opened_twice() {
    let (ada, _) = people("a_paper_that_is_open_is_not_opened_twice");
    let a = ada.open().await;
    let folder = ada.folder().display().to_string();
    refused(&ada, &[&folder, "--share"], "already open");
    a.focus().await;
    a.go_to_end_of_line(3).await;
    a.keys(" Still mine.").await;
    a.until("the folder", async |_: &Window| ada.read("main.tex").contains("Still mine.")).await;
    a.close().await;
}

#[tokio::test]
async fn the_start_window_opens_a_paper_that_was_open() {
    let (ada, _) = people("the_start_window_opens_a_paper_that_was_open");
    ada.open().await.close().await;
    let a = ada.start().await;
    a.until("its row", async |window: &Window| {
        window.shown("recent").await.contains("night-migrants")
    })
    .await;
    a.picture("start").await;
    a.click("recent").await;
    a.switch_to_the_other_window().await;
    a.until_text("the paper", |text| text == MAIN).await;
    a.close().await;
}

#[tokio::test]
async fn a_picture_of_two_people_at_work() {
    let (ada, ben) = people("a_picture_of_two_people_at_work");
    fs::remove_dir_all(ada.folder()).unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/sample-paper");
    let copied = Command::new("cp").arg("-r").arg(sample).arg(ada.folder()).status().unwrap();
    assert!(copied.success());
    let a = ada.open().await;
    let link = a.share().await;
    let b = ben.join(&link).await;
    for window in [&a, &b] {
        window.open_file("sections/model.tex").await;
        window.focus().await;
    }
    a.go_to_end_of_line(18).await;
    b.go_to_end_of_line(13).await;
    b.keys(" The mast is the same for all nights.").await;
    a.until_text("Ben's words", |text| text.contains("The mast is the same for all nights.")).await;
    a.until_settled().await;
    b.until_settled().await;
    a.picture("at-work").await;
    b.picture("at-work").await;
    a.close().await;
    b.close().await;
}
