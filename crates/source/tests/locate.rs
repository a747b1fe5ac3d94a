// SPDX-License-Identifier: Apache-2.0
//! In: one string in every way it can be written. Out: each character of the value is found where it stands.
//! Not here: spans of whole nodes (`spans.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;

use overrule_source::{Documents, NodeRef, ReadOptions, View, locate, read_one};
use proptest::prelude::*;

/// The value under `when`, and for each of its characters what stands at its place.
fn places(name: &str, text: &str) -> (String, Vec<(char, String)>) {
    let read = read_one(name, text, &ReadOptions::default());
    assert!(read.diagnostics.is_empty(), "{text}: {:?}", read.diagnostics);
    let doc = read.documents.ids().next().unwrap();
    let view = when(read.documents.root(doc)).unwrap();
    let node = Documents::node_ref(view, doc);
    let value = view.as_str().unwrap().to_owned();
    let at = |offset| {
        let span = locate(&read.documents, node, offset);
        text[span.start as usize..span.end as usize].to_owned()
    };
    let found = value.char_indices().map(|(i, c)| (c, at(i))).collect();
    (value, found)
}

fn when(view: View<'_>) -> Option<View<'_>> {
    view.get("when").or_else(|| view.entries().map(|(_, v)| v).chain(view.items()).find_map(when))
}

/// Every visible character stands for itself, unless it is one of the escapes given.
fn check(text: &str, value: &str, escapes: &[(char, &str)]) {
    let (found, places) = places("f.yaml", text);
    assert_eq!(found, value, "{text}");
    let text_end = found.trim_end().len();
    let mut offset = 0;
    for (c, written) in places {
        // Blanks at the end are behind the node.
        let behind = offset >= text_end && written.is_empty();
        let folds = c.is_whitespace() && written.trim().is_empty() && !written.is_empty();
        let escaped = escapes.contains(&(c, &written));
        let itself = written == c.to_string() && (c == ' ' || escapes.iter().all(|(e, _)| *e != c));
        assert!(itself || escaped || folds || behind, "{text}: {c:?} at {written:?}");
        offset += c.len_utf8();
    }
}

#[test]
fn plain() {
    check("when: a == b\n", "a == b", &[]);
    check("spec:\n  when: spec.a > 1 # why\n", "spec.a > 1", &[]);
    check("when: spec.é == 'ü€'\n", "spec.é == 'ü€'", &[]);
    check("when: a &&\n  b ||\n    c\n", "a && b || c", &[]);
    check("when: a\n\n\n  b   \n  c\n", "a\n\nb c", &[]);
    check("when: a\r\n  b\r\n", "a b", &[]);
    check("x: {when: a b, c: 1}\n", "a b", &[]);
}

#[test]
fn single_quoted() {
    check("when: 'a == ''b'' && c'\n", "a == 'b' && c", &[('\'', "''")]);
    check("when: 'a == \"b\"\n\n  c  \n d'\n", "a == \"b\"\nc d", &[]);
    check("when: '  a '\n", "  a ", &[]);
    check("when: 'a\\n'\n", "a\\n", &[]);
}

#[test]
fn double_quoted() {
    check("when: \"a == \\\"b\\\"\"\n", "a == \"b\"", &[('"', "\\\"")]);
    check(
        "when: \"a\\tb\\x41\\u00e9\\U0001F600\\/c\"\n",
        "a\tbAé😀/c",
        &[('\t', "\\t"), ('A', "\\x41"), ('é', "\\u00e9"), ('😀', "\\U0001F600"), ('/', "\\/")],
    );
    check("when: \"a \\\n  b\\\n  \\ c\n  d\n\n  e\"\n", "a b c d\ne", &[(' ', "\\ ")]);
    check("when: \"a  \n   b\"\n", "a b", &[]);
}

#[test]
fn json() {
    let (value, found) =
        places("f.json", r#"{"spec": {"when": "a == \"b\" && \u00e9\ud83d\ude00\n c"}}"#);
    assert_eq!(value, "a == \"b\" && é😀\n c");
    let written: Vec<&str> = found.iter().map(|(_, w)| w.as_str()).collect();
    assert_eq!(written.join("|"), r#"a| |=|=| |\"|b|\"| |&|&| |\u00e9|\ud83d\ude00|\n| |c"#);
}

#[test]
fn literal_block() {
    check("when: |\n  a &&\n  b\n", "a &&\nb\n", &[]);
    check("when: | # CEL\n  a &&\n    b\n\n  c\nx: 1\n", "a &&\n  b\n\nc\n", &[]);
    check("when: |-\n\n  a\n  b", "\na\nb", &[]);
    check("spec:\n  - when: |+\n      a é b\n      c\n\n", "a é b\nc\n\n", &[]);
    check("when: |2\n    a\n   b\n", "  a\n b\n", &[]);
    check("when: |\r\n  a\r\n  b\r\n", "a\nb\n", &[]);
    check("when: |\n  a\n \n  b\n", "a\n\nb\n", &[]);
    check("when: !!str |\n  a\n  b\n", "a\nb\n", &[]);
    check("when: &x |\n  a\n  b\n", "a\nb\n", &[]);
}

#[test]
fn folded_block() {
    check("when: >\n  a &&\n  b\n", "a && b\n", &[]);
    check("when: >- # CEL\n  a\n\n  b\n  c\n", "a\nb c", &[]);
    check("when: >\n  a\n    b\n    c\n  d\n", "a\n  b\n  c\nd\n", &[]);
    check("when: >\n\n  a\n\n\n  b\n\n    c\n\n  d\n", "\na\n\nb\n\n  c\n\nd\n", &[]);
    check("x:\n- when: >-\n    a\n    b\n", "a b", &[]);
}

#[test]
fn exact_lines_and_columns() {
    let text = "spec:\n  when: | # CEL\n    has(spec.limits) &&\n      spec.nope(1)\n";
    let read = read_one("f.yaml", text, &ReadOptions::default());
    let doc = read.documents.ids().next().unwrap();
    let view = when(read.documents.root(doc)).unwrap();
    let node = Documents::node_ref(view, doc);
    let offset = view.as_str().unwrap().find("nope").unwrap();
    let at =
        |offset| read.documents.sources.position(locate(&read.documents, node, offset)).to_string();
    assert_eq!(at(offset), "f.yaml:4:12");
    assert_eq!(at(0), "f.yaml:3:5");
    // Behind the end, where something is missing.
    assert_eq!(at(10_000), "f.yaml:4:19");
    // Not a string: the node itself.
    let spec = NodeRef { doc, node: read.documents.root(doc).get("spec").unwrap().id() };
    assert_eq!(locate(&read.documents, spec, 3), read.documents.view(spec).span());
}

#[test]
fn what_cannot_be_traced_is_the_whole_node() {
    let text = "when: !!binary YWI=\n";
    let read = read_one("f.yaml", text, &ReadOptions::default());
    let doc = read.documents.ids().next().unwrap();
    let view = when(read.documents.root(doc)).unwrap();
    assert_eq!(view.as_str(), Some("ab"));
    assert_eq!(locate(&read.documents, Documents::node_ref(view, doc), 1), view.span());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written: never a panic, always inside of the node, and letters are found where they stand.
    #[test]
    fn letters_are_found(
        lines in prop::collection::vec("[ab]{0,2}[ é'\"\\\\#:]{0,2}[cd ]{0,3}", 1..6),
        header in prop::sample::select(vec!["", "|\n", ">\n", "|-\n", ">+ # x\n", "|1\n", "\"", "'"]),
        indents in prop::collection::vec(1usize..4, 6),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let body: Vec<String> = lines
            .iter()
            .zip(&indents)
            .enumerate()
            .map(|(i, (line, n))| match (i, header.ends_with('\n')) {
                (0, false) => line.clone(),
                _ => " ".repeat(*n) + line,
            })
            .collect();
        let close = if header.ends_with(['"', '\'']) { header } else { "" };
        let text = format!("when: {header}{}{close}\nx: 1\n", body.join("\n")).replace('\n', ending);
        let read = read_one("f.yaml", &text, &ReadOptions::default());
        for doc in read.documents.ids() {
            let Some(view) = when(read.documents.root(doc)) else { continue };
            let Some(value) = view.as_str() else { continue };
            let node = Documents::node_ref(view, doc);
            for (offset, c) in value.char_indices() {
                let span = locate(&read.documents, node, offset);
                let whole = view.span();
                prop_assert!(whole.start <= span.start && span.end <= whole.end);
                if c.is_ascii_lowercase() {
                    let found = &text[span.start as usize..span.end as usize];
                    let escaped = found.starts_with('\\');
                    prop_assert!(found == c.to_string() || escaped, "{text:?}: {c} at {found:?}");
                }
            }
        }
    }
}
