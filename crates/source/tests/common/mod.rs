// SPDX-License-Identifier: Apache-2.0
//! In: what a reading gave. Out: short texts to compare it with.
//! Not here: expectations.
#![allow(dead_code, reason = "each test file uses a part of it")]

use overrule_source::{NodeKind, Read, ReadOptions, Redaction, View, read_one};

/// Reads with the defaults.
pub fn read(text: &str) -> Read {
    read_one("f.yaml", text, &ReadOptions::default())
}

/// What a caller that knows Kubernetes asks for.
pub fn secrets() -> ReadOptions {
    ReadOptions {
        redactions: vec![Redaction {
            kind: "Secret",
            fields: &[&["data"], &["stringData"], &["metadata", "annotations"]],
        }],
        ..ReadOptions::default()
    }
}

/// All documents as JSON, one per line.
pub fn trees(read: &Read) -> Vec<String> {
    read.documents.ids().map(|doc| json(read.documents.root(doc))).collect()
}

/// One node as JSON.
pub fn json(view: View<'_>) -> String {
    match view.kind() {
        NodeKind::Null => "null".to_owned(),
        NodeKind::String => format!("{:?}", view.as_str().unwrap()),
        NodeKind::List => {
            let items: Vec<String> = view.items().map(json).collect();
            assert_eq!(items.len(), view.len());
            format!("[{}]", items.join(","))
        }
        NodeKind::Map => {
            let entry = |(key, value): (View<'_>, View<'_>)| {
                assert_eq!(key.kind(), NodeKind::String);
                format!("{:?}:{}", key.key_text(), json(value))
            };
            let entries: Vec<String> = view.entries().map(entry).collect();
            assert_eq!(entries.len(), view.len());
            format!("{{{}}}", entries.join(","))
        }
        // Floats get a mark, so that tests see the kind.
        NodeKind::Float => format!("f{}", view.scalar_text().unwrap()),
        NodeKind::Bool | NodeKind::Int => view.scalar_text().unwrap().to_owned(),
    }
}

/// All findings as `OV1001 2:3`.
pub fn findings(read: &Read) -> Vec<String> {
    let place = |d: &overrule_source::Diagnostic| {
        let at = read.documents.sources.position(d.primary.as_ref().unwrap().span);
        format!("{} {}:{}", d.code.id, at.line, at.column)
    };
    read.diagnostics.iter().map(place).collect()
}
