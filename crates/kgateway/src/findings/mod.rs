// SPDX-License-Identifier: Apache-2.0
//! In: the resolution. Out: what a person should know about it. Not here: anything that changes the answer.

mod annotations;
mod delegation;
mod fared;
mod guards;
mod order;
mod written;

use overrule_engine::{NodeId, PolicyId, StepId};
use overrule_family::some_of;
use overrule_gateway::resolve::policy_name;
use overrule_source::Diagnostic;

use crate::policy::Policy;
use crate::resolve::Found;

/// Reports on everything.
pub(crate) fn report(found: &Found<'_>, out: &mut Vec<Diagnostic>) {
    written::report(found, out);
    delegation::report(found, out);
    annotations::report(found, out);
    fared::report(found, out);
    guards::report(found, out);
    order::report(found, out);
}

impl<'a> Found<'a> {
    /// `namespace/name` of a policy, or of a route that counts as one.
    fn name(&self, policy: PolicyId) -> String {
        policy_name(self.world.snapshot, self.resolution, policy)
    }

    fn policy(&self, id: PolicyId) -> Option<&'a Policy> {
        self.world.policies.get(id)
    }

    fn policy_of(&self, step: StepId) -> Option<PolicyId> {
        self.resolution.ladders.get_step(step).map(|s| s.policy)
    }

    /// `infra/r#rule-1`: the name of an object or a section of it.
    fn node(&self, node: NodeId) -> String {
        let Some(node) = self.world.topology.nodes.get(node) else { return String::new() };
        let text = |sym| self.world.snapshot.text(sym);
        let mut name = format!("{}/{}", text(node.namespace), text(node.name));
        if !node.section.is_empty() {
            name.push('#');
            name.push_str(text(node.section));
        }
        name
    }
}
