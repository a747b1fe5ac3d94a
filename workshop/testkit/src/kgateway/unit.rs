// SPDX-License-Identifier: Apache-2.0
//! In: two values of one unit, and which is preferred. Out: the value of both. Not here: who meets whom.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Profile, at};

/// The value of a unit, and where it is from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    /// As written, or merged; not used for `extAuth` and `extProc`, which are their providers.
    pub value: Value,
    /// Policies that contribute.
    pub sources: BTreeSet<String>,
    /// Of a unit with providers: which, and by which policy; preferred first.
    pub providers: Vec<(String, String)>,
    /// Whether all providers are switched off.
    pub disable: bool,
}

/// How something that is folded in meets what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct How {
    /// Whether values that can be combined are.
    pub deep: bool,
    /// Whether what is folded in is preferred to what is there.
    pub prefer_new: bool,
}

impl How {
    /// What is there stays.
    pub const AUGMENT: Self = Self { deep: false, prefer_new: false };

    /// What the annotation says; anything but the four words says nothing.
    pub fn of(annotation: Option<&str>) -> Self {
        let (deep, prefer_new) = match annotation {
            Some("ShallowMergePreferParent") => (false, true),
            Some("DeepMergePreferChild") => (true, false),
            Some("DeepMergePreferParent") => (true, true),
            _ => (false, false),
        };
        Self { deep, prefer_new }
    }
}

/// What becomes of a unit that is set on both sides.
pub(super) fn fold(unit: &str, there: Held, new: Held, how: How, profile: Profile) -> Held {
    match (how.deep, unit) {
        (true, "transformation") => {
            both(there, new, how, |less, preferred| transformation(less, preferred, profile))
        }
        (true, "extAuth" | "extProc") if profile == Profile::Design => decided(there, new, how),
        (true, "extAuth" | "extProc") => sticky(there, new, how),
        (true, "acl") if conflicting(&there.value, &new.value) => {
            chosen(there, new, how.prefer_new)
        }
        (true, "acl") => both(there, new, how, acl),
        // A deep merge of what cannot be combined keeps the child, whatever the annotation prefers.
        (true, _) if profile == Profile::Shipped => there,
        _ => chosen(there, new, how.prefer_new),
    }
}

fn chosen(there: Held, new: Held, prefer_new: bool) -> Held {
    if prefer_new { new } else { there }
}

/// A value made of both, less preferred side first.
fn both(there: Held, new: Held, how: How, combine: impl Fn(&Value, &Value) -> Value) -> Held {
    let value = match how.prefer_new {
        true => combine(&there.value, &new.value),
        false => combine(&new.value, &there.value),
    };
    let sources = there.sources.union(&new.sources).cloned().collect();
    Held { value, sources, ..there }
}

/// Providers as kgateway merges them: one that is there already stays as it is, and a `disable` of either side holds.
fn sticky(there: Held, new: Held, how: How) -> Held {
    let known = |name: &String| there.providers.iter().any(|(known, _)| known == name);
    let added: Vec<(String, String)> =
        new.providers.iter().filter(|(name, _)| !known(name)).cloned().collect();
    let mut sources = there.sources.clone();
    sources.extend(added.iter().map(|(_, policy)| policy.clone()));
    if new.disable {
        sources = new.sources;
    }
    let providers = match how.prefer_new {
        true => [added, there.providers].concat(),
        false => [there.providers, added].concat(),
    };
    Held { value: there.value, sources, providers, disable: there.disable || new.disable }
}

/// Providers as they are meant: the preferred side comes first, and it alone decides about `disable`.
fn decided(there: Held, new: Held, how: How) -> Held {
    let (preferred, less) = if how.prefer_new { (new, there) } else { (there, new) };
    if preferred.disable || less.disable {
        return preferred;
    }
    let rest = without(&less, &preferred.providers);
    Held {
        value: preferred.value,
        sources: preferred.sources.union(&rest.sources).cloned().collect(),
        providers: [preferred.providers, rest.providers].concat(),
        disable: false,
    }
}

/// The same without some providers and without the policies that brought them.
pub(super) fn without(held: &Held, known: &[(String, String)]) -> Held {
    let is_new = |(name, _): &&(String, String)| known.iter().all(|(other, _)| other != name);
    let providers: Vec<(String, String)> = held.providers.iter().filter(is_new).cloned().collect();
    let sources = providers.iter().map(|(_, policy)| policy.clone()).collect();
    Held { providers, sources, ..held.clone() }
}

fn transformation(less: &Value, preferred: &Value, profile: Profile) -> Value {
    let mut merged = Map::new();
    for direction in ["request", "response"] {
        let value = match (less.get(direction), preferred.get(direction)) {
            (Some(less), Some(preferred)) => mutations(less, preferred, profile),
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => continue,
        };
        merged.insert(direction.to_owned(), value);
    }
    Value::Object(merged)
}

/// One direction of a transformation that both sides have.
fn mutations(less: &Value, preferred: &Value, profile: Profile) -> Value {
    let mut merged = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        merged.extend(value.map(|value| (name.to_owned(), value)));
    };
    for name in ["add", "remove", "set"] {
        put(name, concatenated(less.get(name), preferred.get(name)));
    }
    put("body", preferred.get("body").or(less.get("body")).cloned());
    let metadata = "dynamicMetadata";
    put(
        metadata,
        match profile {
            Profile::Design => concatenated(less.get(metadata), preferred.get(metadata)),
            // Looks like a mistake, but that is what happens: those of the preferred side are dropped.
            Profile::Shipped => less.get(metadata).cloned(),
        },
    );
    Value::Object(merged)
}

fn concatenated(first: Option<&Value>, second: Option<&Value>) -> Option<Value> {
    let items = |list: Option<&Value>| list.and_then(Value::as_array).cloned();
    match (items(first), items(second)) {
        (None, None) => None,
        (first, second) => Some(Value::Array(first.into_iter().chain(second).flatten().collect())),
    }
}

/// Whether two access lists contradict each other, so that they cannot be combined.
fn conflicting(a: &Value, b: &Value) -> bool {
    ["/defaultAction", "/denyResponse/statusCode", "/denyResponse/blockedByHeaderName"].iter().any(
        |path| match (at(a, path), at(b, path)) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        },
    )
}

fn acl(less: &Value, preferred: &Value) -> Value {
    let mut merged = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        merged.extend(value.map(|value| (name.to_owned(), value)));
    };
    put("defaultAction", preferred.get("defaultAction").or(less.get("defaultAction")).cloned());
    put("rules", concatenated(preferred.get("rules"), less.get("rules")));
    let response = match (preferred.get("denyResponse"), less.get("denyResponse")) {
        (Some(preferred), Some(less)) => Some(deny_response(preferred, less)),
        (one, other) => one.or(other).cloned(),
    };
    put("denyResponse", response);
    Value::Object(merged)
}

fn deny_response(preferred: &Value, less: &Value) -> Value {
    let mut merged = Map::new();
    for name in ["statusCode", "blockedByHeaderName"] {
        let value = preferred.get(name).or(less.get(name));
        merged.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    let headers = concatenated(preferred.get("headers"), less.get("headers"));
    merged.extend(headers.map(|headers| (String::from("headers"), headers)));
    Value::Object(merged)
}

/// `extAuth` and `extProc` as the cases write them.
pub(super) fn providers(held: &Held) -> Value {
    let mut value = json!({});
    let names: Vec<&String> = held.providers.iter().map(|(name, _)| name).collect();
    if !names.is_empty() || !held.disable {
        value["providers"] = json!(names);
    }
    if held.disable {
        value["disable"] = json!(true);
    }
    value
}
