//! Figures: as a table for people, as JSON for programs.

use anyhow::{Context as _, Result};
use serde::Serialize;
use std::path::Path;

/// Figures of one run, in the order in which they are shown.
#[derive(Debug, Default)]
pub(crate) struct Rows(Vec<Row>);

#[derive(Debug, Serialize)]
struct Row {
    bench: &'static str,
    id: String,
    measure: &'static str,
    who: String,
    value: f64,
    unit: &'static str,
}

#[derive(Serialize)]
struct File<'a> {
    machine: Machine,
    rows: &'a [Row],
}

#[derive(Serialize)]
struct Machine {
    os: &'static str,
    arch: &'static str,
    cores: usize,
    processor: String,
}

/// What a figure is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) bench: &'static str,
    pub(crate) id: &'a str,
    pub(crate) who: &'a str,
}

impl Rows {
    /// Adds a figure.
    pub(crate) fn add(
        &mut self,
        subject: Subject<'_>,
        measure: &'static str,
        value: f64,
        unit: &'static str,
    ) {
        let Subject { bench, id, who } = subject;
        let (id, who) = (id.to_owned(), who.to_owned());
        self.0.push(Row { bench, id, measure, who, value, unit });
    }

    /// Prints the table.
    pub(crate) fn print(&self) {
        let width = |of: &dyn Fn(&Row) -> usize| self.0.iter().map(of).max().unwrap_or(0);
        let id = width(&|row| row.id.len());
        let measure = width(&|row| row.measure.len());
        let who = width(&|row| row.who.len());
        for row in &self.0 {
            println!(
                "{:id$}  {:measure$}  {:who$}  {:>14}  {}",
                row.id,
                row.measure,
                row.who,
                shown(row.value),
                row.unit
            );
        }
    }

    /// Writes the figures as JSON.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let file = File { machine: Machine::this(), rows: &self.0 };
        let text = serde_json::to_string_pretty(&file)?;
        std::fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
    }
}

impl Machine {
    fn this() -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let processor = model.and_then(|line| line.split_once(": ")).map_or("", |(_, name)| name);
        Self {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            processor: processor.to_owned(),
        }
    }
}

/// Whole numbers whole, others with as many places as say something.
fn shown(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else if value >= 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

/// Returns the middle value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
