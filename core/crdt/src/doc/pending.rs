//! What has arrived before something that it rests on, and waits for that.
//!
//! Much may wait, and each update that comes may be one more, or let some of it go on. So adding costs what is added, and
//! trying again what goes on then: each client's blocks lie apart, in the order of their clocks, and the next of a client
//! is looked at only when the one before it could be integrated. A block is kept as the bytes of the first format, but
//! for values, which JSON cannot spell.
//!
//! Yjs keeps one update of the second format and merges into it whatever more has to wait. [`Held::encode`] writes that
//! update. Where nothing came twice, merging is putting blocks in order, whatever came first, with a hole wherever
//! neighbors do not touch; anything else is merged as Yjs does it ([`Held::merge`]).

use std::collections::{BTreeMap, VecDeque};

use lib0::ReadError;

use crate::encoding::block::{Block, BlockKind, Piece};
use crate::encoding::decoder::{Decoder, DecoderV1, DecoderV2, Update, read_piece, walk};
use crate::encoding::delete_set::{DeleteSet, Range};
use crate::encoding::encoder::{Encoder as _, EncoderV1, EncoderV2, write_block, write_deletes};
use crate::id::ClientId;
use crate::update::{FragmentWriter, merge_own};

/// Why what waits can be read: nothing of it may be lost.
pub(crate) const OWN: &str = "what waits was checked when it came in";

/// What waits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending {
    pub(crate) structs: Held,
    /// Per client a clock that must be passed before structs are tried again.
    pub(crate) missing: BTreeMap<ClientId, u32>,
    pub(crate) deletes: HeldDeletes,
}

impl Pending {
    pub(crate) fn is_empty(&self) -> bool {
        self.structs.is_empty() && self.deletes.is_empty()
    }

    /// Size in bytes, as it is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.structs.bytes + self.deletes.set.len() * size_of::<Range>()
    }

    /// Adds structs that wait, and what they wait for.
    pub(crate) fn add(&mut self, structs: Held, missing: BTreeMap<ClientId, u32>) {
        for (client, clock) in missing {
            let known = self.missing.entry(client).or_insert(clock);
            *known = (*known).min(clock);
        }
        self.structs.add(structs);
    }
}

/// Structs that wait.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    lines: BTreeMap<ClientId, Line>,
    /// Of all blocks but holes, see [`Entry::bytes`].
    bytes: usize,
    /// Whether blocks may be holes: as one update had them. Once merged, holes are where neighbors do not touch.
    has_holes: bool,
}

/// The blocks of one client.
#[derive(Debug, Clone, Default)]
struct Line {
    /// In the order of their clocks; they do not overlap.
    entries: VecDeque<Entry>,
    /// Their encoded forms, in the order in which they came.
    encoded: Vec<u8>,
    /// How much of that is of blocks that are gone.
    dead: usize,
}

/// One block.
#[derive(Debug, Clone, Copy)]
struct Entry {
    clock: u32,
    len: u32,
    /// Where in the line's bytes it is, and how many it has.
    at: usize,
    size: usize,
}

impl Entry {
    fn end(&self) -> u32 {
        self.clock + self.len
    }

    /// What keeping it takes.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.size
    }
}

impl Line {
    fn push(&mut self, block: &Block<'_>) -> Entry {
        let at = self.encoded.len();
        let mut encoder = EncoderV1::with_values(std::mem::take(&mut self.encoded));
        write_block(&mut encoder, block, 0);
        self.encoded = encoder.finish();
        let size = self.encoded.len() - at;
        let entry = Entry { clock: block.clock, len: block.len, at, size };
        self.entries.push_back(entry);
        entry
    }

    fn encoded(&self, entry: Entry) -> &[u8] {
        &self.encoded[entry.at..entry.at + entry.size]
    }

    fn piece(&self, client: ClientId, entry: Entry) -> Piece<'_> {
        let mut decoder = DecoderV1::with_values(self.encoded(entry));
        read_piece(&mut decoder, client, entry.clock).expect(OWN)
    }

    /// Whether this line has a block of another one, just as it is. (Of a collected one it matters which is taken: what
    /// follows in its update is not joined to it.)
    fn has(&self, other: &Self, entry: Entry) -> bool {
        let known = self.entries.get(self.place(entry));
        known.is_some_and(|&known| {
            (known.clock, known.len) == (entry.clock, entry.len)
                && !is_gc(self.encoded(known))
                && self.encoded(known) == other.encoded(entry)
        })
    }

    /// Whether a block of another line goes between those of this one without touching any in a way that matters.
    fn has_room(&self, other: &Self, entry: Entry) -> bool {
        let at = self.place(entry);
        let (before, after) = (at.checked_sub(1), Some(at));
        let [before, after] = [before, after].map(|at| self.entries.get(at?).copied());
        // Collected blocks that touch become one.
        let joins = |known: Entry| is_gc(self.encoded(known)) && is_gc(other.encoded(entry));
        let is_free = |left: Entry, right: Entry, known: Entry| {
            left.end() < right.clock || left.end() == right.clock && !joins(known)
        };
        before.is_none_or(|before| is_free(before, entry, before))
            && after.is_none_or(|after| is_free(entry, after, after))
    }

    /// How many blocks begin before another one.
    fn place(&self, entry: Entry) -> usize {
        match self.entries.back() {
            Some(last) if last.clock < entry.clock => self.entries.len(),
            _ => self.entries.partition_point(|known| known.clock < entry.clock),
        }
    }

    /// Takes a block of another line in; returns what that takes.
    fn insert(&mut self, other: &Self, entry: Entry) -> usize {
        let moved = Entry { at: self.encoded.len(), ..entry };
        self.encoded.extend_from_slice(other.encoded(entry));
        self.entries.insert(self.place(entry), moved);
        entry.bytes()
    }

    /// Removes the first blocks; returns what they took.
    fn remove_first(&mut self, count: usize) -> usize {
        let mut bytes = 0;
        for entry in self.entries.drain(..count) {
            self.dead += entry.size;
            if !is_hole(&self.encoded[entry.at..]) {
                bytes += entry.bytes();
            }
        }
        if self.dead > self.encoded.len() / 2 {
            let encoded = std::mem::take(&mut self.encoded);
            for entry in &mut self.entries {
                let at = self.encoded.len();
                self.encoded.extend_from_slice(&encoded[entry.at..entry.at + entry.size]);
                entry.at = at;
            }
            self.dead = 0;
        }
        bytes
    }
}

/// The content number of a block.
fn number(encoded: &[u8]) -> u8 {
    encoded[0] & 0x1f
}

fn is_gc(encoded: &[u8]) -> bool {
    number(encoded) == 0
}

fn is_hole(encoded: &[u8]) -> bool {
    number(encoded) == 10
}

impl Held {
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Reads all structs of an update, and its deletions.
    pub(crate) fn read<'a, D: Decoder<'a>>(
        bytes: &'a [u8],
        budget: u64,
    ) -> Result<(Self, DeleteSet), ReadError> {
        let mut held = Self::default();
        let deletes = walk(&mut D::open(bytes)?, budget, |piece| {
            held.push(&piece.into_block());
            true
        })?;
        Ok((held, deletes))
    }

    /// How many blocks there are, holes included.
    pub(crate) fn len(&self) -> usize {
        self.lines.values().map(|line| line.entries.len()).sum()
    }

    /// Adds a block behind those of its client.
    pub(crate) fn push(&mut self, block: &Block<'_>) {
        let entry = self.lines.entry(block.client).or_default().push(block);
        if block.is_skip() {
            self.has_holes = true;
        } else {
            self.bytes += entry.bytes();
        }
    }

    /// Adds what another update had to leave.
    fn add(&mut self, mut other: Self) {
        if self.is_empty() {
            *self = other;
            return;
        }
        self.drop_holes();
        other.drop_holes();
        let is_apart = |(client, line): (&ClientId, &Line)| {
            self.lines.get(client).is_none_or(|known| {
                let mut entries = line.entries.iter();
                entries.all(|&entry| known.has_room(line, entry) || known.has(line, entry))
            })
        };
        if !other.lines.iter().all(is_apart) {
            *self = self.merge(&other);
            return;
        }
        for (client, line) in other.lines {
            let known = self.lines.entry(client).or_default();
            for &entry in &line.entries {
                if !known.has(&line, entry) {
                    self.bytes += known.insert(&line, entry);
                }
            }
        }
    }

    /// Merges what has other borders, as Yjs does.
    fn merge(&self, other: &Self) -> Self {
        let merged = merge_own(&[&self.encode(), &other.encode()]).expect(OWN);
        let update = Update::read_own::<DecoderV2<'_>>(&merged).expect(OWN);
        let mut held = Self::default();
        for block in update.clients.iter().flat_map(|(_, blocks)| blocks) {
            held.push(block);
        }
        held.drop_holes();
        held
    }

    fn drop_holes(&mut self) {
        if !std::mem::take(&mut self.has_holes) {
            return;
        }
        for line in self.lines.values_mut() {
            let encoded = &line.encoded;
            line.entries.retain(|entry| !is_hole(&encoded[entry.at..]));
        }
    }

    /// Yjs's update of what waits: `pendingStructs`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = FragmentWriter::<EncoderV2>::new(self.bytes / 4);
        for (&client, line) in self.lines.iter().rev() {
            let mut end = None;
            for &entry in &line.entries {
                if let Some(clock) = end.filter(|&end| end < entry.clock) {
                    let len = entry.clock - clock;
                    writer.write(&Block { client, clock, len, kind: BlockKind::Skip }, 0);
                }
                writer.write(&line.piece(client, entry).into_block(), 0);
                end = Some(entry.end());
            }
        }
        writer.finish(&mut DeleteSet::default())
    }

    /// The units that wait though they are here: per client those below `next`.
    pub(crate) fn known(&self, next: impl Fn(ClientId) -> u32) -> DeleteSet {
        let mut known = DeleteSet::default();
        for (&client, line) in &self.lines {
            let next = next(client);
            for entry in line.entries.iter().take_while(|entry| entry.clock < next) {
                if !is_hole(line.encoded(*entry)) {
                    known.add(client, entry.clock, entry.end().min(next) - entry.clock);
                }
            }
        }
        known
    }

    /// Each client and its blocks, lowest client first.
    pub(crate) fn queues(&self) -> Vec<(ClientId, HeldBlocks<'_>)> {
        let queue = |(&client, line)| (client, HeldBlocks { client, line, next: 0 });
        self.lines.iter().map(queue).collect()
    }

    /// Removes a client's first blocks.
    pub(crate) fn remove_first(&mut self, client: ClientId, count: usize) {
        let Some(line) = self.lines.get_mut(&client) else { return };
        self.bytes -= line.remove_first(count);
        if line.entries.is_empty() {
            self.lines.remove(&client);
        }
    }
}

/// Blocks of one client that wait, taken one after the other.
pub(crate) struct HeldBlocks<'a> {
    client: ClientId,
    line: &'a Line,
    next: usize,
}

impl HeldBlocks<'_> {
    /// How many were taken.
    pub(crate) fn taken(&self) -> usize {
        self.next
    }

    /// Gives the blocks from a clock on back.
    pub(crate) fn give_back(&mut self, clock: u32) {
        self.next = self.next.min(self.line.entries.partition_point(|entry| entry.clock < clock));
    }
}

impl<'a> Iterator for HeldBlocks<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let entry = *self.line.entries.get(self.next)?;
        self.next += 1;
        Some(self.line.piece(self.client, entry))
    }
}

/// Deletions of units that have not arrived.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeldDeletes {
    /// The ranges of a client are in order.
    set: DeleteSet,
    /// Whether those that touch are one: once merged, they are.
    is_normal: bool,
}

impl HeldDeletes {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Takes out what is deleted of units that are known by now.
    pub(crate) fn take_known(&mut self, next: impl Fn(ClientId) -> u32) -> DeleteSet {
        self.set.take_below(next)
    }

    /// Adds what another update had to leave.
    pub(crate) fn add(&mut self, mut other: DeleteSet) {
        if other.is_empty() {
            return;
        }
        if self.set.is_empty() {
            other.make_writable();
            *self = Self { set: other, is_normal: false };
            return;
        }
        if !std::mem::replace(&mut self.is_normal, true) {
            self.set.normalize();
        }
        for (client, ranges) in other.iter() {
            for &range in ranges {
                self.set.insert(client, range);
            }
        }
    }

    /// Yjs's update of them: `pendingDs`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut encoder = EncoderV2::default();
        lib0::write_var_u64(encoder.rest(), 0);
        write_deletes(&mut encoder, &self.set);
        encoder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::block::{BlockKind, ItemBlock};
    use crate::encoding::content::Content;
    use crate::id::Id;
    use crate::random::Random;

    fn client(number: u32) -> ClientId {
        ClientId::new(u64::from(number)).unwrap()
    }

    /// What may wait of one update: blocks of up to three clients, each from some clock on without a gap but for holes.
    fn piece(random: &mut Random) -> Held {
        let mut held = Held::default();
        for number in (0..3).filter(|_| random.below(2) == 0).collect::<Vec<_>>() {
            let mut clock = 1 + random.below(40);
            for at in 0..=random.below(4) {
                let len = 1 + random.below(3);
                let kind = match random.below(4) {
                    0 => BlockKind::Gc,
                    1 if at > 0 => BlockKind::Skip,
                    kind => {
                        let text = "abc"[..len as usize].to_owned();
                        let content = if kind == 2 {
                            Content::Deleted(len)
                        } else {
                            Content::String(text.into(), len)
                        };
                        let origin = Some(Id { client: client(number), clock: clock - 1 });
                        let (right_origin, parent, key) = (None, None, None);
                        BlockKind::Item(ItemBlock { origin, right_origin, parent, key, content })
                    }
                };
                held.push(&Block { client: client(number), clock, len, kind });
                clock += len;
            }
        }
        held
    }

    #[test]
    fn what_waits_is_what_merging_makes_of_it() {
        for seed in 0..3_000 {
            let mut random = Random(seed);
            let mut held = Held::default();
            let mut merged: Option<Vec<u8>> = None;
            for _ in 0..8 {
                let piece = piece(&mut random);
                if piece.is_empty() {
                    continue;
                }
                merged = Some(match merged {
                    Some(merged) => merge_own(&[&merged, &piece.encode()]).unwrap(),
                    None => piece.encode(),
                });
                held.add(piece);
                assert_eq!(Some(held.encode()), merged, "seed {seed}");
            }
            // What goes on is gone, and the rest is as it was.
            held.drop_holes();
            for number in 0..3 {
                let blocks = |held: &Held| {
                    let queue = held.queues().into_iter().find(|(of, _)| *of == client(number));
                    let blocks = queue.into_iter().flat_map(|(_, queue)| queue);
                    blocks.map(|block| format!("{block:?}")).collect::<Vec<_>>()
                };
                let all = blocks(&held);
                let count = random.below(u32::try_from(all.len()).unwrap() + 1) as usize;
                held.remove_first(client(number), count);
                assert_eq!(blocks(&held), all[count..], "seed {seed}");
            }
            let lines = held.lines.values();
            let bytes: usize = lines.flat_map(|line| &line.entries).map(Entry::bytes).sum();
            assert_eq!(held.bytes, bytes, "seed {seed}");
        }
    }

    #[test]
    fn deletions_that_wait_are_what_merging_makes_of_them() {
        for seed in 0..2_000 {
            let mut random = Random(seed);
            let mut held = HeldDeletes::default();
            let mut merged: Option<Vec<u8>> = None;
            for _ in 0..6 {
                let mut set = DeleteSet::default();
                for _ in 0..random.below(4) {
                    set.add(client(random.below(2)), random.below(30), 1 + random.below(4));
                }
                if set.is_empty() {
                    continue;
                }
                let mut alone = HeldDeletes::default();
                alone.add(set.clone());
                merged = Some(match merged {
                    Some(merged) => merge_own(&[&alone.encode(), &merged]).unwrap(),
                    None => alone.encode(),
                });
                held.add(set);
                assert_eq!(Some(held.encode()), merged, "seed {seed}");
            }
            let (below, mut whole) = (random.below(34), held.set.clone());
            let mut known = held.take_known(|_| below);
            assert!(known.iter().flat_map(|(_, ranges)| ranges).all(|range| range.end() <= below));
            assert!(held.set.iter().flat_map(|(_, ranges)| ranges).all(|r| r.clock >= below));
            known.extend(&held.set);
            known.normalize();
            whole.normalize();
            assert_eq!(known, whole, "seed {seed}");
        }
    }
}
