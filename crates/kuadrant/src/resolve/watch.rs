// SPDX-License-Identifier: Apache-2.0
//! In: each ladder as it has just been folded. Out: what findings need to know of all of them together. Not here: what
//! is said about it.
//!
//! A fleet has a million ladders and few things to tell. Looking at each once more after all are folded costs more than
//! folding them: by then nothing is at hand any more.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;
use overrule_engine::{Effective, Group, Guard, Rung, SharedText, StepId, Traced};
use overrule_source::{Documents, NodeRef};

use crate::reasons;

/// A rule: whose step, written where.
pub(crate) type RuleOf = (StepId, NodeRef);

/// What has been met. Hashed sets are looked up, or sorted before they are gone through.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// Rules in force somewhere.
    pub(crate) alive: HashSet<RuleOf>,
    /// Rules that lost somewhere.
    pub(crate) lost: HashSet<RuleOf>,
    /// Conditions that failed, and why.
    pub(crate) failed: BTreeSet<(StepId, Box<str>)>,
    /// Rules replaced by a constraint: the rule, the constraint, and the pointer to both.
    pub(crate) constrained: BTreeMap<(StepId, StepId, SharedText), NodeRef>,
    /// Steps whose predicates on requests became those of a policy, and a step of another policy that they gate there.
    pub(crate) spread: BTreeMap<StepId, StepId>,
    /// Policies in force side by side.
    pub(crate) beside: BTreeSet<(StepId, StepId)>,
}

impl Watch {
    /// Takes note of one ladder.
    pub(crate) fn ladder(
        &mut self,
        documents: &Documents,
        is_conditional: &dyn Fn(StepId) -> bool,
        policy_of: &dyn Fn(StepId) -> Option<overrule_engine::PolicyId>,
        ladder: &Group,
        effective: &Effective,
    ) {
        for loss in &effective.losses {
            let Some(node) = loss.node.get() else { continue };
            self.lost.insert((loss.step, node));
            if loss.reason != &reasons::OVERRIDE_RULE_OUTRANKS {
                continue;
            }
            if let Some(by) = loss.by.first().filter(|by| is_conditional(**by)) {
                self.constrained.insert((loss.step, *by, loss.pointer.clone()), node);
            }
        }
        for check in effective.checks().iter().filter(|c| c.verdict == Guard::Failed) {
            self.failed.insert((check.step, check.error.clone()));
        }
        let Some(value) = &effective.value else { return };
        value.written(&mut |step, node| {
            self.alive.insert((step, node));
        });
        // The value may be empty, and still stand beside another: direct policies are met from the top, so the first
        // rung took the place.
        if let Some(Rung::Step(held)) = ladder.rungs.first() {
            self.beside.extend(effective.beside().iter().map(|b| (*held, *b)));
        }
        if let Some(Traced::Whole { step, .. }) = value.get(documents, "when")
            && !self.spread.contains_key(&step)
        {
            let steps = value.steps();
            let other = steps.iter().find(|s| policy_of(**s) != policy_of(step));
            self.spread.extend(other.map(|other| (step, *other)));
        }
    }
}
