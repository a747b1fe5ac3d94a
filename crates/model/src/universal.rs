// SPDX-License-Identifier: Apache-2.0
//! Out: mesh resources as a form of input: `type`, `mesh` and `name` at the top (the universal form), or objects of this
//! group on Kubernetes whose mesh is in a label. Not here: what the resources mean; their family knows.

/// The API group of mesh resources. The universal form leaves it out.
pub const GROUP: &str = "kuma.io";
/// The label of a Kubernetes object that names its mesh.
pub(crate) const MESH_LABEL: &str = "kuma.io/mesh";

/// Whether resources of a kind belong to no mesh and no namespace.
pub(crate) fn is_global(kind: &str) -> bool {
    matches!(kind, "Mesh" | "Zone" | "ZoneInsight")
}

/// How a mesh resource is told apart on Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshScope {
    /// By mesh, name and namespace.
    Namespaced,
    /// By mesh and name: it has no namespace.
    Cluster,
}

/// Whether resources of a kind belong to a mesh, and how they are told apart in it. `None`: they do not.
pub fn mesh_scoped(group: &str, kind: &str) -> Option<MeshScope> {
    if group != GROUP || is_global(kind) {
        return None;
    }
    match kind {
        "ZoneIngress" | "ZoneEgress" | "ZoneIngressInsight" | "ZoneEgressInsight"
        | "HostnameGenerator" => None,
        "MeshGateway" | "MeshGatewayRoute" | "ExternalService" | "CircuitBreaker"
        | "FaultInjection" | "HealthCheck" | "ProxyTemplate" | "RateLimit" | "Retry"
        | "Timeout" | "TrafficLog" | "TrafficPermission" | "TrafficRoute" | "TrafficTrace"
        | "VirtualOutbound" => Some(MeshScope::Cluster),
        _ => Some(MeshScope::Namespaced),
    }
}
