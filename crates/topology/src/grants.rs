// SPDX-License-Identifier: Apache-2.0
//! In: ReferenceGrants. Out: whether a reference across namespaces is permitted. Not here: which references need one.
//!
//! A grant lives in the namespace of what is referred to. Its `from` and `to` lists are OR-combined, so each pair
//! becomes one key and a question is two look-ups: that name, any name.

use hashbrown::HashSet;
use overrule_model::Sym;

/// Who refers: the object that holds the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Referrer {
    /// API group; empty for core.
    pub group: Sym,
    /// Kind.
    pub kind: Sym,
    /// Namespace.
    pub namespace: Sym,
}

/// What is referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Referent {
    /// API group; empty for core.
    pub group: Sym,
    /// Kind.
    pub kind: Sym,
    /// Namespace.
    pub namespace: Sym,
    /// Name; in a grant, empty means any.
    pub name: Sym,
}

/// Every ReferenceGrant of a snapshot.
#[derive(Debug, Clone, Default)]
pub struct GrantIndex {
    pairs: HashSet<(Referrer, Referent)>,
}

impl GrantIndex {
    /// Adds one pair of a grant.
    pub(crate) fn add(&mut self, from: Referrer, to: Referent) {
        self.pairs.insert((from, to));
    }

    /// Whether a reference is permitted. Within one namespace it always is.
    pub fn allows(&self, from: Referrer, to: Referent) -> bool {
        from.namespace == to.namespace
            || self.pairs.contains(&(from, to))
            || self.pairs.contains(&(from, Referent { name: Sym::EMPTY, ..to }))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}
