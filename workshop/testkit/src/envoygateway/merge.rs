// SPDX-License-Identifier: Apache-2.0
//! In: a policy of a route and the one above it. Out: the two as one spec, and who gave what. Not here: who is merged.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{TRAFFIC, name};

/// Who gave a part of a field, by field.
pub(super) type Writers = BTreeMap<String, BTreeSet<String>>;

const NOT_FIELDS: [&str; 4] = ["targetRefs", "targetSelectors", "mergeType", "targetRef"];

/// The fields of a spec without nulls and empty lists.
fn fields(policy: &Value) -> Map<String, Value> {
    let spec = policy["spec"].as_object().unwrap();
    let own = spec.iter().filter(|(key, value)| {
        !NOT_FIELDS.contains(&key.as_str())
            && !value.is_null()
            && value.as_array().is_none_or(|list| !list.is_empty())
    });
    own.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A policy on its own.
pub(super) fn alone(policy: &Value) -> (Map<String, Value>, Writers) {
    let fields = fields(policy);
    let writers = fields.keys().map(|key| (key.clone(), BTreeSet::from([name(policy)]))).collect();
    (fields, writers)
}

/// The spec of the child over that of the parent.
pub(super) fn merge(kind: &str, child: &Value, parent: &Value) -> (Map<String, Value>, Writers) {
    let strategic = child["spec"]["mergeType"] == "StrategicMerge";
    let (ours, theirs) = (fields(child), fields(parent));
    let (us, them) = (name(child), name(parent));
    let mut merged = Map::new();
    let mut writers = Writers::new();
    let all: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for key in all {
        let (value, who) = match (ours.get(key), theirs.get(key)) {
            (Some(ours), None) => (ours.clone(), vec![us.clone()]),
            (None, Some(theirs)) => (theirs.clone(), vec![them.clone()]),
            (Some(ours), Some(theirs)) => {
                let path = [key.as_str()];
                let mut parts = Parts::default();
                let value = both(kind, strategic, &path, ours, theirs, &mut parts);
                let mut who = Vec::new();
                who.extend(parts.ours.then(|| us.clone()));
                who.extend(parts.theirs.then(|| them.clone()));
                (value, who)
            }
            (None, None) => unreachable!("a key of one of them"),
        };
        merged.insert(key.clone(), value);
        writers.insert(key.clone(), who.into_iter().collect());
    }
    (merged, writers)
}

/// Whose parts are in a value.
#[derive(Default)]
struct Parts {
    ours: bool,
    theirs: bool,
}

fn both(
    kind: &str,
    strategic: bool,
    path: &[&str],
    ours: &Value,
    theirs: &Value,
    parts: &mut Parts,
) -> Value {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let mut merged = Map::new();
            for (key, ours) in a {
                let below: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
                let value = match b.get(key) {
                    Some(theirs) => both(kind, strategic, &below, ours, theirs, parts),
                    None => {
                        parts.ours = true;
                        ours.clone()
                    }
                };
                merged.insert(key.clone(), value);
            }
            for (key, theirs) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                parts.theirs = true;
                merged.insert(key.clone(), theirs.clone());
            }
            Value::Object(merged)
        }
        (Value::Array(a), Value::Array(b))
            if strategic && kind == TRAFFIC && path == ["httpUpgrade"] =>
        {
            by_type(a, b, parts)
        }
        (Value::Array(a), Value::Array(b))
            if strategic && kind == TRAFFIC && path == ["rateLimit", "local", "rules"] =>
        {
            // The rule without selectors is the limit of the route, and only the child's counts.
            let rules = b.iter().filter(|rule| !rule["clientSelectors"].is_null());
            let all: Vec<Value> = a.iter().chain(rules).cloned().collect();
            parts.ours = true;
            parts.theirs |= all.len() > a.len();
            Value::Array(all)
        }
        _ => {
            parts.ours = true;
            ours.clone()
        }
    }
}

/// Sorted as Kubernetes does: what only the parent has stands before the next that both have, else at the end.
fn by_type(ours: &[Value], theirs: &[Value], parts: &mut Parts) -> Value {
    parts.ours = true;
    let mut list = Vec::new();
    let mut done = 0;
    for item in ours {
        if let Some(at) = theirs.iter().position(|other| other["type"] == item["type"]) {
            for other in theirs.iter().take(at).skip(done) {
                if !ours.iter().any(|o| o["type"] == other["type"]) {
                    parts.theirs = true;
                    list.push(other.clone());
                }
            }
            done = done.max(at);
        }
        list.push(item.clone());
    }
    for other in theirs.iter().skip(done) {
        if !ours.iter().any(|o| o["type"] == other["type"]) {
            parts.theirs = true;
            list.push(other.clone());
        }
    }
    Value::Array(list)
}
