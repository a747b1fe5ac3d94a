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
    let gateway = top.kind.is_one_of(&[kinds::GATEWAY, kinds::HTTP_ROUTE]);
    match *policy {
        kinds::TIMEOUT | kinds::RETRY if gateway => &[kinds::MESH, kinds::EXTERNAL_SERVICE],
        kinds::ACCESS_LOG | kinds::HTTP_ROUTE | kinds::TCP_ROUTE if gateway => &[kinds::MESH],
        kinds::LOAD_BALANCING_STRATEGY if gateway => SERVICES_AND_MESH,
        kinds::TIMEOUT | kinds::RETRY | kinds::ACCESS_LOG | kinds::LOAD_BALANCING_STRATEGY => &[
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
        _ => SERVICES_AND_MESH,
    }
}

const SERVICES_AND_MESH: &[ResourceKind] =
    &[kinds::MESH, kinds::SERVICE, kinds::EXTERNAL_SERVICE, kinds::MULTI_ZONE_SERVICE];

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
