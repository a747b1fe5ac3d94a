// SPDX-License-Identifier: Apache-2.0
//! In: a manifest with everything in it. Out: the exact text each node must cover.
//! Not here: values (`reading.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;
use common::read;
use overrule_source::{Documents, NodeRef, View};

fn spans(text: &str) -> Vec<String> {
    let read = read(text);
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    let mut out = Vec::new();
    for doc in read.documents.ids() {
        collect(text, read.documents.root(doc), &mut out);
        for (key, _) in read.documents.root(doc).entries() {
            let at = Documents::node_ref(key, doc);
            assert_eq!(at, NodeRef { doc, node: key.id() });
            assert_eq!(read.documents.view(at).span(), key.span());
        }
    }
    out
}

fn collect(text: &str, view: View<'_>, out: &mut Vec<String>) {
    let span = view.span();
    out.push(text[span.start as usize..span.end as usize].to_owned());
    for (key, value) in view.entries() {
        collect(text, key, out);
        collect(text, value, out);
    }
    for item in view.items() {
        collect(text, item, out);
    }
}

#[test]
fn spans_cover_exactly_the_tokens() {
    let rows: &[(&str, &[&str])] = &[
        ("a: b\n", &["a: b", "a", "b"]),
        ("# c\n--- # d\na:   'b'   # c\n\n", &["a:   'b'", "a", "'b'"]),
        (
            "a: \"x\\n\"\nb : [1, 2]\n",
            &["a: \"x\\n\"\nb : [1, 2]", "a", "\"x\\n\"", "b", "[1, 2]", "1", "2"],
        ),
        (
            "a: {b: {}, c: []} # x",
            &["a: {b: {}, c: []}", "a", "{b: {}, c: []}", "b", "{}", "c", "[]"],
        ),
        (
            "a:\n- b\n- c: d\n  e: f\ng: h\n",
            &[
                "a:\n- b\n- c: d\n  e: f\ng: h",
                "a",
                "- b\n- c: d\n  e: f",
                "b",
                "c: d\n  e: f",
                "c",
                "d",
                "e",
                "f",
                "g",
                "h",
            ],
        ),
        (
            "a: # x\n  # y\n\n  - - b\n    - c\n  - d\n",
            &[
                "a: # x\n  # y\n\n  - - b\n    - c\n  - d",
                "a",
                "- - b\n    - c\n  - d",
                "- b\n    - c",
                "b",
                "c",
                "d",
            ],
        ),
        ("a:\n-\n  # c\n  - b\n", &["a:\n-\n  # c\n  - b", "a", "-\n  # c\n  - b", "- b", "b"]),
        (
            "a: |\n  x\n  y\n\n\nb: >- # c\n\n  z\n",
            &["a: |\n  x\n  y\n\n\nb: >- # c\n\n  z", "a", "|\n  x\n  y", "b", ">- # c\n\n  z"],
        ),
        (
            "- |\n x\n- !!str >\n y\n- &a |+\n z\n\n- '|'\n",
            &["- |\n x\n- !!str >\n y\n- &a |+\n z\n\n- '|'", "|\n x", ">\n y", "|+\n z", "'|'"],
        ),
        ("a: |\nb: c\n", &["a: |\nb: c", "a", "|", "b", "c"]),
        (
            "a: one\n  two\n   three # c\nb: x",
            &["a: one\n  two\n   three # c\nb: x", "a", "one\n  two\n   three", "b", "x"],
        ),
        ("é: ü\nß: [漢, 😀]\n", &["é: ü\nß: [漢, 😀]", "é", "ü", "ß", "[漢, 😀]", "漢", "😀"]),
        (
            "{\"a\": [ 1 , {\"b\":\"c\\t\"} ], \"d\":null}",
            &[
                "{\"a\": [ 1 , {\"b\":\"c\\t\"} ], \"d\":null}",
                "\"a\"",
                "[ 1 , {\"b\":\"c\\t\"} ]",
                "1",
                "{\"b\":\"c\\t\"}",
                "\"b\"",
                "\"c\\t\"",
                "\"d\"",
                "null",
            ],
        ),
        ("? a\n: b\n", &["? a\n: b", "a", "b"]),
        (
            "a: &x !!map\n  b: c\nd: *x\n",
            &["a: &x !!map\n  b: c\nd: *x", "a", "b: c", "b", "c", "d", "b: c", "b", "c"],
        ),
        ("[a: b, c]", &["[a: b, c]", "a: b", "a", "b", "c"]),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in rows {
        let got = spans(text);
        if got != *expected {
            wrong.push(format!("{text:?}\n  {got:?}\n  {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn absent_values_point_behind_their_colon() {
    let read = read("a:\nb : # c\nc:   \n  \nd: !!str\n");
    let root = read.documents.root(read.documents.ids().next().unwrap());
    let at = |key: &str| read.documents.sources.position(root.get(key).unwrap().span()).to_string();
    assert_eq!(
        ["a", "b", "c", "d"].map(at),
        ["f.yaml:1:3", "f.yaml:2:4", "f.yaml:3:3", "f.yaml:5:9"]
    );
}

#[test]
fn lines_and_columns_count_as_editors_do() {
    for (text, place) in [
        ("a: 1\r\nb: 2\r\nc: x", "f.yaml:3:4"),
        ("a: 1\rb: 2\rc: x", "f.yaml:3:4"),
        ("\u{feff}a: 1\n\nc: x", "f.yaml:3:4"),
        ("é: {漢: 1, c: x}", "f.yaml:1:14"),
    ] {
        let read = read(text);
        let mut root = read.documents.root(read.documents.ids().next().unwrap());
        root = root.get("é").unwrap_or(root);
        let value = root.get("c").unwrap();
        assert_eq!(read.documents.sources.position(value.span()).to_string(), place, "{text:?}");
    }
}
