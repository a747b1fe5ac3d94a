// SPDX-License-Identifier: Apache-2.0
//! In: policies that say something else now. Out: whose findings that can change: all that share a ladder with them. Not
//! here: the findings.

use hashbrown::HashSet;
use overrule_engine::{LadderId, PolicyId, Resolution};
use overrule_source::{Diagnostic, Label, Span};

use super::findings::CODES;
use crate::policy::Policy;

/// Policies about which findings are made.
#[derive(Debug)]
pub(super) enum Subjects {
    /// All of them.
    All,
    /// Those with the mark, and the ladders that have one of them.
    Some { policies: Vec<bool>, ladders: Vec<LadderId> },
}

impl Subjects {
    /// All that share a ladder with one of these, and these.
    pub(super) fn near(changed: &[PolicyId], resolution: &Resolution) -> Self {
        let mut policies = vec![false; resolution.policies().count()];
        let mut mark = |policy: PolicyId| mark(&mut policies, policy.0);
        for policy in changed {
            mark(*policy);
            let ladders = resolution.ladders_of(*policy).iter();
            let theirs = ladders.flat_map(|ladder| resolution.outcomes(*ladder));
            theirs.for_each(|(policy, _)| mark(*policy));
        }
        let mut theirs = vec![false; resolution.ladders.len()];
        let marked = (0..).map(PolicyId).zip(&policies).filter(|(_, marked)| **marked);
        for ladder in marked.flat_map(|(policy, _)| resolution.ladders_of(policy)) {
            self::mark(&mut theirs, ladder.0);
        }
        let ladders = (0..).map(LadderId).zip(theirs).filter(|(_, marked)| *marked);
        Self::Some { ladders: ladders.map(|(ladder, _)| ladder).collect(), policies }
    }

    /// Whether a policy is one of them.
    pub(super) fn has(&self, policy: PolicyId) -> bool {
        match self {
            Self::All => true,
            Self::Some { policies, .. } => policies.get(policy.0 as usize) == Some(&true),
        }
    }

    /// The ladders that have one of them, and that some path has.
    pub(super) fn ladders<'a>(
        &'a self,
        resolution: &'a Resolution,
    ) -> Box<dyn Iterator<Item = LadderId> + 'a> {
        match self {
            Self::All => {
                let all = (0..).map(LadderId).take(resolution.ladders.len());
                Box::new(all.filter(|ladder| resolution.effective(*ladder).is_some()))
            }
            Self::Some { ladders, .. } => Box::new(ladders.iter().copied()),
        }
    }

    /// Where findings about them point.
    pub(super) fn places<'p>(
        &self,
        policy: &dyn Fn(PolicyId) -> Option<&'p Policy>,
        resolution: &Resolution,
    ) -> Places {
        let theirs = resolution.policies().map(|(id, _)| id).filter(|id| self.has(*id));
        Places(theirs.filter_map(policy).map(|policy| policy.at).collect())
    }
}

fn mark(marks: &mut [bool], at: u32) {
    marks.iter_mut().skip(at as usize).take(1).for_each(|marked| *marked = true);
}

/// Where some policies are written.
#[derive(Debug)]
pub struct Places(HashSet<Span>);

impl Places {
    /// Whether a finding about how policies fare is about one of them.
    pub fn concern(&self, diagnostic: &Diagnostic) -> bool {
        let Diagnostic { primary, related, code, .. } = diagnostic;
        let is_there = |label: &Label| self.0.contains(&label.span);
        CODES.contains(code) && primary.iter().chain(related).any(is_there)
    }
}
