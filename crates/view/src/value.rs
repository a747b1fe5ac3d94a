// SPDX-License-Identifier: Apache-2.0
//! In: traced values. Out: values of the model, and who wrote each leaf. Not here: names of policies.

use overrule_engine::{StepId, Traced};
use overrule_source::{Documents, NodeKind, NodeRef, View};

use crate::field::push_segment;
use crate::v1::Value;

/// A leaf of a value: a scalar or an empty container.
pub(crate) struct Written<'a> {
    /// JSON pointer from the root of the value.
    pub(crate) pointer: &'a str,
    /// Who wrote or implies it; absent for a container that a merge left empty.
    pub(crate) step: Option<StepId>,
    /// Where; absent if it is implied.
    pub(crate) node: Option<NodeRef>,
}

/// The value, telling `visit` about each leaf on the way.
pub(crate) fn traced(
    documents: &Documents,
    value: &Traced,
    visit: &mut dyn FnMut(Written<'_>),
) -> Value {
    Walk { documents, pointer: String::new(), visit }.traced(value)
}

/// A part of a document as a value of the model.
pub(crate) fn of_node(documents: &Documents, node: NodeRef) -> Value {
    // The step does not matter: nobody listens.
    traced(documents, &Traced::Whole { step: StepId(0), node }, &mut |_| {})
}

/// A traced value as a value of the model.
pub(crate) fn of_traced(documents: &Documents, value: &Traced) -> Value {
    traced(documents, value, &mut |_| {})
}

/// Recursion is bounded by the depth that reading a document allows.
struct Walk<'a, 'v> {
    documents: &'a Documents,
    pointer: String,
    visit: &'v mut dyn FnMut(Written<'_>),
}

impl Walk<'_, '_> {
    fn traced(&mut self, value: &Traced) -> Value {
        match value {
            Traced::Whole { step, node } => self.written(*step, *node),
            Traced::Implied { step, json, from } => {
                let value = serde_json::from_str(json).unwrap_or(Value::Null);
                self.implied(*step, from.get(), &value);
                value
            }
            Traced::Map(entries) if entries.is_empty() => self.nobody(Value::Map(Vec::new())),
            Traced::List(items) if items.is_empty() => self.nobody(Value::List(Vec::new())),
            Traced::Map(entries) => {
                let documents = self.documents;
                let parts = entries.iter().map(|(key, value)| {
                    let key = key.text(documents);
                    (key.to_owned(), self.below(key, |walk| walk.traced(value)))
                });
                Value::Map(parts.collect())
            }
            Traced::List(items) => {
                let parts = items.iter().enumerate();
                let parts = parts.map(|(i, v)| self.below(&i.to_string(), |walk| walk.traced(v)));
                Value::List(parts.collect())
            }
        }
    }

    fn nobody(&mut self, empty: Value) -> Value {
        (self.visit)(Written { pointer: &self.pointer, step: None, node: None });
        empty
    }

    fn written(&mut self, step: StepId, node: NodeRef) -> Value {
        let view = self.documents.view(node);
        let at = |view: View<'_>| NodeRef { doc: node.doc, node: view.id() };
        let value = match view.kind() {
            NodeKind::Map => {
                let parts = view.entries().map(|(key, value)| {
                    let key = key.key_text();
                    (key.to_owned(), self.below(key, |walk| walk.written(step, at(value))))
                });
                Value::Map(parts.collect())
            }
            NodeKind::List => {
                let parts = view.items().enumerate();
                let parts = parts
                    .map(|(i, v)| self.below(&i.to_string(), |walk| walk.written(step, at(v))));
                Value::List(parts.collect())
            }
            _ => scalar(view),
        };
        if !value.has_parts() {
            (self.visit)(Written { pointer: &self.pointer, step: Some(step), node: Some(node) });
        }
        value
    }

    fn implied(&mut self, step: StepId, from: Option<NodeRef>, value: &Value) {
        match value {
            Value::Map(entries) if value.has_parts() => {
                for (key, value) in entries {
                    self.below(key, |walk| walk.implied(step, from, value));
                }
            }
            Value::List(items) if value.has_parts() => {
                for (i, value) in items.iter().enumerate() {
                    self.below(&i.to_string(), |walk| walk.implied(step, from, value));
                }
            }
            _ => (self.visit)(Written { pointer: &self.pointer, step: Some(step), node: from }),
        }
    }

    fn below<R>(&mut self, segment: &str, walk: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.pointer.len();
        push_segment(&mut self.pointer, segment);
        let result = walk(self);
        self.pointer.truncate(length);
        result
    }
}

/// A scalar as Kubernetes sends it on: whole numbers without a point, what JSON cannot hold as text.
fn scalar(view: View<'_>) -> Value {
    match view.kind() {
        NodeKind::Null => Value::Null,
        NodeKind::Bool => Value::Bool(view.as_bool().unwrap_or_default()),
        _ => view.to_number().map_or_else(
            || Value::String(view.scalar_text().unwrap_or_default().to_owned()),
            Value::Number,
        ),
    }
}
