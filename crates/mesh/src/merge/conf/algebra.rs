// SPDX-License-Identifier: Apache-2.0
//! In: ladders whose steps are entries in merge order, low to high. Out: what each step does to what is in force, for the
//! engine's fold. Not here: ladders.
//!
//! `Group::spec` is the place of a plan. `Group::extra` is the number of a hostname, counted from 1: a ladder of
//! MeshHTTPRoutes is about one hostname, or about none (0).

use overrule_engine::{
    Action, Algebra, Combine, Group, GuardCheck, Loss, Merger, Op, PerStep, StepId, Traced, Turn,
};
use overrule_source::Documents;

use super::plan::{Plan, REASON};
use super::reasons;

/// Confs of all steps by number, or of those on a few ladders.
#[derive(Debug, Clone, Copy)]
pub enum StepConfs<'a> {
    /// Of all of them.
    All(&'a [Traced]),
    /// Of those that are folded again.
    Some(&'a PerStep<Traced>),
}

/// The algebra of all kinds whose confs are merged.
#[derive(Debug, Clone, Copy)]
pub struct ConfAlgebra<'a> {
    /// The arena.
    pub documents: &'a Documents,
    /// Plans by `Group::spec`; each was made for its place.
    pub plans: &'a [Plan],
    /// Confs by step.
    pub confs: StepConfs<'a>,
    /// Hostnames by `Group::extra`, less one.
    pub hostnames: &'a [Box<str>],
}

impl ConfAlgebra<'_> {
    fn plan(&self, group: &Group) -> Option<&Plan> {
        self.plans.get(usize::from(group.spec))
    }

    /// The conf of a step as far as it is about the hostname of a ladder.
    fn conf(&self, plan: &Plan, group: &Group, step: StepId) -> Option<Traced> {
        let conf = match self.confs {
            StepConfs::All(confs) => confs.get(step.0 as usize),
            StepConfs::Some(confs) => confs.get(step),
        }?;
        let place = (group.extra as usize).checked_sub(1);
        let name = place.and_then(|at| self.hostnames.get(at)).map(|name| &**name);
        plan.part(self.documents, conf, name)
    }
}

impl Combine for ConfAlgebra<'_> {
    fn combine(
        &self,
        number: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        match self.plans.get(Plan::place_of(number)) {
            Some(plan) => plan.combine(number, merger, held, incoming),
            None => merger.atomic(held, incoming),
        }
    }
}

impl Algebra for ConfAlgebra<'_> {
    type State = ();

    fn bottom_up(&self, group: &Group) -> bool {
        self.plan(group).is_some_and(Plan::from_the_top)
    }

    fn decide(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        held: Option<&Traced>,
        _checks: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        match self.plan(turn.group) {
            Some(plan) if plan.first_counts() => {
                let op = if held.is_some() { Op::Keep } else { Op::ReplaceAll };
                Action::Apply { op, plan: plan.rules(), reason: &reasons::EARLIER_MATCH }
            }
            Some(plan) => {
                let op = Op::Merge(plan.prefer());
                Action::Apply { op, plan: plan.rules(), reason: REASON }
            }
            None => Action::Pass(REASON),
        }
    }

    fn filter(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let (Some((step, _)), Some(plan)) = (turn.step, self.plan(turn.group)) else {
            return Some(incoming);
        };
        let conf = self.conf(plan, turn.group, step)?;
        let mut losses = Vec::new();
        let conf = plan.prepare(self.documents, conf, &mut losses);
        losses.into_iter().for_each(lose);
        Some(conf)
    }
}
