//! Where the choices of a random script come from: a seed, or the bytes of a fuzzer.

/// A source of choices.
pub trait Choices {
    /// A number below a bound; 0 if the bound is 0.
    fn below(&mut self, bound: u32) -> u32;

    /// Whether there is nothing left to choose from.
    fn is_over(&self) -> bool;

    /// Whether something happens that happens in so many of a hundred cases.
    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let len = u32::try_from(of.len()).expect("a short list");
        of[self.below(len) as usize]
    }
}

/// Choices that a seed repeats (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Choices for Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        u32::try_from(mixed % u64::from(bound.max(1))).expect("below the bound")
    }

    fn is_over(&self) -> bool {
        false
    }
}

/// Choices that a fuzzer makes: one byte each, two where the bound asks for it. Behind the end all are 0.
#[derive(Debug, Clone)]
pub struct Script<'a>(pub &'a [u8]);

impl Choices for Script<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        let mut number = 0;
        for _ in 0..=u32::from(bound > 256) {
            if let Some((first, rest)) = self.0.split_first() {
                number = number << 8 | u32::from(*first);
                self.0 = rest;
            }
        }
        number % bound.max(1)
    }

    fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}
