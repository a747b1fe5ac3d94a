// SPDX-License-Identifier: Apache-2.0
//! In: a path. Out: what the Gateway API's own filters and rule fields along it come to. Not here: policies, apart from
//! which of their units are left without effect.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::unit::How;
use super::{PRIORITY, Path, Profile, annotation, at, find, list, rule, text};

/// What built-ins along a chain come to.
#[derive(Debug, Clone, Default)]
pub(super) struct BuiltIn {
    /// Slot -> value, the rule it is from, and whether that rule has retries.
    taken: BTreeMap<String, (Value, String, bool)>,
    /// What never competes, in the order it is applied.
    pub accumulated: Vec<Value>,
}

impl BuiltIn {
    /// Slot -> value and source.
    pub fn slots(&self) -> BTreeMap<String, (Value, BTreeSet<String>)> {
        let slot = |(name, (value, from, _)): (&String, &(Value, String, bool))| {
            (name.clone(), (value.clone(), BTreeSet::from([from.clone()])))
        };
        self.taken.iter().map(slot).collect()
    }

    /// Whether the timeouts in force limit the whole request. Those of a single try alone do not.
    fn limits_requests(&self) -> bool {
        self.taken
            .get("timeouts")
            .is_some_and(|(timeouts, _, retries)| timeouts.get("request").is_some() || !retries)
    }
}

/// The rules of a path from leaf to root, applied one by one.
pub(super) fn chain(objects: &[Value], profile: Profile, path: &Path) -> BuiltIn {
    let mut built_in = BuiltIn::default();
    for (depth, (route, index)) in path.chain.iter().rev().enumerate() {
        let object = find(objects, path.route_kind, route);
        let rule = rule(objects, path.route_kind, route, *index);
        let how = How::of(annotation(object, PRIORITY));
        let from = format!("{route}#{index}");
        // Every word but the default overwrites, also that for a deep merge that prefers the child.
        let overwrites = match profile {
            Profile::Shipped => how != How::AUGMENT,
            Profile::Design => how.prefer_new,
        };
        for (slot, value) in slots(rule) {
            if overwrites || !built_in.taken.contains_key(slot) {
                let retries = rule.get("retry").is_some();
                built_in.taken.insert(slot.to_owned(), (value.clone(), from.clone(), retries));
            }
        }
        let new = accumulating(rule, &from);
        if profile == Profile::Design && depth > 0 && !how.prefer_new {
            built_in.accumulated = [new, built_in.accumulated].concat();
        } else {
            built_in.accumulated.extend(new);
        }
    }
    built_in
}

/// What a rule wants to have a slot for.
fn slots(rule: &Value) -> Vec<(&'static str, &Value)> {
    let mut found = Vec::new();
    for field in ["timeouts", "retry", "sessionPersistence"] {
        found.extend(rule.get(field).map(|value| (field, value)));
    }
    for filter in list(rule, "/filters") {
        let wanted: &[(&str, &str)] = match text(filter, "/type") {
            "URLRewrite" => &[
                ("urlRewrite.hostname", "/urlRewrite/hostname"),
                ("urlRewrite.path", "/urlRewrite/path"),
            ],
            "RequestRedirect" => &[("requestRedirect", "/requestRedirect")],
            "CORS" => &[("cors", "/cors")],
            _ => &[],
        };
        for (slot, path) in wanted {
            found.extend(at(filter, path).map(|value| (*slot, value)));
        }
    }
    found
}

/// Filters that pile up over a chain.
fn accumulating(rule: &Value, from: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for filter in list(rule, "/filters") {
        let kind = text(filter, "/type");
        let field = match kind {
            "RequestHeaderModifier" => "requestHeaderModifier",
            "ResponseHeaderModifier" => "responseHeaderModifier",
            "RequestMirror" => "requestMirror",
            _ => continue,
        };
        found.push(json!({"from": from, "type": kind, "value": filter[field]}));
    }
    found
}

/// Units of a policy, or parts of them, whose place a built-in took.
pub(super) fn shadowed(
    policy: &BTreeMap<String, (Value, BTreeSet<String>)>,
    built_in: &BuiltIn,
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let request = policy.get("timeouts").and_then(|(value, _)| value.get("request"));
    if request.is_some() && built_in.limits_requests() {
        found.insert(String::from("timeouts.request"));
    }
    for (unit, slot) in [
        ("retry", "retry"),
        ("cors", "cors"),
        ("urlRewrite", "urlRewrite.path"),
        ("autoHostRewrite", "urlRewrite.hostname"),
    ] {
        if policy.contains_key(unit) && built_in.taken.contains_key(slot) {
            found.insert(unit.to_owned());
        }
    }
    found
}
