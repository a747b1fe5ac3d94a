// SPDX-License-Identifier: Apache-2.0
//! In: named keys. Out: who stands above whom, and by which key. Not here: what the keys mean.
//!
//! A family turns its precedence rules into keys, most important first, smaller = nearer to the top of the ladder; what
//! must sort downwards is negated by the family. Kuma's comparison of policies is not always an order; its family sorts
//! by pairs, over the same table of keys that its ranks are made of.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// A key of a family's ranks: its name, as explanations print it, and the meaning of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankKey {
    /// Its name.
    pub name: &'static str,
    /// What its values are, so that views can put a difference in words.
    pub values: KeyValues,
}

/// What the values of a key are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyValues {
    /// Levels of targets: the higher one comes first.
    Levels,
    /// Whether a target is a section: sections come first.
    Sections,
    /// Creation times: the older one comes first.
    Ages,
    /// Names: the first one comes first.
    Names,
    /// Names on a ladder whose last step wins: the first name comes last.
    NamesLastWins,
    /// Blocks of a policy.
    Blocks,
    /// Strategies, by the mode of a step.
    Strategies,
    /// Numbers of which the greatest comes first, negated.
    Weights,
    /// The order in which things are written; a sentence about the later one.
    Written(&'static str),
    /// Words for 0, 1, 2 and so on.
    Words(&'static [&'static str]),
    /// Kinds of targets, the most specific first: words for 0, 1, 2 and so on.
    Targets(&'static [&'static str]),
    /// Numbers that explanations do not print.
    Unspoken,
}

impl RankKey {
    /// The level of the target.
    pub const LEVEL: Self = Self::new("level", KeyValues::Levels);
    /// When the policy was created.
    pub const CREATED: Self = Self::new("created", KeyValues::Ages);
    /// Namespace and name of the policy.
    pub const NAME: Self = Self::new("name", KeyValues::Names);

    /// A key of a family's own.
    pub const fn new(name: &'static str, values: KeyValues) -> Self {
        Self { name, values }
    }
}

/// The keys of a family's ranks, most important first.
pub type RankKeys = &'static [RankKey];

/// A position on a ladder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rank(SmallVec<[i64; 4]>);

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankDecision {
    /// `Less`: the first is above the second.
    pub order: Ordering,
    /// Index of the key that decided; none if all keys are equal.
    pub key: Option<usize>,
}

impl Rank {
    /// A rank from its keys.
    pub fn new(keys: impl IntoIterator<Item = i64>) -> Self {
        Self(keys.into_iter().collect())
    }

    /// Compares key by key; the first difference decides.
    pub fn against(&self, other: &Self) -> RankDecision {
        for (i, (a, b)) in self.0.iter().zip(&other.0).enumerate() {
            if a != b {
                return RankDecision { order: a.cmp(b), key: Some(i) };
            }
        }
        RankDecision { order: self.0.len().cmp(&other.0.len()), key: None }
    }

    /// The value of one key.
    pub fn key(&self, index: usize) -> Option<i64> {
        self.0.get(index).copied()
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.against(other).order
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
