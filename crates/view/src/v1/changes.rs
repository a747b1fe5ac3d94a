// SPDX-License-Identifier: Apache-2.0
//! Out: which effective policies a change changes, as data. Not here: finding out.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeReport, PathElement, Value};

/// Which effective policies differ between two states, and why.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveChanges {
    /// `overrule/v1`.
    #[schemars(extend("const" = "overrule/v1"))]
    pub api_version: &'static str,
    /// `EffectiveChanges`.
    #[schemars(extend("const" = "EffectiveChanges"))]
    pub kind: &'static str,
    /// How many there are.
    pub counts: ChangeCounts,
    /// The changes, by family, kind and path.
    pub items: Vec<EffectiveChange>,
    /// What `overrule diff` says beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<ChangeReport>>,
}

/// Changes, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeCounts {
    /// Targets where nothing was in force before.
    pub added: usize,
    /// Targets where the value or its policies differ.
    pub changed: usize,
    /// Targets where nothing is in force any more.
    pub removed: usize,
}

/// The effective policy of one kind at one path, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveChange {
    /// Kind of the policies.
    pub policy_kind: String,
    /// API group of the policies.
    pub policy_group: String,
    /// Family that resolved it.
    pub family: &'static str,
    /// Rule set of the family.
    pub profile: &'static str,
    /// Canonical name of the target.
    pub target: String,
    /// The path from the root to the target.
    pub path: Vec<PathElement>,
    /// The value that was in force; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value in force now; absent if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// What differs.
    pub fields: Vec<FieldChange>,
    /// The change that caused it, in one sentence.
    pub because: String,
}

impl EffectiveChange {
    /// `added`, `changed` or `removed`.
    pub fn change(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, Some(_)) => "added",
            (Some(_), None) => "removed",
            _ => "changed",
        }
    }

    /// The last route on its path: kind, namespace, name.
    pub fn route(&self) -> Option<(&str, &str, &str)> {
        let is_route = |element: &&PathElement| element.kind.ends_with("Route");
        let route = self.path.iter().rev().find(is_route)?;
        Some((&route.kind, route.namespace.as_deref().unwrap_or(""), &route.name))
    }
}

/// One field whose value, or whose policies, changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldChange {
    /// JSON pointer; empty for all of it.
    pub pointer: String,
    /// The value before; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value now; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// The policies that set it before, sorted.
    pub from: Vec<String>,
    /// The policies that set it now, sorted.
    pub to: Vec<String>,
}
