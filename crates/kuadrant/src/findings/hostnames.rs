// SPDX-License-Identifier: Apache-2.0
//! In: routes wider than the listeners they are served by. Out: where the operator configures nothing although traffic
//! flows. Not here: paths; the profiles decide about those.

use std::collections::BTreeSet;

use overrule_engine::NodeId;
use overrule_gateway::topology::{HostFit, Link};
use overrule_source::Diagnostic;

use super::Findings;
use crate::codes;

/// Reports each route once, at the first listener it is wider than.
pub(super) fn report(findings: &Findings<'_>, out: &mut Vec<Diagnostic>) {
    let topology = findings.world.topology;
    let narrow = topology.links.iter().filter(|l| l.facts().hosts == HostFit::Intersects);
    let mut narrow = narrow.filter(|l| l.accepted()).peekable();
    if narrow.peek().is_none() {
        return;
    }
    let targets: BTreeSet<NodeId> =
        findings.resolution.attachments.iter().map(|a| a.node).collect();
    let mut seen = BTreeSet::new();
    for link in narrow {
        if reached(findings, &targets, link) && seen.insert(link.route) {
            out.extend(finding(findings, link));
        }
    }
}

/// Whether any policy is attached along the link.
fn reached(findings: &Findings<'_>, targets: &BTreeSet<NodeId>, link: &Link) -> bool {
    let topology = findings.world.topology;
    let listener = topology.listener(link.listener);
    let gateway = listener.and_then(|l| l.gateway).and_then(|g| topology.gateway(g));
    let route = topology.route(link.route);
    let rules = topology.rules_of(link.route).map(|(_, r)| r.node);
    let nodes = listener.map(|l| l.node).into_iter();
    let mut nodes = nodes.chain(gateway.map(|g| g.node)).chain(route.map(|r| r.node)).chain(rules);
    nodes.any(|node| targets.contains(&node))
}

fn finding(findings: &Findings<'_>, link: &Link) -> Option<Diagnostic> {
    let topology = findings.world.topology;
    let snapshot = findings.world.snapshot;
    let listener = topology.listener(link.listener)?;
    let route = topology.route(link.route)?;
    let object = snapshot.get(route.object)?;
    let wide: Vec<String> = topology
        .hostnames_of(link.route)
        .iter()
        .map(|h| format!("`{}`", snapshot.text(*h)))
        .collect();
    let message = format!(
        "traffic for {} reaches this route through listener `{}`, whose hostname `{}` is narrower: the operator configures no policy there",
        wide.join(", "),
        snapshot.text(listener.name),
        snapshot.text(listener.hostname)
    );
    let node = topology.nodes.get(listener.node);
    let d = Diagnostic::new(&codes::UNPROTECTED_HOSTNAME, message).at(object.at);
    let d = d.field("spec.hostnames").help(format!(
        "add `{}` to the hostnames of the route: the operator only protects hostnames within that of the listener",
        snapshot.text(listener.hostname)
    ));
    Some(match node.and_then(|n| n.at) {
        Some(at) => d.see(at, "the listener"),
        None => d,
    })
}
