// SPDX-License-Identifier: Apache-2.0
//! ListenerSets and conflicts: which listeners a Gateway serves, and which of them are in force.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/support.rs"]
mod support;

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

fn set(name: &str, created: &str, listeners: &[&str]) -> String {
    let (namespace, name) = name.split_once('/').unwrap();
    let list: String = listeners.iter().map(|l| format!("  - {{{l}}}\n")).collect();
    format!(
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {{name: {name}, namespace: {namespace}{created}}}\nspec:\n  parentRef: {{name: gw, namespace: infra}}\n  listeners:\n{list}"
    )
}

fn open(gateway: &str, from: &str) -> String {
    gateway.replace(
        "  gatewayClassName: c\n",
        &format!("  gatewayClassName: c\n  allowedListeners: {{namespaces: {{from: {from}}}}}\n"),
    )
}

#[test]
fn a_gateway_opts_in_to_listener_sets() {
    let gw = gateway("gw", &["name: own, port: 80, protocol: HTTP"]);
    for (gateway, namespace, accepted) in [
        (gw.clone(), "infra", false),
        (open(&gw, "None"), "infra", false),
        (open(&gw, "Same"), "infra", true),
        (open(&gw, "Same"), "shop", false),
        (open(&gw, "All"), "shop", true),
        (open(&gw, "Selector, selector: {matchLabels: {team: blue}}"), "shop", true),
        (open(&gw, "Selector, selector: {matchLabels: {team: blue}}"), "blog", false),
    ] {
        let name = format!("{namespace}/set");
        let text = format!(
            "{CLASS}{NAMESPACES}{gateway}{}{}{}",
            set(&name, "", &["name: web, port: 81, protocol: HTTP"]),
            route(
                "HTTPRoute",
                &format!("{namespace}/r"),
                "parentRefs: [{kind: ListenerSet, name: set}]"
            ),
            route("HTTPRoute", "infra/own", "parentRefs: [{name: gw}]"),
        );
        let world = world(&text);
        let expected: &[&str] = if accepted { &["set#web"] } else { &[] };
        assert_eq!(world.accepted(&format!("{namespace}/r")), expected, "{gateway} {namespace}");
        // A parentRef to the Gateway does not reach the listeners of its sets.
        assert_eq!(world.accepted("infra/own"), ["gw#own"]);
        // The set is reported, its routes are not reported again.
        assert_eq!(world.codes().join(" "), if accepted { "" } else { "OV1213" });
        let listeners =
            world.topology.listeners_of(overrule_gateway::topology::GatewayIx(0)).count();
        assert_eq!(listeners, if accepted { 2 } else { 1 });
        assert!(world.target(&format!("listenerset/{namespace}/set#web")).is_some());
    }
}

/// The set's `allowedRoutes` counts from the namespace of the set.
#[test]
fn same_namespace_of_a_set_is_its_own() {
    let gw = open(&gateway("gw", &["name: own, port: 80, protocol: HTTP"]), "All");
    let world = world(&format!(
        "{CLASS}{gw}{}{}{}",
        set("shop/set", "", &["name: web, port: 81, protocol: HTTP"]),
        route(
            "HTTPRoute",
            "shop/r",
            "parentRefs: [{kind: ListenerSet, name: set, sectionName: web}]"
        ),
        route(
            "HTTPRoute",
            "infra/r",
            "parentRefs: [{kind: ListenerSet, name: set, namespace: shop}]"
        ),
    ));
    assert_eq!(world.accepted("shop/r"), ["set#web"]);
    assert_eq!(world.accepted("infra/r"), [""; 0]);
    assert_eq!(world.codes(), ["OV1204"]);
}

#[test]
fn experimental_listener_sets() {
    let gw = open(&gateway("gw", &["name: own, port: 80, protocol: HTTP"]), "All");
    let set = set("shop/set", "", &["name: web, protocol: HTTP"]).replace(
        "gateway.networking.k8s.io/v1\nkind: ListenerSet",
        "gateway.networking.x-k8s.io/v1alpha1\nkind: XListenerSet",
    );
    let parent =
        "parentRefs: [{group: gateway.networking.x-k8s.io, kind: XListenerSet, name: set}]";
    let world = world(&format!("{CLASS}{gw}{set}{}", route("HTTPRoute", "shop/r", parent)));
    assert_eq!(world.accepted("shop/r"), ["set#web"]);
    assert_eq!(world.codes(), [""; 0]);
}

fn conflicted(world: &World) -> Vec<String> {
    let listeners = world.topology.listeners.iter().filter(|l| l.conflicted);
    listeners.map(|l| world.name(l.node)).collect()
}

#[test]
fn conflicts_inside_one_gateway() {
    for (listeners, expected, codes) in [
        (vec!["a 80 HTTP", "b 80 HTTP"], "a b", "OV1212"),
        (vec!["a 80 HTTP", "b 81 HTTP"], "", ""),
        (
            vec!["a 80 HTTP x.com", "b 80 HTTP x.com", "c 80 HTTP y.com", "d 80 HTTP"],
            "a b",
            "OV1212",
        ),
        (vec!["a 80 HTTP x.com", "b 80 HTTPS x.com"], "a b", "OV1212"),
        (vec!["a 80 HTTP x.com", "b 80 HTTPS y.com"], "", ""),
        (vec!["a 80 HTTP *.x.com", "b 80 HTTP a.x.com"], "", ""),
        (vec!["a 80 TCP", "b 80 TCP"], "a b", "OV1212"),
        (vec!["a 80 UDP", "b 80 UDP"], "a b", "OV1212"),
        (vec!["a 80 TCP", "b 80 UDP"], "", ""),
        // A TCP listener needs its port alone; UDP is another matter.
        (
            vec!["a 80 TCP", "b 80 HTTP x.com", "c 80 HTTPS y.com", "d 80 UDP", "e 81 HTTP"],
            "a b c",
            "OV1212",
        ),
        // Protocols of vendors follow rules of theirs, and the schema has one for all of them.
        (vec!["a 80 vendor.example/x", "b 80 vendor.example/x"], "", "OV1033"),
    ] {
        let written: Vec<String> = listeners
            .iter()
            .map(|l| {
                let mut words = l.split(' ');
                let mut next = || words.next().unwrap_or("");
                let start = format!("name: {}, port: {}, protocol: {}", next(), next(), next());
                match next() {
                    "" => start,
                    hostname => format!("{start}, hostname: '{hostname}'"),
                }
            })
            .collect();
        let written: Vec<&str> = written.iter().map(String::as_str).collect();
        let world = world(&format!("{CLASS}{}", gateway("gw", &written)));
        let found: Vec<String> =
            conflicted(&world).iter().map(|n| n.rsplit('#').next().unwrap().to_owned()).collect();
        assert_eq!(found.join(" "), expected, "{listeners:?}");
        assert_eq!(world.codes().join(" "), codes, "{listeners:?}");
    }
}

/// Between objects the earlier one is in force: the Gateway, then sets by age, then by namespace and name.
#[test]
fn conflicts_between_objects() {
    let gw =
        open(&gateway("gw", &["name: own, port: 80, protocol: HTTP, hostname: own.com"]), "All");
    let shared = "name: x, port: 80, protocol: HTTP, hostname: shared.com";
    let (old, new) = (
        ", creationTimestamp: '2024-01-01T00:00:00Z'",
        ", creationTimestamp: '2024-01-02T00:00:00Z'",
    );
    let cases = [
        (set("b/s1", old, &[shared]), set("a/s2", new, &[shared]), "a/s2"),
        (set("b/s1", "", &[shared]), set("a/s2", new, &[shared]), "b/s1"),
        (set("a/s1", old, &[shared]), set("b/s2", old, &[shared]), "b/s2"),
        (set("a/s1", old, &[shared]), set("a/s2", old, &[shared]), "a/s2"),
        (
            set("a/s1", old, &["name: x, port: 80, protocol: HTTP, hostname: own.com"]),
            String::new(),
            "a/s1",
        ),
        (set("a/s1", old, &["name: x, port: 80, protocol: TCP"]), String::new(), "a/s1"),
    ];
    for (one, two, loser) in cases {
        let world = world(&format!("{CLASS}{gw}{one}{two}"));
        assert_eq!(conflicted(&world), [format!("Listener/{loser}#x")]);
        assert_eq!(world.codes(), ["OV1212"]);
    }
}

/// What the API server would refuse cannot make links by the million.
#[test]
fn at_most_64_listeners() {
    let listeners: Vec<String> =
        (0..70).map(|i| format!("name: l{i}, port: {}, protocol: HTTP", i + 1)).collect();
    let listeners: Vec<&str> = listeners.iter().map(String::as_str).collect();
    let world = world(&format!("{CLASS}{}", gateway("gw", &listeners)));
    assert_eq!(world.topology.listeners.len(), 64);
    assert_eq!(world.codes(), ["OV1031"]);
}
