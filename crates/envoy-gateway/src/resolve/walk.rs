// SPDX-License-Identifier: Apache-2.0
//! In: the topology as the controller sees it. Out: every path once, top-down, with the ladder of each kind. Not here:
//! how a ladder is put together (`rows`).
//!
//! class > gateway > [set >] listener > route > rule

use std::collections::BTreeMap;

use hashbrown::HashMap;
use overrule_engine::{LadderId, NodeId, PathId, PolicyId, ResolutionBuilder};
use overrule_gateway::topology::{GatewayIx, LinkIx, ListenerIx, Route, RouteKind};
use overrule_source::Span;

use super::rows::{Row, Rows};
use super::{Active, Recipes};
use crate::kinds::KindRole;
use crate::plan::Plan;
use crate::reasons;

/// What a walk found.
#[derive(Default)]
pub(super) struct Walked {
    /// For each kind, its ladder at each path.
    pub(super) ladders: Vec<Vec<LadderId>>,
    pub(super) recipes: Recipes,
    /// Where traffic goes, by path, on rows about which anybody says it.
    pub(super) routing: Vec<(PathId, bool)>,
}

/// Enumerates paths into the builder.
pub(super) fn paths(plan: &Plan<'_>, builder: &mut ResolutionBuilder, kinds: &[Active]) -> Walked {
    let patches = patches(plan, kinds);
    let rows = Rows::new(plan, builder);
    let ladders = vec![Vec::new(); kinds.len()];
    let mut walk = Walk { plan, kinds, rows, ladders, routing: Vec::new(), patches };
    walk.gateways();
    let Walk { rows, ladders, routing, .. } = walk;
    Walked { ladders, recipes: rows.recipes, routing }
}

/// The patches at each node, in their order.
fn patches(plan: &Plan<'_>, kinds: &[Active]) -> HashMap<NodeId, Vec<PolicyId>> {
    let mut found: HashMap<NodeId, Vec<PolicyId>> = HashMap::new();
    if kinds.iter().any(|kind| kind.info.role == KindRole::Patch) {
        for (id, _) in plan.patches_in_order() {
            let at = plan.attachments.iter().filter(|a| a.policy == id);
            at.for_each(|a| found.entry(a.node).or_default().push(id));
        }
    }
    found
}

struct Walk<'a, 'p, 'b> {
    plan: &'a Plan<'p>,
    kinds: &'a [Active],
    rows: Rows<'a, 'p, 'b>,
    ladders: Vec<Vec<LadderId>>,
    routing: Vec<(PathId, bool)>,
    patches: HashMap<NodeId, Vec<PolicyId>>,
}

/// A listener on the way down.
#[derive(Clone, Copy)]
struct At {
    ix: ListenerIx,
    path: PathId,
    /// Where the policy is written because of which everything here fails.
    fails: Option<Span>,
    /// What the EnvoyProxy says about where traffic goes.
    to_service: bool,
}

impl Walk<'_, '_, '_> {
    fn gateways(&mut self) {
        let topology = self.plan.world().topology;
        let mut classes: BTreeMap<u32, PathId> = BTreeMap::new();
        for (place, gateway) in topology.gateways.iter().enumerate() {
            if !self.plan.fabric.serves(GatewayIx::from(place)) {
                continue;
            }
            // The class of a Gateway that nobody wrote is unknown, and so is what acts there.
            let class = topology.class(gateway.class);
            let class_path = class.map(|class| {
                *classes.entry(gateway.class.0).or_insert_with(|| {
                    let path = self.add(None, class.node);
                    self.say_patches(path, class.node);
                    path
                })
            });
            let path = self.add(class_path, gateway.node);
            self.say_patches(path, gateway.node);
            for (at, kind) in self.kinds.iter().enumerate() {
                if let Some(class) = class.filter(|_| kind.info.role == KindRole::Proxy) {
                    let ladder = self.rows.proxy(kind.number, gateway.node, class.node, place);
                    self.say(at, path, ladder);
                }
            }
            let proxy =
                self.plan.proxies.get(place).and_then(|proxy| proxy.value.get("routingType"));
            let to_service = proxy.and_then(serde_json::Value::as_str) == Some("Service");
            for ix in gateway.listeners.clone().map(ListenerIx) {
                self.listener(path, ix, to_service);
            }
            for set in gateway.sets.iter().filter_map(|ix| topology.set(*ix)) {
                let path = self.add(Some(path), set.node);
                for ix in set.listeners.clone().map(ListenerIx) {
                    self.listener(path, ix, to_service);
                }
            }
        }
    }

    /// Extends a path by a node at which no kind has anything in force yet.
    fn add(&mut self, parent: Option<PathId>, node: NodeId) -> PathId {
        let path = self.rows.builder.paths.add(parent, node);
        self.ladders.iter_mut().for_each(|list| list.push(LadderId::NONE));
        path
    }

    fn say(&mut self, kind: usize, path: PathId, ladder: LadderId) {
        let slot = self.ladders.get_mut(kind).and_then(|list| list.get_mut(path.0 as usize));
        if let Some(slot) = slot {
            *slot = ladder;
        }
    }

    fn say_patches(&mut self, path: PathId, node: NodeId) {
        let Some(at) = self.kinds.iter().position(|kind| kind.info.role == KindRole::Patch) else {
            return;
        };
        let Some(number) = self.kinds.get(at).map(|kind| kind.number) else { return };
        let ids = self.patches.get(&node).cloned().unwrap_or_default();
        let ladder = self.rows.patches(number, &ids, node);
        self.say(at, path, ladder);
    }

    fn listener(&mut self, parent: PathId, ix: ListenerIx, to_service: bool) {
        let topology = self.plan.world().topology;
        let Some(listener) = topology.listener(ix) else { return };
        let path = self.add(Some(parent), listener.node);
        for (at, kind) in self.kinds.iter().enumerate() {
            if kind.info.role == KindRole::Client {
                let ladder = self.rows.client(kind.number, ix);
                self.say(at, path, ladder);
            }
        }
        let client = self.plan.clients.get(&ix).filter(|client| client.fails);
        let fails =
            client.and_then(|client| self.plan.policy(client.policy)).map(|policy| policy.at);
        let at = At { ix, path, fails, to_service };
        for place in listener.links.clone().map(LinkIx) {
            self.link(at, place);
        }
    }

    fn link(&mut self, at: At, place: LinkIx) {
        let topology = self.plan.world().topology;
        let Some(link) = topology.link(place) else { return };
        let Some(route) = topology.route(link.route) else { return };
        if !self.plan.fabric.carries(place, link) {
            return;
        }
        let by_section =
            self.plan.fabric.parent_of(link).is_some_and(|parent| !parent.section.is_empty());
        let path = self.add(Some(at.path), route.node);
        self.rules(at, path, route, by_section);
    }

    fn rules(&mut self, at: At, parent: PathId, route: &Route, by_section: bool) {
        let topology = self.plan.world().topology;
        let rules: Vec<(NodeId, bool)> = route
            .rules
            .clone()
            .filter_map(|ix| topology.rule(overrule_gateway::topology::RuleIx(ix)))
            .map(|rule| (rule.node, rule.named))
            .collect();
        // TCP and UDP have one row: their first rule.
        let rows = match route.kind {
            RouteKind::Tcp | RouteKind::Udp => 1,
            _ => rules.len(),
        };
        let mut shared: Vec<Option<LadderId>> = vec![None; self.kinds.len()];
        for (number, (rule, _)) in rules.into_iter().enumerate() {
            let path = self.add(Some(parent), rule);
            let is_http = matches!(route.kind, RouteKind::Http | RouteKind::Grpc);
            if let Some(written) = at.fails {
                self.rows.builder.fail(path, &reasons::BROKEN, Some(written));
            }
            // A TCP listener that fails has no routes at all.
            if number >= rows || (at.fails.is_some() && !is_http) {
                continue;
            }
            let mut says = at.to_service.then_some(true);
            for place in 0..self.kinds.len() {
                let Some(kind) = self.kinds.get(place).copied() else { continue };
                if !kind.info.role.is_on_rows() || !acts_on(kind.info.role, route.kind) {
                    continue;
                }
                let own = self.plan.holder(kind.number, rule).map(|_| rule);
                let row = Row {
                    listener: at.ix,
                    kind: route.kind,
                    route: self.plan.holder(kind.number, route.node).map(|_| route.node),
                    rule: own,
                    by_section,
                };
                let known = shared.get(place).copied().flatten().filter(|_| own.is_none());
                let ladder = match known {
                    Some(known) => known,
                    None => self.rows.ladder(kind.number, kind.info, row),
                };
                if own.is_none()
                    && let Some(slot) = shared.get_mut(place)
                {
                    *slot = Some(ladder);
                }
                self.say(place, path, ladder);
                if kind.info.role == KindRole::Traffic
                    && let Some(to_service) = self.rows.says_service(ladder)
                {
                    says = Some(to_service);
                }
            }
            if let Some(to_service) = says {
                self.routing.push((path, to_service));
            }
        }
    }
}

/// Whether policies of a role act on rows of a kind of route.
fn acts_on(role: KindRole, route: RouteKind) -> bool {
    match role {
        KindRole::Traffic => true,
        KindRole::Security => route != RouteKind::Udp,
        _ => matches!(route, RouteKind::Http | RouteKind::Grpc),
    }
}
