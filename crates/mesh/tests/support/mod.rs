// SPDX-License-Identifier: Apache-2.0
//! In: YAML texts. Out: documents, confs and readable results for these tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::BTreeMap;

use overrule_engine::{Leaf, Loss, StepId, Traced};
use overrule_source::{
    Documents, DuplicateKeys, Input, NodeKind, NodeRef, ReadOptions, SingleLetters, View, read,
};
use serde_json::{Map, Value};

/// The pieces of a text: between lines of three dashes, without white space around them, without pieces of one comment.
fn pieces(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in text.trim().lines() {
        match line.strip_prefix("---") {
            Some(rest) if rest.trim().is_empty() => all.push(String::new()),
            _ => {
                let last = all.last_mut().expect("a piece");
                last.push_str(line);
                last.push('\n');
            }
        }
    }
    let trimmed = all.iter().map(|p| p.trim().to_owned());
    trimmed.filter(|p| !p.is_empty() && (p.contains('\n') || !p.starts_with('#'))).collect()
}

/// Reads a text as the runner of Kuma's data does: duplicate keys are legal, the last one counts.
pub fn documents(text: &str) -> Documents {
    let options = ReadOptions {
        duplicate_keys: DuplicateKeys::LastWins,
        single_letters: SingleLetters::Text,
        ..ReadOptions::default()
    };
    let inputs = pieces(text).into_iter().map(|p| Input::new("case.yaml", p)).collect();
    read(inputs, &options).documents
}

/// Roots of all documents.
pub fn roots(documents: &Documents) -> Vec<NodeRef> {
    documents.ids().map(|id| Documents::node_ref(documents.root(id), id)).collect()
}

/// The node at a path of keys and indexes.
pub fn find(documents: &Documents, node: NodeRef, path: &[&str]) -> Option<NodeRef> {
    let mut view = documents.view(node);
    for key in path {
        view = match view.kind() {
            NodeKind::List => view.items().nth(key.parse().ok()?)?,
            _ => view.get(key)?,
        };
    }
    Some(NodeRef { doc: node.doc, node: view.id() })
}

/// A node as a value written by a step.
pub fn whole(step: u32, node: NodeRef) -> (StepId, Traced) {
    (StepId(step), Traced::Whole { step: StepId(step), node })
}

/// The value as JSON.
pub fn json(documents: &Documents, value: &Traced) -> Value {
    match value.leaf(documents) {
        Leaf::Map => {
            let entries = value.entries(documents);
            let mut map = Map::new();
            for (key, member) in &entries {
                let before = map.insert(key.text(documents).to_owned(), json(documents, member));
                assert_eq!(before, None, "a member twice: {}", key.text(documents));
            }
            Value::Object(map)
        }
        Leaf::List => value.items(documents).iter().map(|v| json(documents, v)).collect(),
        Leaf::Scalar(view) => scalar(view),
        Leaf::Implied(json) => serde_json::from_str(json).expect("implied JSON"),
    }
}

fn scalar(view: View<'_>) -> Value {
    match view.kind() {
        NodeKind::Null => Value::Null,
        NodeKind::Bool => view.as_bool().into(),
        NodeKind::Int => view.as_i64().map_or_else(|| view.as_u64().into(), Value::from),
        NodeKind::Float => view.as_f64().into(),
        _ => view.as_str().into(),
    }
}

/// The same without null members: the one comparison in which null and absent are equal.
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, v)| !v.is_null());
            Value::Object(kept.map(|(k, v)| (k, without_nulls(v))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// Pointer of each maximal part and the step that wrote it.
pub fn origins(documents: &Documents, value: &Traced) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    value.parts(documents, &mut |pointer, step, _| {
        assert_eq!(found.insert(pointer.to_owned(), step.0), None, "two origins at {pointer}");
    });
    found
}

/// Losses as `step pointer by`.
pub fn losses(losses: &[Loss]) -> Vec<String> {
    let line = |l: &Loss| {
        let by: Vec<String> = l.by.iter().map(|s| s.0.to_string()).collect();
        format!("{} {} by {}", l.step.0, l.pointer, by.join(","))
    };
    losses.iter().map(line).collect()
}

/// `{"/a": 0}` in one line.
pub fn at<const N: usize>(pairs: [(&str, u32); N]) -> BTreeMap<String, u32> {
    pairs.into_iter().map(|(pointer, step)| (pointer.to_owned(), step)).collect()
}

/// The kind of that type.
pub fn kind(name: &str) -> &'static overrule_mesh::kinds::ResourceKind {
    overrule_mesh::kinds::ResourceKind::by_type(name).expect("a kind of the table")
}
