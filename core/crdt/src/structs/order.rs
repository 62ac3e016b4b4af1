//! The order of a text or list as a B-tree over item handles: from a position to its item and back in O(log n).
//!
//! ```text
//!                 inner [ child, visible length | child, visible length | ... ]
//!                         |                       |
//!        leaf [ item, visible length | ... ]   leaf [ ... ]       each leaf and inner node knows its parent,
//!                                                                 each item knows its leaf
//! ```
//!
//! All items of the list are in it, deleted ones with length 0. All trees of a document share one arena of nodes, so a
//! handle is all there is to a pointer.
//!
//! What makes it fast is that people type where they typed. A cursor remembers the leaf of the last edit and how much
//! lies before it, and a finger the item in that leaf, so that a keystroke searches nothing. How the leaf's length has
//! changed since is held in the order, too, and told to the nodes above only when the cursor goes elsewhere: until
//! then their sums lack it, which everything that reads them takes into account.
//!
//! Elsewhere what costs is the processor guessing wrong and memory that is not in its caches: a large document edited
//! at a random place costs five times what a small one does. So a node is searched for a handle all at once, without a
//! branch, and is a few lines of the cache. Leaves of 16 were slower in small documents and no faster in large ones.

use crate::structs::item::{Items, NIL};

const LEAF: usize = if cfg!(test) { 4 } else { 32 };
/// Items of a leaf when the tree is built.
const BUILT: usize = LEAF - LEAF / 8;
const INNER: usize = if cfg!(test) { 4 } else { 16 };

#[derive(Debug, Clone)]
struct Leaf {
    parent: u32,
    count: usize,
    sum: u32,
    /// `NIL` behind the last one, here and among the children of inner nodes.
    items: [u32; LEAF],
    lens: [u32; LEAF],
}

#[derive(Debug, Clone)]
struct Inner {
    parent: u32,
    count: usize,
    /// Whether the children are leaves.
    above_leaves: bool,
    children: [u32; INNER],
    sums: [u32; INNER],
}

impl Leaf {
    /// From a slot with so much before it, finds the one that holds an offset in the leaf, and what is before that.
    #[inline]
    fn find(&self, mut slot: usize, mut before: u32, offset: u32) -> (usize, u32) {
        while slot + 1 < self.count && offset - before >= self.lens[slot] {
            before += self.lens[slot];
            slot += 1;
        }
        (slot, before)
    }
}

/// Where a handle stands. All are looked at: leaving early is guessed wrong by the processor nearly always, which costs
/// more than the comparisons, several at once, do.
#[inline]
fn place_of<const N: usize>(handles: &[u32; N], handle: u32) -> usize {
    let mut place = 0;
    for (at, &known) in (0..u32::MAX).zip(handles) {
        place |= if known == handle { at } else { 0 };
    }
    place as usize
}

/// The nodes of all orders of a document.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes {
    leaves: Vec<Leaf>,
    inners: Vec<Inner>,
    free_leaves: Vec<u32>,
    free_inners: Vec<u32>,
}

/// One list's tree.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    root: u32,
    root_is_leaf: bool,
    /// Visible length of the list.
    len: u32,
    /// The leaf of the last edit, or `NIL`.
    cursor: u32,
    /// Visible length before that leaf.
    cursor_start: u32,
    /// A place in that leaf, and the visible length before it in the leaf.
    finger: usize,
    finger_start: u32,
    /// What that leaf's length has changed by (wrapping) since the nodes above it were told.
    held: u32,
    /// Whether the tree is yet to be built: until then nothing is kept in it.
    deferred: bool,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            root: NIL,
            root_is_leaf: true,
            len: 0,
            cursor: NIL,
            cursor_start: 0,
            finger: 0,
            finger_start: 0,
            held: 0,
            deferred: false,
        }
    }
}

impl Order {
    /// Visible length of the list.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Whether the tree is yet to be built.
    #[inline]
    pub(crate) fn is_deferred(&self) -> bool {
        self.deferred
    }

    /// Puts the building of an empty tree off until all its items are there; returns whether it was begun so just now.
    pub(crate) fn defer(&mut self) -> bool {
        let is_new = self.root == NIL && !self.deferred;
        self.deferred |= is_new;
        is_new
    }

    /// Takes the finger back to the start of its leaf if something changes before it.
    #[inline]
    fn touch(&mut self, leaf: u32, slot: usize) {
        if leaf == self.cursor && slot < self.finger {
            (self.finger, self.finger_start) = (0, 0);
        }
    }
}

impl Nodes {
    /// Inserts an item behind another, or at the front (`after` is `NIL`).
    #[inline]
    pub(crate) fn insert_after(
        &mut self,
        order: &mut Order,
        items: &mut Items,
        after: u32,
        handle: u32,
    ) {
        if !order.deferred {
            self.insert_now(order, items, after, handle);
        }
    }

    fn insert_now(&mut self, order: &mut Order, items: &mut Items, after: u32, handle: u32) {
        if order.root == NIL {
            let leaf = self.add_leaf(NIL);
            order.root = leaf;
            order.root_is_leaf = true;
        }
        let (mut leaf, mut slot) = if after == NIL {
            (self.first_leaf(order), 0)
        } else {
            let leaf = items[after].leaf;
            (leaf, self.slot(order, leaf, after) + 1)
        };
        let count = self.leaves[leaf as usize].count;
        if count == LEAF {
            // At the end of a leaf the new one starts empty: what is appended fills leaves to the brim.
            let keep = if slot == LEAF { LEAF } else { LEAF / 2 };
            let right = self.split_leaf(order, items, leaf, keep);
            if slot >= keep && keep < LEAF || slot == LEAF {
                leaf = right;
                slot -= keep;
            }
        }
        order.touch(leaf, slot.saturating_sub(1));
        let node = &mut self.leaves[leaf as usize];
        node.items.copy_within(slot..node.count, slot + 1);
        node.lens.copy_within(slot..node.count, slot + 1);
        node.items[slot] = handle;
        node.lens[slot] = 0;
        node.count += 1;
        items[handle].leaf = leaf;
        let visible = items[handle].visible();
        if visible > 0 {
            self.leaves[leaf as usize].lens[slot] = visible;
            self.add(order, leaf, visible);
        }
    }

    /// Takes an item out.
    pub(crate) fn remove(&mut self, order: &mut Order, items: &mut Items, handle: u32) {
        if order.deferred {
            return;
        }
        let leaf = std::mem::replace(&mut items[handle].leaf, NIL);
        let slot = self.slot(order, leaf, handle);
        order.touch(leaf, slot.saturating_sub(1));
        let node = &mut self.leaves[leaf as usize];
        let visible = node.lens[slot];
        node.items.copy_within(slot + 1..node.count, slot);
        node.lens.copy_within(slot + 1..node.count, slot);
        node.count -= 1;
        node.items[node.count] = NIL;
        let empty = node.count == 0;
        if visible > 0 {
            self.add(order, leaf, visible.wrapping_neg());
        }
        if empty {
            self.remove_leaf(order, leaf);
        }
    }

    /// Takes over an item's visible length after it changed.
    #[inline]
    pub(crate) fn update(&mut self, order: &mut Order, items: &Items, handle: u32) {
        if order.deferred {
            return;
        }
        let leaf = items[handle].leaf;
        let slot = self.slot(order, leaf, handle);
        order.touch(leaf, slot);
        let visible = items[handle].visible();
        let len = &mut self.leaves[leaf as usize].lens[slot];
        let change = visible.wrapping_sub(*len);
        *len = visible;
        if change != 0 {
            self.add(order, leaf, change);
        }
    }

    /// Finds the item that holds a visible position below the length, and the offset in it; remembers where.
    #[inline]
    pub(crate) fn seek(&mut self, order: &mut Order, position: u32) -> (u32, u32) {
        let is_known = order.cursor != NIL
            && position >= order.cursor_start
            && position - order.cursor_start < self.leaves[order.cursor as usize].sum;
        if !is_known {
            self.tell(order);
            (order.cursor, order.cursor_start) = self.descend(order, position);
            (order.finger, order.finger_start) = (0, 0);
        }
        let offset = position - order.cursor_start;
        if offset < order.finger_start {
            (order.finger, order.finger_start) = (0, 0);
        }
        let leaf = &self.leaves[order.cursor as usize];
        (order.finger, order.finger_start) = leaf.find(order.finger, order.finger_start, offset);
        (leaf.items[order.finger], offset - order.finger_start)
    }

    /// Lengthens (wrapping: or shortens) the item that was sought last.
    #[inline]
    pub(crate) fn resize_sought(&mut self, order: &mut Order, change: u32) {
        let leaf = &mut self.leaves[order.cursor as usize];
        let len = &mut leaf.lens[order.finger];
        *len = len.wrapping_add(change);
        leaf.sum = leaf.sum.wrapping_add(change);
        order.len = order.len.wrapping_add(change);
        order.held = order.held.wrapping_add(change);
    }

    /// As [`Nodes::seek`], for readers.
    pub(crate) fn find(&self, order: &Order, position: u32) -> (u32, u32) {
        let (leaf, start) = self.descend(order, position);
        let leaf = &self.leaves[leaf as usize];
        let (slot, before) = leaf.find(0, 0, position - start);
        (leaf.items[slot], position - start - before)
    }

    /// Returns the visible length before an item of an order.
    pub(crate) fn position(&self, order: &Order, items: &Items, handle: u32) -> u32 {
        let mut child = items[handle].leaf;
        let slot = self.slot(order, child, handle);
        let mut position: u32 = self.leaves[child as usize].lens[..slot].iter().sum();
        let mut parent = self.leaves[child as usize].parent;
        // Climbs beside the cursor's path, to see which is left of which where they meet.
        let mut beside = if order.held == 0 { NIL } else { order.cursor };
        let mut above = if beside == NIL { NIL } else { self.leaves[beside as usize].parent };
        while parent != NIL {
            let inner = &self.inners[parent as usize];
            let at = place_of(&inner.children, child);
            position = position.wrapping_add(inner.sums[..at].iter().sum());
            if above == parent && beside != child && place_of(&inner.children, beside) < at {
                position = position.wrapping_add(order.held);
            }
            if beside != NIL && above != NIL {
                (beside, above) = (above, self.inners[above as usize].parent);
            }
            child = parent;
            parent = inner.parent;
        }
        position
    }

    /// Whether an item stands before another one of the same order.
    pub(crate) fn precedes(&self, items: &Items, left: u32, right: u32) -> bool {
        let (mut first, mut second) = (items[left].leaf, items[right].leaf);
        if first == second {
            let leaf = &self.leaves[first as usize];
            return place_of(&leaf.items, left) < place_of(&leaf.items, right);
        }
        let above = |leaf: u32| self.leaves[leaf as usize].parent;
        let (mut above_first, mut above_second) = (above(first), above(second));
        while above_first != above_second {
            (first, second) = (above_first, above_second);
            let above = |inner: u32| self.inners[inner as usize].parent;
            (above_first, above_second) = (above(first), above(second));
        }
        let children = &self.inners[above_first as usize].children;
        place_of(children, first) < place_of(children, second)
    }

    /// Makes room for the trees that so many items in so many lists are built into.
    pub(crate) fn reserve(&mut self, items: usize, lists: usize) {
        self.leaves.reserve_exact(items / BUILT + lists);
    }

    /// Builds the tree of an order that was put off, from its first item on, with some room in each leaf.
    pub(crate) fn build(&mut self, order: &mut Order, items: &mut Items, first: u32) {
        *order = Order::default();
        let mut level: Vec<(u32, u32)> = Vec::new();
        let mut at = first;
        while at != NIL {
            let number = self.add_leaf(NIL);
            let leaf = &mut self.leaves[number as usize];
            while at != NIL && leaf.count < BUILT {
                let item = &mut items[at];
                item.leaf = number;
                leaf.items[leaf.count] = at;
                leaf.lens[leaf.count] = item.visible();
                leaf.sum += item.visible();
                leaf.count += 1;
                at = item.right;
            }
            order.len += leaf.sum;
            level.push((number, leaf.sum));
        }
        order.root_is_leaf = level.len() < 2;
        let mut are_leaves = true;
        while level.len() > 1 {
            let mut above = Vec::with_capacity(level.len().div_ceil(INNER));
            for children in level.chunks(INNER) {
                let number = self.add_inner(NIL, are_leaves);
                let mut total = 0;
                for (at, &(child, sum)) in children.iter().enumerate() {
                    self.set_parent(child, are_leaves, number);
                    let inner = &mut self.inners[number as usize];
                    (inner.children[at], inner.sums[at]) = (child, sum);
                    inner.count += 1;
                    total += sum;
                }
                above.push((number, total));
            }
            level = above;
            are_leaves = false;
        }
        order.root = level.first().map_or(NIL, |&(node, _)| node);
    }

    /// Gives all nodes of an order back.
    pub(crate) fn clear(&mut self, order: &mut Order, items: &mut Items) {
        let mut stack = vec![(order.root, order.root_is_leaf)];
        while let Some((node, is_leaf)) = stack.pop() {
            if node == NIL {
                continue;
            }
            if is_leaf {
                let leaf = &self.leaves[node as usize];
                for &handle in &leaf.items[..leaf.count] {
                    items[handle].leaf = NIL;
                }
                self.free_leaves.push(node);
            } else {
                let inner = &self.inners[node as usize];
                stack
                    .extend(inner.children[..inner.count].iter().map(|&c| (c, inner.above_leaves)));
                self.free_inners.push(node);
            }
        }
        *order = Order::default();
    }

    /// Bytes held.
    pub(crate) fn capacity(&self) -> usize {
        self.leaves.capacity() * size_of::<Leaf>() + self.inners.capacity() * size_of::<Inner>()
    }

    #[inline]
    fn slot(&self, order: &Order, leaf: u32, handle: u32) -> usize {
        let node = &self.leaves[leaf as usize];
        if leaf == order.cursor && node.items[order.finger] == handle {
            return order.finger;
        }
        place_of(&node.items, handle)
    }

    /// Finds the leaf that holds a visible position, and the visible length before it.
    fn descend(&self, order: &Order, position: u32) -> (u32, u32) {
        let mut held = 0;
        if order.held != 0 {
            let end = order.cursor_start + self.leaves[order.cursor as usize].sum;
            if position >= end {
                held = order.held;
            } else if position >= order.cursor_start {
                return (order.cursor, order.cursor_start);
            }
        }
        let position = position.wrapping_sub(held);
        let (mut node, mut is_leaf) = (order.root, order.root_is_leaf);
        let mut start = 0;
        while !is_leaf {
            let inner = &self.inners[node as usize];
            let mut at = 0;
            while at + 1 < inner.count && position >= start + inner.sums[at] {
                start += inner.sums[at];
                at += 1;
            }
            node = inner.children[at];
            is_leaf = inner.above_leaves;
        }
        (node, start.wrapping_add(held))
    }

    fn first_leaf(&self, order: &Order) -> u32 {
        let (mut node, mut is_leaf) = (order.root, order.root_is_leaf);
        while !is_leaf {
            let inner = &self.inners[node as usize];
            node = inner.children[0];
            is_leaf = inner.above_leaves;
        }
        node
    }

    fn add_leaf(&mut self, parent: u32) -> u32 {
        let leaf = Leaf { parent, count: 0, sum: 0, items: [NIL; LEAF], lens: [0; LEAF] };
        if let Some(free) = self.free_leaves.pop() {
            self.leaves[free as usize] = leaf;
            return free;
        }
        self.leaves.push(leaf);
        u32::try_from(self.leaves.len() - 1).expect("fewer leaves than items")
    }

    fn add_inner(&mut self, parent: u32, above_leaves: bool) -> u32 {
        let inner =
            Inner { parent, count: 0, above_leaves, children: [NIL; INNER], sums: [0; INNER] };
        if let Some(free) = self.free_inners.pop() {
            self.inners[free as usize] = inner;
            return free;
        }
        self.inners.push(inner);
        u32::try_from(self.inners.len() - 1).expect("fewer nodes than items")
    }

    /// Adds a change of visible length (wrapping) to a leaf and everything above it.
    #[inline]
    fn add(&mut self, order: &mut Order, leaf: u32, change: u32) {
        let node = &mut self.leaves[leaf as usize];
        node.sum = node.sum.wrapping_add(change);
        order.len = order.len.wrapping_add(change);
        if leaf == order.cursor {
            order.held = order.held.wrapping_add(change);
            return;
        }
        self.leave(order);
        self.add_above(leaf, change);
    }

    fn add_above(&mut self, leaf: u32, change: u32) {
        let (mut child, mut parent) = (leaf, self.leaves[leaf as usize].parent);
        while parent != NIL {
            let inner = &mut self.inners[parent as usize];
            let at = place_of(&inner.children, child);
            inner.sums[at] = inner.sums[at].wrapping_add(change);
            child = parent;
            parent = inner.parent;
        }
    }

    /// Tells the nodes above the cursor's leaf how that has changed.
    fn tell(&mut self, order: &mut Order) {
        let held = std::mem::take(&mut order.held);
        if held != 0 {
            self.add_above(order.cursor, held);
        }
    }

    /// Forgets the cursor.
    fn leave(&mut self, order: &mut Order) {
        self.tell(order);
        order.cursor = NIL;
    }

    /// Moves what is behind the first `keep` items of a full leaf to a new one; returns it.
    fn split_leaf(&mut self, order: &mut Order, items: &mut Items, left: u32, keep: usize) -> u32 {
        self.tell(order);
        order.touch(left, 0);
        let right = self.add_leaf(NIL);
        let node = &mut self.leaves[left as usize];
        let moved = node.count - keep;
        let (from_items, from_lens) = (node.items, node.lens);
        node.count = keep;
        node.items[keep..].fill(NIL);
        let moved_sum: u32 = from_lens[keep..keep + moved].iter().sum();
        node.sum -= moved_sum;
        let node = &mut self.leaves[right as usize];
        node.items[..moved].copy_from_slice(&from_items[keep..keep + moved]);
        node.lens[..moved].copy_from_slice(&from_lens[keep..keep + moved]);
        node.count = moved;
        node.sum = moved_sum;
        for &handle in &from_items[keep..keep + moved] {
            items[handle].leaf = right;
        }
        self.insert_child(order, left, right, moved_sum, true);
        right
    }

    /// Hangs a node beside its left neighbor, from whose sum `moved` went over to it.
    fn insert_child(
        &mut self,
        order: &mut Order,
        left: u32,
        right: u32,
        moved: u32,
        are_leaves: bool,
    ) {
        let parent = if are_leaves {
            self.leaves[left as usize].parent
        } else {
            self.inners[left as usize].parent
        };
        if parent == NIL {
            let root = self.add_inner(NIL, are_leaves);
            let left_sum = order.len - moved;
            let inner = &mut self.inners[root as usize];
            inner.count = 2;
            inner.children[..2].copy_from_slice(&[left, right]);
            inner.sums[..2].copy_from_slice(&[left_sum, moved]);
            self.set_parent(left, are_leaves, root);
            self.set_parent(right, are_leaves, root);
            order.root = root;
            order.root_is_leaf = false;
            return;
        }
        let inner = &mut self.inners[parent as usize];
        let mut at = place_of(&inner.children, left);
        inner.sums[at] -= moved;
        at += 1;
        let mut target = parent;
        if inner.count == INNER {
            let keep = if at == INNER { INNER } else { INNER / 2 };
            let next = self.split_inner(order, parent, keep);
            if at >= keep && keep < INNER || at == INNER {
                target = next;
                at -= keep;
            }
        }
        let inner = &mut self.inners[target as usize];
        inner.children.copy_within(at..inner.count, at + 1);
        inner.sums.copy_within(at..inner.count, at + 1);
        inner.children[at] = right;
        inner.sums[at] = moved;
        inner.count += 1;
        self.set_parent(right, are_leaves, target);
        // The sums above `target` already hold `moved` where the left neighbor has the same parent.
        if target != parent && moved > 0 {
            self.shift(parent, target, moved);
        }
    }

    /// Moves an amount of length between two neighboring inner nodes in the nodes above them.
    fn shift(&mut self, from: u32, to: u32, amount: u32) {
        let (mut from, mut to) = (from, to);
        loop {
            let (above_from, above_to) =
                (self.inners[from as usize].parent, self.inners[to as usize].parent);
            for (node, above, add) in [(from, above_from, false), (to, above_to, true)] {
                if above == NIL {
                    continue;
                }
                let inner = &mut self.inners[above as usize];
                let at = place_of(&inner.children, node);
                if add {
                    inner.sums[at] += amount;
                } else {
                    inner.sums[at] -= amount;
                }
            }
            if above_from == above_to {
                return;
            }
            (from, to) = (above_from, above_to);
        }
    }

    fn split_inner(&mut self, order: &mut Order, left: u32, keep: usize) -> u32 {
        let above_leaves = self.inners[left as usize].above_leaves;
        let right = self.add_inner(NIL, above_leaves);
        let node = &mut self.inners[left as usize];
        let moved = node.count - keep;
        let (children, sums) = (node.children, node.sums);
        node.count = keep;
        node.children[keep..].fill(NIL);
        let moved_sum: u32 = sums[keep..keep + moved].iter().sum();
        let node = &mut self.inners[right as usize];
        node.children[..moved].copy_from_slice(&children[keep..keep + moved]);
        node.sums[..moved].copy_from_slice(&sums[keep..keep + moved]);
        node.count = moved;
        for &child in &children[keep..keep + moved] {
            self.set_parent(child, above_leaves, right);
        }
        self.insert_child(order, left, right, moved_sum, false);
        right
    }

    fn set_parent(&mut self, node: u32, is_leaf: bool, parent: u32) {
        if is_leaf {
            self.leaves[node as usize].parent = parent;
        } else {
            self.inners[node as usize].parent = parent;
        }
    }

    fn remove_leaf(&mut self, order: &mut Order, leaf: u32) {
        if order.cursor == leaf {
            self.leave(order);
        }
        let mut parent = self.leaves[leaf as usize].parent;
        self.free_leaves.push(leaf);
        let mut child = leaf;
        while parent != NIL {
            let inner = &mut self.inners[parent as usize];
            let at = place_of(&inner.children, child);
            inner.children.copy_within(at + 1..inner.count, at);
            inner.sums.copy_within(at + 1..inner.count, at);
            inner.count -= 1;
            inner.children[inner.count] = NIL;
            if inner.count > 0 {
                break;
            }
            self.free_inners.push(parent);
            child = parent;
            parent = self.inners[parent as usize].parent;
        }
        if parent == NIL {
            order.root = NIL;
            order.root_is_leaf = true;
            order.cursor = NIL;
        }
        while !order.root_is_leaf && self.inners[order.root as usize].count == 1 {
            let root = order.root;
            let inner = &self.inners[root as usize];
            let (only, is_leaf) = (inner.children[0], inner.above_leaves);
            self.free_inners.push(root);
            self.set_parent(only, is_leaf, NIL);
            order.root = only;
            order.root_is_leaf = is_leaf;
        }
    }

    /// The items of an order from left to right, after checking every sum, parent and leaf pointer on the way.
    pub(crate) fn check(&self, order: &Order, items: &Items) -> Result<Vec<u32>, String> {
        let mut list = Vec::new();
        if order.root != NIL {
            let (root, is_leaf) = (order.root, order.root_is_leaf);
            let (sum, _) = self.check_node(order, root, is_leaf, NIL, items, &mut list)?;
            if sum != order.len {
                return Err(format!("order: length {} but the tree sums to {sum}", order.len));
            }
        }
        if order.cursor != NIL {
            let leaf = &self.leaves[order.cursor as usize];
            let start =
                leaf.items[..leaf.count].first().map(|&item| self.position(order, items, item));
            if start != Some(order.cursor_start) {
                return Err(format!("order: cursor at {} but {start:?}", order.cursor_start));
            }
        }
        Ok(list)
    }

    /// Returns the visible length under a node, and whether the cursor is there.
    fn check_node(
        &self,
        order: &Order,
        node: u32,
        is_leaf: bool,
        parent: u32,
        items: &Items,
        list: &mut Vec<u32>,
    ) -> Result<(u32, bool), String> {
        if is_leaf {
            let leaf = &self.leaves[node as usize];
            if leaf.parent != parent || leaf.count == 0 {
                return Err(format!("order: leaf {node} hangs wrong or is empty"));
            }
            for (&item, &len) in leaf.items[..leaf.count].iter().zip(&leaf.lens) {
                if items[item].leaf != node || items[item].visible() != len {
                    return Err(format!("order: item {item} is not as its leaf {node} says"));
                }
                list.push(item);
            }
            if leaf.items[leaf.count..] != [NIL; LEAF][leaf.count..] {
                return Err(format!("order: leaf {node} has items behind its last"));
            }
            let sum: u32 = leaf.lens[..leaf.count].iter().sum();
            if sum != leaf.sum {
                return Err(format!("order: leaf {node} sums to {sum}, says {}", leaf.sum));
            }
            return Ok((sum, node == order.cursor));
        }
        let inner = &self.inners[node as usize];
        if inner.parent != parent
            || inner.count == 0
            || inner.children[inner.count..] != [NIL; INNER][inner.count..]
        {
            return Err(format!("order: node {node} hangs wrong or is empty"));
        }
        let (mut total, mut has_cursor) = (0, false);
        for (&child, &said) in inner.children[..inner.count].iter().zip(&inner.sums) {
            let (sum, below) =
                self.check_node(order, child, inner.above_leaves, node, items, list)?;
            let held = if below { order.held } else { 0 };
            if sum != said.wrapping_add(held) {
                return Err(format!("order: node {node} says {said} of {child}, which has {sum}"));
            }
            total += sum;
            has_cursor |= below;
        }
        Ok((total, has_cursor))
    }
}
