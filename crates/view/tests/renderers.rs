// SPDX-License-Identifier: Apache-2.0
//! Golden files of every renderer, over one small shop.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that finds something else than it expects has to fail"
)]

mod common;

use common::{World, fixture, golden};
use overrule_engine::{LadderId, PolicyId};
use overrule_view::{EffectiveTable, Graph, Styles, TableFit};

fn shop() -> World {
    fixture("shop.yaml")
}

fn policy(world: &World, name: &str) -> PolicyId {
    let mut policies = world.resolution.policies();
    let named = |(_, p): &(PolicyId, &overrule_engine::PolicyEntry)| {
        world.snapshot.get(p.object).is_some_and(|o| world.snapshot.text(o.name) == name)
    };
    policies.find(named).unwrap().0
}

#[test]
fn effective_policies_as_text() {
    let world = shop();
    let mut out = String::new();
    world.see(|scene, part| {
        for (kind, path, _) in world.contexts() {
            overrule_view::effective_text(scene, part, kind, path, &Styles::plain(), &mut out)
                .unwrap();
            out.push_str("---\n");
        }
    });
    golden("effective.txt", &out);
}

#[test]
fn effective_policies_as_a_table() {
    let world = shop();
    let mut table = EffectiveTable::new();
    let mut out = String::new();
    world.see(|scene, part| {
        for (kind, path, ladder) in world.contexts() {
            if ladder != LadderId::EMPTY {
                table.push(scene, part, kind, path);
            }
        }
        table.write(&Styles::plain().with_fit(TableFit::Columns(150)), &mut out).unwrap();
    });
    golden("effective_table.txt", &out);
}

#[test]
fn effective_policies_as_json_and_yaml() {
    let world = shop();
    let (kind, path) = world.find("TimeoutPolicy", "httproute/shop/cart#read");
    let policy = world.see(|scene, part| overrule_view::effective(scene, part, kind, path));
    golden("effective.json", &(overrule_view::json(&policy) + "\n"));
    golden("effective.yaml", &overrule_view::yaml(&policy));
}

fn explained(
    world: &World,
    kind: &str,
    target: &str,
    field: Option<&str>,
    styles: &Styles,
) -> String {
    let (kind, path) = world.find(kind, target);
    let mut out = String::new();
    world.see(|scene, part| {
        overrule_view::explain_text(scene, part, path, Some(kind), field, styles, &mut out)
            .unwrap();
    });
    out
}

#[test]
fn explanations() {
    let world = shop();
    let plain = Styles::plain();
    let mut out = String::new();
    for (kind, target, field) in [
        ("TimeoutPolicy", "httproute/shop/cart#read", None),
        ("TimeoutPolicy", "httproute/shop/cart#rule-2", None),
        ("TimeoutPolicy", "httproute/shop/cart#rule-2", Some("timeouts.request")),
        ("TimeoutPolicy", "httproute/shop/cart#rule-2", Some("/spec/timeouts")),
        ("TimeoutPolicy", "httproute/shop/cart#rule-2", Some("timeouts.requset")),
        ("TimeoutPolicy", "httproute/shop/cart#rule-2", Some("idle")),
        ("TimeoutPolicy", "httproute/shop/cart#rule-2", Some("targetRef")),
        ("BackendTLSPolicy", "service/shop/cart", None),
        ("BackendTLSPolicy", "service/shop/console", None),
    ] {
        out.push_str(&format!("$ explain {target} --kind {kind} {}\n", field.unwrap_or("")));
        out.push_str(&explained(&world, kind, target, field, &plain));
        out.push('\n');
    }
    golden("explain.txt", &out);
    let colored =
        explained(&world, "TimeoutPolicy", "httproute/shop/cart#read", None, &Styles::colored());
    golden("explain_colored.txt", &colored);
}

#[test]
fn explanation_as_json() {
    let world = shop();
    let (kind, path) = world.find("TimeoutPolicy", "httproute/shop/cart#rule-2");
    let explanation = world
        .see(|scene, part| overrule_view::explain(scene, part, path, Some(kind), Some("timeouts")));
    golden("explain.json", &(overrule_view::json(&explanation) + "\n"));
}

#[test]
fn reaches() {
    let world = shop();
    let mut out = String::new();
    for (name, rule, wide) in [
        ("gw-timeouts", None, false),
        ("cart-timeouts", None, false),
        ("cart-timeouts", Some("timeouts.request"), false),
        ("cart-timeouts", Some("timeouts.idle"), true),
        ("cart-timeouts", Some("timeouts.idel"), false),
        ("cart-read", None, true),
        ("cart-tls-late", None, false),
    ] {
        let id = policy(&world, name);
        let reach = world.see(|scene, part| overrule_view::reach(scene, part, id, rule));
        let (rule, form) = (rule.unwrap_or(""), if wide { "wide" } else { "" });
        out.push_str(&format!("$ reach {name} {rule} {form}\n"));
        overrule_view::reach_text(&reach, wide, &Styles::plain(), &mut out).unwrap();
        out.push('\n');
    }
    golden("reach.txt", &out);
    let id = policy(&world, "cart-read");
    let reach = world.see(|scene, part| overrule_view::reach(scene, part, id, None));
    golden("reach.json", &(overrule_view::json(&reach) + "\n"));
}

#[test]
fn lists() {
    let world = shop();
    let plain = Styles::plain();
    let mut out = String::new();
    world.see(|scene, part| {
        let policies = overrule_view::policies(scene, part, &|_| true);
        let now = Some(1_760_000_000);
        overrule_view::policies_table(&policies, false, now, &plain, &mut out).unwrap();
        out.push('\n');
        overrule_view::policies_table(&policies, true, None, &plain, &mut out).unwrap();
        out.push('\n');
        let resources =
            overrule_view::resources(scene, &|o| scene.snapshot.text(o.kind.kind) != "PolicyKind");
        overrule_view::resources_table(&resources, false, &plain, &mut out).unwrap();
        out.push('\n');
        overrule_view::resources_table(&resources, true, &plain, &mut out).unwrap();
        for (kind, _) in world.resolution.kinds() {
            out.push('\n');
            let list = overrule_view::without(scene, part, kind);
            overrule_view::without_table(&list, &plain, &mut out).unwrap();
        }
        golden("policies.json", &(overrule_view::json(&policies) + "\n"));
        golden("resources.json", &(overrule_view::json(&resources) + "\n"));
    });
    golden("lists.txt", &out);
}

#[test]
fn diagnostics() {
    let world = shop();
    let sources = &world.documents.sources;
    let found = &world.diagnostics;
    golden("diagnostics.txt", &overrule_view::diagnostics_text(sources, found, &Styles::plain()));
    golden(
        "diagnostics_short.txt",
        &overrule_view::diagnostics_short(sources, found, &Styles::plain()),
    );
    let list = overrule_view::diagnostics(sources, found);
    golden("diagnostics.json", &(overrule_view::json(&list) + "\n"));
}

#[test]
fn graphs() {
    let world = shop();
    world.see(|scene, part| {
        let graph = Graph::build(scene, part, None);
        let mut tree = String::new();
        graph.tree(&Styles::plain(), &mut tree).unwrap();
        golden("graph.txt", &tree);
        golden("graph.dot", &graph.dot());
        golden("graph.mmd", &graph.mermaid());
        golden("graph.svg", &graph.svg());
        golden("graph.json", &(overrule_view::json(graph.json()) + "\n"));
        let console = part
            .topology
            .iter()
            .find(|(id, _)| part.target_name(scene, *id) == "httproute/shop/console");
        let focused = Graph::build(scene, part, console.map(|(id, _)| id));
        let mut tree = String::new();
        focused.tree(&Styles::plain(), &mut tree).unwrap();
        golden("graph_focus.txt", &tree);
        golden("graph_focus.svg", &focused.svg());
    });
}
