// SPDX-License-Identifier: Apache-2.0
//! In: policies whose content changed. Out: the policies that findings are made about: all that share a ladder with one
//! of them. Not here: the findings.

use hashbrown::HashSet;
use overrule_source::Documents;

use super::Resolution;
use crate::{LadderId, PolicyId};

/// Policies about which findings are made.
#[derive(Debug)]
pub enum Subjects {
    /// All of them.
    All,
    /// Some of them.
    Some {
        /// Which.
        policies: HashSet<PolicyId>,
        /// The ladders that have one of them, and that some path has, by id.
        ladders: Vec<LadderId>,
    },
}

impl Subjects {
    /// These, and all that share a ladder or a kept group with one of them.
    pub fn near(changed: &[PolicyId], resolution: &Resolution) -> Self {
        let mut policies: HashSet<PolicyId> = changed.iter().copied().collect();
        for policy in changed {
            let ladders = resolution.ladders_of(*policy).iter();
            policies.extend(ladders.flat_map(|l| resolution.outcomes(*l)).map(|(p, _)| *p));
            let steps =
                resolution.kept_of(*policy).iter().flat_map(|g| resolution.ladders.steps(*g));
            policies.extend(steps.filter_map(|s| resolution.ladders.get_step(s)).map(|s| s.policy));
        }
        Self::of(policies, resolution)
    }

    /// These and no others.
    pub fn only(policies: &[PolicyId], resolution: &Resolution) -> Self {
        Self::of(policies.iter().copied().collect(), resolution)
    }

    /// Those about whom findings may be others after these policies changed. If what is in force and what lost on their
    /// ladders only says something else now, that is these policies alone. `documents` are the old and the new ones.
    pub fn after(
        changed: &[PolicyId],
        [before, now]: [&Resolution; 2],
        documents: [&Documents; 2],
    ) -> Self {
        const FEW: usize = 1_024;
        let only = Self::only(changed, now);
        let groups = only.groups(now);
        let is_alike = |id: LadderId| match (before.result(id), now.result(id)) {
            (Some(was), Some(is)) => was.is_alike(is, documents),
            (was, is) => was.is_none() && is.is_none(),
        };
        if groups.len() <= FEW && groups.iter().all(|id| is_alike(*id)) {
            return only;
        }
        Self::near(changed, now)
    }

    fn of(policies: HashSet<PolicyId>, resolution: &Resolution) -> Self {
        let ladders = resolution.ladders_of_all(&policies);
        Self::Some { policies, ladders }
    }

    /// Whether a policy is one of them.
    pub fn has(&self, policy: PolicyId) -> bool {
        match self {
            Self::All => true,
            Self::Some { policies, .. } => policies.contains(&policy),
        }
    }

    /// All of them, in order.
    pub fn policies(&self, resolution: &Resolution) -> Vec<PolicyId> {
        match self {
            Self::All => resolution.policies().map(|(id, _)| id).collect(),
            Self::Some { policies, .. } => {
                let mut all: Vec<PolicyId> = policies.iter().copied().collect();
                all.sort_unstable();
                all
            }
        }
    }

    /// The ladders that have one of them, and that some path has, by id.
    pub fn ladders<'a>(
        &'a self,
        resolution: &'a Resolution,
    ) -> Box<dyn Iterator<Item = LadderId> + 'a> {
        match self {
            Self::All => {
                let all = (0..).map(LadderId).take(resolution.ladders.len());
                Box::new(all.filter(|ladder| resolution.effective(*ladder).is_some()))
            }
            Self::Some { ladders, .. } => Box::new(ladders.iter().copied()),
        }
    }

    /// The ladders that have one of them, the groups on these, and the groups with one of them that are kept, by id.
    pub fn groups(&self, resolution: &Resolution) -> Vec<LadderId> {
        let Self::Some { policies, ladders } = self else {
            return (0..).map(LadderId).take(resolution.ladders.len()).collect();
        };
        let groups = resolution.groups_of_all(policies, ladders);
        let mut all: Vec<LadderId> = ladders.iter().copied().chain(groups).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}
