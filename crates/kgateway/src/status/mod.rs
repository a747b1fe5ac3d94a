// SPDX-License-Identifier: Apache-2.0
//! In: a resolution. Out: the conditions on policies, per ancestor: under `shipped` as the controller writes them, in
//! `design` as they should read, with what is in force where. Not here: conditions of routes.
//!
//! The controller looks at one merge at a time: the chain of a rule, a listener, a Gateway. A policy is Attached if
//! every field of every such merge names it, Merged if some do, Overridden if there is a merge in which none does.

mod truthful;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overrule_engine::{KindId, LadderId, NodeId, PathId, PolicyId, Resolution, Rung, Traced};
use overrule_family::Condition;
use overrule_gateway::topology::level;
use overrule_source::Documents;

use crate::Profile;
use crate::World;
use crate::kinds::{KindShape, TWO_UNITS};
use crate::policy::Policy;

/// How far a policy got in the merges below one ancestor; the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Got {
    /// Only a single backend has it, and nobody writes that down.
    Pending,
    Attached,
    Merged,
    Overridden,
    Invalid,
}

/// The conditions of every policy, in the order of policies; what routes say themselves has none.
pub fn conditions(world: World<'_>, resolution: &Resolution) -> Vec<Vec<Condition>> {
    let got = Merges { world, resolution, states: BTreeMap::new(), got: BTreeMap::new() }.all();
    let tell = match world.profile {
        Profile::Shipped => None,
        Profile::Design => Some(truthful::tell(world, resolution)),
    };
    let policies = (0..).map(PolicyId).zip(&world.policies.list);
    let of = |(id, policy): (PolicyId, &Arc<Policy>)| {
        let here = got.range((id, NodeId(0))..=(id, NodeId(u32::MAX)));
        let mut found = Vec::new();
        for ((_, ancestor), got) in here {
            let told = tell.as_ref().map(|t| t.get(&(id, *ancestor)).cloned().unwrap_or_default());
            found.extend(words(policy, *ancestor, *got, told));
        }
        found
    };
    policies.map(of).collect()
}

fn words(
    policy: &Policy,
    ancestor: NodeId,
    got: Got,
    told: Option<truthful::Told>,
) -> [Condition; 2] {
    let accepted = match got {
        Got::Invalid => Condition {
            ancestor: Some(ancestor.into()),
            kind: "Accepted",
            status: false,
            reason: "Invalid",
            message: policy.problem.map_or("", |r| r.sentence).to_owned(),
        },
        _ => Condition {
            ancestor: Some(ancestor.into()),
            kind: "Accepted",
            status: true,
            reason: "Valid",
            message: "Policy accepted".to_owned(),
        },
    };
    let shipped = match got {
        Got::Pending => (false, "Pending", "Policy is not attached"),
        Got::Attached => (true, "Attached", "Attached to all targets"),
        Got::Merged => (true, "Merged", "Merged with other policies in target(s) and attached"),
        Got::Overridden => (
            false,
            "Overridden",
            "Overridden due to conflict with higher priority policy in target(s)",
        ),
        Got::Invalid => (false, "Pending", "Policy is not attached due to invalid status"),
    };
    let (status, reason, message) = match (told, got) {
        (Some(told), got) if got != Got::Invalid => told.condition(),
        _ => (shipped.0, shipped.1, shipped.2.to_owned()),
    };
    [
        accepted,
        Condition { ancestor: Some(ancestor.into()), kind: "Attached", status, reason, message },
    ]
}

/// The merges of a resolution, each looked at once.
struct Merges<'a> {
    world: World<'a>,
    resolution: &'a Resolution,
    states: BTreeMap<LadderId, Vec<(PolicyId, Got)>>,
    got: BTreeMap<(PolicyId, NodeId), Got>,
}

impl Merges<'_> {
    fn all(mut self) -> BTreeMap<(PolicyId, NodeId), Got> {
        let kinds = crate::kinds::ALL;
        let text = |sym| self.world.snapshot.text(sym);
        let shapes: Vec<(KindId, KindShape)> = self
            .resolution
            .kinds()
            .filter_map(|(id, k)| Some((id, kinds.iter().find(|i| i.kind == text(k.kind))?.shape)))
            .collect();
        let mut met: BTreeSet<(NodeId, LadderId, bool)> = BTreeSet::new();
        for (kind, shape) in shapes {
            for (path, ladder) in self.resolution.contexts(kind) {
                let Some(ancestor) = ancestor(self.world, self.resolution, path) else { continue };
                match shape {
                    KindShape::BuiltIn => {}
                    KindShape::Path => {
                        for rung in &self.resolution.ladders.get(ladder).rungs {
                            if let Rung::Group(group) = rung {
                                met.insert((ancestor, *group, true));
                            }
                        }
                    }
                    // Kinds that no origins are kept of say Attached, whatever happened.
                    KindShape::Sequential | KindShape::Backend => {
                        met.insert((ancestor, ladder, false));
                    }
                    KindShape::Listener => {
                        met.insert((ancestor, ladder, true));
                    }
                }
            }
        }
        // Listeners without routes are merged too.
        for (node, group) in self.resolution.kept() {
            met.insert((node, group, true));
        }
        for (ancestor, group, by_origin) in met {
            for (policy, got) in self.states(group, by_origin) {
                let slot = self.got.entry((policy, ancestor)).or_insert(got);
                *slot = (*slot).max(got);
            }
        }
        self.got
    }

    /// How far each policy of a merge got.
    fn states(&mut self, group: LadderId, by_origin: bool) -> Vec<(PolicyId, Got)> {
        if let Some(known) = self.states.get(&group) {
            return known.clone();
        }
        let result = self.resolution.result(group);
        let value = result.and_then(|e| e.value.as_ref());
        let origins = value.map(|v| origins(self.world.documents, self.resolution, v));
        let origins = origins.unwrap_or_default();
        let steps = self.resolution.ladders.steps(group);
        let mut policies: Vec<PolicyId> = steps
            .iter()
            .filter_map(|s| Some(self.resolution.ladders.get_step(*s)?.policy))
            .collect();
        policies.sort_unstable();
        policies.dedup();
        let state = |id: PolicyId| {
            if self.world.policies.get(id).is_some_and(|p| p.problem.is_some()) {
                return Got::Invalid;
            }
            let step = |s: &overrule_engine::StepId| self.resolution.ladders.get_step(*s);
            let mut own = steps.iter().filter_map(step).filter(|s| s.policy == id);
            let on_backend = own.all(|s| s.level >= level::BACKEND.0) && by_origin;
            if on_backend {
                return Got::Pending;
            }
            let named = origins.iter().filter(|o| o.contains(&id)).count();
            match named {
                _ if !by_origin => Got::Attached,
                n if n == origins.len() => Got::Attached,
                0 => Got::Overridden,
                _ => Got::Merged,
            }
        };
        let found: Vec<_> = policies.into_iter().map(|id| (id, state(id))).collect();
        self.states.insert(group, found.clone());
        found
    }
}

/// The policies that each unit of a value comes from.
fn origins(
    documents: &Documents,
    resolution: &Resolution,
    value: &Traced,
) -> Vec<BTreeSet<PolicyId>> {
    let policies = |value: &Traced| -> BTreeSet<PolicyId> {
        let steps = value.steps().into_iter();
        steps.filter_map(|s| Some(resolution.ladders.get_step(s)?.policy)).collect()
    };
    let mut found = Vec::new();
    for (key, value) in value.entries(documents) {
        if TWO_UNITS.contains(&key.text(documents)) {
            found.extend(value.entries(documents).iter().map(|(_, v)| policies(v)))
        } else {
            found.push(policies(&value))
        }
    }
    found
}

/// What a status names for a path: the ListenerSet or Gateway it comes through, or the backend.
pub(crate) fn ancestor(world: World<'_>, resolution: &Resolution, path: PathId) -> Option<NodeId> {
    let nodes = resolution.paths.nodes(path);
    let at = |level| {
        let mut of = nodes
            .iter()
            .filter(|n| world.topology.nodes.get(**n).is_some_and(|n| n.level == level));
        of.next().copied()
    };
    at(level::LISTENER_SET).or_else(|| at(level::GATEWAY)).or_else(|| at(level::BACKEND))
}
