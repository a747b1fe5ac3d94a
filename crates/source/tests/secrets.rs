// SPDX-License-Identifier: Apache-2.0
//! In: manifests with secrets. Out: results in which the payload occurs nowhere, and everything else stays in place.
//! Not here: which fields are secret in Kubernetes (the caller says so).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;
use common::{findings, secrets, trees};
use overrule_source::{DuplicateKeys, Input, Read, ReadOptions, read, read_one};

/// The payload of every case; with a backslash in between where the text is escaped.
const PAYLOAD: &str = "hunter2";

fn check(text: &str, options: &ReadOptions) -> Read {
    let read = read_one("f.yaml", text, options);
    let debug = format!("{read:?}");
    assert!(!debug.contains(PAYLOAD), "{text}\n{debug}");
    let source = read.documents.sources.iter().next().unwrap().1;
    assert_eq!(source.text().len(), text.len(), "{text}");
    assert_eq!(source.text().chars().count(), text.chars().count(), "{text}");
    read
}

#[test]
fn fields_of_the_kind_are_gone_from_tree_and_text() {
    let texts = [
        "kind: Secret\ndata: {a: hunter2, b: 'hunter2'}\ntype: x\n",
        "data:\n  a: hunter2\n  # hunter2\n  b: |\n    hunter2\n    hunter2\nkind: Secret\ntype: x\n",
        "kind: Secret\nstringData:\n  a: >-\n    hunter2\n    and\n\n  b: \"hun\\x74er2\" # hunter2\n# hunter2\ntype: x\n",
        "kind: Secret\nstringData: # hunter2\n  a: yes # hunter2\ntype: x\ndata:\n  hunter2: ~\n",
        "{\"kind\":\"Secret\",\"data\":{\"a\":\"hunter2\",\"é\":\"hunter2 ü 漢 😀\"},\"type\":\"x\"}",
        "{\"data\":\"hun\\u0074er2\",\"kind\":\"Secret\",\"type\":\"x\"}",
        "kind: Secret\ntype: x\nmetadata:\n  annotations:\n    last: '{\"data\":\"hunter2\"}'\n",
        "kind: Secret\nd: &d {a: hunter2}\ndata: *d\ntype: x\n",
        "kind: Secret\nd: &d\n  a: \"hunter2\\n\"\n  b: [hunter2]\ndata:\n  <<: *d\n  b: *d\ntype: x\n",
        "<<: {data: hunter2, kind: Secret}\ntype: x\n",
        "<<: {data: hunter2, type: q}\ndata: hunter2\nkind: Secret\ntype: x\n",
        "base: &b {data: {p: hunter2}}\n<<: *b\nkind: Secret\ntype: x\n",
        "kind: Secret\ntype: x\ndata: hunter2",
        "--- {kind: Secret, type: x, data: hunter2} # hunter2\n",
        "kind: \"\\u0053ecret\"\ntype: x\ndata: hunter2\n",
    ];
    for text in texts {
        let read = check(text, &secrets());
        assert_eq!(read.documents.len(), 1, "{text} {:?}", read.diagnostics);
        let root = read.documents.root(read.documents.ids().next().unwrap());
        assert_eq!(root.get("kind").and_then(|k| k.as_str()), Some("Secret"), "{text}");
        assert_eq!(root.get("type").and_then(|k| k.as_str()), Some("x"), "{text}");
        assert!(root.get("data").is_none() && root.get("stringData").is_none(), "{text}");
        assert_eq!(root.len(), root.entries().count());
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    }
}

#[test]
fn the_rest_of_the_document_keeps_its_places() {
    let text = "kind: Secret\ndata:\n  é: hunter2\n  b: |\n    hunter2\ntype: x\n---\nkind: Gateway\ndata: hunter3\n";
    let read = check(text, &secrets());
    assert_eq!(
        trees(&read),
        [r#"{"kind":"Secret","type":"x"}"#, r#"{"kind":"Gateway","data":"hunter3"}"#]
    );
    let source = read.documents.sources.iter().next().unwrap().1;
    assert_eq!(source.line(2), "data:");
    assert_eq!(source.line(6), "type: x");
    let roots: Vec<_> = read.documents.ids().map(|d| read.documents.root(d)).collect();
    let kind = roots[0].get("type").unwrap();
    assert_eq!(read.documents.sources.position(kind.span()).to_string(), "f.yaml:6:7");
    let line = "{\"kind\":\"Secret\",\"data\":{\"é\":\"hunter2 ü 漢 😀\"},\"type\":\"x\"}";
    let read = check(line, &secrets());
    let root = read.documents.root(read.documents.ids().next().unwrap());
    let at = read.documents.sources.position(root.get("type").unwrap().span());
    let column = line.chars().collect::<Vec<_>>().windows(3).position(|w| w == ['"', 'x', '"']);
    assert_eq!(at.column as usize, column.unwrap() + 1);
}

#[test]
fn lists_of_the_kind_are_redacted_too() {
    let list = "kind: List\nitems:\n- kind: Secret\n  metadata: {name: a}\n  data: {x: hunter2}\n- kind: ConfigMap\n  data: {x: z}\n- kind: List\n  items:\n  - kind: Secret\n    data: hunter2\n";
    let read = check(list, &secrets());
    assert_eq!(
        trees(&read),
        [
            r#"{"kind":"List","items":[{"kind":"Secret","metadata":{"name":"a"}},{"kind":"ConfigMap","data":{"x":"z"}},{"kind":"List","items":[{"kind":"Secret"}]}]}"#
        ]
    );
    let own = "kind: SecretList\nitems:\n- metadata: {name: a}\n  data: {x: hunter2}\n- data: hunter2\n  metadata: {name: b}\n- kind: Other\n  data: 1\n";
    let read = check(own, &secrets());
    assert_eq!(
        trees(&read),
        [
            r#"{"kind":"SecretList","items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}},{"kind":"Other","data":1}]}"#
        ]
    );
    check("[{kind: Secret, data: hunter2}]", &secrets());
}

#[test]
fn broken_documents_that_mention_the_kind_are_blanked_whole() {
    let texts = [
        "kind: Secret\ndata:\n  a: hunter2: x\n",
        "kind: Secret\nhunter2\nb: x\n",
        "kind: Secret\ndata:\n  a: 1\n  hunter2: 1\n  hunter2: 2\n",
        "\"kind\": \"Secret\"\ndata: *hunter2\n",
        "{\"kind\":\"Secret\",\"data\":{\"a\":\"hunter2\" \"b\"}}",
        "kind: Secret\ndata:\n  a: !!int hunter2\n",
        "kind: Secret\ndata:\n  a: !hunter2 x\n  b: [\n",
        "kind: Secret\ndata:\n  a: {{ .Values.hunter2 }}\n",
        "kind: !!str Secret\ndata:\n\ta: hunter2\n",
        "kind: SecretList\nitems:\n- data: hunter2: 1\n",
        "kind:\n  Secret\ndata: [hunter2\n",
    ];
    for text in texts {
        let read = check(text, &secrets());
        assert!(read.documents.is_empty(), "{text}");
        assert_eq!(read.diagnostics.len(), 1, "{text} {:?}", read.diagnostics);
    }
    // The neighbours stay as they are, and the place of the mistake is known.
    let read = check("a: 1\n---\nkind: Secret\ndata: hunter2: x\n---\nb: 2\n", &secrets());
    assert_eq!(trees(&read), [r#"{"a":1}"#, r#"{"b":2}"#]);
    assert_eq!(findings(&read), ["OV1001 4:14"]);
    let read = check("{\"a\":1}{\"kind\":\"Secret\",\"data\":hunter2", &secrets());
    assert_eq!(trees(&read), [r#"{"a":1}"#]);
    // A kind that only begins alike is another one.
    let other = "kind: SecretStore\na: [\n";
    let read = read_one("f.yaml", other, &secrets());
    assert_eq!(read.documents.sources.iter().next().unwrap().1.text(), other);
}

#[test]
fn doubtful_values_are_not_quoted() {
    let read = check("kind: Secret\ndata:\n  a: yes\n  b: !hunter2 1\nx: no\n", &secrets());
    assert_eq!(findings(&read), ["OV1006 5:4"]);
    let options = ReadOptions { duplicate_keys: DuplicateKeys::LastWins, ..secrets() };
    let text = "kind: Secret\ndata: hunter2\ndata: {hunter2: 1, hunter2: 2}\nmetadata: {annotations: hunter2}\nmetadata: {name: x}\n";
    let read = check(text, &options);
    assert_eq!(trees(&read), [r#"{"kind":"Secret","metadata":{"name":"x"}}"#]);
}

#[test]
fn bytes_that_are_no_text_do_not_leak_either() {
    let input = Input::new("f", b"kind: Secret\ndata: hunter2 \xff".to_vec());
    let read = read(vec![input], &secrets());
    assert!(!format!("{read:?}").contains(PAYLOAD));
    assert_eq!(findings(&read), ["OV1003 2:15"]);
}

#[test]
fn redacting_a_large_list_takes_linear_time() {
    let item = "- metadata: {name: a}\n  data: {x: hunter2, y: \"hun\\x74er2\"}\n";
    let text = format!("kind: SecretList\nitems:\n{}", item.repeat(20_000));
    let read = read_one("f.yaml", &text, &secrets());
    let root = read.documents.root(read.documents.ids().next().unwrap());
    let items = root.get("items").unwrap();
    assert_eq!(items.len(), 20_000);
    assert!(items.items().all(|item| item.len() == 1));
    assert!(!read.documents.sources.iter().next().unwrap().1.text().contains(PAYLOAD));
}
