// SPDX-License-Identifier: Apache-2.0
//! In: a ladder and a family's algebra. Out: the [`Effective`] value, everything that lost, and a log of each step.
//! Not here: which ladder belongs to which path (`resolution.rs`).

use std::collections::BTreeMap;

use overrule_source::{Documents, NodeRef};
use smallvec::SmallVec;

use crate::merge::{Combine, Merger, Prefer};
use crate::{
    Fate, Group, LadderId, Ladders, MergePlan, Outcome, Reason, Rung, Step, StepId, Traced, reason,
};

/// What to do with an admitted rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// What is in force stays, whole.
    Keep,
    /// What comes replaces it, whole.
    ReplaceAll,
    /// What comes is taken only if nothing is in force.
    FillIfEmpty,
    /// Both, by the plan.
    Merge(Prefer),
    /// Both as they are: a conflict that nobody detects. The value held is shown, what comes stands beside it.
    Beside,
}

/// A family's decision about a rung.
#[derive(Debug, Clone, Copy)]
pub enum Action<'p> {
    /// A guard keeps it out.
    Skip(Reason),
    /// It contributes no value, only state (a policy that holds nothing but a removal list), or nothing at all.
    Pass(Reason),
    /// It takes part.
    Apply {
        /// How.
        op: Op,
        /// By which plan, for [`Op::Merge`].
        plan: &'p MergePlan,
        /// Why the losing side loses.
        reason: Reason,
    },
    /// It is broken, and so is the target: it fails closed.
    Poison(Reason),
}

/// A rung as an algebra meets it.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The group it is a rung of.
    pub group: &'a Group,
    /// The rung.
    pub rung: Rung,
    /// Its step; absent when the rung is a group.
    pub step: Option<(StepId, &'a Step)>,
    /// The inner group; absent when the rung is a step.
    pub inner: Option<&'a Group>,
}

/// What a guard found, for explanations.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The step it guards.
    pub step: StepId,
    /// Whether the step may take part.
    pub verdict: Guard,
    /// Why it failed; empty if it did not.
    pub error: Box<str>,
    /// What it looked at.
    pub saw: Vec<Seen>,
}

/// A value a guard looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Where, as the guard has it: `spec.limits.a`.
    pub path: Box<str>,
    /// The value as JSON text; none if nothing is there.
    pub json: Option<Box<str>>,
}

/// The answer of a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The condition holds.
    Met,
    /// It does not.
    NotMet,
    /// It could not be evaluated.
    Failed,
}

/// What a family brings to the fold: guard, filter and operation of each step, with state of its own.
pub trait Algebra: Combine {
    /// What is carried from step to step (removals gathered, the strategy that governs).
    type State: Default;

    /// Whether the group is folded from its last rung to its first.
    fn bottom_up(&self, _group: &Group) -> bool {
        false
    }

    /// Guard and operation, given what is held. What a guard looked at is recorded in `checks`.
    fn decide(
        &self,
        state: &mut Self::State,
        turn: &Turn<'_>,
        held: Option<&Traced>,
        checks: &mut Vec<Check>,
    ) -> Action<'_>;

    /// Filter: takes parts out of what comes, recording them as losses through `lose`.
    fn filter(
        &self,
        _state: &mut Self::State,
        _turn: &Turn<'_>,
        incoming: Traced,
        _lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        Some(incoming)
    }

    /// Called after a rung took part or was skipped.
    fn after(&self, _state: &mut Self::State, _turn: &Turn<'_>) {}

    /// Called once a whole ladder is folded: masks slots a built-in took, sorts entries by match, adds implied values.
    fn finish(&self, _ladder: &Group, _effective: &mut Effective) {}

    /// Whether a value counts as nothing, for [`Op::FillIfEmpty`].
    fn is_empty(&self, documents: &Documents, value: &Traced) -> bool {
        value.is_map(documents) && value.entries(documents).is_empty()
    }
}

/// A part of a contribution that is not in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// Whose it was.
    pub step: StepId,
    /// Where in the value, as a JSON pointer; empty for all of it.
    pub pointer: Box<str>,
    /// Where it is written.
    pub node: Option<NodeRef>,
    /// What became of it.
    pub fate: Fate,
    /// The steps whose value took its place when it happened.
    pub by: SmallVec<[StepId; 2]>,
    /// By which rule.
    pub reason: Reason,
}

/// What the fold did with a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It came first, or into nothing.
    Took,
    /// It replaced what was in force.
    Replaced,
    /// It was merged; the side named was preferred.
    Merged(Prefer),
    /// What was in force stayed.
    Kept,
    /// It is in force beside what was.
    Beside,
    /// It brought no value.
    Passed,
    /// A guard kept it out.
    Skipped,
    /// It was broken.
    Poisoned,
}

/// One line of the log of a fold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The rung.
    pub rung: Rung,
    /// What was done.
    pub done: Done,
    /// By which rule.
    pub reason: Reason,
}

/// The result of folding one ladder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// The value in force; absent if nothing is.
    pub value: Option<Traced>,
    /// Everything that lost.
    pub losses: Vec<Loss>,
    /// What was done with each rung, in the order of folding.
    pub log: Vec<Verdict>,
    /// What guards found, in the same order.
    pub checks: Vec<Check>,
    /// Steps in force beside the value, because nothing decides between them and it.
    pub beside: SmallVec<[StepId; 1]>,
    /// Broken steps: the target fails closed.
    pub poison: Vec<(StepId, Reason)>,
}

impl Effective {
    /// What became of one step.
    pub fn outcome(&self, step: StepId) -> Outcome {
        self.outcomes(&[step]).first().copied().unwrap_or(Outcome::Inert)
    }

    /// What became of each of these steps, in one pass over the value and the losses.
    pub fn outcomes(&self, steps: &[StepId]) -> SmallVec<[Outcome; 4]> {
        // Ladders are short and many: small sorted lists, no trees.
        let mut held: SmallVec<[StepId; 8]> = SmallVec::new();
        if let Some(value) = &self.value {
            value.each_step(&mut |step| {
                if held.last() != Some(&step) {
                    held.push(step);
                }
            });
        }
        held.extend(self.beside.iter().copied());
        let mut lost: SmallVec<[(StepId, Fate); 8]> = SmallVec::new();
        for loss in &self.losses {
            lost.push((loss.step, loss.fate));
            // Taking something out is all a removal can do: one that did is in force.
            if loss.fate == Fate::Removed {
                held.extend(loss.by.iter().copied());
            }
        }
        held.sort_unstable();
        lost.sort_unstable();
        let skipped = |step: StepId| {
            let mut skips = self.log.iter().filter(|v| v.done == Done::Skipped);
            skips.any(|v| v.rung == Rung::Step(step))
        };
        let outcome = |step: &StepId| {
            let fate = lost.partition_point(|(s, _)| s < step);
            let fate = lost.get(fate).filter(|(s, _)| s == step).map(|(_, fate)| *fate);
            match (held.binary_search(step).is_ok(), fate) {
                (true, None) => Outcome::InForce,
                (true, Some(_)) => Outcome::Partly,
                (false, Some(fate)) => Outcome::from(fate),
                (false, None) if skipped(*step) => Outcome::Skipped,
                (false, None) => Outcome::Inert,
            }
        };
        steps.iter().map(outcome).collect()
    }
}

/// Folds ladders of one family; inner groups are kept, so that a shared group is folded once.
pub struct Fold<'a, A> {
    documents: &'a Documents,
    ladders: &'a Ladders,
    algebra: &'a A,
    groups: BTreeMap<LadderId, Effective>,
    /// Room for the losses of the next ladder.
    losses: Vec<Loss>,
    /// Folds of whole ladders done so far.
    pub folds: u64,
}

impl<'a, A: Algebra> Fold<'a, A> {
    /// A fold over interned ladders.
    pub fn new(documents: &'a Documents, ladders: &'a Ladders, algebra: &'a A) -> Self {
        Self { documents, ladders, algebra, groups: BTreeMap::new(), losses: Vec::new(), folds: 0 }
    }

    /// Folds one ladder. Call it once per distinct ladder.
    pub fn ladder(&mut self, id: LadderId) -> Effective {
        self.folds += 1;
        let mut effective = self.group(id);
        self.algebra.finish(self.ladders.get(id), &mut effective);
        // A list that grew has room for more: a million of them would keep as much room as they use.
        let kept = effective.losses.drain(..).collect();
        self.losses = std::mem::replace(&mut effective.losses, kept);
        effective
    }

    fn group(&mut self, id: LadderId) -> Effective {
        let group = self.ladders.get(id);
        let mut state = A::State::default();
        // One line per rung at most: a million ladders keep what they need and no more.
        let log = Vec::with_capacity(group.rungs.len());
        let losses = std::mem::take(&mut self.losses);
        let mut effective = Effective { log, losses, ..Effective::default() };
        let bottom_up = self.algebra.bottom_up(group);
        for i in 0..group.rungs.len() {
            let i = if bottom_up { group.rungs.len() - 1 - i } else { i };
            if let Some(rung) = group.rungs.get(i) {
                self.rung(group, *rung, &mut state, &mut effective);
            }
        }
        effective
    }

    fn rung(&mut self, group: &Group, rung: Rung, state: &mut A::State, effective: &mut Effective) {
        let ladders = self.ladders;
        let turn = match rung {
            Rung::Step(id) => {
                let step = ladders.get_step(id).map(|s| (id, s));
                Turn { group, rung, step, inner: None }
            }
            Rung::Group(id) => Turn { group, rung, step: None, inner: Some(ladders.get(id)) },
        };
        let held = effective.value.as_ref();
        match self.algebra.decide(state, &turn, held, &mut effective.checks) {
            Action::Pass(why) => {
                effective.log.push(Verdict { rung, done: Done::Passed, reason: why });
            }
            Action::Skip(why) => {
                effective.log.push(Verdict { rung, done: Done::Skipped, reason: why });
            }
            Action::Poison(why) => {
                effective.log.push(Verdict { rung, done: Done::Poisoned, reason: why });
                effective.poison.extend(turn.step.map(|(id, _)| (id, why)));
            }
            Action::Apply { op, plan, reason } => {
                let incoming = match rung {
                    Rung::Step(id) => {
                        turn.step.map(|(_, s)| Traced::Whole { step: id, node: s.value })
                    }
                    Rung::Group(inner) => self.inner(inner, effective),
                };
                let losses = &mut effective.losses;
                let incoming = incoming
                    .and_then(|v| self.algebra.filter(state, &turn, v, &mut |l| losses.push(l)));
                match incoming {
                    Some(incoming) => self.apply(rung, op, plan, reason, incoming, effective),
                    None => {
                        let reason = &reason::NOTHING_LEFT;
                        effective.log.push(Verdict { rung, done: Done::Passed, reason });
                    }
                }
            }
        }
        self.algebra.after(state, &turn);
    }

    /// The kept result of an inner group; its losses and poison are the ladder's too.
    fn inner(&mut self, id: LadderId, effective: &mut Effective) -> Option<Traced> {
        if !self.groups.contains_key(&id) {
            let result = self.group(id);
            self.groups.insert(id, result);
        }
        let inner = self.groups.get(&id)?;
        effective.losses.extend(inner.losses.iter().cloned());
        effective.poison.extend(inner.poison.iter().copied());
        effective.log.extend(inner.log.iter().copied());
        effective.checks.extend(inner.checks.iter().cloned());
        effective.beside.extend(inner.beside.iter().copied());
        inner.value.clone()
    }

    fn apply(
        &self,
        rung: Rung,
        op: Op,
        plan: &MergePlan,
        why: Reason,
        incoming: Traced,
        effective: &mut Effective,
    ) {
        let Some(held) = effective.value.take() else {
            effective.log.push(Verdict { rung, done: Done::Took, reason: &reason::FIRST });
            effective.value = Some(incoming);
            return;
        };
        if op == Op::Beside {
            match rung {
                Rung::Step(id) => effective.beside.push(id),
                Rung::Group(_) => effective.beside.extend(incoming.steps()),
            }
            effective.log.push(Verdict { rung, done: Done::Beside, reason: why });
            effective.value = Some(held);
            return;
        }
        let empty = op == Op::FillIfEmpty && self.algebra.is_empty(self.documents, &held);
        let (done, prefer, merge) = match op {
            Op::FillIfEmpty if empty => (Done::Took, Prefer::Incoming, false),
            Op::Keep | Op::FillIfEmpty | Op::Beside => (Done::Kept, Prefer::Held, false),
            Op::ReplaceAll => (Done::Replaced, Prefer::Incoming, false),
            Op::Merge(prefer) => (Done::Merged(prefer), prefer, true),
        };
        let mut merger =
            Merger::new(self.documents, plan, self.algebra, prefer, why, &mut effective.losses);
        let value = if merge {
            merger.merge(MergePlan::ROOT, held, incoming)
        } else {
            let (winner, loser) =
                if prefer == Prefer::Held { (held, incoming) } else { (incoming, held) };
            merger.lose(&loser, &winner, Fate::Shadowed);
            Some(winner)
        };
        effective.value = value;
        effective.log.push(Verdict { rung, done, reason: why });
    }
}
