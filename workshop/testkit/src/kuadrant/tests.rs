// SPDX-License-Identifier: Apache-2.0
//! In: cases with known answers. Out: the oracle finds the same. Not here: the engine, which it is compared with.

mod conformance;
mod corners;
mod pictures;

use std::collections::{BTreeMap, BTreeSet};

use overrule_source::{ReadOptions, read_one};
use serde_json::{Value, json};

use super::{OracleEffective, Profile, effective};

/// The documents of a YAML text as JSON.
pub(super) fn documents(text: &str) -> Vec<Value> {
    let read = read_one("test", text, &ReadOptions::default());
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let documents = &read.documents;
    documents.ids().map(|id| documents.root(id).to_json()).collect()
}

/// Gateway `g/gw` with listeners `web` and `api`, and HTTPRoute `r/route` with a rule, on both.
fn small_world() -> Vec<Value> {
    documents(
        "
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: g}, spec: {
  gatewayClassName: c, listeners: [
    {name: web, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}},
    {name: api, port: 81, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route, namespace: r}, spec: {
  parentRefs: [{name: gw, namespace: g}], rules: [{name: read}, {}]}}
",
    )
}

/// A policy out of `level name [age]: spec`, the levels being gateway, listener (`web`), route and rule (`read`).
fn policy(kind: &str, head: &str, spec: &str) -> Value {
    let words: Vec<&str> = head.split(' ').collect();
    let (namespace, target) = match words[0] {
        "gateway" => ("g", json!({"kind": "Gateway", "name": "gw"})),
        "listener" => ("g", json!({"kind": "Gateway", "name": "gw", "sectionName": "web"})),
        "route" => ("r", json!({"kind": "HTTPRoute", "name": "route"})),
        "rule" => ("r", json!({"kind": "HTTPRoute", "name": "route", "sectionName": "read"})),
        other => panic!("no level {other}"),
    };
    let mut spec = documents(spec).remove(0);
    spec["targetRef"] = target;
    let mut metadata = json!({"name": words[1], "namespace": namespace});
    if let Some(second) = words.get(2) {
        metadata["creationTimestamp"] = json!(format!("2024-01-01T00:00:{second}Z"));
    }
    json!({"apiVersion": "kuadrant.io/v1", "kind": kind, "metadata": metadata, "spec": spec})
}

/// The effective policy on `g/gw > web > r/route > read`.
fn on_path(kind: &str, policies: &[(&str, &str)], profile: Profile) -> OracleEffective {
    let mut world = small_world();
    world.extend(policies.iter().map(|(head, spec)| policy(kind, head, spec)));
    let path = ["g/gw", "web", "r/route", "read"].map(String::from).to_vec();
    let key = (kind.to_owned(), path, String::from("HTTPRoute"));
    effective(&world, profile).remove(&key).expect("an effective policy")
}

/// Rules in force as `id=value<policy name>`, those lost as `-name.block:id`, removed as `/`, skipped as `?` and `!`.
fn summary(answer: &OracleEffective) -> Vec<String> {
    let short = |policy: &str| policy.split_once('/').expect("a namespace").1.to_owned();
    let by = |set: &BTreeSet<String>| set.iter().map(|p| short(p)).collect::<Vec<_>>().join(",");
    let rules = answer.rules.iter().map(|(id, r)| format!("{id}={}<{}", r.value, short(&r.policy)));
    let lost = |sign: char, set: &BTreeSet<super::OracleLoss>| {
        let one = |l: &super::OracleLoss| {
            format!("{sign}{}.{}:{}<{}", short(&l.policy), l.block, l.rule, by(&l.by))
        };
        set.iter().map(one).collect::<Vec<_>>()
    };
    let skipped = answer
        .skipped
        .iter()
        .map(|s| format!("{}{}.{}", if s.failed { '!' } else { '?' }, short(&s.policy), s.block));
    rules
        .chain(lost('-', &answer.overridden))
        .chain(lost('/', &answer.removed))
        .chain(skipped)
        .collect()
}

/// Checks what [`summary`] says, in any order.
fn check(what: &str, kind: &str, profile: Profile, policies: &[(&str, &str)], expected: &[&str]) {
    let found: BTreeSet<String> = summary(&on_path(kind, policies, profile)).into_iter().collect();
    let expected: BTreeSet<String> = expected.iter().map(|e| (*e).to_owned()).collect();
    assert_eq!(found, expected, "{what}, {profile:?}");
}

#[test]
fn only_paths_and_kinds_with_policies_are_answered() {
    let mut world = small_world();
    world.push(policy("RateLimitPolicy", "listener ls", "limits: {a: 1}"));
    world.push(policy("AuthPolicy", "rule ru", "rules: {authentication: {a: 1}}"));
    let answers = effective(&world, Profile::Design);
    let found: BTreeMap<String, usize> = answers
        .iter()
        .map(|((kind, path, _), a)| (format!("{kind} {}", path.join(" ")), a.rules.len()))
        .collect();
    let expected = [
        "AuthPolicy g/gw api r/route read",
        "AuthPolicy g/gw web r/route read",
        "RateLimitPolicy g/gw web r/route read",
        "RateLimitPolicy g/gw web r/route rule-2",
    ];
    assert_eq!(found, expected.map(|e| (e.to_owned(), 1)).into());
}
