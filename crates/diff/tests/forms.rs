// SPDX-License-Identifier: Apache-2.0
//! In: wide changes and hostile names. Out: that every form stays within its limits and shows names as nothing but names.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use overrule::view::{Styles, v1};
use overrule_diff::{markdown, report_text};

const EVIL: &str = "`|@team <b>x</b> ::error::\u{1b}[31m\u{202e}abc";

fn change(name: &str) -> v1::EffectiveChange {
    let element = v1::PathElement {
        kind: "HTTPRoute".to_owned(),
        namespace: Some("shop".to_owned()),
        assumed: false,
        name: name.to_owned(),
    };
    let field = v1::FieldChange {
        pointer: format!("/{name}"),
        before: None,
        after: None,
        from: vec![name.to_owned()],
        to: Vec::new(),
    };
    v1::EffectiveChange {
        policy_kind: "TimeoutPolicy".to_owned(),
        policy_group: String::new(),
        family: "gateway",
        profile: "gep713",
        target: format!("httproute/shop/{name}"),
        path: vec![element],
        before: None,
        after: None,
        fields: vec![field],
        because: String::new(),
    }
}

/// A report in which every change is a group of its own, or all are one.
fn report(names: &[String], together: bool) -> v1::EffectiveChanges {
    let items: Vec<v1::EffectiveChange> = names.iter().map(|name| change(name)).collect();
    let group = |items: Vec<usize>| v1::ChangeGroup {
        change: "changed",
        uncovered: false,
        routes: items.len(),
        items,
        causes: vec![v1::ChangeCause {
            resource: format!("TimeoutPolicy {EVIL}"),
            change: "changed",
            at: Some(v1::Place { file: EVIL.to_owned(), line: 1, column: 1 }),
        }],
    };
    let all: Vec<usize> = (0..items.len()).collect();
    let groups = match together {
        true => vec![group(all)],
        false => all.into_iter().map(|at| group(vec![at])).collect(),
    };
    let report = v1::ChangeReport {
        before: EVIL.to_owned(),
        after: "new".to_owned(),
        groups,
        radius: v1::BlastRadius::default(),
        findings: v1::FindingChanges::default(),
        profiles: Vec::new(),
        owners: Vec::new(),
        gates: Vec::new(),
    };
    let counts = v1::ChangeCounts { changed: items.len(), ..v1::ChangeCounts::default() };
    let (api_version, kind) = (v1::API_VERSION, "EffectiveChanges");
    v1::EffectiveChanges { api_version, kind, counts, items, report: Some(Box::new(report)) }
}

#[test]
fn a_comment_has_a_limit_and_says_what_it_leaves_out() {
    let names: Vec<String> = (0..100_000).map(|n| format!("route-{n:06}")).collect();
    for together in [true, false] {
        let text = markdown(&report(&names, together));
        assert!(text.chars().count() <= 65_000, "{}", text.chars().count());
        assert!(text.contains("route&#45;000000") || text.contains("route-000000"));
        assert_eq!(text.contains("Not shown"), !together);
    }
    let text = markdown(&report(&names, false));
    let shown = text.matches("<details>").count();
    assert!(
        text.contains(&format!("{} <code>TimeoutPolicy</code> changed", 100_000 - shown)),
        "all are counted"
    );
}

#[test]
fn names_are_nothing_but_names() {
    let changes = report(&[EVIL.to_owned()], true);
    let text = markdown(&changes);
    for part in ["`|", "@team", "<b>x", "::error::", "\u{1b}", "\u{202e}"] {
        assert!(!text.contains(part), "{part:?} in {text}");
    }
    let mut plain = String::new();
    report_text(&changes, true, &Styles::plain(), &mut plain).unwrap();
    assert!(!plain.contains('\u{1b}') && !plain.contains('\u{202e}'), "{plain}");
}
