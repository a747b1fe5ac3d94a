// SPDX-License-Identifier: Apache-2.0
//! In: a resolution. Out: what leads from a policy to its steps, its ladders and its groups, and from a ladder to its
//! paths. Not here: what is done with that.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::Resolution;
use crate::{LadderId, PathId, PolicyId, Rung, StepId};

/// Made once for all resolutions that differ in what policies say only.
#[derive(Debug)]
pub(super) struct Index {
    ladders: ByPolicy<LadderId>,
    steps: ByPolicy<StepId>,
    /// Groups that are kept for a node.
    kept: BTreeMap<PolicyId, Vec<LadderId>>,
    /// How many paths have each ladder, and the first of them.
    paths: Vec<(u64, PathId)>,
}

/// Items of the policies, policy by policy.
#[derive(Debug)]
struct ByPolicy<T> {
    items: Vec<T>,
    /// Where those of each policy end.
    ends: Vec<u32>,
}

impl<T: Copy> ByPolicy<T> {
    fn new(policies: usize, pairs: impl Iterator<Item = (PolicyId, T)>) -> Self {
        let mut pairs: Vec<(PolicyId, T)> = pairs.collect();
        pairs.sort_by_key(|(policy, _)| *policy);
        let mut ends = vec![0; policies];
        for (end, (policy, _)) in (1..).zip(&pairs) {
            if let Some(slot) = ends.get_mut(policy.0 as usize) {
                *slot = end;
            }
        }
        // A policy without items ends where the one before it does.
        let mut last = 0;
        for end in &mut ends {
            last = last.max(*end);
            *end = last;
        }
        Self { items: pairs.into_iter().map(|(_, item)| item).collect(), ends }
    }

    fn of(&self, policy: PolicyId) -> &[T] {
        let end = |id: u32| self.ends.get(id as usize).map_or(0, |end| *end as usize);
        let start = policy.0.checked_sub(1).map_or(0, end);
        self.items.get(start..end(policy.0)).unwrap_or(&[])
    }
}

impl Resolution {
    /// Makes what changes and questions are looked up in, so that the first who asks need not wait.
    pub fn prepare(&self) {
        self.index();
        self.by_object();
        self.paths.prepare();
    }

    /// The ladders that have a policy, and that some path has, in the order of folding.
    pub fn ladders_of(&self, policy: PolicyId) -> &[LadderId] {
        self.index().ladders.of(policy)
    }

    /// The steps of a policy, whether a ladder has them or not.
    pub fn steps_of(&self, policy: PolicyId) -> &[StepId] {
        self.index().steps.of(policy)
    }

    /// The groups that have a policy and are kept for a node, whether a ladder has them or not.
    pub fn kept_of(&self, policy: PolicyId) -> &[LadderId] {
        self.index().kept.get(&policy).map_or(&[], Vec::as_slice)
    }

    /// The ladders that have one of these policies, and that some path has, by id.
    pub(super) fn ladders_of_all<'p>(
        &self,
        policies: impl IntoIterator<Item = &'p PolicyId>,
    ) -> Vec<LadderId> {
        let theirs = policies.into_iter().flat_map(|policy| self.ladders_of(*policy));
        let mut ladders: Vec<LadderId> = theirs.copied().collect();
        ladders.sort_unstable();
        ladders.dedup();
        ladders
    }

    /// The groups on these ladders, and those with one of these policies that are kept for a node, by id.
    pub(super) fn groups_of_all<'p>(
        &self,
        policies: impl IntoIterator<Item = &'p PolicyId>,
        ladders: &[LadderId],
    ) -> Vec<LadderId> {
        let rungs = ladders.iter().flat_map(|ladder| self.ladders.rungs(*ladder));
        let inner = rungs.filter_map(|rung| match rung {
            Rung::Group(group) => Some(group),
            Rung::Step(_) => None,
        });
        let kept = policies.into_iter().flat_map(|policy| self.kept_of(*policy)).copied();
        let mut groups: Vec<LadderId> = inner.chain(kept).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// How many paths have a ladder.
    pub fn uses_of(&self, ladder: LadderId) -> u64 {
        self.index().paths.get(ladder.0 as usize).map_or(0, |(uses, _)| *uses)
    }

    /// The first path that has a ladder.
    pub fn first_path_of(&self, ladder: LadderId) -> Option<PathId> {
        let paths = self.index().paths.get(ladder.0 as usize)?;
        Some(paths.1).filter(|_| paths.0 > 0)
    }

    fn index(&self) -> &Index {
        self.fixed.index.get_or_init(|| {
            let policies = self.fixed.policies.len();
            let order = self.order();
            let of_ladder = |ladder: LadderId| {
                self.policies_on(ladder).into_iter().map(move |policy| (policy, ladder))
            };
            let steps = (0..).map(StepId).zip(self.ladders.all_steps());
            let mut kept: BTreeMap<PolicyId, Vec<LadderId>> = BTreeMap::new();
            for (policy, group) in self.kept().flat_map(|(_, group)| of_ladder(group)) {
                let known = kept.entry(policy).or_default();
                if !known.contains(&group) {
                    known.push(group);
                }
            }
            Index {
                ladders: ByPolicy::new(policies, order.into_iter().flat_map(of_ladder)),
                steps: ByPolicy::new(policies, steps.map(|(id, step)| (step.policy, id))),
                kept,
                paths: self.paths_by_ladder(),
            }
        })
    }

    fn paths_by_ladder(&self) -> Vec<(u64, PathId)> {
        let mut found = vec![(0, PathId(u32::MAX)); self.ladders.len()];
        for (path, ladder) in self.fixed.kinds.iter().flat_map(|kind| kind.ladders.iter()) {
            if let Some((uses, first)) = found.get_mut(ladder.0 as usize) {
                *uses += 1;
                *first = path.min(*first);
            }
        }
        found
    }

    /// The ladders in the order of folding.
    fn order(&self) -> Vec<LadderId> {
        let mut order = vec![LadderId::EMPTY; self.folded.len()];
        for (ladder, place) in (0..).map(LadderId).zip(&self.fixed.places) {
            if let Some(slot) = order.get_mut(*place as usize) {
                *slot = ladder;
            }
        }
        order
    }

    /// The policies that have steps on a ladder or group, each once.
    fn policies_on(&self, ladder: LadderId) -> SmallVec<[PolicyId; 8]> {
        let steps = self.ladders.steps(ladder).into_iter();
        let mut found = SmallVec::new();
        for policy in steps.filter_map(|s| self.ladders.get_step(s)).map(|s| s.policy) {
            if !found.contains(&policy) {
                found.push(policy);
            }
        }
        found
    }
}
