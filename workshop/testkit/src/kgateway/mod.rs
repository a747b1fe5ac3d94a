// SPDX-License-Identifier: Apache-2.0
//! In: resources as JSON, controller settings. Out: kgateway's effective TrafficPolicies and built-ins on every path,
//! computed the slow way; statuses; and worlds to compute them for.
//! Not here: anything shared with the engine; other kinds (ListenerPolicy, BackendConfigPolicy, DirectResponse);
//! listeners that conflict: the worlds have none.
//!
//! Written from the text, one function per sentence of it. Documents stay JSON, every path scans every object and every
//! policy, every path is folded anew.
//!
//! ```text
//!  paths        gateway > [set >] listener > route, by trying all pairs     delegation   route > rule > route > ...
//!  policy       a policy as written: units, errors, targets, order          unit         two values of one unit
//!  fold         levels of a route chain      tiers    what gateways add     builtin      filters and rule fields
//!  grant        what may be used of other namespaces
//!  status       what kgateway reports        world    small random worlds   fleet        trees of any size
//! ```

mod builtin;
mod delegation;
mod fleet;
mod fold;
mod grant;
mod paths;
mod policy;
mod status;
#[cfg(test)]
mod tests;
mod tiers;
mod unit;
pub mod world;

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::{ReadOptions, Severity, SingleLetters, read_one};
use serde_json::Value;

pub use fleet::fleet;
pub use paths::Path;
pub use status::{Reasons, Statuses, status};

/// The API group of routes and gateways.
const GATEWAY_API: &str = "gateway.networking.k8s.io";
/// The API group of policies and extensions.
const KGATEWAY: &str = "gateway.kgateway.dev";
/// How the policies of an object meet those below it.
const PRIORITY: &str = "kgateway.dev/inherited-policy-priority";

/// The rule set in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// What is released, its oddities included.
    Shipped,
    /// What the documents mean: the preferred side wins everywhere, and gateways may prefer themselves.
    Design,
}

/// What the controller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OracleSettings {
    /// Unit -> `DeepMerge` or `ShallowMerge`, for policies of one level.
    pub policy_merge: BTreeMap<String, String>,
    /// The namespace whose selectors reach into all others.
    pub global_policy_namespace: Option<String>,
    /// What a delegation by label writes for "every namespace".
    pub delegation_wildcard_namespace: String,
    /// `OFF`, `PERMISSIVE` or `STRICT`.
    pub reference_grant_mode: String,
}

impl Default for OracleSettings {
    fn default() -> Self {
        Self {
            policy_merge: BTreeMap::new(),
            global_policy_namespace: None,
            delegation_wildcard_namespace: String::from("all"),
            reference_grant_mode: String::from("PERMISSIVE"),
        }
    }
}

impl OracleSettings {
    /// The `settings` of a case; what is not written has its default.
    pub fn of_case(settings: &Value) -> Self {
        let string = |name: &str| settings.get(name).and_then(Value::as_str).map(str::to_owned);
        let merges = settings.get("policyMerge").and_then(Value::as_object).into_iter().flatten();
        let merge =
            |(unit, how): (&String, &Value)| (unit.clone(), how.as_str().unwrap_or("").to_owned());
        Self {
            policy_merge: merges.map(merge).collect(),
            global_policy_namespace: string("globalPolicyNamespace"),
            delegation_wildcard_namespace: string("delegationWildcardNamespace")
                .unwrap_or_else(|| String::from("all")),
            reference_grant_mode: string("referenceGrantMode")
                .unwrap_or_else(|| String::from("PERMISSIVE")),
        }
    }
}

/// What holds for one kind on one path.
#[derive(Debug, Clone, PartialEq)]
pub struct OraclePolicy {
    /// As the cases write it: gateway, set if any, listener, routes from root to leaf, name or `#index` of its rule.
    pub path: Vec<String>,
    /// The rule of each route of the path, by index. Two paths may differ in nothing but this.
    pub rules: Vec<usize>,
    /// `TrafficPolicy` or `builtin`.
    pub kind: &'static str,
    /// Unit -> value.
    pub fields: BTreeMap<String, Value>,
    /// Unit -> who contributed: policies `ns/name`, or rules `ns/name#index`.
    pub sources: BTreeMap<String, BTreeSet<String>>,
    /// Units of the TrafficPolicy, or parts of them, whose place a built-in took.
    pub shadowed: BTreeSet<String>,
    /// Built-ins that pile up, in the order they are applied: `from`, `type`, `value`.
    pub accumulated: Vec<Value>,
    /// Whether requests on this path are answered with 500, whatever the reason; the same for both kinds.
    pub error: bool,
    /// What requests must match, all routes of the path considered; one of these.
    pub matches: Vec<Value>,
}

/// Every answer for the documents of a text: two for each path, also where there is nothing to say.
pub fn oracle(yaml: &str, settings: &OracleSettings, profile: Profile) -> Vec<OraclePolicy> {
    effective(&documents(yaml), settings, profile)
}

/// Every answer for a world: two for each path, also where there is nothing to say.
pub fn effective(
    objects: &[Value],
    settings: &OracleSettings,
    profile: Profile,
) -> Vec<OraclePolicy> {
    let objects = &crate::deletion::present(objects);
    let mut answers = Vec::new();
    for path in paths::all(objects, settings) {
        let chain = fold::chain(objects, settings, profile, &path);
        let (traffic, broken_above) = tiers::lay(objects, settings, profile, &path, chain.units);
        let built_in = builtin::chain(objects, profile, &path);
        let error = path.dead || chain.error || broken_above;
        let answer = |kind, merged: &BTreeMap<String, (Value, BTreeSet<String>)>| OraclePolicy {
            path: path.case_path(),
            rules: path.chain.iter().map(|(_, rule)| *rule).collect(),
            kind,
            fields: merged.iter().map(|(unit, held)| (unit.clone(), held.0.clone())).collect(),
            sources: merged.iter().map(|(unit, held)| (unit.clone(), held.1.clone())).collect(),
            shadowed: BTreeSet::new(),
            accumulated: Vec::new(),
            error,
            matches: path.matches.clone(),
        };
        answers.push(OraclePolicy {
            shadowed: builtin::shadowed(&traffic, &built_in),
            ..answer("TrafficPolicy", &traffic)
        });
        answers.push(OraclePolicy {
            accumulated: built_in.accumulated.clone(),
            ..answer("builtin", &built_in.slots())
        });
    }
    answers.sort_by(|a, b| (a.kind, &a.path, &a.rules).cmp(&(b.kind, &b.path, &b.rules)));
    answers
}

/// The documents of a YAML text as JSON; letters are letters, as in the files of cases.
pub fn documents(yaml: &str) -> Vec<Value> {
    let options = ReadOptions { single_letters: SingleLetters::Text, ..ReadOptions::default() };
    let read = read_one("world", yaml, &options);
    let errors: Vec<_> =
        read.diagnostics.iter().filter(|d| d.severity() == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:?}");
    read.documents.ids().map(|id| read.documents.root(id).to_json()).collect()
}

/// What is at a path of names, each after a slash; serde's own pointers escape names first, which takes longer than all
/// the rest.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('/').skip(1).try_fold(value, |value, name| value.get(name))
}

/// The text at a path, empty if there is none.
fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    text_or(value, path, "")
}

/// The text at a path, or what is meant without one.
fn text_or<'v>(value: &'v Value, path: &str, default: &'v str) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or(default)
}

/// The list at a path, empty if there is none.
fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn annotation<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object["metadata"]["annotations"].get(name).and_then(Value::as_str)
}

fn label<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object["metadata"]["labels"].get(name).and_then(Value::as_str)
}

fn group(object: &Value) -> &str {
    text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group)
}

fn namespace(object: &Value) -> &str {
    text_or(object, "/metadata/namespace", "default")
}

/// `namespace/name`.
fn full_name(object: &Value) -> String {
    format!("{}/{}", namespace(object), text(object, "/metadata/name"))
}

/// Whether this is the `namespace/name` of an object.
fn is_called(object: &Value, full_name: &str) -> bool {
    full_name.split_once('/') == Some((namespace(object), text(object, "/metadata/name")))
}

fn of_kind<'w>(
    objects: &'w [Value],
    api: &'static str,
    kind: &str,
) -> impl Iterator<Item = &'w Value> {
    objects.iter().filter(move |o| group(o) == api && text(o, "/kind") == kind)
}

/// The object of the Gateway API with this kind and `namespace/name`.
fn find<'w>(objects: &'w [Value], kind: &str, name: &str) -> &'w Value {
    of_kind(objects, GATEWAY_API, kind)
        .find(|object| is_called(object, name))
        .expect("paths name objects of the world")
}

/// A rule of a route, by `namespace/name` and index.
fn rule<'w>(objects: &'w [Value], kind: &str, route: &str, index: usize) -> &'w Value {
    &list(find(objects, kind, route), "/spec/rules")[index]
}
