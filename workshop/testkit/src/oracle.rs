// SPDX-License-Identifier: Apache-2.0
//! In: resources as JSON. Out: every effective policy, computed the slow way. Not here: anything shared with the engine.
//!
//! Written from the texts (GEP-713: established and challenger, the five strategies, the top-down stack; Gateway API:
//! attachment of routes), not from the code it judges. No index, no interning, no sharing: every question scans
//! everything. RFC 7386 is done twice, on the values and on a copy whose leaves are the names of their policies; the
//! merge looks only at shapes, so both copies come out alike and the second says who wrote what.
//!
//! It knows mapping-shaped specs with the default merge plan, HTTPRoute and GRPCRoute, at Gateways and bound to Services
//! (GEP-1426), and levels down to the rule.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::run::{Answers, TracedPolicy, leaves};

mod attach;
mod world;

use attach::references;
use world::{full, of_kind, paths, places_of, text};

const GATEWAY_API: &str = "gateway.networking.k8s.io";
/// Levels of the hierarchy: class, gateway, listener set, listener, Service, its port, route, rule.
const LISTENER: u8 = 3;
const SERVICE: u8 = 4;
const ROUTE: u8 = 6;

/// What the oracle says about a world.
#[derive(Debug, Default)]
pub struct OracleVerdict {
    /// Every effective policy.
    pub answers: Answers,
    /// For each policy (kind, `namespace/name`) that lands: whether anything of it is in force anywhere.
    pub in_force: BTreeMap<(String, String), bool>,
}

/// One node of a path: the object (kind, namespace, name), the section, its level, its name for people.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    level: u8,
    object: (String, String, String),
    section: String,
    label: String,
}

/// A policy as far as it counts: where it lands, when it was made, what it says and how.
struct Policy {
    name: String,
    created: String,
    strategy: String,
    spec: Value,
    places: BTreeSet<Place>,
}

/// Answers every question about a world.
pub fn judge(world: &[Value]) -> OracleVerdict {
    let world = &crate::deletion::present(world);
    let paths = paths(world);
    let mut verdict = OracleVerdict::default();
    for kind in of_kind(world, "overrule", "PolicyKind") {
        let (group, name) = (text(kind, "/spec/group"), text(kind, "/spec/kind"));
        let policies: Vec<Policy> =
            of_kind(world, group, name).filter_map(|object| policy(world, kind, object)).collect();
        for policy in policies.iter().filter(|p| !p.places.is_empty()) {
            verdict.in_force.insert((name.to_owned(), policy.name.clone()), false);
        }
        let direct = text(kind, "/spec/class") == "Direct";
        let ends = match text(kind, "/spec/effectiveAt") {
            "Gateway" => 1,
            "Listener" => LISTENER,
            "Route" => ROUTE,
            _ => ROUTE + 1,
        };
        let none = strategy_of(kind) == "None";
        let contexts =
            if direct { direct_contexts(world, &paths, &policies) } else { paths.clone() };
        for path in contexts.iter().filter(|p| direct || p.last().is_some_and(|l| l.level == ends))
        {
            let stack =
                if direct { direct_stack(path, &policies) } else { stack(path, &policies, none) };
            let answer = if direct { stack.first().map(|p| alone(p)) } else { fold(&stack) };
            for owner in answer.iter().flat_map(|a| a.origins.values()) {
                verdict.in_force.insert((name.to_owned(), owner.clone()), true);
            }
            let labels: Vec<&str> = path.iter().map(|p| p.label.as_str()).collect();
            verdict.answers.insert((labels.join(" > "), name.to_owned()), answer);
        }
    }
    verdict
}

/// Policies that reach a path, the established ones first: higher level, older, first by `namespace/name`. Kinds
/// that do not merge leave the level out.
fn stack<'p>(path: &[Place], policies: &'p [Policy], none: bool) -> Vec<&'p Policy> {
    let mut found: Vec<(u8, &String, &String, &Policy)> = Vec::new();
    for policy in policies {
        for place in path.iter().filter(|p| policy.places.contains(p)) {
            let level = if none { 0 } else { place.level };
            found.push((level, &policy.created, &policy.name, policy));
        }
    }
    found.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)));
    found.into_iter().map(|(_, _, _, policy)| policy).collect()
}

/// Direct kinds: policies on the section, then those on the object; the oldest of the first group is used alone.
fn direct_stack<'p>(path: &[Place], policies: &'p [Policy]) -> Vec<&'p Policy> {
    let Some(last) = path.last() else { return Vec::new() };
    let whole =
        path.iter().rev().nth(1).filter(|p| p.object == last.object && !last.section.is_empty());
    let on = |place: &Place| stack(std::slice::from_ref(place), policies, true);
    on(last).into_iter().chain(whole.into_iter().flat_map(on)).collect()
}

/// A direct kind has a context per object it targets, or per section if it targets sections of that object.
fn direct_contexts(world: &[Value], paths: &[Vec<Place>], policies: &[Policy]) -> Vec<Vec<Place>> {
    let targeted: BTreeSet<&Place> = policies.iter().flat_map(|p| &p.places).collect();
    let objects: BTreeSet<_> = targeted.iter().map(|p| p.object.clone()).collect();
    let mut contexts = Vec::new();
    for object in objects {
        let all: Vec<Place> = places_of(world, &object);
        let above = |place: &Place| -> Vec<Place> {
            let known = paths.iter().find(|p| p.last() == Some(place) && place.level <= LISTENER);
            known.cloned().unwrap_or_else(|| vec![place.clone()])
        };
        let (whole, sections) = all.split_first().expect("the object itself");
        if whole.level == 2 && !paths.iter().any(|p| p.last() == Some(whole)) {
            continue; // A ListenerSet no Gateway accepts is no part of the hierarchy.
        }
        if sections.iter().any(|s| targeted.contains(s)) {
            contexts.extend(sections.iter().map(|s| [above(whole), vec![s.clone()]].concat()));
        } else {
            contexts.push(above(whole));
        }
    }
    contexts
}

/// GEP-713: take the two least specific, merge by the strategy of the upper one; the result carries the lower one's.
fn fold(stack: &[&Policy]) -> Option<TracedPolicy> {
    let (first, rest) = stack.split_first()?;
    let (mut value, mut owners) = (first.spec.clone(), marked(&first.spec, &first.name));
    let mut strategy = first.strategy.as_str();
    for challenger in rest {
        let (spec, names) = (challenger.spec.clone(), marked(&challenger.spec, &challenger.name));
        match strategy {
            "None" => continue,
            "AtomicDefaults" => (value, owners) = (spec, names),
            "AtomicOverrides" => {}
            "PatchDefaults" => (value, owners) = (patch(value, &spec), patch_names(owners, &names)),
            "PatchOverrides" => {
                (value, owners) = (patch(spec, &value), patch_names(names, &owners))
            }
            other => panic!("no such strategy: {other}"),
        }
        strategy = &challenger.strategy;
    }
    let mut origins = BTreeMap::new();
    leaves(&owners, "", &mut |leaf| {
        let owner = owners.pointer(leaf).expect("a leaf");
        let name = owner.as_str().or(owner[0].as_str()).expect("a mark");
        origins.insert(leaf.to_owned(), name.to_owned());
    });
    Some(TracedPolicy { spec: value, origins })
}

fn alone(policy: &Policy) -> TracedPolicy {
    fold(&[policy]).expect("one policy")
}

/// The document with every leaf replaced by the name of its policy; the name of a null is put in a list, because a
/// null still means something to the merge (and lists mean nothing to it: they are leaves).
fn marked(value: &Value, name: &str) -> Value {
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().map(|(k, v)| (k.clone(), marked(v, name))).collect())
        }
        Value::Null => Value::from(vec![name]),
        _ => Value::from(name),
    }
}

/// RFC 7386, as in its section 2.
pub fn patch(target: Value, change: &Value) -> Value {
    patch_where(target, change, Value::is_null)
}

fn patch_names(target: Value, change: &Value) -> Value {
    patch_where(target, change, Value::is_array)
}

fn patch_where(target: Value, change: &Value, is_null: fn(&Value) -> bool) -> Value {
    let Value::Object(changes) = change else { return change.clone() };
    let mut result = match target {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for (key, change) in changes {
        let before = result.remove(key).unwrap_or(Value::Null);
        if !is_null(change) {
            result.insert(key.clone(), patch_where(before, change, is_null));
        }
    }
    Value::Object(result)
}

/// Reads a policy; none if it is refused as a whole: two strategies, or one that does not exist.
fn policy(world: &[Value], kind: &Value, object: &Value) -> Option<Policy> {
    let mut bare = object.pointer("/spec")?.as_object()?.clone();
    let plumbing =
        ["targetRef", "targetRefs", "targetSelectors", "strategy", "defaults", "overrides"];
    plumbing.iter().for_each(|key| drop(bare.remove(*key)));
    let block =
        |name: &str| object.pointer(&format!("/spec/{name}")).and_then(Value::as_object).cloned();
    let (strategy, mut spec) = match (block("defaults"), block("overrides"), bare.is_empty()) {
        (None, None, _) => (strategy_of(kind).to_owned(), bare),
        (Some(spec), None, true) => (block_strategy(&spec, "Defaults")?, spec),
        (None, Some(spec), true) => (block_strategy(&spec, "Overrides")?, spec),
        _ => return None,
    };
    if block("defaults").or(block("overrides")).is_some() {
        spec.remove("strategy");
    }
    let strategy = match object.pointer("/spec/strategy") {
        None => strategy,
        Some(named) => {
            let word = named.as_str()?;
            let meaning = kind
                .pointer(&format!("/spec/strategy/words/{word}"))
                .and_then(Value::as_str)
                .unwrap_or(word);
            let known =
                ["None", "AtomicDefaults", "AtomicOverrides", "PatchDefaults", "PatchOverrides"];
            known.contains(&meaning).then(|| meaning.to_owned())?
        }
    };
    let created = text(object, "/metadata/creationTimestamp");
    // Absent counts as newest; RFC 3339 in one form sorts as text.
    let created = if created.is_empty() { "~" } else { created }.to_owned();
    let places = references(world, object).into_iter().flatten().collect();
    Some(Policy { name: full(object), created, strategy, spec: Value::Object(spec), places })
}

fn block_strategy(block: &Map<String, Value>, suffix: &str) -> Option<String> {
    match block.get("strategy").map_or("atomic", |v| v.as_str().unwrap_or("?")) {
        "atomic" => Some(format!("Atomic{suffix}")),
        "merge" => Some(format!("Patch{suffix}")),
        _ => None,
    }
}

fn strategy_of(kind: &Value) -> &str {
    match (text(kind, "/spec/strategy/default"), text(kind, "/spec/class")) {
        ("", "Direct") => "None",
        ("", _) => "AtomicDefaults",
        (named, _) => named,
    }
}
