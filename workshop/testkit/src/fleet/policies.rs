// SPDX-License-Identifier: Apache-2.0
//! In: numbers. Out: where the n-th policy of a gateway fleet goes; policies of the example kinds, and the descriptors of
//! those kinds. Not here: the content of a family's policies, other resources.

use serde_json::{Map, Value, json};

use super::{FleetSpec, kgateway, names};
use crate::rng::Rng;

/// Group of the example kinds.
pub const GROUP: &str = "policies.example.com";
/// How many example kinds there are.
pub(super) const KINDS: u32 = 5;

/// One for each strategy; the first three are what most fleets have.
const NAMES: [&str; 5] =
    ["TimeoutPolicy", "RateLimitPolicy", "AccessPolicy", "CorsPolicy", "QuotaPolicy"];

pub(super) fn kind(i: u32) -> Value {
    let name = NAMES[i as usize];
    let mut spec = json!({"group": GROUP, "kind": name, "class": "Inherited"});
    match i {
        1 => {
            spec["strategy"] = json!({"default": "PatchDefaults"});
            spec["merge"] = json!([{"path": "limits", "rule": "keyed", "key": "name"}]);
        }
        2 => spec["strategy"] = json!({"default": "PatchOverrides"}),
        3 => {
            spec["strategy"] = json!({"default": "AtomicOverrides", "field": "spec.mergeType", "words": {"Replace": "AtomicDefaults", "Lock": "AtomicOverrides"}})
        }
        4 => spec["strategy"] = json!({"default": "None"}),
        _ => {}
    }
    let metadata = json!({"name": format!("{}.{GROUP}", name.to_lowercase())});
    json!({"apiVersion": "overrule/v1", "kind": "PolicyKind", "metadata": metadata, "spec": spec})
}

/// Where a policy goes.
pub(super) struct Goal {
    pub namespace: String,
    pub target: Value,
    /// How the target is called, for the name of the policy.
    pub called: String,
}

/// What the n-th policy is about.
pub(super) struct Draft {
    /// Which of the fleet's kinds.
    pub kind: u32,
    /// 0 is the gateway, 1 the listener, 2 the route, 3 the rule.
    pub level: usize,
    /// Which target of that level.
    pub place: u32,
    pub goal: Goal,
    pub metadata: Value,
    /// Goes on where names and times left off.
    pub rng: Rng,
}

/// The n-th policy without its content: kinds alternate; levels come one after the other.
pub(super) fn draft(spec: &FleetSpec, n: u32, kinds: &[&str]) -> Draft {
    let mut rng = Rng::new(spec.seed, "policy", u64::from(n));
    let kind = n % spec.kinds.max(1);
    let levels = spec.policies;
    let (mut level, mut i) = (0, n);
    let counts = [levels.gateway, levels.listener, levels.route, levels.rule];
    while i >= counts[level] {
        i -= counts[level];
        level += 1;
    }
    let (place, goal) = goal(spec, level, place(spec, level, i, counts[level]), &mut rng);
    let mut metadata = json!({
        // The number keeps names unique where several policies have one target.
        "name": format!("{}-{}-{n}", goal.called, kinds[kind as usize].trim_end_matches("Policy").to_lowercase()),
        "namespace": goal.namespace,
    });
    if rng.percent(spec.created) {
        // Few days, so that equal times happen.
        let (day, hour) = (1 + rng.below(28), rng.below(4) * 6);
        metadata["creationTimestamp"] =
            format!("2026-0{}-{day:02}T{hour:02}:00:00Z", 1 + rng.below(9)).into();
    }
    Draft { kind, level, place, goal, metadata, rng }
}

/// The n-th policy of a fleet of example kinds.
pub(super) fn policy(spec: &FleetSpec, n: u32) -> Value {
    let Draft { kind, level, place, goal, metadata, mut rng } = draft(spec, n, &NAMES);
    let mut body = body(kind, level, place, &mut rng);
    let selector = goal.target.get("matchLabels").is_some();
    let key = if selector { "targetSelectors" } else { "targetRefs" };
    if !selector && rng.percent(10) {
        body.insert("targetRef".to_owned(), goal.target);
    } else {
        body.insert(key.to_owned(), json!([goal.target]));
    }
    json!({"apiVersion": format!("{GROUP}/v1"), "kind": NAMES[kind as usize], "metadata": metadata, "spec": body})
}

/// Which of the possible targets of a level the i-th policy has: spread evenly, except those that share the target of
/// the policy before them.
fn place(spec: &FleetSpec, level: usize, mut i: u32, count: u32) -> u32 {
    let kinds = spec.kinds.max(1);
    let shares = |i: u32| {
        Rng::new(spec.seed, "conflict", u64::from(i) * 8 + level as u64).percent(spec.conflicts)
    };
    while i >= kinds && shares(i) {
        i -= kinds;
    }
    let targets = match level {
        0 => u64::from(spec.gateways),
        1 => u64::from(spec.gateways) * u64::from(spec.listeners),
        2 => u64::from(spec.delegates()) + u64::from(spec.routes),
        _ => u64::from(spec.routes) * u64::from(spec.rules),
    };
    u32::try_from(u64::from(i) * targets / u64::from(count.max(1))).unwrap()
}

fn goal(spec: &FleetSpec, level: usize, place: u32, rng: &mut Rng) -> (u32, Goal) {
    let group = "gateway.networking.k8s.io";
    let delegates = spec.delegates();
    let goal = match level {
        2 if place < delegates => {
            let (namespace, name) = kgateway::delegate_name(spec, place);
            let target = json!({"group": group, "kind": "HTTPRoute", "name": name});
            Goal { namespace, target, called: name }
        }
        0 | 1 => {
            let (gateway, listener) = if level == 0 {
                (place, None)
            } else {
                (place / spec.listeners, Some(place % spec.listeners))
            };
            let name = names::gateway(gateway);
            let mut target = json!({"group": group, "kind": "Gateway", "name": name});
            let mut called = name;
            if let Some(l) = listener {
                target["sectionName"] = names::listener(l).into();
                called = format!("{called}-{}", names::listener(l));
            }
            Goal { namespace: names::gateway_namespace(gateway), target, called }
        }
        _ => {
            let (route, rule) = if level == 2 {
                (place - delegates, None)
            } else {
                (place / spec.rules, Some(place % spec.rules))
            };
            let name = names::service(route);
            let mut target = json!({"group": group, "kind": "HTTPRoute", "name": name});
            if let Some(r) = rule {
                target["sectionName"] = names::rule(spec, route, r).into();
            } else if rng.percent(spec.selectors) {
                let labels = match rng.percent(50) {
                    true => json!({"app.kubernetes.io/name": name}),
                    false => json!({"tier": names::tier(route)}),
                };
                target = json!({"group": group, "kind": "HTTPRoute", "matchLabels": labels});
            }
            Goal { namespace: names::namespace(spec, route), target, called: name }
        }
    };
    (place, goal)
}

/// The content of a policy: defaults and overrides come from above, plain policies from teams.
fn body(kind: u32, level: usize, place: u32, rng: &mut Rng) -> Map<String, Value> {
    let seconds = |rng: &mut Rng| format!("{}s", 1 + rng.below(60));
    let content = match kind {
        0 => {
            json!({"timeouts": {"request": seconds(rng), "backendRequest": seconds(rng)}, "retries": {"attempts": rng.below(5), "on": ["5xx", "reset"]}})
        }
        1 => {
            let limit = |name: &str, rng: &mut Rng| json!({"name": name, "rate": {"requests": 10 * (1 + rng.below(100)), "per": *rng.pick(&["second", "minute"])}});
            let mut limits = vec![limit("global", rng)];
            if level >= 2 {
                let name: &str = rng.pick::<&str>(&["per-user", "per-token", "burst"]);
                limits.push(limit(name, rng));
            }
            json!({"limits": limits, "onExceeded": {"status": 429}})
        }
        2 => {
            let mut rules = json!({"authentication": {"jwt": {"issuer": format!("https://login-{}.example.com", place % 7), "audiences": ["shop"]}}});
            if rng.percent(60) {
                rules["authorization"] = json!({format!("scope-{}", rng.below(4)): {"claims": {"scope": *rng.pick(&["read", "write", "admin"])}}});
            }
            json!({"rules": rules})
        }
        3 => {
            json!({"allowOrigins": [format!("https://app-{}.example.com", rng.below(9))], "maxAge": seconds(rng)})
        }
        _ => json!({"quota": {"requestsPerDay": 1000 * (1 + rng.below(100))}}),
    };
    let Value::Object(mut content) = content else { return Map::new() };
    match kind {
        0 | 1 if level < 2 && rng.percent(60) => {
            if rng.percent(60) {
                content.insert("strategy".to_owned(), "merge".into());
            }
            let block = if rng.percent(70) { "defaults" } else { "overrides" };
            Map::from_iter([(block.to_owned(), Value::Object(content))])
        }
        3 if rng.percent(50) => {
            content.insert("mergeType".to_owned(), "Replace".into());
            content
        }
        _ => content,
    }
}
