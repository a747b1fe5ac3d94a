// SPDX-License-Identifier: Apache-2.0
//! In: the texts of scalars and where they stand. Out: nodes, and warnings where YAML 1.1 and 1.2 disagree.
//! Not here: what a plain text means (`scalar`), tags (`yaml`).

use std::borrow::Cow;

use super::{Builder, Refusal, Slot};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::reader::SingleLetters;
use crate::scalar::{self, Value};
use crate::tree::{Node, NodeKind, Storage};

impl Builder<'_> {
    /// Adds a plain scalar without a tag, as a value or a key.
    pub(crate) fn plain(
        &mut self,
        text: &str,
        at: (u32, u32),
        anchor: usize,
    ) -> Result<(), Refusal> {
        if text == "<<" && self.slot() == Slot::Key {
            return self.merge_key(at.0, at.1);
        }
        self.look_at(at);
        let (mut value, differs) = scalar::plain(text);
        if differs {
            let text_wanted = self.letters == SingleLetters::Text && text.len() == 1;
            self.warn_versions(text, &value, at, text_wanted);
            if text_wanted {
                value = Value::Text;
            }
        }
        let node = self.value_node(text, value, at)?;
        self.scalar(node, anchor)
    }

    pub(crate) fn value_node(
        &mut self,
        text: &str,
        value: Value,
        at: (u32, u32),
    ) -> Result<Node, Refusal> {
        let (kind, canonical) = match value {
            Value::Null => return Ok(Node::verbatim(NodeKind::Null, at.0, at.1)),
            Value::Bool(value) => {
                return Ok(Node::new(NodeKind::Bool, Storage::Span, at.0, at.1, u32::from(value)));
            }
            Value::Int(canonical) => (NodeKind::Int, canonical),
            Value::Float(canonical) => (NodeKind::Float, canonical),
            Value::Text => return self.text_node(text, at),
        };
        let text = canonical.map_or(Cow::Borrowed(text), Cow::Owned);
        Ok(self.text_node(&text, at)?.with_kind(kind))
    }

    /// A string, kept as a slice of the source where it stands there.
    pub(crate) fn text_node(&mut self, text: &str, at: (u32, u32)) -> Result<Node, Refusal> {
        let written = self.text.get(at.0 as usize..at.1 as usize).unwrap_or("");
        if written == text {
            return Ok(Node::verbatim(NodeKind::String, at.0, at.1));
        }
        let inner = written.get(1..written.len().saturating_sub(1));
        if inner == Some(text) {
            return Ok(Node::new(NodeKind::String, Storage::Inner, at.0, at.1, 0));
        }
        self.aside(NodeKind::String, at, text)
    }

    /// Says how a scalar is read that YAML 1.1 and 1.2 read differently; with `kept` as text, otherwise as the value.
    fn warn_versions(&mut self, text: &str, value: &Value, at: (u32, u32), kept: bool) {
        let span = self.span(at.0, at.1);
        let is_key = self.slot() == Slot::Key;
        let field = self.path();
        self.findings.add(&codes::YAML_VERSIONS_DIFFER, span, || {
            let read = match value {
                Value::Bool(value) => value.to_string(),
                Value::Int(Some(number)) | Value::Float(Some(number)) => number.clone(),
                _ => text.to_owned(),
            };
            let text = super::shorten(text);
            let (what, kind) = match (is_key, value) {
                (true, _) => ("the key ", "text"),
                (false, Value::Bool(_)) => ("", "boolean"),
                (false, _) => ("", "number"),
            };
            let message = match kept {
                true => format!("{what}`{text}` is read as text; Kubernetes would read `{read}`"),
                false => {
                    format!("{what}`{text}` is read as the {kind} `{read}`, as Kubernetes does")
                }
            };
            Diagnostic::new(&codes::YAML_VERSIONS_DIFFER, message)
                .at(span)
                .field(field)
                .help(format!("quote it, \"{text}\", if it is text; write {read} if it is not"))
        });
    }
}
