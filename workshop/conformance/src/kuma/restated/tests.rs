// SPDX-License-Identifier: Apache-2.0
//! In: one small case per area. Out: whether it passes, and fails when what it expects is changed or gone.

use serde_json::{Value, json};

use super::run;

/// An area, a case of it, the member that says what is expected, and another value for it that must not pass.
fn samples() -> Vec<(&'static str, Value, &'static str, Value)> {
    let all = [names(), references(), sets(), confs(), lookups(), orders()];
    all.into_iter().flatten().collect()
}

type Sample = (&'static str, Value, &'static str, Value);

fn names() -> Vec<Sample> {
    let shop = json!({"resourceType": "MeshRetry", "mesh": "m", "zone": "", "namespace": "",
        "name": "shop", "sectionName": ""});
    let plane = json!({"mode": "zone", "zone": "z", "environment": "kubernetes",
        "systemNamespace": "sys"});
    let parsed = json!({"kri": "kri_mr_m___shop_", "ok": shop});
    let broken = json!({"kri": "kri_no", "error": "invalid identifier string: \"kri_no\""});
    let core = json!({"cp": plane, "kri": "kri_mr_m_z__shop_", "expected": "shop.sys"});
    let hashed = json!({"mesh": "mesh-1", "name": "backend", "values": [],
        "expected": "backend-z6v4648zfz9c6wbv"});
    let written = json!({"mode": "zone", "kubernetes": false, "zone": "z", "systemNamespace": "s",
        "resource": {"type": "Timeout", "mesh": "m", "name": "t"},
        "expected": {"kuma.io/mesh": "m"}});
    let meant = json!({"policyMesh": "m", "refName": "r", "resource": {"mesh": "m", "name": "r"},
        "referenced": true});
    let role = json!({"kind": "MeshTimeout", "spec": {}, "namespace": "shop",
        "isSystemNamespace": false, "role": "workload-owner"});
    vec![
        ("kri/parse", parsed, "ok", json!({})),
        ("kri/parse", broken, "error", json!("")),
        (
            "kri/format",
            json!({"identifier": shop, "expected": "kri_mr_m___shop_"}),
            "expected",
            json!(""),
        ),
        (
            "kri/from_meta",
            json!({"type": "MeshRetry", "mesh": "m", "name": "a", "labels": {},
                "expected": "kri_mr_m___a_"}),
            "expected",
            json!("kri_mr_m___b_"),
        ),
        ("kri/core_name", core, "expected", json!("shop")),
        ("kri/hashed_name", hashed, "expected", json!("backend")),
        ("labels/compute_labels", written, "expected", json!({})),
        ("labels/is_referenced", meant, "referenced", json!(false)),
        ("labels/plural", json!({"type": "Wish", "plural": "Wishes"}), "plural", json!("Wishs")),
        ("labels/policy_role", role, "role", json!("consumer")),
    ]
}

fn references() -> Vec<Sample> {
    let good = json!({"targetRef": {"kind": "Mesh"}, "options": {"supportedKinds": ["Mesh"]},
        "violations": []});
    let meant = json!({"policy": {"type": "MeshRetry", "mesh": "m", "name": "p"},
        "targetRef": {"kind": "Mesh"}, "resources": [{"type": "Mesh", "name": "m"}],
        "expected": ["kri_m____m_"]});
    vec![
        ("targetref-validation/targetref", good, "violations", json!([{}])),
        ("resolve/targetref", meant, "expected", json!([])),
    ]
}

fn sets() -> Vec<Sample> {
    let a = json!([{"key": "a", "value": "1"}]);
    let not_a = json!([{"key": "a", "value": "1", "not": true}]);
    let within = json!({"s1": [], "s2": a, "s2IsSubsetOfS1": true});
    let apart = json!({"s1": a, "s2": [{"key": "a", "value": "2"}], "intersect": false});
    let found = json!({"rules": [{"subset": a, "conf": 1}], "element": {"a": "1"}, "expected": 1});
    let action = json!({
        "items": [{"targetRef": {"kind": "Mesh"}, "action": "Allow"},
            {"targetRef": {"kind": "MeshSubset", "tags": {"a": "1"}}, "action": "Deny"}],
        "expected": [{"element": {"a": "1"}, "action": "Deny"},
            {"element": {"a": "2"}, "action": "Allow"}, {"element": {}, "action": null}],
    });
    vec![
        ("subset/is_subset", within, "s2IsSubsetOfS1", json!(false)),
        ("subset/intersect", apart, "intersect", json!(true)),
        (
            "subset/contains_element",
            json!({"subset": a, "element": {"a": "1"}, "contains": true}),
            "contains",
            json!(false),
        ),
        ("subset/compute", found, "expected", json!(null)),
        ("subset/iter", json!({"tags": a, "expected": [not_a, a]}), "expected", json!([a, not_a])),
        (
            "subset/effective_action",
            action,
            "expected",
            json!([{"element": {"a": "1"}, "action": "Allow"}]),
        ),
    ]
}

fn confs() -> Vec<Sample> {
    let merged = json!({"appendFields": ["l"], "confs": [{"l": [1], "a": 1}, {"l": [2], "a": null}],
        "expected": [{"l": [1, 2]}]});
    let conf = json!({"rules": [{"matches": [{"method": "GET"}], "default": {}}]});
    let route = json!({"type": "MeshHTTPRoute", "mesh": "m", "name": "r", "spec": {"to": [
        {"targetRef": {"kind": "MeshService", "name": "s"}, "rules": conf["rules"]}]}});
    let proxy = json!({"type": "Dataplane", "mesh": "m", "name": "d", "networking":
        {"address": "1.1.1.1", "inbound": [{"port": 1, "tags": {"kuma.io/service": "d"}}]}});
    let rule = json!({"subset": [{"key": "kuma.io/service", "value": "s"}], "conf": conf,
        "origin": ["r"], "originByMatches": {"I7RdfNUejIfyE+WjpGgvc4tqzvY9OvlVZVgCQRAD7I4=": "r"}});
    let routes = json!({"dataplane": proxy, "policies": [route],
        "expected": {"rules": [rule], "resourceRules": {}}});
    vec![
        ("merge/confs", merged, "expected", json!([{"l": [2]}])),
        ("merge/httproute", routes, "expected", json!({"rules": [], "resourceRules": {}})),
    ]
}

fn lookups() -> Vec<Sample> {
    let rules = json!({"kri_m____m_": "mesh", "kri_msvc_m___a_": "service"});
    let section = json!({"rules": rules, "meshes": [], "lookup": "kri_msvc_m___a_http",
        "expected": "service"});
    let absent = json!({"rules": rules, "meshes": [], "lookup": "kri_msvc_m___b_",
        "expected": null});
    let chain = json!({"rules": rules, "mesh": "m", "expected": "service",
        "withIds": ["kri_msvc_m___a_", "kri_mhttpr_m___r_"]});
    vec![
        ("resolve/compute", section, "expected", json!("mesh")),
        ("resolve/compute", absent, "expected", json!("mesh")),
        ("resolve/context", chain, "expected", json!("mesh")),
    ]
}

fn orders() -> Vec<Sample> {
    let mesh = json!({"kind": "Mesh"});
    let policy = |name: &str| json!({"name": name, "targetRef": mesh, "to": [mesh]});
    let two = json!([policy("a"), policy("b")]);
    let exact = json!({"path": {"type": "Exact", "value": "/"}});
    let refs = json!({"a": {"kind": "Dataplane", "name": "a"},
        "b": {"kind": "Dataplane", "labels": {"a": "b"}}, "expected": 1});
    vec![
        (
            "ordering/kinds",
            json!({"a": "Mesh", "b": "Dataplane", "expected": -1}),
            "expected",
            json!(0),
        ),
        (
            "ordering/kinds",
            json!({"lowestToHighest": ["Mesh", "MeshService"]}),
            "lowestToHighest",
            json!(["MeshService", "Mesh"]),
        ),
        ("ordering/dataplane_refs", refs, "expected", json!(0)),
        (
            "ordering/policies",
            json!({"policies": two, "expected": ["b", "a"]}),
            "expected",
            json!(["a", "b"]),
        ),
        (
            "ordering/to_entries",
            json!({"policies": two, "expected": ["b[0]", "a[0]"]}),
            "expected",
            json!([]),
        ),
        (
            "ordering/http_matches",
            json!({"matches": [{}, exact], "expected": [exact, {}]}),
            "expected",
            json!([{}, exact]),
        ),
    ]
}

#[test]
fn every_area_tells_right_from_wrong_and_from_nothing() {
    for (area, case, key, wrong) in samples() {
        let result = |case: &Value| run(area, case).expect(area);
        assert_eq!(result(&case), Ok(()), "{area}");
        let mut changed = case.clone();
        changed[key] = wrong;
        assert!(result(&changed).is_err(), "{area}: {changed}");
        let mut gone = case;
        gone.as_object_mut().unwrap().remove(key);
        assert!(result(&gone).is_err(), "{area}: {gone}");
        assert!(result(&json!({})).is_err(), "{area}");
    }
}

#[test]
fn an_area_that_is_not_known_is_no_pass() {
    assert_eq!(run("kri/other", &json!({})), None);
}

#[test]
fn what_cannot_be_expressed_is_told() {
    let option = json!({"targetRef": {"kind": "Mesh"}, "violations": [],
        "options": {"supportedKinds": ["Mesh"], "other": true}});
    let told = run("targetref-validation/targetref", &option);
    assert_eq!(told, Some(Err("the option `other` is not known".to_owned())));
    let mode = json!({"cp": {"mode": "both"}, "kri": "kri_m____m_", "expected": "m"});
    assert!(matches!(run("kri/core_name", &mode), Some(Err(_))));
    let resource = json!({"policy": {"type": "MeshRetry", "name": "p"}, "resources": [{"a": 1}],
        "targetRef": {"kind": "Mesh"}, "expected": []});
    let told = run("resolve/targetref", &resource);
    assert_eq!(told, Some(Err("0 of 1 values are resources".to_owned())));
}
