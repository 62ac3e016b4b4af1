//! The tables of the page, filled from figures.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::rows::Rows;

const START: &str = "<!-- figures -->\n";
const END: &str = "<!-- end of figures -->";

/// They stand beside the page, where `bench report` draws them.
const DRAWINGS: &str = "\
![Processor time of every case](figures/time.svg)
![One edit as documents grow](figures/growth.svg)
![Parsing](figures/parse.svg)
![Heap](figures/heap.svg)
";

/// What is compared: ours first, then who speaks Yjs's format, then the others.
const FIRST: &[(&str, &str)] = &[
    ("quire-v1", "quire"),
    ("yjs-v1", "yjs"),
    ("yrs-v1", "yrs"),
    ("loro", "loro"),
    ("automerge", "automerge"),
    ("diamond-types", "diamond-types"),
    ("ropey", "*ropey*"),
];
const SECOND: &[(&str, &str)] = &[("quire-v2", "quire"), ("yjs-v2", "yjs"), ("yrs-v2", "yrs")];

/// Writes the tables into a file between its marks.
pub(crate) fn write(rows: &Rows, path: &Path) -> Result<()> {
    let page =
        std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let (before, rest) = page.split_once(START).context("the page has no mark for the figures")?;
    let (_, after) = rest.split_once(END).context("the page has no mark after the figures")?;
    let page = [before, START, &tables(rows), END, after].concat();
    std::fs::write(path, page).with_context(|| format!("writing {}", path.display()))
}

fn tables(rows: &Rows) -> String {
    let mut out = format!("\n{}\n\n{DRAWINGS}", rows.machine);
    worst(rows, &mut out);
    let mut section = |title: &str, measure, unit: &Unit, subjects: &[(&str, &str)]| {
        table(rows, title, measure, unit, subjects, &mut out);
    };
    section("Time, first format", "time", &MS, FIRST);
    section("Time, second format", "time", &MS, SECOND);
    section("Encoding the whole state, first format", "encode", &MS, FIRST);
    section("Encoding the whole state, second format", "encode", &MS, SECOND);
    section("Parsing it and reading the text, first format", "parse", &MS, FIRST);
    section("Parsing it and reading the text, second format", "parse", &MS, SECOND);
    section("Heap after parsing", "heap after parsing", &KILOBYTES, FIRST);
    section("Peak of the heap while the clock runs", "peak of the heap", &KILOBYTES, FIRST);
    section("Allocations while the clock runs", "allocations", &COUNT, FIRST);
    section("Size of the state, first format", "state", &COUNT, FIRST);
    section("Size of the state, second format", "state", &COUNT, SECOND);
    section("Size of all messages, first format", "messages", &COUNT, FIRST);
    section("Size of all messages, second format", "messages", &COUNT, SECOND);
    section("Instructions", "instructions", &MILLIONS, FIRST);
    out
}

/// In what a figure is shown.
struct Unit {
    name: &'static str,
    per: f64,
    /// Whether less than one is shown in places.
    whole: bool,
}

const MS: Unit = Unit { name: "ms of processor time", per: 1.0, whole: false };
const KILOBYTES: Unit = Unit { name: "kB", per: 1000.0, whole: false };
const MILLIONS: Unit = Unit { name: "millions", per: 1e6, whole: false };
const COUNT: Unit = Unit { name: "", per: 1.0, whole: true };

/// One table: a case a line, a subject a column, and how far the best peer is from us.
fn table(
    rows: &Rows,
    title: &str,
    measure: &str,
    unit: &Unit,
    subjects: &[(&str, &str)],
    out: &mut String,
) {
    let has = |who: &str| cases(rows).any(|id| figure(rows, id, measure, who).is_some());
    let subjects: Vec<_> = subjects.iter().filter(|(who, _)| has(who)).collect();
    let Some((ours, _)) = subjects.first() else { return };
    let unit_name = if unit.name.is_empty() { String::new() } else { format!(", {}", unit.name) };
    push(out, format_args!("\n### {title}{unit_name}\n\n| case |"));
    for (_, name) in &subjects {
        push(out, format_args!(" {name} |"));
    }
    push(out, format_args!(" best peer / quire |\n|---|"));
    push(out, format_args!("{}\n", "---:|".repeat(subjects.len() + 1)));
    for id in cases(rows) {
        let figures: Vec<_> =
            subjects.iter().map(|(who, _)| figure(rows, id, measure, who)).collect();
        if figures.iter().all(Option::is_none) {
            continue;
        }
        push(out, format_args!("| {id} |"));
        for figure in &figures {
            let shown = match figure {
                Some((value, true)) => shown(value / unit.per, unit.whole),
                Some((value, false)) => format!("> {}", shown(value / unit.per, unit.whole)),
                None => "–".to_owned(),
            };
            push(out, format_args!(" {shown} |"));
        }
        let ratio = ratio(rows, id, measure, ours, &subjects);
        let ratio = ratio.map_or("–".to_owned(), |(ratio, _)| shown(ratio, false));
        push(out, format_args!(" {ratio} |\n"));
    }
}

/// A figure, and whether it is whole: of a run that was broken off, the time until then.
pub(crate) fn figure(rows: &Rows, id: &str, measure: &str, who: &str) -> Option<(f64, bool)> {
    let broken_off = || Some((rows.get(id, &format!("{measure}, broken off"), who)?, false));
    rows.get(id, measure, who).map(|value| (value, true)).or_else(broken_off)
}

/// Cases in the order in which they ran.
pub(crate) fn cases(rows: &Rows) -> impl Iterator<Item = &str> {
    let mut last = "";
    rows.rows.iter().map(|row| row.id.as_str()).filter(move |id| {
        let new = *id != last;
        last = id;
        new
    })
}

/// How many times as much the best peer takes, and who that is; at least so much, where that was
/// broken off. The floor is no peer.
fn ratio<'a>(
    rows: &Rows,
    id: &str,
    measure: &str,
    ours: &str,
    subjects: &[&(&'a str, &str)],
) -> Option<(f64, &'a str)> {
    let own = rows.get(id, measure, ours)?;
    let others = subjects.iter().filter(|(who, _)| *who != ours && *who != "ropey");
    others
        .filter_map(|(who, _)| Some((figure(rows, id, measure, who)?.0 / own, *who)))
        .min_by(|left, right| left.0.total_cmp(&right.0))
}

/// Where we are worst beside the best peer.
fn worst(rows: &Rows, out: &mut String) {
    let mut found = Vec::new();
    for measure in ["time", "encode", "parse", "heap after parsing"] {
        for (subjects, format) in [(FIRST, "first format"), (SECOND, "second format")] {
            let subjects: Vec<_> = subjects.iter().collect();
            for id in cases(rows) {
                let (ours, _) = subjects[0];
                let ratio = ratio(rows, id, measure, ours, &subjects);
                found.extend(ratio.map(|(ratio, who)| (ratio, who, id, measure, format)));
            }
        }
    }
    found.sort_by(|left, right| left.0.total_cmp(&right.0));
    let behind = found.iter().filter(|(ratio, ..)| *ratio < 1.0).count();
    push(
        out,
        format_args!(
            "\nOf {} comparisons of time, encoding, parsing and heap with the best peer, {} are lost. \
         The hardest:\n\n| case | what | best peer | best peer / quire |\n|---|---|---|---:|\n",
            found.len(),
            behind,
        ),
    );
    for (ratio, who, id, measure, format) in found.iter().take(12) {
        let ratio = shown(*ratio, false);
        push(out, format_args!("| {id} | {measure}, {format} | {who} | {ratio} |\n"));
    }
}

fn push(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}

/// Three digits that say something, thousands apart.
fn shown(value: f64, whole: bool) -> String {
    let places = match value {
        _ if whole || value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ if value >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.places$}");
    let (digits, rest) = text.split_once('.').map_or((text.as_str(), ""), |(a, b)| (a, b));
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() { grouped } else { format!("{grouped}.{rest}") }
}
