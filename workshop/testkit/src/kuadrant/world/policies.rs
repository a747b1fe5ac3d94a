// SPDX-License-Identifier: Apache-2.0
//! In: gateways and routes. Out: policies on all levels of them. Not here: expressions (`expressions`).

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{TIMES, WorldShape, expressions};
use crate::kuadrant::paths::{self, Path};
use crate::kuadrant::{KINDS, Profile, namespace, text};
use crate::rng::Rng;

/// The last one ends like the third, so that a plain `c` in a removal list means both.
const NAMES: [&str; 4] = ["a", "b", "c", "a-b.c"];
/// Entries of removal lists: ids, plain names, and what matches nothing or must not match.
const REMOVALS: [&str; 16] = [
    "limits.a",
    "limits.b",
    "limits.a-b.c",
    "rules.authentication.a",
    "rules.authorization.c",
    "rules.response.success.headers.b",
    "rules.response.unauthorized",
    "patterns.a",
    "when",
    "a",
    "b",
    "c",
    "unauthorized",
    "nothing",
    "defaults.limits.a",
    "b.c",
];

/// A target: namespace, and the reference.
type Goal = (String, Value);

pub(super) fn all(rng: &mut Rng, places: &[Value], shape: &WorldShape) -> Vec<Value> {
    let goals: Vec<Goal> = places.iter().flat_map(goals).collect();
    // Most policies are of one kind and on one path: ladders get long.
    let usual_kind = *rng.pick(&KINDS);
    let usual = usual_goals(rng, places, &goals);
    let mut taken = BTreeSet::new();
    let more = shape.policies.max(2) - 1;
    let mut policies = Vec::new();
    for _ in 0..2 + rng.below(more).max(rng.below(more)) {
        let mut kind = if rng.percent(70) { usual_kind } else { *rng.pick(&KINDS) };
        let places = if rng.percent(80) { &usual } else { &goals };
        let goal = rng.pick(places);
        if kind == "TokenRateLimitPolicy" && goal.1["kind"] == "GRPCRoute" {
            kind = "RateLimitPolicy";
        }
        let name = name(rng, &mut taken, kind, &goal.0);
        policies.push(policy(rng, kind, goal, name, shape));
    }
    policies
}

/// What policies can target: the object and each of its sections.
fn goals(object: &Value) -> Vec<Goal> {
    let sections = object["spec"].get("listeners").or_else(|| object["spec"].get("rules"));
    let sections = sections.and_then(Value::as_array).expect("sections").iter().enumerate();
    let names = sections.map(|(i, section)| match section.get("name") {
        Some(name) => name.clone(),
        None => json!(format!("rule-{}", i + 1)),
    });
    let target = json!({
        "group": "gateway.networking.k8s.io",
        "kind": object["kind"],
        "name": object["metadata"]["name"],
    });
    let namespace = namespace(object).to_owned();
    let sectioned = names.map(|name| {
        let mut target = target.clone();
        target["sectionName"] = name;
        (namespace.clone(), target)
    });
    std::iter::once((namespace.clone(), target.clone())).chain(sectioned).collect()
}

/// The four levels of one path; anything if there is no path.
fn usual_goals(rng: &mut Rng, places: &[Value], goals: &[Goal]) -> Vec<Goal> {
    let paths: Vec<Path> = paths::all(places, Profile::Operator).into_iter().collect();
    if paths.is_empty() {
        return goals.to_vec();
    }
    let levels = rng.pick(&paths).levels().map(|(kind, name, section)| {
        let is_it = |(namespace, target): &&Goal| {
            target["kind"] == kind
                && format!("{namespace}/{}", text(target, "/name")) == name
                && target.get("sectionName").and_then(Value::as_str) == section
        };
        goals.iter().find(is_it).expect("a level").clone()
    });
    levels.to_vec()
}

/// Unique in its kind and namespace only.
fn name(
    rng: &mut Rng,
    taken: &mut BTreeSet<(&'static str, String, String)>,
    kind: &'static str,
    namespace: &str,
) -> String {
    loop {
        let name = format!("p{}", rng.below(12));
        if taken.insert((kind, namespace.to_owned(), name.clone())) {
            return name;
        }
    }
}

fn policy(rng: &mut Rng, kind: &str, goal: &Goal, name: String, shape: &WorldShape) -> Value {
    let (namespace, target) = goal;
    let version = if kind == "TokenRateLimitPolicy" { "v1alpha1" } else { "v1" };
    let mut metadata = json!({"name": name, "namespace": namespace});
    if rng.percent(75) {
        metadata["creationTimestamp"] = json!(rng.pick(&TIMES));
    }
    if rng.percent(20) {
        metadata["labels"] = json!({"tier": rng.pick(&["gold", "none"])});
    }
    let mut spec = if shape.one_block { one_block(rng, kind) } else { any_blocks(rng, kind) };
    spec.insert(String::from("targetRef"), target.clone());
    json!({
        "apiVersion": format!("kuadrant.io/{version}"), "kind": kind,
        "metadata": metadata, "spec": spec,
    })
}

/// What the CRDs admit.
fn one_block(rng: &mut Rng, kind: &str) -> Map<String, Value> {
    let mut block = rules(rng, kind, true);
    match *rng.pick(&["bare", "defaults", "overrides"]) {
        "bare" => block,
        explicit => {
            strategy(rng, &mut block);
            Map::from_iter([(explicit.to_owned(), Value::Object(block))])
        }
    }
}

/// Any of the three blocks, empty ones too, and removal lists.
fn any_blocks(rng: &mut Rng, kind: &str) -> Map<String, Value> {
    let blocks = *rng.pick(&[0, 1, 1, 1, 2, 2, 4, 4, 4, 3, 5, 6, 6, 7]);
    let mut spec = if blocks & 1 == 1 { maybe_rules(rng, kind) } else { Map::new() };
    for (bit, name) in [(2, "defaults"), (4, "overrides")] {
        if blocks & bit != 0 {
            let mut block = maybe_rules(rng, kind);
            strategy(rng, &mut block);
            // The condition takes the place of run-time conditions: the field has one value.
            if rng.percent(30) {
                block.insert(String::from("when"), expressions::one(rng, kind).into());
            }
            spec.insert(name.to_owned(), Value::Object(block));
        }
    }
    let lists: &[&str] = match rng.below(10) {
        _ if blocks == 0 && rng.percent(80) => &["unset"],
        0 => &["remove"],
        1 | 2 => &["unset"],
        3 => &["remove", "unset"],
        _ => &[],
    };
    for list in lists {
        let entries: Vec<&str> = (0..1 + rng.below(3)).map(|_| *rng.pick(&REMOVALS)).collect();
        spec.insert((*list).to_owned(), json!(entries));
    }
    spec
}

fn strategy(rng: &mut Rng, block: &mut Map<String, Value>) {
    let written = match rng.below(10) {
        0..2 => return,
        2..5 => "atomic",
        _ => "merge",
    };
    block.insert(String::from("strategy"), json!(written));
}

fn maybe_rules(rng: &mut Rng, kind: &str) -> Map<String, Value> {
    match rng.below(12) {
        0 => Map::new(),
        1 if kind == "AuthPolicy" => Map::from_iter([(String::from("rules"), json!({}))]),
        1 => Map::from_iter([(String::from("limits"), json!({}))]),
        _ => rules(rng, kind, false),
    }
}

/// The fields of a block. Valid ones have a rule beside the run-time conditions and patterns, and limits are numbers.
fn rules(rng: &mut Rng, kind: &str, valid: bool) -> Map<String, Value> {
    let mut block = Map::new();
    if rng.percent(20) {
        let hosts = ["request.host == 'a'", "request.method == 'GET'"];
        let list: Vec<Value> =
            (0..1 + rng.below(2)).map(|_| json!({"predicate": rng.pick(&hosts)})).collect();
        block.insert(String::from("when"), json!(list));
    }
    if kind != "AuthPolicy" {
        let limits = named(rng, |rng| limit(rng, valid));
        block.insert(String::from("limits"), limits);
        return block;
    }
    if rng.percent(20) {
        let patterns = named(rng, |rng| json!({"allOf": [{"predicate": number(rng).to_string()}]}));
        block.insert(String::from("patterns"), patterns);
    }
    let mut groups = auth_groups(rng);
    if valid && groups.is_empty() {
        groups.insert(String::from("authentication"), named(rng, auth_value));
    }
    if !groups.is_empty() {
        block.insert(String::from("rules"), Value::Object(groups));
    }
    block
}

/// One to three rules.
fn named(rng: &mut Rng, mut value: impl FnMut(&mut Rng) -> Value) -> Value {
    let names: BTreeSet<&str> = (0..1 + rng.below(3)).map(|_| *rng.pick(&NAMES)).collect();
    Value::Object(names.into_iter().map(|name| (name.to_owned(), value(rng))).collect())
}

fn number(rng: &mut Rng) -> i64 {
    *rng.pick(&[10, 30, 50, 60, 100])
}

fn limit(rng: &mut Rng, valid: bool) -> Value {
    let rates = if valid { 1 + rng.below(2) } else { rng.below(3) };
    let rates: Vec<Value> = (0..rates)
        .map(|_| match rng.below(12) {
            0 if !valid => json!({"limit": "many", "window": "10s"}),
            1 if !valid => json!({"window": "10s"}),
            _ => json!({"limit": number(rng), "window": rng.pick(&["10s", "1m"])}),
        })
        .collect();
    let mut limit = json!({"rates": rates});
    if rng.percent(20) {
        limit["counters"] = json!([{"expression": "auth.identity.user"}]);
    }
    if rng.percent(10) {
        limit["when"] = json!([{"predicate": "request.method == 'GET'"}]);
    }
    limit
}

fn auth_value(rng: &mut Rng) -> Value {
    match rng.below(6) {
        0 => json!(number(rng)),
        1 => json!(2.5),
        2 => json!({"anonymous": {}}),
        3 => json!({"apiKey": {"selector": {"matchLabels": {"group": "g"}}}}),
        _ => json!({"level": number(rng), "priority": rng.below(3)}),
    }
}

fn auth_groups(rng: &mut Rng) -> Map<String, Value> {
    let mut groups = Map::new();
    for (group, share) in
        [("authentication", 70), ("metadata", 15), ("authorization", 40), ("callbacks", 10)]
    {
        if rng.percent(share) {
            groups.insert(group.to_owned(), named(rng, auth_value));
        }
    }
    let mut response = Map::new();
    for (slot, code) in [("unauthenticated", 401), ("unauthorized", 403)] {
        if rng.percent(15) {
            response.insert(slot.to_owned(), json!({"code": code + i64::from(rng.percent(30))}));
        }
    }
    let mut success = Map::new();
    for (group, share) in [("headers", 15), ("filters", 8)] {
        if rng.percent(share) {
            success.insert(group.to_owned(), named(rng, |rng| json!({"plain": number(rng)})));
        }
    }
    if !success.is_empty() {
        response.insert(String::from("success"), Value::Object(success));
    }
    if !response.is_empty() {
        groups.insert(String::from("response"), Value::Object(response));
    }
    groups
}
