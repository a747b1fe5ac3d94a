// SPDX-License-Identifier: Apache-2.0
//! In: ladders in the order of folding. Out: the result of each and what became of its policies, on one thread or on
//! several. Not here: how one ladder is folded (`fold.rs`), which ladders there are (`resolution.rs`).
//!
//! Ladders do not depend on each other, so several threads take a run of them each. Results are put together in the order
//! of the ladders, whoever made them: they are the same for every number of threads.

use std::collections::BTreeMap;

use overrule_source::Documents;
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::fold::{Algebra, AtHand};
use crate::outcome::Counts;
use crate::{Effective, Fold, LadderId, Ladders, Outcome, PolicyId, Tally};

/// Fewer ladders than this are not worth a thread: each run folds beginnings of ladders for itself.
const RUN: usize = 2_048;

/// What folding gave.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    /// Results in the order of folding.
    pub(crate) effectives: Vec<Effective>,
    pub(crate) outcomes: Outcomes,
    pub(crate) folds: u64,
    pub(crate) by_spec: Vec<u64>,
    pub(crate) groups: BTreeMap<LadderId, Effective>,
}

/// The outcomes of the policies on one ladder.
pub(crate) type OnLadder = [(PolicyId, Outcome)];

/// The outcomes of policies on ladders, by place of the ladder.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Outcome of each policy on each ladder, one after another.
    list: Vec<(PolicyId, Outcome)>,
    /// Where the outcomes of each place end.
    ends: Vec<u32>,
}

/// Folds ladders on this thread, and groups that no ladder may have.
pub(crate) fn fold<A: Algebra>(
    documents: &Documents,
    ladders: &Ladders,
    algebra: &A,
    order: &[LadderId],
    kept: impl IntoIterator<Item = LadderId>,
) -> Folded {
    let mut fold = Fold::new(documents, ladders, algebra);
    fold.expect(order);
    let mut folded = each(&mut fold, ladders, order);
    kept.into_iter().for_each(|group| fold.keep(group));
    (folded.folds, folded.by_spec) = (fold.folds, std::mem::take(&mut fold.by_spec));
    folded.groups = fold.into_groups();
    folded
}

/// Folds ladders one by one.
fn each<A: Algebra>(fold: &mut Fold<'_, A>, ladders: &Ladders, order: &[LadderId]) -> Folded {
    let mut folded = Folded {
        effectives: Vec::with_capacity(order.len()),
        outcomes: Outcomes::with_capacity(order.len(), order.len() * 2),
        ..Folded::default()
    };
    for ladder in order {
        let effective = fold.ladder(*ladder);
        folded.outcomes.add(&policy_outcomes(ladders, *ladder, &effective));
        folded.effectives.push(effective);
    }
    folded
}

/// Folds a few ladders, from those they begin with where these are at hand, and groups.
pub(crate) fn fold_on<'a, A: Algebra>(
    documents: &'a Documents,
    ladders: &'a Ladders,
    algebra: &'a A,
    order: &[LadderId],
    kept: impl IntoIterator<Item = LadderId>,
    at_hand: AtHand<'a>,
) -> Folded {
    let mut fold = Fold::new(documents, ladders, algebra).with(at_hand);
    let mut folded = each(&mut fold, ladders, order);
    kept.into_iter().for_each(|group| fold.keep(group));
    folded.groups = fold.into_groups();
    folded
}

/// [`fold`] on all threads there are, for ladders without groups: a group on several of them would be folded by several
/// threads.
pub(crate) fn fold_in_parallel<A: Algebra + Sync>(
    documents: &Documents,
    ladders: &Ladders,
    algebra: &A,
    order: &[LadderId],
) -> Folded {
    let threads = rayon::current_num_threads();
    // Several runs for each thread, so that none of them waits long for the others.
    let run = order.len().div_ceil(threads * 4).max(RUN);
    if threads == 1 || order.len() <= run {
        return fold(documents, ladders, algebra, order, []);
    }
    let runs: Vec<Folded> =
        order.par_chunks(run).map(|run| fold(documents, ladders, algebra, run, [])).collect();
    let outcomes = runs.iter().map(|run| run.outcomes.list.len()).sum();
    let mut all = Folded {
        effectives: Vec::with_capacity(order.len()),
        outcomes: Outcomes::with_capacity(order.len(), outcomes),
        ..Folded::default()
    };
    runs.into_iter().for_each(|run| all.append(run));
    all
}

impl Folded {
    fn append(&mut self, run: Self) {
        self.outcomes.append(run.outcomes);
        self.effectives.extend(run.effectives);
        self.folds += run.folds;
        if self.by_spec.len() < run.by_spec.len() {
            self.by_spec.resize(run.by_spec.len(), 0);
        }
        self.by_spec.iter_mut().zip(run.by_spec).for_each(|(sum, n)| *sum += n);
        self.groups.extend(run.groups);
    }
}

impl Outcomes {
    pub(crate) fn with_capacity(ladders: usize, outcomes: usize) -> Self {
        Self { list: Vec::with_capacity(outcomes), ends: Vec::with_capacity(ladders) }
    }

    /// How many there are, on all ladders.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    fn append(&mut self, next: Self) {
        let before = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.ends.extend(next.ends.into_iter().map(|end| end.saturating_add(before)));
        self.list.extend(next.list);
    }

    /// Gives back room that was held for more.
    pub(crate) fn shrink(&mut self) {
        self.list.shrink_to_fit();
    }

    /// The outcomes of the policies on the ladder of a place.
    pub(crate) fn at(&self, place: usize) -> &OnLadder {
        let Some(end) = self.ends.get(place) else { return &[] };
        let before = place.checked_sub(1).and_then(|p| self.ends.get(p));
        let start = before.map_or(0, |end| *end as usize);
        self.list.get(start..*end as usize).unwrap_or(&[])
    }

    /// Adds the outcomes of the next ladder.
    pub(crate) fn add(&mut self, outcomes: &OnLadder) {
        self.list.extend_from_slice(outcomes);
        self.ends.push(u32::try_from(self.list.len()).unwrap_or(u32::MAX));
    }

    /// Outcomes of each policy, counted over the paths that have each ladder.
    pub(crate) fn tallies(&self, order: &[LadderId], uses: &[u64], policies: usize) -> Vec<Counts> {
        let mut tallies = vec![Tally::default(); policies];
        let mut start = 0;
        for (ladder, end) in order.iter().zip(&self.ends) {
            let paths = uses.get(ladder.0 as usize).copied().unwrap_or(0);
            let end = *end as usize;
            for (policy, outcome) in self.list.get(start..end).unwrap_or(&[]) {
                if let Some(tally) = tallies.get_mut(policy.0 as usize) {
                    tally.add(*outcome, paths);
                }
            }
            start = end;
        }
        tallies.into_iter().map(Counts::from).collect()
    }
}

/// Outcome of each policy on a ladder; a policy with several steps is judged over all of them.
fn policy_outcomes(
    ladders: &Ladders,
    ladder: LadderId,
    effective: &Effective,
) -> SmallVec<[(PolicyId, Outcome); 4]> {
    let mut by_policy: SmallVec<[(PolicyId, Tally); 4]> = SmallVec::new();
    let steps = ladders.steps(ladder);
    for (step, outcome) in steps.iter().zip(effective.outcomes(ladders, &steps)) {
        let Some(policy) = ladders.get_step(*step).map(|s| s.policy) else { continue };
        match by_policy.iter_mut().find(|(p, _)| *p == policy) {
            Some((_, tally)) => tally.add(outcome, 1),
            None => {
                let mut tally = Tally::default();
                tally.add(outcome, 1);
                by_policy.push((policy, tally));
            }
        }
    }
    by_policy.into_iter().map(|(policy, tally)| (policy, tally.outcome())).collect()
}
