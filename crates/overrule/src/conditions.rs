// SPDX-License-Identifier: Apache-2.0
//! In: an analysis. Out: the conditions controllers would write on policies and on their targets. Not here: which
//! words they have; each family knows its own.

use overrule_engine::{NodeId, PolicyId};
use overrule_kuadrant::{FAMILY, Profile, World, status};

use crate::{Analysis, Answered};

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
    pub fn policy_conditions(&self, family: &str) -> Vec<Vec<status::Condition>> {
        let Some(answer) = self.shown().find(|a| a.family == family) else { return Vec::new() };
        match family {
            FAMILY => status::conditions(self.kuadrant_world(answer), &answer.resolution),
            _ => vec![Vec::new(); answer.resolution.policies().count()],
        }
    }

    /// The conditions of targets, by node.
    pub fn affected(&self) -> Vec<(NodeId, Affected)> {
        let Some(answer) = self.shown().find(|a| a.family == FAMILY) else { return Vec::new() };
        let found = status::affected(self.kuadrant_world(answer), &answer.resolution);
        let name = |id: PolicyId| {
            let object = answer.resolution.policy(id).map(|p| p.object);
            object.map_or_else(String::new, |object| self.snapshot.full_name(object))
        };
        let condition = |one: status::Affected| {
            let (condition_type, message) = (one.condition_type(), one.message(&name));
            (one.node, Affected { condition_type, message })
        };
        found.into_iter().map(condition).collect()
    }

    fn kuadrant_world(&self, answer: &Answered) -> World<'_> {
        World {
            documents: &self.documents,
            snapshot: &self.snapshot,
            topology: &self.topology,
            policies: &self.kuadrant,
            profile: Profile::from_name(answer.profile).unwrap_or_default(),
        }
    }
}
