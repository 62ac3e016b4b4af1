//! What a transaction changed in a text, as a walk over the text before it.

use lib0::Any;
use lib0::any::Object;

use crate::item::{Kind, NIL, Ref};
use crate::structs::Structs;
use crate::value::Shared;

/// A step of a walk over a text with attributes, as in Quill's deltas.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// This was inserted here, with these attributes.
    Insert(Inserted, Object),
    /// So many units stay and get these attributes.
    Retain(u32, Object),
    /// So many units were deleted here.
    Delete(u32),
}

/// What stands in a text.
#[derive(Debug, Clone, PartialEq)]
pub enum Inserted {
    /// Text.
    Text(String),
    /// A value that counts as one unit.
    Embed(Any),
    /// A shared type that counts as one unit.
    Shared(Shared),
}

/// A step of a walk over a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextChange {
    /// So many UTF-16 units stay.
    Retain(u32),
    /// This text was inserted here.
    Insert(String),
    /// So many UTF-16 units were deleted here.
    Delete(u32),
}

/// A changed part of an item: where it is now, and what happened to it.
struct Piece {
    position: u32,
    handle: u32,
    offset: u32,
    len: u32,
    inserted: bool,
}

pub(crate) fn text_delta(structs: &Structs, text: u32) -> Vec<TextChange> {
    let mut pieces = Vec::new();
    for &slot in &structs.changes.touched {
        let before = structs.before(slot);
        let clocks = &structs.client(slot).clocks;
        for handle in clocks.iter_from(Some(clocks.find(before))) {
            let item = &structs.items[handle];
            if item.parent != text || item.key != NIL || item.visible() == 0 {
                continue;
            }
            let offset = before.saturating_sub(item.clock);
            pieces.push(Piece {
                position: structs.nodes.position(&structs.items, handle) + offset,
                handle,
                offset,
                len: item.len - offset,
                inserted: true,
            });
        }
    }
    let mut uncounted: Vec<(u32, u32)> =
        structs.changes.uncounted.iter().map(|unit| (unit.slot, unit.clock)).collect();
    uncounted.sort_unstable();
    for &(slot, range) in &structs.changes.deletes {
        // What was made in this transaction was never there before it.
        let end = range.end().min(structs.before(slot));
        let mut clock = range.clock;
        while clock < end {
            let handle = structs.find(Ref { slot, clock });
            let item = &structs.items[handle];
            let to = end.min(item.end());
            if item.parent == text && item.key == NIL && item.kind != Kind::Format {
                let hidden = uncounted.partition_point(|&unit| unit < (slot, to))
                    - uncounted.partition_point(|&unit| unit < (slot, clock));
                pieces.push(Piece {
                    position: structs.nodes.position(&structs.items, handle),
                    handle,
                    offset: clock - item.clock,
                    len: (to - clock) - u32::try_from(hidden).unwrap_or(0),
                    inserted: false,
                });
            }
            clock = to;
        }
    }
    // At one position deletions come first: what is deleted behind an insertion has a later position.
    pieces.sort_by_key(|piece| (piece.position, piece.inserted));
    let mut delta = Vec::new();
    let mut at = 0;
    for piece in pieces {
        if piece.position > at {
            delta.push(TextChange::Retain(piece.position - at));
            at = piece.position;
        }
        if !piece.inserted {
            match delta.last_mut() {
                Some(TextChange::Delete(len)) => *len += piece.len,
                _ if piece.len > 0 => delta.push(TextChange::Delete(piece.len)),
                _ => {}
            }
            continue;
        }
        let item = &structs.items[piece.handle];
        let inserted = if item.kind == Kind::String {
            structs.text_part(item, piece.offset, piece.len).into_owned()
        } else {
            // Whatever else counts in a text stands for itself as one replacement character a unit.
            "\u{fffc}".repeat(piece.len as usize)
        };
        at += piece.len;
        match delta.last_mut() {
            Some(TextChange::Insert(text)) => text.push_str(&inserted),
            _ => delta.push(TextChange::Insert(inserted)),
        }
    }
    delta
}
