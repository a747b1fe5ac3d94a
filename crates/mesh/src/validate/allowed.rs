// SPDX-License-Identifier: Apache-2.0
//! In: a kind of policy. Out: which kinds its references may have, and where. Not here: the fields of a reference.

use crate::labels::Role;
use crate::targetref::TargetRef;

/// Kinds that only mean something together with other policies' routes and gateways.
const GATEWAY: &str = "MeshGateway";
const ROUTE: &str = "MeshHTTPRoute";

/// Kinds of policies that may only name a gateway or a route if they are the system's.
const SYSTEM_ONLY: &[&str] = &[
    "MeshTimeout",
    "MeshRetry",
    "MeshRateLimit",
    "MeshHTTPRoute",
    "MeshTCPRoute",
    "MeshFaultInjection",
    "MeshMetric",
    "MeshProxyPatch",
    "MeshTrace",
];

/// What the reference of a policy itself may be.
pub(crate) fn top(policy: &str, role: Role) -> Vec<&'static str> {
    let mut kinds = vec!["Mesh", "Dataplane", "MeshSubset"];
    if ["MeshTLS", "MeshPassthrough"].contains(&policy) {
        return kinds;
    }
    kinds.extend(["MeshService", "MeshServiceSubset"]);
    if policy == "MeshTrafficPermission" || (SYSTEM_ONLY.contains(&policy) && role != Role::System)
    {
        return kinds;
    }
    kinds.push(GATEWAY);
    if ["MeshTimeout", "MeshRetry", "MeshRateLimit"].contains(&policy) {
        kinds.push(ROUTE);
    }
    kinds
}

/// Whether tags may choose among the listeners of a gateway.
pub(super) fn listener_tags(policy: &str) -> bool {
    !["MeshTrace", "MeshProxyPatch"].contains(&policy)
}

/// What an entry of `to` may be about, below a policy with that reference.
pub(super) fn to(policy: &str, top: &TargetRef) -> &'static [&'static str] {
    let gateway = [GATEWAY, ROUTE].contains(&top.kind.as_str());
    match policy {
        "MeshTimeout" | "MeshRetry" if gateway => &["Mesh", "MeshExternalService"],
        "MeshAccessLog" | "MeshHTTPRoute" | "MeshTCPRoute" if gateway => &["Mesh"],
        "MeshLoadBalancingStrategy" if gateway => SERVICES_AND_MESH,
        "MeshTimeout" | "MeshRetry" | "MeshAccessLog" | "MeshLoadBalancingStrategy" => {
            &["Mesh", "MeshService", "MeshExternalService", "MeshMultiZoneService", ROUTE]
        }
        "MeshHTTPRoute" | "MeshTCPRoute" => {
            &["MeshService", "MeshExternalService", "MeshMultiZoneService"]
        }
        "MeshFaultInjection" | "MeshRateLimit" => &["Mesh"],
        _ => SERVICES_AND_MESH,
    }
}

const SERVICES_AND_MESH: &[&str] =
    &["Mesh", "MeshService", "MeshExternalService", "MeshMultiZoneService"];

/// What an entry of `from` may be about.
pub(crate) fn from(policy: &str) -> &'static [&'static str] {
    match policy {
        "MeshTrafficPermission" | "MeshFaultInjection" => {
            &["Mesh", "MeshSubset", "MeshService", "MeshServiceSubset"]
        }
        _ => &["Mesh"],
    }
}

/// Whether a gateway may be among the proxies that a reference selects.
pub(super) fn includes_gateways(top: &TargetRef) -> bool {
    let types = top.proxy_types.as_deref().unwrap_or_default();
    match top.kind.as_str() {
        GATEWAY | ROUTE => true,
        "Mesh" | "MeshSubset" => types.is_empty() || types.iter().any(|t| t == "Gateway"),
        _ => false,
    }
}
