//! Writes updates in both formats. The order of fields is the format's; the two encoders differ only in where they put
//! each field: the first in one stream, the second in nine run-length columns and the rest.
//!
//! ```text
//! V1   clients | per client, highest id first: structs, client, clock, struct ... | delete set
//! V2   0 | key clocks | clients | left clocks | right clocks | infos | strings | parent infos | type numbers | lengths
//!        (each with its length in front) | rest: counts, clocks, values, holes' lengths, delete set
//! ```
//!
//! A struct is an info byte (content number, 0x80: has an origin, 0x40: has a right origin, 0x20: has a key), the
//! origins, the parent and key if there are no origins, and the content. Kept from Yjs: the second format writes each
//! key of a format anew (its key table stays empty), a hole writes its length into the rest, and lengths of deletions
//! are written less one.

use lib0::columns::{IntDiffOptRleWriter, RleWriter, StringWriter, UintOptRleWriter};
use lib0::{Any, json, write_var_bytes, write_var_str, write_var_u64};

use crate::block::{Block, BlockKind, ItemBlock, Parent};
use crate::content::{Content, TypeKind};
use crate::delete_set::DeleteSet;
use crate::id::{ClientId, Id};

/// Where each field of an update goes.
pub(crate) trait Encoder: Default {
    /// The stream of everything that has no column.
    fn rest(&mut self) -> &mut Vec<u8>;
    fn left_id(&mut self, id: Id);
    fn right_id(&mut self, id: Id);
    fn client(&mut self, client: ClientId);
    fn info(&mut self, info: u8);
    fn string(&mut self, text: &str);
    fn parent_info(&mut self, is_root: bool);
    fn type_number(&mut self, number: u64);
    fn len(&mut self, len: u64);
    /// A value that the first format writes as JSON text.
    fn json(&mut self, value: &Any);
    fn key(&mut self, key: &str);
    fn reset_deletes(&mut self);
    fn delete(&mut self, clock: u32, len: u32);
    fn finish(self) -> Vec<u8>;
}

/// The first format.
#[derive(Default)]
pub(crate) struct EncoderV1 {
    out: Vec<u8>,
}

impl EncoderV1 {
    fn id(&mut self, id: Id) {
        write_var_u64(&mut self.out, id.client.get());
        write_var_u64(&mut self.out, u64::from(id.clock));
    }
}

impl Encoder for EncoderV1 {
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
    fn finish(self) -> Vec<u8> {
        self.out
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
    fn string(&mut self, text: &str) {
        self.strings.write(text);
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
        self.strings.write(key);
    }
    fn reset_deletes(&mut self) {
        self.delete_end = 0;
    }
    fn delete(&mut self, clock: u32, len: u32) {
        write_var_u64(&mut self.rest, u64::from(clock - self.delete_end));
        write_var_u64(&mut self.rest, u64::from(len - 1));
        self.delete_end = clock + len;
    }
    fn finish(self) -> Vec<u8> {
        let mut out = vec![0];
        for column in [
            self.key_clocks.finish(),
            self.clients.finish(),
            self.left_clocks.finish(),
            self.right_clocks.finish(),
            self.infos.finish(),
            self.strings.finish(),
            self.parent_infos.finish(),
            self.type_numbers.finish(),
            self.lens.finish(),
        ] {
            write_var_bytes(&mut out, &column);
        }
        out.extend_from_slice(&self.rest);
        out
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
        Content::String(text, _) if offset == 0 => encoder.string(text),
        Content::String(text, _) => encoder.string(&lib0::utf16::split(text, skip).1),
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
            for value in &values[skip..] {
                value.write(encoder.rest());
            }
        }
        Content::Doc(guid, options) => {
            encoder.string(guid);
            options.write(encoder.rest());
        }
    }
}

/// Writes a delete set.
pub(crate) fn write_deletes<E: Encoder>(encoder: &mut E, deletes: &DeleteSet) {
    let clients = deletes.iter();
    write_var_u64(encoder.rest(), clients.len() as u64);
    for (client, ranges) in clients {
        encoder.reset_deletes();
        write_var_u64(encoder.rest(), client.get());
        write_var_u64(encoder.rest(), ranges.len() as u64);
        for range in ranges {
            encoder.delete(range.clock, range.len);
        }
    }
}
