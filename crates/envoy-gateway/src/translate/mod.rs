// SPDX-License-Identifier: Apache-2.0
//! In: the spec of a policy, or of two that are merged. Out: what the controller cannot translate, field by field, in its
//! words, and what therefore has no effect. Not here: which rows take the policy.

mod client;
pub(crate) mod extension;
pub(crate) mod refs;
pub(crate) mod security;
mod traffic;
mod values;

use serde_json::Value;

use crate::fabric::Fabric;
use crate::kinds::{FieldSet, KindInfo, KindRole};
use refs::Owner;

/// What became of a spec.
#[derive(Debug, Clone, Default)]
pub(crate) struct Translation {
    /// What failed, in the order of the fields in the kind's own messages.
    pub(crate) faults: Vec<FieldFault>,
    /// Fields that are there.
    pub(crate) present: FieldSet,
    /// Fields that have no effect, because they failed or because of what they say.
    pub(crate) inert: FieldSet,
    /// Elements of lists that failed and are left out: the field and the position.
    pub(crate) left_out: Vec<(u8, usize)>,
    /// Fields whose faults open instead of closing.
    pub(crate) opens: FieldSet,
    /// Objects that it refers to and that are not in the input.
    pub(crate) assumed: Vec<String>,
}

/// A field that cannot be translated.
#[derive(Debug, Clone)]
pub(crate) struct FieldFault {
    /// Its number among the fields of the kind.
    pub(crate) field: u8,
    /// The controller's words, its name for the field included.
    pub(crate) text: String,
}

impl Translation {
    /// Fields that do something.
    pub(crate) fn effective(&self) -> FieldSet {
        self.present.without(self.inert)
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// The fields that failed.
    pub(crate) fn failed(&self) -> FieldSet {
        self.faults.iter().map(|fault| fault.field).collect()
    }
}

/// Who wrote which part of a spec: references are read in the writer's namespace.
pub(crate) trait Owners {
    /// The namespace of the policy that gave a field, by its path.
    fn namespace(&self, path: &[&str]) -> &str;
}

/// One policy wrote all of it.
pub(crate) struct Alone<'a>(pub(crate) &'a str);

impl Owners for Alone<'_> {
    fn namespace(&self, _: &[&str]) -> &str {
        self.0
    }
}

/// A policy of a route merged with one above it.
pub(crate) struct Both<'a> {
    pub(crate) child: (&'a Value, &'a str),
    pub(crate) parent: &'a str,
}

impl Owners for Both<'_> {
    fn namespace(&self, path: &[&str]) -> &str {
        let mut at = Some(self.child.0);
        for key in path {
            at = at.and_then(|value| value.get(key));
        }
        match at {
            Some(value) if is_present(value) => self.child.1,
            _ => self.parent,
        }
    }
}

/// Whether a value counts as there: an empty list does not, an empty mapping does.
pub(crate) fn is_present(value: &Value) -> bool {
    !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty())
}

/// Collects what fails.
pub(crate) struct Translator<'a, 'f> {
    pub(crate) fabric: &'a Fabric<'f>,
    pub(crate) info: &'static KindInfo,
    pub(crate) spec: &'a Value,
    pub(crate) owners: &'a dyn Owners,
    pub(crate) out: Translation,
}

/// Translates a spec.
pub(crate) fn translate(
    fabric: &Fabric<'_>,
    info: &'static KindInfo,
    spec: &Value,
    owners: &dyn Owners,
) -> Translation {
    let mut translator = Translator { fabric, info, spec, owners, out: Translation::default() };
    for (number, field) in (0..).zip(info.fields) {
        if spec.get(field).is_some_and(is_present) {
            translator.out.present.add(number);
        }
    }
    match info.role {
        KindRole::Traffic => translator.traffic(),
        KindRole::Client => translator.client(),
        KindRole::Extension => translator.extension(),
        KindRole::Security => translator.security(),
        KindRole::Patch | KindRole::Proxy => {}
    }
    let mut out = translator.out;
    out.assumed = fabric.take_assumed();
    out
}

impl<'a> Translator<'a, '_> {
    /// A field, if it is there.
    fn get(&self, path: &[&str]) -> Option<&'a Value> {
        let mut at = self.spec;
        for key in path {
            at = at.get(key)?;
        }
        (!at.is_null()).then_some(at)
    }

    fn owner(&self, path: &[&str]) -> Owner<'a>
    where
        'a: 'a,
    {
        let owners: &'a dyn Owners = self.owners;
        Owner { kind: self.info.kind, namespace: owners.namespace(path) }
    }

    /// Notes that a field failed: `Label: text`.
    fn fail(&mut self, field: &str, label: &str, text: &str) {
        let Some(field) = self.info.field(field) else { return };
        self.out.inert.add(field);
        let text = if label.is_empty() { text.to_owned() } else { format!("{label}: {text}") };
        self.out.faults.push(FieldFault { field, text });
    }

    fn check(&mut self, field: &str, label: &str, result: Result<(), String>) {
        if let Err(text) = result {
            self.fail(field, label, &text);
        }
    }

    /// Says that a field does nothing.
    fn ignore(&mut self, field: &str) {
        if let Some(field) = self.info.field(field) {
            self.out.inert.add(field);
        }
    }
}
