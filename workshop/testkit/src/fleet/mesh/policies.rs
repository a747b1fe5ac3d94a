// SPDX-License-Identifier: Apache-2.0
//! In: numbers. Out: Kuma's policies: who they select, what they are about, what they say. Not here: other resources.

use serde_json::{Value, json};

use super::{MeshSpec, SYSTEM, head, version};
use crate::fleet::names;
use crate::rng::Rng;

/// The n-th policy: kinds come one after the other.
pub(super) fn policy(spec: &MeshSpec, n: u32) -> Value {
    let mut i = n;
    let mut kind = "";
    for (name, count) in spec.policies.by_kind() {
        kind = name;
        if i < count {
            break;
        }
        i -= count;
    }
    let mut rng = Rng::new(spec.seed, kind, u64::from(i));
    let rng = &mut rng;
    let (team, target, about) = selection(spec, rng);
    let name = format!("{about}-{}-{i}", short(kind));
    let namespace = team.map_or_else(|| SYSTEM.to_owned(), |n| spec.namespace(n));
    let mut policy = head(kind, &name, team.map(|n| spec.zone(n)), &namespace);
    let list = list(kind, rng);
    policy["spec"] = json!({"targetRef": target});
    policy["spec"][list] = match list {
        "default" => conf(rng, kind),
        "rules" if kind == "MeshTrafficPermission" => json!([{"default": access(spec, rng)}]),
        "rules" => json!([{"default": conf(rng, kind)}]),
        _ => {
            let count = 1 + rng.below(3);
            let entry =
                |_| json!({"targetRef": destination(spec, rng), "default": conf(rng, kind)});
            (0..count).map(entry).collect()
        }
    };
    let role = match (team, list) {
        (None, _) => "system",
        (_, "to") => "consumer",
        _ => "workload-owner",
    };
    policy["labels"]["kuma.io/policy-role"] = role.into();
    policy
}

fn short(kind: &str) -> &'static str {
    match kind {
        "MeshTimeout" => "timeouts",
        "MeshRetry" => "retries",
        "MeshCircuitBreaker" => "breakers",
        "MeshTrafficPermission" => "callers",
        "MeshTrace" => "traces",
        _ => "metrics",
    }
}

/// Where the entries of a policy stand.
fn list(kind: &str, rng: &mut Rng) -> &'static str {
    match kind {
        "MeshTrace" | "MeshMetric" => "default",
        "MeshTrafficPermission" => "rules",
        "MeshTimeout" | "MeshCircuitBreaker" if rng.percent(25) => "rules",
        _ => "to",
    }
}

/// Whose namespace a policy stands in, what it selects, and how that is called.
fn selection(spec: &MeshSpec, rng: &mut Rng) -> (Option<u32>, Value, String) {
    let shape = below(rng, spec.shapes);
    match rng.below(10) {
        0..2 => (None, json!({"kind": "Mesh"}), "mesh".to_owned()),
        2..7 => {
            let (target, about) = some(spec, shape, rng);
            (None, target, about)
        }
        _ => (Some(shape), json!({"kind": "Mesh"}), "team".to_owned()),
    }
}

/// A reference that selects the dataplanes of some shapes.
fn some(spec: &MeshSpec, shape: u32, rng: &mut Rng) -> (Value, String) {
    let (app, namespace) = (names::service(shape), spec.namespace(shape));
    match rng.below(5) {
        0 => (json!({"kind": "MeshSubset", "tags": {"version": version(shape)}}), version(shape)),
        1 => {
            let tags =
                json!({"k8s.kuma.io/namespace": namespace, "kuma.io/zone": spec.zone(shape)});
            (json!({"kind": "MeshSubset", "tags": tags}), namespace)
        }
        2 => {
            let tier = names::tier(shape);
            (json!({"kind": "Dataplane", "labels": {"tier": tier}}), tier.to_owned())
        }
        3 => (json!({"kind": "Dataplane", "labels": {"app": app}}), app),
        _ => {
            let labels = json!({"version": version(shape), "k8s.kuma.io/namespace": namespace});
            (
                json!({"kind": "Dataplane", "labels": labels}),
                format!("{namespace}-{}", version(shape)),
            )
        }
    }
}

/// The mesh, or a service by what it is called and where it is, or one of its ports.
fn destination(spec: &MeshSpec, rng: &mut Rng) -> Value {
    if rng.percent(25) || spec.services == 0 {
        return json!({"kind": "Mesh"});
    }
    let n = below(rng, spec.services);
    let labels = json!({
        "kuma.io/display-name": names::service(n), "k8s.kuma.io/namespace": spec.namespace(n), "kuma.io/zone": spec.zone(n),
    });
    let mut target = json!({"kind": "MeshService", "labels": labels});
    if rng.percent(25) {
        target["sectionName"] = "http".into();
    }
    target
}

/// Who may call: identities of apps, whole namespaces, and few that may not.
fn access(spec: &MeshSpec, rng: &mut Rng) -> Value {
    let mut lists = json!({});
    for _ in 0..spec.access_rules.max(1) {
        let shape = below(rng, spec.shapes);
        let namespace = format!("spiffe://default.mesh.local/ns/{}", spec.namespace(shape));
        let exact =
            json!({"type": "Exact", "value": format!("{namespace}/sa/{}", names::service(shape))});
        let (list, identity) = match rng.below(10) {
            0..6 => ("allow", exact),
            6..8 => ("allow", json!({"type": "Prefix", "value": namespace})),
            8 => ("deny", exact),
            _ => ("allowWithShadowDeny", exact),
        };
        if lists[list].is_null() {
            lists[list] = json!([]);
        }
        lists[list].as_array_mut().expect("a list").push(json!({"spiffeID": identity}));
    }
    lists
}

/// A few fields of a kind.
fn conf(rng: &mut Rng, kind: &str) -> Value {
    let number = 1 + rng.below(59);
    let seconds = format!("{number}s");
    match (kind, rng.below(3)) {
        ("MeshTimeout", 0) => json!({"connectionTimeout": seconds, "idleTimeout": "1h"}),
        ("MeshTimeout", 1) => json!({"http": {"requestTimeout": seconds}}),
        ("MeshTimeout", _) => {
            json!({"idleTimeout": seconds, "http": {"streamIdleTimeout": seconds}})
        }
        ("MeshRetry", 0) => json!({"tcp": {"maxConnectAttempt": number}}),
        ("MeshRetry", 1) => json!({"http": {"numRetries": number, "retryOn": ["5xx", "429"]}}),
        ("MeshRetry", _) => {
            json!({"grpc": {"numRetries": number, "backOff": {"baseInterval": seconds}}})
        }
        ("MeshCircuitBreaker", 0) => json!({"connectionLimits": {"maxConnections": 100 * number}}),
        ("MeshCircuitBreaker", 1) => {
            json!({"connectionLimits": {"maxRetries": number}, "outlierDetection": {"maxEjectionPercent": number}})
        }
        ("MeshCircuitBreaker", _) => {
            json!({"outlierDetection": {"detectors": {"totalFailures": {"consecutive": number}}}})
        }
        ("MeshTrace", _) => {
            let endpoint = format!("otel-collector-{}.observability:4317", number % 4);
            let backend = json!({"type": "OpenTelemetry", "openTelemetry": {"endpoint": endpoint}});
            json!({"backends": [backend], "sampling": {"overall": number}})
        }
        _ => json!({"sidecar": {"includeUnused": number.is_multiple_of(2)}}),
    }
}

fn below(rng: &mut Rng, end: u32) -> u32 {
    u32::try_from(rng.below(u64::from(end))).expect("below a u32")
}
