// SPDX-License-Identifier: Apache-2.0
//! In: changes, and the states they are between. Out: how far they reach, in figures. Not here: what changes.

use std::collections::BTreeSet;

use overrule::Analysis;
use overrule::engine::{LadderId, Resolution};
use overrule::model::Object;
use overrule::view::v1;

/// Kind, namespace, name.
type Name<'a> = (&'a str, &'a str, &'a str);

pub(crate) fn radius(
    before: &Analysis,
    after: &Analysis,
    changes: &v1::EffectiveChanges,
    causes: &[v1::ChangeCause],
) -> v1::BlastRadius {
    let gone = causes.iter().filter(|cause| is_gone(cause)).count();
    let policies: BTreeSet<String> = [before, after].into_iter().flat_map(policies).collect();
    let routes: BTreeSet<Name<'_>> = changes.items.iter().filter_map(|i| i.route()).collect();
    let all_routes: BTreeSet<Name<'_>> = routes_of(before).chain(routes_of(after)).collect();
    let (hosts, all_hosts) =
        (hostnames(before, after, &routes), hostnames(before, after, &all_routes));
    let dataplanes: BTreeSet<Name<'_>> = elements(changes).filter(|n| n.0 == DATAPLANE).collect();
    let all_dataplanes: BTreeSet<Name<'_>> =
        of_kind(before, DATAPLANE).chain(of_kind(after, DATAPLANE)).collect();
    let namespaces: BTreeSet<&str> = changes.items.iter().filter_map(namespace).collect();
    let all_namespaces: BTreeSet<&str> =
        namespaces_of(before).chain(namespaces_of(after)).collect();
    let gone_paths = changes.items.iter().filter(|item| item.after.is_none()).count();
    let share = |affected, of| v1::Share { affected, of };
    v1::BlastRadius {
        resources: share(causes.len(), after.snapshot.objects().count() + gone),
        policies: share(
            causes.iter().filter(|c| policies.contains(&c.resource)).count(),
            policies.len(),
        ),
        paths: share(changes.items.len(), covered(after) + gone_paths),
        routes: share(routes.len(), all_routes.len()),
        hostnames: share(hosts.len(), all_hosts.len()),
        namespaces: share(namespaces.len(), all_namespaces.len()),
        dataplanes: share(dataplanes.len(), all_dataplanes.len()),
    }
}

const DATAPLANE: &str = "Dataplane";

fn is_gone(cause: &v1::ChangeCause) -> bool {
    matches!(cause.change, "removed" | "deleted")
}

/// Paths and kinds on which something is in force, or that fail.
fn covered(analysis: &Analysis) -> usize {
    let of_answer = |resolution: &Resolution| {
        let kinds = resolution.kinds().map(|(kind, _)| kind);
        let contexts = kinds.flat_map(|kind| resolution.contexts(kind));
        let fails = |path| resolution.failures(path).next().is_some();
        contexts.filter(|(path, ladder)| *ladder != LadderId::EMPTY || fails(*path)).count()
    };
    analysis.shown().map(|answer| of_answer(&answer.resolution)).sum()
}

/// Policies as causes name them.
fn policies(analysis: &Analysis) -> Vec<String> {
    let snapshot = &analysis.snapshot;
    let declared = analysis.shown().flat_map(|a| a.resolution.declared()).map(|(_, p)| p.object);
    let named = |id| {
        let object: &Object = snapshot.get(id)?;
        Some(format!("{} {}", snapshot.text(object.kind.kind), snapshot.full_name(id)))
    };
    declared.filter_map(named).collect()
}

fn elements(changes: &v1::EffectiveChanges) -> impl Iterator<Item = Name<'_>> {
    let all = changes.items.iter().flat_map(|item| &item.path);
    all.map(|e| (e.kind.as_str(), e.namespace.as_deref().unwrap_or(""), e.name.as_str()))
}

/// The namespace, or mesh, of the target.
fn namespace(item: &v1::EffectiveChange) -> Option<&str> {
    item.path.iter().rev().find_map(|element| element.namespace.as_deref())
}

fn namespaces_of(analysis: &Analysis) -> impl Iterator<Item = &str> {
    let nodes = analysis.topology.nodes.iter();
    nodes.map(|(_, node)| analysis.snapshot.text(node.namespace)).filter(|n| !n.is_empty())
}

fn of_kind<'a>(analysis: &'a Analysis, kind: &'static str) -> impl Iterator<Item = Name<'a>> {
    let nodes = analysis.topology.nodes.iter().map(|(_, node)| node);
    let text = |sym| analysis.snapshot.text(sym);
    nodes
        .filter(move |n| n.section.is_empty() && text(n.kind) == kind)
        .map(move |n| (text(n.kind), text(n.namespace), text(n.name)))
}

fn routes_of(analysis: &Analysis) -> impl Iterator<Item = Name<'_>> {
    let text = |sym| analysis.snapshot.text(sym);
    let nodes = analysis.topology.routes.iter().filter_map(|r| analysis.topology.nodes.get(r.node));
    nodes.map(move |n| (text(n.kind), text(n.namespace), text(n.name)))
}

/// The hostnames that these routes are written for.
fn hostnames<'a>(
    before: &'a Analysis,
    after: &'a Analysis,
    routes: &BTreeSet<Name<'_>>,
) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for analysis in [before, after] {
        let (topology, snapshot) = (&analysis.topology, &analysis.snapshot);
        for route in &topology.routes {
            let found_route = topology.nodes.get(route.node).zip(topology.route_of(route.node));
            let Some((node, ix)) = found_route else { continue };
            let name =
                (snapshot.text(node.kind), snapshot.text(node.namespace), snapshot.text(node.name));
            if routes.contains(&name) {
                found.extend(topology.hostnames_of(ix).iter().map(|host| snapshot.text(*host)));
            }
        }
    }
    found
}
