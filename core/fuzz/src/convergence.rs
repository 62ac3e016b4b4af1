//! Parties without end: so many random edits, in documents of every kind.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::choices::{Choices as _, Random};
use crate::party::{Collecting, Counts, Party, Setting};

/// Replicas in a party.
pub const REPLICAS: u32 = 6;
/// Edits in a small party, whose documents are checked after every step.
pub const SMALL: u64 = 1_000;
/// Edits in a large party, whose documents are checked after every hundredth step.
pub const LARGE: u64 = 10_000;
/// Every how many parties one is large.
const LARGE_EVERY: u64 = 32;

/// One party of a run, made and let go by its seed. Large ones are cut short at `most` edits.
///
/// # Errors
/// What does not hold, with the seed that shows it again.
pub fn party(seed: u64, most: u64) -> Result<Counts, String> {
    let is_large = seed % LARGE_EVERY == LARGE_EVERY - 1;
    let edits = most.min(if is_large { LARGE } else { SMALL });
    let setting = Setting {
        replicas: REPLICAS,
        collecting: [Collecting::All, Collecting::None, Collecting::Some][(seed % 3) as usize],
        undo: seed / 3 % 2 == 1,
        nested: !(seed / 6).is_multiple_of(3),
        check_every: if is_large { 100 } else { 1 },
    };
    // A document that panicked is not used again.
    let lived = catch_unwind(AssertUnwindSafe(|| {
        let mut random = Random(seed);
        let mut party = Party::new(setting);
        let mut next = 0;
        while party.counts().edits < edits {
            party.step(&mut random);
            if party.counts().edits >= next {
                next += edits / 8 + u64::from(random.below(100));
                party.meet();
            }
        }
        party.meet();
        party.counts()
    }));
    lived.map_err(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|&said| said.to_owned()));
        format!("seed {seed}, {setting:?}: {}", said.unwrap_or_default())
    })
}
