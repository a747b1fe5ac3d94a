// SPDX-License-Identifier: Apache-2.0
//! In: a request. Out: per Gateway the listener, route and rule that take it, or why none does; the same for a request to
//! a Service that routes are bound to, by the namespace of the client.
//! Not here: single matches (`matching`).
//!
//! First the listener: the port, a protocol that fits the scheme, and the most specific hostname; no other listener is
//! asked (isolation). Then among the rules of its routes: the most specific hostname of the route, then the match
//! ([`Weight`]), then the older route, then namespace and name, then the first rule. GRPCRoutes take gRPC calls only,
//! and before HTTPRoutes of an equally specific hostname. TLSRoutes and TCPRoutes take whole connections: by name and
//! always, with their first rule.
//!
//! To a Service, hostnames of routes say nothing (GEP-1426). Its consumer routes take the requests of their namespace and
//! its producer routes all others.

use std::cmp::{Ordering, Reverse};

use overrule_model::{Created, Snapshot, Sym};
use overrule_source::{Documents, View};

use super::GatewayTopology;
use super::graph::{
    FrontendIx, FrontendPortIx, GatewayIx, LinkIx, Listener, ListenerIx, RouteIx, RouteKind, RuleIx,
};
use super::hostname::{matches_host, specificity};
use super::matching::{self, Weight};
use super::mesh::{Frontend, MeshLink, MeshRouted, MeshTaken};
use super::request::HttpRequest;

/// The rule that takes a request at one Gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The Gateway.
    pub gateway: GatewayIx,
    /// Listener and route.
    pub link: LinkIx,
    /// The rule.
    pub rule: RuleIx,
    /// Which match of the rule, from 0; absent if the rule has none and takes everything.
    pub match_index: Option<u32>,
    /// The hostname of the route, or else of the listener, that fits; empty = all.
    pub hostname: Sym,
    /// The request names no port, and no listener has the one of its scheme: this one was chosen by protocol alone.
    pub other_port: bool,
}

/// Why a Gateway does not take a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// No listener has the port and a protocol that fits the scheme.
    NoListener(GatewayIx),
    /// Listeners have it, but none of them the host.
    NoHost(GatewayIx),
    /// The listener has the host, but no route of it does.
    NoRoute(GatewayIx, ListenerIx),
    /// Routes have the host, but no rule of them matches.
    NoRule(GatewayIx, ListenerIx),
}

/// Who takes a request, per Gateway in order, and why the others do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routed {
    /// Gateways that take it.
    pub taken: Vec<Taken>,
    /// Gateways that do not.
    pub missed: Vec<Missed>,
}

/// Finds who takes a request. Gateways have addresses of their own, so each is asked.
pub fn route_request(
    documents: &Documents,
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    request: &HttpRequest,
) -> Routed {
    let router = Router { documents, snapshot, topology, request };
    let mut routed = Routed::default();
    for index in 0..topology.gateways.len() {
        match router.gateway(GatewayIx::from(index)) {
            Ok(taken) => routed.taken.push(taken),
            Err(missed) => routed.missed.push(missed),
        }
    }
    routed
}

/// What becomes of a request if its host is a Service that routes are bound to: `NAME`, from clients of its namespace,
/// `NAME.NAMESPACE`, `NAME.NAMESPACE.svc` and whatever follows. By Service and by the namespace of the clients, those
/// without consumer routes last.
pub fn route_mesh_request(
    documents: &Documents,
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    request: &HttpRequest,
) -> Vec<MeshTaken> {
    let router = Router { documents, snapshot, topology, request };
    let mut labels = request.host.split('.');
    let (name, namespace, svc) = (labels.next(), labels.next(), labels.next());
    if svc.is_some_and(|label| label != "svc") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, frontend) in topology.mesh.frontends.iter().enumerate() {
        let is_text = |sym, text: Option<&str>| Some(snapshot.text(sym)) == text;
        let node = topology.nodes.get(frontend.node);
        if !node.is_some_and(|node| is_text(node.name, name)) {
            continue;
        }
        // A name alone is looked up in the namespace of the client.
        let only = namespace.is_none().then_some(frontend.namespace);
        if only.is_none() && !is_text(frontend.namespace, namespace) {
            continue;
        }
        found.extend(router.frontend(FrontendIx::from(index), frontend, only));
    }
    found
}

struct Router<'a> {
    documents: &'a Documents,
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    request: &'a HttpRequest,
}

/// One match that fits, with everything it competes by. Greater wins.
#[derive(PartialEq, Eq)]
struct Candidate<'a> {
    hostname: (bool, usize),
    is_grpc: bool,
    weight: Weight,
    created: Reverse<i64>,
    name: Reverse<(&'a str, &'a str)>,
    rule: Reverse<RuleIx>,
    match_index: Reverse<Option<u32>>,
    /// Place of the link that leads to the route.
    link: u32,
    shown: Sym,
}

impl Candidate<'_> {
    fn compare(&self, other: &Self) -> Ordering {
        self.hostname
            .cmp(&other.hostname)
            .then_with(|| self.is_grpc.cmp(&other.is_grpc))
            .then_with(|| self.weight.cmp(&other.weight))
            .then_with(|| self.created.cmp(&other.created))
            .then_with(|| self.name.cmp(&other.name))
            .then_with(|| self.rule.cmp(&other.rule))
            .then_with(|| self.match_index.cmp(&other.match_index))
    }
}

impl<'a> Router<'a> {
    fn gateway(&self, gateway: GatewayIx) -> Result<Taken, Missed> {
        let assumed = self.topology.gateway(gateway).is_some_and(|gateway| gateway.assumed);
        // Which listener of a Gateway nobody wrote takes a request is unknown: it may be any of them.
        let (listeners, other_port) = match assumed {
            true => (self.topology.listeners_of(gateway).map(|(ix, _)| ix).collect(), false),
            false => {
                let (listener, other_port) = self.listener(gateway)?;
                (vec![listener], other_port)
            }
        };
        let Some(listener) = listeners.first().copied() else {
            return Err(Missed::NoListener(gateway));
        };
        let mut best: Option<Candidate<'a>> = None;
        let mut has_route = false;
        for listener in listeners {
            let links = self.topology.listener(listener).map_or(0..0, |l| l.links.clone());
            for link in links.map(LinkIx) {
                has_route |= self.candidates(link, &mut best);
            }
        }
        match best {
            Some(found) => Ok(Taken {
                gateway,
                link: LinkIx(found.link),
                rule: found.rule.0,
                match_index: found.match_index.0,
                hostname: found.shown,
                other_port,
            }),
            None if has_route => Err(Missed::NoRule(gateway, listener)),
            None => Err(Missed::NoRoute(gateway, listener)),
        }
    }

    /// The listener that takes the connection, and whether only its port differs.
    fn listener(&self, gateway: GatewayIx) -> Result<(ListenerIx, bool), Missed> {
        let usable = |l: &Listener| !l.conflicted && !l.broken && self.speaks(l);
        let all: Vec<(ListenerIx, &Listener)> =
            self.topology.listeners_of(gateway).filter(|(_, l)| usable(l)).collect();
        let port = self.request.port();
        let other_port = self.request.port.is_none() && !all.iter().any(|(_, l)| l.port == port);
        let mut on_port = all.into_iter().filter(|(_, l)| other_port || l.port == port).peekable();
        if on_port.peek().is_none() {
            return Err(Missed::NoListener(gateway));
        }
        let hostname = |l: &Listener| self.snapshot.text(l.hostname);
        on_port
            .filter(|(_, l)| matches_host(hostname(l), &self.request.host))
            .max_by_key(|(ix, l)| (specificity(hostname(l)), Reverse(*ix)))
            .map(|(ix, _)| (ix, other_port))
            .ok_or(Missed::NoHost(gateway))
    }

    /// Whether a listener's protocol can carry the request. A raw TCP listener carries anything.
    fn speaks(&self, listener: &Listener) -> bool {
        match self.snapshot.text(listener.protocol) {
            "HTTP" => !self.request.scheme.is_secure(),
            "HTTPS" | "TLS" => self.request.scheme.is_secure(),
            "TCP" => listener.port == self.request.port(),
            _ => false,
        }
    }

    /// Puts the best match of a route up against the best so far; whether the route has the host at all.
    fn candidates(&self, link: LinkIx, best: &mut Option<Candidate<'a>>) -> bool {
        let topology = self.topology;
        let Some(at) = topology.link(link).filter(|l| l.accepted()) else { return false };
        let (Some(route), Some(listener)) =
            (topology.route(at.route), topology.listener(at.listener))
        else {
            return false;
        };
        let Some((hostname, shown)) = self.hostname(at.route, listener) else { return false };
        if route.kind == RouteKind::Grpc && !self.request.is_grpc() {
            return false;
        }
        self.compete(at.route, (hostname, shown), link.0, best);
        true
    }

    /// Puts the best match of each rule of a route up against the best so far.
    fn compete(
        &self,
        ix: RouteIx,
        (hostname, shown): ((bool, usize), Sym),
        link: u32,
        best: &mut Option<Candidate<'a>>,
    ) {
        let Some(route) = self.topology.route(ix) else { return };
        let object = self.snapshot.get(route.object);
        let name = object
            .map_or(("", ""), |o| (self.snapshot.text(o.scope.name()), self.snapshot.text(o.name)));
        let created = object.map_or(Created::Absent, |o| o.created).key();
        for (rule, spec) in self.topology.rules_of(ix) {
            let view = self.documents.view(spec.tree);
            let Some((weight, match_index)) = self.best_match(route.kind, view, spec.index) else {
                continue;
            };
            let candidate = Candidate {
                hostname,
                is_grpc: route.kind == RouteKind::Grpc,
                weight,
                created: Reverse(created),
                name: Reverse(name),
                rule: Reverse(rule),
                match_index: Reverse(match_index),
                link,
                shown,
            };
            if best.as_ref().is_none_or(|b| candidate.compare(b) == Ordering::Greater) {
                *best = Some(candidate);
            }
        }
    }

    /// What becomes of the request at a Service: for each namespace with consumer routes, and for all others.
    fn frontend(&self, ix: FrontendIx, frontend: &Frontend, only: Option<Sym>) -> Vec<MeshTaken> {
        let mesh = &self.topology.mesh;
        let number = self.request.port();
        let ports = mesh.ports_of(frontend);
        let place = ports.iter().position(|port| port.number == number);
        let port = place.and_then(|place| {
            Some(FrontendPortIx(frontend.ports.start + u32::try_from(place).ok()?))
        });
        let taken = |clients, routed| MeshTaken { frontend: ix, port, clients, routed };
        if port.is_none() && !ports.is_empty() {
            return vec![taken(only, MeshRouted::NoPort)];
        }
        let (first, links) = (frontend.links.start, mesh.links_of(frontend));
        let here: Vec<(u32, &MeshLink)> =
            (first..).zip(links).filter(|(_, link)| link.port == port).collect();
        let mut groups: Vec<Option<Sym>> =
            here.iter().filter_map(|(_, l)| l.clients.map(Some)).collect();
        groups.sort_by_key(|clients| clients.map(|clients| self.snapshot.text(clients)));
        groups.dedup();
        groups.push(None);
        // Clients that use the name alone are of the namespace of the Service.
        groups.retain(|clients| only.is_none() || clients.is_none());
        let routed = |clients: Option<Sym>| {
            let (mut best, mut any) = (None, false);
            for (place, link) in here.iter().filter(|(_, link)| link.clients == clients) {
                any = true;
                let speaks =
                    self.topology.route(link.route).is_some_and(|route| match route.kind {
                        RouteKind::Grpc => self.request.is_grpc(),
                        RouteKind::Udp => false,
                        _ => true,
                    });
                if speaks {
                    self.compete(link.route, (specificity(""), Sym::EMPTY), *place, &mut best);
                }
            }
            match best {
                Some(found) => {
                    MeshRouted::Taken { rule: found.rule.0, match_index: found.match_index.0 }
                }
                None if any => MeshRouted::NoRule,
                None => MeshRouted::Direct,
            }
        };
        groups.into_iter().map(|clients| taken(clients.or(only), routed(clients))).collect()
    }

    /// The most specific hostname of a route that fits, and the one to show: the listener's if the route has none.
    fn hostname(&self, route: RouteIx, listener: &Listener) -> Option<((bool, usize), Sym)> {
        let hostnames = self.topology.hostnames_of(route);
        if hostnames.is_empty() {
            return Some((specificity(""), listener.hostname));
        }
        let text = |sym: &Sym| self.snapshot.text(*sym);
        let fitting = hostnames.iter().filter(|h| matches_host(text(h), &self.request.host));
        fitting.map(|h| (specificity(text(h)), *h)).max_by_key(|(key, _)| *key)
    }

    /// The most specific match of a rule that fits, with its position. A rule without matches takes everything.
    fn best_match(
        &self,
        kind: RouteKind,
        rule: View<'_>,
        index: u32,
    ) -> Option<(Weight, Option<u32>)> {
        let fits = match kind {
            RouteKind::Http => matching::http,
            RouteKind::Grpc => matching::grpc,
            _ => return (index == 0).then_some((Weight::default(), None)),
        };
        let matches = rule.get("matches").filter(|list| !list.is_null());
        let Some(list) = matches.filter(|list| !list.is_empty()) else {
            // Something that is not a list of matches takes no request.
            let readable =
                matches.is_none_or(|list| list.kind() == overrule_source::NodeKind::List);
            let weight = matching::everything(kind);
            return readable.then_some((weight, None));
        };
        let found = (0..).zip(list.items()).filter_map(|(i, m)| Some((fits(m, self.request)?, i)));
        found
            .max_by_key(|(weight, i)| (*weight, Reverse(*i)))
            .map(|(w, i): (Weight, u32)| (w, Some(i)))
    }
}
