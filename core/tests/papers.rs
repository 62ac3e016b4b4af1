//! Three real papers, shared and joined: every byte of them is the same on the other desk.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use tempfile::TempDir;
use tests::{Desk, Hosting, copy_folder, files_below, shared_data};

fn check(name: &str) {
    let Some(papers) = shared_data("QUIRE_PAPERS", "papers") else {
        return say_skipped(name);
    };
    let dirs = TempDir::new().unwrap();
    let hosting = Hosting::start(&dirs.path().join("server"));
    let (here, there) = (dirs.path().join("ann"), dirs.path().join("bo"));
    copy_folder(&papers.join(name), &here);
    let before = files_below(&here);

    let ann = Desk::open("Ann", &here, &dirs.path().join("ann-data")).unwrap();
    let link = ann.replica().share(&hosting.place()).unwrap();
    ann.level();
    let mut bo = Desk::join("Bo", &there, &dirs.path().join("bo-data"), &link).unwrap();
    bo.level();
    assert_eq!(names(&before), names(&files_below(&there)), "{name}: the same files");
    assert!(before == files_below(&there), "{name}: the same bytes");
    assert!(before == files_below(&here), "{name}: sharing changes nothing");
    let unshared: Vec<_> = ann.files().into_iter().filter(|file| file.id.is_none()).collect();
    assert!(unshared.is_empty(), "{name}: {unshared:?}");

    // Reopened on both sides, nothing happens.
    bo.reopen();
    bo.level();
    ann.level();
    assert!(before == files_below(&there) && before == files_below(&here));
}

fn names<T>(files: &std::collections::BTreeMap<String, T>) -> Vec<&str> {
    files.keys().map(String::as_str).collect()
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn say_skipped(name: &str) {
    eprintln!("skipped {name}: no papers; set QUIRE_PAPERS to the folder that holds them");
}

#[test]
fn the_sympy_paper_is_byte_identical_on_the_other_desk() {
    check("sympy-paper");
}

#[test]
fn the_hott_book_is_byte_identical_on_the_other_desk() {
    check("hott-book");
}

#[test]
fn the_russian_template_is_byte_identical_on_the_other_desk() {
    check("russian-phd-template");
}
