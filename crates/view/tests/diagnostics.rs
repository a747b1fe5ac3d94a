// SPDX-License-Identifier: Apache-2.0
//! Excerpts of every shape a span can have.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that finds something else than it expects has to fail"
)]

mod common;

use common::golden;
use overrule_source::{Basis, CodeInfo, Diagnostic, Severity, Source, SourceId, SourceMap, Span};
use overrule_view::Styles;

static ERROR: CodeInfo =
    CodeInfo { id: "OV9001", title: "wrong", severity: Severity::Error, basis: Basis::World };
static WARNING: CodeInfo =
    CodeInfo { id: "OV9002", title: "odd", severity: Severity::Warning, basis: Basis::World };
static NOTE: CodeInfo =
    CodeInfo { id: "OV9003", title: "known", severity: Severity::Note, basis: Basis::World };

fn span(source: u32, start: usize, end: usize) -> Span {
    let small = |n: usize| u32::try_from(n).unwrap();
    Span { source: SourceId(source), start: small(start), end: small(end) }
}

fn map(texts: &[(&str, &str)]) -> SourceMap {
    let mut sources = SourceMap::default();
    for (name, text) in texts {
        sources.add(Source::new(*name, *text));
    }
    sources
}

#[test]
fn every_shape_of_span() {
    let long = format!(
        "{{\"a\": \"{}\", \"needle\": 1, \"b\": \"{}\"}}",
        "x".repeat(5000),
        "é".repeat(5000)
    );
    let needle = long.find("needle").unwrap();
    let many: String = (1..=20).map(|i| format!("line {i}\n")).collect();
    let texts = [
        ("empty.yaml", ""),
        ("one.yaml", "a: 1\nb: 2\n"),
        ("long.json", long.as_str()),
        ("many.yaml", many.as_str()),
        ("wide.yaml", "名前: \u{1b}[2J\t👍 value # Käse\n\tx: y\r\nlast"),
        ("dir\u{1b}[2J/odd\nname.yaml", "a: 1\n"),
    ];
    let sources = map(&texts);
    let wide = texts[4].1;
    let value = wide.find("value").unwrap();
    let found = [
        Diagnostic::new(&ERROR, "in an empty text").at(span(0, 0, 0)).help("write something"),
        Diagnostic::new(&ERROR, "at the end").at(span(1, 10, 10)),
        Diagnostic::new(&ERROR, "far behind the end").at(span(1, 500, 900)),
        Diagnostic::new(&WARNING, "an empty span").at_with(span(1, 3, 3), "here").field("a"),
        Diagnostic::new(&WARNING, "a whole line with its end").at(span(1, 0, 5)),
        Diagnostic::new(&ERROR, "in a long line").at_with(span(2, needle, needle + 6), "this"),
        Diagnostic::new(&ERROR, "all of a long line").at(span(2, 0, long.len())),
        Diagnostic::new(&NOTE, "over many lines").at_with(span(3, 7, many.len()), "all this"),
        Diagnostic::new(&NOTE, "over three lines").at(span(3, 7, 25)),
        Diagnostic::new(&ERROR, "behind wide and unsafe letters")
            .at_with(span(4, value, value + 5), "see"),
        Diagnostic::new(&ERROR, "behind a tab").at(span(
            4,
            wide.find("y\r").unwrap(),
            wide.find('\r').unwrap(),
        )),
        Diagnostic::new(&ERROR, "on the last line").at(span(4, wide.len() - 4, wide.len())),
        Diagnostic::new(&ERROR, "in an odd file\u{1b}[2J").at(span(5, 0, 1)),
        Diagnostic::new(&WARNING, "related to two other places")
            .at_with(span(1, 5, 6), "this key")
            .see(span(1, 0, 1), "like this one")
            .see(span(2, needle, needle + 6), "and this, elsewhere")
            .help("do something\nabout it"),
        Diagnostic::new(&ERROR, "in a source that is not there").at(span(77, 3, 4)),
        Diagnostic::new(&ERROR, "about no place at all").help("look around"),
    ];
    golden("spans.txt", &overrule_view::diagnostics_text(&sources, &found, &Styles::plain()));
    golden(
        "spans_short.txt",
        &overrule_view::diagnostics_short(&sources, &found, &Styles::plain()),
    );
    let text = overrule_view::diagnostics_text(&sources, &found, &Styles::colored());
    golden("spans_colored.txt", &text);
    assert_eq!(overrule_view::summary(&found), "11 errors, 3 warnings, 2 notes");
    let list = overrule_view::diagnostics(&sources, &found);
    assert_eq!((list.errors, list.warnings, list.notes), (11, 3, 2));
    for line in overrule_view::diagnostics_text(&sources, &found, &Styles::plain()).lines() {
        assert!(line.chars().count() <= 200, "{line}");
    }
}

#[test]
fn summary_counts_and_says_nothing_of_nothing() {
    assert_eq!(overrule_view::summary(&[]), "");
    let one = |code| Diagnostic::new(code, "x");
    assert_eq!(overrule_view::summary(&[one(&ERROR)]), "1 error");
    assert_eq!(overrule_view::summary(&[one(&NOTE), one(&ERROR), one(&ERROR)]), "2 errors, 1 note");
}

#[test]
fn findings_are_sorted_by_file_place_and_code() {
    let sources = map(&[("b.yaml", "x: 1\ny: 2\n"), ("a.yaml", "x: 1\n")]);
    let found = [
        Diagnostic::new(&WARNING, "no place"),
        Diagnostic::new(&WARNING, "b2").at(span(0, 5, 6)),
        Diagnostic::new(&WARNING, "b1 later code").at(span(0, 0, 1)),
        Diagnostic::new(&ERROR, "b1").at(span(0, 0, 1)),
        Diagnostic::new(&NOTE, "a").at(span(1, 0, 1)),
    ];
    let text = overrule_view::diagnostics_short(&sources, &found, &Styles::plain());
    let order: Vec<&str> = text.lines().filter_map(|l| l.rsplit(": ").next()).collect();
    assert_eq!(order, ["a", "b1", "b1 later code", "b2", "no place"]);
}

#[test]
fn any_span_of_any_text_is_printed() {
    let text = "a: [1,\n 2]\r\nkäse: \u{1b}\u{202e}x\n\n\tlast";
    let sources = map(&[("t.yaml", text)]);
    for start in 0..=text.len() {
        for end in start..=text.len() {
            let found = [Diagnostic::new(&ERROR, "x").at(span(0, start, end))];
            let shown = overrule_view::diagnostics_text(&sources, &found, &Styles::plain());
            let place = sources.position(span(0, start, end)).to_string();
            assert!(shown.contains(&format!("--> {place}\n")), "{start}..{end} {place}\n{shown}");
        }
    }
}
