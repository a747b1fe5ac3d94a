// SPDX-License-Identifier: Apache-2.0
//! In: a resolution, and a few steps that say something else now. Out: the resolution of today, sharing everything with the
//! one before but the ladders that have these steps. Not here: whether policies still land and rank as they did.
//!
//! The cost is that of the ladders: an index leads from a policy to those that have it.

use std::sync::Arc;

use overrule_source::Documents;
use smallvec::SmallVec;

use super::builder::uses;
use super::{Attachment, Fixed, Resolution};
use crate::folded::{self, Folded, OnLadder, Outcomes};
use crate::outcome::Counts;
use crate::{Algebra, LadderId, Outcome, PolicyId, Step, StepId, Tally};

/// Which ladders have a policy, and how many paths have a ladder.
#[derive(Debug)]
pub(super) struct Users {
    /// Ladders of the policies, policy by policy.
    ladders: Vec<LadderId>,
    /// Where those of each policy end.
    ends: Vec<u32>,
    paths: Vec<u64>,
}

/// So many ladders are kept beside those of the resolution before; of more, new lists are made.
const FEW: usize = 256;
/// So many outcomes may be looked for one by one for as long as a resolution is asked about.
const FEW_OTHERS: usize = 4;

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

    /// Folds the ladders that have one of these steps again. Gives these, too, in order. None for a family with groups on
    /// its ladders.
    pub fn reworded<A: Algebra + Sync>(
        &self,
        words: &Reworded,
        documents: &Documents,
        algebra: &A,
    ) -> Option<(Self, Vec<LadderId>)> {
        if !self.is_flat() {
            return None;
        }
        let mut now = Self { ladders: self.ladders.with(&words.steps), ..self.clone() };
        for (at, attachment) in &words.attachments {
            now.attachments.set(*at, *attachment);
        }
        let mut policies: Vec<PolicyId> = words.steps.iter().map(|(_, s)| s.policy).collect();
        policies.dedup();
        let theirs = policies.iter().flat_map(|policy| self.ladders_of(*policy));
        let mut ladders: Vec<LadderId> = theirs.copied().collect();
        ladders.sort_unstable();
        ladders.dedup();
        let many = ladders.len() > FEW;
        let folded = if many {
            // As in a whole resolution: documents that are near each other are read together.
            ladders.sort_unstable_by_key(|ladder| self.place(*ladder));
            folded::fold_in_parallel(documents, &now.ladders, algebra, &ladders)
        } else {
            // What they begin with holds, unless it is one of them.
            let holds =
                |id| ladders.binary_search(&id).is_err().then(|| self.effective(id)).flatten();
            folded::fold_on(documents, &now.ladders, algebra, &ladders, &holds)
        };
        let places: Option<Vec<usize>> = ladders.iter().map(|ladder| self.place(*ladder)).collect();
        now.put(&ladders, &places?, folded, many);
        ladders.sort_unstable();
        Some((now, ladders))
    }

    /// Puts results in the places of those they were.
    fn put(&mut self, ladders: &[LadderId], places: &[usize], folded: Folded, many: bool) {
        if many {
            self.folded.edit();
            self.tallies.edit();
        }
        let Folded { effectives, outcomes, .. } = folded;
        for (at, ladder) in ladders.iter().enumerate() {
            self.retally(*ladder, outcomes.at(at));
        }
        for (place, effective) in places.iter().zip(effectives) {
            self.folded.set(*place, Arc::new(effective));
        }
        let fresh = places.iter().enumerate().map(|(at, place)| (*place, outcomes.at(at)));
        if many {
            self.outcomes = Arc::new(self.with_outcomes(fresh));
            self.other_outcomes.clear();
        } else {
            self.other_outcomes.retain(|(at, _)| !places.contains(at));
            let others = fresh.map(|(place, outcomes)| (place, outcomes.into()));
            self.other_outcomes.extend(others);
        }
    }

    /// Counts other outcomes on a ladder, instead of those it has.
    fn retally(&mut self, ladder: LadderId, outcomes: &OnLadder) {
        let paths = self.users().paths.get(ladder.0 as usize).copied().unwrap_or(0);
        // Most policies fare as they did.
        let before: SmallVec<[(PolicyId, Outcome); 4]> = self.outcomes(ladder).into();
        if *before == *outcomes {
            return;
        }
        let mut change = |policy: PolicyId, change: &dyn Fn(&mut Tally)| {
            let mut tally = self.tally(policy);
            change(&mut tally);
            self.tallies.set(policy.0 as usize, Counts::from(tally));
        };
        for (policy, outcome) in before {
            change(policy, &|tally| tally.remove(outcome, paths));
        }
        for (policy, outcome) in outcomes {
            change(*policy, &|tally| tally.add(*outcome, paths));
        }
    }

    /// Gives up sharing lists with other resolutions if more than a few items differ, so that items are found as quickly
    /// as in any list.
    pub fn settle(&mut self) {
        self.ladders.settle();
        self.attachments.settle();
        self.folded.settle();
        self.tallies.settle();
        if self.other_outcomes.len() > FEW_OTHERS {
            let mut others = std::mem::take(&mut self.other_outcomes);
            others.sort_unstable_by_key(|(place, _)| *place);
            let others = others.iter().map(|(place, outcomes)| (*place, &**outcomes));
            self.outcomes = Arc::new(self.with_outcomes(others));
        }
    }

    /// The outcomes of all places, with others at some, which are in order.
    fn with_outcomes<'a>(
        &'a self,
        others: impl Iterator<Item = (usize, &'a OnLadder)>,
    ) -> Outcomes {
        let mut others = others.peekable();
        let mut all = Outcomes::with_capacity(self.folded.len(), self.outcomes.len());
        for place in 0..self.folded.len() {
            let other = others.next_if(|(at, _)| *at == place);
            all.add(other.map_or_else(|| self.outcomes_at(place), |(_, outcomes)| outcomes));
        }
        all
    }

    /// What became of each policy on the ladder of a place.
    pub(super) fn outcomes_at(&self, place: usize) -> &OnLadder {
        let other = self.other_outcomes.iter().find(|(at, _)| *at == place);
        other.map_or_else(|| self.outcomes.at(place), |(_, outcomes)| outcomes)
    }

    /// Whether the family has neither groups nor failures.
    fn is_flat(&self) -> bool {
        let Fixed { groups, kept, failures, .. } = &*self.fixed;
        groups.is_empty() && kept.is_empty() && failures.is_empty()
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
