// SPDX-License-Identifier: Apache-2.0
//! In: what is in force so far and the lowest policy. Out: the policy a condition asks about. Not here: evaluating.
//!
//! A condition sees the policy below it as if somebody had written it: the rules in force so far, bare, under the kind,
//! metadata and target of the lowest policy. Where there is no policy below, only an empty `spec` is there.

use overrule_condition::{Data, Shape, Value};
use overrule_engine::{Leaf, Traced};
use overrule_source::{Documents, Kind, View};

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

    fn spec(&self) -> Value {
        let target = self.target().map(|view| ("targetRef".to_owned(), of_view(view)));
        let held = self.held.map(|held| of_traced(self.documents, held));
        let mut members = match held {
            Some(Value::Map(members)) => members,
            _ => Vec::new(),
        };
        members.extend(target);
        Value::Map(members)
    }
}

impl Data for Below<'_> {
    fn value(&self, path: &[&str]) -> Option<Value> {
        Some(match self.part(path)? {
            Part::Text(text) => Value::Text(text.to_owned()),
            Part::View(view) => of_view(view),
            Part::Held(value) => of_traced(self.documents, &value),
            Part::Spec => self.spec(),
        })
    }

    fn shape(&self, path: &[&str]) -> Option<Shape> {
        Some(match self.part(path)? {
            Part::Text(_) => Shape::Text,
            Part::View(view) => shape_of(view),
            Part::Held(value) => match value.leaf(self.documents) {
                Leaf::Map => Shape::Map,
                Leaf::List => Shape::List,
                Leaf::Scalar(view) => shape_of(view),
                Leaf::Implied(_) => Shape::Text,
            },
            Part::Spec => Shape::Map,
        })
    }
}

fn descend<'a>(view: View<'a>, path: &[&str]) -> Option<View<'a>> {
    path.iter().try_fold(view, |view, key| view.get(key))
}

fn shape_of(view: View<'_>) -> Shape {
    match view.kind() {
        Kind::Null => Shape::Null,
        Kind::Bool => Shape::Bool,
        Kind::Int | Kind::Float if view.as_i64().is_some() => Shape::Int,
        Kind::Int | Kind::Float => Shape::Float,
        Kind::List => Shape::List,
        Kind::Map => Shape::Map,
        _ => Shape::Text,
    }
}

fn of_view(view: View<'_>) -> Value {
    match shape_of(view) {
        Shape::Null => Value::Null,
        Shape::Bool => Value::Bool(view.as_bool().unwrap_or(false)),
        Shape::Int => Value::Int(view.as_i64().unwrap_or(0)),
        Shape::Float => Value::Float(view.as_f64().unwrap_or(f64::NAN)),
        Shape::Text => Value::Text(view.scalar_text().unwrap_or("").to_owned()),
        Shape::List => Value::List(view.items().map(of_view).collect()),
        Shape::Map => Value::Map(
            view.entries()
                .map(|(key, value)| (key.key_text().to_owned(), of_view(value)))
                .collect(),
        ),
    }
}

fn of_traced(documents: &Documents, value: &Traced) -> Value {
    match value {
        Traced::Whole { node, .. } => of_view(documents.view(*node)),
        Traced::Map(entries) => {
            let entry = |(key, value): &(overrule_engine::Key, Traced)| {
                (key.text(documents).to_owned(), of_traced(documents, value))
            };
            Value::Map(entries.iter().map(entry).collect())
        }
        Traced::List(items) => Value::List(items.iter().map(|v| of_traced(documents, v)).collect()),
        Traced::Implied { json, .. } => Value::Text(json.to_string()),
    }
}
