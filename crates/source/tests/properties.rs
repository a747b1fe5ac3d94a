// SPDX-License-Identifier: Apache-2.0
//! In: random bytes, random trees, damaged manifests. Out: what must hold for all of them.
//! Not here: single rules (`reading.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;
use common::{json, read, secrets, trees};
use overrule_source::{Input, NodeKind, Read, ReadOptions, View, read_one, read_piece};
use proptest::prelude::*;

/// Manifests that use most of the syntax; mutations start here.
const SEEDS: &[&str] = &[
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  p: aHVudGVyMg==\n---\nkind: Gateway\nspec:\n  listeners:\n  - name: web\n    port: 80\n    hostname: \"*.x.org\"\n",
    "# c\n%YAML 1.2\n---\na: &x {b: [1, 2.5, ~], 'c d': \"e\\n\\u00e9\"}\nf: *x\ng:\n  <<: *x\n  h: |2-\n     t\n    u\n  i: >+\n    v\n    w\n\n...\n--- !!map\n? k\n: !t 0x1F\n",
    "{\"kind\":\"List\",\"items\":[{\"a\":\"\\ud83d\\ude00\",\"b\":-1.5e3},{\"c\":[true,false,null]}]}\n{\"d\":\"é漢😀\"}\n",
    "a: {{ .Values.x }}\n{{- if y }}\nb: yes\n{{- end }}\nc: |\n  {{ z }}\nd: x-{{ .Release.Name }}\n",
    "- - a\n  - b: 1\n    c:\n    - d\n- 'it''s'\n- \"x\\\n  y\"\n- plain\n  over lines # c\n-\n- ? a\n  : b\n- [a, {b: c}, d: e]\n",
];

/// Whatever the input: bounds, verbatim texts, and no panic on the way.
fn check(read: &Read) {
    let sources = &read.documents.sources;
    for doc in read.documents.ids() {
        walk(read, read.documents.root(doc), 0);
    }
    for diagnostic in &read.diagnostics {
        let primary = diagnostic.primary.as_ref().expect("every finding here has a place");
        for label in std::iter::once(primary).chain(&diagnostic.related) {
            let text = sources.get(label.span.source).expect("a source").text();
            assert!(label.span.start <= label.span.end, "{diagnostic:?}");
            assert!(label.span.end as usize <= text.len(), "{diagnostic:?}");
            assert!(text.is_char_boundary(label.span.start as usize), "{diagnostic:?}");
            assert!(text.is_char_boundary(label.span.end as usize), "{diagnostic:?}");
            let _ = sources.position(label.span);
        }
        assert!(diagnostic.help.is_some(), "{diagnostic:?}");
    }
}

fn walk(read: &Read, view: View<'_>, depth: usize) {
    assert!(depth <= 128);
    let span = view.span();
    let source = read.documents.sources.get(span.source).unwrap();
    let text = source.text().get(span.start as usize..span.end as usize);
    let text = text.unwrap_or_else(|| panic!("{span:?} is no range of the text"));
    match view.kind() {
        NodeKind::Map => {
            for (key, value) in view.entries() {
                walk(read, key, depth + 1);
                walk(read, value, depth + 1);
                // A key is looked up without reading those of another length.
                let name = key.key_text();
                let first = view.entries().find(|(k, _)| k.key_text() == name);
                let ids =
                    |found: Option<(View<'_>, View<'_>)>| found.map(|(k, v)| (k.id(), v.id()));
                assert_eq!(ids(view.get_entry(name)), ids(first), "{name:?}");
            }
        }
        NodeKind::List => view.items().for_each(|item| walk(read, item, depth + 1)),
        NodeKind::String
            if !text.contains(['\\', '\'', '\n', '\r', '%']) && !text.starts_with(['|', '>']) =>
        {
            // Without escapes and breaks the value stands in the text, unless a tag or a key made it.
            let value = view.as_str().unwrap();
            let made = value.is_empty()
                || value == "true"
                || value == "false"
                || value.parse::<f64>().is_ok();
            assert!(
                made || text.contains(value)
                    || value.contains('\u{fffd}')
                    || text.is_empty()
                    || is_base64(text),
                "{text:?} does not hold {value:?}"
            );
        }
        NodeKind::Int => assert!(view.as_f64().is_some(), "{text:?}"),
        NodeKind::Float => assert!(view.as_f64().is_some(), "{text:?}"),
        _ => {}
    }
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/= ".contains(&b))
}

/// A value to write down as YAML and JSON and to read back.
#[derive(Debug, Clone)]
enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        "[ -~é漢😀\n]{0,12}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            prop::collection::btree_map("[a-z é\"]{1,6}", inner, 0..5)
                .prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

fn quoted(text: &str) -> String {
    let mut out = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out + "\""
}

/// JSON, which is also YAML in flow style.
fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Text(t) => quoted(t),
        Value::List(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Map(entries) => {
            let entries = entries.iter().map(|(k, v)| format!("{}: {}", quoted(k), flow(v)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::List(items) if !items.is_empty() => {
            for item in items {
                out.push_str(&format!("\n{pad}-"));
                block(item, indent + 2, out);
            }
        }
        Value::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                out.push_str(&format!("\n{pad}{}:", quoted(key)));
                block(value, indent + 2, out);
            }
        }
        other => out.push_str(&format!(" {} # c", flow(other))),
    }
}

fn as_json(value: &Value) -> String {
    match value {
        Value::Text(t) => format!("{t:?}"),
        Value::List(items) => {
            format!("[{}]", items.iter().map(as_json).collect::<Vec<_>>().join(","))
        }
        Value::Map(entries) => {
            let entries = entries.iter().map(|(k, v)| format!("{k:?}:{}", as_json(v)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        other => flow(other),
    }
}

/// `PROPTEST_CASES` can only raise the number.
fn cases(least: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let asked = if default.cases == 256 { 0 } else { default.cases };
    ProptestConfig { cases: asked.max(least), failure_persistence: None, ..default }
}

/// Whatever it is, a text is read the same way alone and with others.
fn check_input(input: Input) {
    let piece = read_piece(input.clone(), &secrets());
    let read = overrule_source::read(vec![input], &secrets());
    check(&read);
    assert_eq!(read.pieces(), [piece]);
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_input(Input::new("f", bytes));
    }

    #[test]
    fn any_yaml_like_text_is_read_without_panic(
        text in "([a-c:\\-?\\[\\]{},&*!|>'\"%@`#~<0-9yn. \t\r\n\u{feff}é]|---\n|\\.\\.\\.\n|: |\n  ){0,60}"
    ) {
        check_input(Input::new("f", text));
    }

    #[test]
    fn damaged_manifests_are_read_without_panic(
        seed in 0..SEEDS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4usize, any::<u8>()), 1..6),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        const LIKELY: &[u8] = b"\n :-[]{}\"'#&*!|>%\t\\<~0y";
        for (at, what, byte) in edits {
            let at = at.index(bytes.len() + 1);
            let likely = LIKELY[byte as usize % LIKELY.len()];
            match what {
                0 if at < bytes.len() => { bytes.remove(at); }
                1 if at < bytes.len() => bytes[at] = byte,
                2 => bytes.insert(at, likely),
                _ => { bytes.truncate(at.max(1)); }
            }
        }
        check_input(Input::new("f", bytes));
    }

    #[test]
    fn what_is_written_is_read_back(value in value()) {
        let expected: Vec<String> = match value {
            Value::Null => Vec::new(),
            _ => vec![as_json(&value)],
        };
        let (flow, mut text) = (flow(&value), "---".to_owned());
        block(&value, 0, &mut text);
        for text in [flow.clone(), format!("# c\n{flow} # not JSON\n"), text + "\n"] {
            let read = read(&text);
            prop_assert_eq!(&trees(&read), &expected, "{}", text);
            prop_assert!(read.diagnostics.is_empty());
            check(&read);
        }
    }
}

proptest! {
    #![proptest_config(cases(10))]

    #[test]
    fn reading_in_chunks_is_reading_one_by_one(
        parts in prop::collection::vec((0..SEEDS.len(), any::<bool>()), 1..30),
        filler in 0..3usize,
    ) {
        // Large enough to be shared out among threads.
        let filler = format!("# {}\n", "x".repeat(filler * 60_000));
        let mut pieces = Vec::new();
        for (seed, broken) in parts {
            pieces.push(format!("---\n{filler}{}", if broken { "a: [\n" } else { "b: {c: yes}\n" }));
            pieces.push(format!("---\n{}", SEEDS[seed].replace("%YAML 1.2\n", "")));
        }
        let whole = read_one("f", &pieces.concat(), &secrets());
        let mut offset = 0;
        let mut documents = whole.documents.ids();
        for piece in &pieces {
            let alone = read_one("f", piece, &secrets());
            for doc in alone.documents.ids() {
                let here = documents.next().expect("as many documents");
                same(alone.documents.root(doc), whole.documents.root(here), offset);
            }
            offset += u32::try_from(piece.len()).unwrap();
        }
        prop_assert!(documents.next().is_none());
        let again = read_one("f", &pieces.concat(), &secrets());
        prop_assert!(again == whole);
    }
}

fn same(alone: View<'_>, whole: View<'_>, offset: u32) {
    assert_eq!(alone.kind(), whole.kind());
    assert_eq!(alone.span().start + offset, whole.span().start);
    assert_eq!(alone.span().end + offset, whole.span().end);
    assert_eq!(alone.scalar_text(), whole.scalar_text());
    assert_eq!(json(alone), json(whole));
    for (a, w) in alone.entries().zip(whole.entries()) {
        same(a.0, w.0, offset);
        same(a.1, w.1, offset);
    }
    for (a, w) in alone.items().zip(whole.items()) {
        same(a, w, offset);
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let text: String =
        SEEDS.iter().map(|seed| format!("---\n{seed}")).collect::<String>().repeat(600);
    let inputs = || {
        vec![
            Input::new("a", text.as_str()),
            Input::new("b", "x: yes"),
            Input::new("c", text.as_str()),
        ]
    };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| overrule_source::read(inputs(), &secrets()))
    };
    let one = on(1);
    assert!(one == on(2) && one == on(5));
    assert!(one.documents.len() > 3_000);
    let order: Vec<u32> =
        one.diagnostics.iter().map(|d| d.primary.as_ref().unwrap().span.source.0).collect();
    assert!(order.is_sorted());
}

#[test]
fn progress_adds_up_to_the_input() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let text = "---\na: 1\n".repeat(100_000);
    let done = AtomicUsize::new(0);
    let inputs = vec![Input::new("a", text.as_str())];
    overrule_source::read_with(inputs, &ReadOptions::default(), &|bytes| {
        done.fetch_add(bytes, Ordering::Relaxed);
    });
    assert_eq!(done.into_inner(), text.len());
}
