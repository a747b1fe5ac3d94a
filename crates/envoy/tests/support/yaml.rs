// SPDX-License-Identifier: Apache-2.0
//! In: a YAML file. Out: it as JSON. Not here: what it says.

use std::path::Path;

use overrule_source::{NodeKind, ReadOptions, View, read_one};
use serde_json::Value;

/// Reads one document; stops the test if it is none.
pub fn load(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let read = read_one(&path.to_string_lossy(), &text, &ReadOptions::default());
    assert_eq!(read.documents.len(), 1, "{}", path.display());
    of(read.documents.root(read.documents.ids().next().unwrap()))
}

fn of(view: View<'_>) -> Value {
    match view.kind() {
        NodeKind::Null => Value::Null,
        NodeKind::Bool => view.as_bool().unwrap().into(),
        NodeKind::Int => view.as_i64().unwrap().into(),
        NodeKind::Float => view.as_f64().unwrap().into(),
        NodeKind::String => view.as_str().unwrap().into(),
        NodeKind::List => view.items().map(of).collect(),
        NodeKind::Map => {
            view.entries().map(|(key, value)| (key.key_text().to_owned(), of(value))).collect()
        }
    }
}
