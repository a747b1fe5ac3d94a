// SPDX-License-Identifier: Apache-2.0
//! In: a resolution and how it came about. Out: what a person should know about it. Not here: anything that changes the
//! answer.

mod broken;
mod listeners;
mod merged;
mod removed;
mod rules;
mod targets;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{KindId, LadderId, NodeId, PathId, PolicyId, StepId};
use overrule_family::some_of;
use overrule_gateway::topology::level;
use overrule_model::ObjectId;
use overrule_source::Diagnostic;

use crate::World;
use crate::kinds::{ALL, KindInfo};
use crate::policy::Policy;
use crate::resolve::Found;

/// Reports on everything.
pub(crate) fn report(found: &Found<'_, '_>, out: &mut Vec<Diagnostic>) {
    written::report(found.plan.world(), out);
    targets::report(found, out);
    removed::report(found, out);
    merged::report(found, out);
    broken::report(found, out);
    listeners::report(found, out);
    rules::report(found, out);
}

/// What is wrong with policies whatever else there is.
pub(crate) fn judge(world: World<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    written::report(world, &mut out);
    out
}

/// Policies that an API server refuses.
pub(crate) fn refused(world: World<'_>) -> Vec<ObjectId> {
    let refused = world.policies.list.iter().filter(|policy| written::is_refused(world, policy));
    refused.map(|policy| policy.object).collect()
}

impl<'a> Found<'a, '_> {
    /// Every kind that takes part.
    fn kinds(&self) -> Vec<(KindId, &'static KindInfo)> {
        let text = |sym| self.plan.world().snapshot.text(sym);
        let kinds = self.resolution.kinds();
        let known = kinds.filter_map(|(id, kind)| {
            Some((id, ALL.iter().find(|info| info.kind == text(kind.kind))?))
        });
        known.collect()
    }

    fn policy(&self, id: PolicyId) -> Option<&'a Policy> {
        let policies = self.plan.world().policies;
        policies.get(id).map(|policy| &**policy)
    }

    fn policy_of(&self, step: StepId) -> Option<PolicyId> {
        self.resolution.ladders.get_step(step).map(|step| step.policy)
    }

    /// `namespace/name` of a policy.
    fn name(&self, id: PolicyId) -> String {
        overrule_gateway::resolve::policy_name(self.plan.world().snapshot, self.resolution, id)
    }

    /// `httproute/shop/cart#rule`: a node as people write targets.
    fn node(&self, node: NodeId) -> String {
        let world = self.plan.world();
        let Some(node) = world.topology.nodes.get(node) else { return String::new() };
        let text = |sym| world.snapshot.text(sym);
        let object = node.object.map(|object| world.snapshot.display(object).to_string());
        let mut name = object.unwrap_or_else(|| text(node.name).to_owned());
        if !node.section.is_empty() {
            name.push('#');
            name.push_str(text(node.section));
        }
        name
    }

    /// The ladders of a kind, with a path that has each.
    fn ladders(&self, kind: KindId) -> BTreeMap<LadderId, PathId> {
        let mut found = BTreeMap::new();
        for (path, ladder) in self.resolution.contexts(kind) {
            if ladder != LadderId::EMPTY {
                found.entry(ladder).or_insert(path);
            }
        }
        found
    }

    /// The routes of the paths that have some ladders of a kind.
    fn routes(
        &self,
        kind: KindId,
        ladders: &BTreeSet<LadderId>,
    ) -> BTreeMap<LadderId, BTreeSet<NodeId>> {
        let mut found: BTreeMap<LadderId, BTreeSet<NodeId>> = BTreeMap::new();
        if ladders.is_empty() {
            return found;
        }
        let nodes = &self.plan.world().topology.nodes;
        for (path, ladder) in self.resolution.contexts(kind) {
            if !ladders.contains(&ladder) {
                continue;
            }
            let mut at = Some(path);
            while let Some(path) = at {
                let node = self.resolution.paths.node(path);
                let route = node.filter(|n| nodes.level_of(*n) == Some(level::ROUTE));
                if let Some(route) = route {
                    found.entry(ladder).or_default().insert(route);
                    break;
                }
                at = self.resolution.paths.parent(path);
            }
        }
        found
    }

    /// Some nodes in words.
    fn nodes(&self, nodes: &BTreeSet<NodeId>) -> String {
        let names: Vec<String> = nodes.iter().map(|node| self.node(*node)).collect();
        some_of(&names)
    }
}

/// Words in a list, quoted.
fn quoted<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}
