// SPDX-License-Identifier: Apache-2.0
//! In: the resolution. Out: what a person should know about it. Not here: anything that changes the answer.

mod annotations;
mod delegation;
mod guards;
mod order;
mod outcomes;
mod written;

use std::collections::BTreeMap;

use overrule_engine::{KindId, LadderId, NodeId, PathId, PolicyId, StepId, Subjects};
use overrule_family::some_of;
use overrule_gateway::codes_policy;
use overrule_gateway::resolve::policy_name;
use overrule_source::{Code, Diagnostic};

use crate::codes;
use crate::delegation::Delegations;
use crate::policy::Policy;
use crate::resolve::{Filter, Found, kind_of};

pub(crate) use guards::has_headers_of_tiers;
pub(crate) use outcomes::answering;

/// What is said about outcomes. Each points into the document of a policy it is about.
pub(crate) static OUTCOMES: [Code; 6] = [
    &codes::DEEP_MISNAMED,
    &codes::SHADOWED_UNSEEN,
    &codes::NO_ROUTE_ACTION,
    &codes::GUARD_DISABLED,
    &codes::UNDATED,
    &codes_policy::SHADOWED_EVERYWHERE,
];

/// Reports on everything.
pub(crate) fn report(
    found: &Found<'_>,
    filters: &[Filter],
    delegations: &Delegations,
    out: &mut Vec<Diagnostic>,
) {
    written::report(found, filters, out);
    delegation::report(found, delegations, out);
    annotations::report(found, out);
    outcomes::report(found, out);
    guards::report(found, out);
    order::report(found, out);
}

/// Reports on policies whose content changed, none of which is broken, and on outcomes that may have changed.
pub(crate) fn of_change(found: &Found<'_>, changed: &[PolicyId], out: &mut Vec<Diagnostic>) {
    changed.iter().for_each(|id| written::policy(found, *id, out));
    outcomes::of_change(found, out);
    guards::of_change(found, out);
    order::report(found, out);
}

impl<'a> Found<'a> {
    /// The ladders of a kind that are looked at, by id, with the first path that has each and how many there are.
    fn ladders(&self, kind: KindId) -> BTreeMap<LadderId, (PathId, u64)> {
        let resolution = self.resolution;
        let mut found: BTreeMap<LadderId, (PathId, u64)> = BTreeMap::new();
        if let Subjects::Some { ladders, .. } = self.subjects {
            let of_kind =
                |id: &&LadderId| kind_of(resolution.ladders.get(**id).spec) == usize::from(kind.0);
            let paths = |id: &LadderId| {
                Some((*id, (resolution.first_path_of(*id)?, resolution.uses_of(*id))))
            };
            return ladders.iter().filter(of_kind).filter_map(paths).collect();
        }
        for (path, ladder) in resolution.contexts(kind).filter(|(_, l)| *l != LadderId::EMPTY) {
            found.entry(ladder).or_insert((path, 0)).1 += 1;
        }
        found
    }

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
