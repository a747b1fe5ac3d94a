// SPDX-License-Identifier: Apache-2.0
//! In: a seed. Out: numbers that are the same on every machine and in every version. Not here: secrets, statistics.

/// SplitMix64: small, fast, and fixed for good, so that a seed names a fleet.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A stream of its own for each thing that is generated: order of generation does not matter.
    pub fn new(seed: u64, what: &str, index: u64) -> Self {
        let tag = what.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        let mut rng = Self(seed ^ tag.rotate_left(17) ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        rng.next();
        rng
    }

    /// The next number.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator of numbers would be endless; this is not one"
    )]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, share: u8) -> bool {
        self.below(100) < u64::from(share)
    }

    /// One of the list.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        let index = usize::try_from(self.below(list.len() as u64)).expect("an index");
        &list[index]
    }
}
