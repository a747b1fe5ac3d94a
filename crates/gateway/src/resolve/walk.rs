// SPDX-License-Identifier: Apache-2.0
//! In: the topology and local ladders. Out: every path, with the ladder of each GEP-713 kind. Not here: enumerating
//! the paths of inherited kinds (`crate::walk`), folding.

use std::collections::BTreeMap;
use std::ops::Range;

use overrule_engine::{
    Group, LadderId, Level, LocalLadders, NodeId, PathId, ResolutionBuilder, Rung,
};
use overrule_model::Snapshot;

use super::Active;
use crate::walk::{Contexts, Walked, walk};
use overrule_topology::{GROUP, GatewayTopology, ListenerIx, PortIx, RuleIx};

/// Enumerates paths and says which ladder each kind has on them.
pub(crate) fn paths(
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    builder: &mut ResolutionBuilder,
    kinds: &[Active<'_>],
    locals: &LocalLadders,
) {
    let mut inherited = Inherited { kinds, locals, resorted: BTreeMap::new() };
    let walked = walk(topology, builder, &mut inherited);
    let mut direct = Direct { snapshot, topology, builder, kinds, locals, walked };
    direct.resolve();
    let Direct { builder, walked, .. } = direct;
    for (kind, ladders) in kinds.iter().zip(walked.ladders) {
        builder.set_ladders(kind.id, &ladders);
    }
}

/// Kinds that act on everything below their targets.
struct Inherited<'a> {
    kinds: &'a [Active<'a>],
    locals: &'a LocalLadders,
    /// Ladders of kinds that do not merge, sorted again by age: level does not count for them.
    resorted: BTreeMap<LadderId, LadderId>,
}

impl Contexts for Inherited<'_> {
    fn kinds(&self) -> usize {
        self.kinds.len()
    }

    fn sees_mesh(&self) -> bool {
        true
    }

    fn stands_at(&self, kind: usize) -> Option<Level> {
        self.kinds.get(kind).filter(|k| !k.is_direct()).map(|k| k.descriptor.effective_at)
    }

    fn local(&self, kind: usize, node: NodeId) -> LadderId {
        self.locals.at(kind, node)
    }

    fn is_unused(&self, kind: usize) -> bool {
        self.locals.is_empty(kind)
    }

    /// Kinds that do not merge are ranked by age alone.
    fn settle(
        &mut self,
        builder: &mut ResolutionBuilder,
        kind: usize,
        ladder: LadderId,
    ) -> LadderId {
        if ladder == LadderId::EMPTY || !self.kinds.get(kind).is_some_and(Active::is_none) {
            return ladder;
        }
        if let Some(known) = self.resorted.get(&ladder) {
            return *known;
        }
        let mut rungs = builder.ladders.get(ladder).rungs.clone();
        rungs.sort_by(|a, b| match (a, b) {
            (Rung::Step(a), Rung::Step(b)) => builder.rank(*a).cmp(&builder.rank(*b)),
            _ => std::cmp::Ordering::Equal,
        });
        let spec = builder.ladders.get(ladder).spec;
        let sorted = builder.ladders.group(Group { spec, extra: 0, rungs });
        self.resorted.insert(ladder, sorted);
        sorted
    }
}

/// Kinds that act on their targets alone.
struct Direct<'a, 'b> {
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    builder: &'b mut ResolutionBuilder,
    kinds: &'a [Active<'a>],
    locals: &'a LocalLadders,
    walked: Walked,
}

impl Direct<'_, '_> {
    /// Direct kinds: one target is one object, or one section where policies of the kind name sections of it.
    fn resolve(&mut self) {
        for (index, kind) in self.kinds.iter().enumerate().filter(|(_, k)| k.is_direct()) {
            let targets = self.direct_objects(index, kind);
            for (object, sections) in targets {
                let whole = self.locals.at(index, object);
                let sectioned =
                    sections.iter().any(|s| self.locals.at(index, *s) != LadderId::EMPTY);
                let path = self.object_path(None, object);
                if !sectioned {
                    self.set(index, path, whole);
                    continue;
                }
                for section in sections {
                    let path = self.object_path(Some(path), section);
                    let ladder = self.builder.ladders.extend(self.locals.at(index, section), whole);
                    self.set(index, path, ladder);
                }
            }
        }
    }

    fn object_path(&mut self, parent: Option<PathId>, node: NodeId) -> PathId {
        let made = self.walked.objects.entry(node);
        *made.or_insert_with(|| self.builder.paths.add(parent, node))
    }

    fn set(&mut self, index: usize, path: PathId, ladder: LadderId) {
        if let Some(list) = self.walked.ladders.get_mut(index) {
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
