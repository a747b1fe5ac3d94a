// SPDX-License-Identifier: Apache-2.0
//! In: random numbers, places. Out: TrafficPolicies that want the same. Not here: what they come to.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{ADMIN, APPS, GATEWAY_API, KGATEWAY, NAMESPACES, Place, count, early, up_to};
use crate::rng::Rng;

/// Type, namespace and name of every provider. Names repeat over namespaces.
pub(super) const EXTENSIONS: [(&str, &str, &str); 11] = [
    ("ExtAuth", "infra", "auth"),
    ("ExtAuth", "a", "auth"),
    ("ExtAuth", "infra", "auth-2"),
    ("ExtProc", "infra", "proc"),
    ("ExtProc", "a", "proc"),
    ("RateLimit", "infra", "limit"),
    ("RateLimit", "a", "limit"),
    ("JWT", "infra", "jwt"),
    ("JWT", "a", "jwt"),
    ("OAuth2", "infra", "oauth"),
    ("OAuth2", "a", "oauth"),
];

const TIMES: [&str; 3] = ["2024-01-01T00:00:01Z", "2024-01-01T00:00:02Z", "2024-06-30T12:00:00Z"];
/// Of names that begin alike, which comes first depends on what follows them.
const NAMES: [&str; 6] = ["p", "p-a", "p.b", "q", "q-a", "o"];
/// Units, those that can be combined or accumulate more often.
const POOL: [&str; 36] = [
    "transformation",
    "transformation",
    "transformation",
    "transformation",
    "transformation",
    "transformation",
    "extAuth",
    "extAuth",
    "extAuth",
    "extAuth",
    "extProc",
    "extProc",
    "acl",
    "acl",
    "acl",
    "acl",
    "timeouts",
    "timeouts",
    "timeouts",
    "headerModifiers",
    "headerModifiers",
    "jwtAuth",
    "jwtAuth",
    "rateLimit.global",
    "rateLimit.global",
    "oauth2",
    "oauth2",
    "rateLimit.local",
    "cors",
    "cors",
    "csrf",
    "buffer",
    "retry",
    "compression",
    "rbac",
    "route",
];

/// The two units of compression.
const PARTS: [&str; 2] = ["responseCompression", "requestDecompression"];

/// Policies by target, and two in each namespace for filters to name.
pub(super) fn all(rng: &mut Rng, places: &[Place]) -> Vec<Value> {
    let mut taken = BTreeSet::new();
    let mut policies = Vec::new();
    for (number, namespace) in NAMESPACES.into_iter().enumerate() {
        for (second, name) in ["ext", "ext-2"].into_iter().enumerate() {
            let mut spec = Value::Object(Map::new());
            let here: Vec<&Place> = places.iter().filter(|p| p.namespace == namespace).collect();
            if rng.percent(15) && !here.is_empty() {
                let place = *early(rng, &here);
                targets(rng, &mut spec, place, &here);
            }
            policies.push(policy(rng, namespace, name, 2 * number + second, spec));
        }
    }
    for number in 6..6 + 8 + count(rng.below(9)) {
        let place = early(rng, places);
        let mut namespace = place.namespace.as_str();
        let mut spec = Value::Object(Map::new());
        if rng.percent(12) {
            namespace = ADMIN;
            spec["targetSelectors"] = json!([by_label(rng, place)]);
        } else {
            let here: Vec<&Place> = places.iter().filter(|p| p.namespace == namespace).collect();
            targets(rng, &mut spec, place, &here);
        }
        let mut name = (*rng.pick(&NAMES)).to_owned();
        if !taken.insert((namespace.to_owned(), name.clone())) {
            name = format!("{name}-{number}");
        }
        policies.push(policy(rng, namespace, &name, number, spec));
    }
    policies
}

/// A selector, or one or two references by name, or both; no two references alike.
fn targets(rng: &mut Rng, spec: &mut Value, place: &Place, here: &[&Place]) {
    if rng.percent(20) {
        spec["targetSelectors"] = json!([by_label(rng, place)]);
        if rng.percent(60) {
            return;
        }
    }
    let mut references = vec![by_name(rng, place)];
    if rng.percent(20) {
        let other = *rng.pick(here);
        let second = by_name(rng, other);
        if !references.contains(&second) {
            references.push(second);
        }
    }
    spec["targetRefs"] = json!(references);
}

fn by_name(rng: &mut Rng, place: &Place) -> Value {
    let mut reference = json!({"group": GATEWAY_API, "kind": place.kind, "name": place.name});
    section(rng, &mut reference, place);
    reference
}

fn by_label(rng: &mut Rng, place: &Place) -> Value {
    let app = place.app.as_deref().unwrap_or(APPS[0]);
    let mut selector =
        json!({"group": GATEWAY_API, "kind": place.kind, "matchLabels": {"app": app}});
    section(rng, &mut selector, place);
    selector
}

fn section(rng: &mut Rng, reference: &mut Value, place: &Place) {
    if rng.percent(4) {
        reference["sectionName"] = json!("nowhere");
    } else if rng.percent(45) && !place.sections.is_empty() {
        reference["sectionName"] = json!(early(rng, &place.sections));
    }
}

fn policy(rng: &mut Rng, namespace: &str, name: &str, number: usize, mut spec: Value) -> Value {
    let mut metadata = json!({"name": name, "namespace": namespace});
    if rng.percent(90) {
        metadata["creationTimestamp"] = json!(rng.pick(&TIMES));
    }
    if rng.percent(30) {
        let good = ["5", "5", "1", "-1", "0"];
        let weight = if rng.percent(6) {
            *rng.pick(&["high", "2147483648", "1.5"])
        } else {
            rng.pick(&good)
        };
        metadata["annotations"] = json!({"kgateway.dev/policy-weight": weight});
    }
    let units: BTreeSet<&str> = (0..2 + up_to(rng, 5)).map(|_| *rng.pick(&POOL)).collect();
    for unit in units {
        write(rng, &mut spec, unit, namespace, number);
    }
    json!({
        "apiVersion": format!("{KGATEWAY}/v1alpha1"), "kind": "TrafficPolicy", "metadata": metadata, "spec": spec,
    })
}

/// Writes a unit; its value names the policy by number.
fn write(rng: &mut Rng, spec: &mut Value, unit: &str, namespace: &str, number: usize) {
    let tag = format!("p{number}");
    match unit {
        "transformation" => spec[unit] = transformation(rng, &tag),
        "extAuth" | "extProc" | "jwtAuth" if rng.percent(18) => spec[unit] = json!({"disable": {}}),
        "extAuth" => spec[unit] = json!({"extensionRef": provider(rng, "ExtAuth", namespace)}),
        "extProc" => spec[unit] = json!({"extensionRef": provider(rng, "ExtProc", namespace)}),
        "jwtAuth" => spec[unit] = json!({"extensionRef": provider(rng, "JWT", namespace)}),
        "oauth2" => spec[unit] = json!({"extensionRef": provider(rng, "OAuth2", namespace)}),
        "rateLimit.global" => {
            let descriptors =
                json!([{"entries": [{"type": "Generic", "generic": {"key": "k", "value": tag}}]}]);
            let reference = provider(rng, "RateLimit", namespace);
            spec["rateLimit"]["global"] =
                json!({"extensionRef": reference, "descriptors": descriptors});
        }
        "rateLimit.local" => {
            let bucket =
                json!({"maxTokens": number + 1, "tokensPerFill": 1, "fillInterval": "30s"});
            spec["rateLimit"]["local"] = json!({"tokenBucket": bucket});
        }
        "acl" => spec[unit] = acl(rng, number),
        "timeouts" => {
            let which = rng.below(3);
            if which != 0 {
                spec[unit]["request"] = json!(format!("{}s", number + 1));
            }
            if which != 1 {
                spec[unit]["streamIdle"] = json!(format!("{}s", number + 101));
            }
        }
        "headerModifiers" => {
            spec[unit] = json!({"request": {"set": [{"name": "x", "value": tag}]}})
        }
        "cors" => spec[unit] = json!({"allowOrigins": [format!("https://{tag}.example")]}),
        "csrf" if rng.percent(20) => spec[unit] = json!({}),
        "csrf" => spec[unit] = json!({"percentageEnabled": number}),
        "buffer" => spec[unit] = json!({"maxRequestSize": format!("{}Ki", number + 1)}),
        "retry" => spec[unit] = json!({"attempts": number + 1}),
        "compression" => {
            for part in *rng.pick(&[&PARTS[..1], &PARTS[1..], &PARTS]) {
                spec[unit][*part] =
                    if rng.percent(50) { json!({}) } else { json!({"disable": {}}) };
            }
        }
        "rbac" => spec[unit] = json!({"policy": {"matchExpressions": [format!("'{tag}' != ''")]}}),
        _ if only_routes(spec) => {
            spec["autoHostRewrite"] = json!(rng.percent(50));
            spec["urlRewrite"] =
                json!({"pathRegex": {"pattern": ".*", "substitution": format!("/{tag}")}});
        }
        _ => spec["csrf"] = json!({"percentageEnabled": number}),
    }
}

/// Whether units that act on HTTPRoutes alone are allowed.
fn only_routes(spec: &Value) -> bool {
    let references = ["targetRefs", "targetSelectors"];
    let mut all = references.iter().flat_map(|list| spec[*list].as_array().into_iter().flatten());
    all.all(|reference| reference["kind"] == "HTTPRoute")
}

/// A reference to a provider, mostly one that exists.
fn provider(rng: &mut Rng, kind: &str, namespace: &str) -> Value {
    if rng.percent(1) {
        return json!({"name": "nope"});
    }
    let known: Vec<_> = EXTENSIONS.iter().filter(|(k, _, _)| *k == kind).collect();
    let (_, place, name) = **rng.pick(&known);
    match place == namespace && rng.percent(70) {
        true => json!({"name": name}),
        false => json!({"name": name, "namespace": place}),
    }
}

fn transformation(rng: &mut Rng, tag: &str) -> Value {
    let both = ["request", "response"];
    let directions = *rng.pick(&[&both[..1], &both[1..], &both]);
    let mut value = json!({});
    for direction in directions {
        let entry = json!({"name": "x", "value": tag});
        let mut mutations = json!({"set": [entry]});
        if rng.percent(40) {
            mutations["add"] = json!([entry, {"name": "z", "value": tag}]);
        }
        if rng.percent(30) {
            mutations["remove"] = json!([tag]);
        }
        if rng.percent(30) {
            mutations["body"] = json!({"parseAs": "AsString", "value": tag});
        }
        if rng.percent(35) {
            mutations["dynamicMetadata"] = json!([{"namespace": "m", "key": tag, "value": tag}]);
        }
        value[*direction] = mutations;
    }
    value
}

fn acl(rng: &mut Rng, number: usize) -> Value {
    let action = if rng.percent(75) { "deny" } else { "allow" };
    let mut value =
        json!({"rules": [{"cidrs": [format!("10.{number}.0.0/16")], "action": "allow"}]});
    if rng.percent(85) {
        value["defaultAction"] = json!(action);
    }
    if rng.percent(40) {
        let headers = json!([{"name": "x-acl", "value": format!("p{number}")}]);
        value["denyResponse"] = json!({"headers": headers});
        if rng.percent(50) {
            value["denyResponse"]["statusCode"] = json!(rng.pick(&[403, 403, 429]));
        }
        if rng.percent(50) {
            value["denyResponse"]["blockedByHeaderName"] =
                json!(rng.pick(&["x-by", "x-by", "x-no"]));
        }
    }
    value
}
