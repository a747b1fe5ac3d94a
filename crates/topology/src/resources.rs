// SPDX-License-Identifier: Apache-2.0
//! The typed specs `parse` reads and `connect` works on. Not here: trees.
//!
//! Lists inside objects are ranges of flat vectors. Specs keep the spans that a finding about a link may have to point
//! at, because `connect` sees no tree.

use std::ops::Range;

use hashbrown::{HashMap, HashSet};
use overrule_model::{GroupKind, Labels, ObjectId, Selector, Sym};
use overrule_source::{Span, TreeNodeId};

use super::grants::GrantIndex;
use super::graph::{RouteKind, RouteKinds};
use super::hostname::{HostIx, Hosts};

/// The specs of all Gateway API objects of a snapshot.
#[derive(Debug, Clone, Default)]
pub struct GatewayResources {
    pub(crate) classes: Vec<ClassSpec>,
    pub(crate) gateways: Vec<GatewaySpec>,
    pub(crate) sets: Vec<SetSpec>,
    /// Those of Gateways, then those of ListenerSets.
    pub(crate) listeners: Vec<ListenerSpec>,
    pub(crate) certificates: Vec<CertificateSpec>,
    pub(crate) routes: Vec<RouteSpec>,
    pub(crate) hostnames: Vec<HostIx>,
    pub(crate) parents: Vec<ParentSpec>,
    pub(crate) rules: Vec<RuleSpec>,
    pub(crate) backends: Vec<BackendSpec>,
    pub(crate) services: Vec<ServiceSpec>,
    pub(crate) ports: Vec<PortSpec>,
    /// Labels of Namespace objects, the implicit one included.
    pub(crate) namespaces: HashMap<Sym, Labels>,
    /// Those of them whose labels nobody knows.
    pub(crate) open_namespaces: HashSet<Sym>,
    pub(crate) selectors: Vec<Selector>,
    pub(crate) grants: GrantIndex,
    pub(crate) hosts: Hosts,
    pub(crate) words: Words,
}

impl GatewayResources {
    /// Makes room for routes, so that a fleet is not copied as it grows.
    pub(crate) fn reserve(&mut self, routes: usize) {
        self.routes.reserve_exact(routes);
        self.hostnames.reserve(routes);
        self.parents.reserve(routes);
        self.rules.reserve(routes);
        self.backends.reserve(routes);
    }
}

/// Names the code asks for, as symbols of the snapshot.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Words {
    pub(crate) class: Sym,
    pub(crate) listener: Sym,
    pub(crate) rules: [Sym; 5],
    pub(crate) service_port: Sym,
    pub(crate) http: Sym,
    pub(crate) https: Sym,
    pub(crate) tls: Sym,
    pub(crate) tcp: Sym,
    pub(crate) udp: Sym,
    pub(crate) group: Sym,
    pub(crate) x_group: Sym,
    pub(crate) gateway: Sym,
    pub(crate) listener_set: Sym,
    pub(crate) x_listener_set: Sym,
    pub(crate) http_route: Sym,
    pub(crate) service: Sym,
    pub(crate) secret: Sym,
    pub(crate) delegation_group: Sym,
    /// The label every namespace has.
    pub(crate) namespace_label: Sym,
}

impl Words {
    /// The core Service.
    pub(crate) fn service_kind(&self) -> GroupKind {
        GroupKind { group: Sym::EMPTY, kind: self.service }
    }

    /// The kind of the rule nodes of a kind of route.
    pub(crate) fn rule_kind(&self, kind: RouteKind) -> Sym {
        self.rules.get(kind as usize).copied().unwrap_or_default()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct ClassSpec {
    pub(crate) object: ObjectId,
    pub(crate) controller: Sym,
}

#[derive(Debug, Clone)]
pub(crate) struct GatewaySpec {
    pub(crate) object: ObjectId,
    pub(crate) class: Sym,
    pub(crate) class_at: Span,
    pub(crate) listeners: Range<u32>,
    pub(crate) allowed_sets: NamespacesFrom,
    /// `spec.allowedListeners`, if written.
    pub(crate) allowed_at: Option<Span>,
    /// Nobody wrote it; references need it.
    pub(crate) assumed: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct SetSpec {
    pub(crate) object: ObjectId,
    pub(crate) listeners: Range<u32>,
    /// Namespace and name of the Gateway; absent if it could not be read.
    pub(crate) parent: Option<(Sym, Sym)>,
    pub(crate) parent_at: Span,
}

/// Which namespaces may attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamespacesFrom {
    Same,
    All,
    None,
    /// Those whose labels fit; index into the selectors.
    Selector(u32),
}

/// The protocols of the Gateway API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    /// HTTP, HTTPS and TLS share ports by hostname.
    Hosted,
    Tcp,
    Udp,
    /// One of a vendor.
    Other,
}

#[derive(Debug, Clone)]
pub(crate) struct ListenerSpec {
    pub(crate) name: Sym,
    /// Position in its object, from 0.
    pub(crate) index: u32,
    pub(crate) at: Span,
    /// 0 if not readable.
    pub(crate) port: u16,
    pub(crate) protocol: Sym,
    pub(crate) family: Protocol,
    pub(crate) terminates: bool,
    pub(crate) hostname: HostIx,
    pub(crate) hostname_at: Option<Span>,
    /// The hostname is written but not valid.
    pub(crate) broken: bool,
    pub(crate) namespaces: NamespacesFrom,
    pub(crate) kinds: RouteKinds,
    /// `allowedRoutes`, if written.
    pub(crate) allowed_at: Option<Span>,
    /// Nobody wrote it; references need it.
    pub(crate) assumed: bool,
    pub(crate) certificates: Range<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CertificateSpec {
    pub(crate) kind: GroupKind,
    pub(crate) namespace: Sym,
    pub(crate) name: Sym,
    pub(crate) at: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct RouteSpec {
    pub(crate) object: ObjectId,
    pub(crate) kind: RouteKind,
    pub(crate) namespace: Sym,
    pub(crate) hostnames: Range<u32>,
    pub(crate) hostnames_at: Option<Span>,
    /// Hostnames are written but none is valid.
    pub(crate) broken: bool,
    pub(crate) parents: Range<u32>,
    pub(crate) rules: Range<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ParentSpec {
    /// Position in the route, from 0.
    pub(crate) index: u16,
    pub(crate) kind: GroupKind,
    pub(crate) namespace: Sym,
    pub(crate) name: Sym,
    pub(crate) section: Sym,
    /// 0 if not written.
    pub(crate) port: u16,
    /// Its name, or the whole of it.
    pub(crate) at: Span,
    /// `sectionName`, else `port`, else the same as `at`.
    pub(crate) section_at: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct RuleSpec {
    pub(crate) section: Sym,
    pub(crate) named: bool,
    pub(crate) hidden: bool,
    /// The name it is written with, if an earlier rule has that.
    pub(crate) repeats: Sym,
    pub(crate) at: Span,
    pub(crate) tree: TreeNodeId,
    pub(crate) backends: Range<u32>,
}

/// Where in a rule a reference to a backend stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `backendRefs[i]`
    Backend(u32),
    /// `backendRefs[i]` that names routes instead: delegation.
    Delegation,
    /// `filters[i].KEY.backendRef`
    Filter(u32, &'static str),
    /// `backendRefs[i].filters[j].KEY.backendRef`
    BackendFilter(u32, u32, &'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BackendSpec {
    pub(crate) kind: GroupKind,
    pub(crate) namespace: Sym,
    pub(crate) name: Sym,
    /// 0 if not written.
    pub(crate) port: u16,
    /// It is written but not a port; that was reported.
    pub(crate) port_unreadable: bool,
    pub(crate) weight: u32,
    pub(crate) place: Place,
    pub(crate) at: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct ServiceSpec {
    pub(crate) object: ObjectId,
    pub(crate) ports: Range<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PortSpec {
    /// Name, or the number as text where there is none.
    pub(crate) name: Sym,
    pub(crate) number: u16,
    pub(crate) at: Span,
}

/// The part of a flat vector a range means.
pub(crate) fn part<'a, T>(list: &'a [T], range: &Range<u32>) -> &'a [T] {
    list.get(range.start as usize..range.end as usize).unwrap_or(&[])
}

/// The length of a vector as an index.
pub(crate) fn count<T>(list: &[T]) -> u32 {
    u32::try_from(list.len()).unwrap_or(u32::MAX)
}
