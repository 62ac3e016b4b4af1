//! Where the marks of formats stand in a text, so that what holds at a place is found without walking there.
//!
//! Per attribute, its marks that are not deleted, in the order of the text. The one that holds before an item is found
//! by halving; which of two items is the first, the tree of their order tells. All is built by one walk when somebody
//! first asks, and kept from then on.

use lib0::Any;

use crate::structs::item::{Kind, NIL};
use crate::structs::{Payload, Structs};

/// Attributes of a text of which the marks are kept. Where there are more, a walk is as good.
const MOST: usize = 64;

/// The marks of one text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks {
    /// The number of the attribute, and its marks.
    lists: Vec<(u32, Vec<u32>)>,
}

impl Marks {
    fn list(&mut self, key: u32) -> &mut Vec<u32> {
        let at = self.lists.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.lists.push((key, Vec::new()));
            self.lists.len() - 1
        });
        &mut self.lists[at].1
    }

    fn are_many(&self) -> bool {
        self.lists.len() > MOST
    }
}

impl Structs {
    /// The attribute of an item that is a mark, and whether it ends it.
    fn attribute(&self, handle: u32) -> Option<(u32, bool)> {
        let item = &self.items[handle];
        match (item.kind, item.key) {
            (Kind::Format, NIL) => match self.payload(item) {
                Payload::Format(key, value) => Some((*key, **value == Any::Null)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Takes note of a mark that came into a text, or is deleted now.
    pub(crate) fn note_mark(&mut self, handle: u32) {
        let parent = self.items[handle].parent as usize;
        let Some(mut marks) = self.types[parent].marks.take() else { return };
        let Some((key, _)) = self.attribute(handle) else {
            self.types[parent].marks = Some(marks);
            return;
        };
        // Without the tree of its order nothing is known of a text; whoever asks walks then, once more.
        if self.unordered.is_some() {
            return;
        }
        if !marks.are_many() {
            let list = marks.list(key);
            let at = list.partition_point(|&mark| self.nodes.precedes(&self.items, mark, handle));
            if !self.items[handle].deleted {
                list.insert(at, handle);
            } else if list.get(at) == Some(&handle) {
                list.remove(at);
            }
        }
        self.types[parent].marks = Some(marks);
    }

    /// The marks that hold before an item of a text (`NIL`: at its end), in the order in which their attributes were
    /// set; `None` if the text has too many attributes to know.
    pub(crate) fn marks_before(&mut self, parent: u32, right: u32) -> Option<Vec<u32>> {
        if self.types[parent as usize].marks.is_none() {
            let marks = Box::new(self.find_marks(parent));
            self.types[parent as usize].marks = Some(marks);
        }
        let marks =
            self.types[parent as usize].marks.as_deref().filter(|marks| !marks.are_many())?;
        let is_before = |left: u32, right: u32| self.nodes.precedes(&self.items, left, right);
        let is_end = |mark: u32| self.attribute(mark).is_none_or(|(_, is_end)| is_end);
        let mut holding: Vec<&[u32]> = marks
            .lists
            .iter()
            .map(|(_, list)| match right {
                NIL => &list[..],
                right => &list[..list.partition_point(|&mark| is_before(mark, right))],
            })
            .filter(|before| before.last().is_some_and(|&last| !is_end(last)))
            .collect();
        if holding.len() > 1 {
            // An attribute is set where it had no value; giving it another one leaves it where it is.
            let set = |before: &[u32]| {
                before[before.iter().rposition(|&mark| is_end(mark)).map_or(0, |end| end + 1)]
            };
            holding.sort_by(|left, right| {
                let (left, right) = (set(left), set(right));
                is_before(right, left).cmp(&is_before(left, right))
            });
        }
        Some(holding.into_iter().filter_map(|before| before.last().copied()).collect())
    }

    /// Walks through a text.
    fn find_marks(&self, parent: u32) -> Marks {
        let mut marks = Marks::default();
        let mut at = self.types[parent as usize].start;
        while at != NIL && !marks.are_many() {
            if let Some((key, _)) = self.attribute(at)
                && !self.items[at].deleted
            {
                marks.list(key).push(at);
            }
            at = self.items[at].right;
        }
        marks
    }

    /// Checks that what is known of a text's marks is what a walk finds.
    pub(crate) fn check_marks(&self, parent: u32) -> Result<(), String> {
        let found = self.find_marks(parent);
        let Some(marks) = &self.types[parent as usize].marks else { return Ok(()) };
        if marks.are_many() {
            return Ok(());
        }
        let lists = |marks: &Marks| {
            let mut lists = marks.lists.clone();
            lists.retain(|(_, list)| !list.is_empty());
            lists.sort_unstable();
            lists
        };
        if lists(marks) == lists(&found) {
            Ok(())
        } else {
            Err(format!("type {parent}: marks {marks:?} but {found:?}"))
        }
    }
}
