// SPDX-License-Identifier: Apache-2.0
//! A document that is cut out of a text is what reading its own text gives.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use overrule_source::{Input, ParseCount, ReadOptions, SourceId, read, read_piece};
use proptest::prelude::*;

/// Cuts out every document, and compares each with its text read anew. How many were cut out.
fn cuts(text: &str) -> usize {
    let options = ReadOptions::default();
    let whole = read(vec![Input::new("body", text)], &options);
    // Without a byte order mark.
    let text = whole.documents.sources.get(SourceId(0)).unwrap().text();
    let mut cut = 0;
    for doc in whole.documents.ids() {
        let Some(range) = whole.documents.range_of(doc) else { continue };
        // As it stands, and without the white space at its end.
        let own = text.get(range.clone()).unwrap().trim_end().len();
        for range in [range.clone(), range.start..range.start + own] {
            let Some(piece) = whole.cut(doc, range.clone(), "own") else { continue };
            let anew = read_piece(Input::new("own", text.get(range).unwrap()), &options);
            assert_eq!(piece, anew, "{text:?}");
            cut += 1;
        }
    }
    cut / 2
}

#[test]
fn usual_documents_are_cut_out() {
    let one =
        "# a comment\nkind: A\nspec:\n  list:\n  - {a: 1, b: 'two'}\n  - \"th\\nree\" # why\n";
    assert_eq!(cuts(one), 1);
    assert_eq!(cuts(&format!("---\n{one}---\n# before\n{one}...\n{one}---\n")), 3);
    assert_eq!(cuts("{\"kind\": \"A\", \"list\": [1, 2]}\n"), 1);
    assert_eq!(cuts("--- {kind: A}\n--- {kind: B}\n"), 2);
    assert_eq!(cuts("kind: A\ntext: |\n  in the middle\nlast: &a {b: c}\nagain: *a\n"), 1);
}

#[test]
fn others_are_not() {
    for text in [
        "  kind: A\n  name: b\n",
        "%TAG !e! tag:example.com,2026:\n---\nkind: A\n",
        "--- &a\nkind: A\n",
        "kind: A\ntext: |\n  at the end\n\n",
        "kind: A\nlist:\n- >+\n  at the end\n",
        "kind: A\r\nname: b\r\n",
        "kind: A\nname: yes\nwhy: 0777\n",
    ] {
        assert_eq!(cuts(text), 0, "{text:?}");
    }
}

#[test]
fn what_is_parsed_is_counted() {
    let options = ReadOptions { parsed: ParseCount::counting(), ..ReadOptions::default() };
    let whole = read(vec![Input::new("body", "a: 1\n---\nb: 2\n")], &options);
    for doc in whole.documents.ids() {
        whole.cut(doc, whole.documents.range_of(doc).unwrap(), "own").unwrap();
    }
    assert_eq!((options.parsed.get(), ReadOptions::default().parsed.get()), (2, 0));
}

fn text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("kind: A\n".to_owned()),
        Just("---\n".to_owned()),
        Just("...\n".to_owned()),
        Just("--- ".to_owned()),
        Just("%YAML 1.2\n".to_owned()),
        Just("# a comment\n".to_owned()),
        Just("\n".to_owned()),
        Just("  ".to_owned()),
        Just("list:\n- a\n- b: c\n".to_owned()),
        Just("- ".to_owned()),
        Just("text: |\n  one\n  two\n".to_owned()),
        Just("keep: >+\n  one\n\n".to_owned()),
        Just("{\"a\": [1, {\"b\": null}]}\n".to_owned()),
        Just("map: {a: &x 1, b: *x}\n".to_owned()),
        Just("base: &b {a: 1}\nmore:\n  <<: *b\n  c: 2\n".to_owned()),
        Just("*x\n".to_owned()),
        Just("&y ".to_owned()),
        Just("!!str ".to_owned()),
        Just("empty:\n".to_owned()),
        Just("quoted: 'it''s\n  long'\n".to_owned()),
        Just("plain: some\n  words\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{feff}".to_owned()),
        Just("{{ .Values.x }}\n".to_owned()),
        "[a-z]{1,3}: [ -~é]{0,8}\n",
        "\\PC{0,8}",
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn whatever_is_cut_out_is_what_reading_it_gives(text in text()) {
        cuts(&text);
    }
}
