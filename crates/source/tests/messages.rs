// SPDX-License-Identifier: Apache-2.0
//! In: the mistakes people make. Out: the place, the sentence and the remedy each must get.
//! Not here: what well-formed text means (`reading.rs`).
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
use overrule_source::{DuplicateKeys, Input, ReadOptions, read_one};

/// Text, place, part of the message, part of the help.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[test]
fn common_mistakes_are_explained_where_they_are() {
    let rows: &[Row] = &[
        ("a:\n\tb: 1\n", "OV1001 2:1", "tab", "use spaces"),
        ("a:\n  b: 1\n\tc: 2\n", "OV1001 3:1", "tab", "use spaces"),
        ("a:b\nc: d\n", "OV1001 1:2", "no space", "space after the colon"),
        ("x: 1\na:b\nc: d\n", "OV1001 2:2", "`a:b`", "space after the colon"),
        ("a: b: c\n", "OV1001 1:5", "second `: `", "quotes"),
        ("a: 1\n  b: 2\n", "OV1001 2:3", "not aligned", "indentation"),
        ("a:\n  b: 1\n   c: 2\n", "OV1001 3:4", "not aligned", "indentation"),
        ("a:\n  - 1\n - 2\n", "OV1001 3:2", "key of the mapping above", "indentation"),
        ("a: b\n- c\n", "OV1001 2:1", "key of the mapping above", "indentation"),
        ("- a\nb: c\n", "OV1001 2:1", "`- ` entry", "indentation"),
        ("a: x\nfoo\nb: 1\n", "OV1001 2:1", "`foo`", "missing colon"),
        ("a: \"x\nb: 1\n", "OV1001 1:4", "not closed", "close the quote"),
        ("a: 'x\n", "OV1001 1:4", "not closed", "close the quote"),
        ("a: 'x' y\n", "OV1001 1:8", "after the closing quote", "quote the whole value"),
        ("a: \"\\q\"\n", "OV1001 1:4", "invalid escape", "single quotes"),
        ("a: [1, 2\nb: 3\n", "OV1001 2:2", "bracketed list", "close the bracket"),
        ("a: {b: 1\n", "OV1001 1:4", "`{` is never closed", "closing bracket"),
        ("a: [b}\n", "OV1001 1:4", "closed with `}`", "close `[` with `]`"),
        ("a: b]\nc: ]\n", "OV1001 2:4", "no opening", "remove it"),
        ("a: *\n", "OV1001 1:4", "start with `*`", "quotes"),
        ("host: *.example.com\n", "OV1005 1:7", "`*.example.com`", "quote the value"),
        ("a: &\n", "OV1001 1:4", "start with `&`", "quotes"),
        ("a: %x\n", "OV1001 1:4", "start with `%`", "quotes"),
        ("a: @x\n", "OV1001 1:4", "start with `@`", "quotes"),
        ("a: `x`\n", "OV1001 1:4", "start with ```", "quotes"),
        ("a: - b\n", "OV1001 1:4", "list cannot start here", "its own line"),
        ("a: |\n  x\n y\n", "OV1001 3:2", "key of the mapping above", "indentation"),
        ("a: \u{7}\n", "OV1001 1:4", "U+0007", "remove it"),
        ("a: b\0c\n", "OV1001 1:5", "U+0000", "remove it"),
        ("a: !e!x y\n", "OV1001 1:4", "%TAG", "remove the tag"),
        ("{a: 1} b\n", "OV1001 1:8", "after the end", "---"),
    ];
    let mut wrong = Vec::new();
    for (text, place, message, help) in rows {
        let read = read(text);
        let found = findings(&read);
        let first = read.diagnostics.first();
        let fits = found == [*place]
            && first.is_some_and(|d| {
                d.message.contains(message) && d.help.as_ref().is_some_and(|h| h.contains(help))
            });
        if !fits {
            wrong.push(format!(
                "{text:?}\n  {found:?}\n  {:?}",
                first.map(|d| (&d.message, &d.help))
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_message_is_one_plain_sentence_with_a_remedy() {
    let texts = [
        "a: yes",
        "a: !x y",
        "a: 1\na: 2",
        "a: *x",
        "<<: 1",
        "[a]: b",
        "a: {{ x }}",
        "a: !!int x",
        "{\"a\" 1}",
        "a:\n\tb: 1",
        "%YAML 3.0\n---\na: 1",
        "a: \"\\ud800\"",
        "a: |0\n x",
        "!<a b",
    ];
    for text in texts {
        let read = read(text);
        assert!(!read.diagnostics.is_empty(), "{text:?}");
        for diagnostic in read.diagnostics {
            let message = &diagnostic.message;
            let first = message.chars().next().unwrap();
            assert!(!first.is_uppercase(), "{message}");
            assert!(!message.ends_with('.') && !message.contains('\n'), "{message}");
            assert!(diagnostic.help.is_some(), "{message}");
        }
    }
}

#[test]
fn duplicate_keys_name_both_places() {
    let text = "spec:\n  rules:\n  - name: a\n    \"name\": b\n";
    let read = read(text);
    assert_eq!(findings(&read), ["OV1002 4:5"]);
    assert!(read.documents.is_empty());
    let diagnostic = &read.diagnostics[0];
    assert_eq!(diagnostic.field, "spec.rules[0].name");
    let first = read.documents.sources.position(diagnostic.related[0].span);
    assert_eq!((first.line, first.column), (3, 5));
}

#[test]
fn the_last_duplicate_wins_if_asked() {
    let options = ReadOptions { duplicate_keys: DuplicateKeys::LastWins, ..ReadOptions::default() };
    let read = read_one("f.yaml", "a: 1\nb: 2\na: 3\na: {c: 4}\n", &options);
    assert_eq!(common::trees(&read), [r#"{"b":2,"a":{"c":4}}"#]);
    assert_eq!(findings(&read), ["OV1011 3:1", "OV1011 4:1"]);
    let many: String = (0..100).map(|i| format!("k{}: {i}\n", i % 50)).collect();
    let read = read_one("f.yaml", &many, &options);
    let root = read.documents.root(read.documents.ids().next().unwrap());
    assert_eq!(root.len(), 50);
    assert!((0..50).all(|i| root.get(&format!("k{i}")).unwrap().as_i64() == Some(i + 50)));
    assert_eq!(read.diagnostics.len(), 21);
}

#[test]
fn many_warnings_of_one_kind_are_summed_up() {
    let text = "- yes\n".repeat(100_000);
    let read = read(&text);
    assert_eq!(read.diagnostics.len(), 21);
    let last = read.diagnostics.last().unwrap();
    assert!(last.message.starts_with("99980 more places"), "{}", last.message);
    assert_eq!(findings(&read)[20], "OV1006 21:3");
}

#[test]
fn warnings_are_capped_per_source_not_per_batch() {
    let document = format!("---\n{}", "- yes\n".repeat(15));
    let read = read(&document.repeat(5_000));
    assert_eq!(read.documents.len(), 5_000);
    assert_eq!(read.diagnostics.len(), 21);
    let last = &read.diagnostics.last().unwrap().message;
    assert!(last.starts_with("74980 more places"), "{last}");
}

#[test]
fn sources_that_are_no_text_are_skipped_with_a_place() {
    let inputs = vec![
        Input::new("bad", b"a: 1\nb: \xff\n".to_vec()),
        Input::new("utf16", b"\xff\xfea\0".to_vec()),
        Input::new("good", "a: 1"),
        Input::new("cut", b"a: \xe2\x82".to_vec()),
    ];
    let read = overrule_source::read(inputs, &ReadOptions::default());
    assert_eq!(read.documents.len(), 1);
    assert_eq!(findings(&read), ["OV1003 2:4", "OV1003 1:1", "OV1003 1:4"]);
    assert!(read.diagnostics[1].help.as_ref().unwrap().contains("convert to UTF-8"));
}
