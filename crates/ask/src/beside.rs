// SPDX-License-Identifier: Apache-2.0
//! In: what a question is about. Out: the ways that lead there, and what is said beside effective policies: policies that
//! nobody resolves, and the routes of a Service. Not here: effective policies.
//!
//! A Service is asked about from three sides: as a backend, as what its clients see, and through the rules that send to it
//! (most kinds have their effective policies there, not at the Service).

use std::collections::BTreeSet;

use overrule::engine::NodeId;
use overrule::gateway::topology::{BackendFacts, BackendIx, BackendUse, GatewayTopology, RuleIx};
use overrule::lookup;
use overrule::model::Object;
use overrule::view::{self, GraphFocus, Scene, v1};

use crate::filter::Filter;
use crate::select::{Elsewhere, FamilyPolicyKind, PolicyContext};
use crate::{AskError, Form, Known, Shared, Sink, text};

/// Nodes that paths pass, all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passing {
    nodes: Vec<NodeId>,
    /// Where the paths end, if that counts: what goes on from here goes elsewhere too.
    end: Option<NodeId>,
}

/// The rules that send to the Service, or the port of one, that a node is; only those that may be read.
fn senders<'a>(
    known: &Known<'a>,
    node: NodeId,
) -> impl Iterator<Item = (RuleIx, &'a BackendUse)> + use<'a> {
    let topology: &'a GatewayTopology = &known.analysis.topology;
    let port = topology.port_of(node).and_then(|port| topology.port(port));
    let backend: Option<BackendIx> =
        topology.backend_of(node).or_else(|| port.map(|port| port.backend));
    let number = port.map(|port| port.number);
    let known = *known;
    let senders = backend.into_iter().flat_map(|backend| topology.senders(backend));
    senders.filter(move |(rule, used)| {
        let route = topology.rule(*rule).and_then(|rule| topology.route(rule.route));
        route.is_some_and(|route| known.sees_id(route.object))
            && number.is_none_or(|number| used.port.is_some_and(|port| port.get() == number))
    })
}

/// The ways to all of these nodes.
pub(crate) fn ways(known: &Known<'_>, nodes: &[NodeId]) -> Vec<Passing> {
    let topology = &known.analysis.topology;
    let mut ways = vec![Passing::default()];
    for node in nodes {
        let mut sides = vec![(*node, None)];
        sides.extend(topology.frontend_node(*node).map(|frontend| (frontend, None)));
        let mut last = None;
        for rule in senders(known, *node).filter_map(|(rule, _)| topology.rule(rule)) {
            let route = topology.route(rule.route).map(|route| route.node);
            if last.replace(rule.route) != Some(rule.route) {
                sides.extend(route.map(|route| (route, Some(route))));
            }
            sides.push((rule.node, Some(rule.node)));
        }
        let further = |way: &Passing| -> Vec<Passing> {
            let longer = |(side, end): &(NodeId, Option<NodeId>)| {
                let nodes = way.nodes.iter().copied().chain([*side]).collect();
                Passing { nodes, end: end.or(way.end) }
            };
            sides.iter().map(longer).collect()
        };
        ways = ways.iter().flat_map(further).collect();
    }
    ways
}

/// Paths of the given kinds on these ways, each once, in order.
pub(crate) fn contexts<'a>(
    known: &Known<'_>,
    scene: &Scene<'_>,
    kinds: &'a [FamilyPolicyKind<'a>],
    ways: &'a [Passing],
    filter: &Filter,
) -> Vec<PolicyContext<'a>> {
    let sees = |o: &Object| known.sees(o);
    let mut found = Vec::new();
    for way in ways {
        let end = |c: &PolicyContext<'_>| c.part.resolution.paths.node(c.path);
        let here = lookup::contexts(kinds, &way.nodes);
        let here = here.filter(|c| way.end.is_none() || end(c) == way.end);
        found.extend(here.filter(|c| filter.path(scene, c.part, c.path, &sees)));
    }
    if ways.len() > 1 {
        let part = |c: &PolicyContext<'_>| scene.parts.iter().position(|p| std::ptr::eq(p, c.part));
        let key = |c: &PolicyContext<'_>| (part(c), c.kind, c.path);
        found.sort_by_key(key);
        found.dedup_by_key(|c| key(c));
    }
    found
}

/// Paths on these ways that only other profiles have.
pub(crate) fn elsewhere<'a>(
    known: &Known<'_>,
    scene: &'a Scene<'a>,
    kinds: &[FamilyPolicyKind<'a>],
    ways: &[Passing],
    filter: &Filter,
) -> Vec<Elsewhere<'a>> {
    let mut found: Vec<Elsewhere<'a>> = Vec::new();
    for way in ways {
        let here = crate::select::elsewhere(known, scene, kinds, &way.nodes, filter);
        for one in here {
            let end = one.other.part.resolution.paths.node(one.path);
            let known = |e: &Elsewhere<'_>| {
                std::ptr::eq(e.other, one.other) && (e.kind, e.path) == (one.kind, one.path)
            };
            if (way.end.is_none() || end == way.end) && !found.iter().any(known) {
                found.push(one);
            }
        }
    }
    found
}

/// The policies that nobody resolves and that target what is asked about, or what is above or below it on these paths; all
/// that the flags leave if nothing is named.
pub(crate) fn unresolved(
    known: &Known<'_>,
    scene: &Scene<'_>,
    nodes: &[NodeId],
    contexts: &[PolicyContext<'_>],
    filter: &Filter,
) -> Vec<v1::UnresolvedPolicy> {
    if scene.unresolved.is_empty() {
        return Vec::new();
    }
    if nodes.is_empty() {
        let snapshot = &known.analysis.snapshot;
        return view::unresolved(scene, &|o| known.sees(o) && filter.object(snapshot, o), None);
    }
    let topology = &known.analysis.topology;
    let mut around: BTreeSet<NodeId> = nodes.iter().copied().collect();
    around.extend(nodes.iter().filter_map(|node| topology.frontend_node(*node)));
    on_paths(known, contexts, &mut around);
    // The sections of what is asked about are asked about with it.
    for node in nodes.iter().filter_map(|node| topology.nodes.get(*node)) {
        let whole = node.object.filter(|_| node.section.is_empty());
        around.extend(whole.into_iter().flat_map(|o| topology.sections_of(o)).map(|(_, n)| n));
    }
    at(known, scene, &around)
}

/// The policies that nobody resolves and that target one of these paths.
pub(crate) fn unresolved_on(
    known: &Known<'_>,
    scene: &Scene<'_>,
    contexts: &[PolicyContext<'_>],
    also: &[NodeId],
) -> Vec<v1::UnresolvedPolicy> {
    let mut around: BTreeSet<NodeId> = also.iter().copied().collect();
    if !scene.unresolved.is_empty() {
        on_paths(known, contexts, &mut around);
    }
    at(known, scene, &around)
}

fn on_paths(known: &Known<'_>, contexts: &[PolicyContext<'_>], around: &mut BTreeSet<NodeId>) {
    for context in contexts {
        let paths = &context.part.resolution.paths;
        let mut next = Some(context.path);
        while let Some(path) = next {
            let node =
                paths.node(path).filter(|_| !known.restricted() || sees(known, paths.node(path)));
            around.extend(node);
            next = paths.parent(path);
        }
    }
}

fn sees(known: &Known<'_>, node: Option<NodeId>) -> bool {
    let object = node.and_then(|n| known.analysis.topology.nodes.get(n)?.object);
    object.is_some_and(|object| known.sees_id(object))
}

fn at(
    known: &Known<'_>,
    scene: &Scene<'_>,
    around: &BTreeSet<NodeId>,
) -> Vec<v1::UnresolvedPolicy> {
    view::unresolved(scene, &|o| known.sees(o), Some(&|node| around.contains(&node)))
}

/// Writes them, as comments where the answer is YAML.
pub(crate) fn write_unresolved(
    shared: &Shared,
    form: Form,
    asked: Option<&str>,
    policies: &[v1::UnresolvedPolicy],
    sink: &mut dyn Sink,
) -> Result<(), AskError> {
    let comment = if form == Form::Yaml { "# " } else { "" };
    let styles = sink.styles();
    sink.result(&text(|s| {
        view::unresolved_text(policies, asked, comment, shared.verbose, &styles, s)
    }))
}

/// The routes of the Service, or of the port of one, that a node is; none if it is something else, or has none.
pub(crate) fn service_routes(
    known: &Known<'_>,
    scene: &Scene<'_>,
    node: NodeId,
) -> Option<v1::ServiceRoutes> {
    let topology = &known.analysis.topology;
    let part = scene.parts.first()?;
    let name = |node| part.target_name(scene, node);
    let senders = senders(known, node).filter_map(|(rule, used)| {
        Some(v1::Sender {
            rule: name(topology.rule(rule)?.node),
            port: used.port.map(std::num::NonZero::get),
            weight: used.weight,
            // Whether it is good depends on what may be hidden.
            broken: match used.facts {
                _ if known.restricted() => None,
                BackendFacts::NotFound => Some("not in the input"),
                BackendFacts::NotPermitted => Some("no ReferenceGrant permits it"),
                BackendFacts::Resolved | BackendFacts::Unknown => None,
            },
        })
    });
    let frontend = topology.frontend_node(node);
    let mesh = &topology.mesh;
    let links =
        frontend.and_then(|node| mesh.frontend_at(node)).map_or(&[][..], |f| mesh.links_of(f));
    let bound = links.iter().filter_map(|link| {
        let route = topology.route(link.route).filter(|route| known.sees_id(route.object))?;
        let port = link.port.and_then(|port| mesh.port(port)).map(|port| port.node);
        let is_asked = frontend.is_none_or(|f| port.is_none() || port == Some(f))
            || topology.backend_of(node).is_some();
        let section =
            |node| Some(scene.snapshot.text(topology.nodes.get(node)?.section).to_owned());
        is_asked.then(|| v1::BoundRoute {
            route: name(route.node),
            port: port.and_then(section),
            clients: link.clients.map(|clients| scene.snapshot.text(clients).to_owned()),
        })
    });
    let routes = v1::ServiceRoutes {
        service: name(node),
        senders: senders.collect(),
        bound: bound.collect(),
    };
    (!routes.senders.is_empty() || !routes.bound.is_empty()).then_some(routes)
}

/// What a picture of a node is about.
pub(crate) fn focus(known: &Known<'_>, node: Option<NodeId>) -> GraphFocus {
    let Some(node) = node else { return GraphFocus::default() };
    let topology = &known.analysis.topology;
    let rules = senders(known, node).filter_map(|(rule, _)| topology.rule(rule));
    GraphFocus {
        node: Some(node),
        also: topology.frontend_node(node).into_iter().collect(),
        senders: rules.map(|rule| rule.node).collect(),
    }
}
