// SPDX-License-Identifier: Apache-2.0
//! In: manifests of two families. Out: that every command answers about both, and tells where profiles differ.
//! Not here: which result is right (the families' own tests).

use crate::GOOD;
use crate::common::{Ran, folder, run_on};

/// A gateway policy with two blocks, of which what is shipped takes none, and a route policy with a name with dots.
const KUADRANT: &str = "\
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: gw, namespace: shop, creationTimestamp: \"2026-01-01T00:00:00Z\"}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  defaults:
    strategy: merge
    limits: {a: {rates: [{limit: 5, window: 1m}]}, x.y: {rates: [{limit: 6, window: 1m}]}}
  overrides:
    strategy: merge
    limits: {b: {rates: [{limit: 7, window: 1m}]}}
---
apiVersion: kuadrant.io/v1
kind: RateLimitPolicy
metadata: {name: cart, namespace: shop, creationTimestamp: \"2026-01-02T00:00:00Z\"}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}
  limits: {a: {rates: [{limit: 1, window: 1m}]}}
";

fn ask(line: &str) -> Ran {
    let dir = folder(&[("a.yaml", GOOD), ("b.yaml", KUADRANT)]);
    let Ran { code, out, err } = run_on(dir.path(), line);
    // Every question has a folder of its own.
    Ran { code, out: out.replace(dir.path().to_str().unwrap(), "DIR"), err }
}

#[test]
fn lists_and_pictures_have_the_policies_of_every_family() {
    for line in ["get policies", "get", "graph", "graph -o dot", "graph httproute/shop/cart"] {
        let ran = ask(line);
        assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
        assert!(
            ran.out.contains("TimeoutPolicy") && ran.out.contains("RateLimitPolicy"),
            "{line}: {ran:?}"
        );
    }
    let ran = ask("effective");
    let kinds: Vec<&str> = ran
        .out
        .lines()
        .skip(1)
        .map(|l| if l.contains("TimeoutPolicy") { "t" } else { "r" })
        .collect();
    assert_eq!(kinds, ["t", "r"], "by family, then path: {ran:?}");
    let ran = ask("explain httproute/shop/cart");
    assert!(
        ran.out.contains("TimeoutPolicy at") && ran.out.contains("RateLimitPolicy at"),
        "{ran:?}"
    );
    let ran = ask("check");
    assert!(ran.err.contains("3 policies of"), "{ran:?}");
}

#[test]
fn a_question_about_one_target_compares_and_is_not_disputed_by_that() {
    for line in [
        "effective httproute/shop/cart --kind ratelimitpolicy",
        "explain httproute/shop/cart#rule-1",
    ] {
        let ran = ask(line);
        assert_eq!(ran.code, Some(0), "{line}");
        let said = "kuadrant/operator (the shipped version) gives a different result:";
        assert!(ran.out.contains(said), "{line}: {}", ran.out);
        let disputed = ask(&format!("{line} --compare"));
        assert_eq!((disputed.code, disputed.out), (Some(1), ran.out), "{line}");
    }
    let ran = ask("effective httproute/shop/cart --kind ratelimitpolicy -o json");
    let others = &ran.json()["items"][0]["otherProfiles"];
    assert_eq!(
        (others[0]["profile"].as_str(), others[0]["shipped"].as_bool()),
        (Some("operator"), Some(true))
    );
    assert!(others[0]["differs"].as_array().unwrap().iter().any(|p| p == "/limits/b"), "{others}");
}

#[test]
fn a_fleet_is_compared_when_asked() {
    let ran = ask("effective");
    assert!(ran.code == Some(0) && !ran.out.contains("under kuadrant"), "{ran:?}");
    let ran = ask("effective --compare");
    assert!(ran.code == Some(1) && ran.out.contains("  under kuadrant/operator"), "{ran:?}");
    let ran = ask("get policies --compare");
    assert!(ran.code == Some(1) && ran.out.contains("(operator: "), "{ran:?}");
    let ran = ask("effective --compare --kind timeoutpolicy");
    assert_eq!(ran.code, Some(0), "one profile, no dispute: {ran:?}");
    let ran = ask("graph --compare");
    assert!(ran.code == Some(0) && ran.err.contains("does not compare"), "{ran:?}");
    let dir = folder(&[("a.yaml", GOOD)]);
    let ran = run_on(dir.path(), "effective --compare");
    assert!(ran.code == Some(0) && ran.err.contains("nothing to compare"), "{ran:?}");
}

#[test]
fn a_profile_is_chosen_by_name() {
    let ran = ask("effective --kind ratelimitpolicy --profile kuadrant=operator -o json");
    let item = &ran.json()["items"][0];
    assert_eq!(
        (item["family"].as_str(), item["profile"].as_str()),
        (Some("kuadrant"), Some("operator"))
    );
    assert!(item["spec"]["limits"]["b"].is_null(), "{item}");
    for wrong in ["kuadrant=nothing", "operator", "gateway=operator"] {
        let ran = ask(&format!("effective --profile {wrong}"));
        assert_eq!(ran.code, Some(2), "{wrong}");
        assert!(ran.err.contains("gateway=gep713, kuadrant=design"), "{ran:?}");
    }
}

#[test]
fn a_policy_of_any_family_tells_its_rules() {
    let ran = ask("explain ratelimitpolicy/shop/gw");
    let row =
        |name: &str| ran.out.lines().find(|l| l.trim_start().starts_with(name)).unwrap().to_owned();
    assert!(ran.out.contains("RULE") && row("limits.a ").contains("shop/cart"), "{}", ran.out);
    assert!(row("limits.b").contains("overrides") && row("limits[\"x.y\"]").contains("defaults"));
    let ran = ask("get ratelimitpolicies -o wide");
    assert!(ran.out.contains("replaced by shop/cart"), "{}", ran.out);
    for (rule, code, said) in [
        ("limits.x.y", 0, "is in force (Enforced) on the one path"),
        ("limits.a", 0, "is shadowed (Overridden) on the one path it reaches, by shop/cart"),
        ("overrides.limits.b", 0, "is in force (Enforced) on the one path"),
        ("overrides.limits.a", 1, "has no field"),
    ] {
        let ran = ask(&format!("reach ratelimitpolicy/shop/gw --rule {rule}"));
        assert!(ran.code == Some(code) && ran.out.contains(said), "{rule}: {ran:?}");
    }
}

#[test]
fn kinds_that_nobody_uses_can_be_asked_about() {
    for kind in ["authpolicy", "authpolicies", "AuthPolicy.kuadrant.io"] {
        let ran = ask(&format!("get --without {kind}"));
        assert!(
            ran.code == Some(0) && ran.out.contains("1 of 1 path without AuthPolicy"),
            "{ran:?}"
        );
    }
    let ran = ask("get --without backendtlspolicy");
    assert!(ran.code == Some(0) && ran.out.contains("BackendTLSPolicy"), "{ran:?}");
    let ran = ask("get --without authpolice");
    assert!(ran.code == Some(1) && ran.err.contains("did you mean `AuthPolicy`"), "{ran:?}");
    let ran = ask("get --without authpolicy.example.com");
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

#[test]
fn columns_follow_the_environment() {
    let dir = folder(&[("a.yaml", GOOD), ("b.yaml", KUADRANT)]);
    let ask = |columns: &str| {
        let line = [
            "explain",
            "httproute/shop/cart",
            "--kind",
            "ratelimitpolicy",
            "-f",
            dir.path().to_str().unwrap(),
        ];
        let mut command = crate::common::overrule(line);
        crate::common::finish(command.env("COLUMNS", columns)).out
    };
    assert!(ask("100").contains("A shop/gw") && ask("100").contains(" = effective policy"));
    assert!(ask("40").contains("\n  =\n  effective policy"), "{}", ask("40"));
}
