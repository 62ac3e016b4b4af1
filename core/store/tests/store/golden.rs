//! ST-18: a store that an earlier version wrote is read as it was meant. `tests/golden/vN` is a
//! store as format N writes it; such a folder is never made anew.

use crate::scene::{DIR, open, texts, together};
use std::path::{Path, PathBuf};
use store::Base;
use store::disk::{Access, Disk as _, Kind, RealDisk, SimulatedDisk, create_dirs};

fn copy(from: &Path, disk: &SimulatedDisk, to: &Path) {
    create_dirs(disk, to, Access::Private).unwrap();
    for entry in RealDisk.list(from).unwrap() {
        let (from, to) = (from.join(&entry.name), to.join(&entry.name));
        if RealDisk.stat(&from).unwrap().kind == Kind::Folder {
            copy(&from, disk, &to);
        } else {
            let bytes = RealDisk.read(&from, 1 << 20).unwrap();
            disk.create(&to).unwrap().write_all_at(&bytes, 0).unwrap();
        }
    }
}

fn golden(version: &str) -> SimulatedDisk {
    let disk = SimulatedDisk::new();
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(version);
    copy(&from, &disk, Path::new(DIR));
    disk
}

#[test]
fn format_1_is_read() {
    let disk = golden("v1");
    let mut store = open(&disk).unwrap();
    for (name, text) in texts(&mut store) {
        let count = if name == "tree" { 70 } else { 9 };
        let session = |session| together(count, |word| format!("{name}{session}.{word} "));
        assert_eq!(text, session(0) + &session(1));
    }
    assert_eq!(store.names(), ["main", "tree"]);
    assert_eq!(store.meta("link").as_deref(), Some(&b"turn 1"[..]));
    assert_eq!(store.meta("gone"), None);
    let base = Base {
        path: "main.tex".into(),
        byte_len: 12,
        modified_ns: -1,
        hash: [3; 32],
        state: vec![1, 2, 3],
        text: "base text é\n".into(),
    };
    assert_eq!(store.base("main").unwrap(), Some(base));
    let figure = blake3::hash(b"a figure").to_hex();
    assert_eq!(store.get_blob(&figure).unwrap().as_deref(), Some(&b"a figure"[..]));
    assert_eq!(store.reports(), []);
}
