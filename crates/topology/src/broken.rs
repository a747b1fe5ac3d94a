// SPDX-License-Identifier: Apache-2.0
//! In: what a rule sends to. Out: how many of the requests it takes are answered 500, because a backend is missing or
//! forbidden. Not here: filters that answer by themselves; findings (`connect/backends`).

use super::GatewayTopology;
use super::graph::{BackendFacts, BackendUse, RuleIx};

/// The requests of a rule that lead nowhere: so many of a total, by weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrokenShare<'a> {
    /// Weight of the backends that are missing or forbidden.
    pub weight: u64,
    /// Weight of all backends; 0 if every one has the weight 0, so that no request leads anywhere.
    pub total: u64,
    /// The first backend that is missing or forbidden.
    pub first: Option<&'a BackendUse>,
}

impl BrokenShare<'_> {
    /// Whether no request leads anywhere.
    pub fn is_all(&self) -> bool {
        self.weight == self.total
    }
}

impl GatewayTopology {
    /// The requests of a rule that lead nowhere; none if each one leads somewhere, as far as the input says, or if the rule
    /// names no backends.
    pub fn broken_share(&self, rule: RuleIx) -> Option<BrokenShare<'_>> {
        let uses = self.uses_of(rule);
        let is_bad = |used: &&BackendUse| {
            let bad = matches!(used.facts, BackendFacts::NotFound | BackendFacts::NotPermitted);
            bad && used.weight > 0
        };
        let total = uses.iter().map(|used| u64::from(used.weight)).sum();
        let weight = uses.iter().filter(is_bad).map(|used| u64::from(used.weight)).sum();
        let some = !uses.is_empty() && (weight > 0 || total == 0);
        some.then(|| BrokenShare { weight, total, first: uses.iter().find(is_bad) })
    }
}
