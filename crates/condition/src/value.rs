// SPDX-License-Identifier: Apache-2.0
//! In: the data of a policy, as its owner gives it. Out: plain values, for the interpreter and for explanations.
//! Not here: which paths are asked for (`project`).

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

/// A plain value. Whole numbers are [`CelValue::Int`], all others [`Value::Float`]: CEL does not mix the two in arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub enum CelValue {
    /// Nothing, explicitly.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
    /// Elements in order.
    List(Vec<CelValue>),
    /// Members in the order written. Of equal names the last counts, as in JSON.
    Map(Vec<(String, CelValue)>),
}

/// What a value is, without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueShape {
    /// [`CelValue::Null`].
    Null,
    /// [`CelValue::Bool`].
    Bool,
    /// [`CelValue::Int`].
    Int,
    /// [`CelValue::Float`].
    Float,
    /// [`CelValue::Text`].
    Text,
    /// [`CelValue::List`].
    List,
    /// [`CelValue::Map`].
    Map,
}

/// The policy a condition asks about.
pub trait Data {
    /// The value at a path of member names; the first is `kind`, `metadata` or `spec`. None if a member is missing, or
    /// if something on the way is not a map: an index of a list is not a member.
    ///
    /// Values nest at most as deep as documents may (128): they are dropped recursively.
    fn value(&self, path: &[&str]) -> Option<CelValue>;

    /// What is at a path, without its content. Asked about the parents of missing members only; worth writing where
    /// [`Data::value`] copies much.
    fn shape(&self, path: &[&str]) -> Option<ValueShape> {
        self.value(path).map(|value| value.shape())
    }
}

impl CelValue {
    /// What it is.
    pub fn shape(&self) -> ValueShape {
        match self {
            Self::Null => ValueShape::Null,
            Self::Bool(_) => ValueShape::Bool,
            Self::Int(_) => ValueShape::Int,
            Self::Float(_) => ValueShape::Float,
            Self::Text(_) => ValueShape::Text,
            Self::List(_) => ValueShape::List,
            Self::Map(_) => ValueShape::Map,
        }
    }

    /// The member of a map.
    pub fn member(&self, name: &str) -> Option<&CelValue> {
        match self {
            Self::Map(members) => members.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }
}

/// As JSON. Numbers that are not finite become null, as JSON has none.
impl Serialize for CelValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) if !value.is_finite() => serializer.serialize_unit(),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}
