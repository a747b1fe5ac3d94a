// SPDX-License-Identifier: Apache-2.0
//! In: kinds and their confs. Out: the plan of each ladder, and hostnames by number. Not here: how a plan merges.

use hashbrown::HashMap;
use overrule_engine::{StepId, Traced};
use overrule_source::Documents;

use super::steps::Steps;
use crate::conf::{Append, Plan, Strategy};
use crate::kinds::{self, HTTP_ROUTE, Kind, TRAFFIC_PERMISSION};

/// Which plan a ladder follows: two for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spec(pub(super) u16);

impl Spec {
    /// Confs are merged.
    pub(super) fn of(kind: &Kind) -> Self {
        let place = kinds::policies().position(|(k, _)| *k == *kind).unwrap_or(0);
        Self(u16::try_from(place * 2).unwrap_or(0))
    }

    /// Of confs with one match the first counts.
    pub(super) fn first_counts(self) -> Self {
        Self(self.0 + 1)
    }

    fn is_route(self) -> bool {
        Self::of(&HTTP_ROUTE) == self
    }
}

/// How confs of a kind become one. Lists of permissions are joined: a permission is never replaced by another.
fn strategy(kind: &Kind) -> Strategy {
    match *kind == TRAFFIC_PERMISSION {
        true => Strategy {
            append: Append::Paths(["deny", "allowWithShadowDeny", "allow"].map(Into::into).into()),
            ..Strategy::default()
        },
        false => Strategy::of(kind),
    }
}

/// Every plan, by place. Lists that are appended by name are looked for in the confs of the kind.
pub(super) fn plans(steps: &Steps<'_>) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (kind, _) in kinds::policies() {
        let confs = steps.by_kind.get(kind.name).into_iter().flatten();
        let confs: Vec<&Traced> =
            confs.filter_map(|step| steps.confs.get(step.0 as usize)).collect();
        for first_counts in [false, true] {
            let strategy = Strategy { first_counts, ..strategy(kind) };
            let place = u16::try_from(plans.len()).unwrap_or(u16::MAX);
            plans.push(Plan::new(steps.documents, strategy, confs.iter().copied(), place));
        }
    }
    plans
}

/// Hostnames that split routes, by number from 1; 0 is none in particular.
#[derive(Debug, Default)]
pub(super) struct Hostnames {
    pub(super) names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Hostnames {
    /// The numbers of the hostnames a step is about.
    pub(super) fn of(
        &mut self,
        documents: &Documents,
        confs: &[Traced],
        spec: Spec,
        step: StepId,
    ) -> Vec<u32> {
        let conf = confs.get(step.0 as usize).filter(|_| spec.is_route());
        let names = conf.and_then(|c| c.get(documents, "hostnames"));
        let names = names.map(|n| n.items(documents)).unwrap_or_default();
        let text = |t: &Traced| -> Option<Box<str>> {
            let view = documents.view(t.node()?);
            view.scalar_text().map(Into::into)
        };
        let mut numbers: Vec<u32> = Vec::new();
        for name in names.iter().filter_map(text) {
            let next = u32::try_from(self.names.len() + 1).unwrap_or(u32::MAX);
            let number = *self.numbers.entry(name.clone()).or_insert(next);
            if number == next {
                self.names.push(name);
            }
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        if numbers.is_empty() { vec![0] } else { numbers }
    }
}
