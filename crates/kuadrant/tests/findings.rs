// SPDX-License-Identifier: Apache-2.0
//! What is wrong in a policy is told, and never widens or silently empties it. One row per way to be wrong.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

mod support;

use overrule_engine::Outcome;
use overrule_kuadrant::Profile::{self, Design, Latest, Operator};
use support::run_text;

const WORLD: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: kuadrant
  listeners: [{name: web, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: cart, port: 80}]}]
---
";

const GATEWAY: &str = "targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}";
const ROUTE: &str = "targetRef: {group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}";

fn policy(kind: &str, name: &str, second: u32, spec: &str) -> String {
    format!(
        "apiVersion: kuadrant.io/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop, creationTimestamp: \"2026-01-01T00:00:0{second}Z\"}}\nspec: {{{spec}}}\n"
    )
}

/// Codes found, and what became of the first policy.
fn check(documents: &[String], profile: Profile) -> (Vec<&'static str>, Outcome) {
    let run = run_text(&format!("{WORLD}{}", documents.join("---\n")), profile);
    let mut codes: Vec<&'static str> = run.diagnostics.iter().map(|d| d.code.id).collect();
    codes.sort_unstable();
    codes.dedup();
    let first = run.resolution.policies().next().unwrap().0;
    (codes, run.resolution.outcome(first))
}

#[test]
fn a_policy_that_cannot_be_read_is_refused_and_says_why() {
    let refused: &[(&str, &str, Profile, &str)] = &[
        ("AuthPolicy", "rules: {authentication: 5, metadata: {m: {}}}", Design, "OV1105"),
        ("AuthPolicy", "rules: {response: x}", Design, "OV1105"),
        ("AuthPolicy", "rules: {response: {success: []}}", Latest, "OV1105"),
        ("AuthPolicy", "patterns: [], rules: {authentication: {a: {}}}", Design, "OV1105"),
        ("AuthPolicy", "when: 'true', rules: {authentication: {a: {}}}", Design, "OV1105"),
        ("RateLimitPolicy", "limits: [1]", Latest, "OV1105"),
        ("RateLimitPolicy", "defaults: []", Design, "OV1105"),
        ("RateLimitPolicy", "defaults: {strategy: patch, limits: {a: {}}}", Design, "OV1401"),
        ("RateLimitPolicy", "overrides: {when: 1 +, limits: {a: {}}}", Design, "OV1402"),
        ("RateLimitPolicy", "overrides: {when: 5, limits: {a: {}}}", Design, "OV1105"),
        ("RateLimitPolicy", "limits: {a: {}}, unset: a", Design, "OV1105"),
        ("RateLimitPolicy", "limits: {a: 5}", Operator, "OV1401"),
        ("RateLimitPolicy", "limits: {a: {rates: {}}}", Operator, "OV1401"),
        ("RateLimitPolicy", "limits: {a: {rates: [{limit: x, window: 1s}]}}", Operator, "OV1401"),
        ("RateLimitPolicy", "limits: {a: {rates: [{limit: 1, window: 1d}]}}", Operator, "OV1401"),
        ("RateLimitPolicy", "overrides: {when: 'true', limits: {a: {}}}", Operator, "OV1401"),
        ("DNSPolicy", "delegate: true, providerRefs: [{name: a}]", Design, "OV1401"),
        ("DNSPolicy", "providerRefs: [{name: a}, {name: b}]", Design, "OV1401"),
        ("TLSPolicy", "issuerRef: {kind: Secret, name: a}", Design, "OV1401"),
    ];
    for (kind, spec, profile, code) in refused {
        let document = policy(kind, "a", 0, &format!("{GATEWAY}, {spec}"));
        let (codes, outcome) = check(&[document], *profile);
        assert!(codes.contains(code), "{kind} {spec} {profile:?}: {codes:?}");
        assert_eq!(outcome, Outcome::Rejected, "{kind} {spec} {profile:?}");
    }
}

#[test]
fn what_only_the_shipped_crds_refuse_is_accepted_elsewhere() {
    for spec in ["limits: {a: 5}", "overrides: {when: 'true', limits: {a: {}}}"] {
        let document = policy("RateLimitPolicy", "a", 0, &format!("{GATEWAY}, {spec}"));
        let (codes, outcome) = check(&[document], Design);
        assert!(!codes.contains(&"OV1401"), "{spec}: {codes:?}");
        assert_eq!(outcome, Outcome::InForce, "{spec}");
    }
}

#[test]
fn lints_are_raised_where_they_belong() {
    let rate = "RateLimitPolicy";
    let rows: Vec<(&str, Vec<String>, Profile, bool)> = vec![
        (
            "OV1404",
            vec![policy(
                rate,
                "a",
                0,
                &format!(
                    "{GATEWAY}, overrides: {{when: spec.limits.a.x > 1, limits: {{a: {{}}}}}}"
                ),
            )],
            Design,
            true,
        ),
        (
            "OV1404",
            vec![policy(
                rate,
                "a",
                0,
                &format!("{GATEWAY}, overrides: {{when: kind == 'x', limits: {{a: {{}}}}}}"),
            )],
            Design,
            false,
        ),
        (
            "OV1405",
            vec![policy(
                rate,
                "a",
                0,
                &format!("{GATEWAY}, defaults: {{when: 'true', limits: {{a: {{}}}}}}"),
            )],
            Design,
            true,
        ),
        (
            "OV1405",
            vec![policy(
                rate,
                "a",
                0,
                &format!(
                    "{GATEWAY}, defaults: {{strategy: merge, when: 'true', limits: {{a: {{}}}}}}"
                ),
            )],
            Design,
            false,
        ),
        (
            "OV1406",
            vec![policy(
                rate,
                "a",
                0,
                &format!("{GATEWAY}, limits: {{b: {{}}}}, defaults: {{limits: {{a: {{}}}}}}"),
            )],
            Design,
            true,
        ),
        (
            "OV1406",
            vec![policy(
                rate,
                "a",
                0,
                &format!(
                    "{GATEWAY}, limits: {{b: {{}}}}, overrides: {{strategy: merge, limits: {{a: {{}}}}}}"
                ),
            )],
            Design,
            false,
        ),
        (
            "OV1406",
            vec![policy(
                rate,
                "a",
                0,
                &format!(
                    "{GATEWAY}, limits: {{b: {{}}}}, overrides: {{strategy: merge, limits: {{a: {{}}}}}}"
                ),
            )],
            Latest,
            true,
        ),
        (
            "OV1408",
            vec![policy(rate, "a", 0, &format!("{ROUTE}, unset: [limits.zz]"))],
            Design,
            true,
        ),
        (
            "OV1410",
            vec![policy(
                rate,
                "a",
                0,
                &format!("{ROUTE}, limits: {{a: {{}}}}, remove: [limits.b]"),
            )],
            Latest,
            true,
        ),
        (
            "OV1410",
            vec![policy(
                rate,
                "a",
                0,
                &format!("{ROUTE}, limits: {{a: {{}}}}, remove: [limits.b]"),
            )],
            Design,
            false,
        ),
        (
            "OV1413",
            vec![policy(
                rate,
                "a",
                0,
                &format!(
                    "{GATEWAY}, when: [{{predicate: x}}], defaults: {{limits: {{a: {{rates: [{{limit: 1, window: 1s}}]}}}}}}"
                ),
            )],
            Operator,
            true,
        ),
        (
            "OV1414",
            vec![policy("DNSPolicy", "a", 1, GATEWAY), policy("DNSPolicy", "b", 0, GATEWAY)],
            Design,
            true,
        ),
        (
            "OV1415",
            vec![policy("DNSPolicy", "a", 0, GATEWAY), policy("DNSPolicy", "b", 0, GATEWAY)],
            Operator,
            true,
        ),
        (
            "OV1415",
            vec![policy("DNSPolicy", "a", 0, GATEWAY), policy("DNSPolicy", "b", 0, GATEWAY)],
            Design,
            false,
        ),
        (
            "OV1419",
            vec![
                policy(rate, "a", 0, &format!("{ROUTE}, limits: {{a: {{}}}}")),
                policy(rate, "b", 1, &format!("{ROUTE}, limits: {{b: {{}}}}")),
            ],
            Design,
            true,
        ),
        (
            "OV1420",
            vec![policy(rate, "a", 0, &format!("{ROUTE}, default: {{}}, limits: {{a: {{}}}}"))],
            Design,
            true,
        ),
        (
            "OV1319",
            vec![policy(rate, "a", 0, &format!("{ROUTE}, defaults: {{limits: {{}}}}"))],
            Design,
            true,
        ),
    ];
    for (code, documents, profile, wanted) in rows {
        let (codes, _) = check(&documents, profile);
        assert_eq!(
            codes.contains(&code),
            wanted,
            "{code} {profile:?}: {codes:?}\n{}",
            documents.join("---\n")
        );
    }
}

#[test]
fn a_section_that_cannot_be_read_does_not_widen_the_policy() {
    let target = GATEWAY.replace("name: edge", "name: edge, sectionName: 80");
    let document = policy("RateLimitPolicy", "a", 0, &format!("{target}, limits: {{a: {{}}}}"));
    let (codes, outcome) = check(&[document], Design);
    assert!(codes.contains(&"OV1105"), "{codes:?}");
    assert_eq!(outcome, Outcome::Rejected);
}
