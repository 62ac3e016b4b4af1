//! Reads a SyncTeX file of version 1, line by line, into an index. Source: its manual page, `synctex(5)`.
//!
//! A line that is not understood is passed over: what other programs add does no harm. Contents of forms (boxes that are
//! made once and set several times) have no place of their own on a page and are passed over, too.

use std::collections::HashMap;
use std::io::Read as _;

use flate2::read::GzDecoder;

use crate::synctex::{Files, HBox, Index, Line, Point, SCALED};

/// Bytes that a file may have unpacked: a book of 580 pages has 25 million.
const MOST_BYTES: u64 = 1 << 29;

/// Why a SyncTeX file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SynctexError {
    /// Its packing is damaged.
    #[error("the SyncTeX file is damaged and can't be unpacked: {0}")]
    Packing(std::io::Error),
    /// It is another kind of file, or of another version.
    #[error("this is no SyncTeX file of version 1")]
    Unknown,
    /// It unpacks to more than any paper needs.
    #[error("the SyncTeX file has more than {MOST_BYTES} bytes")]
    TooLarge,
}

/// See [`Index::read`].
pub(super) fn read(bytes: &[u8]) -> Result<Index, SynctexError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return parse(bytes);
    }
    let mut unpacked = Vec::new();
    let mut decoder = GzDecoder::new(bytes).take(MOST_BYTES + 1);
    match decoder.read_to_end(&mut unpacked) {
        // What TeX had written when it was ended.
        Err(error) if unpacked.is_empty() => return Err(SynctexError::Packing(error)),
        _ => {}
    }
    if unpacked.len() as u64 > MOST_BYTES {
        return Err(SynctexError::TooLarge);
    }
    parse(&unpacked)
}

/// What is being read.
struct Reading {
    files: Files,
    /// File numbers by tag.
    tags: HashMap<u32, u32>,
    boxes: Vec<HBox>,
    pages: Vec<u32>,
    points: Vec<Point>,
    /// Boxes that are open; `None`: a vertical one.
    open: Vec<Option<u32>>,
    /// Points of open boxes, to be put where their box ends; and whether they are letters. Up to the first glue or kern
    /// of a box, letters have the line at which TeX was last, wherever that was.
    waiting: Vec<(Point, bool)>,
    page: u32,
    in_form: bool,
    last_y: i32,
    unit: f64,
    magnification: f64,
    offset: (f64, f64),
}

fn parse(bytes: &[u8]) -> Result<Index, SynctexError> {
    if !bytes.starts_with(b"SyncTeX Version:1") {
        return Err(SynctexError::Unknown);
    }
    let mut reading = Reading {
        files: Files::default(),
        tags: HashMap::new(),
        boxes: Vec::new(),
        pages: Vec::new(),
        points: Vec::new(),
        open: Vec::new(),
        waiting: Vec::new(),
        page: 0,
        in_form: false,
        last_y: 0,
        unit: 1.0,
        magnification: 1000.0,
        offset: (0.0, 0.0),
    };
    for line in bytes.split(|&byte| byte == b'\n') {
        reading.line(line);
    }
    Ok(reading.finish())
}

impl Reading {
    fn line(&mut self, line: &[u8]) {
        let Some((&kind, rest)) = line.split_first() else { return };
        match kind {
            b'{' => self.sheet(rest),
            b'}' => self.page = 0,
            b'<' => self.in_form = true,
            b'>' => self.in_form = false,
            b'I' | b'M' | b'U' | b'X' | b'Y' => self.setting(line),
            _ if self.page == 0 || self.in_form => {}
            b'[' => self.open.push(None),
            b'(' => {
                let hbox = self.hbox(rest);
                self.open.push(hbox);
            }
            b']' | b')' => self.close(),
            b'h' => {
                if let Some(hbox) = self.hbox(rest) {
                    self.point_of(hbox);
                }
            }
            b'x' => self.point(rest, true),
            b'k' | b'g' | b'$' | b'r' | b'v' => self.point(rest, false),
            _ => {}
        }
    }

    fn setting(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let Some((name, value)) = text.split_once(':') else { return };
        let number = || value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match name {
            "Input" => {
                if let Some((tag, path)) = value.split_once(':')
                    && let Ok(tag) = tag.parse()
                {
                    let file = self.files.number(path);
                    self.tags.insert(tag, file);
                }
            }
            "Magnification" => self.magnification = number().unwrap_or(self.magnification),
            "Unit" => self.unit = number().filter(|unit| *unit > 0.0).unwrap_or(self.unit),
            "X Offset" => self.offset.0 = number().unwrap_or(self.offset.0),
            "Y Offset" => self.offset.1 = number().unwrap_or(self.offset.1),
            _ => {}
        }
    }

    /// A page begins. Pages come in their order; what comes again or out of it is passed over.
    fn sheet(&mut self, rest: &[u8]) {
        let mut numbers = Numbers { rest };
        let page = numbers.next().and_then(|page| u32::try_from(page).ok()).unwrap_or(0);
        let known = u32::try_from(self.pages.len()).unwrap_or(u32::MAX);
        // As many empty pages as a gap has would cost more than the bytes that say so.
        self.page = if page == known + 1 { page } else { 0 };
        if self.page > 0 {
            self.pages.push(count(&self.boxes));
        }
        self.open.clear();
        self.waiting.clear();
    }

    /// Reads `tag,line:x,y`.
    fn place(&mut self, numbers: &mut Numbers<'_>) -> Option<(Line, i32, i32)> {
        let tag = u32::try_from(numbers.next()?).ok()?;
        let line = u32::try_from(numbers.next()?).ok()?;
        if numbers.rest.first() == Some(&b',') {
            numbers.next()?; // The column, which no engine fills in.
        }
        let x = numbers.next()?;
        let y = if numbers.rest.starts_with(b",=") {
            numbers.rest = &numbers.rest[2..];
            self.last_y
        } else {
            numbers.next()?
        };
        self.last_y = y;
        let file = *self.tags.get(&tag)?;
        Some((Line { file, line }, x, y))
    }

    fn hbox(&mut self, rest: &[u8]) -> Option<u32> {
        let mut numbers = Numbers { rest };
        let (line, x, y) = self.place(&mut numbers)?;
        let (width, height, depth) = (numbers.next()?, numbers.next()?, numbers.next()?);
        // Its points are put in their row when it is closed.
        let page = self.page;
        self.boxes.push(HBox { x, y, width, height, depth, line, first: 0, end: 0, page });
        Some(count(&self.boxes) - 1)
    }

    /// A box without contents is a point of its own.
    fn point_of(&mut self, hbox: u32) {
        let HBox { x, y, line, .. } = self.boxes[hbox as usize];
        let at = count(&self.points);
        self.points.push(Point { x, y, line, hbox });
        (self.boxes[hbox as usize].first, self.boxes[hbox as usize].end) = (at, at + 1);
    }

    fn point(&mut self, rest: &[u8], is_letter: bool) {
        let Some((line, x, y)) = self.place(&mut Numbers { rest }) else { return };
        if let Some(&Some(hbox)) = self.open.last() {
            self.waiting.push((Point { x, y, line, hbox }, is_letter));
        }
    }

    fn close(&mut self) {
        let Some(Some(hbox)) = self.open.pop() else { return };
        let own = self.waiting.iter().rposition(|(point, _)| point.hbox != hbox);
        let own = own.map_or(0, |before| before + 1);
        let first = count(&self.points);
        let HBox { x, width, line, .. } = self.boxes[hbox as usize];
        let right = x.saturating_add(width);
        let sure = self.waiting[own..].iter().find(|(_, is_letter)| !is_letter);
        let sure = sure.map_or(line, |(point, _)| point.line);
        let mut is_leading = true;
        let len = self.waiting.len();
        // The glue at the right end belongs to what follows on the next line.
        let is_end = |at: usize, point: &Point, is_letter: bool| {
            at > own && at + 2 >= len && !is_letter && point.x == right
        };
        let waiting = self.waiting.drain(own..).zip(own..);
        self.points.extend(waiting.filter_map(|((mut point, is_letter), at)| {
            is_leading &= is_letter;
            if is_leading {
                point.line = sure;
            }
            (!is_end(at, &point, is_letter)).then_some(point)
        }));
        let end = count(&self.points);
        let hbox = &mut self.boxes[hbox as usize];
        (hbox.first, hbox.end) = (first, end);
    }

    fn finish(mut self) -> Index {
        // Of a file that breaks off, the boxes that are still open.
        while !self.open.is_empty() {
            self.close();
        }
        self.pages.push(count(&self.boxes));
        let points = (0..).zip(&self.points);
        let mut lines: Vec<(Line, u32)> = points.map(|(at, point)| (point.line, at)).collect();
        lines.sort_unstable();
        let scale = self.unit * self.magnification / 1000.0 / SCALED;
        Index {
            files: self.files.paths,
            boxes: self.boxes,
            pages: self.pages,
            points: self.points,
            lines,
            scale,
            offset: (self.offset.0 / SCALED, self.offset.1 / SCALED),
        }
    }
}

/// The file has less than 2^30 bytes, and an entry takes several.
fn count<T>(entries: &[T]) -> u32 {
    u32::try_from(entries.len()).unwrap_or(u32::MAX)
}

/// The whole numbers of a line, with one byte between them.
struct Numbers<'a> {
    rest: &'a [u8],
}

impl Numbers<'_> {
    /// Takes the next number; `None` if there is none, or none of 32 bits.
    fn next(&mut self) -> Option<i32> {
        if let Some((b',' | b':', rest)) = self.rest.split_first() {
            self.rest = rest;
        }
        let negative = self.rest.first() == Some(&b'-');
        let digits = &self.rest[usize::from(negative)..];
        let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if len == 0 || len > 10 {
            return None;
        }
        let number = digits[..len].iter().fold(0i64, |sum, byte| sum * 10 + i64::from(byte - b'0'));
        self.rest = &digits[len..];
        i32::try_from(if negative { -number } else { number }).ok()
    }
}
