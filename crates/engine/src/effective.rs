// SPDX-License-Identifier: Apache-2.0
//! In: what a fold gathered. Out: [`Effective`], what a resolution keeps of one ladder. Not here: folding (`fold.rs`).
//!
//! There may be a million of these, so what ladders have in common they share, and what few of them have is kept apart.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashSet;
use overrule_source::Documents;
use smallvec::SmallVec;

use crate::room::Room;
use crate::{Fate, LadderId, Ladders, Loss, Losses, Outcome, Prefer, Reason, Rung, StepId, Traced};

/// What a guard found, for explanations.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardCheck {
    /// The step it guards.
    pub step: StepId,
    /// Whether the guard lets the step take part.
    pub verdict: Guard,
    /// Why it failed; empty if it did not.
    pub error: Box<str>,
    /// What it looked at.
    pub saw: Vec<SeenValue>,
}

/// A value a guard looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenValue {
    /// Where, as the guard has it: `spec.limits.a`.
    pub path: Box<str>,
    /// The value as JSON text; none if there is no value.
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

/// What the fold did with a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FoldAction {
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
pub struct FoldEntry {
    /// The rung.
    pub rung: Rung,
    /// What was done.
    pub done: FoldAction,
    /// By which rule.
    pub reason: Reason,
}

/// The result of folding one ladder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// The value in force; absent if nothing is.
    pub value: Option<Traced>,
    /// Everything that lost.
    pub losses: Losses,
    log: Arc<[Line]>,
    rare: Option<Box<Rare>>,
    ladder: LadderId,
}

/// A line of a log that does not say which ladder it is about: ladders of the same shape have the same log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    /// Place of the rung among [`Ladders::rungs`].
    at: u32,
    done: FoldAction,
    reason: Reason,
}

impl Hash for Line {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The id is enough of a reason to tell lines apart; equality looks at all of it.
        (self.at, self.done, self.reason.id).hash(state);
    }
}

/// What most ladders have nothing of.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rare {
    pub(crate) checks: Vec<GuardCheck>,
    pub(crate) beside: Vec<StepId>,
    pub(crate) poison: Vec<(StepId, Reason)>,
}

impl Rare {
    fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.beside.is_empty() && self.poison.is_empty()
    }
}

/// What a fold has gathered of a group so far.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) value: Option<Traced>,
    pub(crate) losses: Losses,
    pub(crate) log: Vec<FoldEntry>,
    pub(crate) rare: Rare,
}

impl Draft {
    /// Goes on from another one, whose losses are shared. This one must be empty; its room is used.
    pub(crate) fn go_on(&mut self, from: &Self) {
        self.value.clone_from(&from.value);
        self.losses.go_on(&from.losses);
        self.log.extend_from_slice(&from.log);
        if !from.rare.is_empty() {
            self.rare.clone_from(&from.rare);
        }
    }
}

impl Draft {
    /// Goes on from a result. This one must be empty; its room is used.
    pub(crate) fn take_up(&mut self, from: &Effective, ladders: &Ladders) {
        self.value.clone_from(&from.value);
        self.losses.go_on(&from.losses.clone().shared());
        self.log.extend(from.log(ladders));
        if let Some(rare) = &from.rare {
            self.rare.clone_from(rare);
        }
    }
}

/// Logs and pointers that results have in common, each once.
#[derive(Debug, Default)]
pub(crate) struct Common {
    logs: HashSet<Arc<[Line]>>,
    pub(crate) room: Room,
    /// Room for the next log.
    lines: Vec<Line>,
}

impl Common {
    /// The result of a ladder. The log stays in the draft, for its room; the losses are the draft's until
    /// [`Common::settle`], so that a family may add to them.
    pub(crate) fn effective(
        &mut self,
        ladders: &Ladders,
        ladder: LadderId,
        draft: &mut Draft,
    ) -> Effective {
        let rare = std::mem::take(&mut draft.rare);
        Effective {
            value: draft.value.take(),
            losses: std::mem::take(&mut draft.losses),
            log: self.log(&ladders.rungs(ladder), &draft.log),
            rare: (!rare.is_empty()).then(|| Box::new(rare)),
            ladder,
        }
    }

    /// Shares the pointer of a loss that a family made.
    pub(crate) fn share(&mut self, mut loss: Loss) -> Loss {
        loss.pointer = self.room.share(&loss.pointer);
        loss
    }

    /// Shares the pointers of a ladder's own losses after the first so many, which are shared already, and gives them a
    /// list of just their size; gives back the room they had.
    pub(crate) fn settle(&mut self, effective: &mut Effective, shared: usize) -> Losses {
        for loss in effective.losses.own().iter_mut().skip(shared) {
            loss.pointer = self.room.share(&loss.pointer);
        }
        effective.losses.settle()
    }

    fn log(&mut self, rungs: &[Rung], log: &[FoldEntry]) -> Arc<[Line]> {
        self.lines.clear();
        let mut near = 0;
        for FoldEntry { rung, done, reason } in log {
            near = place(rungs, near, *rung);
            let at = u32::try_from(near).unwrap_or(u32::MAX);
            self.lines.push(Line { at, done: *done, reason });
        }
        self.logs.get_or_insert_with(self.lines.as_slice(), |new| new.into()).clone()
    }
}

/// The place of a rung. Logs go down a ladder or up, so it is looked for next to the place of the last one first.
fn place(rungs: &[Rung], near: usize, rung: Rung) -> usize {
    let next = [near.wrapping_add(1), near.wrapping_sub(1)]
        .into_iter()
        .find(|i| rungs.get(*i) == Some(&rung));
    next.or_else(|| rungs.iter().position(|r| *r == rung)).unwrap_or(usize::MAX)
}

impl Effective {
    /// What was done with each rung, in the order of folding. The ladders are those it was folded from.
    pub fn log(&self, ladders: &Ladders) -> impl Iterator<Item = FoldEntry> + use<'_> {
        let rungs = ladders.rungs(self.ladder);
        self.log.iter().filter_map(move |Line { at, done, reason }| {
            let rung = *rungs.get(*at as usize)?;
            Some(FoldEntry { rung, done: *done, reason })
        })
    }

    /// Whether the same steps are in force at the same places as in a result of the same ladder, and the same parts lost for
    /// the same reasons, whatever the steps say there. The documents are those of this result and of the other one.
    pub(crate) fn is_alike(&self, other: &Self, documents: [&Documents; 2]) -> bool {
        let values = match (&self.value, &other.value) {
            (Some(value), Some(other)) => value.is_alike(other, documents),
            (value, other) => value.is_none() && other.is_none(),
        };
        let same = |(one, other): (&Loss, &Loss)| {
            (one.step, &one.pointer, one.fate, &one.by, one.reason)
                == (other.step, &other.pointer, other.fate, &other.by, other.reason)
        };
        values
            && (&self.log, &self.rare) == (&other.log, &other.rare)
            && self.losses.len() == other.losses.len()
            && self.losses.iter().zip(&other.losses).all(same)
    }

    /// What guards found, in the same order.
    pub fn checks(&self) -> &[GuardCheck] {
        self.rare.as_ref().map_or(&[], |r| &r.checks)
    }

    /// Steps in force beside the value, because nothing decides between them and it.
    pub fn beside(&self) -> &[StepId] {
        self.rare.as_ref().map_or(&[], |r| &r.beside)
    }

    /// Broken steps: the target fails closed.
    pub fn poison(&self) -> &[(StepId, Reason)] {
        self.rare.as_ref().map_or(&[], |r| &r.poison)
    }

    /// Adds a broken step.
    pub fn fail(&mut self, step: StepId, reason: Reason) {
        self.rare.get_or_insert_default().poison.push((step, reason));
    }

    /// The outcome of one step.
    pub fn outcome(&self, ladders: &Ladders, step: StepId) -> Outcome {
        self.outcomes(ladders, &[step]).first().copied().unwrap_or(Outcome::Inert)
    }

    /// The outcome of each of these steps, in one pass over the value and the losses.
    pub fn outcomes(&self, ladders: &Ladders, steps: &[StepId]) -> SmallVec<[Outcome; 4]> {
        // Ladders are short and many: small sorted lists, no trees.
        let mut held: SmallVec<[StepId; 8]> = SmallVec::new();
        // What is masked is still in the value: so many parts of a step do not count.
        let mut masked: SmallVec<[StepId; 4]> = SmallVec::new();
        let mut lost: SmallVec<[(StepId, Fate); 8]> = SmallVec::new();
        for loss in &self.losses {
            lost.push((loss.step, loss.fate));
            if loss.fate == Fate::Masked {
                masked.push(loss.step);
            }
            // Taking something out is all a removal can do: one that did is in force.
            if loss.fate == Fate::Removed {
                held.extend(loss.by.iter().copied());
            }
        }
        if let Some(value) = &self.value {
            value.each_step(&mut |step| match masked.iter().position(|m| *m == step) {
                Some(i) => drop(masked.swap_remove(i)),
                None if held.last() != Some(&step) => held.push(step),
                None => {}
            });
        }
        held.extend_from_slice(self.beside());
        held.sort_unstable();
        lost.sort_unstable();
        let skipped = |step: StepId| {
            let mut skips = self.log(ladders).filter(|v| v.done == FoldAction::Skipped);
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
