// SPDX-License-Identifier: Apache-2.0
//! In: what proxies of each shape get. Out: paths, and the ladder of each kind on them. Not here: making ladders.
//!
//! Every proxy has paths to its inbounds. Paths to destinations are as many as proxies times what policies name, so in a
//! large fleet only the first proxy of those that send by the same rules has them, and those that are asked about.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use overrule_engine::{LadderId, NodeId, PathId};
use overrule_model::ObjectId;

use super::ladders::{Ladders, Outbounds};
use super::shape::Shapes;
use super::{KindRules, OneMesh, ProxyOptions, ProxyRules};
use crate::kinds;
use crate::targets::DestinationIndex;

/// Most paths to destinations if nobody says otherwise.
const MOST_PATHS: usize = 1_000_000;

/// Ladders by kind and path, while paths are added.
pub(super) struct Walk<'o> {
    pub(super) ladders: Vec<Vec<LadderId>>,
    pub(super) alike: usize,
    pub(super) options: &'o ProxyOptions,
}

/// What a path to destinations begins with, and what applies there.
struct Start<'r> {
    at: PathId,
    /// By kind; none for kinds that say nothing about destinations.
    to: Vec<Option<&'r Outbounds>>,
    /// Routes that select the proxy, by place of the policy.
    routes: &'r [u32],
}

impl<'o> Walk<'o> {
    pub(super) fn new(kinds: usize, options: &'o ProxyOptions) -> Self {
        Self { ladders: vec![Vec::new(); kinds], alike: 0, options }
    }

    /// Adds the paths of a mesh.
    pub(super) fn mesh(
        &mut self,
        mesh: &OneMesh<'_>,
        shapes: &Shapes,
        rules: &[Arc<ProxyRules>],
        beside: &[BTreeSet<DestinationIndex>],
        all: &mut Ladders<'_, '_>,
    ) {
        let asked = self.asked(mesh);
        let mut sizes: HashMap<Vec<usize>, usize> = HashMap::new();
        let mut size = |shape: &u32| {
            let Some(rules) = rules.get(*shape as usize) else { return 0 };
            let known = sizes.entry(rules.outbound_lists());
            *known.or_insert_with(|| destinations(rules, &asked.places).len() + 1)
        };
        let most = match self.options.most_paths {
            0 => MOST_PATHS,
            most => most,
        };
        let everything = shapes.of.iter().map(&mut size).sum::<usize>() <= most;
        static NONE: BTreeSet<DestinationIndex> = BTreeSet::new();
        let mut walk =
            InMesh { ladders: &mut self.ladders, mesh, asked: &asked, beside: &NONE, all };
        let top = walk.add(None, mesh.nodes.mesh);
        let mut known: HashSet<Vec<usize>> = HashSet::new();
        for (place, shape) in shapes.of.iter().enumerate() {
            let Some(rules) = rules.get(*shape as usize) else { continue };
            let is_asked = asked.proxies.contains(&place);
            let whole = everything || is_asked || known.insert(rules.outbound_lists());
            self.alike += usize::from(!whole);
            walk.beside = beside.get(*shape as usize).unwrap_or(&NONE);
            walk.proxy(place, rules, top, whole);
        }
    }

    /// What is asked about, by place.
    fn asked(&self, mesh: &OneMesh<'_>) -> Asked {
        let focus = &self.options.focus;
        let is_asked = |object: &Option<ObjectId>| object.is_some_and(|o| focus.contains(&o));
        let proxies = mesh.mesh.dataplanes.iter().map(|d| d.object).enumerate();
        let targets = (0..).zip(&mesh.mesh.destination_objects).zip(&mesh.mesh.destinations);
        let mut places: Vec<DestinationIndex> = Vec::new();
        for ((place, object), target) in targets {
            let service = !target.meta.kind.is_one_of(&[kinds::MESH, kinds::HTTP_ROUTE]);
            if service && is_asked(object) {
                places.push((place, 0));
                let ports = (1..).zip(&target.ports).map(|(port, _)| (place, port));
                places.extend(ports);
            }
        }
        let proxies = proxies.filter(|(_, object)| is_asked(object)).map(|(place, _)| place);
        let objects = (0..).zip(&mesh.mesh.destination_objects).zip(&mesh.mesh.destinations);
        let routes = objects.filter(|(_, target)| target.meta.kind == kinds::HTTP_ROUTE);
        let routes = routes.filter_map(|((place, object), _)| Some(((*object)?, place))).collect();
        Asked { proxies: proxies.collect(), places, routes }
    }
}

/// The walk through one mesh.
struct InMesh<'w, 'm, 'r, 'a, 'b> {
    ladders: &'w mut Vec<Vec<LadderId>>,
    mesh: &'m OneMesh<'r>,
    asked: &'m Asked,
    /// What is named for the proxy under other rule sets.
    beside: &'m BTreeSet<DestinationIndex>,
    all: &'w mut Ladders<'a, 'b>,
}

impl InMesh<'_, '_, '_, '_, '_> {
    /// Adds a path that is not yet a target of any kind.
    fn add(&mut self, parent: Option<PathId>, node: NodeId) -> PathId {
        let path = self.all.builder.paths.add(parent, node);
        self.ladders.iter_mut().for_each(|l| l.resize(path.0 as usize + 1, LadderId::NONE));
        path
    }

    /// Says which ladder a kind has at the path added last.
    fn set(&mut self, kind: usize, ladder: LadderId) {
        if let Some(last) = self.ladders.get_mut(kind).and_then(|l| l.last_mut()) {
            *last = ladder;
        }
    }

    fn proxy(&mut self, place: usize, rules: &ProxyRules, top: PathId, whole: bool) {
        let Some((node, inbounds)) = self.mesh.nodes.dataplanes.get(place) else { return };
        let at = self.add(Some(top), *node);
        for (kind, rules) in rules.kinds.iter().enumerate() {
            if let Some(single) = rules.single {
                self.set(kind, single);
            }
        }
        for (inbound, node) in inbounds.iter().enumerate() {
            let here: Vec<_> = rules
                .kinds
                .iter()
                .map(|k| k.inbounds.get(inbound).and_then(|i| i.as_deref()))
                .collect();
            self.inbound(at, *node, &here);
        }
        let routes = |r: &'_ [KindRules]| -> Vec<u32> {
            r.iter().flat_map(|k| k.routes.iter().copied()).collect()
        };
        let routes = routes(&rules.kinds);
        if let Some(gateway) = rules.gateway {
            let listeners = self.mesh.nodes.listeners.get(gateway).map_or(&[][..], Vec::as_slice);
            let object = self.mesh.mesh.gateway_objects.get(gateway);
            let node = object.and_then(|o| self.mesh.world.topology.object_node(*o));
            let at = match node {
                Some(node) => self.add(Some(at), node),
                None => at,
            };
            for (listener, node) in listeners.iter().enumerate() {
                let of = |k: &'_ KindRules| k.listeners.get(listener).cloned().unwrap_or_default();
                let here: Vec<_> = rules.kinds.iter().map(of).collect();
                let inbounds: Vec<_> = here.iter().map(|(i, _)| i.as_deref()).collect();
                let at = self.inbound(at, *node, &inbounds);
                let to: Vec<_> = here.iter().map(|(_, to)| to.as_deref()).collect();
                if whole {
                    self.outbounds(&Start { at, to, routes: &routes });
                }
            }
            return;
        }
        let to: Vec<_> = rules.kinds.iter().map(|k| k.to.as_deref()).collect();
        let start = Start { at, to, routes: &routes };
        if whole {
            self.outbounds(&start);
        } else if !self.asked.places.is_empty() {
            self.targets(&start, &self.asked.places);
        }
        self.services(place, &start);
    }

    fn inbound(
        &mut self,
        parent: PathId,
        node: NodeId,
        here: &[Option<&super::Inbounds>],
    ) -> PathId {
        let at = self.add(Some(parent), node);
        for (kind, rules) in here.iter().enumerate() {
            if let Some(rules) = rules {
                self.set(kind, rules.all);
            }
        }
        // Narrow matches come first, as they are tried.
        for (kind, rules) in here.iter().enumerate() {
            let Some(rules) = rules else { continue };
            for (text, ladder) in &rules.matches {
                let Some(node) = self.mesh.nodes.matches.get(text) else { continue };
                self.add(Some(at), *node);
                self.set(kind, *ladder);
            }
            for (subset, ladder) in &rules.clients {
                let Some(node) = self.mesh.nodes.clients.get(subset) else { continue };
                self.add(Some(at), *node);
                self.set(kind, *ladder);
            }
        }
        at
    }

    /// Paths to every destination that somebody names or asks about, and to all others at once.
    fn outbounds(&mut self, start: &Start<'_>) {
        if start.to.iter().all(Option::is_none) {
            return;
        }
        let places = named(start.to.iter().copied().flatten(), &self.asked.places);
        let places: BTreeSet<DestinationIndex> = places.union(self.beside).copied().collect();
        let places: Vec<DestinationIndex> = places.into_iter().collect();
        self.targets(start, &places);
        let at = self.add(Some(start.at), self.mesh.nodes.destinations);
        for (kind, to) in start.to.iter().enumerate() {
            if let Some(to) = to {
                self.set(kind, to.of_others());
            }
        }
        self.hostnames(start, at, None);
    }

    /// Paths to single hostnames of a destination, or of those that nobody names.
    fn hostnames(&mut self, start: &Start<'_>, at: PathId, place: Option<DestinationIndex>) {
        for (kind, to) in start.to.iter().enumerate() {
            let Some(to) = to else { continue };
            for (hostname, ladder) in to.hostnames(place) {
                let name = self.all.steps.confs.hostname(hostname);
                let node = name.and_then(|n| self.mesh.nodes.hostnames.get(n));
                if let Some(node) = node {
                    self.add(Some(at), *node);
                    self.set(kind, ladder);
                }
            }
        }
    }

    /// Paths to destinations; those of ports stand below their destination.
    fn targets(&mut self, start: &Start<'_>, places: &[DestinationIndex]) {
        let is_route = |place: &DestinationIndex| {
            let target = self.mesh.mesh.destinations.get(place.0 as usize);
            target.is_some_and(|t| t.meta.kind == kinds::HTTP_ROUTE)
        };
        let services: BTreeSet<u32> = places.iter().filter(|p| !is_route(p)).map(|p| p.0).collect();
        for service in services {
            let Some((node, ports)) = self.mesh.nodes.targets.get(service as usize) else {
                continue;
            };
            let at = self.target(start, start.at, *node, (service, 0));
            self.routes(start, at, (service, 0));
            // Places are sorted: those of a service stand together, the whole service first.
            let from = places.partition_point(|p| *p <= (service, 0));
            let named = places.iter().skip(from).take_while(|p| p.0 == service);
            for place in named {
                let Some(node) = ports.get(place.1 as usize - 1) else { continue };
                let at = self.target(start, at, *node, *place);
                self.routes(start, at, *place);
            }
        }
    }

    fn target(
        &mut self,
        start: &Start<'_>,
        parent: PathId,
        node: NodeId,
        place: DestinationIndex,
    ) -> PathId {
        let at = self.add(Some(parent), node);
        for (kind, to) in start.to.iter().enumerate() {
            if let Some(to) = to {
                self.set(kind, to.of(place));
            }
        }
        self.hostnames(start, at, Some(place));
        at
    }

    /// Paths to routes of a destination that select the proxy and that somebody has an entry about.
    fn routes(&mut self, start: &Start<'_>, at: PathId, place: DestinationIndex) {
        for policy in start.routes {
            let meant = self.all.meant.get(*policy as usize);
            // A route of a whole destination is one of each of its ports.
            let to_here = |p: &DestinationIndex| *p == place || *p == (place.0, 0);
            let leads = meant.is_some_and(|m| m.iter().flatten().any(to_here));
            let Some(object) =
                self.mesh.mesh.policy_objects.get(*policy as usize).filter(|_| leads)
            else {
                continue;
            };
            let Some(route) = self.asked.routes.get(object).copied() else { continue };
            let own = |to: &Option<&Outbounds>| to.is_some_and(|t| t.own((route, 0)).is_some());
            if !start.to.iter().any(own) {
                continue;
            }
            let Some((node, _)) = self.mesh.nodes.targets.get(route as usize) else { continue };
            self.add(Some(at), *node);
            for (kind, to) in start.to.iter().enumerate() {
                let about_routes = self.mesh.active.get(kind).is_some_and(|a| a.kind.is_route());
                if let Some(to) = to.filter(|_| !about_routes) {
                    self.set(kind, to.own((route, 0)).unwrap_or_else(|| to.of(place)));
                }
            }
        }
    }

    /// Paths to services that the proxy knows by their tag.
    fn services(&mut self, place: usize, start: &Start<'_>) {
        let Some(proxy) = self.mesh.mesh.dataplanes.get(place) else { return };
        for service in &proxy.it.services {
            let Some(node) = self.mesh.nodes.services.get(service) else { continue };
            self.add(Some(start.at), *node);
            for (kind, to) in start.to.iter().enumerate() {
                if let Some(to) = to {
                    let ladder = self.all.service(to, service);
                    self.set(kind, ladder);
                }
            }
        }
    }
}

/// What is asked about, by place.
struct Asked {
    proxies: BTreeSet<usize>,
    places: Vec<DestinationIndex>,
    /// Places of all routes among the destinations.
    routes: HashMap<ObjectId, u32>,
}

/// Destinations that some kind names for a proxy, and those asked about.
fn destinations(rules: &ProxyRules, asked: &[DestinationIndex]) -> BTreeSet<DestinationIndex> {
    let to = rules.kinds.iter().flat_map(|k| {
        k.to.as_deref().into_iter().chain(k.listeners.iter().filter_map(|(_, to)| to.as_deref()))
    });
    named(to, asked)
}

fn named<'r>(
    to: impl Iterator<Item = &'r Outbounds>,
    asked: &[DestinationIndex],
) -> BTreeSet<DestinationIndex> {
    let mut places: BTreeSet<DestinationIndex> = asked.iter().copied().collect();
    for to in to {
        places.extend(to.places.iter().copied());
    }
    places
}
