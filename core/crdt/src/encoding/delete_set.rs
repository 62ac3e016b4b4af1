//! Which units are deleted: per client, ranges of clocks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::id::ClientId;

/// Ranges of deleted units. Ranges are kept as they came until [`DeleteSet::normalize`] sorts and joins them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DeleteSet(BTreeMap<ClientId, Vec<Range>>);

/// `len` units from `clock` on; `clock + len` fits 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) clock: u32,
    pub(crate) len: u32,
}

impl Range {
    pub(crate) fn end(self) -> u32 {
        self.clock + self.len
    }
}

impl DeleteSet {
    pub(crate) fn add(&mut self, client: ClientId, clock: u32, len: u32) {
        self.0.entry(client).or_default().push(Range { clock, len });
    }

    /// Adds ranges of one client.
    pub(crate) fn add_all(&mut self, client: ClientId, ranges: Vec<Range>) {
        if ranges.is_empty() {
            return;
        }
        match self.0.entry(client) {
            Entry::Vacant(entry) => {
                entry.insert(ranges);
            }
            Entry::Occupied(mut entry) => entry.get_mut().extend(ranges),
        }
    }

    /// Whether a unit is in it. The ranges are sorted and joined.
    pub(crate) fn contains(&self, client: ClientId, clock: u32) -> bool {
        self.ranges_from(client, clock).first().is_some_and(|range| range.clock <= clock)
    }

    /// The ranges of a client. They are sorted and joined.
    pub(crate) fn ranges(&self, client: ClientId) -> &[Range] {
        self.0.get(&client).map_or(&[], Vec::as_slice)
    }

    /// The ranges of a client that end after a clock. They are sorted and joined.
    pub(crate) fn ranges_from(&self, client: ClientId, clock: u32) -> &[Range] {
        let ranges = self.ranges(client);
        &ranges[ranges.partition_point(|range| range.end() <= clock)..]
    }

    /// Whether all units from `clock` up to `end` are in it. The ranges are sorted and joined.
    pub(crate) fn covers(&self, client: ClientId, clock: u32, end: u32) -> bool {
        clock >= end
            || self
                .ranges_from(client, clock)
                .first()
                .is_some_and(|range| range.clock <= clock && range.end() >= end)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The clients, highest first as the format has them, and their ranges.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (ClientId, &[Range])> {
        self.0.iter().rev().map(|(&client, ranges)| (client, ranges.as_slice()))
    }

    /// Sorts the ranges and joins those that touch or overlap.
    pub(crate) fn normalize(&mut self) {
        for ranges in self.0.values_mut() {
            normalize(ranges);
        }
    }

    /// Sorts and joins only where ranges are out of order, as the second format cannot write those.
    pub(crate) fn make_writable(&mut self) {
        for ranges in self.0.values_mut() {
            if !ranges.is_sorted_by(|left, right| left.end() <= right.clock) {
                normalize(ranges);
            }
        }
    }

    /// Adds a range where ranges are sorted and joined, and leaves them so.
    pub(crate) fn insert(&mut self, client: ClientId, range: Range) {
        let ranges = self.0.entry(client).or_default();
        let from = ranges.partition_point(|known| known.end() < range.clock);
        let to = ranges.partition_point(|known| known.clock <= range.end());
        let touched = ranges[from..to.max(from)].iter().chain([&range]);
        let clock = touched.clone().map(|range| range.clock).min().unwrap_or(range.clock);
        let end = touched.map(|range| range.end()).max().unwrap_or(range.end());
        ranges.splice(from..to.max(from), [Range { clock, len: end - clock }]);
    }

    /// Takes out what lies below a clock of each client. The ranges are sorted.
    pub(crate) fn take_below(&mut self, clock: impl Fn(ClientId) -> u32) -> Self {
        let mut taken = Self::default();
        self.0.retain(|&client, ranges| {
            let clock = clock(client);
            let count = ranges.partition_point(|range| range.clock < clock);
            if count == 0 {
                return true;
            }
            let mut below: Vec<Range> = ranges.drain(..count).collect();
            if let Some(last) = below.last_mut()
                && last.end() > clock
            {
                ranges.insert(0, Range { clock, len: last.end() - clock });
                last.len = clock - last.clock;
            }
            taken.add_all(client, below);
            !ranges.is_empty()
        });
        taken
    }

    /// How many ranges there are.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Adds all ranges of another set.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (&client, ranges) in &other.0 {
            self.0.entry(client).or_default().extend_from_slice(ranges);
        }
    }
}

/// Whether a unit is in sorted ranges, and the first clock behind it for which that is otherwise (at most `u32::MAX`).
/// Ranges that end before it are dropped, so that a walk with rising clocks looks at each range once.
pub(crate) fn stretch(ranges: &mut &[Range], clock: u32) -> (bool, u32) {
    while let Some((first, rest)) = ranges.split_first()
        && first.end() <= clock
    {
        *ranges = rest;
    }
    match ranges.first() {
        Some(range) if range.clock <= clock => (true, range.end()),
        Some(range) => (false, range.clock),
        None => (false, u32::MAX),
    }
}

/// Sorts ranges and joins those that touch or overlap.
pub(crate) fn normalize(ranges: &mut Vec<Range>) {
    if ranges.len() < 2 {
        return;
    }
    ranges.sort_by_key(|range| range.clock);
    let mut last = 0;
    for at in 1..ranges.len() {
        let right = ranges[at];
        let left = &mut ranges[last];
        if left.end() >= right.clock {
            left.len = left.len.max(right.end() - left.clock);
        } else {
            last += 1;
            ranges[last] = right;
        }
    }
    ranges.truncate(last + 1);
}
