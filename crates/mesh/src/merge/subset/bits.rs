// SPDX-License-Identifier: Apache-2.0
//! In: small numbers. Out: sets of them, one bit each. Not here: anything about tags.

const WIDTH: usize = 64;

/// A set of numbers below a bound that is given when it is made. Sets that meet must have the same bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn none(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(WIDTH)])
    }

    pub(super) fn all(bound: usize) -> Self {
        let mut set = Self(vec![u64::MAX; bound.div_ceil(WIDTH)]);
        let rest = bound % WIDTH;
        if let (Some(last), true) = (set.0.last_mut(), rest > 0) {
            *last >>= WIDTH.saturating_sub(rest);
        }
        set
    }

    /// How many machine words it takes.
    pub(super) fn words(&self) -> usize {
        self.0.len()
    }

    pub(super) fn insert(&mut self, n: usize) {
        if let Some(word) = self.0.get_mut(n / WIDTH) {
            *word |= 1 << (n % WIDTH);
        }
    }

    pub(super) fn remove(&mut self, n: usize) {
        if let Some(word) = self.0.get_mut(n / WIDTH) {
            *word &= !(1 << (n % WIDTH));
        }
    }

    pub(super) fn has(&self, n: usize) -> bool {
        self.0.get(n / WIDTH).is_some_and(|word| word >> (n % WIDTH) & 1 == 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn count(&self) -> usize {
        ones(self.0.iter().copied())
    }

    /// How many numbers both have.
    pub(super) fn shared(&self, other: &Bits) -> usize {
        ones(self.0.iter().zip(&other.0).map(|(a, b)| a & b))
    }

    /// The numbers both have.
    pub(super) fn and(&self, other: &Bits) -> Bits {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// The numbers either has.
    pub(super) fn or(&self, other: &Bits) -> Bits {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a | b).collect())
    }

    /// The numbers only this one has.
    pub(super) fn without(&self, other: &Bits) -> Bits {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & !b).collect())
    }

    /// The numbers, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().zip(0usize..).flat_map(|(word, at)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let low = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left.saturating_sub(1);
                Some(at.saturating_mul(WIDTH).saturating_add(low))
            })
        })
    }
}

fn ones(words: impl Iterator<Item = u64>) -> usize {
    words.map(|word| word.count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bound: usize, numbers: &[usize]) -> Bits {
        let mut set = Bits::none(bound);
        numbers.iter().for_each(|n| set.insert(*n));
        set
    }

    #[test]
    fn numbers_across_words() {
        let set = of(130, &[0, 63, 64, 129]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 129]);
        assert!(set.has(64) && !set.has(65) && !set.has(1000));
        assert_eq!((set.count(), set.words(), set.is_empty()), (4, 3, false));
    }

    #[test]
    fn all_stops_at_the_bound() {
        for bound in [0, 1, 63, 64, 65, 128, 200] {
            assert_eq!(Bits::all(bound).count(), bound);
        }
    }

    #[test]
    fn two_sets() {
        let (a, b) = (of(70, &[1, 2, 69]), of(70, &[2, 69]));
        assert_eq!(a.and(&b), b);
        assert_eq!(a.or(&b), a);
        assert_eq!(a.without(&b), of(70, &[1]));
        assert_eq!(a.shared(&b), 2);
        let mut a = a;
        a.remove(69);
        assert_eq!(a, of(70, &[1, 2]));
    }
}
