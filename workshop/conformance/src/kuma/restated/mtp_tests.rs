// SPDX-License-Identifier: Apache-2.0
//! In: one small case per area of permissions. Out: whether it passes, and fails when what it expects is changed or gone.

use serde_json::{Value, json};

use super::mtp_envoy::{Client, answer, shadow_answer};
use super::{applied, run};

fn id(how: &str, value: &str) -> Value {
    json!({"spiffeID": {"type": how, "value": value}})
}

fn deciding() -> Value {
    let policy = json!({"type": "MeshTrafficPermission", "mesh": "m", "name": "a.b", "spec":
        {"rules": [{"default": {"deny": [id("Exact", "spiffe://td/x")],
            "allowWithShadowDeny": [id("Prefix", "spiffe://td/")]}}]}});
    let by = |action: &str| json!({"action": action, "by": "kri_mtp_m___a.b_"});
    let nobody = json!({"action": "DENY", "by": "default"});
    json!({"policies": [policy], "ruleOrder": ["kri_mtp_m___a.b_"], "expected": [
        {"client": "spiffe://td/x", "design": by("DENY"), "shadow": by("DENY")},
        {"client": "spiffe://td/y", "design": by("ALLOW"), "shadow": by("DENY")},
        {"client": "spiffe://other/y", "design": nobody, "shadow": nobody},
    ]})
}

fn entry(target: Value, action: &str) -> Value {
    json!({"targetRef": target, "default": {"action": action}})
}

fn legacy_deciding() -> Value {
    let shop = json!({"kind": "MeshService", "name": "shop"});
    json!({"from": [entry(json!({"kind": "Mesh"}), "Allow"), entry(shop, "Deny")], "expected": [
        {"client": {"kuma.io/service": "shop"}, "action": "Deny", "decision": "DENY"},
        {"client": {"kuma.io/service": "web"}, "action": "Allow", "decision": "ALLOW"},
    ]})
}

fn filtering() -> Value {
    let action = |members: Value| {
        let mut typed = json!({"@type": "type.googleapis.com/envoy.config.rbac.v3.Action"});
        typed.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!({"action": {"name": "envoy.filters.rbac.action", "typedConfig": typed}})
    };
    let input = "type.googleapis.com/envoy.extensions.matching.common_inputs.ssl.v3.UriSanInput";
    let single = json!({"singlePredicate": {
        "input": {"name": "envoy.matching.inputs.uri_san", "typedConfig": {"@type": input}},
        "valueMatch": {"exact": "spiffe://td/x"}}});
    let one = json!({"onMatch": action(json!({"name": "kri_mtp_m___a_"})), "predicate": single});
    let typed = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC",
        "matcher": {"matcherList": {"matchers": [one]},
            "onNoMatch": action(json!({"action": "DENY", "name": "default"}))},
        "statPrefix": "in_1."});
    json!({"statsName": "in:1",
        "inboundRules": [{"origin": {"mesh": "m", "name": "a"},
            "conf": {"allow": [id("Exact", "spiffe://td/x")]}}],
        "expected": {"filters": [{"name": "envoy.filters.network.rbac", "typedConfig": typed}]}})
}

fn legacy_filtering() -> Value {
    let typed = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC",
        "rules": {"policies": {"MeshTrafficPermission": {"permissions": [{"any": true}],
            "principals": [{"notId": {"authenticated":
                {"principalName": {"exact": "kuma://a/1"}}}}]}}},
        "statPrefix": "in."});
    json!({"statsName": "in", "mesh": "m",
        "rules": [{"subset": [{"key": "a", "value": "1", "not": true}],
            "conf": {"action": "Allow"}}],
        "expected": {"filters": [{"name": "envoy.filters.network.rbac", "typedConfig": typed}]}})
}

fn reaching() -> [(&'static str, Value); 2] {
    let policy = json!({"type": "MeshTrafficPermission", "mesh": "m", "name": "p",
        "spec": {"from": [entry(json!({"kind": "MeshSubset", "tags": {"a": "1"}}), "Allow")]}});
    let service = json!({"type": "MeshService", "mesh": "m", "name": "s",
        "spec": {"selector": {"dataplaneTags": {"app": "s"}}}});
    let queries = |to: Value| {
        json!([{"from": {"a": "1"}, "to": to, "canReach": true},
            {"from": {"a": "2"}, "to": to, "canReach": false}])
    };
    let to = json!({"kuma.io/service": "s"});
    [
        (
            "mtp/reachable_services",
            json!({"services": {"s": {}}, "policies": [policy], "queries": queries(to)}),
        ),
        (
            "mtp/reachable_backends",
            json!({"meshServices": [service], "policies": [policy],
                "queries": queries(json!("kri_msvc_m___s_"))}),
        ),
    ]
}

fn samples() -> Vec<(&'static str, Value, &'static str)> {
    let said = json!({"field": "spec.rules[0]",
        "message": "at least one of 'allow', 'allowWithShadowDeny', 'deny' has to be defined"});
    let wrong = json!({"spec": {"rules": [{"default": {}}]}, "violations": [said]});
    let mut all = vec![
        ("mtp/validator", wrong, "violations"),
        ("mtp/decision", deciding(), "expected"),
        ("mtp/decision", deciding(), "ruleOrder"),
        ("mtp/legacy_decision", legacy_deciding(), "expected"),
        ("mtp/rbac", filtering(), "expected"),
        ("mtp/legacy_rbac", legacy_filtering(), "expected"),
    ];
    all.extend(reaching().map(|(area, case)| (area, case, "queries")));
    all
}

/// Every way to change one scalar of a value. Members that only name what is asked are left as they are.
fn changed(value: &Value) -> Vec<Value> {
    match value {
        Value::Object(members) => {
            let answers =
                members.iter().filter(|(key, _)| !["client", "from", "to"].contains(&key.as_str()));
            let with = |(key, of): (&String, &Value)| {
                let put = |new: Value| {
                    let mut members = members.clone();
                    members.insert(key.clone(), new);
                    Value::Object(members)
                };
                changed(of).into_iter().map(put).collect::<Vec<_>>()
            };
            answers.flat_map(with).collect()
        }
        Value::Array(items) => {
            let with = |(at, of): (usize, &Value)| {
                let put = |new: Value| {
                    let mut items = items.clone();
                    items[at] = new;
                    Value::Array(items)
                };
                changed(of).into_iter().map(put).collect::<Vec<_>>()
            };
            items.iter().enumerate().flat_map(with).collect()
        }
        Value::Bool(is) => vec![json!(!is)],
        Value::String(text) => vec![json!(format!("{text}!")), Value::Null],
        _ => vec![json!("other")],
    }
}

#[test]
fn every_area_tells_right_from_wrong_and_from_nothing() {
    for (area, case, key) in samples() {
        let result = |case: &Value| run(area, case).expect(area);
        assert_eq!(result(&case), Ok(()), "{area}");
        let wrong = changed(&case[key]);
        assert!(!wrong.is_empty(), "{area}");
        for wrong in wrong.into_iter().chain([json!([]), Value::Null]) {
            let mut other = case.clone();
            other[key] = wrong;
            assert!(result(&other).is_err(), "{area}: {other}");
        }
        let mut gone = case;
        gone.as_object_mut().unwrap().remove(key);
        assert!(result(&gone).is_err(), "{area}: {gone}");
        assert!(result(&json!({})).is_err(), "{area}");
    }
}

#[test]
fn what_the_release_does_otherwise_must_be_so() {
    let mut same = deciding();
    same["expected"][0]["kuma213"] = json!({"action": "ALLOW", "by": "default"});
    assert!(matches!(run("mtp/decision", &same), Some(Err(e)) if e.contains("kuma213")));
    let mut same = legacy_deciding();
    same["expected"][0]["kuma213Rbac"] = json!("ALLOW");
    assert!(matches!(run("mtp/legacy_decision", &same), Some(Err(e)) if e.contains("kuma213Rbac")));
}

#[test]
fn a_policy_that_is_not_understood_decides_nothing() {
    let mut case = deciding();
    case["policies"][0]["spec"]["rules"][0]["default"]["allow"] = json!([{"spiffeid": {}}]);
    assert!(matches!(run("mtp/decision", &case), Some(Err(e)) if e.contains("spiffeid")));
}

#[test]
fn another_mesh_is_always_reached() {
    let to = json!({"kuma.io/service": "s", "kuma.io/mesh": "n"});
    let case = json!({"services": {}, "policies": [],
        "queries": [{"from": {"a": "1"}, "to": to, "canReach": true}]});
    assert_eq!(run("mtp/reachable_services", &case), Some(Ok(())));
}

fn listener(chain: Value) -> Value {
    json!({"address": {"socketAddress": {"address": "1.1.1.1", "portValue": 80}},
        "filterChains": [chain]})
}

/// The names of the filters of the first chain, after the input was applied.
fn names(input: &Value) -> Vec<Value> {
    let done = applied(input).unwrap();
    let filters = &done["resources"][0]["resource"]["filterChains"][0]["filters"];
    filters.as_array().into_iter().flatten().map(|f| f["name"].clone()).collect()
}

#[test]
fn inbounds_with_tls_get_filters() {
    let tls = json!({"filters": [{"name": "tcp"}],
        "transportSocket": {"name": "envoy.transport_sockets.tls"}});
    let input = json!({"proxy": "dataplane", "mesh": {"name": "m", "mtlsEnabled": true},
        "rulesByInbound": {}, "inboundRulesByInbound": {"1.1.1.1:80": []},
        "resources": [{"name": "in", "origin": "inbound", "resource": listener(tls)}]});
    assert_eq!(names(&input), ["envoy.filters.network.rbac", "tcp"]);
    let filter =
        &applied(&input).unwrap()["resources"][0]["resource"]["filterChains"][0]["filters"][0];
    assert_eq!(
        filter["typedConfig"]["rules"],
        json!({}),
        "no rule by identity: the classic filter"
    );
    for (at, other) in [
        ("/mesh/mtlsEnabled", json!(false)),
        ("/resources/0/origin", json!("outbound")),
        ("/resources/0/resource/filterChains/0/transportSocket", json!({"name": "raw"})),
    ] {
        let mut input = input.clone();
        *input.pointer_mut(at).unwrap() = other;
        assert_eq!(names(&input), ["tcp"], "{at}");
    }
    let mut unknown = input;
    unknown["proxy"] = json!("other");
    assert!(applied(&unknown).is_err());
}

#[test]
fn services_behind_an_egress_get_filters() {
    let rules = json!([{"subset": [], "conf": {"action": "Allow"}}]);
    let input = |services: Value, name: &str| {
        json!({"proxy": "zoneEgress",
            "meshes": [{"name": "m", "mtlsEnabled": true, "externalServices": services}],
            "resources": [{"name": "eg", "origin": "egress",
                "resource": listener(json!({"name": name, "filters": []}))}]})
    };
    for services in [
        json!(["es"]),
        json!({"es": rules}),
        json!({"es": {"1.1.1.1:80": rules}}),
        json!([{"name": "es", "rules": rules}]),
    ] {
        assert_eq!(names(&input(services.clone(), "es_m")), ["envoy.filters.network.rbac"]);
        assert_eq!(names(&input(services, "es_n")), [] as [&str; 0]);
    }
}

#[test]
fn what_a_filter_must_not_have_is_no_answer() {
    let client = Client::svid("spiffe://td/x");
    let no_match = json!({"action": {"typedConfig": {"action": "DENY", "name": "default"}}});
    let with = |predicate: Value| {
        let one = json!({"predicate": predicate, "onMatch": no_match});
        json!({"matcher": {"matcherList": {"matchers": [one]}, "onNoMatch": no_match}})
    };
    assert!(answer(&json!({}), &client).is_err());
    assert!(answer(&with(json!({})), &client).is_err(), "an empty predicate");
    assert!(answer(&with(json!({"other": {}})), &client).is_err());
    assert!(answer(&json!({"rules": {"action": "DENY"}}), &client).is_err());
    assert_eq!(answer(&json!({"rules": {}}), &client), Ok((false, String::new())));
    assert_eq!(shadow_answer(&json!({"rules": {}}), &client), Ok(None));
}
