// SPDX-License-Identifier: Apache-2.0
//! In: a limit of rules and the size of the input. Out: an allowance, spent step by step. Not here: clocks; the same
//! input stops at the same step everywhere.

/// Steps allowed per rule, entry and tag. A step is about one machine word of a set, or one index written.
const STEPS: u64 = 256;

/// What one tag of a rule costs: two counted references and their space.
pub(super) const TAG_STEPS: usize = 8;

/// What may still be done.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
    /// Whether something was refused.
    pub(super) cut: bool,
}

impl Work {
    /// The allowance for `size` things: rules allowed plus entries plus tags.
    pub(super) fn of(size: usize) -> Self {
        Self { left: u64::try_from(size).unwrap_or(u64::MAX).saturating_mul(STEPS), cut: false }
    }

    /// Takes steps; false, now and ever after, when there are not that many.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        let left = u64::try_from(steps).ok().and_then(|steps| self.left.checked_sub(steps));
        match left {
            Some(left) if !self.cut => self.left = left,
            _ => self.cut = true,
        }
        !self.cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_refused_always_refused() {
        let mut work = Work::of(1);
        assert!(work.spend(200) && !work.spend(57) && !work.spend(1) && work.cut);
        let mut work = Work::of(usize::MAX);
        assert!(work.spend(usize::MAX));
    }
}
