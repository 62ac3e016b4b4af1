//! Writes updates in both formats. The order of fields is the format's; the two encoders differ only in where they put
//! each field: the first in one stream, the second in nine run-length columns ([`lib0::columns`]) and the rest.
//!
//! # Layout
//!
//! ```text
//! update   number of clients | for each, highest id first: number of structs, client, first clock, structs | delete set
//!
//! struct   info: 0x80 has origin | 0x40 has right origin | 0x20 has key | content number
//!          origin (client, clock)              if 0x80   the unit to the left when it was made
//!          right origin (client, clock)        if 0x40   the unit to the right
//!          parent                              if neither
//!              1, name of the root   or   0, id of the item that holds the type
//!          key                                 if neither, and 0x20
//!          content
//!
//! content   1 deleted   length                        6 format    key, value
//!           2 JSON      count, JSON texts             7 type      its number, and the name of an element or hook
//!           3 binary    bytes                         8 any       count, values
//!           4 string    text                          9 document  guid, options
//!           5 embed     value
//!          (Two structs are no items: info 0, length: collected, nothing else is known of it. Info 10, length: a hole,
//!          these units are in another update.)
//!
//! types     0 array   1 map   2 text   3 element   4 fragment   5 hook   6 XML text
//!
//! deletes  number of clients | for each, highest id first: client, number of ranges, then clock and length each
//! ```
//!
//! Clocks follow from the lengths: a struct starts where the one before it ended. A struct that is cut, since its
//! first units are known, is written with the unit before the cut as its origin.
//!
//! | field | first format | second format |
//! |---|---|---|
//! | counts, first clocks, length of a hole, binary, `any` values | in the stream | in the rest |
//! | clients of the structs and of origins | unsigned | column *clients* (`UintOptRle`) |
//! | clocks of origins and of a parent's id | unsigned | columns *left clocks*, *right clocks* (`IntDiffOptRle`) |
//! | info | a byte | column *infos* (`Rle`) |
//! | texts, names, keys of maps, JSON texts, guids | string | column *strings* |
//! | whether the parent is a root | unsigned | column *parent infos* (`Rle`) |
//! | type number | unsigned | column *type numbers* (`UintOptRle`) |
//! | counts of values, lengths of collected and deleted | unsigned | column *lengths* (`UintOptRle`) |
//! | keys of formats, names of elements | string | a number in column *key clocks* (`IntDiffOptRle`) and the string |
//! | value of an embed or format | JSON text | `any`, in the rest |
//! | deleted ranges | clock, length | difference to the end of the range before (0 for a client's first), length - 1 |
//!
//! The second format starts with a 0; then come key clocks, clients, left clocks, right clocks, infos, strings, parent
//! infos, type numbers and lengths, each with its length in bytes in front; the rest goes to the end. Kept from Yjs: its
//! table of keys stays empty, so each key gets the next number and is written again.
//!
//! # A document, byte for byte
//!
//! Client 1 typed `abc` into the root text `t` and deleted the `b`. Client 300 (`ac 02`) then set key `k` of the root map
//! `m` to 5 and typed a `d` at the end.
//!
//! ```text
//! 02                                      two clients
//!    02  ac 02  00                        client 300: two structs, from clock 0 on
//!       28  01 01 6d  01 6b  01 7d 05     any, with a key; in root "m"; under "k"; 1 value: the integer 5
//!       84  01 02  01 64                  string; behind (1, 2); "d"
//!    03  01  00                           client 1: three structs, from clock 0 on
//!       04  01 01 74  01 61               string; in root "t"; "a"
//!       81  01 00  01                     deleted; behind (1, 0); 1 unit
//!       84  01 01  01 63                  string; behind (1, 1); "c"
//! 01  01 01  01 01                        deleted: one client; client 1, one range; clock 1, 1 unit
//!
//! 00                                      the same in the second format
//! 00                                      no key clocks
//! 04  ac 04  41 02                        clients: 300, then 1 four times (of a struct's client and of three origins)
//! 03  04 44 02                            left clocks: 2 0 1, as differences 2 -2 1
//! 00                                      no right clocks
//! 09  28 00  84 00  04 00  81 00  84      infos
//! 09  06 6d 6b 64 74 61 63  41 04         strings: "mkdtac", each of length 1, six of them
//! 01  01                                  parent infos: both are roots, the last run goes on
//! 00                                      no type numbers
//! 02  41 00                               lengths: 1 twice (of the values, of what was deleted)
//! 02  02 00  7d 05  03 00                 rest: two clients; two structs from 0 on; the value; three structs from 0 on
//! 01  01 01  01 00                        deleted: one client; client 1, one range; 1 on from 0, 1 unit
//! ```
//!
//! ```
//! use crdt::{ClientId, Doc, Options};
//!
//! let mut one = Doc::new(ClientId::new(1).unwrap(), Options::default());
//! let text = one.text("t");
//! text.insert(&mut one.transact(), 0, "abc")?;
//! text.delete(&mut one.transact(), 1, 1)?;
//! let mut other = Doc::new(ClientId::new(300).unwrap(), Options::default());
//! other.apply_v1(&one.state_v1())?;
//! let (map, text) = (other.map("m"), other.text("t"));
//! map.insert(&mut other.transact(), "k", 5)?;
//! text.insert(&mut other.transact(), 2, "d")?;
//! let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
//! assert_eq!(
//!     hex(other.state_v1()),
//!     "0202ac02002801016d016b017d0584010201640301000401017401618101000184010101630101010101"
//! );
//! assert_eq!(
//!     hex(other.state_v2()),
//!     "000004ac04410203044402000928008400040081008409066d6b647461634104010100024100\
//!      0202007d0503000101010100"
//! );
//! # Ok::<(), crdt::Error>(())
//! ```

use lib0::columns::{self, IntDiffOptRleWriter, RleWriter, StringWriter, UintOptRleWriter};
use lib0::write::{var_signed_len, var_u64_len, write_var_signed};
use lib0::{Any, Sink, json, utf16, write_var_bytes, write_var_str, write_var_u64};

use crate::encoding::block::{Block, BlockKind, ItemBlock, Parent};
use crate::encoding::content::{Content, TypeKind};
use crate::encoding::delete_set::{DeleteSet, Range};
use crate::id::{ClientId, Id};

/// Where each field of an update goes.
pub(crate) trait Encoder: Default {
    /// Starts an update that is expected to take so many bytes.
    fn with_capacity(bytes: usize) -> Self;
    /// The stream of everything that has no column.
    fn rest(&mut self) -> &mut Vec<u8>;
    fn left_id(&mut self, id: Id);
    fn right_id(&mut self, id: Id);
    fn client(&mut self, client: ClientId);
    fn info(&mut self, info: u8);
    /// A text of so many UTF-16 units.
    fn text(&mut self, text: &str, units: u32);
    fn string(&mut self, text: &str);
    fn parent_info(&mut self, is_root: bool);
    fn type_number(&mut self, number: u64);
    fn len(&mut self, len: u64);
    /// A value that the first format writes as JSON text.
    fn json(&mut self, value: &Any);
    fn key(&mut self, key: &str);
    fn reset_deletes(&mut self);
    fn delete(&mut self, clock: u32, len: u32);
    /// Ends the update and takes it out.
    fn finish(&mut self) -> Vec<u8>;
    /// The update of an edit that inserted one text.
    fn inserted(edit: &Inserted<'_>) -> Vec<u8>;
    /// The update of an edit that deleted one range.
    fn deleted(client: ClientId, range: Range) -> Vec<u8>;
}

/// One short text that one client inserted beside another: with the deletion of one range, nearly all that is ever told, so
/// both are written straight on, without columns or structs in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inserted<'a> {
    pub(crate) client: ClientId,
    pub(crate) clock: u32,
    pub(crate) origin: Option<Id>,
    pub(crate) right_origin: Option<Id>,
    pub(crate) text: &'a str,
    pub(crate) units: u32,
}

impl Inserted<'_> {
    /// How long a text may be.
    pub(crate) const MOST_BYTES: usize = 32;

    #[inline]
    fn info(&self) -> u8 {
        4 | u8::from(self.origin.is_some()) << 7 | u8::from(self.right_origin.is_some()) << 6
    }
}

/// The update of one edit, put together on the stack: it takes its memory when its size is known, all at once and no
/// more than it is.
struct Short {
    len: usize,
    bytes: [u8; Self::MOST],
}

impl Short {
    /// More than either format has: of at most three clients and clocks, some numbers below 2^32, and a short text.
    const MOST: usize = 96 + Inserted::MOST_BYTES;

    fn new() -> Self {
        Self { len: 0, bytes: [0; Self::MOST] }
    }

    fn to_vec(&self) -> Vec<u8> {
        self.bytes[..self.len].to_vec()
    }
}

impl Sink for Short {
    #[inline]
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }
    #[inline]
    fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// The first format.
#[derive(Default)]
pub(crate) struct EncoderV1 {
    out: Vec<u8>,
    has_values: bool,
}

impl EncoderV1 {
    /// Writes behind `out`, and values as such where the format has JSON texts, which cannot spell them all.
    pub(crate) fn with_values(out: Vec<u8>) -> Self {
        Self { out, has_values: true }
    }

    fn id(&mut self, id: Id) {
        write_var_u64(&mut self.out, id.client.get());
        write_var_u64(&mut self.out, u64::from(id.clock));
    }
}

impl Encoder for EncoderV1 {
    fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes), has_values: false }
    }
    fn rest(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
    fn left_id(&mut self, id: Id) {
        self.id(id);
    }
    fn right_id(&mut self, id: Id) {
        self.id(id);
    }
    fn client(&mut self, client: ClientId) {
        write_var_u64(&mut self.out, client.get());
    }
    fn info(&mut self, info: u8) {
        self.out.push(info);
    }
    fn text(&mut self, text: &str, _units: u32) {
        write_var_str(&mut self.out, text);
    }
    fn string(&mut self, text: &str) {
        write_var_str(&mut self.out, text);
    }
    fn parent_info(&mut self, is_root: bool) {
        self.out.push(u8::from(is_root));
    }
    fn type_number(&mut self, number: u64) {
        write_var_u64(&mut self.out, number);
    }
    fn len(&mut self, len: u64) {
        write_var_u64(&mut self.out, len);
    }
    fn json(&mut self, value: &Any) {
        if self.has_values {
            value.write(&mut self.out);
            return;
        }
        // JavaScript would write the text "undefined" here.
        write_var_str(&mut self.out, json::stringify(value).as_deref().unwrap_or("undefined"));
    }
    fn key(&mut self, key: &str) {
        write_var_str(&mut self.out, key);
    }
    fn reset_deletes(&mut self) {}
    fn delete(&mut self, clock: u32, len: u32) {
        write_var_u64(&mut self.out, u64::from(clock));
        write_var_u64(&mut self.out, u64::from(len));
    }
    fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }
    #[inline]
    fn inserted(edit: &Inserted<'_>) -> Vec<u8> {
        let mut out = Short::new();
        // One client, one struct.
        out.extend_from_slice(&[1, 1]);
        write_var_u64(&mut out, edit.client.get());
        write_var_u64(&mut out, u64::from(edit.clock));
        out.push(edit.info());
        for id in [edit.origin, edit.right_origin].into_iter().flatten() {
            write_var_u64(&mut out, id.client.get());
            write_var_u64(&mut out, u64::from(id.clock));
        }
        write_var_str(&mut out, edit.text);
        out.push(0);
        out.to_vec()
    }
    fn deleted(client: ClientId, range: Range) -> Vec<u8> {
        let mut out = Short::new();
        // No structs; one client, one range.
        out.extend_from_slice(&[0, 1]);
        write_var_u64(&mut out, client.get());
        out.push(1);
        write_var_u64(&mut out, u64::from(range.clock));
        write_var_u64(&mut out, u64::from(range.len));
        out.to_vec()
    }
}

/// The second format.
#[derive(Default)]
pub(crate) struct EncoderV2 {
    key_clock: u64,
    key_clocks: IntDiffOptRleWriter,
    clients: UintOptRleWriter,
    left_clocks: IntDiffOptRleWriter,
    right_clocks: IntDiffOptRleWriter,
    infos: RleWriter,
    strings: StringWriter,
    parent_infos: RleWriter,
    type_numbers: UintOptRleWriter,
    lens: UintOptRleWriter,
    rest: Vec<u8>,
    delete_end: u32,
}

impl Encoder for EncoderV2 {
    fn with_capacity(bytes: usize) -> Self {
        // Nearly everything goes to the columns.
        Self { rest: Vec::with_capacity(bytes / 4), ..Self::default() }
    }
    fn rest(&mut self) -> &mut Vec<u8> {
        &mut self.rest
    }
    fn left_id(&mut self, id: Id) {
        self.clients.write(id.client.get());
        self.left_clocks.write(u64::from(id.clock));
    }
    fn right_id(&mut self, id: Id) {
        self.clients.write(id.client.get());
        self.right_clocks.write(u64::from(id.clock));
    }
    fn client(&mut self, client: ClientId) {
        self.clients.write(client.get());
    }
    fn info(&mut self, info: u8) {
        self.infos.write(info);
    }
    fn text(&mut self, text: &str, units: u32) {
        self.strings.write(text, u64::from(units));
    }
    fn string(&mut self, text: &str) {
        self.strings.write(text, utf16::len(text) as u64);
    }
    fn parent_info(&mut self, is_root: bool) {
        self.parent_infos.write(u8::from(is_root));
    }
    fn type_number(&mut self, number: u64) {
        self.type_numbers.write(number);
    }
    fn len(&mut self, len: u64) {
        self.lens.write(len);
    }
    fn json(&mut self, value: &Any) {
        value.write(&mut self.rest);
    }
    fn key(&mut self, key: &str) {
        self.key_clocks.write(self.key_clock);
        self.key_clock += 1;
        self.string(key);
    }
    fn reset_deletes(&mut self) {
        self.delete_end = 0;
    }
    fn delete(&mut self, clock: u32, len: u32) {
        write_var_u64(&mut self.rest, u64::from(clock - self.delete_end));
        write_var_u64(&mut self.rest, u64::from(len - 1));
        self.delete_end = clock + len;
    }
    fn finish(&mut self) -> Vec<u8> {
        columns::join(
            &[
                self.key_clocks.finish(),
                self.clients.finish(),
                self.left_clocks.finish(),
                self.right_clocks.finish(),
                self.infos.finish(),
            ],
            self.strings.finish(),
            &[self.parent_infos.finish(), self.type_numbers.finish(), self.lens.finish()],
            &self.rest,
        )
    }
    #[inline]
    fn inserted(edit: &Inserted<'_>) -> Vec<u8> {
        let mut out = Short::new();
        // The flag, and no key clocks.
        out.extend_from_slice(&[0, 0]);
        let mut clients = UintOptRleWriter::default();
        clients.write(edit.client.get());
        for id in [edit.origin, edit.right_origin].into_iter().flatten() {
            clients.write(id.client.get());
        }
        write_var_bytes(&mut out, clients.finish());
        for id in [edit.origin, edit.right_origin] {
            let difference = id.map(|id| 2 * u64::from(id.clock));
            write_var_u64(&mut out, difference.map_or(0, var_signed_len) as u64);
            if let Some(difference) = difference {
                write_var_signed(&mut out, false, difference);
            }
        }
        out.extend_from_slice(&[1, edit.info()]);
        let (len, units) = (edit.text.len() as u64, u64::from(edit.units));
        let strings = var_u64_len(len) + edit.text.len() + var_signed_len(units);
        write_var_u64(&mut out, strings as u64);
        write_var_str(&mut out, edit.text);
        write_var_signed(&mut out, false, units);
        // No parents, types, lengths; one client, one struct.
        out.extend_from_slice(&[0, 0, 0, 1, 1]);
        write_var_u64(&mut out, u64::from(edit.clock));
        out.push(0);
        out.to_vec()
    }
    fn deleted(client: ClientId, range: Range) -> Vec<u8> {
        let mut out = Short::new();
        // The flag and nine columns of nothing, where the strings are an empty one; no structs; one client.
        out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
        write_var_u64(&mut out, client.get());
        out.push(1);
        write_var_u64(&mut out, u64::from(range.clock));
        write_var_u64(&mut out, u64::from(range.len - 1));
        out.to_vec()
    }
}

/// Writes a block without its first `offset` units.
pub(crate) fn write_block<E: Encoder>(encoder: &mut E, block: &Block<'_>, offset: u32) {
    match &block.kind {
        BlockKind::Gc => {
            encoder.info(0);
            encoder.len(u64::from(block.len - offset));
        }
        BlockKind::Skip => {
            encoder.info(10);
            write_var_u64(encoder.rest(), u64::from(block.len - offset));
        }
        BlockKind::Item(item) => {
            let origin = if offset > 0 {
                Some(Id { client: block.client, clock: block.clock + offset - 1 })
            } else {
                item.origin
            };
            write_item(encoder, origin, item, offset);
        }
    }
}

fn write_item<E: Encoder>(encoder: &mut E, origin: Option<Id>, item: &ItemBlock<'_>, offset: u32) {
    encoder.info(
        item.content.number()
            | if origin.is_some() { 0x80 } else { 0 }
            | if item.right_origin.is_some() { 0x40 } else { 0 }
            | if item.key.is_some() { 0x20 } else { 0 },
    );
    if let Some(id) = origin {
        encoder.left_id(id);
    }
    if let Some(id) = item.right_origin {
        encoder.right_id(id);
    }
    if origin.is_none() && item.right_origin.is_none() {
        match &item.parent {
            Some(Parent::Root(name)) => {
                encoder.parent_info(true);
                encoder.string(name);
            }
            Some(Parent::Item(id)) => {
                encoder.parent_info(false);
                encoder.left_id(*id);
            }
            None => debug_assert!(false, "an item without origins knows its parent"),
        }
        if let Some(key) = &item.key {
            encoder.string(key);
        }
    }
    let skip = offset as usize;
    match &item.content {
        Content::Deleted(len) => encoder.len(u64::from(len - offset)),
        Content::Json(values) => {
            encoder.len((values.len() - skip) as u64);
            for value in &values[skip..] {
                encoder.string(json::stringify(value).as_deref().unwrap_or("undefined"));
            }
        }
        Content::Binary(bytes) => write_var_bytes(encoder.rest(), bytes),
        Content::String(text, len) if offset == 0 => encoder.text(text, *len),
        Content::String(text, len) => encoder.text(&utf16::split(text, skip).1, len - offset),
        Content::Embed(value) => encoder.json(value),
        Content::Format(key, value) => {
            encoder.key(key);
            encoder.json(value);
        }
        Content::Type(kind) => {
            encoder.type_number(kind.number());
            if let TypeKind::XmlElement(name) | TypeKind::XmlHook(name) = &**kind {
                encoder.key(name);
            }
        }
        Content::Any(values) => {
            encoder.len((values.len() - skip) as u64);
            // Each takes a byte at least, most a few.
            encoder.rest().reserve(4 * (values.len() - skip));
            for value in &values[skip..] {
                value.write(encoder.rest());
            }
        }
        Content::Doc(subdoc) => {
            encoder.string(&subdoc.guid);
            subdoc.options().write(encoder.rest());
        }
    }
}

/// Writes a delete set.
pub(crate) fn write_deletes<E: Encoder>(encoder: &mut E, deletes: &DeleteSet) {
    let clients = deletes.iter();
    write_var_u64(encoder.rest(), clients.len() as u64);
    for (client, ranges) in clients {
        write_ranges(encoder, client, ranges.iter().copied());
    }
}

/// Writes the deleted ranges of one client.
pub(crate) fn write_ranges<E: Encoder>(
    encoder: &mut E,
    client: ClientId,
    ranges: impl ExactSizeIterator<Item = Range>,
) {
    encoder.reset_deletes();
    write_var_u64(encoder.rest(), client.get());
    write_var_u64(encoder.rest(), ranges.len() as u64);
    for range in ranges {
        encoder.delete(range.clock, range.len);
    }
}
