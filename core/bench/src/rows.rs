//! Figures: as a table for people, as JSON for programs.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// Figures of one run, in the order in which they are shown.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rows {
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
}

/// A figure.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    bench: String,
    pub(crate) id: String,
    pub(crate) measure: String,
    pub(crate) who: String,
    pub(crate) value: f64,
    unit: String,
}

/// On what and of what the figures are.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    os: String,
    arch: String,
    cores: usize,
    processor: String,
    /// Names and versions of what was measured.
    versions: Vec<(String, String)>,
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
        let [bench, id, measure, who, unit] = [bench, id, measure, who, unit].map(str::to_owned);
        self.rows.push(Row { bench, id, measure, who, value, unit });
    }

    /// Returns a figure.
    pub(crate) fn get(&self, id: &str, measure: &str, who: &str) -> Option<f64> {
        let found =
            self.rows.iter().find(|row| row.id == id && row.who == who && row.measure == measure);
        found.map(|row| row.value)
    }

    /// Prints the table.
    pub(crate) fn print(&self) {
        let width = |of: &dyn Fn(&Row) -> usize| self.rows.iter().map(of).max().unwrap_or(0);
        let id = width(&|row| row.id.len());
        let measure = width(&|row| row.measure.len());
        let who = width(&|row| row.who.len());
        for row in &self.rows {
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
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(path, text + "\n").with_context(|| format!("writing {}", path.display()))
    }

    /// Reads figures that were written.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is not ours", path.display()))
    }
}

impl Default for Machine {
    fn default() -> Self {
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        let processor = model.and_then(|line| line.split_once(": ")).map_or("", |(_, name)| name);
        Self {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            processor: processor.to_owned(),
            versions: versions(),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { os, arch, cores, processor, versions } = self;
        let versions: Vec<String> =
            versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        write!(out, "{processor}, {cores} cores, {os} {arch}; {}", versions.join(", "))
    }
}

/// What is measured, and what runs it.
fn versions() -> Vec<(String, String)> {
    let lock = include_str!("../../../Cargo.lock");
    let mut versions = Vec::new();
    for name in ["yrs", "loro", "automerge", "diamond-types", "ropey"] {
        let package = lock.split_once(&format!("name = \"{name}\"\nversion = \""));
        let version = package.and_then(|(_, rest)| rest.split_once('"'));
        versions.extend(version.map(|(version, _)| (name.to_owned(), version.to_owned())));
    }
    let modules = include_str!("../../crdt/tests/differential/package-lock.json");
    let modules: serde_json::Value = serde_json::from_str(modules).unwrap_or_default();
    let yjs = modules["packages"]["node_modules/yjs"]["version"].as_str();
    versions.extend(yjs.map(|version| ("yjs".to_owned(), version.to_owned())));
    for program in ["node", "rustc"] {
        let Ok(told) = Command::new(program).arg("--version").output() else { continue };
        let told = String::from_utf8_lossy(&told.stdout);
        let version = told.split_whitespace().find(|word| word.contains('.'));
        let version = version.unwrap_or_default().trim_start_matches('v').to_owned();
        versions.push((program.to_owned(), version));
    }
    versions
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
