// SPDX-License-Identifier: Apache-2.0
//! What is referred to and missing: what is assumed, what is told, and what stays unknown.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "topology/assumed.rs"]
mod assumed;
#[path = "topology/findings.rs"]
#[allow(dead_code, reason = "only the type of cases is used here")]
mod findings;
#[path = "topology/support.rs"]
mod support;

use assumed::ASSUMED;
use overrule_gateway::topology::{HttpRequest, assume, parse_assuming, route_request};
use overrule_source::{Input, ReadOptions, read};
use support::World;

/// Findings about what is missing; the manifests lack other things, too.
const ABOUT: [&str; 5] = ["OV1201", "OV1202", "OV1204", "OV1221", "OV1222"];

fn world(text: &str) -> World {
    let read = read(vec![Input::new("a.yaml", text.as_bytes())], &ReadOptions::default());
    let mut snapshot = overrule_model::parse(&read.documents).snapshot;
    let mut assumed = assume(&read.documents, &mut snapshot);
    let mut diagnostics = std::mem::take(&mut assumed.diagnostics);
    let (resources, found) = parse_assuming(&read.documents, &mut snapshot, &assumed);
    diagnostics.extend(found);
    let built = resources.connect(&snapshot);
    diagnostics.extend(built.diagnostics);
    World { documents: read.documents, snapshot, topology: built.topology, diagnostics }
}

fn named(name: &str) -> World {
    world(ASSUMED.iter().find(|case| case.name == name).unwrap().text)
}

#[test]
fn every_finding_at_its_place() {
    let mut wrong = String::new();
    for case in ASSUMED {
        let mut found = world(case.text).findings();
        found.retain(|finding| ABOUT.iter().any(|code| finding.starts_with(code)));
        if found != case.expected {
            wrong += &format!("{}: {found:#?}\nexpected {:#?}\n", case.name, case.expected);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_gateway_has_the_listeners_that_are_named() {
    let world = named("a gateway, where none was read");
    assert_eq!(world.nodes().iter().filter(|n| n.starts_with("Listener")).count(), 3);
    // Who names no listener attaches to all of them.
    assert_eq!(world.accepted("shop/r"), ["edge#*:8443", "edge#web"]);
    assert_eq!(world.accepted("shop/t"), ["edge#*", "edge#*:8443", "edge#web"]);
    assert_eq!(world.reasons("shop/r"), ["Assumed", "Assumed"]);
    let conditions = world.topology.conditions(world.route("shop/r"));
    assert_eq!(format!("{:?}", conditions[0].status), "Unknown");
}

#[test]
fn labels_of_a_namespace_are_open_and_its_name_is_not() {
    let open = named("a namespace, where others were read");
    assert_eq!(open.accepted("shop/r"), ["edge#web"]);
    let named = named("a namespace whose name is all that is asked for");
    assert!(named.accepted("shop/r").is_empty());
}

#[test]
fn any_listener_of_an_assumed_gateway_may_take_a_request() {
    let world = named("a gateway, where none was read");
    for url in ["http://a.example.com/", "https://a.example.com:9000/"] {
        let request: HttpRequest = url.parse().unwrap();
        let World { documents, snapshot, topology, .. } = &world;
        let routed = route_request(documents, snapshot, topology, &request);
        let taken = routed.taken.first().unwrap();
        let link = topology.link(taken.link).unwrap();
        assert_eq!(topology.route(link.route).map(|r| r.kind.name()), Some("HTTPRoute"), "{url}");
    }
}

#[test]
fn ports_that_contradict_each_other_are_unknown() {
    let route = |name: &str, port: &str| {
        format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\n\
             metadata: {{name: {name}, namespace: shop}}\n\
             spec: {{parentRefs: [{{name: edge, sectionName: web{port}}}]}}\n---\n"
        )
    };
    let all = [route("a", ", port: 80"), route("b", ", port: 81"), route("c", "")];
    let world = world(&all.concat());
    for name in ["shop/a", "shop/b", "shop/c"] {
        assert_eq!(world.accepted(name), ["edge#web"], "{name}");
    }
}
