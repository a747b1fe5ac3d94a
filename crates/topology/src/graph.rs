// SPDX-License-Identifier: Apache-2.0
//! The types of the graph. Not here: how it is built (`connect`), how it is searched (`lookup`).
//!
//! Everything is a flat vector with typed indexes; members of an object are ranges. A hundred thousand routes take
//! a dozen allocations.

use std::num::NonZero;
use std::ops::Range;

use overrule_engine::{NodeId, Topology};
use overrule_model::{Created, ObjectId, Sym};
use overrule_source::{DocId, NodeRef, Span};

use super::grants::GrantIndex;
use super::lookup::Index;
use super::mesh::Mesh;
use super::rows::{NamedParent, ParentRow, RuleRow};

macro_rules! indexes {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The place in the vector it indexes.
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(place: usize) -> Self {
                Self(u32::try_from(place).unwrap_or(u32::MAX))
            }
        }
    )*};
}

indexes! {
    /// Index into [`GatewayTopology::classes`].
    ClassIx;
    /// Index into [`GatewayTopology::gateways`].
    GatewayIx;
    /// Index into [`GatewayTopology::sets`].
    SetIx;
    /// Index into [`GatewayTopology::listeners`].
    ListenerIx;
    /// Index into [`GatewayTopology::routes`].
    RouteIx;
    /// Index of a rule; see [`GatewayTopology::rule`].
    RuleIx;
    /// Index into [`GatewayTopology::backends`].
    BackendIx;
    /// Index into [`GatewayTopology::ports`].
    PortIx;
    /// Index into [`GatewayTopology::links`].
    LinkIx;
    /// Index into [`Mesh::frontends`].
    FrontendIx;
    /// Index into [`Mesh::ports`].
    FrontendPortIx;
}

/// A GatewayClass; one that Gateways only name has no object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayClass {
    /// Its node.
    pub node: NodeId,
    /// `spec.controllerName`; empty if unknown.
    pub controller: Sym,
}

/// A Gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its node.
    pub node: NodeId,
    /// The object.
    pub object: ObjectId,
    /// Its class. Leads nowhere if the manifest names none: no controller serves such a Gateway.
    pub class: ClassIx,
    /// Its own listeners, as written.
    pub listeners: Range<u32>,
    /// The ListenerSets it accepts, in the order of precedence (older first, then namespace and name).
    pub sets: Vec<SetIx>,
    /// Nobody wrote it: references need it, and everything else about it is unknown. It has no class.
    pub assumed: bool,
}

/// A ListenerSet or XListenerSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerSet {
    /// Its node.
    pub node: NodeId,
    /// The object.
    pub object: ObjectId,
    /// The Gateway its parentRef names, if that is in the input.
    pub parent: Option<GatewayIx>,
    /// Whether that Gateway accepts it.
    pub accepted: bool,
    /// Its listeners, as written.
    pub listeners: Range<u32>,
    /// Creation time.
    pub created: Created,
}

/// A listener of a Gateway or of a ListenerSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its node.
    pub node: NodeId,
    /// The Gateway that serves it; absent where its ListenerSet is not accepted.
    pub gateway: Option<GatewayIx>,
    /// The ListenerSet it is written in.
    pub set: Option<SetIx>,
    /// Its name.
    pub name: Sym,
    /// Port; 0 where none could be read (some ListenerSets get theirs assigned).
    pub port: u16,
    /// Protocol as written.
    pub protocol: Sym,
    /// Hostname; empty = all.
    pub hostname: Sym,
    /// Whether TLS ends here: HTTPS, or TLS in mode Terminate.
    pub terminates: bool,
    /// Whether it cannot be told apart from another listener and is therefore not in force.
    pub conflicted: bool,
    /// Whether its hostname cannot be read, so that nothing fits it.
    pub broken: bool,
    /// The route kinds it takes, after `allowedRoutes.kinds`.
    pub kinds: RouteKinds,
    /// Its links, a range of [`GatewayTopology::links`].
    pub links: Range<u32>,
}

/// The kinds of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RouteKind {
    /// HTTPRoute.
    Http,
    /// GRPCRoute.
    Grpc,
    /// TLSRoute.
    Tls,
    /// TCPRoute.
    Tcp,
    /// UDPRoute.
    Udp,
}

impl RouteKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Http, Self::Grpc, Self::Tls, Self::Tcp, Self::Udp];

    /// The kind as written in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTPRoute",
            Self::Grpc => "GRPCRoute",
            Self::Tls => "TLSRoute",
            Self::Tcp => "TCPRoute",
            Self::Udp => "UDPRoute",
        }
    }

    /// The kind of its rule nodes.
    pub fn rule_name(self) -> &'static str {
        match self {
            Self::Http => "HTTPRouteRule",
            Self::Grpc => "GRPCRouteRule",
            Self::Tls => "TLSRouteRule",
            Self::Tcp => "TCPRouteRule",
            Self::Udp => "UDPRouteRule",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether routes of this kind have hostnames.
    pub fn has_hostnames(self) -> bool {
        matches!(self, Self::Http | Self::Grpc | Self::Tls)
    }
}

/// A set of route kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct RouteKinds(u8);

impl RouteKinds {
    /// The set of these kinds.
    pub fn of(kinds: &[RouteKind]) -> Self {
        Self(kinds.iter().fold(0, |set, kind| set | 1 << *kind as u8))
    }

    /// Whether it has this kind.
    pub fn contains(self, kind: RouteKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Adds a kind.
    pub fn insert(&mut self, kind: RouteKind) {
        self.0 |= 1 << kind as u8;
    }

    /// The kinds in it.
    pub fn iter(self) -> impl Iterator<Item = RouteKind> {
        RouteKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A route of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its node.
    pub node: NodeId,
    /// What kind it is.
    pub kind: RouteKind,
    /// The object.
    pub object: ObjectId,
    /// Whether hostnames are written but none of them is valid, so that nothing fits it.
    pub broken: bool,
    /// Its rules, by index; see [`GatewayTopology::rule`].
    pub rules: Range<u32>,
    /// The worst that is known of its references to backends, mirrors included.
    pub refs: BackendFacts,
    /// The document it is written in.
    pub(crate) doc: DocId,
    /// First of its hostnames; see [`GatewayTopology::hostnames_of`].
    pub(crate) hostnames: u32,
    /// First of its parentRefs; see [`GatewayTopology::parents_of`].
    pub(crate) parents: u32,
    /// First of its links in the per-route index; see [`GatewayTopology::links_of_route`].
    pub(crate) links: u32,
}

/// A rule of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteRule {
    /// Its node.
    pub node: NodeId,
    /// The route.
    pub route: RouteIx,
    /// Position in the route, from 0.
    pub index: u32,
    /// Whether it is named in the manifest; otherwise its section is `rule-N`.
    pub named: bool,
    /// Whether its section name leads elsewhere: a generated name another rule carries, or a duplicate.
    pub hidden: bool,
    /// The rule in its document, for reading matches and filters on demand.
    pub tree: NodeRef,
}

/// One backendRef.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendUse {
    /// The backend.
    pub backend: BackendIx,
    /// The port, as written.
    pub port: Option<NonZero<u16>>,
    /// The weight; 1 if not written.
    pub weight: u32,
    /// What is known of the reference.
    pub facts: BackendFacts,
    /// Where it is written, in the source of its route: the first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// What is known of a reference to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BackendFacts {
    /// It is there and may be used.
    Resolved,
    /// It is not in the input, and neither is anything of its kind: nobody can tell.
    Unknown,
    /// It does not exist.
    NotFound,
    /// It is in another namespace and no ReferenceGrant permits it.
    NotPermitted,
}

/// A backendRef that names other routes: kgateway's delegation. Nothing is checked here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delegation {
    /// Group as written.
    pub group: Sym,
    /// Kind as written (`HTTPRoute`, `label`).
    pub kind: Sym,
    /// Namespace; the one of the route if not written.
    pub namespace: Sym,
    /// Name as written; may be empty or `*`.
    pub name: Sym,
    /// Where it is written.
    pub at: Span,
}

/// A Service, or any other object a rule sends to; one that is only named has no object in its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// Its node.
    pub node: NodeId,
    /// API group.
    pub group: Sym,
    /// Its ports, a range of [`GatewayTopology::ports`]; none for anything but a Service of the input.
    pub ports: Range<u32>,
}

/// A port of a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopologyPort {
    /// Its node.
    pub node: NodeId,
    /// The Service.
    pub backend: BackendIx,
    /// The number.
    pub number: u16,
}

/// A route at a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The listener.
    pub listener: ListenerIx,
    /// The route.
    pub route: RouteIx,
    /// Which parentRef of the route made it, from 0.
    pub parent_ref: u16,
    /// What is known of it, a bit each.
    facts: u8,
}

impl Link {
    /// A link.
    pub(crate) fn new(
        listener: ListenerIx,
        route: RouteIx,
        parent_ref: u16,
        facts: LinkFacts,
    ) -> Self {
        let LinkFacts { allowed, port, conflicted, hosts, isolated } = facts;
        let bits = [allowed, port, conflicted, hosts == HostFit::Intersects, isolated];
        let facts = bits.into_iter().zip(0..).fold(0, |all, (bit, n)| all | u8::from(bit) << n);
        Self { listener, route, parent_ref, facts }
    }

    /// What is known of it.
    pub fn facts(&self) -> LinkFacts {
        let bit = |n: u8| self.facts >> n & 1 == 1;
        let hosts = if bit(3) { HostFit::Intersects } else { HostFit::Subset };
        LinkFacts { allowed: bit(0), port: bit(1), conflicted: bit(2), hosts, isolated: bit(4) }
    }

    /// Whether Gateway API attaches the route here: the listener is meant, allows it and is in force; hostnames
    /// intersect in every link.
    pub fn accepted(&self) -> bool {
        let LinkFacts { allowed, port, conflicted, .. } = self.facts();
        allowed && port && !conflicted
    }
}

/// What is known of a link; families filter on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkFacts {
    /// `allowedRoutes` of the listener lets the route in: namespace and kind.
    pub allowed: bool,
    /// The parentRef names no port, or that of the listener.
    pub port: bool,
    /// Whether the listener conflicts with another and is not in force.
    pub conflicted: bool,
    /// How the hostnames meet.
    pub hosts: HostFit,
    /// Whether more specific listeners of the same port own every hostname of the route here, so that with listener
    /// isolation no request comes this way.
    pub isolated: bool,
}

/// How the hostnames of a route and a listener meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HostFit {
    /// The route has no hostnames, or at least one of them lies within the hostname of the listener.
    Subset,
    /// Every common hostname is narrower than what the route says: the listener is the more specific side.
    Intersects,
}

/// The whole graph. The order of nodes depends on names only, never on files: classes; Gateways by namespace and
/// name, each followed by its listeners as written; ListenerSets likewise; Services that routes are bound to by namespace
/// and name, each followed by its ports; routes by kind, namespace, name, each followed by its rules; backends of the input by group, kind, namespace, name, each followed by its ports; backends
/// that are only named, by their first use.
#[derive(Debug, Clone, Default)]
pub struct GatewayTopology {
    /// The nodes.
    pub nodes: Topology,
    /// GatewayClasses, by name.
    pub classes: Vec<GatewayClass>,
    /// Gateways, by namespace and name.
    pub gateways: Vec<Gateway>,
    /// ListenerSets, by group, namespace and name.
    pub sets: Vec<ListenerSet>,
    /// Listeners: those of Gateways, then those of ListenerSets.
    pub listeners: Vec<Listener>,
    /// Routes, by kind, namespace and name.
    pub routes: Vec<Route>,
    /// Rules, by route.
    pub(crate) rules: Vec<RuleRow>,
    /// Valid hostnames of routes as written, by route.
    pub(crate) hostnames: Vec<Sym>,
    /// Backends: every Service, and whatever else rules send to.
    pub backends: Vec<Backend>,
    /// Ports, by backend.
    pub ports: Vec<TopologyPort>,
    /// What rules send to, by rule.
    pub uses: Vec<BackendUse>,
    /// What rules delegate to, by rule.
    pub delegations: Vec<Delegation>,
    /// What became of parentRefs, by route.
    pub(crate) parents: Vec<ParentRow>,
    /// What parentRefs name, each once.
    pub(crate) named_parents: Vec<NamedParent>,
    /// Routes at listeners, sorted by listener, then route.
    pub links: Vec<Link>,
    /// Services that routes are bound to.
    pub mesh: Mesh,
    /// Which references across namespaces are permitted.
    pub grants: GrantIndex,
    pub(crate) index: Index,
}
