//! Numbers for tests that are the same in every run.

/// `SplitMix64`; a failing seed replays.
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number below a bound.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) % u64::from(bound.max(1))).unwrap()
    }
}
