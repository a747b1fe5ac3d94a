// SPDX-License-Identifier: Apache-2.0
//! What holds for every answer: one origin per leaf, YAML that reads back, the same bytes every time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that finds something else than it expects has to fail"
)]

mod common;

use common::{World, fixture, world};
use overrule_view::v1::Value;
use overrule_view::{Graph, Styles};

fn pointers(value: &Value, at: &str, leaves: &mut Vec<String>) {
    let below = |segment: &str| format!("{at}/{}", segment.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Map(entries) if !entries.is_empty() => {
            entries.iter().for_each(|(k, v)| pointers(v, &below(k), leaves));
        }
        Value::List(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(i, v)| pointers(v, &below(&i.to_string()), leaves));
        }
        _ => leaves.push(at.to_owned()),
    }
}

#[test]
fn every_leaf_has_one_origin_and_its_policy_is_on_the_ladder() {
    for name in ["shop.yaml", "hostile.yaml", "values.yaml"] {
        let world = fixture(name);
        let mut seen = 0;
        world.see(|scene, part| {
            for (kind, path, _) in world.contexts() {
                let policy = overrule_view::effective(scene, part, kind, path);
                let Some(spec) = &policy.spec else { continue };
                let mut leaves = Vec::new();
                pointers(spec, "", &mut leaves);
                leaves.sort();
                let known: Vec<String> = policy.origins.keys().cloned().collect();
                assert_eq!(known, leaves, "{}", policy.target);
                for (pointer, origins) in &policy.origins {
                    assert_eq!(origins.len(), 1, "{pointer}");
                    assert!(policy.policies.iter().any(|p| p.policy == origins[0].policy));
                    let at = origins[0].at.as_ref().unwrap();
                    assert!(at.line > 1 && at.column >= 1 && at.file == name);
                    seen += 1;
                }
            }
        });
        assert!(seen > 3, "{name}: {seen}");
    }
}

#[test]
fn a_lost_part_names_its_place_and_who_is_there() {
    let world = fixture("shop.yaml");
    world.see(|scene, part| {
        for (kind, path, _) in world.contexts() {
            let policy = overrule_view::effective(scene, part, kind, path);
            for lost in &policy.shadowed {
                assert!(lost.at.is_some() && !lost.by.is_empty(), "{lost:?}");
                assert!(!lost.by.contains(&lost.policy), "{lost:?}");
                assert!(lost.by.is_sorted());
                assert!(policy.policies.iter().any(|p| p.policy == lost.policy));
            }
        }
    });
}

/// Reads a YAML text as JSON, by our own reader.
fn read_back(yaml: &str) -> serde_json::Value {
    fn of(view: overrule_source::View<'_>) -> serde_json::Value {
        use overrule_source::NodeKind;
        match view.kind() {
            NodeKind::Null => serde_json::Value::Null,
            NodeKind::Bool => view.as_bool().unwrap().into(),
            NodeKind::Int => {
                view.as_i64().map(Into::into).unwrap_or_else(|| view.as_u64().unwrap().into())
            }
            NodeKind::Float => view.as_f64().unwrap().into(),
            NodeKind::String => view.as_str().unwrap().into(),
            NodeKind::List => view.items().map(of).collect(),
            NodeKind::Map => serde_json::Value::Object(
                view.entries().map(|(k, v)| (k.key_text().to_owned(), of(v))).collect(),
            ),
        }
    }
    let read = overrule_source::read_one("y", yaml, &overrule_source::ReadOptions::default());
    assert!(read.diagnostics.is_empty(), "{:?}\n{yaml}", read.diagnostics);
    let doc = read.documents.ids().next().unwrap();
    of(read.documents.root(doc))
}

#[test]
fn yaml_reads_back_as_the_same_value() {
    for json in [
        r#"{"a": {"b": [1, 2.5, -3, true, null, "x"], "c": {}, "d": []}, "e": ""}"#,
        r#"{"yes": "yes", "no": "off", "n": "null", "t": "~", "num": "012", "f": "1e3", "hex": "0x1F", "time": "12:30:45", "date": "2024-01-01"}"#,
        r##"{"c": "a: b", "h": "a #b", "d": "- x", "q": "it's \"quoted\"", "s": " x ", "star": "*", "at": "@x", "pipe": "|", "hash": "#", "pct": "%a", "eq": "=", "merge": "<<"}"##,
        r#"{"m": "a\nb\n", "n": "a\nb", "o": "a\n\n b\n", "p": "\na", "q": "a\n\n", "r": " a\nb", "s": "a \nb", "t": "a\tb\nc", "u": "a\r\nb"}"#,
        r#"{"u": "\u001b\u0085\u2028\u202e\ufeff", "emoji": "👍", "wide": "名前", "tag": "\udb40\udc41"}"#,
        r#"{"a b": 1, "c: d": 2, "": 3, "true": 4, "1": 5, "x,y": 6, "[z]": 7, "k\nl": 8, "<<": 9}"#,
        r#"[[1, [2, {"a": [3]}]], [], [[]], {"x": [{"y": 1, "z": [2]}]}]"#,
        r#"[{"text": "a\nb", "more": 1}, "c\nd"]"#,
        r#""a\nb""#,
        r#""x""#,
        "18446744073709551615",
        r#"{"big": 9007199254740993, "neg": -1}"#,
    ] {
        let value: Value = serde_json::from_str(json).unwrap();
        let yaml = overrule_view::yaml(&value);
        let expected: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(read_back(&yaml), expected, "{yaml}");
    }
}

#[test]
fn effective_text_is_the_value_as_yaml() {
    for name in ["shop.yaml", "hostile.yaml", "values.yaml"] {
        let world = fixture(name);
        world.see(|scene, part| {
            for (kind, path, _) in world.contexts() {
                let policy = overrule_view::effective(scene, part, kind, path);
                let Some(spec) = &policy.spec else { continue };
                let mut out = String::new();
                let plain = Styles::plain();
                overrule_view::effective_text(scene, part, kind, path, &plain, &mut out).unwrap();
                assert_eq!(read_back(&out), serde_json::Value::from(spec), "{out}");
            }
        });
    }
}

/// Everything there is to print.
fn everything(world: &World) -> String {
    let mut out = String::new();
    let styles = Styles::colored();
    world.see(|scene, part| {
        for (kind, path, _) in world.contexts() {
            overrule_view::effective_text(scene, part, kind, path, &styles, &mut out).unwrap();
            overrule_view::explain_text(scene, part, path, Some(kind), None, &styles, &mut out)
                .unwrap();
            out.push_str(&overrule_view::json(&overrule_view::effective(scene, part, kind, path)));
        }
        for (policy, _) in world.resolution.policies() {
            out.push_str(&overrule_view::json(&overrule_view::reach(scene, part, policy, None)));
        }
        out.push_str(&overrule_view::json(&overrule_view::policies(scene, part, &|_| true)));
        let graph = Graph::build(scene, part, None);
        graph.tree(&styles, &mut out).unwrap();
        out.push_str(&graph.svg());
        out.push_str(&graph.dot());
        out.push_str(&graph.mermaid());
        out.push_str(&overrule_view::diagnostics_text(
            &scene.documents.sources,
            &world.diagnostics,
            &styles,
        ));
    });
    out
}

#[test]
fn two_runs_print_the_same_bytes() {
    assert_eq!(everything(&fixture("shop.yaml")), everything(&fixture("shop.yaml")));
}

#[test]
fn the_order_of_files_changes_nothing() {
    let text = std::fs::read_to_string(common::root().join("tests/fixtures/shop.yaml")).unwrap();
    let documents: Vec<&str> = text.split("---\n").collect();
    let names: Vec<String> = (0..documents.len()).map(|i| format!("{i:02}.yaml")).collect();
    let mut inputs: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(documents.iter().copied()).collect();
    let forwards = everything(&world(&inputs));
    inputs.reverse();
    assert_eq!(forwards, everything(&world(&inputs)));
}

#[test]
fn colours_change_nothing_but_colours() {
    let world = fixture("shop.yaml");
    let (kind, path) = world.find("TimeoutPolicy", "httproute/shop/cart#read");
    world.see(|scene, part| {
        let print = |styles: &Styles| {
            let mut out = String::new();
            overrule_view::explain_text(scene, part, path, Some(kind), None, styles, &mut out)
                .unwrap();
            overrule_view::effective_text(scene, part, kind, path, styles, &mut out).unwrap();
            Graph::build(scene, part, None).tree(styles, &mut out).unwrap();
            out
        };
        let colored = print(&Styles::colored());
        let mut plain = String::new();
        let mut parts = colored.split('\u{1b}');
        plain.push_str(parts.next().unwrap());
        for part in parts {
            plain.push_str(part.split_once('m').unwrap().1);
        }
        assert!(colored.len() > plain.len());
        assert_eq!(plain, print(&Styles::plain()));
    });
}
