// SPDX-License-Identifier: Apache-2.0
//! Many nodes: lists are summarised, shared parts are drawn once, boxes do not overlap.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that finds something else than it expects has to fail"
)]

mod common;

use common::{World, world};
use overrule_view::{Graph, Styles};

/// One gateway with this many listeners, and routes that attach to all of them.
fn fleet(listeners: usize, routes: usize) -> World {
    let api = "apiVersion: gateway.networking.k8s.io/v1\n";
    let mut text = format!(
        "apiVersion: overrule/v1\nkind: PolicyKind\nmetadata: {{name: t}}\n\
         spec: {{group: example.io, kind: TimeoutPolicy, class: Inherited}}\n---\n\
         {api}kind: Gateway\nmetadata: {{name: edge, namespace: infra}}\nspec:\n  gatewayClassName: edge\n  listeners:\n"
    );
    for i in 0..listeners {
        text.push_str(&format!("  - {{name: l{i}, port: {}, protocol: HTTP}}\n", 8000 + i));
    }
    for i in 0..routes {
        text.push_str(&format!(
            "---\n{api}kind: HTTPRoute\nmetadata: {{name: route-{i:03}, namespace: infra}}\n\
             spec:\n  parentRefs: [{{name: edge}}]\n  rules:\n"
        ));
        text.push_str(&"  - backendRefs: [{name: web, port: 80}]\n".repeat(i % 5 + 1));
    }
    text.push_str(
        "---\napiVersion: example.io/v1\nkind: TimeoutPolicy\nmetadata: {name: all, namespace: infra}\n\
         spec:\n  targetRef: {kind: Gateway, name: edge}\n  defaults: {timeout: 5s}\n",
    );
    world(&[("fleet.yaml", &text)])
}

#[test]
fn many_targets_are_summarised_unless_wide() {
    let world = fleet(1, 40);
    let policy = world.resolution.policies().next().unwrap().0;
    world.see(|scene, part| {
        let reach = overrule_view::reach(scene, part, policy, None);
        assert_eq!(reach.targets.len(), 120);
        let (mut short, mut wide) = (String::new(), String::new());
        overrule_view::reach_text(&reach, false, &Styles::plain(), &mut short).unwrap();
        overrule_view::reach_text(&reach, true, &Styles::plain(), &mut wide).unwrap();
        assert!(
            short.starts_with(
                "TimeoutPolicy infra/all is in force (Enforced) on all 120 paths it reaches\n"
            ),
            "{short}"
        );
        assert!(
            short.ends_with(
                "  … and 70 more targets with 70 paths: 70 in force; -o wide lists them\n"
            ),
            "{short}"
        );
        assert_eq!(wide.matches("  via ").count(), 120);
    });
}

#[test]
fn long_shared_parts_are_drawn_once() {
    let world = fleet(3, 5);
    world.see(|scene, part| {
        let mut out = String::new();
        Graph::build(scene, part, None).tree(&Styles::plain(), &mut out).unwrap();
        // The routes with four and five rules are long; the others are repeated.
        assert_eq!(out.matches("… see above").count(), 4, "{out}");
        assert_eq!(out.matches("httproute infra/route-000").count(), 3);
        assert_eq!(out.matches("rule-5").count(), 1);
    });
}

#[test]
fn boxes_do_not_overlap() {
    for (listeners, routes) in [(1, 1), (3, 20), (8, 100)] {
        let world = fleet(listeners, routes);
        world.see(|scene, part| {
            let svg = Graph::build(scene, part, None).svg();
            let number = |line: &str, name: &str| -> f64 {
                let start = line.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
                let rest = line.get(start..).unwrap();
                rest.split('"').next().unwrap().parse().unwrap()
            };
            let mut boxes: Vec<(f64, f64)> = svg
                .lines()
                .filter(|l| l.contains("class=\"box"))
                .map(|l| (number(l, "x"), number(l, "y")))
                .collect();
            assert!(boxes.len() > routes);
            boxes.sort_by(|a, b| a.partial_cmp(b).unwrap());
            for pair in boxes.windows(2) {
                assert!(pair[0].0 < pair[1].0 || pair[0].1 + 46.0 + 8.0 < pair[1].1, "{pair:?}");
            }
            let height = number(svg.lines().next().unwrap(), "height");
            assert!(boxes.iter().all(|(_, y)| *y > 0.0 && y + 46.0 < height));
        });
    }
}

#[test]
fn a_picture_of_too_many_nodes_is_folded_and_says_so() {
    let world = fleet(3, 150);
    world.see(|scene, part| {
        let graph = Graph::build(scene, part, None);
        let whole = graph.json().nodes.len();
        assert!(whole > 500, "the data has every node");
        let svg = graph.svg();
        let boxes = svg.lines().filter(|l| l.contains("class=\"box")).count();
        assert!(boxes > 150 && boxes <= 200, "{boxes}: rules are folded, routes are not");
        assert!(svg.contains("450 HTTPRouteRules"), "how much is in a group");
        assert!(
            svg.contains(&format!("{whole} nodes, 1 policy; below Rule folded")),
            "{svg:.2000}"
        );
        assert!(graph.dot().contains("folded by namespace"));
        assert!(graph.mermaid().contains("folded by namespace"));
    });
    let world = fleet(3, 1500);
    world.see(|scene, part| {
        let svg = Graph::build(scene, part, None).svg();
        let boxes = svg.lines().filter(|l| l.contains("class=\"box")).count();
        assert!(boxes < 20, "{boxes}: routes are folded for each set of listeners");
        assert!(svg.contains("1500 HTTPRoutes, 4500 HTTPRouteRules"), "{svg:.2000}");
    });
}

#[test]
fn long_names_keep_both_ends_and_are_whole_in_a_tooltip() {
    let name = format!("{}-canary", "checkout-service-".repeat(5).trim_end_matches('-'));
    let text = format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: {name}, namespace: infra}}\n\
         spec:\n  gatewayClassName: edge\n  listeners: [{{name: web, port: 80, protocol: HTTP}}]\n"
    );
    let world = world(&[("a.yaml", &text)]);
    world.see(|scene, part| {
        let graph = Graph::build(scene, part, None);
        let svg = graph.svg();
        let shown: Vec<&str> = svg.lines().filter(|l| l.contains("class=\"name\"")).collect();
        assert!(shown.iter().any(|l| l.contains('…') && l.contains("-canary<")), "{shown:?}");
        assert!(svg.contains(&format!("<title>gateway/infra/{name} a.yaml:")));
        assert!(graph.dot().contains(&format!("tooltip=\"gateway/infra/{name}\"")));
        assert!(!graph.dot().contains(&format!("label=\"Gateway\\ninfra/{name}\"")));
    });
}
