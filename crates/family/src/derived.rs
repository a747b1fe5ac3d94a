// SPDX-License-Identifier: Apache-2.0
//! Out: objects that a controller makes of others. Not here: which ones; each family knows its own.

use overrule_model::ObjectKey;
use overrule_source::Diagnostic;
use serde_json::Value;

/// Objects that a controller would make of others, and what is to be told about it.
#[derive(Debug, Clone, Default)]
pub struct Derived {
    /// The objects.
    pub objects: Vec<DerivedObject>,
    /// Findings for the user.
    pub diagnostics: Vec<Diagnostic>,
}

/// An object that a controller would make of another one.
#[derive(Debug, Clone)]
pub struct DerivedObject {
    /// The other one, which is in the input.
    pub from: ObjectKey,
    /// What it would make.
    pub manifest: Value,
}
