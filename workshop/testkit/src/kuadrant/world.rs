// SPDX-License-Identifier: Apache-2.0
//! In: random numbers. Out: small worlds of gateways, routes and Kuadrant policies in which everything collides.
//! Not here: broken input: every target exists, every policy is well-formed.
//!
//! Names, hosts, times and rule names come from tiny sets. Most policies sit on one path and are of one kind, so that
//! ladders of three and four levels are common and not the exception.

mod expressions;
mod policies;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::rng::Rng;

/// What worlds are like: the most of everything, and for which profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorldShape {
    /// Gateways, at most 3.
    pub gateways: u64,
    /// Listeners of each gateway, at most 3.
    pub listeners: u64,
    /// Routes.
    pub routes: u64,
    /// Rules of each route, at most 3.
    pub rules: u64,
    /// Policies; there are at least two.
    pub policies: u64,
    /// Policies that the operator's CRDs admit: one block with rules, no control-plane condition, no removal list.
    pub one_block: bool,
}

impl Default for WorldShape {
    fn default() -> Self {
        Self { gateways: 3, listeners: 3, routes: 4, rules: 3, policies: 9, one_block: false }
    }
}

const GATEWAYS: [&str; 3] = ["edge", "inner", "cart"];
const LISTENERS: [&str; 3] = ["web", "api", "any"];
const ROUTES: [&str; 5] = ["cart", "pay", "edge", "docs", "list"];
const RULES: [&str; 3] = ["read", "write", "web"];
const NAMESPACES: [&str; 3] = ["infra", "shop", "infra"];
const HOSTS: [&str; 5] =
    ["*.example.com", "shop.example.com", "*.shop.example.com", "a.shop.example.com", "other.test"];
const TIMES: [&str; 3] = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z", "2024-06-30T12:00:00Z"];

/// A random world, in no order.
pub fn world(rng: &mut Rng, shape: &WorldShape) -> Vec<Value> {
    let mut objects = vec![json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
        "metadata": {"name": "kuadrant"}, "spec": {"controllerName": "example.com/controller"},
    })];
    let gateways: Vec<Value> =
        (0..up_to(rng, shape.gateways)).map(|i| gateway(rng, i, shape)).collect();
    let mut taken = BTreeSet::new();
    let routes: Vec<Value> = (0..up_to(rng, shape.routes))
        .map(|i| route(rng, i, &gateways, &mut taken, shape))
        .collect();
    let places = [gateways, routes].concat();
    objects.extend(policies::all(rng, &places, shape));
    objects.extend(places);
    shuffle(rng, &mut objects);
    objects
}

/// Gives some rules of a world the name of another rule of their route, or one that looks like a number.
pub fn equal_names(rng: &mut Rng, objects: &mut [Value]) {
    let routes =
        objects.iter_mut().filter(|o| o["kind"].as_str().is_some_and(|k| k.ends_with("Route")));
    for rules in routes.filter_map(|route| route["spec"]["rules"].as_array_mut()) {
        let names: Vec<Value> = rules.iter().filter_map(|rule| rule.get("name")).cloned().collect();
        for rule in rules {
            match rng.below(10) {
                0..3 => rule["name"] = json!(format!("rule-{}", 1 + rng.below(3))),
                3..6 if !names.is_empty() => rule["name"] = rng.pick(&names).clone(),
                _ => {}
            }
        }
    }
}

/// A number from 1 to the most, small ones more often.
fn up_to(rng: &mut Rng, most: u64) -> usize {
    count(1 + rng.below(most).min(rng.below(most)))
}

fn count(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}

fn shuffle(rng: &mut Rng, list: &mut [Value]) {
    for last in (1..list.len()).rev() {
        list.swap(last, count(rng.below(last as u64 + 1)));
    }
}

fn gateway(rng: &mut Rng, index: usize, shape: &WorldShape) -> Value {
    let listeners: Vec<Value> =
        (0..up_to(rng, shape.listeners)).map(|i| listener(rng, i)).collect();
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": GATEWAYS[index], "namespace": NAMESPACES[index]},
        "spec": {"gatewayClassName": "kuadrant", "listeners": listeners},
    })
}

/// Ports differ, so that no two listeners are in conflict.
fn listener(rng: &mut Rng, index: usize) -> Value {
    let mut listener = json!({"name": LISTENERS[index], "port": 8080 + index, "protocol": "HTTP"});
    if rng.percent(50) {
        listener["hostname"] = json!(rng.pick(&HOSTS));
    }
    match rng.below(10) {
        0 => {}
        1 => listener["allowedRoutes"] = json!({"namespaces": {"from": "Same"}}),
        _ => listener["allowedRoutes"] = json!({"namespaces": {"from": "All"}}),
    }
    listener
}

fn route(
    rng: &mut Rng,
    index: usize,
    gateways: &[Value],
    taken: &mut BTreeSet<(&'static str, String, String)>,
    shape: &WorldShape,
) -> Value {
    let kind = if rng.percent(75) { "HTTPRoute" } else { "GRPCRoute" };
    let namespace = (*rng.pick(&["shop", "shop", "infra"])).to_owned();
    let mut name = (*rng.pick(&ROUTES)).to_owned();
    if !taken.insert((kind, namespace.clone(), name.clone())) {
        name = format!("{name}-{index}");
        taken.insert((kind, namespace.clone(), name.clone()));
    }
    let rules: Vec<Value> = (0..up_to(rng, shape.rules)).map(|i| rule(rng, kind, i)).collect();
    let mut spec = json!({"parentRefs": parents(rng, &namespace, gateways), "rules": rules});
    let hosts: BTreeSet<&str> = (0..rng.below(3)).map(|_| *rng.pick(&HOSTS)).collect();
    if !hosts.is_empty() {
        spec["hostnames"] = json!(hosts);
    }
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
        "metadata": {"name": name, "namespace": namespace}, "spec": spec,
    })
}

fn rule(rng: &mut Rng, kind: &str, index: usize) -> Value {
    let mut rule = match kind {
        "HTTPRoute" => json!({"matches": [{"path": {"value": format!("/p{index}")}}]}),
        _ => json!({"matches": [{"method": {"service": format!("s{index}")}}]}),
    };
    rule["backendRefs"] = json!([{"name": "backend", "port": 8080}]);
    if rng.percent(40) {
        rule["name"] = json!(RULES[index]);
    }
    rule
}

/// One to three different references to gateways and their listeners.
fn parents(rng: &mut Rng, namespace: &str, gateways: &[Value]) -> Vec<Value> {
    let mut parents: Vec<Value> = Vec::new();
    for _ in 0..up_to(rng, 3) {
        let gateway = rng.pick(gateways);
        let mut parent = json!({"name": gateway["metadata"]["name"]});
        if gateway["metadata"]["namespace"] != namespace || rng.percent(30) {
            parent["namespace"] = gateway["metadata"]["namespace"].clone();
        }
        let listener = rng.pick(gateway["spec"]["listeners"].as_array().expect("listeners"));
        match rng.below(10) {
            0..3 => parent["sectionName"] = listener["name"].clone(),
            3 => parent["port"] = listener["port"].clone(),
            _ => {}
        }
        // Two references to one gateway must differ in section or port, and both must say one.
        let same = |p: &Value| p["name"] == parent["name"];
        if !parents.iter().any(same) {
            parents.push(parent);
        } else if let (Some(section), true) = (
            parent.get("sectionName").cloned(),
            parents.iter().filter(|p| same(p)).all(|p| p.get("sectionName").is_some()),
        ) && parents.iter().all(|p| !same(p) || p["sectionName"] != section)
        {
            parents.push(parent);
        }
    }
    parents
}

#[cfg(test)]
mod tests;
