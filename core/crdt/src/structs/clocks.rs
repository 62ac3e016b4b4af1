//! One client's items in the order of their clocks: from an id to its item in O(log n), cuts in the middle in O(block).

/// Entries a block holds before it is halved.
const BLOCK: usize = if cfg!(test) { 4 } else { 128 };

/// A clock and the handle of the item that starts there.
pub(crate) type Entry = (u32, u32);

/// A list in blocks, sorted by clock. No block is empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clocks {
    blocks: Vec<Vec<Entry>>,
    /// The first clock of each block, so that finding the block touches none.
    starts: Vec<u32>,
    /// Where somebody looked or changed something last, if that still stands: people edit where they edited.
    hint: Place,
}

/// A place in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    block: u32,
    slot: u32,
}

impl Place {
    #[expect(clippy::cast_possible_truncation, reason = "there are fewer items than 2^32")]
    fn new(block: usize, slot: usize) -> Self {
        Self { block: block as u32, slot: slot as u32 }
    }

    #[inline]
    fn block(self) -> usize {
        self.block as usize
    }

    #[inline]
    fn slot(self) -> usize {
        self.slot as usize
    }
}

impl Clocks {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// Finds the last item that starts at or before a clock. The list is not empty and starts at or before it.
    #[inline]
    pub(crate) fn find(&self, clock: u32) -> Place {
        if let Some(block) = self.blocks.get(self.hint.block())
            && let Some(&[here, next]) = block.get(self.hint.slot()..self.hint.slot() + 2)
            && here.0 <= clock
            && clock < next.0
        {
            return self.hint;
        }
        self.search(clock)
    }

    /// As [`Clocks::find`], where the item is likely to be at a place or a little further on. The place may be stale.
    pub(crate) fn find_from(&self, place: Place, clock: u32) -> Place {
        /// A search of a block takes as many comparisons.
        const NEAR: usize = 8;
        if let Some(entries) =
            self.blocks.get(place.block()).and_then(|block| block.get(place.slot()..))
            && entries.first().is_some_and(|entry| entry.0 <= clock)
        {
            let ahead = entries[1..].iter().take(NEAR).position(|entry| clock < entry.0);
            if let Some(ahead) = ahead {
                return Place::new(place.block(), place.slot() + ahead);
            }
        }
        self.search(clock)
    }

    fn search(&self, clock: u32) -> Place {
        // Most look-ups are near the end, where people type.
        let last = self.starts.len() - 1;
        let block = if self.starts[last] <= clock {
            last
        } else {
            self.starts.partition_point(|&start| start <= clock) - 1
        };
        let entries = &self.blocks[block];
        let slot = if entries[entries.len() - 1].0 <= clock {
            entries.len() - 1
        } else {
            entries.partition_point(|entry| entry.0 <= clock) - 1
        };
        Place::new(block, slot)
    }

    /// Makes look-ups try a place first.
    #[inline]
    pub(crate) fn remember(&mut self, place: Place) {
        self.hint = place;
    }

    /// The handle at a place.
    #[inline]
    pub(crate) fn get(&self, place: Place) -> u32 {
        self.blocks[place.block()][place.slot()].1
    }

    /// The clock at which the item at a place starts.
    #[inline]
    pub(crate) fn start(&self, place: Place) -> u32 {
        self.blocks[place.block()][place.slot()].0
    }

    pub(crate) fn first(&self) -> Option<Place> {
        (!self.is_empty()).then_some(Place { block: 0, slot: 0 })
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<Place> {
        let block = self.blocks.len().checked_sub(1)?;
        Some(Place::new(block, self.blocks[block].len() - 1))
    }

    #[inline]
    pub(crate) fn next(&self, place: Place) -> Option<Place> {
        if place.slot() + 1 < self.blocks[place.block()].len() {
            Some(Place { slot: place.slot + 1, ..place })
        } else if place.block() + 1 < self.blocks.len() {
            Some(Place { block: place.block + 1, slot: 0 })
        } else {
            None
        }
    }

    #[inline]
    pub(crate) fn previous(&self, place: Place) -> Option<Place> {
        if place.slot > 0 {
            Some(Place { slot: place.slot - 1, ..place })
        } else {
            let block = place.block().checked_sub(1)?;
            Some(Place::new(block, self.blocks[block].len() - 1))
        }
    }

    /// Appends an item that starts after all others.
    #[inline]
    pub(crate) fn push(&mut self, clock: u32, handle: u32) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push((clock, handle)),
            last => {
                // Who fills one block fills another; of many who insert one thing each, none takes more than that.
                let is_first = last.is_none();
                if is_first {
                    self.blocks.reserve_exact(1);
                    self.starts.reserve_exact(1);
                }
                let mut block = Vec::with_capacity(if is_first { 1 } else { BLOCK });
                block.push((clock, handle));
                self.blocks.push(block);
                self.starts.push(clock);
            }
        }
    }

    /// Inserts an item right after a place.
    pub(crate) fn insert_after(&mut self, place: Place, clock: u32, handle: u32) {
        self.hint = Place { slot: place.slot + 1, ..place };
        let block = &mut self.blocks[place.block()];
        block.insert(place.slot() + 1, (clock, handle));
        if block.len() > BLOCK {
            let tail = block.split_off(block.len() / 2);
            self.starts.insert(place.block() + 1, tail[0].0);
            self.blocks.insert(place.block() + 1, tail);
        }
    }

    /// Takes over that the item which started at a clock now starts at another, between its neighbors as before.
    pub(crate) fn restart(&mut self, old: u32, new: u32) {
        self.hint = self.find(old);
        let (block, slot) = (self.hint.block(), self.hint.slot());
        self.blocks[block][slot].0 = new;
        if slot == 0 {
            self.starts[block] = new;
        }
    }

    /// Removes the item at a place.
    pub(crate) fn remove(&mut self, place: Place) {
        let block = &mut self.blocks[place.block()];
        block.remove(place.slot());
        if block.is_empty() {
            self.blocks.remove(place.block());
            self.starts.remove(place.block());
        } else if place.slot == 0 {
            self.starts[place.block()] = block[0].0;
        }
    }

    /// Keeps those items from a place on of which it is said so.
    pub(crate) fn retain_from(&mut self, place: Place, mut keep: impl FnMut(u32) -> bool) {
        let mut skip = place.slot();
        for block in &mut self.blocks[place.block()..] {
            block.retain(|&(_, handle)| {
                let is_before = skip > 0;
                skip = skip.saturating_sub(1);
                is_before || keep(handle)
            });
        }
        self.blocks.retain(|block| !block.is_empty());
        self.starts.clear();
        self.starts.extend(self.blocks.iter().map(|block| block[0].0));
    }

    /// The entries from a place on, block by block.
    pub(crate) fn slices_from(&self, place: Place) -> impl Iterator<Item = &[Entry]> {
        let rest = self.blocks[place.block() + 1..].iter().map(Vec::as_slice);
        std::iter::once(&self.blocks[place.block()][place.slot()..]).chain(rest)
    }

    /// The items from a place on.
    pub(crate) fn iter_from(&self, place: Option<Place>) -> impl Iterator<Item = u32> {
        let start = place.unwrap_or(Place::new(self.blocks.len(), 0));
        self.blocks.iter().enumerate().skip(start.block()).flat_map(move |(at, block)| {
            let skip = if at == start.block() { start.slot() } else { 0 };
            block[skip..].iter().map(|entry| entry.1)
        })
    }

    /// How many items there are from a place on.
    pub(crate) fn count_from(&self, place: Place) -> usize {
        self.blocks[place.block()..].iter().map(Vec::len).sum::<usize>() - place.slot()
    }

    /// The entries, for checking.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.blocks.iter().flatten().copied()
    }
}
