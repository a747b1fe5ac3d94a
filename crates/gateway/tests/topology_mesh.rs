// SPDX-License-Identifier: Apache-2.0
//! Routes bound to Services (GEP-1426): which are bound to which ports, for whose clients, and who takes a request.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/support.rs"]
mod support;

use overrule_gateway::topology::{HttpRequest, MeshRouted, route_mesh_request};
use support::{World, world};

const SERVICE: &str = "---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: shop}
spec: {ports: [{name: web, port: 80}, {name: admin, port: 81}]}
";

/// A route with this parentRef; its rules, by name, match prefixes.
fn route(kind: &str, name: &str, parent: &str, rules: &[(&str, &str)]) -> String {
    let (namespace, name) = name.split_once('/').unwrap();
    let rules: String = rules
        .iter()
        .map(|(rule, path)| {
            let matches = match (kind, *path) {
                ("HTTPRoute", path) if !path.is_empty() => {
                    format!(", matches: [{{path: {{value: {path}}}}}]")
                }
                _ => String::new(),
            };
            format!("  - {{name: {rule}{matches}, backendRefs: [{{group: g.example, kind: K, name: x}}]}}\n")
        })
        .collect();
    format!(
        "---\napiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  parentRefs: [{{group: '', kind: Service, name: echo{parent}}}]\n  rules:\n{rules}"
    )
}

/// `PORT ROUTE CLIENTS` of every link.
fn bound(world: &World) -> Vec<String> {
    let mesh = &world.topology.mesh;
    let text = |sym| world.snapshot.text(sym);
    let links = mesh.links.iter().map(|link| {
        let port = link.port.and_then(|port| mesh.port(port));
        let port = port.map_or("-", |p| text(world.topology.nodes.get(p.node).unwrap().section));
        let route = world.topology.route(link.route).unwrap().node;
        format!("{port} {} {}", world.name(route), link.clients.map_or("all", text))
    });
    links.collect()
}

/// What becomes of a request, for each kind of clients.
fn sent(world: &World, request: &str) -> Vec<String> {
    let request: HttpRequest = request.parse().unwrap();
    let found = route_mesh_request(&world.documents, &world.snapshot, &world.topology, &request);
    let answers = found.iter().map(|taken| {
        let clients = taken.clients.map_or("others", |c| world.snapshot.text(c));
        let routed = match taken.routed {
            MeshRouted::Taken { rule, .. } => world
                .name(world.topology.rule(rule).unwrap().node)
                .split_once('/')
                .unwrap()
                .1
                .to_owned(),
            other => format!("{other:?}"),
        };
        format!("{clients}: {routed}")
    });
    answers.collect()
}

#[test]
fn a_parent_means_the_ports_it_says() {
    for (parent, expected, status, codes) in [
        ("", vec!["web HTTPRoute/shop/r all", "admin HTTPRoute/shop/r all"], "Accepted", ""),
        (", port: 80", vec!["web HTTPRoute/shop/r all"], "Accepted", ""),
        (", sectionName: admin", vec!["admin HTTPRoute/shop/r all"], "Accepted", ""),
        (", sectionName: admin, port: 81", vec!["admin HTTPRoute/shop/r all"], "Accepted", ""),
        (", sectionName: admin, port: 80", vec![], "NoMatchingParent", "OV1240"),
        (", port: 82", vec![], "NoMatchingParent", "OV1240"),
        (", sectionName: none", vec![], "NoMatchingParent", "OV1240"),
        (", namespace: blog", vec![], "ParentNotFound", "OV1202"),
    ] {
        let world =
            world(&format!("{SERVICE}{}", route("HTTPRoute", "shop/r", parent, &[("a", "")])));
        assert_eq!(bound(&world), expected, "{parent}");
        assert_eq!(world.reasons("shop/r"), [status], "{parent}");
        let found = world.codes().into_iter().filter(|c| *c != "OV1207").collect::<Vec<_>>();
        assert_eq!(found.join(" "), codes, "{parent}");
    }
}

#[test]
fn without_services_in_the_input_the_parent_is_assumed() {
    let text = route("HTTPRoute", "shop/r", ", port: 80", &[("a", "")]);
    let world = world(&text);
    assert_eq!(bound(&world), ["- HTTPRoute/shop/r all"]);
    assert_eq!(world.reasons("shop/r"), ["Accepted"]);
    assert_eq!(sent(&world, "GET http://echo.shop/"), ["others: shop/r#a"]);
}

#[test]
fn several_parents_of_one_route_count_once_for_each_port() {
    let text = route(
        "HTTPRoute",
        "shop/r",
        "}, {group: '', kind: Service, name: echo, port: 81",
        &[("a", "")],
    );
    let world = world(&format!("{SERVICE}{text}"));
    assert_eq!(bound(&world), ["web HTTPRoute/shop/r all", "admin HTTPRoute/shop/r all"]);
    assert_eq!(world.reasons("shop/r"), ["Accepted", "Accepted"]);
}

#[test]
fn one_kind_of_routes_counts_at_a_port() {
    let text = |grpc: &str| {
        format!(
            "{SERVICE}{}{}{}",
            route("GRPCRoute", "shop/g", grpc, &[("g", "")]),
            route("HTTPRoute", "shop/h", "", &[("h", "")]),
            route("TCPRoute", "blog/t", ", namespace: shop", &[("t", "")]),
        )
    };
    let both = world(&text(""));
    let own = ["web TCPRoute/blog/t blog", "admin TCPRoute/blog/t blog"];
    let expected = ["web GRPCRoute/shop/g all", own[0], "admin GRPCRoute/shop/g all", own[1]];
    assert_eq!(bound(&both), expected, "the route of another namespace acts on other clients");
    assert_eq!(both.reasons("shop/h"), ["Conflicted"]);
    assert_eq!(both.codes().iter().filter(|c| **c == "OV1241").count(), 1);
    let apart = world(&text(", port: 81"));
    assert!(bound(&apart).contains(&"web HTTPRoute/shop/h all".to_owned()));
    assert!(!bound(&apart).contains(&"admin HTTPRoute/shop/h all".to_owned()));
}

#[test]
fn consumer_routes_take_the_place_of_producer_routes_for_their_clients() {
    let world = world(&format!(
        "{SERVICE}{}{}",
        route("HTTPRoute", "shop/own", ", port: 80", &[("cart", "/cart"), ("all", "/")]),
        route("HTTPRoute", "blog/theirs", ", namespace: shop", &[("only", "/cart")]),
    ));
    for (request, expected) in [
        ("GET http://echo.shop/cart/1", vec!["blog: blog/theirs#only", "others: shop/own#cart"]),
        ("GET http://echo.shop.svc/x", vec!["blog: NoRule", "others: shop/own#all"]),
        ("GET http://echo.shop.svc.cluster.local:81/", vec!["blog: NoRule", "others: Direct"]),
        ("GET http://echo.shop:82/", vec!["others: NoPort"]),
        // The name alone is used in the namespace of the Service only.
        ("GET http://echo/x", vec!["shop: shop/own#all"]),
        ("GET http://echo.blog/x", vec![]),
        ("GET http://echo.shop.example.com/x", vec![]),
        ("GET http://shop.echo/x", vec![]),
    ] {
        assert_eq!(sent(&world, request), expected, "{request}");
    }
    let notes: Vec<_> = world.codes().into_iter().filter(|code| *code == "OV1242").collect();
    assert_eq!(notes.len(), 1, "once for the parentRef, whatever the number of ports");
}

#[test]
fn hostnames_of_routes_say_nothing_in_a_mesh() {
    let text = route("HTTPRoute", "shop/r", "", &[("a", "")])
        .replace("  rules:", "  hostnames: [other.example.com]\n  rules:");
    let world = world(&format!("{SERVICE}{text}"));
    assert_eq!(sent(&world, "GET http://echo.shop/"), ["others: shop/r#a"]);
}

#[test]
fn backends_in_other_namespaces_need_no_permission_in_a_mesh() {
    let text = |parents: &str| {
        let backend = "kind: Service, name: next, namespace: blog, port: 80";
        let next = SERVICE.replace("name: echo, namespace: shop", "name: next, namespace: blog");
        let route = route("HTTPRoute", "shop/r", parents, &[("a", "")]);
        format!("{SERVICE}{next}{}", route.replace("group: g.example, kind: K, name: x", backend))
    };
    assert_eq!(world(&text("")).codes(), [""; 0]);
    let both = world(&text("}, {name: edge"));
    assert!(both.codes().contains(&"OV1209"), "a route of a Gateway too needs it");
}

#[test]
fn tunnels_of_a_mesh_are_a_known_protocol() {
    let listener = "name: mesh, port: 15008, protocol: HBONE";
    let world = world(&format!("{}{}", support::CLASS, support::gateway("waypoint", &[listener])));
    assert_eq!(world.codes(), [""; 0]);
}
