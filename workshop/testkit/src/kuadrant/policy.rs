// SPDX-License-Identifier: Apache-2.0
//! In: policies as JSON. Out: their blocks of rules, removal lists and targets, and who is on a path in which order.
//! Not here: what happens to the rules (`fold`).

use serde_json::Value;

use super::paths::{GATEWAY_API, Path};
use super::{KINDS, Profile, full_name, list, text};

/// A policy as it is written.
#[derive(Debug)]
pub(super) struct Policy<'w> {
    pub kind: &'w str,
    /// `namespace/name`.
    pub name: String,
    pub metadata: &'w Value,
    pub target_ref: &'w Value,
    /// Those that take part, in the order they are processed.
    pub blocks: Vec<Block<'w>>,
    /// Rule ids and plain rule names.
    pub removals: Vec<&'w str>,
}

/// One of the three sets of rules of a policy.
#[derive(Debug)]
pub(super) struct Block<'w> {
    pub name: &'static str,
    pub overrides: bool,
    pub merge: bool,
    /// The control-plane condition.
    pub when: Option<&'w str>,
    pub rules: Vec<Declared>,
}

/// A rule as declared: its id, the same as steps from `spec`, its value.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub id: String,
    pub place: Vec<String>,
    pub value: Value,
}

/// Where AuthPolicy has maps of named rules, and where it has single rules.
const AUTH_MAPS: [&[&str]; 7] = [
    &["patterns"],
    &["rules", "authentication"],
    &["rules", "metadata"],
    &["rules", "authorization"],
    &["rules", "callbacks"],
    &["rules", "response", "success", "headers"],
    &["rules", "response", "success", "filters"],
];
const AUTH_SINGLES: [&[&str]; 2] =
    [&["rules", "response", "unauthenticated"], &["rules", "response", "unauthorized"]];
/// Where the two kinds of limits have theirs.
const LIMIT_MAPS: [&[&str]; 1] = [&["limits"]];

pub(super) fn read(objects: &[Value], profile: Profile) -> Vec<Policy<'_>> {
    let ours = |o: &&Value| {
        text(o, "/apiVersion").starts_with("kuadrant.io/") && KINDS.contains(&text(o, "/kind"))
    };
    objects.iter().filter(ours).map(|object| one(object, profile)).collect()
}

fn one(object: &Value, profile: Profile) -> Policy<'_> {
    let kind = text(object, "/kind");
    Policy {
        kind,
        name: full_name(object),
        metadata: &object["metadata"],
        target_ref: &object["spec"]["targetRef"],
        blocks: blocks(kind, &object["spec"], profile),
        removals: removals(object, profile),
    }
}

fn removals(object: &Value, profile: Profile) -> Vec<&str> {
    let fields: &[&str] = match profile {
        Profile::Design => &["/spec/remove", "/spec/unset"],
        Profile::Latest => &["/spec/unset"],
        Profile::Operator => &[],
    };
    fields.iter().flat_map(|field| list(object, field)).filter_map(Value::as_str).collect()
}

fn blocks<'w>(kind: &str, spec: &'w Value, profile: Profile) -> Vec<Block<'w>> {
    let block = |name: &'static str, at: &'w Value| Block {
        name,
        overrides: name == "overrides",
        merge: text(at, "/strategy") == "merge",
        when: at.get("when").and_then(Value::as_str).filter(|_| profile != Profile::Operator),
        rules: rules(kind, at),
    };
    let explicit =
        |name: &'static str| spec.get(name).filter(|at| at.is_object()).map(|at| block(name, at));
    // A strategy or a string `when` directly in the spec means nothing.
    let bare = || Block { merge: false, when: None, ..block("bare", spec) };
    let (defaults, overrides) = (explicit("defaults"), explicit("overrides"));
    match profile {
        Profile::Design => defaults.into_iter().chain([bare()]).chain(overrides).collect(),
        Profile::Latest if defaults.is_none() && overrides.is_none() => vec![bare()],
        Profile::Latest => defaults.into_iter().chain(overrides).collect(),
        Profile::Operator => vec![defaults.or(overrides).unwrap_or_else(bare)],
    }
}

fn rules(kind: &str, block: &Value) -> Vec<Declared> {
    let (maps, singles): (&[&[&str]], &[&[&str]]) = match kind {
        "AuthPolicy" => (&AUTH_MAPS, &AUTH_SINGLES),
        _ => (&LIMIT_MAPS, &[]),
    };
    let mut found = Vec::new();
    for steps in maps {
        for (name, value) in at(block, steps).and_then(Value::as_object).into_iter().flatten() {
            found.push(declared(steps, Some(name), value));
        }
    }
    for steps in singles {
        found.extend(at(block, steps).map(|value| declared(steps, None, value)));
    }
    // Run-time conditions are a rule; a text here is the condition of the block.
    if let Some(value) = block.get("when").filter(|w| w.as_array().is_some_and(|l| !l.is_empty())) {
        found.push(declared(&["when"], None, value));
    }
    found
}

fn at<'v>(block: &'v Value, steps: &[&str]) -> Option<&'v Value> {
    steps.iter().try_fold(block, |value, step| value.get(*step))
}

fn declared(steps: &[&str], name: Option<&String>, value: &Value) -> Declared {
    let steps = steps.iter().map(|step| (*step).to_owned());
    let place: Vec<String> = steps.chain(name.cloned()).collect();
    Declared { id: place.join("."), place, value: value.clone() }
}

/// The policies of a kind on a path, highest first: by level, then older first, then by name.
pub(super) fn ladder<'p, 'w>(
    policies: &'p [Policy<'w>],
    kind: &str,
    path: &Path,
) -> Vec<&'p Policy<'w>> {
    let mut ladder = Vec::new();
    for level in path.levels() {
        let mut here: Vec<&Policy> =
            policies.iter().filter(|p| p.kind == kind && p.targets(level)).collect();
        here.sort_by_key(|p| (p.age(), p.name.clone()));
        ladder.extend(here);
    }
    ladder
}

impl<'w> Policy<'w> {
    fn targets(&self, (kind, name, section): (&str, &str, Option<&str>)) -> bool {
        let target = self.target_ref;
        let group = text(target, "/group");
        // A policy can only name what is in its own namespace.
        let (namespace, _) = self.name.split_once('/').expect("a namespace");
        ["", GATEWAY_API].contains(&group)
            && text(target, "/kind") == kind
            && format!("{namespace}/{}", text(target, "/name")) == name
            && target.get("sectionName").and_then(Value::as_str) == section
    }

    /// Sorts older first, and what has no creation time last: it is about to be created. Times are RFC 3339 in UTC
    /// with whole seconds, as Kubernetes writes them, so that text order is time order.
    fn age(&self) -> (bool, &'w str) {
        let created = text(self.metadata, "/creationTimestamp");
        (created.is_empty(), created)
    }
}
