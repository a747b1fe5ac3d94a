// SPDX-License-Identifier: Apache-2.0
//! Texts that are found in a folder may be anything: what concerns the reader is read as ever, of a stranger is known who it
//! is, and nothing is wrong with it.

#![allow(clippy::unwrap_used, reason = "a helper of tests that fails is a failing test")]

use overrule_source::{ConcernedKinds, Concerns, Input, Read, ReadOptions, Why, read};
use proptest::prelude::*;

fn options() -> ReadOptions {
    let kinds = ConcernedKinds {
        groups: ["gateway.networking.k8s.io"].into(),
        kinds: [("", "Service")].into(),
        types: ["MeshTimeout"].into(),
        marks: vec!["targetRef"],
        ..ConcernedKinds::default()
    };
    ReadOptions { concerns: Concerns::only(kinds), ..ReadOptions::default() }
}

fn found(text: &str) -> Read {
    read(vec![Input { found: true, ..Input::new("a.yaml", text) }], &options())
}

fn named(text: &str) -> Read {
    read(vec![Input::new("a.yaml", text)], &options())
}

fn roots(read: &Read) -> Vec<serde_json::Value> {
    read.documents.ids().map(|doc| read.documents.root(doc).to_json()).collect()
}

fn passed(read: &Read) -> Vec<Why> {
    let sources = read.documents.sources.iter();
    sources.flat_map(|(_, source)| source.passed().iter().map(|p| p.why)).collect()
}

#[test]
fn what_concerns_the_reader_is_read_however_it_is_written() {
    let rows = [
        "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {x: 1}\n",
        "kind: 'Service'\nspec: {x: 1}\n\"apiVersion\": \"v1\"\n",
        "# comment\n\n--- # here\n  apiVersion: v1\n  kind: Service\n",
        "%YAML 1.1\n---\napiVersion: v1\nkind: Service\n",
        "{apiVersion: v1, kind: Service}",
        "--- {\"kind\": \"Service\", \"apiVersion\": \"v1\"}",
        "{\"\\u006bind\": \"Service\", \"apiVersion\": \"v1\"}",
        "\"k\\x69nd\": Service\napiVersion: v1\n",
        "? kind\n: Service\n? apiVersion\n: v1\n",
        "&a kind: Service\napiVersion: v1\n",
        "<<: &x {kind: Service, apiVersion: v1}\n",
        "kind: !!str Service\napiVersion: v1\n",
        "apiVersion: v1\r\nkind: Service\r\n",
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Other\n",
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service}\n",
        "- apiVersion: v1\n  kind: Service\n",
        "items: [{type: MeshTimeout, name: a}]\ntotal: 1\n",
        "type: MeshTimeout\nname: a\nspec: {}\n",
        "apiVersion: acme.io/v1\nkind: Policy\nspec: {targetRefs: [{kind: Gateway}]}\n",
        "  apiVersion: acme.io/v1\n  kind: Policy\n  spec: {targetRefs: [{kind: Gateway}]}\n",
    ];
    for text in rows {
        let (found, named) = (found(text), named(text));
        assert_eq!(roots(&found), roots(&named), "{text}");
        assert!(!roots(&found).is_empty() && passed(&found).is_empty(), "{text}");
        // What follows a value in braces is another document, and what is broken is not unescaped.
        if !text.contains('\\') && !text.starts_with([' ', '{', '#']) && !text.starts_with("--- {")
        {
            let broken = self::found(&format!("{text}\nodd: [\n"));
            assert!(!broken.diagnostics.is_empty(), "{text}");
        }
    }
}

#[test]
fn strangers_pass() {
    let rows = [
        ("a: 1\n", Some(Why::NoResource)),
        ("a: [\n", Some(Why::NoResource)),
        ("apiVersion: v2\nname: chart\n", Some(Why::NoResource)),
        ("{\"name\": \"x\", \"type\": \"module\"", Some(Why::NoResource)),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: [\n", Some(Why::Unreadable)),
        (
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Values.x }}\n",
            Some(Why::Template { ours: false }),
        ),
        (
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Values.x }}\n",
            Some(Why::Template { ours: true }),
        ),
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {a: 0644}\n", None),
        ("# nothing\n", None),
    ];
    for (text, why) in rows {
        let read = found(text);
        assert!(read.diagnostics.is_empty(), "{text}: {:?}", read.diagnostics);
        assert_eq!(passed(&read), why.into_iter().collect::<Vec<_>>(), "{text}");
    }
    let text = "a: [\n---\napiVersion: v1\nkind: Service\n---\n{{ x }}\n";
    let read = found(text);
    assert_eq!((roots(&read).len(), passed(&read).len()), (1, 2));
    let bytes = Input { found: true, ..Input::new("a.yaml", b"caf\xe9".to_vec()) };
    assert!(overrule_source::read(vec![bytes], &options()).diagnostics.is_empty());
    let bytes = b"apiVersion: v1\nkind: Service\nx: caf\xe9".to_vec();
    let bytes = Input { found: true, ..Input::new("a.yaml", bytes) };
    assert_eq!(overrule_source::read(vec![bytes], &options()).diagnostics.len(), 1);
}

/// A resource in block style with its parts in some order, and other parts between them.
fn resource() -> impl Strategy<Value = String> {
    let other = prop::sample::select(vec![
        "spec:\n  a:\n  - b: 1\n    c: |\n      kind: Service\n  d: \"x\"\n",
        "data:\n- a\n- b: c\n",
        "status: {a: [1, 2]}\n",
        "# comment\n\n",
        "note: |\n  text\n\n  apiVersion: v1\n",
        "empty:\n",
    ]);
    let kind = prop::sample::select(vec!["Service", "Role", "CustomResourceDefinition"]);
    let metadata = prop::sample::select(vec![
        "metadata:\n  annotations:\n    a: |\n      b\n  name: x\n  labels:\n    a: b\n",
        "metadata: {name: x, labels: {a: b}}\n",
        "metadata:\n  labels:\n    a: b\n\n  # here\n  name: x\n  managedFields:\n  - a: 1\n",
    ]);
    let crd = "spec:\n  versions:\n  - name: v1\n    schema: {a: b}\n  group: g.io\n  names:\n    kind: K\n  scope: Cluster\n";
    (kind, metadata, prop::collection::vec(other, 0..4), any::<u64>()).prop_map(
        move |(kind, metadata, others, seed)| {
            let mut parts: Vec<String> = others.into_iter().map(str::to_owned).collect();
            parts.sort();
            parts.dedup();
            let has_spec = parts.iter().any(|p| p.starts_with("spec"));
            if kind == "CustomResourceDefinition" && !has_spec {
                parts.push(crd.to_owned());
            }
            parts.extend([metadata.to_owned(), format!("kind: {kind}\n")]);
            parts.push("apiVersion: apiextensions.k8s.io/v1\n".to_owned());
            let mut seed = seed;
            for i in (1..parts.len()).rev() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                parts.swap(i, usize::try_from((seed >> 33) % (i as u64 + 1)).unwrap());
            }
            parts.concat()
        },
    )
}

proptest! {
    #[test]
    fn who_a_stranger_is_does_not_depend_on_how_much_is_read(text in resource()) {
        let (found, named) = (found(&text), named(&text));
        let (found, named) = (roots(&found), roots(&named));
        prop_assert_eq!(found.len(), named.len());
        for (found, named) in found.iter().zip(&named) {
            let paths = ["/apiVersion", "/kind", "/metadata/name", "/metadata/labels"];
            let crd = ["/spec/group", "/spec/names", "/spec/scope"];
            let defines = named["kind"] == "CustomResourceDefinition";
            for path in paths.iter().chain(if defines { &crd[..] } else { &[] }) {
                prop_assert_eq!(found.pointer(path), named.pointer(path), "{} in {}", path, text);
            }
        }
    }
}
