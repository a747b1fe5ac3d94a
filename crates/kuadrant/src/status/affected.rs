// SPDX-License-Identifier: Apache-2.0
//! In: attachments. Out: the condition `kuadrant.io/<Kind>Affected` the operator writes on Gateways, listeners and
//! routes: every accepted policy in reach, whoever wins. Not here: which of them is in force.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{NodeId, PolicyId, Resolution};
use overrule_family::Affected;
use overrule_gateway::resolve::policy_name;
use overrule_gateway::topology::{GatewayIx, GatewayTopology, ParentTarget, RouteIx, RouteKind};

use crate::World;
use crate::kinds::{ALL, MergeClass};

/// Policies by kind, at one node or in reach of one.
type ByKind = BTreeMap<usize, BTreeSet<PolicyId>>;

/// The conditions of all targets, by node and kind. Policies on rules appear nowhere, as with the operator.
pub fn affected(world: World<'_>, resolution: &Resolution) -> Vec<Affected> {
    let mut own: BTreeMap<NodeId, ByKind> = BTreeMap::new();
    for attachment in &resolution.attachments {
        let policy = world.policies.list.get(attachment.policy.0 as usize);
        let Some(policy) = policy.filter(|p| !matches!(p.info.class, MergeClass::Generates { .. }))
        else {
            continue;
        };
        let kinds = own.entry(attachment.node).or_default();
        kinds.entry(policy.kind).or_default().insert(attachment.policy);
    }
    let reach = Reach { topology: world.topology, own };
    let mut found: BTreeMap<NodeId, ByKind> = BTreeMap::new();
    for (ix, gateway) in world.topology.gateways.iter().enumerate() {
        reach.add(gateway.node, gateway.node, &mut found);
        for (_, listener) in world.topology.listeners_of(GatewayIx::from(ix)) {
            reach.add(listener.node, gateway.node, &mut found);
            reach.add(listener.node, listener.node, &mut found);
        }
    }
    reach.routes(&mut found);
    let all = found.into_iter().flat_map(|(node, kinds)| {
        kinds.into_iter().map(move |(kind, policies)| (node, kind, policies))
    });
    all.map(|(node, kind, policies)| {
        let kind = ALL.get(kind).map_or("", |k| k.kind);
        let policies: Vec<PolicyId> = policies.into_iter().collect();
        let names = policies.iter().map(|p| policy_name(world.snapshot, resolution, *p));
        let names: BTreeSet<String> = names.collect();
        let names: Vec<String> = names.into_iter().collect();
        Affected {
            node,
            policy_kind: kind,
            policies,
            condition_type: format!("kuadrant.io/{kind}Affected"),
            message: format!("Object affected by {kind} [{}]", names.join(" ")),
        }
    })
    .collect()
}

struct Reach<'a> {
    topology: &'a GatewayTopology,
    own: BTreeMap<NodeId, ByKind>,
}

impl Reach<'_> {
    /// Policies at `from` count for `to`.
    fn add(&self, to: NodeId, from: NodeId, found: &mut BTreeMap<NodeId, ByKind>) {
        let Some(kinds) = self.own.get(&from) else { return };
        for (kind, policies) in kinds {
            found.entry(to).or_default().entry(*kind).or_default().extend(policies);
        }
    }

    /// The operator links routes by parentRefs alone: hostnames, ports and `allowedRoutes` do not count here.
    fn routes(&self, found: &mut BTreeMap<NodeId, ByKind>) {
        for (ix, route) in (0..).map(RouteIx).zip(&self.topology.routes) {
            if !matches!(route.kind, RouteKind::Http | RouteKind::Grpc) {
                continue;
            }
            self.add(route.node, route.node, found);
            for parent in self.topology.parents_of(ix) {
                let Some(ParentTarget::Gateway(ix)) = parent.target else { continue };
                let Some(gateway) = self.topology.gateway(ix) else { continue };
                self.add(route.node, gateway.node, found);
                for (_, listener) in self.topology.listeners_of(ix) {
                    if parent.section.is_empty() || parent.section == listener.name {
                        self.add(route.node, listener.node, found);
                    }
                }
            }
        }
    }
}
