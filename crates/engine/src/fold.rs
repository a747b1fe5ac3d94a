// SPDX-License-Identifier: Apache-2.0
//! In: a ladder and a family's algebra. Out: its [`Effective`], by way of each step.
//! Not here: which ladder belongs to which path (`resolution.rs`).

use std::collections::BTreeMap;

use hashbrown::HashMap;
use overrule_source::Documents;

use crate::effective::{Common, Draft};
use crate::merge::{Combine, Merger, Prefer};
use crate::{
    Effective, Fate, FoldAction, FoldEntry, Group, GuardCheck, LadderId, Ladders, Loss, MergePlan,
    Reason, Rung, Step, StepId, Traced, reason,
};

/// What to do with an admitted rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// The held value stays, as a whole.
    Keep,
    /// The incoming value replaces it, as a whole.
    ReplaceAll,
    /// The incoming value applies only if no value is held.
    FillIfEmpty,
    /// Both, by the plan.
    Merge(Prefer),
    /// Both as they are: a conflict that the controller does not detect. The held value is shown, with the incoming
    /// value beside it.
    Beside,
}

/// A family's decision about a rung.
#[derive(Debug, Clone, Copy)]
pub enum Action<'p> {
    /// Its guard skips it.
    Skip(Reason),
    /// It contributes no value, only state (a policy with only a removal list), or nothing at all.
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
        checks: &mut Vec<GuardCheck>,
    ) -> Action<'_>;

    /// Filter: removes parts of the incoming value, and records them as losses through `lose`.
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

    /// A copy of the state, for families that fold a ladder on from the result of one it begins with: those that judge
    /// a rung by its step, the spec of its group and the state alone, from the top down. None: always from the start.
    fn again(&self, _state: &Self::State) -> Option<Self::State> {
        None
    }

    /// Whether a value counts as nothing, for [`Op::FillIfEmpty`].
    fn is_empty(&self, documents: &Documents, value: &Traced) -> bool {
        value.is_map(documents) && value.entries(documents).is_empty()
    }
}

/// The result of a ladder, if it still holds.
pub(crate) type AtHand<'a> = &'a dyn Fn(LadderId) -> Option<&'a Effective>;

/// Folds ladders of one family; inner groups are kept, so that a shared group is folded once.
pub struct Fold<'a, A: Algebra> {
    documents: &'a Documents,
    ladders: &'a Ladders,
    algebra: &'a A,
    groups: BTreeMap<LadderId, Draft>,
    /// How many ladders begin with each ladder, itself included.
    begin: Vec<u32>,
    /// Beginnings that several ladders have. Thousands of routes are below one listener, and what they inherit is
    /// the same for all of them. Looked up, never iterated.
    begun: HashMap<LadderId, (Draft, A::State)>,
    /// Results of ladders that others may go on from.
    at_hand: Option<AtHand<'a>>,
    common: Common,
    /// Room for the log and the losses of the next ladder.
    spare: Draft,
    /// Folds of whole ladders done so far.
    pub folds: u64,
    /// Folds of ladders and groups, by their `spec`.
    pub by_spec: Vec<u64>,
}

impl<'a, A: Algebra> Fold<'a, A> {
    /// A fold over interned ladders.
    pub fn new(documents: &'a Documents, ladders: &'a Ladders, algebra: &'a A) -> Self {
        Self {
            documents,
            ladders,
            algebra,
            groups: BTreeMap::new(),
            begin: Vec::new(),
            begun: HashMap::new(),
            at_hand: None,
            common: Common::default(),
            spare: Draft::default(),
            folds: 0,
            by_spec: Vec::new(),
        }
    }

    /// Says which results are at hand, so that ladders that begin with one of them go on from there.
    pub(crate) fn with(mut self, at_hand: AtHand<'a>) -> Self {
        self.at_hand = Some(at_hand);
        self
    }

    /// Says which ladders will be folded, so that what several of them begin with is folded once.
    pub fn expect(&mut self, ladders: &[LadderId]) {
        if self.algebra.again(&A::State::default()).is_none() {
            return;
        }
        self.begin = vec![0; self.ladders.len()];
        for id in ladders.iter().flat_map(|id| [*id, self.ladders.top(*id)]) {
            self.begin.iter_mut().skip(id.0 as usize).take(1).for_each(|n| *n += 1);
        }
    }

    /// The results of every inner group that was folded.
    pub fn into_groups(mut self) -> BTreeMap<LadderId, Effective> {
        let (ladders, common) = (self.ladders, &mut self.common);
        let groups = std::mem::take(&mut self.groups).into_iter();
        groups.map(|(id, mut draft)| (id, common.effective(ladders, id, &mut draft))).collect()
    }

    /// Folds a group that may be on no ladder.
    pub fn keep(&mut self, id: LadderId) {
        if !self.groups.contains_key(&id) {
            let mut result = Draft::default();
            self.group(id, &mut result);
            self.groups.insert(id, result);
        }
    }

    /// Folds one ladder. Call it once per distinct ladder.
    pub fn ladder(&mut self, id: LadderId) -> Effective {
        self.folds += 1;
        let mut draft = std::mem::take(&mut self.spare);
        self.group(id, &mut draft);
        let mut effective = self.common.effective(self.ladders, id, &mut draft);
        let shared = effective.losses.own().len();
        self.algebra.finish(self.ladders.get(id), &mut effective);
        draft.losses = self.common.settle(&mut effective, shared);
        draft.log.clear();
        self.spare = draft;
        effective
    }

    fn group(&mut self, id: LadderId, draft: &mut Draft) {
        let group = self.ladders.get(id);
        let spec = usize::from(group.spec);
        if self.by_spec.len() <= spec {
            self.by_spec.resize(spec + 1, 0);
        }
        self.by_spec.iter_mut().skip(spec).take(1).for_each(|n| *n += 1);
        self.rungs(id, draft);
    }

    fn rungs(&mut self, id: LadderId, draft: &mut Draft) -> A::State {
        // Where others begin with this very ladder, its result is theirs too.
        let from = if self.is_beginning(id, id) { id } else { self.ladders.top(id) };
        self.rungs_from(from, id, draft)
    }

    /// Folds a ladder from what it begins with, if others begin with that too.
    fn rungs_from(&mut self, top: LadderId, id: LadderId, draft: &mut Draft) -> A::State {
        let group = self.ladders.get(id);
        let begun = self.is_beginning(top, id).then(|| self.beginning(top, draft)).flatten();
        let (mut state, done) = begun.or_else(|| self.known(top, id, draft)).unwrap_or_default();
        let bottom_up = self.algebra.bottom_up(group);
        for i in done..group.rungs.len() {
            let i = if bottom_up { group.rungs.len() - 1 - i } else { i };
            if let Some(rung) = group.rungs.get(i) {
                self.rung(group, *rung, &mut state, draft);
            }
        }
        state
    }

    /// Whether several ladders begin with `top`, and `id` is it or can go on from its result.
    fn is_beginning(&self, top: LadderId, id: LadderId) -> bool {
        self.begin.get(top.0 as usize).is_some_and(|n| *n > 1) && self.goes_on(top, id)
    }

    fn goes_on(&self, top: LadderId, id: LadderId) -> bool {
        let (above, whole) = (self.ladders.get(top), self.ladders.get(id));
        top != LadderId::EMPTY
            && (above.spec, above.extra) == (whole.spec, whole.extra)
            && !self.algebra.bottom_up(whole)
    }

    /// Goes on from a result at hand: the state there, and how many rungs that is.
    fn known(&self, top: LadderId, id: LadderId, draft: &mut Draft) -> Option<(A::State, usize)> {
        let at_hand = self.at_hand.filter(|_| self.goes_on(top, id))?;
        let mut state = self.algebra.again(&A::State::default())?;
        let effective = at_hand(top)?;
        let group = self.ladders.get(top);
        // A family that folds on judges a rung by its step and the state: the state is had by judging again.
        for rung in &group.rungs {
            let turn = self.turn(group, *rung);
            self.algebra.decide(&mut state, &turn, None, &mut Vec::new());
            self.algebra.after(&mut state, &turn);
        }
        draft.take_up(effective, self.ladders);
        Some((state, group.rungs.len()))
    }

    /// Goes on from a beginning: the state there, and how many rungs that is.
    fn beginning(&mut self, top: LadderId, draft: &mut Draft) -> Option<(A::State, usize)> {
        if !self.begun.contains_key(&top) {
            let mut first = Draft::default();
            let state = self.rungs_from(self.ladders.top(top), top, &mut first);
            first.losses = first.losses.shared();
            self.begun.insert(top, (first, state));
        }
        let (first, state) = self.begun.get(&top)?;
        let state = self.algebra.again(state)?;
        draft.go_on(first);
        Some((state, self.ladders.get(top).rungs.len()))
    }

    fn turn<'g>(&self, group: &'g Group, rung: Rung) -> Turn<'g>
    where
        'a: 'g,
    {
        let ladders = self.ladders;
        match rung {
            Rung::Step(id) => {
                let step = ladders.get_step(id).map(|s| (id, s));
                Turn { group, rung, step, inner: None }
            }
            Rung::Group(id) => Turn { group, rung, step: None, inner: Some(ladders.get(id)) },
        }
    }

    fn rung(&mut self, group: &Group, rung: Rung, state: &mut A::State, draft: &mut Draft) {
        let turn = self.turn(group, rung);
        let held = draft.value.as_ref();
        match self.algebra.decide(state, &turn, held, &mut draft.rare.checks) {
            Action::Pass(why) => {
                draft.log.push(FoldEntry { rung, done: FoldAction::Passed, reason: why });
            }
            Action::Skip(why) => {
                draft.log.push(FoldEntry { rung, done: FoldAction::Skipped, reason: why });
            }
            Action::Poison(why) => {
                draft.log.push(FoldEntry { rung, done: FoldAction::Poisoned, reason: why });
                draft.rare.poison.extend(turn.step.map(|(id, _)| (id, why)));
            }
            Action::Apply { op, plan, reason } => {
                let incoming = match rung {
                    Rung::Step(id) => {
                        turn.step.map(|(_, s)| Traced::Whole { step: id, node: s.value })
                    }
                    Rung::Group(inner) => self.inner(inner, draft),
                };
                let (losses, common) = (draft.losses.own(), &mut self.common);
                let mut lose = |loss| losses.push(common.share(loss));
                let incoming =
                    incoming.and_then(|v| self.algebra.filter(state, &turn, v, &mut lose));
                match incoming {
                    Some(incoming) => self.apply(rung, op, plan, reason, incoming, draft),
                    None => {
                        let reason = &reason::NOTHING_LEFT;
                        draft.log.push(FoldEntry { rung, done: FoldAction::Passed, reason });
                    }
                }
            }
        }
        self.algebra.after(state, &turn);
    }

    /// The kept result of an inner group; its losses and poison are the ladder's too.
    fn inner(&mut self, id: LadderId, draft: &mut Draft) -> Option<Traced> {
        self.keep(id);
        let inner = self.groups.get(&id)?;
        draft.losses.extend(inner.losses.iter().cloned());
        draft.rare.poison.extend(inner.rare.poison.iter().copied());
        draft.log.extend(inner.log.iter().copied());
        draft.rare.checks.extend(inner.rare.checks.iter().cloned());
        draft.rare.beside.extend(inner.rare.beside.iter().copied());
        inner.value.clone()
    }

    fn apply(
        &mut self,
        rung: Rung,
        op: Op,
        plan: &MergePlan,
        why: Reason,
        incoming: Traced,
        draft: &mut Draft,
    ) {
        let Some(held) = draft.value.take() else {
            draft.log.push(FoldEntry { rung, done: FoldAction::Took, reason: &reason::FIRST });
            draft.value = Some(incoming);
            return;
        };
        if op == Op::Beside {
            match rung {
                Rung::Step(id) => draft.rare.beside.push(id),
                Rung::Group(_) => draft.rare.beside.extend(incoming.steps()),
            }
            draft.log.push(FoldEntry { rung, done: FoldAction::Beside, reason: why });
            draft.value = Some(held);
            return;
        }
        let empty = op == Op::FillIfEmpty && self.algebra.is_empty(self.documents, &held);
        let (done, prefer, merge) = match op {
            Op::FillIfEmpty if empty => (FoldAction::Took, Prefer::Incoming, false),
            Op::Keep | Op::FillIfEmpty | Op::Beside => (FoldAction::Kept, Prefer::Held, false),
            Op::ReplaceAll => (FoldAction::Replaced, Prefer::Incoming, false),
            Op::Merge(prefer) => (FoldAction::Merged(prefer), prefer, true),
        };
        let mut merger =
            Merger::new(self.documents, plan, self.algebra, prefer, why, draft.losses.own())
                .within(&mut self.common.room);
        let value = if merge {
            merger.merge(MergePlan::ROOT, held, incoming)
        } else {
            let (winner, loser) =
                if prefer == Prefer::Held { (held, incoming) } else { (incoming, held) };
            merger.lose(&loser, &winner, Fate::Shadowed);
            Some(winner)
        };
        draft.value = value;
        draft.log.push(FoldEntry { rung, done, reason: why });
    }
}
