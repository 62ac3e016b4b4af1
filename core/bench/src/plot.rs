//! Drawings of the figures: plain SVG, which follows the reader's choice of light or dark.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::report::{cases, figure};
use crate::rows::Rows;

/// Who is drawn: name in the figures, name for readers, color.
const SUBJECTS: &[(&str, &str, &str)] = &[
    ("ropey", "ropey (floor)", "#9a9a9a"),
    ("automerge", "automerge", "#b8860b"),
    ("yrs-v1", "yrs", "#c2513b"),
    ("yjs-v1", "yjs", "#d98cb3"),
    ("loro", "loro", "#3b8f5a"),
    ("diamond-types", "diamond-types", "#3f7fbf"),
    ("quire-v1", "quire", "#6a3fc2"),
];

const WIDTH: f64 = 860.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 64.0;
const ROW: f64 = 20.0;

const STYLE: &str = "<style>
  text { font: 12px system-ui, sans-serif; fill: #333 }
  .title { font-weight: 600; font-size: 14px }
  .faint { fill: #777 }
  .grid { stroke: #ddd }
  .span { stroke: #bbb }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd } .faint { fill: #999 } .grid { stroke: #3a3a3a } .span { stroke: #666 }
  }
</style>\n";

/// Draws everything into a folder.
pub(crate) fn draw(rows: &Rows, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let write = |name: &str, drawing: Option<String>| {
        let Some(drawing) = drawing else { return Ok(()) };
        let path = folder.join(name);
        std::fs::write(&path, drawing).with_context(|| format!("writing {}", path.display()))
    };
    write("time.svg", dots(rows, "Processor time, first format", "time", milliseconds))?;
    write("parse.svg", dots(rows, "Parsing a document and reading it", "parse", milliseconds))?;
    let heap = dots(rows, "Heap after parsing", "heap after parsing", bytes);
    write("heap.svg", heap)?;
    write("growth.svg", growth(rows))
}

/// A logarithmic axis.
struct Axis {
    from: f64,
    to: f64,
    start: f64,
    len: f64,
}

impl Axis {
    /// An axis over whole powers of ten.
    fn over(values: impl Iterator<Item = f64>, start: f64, len: f64) -> Option<Self> {
        let (low, high) = values
            .filter(|value| *value > 0.0)
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        let (from, to) = (low.log10().floor(), high.log10().ceil());
        Some(Self { from, to: to.max(from + 1.0), start, len })
    }

    fn at(&self, value: f64) -> f64 {
        let part = (value.max(1e-12).log10() - self.from) / (self.to - self.from);
        self.start + self.len * part
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        let mut power = self.from - 1.0;
        let to = self.to;
        std::iter::from_fn(move || {
            power += 1.0;
            (power <= to).then(|| 10_f64.powf(power))
        })
    }
}

/// A case a line, a subject a dot.
fn dots(rows: &Rows, title: &str, measure: &str, shown: fn(f64) -> String) -> Option<String> {
    let value = |id: &str, who: &str| Some(figure(rows, id, measure, who)?.0);
    let drawn = |id: &str| {
        let count = SUBJECTS.iter().filter(|(who, ..)| value(id, who).is_some()).count();
        count > 1
    };
    let ids: Vec<&str> = cases(rows).filter(|id| drawn(id)).collect();
    let all = ids.iter().flat_map(|id| SUBJECTS.iter().filter_map(|(who, ..)| value(id, who)));
    let axis = Axis::over(all, LEFT, WIDTH - LEFT - RIGHT)?;
    #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
    let height = TOP + ROW * ids.len() as f64 + 30.0;
    let mut out = open(WIDTH, height, title);
    let present = |who: &str| ids.iter().any(|id| value(id, who).is_some());
    legend(&mut out, present);
    let bottom = height - 26.0;
    for power in axis.powers() {
        let x = axis.at(power);
        line(&mut out, "grid", (x, TOP - 8.0), (x, bottom));
        text(&mut out, "faint", "middle", x, bottom + 16.0, &shown(power));
    }
    let mut y = TOP + 4.0;
    for id in ids {
        text(&mut out, "", "end", LEFT - 12.0, y + 4.0, id);
        let values: Vec<f64> = SUBJECTS.iter().filter_map(|(who, ..)| value(id, who)).collect();
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        line(&mut out, "span", (axis.at(least), y), (axis.at(most), y));
        for (who, _, color) in SUBJECTS {
            let Some(value) = value(id, who) else { continue };
            dot(&mut out, axis.at(value), y, color, who.starts_with("quire"));
        }
        y += ROW;
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// What an edit costs as documents grow.
fn growth(rows: &Rows) -> Option<String> {
    const EDITS: f64 = 2_400.0;
    let sizes: Vec<(&str, f64)> = cases(rows)
        .filter(|id| id.starts_with("grow-"))
        .filter_map(|id| Some((id, rows.get(id, "characters", "quire-v1")?)))
        .collect();
    let value = |id: &str, who: &str| Some(figure(rows, id, "time", who)?.0 / EDITS);
    let all =
        sizes.iter().flat_map(|(id, _)| SUBJECTS.iter().filter_map(|(who, ..)| value(id, who)));
    let (height, bottom) = (380.0, 330.0);
    let y = Axis::over(all, bottom, TOP - bottom)?;
    let x = Axis::over(sizes.iter().map(|(_, size)| *size), 90.0, WIDTH - 90.0 - RIGHT)?;
    let mut out = open(WIDTH, height, "One edit with its message, by the length of the text");
    legend(&mut out, |who| sizes.iter().any(|(id, _)| value(id, who).is_some()));
    for power in y.powers() {
        line(&mut out, "grid", (90.0, y.at(power)), (WIDTH - RIGHT, y.at(power)));
        let shown = milliseconds(power);
        text(&mut out, "faint", "end", 80.0, y.at(power) + 4.0, &shown);
    }
    for (_, size) in &sizes {
        line(&mut out, "grid", (x.at(*size), TOP), (x.at(*size), bottom));
        let shown = format!("10^{:.0}", size.log10());
        text(&mut out, "faint", "middle", x.at(*size), bottom + 18.0, &shown);
    }
    text(&mut out, "faint", "end", WIDTH - RIGHT, bottom + 38.0, "characters");
    for (who, _, color) in SUBJECTS {
        let points: Vec<(f64, f64)> = sizes
            .iter()
            .filter_map(|(id, size)| Some((x.at(*size), y.at(value(id, who)?))))
            .collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        push(
            &mut out,
            format_args!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>\n",
                path.join(" ")
            ),
        );
        for (x, y) in points {
            dot(&mut out, x, y, color, who.starts_with("quire"));
        }
    }
    out.push_str("</svg>\n");
    Some(out)
}

fn open(width: f64, height: f64, title: &str) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{title}\">\n{STYLE}"
    );
    text(&mut out, "title", "start", 12.0, 22.0, title);
    out
}

fn legend(out: &mut String, present: impl Fn(&str) -> bool) {
    let mut x = 18.0;
    for (who, name, color) in SUBJECTS.iter().rev().filter(|(who, ..)| present(who)) {
        dot(out, x, 42.0, color, who.starts_with("quire"));
        text(out, "", "start", x + 10.0, 46.0, name);
        #[expect(clippy::cast_precision_loss, reason = "a short name")]
        let width = name.len() as f64 * 7.0;
        x += width + 32.0;
    }
}

fn dot(out: &mut String, x: f64, y: f64, color: &str, ours: bool) {
    let radius = if ours { 6.0 } else { 4.5 };
    push(
        out,
        format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{color}\"/>\n"),
    );
}

fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    push(
        out,
        format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>\n",
            from.0, from.1, to.0, to.1
        ),
    );
}

fn text(out: &mut String, class: &str, anchor: &str, x: f64, y: f64, what: &str) {
    push(
        out,
        format_args!(
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{what}</text>\n"
        ),
    );
}

fn push(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}

fn milliseconds(value: f64) -> String {
    match value {
        _ if value < 0.000_999 => format!("{:.0} ns", value * 1e6),
        _ if value < 0.999 => format!("{:.0} µs", value * 1e3),
        _ if value < 999.0 => format!("{value:.0} ms"),
        _ => format!("{:.0} s", value / 1e3),
    }
}

fn bytes(value: f64) -> String {
    match value {
        _ if value < 999.0 => format!("{value:.0} B"),
        _ if value < 999_000.0 => format!("{:.0} kB", value / 1e3),
        _ => format!("{:.0} MB", value / 1e6),
    }
}
