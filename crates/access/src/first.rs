// SPDX-License-Identifier: Apache-2.0
//! In: positions in the list. Out: the first of each kind. Not here: which rules match.

use crate::rule::Effect;

/// No position.
pub const NONE: u32 = u32::MAX;

/// The first positions of rules that share what they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    pub deny: u32,
    /// Of both kinds of allow.
    pub allow: u32,
    pub shadow: u32,
}

impl First {
    pub const NOTHING: Self = Self { deny: NONE, allow: NONE, shadow: NONE };

    pub fn of(effect: Effect, position: u32) -> Self {
        match effect {
            Effect::Deny => Self { deny: position, ..Self::NOTHING },
            Effect::Allow => Self { allow: position, ..Self::NOTHING },
            Effect::AllowWithShadowDeny => {
                Self { allow: position, shadow: position, ..Self::NOTHING }
            }
        }
    }

    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self {
            deny: self.deny.min(other.deny),
            allow: self.allow.min(other.allow),
            shadow: self.shadow.min(other.shadow),
        }
    }
}

/// What was found so far, for both ways to name who decides.
#[derive(Debug, Clone, Copy)]
pub struct Best {
    /// The least positions.
    pub list: First,
    /// The positions of the stage that the tree asks first.
    pub tree: First,
}

impl Best {
    pub const NOTHING: Self = Self { list: First::NOTHING, tree: First::NOTHING };

    /// Adds a stage that the tree asks before those so far.
    pub fn over(&mut self, other: Self) {
        self.list = self.list.min(other.list);
        self.tree = other.tree.or(self.tree);
    }

    /// Adds a stage that the tree asks after those so far.
    pub fn under(&mut self, other: Self) {
        self.list = self.list.min(other.list);
        self.tree = self.tree.or(other.tree);
    }
}

impl From<First> for Best {
    fn from(first: First) -> Self {
        Self { list: first, tree: first }
    }
}

/// What a slot says: the first of all, and the first of those that the tree asks first.
#[derive(Debug, Clone, Copy)]
pub struct Ranked {
    best: Best,
    /// Of the allow that the tree names.
    rank: usize,
}

impl Ranked {
    /// From the rules that ask for nothing else.
    pub fn new(plain: First) -> Self {
        Self { best: plain.into(), rank: 0 }
    }

    /// Adds rules with this path: 0 for none, then from the closest on. Denies are asked in list order.
    pub fn add(&mut self, rank: usize, first: First) {
        let Best { list, tree } = &mut self.best;
        *list = list.min(first);
        tree.deny = list.deny;
        if first.allow != NONE {
            let is_closer = tree.allow == NONE || rank < self.rank;
            if is_closer {
                (tree.allow, self.rank) = (first.allow, rank);
            } else if rank == self.rank {
                tree.allow = tree.allow.min(first.allow);
            }
        }
    }

    pub fn best(self) -> Best {
        self.best
    }
}

impl First {
    fn or(self, other: Self) -> Self {
        let or = |a: u32, b: u32| if a == NONE { b } else { a };
        Self {
            deny: or(self.deny, other.deny),
            allow: or(self.allow, other.allow),
            shadow: or(self.shadow, other.shadow),
        }
    }
}

/// All rules with one identity: those that ask for nothing else, and where the others are.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    pub plain: First,
    /// A group of [`Conditions`](crate::conditions::Conditions), or none.
    pub group: u32,
}

impl Slot {
    pub const EMPTY: Self = Self { plain: First::NOTHING, group: NONE };
}
