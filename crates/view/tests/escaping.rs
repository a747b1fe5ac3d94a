// SPDX-License-Identifier: Apache-2.0
//! Hostile names come out harmless in every output.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that finds something else than it expects has to fail"
)]

mod common;

use common::{fixture, world};
use overrule_view::escape;
use overrule_view::{EffectiveTable, Graph, Styles, TableFit};

fn is_harmless(c: char) -> bool {
    let bad = matches!(c, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    !bad && (c >= ' ' || c == '\n')
}

fn all_harmless(what: &str, text: &str) {
    let bad = text.char_indices().find(|(_, c)| !is_harmless(*c));
    assert!(bad.is_none(), "{what}: {bad:?} in\n{text}");
    assert!(!text.is_empty(), "{what} is empty");
}

#[test]
fn every_text_is_harmless() {
    let world = fixture("hostile.yaml");
    let plain = Styles::plain();
    world.see(|scene, part| {
        let mut out = String::new();
        let mut table = EffectiveTable::new();
        assert!(!world.contexts().is_empty());
        for (kind, path, _) in world.contexts() {
            overrule_view::effective_text(scene, part, kind, path, &plain, &mut out).unwrap();
            table.push(scene, part, kind, path);
            for field in [None, Some("same"), Some("nothing\u{1b}[2J")] {
                overrule_view::explain_text(scene, part, path, Some(kind), field, &plain, &mut out)
                    .unwrap();
            }
            let effective = overrule_view::effective(scene, part, kind, path);
            all_harmless("json", &overrule_view::json(&effective));
            all_harmless("json line", &overrule_view::json_line(&effective));
            all_harmless("yaml", &overrule_view::yaml(&effective));
        }
        table.write(&plain.with_fit(TableFit::Columns(100)), &mut out).unwrap();
        table.write(&plain, &mut out).unwrap();
        for (policy, _) in world.resolution.policies() {
            for rule in [None, Some("same"), Some("no\u{202e}such")] {
                let reach = overrule_view::reach(scene, part, policy, rule);
                overrule_view::reach_text(&reach, false, &plain, &mut out).unwrap();
                overrule_view::reach_text(&reach, true, &plain, &mut out).unwrap();
            }
        }
        let policies = overrule_view::policies(scene, part, &|_| true);
        overrule_view::policies_table(&policies, false, None, &plain, &mut out).unwrap();
        overrule_view::policies_table(&policies, true, Some(0), &plain, &mut out).unwrap();
        let resources = overrule_view::resources(scene, &|_| true);
        overrule_view::resources_table(&resources, true, &plain, &mut out).unwrap();
        for (kind, _) in world.resolution.kinds() {
            let list = overrule_view::without(scene, part, kind);
            overrule_view::without_table(&list, &plain, &mut out).unwrap();
        }
        Graph::build(scene, part, None).tree(&plain, &mut out).unwrap();
        all_harmless("text", &out);
    });
    let (sources, found) = (&world.documents.sources, &world.diagnostics);
    all_harmless("diagnostics", &overrule_view::diagnostics_text(sources, found, &plain));
    all_harmless("short diagnostics", &overrule_view::diagnostics_short(sources, found, &plain));
}

#[test]
fn pictures_stay_what_they_are() {
    let world = fixture("hostile.yaml");
    world.see(|scene, part| {
        let graph = Graph::build(scene, part, None);
        let svg = graph.svg();
        all_harmless("svg", &svg);
        assert!(!svg.contains("<script") && !svg.contains("<!--"), "{svg}");
        assert_eq!(svg.matches("</svg>").count(), 1);
        assert!(is_well_formed(&svg), "{svg}");
        let dot = graph.dot();
        all_harmless("dot", &dot);
        for line in dot.lines() {
            // Outside of its strings a line has only what we write.
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
            assert_eq!(quotes % 2, 0, "{line}");
        }
        let mermaid = graph.mermaid();
        all_harmless("mermaid", &mermaid);
        for line in mermaid.lines().filter(|l| l.contains("[\"") || l.contains(">\"")) {
            assert_eq!(line.matches('"').count(), 2, "{line}");
            assert!(!line.contains('`') && !line.contains("<script"), "{line}");
        }
    });
}

/// Whether tags nest and no text has a bare `<` or `&`.
fn is_well_formed(svg: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { return false };
        let tag = &rest[start + 1..start + length];
        rest = &rest[start + length + 1..];
        if tag.contains('<') {
            return false;
        }
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
        }
    }
    let entities = svg
        .split('&')
        .skip(1)
        .all(|after| ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|e| after.starts_with(e)));
    open.is_empty() && entities
}

#[test]
fn ordinary_text_is_left_alone() {
    for text in ["shop/cart", "Käse", "名前", "a b", "{x: 1}", "👍"] {
        assert_eq!(escape::terminal(text), text);
        assert!(matches!(escape::terminal(text), std::borrow::Cow::Borrowed(_)));
    }
}

#[test]
fn each_escape_does_its_work() {
    assert_eq!(
        escape::terminal("a\u{1b}[2J\n\u{202e}\u{feff}"),
        "a\\u{1b}[2J\\n\\u{202e}\\u{feff}"
    );
    assert_eq!(escape::terminal_multiline("a\n\tb\u{9b}"), "a\n\tb\\u{9b}");
    assert_eq!(escape::xml("<a b=\"c\">&'\u{0}"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;\\u{0}");
    assert_eq!(escape::dot("a\"b\\N&lt;\n"), "a\\\"b\\\\N&amp;lt;\\\\u{a}");
    assert_eq!(escape::mermaid("a\"];`<b>"), "a#34;#93;#59;#96;#60;b#62;");
    assert_eq!(escape::csv("=cmd()"), "\"'=cmd()\"");
    assert_eq!(escape::csv("a,\"b\""), "\"a,\"\"b\"\"\"");
    assert_eq!(escape::csv("plain"), "plain");
}

#[test]
fn an_empty_world_prints_without_failing() {
    let world = world(&[]);
    world.see(|scene, part| {
        let graph = Graph::build(scene, part, None);
        let mut out = String::new();
        graph.tree(&Styles::plain(), &mut out).unwrap();
        assert_eq!(out, "");
        assert!(is_well_formed(&graph.svg()));
        assert!(graph.dot().ends_with("}\n"));
        let list = overrule_view::policies(scene, part, &|_| true);
        overrule_view::policies_table(&list, true, None, &Styles::plain(), &mut out).unwrap();
        EffectiveTable::new().write(&Styles::plain(), &mut out).unwrap();
        assert_eq!(out, "");
    });
}
