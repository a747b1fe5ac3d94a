mod common;
use overrule_view::{EffectiveTable, Graph, Styles};
use std::time::Instant;
fn fleet(gateways: usize, listeners: usize, routes: usize, rules: usize) -> String {
    let mut t = String::from("apiVersion: overrule/v1\nkind: PolicyKind\nmetadata: {name: t}\nspec: {group: example.io, kind: TimeoutPolicy, class: Inherited}\n");
    for g in 0..gateways {
        t.push_str(&format!("---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: gw-{g}, namespace: infra}}\nspec:\n  gatewayClassName: edge\n  listeners:\n"));
        for l in 0..listeners { t.push_str(&format!("  - {{name: l{l}, port: {}, protocol: HTTP, allowedRoutes: {{namespaces: {{from: All}}}}}}\n", 8000+l)); }
        t.push_str(&format!("---\napiVersion: example.io/v1\nkind: TimeoutPolicy\nmetadata: {{name: gw-{g}, namespace: infra}}\nspec:\n  targetRef: {{kind: Gateway, name: gw-{g}}}\n  overrides:\n    strategy: merge\n    timeouts: {{request: 5s}}\n"));
    }
    for r in 0..routes {
        let g = r * 7 % gateways;
        t.push_str(&format!("---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: route-{r}, namespace: team-{}}}\nspec:\n  parentRefs: [{{name: gw-{g}, namespace: infra, sectionName: l{}}}]\n  rules:\n", r % 50, r % listeners));
        for _ in 0..rules { t.push_str("  - backendRefs: [{name: svc, port: 80}]\n"); }
        if r % 3 == 0 { t.push_str(&format!("---\napiVersion: example.io/v1\nkind: TimeoutPolicy\nmetadata: {{name: route-{r}, namespace: team-{}}}\nspec:\n  targetRef: {{kind: HTTPRoute, name: route-{r}}}\n  defaults:\n    timeouts: {{request: 20s, idle: {}s}}\n", r % 50, r % 60 + 1)); }
    }
    t
}
#[test]
fn svg500() {
    for (name, g, l, r, k) in [("s500", 3, 4, 160, 2), ("s60", 2, 3, 16, 2), ("s1", 1, 1, 0, 1)] {
        let text = fleet(g, l, r, k);
        let w = common::world(&[("fleet.yaml", &text)]);
        w.see(|scene, part| {
            let graph = Graph::build(scene, part, None);
            std::fs::write(format!("/tmp/{name}.svg"), graph.svg()).unwrap();
            std::fs::write(format!("/tmp/{name}.dot"), graph.dot()).unwrap();
            println!("{name}: {} nodes", graph.json().nodes.len());
        });
    }
}
#[test]
fn big() {
    let text = fleet(20, 8, 100_000, 1);
    let t = Instant::now();
    let w = common::world(&[("fleet.yaml", &text)]);
    println!("pipeline {:?}, {} diagnostics", t.elapsed(), w.diagnostics.len());
    w.see(|scene, part| {
        let contexts = w.contexts();
        println!("{} contexts", contexts.len());
        let t = Instant::now();
        let mut n = 0;
        for (k, p, _) in &contexts { n += overrule_view::json_line(&overrule_view::effective(scene, part, *k, *p)).len(); }
        println!("json {:?} {} MB", t.elapsed(), n / 1_000_000);
        let t = Instant::now();
        let mut table = EffectiveTable::new();
        for (k, p, _) in &contexts { table.push(scene, part, *k, *p); }
        let mut out = String::new();
        table.write(Some(200), &Styles::plain(), &mut out).unwrap();
        println!("table {:?} {}", t.elapsed(), out.len());
        let t = Instant::now();
        out.clear();
        for (k, p, _) in &contexts { overrule_view::effective_text(scene, part, *k, *p, &Styles::plain(), &mut out).unwrap(); }
        println!("text {:?} {}", t.elapsed(), out.len());
        let t = Instant::now();
        let graph = Graph::build(scene, part, None);
        println!("graph {:?} {} nodes", t.elapsed(), graph.json().nodes.len());
        let t = Instant::now(); out.clear(); graph.tree(&Styles::plain(), &mut out).unwrap(); println!("tree {:?} {}", t.elapsed(), out.len());
        let t = Instant::now(); let s = graph.svg(); println!("svg {:?} {}", t.elapsed(), s.len());
        let t = Instant::now(); let s = graph.dot(); println!("dot {:?} {}", t.elapsed(), s.len());
        let t = Instant::now(); let list = overrule_view::policies(scene, part, &|_| true); println!("policies {:?} {}", t.elapsed(), list.items.len());
        let t = Instant::now(); out.clear(); overrule_view::policies_table(&list, true, None, &Styles::plain(), &mut out).unwrap(); println!("policies table {:?} {}", t.elapsed(), out.len());
        let gw = w.resolution.policies().next().unwrap().0;
        let t = Instant::now(); let reach = overrule_view::reach(scene, part, gw, Some("timeouts.request")); println!("reach {:?} {}", t.elapsed(), reach.targets.len());
        out.clear(); overrule_view::reach_text(&reach, false, &Styles::plain(), &mut out).unwrap(); println!("{}", out.lines().take(3).collect::<Vec<_>>().join("\n")); println!("{}", out.lines().last().unwrap());
        let t = Instant::now(); let s = overrule_view::diagnostics_text(&scene.documents.sources, &w.diagnostics, &Styles::plain()); println!("diagnostics {:?} {} {}", t.elapsed(), s.len(), w.diagnostics.len());
    });
}
