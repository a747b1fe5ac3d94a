// SPDX-License-Identifier: Apache-2.0
//! In: the eleven pictures of the design, A1 to F2, as a table. Out: the oracle draws the same. Not here: corner cases.

use super::check;
use crate::kuadrant::Profile::{Design, Latest, Operator};

/// Both rules of the gateway in most pictures.
const TWO: &str = "rules: {authentication: {a: G}, authorization: {b: G}}";

#[test]
fn a_to_d_defaults_and_overrides() {
    let table: [(&str, &str, &str, &[&str]); 7] = [
        (
            "A1",
            "defaults: {TWO, strategy: atomic}",
            "{authentication: {c: R}}",
            &[
                "rules.authentication.c=\"R\"<route",
                "-gw.defaults:rules.authentication.a<route",
                "-gw.defaults:rules.authorization.b<route",
            ],
        ),
        (
            "B1",
            "defaults: {TWO, strategy: merge}",
            "{authentication: {c: R}}",
            &[
                "rules.authentication.c=\"R\"<route",
                "rules.authentication.a=\"G\"<gw",
                "rules.authorization.b=\"G\"<gw",
            ],
        ),
        (
            "B2",
            "defaults: {TWO, strategy: merge}",
            "{authentication: {a: R}}",
            &[
                "rules.authentication.a=\"R\"<route",
                "rules.authorization.b=\"G\"<gw",
                "-gw.defaults:rules.authentication.a<route",
            ],
        ),
        (
            "C1",
            "overrides: {TWO, strategy: atomic}",
            "{authentication: {c: R}}",
            &[
                "rules.authentication.a=\"G\"<gw",
                "rules.authorization.b=\"G\"<gw",
                "-route.bare:rules.authentication.c<gw",
            ],
        ),
        (
            "C1, strategy omitted",
            "overrides: {TWO}",
            "{authentication: {c: R}}",
            &[
                "rules.authentication.a=\"G\"<gw",
                "rules.authorization.b=\"G\"<gw",
                "-route.bare:rules.authentication.c<gw",
            ],
        ),
        (
            "D1",
            "overrides: {TWO, strategy: merge}",
            "{authentication: {c: R}}",
            &[
                "rules.authentication.c=\"R\"<route",
                "rules.authentication.a=\"G\"<gw",
                "rules.authorization.b=\"G\"<gw",
            ],
        ),
        (
            "D2",
            "overrides: {TWO, strategy: merge}",
            "{authentication: {a: R}, authorization: {d: R}}",
            &[
                "rules.authentication.a=\"G\"<gw",
                "rules.authorization.b=\"G\"<gw",
                "rules.authorization.d=\"R\"<route",
                "-route.bare:rules.authentication.a<gw",
            ],
        ),
    ];
    for (picture, gateway, route, expected) in table {
        let gateway = gateway.replace("TWO", TWO);
        let route = format!("rules: {route}");
        for profile in [Design, Latest, Operator] {
            let policies = [("gateway gw", gateway.as_str()), ("route route", route.as_str())];
            check(picture, "AuthPolicy", profile, &policies, expected);
        }
    }
}

#[test]
fn e_constraints() {
    let over_50 = "overrides: {rules: {authentication: {a: 50}}, strategy: merge, \
                   when: \"spec.rules.authentication\\n.a > 50\"}";
    for (picture, a, expected) in [
        ("E1", 30, ["rules.authentication.a=30<route", "?gw.overrides"]),
        ("E2", 100, ["rules.authentication.a=50<gw", "-route.bare:rules.authentication.a<gw"]),
    ] {
        let route = format!("rules: {{authentication: {{a: {a}, b: 120}}}}");
        let policies = [("gateway gw", over_50), ("route route", route.as_str())];
        let expected = [expected[0], expected[1], "rules.authentication.b=120<route"];
        for profile in [Design, Latest] {
            check(picture, "AuthPolicy", profile, &policies, &expected);
        }
    }
    let policies = [
        (
            "gateway gw",
            "overrides: {limits: {a: {rates: [{limit: 50}]}}, strategy: merge, \
             when: 'self.spec.limits.a.rates.exists(r, r.limit > 50)'}",
        ),
        ("route route", "limits: {a: {rates: [{limit: 100}, {limit: 10000}]}, b: {x: null}}"),
    ];
    let expected = [
        "limits.a={\"rates\":[{\"limit\":50}]}<gw",
        "limits.b={\"x\":null}<route",
        "-route.bare:limits.a<gw",
    ];
    for profile in [Design, Latest] {
        check("E3", "RateLimitPolicy", profile, &policies, &expected);
    }
}

#[test]
fn f_removal() {
    let table: [(&str, &[&str]); 2] = [
        ("defaults", &["/gw.defaults:rules.authentication.a<route"]),
        ("overrides", &["rules.authentication.a=\"G\"<gw"]),
    ];
    for (block, more) in table {
        let gateway = format!("{block}: {{rules: {{authentication: {{a: G}}}}, strategy: merge}}");
        let expected: Vec<&str> =
            more.iter().copied().chain(["rules.authentication.b=\"R\"<route"]).collect();
        for (field, profile) in [("unset", Design), ("unset", Latest), ("remove", Design)] {
            for entry in ["rules.authentication.a", "a"] {
                let route = format!("rules: {{authentication: {{b: R}}}}\n{field}: [{entry}]");
                let policies = [("gateway gw", gateway.as_str()), ("route route", route.as_str())];
                check("F1 and F2", "AuthPolicy", profile, &policies, &expected);
            }
        }
    }
}
