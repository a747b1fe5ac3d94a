// SPDX-License-Identifier: Apache-2.0
//! In: what is in force so far and the lowest policy. Out: the policy a condition asks about. Not here: evaluating.
//!
//! A condition sees the policy below it as if somebody had written it: the rules in force so far, bare, under the kind,
//! metadata and target of the lowest policy. Without a policy below, it sees an empty `spec`.

use overrule_condition::{CelValue, Data, ValueShape};
use overrule_engine::{Leaf, Traced};
use overrule_source::{Documents, NodeKind, View};

/// The policy below.
pub(crate) struct Below<'a> {
    pub(crate) documents: &'a Documents,
    /// The rules in force so far.
    pub(crate) held: Option<&'a Traced>,
    /// The lowest policy: its kind and its document.
    pub(crate) lowest: Option<(&'static str, View<'a>)>,
}

/// A part of it.
enum Part<'a> {
    Text(&'a str),
    View(View<'a>),
    Held(Traced),
    /// `spec` as a whole.
    Spec,
}

impl<'a> Below<'a> {
    fn part(&self, path: &[&str]) -> Option<Part<'a>> {
        let (first, rest) = path.split_first()?;
        match (*first, rest.split_first()) {
            ("kind", None) => self.lowest.map(|(kind, _)| Part::Text(kind)),
            ("metadata", _) => {
                let metadata = self.lowest?.1.get("metadata")?;
                descend(metadata, rest).map(Part::View)
            }
            ("spec", None) => Some(Part::Spec),
            ("spec", Some((&"targetRef", rest))) => descend(self.target()?, rest).map(Part::View),
            ("spec", Some(_)) => {
                let mut value = self.held?.clone();
                for key in rest {
                    value = value.get(self.documents, key)?;
                }
                Some(Part::Held(value))
            }
            _ => None,
        }
    }

    fn target(&self) -> Option<View<'a>> {
        self.lowest?.1.get("spec")?.get("targetRef")
    }

    fn spec(&self) -> CelValue {
        let target = self.target().map(|view| ("targetRef".to_owned(), of_view(view)));
        let held = self.held.map(|held| of_traced(self.documents, held));
        let mut members = match held {
            Some(CelValue::Map(members)) => members,
            _ => Vec::new(),
        };
        members.extend(target);
        CelValue::Map(members)
    }
}

impl Data for Below<'_> {
    fn value(&self, path: &[&str]) -> Option<CelValue> {
        Some(match self.part(path)? {
            Part::Text(text) => CelValue::Text(text.to_owned()),
            Part::View(view) => of_view(view),
            Part::Held(value) => of_traced(self.documents, &value),
            Part::Spec => self.spec(),
        })
    }

    fn shape(&self, path: &[&str]) -> Option<ValueShape> {
        Some(match self.part(path)? {
            Part::Text(_) => ValueShape::Text,
            Part::View(view) => shape_of(view),
            Part::Held(value) => match value.leaf(self.documents) {
                Leaf::Map => ValueShape::Map,
                Leaf::List => ValueShape::List,
                Leaf::Scalar(view) => shape_of(view),
                Leaf::Implied(_) => ValueShape::Text,
            },
            Part::Spec => ValueShape::Map,
        })
    }
}

fn descend<'a>(view: View<'a>, path: &[&str]) -> Option<View<'a>> {
    path.iter().try_fold(view, |view, key| view.get(key))
}

fn shape_of(view: View<'_>) -> ValueShape {
    match view.kind() {
        NodeKind::Null => ValueShape::Null,
        NodeKind::Bool => ValueShape::Bool,
        NodeKind::Int | NodeKind::Float if view.as_i64().is_some() => ValueShape::Int,
        NodeKind::Int | NodeKind::Float => ValueShape::Float,
        NodeKind::List => ValueShape::List,
        NodeKind::Map => ValueShape::Map,
        _ => ValueShape::Text,
    }
}

fn of_view(view: View<'_>) -> CelValue {
    match shape_of(view) {
        ValueShape::Null => CelValue::Null,
        ValueShape::Bool => CelValue::Bool(view.as_bool().unwrap_or(false)),
        ValueShape::Int => CelValue::Int(view.as_i64().unwrap_or(0)),
        ValueShape::Float => CelValue::Float(view.as_f64().unwrap_or(f64::NAN)),
        ValueShape::Text => CelValue::Text(view.scalar_text().unwrap_or("").to_owned()),
        ValueShape::List => CelValue::List(view.items().map(of_view).collect()),
        ValueShape::Map => CelValue::Map(
            view.entries()
                .map(|(key, value)| (key.key_text().to_owned(), of_view(value)))
                .collect(),
        ),
    }
}

fn of_traced(documents: &Documents, value: &Traced) -> CelValue {
    match value {
        Traced::Whole { node, .. } => of_view(documents.view(*node)),
        Traced::Map(entries) => {
            let entry = |(key, value): &(overrule_engine::FieldKey, Traced)| {
                (key.text(documents).to_owned(), of_traced(documents, value))
            };
            CelValue::Map(entries.iter().map(entry).collect())
        }
        Traced::List(items) => {
            CelValue::List(items.iter().map(|v| of_traced(documents, v)).collect())
        }
        Traced::Implied { json, .. } => CelValue::Text(json.to_string()),
    }
}
