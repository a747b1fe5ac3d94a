// SPDX-License-Identifier: Apache-2.0
//! In: numbers. Out: kgateway's TrafficPolicies, and chains of routes that delegate. Not here: where policies go
//! (`policies`), the routes that are delegated to.
//!
//! ```text
//!  gateways-eu-west/search-004      hostname and gateway; delegates by name
//!  search-004/entry-1 ...           as many as the depth asks for
//!  search-004/cart-api ...          every route of the namespace, by label
//! ```

use serde_json::{Value, json};

use super::gateway::gateway_api;
use super::policies::{Draft, draft};
use super::{FleetSpec, names};
use crate::rng::Rng;

/// What a route carries that can be delegated to by label.
pub(super) const LABEL: &str = "delegation.kgateway.dev/label";
const PRIORITY: &str = "kgateway.dev/inherited-policy-priority";

/// Namespace and name of the n-th route that only delegates.
pub(super) fn delegate_name(spec: &FleetSpec, n: u32) -> (String, String) {
    let (team, step) = (n / spec.delegation.max(1), n % spec.delegation.max(1));
    let namespace = names::namespace_at(team);
    match step {
        0 => (names::gateway_namespace(team % spec.gateways.max(1)), namespace),
        step => (namespace, format!("entry-{step}")),
    }
}

/// The n-th route that only delegates.
pub(super) fn delegate(spec: &FleetSpec, n: u32) -> Value {
    let (team, step) = (n / spec.delegation.max(1), n % spec.delegation.max(1));
    let gateway = team % spec.gateways.max(1);
    let (namespace, name) = delegate_name(spec, n);
    let team_namespace = names::namespace_at(team);
    let child = if step + 1 == spec.delegation {
        json!({"group": "delegation.kgateway.dev", "kind": "label", "name": team_namespace, "namespace": team_namespace})
    } else {
        let (namespace, name) = delegate_name(spec, n + 1);
        json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": name, "namespace": namespace})
    };
    let path = json!({"path": {"type": "PathPrefix", "value": format!("/{team_namespace}")}});
    let mut body = json!({"rules": [{"matches": [path], "backendRefs": [child]}]});
    if step == 0 {
        body["parentRefs"] = json!([{"name": names::gateway(gateway), "namespace": namespace}]);
        if !spec.all_listeners {
            let listener = 1 + team % spec.listeners.max(2).saturating_sub(1);
            let host = names::listener_host(spec, gateway, listener);
            body["hostnames"] = json!([host.replacen('*', &team_namespace, 1)]);
        }
    }
    let mut rng = Rng::new(spec.seed, "delegate", u64::from(n));
    let mut metadata =
        json!({"name": name, "namespace": namespace, "labels": {"managed-by": "platform"}});
    if rng.percent(60) {
        let words = [
            "DeepMergePreferChild",
            "ShallowMergePreferChild",
            "DeepMergePreferParent",
            "ShallowMergePreferParent",
        ];
        metadata["annotations"] = json!({PRIORITY: *rng.pick(&words)});
    }
    gateway_api("HTTPRoute", metadata, body)
}

/// The n-th policy.
pub(super) fn policy(spec: &FleetSpec, n: u32) -> Value {
    let Draft { level, place, goal, metadata, mut rng, .. } = draft(spec, n, &["TrafficPolicy"]);
    let mut body = units(level, place, &mut rng);
    let selector = goal.target.get("matchLabels").is_some();
    let key = if selector { "targetSelectors" } else { "targetRefs" };
    body[key] = json!([goal.target]);
    json!({"apiVersion": "gateway.kgateway.dev/v1alpha1", "kind": "TrafficPolicy", "metadata": metadata, "spec": body})
}

/// The platform limits, teams transform; all of them may say who calls from where.
fn units(level: usize, place: u32, rng: &mut Rng) -> Value {
    let owner = ["gateway", "listener", "route", "rule"][level];
    let header = json!({"name": "x-owner", "value": format!("{owner}-{place}")});
    let mut units = json!({"transformation": {"response": {"set": [header]}}});
    if rng.percent(50) {
        units["cors"] =
            json!({"allowOrigins": [format!("https://app-{}.example.com", rng.below(9))]});
    }
    if level < 2 && rng.percent(60) {
        units["timeouts"] = json!({"streamIdle": format!("{}s", 1 + rng.below(60))});
    }
    if rng.percent(30) {
        let tokens = 10 * (1 + rng.below(50));
        let bucket =
            json!({"maxTokens": tokens, "tokensPerFill": 1 + rng.below(10), "fillInterval": "30s"});
        units["rateLimit"] = json!({"local": {"tokenBucket": bucket}});
    }
    if level == 0 {
        units["buffer"] = json!({"maxRequestSize": *rng.pick(&["64Ki", "1Mi"])});
    }
    units
}
