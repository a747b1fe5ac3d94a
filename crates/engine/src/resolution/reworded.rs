// SPDX-License-Identifier: Apache-2.0
//! In: a resolution, and a few steps that say something else now. Out: the resolution of today, sharing everything with the
//! one before but the ladders that have these steps. Not here: whether policies still land and rank as they did.
//!
//! The cost is that of the ladders: an index leads from a policy to those that have it.

use std::sync::Arc;

use overrule_source::Documents;
use smallvec::SmallVec;

use super::builder::uses;
use super::{Attachment, Resolution};
use crate::folded::policy_outcomes;
use crate::outcome::Counts;
use crate::{Algebra, Fold, LadderId, PolicyId, Step, StepId, Tally};

/// Which ladders have a policy, and how many paths have a ladder.
#[derive(Debug)]
pub(super) struct Users {
    /// Ladders of the policies, policy by policy.
    ladders: Vec<LadderId>,
    /// Where those of each policy end.
    ends: Vec<u32>,
    paths: Vec<u64>,
}

/// Ladders that may differ from those of the resolution before.
const FEW: usize = 256;

/// What some policies say now.
#[derive(Debug, Clone, Default)]
pub struct Reworded {
    /// Their steps, where they stood.
    pub steps: Vec<(StepId, Step)>,
    /// Their attachments, by place: references are written elsewhere now.
    pub attachments: Vec<(usize, Attachment)>,
}

impl Resolution {
    /// Makes the index that [`Resolution::ladders_of`] needs, so that the first who asks need not wait.
    pub fn index(&self) {
        self.users();
    }

    /// The ladders that have a policy, and that some path has.
    pub fn ladders_of(&self, policy: PolicyId) -> &[LadderId] {
        let Users { ladders, ends, .. } = self.users();
        let end = |id: u32| ends.get(id as usize).map_or(0, |end| *end as usize);
        let start = policy.0.checked_sub(1).map_or(0, end);
        ladders.get(start..end(policy.0)).unwrap_or(&[])
    }

    /// Folds the ladders that have one of these steps again. None for a family with groups on its ladders, and if these
    /// are many: what differs is looked for one by one.
    pub fn reworded<A: Algebra>(
        &self,
        words: &Reworded,
        documents: &Documents,
        algebra: &A,
    ) -> Option<Self> {
        if !self.is_flat() {
            return None;
        }
        let mut policies: Vec<PolicyId> = words.steps.iter().map(|(_, s)| s.policy).collect();
        policies.dedup();
        let theirs = policies.iter().flat_map(|policy| self.ladders_of(*policy));
        let mut ladders: Vec<LadderId> = theirs.copied().collect();
        ladders.sort_unstable();
        ladders.dedup();
        if ladders.len() > FEW {
            return None;
        }
        let mut now = Self { ladders: self.ladders.with(&words.steps), ..self.clone() };
        for (at, attachment) in &words.attachments {
            now.attachments.set(*at, *attachment);
        }
        let mut made = Vec::with_capacity(ladders.len());
        // What they begin with holds, unless it is one of them.
        let holds = |id| ladders.binary_search(&id).is_err().then(|| self.effective(id)).flatten();
        let mut fold = Fold::new(documents, &now.ladders, algebra).with(&holds);
        for ladder in &ladders {
            let effective = fold.ladder(*ladder);
            let outcomes = policy_outcomes(&now.ladders, *ladder, &effective);
            made.push((*ladder, effective, outcomes));
        }
        for (ladder, effective, outcomes) in made {
            let place = self.place(ladder)?;
            let paths = self.users().paths.get(ladder.0 as usize).copied().unwrap_or(0);
            for (policy, outcome) in self.outcomes(ladder) {
                now.retally(*policy, |tally| tally.remove(*outcome, paths));
            }
            for (policy, outcome) in &outcomes {
                now.retally(*policy, |tally| tally.add(*outcome, paths));
            }
            now.folded.set(place, Arc::new(effective));
            let place = u32::try_from(place).ok()?;
            now.other_outcomes.retain(|(at, _)| *at != place);
            now.other_outcomes.push((place, outcomes.into_vec().into()));
        }
        Some(now)
    }

    fn retally(&mut self, policy: PolicyId, change: impl FnOnce(&mut Tally)) {
        let mut tally = self.tally(policy);
        change(&mut tally);
        self.tallies.set(policy.0 as usize, Counts::from(tally));
    }

    fn users(&self) -> &Users {
        self.fixed.users.get_or_init(|| {
            let order = self.order();
            let mut ends = vec![0_u32; self.fixed.policies.len()];
            for policy in order.iter().flat_map(|ladder| self.policies_on(*ladder)) {
                ends.iter_mut().skip(policy.0 as usize).take(1).for_each(|count| *count += 1);
            }
            // Those of a policy begin where those of the policy before it end.
            let mut total = 0;
            for end in &mut ends {
                (*end, total) = (total, total + *end);
            }
            let mut ladders = vec![LadderId::EMPTY; total as usize];
            for ladder in order {
                for policy in self.policies_on(ladder) {
                    let Some(next) = ends.get_mut(policy.0 as usize) else { continue };
                    ladders.iter_mut().skip(*next as usize).take(1).for_each(|slot| *slot = ladder);
                    *next += 1;
                }
            }
            Users { ladders, ends, paths: uses(&self.ladders, &self.fixed.kinds) }
        })
    }

    /// The policies that have steps on a ladder, each once.
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
