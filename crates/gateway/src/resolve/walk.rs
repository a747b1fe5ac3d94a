// SPDX-License-Identifier: Apache-2.0
//! In: the topology and local ladders. Out: every path once, top-down, with the ladder of each kind.
//! Not here: folding. A path costs one table lookup per kind and level that has policies.

use std::collections::BTreeMap;
use std::ops::Range;

use overrule_engine::{Group, LadderId, Level, NodeId, PathId, ResolutionBuilder, Rung};
use overrule_model::Snapshot;
use smallvec::SmallVec;

use super::Active;
use super::local::Locals;
use crate::topology::{
    GROUP, GatewayTopology, Link, Listener, ListenerIx, PortIx, Rule, RuleIx, level,
};

/// The ladder of each kind so far, on the way down.
type Stack = SmallVec<[LadderId; 4]>;

/// Enumerates paths and says which ladder each kind has on them.
pub(crate) fn paths(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    builder: &mut ResolutionBuilder,
    kinds: &[Active<'_>],
    locals: &Locals,
) {
    let mut walk = Walk {
        snapshot,
        topology,
        builder,
        kinds,
        locals,
        ladders: vec![Vec::new(); kinds.len()],
        resorted: BTreeMap::new(),
        to_backends: kinds
            .iter()
            .any(|k| !k.is_direct() && k.descriptor.effective_at >= level::BACKEND),
    };
    walk.reserve();
    let objects = walk.gateways();
    walk.direct(&objects);
    let Walk { ladders, builder, .. } = walk;
    for (kind, ladders) in kinds.iter().zip(ladders) {
        builder.set_ladders(kind.id, ladders);
    }
}

struct Walk<'a, 'b> {
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    builder: &'b mut ResolutionBuilder,
    kinds: &'a [Active<'a>],
    locals: &'a Locals,
    ladders: Vec<Vec<LadderId>>,
    /// Ladders of kinds that do not merge, sorted again by age: level does not count for them.
    resorted: BTreeMap<LadderId, LadderId>,
    to_backends: bool,
}

/// Paths that end at an object or section, for kinds that have no inheritance.
type ObjectPaths = BTreeMap<NodeId, PathId>;

impl Walk<'_, '_> {
    /// Growing a million-entry list by doubling would hold twice its size for a moment; count first.
    fn reserve(&mut self) {
        let accepted = self.topology.links.iter().filter(|l| l.accepted());
        let rules: usize =
            accepted.map(|l| 1 + self.topology.route(l.route).map_or(0, |r| r.rules.len())).sum();
        let count = rules
            + self.topology.gateways.len()
            + self.topology.classes.len()
            + self.topology.listeners.len();
        self.builder.paths.reserve(count);
        for ladders in &mut self.ladders {
            ladders.reserve_exact(count);
        }
    }

    /// class > gateway > [set >] listener > route > rule [> backend [> port]].
    fn gateways(&mut self) -> ObjectPaths {
        let mut objects = ObjectPaths::new();
        let mut classes: BTreeMap<u32, (PathId, Stack)> = BTreeMap::new();
        for gateway in &self.topology.gateways {
            let (class_path, class_stack) = match classes.get(&gateway.class.0) {
                Some(known) => known.clone(),
                None => {
                    let Some(class) = self.topology.class(gateway.class) else { continue };
                    let empty = smallvec::smallvec![LadderId::EMPTY; self.kinds.len()];
                    let made = self.step(None, &empty, class.node, level::CLASS, false);
                    objects.insert(class.node, made.0);
                    classes.insert(gateway.class.0, made.clone());
                    made
                }
            };
            let (path, stack) =
                self.step(Some(class_path), &class_stack, gateway.node, level::GATEWAY, false);
            objects.insert(gateway.node, path);
            for ix in gateway.listeners.clone().map(ListenerIx) {
                self.listener(path, &stack, ix, &mut objects);
            }
            for set in gateway.sets.iter().filter_map(|ix| self.topology.set(*ix)) {
                let (path, stack) =
                    self.step(Some(path), &stack, set.node, level::LISTENER_SET, false);
                objects.insert(set.node, path);
                for ix in set.listeners.clone().map(ListenerIx) {
                    self.listener(path, &stack, ix, &mut objects);
                }
            }
        }
        objects
    }

    fn listener(
        &mut self,
        parent: PathId,
        above: &Stack,
        ix: ListenerIx,
        objects: &mut ObjectPaths,
    ) {
        let topology = self.topology;
        let Some(listener): Option<&Listener> = topology.listener(ix) else { return };
        let (path, stack) = self.step(Some(parent), above, listener.node, level::LISTENER, false);
        objects.insert(listener.node, path);
        for link in topology.links_of_listener(ix).iter().filter(|l| l.accepted()) {
            self.route(path, &stack, link);
        }
    }

    fn route(&mut self, parent: PathId, above: &Stack, link: &Link) {
        let topology = self.topology;
        let Some(route) = topology.route(link.route) else { return };
        let (path, stack) = self.step(Some(parent), above, route.node, level::ROUTE, false);
        let rules =
            topology.rules.get(route.rules.start as usize..route.rules.end as usize).unwrap_or(&[]);
        if !self.to_backends {
            self.leaves(path, &stack, rules);
            return;
        }
        for rule in rules {
            let (path, stack) = self.step(Some(path), &stack, rule.node, level::RULE, false);
            let uses = topology
                .uses
                .get(rule.backends.start as usize..rule.backends.end as usize)
                .unwrap_or(&[]);
            let mut seen: SmallVec<[(u32, Option<u16>); 4]> = SmallVec::new();
            for used in uses {
                if !seen.contains(&(used.backend.0, used.port)) {
                    seen.push((used.backend.0, used.port));
                    self.backend(path, &stack, used.backend, used.port);
                }
            }
        }
    }

    fn backend(
        &mut self,
        parent: PathId,
        above: &Stack,
        ix: crate::topology::BackendIx,
        number: Option<u16>,
    ) {
        let topology = self.topology;
        let Some(backend) = topology.backend(ix) else { return };
        let ports = topology
            .ports
            .get(backend.ports.start as usize..backend.ports.end as usize)
            .unwrap_or(&[]);
        let port = ports.iter().find(|p| Some(p.number) == number);
        let (path, stack) =
            self.step(Some(parent), above, backend.node, level::BACKEND, port.is_some());
        if let Some(port) = port {
            // The port is where the effective policy of a backend stands, if the Service names it.
            let (_, stack) = self.step(Some(path), &stack, port.node, level::PORT, true);
            for (index, kind) in self.kinds.iter().enumerate() {
                if !kind.is_direct() && kind.descriptor.effective_at == level::BACKEND {
                    let ladder =
                        self.settle(index, stack.get(index).copied().unwrap_or(LadderId::EMPTY));
                    if let Some(slot) = self.ladders.get_mut(index).and_then(|l| l.last_mut()) {
                        *slot = ladder;
                    }
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
        for (index, slot) in stack.iter_mut().enumerate() {
            *slot = self.builder.ladders.extend(*slot, self.locals.at(index, node));
            self.say(index, *slot, at, inner);
        }
        (path, stack)
    }

    /// The rules of a route as the ends of paths: the same as `step` for each, kind by kind and without keeping stacks.
    /// Most paths of a fleet are made here, and most rules have no policy of their own.
    fn leaves(&mut self, parent: PathId, above: &Stack, rules: &[Rule]) {
        for rule in rules {
            self.builder.paths.add(Some(parent), rule.node);
        }
        for (index, above) in above.iter().enumerate() {
            let inherited = self.at_level(index, *above, level::RULE);
            if inherited == LadderId::NONE || self.locals.is_empty(index) {
                if let Some(list) = self.ladders.get_mut(index) {
                    list.resize(list.len() + rules.len(), inherited);
                }
                continue;
            }
            for rule in rules {
                let ladder = match self.locals.at(index, rule.node) {
                    LadderId::EMPTY => inherited,
                    own => {
                        let ladder = self.builder.ladders.extend(*above, own);
                        self.at_level(index, ladder, level::RULE)
                    }
                };
                if let Some(list) = self.ladders.get_mut(index) {
                    list.push(ladder);
                }
            }
        }
    }

    fn say(&mut self, index: usize, ladder: LadderId, at: Level, inner: bool) {
        let ladder = if inner { LadderId::NONE } else { self.at_level(index, ladder, at) };
        if let Some(list) = self.ladders.get_mut(index) {
            list.push(ladder);
        }
    }

    /// The ladder of a kind at a node of a level: `NONE` where the kind has no effective policies.
    fn at_level(&mut self, index: usize, ladder: LadderId, at: Level) -> LadderId {
        let is_target = self
            .kinds
            .get(index)
            .is_some_and(|k| !k.is_direct() && k.descriptor.effective_at == at);
        if is_target { self.settle(index, ladder) } else { LadderId::NONE }
    }

    /// The ladder as it is folded: kinds that do not merge are ranked by age alone.
    fn settle(&mut self, index: usize, ladder: LadderId) -> LadderId {
        if ladder == LadderId::EMPTY || !self.kinds.get(index).is_some_and(Active::is_none) {
            return ladder;
        }
        if let Some(known) = self.resorted.get(&ladder) {
            return *known;
        }
        let mut rungs = self.builder.ladders.get(ladder).rungs.clone();
        rungs.sort_by(|a, b| match (a, b) {
            (Rung::Step(a), Rung::Step(b)) => self.builder.rank(*a).cmp(&self.builder.rank(*b)),
            _ => std::cmp::Ordering::Equal,
        });
        let spec = self.builder.ladders.get(ladder).spec;
        let sorted = self.builder.ladders.group(Group { spec, rungs });
        self.resorted.insert(ladder, sorted);
        sorted
    }

    /// Direct kinds: one target is one object, or one section where policies of the kind name sections of it.
    fn direct(&mut self, gateways: &ObjectPaths) {
        let mut made = gateways.clone();
        for (index, kind) in self.kinds.iter().enumerate().filter(|(_, k)| k.is_direct()) {
            let targets = self.direct_objects(index, kind);
            for (object, sections) in targets {
                let whole = self.locals.at(index, object);
                let sectioned =
                    sections.iter().any(|s| self.locals.at(index, *s) != LadderId::EMPTY);
                let path = self.object_path(&mut made, None, object);
                if !sectioned {
                    self.set(index, path, whole);
                    continue;
                }
                for section in sections {
                    let path = self.object_path(&mut made, Some(path), section);
                    let ladder = self.builder.ladders.extend(self.locals.at(index, section), whole);
                    self.set(index, path, ladder);
                }
            }
        }
    }

    fn object_path(
        &mut self,
        made: &mut ObjectPaths,
        parent: Option<PathId>,
        node: NodeId,
    ) -> PathId {
        *made.entry(node).or_insert_with(|| self.builder.paths.add(parent, node))
    }

    fn set(&mut self, index: usize, path: PathId, ladder: LadderId) {
        if let Some(list) = self.ladders.get_mut(index) {
            if list.len() <= path.0 as usize {
                list.resize(path.0 as usize + 1, LadderId::NONE);
            }
            if let Some(slot) = list.get_mut(path.0 as usize) {
                *slot = ladder;
            }
        }
    }

    /// Objects a direct kind can target: all of its target kinds, or, where they are not known, those it does target.
    fn direct_objects(&self, index: usize, kind: &Active<'_>) -> Vec<(NodeId, Vec<NodeId>)> {
        let mut found: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
        let mut add =
            |group: &str, name: &str, node: NodeId, sections: &mut dyn Iterator<Item = NodeId>| {
                let possible =
                    kind.descriptor.targets.iter().any(|t| *t.group == *group && *t.kind == *name);
                if possible {
                    found.push((node, sections.collect()));
                } else if !self.locals.is_empty(index) {
                    let sections: Vec<NodeId> = sections.collect();
                    let here = |n: &NodeId| self.locals.at(index, *n) != LadderId::EMPTY;
                    if here(&node) || sections.iter().any(here) {
                        found.push((node, sections));
                    }
                }
            };
        let t = self.topology;
        let listeners =
            |range: Range<u32>| range.filter_map(|i| t.listener(ListenerIx(i)).map(|l| l.node));
        for class in &t.classes {
            add(GROUP, "GatewayClass", class.node, &mut std::iter::empty());
        }
        for gateway in &t.gateways {
            add(GROUP, "Gateway", gateway.node, &mut listeners(gateway.listeners.clone()));
        }
        for set in t.sets.iter().filter(|s| s.accepted) {
            add(GROUP, "ListenerSet", set.node, &mut listeners(set.listeners.clone()));
        }
        for route in &t.routes {
            let rules = route.rules.clone().filter_map(|i| t.rule(RuleIx(i)).map(|r| r.node));
            add(GROUP, route.kind.name(), route.node, &mut rules.into_iter());
        }
        for backend in &t.backends {
            let name = t.nodes.get(backend.node).map_or("", |n| self.snapshot.text(n.kind));
            let ports = backend.ports.clone().filter_map(|i| t.port(PortIx(i)).map(|p| p.node));
            add(self.snapshot.text(backend.group), name, backend.node, &mut ports.into_iter());
        }
        found
    }
}
