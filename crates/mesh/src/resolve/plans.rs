// SPDX-License-Identifier: Apache-2.0
//! In: kinds and their confs. Out: the plan of each ladder. Not here: how a plan merges.

use crate::conf::{ConfStrategy, Plan};
use crate::kinds::{self, ResourceKind};
use crate::steps::Steps;

/// Which plan a ladder follows: two for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spec(pub(super) u16);

impl Spec {
    /// Confs are merged.
    pub(super) fn of(kind: &ResourceKind) -> Self {
        let place = kinds::policies().position(|(k, _)| k.name == kind.name).unwrap_or(0);
        Self(u16::try_from(place * 2).unwrap_or(0))
    }

    /// How confs are merged.
    pub(super) fn strategy(self) -> ConfStrategy {
        let kind = kinds::policies().nth(usize::from(self.0 / 2));
        kind.map(|(kind, _)| ConfStrategy::of(kind)).unwrap_or_default()
    }

    /// Of confs with one match the first counts.
    pub(super) fn first_counts(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Every plan, by place. Lists that are appended by name are looked for in the confs of the kind.
pub(super) fn plans(steps: &Steps<'_>) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (kind, _) in kinds::policies() {
        for first_counts in [false, true] {
            let strategy = ConfStrategy { first_counts, ..ConfStrategy::of(kind) };
            let place = u16::try_from(plans.len()).unwrap_or(u16::MAX);
            plans.push(Plan::new(steps.confs.documents, strategy, steps.confs_of(kind), place));
        }
    }
    plans
}

/// The plan by which confs of a kind are merged.
pub(super) fn plan_of<'p>(plans: &'p [Plan], kind: &ResourceKind) -> Option<&'p Plan> {
    plans.get(usize::from(Spec::of(kind).0))
}
