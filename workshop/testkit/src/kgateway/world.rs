// SPDX-License-Identifier: Apache-2.0
//! In: a seed. Out: a small world of gateways, delegating routes and TrafficPolicies in which everything collides, and
//! settings. Not here: anything the API server refuses; listeners that conflict; two routes of one name.
//!
//! Names, paths, times and providers come from tiny sets, and earlier objects are picked more often than later ones, so
//! that several policies meet on most paths. Most values bear the number of their policy: one from the wrong one shows.

mod policies;
mod routes;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{GATEWAY_API, KGATEWAY, OracleSettings, PRIORITY};
use crate::rng::Rng;
use crate::yaml;

/// Names of the three namespaces with objects, the first more often than the last.
const NAMESPACES: [&str; 3] = ["infra", "a", "b"];
/// A namespace for policies that may be global.
const ADMIN: &str = "admin";
/// What an object can be selected by, under the label `app`.
const APPS: [&str; 2] = ["x", "y"];

/// Something that policies can target.
#[derive(Debug, Clone)]
struct Place {
    kind: &'static str,
    namespace: String,
    name: String,
    sections: Vec<String>,
    app: Option<String>,
}

/// A world as YAML, in no order, and the settings to read it with. The same seed is the same world.
pub fn generate(seed: u64) -> (String, OracleSettings) {
    let (objects, settings) = objects(seed);
    (yaml::documents(&objects), settings)
}

/// [`generate`] as JSON.
pub fn objects(seed: u64) -> (Vec<Value>, OracleSettings) {
    let mut rng = Rng::new(seed, "kgateway", 0);
    let rng = &mut rng;
    let mut above: Vec<Value> = gateways(rng);
    if rng.percent(75) {
        let set = listener_set(rng, &above);
        above.insert(1, set);
    }
    let routes = routes::all(rng, &above);
    let places: Vec<Place> = above.iter().chain(&routes).map(place).collect();
    let mut objects = surroundings();
    let mode = grants(&mut Rng::new(seed, "kgateway grants", 0), &mut objects);
    objects.extend(policies::all(rng, &places));
    objects.extend(above);
    objects.extend(routes);
    for last in (1..objects.len()).rev() {
        objects.swap(last, count(rng.below(last as u64 + 1)));
    }
    (objects, OracleSettings { reference_grant_mode: mode, ..settings(rng) })
}

/// In every fourth world some providers send to another namespace, which permits some of that; there, policies may also
/// need a permission for the providers they name.
fn grants(rng: &mut Rng, objects: &mut Vec<Value>) -> String {
    if !rng.percent(25) {
        return String::from("PERMISSIVE");
    }
    for extension in objects.iter_mut().filter(|o| o["kind"] == "GatewayExtension") {
        let config = extension["spec"].as_object_mut().expect("a spec").iter_mut();
        for (_, config) in config.filter(|(key, _)| *key != "type") {
            if rng.percent(25) {
                let backend = config.pointer_mut("/grpcService/backendRef").expect("a backend");
                backend["namespace"] = json!(rng.pick(&["infra", "a", "b"]));
            }
        }
    }
    for number in 0..rng.below(4) {
        let (kind, to) = *rng.pick(&[("GatewayExtension", ""), ("TrafficPolicy", KGATEWAY)]);
        let mut to = match to {
            "" => json!({"group": "", "kind": rng.pick(&["Service", "Service", "Backend"])}),
            group => json!({"group": group, "kind": "GatewayExtension"}),
        };
        if rng.percent(40) {
            to["name"] = json!(rng.pick(&["ext", "auth", "proc"]));
        }
        let from = json!({"group": KGATEWAY, "kind": kind, "namespace": rng.pick(&NAMESPACES)});
        objects.push(json!({
            "apiVersion": format!("{GATEWAY_API}/v1beta1"), "kind": "ReferenceGrant",
            "metadata": {"name": format!("grant-{number}"), "namespace": rng.pick(&NAMESPACES)},
            "spec": {"from": [from], "to": [to]},
        }));
    }
    (*rng.pick(&["PERMISSIVE", "PERMISSIVE", "STRICT", "OFF"])).to_owned()
}

fn count(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

/// A number from 1 to the most, small ones more often.
fn up_to(rng: &mut Rng, most: u64) -> usize {
    count(1 + rng.below(most).min(rng.below(most)))
}

/// One of the list, more often one of the first.
fn early<'l, T>(rng: &mut Rng, list: &'l [T]) -> &'l T {
    &list[up_to(rng, list.len() as u64) - 1]
}

fn settings(rng: &mut Rng) -> OracleSettings {
    let mut policy_merge = BTreeMap::new();
    for unit in ["extAuth", "extProc", "transformation", "acl"] {
        let how = match rng.below(100) {
            0..30 => "DeepMerge",
            30..38 => "ShallowMerge",
            38..41 => "deepmerge",
            _ => continue,
        };
        policy_merge.insert(unit.to_owned(), how.to_owned());
    }
    OracleSettings {
        policy_merge,
        global_policy_namespace: rng.percent(40).then(|| ADMIN.to_owned()),
        delegation_wildcard_namespace: String::from(if rng.percent(90) { "all" } else { "every" }),
        ..OracleSettings::default()
    }
}

/// What nothing in these worlds is decided about: class, namespaces, providers.
fn surroundings() -> Vec<Value> {
    let mut objects = vec![json!({
        "apiVersion": format!("{GATEWAY_API}/v1"), "kind": "GatewayClass",
        "metadata": {"name": "kgateway"}, "spec": {"controllerName": "kgateway.dev/kgateway"},
    })];
    for (name, env) in NAMESPACES.into_iter().zip(["prod", "prod", "dev"]) {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"env": env}},
        }));
    }
    for (kind, namespace, name) in policies::EXTENSIONS {
        let field = match kind {
            "ExtAuth" => "extAuth",
            "ExtProc" => "extProc",
            "RateLimit" => "rateLimit",
            "JWT" => "jwt",
            _ => "oauth2",
        };
        let service = json!({"grpcService": {"backendRef": {"name": "ext", "port": 9000}}});
        objects.push(json!({
            "apiVersion": format!("{KGATEWAY}/v1alpha1"), "kind": "GatewayExtension",
            "metadata": {"name": name, "namespace": namespace, "creationTimestamp": "2024-01-01T00:00:00Z"},
            "spec": {"type": kind, field: service},
        }));
    }
    objects
}

/// Two or three.
fn gateways(rng: &mut Rng) -> Vec<Value> {
    let names = [("gw", "infra"), ("edge", "a"), ("gw-2", "infra")];
    let number = 2 + count(rng.below(2));
    names.into_iter().take(number).map(|(name, namespace)| gateway(rng, name, namespace)).collect()
}

fn gateway(rng: &mut Rng, name: &str, namespace: &str) -> Value {
    let listeners: Vec<Value> = ["http", "https", "extra"]
        .into_iter()
        .take(up_to(rng, 3))
        .enumerate()
        .map(|(i, name)| listener(rng, name, 8000 + i))
        .collect();
    let mut spec = json!({"gatewayClassName": "kgateway", "listeners": listeners});
    match rng.below(10) {
        0 => {}
        1 => spec["allowedListeners"] = json!({"namespaces": {"from": "Same"}}),
        _ => spec["allowedListeners"] = json!({"namespaces": {"from": "All"}}),
    }
    let metadata = metadata(rng, name, namespace, 40);
    json!({"apiVersion": format!("{GATEWAY_API}/v1"), "kind": "Gateway", "metadata": metadata, "spec": spec})
}

fn listener_set(rng: &mut Rng, gateways: &[Value]) -> Value {
    let gateway = &early(rng, gateways)["metadata"];
    let listeners: Vec<Value> = ["foo", "http"]
        .into_iter()
        .take(up_to(rng, 2))
        .enumerate()
        .map(|(i, name)| listener(rng, name, 9000 + i))
        .collect();
    let namespace = *rng.pick(&["a", "infra"]);
    let metadata = metadata(rng, "set", namespace, 40);
    let parent = json!({
        "group": GATEWAY_API, "kind": "Gateway", "name": gateway["name"], "namespace": gateway["namespace"],
    });
    json!({
        "apiVersion": format!("{GATEWAY_API}/v1"), "kind": "ListenerSet", "metadata": metadata,
        "spec": {"parentRef": parent, "listeners": listeners},
    })
}

/// Ports differ, so that no two listeners are in conflict.
fn listener(rng: &mut Rng, name: &str, port: usize) -> Value {
    let mut listener = json!({"name": name, "port": port, "protocol": "HTTP"});
    if rng.percent(40) {
        listener["protocol"] = json!("HTTPS");
        listener["tls"] =
            json!({"mode": "Terminate", "certificateRefs": [{"kind": "Secret", "name": "cert"}]});
    }
    if rng.percent(15) {
        listener["hostname"] = json!("*.example.com");
    }
    let namespaces = match rng.below(20) {
        0 => json!({"from": "Same"}),
        1..3 => json!({"from": "Selector", "selector": {"matchLabels": {"env": "prod"}}}),
        _ => json!({"from": "All"}),
    };
    listener["allowedRoutes"] = json!({"namespaces": namespaces});
    listener
}

/// Name, namespace, label, and how the object's policies meet those below it, in so many of a hundred cases.
fn metadata(rng: &mut Rng, name: &str, namespace: &str, annotated: u8) -> Value {
    let mut metadata = json!({
        "name": name, "namespace": namespace, "creationTimestamp": "2024-01-01T00:00:00Z",
    });
    if rng.percent(70) {
        metadata["labels"] = json!({"app": rng.pick(&APPS)});
    }
    if rng.percent(annotated) {
        metadata["annotations"] = json!({PRIORITY: priority(rng)});
    } else if rng.percent(5) {
        let retired = "delegation.kgateway.dev/inherited-policy-priority";
        metadata["annotations"] = json!({retired: "ShallowMergePreferParent"});
    }
    metadata
}

fn priority(rng: &mut Rng) -> &'static str {
    let bad = ["", "PreferParent", " ShallowMergePreferParent", "deepMergePreferParent"];
    let good = [
        "ShallowMergePreferParent",
        "DeepMergePreferParent",
        "DeepMergePreferParent",
        "DeepMergePreferChild",
        "DeepMergePreferChild",
        "ShallowMergePreferChild",
    ];
    let words = if rng.percent(10) { &bad[..] } else { &good[..] };
    words[count(rng.below(words.len() as u64))]
}

fn place(object: &Value) -> Place {
    let kind = match object["kind"].as_str().expect("a kind") {
        "Gateway" => "Gateway",
        "ListenerSet" => "ListenerSet",
        "HTTPRoute" => "HTTPRoute",
        _ => "GRPCRoute",
    };
    let string = |value: &Value| value.as_str().map(str::to_owned);
    let metadata = &object["metadata"];
    let sections = object["spec"].get("listeners").or(object["spec"].get("rules"));
    let sections = sections.and_then(Value::as_array).into_iter().flatten();
    Place {
        kind,
        namespace: string(&metadata["namespace"]).expect("a namespace"),
        name: string(&metadata["name"]).expect("a name"),
        sections: sections.filter_map(|section| string(&section["name"])).collect(),
        app: string(&metadata["labels"]["app"]),
    }
}

#[cfg(test)]
mod tests;
