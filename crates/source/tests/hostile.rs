// SPDX-License-Identifier: Apache-2.0
//! In: text made to hurt. Out: a finding or a result, in time and memory that grow with the text and no faster.
//! Not here: random input (`properties.rs`). The time bounds are generous: a debug build on a busy machine keeps them,
//! quadratic work on these sizes does not.
#![allow(clippy::disallowed_methods, reason = "these tests measure time")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;
use common::{findings, read};
use overrule_source::{Input, Limits, Read, ReadOptions, read_one, read_piece};
use std::time::{Duration, Instant};

fn within<T>(seconds: u64, what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(seconds), "{what} took {took:?}");
    result
}

#[test]
fn deep_nesting_is_refused() {
    let texts = [
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
        "{a: ".repeat(100_000),
        "- ".repeat(100_000),
        (0..3000).map(|i| format!("{}a:\n", " ".repeat(i))).collect(),
        format!("{}{}", "[".repeat(200), "]".repeat(200)),
        (0..200).map(|i| format!("{}-\n", " ".repeat(i))).collect(),
    ];
    for text in &texts {
        let read = within(20, "deep nesting", || read(text));
        assert!(read.documents.is_empty());
        assert_eq!(read.diagnostics.len(), 1);
        assert_eq!(read.diagnostics[0].code.id, "OV1004", "{:?}", read.diagnostics[0]);
    }
    let keys = within(20, "keys in keys", || read(&"? ".repeat(100_000)));
    assert_eq!(findings(&keys), ["OV1010 1:3"]);
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(read(&deep(128)).documents.len(), 1);
    assert_eq!(findings(&read(&deep(129))), ["OV1004 1:129"]);
    let yaml = |n: usize| format!("a: {}{} # not JSON", "[".repeat(n), "]".repeat(n));
    assert_eq!(read(&yaml(127)).documents.len(), 1);
    assert_eq!(read(&yaml(128)).diagnostics[0].code.id, "OV1004");
}

#[test]
fn aliases_cannot_deepen_beyond_the_limit() {
    let mut text = format!("a0: &a0 {}{}\n", "[".repeat(60), "]".repeat(60));
    for i in 1..4 {
        let (open, close) = ("[".repeat(60), "]".repeat(60));
        text += &format!("a{i}: &a{i} {open}*a{}{close}\n", i - 1);
    }
    assert_eq!(findings(&read(&text)), ["OV1004 3:69"]);
    let merge = format!(
        "a: &a {{x: {}{}}}\nb: {}{{<<: *a}}{}\n",
        "[".repeat(100),
        "]".repeat(100),
        "[".repeat(40),
        "]".repeat(40)
    );
    assert_eq!(read(&merge).diagnostics[0].code.id, "OV1004");
}

#[test]
fn billion_laughs_are_refused_before_they_cost() {
    let laughs = |levels: usize| {
        let mut text = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
        for i in 1..levels {
            let refs = vec![format!("*a{}", i - 1); 9].join(", ");
            text += &format!("a{i}: &a{i} [{refs}]\n");
        }
        text
    };
    let read = within(5, "billion laughs", || read(&laughs(60)));
    assert!(read.documents.is_empty());
    assert_eq!(read.diagnostics[0].code.id, "OV1004");
    assert_eq!(common::read(&laughs(4)).documents.len(), 1);
    let merged: String =
        (1..40).map(|i| format!("m{i}: &m{i} {{a{i}: *m{}, <<: *m{}}}\n", i - 1, i - 1)).collect();
    let read = within(5, "merge laughs", || common::read(&format!("m0: &m0 {{x: 1}}\n{merged}")));
    assert_eq!(read.diagnostics[0].code.id, "OV1004");
}

#[test]
fn limits_hold() {
    let with = |limits: Limits, text: &str| {
        let read = read_one("f", text, &ReadOptions { limits, ..ReadOptions::default() });
        (read.documents.len(), findings(&read))
    };
    let default = Limits::default();
    let refused = |at: &str| (0, vec![format!("OV1004 {at}")]);
    assert_eq!(with(Limits { source_bytes: 5, ..default }, "a: 123"), refused("1:1"));
    assert_eq!(with(Limits { scalar_bytes: 5, ..default }, "a: 123456"), refused("1:4"));
    assert_eq!(
        with(Limits { scalar_bytes: 5, ..default }, "a: \"123\\x34\\x35\\x36\""),
        refused("1:4")
    );
    assert_eq!(with(Limits { scalar_bytes: 5, ..default }, "{\"a\":\"123456\"}"), refused("1:6"));
    assert_eq!(with(Limits { nodes: 4, ..default }, "[1, 2, 3, 4]"), refused("1:11"));
    assert_eq!(with(Limits { alias_nodes: 2, ..default }, "- &a [1, 2]\n- *a"), refused("2:3"));
    let huge = Limits {
        source_bytes: usize::MAX,
        depth: usize::MAX,
        alias_nodes: usize::MAX,
        scalar_bytes: usize::MAX,
        nodes: usize::MAX,
        documents: usize::MAX,
    };
    assert_eq!(with(huge, "- &a [1, 2]\n- *a").0, 1);
}

/// However they are told apart, on one thread or several, empty or not; and a piece is read like the rest.
#[test]
fn documents_are_counted() {
    let limits = Limits { documents: 300_000, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let few = ReadOptions { limits: Limits { documents: 3, ..limits }, ..ReadOptions::default() };
    for one in ["---\n", "---\n{}\n", "{}", "{}\n", "--- a\n", "---\n]\n", "a: 1\n...\n"] {
        let fits = within(30, one, || read_one("f", &one.repeat(3), &few));
        assert!(fits.diagnostics.iter().all(|d| d.code.id != "OV1004"), "{one:?}");
        for (number, options) in [(4, &few), (300_001, &options)] {
            let text = one.repeat(number);
            let read = within(30, one, || read_one("f", &text, options));
            assert_eq!(
                (read.documents.len(), findings(&read)),
                (0, vec!["OV1004 1:1".to_owned()]),
                "{one:?}"
            );
            let piece = read_piece(Input::new("f", text.as_bytes()), options);
            assert_eq!(findings(&Read::of([&piece])), ["OV1004 1:1"], "{one:?}");
        }
    }
    // Runs of several in each of many parts: no part alone has too many.
    let text = format!("---\n{}\n", "{} ".repeat(1000)).repeat(400);
    assert_eq!(findings(&within(30, "runs", || read_one("f", &text, &options))), ["OV1004 1:1"]);
}

/// Found by fuzzing: the place of the bad byte was told, and the text that shows it was gone.
#[test]
fn a_text_that_is_not_utf8_says_so_even_beside_too_many_documents() {
    let limits = Limits { documents: 3, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let many = || Input::new("many", "{}\n---\n".repeat(4));
    let read = overrule_source::read(vec![many(), Input::new("bad", b"a: \xFF")], &options);
    assert_eq!(
        (read.documents.len(), findings(&read)),
        (0, vec!["OV1004 1:1".to_owned(), "OV1003 1:4".to_owned()])
    );
    let span = read.diagnostics[1].primary.as_ref().unwrap().span;
    let text = read.documents.sources.get(span.source).unwrap().text();
    assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} of {text:?}");
}

#[test]
fn large_maps_find_duplicates_quickly() {
    let mut text: String = (0..200_000).map(|i| format!("key-{i}: {i}\n")).collect();
    let read = within(30, "200k keys", || read(&text));
    assert_eq!(read.documents.root(read.documents.ids().next().unwrap()).len(), 200_000);
    text += "key-7: 1\n";
    let read = within(30, "200k keys with a duplicate", || common::read(&text));
    assert_eq!(findings(&read), ["OV1002 200001:1"]);
}

#[test]
fn many_small_things_stay_linear() {
    let cases: Vec<(&str, String, usize)> = vec![
        ("anchors", (0..50_000).map(|i| format!("- &a{i} x\n")).collect(), 1),
        ("aliases", format!("- &a x\n{}", "- *a\n".repeat(50_000)), 1),
        ("documents", "---\na: 1\n".repeat(50_000), 50_000),
        ("empty documents", "---\n".repeat(50_000), 0),
        ("ends", "...\n".repeat(50_000), 0),
        ("comments", "# c\n".repeat(50_000), 0),
        ("comments in a list", "- # c\n".repeat(50_000), 1),
        ("block texts", "- |\n  x\n\n".repeat(50_000), 1),
        ("bad documents", "---\na: [\n".repeat(50_000), 0),
        ("JSON values", "{\"a\":1}\n".repeat(50_000), 50_000),
        ("blank lines", "\n".repeat(300_000), 0),
        ("quotes", "\"".repeat(300_000), 0),
        ("nested empty texts", "- ''\n".repeat(50_000), 1),
        ("tags", "- !x y\n".repeat(50_000), 1),
        ("carriage returns", "- a\r".repeat(50_000), 1),
        ("merge keys", format!("- &a {{x: 1}}\n{}", "- {<<: *a}\n".repeat(20_000)), 1),
        ("templates", "a: {{ .Values.x }}\n".repeat(50_000), 0),
        ("kinds without a gap", format!("[{}", "kind:!".repeat(50_000)), 0),
        ("actions without an end", format!("a: x{}", "{{if".repeat(50_000)), 1),
        ("kinds", format!("[{}", "kind: ".repeat(50_000)), 0),
    ];
    for (what, text, documents) in cases {
        let read = within(30, what, || read_one("f", &text, &common::secrets()));
        assert_eq!(read.documents.len(), documents, "{what}: {:?}", read.diagnostics.first());
    }
}

#[test]
fn a_line_of_many_megabytes_has_cheap_columns() {
    let text = format!("[{}0]", "\"é\",".repeat(300_000));
    let read = within(60, "one long line", || read(&text));
    let root = read.documents.root(read.documents.ids().next().unwrap());
    assert_eq!(root.len(), 300_001);
    let sources = &read.documents.sources;
    within(60, "columns of one long line", || {
        for (i, item) in root.items().enumerate().step_by(10) {
            assert_eq!(sources.position(item.span()).column as usize, 2 + 4 * i);
        }
    });
}

#[test]
fn control_characters_and_marks_are_findings() {
    for text in
        ["a: \0", "\0", "a: \u{feff}b\nc\u{feff}: [\u{feff}", "\u{85}: \u{2028}", "\u{7f}: \u{80}"]
    {
        let _ = read(text);
    }
    assert_eq!(read("a: 1\n\u{feff}b: 2\n").documents.len(), 0);
}

#[test]
fn an_id_of_another_reading_shows_as_null() {
    use overrule_source::{DocId, NodeRef, TreeNodeId};
    let read = read("a: 1");
    for (doc, node) in [(0, 9), (7, 0), (u32::MAX, u32::MAX), (0, u32::MAX)] {
        let view = read.documents.view(NodeRef { doc: DocId(doc), node: TreeNodeId(node) });
        assert!(view.is_null() && view.is_empty() && view.get("a").is_none());
        assert_eq!((view.entries().count(), view.items().count()), (0, 0));
        let _ = read.documents.sources.position(view.span());
    }
}
