// SPDX-License-Identifier: Apache-2.0
//! In: an analysis. Out: the conditions controllers would write on policies and on their targets. Not here: which
//! words they have; each family knows its own.

use overrule_engine::{NodeId, PolicyId};
use overrule_gateway::resolve::policy_name;
use overrule_kgateway as kgateway;
use overrule_kuadrant as kuadrant;

use crate::{Analysis, Answered};

/// A condition on a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyCondition {
    /// The object it is about, where a controller writes one condition per ancestor.
    pub ancestor: Option<NodeId>,
    /// `Accepted`, `Enforced`, `Attached`.
    pub kind: &'static str,
    /// Whether it is true.
    pub status: bool,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: String,
}

/// A condition on a target that names the policies in reach of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    /// `kuadrant.io/AuthPolicyAffected`.
    pub condition_type: String,
    /// The policies, in the operator's words.
    pub message: String,
}

impl Analysis {
    /// The conditions of every policy of a family, in the order of its policies; none for families whose controllers are
    /// not known.
    pub fn policy_conditions(&self, family: &str) -> Vec<Vec<PolicyCondition>> {
        let Some(answer) = self.shown().find(|a| a.family == family) else { return Vec::new() };
        let resolution = &answer.resolution;
        match family {
            kuadrant::FAMILY => {
                let all = kuadrant::status::conditions(self.kuadrant_world(answer), resolution);
                each(all, |c: kuadrant::status::Condition| PolicyCondition {
                    ancestor: None,
                    kind: c.kind,
                    status: c.status,
                    reason: c.reason,
                    message: c.message,
                })
            }
            kgateway::FAMILY => {
                let all = kgateway::status::conditions(self.kgateway_world(answer), resolution);
                each(all, |c: kgateway::status::Condition| PolicyCondition {
                    ancestor: Some(c.ancestor),
                    kind: c.kind,
                    status: c.status,
                    reason: c.reason,
                    message: c.message,
                })
            }
            _ => vec![Vec::new(); resolution.policies().count()],
        }
    }

    /// The conditions of targets, by node.
    pub fn affected(&self) -> Vec<(NodeId, Affected)> {
        let Some(answer) = self.shown().find(|a| a.family == kuadrant::FAMILY) else {
            return Vec::new();
        };
        let found = kuadrant::status::affected(self.kuadrant_world(answer), &answer.resolution);
        let name = |id: PolicyId| policy_name(&self.snapshot, &answer.resolution, id);
        let condition = |one: kuadrant::status::Affected| {
            let (condition_type, message) = (one.condition_type(), one.message(&name));
            (one.node, Affected { condition_type, message })
        };
        found.into_iter().map(condition).collect()
    }

    fn kuadrant_world(&self, answer: &Answered) -> kuadrant::World<'_> {
        kuadrant::World {
            documents: &self.documents,
            snapshot: &self.snapshot,
            topology: &self.topology,
            policies: &self.kuadrant,
            profile: kuadrant::Profile::from_name(answer.profile).unwrap_or_default(),
        }
    }

    fn kgateway_world(&self, answer: &Answered) -> kgateway::World<'_> {
        kgateway::World {
            documents: &self.documents,
            snapshot: &self.snapshot,
            topology: &self.topology,
            policies: &self.kgateway,
            profile: kgateway::Profile::from_name(answer.profile).unwrap_or_default(),
            settings: &self.kgateway_settings,
        }
    }
}

fn each<C>(all: Vec<Vec<C>>, same: impl Fn(C) -> PolicyCondition) -> Vec<Vec<PolicyCondition>> {
    all.into_iter().map(|list| list.into_iter().map(&same).collect()).collect()
}
