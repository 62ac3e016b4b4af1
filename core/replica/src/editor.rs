//! One open view of a text file: its version, and the patches between its versions.
//!
//! The replica is the authority of `CodeMirror`'s collab protocol. A window sends an edit with the
//! version that it has seen; the edit is taken if that is the newest, else the window takes the
//! patches it lacks, rebases and sends again. All positions are UTF-16 units, as in `CodeMirror` and
//! Yjs; [`Buffer`] holds the text as a rope and is where they are checked.

use std::collections::VecDeque;

use crdt::TextChange;
use paper::FileId;
use ropey::Rope;

/// Names an open editor; never used twice by one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditorId(pub u64);

/// A replacement in a text. In a list all positions are those of the text before it; the list is
/// sorted and its ranges neither overlap nor touch in the wrong order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where the replaced range starts, in UTF-16 units.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// What is there instead; line ends are LF.
    pub insert: String,
}

/// One step of an editor's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Confirms this editor's own edit, which the window has applied already.
    pub own: bool,
    /// What changed.
    pub changes: Vec<Change>,
}

/// What a window did to its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// In which editor.
    pub editor: EditorId,
    /// The version that it was made on.
    pub version: u64,
    /// Steps; each one's positions are those after the step before.
    pub updates: Vec<Vec<Change>>,
}

/// Where a window's cursor stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// In which editor.
    pub editor: EditorId,
    /// The version that the positions belong to.
    pub version: u64,
    /// The end that stays, in UTF-16 units.
    pub anchor: u32,
    /// The end that moves.
    pub head: u32,
}

/// A newly opened editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its name from now on.
    pub editor: EditorId,
    /// Which file.
    pub file: FileId,
    /// The version of `text`.
    pub version: u64,
    /// The text, with LF.
    pub text: String,
    /// How the file is encoded on disk, for the status bar.
    pub encoding: String,
    /// How its lines end on disk, for the status bar.
    pub eol: String,
    /// Where the cursor stood last time.
    pub head: Option<u32>,
}

/// How far back a late cursor can be carried along.
const REMEMBERED: usize = 256;

/// The replica's side of an open view.
#[derive(Debug)]
pub(crate) struct Editor {
    /// Whose text it shows.
    pub(crate) file: FileId,
    version: u64,
    /// The newest steps, up to [`REMEMBERED`]; the last one led to `version`.
    recent: VecDeque<Vec<Change>>,
    /// The selection at `version`, if the window told one.
    pub(crate) selection: Option<(u32, u32)>,
}

impl Editor {
    pub(crate) fn new(file: FileId) -> Self {
        Self { file, version: 0, recent: VecDeque::new(), selection: None }
    }

    /// The number of steps since it was opened.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Takes a step over, whoever made it; the selection moves along.
    pub(crate) fn step(&mut self, changes: &[Change]) {
        self.version += 1;
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(changes.to_vec());
        if let Some((anchor, head)) = &mut self.selection {
            *anchor = carry(*anchor, changes);
            *head = carry(*head, changes);
        }
    }

    /// Takes a selection made on an older version over; too old or too new a one is ignored.
    pub(crate) fn select(&mut self, version: u64, anchor: u32, head: u32) -> bool {
        let Some(behind) = self.version.checked_sub(version) else { return false };
        let Ok(behind) = usize::try_from(behind) else { return false };
        let Some(start) = self.recent.len().checked_sub(behind) else { return false };
        let carried = self
            .recent
            .range(start..)
            .fold((anchor, head), |(anchor, head), step| (carry(anchor, step), carry(head, step)));
        self.selection = Some(carried);
        true
    }
}

/// Returns where a position is after the changes: it stays before what is inserted at it.
fn carry(position: u32, changes: &[Change]) -> u32 {
    let mut carried = position;
    for change in changes {
        if change.to <= position && change.from < position {
            carried = carried - (change.to - change.from) + utf16_len(&change.insert);
        } else if change.from < position {
            // It stood in the replaced range.
            return carried - (position - change.from);
        } else {
            break;
        }
    }
    carried
}

pub(crate) fn utf16_len(text: &str) -> u32 {
    u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX)
}

/// Returns a document's delta as an editor's changes.
pub(crate) fn changes(delta: &[TextChange]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    // In the text before the delta.
    let mut position = 0;
    let mut joined = false;
    for part in delta {
        match part {
            TextChange::Retain(len) => {
                position += len;
                joined = false;
                continue;
            }
            TextChange::Insert(text) => match changes.last_mut() {
                Some(last) if joined => last.insert.push_str(text),
                _ => changes.push(Change { from: position, to: position, insert: text.clone() }),
            },
            TextChange::Delete(len) => {
                match changes.last_mut() {
                    Some(last) if joined => last.to += len,
                    _ => changes.push(Change {
                        from: position,
                        to: position + len,
                        insert: String::new(),
                    }),
                }
                position += len;
            }
        }
        joined = true;
    }
    changes
}

/// A text that is open in at least one editor.
#[derive(Debug)]
pub(crate) struct Buffer {
    rope: Rope,
}

/// Why a list of changes is none for this text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadChange {
    #[error(
        "a position lies behind the text's end, in a character, or before the one in front of it"
    )]
    Position,
    #[error("a line end is not LF")]
    LineEnd,
}

impl Buffer {
    pub(crate) fn new(text: &str) -> Self {
        Self { rope: Rope::from_str(text) }
    }

    /// Returns the line, from 1, that a position is on.
    pub(crate) fn line(&self, position: u32) -> u32 {
        let position = (position as usize).min(self.rope.len_utf16_cu());
        let line = self.rope.char_to_line(self.rope.utf16_cu_to_char(position));
        u32::try_from(line).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Checks all steps; the text stays as it is.
    pub(crate) fn check(&self, updates: &[Vec<Change>]) -> Result<(), BadChange> {
        // A rope's copy shares its nodes.
        let mut copy = Self { rope: self.rope.clone() };
        updates.iter().try_for_each(|changes| copy.apply(changes))
    }

    /// Applies one step, or nothing of it.
    pub(crate) fn apply(&mut self, changes: &[Change]) -> Result<(), BadChange> {
        let mut ranges = Vec::with_capacity(changes.len());
        let mut before = 0;
        for change in changes {
            if change.from < before || change.to < change.from {
                return Err(BadChange::Position);
            }
            if change.insert.contains('\r') {
                return Err(BadChange::LineEnd);
            }
            ranges.push((self.char_at(change.from)?, self.char_at(change.to)?));
            before = change.to;
        }
        for (change, (from, to)) in changes.iter().zip(ranges).rev() {
            self.rope.remove(from..to);
            self.rope.insert(from, &change.insert);
        }
        Ok(())
    }

    fn char_at(&self, position: u32) -> Result<usize, BadChange> {
        let position = position as usize;
        if position > self.rope.len_utf16_cu() {
            return Err(BadChange::Position);
        }
        let char = self.rope.utf16_cu_to_char(position);
        if self.rope.char_to_utf16_cu(char) == position {
            Ok(char)
        } else {
            Err(BadChange::Position)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(from: u32, to: u32, insert: &str) -> Change {
        Change { from, to, insert: insert.into() }
    }

    #[test]
    fn a_step_is_applied_whole_or_not_at_all() {
        let check = |text: &str, changes: &[Change], expected: Result<&str, BadChange>| {
            let mut buffer = Buffer::new(text);
            let done = buffer.apply(changes);
            assert_eq!(
                done.map(|()| buffer.rope.to_string()),
                expected.map(str::to_owned),
                "{text}"
            );
            if done.is_err() {
                assert_eq!(buffer.rope.to_string(), text);
            }
        };
        check("abc", &[change(1, 2, "XY")], Ok("aXYc"));
        check("abc", &[change(0, 1, ""), change(3, 3, "!")], Ok("bc!"));
        check("a😀c", &[change(3, 3, "é")], Ok("a😀éc"));
        check("a😀c", &[change(0, 0, "x"), change(2, 2, "!")], Err(BadChange::Position));
        check("abc", &[change(2, 3, ""), change(1, 1, "")], Err(BadChange::Position));
        check("abc", &[change(2, 9, "")], Err(BadChange::Position));
        check("abc", &[change(0, 0, "\r\n")], Err(BadChange::LineEnd));
    }

    #[test]
    fn a_delta_becomes_changes_of_the_text_before() {
        use TextChange::{Delete, Insert, Retain};
        let check =
            |delta: &[TextChange], expected: &[Change]| assert_eq!(changes(delta), expected);
        check(&[], &[]);
        check(&[Retain(2), Insert("x".into()), Delete(1)], &[change(2, 3, "x")]);
        check(&[Delete(1), Insert("x".into()), Delete(2)], &[change(0, 3, "x")]);
        check(
            &[Insert("ab".into()), Retain(3), Delete(2), Retain(1), Insert("c".into())],
            &[change(0, 0, "ab"), change(3, 5, ""), change(6, 6, "c")],
        );
    }

    #[test]
    fn a_late_selection_is_carried_to_the_newest_version() {
        let mut editor = Editor::new(FileId::from_bytes([0; 16]));
        editor.step(&[change(0, 0, "12")]);
        editor.step(&[change(4, 8, "x")]);
        assert!(editor.select(0, 1, 5));
        assert_eq!(editor.selection, Some((3, 4)));
        assert!(editor.select(2, 9, 9));
        editor.step(&[change(0, 3, "")]);
        assert_eq!(editor.selection, Some((6, 6)));
        assert!(!editor.select(7, 0, 0), "a version that is not there yet");
    }

    #[test]
    fn lines_end_with_lf_only() {
        let buffer = Buffer::new("a\u{2028}b\u{c}c\nd");
        assert_eq!(buffer.line(5), 1);
        assert_eq!(buffer.line(6), 2);
        assert_eq!(buffer.line(99), 2);
    }
}
