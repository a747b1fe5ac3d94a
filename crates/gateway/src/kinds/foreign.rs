// SPDX-License-Identifier: Apache-2.0
//! In: kinds whose controllers follow rules of their own. Out: a refusal by name instead of a wrong answer.
//! Not here: families that exist; their kinds are named in `has_family` only.

use overrule_model::{At, Snapshot};
use overrule_source::{Diagnostic, Documents, View};

use super::Kinds;
use crate::codes_policy as codes;

/// Who resolves a kind by rules that GEP-713's defaults do not describe.
pub fn owner(group: &str, kind: &str) -> Option<&'static str> {
    let owner = match (group, kind) {
        (
            "gateway.envoyproxy.io",
            "ClientTrafficPolicy"
            | "BackendTrafficPolicy"
            | "SecurityPolicy"
            | "EnvoyExtensionPolicy"
            | "EnvoyPatchPolicy",
        ) => "Envoy Gateway",
        (
            "security.istio.io" | "telemetry.istio.io" | "extensions.istio.io",
            "AuthorizationPolicy"
            | "RequestAuthentication"
            | "PeerAuthentication"
            | "Telemetry"
            | "WasmPlugin",
        )
        | ("networking.istio.io", "EnvoyFilter") => "Istio",
        (
            "gateway.nginx.org",
            "ClientSettingsPolicy"
            | "ObservabilityPolicy"
            | "UpstreamSettingsPolicy"
            | "ProxySettingsPolicy"
            | "SnippetsPolicy"
            | "AuthenticationFilter"
            | "RateLimitPolicy",
        ) => "NGINX Gateway Fabric",
        ("kuadrant.io" | "extensions.kuadrant.io", kind) if kind.ends_with("Policy") => "Kuadrant",
        ("gateway.kgateway.dev", kind) if kind.ends_with("Policy") => "kgateway",
        ("agentgateway.dev", kind) if kind.ends_with("Policy") => "agentgateway",
        ("policy.linkerd.io", "AuthorizationPolicy" | "HTTPLocalRateLimitPolicy") => "Linkerd",
        ("kuma.io", kind) if is_mesh_policy(kind) => "Kuma",
        _ => return None,
    };
    Some(owner)
}

/// Whether a crate of this project resolves the kind.
fn has_family(group: &str, kind: &str) -> bool {
    group == "kuma.io" && is_mesh_policy(kind)
        || matches!(
            (group, kind),
            (
                "kuadrant.io",
                "AuthPolicy"
                    | "RateLimitPolicy"
                    | "TokenRateLimitPolicy"
                    | "DNSPolicy"
                    | "TLSPolicy"
            ) | ("extensions.kuadrant.io", "OIDCPolicy" | "PlanPolicy")
                | (
                    "gateway.kgateway.dev",
                    "TrafficPolicy"
                        | "ListenerPolicy"
                        | "HTTPListenerPolicy"
                        | "BackendConfigPolicy"
                )
        )
}

fn is_mesh_policy(kind: &str) -> bool {
    const POLICIES: [&str; 16] = [
        "MeshHTTPRoute",
        "MeshTCPRoute",
        "MeshTLS",
        "MeshLoadBalancingStrategy",
        "MeshPassthrough",
        "MeshAccessLog",
        "MeshTrace",
        "MeshFaultInjection",
        "MeshRateLimit",
        "MeshTimeout",
        "MeshTrafficPermission",
        "MeshHealthCheck",
        "MeshCircuitBreaker",
        "MeshRetry",
        "MeshMetric",
        "MeshProxyPatch",
    ];
    POLICIES.contains(&kind)
}

/// Says once per kind which objects are not answered: foreign ones, and those that look like policies of a kind
/// nobody described.
pub fn report(
    documents: &Documents,
    snapshot: &Snapshot,
    kinds: &Kinds,
    out: &mut Vec<Diagnostic>,
) {
    for (kind, objects) in snapshot.kinds() {
        let Some(first) = objects.first() else { continue };
        let (group_name, kind_name) = (snapshot.text(kind.group), snapshot.text(kind.kind));
        if kinds.find(snapshot.names(), kind).is_some() || has_family(group_name, kind_name) {
            continue;
        }
        let count = objects.len();
        if let Some(owner) = owner(group_name, kind_name) {
            let message = format!(
                "`{kind_name}` has merge rules of its own ({owner}) and is not resolved; {count} found"
            );
            let d = Diagnostic::new(&codes::FOREIGN_KIND, message).at(first.at);
            out.push(d.field("kind").help("answers leave it out; describe the kind with --kinds only if GEP-713's rules fit it"));
            continue;
        }
        let looks_like_policy =
            objects.iter().find_map(|o| target_field(documents.view(o.root)).map(|at| (o, at)));
        if let Some((_, field)) = looks_like_policy {
            let message = format!(
                "`{kind_name}` looks like a policy, but its kind is unknown, so it is left out; {count} found"
            );
            let d = Diagnostic::new(&codes::UNKNOWN_KIND, message).at(field.span());
            let path = At::ROOT;
            let path = path.key("spec");
            out.push(d.field(path.to_string()).help("add its CustomResourceDefinition to the input, or describe it with --kinds (overrule rule OV1313)"));
        }
    }
}

/// The field by which an object targets others, if it has one.
fn target_field(root: View<'_>) -> Option<View<'_>> {
    let spec = root.get("spec")?;
    ["targetRef", "targetRefs", "targetSelectors"].iter().find_map(|key| {
        let (name, value) = spec.get_entry(key)?;
        let first = value.items().next().unwrap_or(value);
        // HorizontalPodAutoscaler and its like say `scaleTargetRef`; a policy reference always names a kind.
        first.get("kind").map(|_| name)
    })
}
