// SPDX-License-Identifier: Apache-2.0
//! In: nodes of documents and defaults of schemas. Out: the values rules compute with. Not here: computing.

use std::rc::Rc;

use overrule_source::{NodeKind, View};
use serde_json::Value;

use crate::table::{NodeIx, SchemaTable};

/// A value of a rule.
#[derive(Debug, Clone)]
pub(super) enum CelOperand<'a> {
    Bool(bool),
    Int(i64),
    Text(&'a str),
    /// In nanoseconds.
    Duration(i64),
    /// A mapping or list as it is written.
    Node(View<'a>, NodeIx),
    /// A mapping or list that is filled in.
    Filled(&'a Value, NodeIx),
    /// A list that a rule made.
    List(Rc<[CelOperand<'a>]>),
}

/// The rule ends in an error: a field that is not there, or a value of another type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RuleError;

pub(super) type Answer<'a> = Result<CelOperand<'a>, RuleError>;

impl<'a> CelOperand<'a> {
    /// A node of a document.
    pub(super) fn of(view: View<'a>, node: NodeIx) -> Answer<'a> {
        match view.kind() {
            NodeKind::Bool => view.as_bool().map(Self::Bool),
            NodeKind::Int | NodeKind::Float => view.as_i64().map(Self::Int),
            NodeKind::String => view.as_str().map(Self::Text),
            NodeKind::List | NodeKind::Map => Some(Self::Node(view, node)),
            NodeKind::Null => None,
        }
        .ok_or(RuleError)
    }

    /// A default.
    fn filled(value: &'a Value, node: NodeIx) -> Answer<'a> {
        match value {
            Value::Null => None,
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::Number(number) => number.as_i64().map(Self::Int),
            Value::String(text) => Some(Self::Text(text)),
            Value::Array(_) | Value::Object(_) => Some(Self::Filled(value, node)),
        }
        .ok_or(RuleError)
    }

    /// A field of a mapping, or its default. None if there is neither.
    pub(super) fn field(&self, name: &str, table: &'a SchemaTable) -> Option<Answer<'a>> {
        let (Self::Node(_, node) | Self::Filled(_, node)) = self else {
            return Some(Err(RuleError));
        };
        let schema = table.node(*node)?;
        let child = schema.field(name)?;
        let written = match self {
            Self::Node(view, _) => {
                let member = view.get(name).filter(|member| !member.is_null());
                member.map(|member| Self::of(member, child))
            }
            Self::Filled(value, _) => value.get(name).map(|value| Self::filled(value, child)),
            _ => None,
        };
        let default = || {
            let default = table.node(child)?.default.as_ref()?;
            Some(Self::filled(default, child))
        };
        written.or_else(default)
    }

    /// The elements of a list, or the keys of a mapping.
    pub(super) fn each(
        &self,
        table: &'a SchemaTable,
        mut visit: impl FnMut(usize, Self) -> Result<bool, RuleError>,
    ) -> Result<(), RuleError> {
        match self {
            Self::Node(view, node) if view.kind() == NodeKind::List => {
                let items = table.node(*node).and_then(|schema| schema.items).ok_or(RuleError)?;
                for (index, item) in view.items().enumerate() {
                    if !visit(index, Self::of(item, items)?)? {
                        break;
                    }
                }
            }
            Self::Node(view, _) => {
                for (index, (key, _)) in view.entries().enumerate() {
                    if !visit(index, Self::Text(key.key_text()))? {
                        break;
                    }
                }
            }
            Self::Filled(Value::Array(list), node) => {
                let items = table.node(*node).and_then(|schema| schema.items).ok_or(RuleError)?;
                for (index, item) in list.iter().enumerate() {
                    if !visit(index, Self::filled(item, items)?)? {
                        break;
                    }
                }
            }
            Self::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    if !visit(index, item.clone())? {
                        break;
                    }
                }
            }
            _ => return Err(RuleError),
        }
        Ok(())
    }

    /// The element at a position.
    pub(super) fn element(&self, at: usize, table: &'a SchemaTable) -> Answer<'a> {
        let mut found = Err(RuleError);
        self.each(table, |index, item| {
            if index == at {
                found = Ok(item);
            }
            Ok(index < at)
        })?;
        found
    }

    /// How many characters, elements or members it has.
    pub(super) fn size(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.chars().count()),
            Self::Node(view, _) if view.kind() == NodeKind::List => Some(view.len()),
            Self::Node(view, _) => Some(view.entries().count()),
            Self::Filled(Value::Array(list), _) => Some(list.len()),
            Self::Filled(Value::Object(map), _) => Some(map.len()),
            Self::List(list) => Some(list.len()),
            _ => None,
        }
    }

    /// Whether two scalars are equal. Values of other types are not compared by any rule.
    pub(super) fn equals(&self, other: &Self) -> Result<bool, RuleError> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Ok(a == b),
            (Self::Int(a), Self::Int(b)) | (Self::Duration(a), Self::Duration(b)) => Ok(a == b),
            (Self::Text(a), Self::Text(b)) => Ok(a == b),
            _ => Err(RuleError),
        }
    }
}
