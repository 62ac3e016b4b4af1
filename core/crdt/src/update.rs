//! Updates without a document: merge, diff, convert, and the state vector of an update.
//!
//! The results are Yjs's to the byte. Merging therefore does not join texts (three one-letter updates stay three
//! structs), takes each unit from the first update that has it, and bridges what is in none of them with a hole.

mod obfuscate;
mod sort;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lib0::{ReadError, write_var_u64};

use crate::encoding::block::{Block, BlockKind};
use crate::encoding::decoder::{Decoder, DecoderV1, DecoderV2, Update, budget, walk};
use crate::encoding::delete_set::DeleteSet;
use crate::encoding::encoder::{Encoder, EncoderV1, EncoderV2, write_block, write_deletes};
use crate::error::Error;
use crate::id::{ClientId, StateVector};

pub use obfuscate::{Obfuscate, obfuscate_v1, obfuscate_v2};

/// The first format's update of an empty document.
pub const EMPTY_V1: [u8; 2] = [0, 0];

/// Merges updates of the first format into one.
///
/// # Errors
/// Any of them is malformed.
pub fn merge_v1(updates: &[&[u8]]) -> Result<Vec<u8>, Error> {
    merge::<EncoderV1>(updates, Update::read::<DecoderV1<'_>>)
}

/// Merges updates of the second format into one.
///
/// # Errors
/// Any of them is malformed.
pub fn merge_v2(updates: &[&[u8]]) -> Result<Vec<u8>, Error> {
    merge::<EncoderV2>(updates, Update::read::<DecoderV2<'_>>)
}

/// Merges updates of the second format that this crate wrote itself.
pub(crate) fn merge_own(updates: &[&[u8]]) -> Result<Vec<u8>, Error> {
    merge::<EncoderV2>(updates, Update::read_own::<DecoderV2<'_>>)
}

/// Returns what an update of the first format holds beyond a state vector, and all its deletions.
///
/// # Errors
/// The update is malformed.
pub fn diff_v1(update: &[u8], than: &StateVector) -> Result<Vec<u8>, Error> {
    diff::<DecoderV1<'_>, EncoderV1>(update, budget(update), than)
}

/// Returns what an update of the second format holds beyond a state vector, and all its deletions.
///
/// # Errors
/// The update is malformed.
pub fn diff_v2(update: &[u8], than: &StateVector) -> Result<Vec<u8>, Error> {
    diff::<DecoderV2<'_>, EncoderV2>(update, budget(update), than)
}

/// As [`diff_v2`], of an update that this crate wrote itself.
pub(crate) fn diff_own(update: &[u8], than: &StateVector) -> Result<Vec<u8>, Error> {
    diff::<DecoderV2<'_>, EncoderV2>(update, u64::MAX, than)
}

/// Rewrites an update of the first format in the second.
///
/// # Errors
/// The update is malformed.
pub fn v1_to_v2(update: &[u8]) -> Result<Vec<u8>, Error> {
    rewrite::<DecoderV1<'_>, EncoderV2>(update, budget(update), |_| ())
}

/// Rewrites an update of the second format in the first.
///
/// # Errors
/// The update is malformed.
pub fn v2_to_v1(update: &[u8]) -> Result<Vec<u8>, Error> {
    rewrite::<DecoderV2<'_>, EncoderV1>(update, budget(update), |_| ())
}

/// Rewrites an update of the second format that this crate wrote itself in the first.
pub(crate) fn own_to_v1(update: &[u8]) -> Result<Vec<u8>, Error> {
    rewrite::<DecoderV2<'_>, EncoderV1>(update, u64::MAX, |_| ())
}

/// Returns the state vector that an update of the first format alone leads to: what is gapless from clock 0 on.
///
/// # Errors
/// The update is malformed.
pub fn state_vector_v1(update: &[u8]) -> Result<StateVector, Error> {
    Ok(state_vector(&Update::read::<DecoderV1<'_>>(update)?))
}

/// Returns the state vector that an update of the second format alone leads to.
///
/// # Errors
/// The update is malformed.
pub fn state_vector_v2(update: &[u8]) -> Result<StateVector, Error> {
    Ok(state_vector(&Update::read::<DecoderV2<'_>>(update)?))
}

/// Checks an update of the first format without applying it.
///
/// # Errors
/// The update is malformed.
pub fn check_v1(update: &[u8]) -> Result<(), Error> {
    Update::read::<DecoderV1<'_>>(update)?;
    Ok(())
}

/// Checks an update of the second format without applying it.
///
/// # Errors
/// The update is malformed.
pub fn check_v2(update: &[u8]) -> Result<(), Error> {
    Update::read::<DecoderV2<'_>>(update)?;
    Ok(())
}

/// How much an update holds, for people and tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// Per client, highest id first: the first clock, the clock after the last unit, and how many structs.
    pub clients: Vec<(ClientId, u32, u32, usize)>,
    /// Units that lie in holes of the update.
    pub missing: u64,
    /// How many ranges are deleted.
    pub deleted_ranges: usize,
    /// How many units are deleted.
    pub deleted_units: u64,
}

/// Describes an update of the first format.
///
/// # Errors
/// The update is malformed.
pub fn info_v1(update: &[u8]) -> Result<Info, Error> {
    Ok(info(&Update::read::<DecoderV1<'_>>(update)?))
}

/// Describes an update of the second format.
///
/// # Errors
/// The update is malformed.
pub fn info_v2(update: &[u8]) -> Result<Info, Error> {
    Ok(info(&Update::read::<DecoderV2<'_>>(update)?))
}

fn info(update: &Update<'_>) -> Info {
    let mut info = Info { clients: Vec::new(), missing: 0, deleted_ranges: 0, deleted_units: 0 };
    for (client, blocks) in &update.clients {
        let first = blocks.first().map_or(0, |block| block.clock);
        let end = blocks.last().map_or(0, Block::end);
        info.clients.push((*client, first, end, blocks.len()));
        info.missing +=
            blocks.iter().filter(|b| b.is_skip()).map(|b| u64::from(b.len)).sum::<u64>();
    }
    info.clients.sort_by_key(|entry| Reverse(entry.0));
    for (_, ranges) in update.deletes.iter() {
        info.deleted_ranges += ranges.len();
        info.deleted_units += ranges.iter().map(|range| u64::from(range.len)).sum::<u64>();
    }
    info
}

/// Writes blocks whose number is not known beforehand: a fragment a client, put together at the end.
pub(crate) struct FragmentWriter<E> {
    encoder: E,
    client: Option<ClientId>,
    written: u64,
    fragments: Vec<(u64, Vec<u8>)>,
}

impl<E: Encoder> FragmentWriter<E> {
    /// `bytes`: how large the result is expected to be.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { encoder: E::with_capacity(bytes), client: None, written: 0, fragments: Vec::new() }
    }

    pub(crate) fn write(&mut self, block: &Block<'_>, offset: u32) {
        if self.written > 0 && self.client != Some(block.client) {
            self.close();
        }
        if self.written == 0 {
            self.client = Some(block.client);
            self.encoder.client(block.client);
            write_var_u64(self.encoder.rest(), u64::from(block.clock + offset));
        }
        write_block(&mut self.encoder, block, offset);
        self.written += 1;
    }

    fn close(&mut self) {
        if self.written > 0 {
            self.fragments.push((self.written, std::mem::take(self.encoder.rest())));
            self.written = 0;
        }
    }

    pub(crate) fn finish(mut self, deletes: &mut DeleteSet) -> Vec<u8> {
        self.close();
        let rest = self.encoder.rest();
        write_var_u64(rest, self.fragments.len() as u64);
        for (written, fragment) in &self.fragments {
            write_var_u64(rest, *written);
            rest.extend_from_slice(fragment);
        }
        deletes.make_writable();
        write_deletes(&mut self.encoder, deletes);
        self.encoder.finish()
    }
}

/// Writes an update anew, in whatever format, each block after a change, while it is read and checked.
fn rewrite<'u, D: Decoder<'u>, E: Encoder>(
    update: &'u [u8],
    budget: u64,
    mut change: impl FnMut(&mut Block<'u>),
) -> Result<Vec<u8>, Error> {
    let mut writer = FragmentWriter::<E>::new(update.len());
    let mut deletes = walk(&mut D::open(update)?, budget, |piece| {
        let mut block = piece.into_block();
        change(&mut block);
        writer.write(&block, 0);
        true
    })?;
    Ok(writer.finish(&mut deletes))
}

fn diff<'u, D: Decoder<'u>, E: Encoder>(
    update: &'u [u8],
    budget: u64,
    than: &StateVector,
) -> Result<Vec<u8>, Error> {
    let mut writer = FragmentWriter::<E>::new(update.len());
    let mut client = None;
    let mut deletes = walk(&mut D::open(update)?, budget, |piece| {
        let block = piece.into_block();
        let mut offset = 0;
        // The first block written is never a hole; later ones of the same client are written whatever they are.
        if client != Some(block.client) {
            let known = than.get(block.client);
            if block.is_skip() || block.end() <= known {
                return true;
            }
            client = Some(block.client);
            offset = known.saturating_sub(block.clock);
        }
        writer.write(&block, offset);
        true
    })?;
    Ok(writer.finish(&mut deletes))
}

fn state_vector(update: &Update<'_>) -> StateVector {
    let gapless = |blocks: &Vec<Block<'_>>| {
        let mut clock = 0;
        for block in blocks {
            if block.clock != clock || block.is_skip() {
                break;
            }
            clock = block.end();
        }
        clock
    };
    update.clients.iter().map(|(client, blocks)| (*client, gapless(blocks))).collect()
}

/// The blocks of one of several updates that are merged, holes left out.
struct Source<'a> {
    blocks: std::vec::IntoIter<Block<'a>>,
    current: Option<Block<'a>>,
}

impl<'a> Source<'a> {
    fn new(update: Update<'a>) -> Self {
        // Yjs writes the highest client first. What others wrote is put in order: what is merged would else name a client
        // twice, and could not be read again.
        let mut clients = update.clients;
        clients.sort_by_key(|&(client, _)| Reverse(client));
        let blocks: Vec<_> = clients
            .into_iter()
            .flat_map(|(_, blocks)| blocks)
            .filter(|block| !block.is_skip())
            .collect();
        let mut source = Self { blocks: blocks.into_iter(), current: None };
        source.advance();
        source
    }

    fn advance(&mut self) {
        self.current = self.blocks.next();
    }

    fn take(&mut self) -> Option<Block<'a>> {
        let block = self.current.take();
        self.advance();
        block
    }

    /// Where the source stands, and whether that was collected.
    fn key(&self) -> Option<(Key, bool)> {
        let block = self.current.as_ref()?;
        Some(((Reverse(block.client), block.clock), matches!(block.kind, BlockKind::Gc)))
    }
}

fn merge<'a, E: Encoder>(
    updates: &[&'a [u8]],
    read: impl Fn(&'a [u8]) -> Result<Update<'a>, ReadError>,
) -> Result<Vec<u8>, Error> {
    let mut deletes = DeleteSet::default();
    let mut sources = Vec::with_capacity(updates.len());
    for bytes in updates {
        let update = read(bytes)?;
        deletes.extend(&update.deletes);
        sources.push(Source::new(update));
    }
    if let [only] = updates {
        return Ok(only.to_vec());
    }
    deletes.normalize();
    let mut writer = FragmentWriter::<E>::new(updates.iter().map(|update| update.len()).sum());
    // The block that was taken last; it is written as soon as it can't grow any more.
    let mut pending: Option<Block<'a>> = None;
    let mut order = Order::new(&sources);
    while let Some(first) = order.first() {
        order.count(&sources[first], -1);
        pending = merge_from(&mut sources[first], pending, &mut writer);
        order.count(&sources[first], 1);
        order.renew(&sources);
    }
    if let Some(last) = &pending {
        writer.write(last, 0);
    }
    Ok(writer.finish(&mut deletes))
}
/// Takes from the first source what comes next; `pending` was taken last, and is written as soon as it can't grow any
/// more. Returns what is pending then.
fn merge_from<'a, E: Encoder>(
    source: &mut Source<'a>,
    mut pending: Option<Block<'a>>,
    writer: &mut FragmentWriter<E>,
) -> Option<Block<'a>> {
    let first_client = source.current.as_ref()?.client;
    if let Some(last) = pending.as_mut() {
        let mut moved = false;
        while source
            .current
            .as_ref()
            .is_some_and(|b| b.end() <= last.end() && b.client >= last.client)
        {
            source.advance();
            moved = true;
        }
        let Some(block) = source.current.as_ref() else { return pending };
        if block.client != first_client || (moved && block.clock > last.end()) {
            return pending;
        }
        if first_client != last.client {
            writer.write(last, 0);
            pending = source.take();
        } else if last.end() < block.clock {
            if last.is_skip() {
                last.len = block.end() - last.clock;
            } else {
                writer.write(last, 0);
                pending = Some(Block {
                    client: first_client,
                    clock: last.end(),
                    len: block.clock - last.end(),
                    kind: BlockKind::Skip,
                });
            }
        } else {
            let overlap = last.end() - block.clock;
            let mut block = block.clone();
            if overlap > 0 && last.is_skip() {
                last.len -= overlap;
            } else if overlap > 0 {
                block = block.tail(overlap);
            }
            let joins = matches!(
                (&last.kind, &block.kind),
                (BlockKind::Gc, BlockKind::Gc) | (BlockKind::Skip, BlockKind::Skip)
            );
            if joins {
                // The source stays at the whole block, which decides what is looked at next.
                last.len += block.len;
            } else {
                if last.len > 0 {
                    writer.write(last, 0);
                }
                pending = Some(block);
                source.advance();
            }
        }
    } else {
        pending = source.take();
    }
    // What follows in the same update without a gap is taken at once.
    while let (Some(last), Some(next)) = (pending.as_ref(), source.current.as_ref()) {
        if next.client != first_client || next.clock != last.end() {
            break;
        }
        writer.write(last, 0);
        pending = source.take();
    }
    pending
}

/// The order in which Yjs looks at what is to be merged: by client, the highest first, then by clock.
///
/// Of an item and a collected block with the same id Yjs says that each comes before the other: where such stand in
/// front of their updates, everything is sorted as JavaScript's engine does it ([`sort`]). Else only the one that moved
/// on is brought to its place, which comes to the same.
struct Order {
    array: Vec<usize>,
    /// How many sources stand at a place with an item, and with a collected block.
    at: BTreeMap<Key, [u32; 2]>,
    /// At how many places there are both.
    torn: usize,
}

type Key = (Reverse<ClientId>, u32);

impl Order {
    fn new(sources: &[Source<'_>]) -> Self {
        let array = (0..sources.len()).filter(|&at| sources[at].current.is_some()).collect();
        let mut order = Self { array, at: BTreeMap::new(), torn: 0 };
        for source in sources {
            order.count(source, 1);
        }
        order.sort(sources);
        order
    }

    fn first(&self) -> Option<usize> {
        self.array.first().copied()
    }

    /// To be called before and after a source moves on.
    fn count(&mut self, source: &Source<'_>, by: i32) {
        let Some((key, kind)) = source.key() else { return };
        let both = |kinds: &[u32; 2]| kinds[0] > 0 && kinds[1] > 0;
        let kinds = self.at.entry(key).or_default();
        self.torn -= usize::from(both(kinds));
        kinds[usize::from(kind)] = kinds[usize::from(kind)].wrapping_add_signed(by);
        self.torn += usize::from(both(kinds));
        if *kinds == [0, 0] {
            self.at.remove(&key);
        }
    }

    /// Brings all in order again after the first one moved on.
    fn renew(&mut self, sources: &[Source<'_>]) {
        let Some(first) = self.first() else { return };
        let moved = sources[first].key();
        if moved.is_none() {
            self.array.remove(0);
        }
        if self.torn > 0 {
            self.sort(sources);
        } else if let Some((moved, _)) = moved {
            let is_less = |&other: &usize| sources[other].key().is_some_and(|(key, _)| key < moved);
            let behind = self.array[1..].partition_point(is_less);
            self.array[..=behind].rotate_left(1);
        }
    }

    fn sort(&mut self, sources: &[Source<'_>]) {
        sort::sort(&mut self.array, |left, right| {
            match (sources[left].key(), sources[right].key()) {
                (Some((left, left_kind)), Some((right, right_kind))) => {
                    left < right || (left == right && left_kind != right_kind)
                }
                _ => false,
            }
        });
    }
}
