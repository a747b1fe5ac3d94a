// SPDX-License-Identifier: Apache-2.0
//! In: permissions that the conformance data has no case of. Out: whether what is wrong with them is told in order, and
//! who they let reach what.

use std::collections::BTreeMap;

use overrule_mesh::permission::violations;
use overrule_mesh::policy::Policy;
use overrule_mesh::reachable::Reachable;
use serde_json::{Value, json};

use super::read::World;

fn said(spec: &Value) -> Vec<String> {
    violations(spec).into_iter().map(|v| format!("{}: {}", v.field, v.message)).collect()
}

const NEITHER: &str = "spec: at least one of 'from' or 'rules' has to be defined";

#[test]
fn lists() {
    assert_eq!(said(&json!({})), [NEITHER]);
    assert_eq!(said(&json!({"from": [], "rules": null, "default": {}})), [NEITHER]);
    let entry = json!({"targetRef": {"kind": "Mesh"}, "default": {"action": "Deny"}});
    let id = json!({"spiffeID": {"type": "Exact", "value": "spiffe://td/a"}});
    let rule = json!({"default": {"deny": [id]}});
    assert!(said(&json!({"from": [entry]})).is_empty());
    assert!(said(&json!({"rules": [rule, rule]})).is_empty());
    let both = said(&json!({"from": [entry], "rules": [rule]}));
    assert_eq!(both, ["spec: field 'from' must be empty when 'rules' is defined"]);
}

#[test]
fn references_come_first() {
    let section = json!({"kind": "Dataplane", "sectionName": "http"});
    let want = ["spec.targetRef.sectionName: can only be used with inbound policies", NEITHER];
    assert_eq!(said(&json!({"targetRef": section})), want);
    let rules = json!([{"default": {"deny": [{}]}}]);
    assert!(said(&json!({"targetRef": section, "rules": rules})).is_empty());
    let want = ["spec.targetRef.kind: must be defined", NEITHER];
    assert_eq!(said(&json!({"targetRef": {}})), want);
    let want = ["spec.targetRef.tags[\"a\"]: must be a string", NEITHER];
    assert_eq!(said(&json!({"targetRef": {"kind": "MeshSubset", "tags": {"a": 1}}})), want);
}

#[test]
fn entries_need_somebody_and_an_action() {
    let from = json!([{}, {"targetRef": {"kind": "Dataplane"}, "default": {"action": ""}}]);
    let want = [
        "spec.from[0].targetRef.kind: must be defined",
        "spec.from[0].default.action: must be defined",
        "spec.from[1].targetRef.kind: value 'Dataplane' is not supported",
        "spec.from[1].default.action: must be defined",
    ];
    assert_eq!(said(&json!({"from": from})), want);
}

#[test]
fn matches_are_told_list_by_list() {
    let id = |value: &str| json!({"spiffeID": {"type": "Prefix", "value": value}});
    let sni = |kind: &str, value: &str| json!({"sni": {"type": kind, "value": value}});
    let conf = json!({"deny": [id("td")], "allow": [id("spiffe://td"), id("spiffe://td/")],
        "allowWithShadowDeny": [sni("Exact", "a.b-c"), sni("Prefix", ""), sni("Exact", "a-.b")]});
    let found = said(&json!({"rules": [{"default": conf}, {}]}));
    // The release drops server names before it looks.
    let starts = [
        "spec.rules[0].allow[1].spiffeID: must be a valid Spiffe ID",
        "spec.rules[0].deny[0].spiffeID: must be a valid Spiffe ID",
        "spec.rules[1]: at least one of 'allow', 'allowWithShadowDeny', 'deny'",
    ];
    assert_eq!(found.len(), starts.len(), "{found:?}");
    for (found, start) in found.iter().zip(starts) {
        assert!(found.starts_with(start), "{found}");
    }
}

fn permission(target: &Value, from: &Value, action: &str) -> Value {
    json!({"type": "MeshTrafficPermission", "mesh": "m", "name": "p", "spec": {
        "targetRef": target, "from": [{"targetRef": from, "default": {"action": action}}]}})
}

/// Whether a client reaches a service that only a tag names.
fn reaches(policies: &[Value], to: &str, client: &str) -> bool {
    let world = World::read(&[policies]).unwrap();
    let policies: Vec<Policy> =
        world.list(0).iter().filter_map(|r| Policy::read(&world.documents, r)).collect();
    let reachable = Reachable::service(&world.documents, &policies, to, &BTreeMap::new());
    reachable.by(&BTreeMap::from([("kuma.io/service", client)]))
}

#[test]
fn nobody_without_a_rule() {
    let mesh = json!({"kind": "Mesh"});
    assert!(!reaches(&[], "a", "b"));
    let b = json!({"kind": "MeshService", "name": "b"});
    let only_b = [permission(&mesh, &b, "AllowWithShadowDeny")];
    assert!(reaches(&only_b, "a", "b") && !reaches(&only_b, "a", "c"));
    assert!(!reaches(&[permission(&mesh, &mesh, "Deny")], "a", "b"));
}

#[test]
fn what_cannot_be_known_is_not_asked_for() {
    let mesh = json!({"kind": "Mesh"});
    let version = json!({"kind": "MeshServiceSubset", "name": "a", "tags": {"version": "v1"}});
    let of_version = [permission(&version, &mesh, "Allow")];
    assert!(reaches(&of_version, "a", "x") && !reaches(&of_version, "b", "x"));
    let of_proxies = [permission(&json!({"kind": "Dataplane"}), &mesh, "Allow")];
    assert!(!reaches(&of_proxies, "a", "x"));
}

#[test]
fn a_backend_has_the_tags_of_its_selector_and_its_zone() {
    let service = json!({"type": "MeshService", "mesh": "m", "name": "a",
        "labels": {"kuma.io/zone": "east"}, "spec": {"selector": {"dataplaneTags": {"app": "a"}}}});
    let reach = |tags: Value| {
        let target = json!({"kind": "MeshSubset", "tags": tags});
        let from = json!({"kind": "MeshSubset", "tags": {"app": "b"}});
        let policy = permission(&target, &from, "Allow");
        let world = World::read(&[&[policy], std::slice::from_ref(&service)]).unwrap();
        let policies: Vec<Policy> =
            world.list(0).iter().filter_map(|r| Policy::read(&world.documents, r)).collect();
        let reachable = Reachable::backend(&world.documents, &policies, &world.list(1)[0]);
        assert!(!reachable.by(&BTreeMap::from([("app", "c")])));
        reachable.by(&BTreeMap::from([("app", "b")]))
    };
    assert!(reach(json!({"app": "a"})) && !reach(json!({"app": "z"})));
    assert!(reach(json!({"kuma.io/zone": "east"})) && !reach(json!({"kuma.io/zone": "west"})));
    assert!(reach(json!({"team": "x"})), "nobody knows the team");
}
