// SPDX-License-Identifier: Apache-2.0
//! In: the topology, its delegations, and the groups of nodes. Out: every path once, top-down, with the ladder of each
//! kind, and the paths that fail whatever policies say. Not here: folding.
//!
//! class > gateway > [set >] listener > route > rule [> child route > rule …]; and backends on their own.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use overrule_engine::{Group, LadderId, NodeId, PathId, Reason, ResolutionBuilder, Rung};
use overrule_gateway::topology::{
    Gateway, Link, Listener, ListenerIx, ListenerSet, Route, RouteIx, RouteKind, RuleIx,
};
use overrule_source::Span;
use smallvec::{SmallVec, smallvec};

use super::builtin::{Slot, Slots, Taken, compete};
use super::local::Locals;
use super::plans::{Role, spec, strategy_of};
use super::{Active, SecuredBackends, serves};
use crate::World;
use crate::delegation::{Delegations, Fault, RuleMatch, RuleNode};
use crate::kinds::KindShape;
use crate::policy::strategy;
use crate::{InheritedPriority, reasons};

/// What a walk found.
#[derive(Default)]
pub(crate) struct Walked {
    /// For each kind, its ladder at each path.
    pub(crate) ladders: Vec<Vec<LadderId>>,
    /// Matches of rules below a delegation.
    pub(crate) matches: BTreeMap<PathId, Arc<[RuleMatch]>>,
    /// Slots that built-ins take, by number.
    pub(crate) masks: Masks,
}

/// Sets of slots that are taken; groups name them by number. Number 0 is none.
#[derive(Default)]
pub(crate) struct Masks {
    sets: Vec<Slots>,
    numbers: HashMap<Slots, u32>,
}

impl Masks {
    pub(crate) fn get(&self, number: u32) -> &[Taken] {
        let place = (number as usize).checked_sub(1);
        place.and_then(|n| self.sets.get(n)).map_or(&[], |s| s)
    }

    fn number(&mut self, mut slots: Slots) -> u32 {
        slots.retain(|t| t.masks && !t.slot.masks().is_empty());
        if slots.is_empty() {
            return 0;
        }
        slots.sort_unstable();
        if let Some(known) = self.numbers.get(&slots) {
            return *known;
        }
        self.sets.push(slots.clone());
        let number = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        self.numbers.insert(slots, number);
        number
    }
}

/// Enumerates paths into the builder and says which ladder each kind has on them.
pub(crate) fn paths(
    world: World<'_>,
    builder: &mut ResolutionBuilder,
    kinds: &[Active],
    locals: &Locals,
    delegations: &Delegations,
) -> Walked {
    let walked = Walked { ladders: vec![Vec::new(); kinds.len()], ..Walked::default() };
    let mut walk =
        Walk { world, builder, kinds, locals, delegations, walked, strategies: HashMap::new() };
    walk.gateways();
    walk.backends();
    walk.walked
}

/// What a place hands down to what is below it.
#[derive(Clone)]
struct Above {
    path: PathId,
    /// For each kind: the chain so far.
    chains: SmallVec<[LadderId; 4]>,
    /// Slots that ancestors take, nearest first, with the strategy of each.
    slots: Vec<(Slots, InheritedPriority)>,
    /// Why everything below fails: a broken filter of a rule that hands over.
    broken: Option<(Reason, Span)>,
}

/// What stands above routes.
struct Tiers {
    /// For each kind, its tiers, most specific first.
    groups: Vec<SmallVec<[LadderId; 3]>>,
}

struct Walk<'a, 'b> {
    world: World<'a>,
    builder: &'b mut ResolutionBuilder,
    kinds: &'b [Active],
    locals: &'b Locals,
    delegations: &'b Delegations,
    walked: Walked,
    strategies: HashMap<RouteIx, InheritedPriority>,
}

impl Walk<'_, '_> {
    fn gateways(&mut self) {
        let world = self.world;
        let topology = world.topology;
        let mut classes: BTreeMap<u32, PathId> = BTreeMap::new();
        for gateway in topology.gateways.iter().filter(|g| serves(world, g)) {
            let Some(class) = topology.class(gateway.class) else { continue };
            let class = match classes.get(&gateway.class.0) {
                Some(known) => *known,
                None => self.add(None, class.node),
            };
            classes.insert(gateway.class.0, class);
            let path = self.add(Some(class), gateway.node);
            for ix in gateway.listeners.clone().map(ListenerIx) {
                self.listener(path, gateway, None, ix);
            }
            for set in gateway.sets.iter().filter_map(|ix| topology.set(*ix)) {
                let path = self.add(Some(path), set.node);
                for ix in set.listeners.clone().map(ListenerIx) {
                    self.listener(path, gateway, Some(set), ix);
                }
            }
        }
    }

    /// Extends a path by a node at which no kind has an effective policy.
    fn add(&mut self, parent: Option<PathId>, node: NodeId) -> PathId {
        let path = self.builder.paths.add(parent, node);
        for list in &mut self.walked.ladders {
            list.push(LadderId::NONE);
        }
        path
    }

    fn say(&mut self, kind: usize, path: PathId, ladder: LadderId) {
        let list = self.walked.ladders.get_mut(kind);
        if let Some(slot) = list.and_then(|l| l.get_mut(path.0 as usize)) {
            *slot = ladder;
        }
    }

    fn listener(
        &mut self,
        parent: PathId,
        gateway: &Gateway,
        set: Option<&ListenerSet>,
        ix: ListenerIx,
    ) {
        let topology = self.world.topology;
        let Some(listener) = topology.listener(ix) else { return };
        let path = self.add(Some(parent), listener.node);
        let tiers = self.tiers(gateway, set, listener);
        for (kind, active) in self.kinds.iter().enumerate() {
            if active.info.shape == KindShape::Listener {
                let ladder = tiers.groups.get(kind).and_then(|g| g.first()).copied();
                self.say(kind, path, ladder.unwrap_or(LadderId::EMPTY));
            }
        }
        let links = topology.links_of_listener(ix);
        for link in links.iter().filter(|l| l.accepted() && !l.facts().isolated) {
            self.link(path, &tiers, link);
        }
    }

    /// The tiers of a listener: the listener (of a ListenerSet: and all of the set), then the Gateway. In the design the
    /// annotation of a Gateway is about both of its tiers at once; the controller makes one merge of them for HTTPS.
    fn tiers(
        &mut self,
        gateway: &Gateway,
        set: Option<&ListenerSet>,
        listener: &Listener,
    ) -> Tiers {
        let https = self.world.snapshot.text(listener.protocol) == "HTTPS";
        let one_level = self.world.profile.merges_tiers(https);
        let one_side = self.world.profile.reads_annotation_above_routes();
        let mut groups = Vec::with_capacity(self.kinds.len());
        for (kind, active) in self.kinds.iter().enumerate() {
            let of = |node| self.locals.ladders.at(kind, node);
            let (section, whole) = (of(listener.node), of(gateway.node));
            let of_set = set.map_or(LadderId::EMPTY, |s| of(s.node));
            let ladders = &mut self.builder.ladders;
            let flat = active.info.shape != KindShape::Path;
            let tiers: SmallVec<[LadderId; 3]> = match set {
                // One merge: listener, set, Gateway.
                _ if one_level || flat => {
                    let below = ladders.extend(of_set, whole);
                    smallvec![ladders.extend(section, below)]
                }
                // A set is a level of its own, above it the Gateway.
                Some(_) => smallvec![ladders.extend(section, of_set), whole],
                None if one_side && section != LadderId::EMPTY && whole != LadderId::EMPTY => {
                    let Group { spec: below, .. } = *ladders.get(whole);
                    let spec = spec(kind, Role::Side, strategy_of(below));
                    let rungs = smallvec![Rung::Group(section), Rung::Group(whole)];
                    smallvec![ladders.group(Group { spec, extra: 0, rungs })]
                }
                None => smallvec![section, whole],
            };
            let tiers: SmallVec<[LadderId; 3]> =
                tiers.into_iter().filter(|t| *t != LadderId::EMPTY).collect();
            if !flat {
                // A listener without routes is merged too, and its policies have a status.
                let ancestor = set.map_or(gateway.node, |s| s.node);
                tiers.iter().for_each(|tier| self.builder.keep(ancestor, *tier));
            }
            groups.push(tiers);
        }
        Tiers { groups }
    }

    fn link(&mut self, parent: PathId, tiers: &Tiers, link: &Link) {
        let topology = self.world.topology;
        let Some(route) = topology.route(link.route) else { return };
        if !matches!(route.kind, RouteKind::Http | RouteKind::Grpc) {
            return;
        }
        let path = self.add(Some(parent), route.node);
        let above = Above {
            path,
            chains: smallvec![LadderId::EMPTY; self.kinds.len()],
            slots: Vec::new(),
            broken: None,
        };
        let delegations = self.delegations;
        match delegations.trees.get(&link.route) {
            Some(tree) => self.rules(&above, tiers, link.route, tree),
            None => self.leaves(&above, tiers, route),
        }
    }

    /// The rules of a route that hands nothing over. Most rules have no policy of their own: they share the ladder of
    /// the route.
    fn leaves(&mut self, above: &Above, tiers: &Tiers, route: &Route) {
        let shared = self.ladders(above, tiers, route, None, 0);
        for rule in route.rules.clone().map(RuleIx) {
            let Some(node) = self.world.topology.rule(rule).map(|r| r.node) else { continue };
            let plain = !self.locals.slots.contains_key(&rule)
                && !self.locals.broken.contains_key(&rule)
                && !self.locals.backends.contains_key(&rule)
                && (0..self.kinds.len())
                    .all(|k| self.locals.ladders.at(k, node) == LadderId::EMPTY);
            let path = self.add(Some(above.path), node);
            if plain {
                for (kind, ladder) in shared.iter().enumerate() {
                    self.say(kind, path, *ladder);
                }
            } else {
                self.leaf(above, tiers, route, rule, path, &[]);
            }
        }
    }

    fn rules(&mut self, above: &Above, tiers: &Tiers, route: RouteIx, rules: &[RuleNode]) {
        let topology = self.world.topology;
        let Some(spec) = topology.route(route) else { return };
        for node in rules {
            let Some(rule) = topology.rule(node.rule) else { continue };
            let path = self.add(Some(above.path), rule.node);
            if let Some(matches) = &node.matches {
                self.walked.matches.insert(path, matches.clone());
            }
            if node.serves {
                self.leaf(above, tiers, spec, node.rule, path, &node.faults);
            }
            if node.children.is_empty() {
                continue;
            }
            let below = self.below(above, route, spec, node.rule, path);
            for child in &node.children {
                let Some(route) = topology.route(child.route) else { continue };
                let path = self.add(Some(path), route.node);
                let above = Above { path, ..below.clone() };
                self.rules(&above, tiers, child.route, &child.rules);
            }
        }
    }

    /// What a rule that hands over gives to the routes below it.
    fn below(
        &mut self,
        above: &Above,
        ix: RouteIx,
        route: &Route,
        rule: RuleIx,
        path: PathId,
    ) -> Above {
        let node = self.world.topology.rule(rule).map(|r| r.node);
        let chains = (0..self.kinds.len())
            .map(|kind| {
                let chain = above.chains.get(kind).copied().unwrap_or(LadderId::EMPTY);
                self.chain(kind, chain, route, node)
            })
            .collect();
        let mut slots = above.slots.clone();
        if let Some(own) = self.locals.slots.get(&rule) {
            slots.insert(0, (own.clone(), self.strategy(ix, route)));
        }
        Above { path, chains, slots, broken: self.broken(rule).or(above.broken) }
    }

    fn strategy(&mut self, ix: RouteIx, route: &Route) -> InheritedPriority {
        let world = self.world;
        *self
            .strategies
            .entry(ix)
            .or_insert_with(|| strategy(world.documents, world.snapshot, route.object))
    }

    fn broken(&self, rule: RuleIx) -> Option<(Reason, Span)> {
        let at = self.locals.broken.get(&rule)?;
        Some((&reasons::FILTER_NOT_FOUND, *at))
    }

    /// A rule that answers requests: its ladders, and why it fails.
    fn leaf(
        &mut self,
        above: &Above,
        tiers: &Tiers,
        route: &Route,
        rule: RuleIx,
        path: PathId,
        faults: &[Fault],
    ) {
        let mut slots: Slots = self.locals.slots.get(&rule).cloned().unwrap_or_default();
        for (higher, strategy) in &above.slots {
            compete(self.world.profile, &mut slots, higher, *strategy);
        }
        let redirects = slots.iter().any(|t| t.slot == Slot::Redirect);
        let mask = self.walked.masks.number(slots);
        let node = self.world.topology.rule(rule).map(|r| r.node);
        let ladders = self.ladders(above, tiers, route, node, mask);
        let mut responds = false;
        for (kind, ladder) in ladders.iter().enumerate() {
            self.say(kind, path, *ladder);
            let sequential =
                self.kinds.get(kind).is_some_and(|k| k.info.shape == KindShape::Sequential);
            responds |= sequential && !matches!(*ladder, LadderId::EMPTY | LadderId::NONE);
        }
        // Sending on to a backend is an answer too.
        let sends_on = !self.world.topology.uses_of(rule).is_empty();
        if responds && (redirects || sends_on) {
            self.fail(path, &reasons::SECOND_ACTION, rule);
        }
        if let Some((reason, at)) = self.broken(rule).or(above.broken) {
            self.builder.fail(path, reason, Some(at));
        }
        self.on_backends(tiers, rule, path, &ladders);
        for fault in faults {
            let reason: Reason = match fault {
                Fault::Cycle(_) => &reasons::CYCLE,
                Fault::NoChild => &reasons::NO_CHILD,
                Fault::TooDeep => &reasons::TOO_DEEP,
            };
            self.fail(path, reason, rule);
        }
    }

    /// Backends of a rule that have filters of their own. With several backends the proxy looks at the backend first; with
    /// one it has no place for that, and what the route says comes first.
    fn on_backends(&mut self, tiers: &Tiers, rule: RuleIx, path: PathId, ladders: &[LadderId]) {
        let locals = self.locals;
        let several = self.world.topology.uses_of(rule).len() > 1;
        for backend in locals.backends.get(&rule).map_or(&[][..], Vec::as_slice) {
            let below = self.add(Some(path), backend.node);
            if let Some(at) = backend.broken {
                self.builder.fail(below, &reasons::FILTER_NOT_FOUND, Some(at));
            }
            for (kind, active) in self.kinds.iter().enumerate() {
                let own = backend.groups.get(kind).copied().unwrap_or(LadderId::EMPTY);
                let of_rule = ladders.get(kind).copied().unwrap_or(LadderId::NONE);
                if active.info.shape != KindShape::Path || of_rule == LadderId::NONE {
                    continue;
                }
                let ladder = self.with_backend(kind, own, of_rule, tiers, several);
                self.say(kind, below, ladder);
            }
        }
    }

    /// The ladder of a rule with the policies of one of its backends.
    fn with_backend(
        &mut self,
        kind: usize,
        own: LadderId,
        of_rule: LadderId,
        tiers: &Tiers,
        several: bool,
    ) -> LadderId {
        if own == LadderId::EMPTY {
            return of_rule;
        }
        let Group { spec: known, extra, rungs } = self.builder.ladders.get(of_rule).clone();
        let spec = if of_rule == LadderId::EMPTY {
            spec(kind, Role::Path, InheritedPriority::default())
        } else {
            known
        };
        let above = tiers.groups.get(kind).map_or(0, SmallVec::len);
        let place = if several { 0 } else { rungs.len().saturating_sub(above) };
        let mut all = rungs;
        all.insert(place, Rung::Group(own));
        self.builder.ladders.group(Group { spec, extra, rungs: all })
    }

    fn fail(&mut self, path: PathId, reason: Reason, rule: RuleIx) {
        let node =
            self.world.topology.rule(rule).and_then(|r| self.world.topology.nodes.get(r.node));
        self.builder.fail(path, reason, node.and_then(|n| n.at));
    }

    /// The ladder of each kind on a rule; without a rule, that of rules that have nothing of their own.
    fn ladders(
        &mut self,
        above: &Above,
        tiers: &Tiers,
        route: &Route,
        rule: Option<NodeId>,
        mask: u32,
    ) -> SmallVec<[LadderId; 4]> {
        let kinds = self.kinds;
        let mut found = SmallVec::new();
        for (kind, active) in kinds.iter().enumerate() {
            let ladder = match active.info.is_on_rules() && active.info.takes(route.kind) {
                false => LadderId::NONE,
                true => {
                    let higher = above.chains.get(kind).copied().unwrap_or(LadderId::EMPTY);
                    let chain = self.chain(kind, higher, route, rule);
                    match active.info.shape {
                        KindShape::Path => self.path(kind, chain, tiers, mask),
                        _ => chain,
                    }
                }
            };
            found.push(ladder);
        }
        found
    }

    /// The chain that a level is put before: for kinds with levels a group of groups, for others one list.
    fn chain(
        &mut self,
        kind: usize,
        higher: LadderId,
        route: &Route,
        rule: Option<NodeId>,
    ) -> LadderId {
        let of = |node| self.locals.ladders.at(kind, node);
        let own = rule.map_or(LadderId::EMPTY, of);
        let ladders = &mut self.builder.ladders;
        let level = ladders.extend(own, of(route.node));
        let is_path = self.kinds.get(kind).is_some_and(|k| k.info.shape == KindShape::Path);
        if !is_path {
            return ladders.extend(level, higher);
        }
        if level == LadderId::EMPTY {
            return higher;
        }
        let mut rungs: SmallVec<[Rung; 4]> = smallvec![Rung::Group(level)];
        if higher != LadderId::EMPTY {
            rungs.extend_from_slice(&ladders.get(higher).rungs);
        }
        ladders.group(Group {
            spec: spec(kind, Role::Chain, InheritedPriority::default()),
            extra: 0,
            rungs,
        })
    }

    /// A path: the chain, then the tiers.
    fn path(&mut self, kind: usize, chain: LadderId, tiers: &Tiers, mask: u32) -> LadderId {
        let tiers = tiers.groups.get(kind).map_or(&[][..], |t| t);
        let chain = Some(chain).filter(|c| *c != LadderId::EMPTY);
        let rungs: SmallVec<[Rung; 4]> =
            chain.into_iter().chain(tiers.iter().copied()).map(Rung::Group).collect();
        if rungs.is_empty() {
            return LadderId::EMPTY;
        }
        let spec = spec(kind, Role::Path, InheritedPriority::default());
        self.builder.ladders.group(Group { spec, extra: mask, rungs })
    }

    /// Backends that a policy targets stand on their own.
    fn backends(&mut self) {
        let world = self.world;
        let topology = world.topology;
        let secured = SecuredBackends::read(world);
        for (kind, active) in self.kinds.iter().enumerate() {
            if active.info.shape != KindShape::Backend {
                continue;
            }
            for backend in &topology.backends {
                let ladder = self.locals.ladders.at(kind, backend.node);
                if ladder == LadderId::EMPTY {
                    continue;
                }
                let path = self.add(None, backend.node);
                let ladder = match secured.has(backend.node) {
                    true => {
                        let group = Group { extra: 1, ..self.builder.ladders.get(ladder).clone() };
                        self.builder.ladders.group(group)
                    }
                    false => ladder,
                };
                self.say(kind, path, ladder);
            }
        }
    }
}
