// SPDX-License-Identifier: Apache-2.0
//! Which listeners take a route: one table per rule of the Gateway API, each row a case.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/support.rs"]
mod support;

use overrule_gateway::topology::{ConditionStatus, HostFit, Link, RouteKind};
use support::{CLASS, World, gateway, route, world};

const NAMESPACES: &str = "
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: blue, tier: gold}}
---
apiVersion: v1
kind: Namespace
metadata: {name: blog, labels: {team: red}}
";

/// A Gateway with these listeners and a route `NAMESPACE/r`; the listeners that take it and the reason.
fn attach(listeners: &[&str], kind: &str, namespace: &str, parent: &str) -> (World, String) {
    let spec = format!("parentRefs: [{{name: gw, namespace: infra{parent}}}]");
    let text = format!(
        "{CLASS}{NAMESPACES}{}{}",
        gateway("gw", listeners),
        route(kind, &format!("{namespace}/r"), &spec)
    );
    let world = world(&text);
    let name = format!("{namespace}/r");
    let result = format!("{} {}", world.reasons(&name).join(","), world.accepted(&name).join(","));
    (world, result)
}

#[test]
fn namespaces_of_allowed_routes() {
    let cases = [
        ("", "infra", true),
        ("", "shop", false),
        ("{}", "infra", true),
        ("{namespaces: {}}", "shop", false),
        ("{namespaces: {from: Same}}", "infra", true),
        ("{namespaces: {from: Same}}", "shop", false),
        ("{namespaces: {from: All}}", "shop", true),
        ("{namespaces: {from: None}}", "infra", false),
        ("{namespaces: {from: Selector, selector: {matchLabels: {team: blue}}}}", "shop", true),
        ("{namespaces: {from: Selector, selector: {matchLabels: {team: blue}}}}", "blog", false),
        (
            "{namespaces: {from: Selector, selector: {matchLabels: {team: blue, tier: iron}}}}",
            "shop",
            false,
        ),
        (
            "{namespaces: {from: Selector, selector: {matchExpressions: [{key: team, operator: In, values: [red, green]}]}}}",
            "blog",
            true,
        ),
        (
            "{namespaces: {from: Selector, selector: {matchExpressions: [{key: team, operator: NotIn, values: [red]}]}}}",
            "blog",
            false,
        ),
        (
            "{namespaces: {from: Selector, selector: {matchExpressions: [{key: tier, operator: Exists}]}}}",
            "shop",
            true,
        ),
        (
            "{namespaces: {from: Selector, selector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}}}",
            "shop",
            false,
        ),
        // An empty selector selects every namespace.
        ("{namespaces: {from: Selector, selector: {}}}", "blog", true),
        // Every namespace has this label, with or without a Namespace in the input.
        (
            "{namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: shop}}}}",
            "shop",
            true,
        ),
        (
            "{namespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: other}}}}",
            "other",
            true,
        ),
        ("{namespaces: {from: Selector, selector: {matchLabels: {team: blue}}}}", "other", false),
        // Unlike its own namespace, the selector does not include the Gateway's.
        ("{namespaces: {from: Selector, selector: {matchLabels: {team: blue}}}}", "infra", false),
    ];
    for (allowed, namespace, expected) in cases {
        let written =
            if allowed.is_empty() { String::new() } else { format!(", allowedRoutes: {allowed}") };
        let listener = format!("name: web, port: 80, protocol: HTTP{written}");
        let (_, result) = attach(&[&listener], "HTTPRoute", namespace, "");
        let wanted = if expected { "Accepted gw#web" } else { "NotAllowedByListeners " };
        assert_eq!(result, wanted, "{allowed} from {namespace}");
    }
}

/// What cannot be read lets nobody in.
#[test]
fn unreadable_permissions_do_not_widen() {
    for allowed in [
        "{namespaces: {from: Everyone}}",
        "{namespaces: {from: 1}}",
        "{namespaces: [All]}",
        "{namespaces: {from: Selector}}",
        "{namespaces: {from: Selector, selector: {matchLabel: {team: blue}}}}",
        "{namespaces: {from: Selector, selector: {matchLabels: [team]}}}",
        "{namespaces: {from: Selector, selector: {matchLabels: {team: 1}}}}",
        "{namespaces: {from: Selector, selector: {matchExpressions: [{key: team, operator: Is, values: [blue]}]}}}",
        "{namespaces: {from: Selector, selector: {matchExpressions: [{key: team, operator: In}]}}}",
    ] {
        let listener = format!("name: web, port: 80, protocol: HTTP, allowedRoutes: {allowed}");
        let (world, result) = attach(&[&listener], "HTTPRoute", "shop", "");
        assert_eq!(result, "NotAllowedByListeners ", "{allowed}");
        assert!(world.codes().first().is_some_and(|c| c.starts_with("OV11")), "{allowed}");
    }
}

#[test]
fn kinds_by_protocol_and_by_permission() {
    let protocols = [
        ("HTTP", "HTTPRoute GRPCRoute"),
        ("HTTPS, tls: {}", "HTTPRoute GRPCRoute"),
        ("TLS, tls: {mode: Passthrough}", "TLSRoute"),
        ("TLS, tls: {mode: Terminate}", "TLSRoute TCPRoute"),
        ("TCP", "TCPRoute"),
        ("UDP", "UDPRoute"),
        ("HTTP, allowedRoutes: {kinds: [{kind: GRPCRoute}]}", "GRPCRoute"),
        (
            "HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute}, {kind: GRPCRoute}]}",
            "HTTPRoute GRPCRoute",
        ),
        ("TLS, tls: {mode: Terminate}, allowedRoutes: {kinds: [{kind: TCPRoute}]}", "TCPRoute"),
        // A kind that does not fit the protocol is left out.
        ("HTTP, allowedRoutes: {kinds: [{kind: TCPRoute}, {kind: HTTPRoute}]}", "HTTPRoute"),
        ("HTTP, allowedRoutes: {kinds: [{kind: HTTPRoute, group: vendor.example}]}", ""),
        ("HTTP, allowedRoutes: {kinds: []}", "HTTPRoute GRPCRoute"),
    ];
    for (protocol, expected) in protocols {
        let mut taken = Vec::new();
        for kind in RouteKind::ALL {
            let listener = format!("name: web, port: 80, protocol: {protocol}");
            let (_, result) = attach(&[&listener], kind.name(), "infra", "");
            if result == "Accepted gw#web" {
                taken.push(kind.name());
            } else {
                assert_eq!(result, "NotAllowedByListeners ", "{protocol} {}", kind.name());
            }
        }
        assert_eq!(taken.join(" "), expected, "{protocol}");
    }
}

#[test]
fn section_and_port() {
    let listeners = [
        "name: a, port: 80, protocol: HTTP, hostname: a.com",
        "name: b, port: 80, protocol: HTTP, hostname: b.com",
        "name: c, port: 8080, protocol: HTTP",
    ];
    for (parent, expected) in [
        ("", "Accepted gw#a,gw#b,gw#c"),
        (", sectionName: b", "Accepted gw#b"),
        (", port: 80", "Accepted gw#a,gw#b"),
        (", port: 8080, sectionName: c", "Accepted gw#c"),
        (", port: 80, sectionName: c", "NoMatchingParent "),
        (", port: 81", "NoMatchingParent "),
        (", sectionName: x", "NoMatchingParent "),
        // What cannot be read is no parentRef; above all it is not "any listener".
        (", sectionName: 1", " "),
        (", port: web", " "),
    ] {
        assert_eq!(attach(&listeners, "HTTPRoute", "infra", parent).1, expected, "{parent}");
    }
}

/// The reason is that of the last stage any listener reached: permission, then name and port, then hostname.
#[test]
fn reasons_in_the_order_of_the_gateway_api() {
    let listeners = [
        "name: own, port: 80, protocol: HTTP, hostname: own.com",
        "name: all, port: 81, protocol: HTTP, hostname: all.com, allowedRoutes: {namespaces: {from: All}}",
    ];
    let text = |parent: &str, host: &str| {
        let spec =
            format!("parentRefs: [{{name: gw, namespace: infra{parent}}}]\n  hostnames: [{host}]");
        world(&format!(
            "{CLASS}{}{}",
            gateway("gw", &listeners),
            route("HTTPRoute", "shop/r", &spec)
        ))
    };
    for (parent, host, reason, code) in [
        ("", "all.com", "Accepted", ""),
        ("", "own.com", "NoMatchingListenerHostname", "OV1205"),
        (", sectionName: all", "own.com", "NoMatchingListenerHostname", "OV1205"),
        // Another listener would allow it, so by the letter the name is what is wrong; the finding says what helps.
        (", sectionName: own", "own.com", "NoMatchingParent", "OV1204"),
        (", sectionName: none", "own.com", "NoMatchingParent", "OV1203"),
    ] {
        let world = text(parent, host);
        assert_eq!(world.reasons("shop/r"), [reason], "{parent} {host}");
        assert_eq!(world.codes().join(" "), code, "{parent} {host}");
    }
}

#[test]
fn several_parents_each_with_its_own_answer() {
    let spec = "parentRefs:
  - {name: one, sectionName: a}
  - {name: two, sectionName: a}
  - {name: three}
  - {group: '', kind: Service, name: svc}
  - {kind: HTTPRoute, name: parent}";
    let world = world(&format!(
        "{CLASS}{}{}{}",
        gateway("one", &["name: a, port: 80, protocol: HTTP", "name: b, port: 81, protocol: HTTP"]),
        gateway("two", &["name: b, port: 80, protocol: HTTP"]),
        route("HTTPRoute", "infra/r", spec)
    ));
    assert_eq!(world.accepted("infra/r"), ["one#a"]);
    assert_eq!(
        world.reasons("infra/r"),
        ["Accepted", "NoMatchingParent", "ParentNotFound", "Accepted", "Foreign"]
    );
    assert_eq!(world.codes(), ["OV1203", "OV1202"]);
    let conditions = world.topology.conditions(world.route("infra/r"));
    let shown: Vec<String> = conditions
        .iter()
        .map(|c| format!("{} {:?}={:?} {}", c.parent, c.kind, c.status, c.reason))
        .collect();
    assert_eq!(
        shown,
        [
            "0 Accepted=True Accepted",
            "0 ResolvedRefs=True ResolvedRefs",
            "1 Accepted=False NoMatchingParent",
            "1 ResolvedRefs=True ResolvedRefs",
            "2 Accepted=False NoMatchingParent",
            "2 ResolvedRefs=True ResolvedRefs",
            "3 Accepted=True Accepted",
            "3 ResolvedRefs=True ResolvedRefs",
        ]
    );
    let _ = ConditionStatus::Unknown;
}

/// `allowed` is a fact, not a filter: the Kuadrant operator does not look at it.
#[test]
fn links_keep_what_is_not_allowed() {
    let (world, _) = attach(&["name: web, port: 80, protocol: HTTP"], "HTTPRoute", "shop", "");
    let [link] = world.topology.links.as_slice() else { panic!("one link") };
    assert!(!link.facts().allowed && !link.accepted());
    assert_eq!(link.facts().hosts, HostFit::Subset);
    assert!(size_of::<Link>() <= 16, "{}", size_of::<Link>());
}

#[test]
fn facts_about_hostnames() {
    let listeners = [
        "name: all, port: 80, protocol: HTTP",
        "name: wild, port: 80, protocol: HTTP, hostname: '*.example.com'",
        "name: one, port: 80, protocol: HTTP, hostname: a.example.com",
        "name: far, port: 81, protocol: HTTP, hostname: '*.example.com'",
    ];
    // Route hostnames; per listener of all, wild, one, far: subset S, intersects I, none -; isolated in lower case.
    for (hostnames, expected) in [
        ("", "SSSS"),
        ("a.example.com", "ssSS"),
        ("b.example.com", "sS-S"),
        ("'*.example.com'", "sSIS"),
        ("a.example.com, b.example.com", "sSSS"),
        ("'*.com'", "SIII"),
        ("b.org", "S---"),
        ("b.org, a.example.com", "SsSS"),
    ] {
        let spec = format!("parentRefs: [{{name: gw}}]\n  hostnames: [{hostnames}]");
        let world = world(&format!(
            "{CLASS}{}{}",
            gateway("gw", &listeners),
            route("HTTPRoute", "infra/r", &spec)
        ));
        let mut found = ['-'; 4];
        for (_, link) in world.topology.links_of_route(world.route("infra/r")) {
            let letter = if link.facts().hosts == HostFit::Subset { 'S' } else { 'I' };
            let letter = if link.facts().isolated { letter.to_ascii_lowercase() } else { letter };
            found[link.listener.at()] = letter;
        }
        assert_eq!(found.iter().collect::<String>(), expected, "{hostnames}");
    }
}

#[test]
fn the_most_specific_listener_of_a_port_owns_a_host() {
    let world = world(&format!(
        "{CLASS}{}",
        gateway(
            "gw",
            &[
                "name: all, port: 80, protocol: HTTP",
                "name: wild, port: 80, protocol: HTTP, hostname: '*.example.com'",
                "name: one, port: 80, protocol: HTTP, hostname: a.example.com",
                "name: deep, port: 80, protocol: HTTP, hostname: '*.b.example.com'",
                "name: other, port: 81, protocol: HTTP, hostname: '*.example.com'",
            ]
        )
    ));
    let gateway = overrule_gateway::topology::GatewayIx(0);
    for (port, host, expected) in [
        (80, "a.example.com", "one"),
        (80, "c.example.com", "wild"),
        (80, "x.b.example.com", "deep"),
        (80, "b.example.com", "wild"),
        (80, "*.b.example.com", "deep"),
        (80, "*.c.example.com", "wild"),
        (80, "example.com", "all"),
        (80, "", "all"),
        (81, "a.example.com", "other"),
        (81, "example.com", "-"),
        (82, "a.example.com", "-"),
    ] {
        let owner = world.topology.owner_listener(&world.snapshot, gateway, port, host);
        let name =
            owner.map_or("-", |l| world.snapshot.text(world.topology.listener(l).unwrap().name));
        assert_eq!(name, expected, "{host}:{port}");
    }
}

/// A conflicting listener takes nothing, and its routes are not reported again.
#[test]
fn conflicting_listeners_are_not_in_force() {
    let (world, result) = attach(
        &["name: a, port: 80, protocol: HTTP", "name: b, port: 80, protocol: HTTP"],
        "HTTPRoute",
        "infra",
        "",
    );
    assert_eq!(result, "NoMatchingParent ");
    assert_eq!(world.codes(), ["OV1212"]);
    assert_eq!(world.topology.links.len(), 2, "links stay, as facts");
}

#[test]
fn one_link_per_listener_whatever_the_parents_say() {
    let spec = "parentRefs: [{name: gw, sectionName: b}, {name: gw, port: 80}]";
    let listeners =
        ["name: a, port: 80, protocol: HTTP, hostname: a.com", "name: b, port: 80, protocol: HTTP"];
    let world = world(&format!(
        "{CLASS}{}{}",
        gateway("gw", &listeners),
        route("HTTPRoute", "infra/r", spec)
    ));
    let links: Vec<(usize, u16)> =
        world.topology.links.iter().map(|l| (l.listener.at(), l.parent_ref)).collect();
    assert_eq!(links, [(0, 1), (1, 0)]);
    assert_eq!(world.codes(), ["OV1033"]);
}

/// Broken hostnames fit nothing; what is left of a list still counts.
#[test]
fn broken_hostnames_do_not_widen() {
    let listener = "name: web, port: 80, protocol: HTTP";
    for (hostnames, expected) in [
        ("[1.2.3.4]", vec![]),
        ("['*']", vec![]),
        ("a.com", vec![]),
        ("[1]", vec![]),
        ("[1.2.3.4, a.com]", vec!["gw#web"]),
        ("[A.com]", vec!["gw#web"]),
        ("[]", vec!["gw#web"]),
    ] {
        let spec = format!("parentRefs: [{{name: gw}}]\n  hostnames: {hostnames}");
        let world = world(&format!(
            "{CLASS}{}{}",
            gateway("gw", &[listener]),
            route("HTTPRoute", "infra/r", &spec)
        ));
        assert_eq!(world.accepted("infra/r"), expected, "{hostnames}");
        assert!(world.codes().len() <= 1, "{hostnames}: {:?}", world.codes());
    }
    let broken = "name: web, port: 80, protocol: HTTP, hostname: '*'";
    let (world, result) = attach(&[broken], "HTTPRoute", "infra", "");
    assert_eq!((result.as_str(), world.codes()), ("NoMatchingParent ", vec!["OV1217"]));
}
