// SPDX-License-Identifier: Apache-2.0
//! In: a resolution, and a few steps that say something else now. Out: the new resolution, sharing everything with the
//! one before but the ladders that have these steps. Not here: whether policies still land and rank as they did.
//!
//! The cost is that of the ladders: an index leads from a policy to those that have it.

use std::sync::Arc;

use hashbrown::HashSet;
use overrule_source::Documents;
use smallvec::SmallVec;

use super::{Attachment, Rejection, Resolution};
use crate::folded::{self, Folded, OnLadder, Outcomes};
use crate::outcome::Counts;
use crate::{Algebra, LadderId, Ladders, Outcome, PolicyId, Step, StepId, Tally};

/// So many ladders are kept beside those of the resolution before; of more, new lists are made.
const FEW: usize = 256;

/// What some policies say now.
#[derive(Debug, Clone, Default)]
pub struct NewSteps {
    /// Their steps, where they stood.
    pub steps: Vec<(StepId, Step)>,
    /// Their attachments, by place: references are written elsewhere now.
    pub attachments: Vec<(usize, Attachment)>,
    /// Their rejections, by place, if they were refused as a whole and still are.
    pub rejections: Vec<(usize, Rejection)>,
    /// The ladders to be folded again, by id.
    ladders: Vec<LadderId>,
    /// Groups on them or kept for a node that have one of the policies themselves, by id.
    groups: Vec<LadderId>,
}

impl NewSteps {
    /// What changes in a resolution, and so which ladders and groups are to be folded again.
    pub fn on(
        before: &Resolution,
        steps: Vec<(StepId, Step)>,
        attachments: Vec<(usize, Attachment)>,
        rejections: Vec<(usize, Rejection)>,
    ) -> Self {
        let mut policies: Vec<PolicyId> = steps.iter().map(|(_, s)| s.policy).collect();
        policies.dedup();
        let ladders = before.ladders_of_all(&policies);
        let mut groups = before.groups_of_all(&policies, &ladders);
        let is_changed = |step: &StepId| {
            before.ladders.get_step(*step).is_some_and(|step| policies.contains(&step.policy))
        };
        groups.retain(|group| before.ladders.steps(*group).iter().any(is_changed));
        Self { steps, attachments, rejections, ladders, groups }
    }
}

impl Resolution {
    /// The same resolution in which some steps say something else: folds the ladders and groups that have one of them.
    /// Gives these ladders, too, in order.
    pub fn refolded(
        &self,
        new: &NewSteps,
        documents: &Documents,
        algebra: &impl Algebra,
    ) -> Option<(Self, Vec<LadderId>)> {
        self.refolded_by(new, documents, algebra, |ladders, order| {
            folded::fold(documents, ladders, algebra, order, [])
        })
    }

    /// The same on all threads there are, if there are many ladders, for families without groups on ladders.
    pub fn refolded_in_parallel(
        &self,
        new: &NewSteps,
        documents: &Documents,
        algebra: &(impl Algebra + Sync),
    ) -> Option<(Self, Vec<LadderId>)> {
        self.refolded_by(new, documents, algebra, |ladders, order| {
            folded::fold_in_parallel(documents, ladders, algebra, order)
        })
    }

    fn refolded_by(
        &self,
        new: &NewSteps,
        documents: &Documents,
        algebra: &impl Algebra,
        fold_many: impl FnOnce(&Ladders, &[LadderId]) -> Folded,
    ) -> Option<(Self, Vec<LadderId>)> {
        let mut now = Self { ladders: self.ladders.with(&new.steps), ..self.clone() };
        for (at, attachment) in &new.attachments {
            now.attachments.set(*at, *attachment);
        }
        for (at, rejection) in &new.rejections {
            now.rejections.set(*at, *rejection);
        }
        let NewSteps { mut ladders, groups, .. } = new.clone();
        let many = ladders.len() > FEW;
        let folded = if many {
            // As in a whole resolution: documents that are near each other are read together.
            ladders.sort_unstable_by_key(|ladder| self.place(*ladder));
            let kept = groups.iter().copied();
            let mut folded = fold_many(&now.ladders, &ladders);
            folded.groups.extend(folded::fold(documents, &now.ladders, algebra, &[], kept).groups);
            folded
        } else {
            // What they begin with holds, unless it is one of them.
            let holds =
                |id| ladders.binary_search(&id).is_err().then(|| self.effective(id)).flatten();
            let kept = groups.iter().copied();
            folded::fold_on(documents, &now.ladders, algebra, &ladders, kept, &holds)
        };
        let places: Option<Vec<usize>> = ladders.iter().map(|ladder| self.place(*ladder)).collect();
        now.put(&ladders, &places?, &groups, folded, many);
        ladders.sort_unstable();
        Some((now, ladders))
    }

    /// The steps on all ladders and groups that have one of these.
    pub(super) fn steps_with(&self, new: &NewSteps) -> HashSet<StepId> {
        new.ladders.iter().chain(&new.groups).flat_map(|id| self.ladders.steps(*id)).collect()
    }

    /// Puts results in the places of those they were.
    fn put(
        &mut self,
        ladders: &[LadderId],
        places: &[usize],
        groups: &[LadderId],
        folded: Folded,
        many: bool,
    ) {
        if many {
            self.folded.edit();
            self.groups.edit();
            self.tallies.edit();
        }
        let Folded { effectives, outcomes, groups: mut results, .. } = folded;
        for group in groups {
            if let (Some(place), Some(result)) =
                (self.place_of_group(*group), results.remove(group))
            {
                self.groups.set(place, (*group, Arc::new(result)));
            }
        }
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
            for (place, outcomes) in fresh {
                let known = self.other_outcomes.binary_search_by_key(&place, |(at, _)| *at);
                match known.map(|known| self.other_outcomes.get_mut(known)) {
                    Ok(Some((_, known))) => *known = outcomes.into(),
                    Ok(None) => {}
                    Err(at) => self.other_outcomes.insert(at, (place, outcomes.into())),
                }
            }
        }
    }

    /// Counts other outcomes on a ladder, instead of those it has.
    fn retally(&mut self, ladder: LadderId, outcomes: &OnLadder) {
        let paths = self.uses_of(ladder);
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

    /// Gives up sharing vectors with other resolutions if more than a few items differ, so that items are found as quickly
    /// as in any vector.
    pub fn compact(&mut self) {
        self.ladders.compact();
        self.attachments.compact();
        self.rejections.compact();
        self.folded.compact();
        self.groups.compact();
        self.tallies.compact();
        if self.other_outcomes.len() > FEW {
            let others = std::mem::take(&mut self.other_outcomes);
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
        let other = self.other_outcomes.binary_search_by_key(&place, |(at, _)| *at).ok();
        let other = other.and_then(|other| self.other_outcomes.get(other));
        other.map_or_else(|| self.outcomes.at(place), |(_, outcomes)| outcomes)
    }
}
