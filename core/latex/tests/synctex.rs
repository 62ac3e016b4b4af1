//! From a line to its place on the page and back, on a page written by hand: one paragraph of two lines, as TeX sets it.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use latex::synctex::{Index, SourcePlace, SynctexError};

/// Scaled points of a big point, as TeX rounds them.
const BP: f64 = 65_781.76;

/// A line of text at a height, in big points, with words at places: `(source line, x)`.
fn text_line(y: f64, words: &[(u32, f64)], end: u32) -> String {
    let units = |bp: f64| (bp * BP).round();
    let mut out =
        format!("(1,{end}:{},{}:{},655360,131072\n", units(100.0), units(y), units(300.0));
    // The first letters of a line are said to stand at the paragraph's end, as TeX does.
    let mut last = end;
    for &(line, x) in words {
        writeln!(out, "x1,{last}:{},{}", units(x - 2.0), units(y)).unwrap();
        last = line;
        writeln!(out, "k1,{line}:{},=:131072", units(x)).unwrap();
    }
    out + ")\n"
}

fn paper() -> String {
    let head = "SyncTeX Version:1\nInput:1:/home/ada/paper/./main.tex\nInput:2:/usr/share/a.sty\n\
        Output:pdf\nMagnification:1000\nUnit:1\nX Offset:0\nY Offset:0\nContent:\n!100\n{1\n\
        [1,9:0,40000000:30000000,40000000,0\n";
    let first = text_line(200.0, &[(3, 110.0), (3, 200.0), (3, 300.0), (4, 380.0)], 9);
    let second = text_line(212.0, &[(4, 110.0), (4, 200.0), (5, 300.0)], 9);
    format!("{head}{first}{second}]\n!50\n}}1\nPostamble:\nCount:9\n!20\nPost scriptum:\n")
}

fn place(line: u32) -> SourcePlace {
    SourcePlace { file: "/home/ada/paper/main.tex".to_owned(), line }
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_point_of_the_page_leads_to_its_line() {
    let index = Index::read(paper().as_bytes()).unwrap();
    for (x, y, line) in [(120.0, 198.0, 3), (390.0, 199.0, 4), (120.0, 210.0, 4), (310.0, 210.0, 5)]
    {
        assert_eq!(index.edit(1, x, y).first(), Some(&place(line)), "at {x}, {y}");
    }
    // In the margin, the line of text beside it.
    assert_eq!(index.edit(1, 50.0, 198.0).first(), Some(&place(3)));
    assert!(index.edit(0, 1.0, 1.0).is_empty() && index.edit(2, 1.0, 1.0).is_empty());
}

#[test]
fn a_line_leads_to_where_most_of_it_stands() {
    let index = Index::read(paper().as_bytes()).unwrap();
    let first = |line| *index.view("main.tex", line).first().unwrap();
    assert!((first(3).y - 200.0).abs() < 0.01 && first(3).page == 1);
    // Two of three of its words stand on the second line of text.
    assert!((first(4).y - 212.0).abs() < 0.01);
    assert_eq!(index.view("main.tex", 4).len(), 2);
    let box_of = first(5);
    assert!((box_of.left - 100.0).abs() < 0.01 && (box_of.width - 300.0).abs() < 0.01);
    assert!((box_of.bottom - 212.0 - 131_072.0 / BP).abs() < 0.01);
    assert!((box_of.height - 786_432.0 / BP).abs() < 0.01);
}

#[test]
fn files_are_found_however_they_are_named() {
    let index = Index::read(paper().as_bytes()).unwrap();
    for name in ["main.tex", "./main.tex", "paper/main.tex", "/home/ada/x/../paper/./main.tex"] {
        assert_eq!(index.view(name, 3), index.view("main.tex", 3), "{name}");
    }
    assert!(index.view("in.tex", 3).is_empty() && index.view("other.tex", 3).is_empty());
}

#[test]
fn a_line_where_tex_never_was_leads_to_the_nearest() {
    let index = Index::read(paper().as_bytes()).unwrap();
    assert_eq!(index.view("main.tex", 1), index.view("main.tex", 3));
    assert_eq!(index.view("main.tex", 40), index.view("main.tex", 5));
    assert!(index.view("main.tex", 4_000_000_000).is_empty());
}

#[test]
fn packed_or_not_it_says_the_same() {
    let index = Index::read(paper().as_bytes()).unwrap();
    assert_eq!(Index::read(&packed(&paper())).unwrap(), index);
}

#[test]
fn what_breaks_off_is_read_as_far_as_it_goes() {
    let text = paper();
    let whole = Index::read(text.as_bytes()).unwrap();
    let mut with_a_line = 0;
    for end in 17..text.len() {
        let index = Index::read(&text.as_bytes()[..end]).unwrap();
        with_a_line += usize::from(index.edit(1, 120.0, 198.0).first() == Some(&place(3)));
    }
    assert!(with_a_line > 100, "{with_a_line}");
    let gz = packed(&text);
    let cut = Index::read(&gz[..gz.len() - 8]).unwrap();
    assert_eq!(cut.view("main.tex", 3), whole.view("main.tex", 3));
}

#[test]
fn damage_is_taken_calmly() {
    assert!(matches!(Index::read(b"%PDF-1.5"), Err(SynctexError::Unknown)));
    assert!(matches!(Index::read(b""), Err(SynctexError::Unknown)));
    assert!(matches!(Index::read(&[0x1f, 0x8b, 8, 0, 1]), Err(SynctexError::Packing(_))));
    let text = paper();
    for at in 17..text.len() {
        for byte in *b"9-,:([{<)}\n" {
            let mut damaged = text.clone().into_bytes();
            damaged[at] = byte;
            let index = Index::read(&damaged).unwrap();
            assert!(index.edit(1, 120.0, 198.0).len() < 100);
            assert!(index.view("main.tex", 3).len() < 100);
        }
    }
}
