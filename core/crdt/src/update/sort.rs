//! `Array.prototype.sort` as V8 does it, comparison by comparison.
//!
//! Yjs brings the updates that it merges in order by a comparison that is not consistent: of an item and a collected
//! block with the same id each comes before the other. Which of them is taken then depends on who is compared with
//! whom, so that is followed here. The algorithm is Tim Peters' (`listsort.txt` of CPython): runs that ascend already,
//! or were made so by inserting, are merged, the shorter one set aside; where one side wins often, by galloping.

use std::cmp::Ordering;

/// So often one side must win before it is galloped.
const GALLOP: usize = 7;
/// Arrays shorter than this are one run.
const SHORT: usize = 64;

/// Sorts `array`. `before` says whether the first comes before the second, and may say so of both.
pub(super) fn sort<T: Copy>(array: &mut [T], before: impl Fn(T, T) -> bool) {
    let mut merging = Merging { before, runs: Vec::new(), gallop: GALLOP };
    let least = shortest_run(array.len());
    let mut start = 0;
    while start < array.len() {
        let rest = &mut array[start..];
        let wanted = least.min(rest.len());
        let mut len = merging.make_run(rest);
        if len < wanted {
            merging.insert_each(&mut rest[..wanted], len);
            len = wanted;
        }
        merging.runs.push(Run { start, len });
        merging.collapse(array);
        start += len;
    }
    merging.collapse_all(array);
}

/// Runs shorter than this are lengthened: such that there are as many as a power of two, or a few less.
fn shortest_run(mut len: usize) -> usize {
    let mut odd = 0;
    while len >= SHORT {
        odd |= len & 1;
        len >>= 1;
    }
    len + odd
}

#[derive(Debug, Clone, Copy)]
struct Run {
    start: usize,
    len: usize,
}

struct Merging<B> {
    before: B,
    /// Those not merged yet, from the left; each longer than the two to its right together.
    runs: Vec<Run>,
    /// So often a side must win now; less where galloping pays.
    gallop: usize,
}

impl<B> Merging<B> {
    /// Finds the run at the start, and turns it around if it descends. Returns its length.
    fn make_run<T: Copy>(&self, array: &mut [T]) -> usize
    where
        B: Fn(T, T) -> bool,
    {
        if array.len() < 2 {
            return array.len();
        }
        let descends = (self.before)(array[1], array[0]);
        let mut len = 2;
        while len < array.len() && (self.before)(array[len], array[len - 1]) == descends {
            len += 1;
        }
        if descends {
            array[..len].reverse();
        }
        len
    }

    /// Inserts what follows the first `sorted` by halving.
    fn insert_each<T: Copy>(&self, array: &mut [T], sorted: usize)
    where
        B: Fn(T, T) -> bool,
    {
        for at in sorted..array.len() {
            let to = array[..at].halve(|other| !(self.before)(array[at], other));
            array[to..=at].rotate_right(1);
        }
    }

    fn collapse<T: Copy>(&mut self, array: &mut [T])
    where
        B: Fn(T, T) -> bool,
    {
        while self.runs.len() > 1 {
            let at = self.runs.len() - 2;
            let len = |at: usize| self.runs[at].len;
            let is_short = |at: usize| at > 0 && len(at - 1) <= len(at) + len(at + 1);
            let next = if is_short(at) || (at > 1 && is_short(at - 1)) {
                at - usize::from(len(at - 1) < len(at + 1))
            } else if len(at) <= len(at + 1) {
                at
            } else {
                break;
            };
            self.merge(array, next);
        }
    }

    fn collapse_all<T: Copy>(&mut self, array: &mut [T])
    where
        B: Fn(T, T) -> bool,
    {
        while self.runs.len() > 1 {
            let at = self.runs.len() - 2;
            let left = usize::from(at > 0 && self.runs[at - 1].len < self.runs[at + 1].len);
            self.merge(array, at - left);
        }
    }

    /// Merges a run with the one to its right.
    fn merge<T: Copy>(&mut self, array: &mut [T], at: usize)
    where
        B: Fn(T, T) -> bool,
    {
        let (left, right) = (self.runs[at], self.runs.remove(at + 1));
        self.runs[at].len = left.len + right.len;
        // What is in its place already stays there.
        let array = &mut array[left.start..right.start + right.len];
        let skip = self.right_of(&array[..left.len], array[left.len], 0);
        let array = &mut array[skip..];
        let split = left.len - skip;
        if split == 0 {
            return;
        }
        let len = self.left_of(&array[split..], array[split - 1], right.len - 1);
        let array = &mut array[..split + len];
        match split.cmp(&len) {
            _ if len == 0 => {}
            Ordering::Greater => self.merge_from_right(array, split),
            _ => self.merge_from_left(array, split),
        }
    }

    /// Merges with the left run set aside.
    fn merge_from_left<T: Copy>(&mut self, array: &mut [T], split: usize)
    where
        B: Fn(T, T) -> bool,
    {
        let aside = array[..split].to_vec();
        let mut left = &aside[..];
        let (mut to, mut right) = (1, split + 1);
        array[0] = array[split];
        // The last one of the left is known to be the last of all.
        'merged: {
            if right == array.len() || left.len() == 1 {
                break 'merged;
            }
            loop {
                let (mut lefts, mut rights) = (0, 0);
                while lefts < self.gallop && rights < self.gallop {
                    if (self.before)(array[right], left[0]) {
                        array[to] = array[right];
                        (right, lefts, rights) = (right + 1, 0, rights + 1);
                        to += 1;
                        if right == array.len() {
                            break 'merged;
                        }
                    } else {
                        array[to] = left[0];
                        left = &left[1..];
                        (lefts, rights) = (lefts + 1, 0);
                        to += 1;
                        if left.len() == 1 {
                            break 'merged;
                        }
                    }
                }
                self.gallop += 1;
                let mut first = true;
                while first || lefts >= GALLOP || rights >= GALLOP {
                    first = false;
                    self.gallop = self.gallop.saturating_sub(1).max(1);
                    lefts = self.right_of(left, array[right], 0);
                    array[to..to + lefts].copy_from_slice(&left[..lefts]);
                    left = &left[lefts..];
                    to += lefts;
                    if lefts > 0 && left.len() <= 1 {
                        break 'merged;
                    }
                    array[to] = array[right];
                    (to, right) = (to + 1, right + 1);
                    if right == array.len() {
                        break 'merged;
                    }
                    rights = self.left_of(&array[right..], left[0], 0);
                    array.copy_within(right..right + rights, to);
                    (to, right) = (to + rights, right + rights);
                    if rights > 0 && right == array.len() {
                        break 'merged;
                    }
                    array[to] = left[0];
                    left = &left[1..];
                    to += 1;
                    if left.len() == 1 {
                        break 'merged;
                    }
                }
                self.gallop += 1;
            }
        }
        let rest = right..array.len();
        array.copy_within(rest.clone(), to);
        let to = to + rest.len();
        array[to..].copy_from_slice(left);
    }

    /// Merges with the right run set aside, from the end.
    fn merge_from_right<T: Copy>(&mut self, array: &mut [T], split: usize)
    where
        B: Fn(T, T) -> bool,
    {
        let aside = array[split..].to_vec();
        let mut right = &aside[..];
        // Ends, beyond the last.
        let (mut to, mut left) = (array.len() - 1, split - 1);
        array[to] = array[left];
        // The first one of the right is known to be the first of all.
        'merged: {
            if left == 0 || right.len() == 1 {
                break 'merged;
            }
            loop {
                let (mut lefts, mut rights) = (0, 0);
                while lefts < self.gallop && rights < self.gallop {
                    to -= 1;
                    if (self.before)(right[right.len() - 1], array[left - 1]) {
                        left -= 1;
                        array[to] = array[left];
                        (lefts, rights) = (lefts + 1, 0);
                        if left == 0 {
                            break 'merged;
                        }
                    } else {
                        array[to] = right[right.len() - 1];
                        right = &right[..right.len() - 1];
                        (lefts, rights) = (0, rights + 1);
                        if right.len() == 1 {
                            break 'merged;
                        }
                    }
                }
                self.gallop += 1;
                let mut first = true;
                while first || lefts >= GALLOP || rights >= GALLOP {
                    first = false;
                    self.gallop = self.gallop.saturating_sub(1).max(1);
                    let keep = self.right_of(&array[..left], right[right.len() - 1], left - 1);
                    lefts = left - keep;
                    to -= lefts;
                    array.copy_within(keep..left, to);
                    left = keep;
                    if lefts > 0 && left == 0 {
                        break 'merged;
                    }
                    to -= 1;
                    array[to] = right[right.len() - 1];
                    right = &right[..right.len() - 1];
                    if right.len() == 1 {
                        break 'merged;
                    }
                    let keep = self.left_of(right, array[left - 1], right.len() - 1);
                    rights = right.len() - keep;
                    to -= rights;
                    array[to..to + rights].copy_from_slice(&right[keep..]);
                    right = &right[..keep];
                    if rights > 0 && right.len() <= 1 {
                        break 'merged;
                    }
                    to -= 1;
                    left -= 1;
                    array[to] = array[left];
                    if left == 0 {
                        break 'merged;
                    }
                }
                self.gallop += 1;
            }
        }
        array.copy_within(..left, to - left);
        array[..to - left].copy_from_slice(right);
    }

    /// Returns where `key` belongs in a run, left of what equals it, looking from `hint` in growing steps.
    fn left_of<T: Copy>(&self, run: &[T], key: T, hint: usize) -> usize
    where
        B: Fn(T, T) -> bool,
    {
        gallop(run, hint, |other| (self.before)(other, key))
    }

    /// Returns where `key` belongs in a run, right of what equals it, looking from `hint` in growing steps.
    fn right_of<T: Copy>(&self, run: &[T], key: T, hint: usize) -> usize
    where
        B: Fn(T, T) -> bool,
    {
        gallop(run, hint, |other| !(self.before)(key, other))
    }
}

/// Returns how many of the run, from its start, are `low`: from `hint` in steps of 1, 3, 7 and so on, then by halving.
fn gallop<T: Copy>(run: &[T], hint: usize, low: impl Fn(T) -> bool) -> usize {
    let (mut near, mut far) = (0, 1);
    let (from, to) = if low(run[hint]) {
        let most = run.len() - hint;
        while far < most && low(run[hint + far]) {
            (near, far) = (far, far * 2 + 1);
        }
        (hint + near + 1, hint + far.min(most))
    } else {
        let most = hint + 1;
        while far < most && !low(run[hint - far]) {
            (near, far) = (far, far * 2 + 1);
        }
        ((hint + 1) - far.min(most), hint - near)
    };
    from + run[from..to].halve(low)
}

trait Halve<T> {
    /// Returns how many are `low`, from the start, looking in the middle of what is left.
    fn halve(&self, low: impl Fn(T) -> bool) -> usize;
}

impl<T: Copy> Halve<T> for [T] {
    fn halve(&self, low: impl Fn(T) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if low(self[middle]) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }
}

#[cfg(test)]
mod tests {
    use super::sort;

    /// Hashes (32-bit FNV-1a of the positions, two bytes each) of what `Array.prototype.sort` of Node 20 made of the
    /// arrays below, with `(a, b) => a.key !== b.key ? a.key - b.key : a.kind === b.kind ? 0 : -1`.
    const SORTED: [u32; 40] = [
        0x0058_1a69,
        0xce38_9296,
        0x114d_ed72,
        0x893b_2cf7,
        0x628b_fe7d,
        0xf525_cdfe,
        0xe24f_5032,
        0x80d7_36f7,
        0x6efc_e619,
        0xba21_bdf6,
        0xb58e_cbea,
        0x87da_f333,
        0x608c_1229,
        0xca91_da50,
        0xc38f_a8fd,
        0xd80d_3cdc,
        0x7730_1ab1,
        0x2593_7aac,
        0x91d9_6eb5,
        0x07ea_d414,
        0xf57c_48f1,
        0xb517_4b7c,
        0x685c_79dd,
        0x3950_1f80,
        0x5722_9d45,
        0x5ce4_1d8c,
        0x57c6_d325,
        0xec51_0e50,
        0x22fc_7a41,
        0xaef0_d9a4,
        0xfcae_6fdd,
        0x4c36_4430,
        0x7cea_b05e,
        0x4cef_d21e,
        0x25d7_7b9d,
        0x8a70_9770,
        0x52ca_6a82,
        0xbf6b_5386,
        0x76ce_f17d,
        0xbbc7_59d0,
    ];

    #[test]
    fn it_sorts_as_v8_does_where_the_comparison_is_not_consistent() {
        for (seed, expected) in (1_u32..).zip(SORTED) {
            let mut state = seed;
            let mut next = |bound: u32| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) % bound
            };
            let len = 2 + next(if seed.is_multiple_of(4) { 3000 } else { 400 });
            let keys = 1 + next(len);
            let way = next(3);
            let mut array: Vec<(u32, u32, bool)> = (0..len)
                .map(|at| {
                    let key = match way {
                        0 => next(keys),
                        1 => at * keys / len + if next(20) == 0 { next(50) } else { 0 },
                        _ => at % 97 * keys / 97,
                    };
                    (at, key, next(3) == 0)
                })
                .collect();
            sort(&mut array, |(_, left, left_kind), (_, right, right_kind)| {
                left < right || (left == right && left_kind != right_kind)
            });
            let bytes = array.iter().flat_map(|(at, ..)| [at & 255, at >> 8]);
            let hash =
                bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ byte).wrapping_mul(0x0100_0193));
            assert_eq!(hash, expected, "array {seed} of {len}");
        }
    }
}
