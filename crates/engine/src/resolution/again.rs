// SPDX-License-Identifier: Apache-2.0
//! In: a resolution, and the same policies of which some say something else now. Out: the resolution of today, in which
//! every ladder without them keeps its result. Not here: policies that come, go, or land elsewhere; then all is made anew.

use std::sync::Arc;

use overrule_source::Documents;

use super::builder::uses;
use super::{Fixed, KindResult, Resolution, ResolutionBuilder};
use crate::folded::{self, Outcomes};
use crate::{Algebra, LadderId, Ladders, PolicyId, Rung};

impl Resolution {
    /// Folds the ladders that have a step of a changed policy, and no other. `today` is what a family knows before it
    /// enumerates paths, of which the topology must be as it was. None if more changed than what policies say: who they
    /// are, where they land and how they rank.
    pub fn again<A: Algebra + Sync>(
        &self,
        today: &ResolutionBuilder,
        changed: &dyn Fn(PolicyId) -> bool,
        documents: &Documents,
        algebra: &A,
    ) -> Option<Self> {
        if !self.is_like(today) {
            return None;
        }
        let ladders = self.ladders.with_steps(&today.ladders)?;
        let order = self.order();
        let anew = having(&ladders, &order, changed);
        let to_fold: Vec<LadderId> =
            order.iter().zip(&anew).filter(|(_, anew)| **anew).map(|(ladder, _)| *ladder).collect();
        let mut folded = folded::fold_in_parallel(documents, &ladders, algebra, &to_fold);
        let mut fresh = std::mem::take(&mut folded.effectives).into_iter().enumerate();
        let mut outcomes = Outcomes::default();
        let mut results = Vec::with_capacity(order.len());
        for ((ladder, before), anew) in order.iter().zip(&self.folded).zip(anew) {
            match anew.then(|| fresh.next()).flatten() {
                Some((place, effective)) => {
                    outcomes.add(folded.outcomes.at(place));
                    results.push(Arc::new(effective));
                }
                None => {
                    outcomes.add(self.outcomes(*ladder));
                    results.push(Arc::clone(before));
                }
            }
        }
        let Fixed { kinds, policies, .. } = &*self.fixed;
        let uses = uses(&ladders, kinds);
        Some(Self {
            tallies: outcomes.tallies(&order, &uses, policies.len()).into(),
            ladders,
            attachments: today.attachments.clone().into(),
            rejections: today.rejections.clone().into(),
            folded: results.into(),
            outcomes: Arc::new(outcomes),
            other_outcomes: Vec::new(),
            paths: Arc::clone(&self.paths),
            fixed: Arc::clone(&self.fixed),
        })
    }

    /// Whether policies are the same, land where they did and rank as they did, in a family without groups and failures.
    fn is_like(&self, today: &ResolutionBuilder) -> bool {
        let kind = |k: &KindResult| (k.group, k.kind, k.profile, k.implicit);
        self.is_flat()
            && self.fixed.kinds.iter().map(kind).eq(today.kinds.iter().map(kind))
            && self.fixed.policies == today.policies
            && self.fixed.ranks == today.ranks
            && self.attachments.iter().map(landed).eq(today.attachments.iter().map(landed))
            && self.rejections.iter().map(refused).eq(today.rejections.iter().map(refused))
    }

    /// Whether the family has neither groups nor failures.
    pub(super) fn is_flat(&self) -> bool {
        let Fixed { groups, kept, failures, .. } = &*self.fixed;
        groups.is_empty() && kept.is_empty() && failures.is_empty()
    }

    /// The ladders in the order of folding.
    pub(super) fn order(&self) -> Vec<LadderId> {
        let mut order = vec![LadderId::EMPTY; self.folded.len()];
        for (ladder, place) in (0..).map(LadderId).zip(&self.fixed.places) {
            if let Some(slot) = order.get_mut(*place as usize) {
                *slot = ladder;
            }
        }
        order
    }
}

/// Which of the ladders have a step of some policies.
fn having(ladders: &Ladders, order: &[LadderId], policies: &dyn Fn(PolicyId) -> bool) -> Vec<bool> {
    let theirs: Vec<bool> = ladders.all_steps().map(|step| policies(step.policy)).collect();
    let has = |rung: &Rung| match rung {
        Rung::Step(step) => theirs.get(step.0 as usize) == Some(&true),
        Rung::Group(_) => true,
    };
    order.iter().map(|ladder| ladders.get(*ladder).rungs.iter().any(has)).collect()
}

fn landed(a: &super::Attachment) -> (PolicyId, u32, crate::NodeId) {
    (a.policy, a.reference, a.node)
}

fn refused(r: &super::Rejection) -> (PolicyId, u32, &'static str) {
    (r.policy, r.reference, r.reason.id)
}
