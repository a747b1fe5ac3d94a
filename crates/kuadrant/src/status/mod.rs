// SPDX-License-Identifier: Apache-2.0
//! In: a resolution. Out: the conditions on policies and on their targets: under `operator` in the words of the
//! operator, otherwise in words that name every rule. Not here: anything that needs a cluster (readiness, other
//! components).

mod affected;
mod enforced;

use std::sync::Arc;

use overrule_engine::{PolicyId, Resolution};
use overrule_family::Condition;
use overrule_gateway::policy::{Reference, Who};
use overrule_gateway::reasons as generic;
use overrule_gateway::resolve::policy_name;

pub use affected::affected;

use crate::World;
use crate::kinds::MergeClass;
use crate::policy::Policy;
use crate::{Profile, reasons};

/// The conditions of every policy, in the order of policies. A policy the API server refuses has none.
pub fn conditions(world: World<'_>, resolution: &Resolution) -> Vec<Vec<Condition>> {
    let names = Names { world, resolution };
    let enforced = enforced::all(&names);
    let policies = (0..).map(PolicyId).zip(&world.policies.list);
    let of = |(id, policy): (PolicyId, &Arc<Policy>)| {
        if !policy.is_valid(world.profile) {
            return Vec::new();
        }
        let accepted = names.accepted(id, policy);
        // What is not accepted has no second condition.
        let second = accepted.status.then(|| enforced.get(id.0 as usize).cloned().flatten());
        [Some(accepted), second.flatten()].into_iter().flatten().collect()
    };
    policies.map(of).collect()
}

/// What conditions are read from.
struct Names<'a> {
    world: World<'a>,
    resolution: &'a Resolution,
}

impl Names<'_> {
    /// `namespace/name` of a policy.
    fn policy(&self, id: PolicyId) -> String {
        policy_name(self.world.snapshot, self.resolution, id)
    }

    fn accepted(&self, id: PolicyId, policy: &Policy) -> Condition {
        let kind = policy.info.kind;
        let no = |reason, message| Condition {
            ancestor: None,
            kind: "Accepted",
            status: false,
            reason,
            message,
        };
        match self.resolution.rejections_of(id).next().map(|r| r.reason) {
            None => Condition {
                ancestor: None,
                kind: "Accepted",
                status: true,
                reason: "Accepted",
                message: format!("{kind} has been accepted"),
            },
            Some(reason) if reason == &reasons::CONFLICTED => {
                let by = self.conflicting(id).map(|p| self.policy(p)).unwrap_or_default();
                no("Conflicted", format!("{kind} is conflicted by {by}: conflicting policy"))
            }
            Some(reason) if reason == &generic::NO_TARGET => {
                no("Invalid", format!("{kind} target is invalid: {}", reason.sentence))
            }
            Some(_) => {
                let target = policy.references.first().map(|r| self.target(policy, r));
                let target = target.unwrap_or_default();
                no("TargetNotFound", format!("{kind} target {target} was not found"))
            }
        }
    }

    /// The name of a target; the operator leaves the section of direct policies out.
    fn target(&self, policy: &Policy, reference: &Reference) -> String {
        let name = match &reference.who {
            Who::Named(name, _) => self.world.snapshot.text(*name),
            Who::Labelled(_) | Who::Unreadable => "",
        };
        let section = reference.section.filter(|_| policy.info.class != MergeClass::Direct);
        match section {
            Some((section, _)) => format!("{name}#{}", self.world.snapshot.text(section)),
            None => name.to_owned(),
        }
    }

    /// The policy that keeps a direct one out: the one of its kind on the same target.
    fn conflicting(&self, id: PolicyId) -> Option<PolicyId> {
        let policy = self.world.policies.list.get(id.0 as usize)?;
        let reference = policy.references.first()?;
        let same = |other: &&overrule_engine::Attachment| {
            let other = self.world.policies.list.get(other.policy.0 as usize);
            other.is_some_and(|o| {
                o.kind == policy.kind && same_target(self.world, o, policy, reference)
            })
        };
        self.resolution.attachments.iter().find(same).map(|a| a.policy)
    }

    fn is_operator(&self) -> bool {
        self.world.profile == Profile::Operator
    }
}

fn same_target(world: World<'_>, one: &Policy, other: &Policy, wanted: &Reference) -> bool {
    let namespace = |p: &Policy| world.snapshot.get(p.object).map(|o| o.scope.name());
    let name = |r: &Reference| match &r.who {
        Who::Named(name, _) => Some(*name),
        Who::Labelled(_) | Who::Unreadable => None,
    };
    let section = |r: &Reference| r.section.map(|(s, _)| s);
    namespace(one) == namespace(other)
        && one.references.first().is_some_and(|r| {
            r.kind == wanted.kind && name(r) == name(wanted) && section(r) == section(wanted)
        })
}
