// SPDX-License-Identifier: Apache-2.0
//! In: the name, short name or REST path of a kind of resource. Out: what Kuma 2.13 says about that kind.
//! Not here: the shapes of specs.
//!
//! The table is closed: a type that is not in it can still be read, named and made plural, but has no identifier.

use std::fmt;
use std::hash::{Hash, Hasher};

/// Whether resources of a kind live in a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindScope {
    /// One set for the whole control plane: the `mesh` of a resource is empty.
    Global,
    /// Every resource belongs to a mesh.
    Mesh,
}

/// What the spec of a policy kind (one with a `targetRef`) may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicySchema {
    /// The position in every answer of the Inspect API, ascending.
    pub order: u32,
    /// There is a `from` list.
    pub from: bool,
    /// There is a `to` list.
    pub to: bool,
    /// There is a `rules` list.
    pub rules: bool,
    /// There are no lists, only `spec.default`.
    pub single: bool,
    /// A policy without `rules` has its `from` read as if it were `rules`.
    pub from_as_rules: bool,
    /// What an element of `to` configures.
    pub conf: Conf,
    /// Lists of its confs that are always joined. Without any, lists are joined whose names say so.
    pub joined: &'static [&'static str],
    /// It says something about clients by who they are, which nobody knows without mTLS.
    pub needs_mtls: bool,
    /// `spec.default` may stand for a list of one rule.
    pub may_be_short: bool,
}

/// What an element of `to` configures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conf {
    /// Its `default`.
    Default,
    /// Routes: its `rules`, for its `hostnames`.
    Rules,
    /// A route: the first of its `rules`.
    FirstRule,
}

/// One kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceKind {
    /// The type, as written in `type:` (Universal) or `kind:` (Kubernetes).
    pub name: &'static str,
    /// The second part of an identifier; without one a kind has no identifiers.
    pub short: Option<&'static str>,
    /// The collection in the REST API.
    pub path: &'static str,
    /// Whether it lives in a mesh.
    pub scope: KindScope,
    /// Its fields are under `spec`; otherwise they are at the top of the Universal document.
    pub is_new_style: bool,
    /// What a policy with a `targetRef` may hold.
    pub policy: Option<PolicySchema>,
    /// A policy of the generation before `targetRef`, with `selectors` or with `sources` and `destinations`: what does the
    /// same with one.
    pub successor: Option<&'static str>,
    /// Traffic can be sent to it: it has ports, and sections of a reference mean them.
    pub is_destination: bool,
    /// It stands for an Envoy.
    pub is_proxy: bool,
    /// A zone's control plane may be where it is created.
    pub is_created_on_zone: bool,
    /// On Kubernetes it has no namespace.
    pub is_cluster_scoped: bool,
}

impl ResourceKind {
    /// Whether its confs are routes.
    pub fn is_route(&self) -> bool {
        self.policy.is_some_and(|policy| policy.conf != Conf::Default)
    }

    /// Whether it is a policy with a `targetRef`.
    pub fn is_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// Whether it is a policy of the generation before `targetRef`.
    pub fn is_legacy_policy(&self) -> bool {
        self.successor.is_some()
    }

    /// The kind of that type.
    pub fn by_type(name: &str) -> Option<&'static ResourceKind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// The kind of that short name.
    pub fn by_short(short: &str) -> Option<&'static ResourceKind> {
        KINDS.iter().find(|kind| kind.short == Some(short))
    }

    /// The kind of that REST path.
    pub fn by_path(path: &str) -> Option<&'static ResourceKind> {
        KINDS.iter().find(|kind| kind.path == path)
    }
}

/// The kinds of policies with a `targetRef`, in the order of the Inspect API.
pub fn policies() -> impl Iterator<Item = (&'static ResourceKind, PolicySchema)> {
    KINDS.iter().filter_map(|kind| Some((kind, kind.policy?)))
}

/// The kind of a resource or of a reference, as it is written: a row of a table, or a word that is in none.
#[derive(Debug, Clone)]
pub enum KindName {
    /// A kind.
    Known(&'static ResourceKind),
    /// Another word; empty if nothing is written.
    Other(Box<str>),
}

impl KindName {
    /// What a resource says it is.
    pub fn of_resource(text: &str) -> Self {
        ResourceKind::by_type(text).map_or_else(|| Self::Other(text.into()), Self::Known)
    }

    /// What a reference says it refers to.
    pub fn of_reference(text: &str) -> Self {
        static ROWS: [ResourceKind; 9] = TARGETS;
        let known = ROWS.iter().find(|kind| kind.name == text);
        known.map_or_else(|| Self::Other(text.into()), Self::Known)
    }

    /// The kind.
    pub fn known(&self) -> Option<&'static ResourceKind> {
        match self {
            Self::Known(kind) => Some(kind),
            Self::Other(_) => None,
        }
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(kind) => kind.name,
            Self::Other(text) => text,
        }
    }

    /// Whether it is one of these.
    pub fn is_one_of(&self, kinds: &[ResourceKind]) -> bool {
        self.known().is_some_and(|known| kinds.iter().any(|kind| kind.name == known.name))
    }
}

impl Default for KindName {
    fn default() -> Self {
        Self::Other("".into())
    }
}

/// By the word: no two kinds have one name.
impl PartialEq for KindName {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for KindName {}

impl PartialEq<ResourceKind> for KindName {
    fn eq(&self, other: &ResourceKind) -> bool {
        self.known().is_some_and(|kind| kind.name == other.name)
    }
}

impl Hash for KindName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for KindName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The plural of a type, in the case it is written in; any type, not only those of the table.
pub fn plural(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let ends_in = |endings: &[&str]| endings.iter().any(|end| lower.ends_with(end));
    if ends_in(&["y"]) && !ends_in(&["ay"]) {
        let stem = name.get(..name.len() - 1).unwrap_or_default();
        return format!("{stem}ies");
    }
    let end = if ends_in(&["s", "sh", "ch"]) { "es" } else { "s" };
    format!("{name}{end}")
}

/// A kind whose fields are at the top.
const fn old(name: &'static str, path: &'static str, scope: KindScope) -> ResourceKind {
    ResourceKind {
        name,
        short: None,
        path,
        scope,
        is_new_style: false,
        policy: None,
        successor: None,
        is_destination: false,
        is_proxy: false,
        is_created_on_zone: false,
        is_cluster_scoped: false,
    }
}

/// A kind whose fields are under `spec`: those may all be created on zones.
const fn new(name: &'static str, short: &'static str, path: &'static str) -> ResourceKind {
    let kind = old(name, path, KindScope::Mesh);
    ResourceKind { short: Some(short), is_new_style: true, is_created_on_zone: true, ..kind }
}

const fn destination(name: &'static str, short: &'static str, path: &'static str) -> ResourceKind {
    ResourceKind { is_destination: true, ..new(name, short, path) }
}

const fn proxy(
    name: &'static str,
    short: &'static str,
    path: &'static str,
    scope: KindScope,
) -> ResourceKind {
    let kind = old(name, path, scope);
    ResourceKind { short: Some(short), is_proxy: true, is_created_on_zone: true, ..kind }
}

/// A kind that only the global control plane creates and that has no namespace on Kubernetes.
const fn cluster(name: &'static str, path: &'static str, scope: KindScope) -> ResourceKind {
    ResourceKind { is_cluster_scoped: true, ..old(name, path, scope) }
}

const fn legacy(name: &'static str, path: &'static str, successor: &'static str) -> ResourceKind {
    ResourceKind { successor: Some(successor), ..cluster(name, path, KindScope::Mesh) }
}

const fn policy(
    name: &'static str,
    short: &'static str,
    path: &'static str,
    order: u32,
    holds: PolicySchema,
) -> ResourceKind {
    ResourceKind { policy: Some(PolicySchema { order, ..holds }), ..new(name, short, path) }
}

const NOTHING: PolicySchema = PolicySchema {
    order: 0,
    from: false,
    to: false,
    rules: false,
    single: false,
    from_as_rules: false,
    conf: Conf::Default,
    joined: &[],
    needs_mtls: false,
    may_be_short: false,
};
const TO: PolicySchema = PolicySchema { to: true, ..NOTHING };
const HTTP_RULES: PolicySchema = PolicySchema { conf: Conf::Rules, ..TO };
const TCP_RULES: PolicySchema = PolicySchema { conf: Conf::FirstRule, ..TO };
const SINGLE: PolicySchema = PolicySchema { single: true, ..NOTHING };
const INBOUND: PolicySchema = PolicySchema { from: true, rules: true, ..NOTHING };
const INBOUND_ALIKE: PolicySchema = PolicySchema { from_as_rules: true, ..INBOUND };
const TLS_HOLDS: PolicySchema = PolicySchema { needs_mtls: true, ..INBOUND_ALIKE };
/// A permission is never replaced by another.
const PERMISSION: PolicySchema = PolicySchema {
    joined: &["deny", "allowWithShadowDeny", "allow"],
    needs_mtls: true,
    may_be_short: true,
    ..INBOUND
};
const BOTH: PolicySchema = PolicySchema { to: true, ..INBOUND };
const BOTH_ALIKE: PolicySchema = PolicySchema { to: true, ..INBOUND_ALIKE };

/// Routes by request.
pub const HTTP_ROUTE: ResourceKind =
    policy("MeshHTTPRoute", "mhttpr", "meshhttproutes", 100, HTTP_RULES);
/// Routes by connection.
pub const TCP_ROUTE: ResourceKind =
    policy("MeshTCPRoute", "mtcpr", "meshtcproutes", 200, TCP_RULES);
/// `MeshTLS`.
pub const TLS: ResourceKind = policy("MeshTLS", "mtls", "meshtlses", 300, TLS_HOLDS);
/// `MeshLoadBalancingStrategy`.
pub const LOAD_BALANCING_STRATEGY: ResourceKind =
    policy("MeshLoadBalancingStrategy", "mlbs", "meshloadbalancingstrategies", 400, TO);
/// `MeshPassthrough`.
pub const PASSTHROUGH: ResourceKind =
    policy("MeshPassthrough", "mp", "meshpassthroughs", 500, SINGLE);
/// `MeshAccessLog`.
pub const ACCESS_LOG: ResourceKind =
    policy("MeshAccessLog", "mal", "meshaccesslogs", 600, BOTH_ALIKE);
/// `MeshTrace`.
pub const TRACE: ResourceKind = policy("MeshTrace", "mtr", "meshtraces", 700, SINGLE);
/// `MeshFaultInjection`.
pub const FAULT_INJECTION: ResourceKind =
    policy("MeshFaultInjection", "mfi", "meshfaultinjections", 800, BOTH);
/// `MeshRateLimit`.
pub const RATE_LIMIT: ResourceKind =
    policy("MeshRateLimit", "mrl", "meshratelimits", 900, BOTH_ALIKE);
/// `MeshTimeout`.
pub const TIMEOUT: ResourceKind = policy("MeshTimeout", "mt", "meshtimeouts", 1000, BOTH_ALIKE);
/// Who may call whom.
pub const TRAFFIC_PERMISSION: ResourceKind =
    policy("MeshTrafficPermission", "mtp", "meshtrafficpermissions", 1100, PERMISSION);
/// `MeshHealthCheck`.
pub const HEALTH_CHECK: ResourceKind =
    policy("MeshHealthCheck", "mhc", "meshhealthchecks", 1200, TO);
/// `MeshCircuitBreaker`.
pub const CIRCUIT_BREAKER: ResourceKind =
    policy("MeshCircuitBreaker", "mcb", "meshcircuitbreakers", 1300, BOTH_ALIKE);
/// `MeshRetry`.
pub const RETRY: ResourceKind = policy("MeshRetry", "mr", "meshretries", 1400, TO);
/// `MeshMetric`.
pub const METRIC: ResourceKind = policy("MeshMetric", "mm", "meshmetrics", 1500, SINGLE);
/// `MeshProxyPatch`.
pub const PROXY_PATCH: ResourceKind =
    policy("MeshProxyPatch", "mpp", "meshproxypatches", 9999, SINGLE);
/// A service of a zone.
pub const SERVICE: ResourceKind = destination("MeshService", "msvc", "meshservices");
/// A service outside the mesh.
pub const EXTERNAL_SERVICE: ResourceKind =
    destination("MeshExternalService", "extsvc", "meshexternalservices");
/// Services of several zones as one.
pub const MULTI_ZONE_SERVICE: ResourceKind =
    destination("MeshMultiZoneService", "mzsvc", "meshmultizoneservices");
/// What services are called.
pub const HOSTNAME_GENERATOR: ResourceKind = ResourceKind {
    scope: KindScope::Global,
    ..new("HostnameGenerator", "hg", "hostnamegenerators")
};
/// What proxies prove who they are with.
pub const IDENTITY: ResourceKind = new("MeshIdentity", "mid", "meshidentities");
/// A proxy of a workload.
pub const DATAPLANE: ResourceKind = proxy("Dataplane", "dp", "dataplanes", KindScope::Mesh);
/// A mesh.
pub const MESH: ResourceKind =
    ResourceKind { short: Some("m"), ..cluster("Mesh", "meshes", KindScope::Global) };
/// Listeners of proxies that are gateways.
pub const GATEWAY: ResourceKind =
    ResourceKind { short: Some("mgw"), ..cluster("MeshGateway", "meshgateways", KindScope::Mesh) };
/// Routes of gateways, as they were.
pub const GATEWAY_ROUTE: ResourceKind =
    cluster("MeshGatewayRoute", "meshgatewayroutes", KindScope::Mesh);
/// Services outside of the mesh, as they were.
pub const OLD_EXTERNAL_SERVICE: ResourceKind =
    cluster("ExternalService", "external-services", KindScope::Mesh);
/// What a control plane knows of a proxy.
pub const DATAPLANE_INSIGHT: ResourceKind = ResourceKind {
    is_created_on_zone: true,
    ..old("DataplaneInsight", "dataplane-insights", KindScope::Mesh)
};
/// Proxies with certain tags; only references have this kind.
pub const SUBSET: ResourceKind = old("MeshSubset", "", KindScope::Mesh);
/// Proxies of a service, with certain tags; only references have this kind.
pub const SERVICE_SUBSET: ResourceKind = old("MeshServiceSubset", "", KindScope::Mesh);

/// The kinds a reference of a policy may have, least specific first.
pub const TARGETS: [ResourceKind; 9] = [
    MESH,
    DATAPLANE,
    SUBSET,
    GATEWAY,
    SERVICE,
    EXTERNAL_SERVICE,
    MULTI_ZONE_SERVICE,
    SERVICE_SUBSET,
    HTTP_ROUTE,
];

/// Every kind. Policies with a `targetRef` come first, in the order of the Inspect API.
pub static KINDS: &[ResourceKind] = &[
    HTTP_ROUTE,
    TCP_ROUTE,
    TLS,
    LOAD_BALANCING_STRATEGY,
    PASSTHROUGH,
    ACCESS_LOG,
    TRACE,
    FAULT_INJECTION,
    RATE_LIMIT,
    TIMEOUT,
    TRAFFIC_PERMISSION,
    HEALTH_CHECK,
    CIRCUIT_BREAKER,
    RETRY,
    METRIC,
    PROXY_PATCH,
    SERVICE,
    EXTERNAL_SERVICE,
    MULTI_ZONE_SERVICE,
    HOSTNAME_GENERATOR,
    IDENTITY,
    new("MeshTrust", "mtrust", "meshtrusts"),
    new("Workload", "wl", "workloads"),
    DATAPLANE,
    proxy("ZoneIngress", "zi", "zoneingresses", KindScope::Global),
    proxy("ZoneEgress", "ze", "zoneegresses", KindScope::Global),
    MESH,
    cluster("Zone", "zones", KindScope::Global),
    GATEWAY,
    GATEWAY_ROUTE,
    OLD_EXTERNAL_SERVICE,
    DATAPLANE_INSIGHT,
    legacy("CircuitBreaker", "circuit-breakers", "MeshCircuitBreaker"),
    legacy("FaultInjection", "fault-injections", "MeshFaultInjection"),
    legacy("HealthCheck", "health-checks", "MeshHealthCheck"),
    legacy("ProxyTemplate", "proxytemplates", "MeshProxyPatch"),
    legacy("RateLimit", "rate-limits", "MeshRateLimit"),
    legacy("Retry", "retries", "MeshRetry"),
    legacy("Timeout", "timeouts", "MeshTimeout"),
    legacy("TrafficLog", "traffic-logs", "MeshAccessLog"),
    legacy("TrafficPermission", "traffic-permissions", "MeshTrafficPermission"),
    legacy("TrafficRoute", "traffic-routes", "MeshHTTPRoute or MeshTCPRoute"),
    legacy("TrafficTrace", "traffic-traces", "MeshTrace"),
    legacy("VirtualOutbound", "virtual-outbounds", "HostnameGenerator"),
];

#[cfg(test)]
mod tests;
