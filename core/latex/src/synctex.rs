//! From a line of the source to its place on the page, and back: what a SyncTeX file knows, in a compact index.
//!
//! The file is read once per build, in one pass ([`reader`]). What is kept are the horizontal boxes, which are lines of
//! text and what stands in them, and the points in them that name a file and a line: sorted arrays of numbers, nothing
//! allocated for each. A search looks at the boxes of one page, or at the points of one line.
//!
//! Places are in big points (1/72 inch) from the top left corner of the page, as the `synctex` command has them.

mod reader;

use std::collections::HashMap;

pub use reader::SynctexError;

/// Scaled points in a big point.
const SCALED: f64 = 65_536.0 * 72.27 / 72.0;
/// Most places that are told of one line.
const MOST: usize = 64;
/// How far from a line without records a record is looked for, in lines.
const NEAR: u32 = 100;

/// A place on a page, and the line of text around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PagePlace {
    /// From 1.
    pub page: u32,
    /// The point, in big points from the left.
    pub x: f64,
    /// The point, in big points from the top.
    pub y: f64,
    /// Left end of the box around it, in big points.
    pub left: f64,
    /// Lower end of that box, in big points from the top.
    pub bottom: f64,
    /// Its width, in big points.
    pub width: f64,
    /// Its height with its depth, in big points.
    pub height: f64,
}

/// A line of a file, as TeX names the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// As it stands in the SyncTeX file, without `.` and `..` between its parts.
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// A horizontal box: a line of text, or a part of one. Lengths are in units of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HBox {
    x: i32,
    y: i32,
    width: i32,
    height: i32,
    depth: i32,
    line: Line,
    /// Its own points: a range of [`Index::points`].
    first: u32,
    end: u32,
    page: u32,
}

/// Which line of which file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    file: u32,
    line: u32,
}

/// Where TeX was at a line of the source.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    x: i32,
    y: i32,
    line: Line,
    hbox: u32,
}

/// What a SyncTeX file says, to be searched.
#[derive(Debug, Clone, PartialEq)]
pub struct Index {
    /// Without `.` and `..`; several tags may name one file.
    files: Vec<String>,
    /// In the order of pages.
    boxes: Vec<HBox>,
    /// Where each page's boxes begin; one more at the end. The first page is 1.
    pages: Vec<u32>,
    /// In the order of boxes.
    points: Vec<Point>,
    /// Which points stand at which line, in the order of files and lines.
    lines: Vec<(Line, u32)>,
    /// Big points in a unit, and the offsets of the page in big points.
    scale: f64,
    offset: (f64, f64),
}

impl Index {
    /// Reads a SyncTeX file, packed by gzip or not. One that breaks off is read as far as it goes.
    ///
    /// # Errors
    /// It is no SyncTeX file of version 1, its packing is damaged, or it is larger than any paper's.
    pub fn read(bytes: &[u8]) -> Result<Self, SynctexError> {
        reader::read(bytes)
    }

    /// The files that are named, in the order of their numbers.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Finds where a line of a file stands, the best place first: of the line itself or, if TeX was never there, of the
    /// nearest that it was at. `file` is a whole path, or the end of one.
    pub fn view(&self, file: &str, line: u32) -> Vec<PagePlace> {
        let file = normal(file);
        let tail = format!("/{file}");
        let found = self.files.iter().position(|known| *known == file);
        let found = found.or_else(|| self.files.iter().position(|known| known.ends_with(&tail)));
        let Some(file) = found.and_then(|at| u32::try_from(at).ok()) else { return Vec::new() };
        let nearest = (0..NEAR).flat_map(|away| {
            let before = if away == 0 { None } else { line.checked_sub(away) };
            [line.checked_add(away), before].into_iter().flatten()
        });
        let lines = nearest.map(|line| self.at(Line { file, line }));
        let Some(points) = lines.into_iter().find(|points| !points.is_empty()) else {
            return Vec::new();
        };
        // Points of a box follow each other. The box that has most of the line comes first.
        let boxes = points.chunk_by(|(_, a), (_, b)| {
            self.points[*a as usize].hbox == self.points[*b as usize].hbox
        });
        let mut boxes: Vec<&[(Line, u32)]> = boxes.collect();
        boxes.sort_by_key(|points| std::cmp::Reverse(points.len()));
        let places: Vec<PagePlace> = boxes
            .iter()
            .take(MOST)
            .map(|points| self.place(&self.points[points[0].1 as usize]))
            .collect();
        places
    }

    /// Finds the lines that a point of a page comes from, the best first. `x` and `y` are in big points.
    pub fn edit(&self, page: u32, x: f64, y: f64) -> Vec<SourcePlace> {
        let boxes = page.checked_sub(1).and_then(|before| {
            let (&from, &to) =
                (self.pages.get(before as usize)?, self.pages.get(before as usize + 1)?);
            self.boxes.get(from as usize..to as usize)
        });
        let (x, y) = self.units(x, y);
        let mut ranked: Vec<(f64, f64, &HBox)> = boxes
            .unwrap_or_default()
            .iter()
            .filter(|hbox| hbox.first < hbox.end)
            .map(|hbox| (hbox.distance(x, y), hbox.area(), hbox))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut places: Vec<SourcePlace> = Vec::new();
        for (_, _, hbox) in ranked.into_iter().take(8) {
            let points = &self.points[hbox.first as usize..hbox.end as usize];
            let near = points
                .iter()
                .min_by(|a, b| (f64::from(a.x) - x).abs().total_cmp(&(f64::from(b.x) - x).abs()));
            let line = near.map_or(hbox.line, |point| point.line);
            let Some(file) = self.files.get(line.file as usize) else { continue };
            let place = SourcePlace { file: file.clone(), line: line.line };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    fn at(&self, line: Line) -> &[(Line, u32)] {
        let from = self.lines.partition_point(|entry| entry.0 < line);
        let to = self.lines.partition_point(|entry| entry.0 <= line);
        &self.lines[from..to]
    }

    fn place(&self, point: &Point) -> PagePlace {
        let hbox = &self.boxes[point.hbox as usize];
        let across = |x: i32| f64::from(x) * self.scale + self.offset.0;
        let down = |y: i32| f64::from(y) * self.scale + self.offset.1;
        PagePlace {
            page: hbox.page,
            x: across(point.x),
            y: down(point.y),
            left: across(hbox.x),
            bottom: down(hbox.y) + f64::from(hbox.depth) * self.scale,
            width: f64::from(hbox.width) * self.scale,
            height: (f64::from(hbox.height) + f64::from(hbox.depth)) * self.scale,
        }
    }

    fn units(&self, x: f64, y: f64) -> (f64, f64) {
        ((x - self.offset.0) / self.scale, (y - self.offset.1) / self.scale)
    }
}

impl HBox {
    /// How far a point lies outside of it; 0 inside.
    fn distance(&self, x: f64, y: f64) -> f64 {
        let outside = |at: f64, from: f64, to: f64| (from - at).max(at - to).max(0.0);
        let (left, base) = (f64::from(self.x), f64::from(self.y));
        let across = outside(x, left, left + f64::from(self.width));
        let down = outside(y, base - f64::from(self.height), base + f64::from(self.depth));
        across.hypot(down)
    }

    fn area(&self) -> f64 {
        f64::from(self.width) * (f64::from(self.height) + f64::from(self.depth))
    }
}

/// Returns a path without `.` and empty parts, and with `..` taken back where that is known.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if path.starts_with('/') { format!("/{joined}") } else { joined }
}

/// Numbers of files by their paths.
#[derive(Debug, Default)]
struct Files {
    paths: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Files {
    fn number(&mut self, path: &str) -> u32 {
        let path = normal(path);
        let paths = &mut self.paths;
        *self.numbers.entry(path).or_insert_with_key(|path| {
            paths.push(path.clone());
            u32::try_from(paths.len() - 1).unwrap_or(u32::MAX)
        })
    }
}
