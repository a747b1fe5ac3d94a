// SPDX-License-Identifier: Apache-2.0
//! Nodes: which there are, in which order, how they are found; rule names, backends, grants; and that the order of the
//! input does not matter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/support.rs"]
mod support;

use overrule_gateway::topology::grants::{Referent, Referrer};
use overrule_gateway::topology::{BackendFacts, ConditionStatus, ConditionType, LEVELS, RuleIx};
use overrule_model::Sym;
use proptest::prelude::*;
use support::{World, world, world_of};

const FLEET: &str = include_str!("topology/fleet.yaml");

#[test]
fn nodes_in_their_documented_order() {
    let world = world(FLEET);
    assert_eq!(
        world.nodes(),
        [
            "GatewayClass/absent",
            "GatewayClass/edge",
            "Gateway/infra/a",
            "Listener/infra/a#web",
            "Listener/infra/a#tls",
            "Listener/infra/a#raw",
            "Gateway/infra/b",
            "Listener/infra/b#web",
            "ListenerSet/shop/extra",
            "Listener/shop/extra#more",
            "GRPCRoute/shop/calls",
            "GRPCRouteRule/shop/calls#rule-1",
            "HTTPRoute/blog/posts",
            "HTTPRouteRule/blog/posts#rule-1",
            "HTTPRoute/shop/cart",
            "HTTPRouteRule/shop/cart#rule-1",
            "HTTPRouteRule/shop/cart#pay",
            "HTTPRouteRule/shop/cart#rule-3",
            "TCPRoute/shop/db",
            "TCPRouteRule/shop/db#rule-1",
            "TLSRoute/shop/secure",
            "TLSRouteRule/shop/secure#rule-1",
            "Service/shop/cart",
            "ServicePort/shop/cart#http",
            "ServicePort/shop/cart#9090",
            "Service/shop/idle",
            "ServicePort/shop/idle#80",
            "Backend/shop/outside",
            "Service/blog/posts",
            "Service/shop/db",
        ]
    );
    assert_eq!(world.codes(), ["OV1201", "OV1206", "OV1206"]);
    let levels: Vec<&str> = LEVELS.to_vec();
    let of = |name: &str| {
        let (_, node) =
            world.topology.nodes.iter().find(|(id, _)| world.name(*id) == name).unwrap();
        world.topology.nodes.level_name(node.level)
    };
    assert_eq!(of("ServicePort/shop/cart#http"), levels[9]);
    assert_eq!(of("Backend/shop/outside"), levels[8]);
}

/// Every index leads to a node, and every node back to its index.
#[test]
fn nodes_and_indexes_agree() {
    let world = world(FLEET);
    let t = &world.topology;
    for (id, node) in t.nodes.iter() {
        let back = [
            t.class_of(id).and_then(|i| t.class(i)).map(|x| x.node),
            t.gateway_of(id).and_then(|i| t.gateway(i)).map(|x| x.node),
            t.set_of(id).and_then(|i| t.set(i)).map(|x| x.node),
            t.listener_of(id).and_then(|i| t.listener(i)).map(|x| x.node),
            t.route_of(id).and_then(|i| t.route(i)).map(|x| x.node),
            t.rule_of(id).and_then(|i| t.rule(i)).map(|x| x.node),
            t.backend_of(id).and_then(|i| t.backend(i)).map(|x| x.node),
            t.port_of(id).and_then(|i| t.port(i)).map(|x| x.node),
        ];
        let found: Vec<_> = back.into_iter().flatten().collect();
        assert_eq!(found, [id], "{}", world.name(id));
        if let Some(object) = node.object {
            match node.section.is_empty() {
                true => assert_eq!(t.object_node(object), Some(id)),
                false => assert_eq!(t.section_node(object, node.section), Some(id)),
            }
        }
    }
    for (ix, link) in (0..).zip(&t.links) {
        assert!(t.links_of_listener(link.listener).contains(link));
        assert!(t.links_of_route(link.route).any(|(i, l)| i.0 == ix && l == link));
    }
    assert!(t.links.is_sorted_by_key(|l| (l.listener, l.route)));
}

#[test]
fn sections_by_name() {
    let world = world(FLEET);
    for (target, expected) in [
        ("gateway/infra/a#tls", "Listener/infra/a#tls"),
        ("httproute/shop/cart#rule-1", "HTTPRouteRule/shop/cart#rule-1"),
        ("httproute/shop/cart#pay", "HTTPRouteRule/shop/cart#pay"),
        ("httproute/shop/cart#rule-3", "HTTPRouteRule/shop/cart#rule-3"),
        // A named rule counts, but does not go by its number.
        ("httproute/shop/cart#rule-2", "-"),
        ("service/shop/cart#http", "ServicePort/shop/cart#http"),
        ("service/shop/cart#9090", "ServicePort/shop/cart#9090"),
        ("gateway/infra/a#none", "-"),
        ("gateway/infra/a", "Gateway/infra/a"),
        ("gatewayclass/edge", "GatewayClass/edge"),
    ] {
        let found = world.target(target).map_or("-".to_owned(), |n| world.name(n));
        assert_eq!(found, expected, "{target}");
    }
}

fn rules(names: &[&str]) -> World {
    let list: String = names
        .iter()
        .map(|name| {
            let name = if name.is_empty() { String::new() } else { format!("name: {name}, ") };
            format!("  - {{{name}backendRefs: [{{group: g.example, kind: K, name: x}}]}}\n")
        })
        .collect();
    world(&format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r, namespace: shop}}\nspec:\n  rules:\n{list}"
    ))
}

#[test]
fn rule_names() {
    // Names as written; per rule its section, `!` if it cannot be named; codes.
    let cases: &[(&[&str], &str, &str)] = &[
        (&["", ""], "rule-1 rule-2", ""),
        (&["a", "", "b"], "a rule-2 b", ""),
        (&["rule-2", ""], "rule-2 rule-2!", "OV1215"),
        (&["rule-1", ""], "rule-1 rule-2", ""),
        (&["rule-2", "x"], "rule-2 x", ""),
        (&["", "rule-1"], "rule-1! rule-1", "OV1215"),
        (&["a", "a"], "a rule-2", "OV1214"),
        (&["a", "a", "rule-2"], "a rule-2! rule-2", "OV1214 OV1215"),
    ];
    for (names, expected, codes) in cases {
        let world = rules(names);
        let shown: Vec<String> = (0..names.len())
            .map(|i| {
                let rule = world.topology.rule(RuleIx::from(i)).unwrap();
                let section = world.topology.nodes.get(rule.node).unwrap().section;
                let hidden = if rule.hidden { "!" } else { "" };
                format!("{}{hidden}", world.snapshot.text(section))
            })
            .collect();
        assert_eq!(shown.join(" "), *expected, "{names:?}");
        let found: Vec<&str> = world.codes().into_iter().filter(|c| *c != "OV1207").collect();
        assert_eq!(found.join(" "), *codes, "{names:?}");
        for (i, rule) in
            world.topology.all_rules().map(|(i, r)| (i.at(), r)).filter(|(_, r)| !r.hidden)
        {
            let node = world.topology.nodes.get(rule.node).unwrap();
            let found = world.topology.section_node(node.object.unwrap(), node.section);
            assert_eq!(found, Some(rule.node), "{names:?} {i}");
        }
    }
}

/// More sections than fit a scan: the same answers.
#[test]
fn crowded_objects() {
    let names: Vec<String> =
        (0..100).map(|i| if i % 3 == 0 { String::new() } else { format!("n{i}") }).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names[50] = "rule-1";
    let world = rules(&names);
    let object = world.topology.routes[0].object;
    let sections: Vec<Sym> = world.topology.sections_of(object).map(|(name, _)| name).collect();
    assert_eq!(sections.len(), 99, "all but the one whose name another rule has");
    for (index, rule) in world.topology.all_rules().map(|(i, r)| (i.at(), r)) {
        let section = world.topology.nodes.get(rule.node).unwrap().section;
        let found = world.topology.section_node(object, section).unwrap();
        assert_eq!(found == rule.node, !rule.hidden, "{index}");
    }
}

/// An HTTPRoute without rules has one, which takes everything.
#[test]
fn the_default_rule() {
    let world = world(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: shop}\nspec: {}\n",
    );
    assert_eq!(world.nodes(), ["HTTPRoute/shop/r", "HTTPRouteRule/shop/r#rule-1"]);
    assert_eq!(world.codes(), ["OV1220"]);
}

#[test]
fn backends_and_what_is_known_of_them() {
    let world = world(FLEET);
    let shown = |route: &str| {
        let route = world.route(route);
        let rules = world.topology.rules_of(route);
        let uses = rules.flat_map(|(rule, _)| world.topology.uses_of(rule));
        let shown: Vec<String> = uses
            .map(|u| {
                let node = world.topology.backend(u.backend).unwrap().node;
                format!(
                    "{}:{} x{} {:?}",
                    world.name(node),
                    u.port.map_or(0, std::num::NonZero::get),
                    u.weight,
                    u.facts
                )
            })
            .collect();
        shown
    };
    assert_eq!(
        shown("shop/cart"),
        [
            "Service/shop/cart:80 x9 Resolved",
            "Service/shop/cart:9090 x1 Resolved",
            "Backend/shop/outside:0 x1 Resolved",
            "Service/shop/cart:80 x1 Resolved",
        ]
    );
    assert_eq!(shown("shop/db"), ["Service/shop/db:5432 x1 NotFound"]);
    let rule = world.topology.rules_of(world.route("blog/posts")).next().unwrap().0;
    let [delegation] = world.topology.delegations_of(rule) else { panic!("one delegation") };
    assert_eq!(world.snapshot.text(delegation.name), "*");
    assert_eq!(world.snapshot.text(delegation.namespace), "shop");
    let route = world.topology.route(world.route("shop/db")).unwrap();
    assert_eq!(route.refs, BackendFacts::NotFound);
}

#[test]
fn resolved_refs_of_a_route() {
    let grant = "---\napiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: g, namespace: b}\nspec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: '', kind: Service}]}\n";
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: svc, namespace: b}\n";
    for (backend, more, expected) in [
        ("{name: svc, namespace: b, port: 80}", format!("{service}{grant}"), "True ResolvedRefs"),
        ("{name: svc, namespace: b, port: 80}", service.to_owned(), "False RefNotPermitted"),
        ("{name: svc, port: 80}", service.to_owned(), "False BackendNotFound"),
        ("{name: svc, port: 80}", String::new(), "Unknown Pending"),
        (
            "{name: svc, namespace: b, port: 80}, {name: none, port: 80}",
            service.to_owned(),
            "False RefNotPermitted",
        ),
    ] {
        let world = world(&format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: r, namespace: a}}\nspec: {{parentRefs: [{{name: gw}}], rules: [{{backendRefs: [{backend}]}}]}}\n{more}"
        ));
        let conditions = world.topology.conditions(world.route("a/r"));
        let found: Vec<String> = conditions
            .iter()
            .filter(|c| c.kind == ConditionType::ResolvedRefs)
            .map(|c| format!("{:?} {}", c.status, c.reason))
            .collect();
        assert_eq!(found, [expected], "{backend}");
        assert_ne!(conditions[0].status, ConditionStatus::True);
    }
}

#[test]
fn grants() {
    let grant = |spec: &str| {
        format!(
            "---\napiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {{name: g, namespace: b}}\nspec: {spec}\n"
        )
    };
    let gw = "gateway.networking.k8s.io";
    let http = format!("{{group: {gw}, kind: HTTPRoute, namespace: a}}");
    let cases = [
        (format!("{{from: [{http}], to: [{{group: '', kind: Service}}]}}"), true),
        (format!("{{from: [{http}], to: [{{group: '', kind: Service, name: svc}}]}}"), true),
        (format!("{{from: [{http}], to: [{{group: '', kind: Service, name: other}}]}}"), false),
        (format!("{{from: [{http}], to: [{{group: '', kind: Secret}}]}}"), false),
        (format!("{{from: [{http}], to: [{{group: x.example, kind: Service}}]}}"), false),
        (
            format!(
                "{{from: [{{group: {gw}, kind: GRPCRoute, namespace: a}}], to: [{{group: '', kind: Service}}]}}"
            ),
            false,
        ),
        (
            format!(
                "{{from: [{{group: {gw}, kind: HTTPRoute, namespace: c}}], to: [{{group: '', kind: Service}}]}}"
            ),
            false,
        ),
        (
            format!(
                "{{from: [{{group: {gw}, kind: HTTPRoute, namespace: c}}, {http}], to: [{{group: '', kind: Secret}}, {{group: '', kind: Service}}]}}"
            ),
            true,
        ),
        // What cannot be read permits nothing.
        (format!("{{from: [{http}], to: [{{group: '', kind: Service, name: 1}}]}}"), false),
        (format!("{{from: [{http}], to: [{{kind: Service}}]}}"), false),
        (
            format!(
                "{{from: [{{group: {gw}, kind: HTTPRoute}}], to: [{{group: '', kind: Service}}]}}"
            ),
            false,
        ),
    ];
    for (spec, expected) in cases {
        let names = "---\napiVersion: v1\nkind: Service\nmetadata: {name: svc, namespace: a}\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: svc, namespace: b}\nspec: {rules: [{backendRefs: [{name: svc, port: 1}]}]}\n";
        let world = world(&format!("{}{names}", grant(&spec)));
        let sym = |text: &str| world.snapshot.names().lookup(text).unwrap();
        let from = Referrer { group: sym(gw), kind: sym("HTTPRoute"), namespace: sym("a") };
        let to = Referent {
            group: Sym::EMPTY,
            kind: sym("Service"),
            namespace: sym("b"),
            name: sym("svc"),
        };
        assert_eq!(world.topology.grants.allows(from, to), expected, "{spec}");
        let own = Referent { namespace: sym("a"), ..to };
        assert!(world.topology.grants.allows(from, own), "within a namespace nothing is needed");
    }
}

/// Everything that must not depend on the order of the input.
fn shape(world: &World) -> (Vec<String>, Vec<String>, Vec<String>, Vec<String>) {
    let t = &world.topology;
    let links = t
        .links
        .iter()
        .map(|l| {
            let listener = world.name(t.listener(l.listener).unwrap().node);
            let route = world.name(t.route(l.route).unwrap().node);
            format!("{listener} {route} {} {:?}", l.parent_ref, l.facts())
        })
        .collect();
    let uses = t
        .uses
        .iter()
        .map(|u| {
            format!("{} {:?} {}", world.name(t.backend(u.backend).unwrap().node), u.facts, u.weight)
        })
        .collect();
    let findings = world
        .diagnostics
        .iter()
        .map(|d| {
            format!("{} {} {} {:?} {}", d.code.id, d.message, d.field, d.help, d.related.len())
        })
        .collect();
    (world.nodes(), links, uses, findings)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Documents in any order, in any number of files.
    #[test]
    fn the_order_of_the_input_does_not_matter(
        order in Just((0..FLEET.split("\n---\n").count()).collect::<Vec<_>>()).prop_shuffle(),
        cut in 1_usize..10,
    ) {
        let documents: Vec<&str> = FLEET.split("\n---\n").collect();
        // Something wrong in it, so that findings are compared too.
        let wrong = FLEET.replace("name: pay", "name: rule-1").replace("sectionName: raw", "sectionName: row");
        let wrong: Vec<&str> = wrong.split("\n---\n").collect();
        for documents in [documents, wrong] {
            let shuffled: Vec<&str> = order.iter().map(|i| documents[*i]).collect();
            let (first, second) = shuffled.split_at(cut);
            let files = [("a.yaml", first.join("\n---\n")), ("b.yaml", second.join("\n---\n"))];
            let expected = world_of(&[("all.yaml", documents.join("\n---\n"))]);
            prop_assert_eq!(shape(&world_of(&files)), shape(&expected));
        }
    }
}
