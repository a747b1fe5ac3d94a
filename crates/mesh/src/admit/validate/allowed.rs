// SPDX-License-Identifier: Apache-2.0
//! In: a kind of policy. Out: which kinds its references may have, and where. Not here: the fields of a reference.

use crate::kinds::{self, ResourceKind};
use crate::labels::PolicyRole;
use crate::targetref::TargetRef;

/// Kinds of policies that may only name a gateway or a route if they are the system's.
const SYSTEM_ONLY: &[ResourceKind] = &[
    kinds::TIMEOUT,
    kinds::RETRY,
    kinds::RATE_LIMIT,
    kinds::HTTP_ROUTE,
    kinds::TCP_ROUTE,
    kinds::FAULT_INJECTION,
    kinds::METRIC,
    kinds::PROXY_PATCH,
    kinds::TRACE,
];

/// What the reference of a policy itself may be.
pub(crate) fn top(policy: &ResourceKind, role: PolicyRole) -> Vec<ResourceKind> {
    let mut kinds = vec![kinds::MESH, kinds::DATAPLANE, kinds::SUBSET];
    if [kinds::TLS, kinds::PASSTHROUGH].contains(policy) {
        return kinds;
    }
    kinds.extend([kinds::SERVICE, kinds::SERVICE_SUBSET]);
    if *policy == kinds::TRAFFIC_PERMISSION
        || (SYSTEM_ONLY.contains(policy) && role != PolicyRole::System)
    {
        return kinds;
    }
    kinds.push(kinds::GATEWAY);
    if [kinds::TIMEOUT, kinds::RETRY, kinds::RATE_LIMIT].contains(policy) {
        kinds.push(kinds::HTTP_ROUTE);
    }
    kinds
}

/// Whether tags may choose among the listeners of a gateway.
pub(super) fn listener_tags(policy: &ResourceKind) -> bool {
    ![kinds::TRACE, kinds::PROXY_PATCH].contains(policy)
}

/// What an entry of `to` may be about, below a policy with that reference.
pub(super) fn to(policy: &ResourceKind, top: &TargetRef) -> &'static [ResourceKind] {
    let route = top.kind == kinds::HTTP_ROUTE;
    let gateway = top.kind == kinds::GATEWAY;
    match *policy {
        kinds::TIMEOUT | kinds::RETRY if gateway || route => {
            &[kinds::MESH, kinds::EXTERNAL_SERVICE]
        }
        kinds::ACCESS_LOG | kinds::HTTP_ROUTE | kinds::TCP_ROUTE if gateway => &[kinds::MESH],
        kinds::LOAD_BALANCING_STRATEGY if !gateway => {
            &[kinds::MESH, kinds::SERVICE, kinds::MULTI_ZONE_SERVICE, kinds::HTTP_ROUTE]
        }
        kinds::TIMEOUT | kinds::RETRY | kinds::ACCESS_LOG => &[
            kinds::MESH,
            kinds::SERVICE,
            kinds::EXTERNAL_SERVICE,
            kinds::MULTI_ZONE_SERVICE,
            kinds::HTTP_ROUTE,
        ],
        kinds::HTTP_ROUTE | kinds::TCP_ROUTE => {
            &[kinds::SERVICE, kinds::EXTERNAL_SERVICE, kinds::MULTI_ZONE_SERVICE]
        }
        kinds::FAULT_INJECTION | kinds::RATE_LIMIT => &[kinds::MESH],
        _ => &[kinds::MESH, kinds::SERVICE, kinds::MULTI_ZONE_SERVICE],
    }
}

/// Kinds of policies that are in force where traffic leaves the zone if they are about external services: there every
/// client of the mesh gets the same.
const AT_EGRESS: [ResourceKind; 3] =
    [kinds::CIRCUIT_BREAKER, kinds::HEALTH_CHECK, kinds::LOAD_BALANCING_STRATEGY];

/// Whether an entry is about a thing that all clients share, below a reference that picks some of them.
pub(super) fn is_shared(policy: &ResourceKind, top: &TargetRef, target: &TargetRef) -> bool {
    AT_EGRESS.contains(policy) && target.kind == kinds::EXTERNAL_SERVICE && top.kind != kinds::MESH
}

/// What an entry of `from` may be about.
pub(crate) fn from(policy: &ResourceKind) -> &'static [ResourceKind] {
    match *policy {
        kinds::TRAFFIC_PERMISSION | kinds::FAULT_INJECTION => {
            &[kinds::MESH, kinds::SUBSET, kinds::SERVICE, kinds::SERVICE_SUBSET]
        }
        _ => &[kinds::MESH],
    }
}

/// Whether a gateway may be among the proxies that a reference selects.
pub(super) fn includes_gateways(top: &TargetRef) -> bool {
    let types = top.proxy_types.as_deref().unwrap_or_default();
    match top.kind.known() {
        Some(&kinds::GATEWAY | &kinds::HTTP_ROUTE) => true,
        Some(&kinds::MESH | &kinds::SUBSET) => {
            types.is_empty() || types.iter().any(|t| t == "Gateway")
        }
        _ => false,
    }
}
