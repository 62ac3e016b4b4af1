//! All invariants of a document as one function, run after each step in tests.

use std::collections::HashSet;

use crate::doc::Doc;
use crate::item::{Kind, NIL};

impl Doc {
    /// Checks the document against its invariants.
    ///
    /// # Errors
    /// Says in words which one is broken.
    #[doc(hidden)]
    pub fn check(&self) -> Result<(), String> {
        let structs = &self.structs;
        let mut known = HashSet::new();
        for client in &structs.clients {
            let mut next = 0;
            for (clock, handle) in client.clocks.entries() {
                let item = &structs.items[handle];
                if item.clock != clock || clock != next || item.len == 0 {
                    return Err(format!("client {:?}: item {handle} at {clock}", client.id));
                }
                next = item.end();
                if !known.insert(handle) {
                    return Err(format!("item {handle} is listed twice"));
                }
            }
            if next != client.next {
                return Err(format!("client {:?}: {next} units, says {}", client.id, client.next));
            }
        }
        if known.len() != structs.items.len() {
            return Err(format!("{} items in use, {} listed", structs.items.len(), known.len()));
        }
        let mut linked = 0;
        for (number, owner) in structs.types.iter().enumerate() {
            let ordered = structs.nodes.check(&owner.order, &structs.items)?;
            let mut lists = vec![(NIL, owner.start)];
            lists.extend(owner.map.iter().map(|(&key, chain)| (key, chain.first)));
            for (key, first) in lists {
                let (mut left, mut at) = (NIL, first);
                let mut list = Vec::new();
                while at != NIL {
                    let item = &structs.items[at];
                    if !known.contains(&at)
                        || item.left != left
                        || item.key != key
                        || item.parent as usize != number
                    {
                        return Err(format!("type {number}: item {at} is linked wrong"));
                    }
                    list.push(at);
                    left = at;
                    at = item.right;
                }
                linked += list.len();
                if key == NIL {
                    if list != ordered {
                        return Err(format!("type {number}: order and links differ"));
                    }
                } else {
                    if owner.map[&key].last != left {
                        return Err(format!("type {number}: the chain of key {key} ends wrong"));
                    }
                    let alive = list.iter().filter(|&&item| !structs.items[item].deleted);
                    if alive.clone().count() > 1 || alive.clone().any(|&item| item != left) {
                        return Err(format!("type {number}: key {key} has an old value alive"));
                    }
                }
            }
        }
        let collected = known.iter().filter(|&&h| structs.items[h].kind == Kind::Gc).count();
        if linked + collected != known.len() {
            return Err(format!("{linked} linked + {collected} collected of {}", known.len()));
        }
        Ok(())
    }
}
