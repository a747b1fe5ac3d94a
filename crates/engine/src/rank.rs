// SPDX-License-Identifier: Apache-2.0
//! In: named keys. Out: who stands above whom, and by which key. Not here: what the keys mean.
//!
//! This is the only policy comparator of the project. A family turns its precedence rules into keys, most
//! important first, smaller = nearer to the top of the ladder; what must sort downwards is negated by the family.

use std::cmp::Ordering;

use smallvec::SmallVec;

/// The name of a key, as explanations print it.
pub type KeyName = &'static str;

/// The names of the keys of a family's ranks, most important first.
pub type RankKeys = &'static [KeyName];

/// A position on a ladder.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rank(SmallVec<[i64; 4]>);

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// `Less`: the first stands above the second.
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
    pub fn against(&self, other: &Self) -> Decision {
        for (i, (a, b)) in self.0.iter().zip(&other.0).enumerate() {
            if a != b {
                return Decision { order: a.cmp(b), key: Some(i) };
            }
        }
        Decision { order: self.0.len().cmp(&other.0.len()), key: None }
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
