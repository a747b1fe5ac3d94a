// SPDX-License-Identifier: Apache-2.0
//! In: ids of objects, sections and nodes. Out: the places in the graph they stand for, at once or by binary search.
//! Not here: searching by text.

use hashbrown::HashMap;
use overrule_engine::NodeId;
use overrule_model::{ObjectId, Snapshot, Sym};
use overrule_source::{NodeRef, Span};
use smallvec::SmallVec;

use super::graph::{
    Backend, BackendIx, BackendUse, ClassIx, Delegation, FrontendIx, Gateway, GatewayClass,
    GatewayIx, Link, LinkIx, Listener, ListenerIx, ListenerSet, PortIx, Route, RouteIx, RouteRule,
    RuleIx, SetIx, TopologyPort,
};
use super::hostname;
use super::resources::{count, part};
use super::rows::{RuleRow, between};
use super::status::Parent;
use super::{GatewayTopology, level};

/// Objects with more sections than this have them in a table.
pub(crate) const CROWD: usize = 16;
/// No node.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Private indexes of the topology.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// Links of each route, as indexes into the links; ranges in the routes.
    pub(crate) by_route: Vec<u32>,
    /// Node of each object of the snapshot, or [`NOWHERE`].
    pub(crate) object_nodes: Vec<u32>,
    /// Sections of objects that have many; the sections of an object follow it in the nodes.
    pub(crate) crowded: HashMap<(ObjectId, Sym), NodeId>,
    /// Rules by every name they have, written or generated; only of routes in which a name means several.
    pub(crate) equal_names: HashMap<ObjectId, HashMap<Sym, SmallVec<[NodeId; 2]>>>,
    /// The listener in force for each hostname of a port of a Gateway.
    pub(crate) owners: HashMap<(GatewayIx, u16, Sym), ListenerIx>,
    /// Services that routes are bound to, by namespace and name.
    pub(crate) frontends: HashMap<(Sym, Sym), FrontendIx>,
}

macro_rules! accessors {
    ($($(#[$doc:meta])* $one:ident($ix:ident) -> $type:ident in $list:ident;)*) => {$(
        $(#[$doc])*
        pub fn $one(&self, ix: $ix) -> Option<&$type> {
            self.$list.get(ix.at())
        }
    )*};
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident -> $ix:ident in $list:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&self, node: NodeId) -> Option<$ix> {
            // Every list has the order of the nodes.
            self.$list.binary_search_by_key(&node, |one| one.node).ok().map($ix::from)
        }
    )*};
}

impl GatewayTopology {
    accessors! {
        /// A class.
        class(ClassIx) -> GatewayClass in classes;
        /// A Gateway.
        gateway(GatewayIx) -> Gateway in gateways;
        /// A ListenerSet.
        set(SetIx) -> ListenerSet in sets;
        /// A listener.
        listener(ListenerIx) -> Listener in listeners;
        /// A route.
        route(RouteIx) -> Route in routes;
        /// A backend.
        backend(BackendIx) -> Backend in backends;
        /// A port.
        port(PortIx) -> TopologyPort in ports;
        /// A link.
        link(LinkIx) -> Link in links;
    }

    places! {
        /// The class a node is.
        class_of -> ClassIx in classes;
        /// The Gateway a node is.
        gateway_of -> GatewayIx in gateways;
        /// The ListenerSet a node is.
        set_of -> SetIx in sets;
        /// The listener a node is.
        listener_of -> ListenerIx in listeners;
        /// The route a node is.
        route_of -> RouteIx in routes;
        /// The backend a node is.
        backend_of -> BackendIx in backends;
        /// The port a node is.
        port_of -> PortIx in ports;
    }

    /// The rule a node is.
    pub fn rule_of(&self, node: NodeId) -> Option<RuleIx> {
        if self.nodes.level_of(node) != Some(level::RULE) {
            return None;
        }
        let after = self.routes.partition_point(|route| route.node < node);
        let route = self.routes.get(after.checked_sub(1)?)?;
        let index = node.0.checked_sub(route.node.0 + 1)?;
        Some(RuleIx(route.rules.start + index))
    }

    /// The links of a listener, by route.
    pub fn links_of_listener(&self, ix: ListenerIx) -> &[Link] {
        self.listener(ix).map_or(&[], |l| part(&self.links, &l.links))
    }

    /// The links of a route, by listener.
    pub fn links_of_route(&self, ix: RouteIx) -> impl Iterator<Item = (LinkIx, &Link)> {
        let found = self.of_route(ix, &self.index.by_route, |r| r.links);
        found.iter().filter_map(|i| Some((LinkIx(*i), self.links.get(*i as usize)?)))
    }

    /// A rule.
    pub fn rule(&self, ix: RuleIx) -> Option<RouteRule> {
        let row = self.rules.get(ix.at())?;
        let route = self.route(row.route)?;
        let index = ix.0.checked_sub(route.rules.start)?;
        Some(RouteRule {
            node: NodeId(route.node.0 + 1 + index),
            route: row.route,
            index,
            named: row.named,
            hidden: row.hidden,
            tree: NodeRef { doc: route.doc, node: row.tree },
        })
    }

    /// Every rule, by route.
    pub fn all_rules(&self) -> impl Iterator<Item = (RuleIx, RouteRule)> {
        (0..count(&self.rules)).filter_map(|i| Some((RuleIx(i), self.rule(RuleIx(i))?)))
    }

    /// The rules of a route, as written.
    pub fn rules_of(&self, ix: RouteIx) -> impl Iterator<Item = (RuleIx, RouteRule)> {
        let range = self.route(ix).map_or(0..0, |r| r.rules.clone());
        range.filter_map(|i| Some((RuleIx(i), self.rule(RuleIx(i))?)))
    }

    /// The valid hostnames of a route, as written; none = those of the listener.
    pub fn hostnames_of(&self, ix: RouteIx) -> &[Sym] {
        self.of_route(ix, &self.hostnames, |r| r.hostnames)
    }

    /// The parentRefs of a route, as written, with what became of them.
    pub fn parents_of(&self, ix: RouteIx) -> impl Iterator<Item = Parent> {
        let rows = self.of_route(ix, &self.parents, |r| r.parents).iter();
        let at = self.route(ix).and_then(|r| self.nodes.get(r.node)?.at);
        rows.filter_map(move |row| {
            let named = self.named_parents.get(row.named as usize)?;
            Some(Parent {
                index: row.index,
                status: row.status,
                target: named.target,
                group: named.group,
                kind: named.kind,
                namespace: named.namespace,
                name: named.name,
                section: named.section,
                port: named.port,
                at: Span { source: at?.source, start: row.start, end: row.end },
            })
        })
    }

    /// What a rule sends to, as written.
    pub fn uses_of(&self, ix: RuleIx) -> &[BackendUse] {
        self.of_rule(ix, &self.uses, |r| r.uses)
    }

    /// What a rule delegates to, as written.
    pub fn delegations_of(&self, ix: RuleIx) -> &[Delegation] {
        self.of_rule(ix, &self.delegations, |r| r.delegations)
    }

    fn of_route<'a, T>(&self, ix: RouteIx, all: &'a [T], first: fn(&Route) -> u32) -> &'a [T] {
        let next = self.routes.get(ix.at() + 1).map(first);
        self.route(ix).map_or(&[], |route| between(all, first(route), next))
    }

    fn of_rule<'a, T>(&self, ix: RuleIx, all: &'a [T], first: fn(&RuleRow) -> u32) -> &'a [T] {
        let next = self.rules.get(ix.at() + 1).map(first);
        self.rules.get(ix.at()).map_or(&[], |rule| between(all, first(rule), next))
    }

    /// Every listener a Gateway serves: its own, then those of its ListenerSets in their order.
    pub fn listeners_of(&self, ix: GatewayIx) -> impl Iterator<Item = (ListenerIx, &Listener)> {
        let gateway = self.gateway(ix);
        let own = gateway.map_or(0..0, |g| g.listeners.clone());
        let sets = gateway.map_or(&[][..], |g| &g.sets);
        let of_sets = sets.iter().filter_map(|s| self.set(*s)).flat_map(|s| s.listeners.clone());
        own.chain(of_sets).filter_map(|i| Some((ListenerIx(i), self.listeners.get(i as usize)?)))
    }

    /// The node of an object.
    pub fn object_node(&self, object: ObjectId) -> Option<NodeId> {
        let node = self.index.object_nodes.get(object.0 as usize).copied()?;
        (node != NOWHERE).then_some(NodeId(node))
    }

    /// Whether a node is of an object that is not in the input and is assumed.
    pub fn is_assumed(&self, snapshot: &Snapshot, node: NodeId) -> bool {
        let object = self.nodes.get(node).and_then(|node| node.object);
        object.is_some_and(|object| snapshot.assumed(object).is_some())
    }

    /// The node of a section: a listener by name, a rule by name or `rule-N`, a Service port by name (or by number
    /// where it has none).
    pub fn section_node(&self, object: ObjectId, section: Sym) -> Option<NodeId> {
        if let Some(found) = self.index.crowded.get(&(object, section)) {
            return Some(*found);
        }
        let mut sections = self.sections_of(object).take(CROWD + 1);
        sections.find(|(name, _)| *name == section).map(|(_, node)| node)
    }

    /// The rules of a route that have a name, written or generated, where a name of the route means several; none in all
    /// other routes, in which [`Self::section_node`] tells.
    pub fn rules_called(&self, route: ObjectId, name: Sym) -> Option<&[NodeId]> {
        let names = self.index.equal_names.get(&route)?;
        Some(names.get(&name).map_or(&[], |nodes| nodes))
    }

    /// Every section of an object that has a name of its own, in the order written.
    pub fn sections_of(&self, object: ObjectId) -> impl Iterator<Item = (Sym, NodeId)> {
        let first = self.object_node(object).map_or(NOWHERE, |n| n.0.saturating_add(1));
        (first..NOWHERE)
            .map(|i| (NodeId(i), self.nodes.get(NodeId(i))))
            .map_while(move |(id, node)| {
                let node = node.filter(|n| n.object == Some(object) && !n.section.is_empty())?;
                Some((node.section, id))
            })
            .filter(|(_, id)| {
                !self.rule_of(*id).and_then(|r| self.rule(r)).is_some_and(|r| r.hidden)
            })
    }

    /// With listener isolation, the listener of a port that owns a host, exact or wildcard: the one with the most
    /// specific hostname around it. Conflicted listeners own nothing.
    pub fn owner_listener(
        &self,
        snapshot: &Snapshot,
        gateway: GatewayIx,
        port: u16,
        host: &str,
    ) -> Option<ListenerIx> {
        let names = snapshot.names();
        let find = |text: &str| {
            let name = names.lookup(text)?;
            self.index.owners.get(&(gateway, port, name)).copied()
        };
        if let Some(found) = find(host) {
            return Some(found);
        }
        let mut wildcard = String::with_capacity(host.len() + 2);
        let mut rest = host.strip_prefix("*.").unwrap_or(host);
        while let Some((_, tail)) = rest.split_once('.') {
            wildcard.clear();
            wildcard.push_str("*.");
            wildcard.push_str(tail);
            if let Some(found) = find(&wildcard) {
                return Some(found);
            }
            rest = tail;
        }
        find("")
    }

    /// The hostnames of a link: what route and listener have in common; empty symbol = all hosts. With `isolation`,
    /// without those a more specific listener of the port owns.
    pub fn hostnames_at(
        &self,
        snapshot: &Snapshot,
        link: LinkIx,
        isolation: bool,
    ) -> SmallVec<[Sym; 2]> {
        let mut found = SmallVec::new();
        let Some(link) = self.link(link) else { return found };
        let Some(listener) = self.listener(link.listener) else { return found };
        let all = [Sym::EMPTY];
        let hostnames = match self.hostnames_of(link.route) {
            [] => &all[..],
            own => own,
        };
        for hostname in hostnames {
            let (ours, theirs) = (snapshot.text(*hostname), snapshot.text(listener.hostname));
            let common = match hostname::intersect(ours, theirs) {
                Some(common) if common == ours => *hostname,
                Some(_) => listener.hostname,
                None => continue,
            };
            let owned = isolation
                && listener.gateway.is_some_and(|gateway| {
                    let host = snapshot.text(common);
                    let owner = self.owner_listener(snapshot, gateway, listener.port, host);
                    owner.is_some_and(|owner| owner != link.listener)
                });
            if !owned && !found.contains(&common) {
                found.push(common);
            }
        }
        found
    }
}
