//! `quire update` on files that an ordinary Yjs wrote, and an ordinary Yjs on what `quire update` wrote.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may panic, and looks at files as another program would"
)]

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

fn node() -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/node");
    if !folder.join("node_modules/yjs").is_dir() {
        eprintln!("fetching Yjs (npm ci)");
        let mut install = Command::new("npm");
        install.args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder);
        assert!(install.status().expect("npm is installed").success(), "npm ci went wrong");
    }
    let mut node = Command::new("node");
    node.arg(folder.join("files.mjs"));
    node
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn files_of_yjs_are_converted_merged_and_cut_to_its_bytes_and_read_by_it() {
    let dir = TempDir::new().unwrap();
    done(node().arg("write").arg(dir.path()));
    let quire = |arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quire"));
        command.arg("update").args(arguments.split(' ')).current_dir(dir.path());
        String::from_utf8(done(&mut command).stdout).unwrap()
    };
    let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();

    // Whatever format the files are in, alone or mixed.
    for (from, other) in [("v1", "v1"), ("v2", "v2"), ("v1", "v2"), ("v2", "v1")] {
        for to in ["v1", "v2"] {
            quire(&format!("merge ann.{from} bob.{other} --to {to} -o merged"));
            assert_eq!(read("merged"), read(&format!("yjs-merged.{to}")), "{from} {other} {to}");
            quire(&format!("diff bob.{other} ann.{from} --to {to} -o rest"));
            assert_eq!(read("rest"), read(&format!("yjs-rest.{to}")), "{from} {other} {to}");
            quire(&format!("convert bob.{from} --to {to} -o converted"));
            // What is in the format already is handed on as it is.
            let expected =
                if from == to { format!("bob.{to}") } else { format!("yjs-converted.{to}") };
            assert_eq!(read("converted"), read(&expected), "{from} {to}");
        }
    }

    // And back: what Yjs holds that gets our files, one by one and merged.
    let expected = quire("text yjs-merged.v1");
    assert!(expected.starts_with("% by Ann\n\\section{Really: Ünïcode 😀}\n"), "{expected}");
    for to in ["v1", "v2"] {
        quire(&format!("diff bob.v1 ann.v2 --to {to} -o rest"));
        quire(&format!("merge ann.v1 rest --to {to} -o all"));
        let held =
            done(node().args(["read".as_ref(), dir.path().join("all").as_os_str(), to.as_ref()]));
        let held: serde_json::Value = serde_json::from_slice(&held.stdout).unwrap();
        assert_eq!(held["text"], *expected);
        assert_eq!(held["meta"]["title"], "The paper");
        assert_eq!(held["list"], 3);
        assert_eq!(held["waiting"], false);
    }
}
