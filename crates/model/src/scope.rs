// SPDX-License-Identifier: Apache-2.0
//! In: kind names. Out: whether they live in a namespace, and how people abbreviate them.
//! Not here: kinds of custom resources; their scope comes from the CustomResourceDefinition in the input.

use crate::universal;

/// Whether a kind every cluster has is cluster-scoped. `None`: not a kind this table knows.
pub fn cluster_scoped(group: &str, kind: &str) -> Option<bool> {
    let cluster = match (group, kind) {
        ("gateway.networking.k8s.io", kind) => kind == "GatewayClass",
        ("", "Namespace" | "Node" | "PersistentVolume") => true,
        ("", "Service" | "Secret" | "ConfigMap" | "Pod" | "ServiceAccount" | "Endpoints") => false,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => true,
        ("rbac.authorization.k8s.io", "ClusterRole" | "ClusterRoleBinding") => true,
        ("admissionregistration.k8s.io" | "storage.k8s.io" | "apiregistration.k8s.io", _) => true,
        ("scheduling.k8s.io", "PriorityClass") | ("networking.k8s.io", "IngressClass") => true,
        ("apps" | "batch" | "networking.k8s.io" | "rbac.authorization.k8s.io", _) => false,
        (universal::GROUP, kind) if universal::is_global(kind) => true,
        ("overrule", _) => true,
        _ => return None,
    };
    Some(cluster)
}

/// Kinds with the abbreviations kubectl and people use, lower case.
pub fn short_names(kind: &str) -> &'static [&'static str] {
    match kind {
        "GatewayClass" => &["gc"],
        "Gateway" => &["gtw", "gw"],
        "HTTPRoute" => &["hr"],
        "GRPCRoute" => &["gr"],
        "TLSRoute" => &["tlsr"],
        "TCPRoute" => &["tcpr"],
        "UDPRoute" => &["udpr"],
        "ListenerSet" => &["lset"],
        "ReferenceGrant" => &["refgrant"],
        "BackendTLSPolicy" => &["btlspolicy"],
        "Service" => &["svc"],
        "Namespace" => &["ns"],
        "CustomResourceDefinition" => &["crd"],
        "Dataplane" => &["dp"],
        "MeshGateway" => &["mgw"],
        "MeshService" => &["msvc"],
        "MeshExternalService" => &["extsvc"],
        "MeshMultiZoneService" => &["mzsvc"],
        "MeshHTTPRoute" => &["mhttpr"],
        "MeshTCPRoute" => &["mtcpr"],
        "MeshTLS" => &["mtls"],
        "MeshLoadBalancingStrategy" => &["mlbs"],
        "MeshPassthrough" => &["mp"],
        "MeshAccessLog" => &["mal"],
        "MeshTrace" => &["mtr"],
        "MeshFaultInjection" => &["mfi"],
        "MeshRateLimit" => &["mrl"],
        "MeshTimeout" => &["mt"],
        "MeshTrafficPermission" => &["mtp"],
        "MeshHealthCheck" => &["mhc"],
        "MeshCircuitBreaker" => &["mcb"],
        "MeshRetry" => &["mr"],
        "MeshMetric" => &["mm"],
        "MeshProxyPatch" => &["mpp"],
        _ => &[],
    }
}
