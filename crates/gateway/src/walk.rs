// SPDX-License-Identifier: Apache-2.0
//! In: the topology, and what a family says about its kinds. Out: every path once, top-down, with the ladder of each
//! kind. Not here: folding, ranks. A path costs one table lookup per kind and level that has policies.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::ops::Range;

use overrule_engine::{LadderId, Level, NodeId, PathId, ResolutionBuilder};
use overrule_model::ObjectId;
use smallvec::SmallVec;

use overrule_topology::{
    BackendIx, GatewayTopology, Link, Listener, ListenerIx, RouteIx, RouteKind, RuleIx, level,
};

/// What a family says about the kinds it resolves; kinds are numbered from 0.
pub trait Contexts {
    /// How many kinds there are.
    fn kinds(&self) -> usize;

    /// Whether the family sees a route at a listener.
    fn serves(&self, link: &Link) -> bool {
        link.accepted()
    }

    /// Whether it sees ListenerSets.
    fn sees_sets(&self) -> bool {
        true
    }

    /// Whether it sees routes that are bound to Services.
    fn sees_mesh(&self) -> bool {
        false
    }

    /// The level at which a kind has its effective policies; none if it has them outside this walk.
    fn stands_at(&self, kind: usize) -> Option<Level>;

    /// Whether a kind acts on routes of a kind.
    fn takes(&self, _kind: usize, _route: RouteKind) -> bool {
        true
    }

    /// The ladder of the policies attached to a node itself.
    fn local(&self, kind: usize, node: NodeId) -> LadderId;

    /// Whether no policy of a kind is attached anywhere.
    fn is_unused(&self, kind: usize) -> bool;

    /// The ladder of a node from the one above it and its own.
    fn join(
        &self,
        builder: &mut ResolutionBuilder,
        _kind: usize,
        above: LadderId,
        own: LadderId,
    ) -> LadderId {
        builder.ladders.extend(above, own)
    }

    /// The ladder as it is folded.
    fn settle(
        &mut self,
        _builder: &mut ResolutionBuilder,
        _kind: usize,
        ladder: LadderId,
    ) -> LadderId {
        ladder
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Walked {
    /// For each kind, its ladder at each path, as [`ResolutionBuilder::set_ladders`] takes it.
    pub ladders: Vec<Vec<LadderId>>,
    /// The paths that end at a class, Gateway, ListenerSet, listener, or at the frontend of a Service.
    pub objects: BTreeMap<NodeId, PathId>,
}

/// Enumerates paths into the builder and says which ladder each kind has on them.
pub fn walk<C: Contexts>(
    topology: &GatewayTopology,
    builder: &mut ResolutionBuilder,
    contexts: &mut C,
) -> Walked {
    let kinds = contexts.kinds();
    let deepest = (0..kinds).filter_map(|k| contexts.stands_at(k)).max();
    let mut walk = Walk {
        topology,
        builder,
        contexts,
        kinds,
        walked: Walked { ladders: vec![Vec::new(); kinds], objects: BTreeMap::new() },
        to_backends: deepest.is_some_and(|level| level >= level::BACKEND),
        route: None,
        called: None,
    };
    walk.reserve();
    walk.gateways();
    if walk.contexts.sees_mesh() {
        walk.frontends();
    }
    walk.walked
}

/// The ladder of each kind so far, on the way down.
type Stack = SmallVec<[LadderId; 4]>;

struct Walk<'a, 'b, C> {
    topology: &'a GatewayTopology,
    builder: &'b mut ResolutionBuilder,
    contexts: &'b mut C,
    kinds: usize,
    walked: Walked,
    to_backends: bool,
    /// Kind of the route the walk is below.
    route: Option<RouteKind>,
    /// The Service the walk is below: what acts on a Service acts once, though a path ends at the Service again.
    called: Option<ObjectId>,
}

impl<C: Contexts> Walk<'_, '_, C> {
    /// Growing a million-entry list by doubling would hold twice its size for a moment; count first.
    fn reserve(&mut self) {
        let served = self.topology.links.iter().filter(|l| self.contexts.serves(l));
        let rules = |l: &Link| self.topology.route(l.route).map_or(0, |r| r.rules.len());
        let (routes, rules) = served.fold((0, 0), |(n, sum), l| (n + 1, sum + rules(l)));
        let above = self.topology.gateways.len()
            + self.topology.classes.len()
            + self.topology.listeners.len();
        let mesh = self.topology.mesh.links.iter().filter(|_| self.contexts.sees_mesh());
        let bound = mesh.map(|l| 1 + self.topology.route(l.route).map_or(0, |r| r.rules.len()));
        let frontends = self.topology.mesh.frontends.len() + self.topology.mesh.ports.len();
        let count = above + routes + rules + frontends + bound.sum::<usize>();
        self.builder.paths.reserve(count, above + routes);
        for ladders in &mut self.walked.ladders {
            ladders.reserve_exact(count);
        }
    }

    /// class > gateway > [set >] listener > route > rule [> backend [> port]].
    fn gateways(&mut self) {
        let mut classes: BTreeMap<u32, (PathId, Stack)> = BTreeMap::new();
        for gateway in &self.topology.gateways {
            let (class_path, class_stack) = match classes.get(&gateway.class.0) {
                Some((path, stack)) => (Some(*path), stack.clone()),
                // Its class is unknown, and so is what acts there.
                None if gateway.assumed => (None, smallvec::smallvec![LadderId::EMPTY; self.kinds]),
                None => {
                    let Some(class) = self.topology.class(gateway.class) else { continue };
                    let empty = smallvec::smallvec![LadderId::EMPTY; self.kinds];
                    let made = self.step(None, &empty, class.node, level::CLASS, false);
                    self.walked.objects.insert(class.node, made.0);
                    classes.insert(gateway.class.0, made.clone());
                    (Some(made.0), made.1)
                }
            };
            let (path, stack) =
                self.step(class_path, &class_stack, gateway.node, level::GATEWAY, false);
            self.walked.objects.insert(gateway.node, path);
            for ix in gateway.listeners.clone().map(ListenerIx) {
                self.listener(path, &stack, ix);
            }
            if !self.contexts.sees_sets() {
                continue;
            }
            for set in gateway.sets.iter().filter_map(|ix| self.topology.set(*ix)) {
                let (path, stack) =
                    self.step(Some(path), &stack, set.node, level::LISTENER_SET, false);
                self.walked.objects.insert(set.node, path);
                for ix in set.listeners.clone().map(ListenerIx) {
                    self.listener(path, &stack, ix);
                }
            }
        }
    }

    fn listener(&mut self, parent: PathId, above: &Stack, ix: ListenerIx) {
        let topology = self.topology;
        let Some(listener): Option<&Listener> = topology.listener(ix) else { return };
        let (path, stack) = self.step(Some(parent), above, listener.node, level::LISTENER, false);
        self.walked.objects.insert(listener.node, path);
        for link in topology.links_of_listener(ix) {
            if self.contexts.serves(link) {
                self.route(path, &stack, link.route);
            }
        }
    }

    /// service [> port] > route > rule [> backend [> port]].
    fn frontends(&mut self) {
        let topology = self.topology;
        let empty: Stack = smallvec::smallvec![LadderId::EMPTY; self.kinds];
        for frontend in &topology.mesh.frontends {
            let (path, stack) = self.step(None, &empty, frontend.node, level::SERVICE, false);
            self.walked.objects.insert(frontend.node, path);
            self.called = frontend.object;
            for links in topology.mesh.links_of(frontend).chunk_by(|a, b| a.port == b.port) {
                let port = links.first().and_then(|link| topology.mesh.port(link.port?));
                let (path, stack) = match port {
                    Some(port) => {
                        self.step(Some(path), &stack, port.node, level::SERVICE_PORT, false)
                    }
                    None => (path, stack.clone()),
                };
                for link in links {
                    self.route(path, &stack, link.route);
                }
            }
            self.called = None;
        }
    }

    fn route(&mut self, parent: PathId, above: &Stack, ix: RouteIx) {
        let topology = self.topology;
        let Some(route) = topology.route(ix) else { return };
        self.route = Some(route.kind);
        let (path, stack) = self.step(Some(parent), above, route.node, level::ROUTE, false);
        if self.to_backends {
            for (ix, rule) in topology.rules_of(ix) {
                self.rule(path, &stack, ix, rule.node);
            }
        } else {
            // They follow their route.
            let first = route.node.0 + 1;
            let count = u32::try_from(route.rules.len()).unwrap_or(u32::MAX);
            self.leaves(path, &stack, first..first.saturating_add(count));
        }
        self.route = None;
    }

    fn rule(&mut self, parent: PathId, above: &Stack, rule: RuleIx, node: NodeId) {
        let (path, stack) = self.step(Some(parent), above, node, level::RULE, false);
        let mut seen: SmallVec<[(BackendIx, Option<NonZero<u16>>); 4]> = SmallVec::new();
        for used in self.topology.uses_of(rule) {
            if !seen.contains(&(used.backend, used.port)) {
                seen.push((used.backend, used.port));
                self.backend(path, &stack, used.backend, used.port.map(NonZero::get));
            }
        }
    }

    fn backend(&mut self, parent: PathId, above: &Stack, ix: BackendIx, number: Option<u16>) {
        let topology = self.topology;
        let Some(backend) = topology.backend(ix) else { return };
        let ports = topology
            .ports
            .get(backend.ports.start as usize..backend.ports.end as usize)
            .unwrap_or(&[]);
        let port = ports.iter().find(|p| Some(p.number) == number);
        let (path, stack) =
            self.step(Some(parent), above, backend.node, level::BACKEND, port.is_some());
        let Some(port) = port else { return };
        // The port is where the effective policy of a backend stands, if the Service names it.
        let (_, stack) = self.step(Some(path), &stack, port.node, level::PORT, true);
        for (kind, ladder) in stack.iter().enumerate() {
            if self.contexts.stands_at(kind) == Some(level::BACKEND) {
                let ladder = self.contexts.settle(self.builder, kind, *ladder);
                if let Some(slot) = self.walked.ladders.get_mut(kind).and_then(|l| l.last_mut()) {
                    *slot = ladder;
                }
            }
        }
    }

    /// Extends a path by one node; `inner` if its ladder is said at a node below it.
    fn step(
        &mut self,
        parent: Option<PathId>,
        above: &Stack,
        node: NodeId,
        at: Level,
        inner: bool,
    ) -> (PathId, Stack) {
        let path = self.builder.paths.add(parent, node);
        let mut stack = above.clone();
        let object = self.called.filter(|_| at >= level::BACKEND);
        let again =
            object.is_some() && self.topology.nodes.get(node).map(|n| n.object) == Some(object);
        for (kind, slot) in stack.iter_mut().enumerate() {
            let own = if again { LadderId::EMPTY } else { self.contexts.local(kind, node) };
            *slot = self.contexts.join(self.builder, kind, *slot, own);
            let said = if inner { LadderId::NONE } else { self.at_level(kind, *slot, at) };
            if let Some(list) = self.walked.ladders.get_mut(kind) {
                list.push(said);
            }
        }
        (path, stack)
    }

    /// The rules of a route as the ends of paths: the same as `step` for each, kind by kind and without keeping stacks.
    /// Most paths of a fleet are made here, and most rules have no policy of their own.
    fn leaves(&mut self, parent: PathId, above: &Stack, rules: Range<u32>) {
        for rule in rules.clone().map(NodeId) {
            self.builder.paths.add(Some(parent), rule);
        }
        for (kind, above) in above.iter().enumerate() {
            let inherited = self.at_level(kind, *above, level::RULE);
            if inherited == LadderId::NONE || self.contexts.is_unused(kind) {
                if let Some(list) = self.walked.ladders.get_mut(kind) {
                    list.resize(list.len() + rules.len(), inherited);
                }
                continue;
            }
            for rule in rules.clone().map(NodeId) {
                let ladder = match self.contexts.local(kind, rule) {
                    LadderId::EMPTY => inherited,
                    own => {
                        let ladder = self.contexts.join(self.builder, kind, *above, own);
                        self.at_level(kind, ladder, level::RULE)
                    }
                };
                if let Some(list) = self.walked.ladders.get_mut(kind) {
                    list.push(ladder);
                }
            }
        }
    }

    /// The ladder of a kind at a node of a level: `NONE` where the kind has no effective policies.
    fn at_level(&mut self, kind: usize, ladder: LadderId, at: Level) -> LadderId {
        let takes = self.route.is_none_or(|route| self.contexts.takes(kind, route));
        if takes && self.contexts.stands_at(kind) == Some(at) {
            self.contexts.settle(self.builder, kind, ladder)
        } else {
            LadderId::NONE
        }
    }
}
