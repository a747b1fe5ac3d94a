// SPDX-License-Identifier: Apache-2.0
//! In: numbers. Out: Kuadrant's policies: defaults and overrides from the platform, rules from teams, with conditions and
//! removals. Not here: where they go (`policies`).

use serde_json::{Map, Value, json};

use super::FleetSpec;
use super::policies::{Draft, draft};
use crate::rng::Rng;

const NAMES: [&str; 3] = ["RateLimitPolicy", "AuthPolicy", "TokenRateLimitPolicy"];
const AUTH: u32 = 1;
/// How many kinds there are.
pub(super) const KINDS: u32 = 3;

/// The n-th policy. Without conditions and removals, it is one that the CRDs admit.
pub(super) fn policy(spec: &FleetSpec, n: u32) -> Value {
    let Draft { kind, level, place, goal, metadata, mut rng } = draft(spec, n, &NAMES);
    let rules = rules(kind, level, place, &mut rng);
    let mut body = if level < 2 { block(spec, kind, rules, &mut rng) } else { rules };
    if level >= 2 && rng.percent(spec.removals) {
        body.insert("unset".to_owned(), json!([common(kind)]));
    }
    body.insert("targetRef".to_owned(), goal.target);
    let name = NAMES[kind as usize];
    let version = if name == "TokenRateLimitPolicy" { "v1alpha1" } else { "v1" };
    json!({"apiVersion": format!("kuadrant.io/{version}"), "kind": name, "metadata": metadata, "spec": body})
}

/// The rule that most policies have, as a removal names it.
fn common(kind: u32) -> &'static str {
    if kind == AUTH { "rules.authentication.single-sign-on" } else { "limits.global" }
}

/// What stands on gateways and listeners: three of five give defaults.
fn block(
    spec: &FleetSpec,
    kind: u32,
    mut rules: Map<String, Value>,
    rng: &mut Rng,
) -> Map<String, Value> {
    let strategy = if rng.percent(70) { "merge" } else { "atomic" };
    rules.insert("strategy".to_owned(), strategy.into());
    let name = if rng.percent(60) { "defaults" } else { "overrides" };
    if name == "overrides" && rng.percent(spec.conditions) {
        rules.insert("when".to_owned(), condition(kind).into());
    }
    Map::from_iter([(name.to_owned(), Value::Object(rules))])
}

/// Holds for some of the policies below, and can be evaluated for all.
fn condition(kind: u32) -> &'static str {
    match kind {
        AUTH => {
            "has(spec.rules) && has(spec.rules.authentication) && spec.rules.authentication.exists(n, n == 'partners')"
        }
        _ => {
            "has(spec.limits) && has(spec.limits.global) && spec.limits.global.rates.exists(r, r.limit > 500)"
        }
    }
}

fn rules(kind: u32, level: usize, place: u32, rng: &mut Rng) -> Map<String, Value> {
    let rules = match kind {
        AUTH => authentication(level, place, rng),
        _ => limits(kind, level, rng),
    };
    match rules {
        Value::Object(rules) => rules,
        _ => Map::new(),
    }
}

fn authentication(level: usize, place: u32, rng: &mut Rng) -> Value {
    let issuer = format!("https://login-{}.example.com/realms/shop", place % 7);
    let mut who = json!({"single-sign-on": {"jwt": {"issuerUrl": issuer}}});
    if level >= 2 && rng.percent(50) {
        let labels = json!({"partner": format!("p-{}", rng.below(9))});
        who["partners"] = json!({"apiKey": {"selector": {"matchLabels": labels}}});
    }
    let mut rules = json!({"authentication": who});
    if rng.percent(40) {
        let group = *rng.pick(&["staff", "customers", "partners"]);
        let rego = format!("allow {{ input.auth.identity.groups[_] == \"{group}\" }}");
        rules["authorization"] = json!({format!("{group}-only"): {"opa": {"rego": rego}}});
    }
    json!({"rules": rules})
}

fn limits(kind: u32, level: usize, rng: &mut Rng) -> Value {
    let rates = |rng: &mut Rng| {
        let window = *rng.pick(&["10s", "1m", "1h"]);
        // Tokens are counted by the thousand.
        let unit = if kind == 2 { 1_000 } else { 10 };
        json!({"rates": [{"limit": unit * (1 + rng.below(100)), "window": window}]})
    };
    let mut limits = json!({"global": rates(rng)});
    if level >= 2 {
        let name: &str = rng.pick::<&str>(&["per-user", "per-token", "burst"]);
        let mut own = rates(rng);
        if name != "burst" {
            own["counters"] = json!([{"expression": "auth.identity.userid"}]);
        }
        limits[name] = own;
    }
    json!({"limits": limits})
}
