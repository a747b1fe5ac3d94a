// SPDX-License-Identifier: Apache-2.0
//! Every finding of the topology: code, line and column, field; and that one mistake is one finding.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/assumed.rs"]
mod assumed;
#[path = "topology/findings.rs"]
mod findings;
#[path = "topology/support.rs"]
mod support;

use assumed::ASSUMED;
use findings::{BASE, CASES, Case};
use support::{World, world};

fn check(case: &Case) -> (World, Vec<String>) {
    let world = world(&format!("{BASE}{}", case.text));
    let before = BASE.lines().count();
    // Lines counted in the text of the case, so that the base can change.
    let expected = case
        .expected
        .iter()
        .map(|e| {
            let (code, rest) = e.split_once(' ').unwrap();
            let (line, rest) = rest.split_once(':').unwrap();
            format!("{code} {}:{rest}", line.parse::<usize>().unwrap() + before)
        })
        .collect();
    (world, expected)
}

#[test]
fn every_finding_at_its_place() {
    let mut wrong = String::new();
    for case in CASES {
        let (world, expected) = check(case);
        if world.findings() != expected {
            wrong += &format!("{}: {:#?}\nexpected {expected:#?}\n", case.name, world.findings());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_code_has_a_case() {
    let used: Vec<&str> =
        CASES.iter().chain(ASSUMED).flat_map(|c| c.expected).filter_map(|e| e.get(..6)).collect();
    for code in overrule_gateway::codes::ALL {
        assert!(used.contains(&code.id), "{} has no case", code.id);
    }
}

/// One sentence, lower case, no full stop; help always; both ends named.
#[test]
fn messages_keep_the_style() {
    for case in CASES {
        for d in check(case).0.diagnostics {
            let first = d.message.chars().next().unwrap();
            assert!(first == '`' || first.is_lowercase(), "{}", d.message);
            assert!(!d.message.ends_with('.'), "{}", d.message);
            assert!(
                d.help.as_ref().is_some_and(|h| !h.is_empty() && !h.ends_with('.')),
                "{}",
                d.message
            );
            assert_eq!(d.message.matches('`').count() % 2, 0, "{}", d.message);
        }
    }
}

/// What people read, for a few that matter most.
#[test]
fn messages_in_full() {
    let text = |name: &str| {
        let case = CASES.iter().find(|c| c.name == name).unwrap();
        let world = check(case).0;
        let shown: Vec<String> = world
            .diagnostics
            .iter()
            .map(|d| {
                let related: Vec<String> = d
                    .related
                    .iter()
                    .map(|l| {
                        format!(" [{} {}]", world.documents.sources.position(l.span).line, l.text)
                    })
                    .collect();
                format!("{}{} ({})", d.message, related.concat(), d.help.as_deref().unwrap_or(""))
            })
            .collect();
        shown
    };
    assert_eq!(
        text("parent not found"),
        [
            "`httproute/infra/r`: parentRef `gateway/infra/gww` not found in the input (did you mean `infra/gw`?)"
        ]
    );
    assert_eq!(
        text("no such listener, no such port")[0],
        "`httproute/infra/r`: listener `wen` not found in `gateway/infra/gw` [12 a listener it has] (did you mean `web`? listeners: web (80))"
    );
    assert_eq!(
        text("not allowed, by namespace and by kind"),
        [
            "`httproute/shop/r` may not attach to `gateway/infra/gw#web`: it accepts only routes of namespace `infra` [12 without `allowedRoutes`, its own namespace only] (allow namespace `shop` in `allowedRoutes.namespaces` of the listener)",
            "`tcproute/infra/r` may not attach to `gateway/infra/gw#web`: it accepts HTTPRoute and GRPCRoute, not TCPRoute [12 the listener] (attach it to a listener of a fitting protocol, or extend `allowedRoutes.kinds`)",
        ]
    );
    assert_eq!(
        text("hostnames do not intersect"),
        [
            "no hostname of `httproute/infra/r` matches `gateway/infra/gw#web`: the route has `b.org`, `example.com`, the listener has `*.example.com` [12 the listener's hostname] (use a hostname that the listener covers, or attach to another listener)"
        ]
    );
    assert_eq!(
        text("listener set not allowed"),
        [
            "`gateway/infra/gw` does not accept `listenerset/shop/s`: it accepts no ListenerSets [8 without `allowedListeners` it accepts none] (allow namespace `shop` in `spec.allowedListeners.namespaces` of `gateway/infra/gw`)"
        ]
    );
}

/// A fleet of typing errors is answered in the time of one, not of their product.
#[test]
fn suggestions_have_a_budget() {
    let mut text = BASE.to_owned();
    for i in 0..600 {
        text += &format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: service-number-{i}, namespace: infra}}\n"
        );
        text += &format!(
            "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r{i}, namespace: infra}}\nspec: {{rules: [{{backendRefs: [{{name: servise-number-{i}, port: 80}}]}}]}}\n"
        );
    }
    let world = world(&text);
    assert_eq!(world.diagnostics.len(), 600);
    let help = |i: usize| world.diagnostics[i].help.clone().unwrap();
    assert!(help(0).starts_with("did you mean `infra/service-number-0`"), "{}", help(0));
    assert_eq!(help(599), "correct name and namespace, or add it to the input");
}
