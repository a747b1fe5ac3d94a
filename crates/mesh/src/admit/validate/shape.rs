// SPDX-License-Identifier: Apache-2.0
//! In: parts of a policy. Out: members that no version knows, and values of another type than they must have.
//! Not here: what the values mean.

use overrule_model::nearest;
use overrule_source::{NodeKind, View};

use super::{Against, Check};
use crate::quote::quoted;

/// What a reference may have.
const REFERENCE: &[&str] =
    &["kind", "name", "namespace", "labels", "tags", "mesh", "proxyTypes", "sectionName"];
/// The types of proxies.
const PROXY_TYPES: &[&str] = &["Sidecar", "Gateway"];
const QUOTE_IT: &str = "put the value in quotes to make it a string";

impl<'a> Check<'a> {
    /// What the spec of this kind may have.
    pub(super) fn known_members(&self) -> Vec<&'static str> {
        let single = self.policy.kind.policy.is_some_and(|p| p.single || p.may_be_short);
        let lists = super::LISTS.into_iter().filter(|list| self.has(list));
        let default = single.then_some("default");
        std::iter::once("targetRef").chain(lists).chain(default).collect()
    }

    /// Whether this kind has such a list.
    pub(super) fn has(&self, list: &str) -> bool {
        self.policy.kind.policy.is_some_and(|p| match list {
            "to" => p.to,
            "from" => p.from,
            _ => p.rules,
        })
    }

    /// Tells members that are not known; `other` may know better what they are.
    pub(super) fn members(
        &mut self,
        of: View<'a>,
        path: &str,
        known: &[&str],
        other: &dyn Fn(&str) -> Option<String>,
    ) {
        for (key, _) in of.entries() {
            let name = key.key_text();
            if known.contains(&name) {
                continue;
            }
            let message = other(name).unwrap_or_else(|| {
                match nearest(name, known.iter().copied(), 1).first() {
                    Some(near) => format!("unknown field, did you mean `{near}`?"),
                    None => "unknown field".to_owned(),
                }
            });
            let help = format!("known here: {}", known.join(", "));
            self.push(key, format!("{path}.{name}"), message, Some(help));
            if let Some(last) = self.found.last_mut() {
                last.against = Against::Fields;
            }
        }
    }

    /// Checks the form of a reference; says whether there is anything to read.
    pub(super) fn reference_shape(&mut self, reference: View<'a>, path: &str) -> bool {
        if reference.kind() != NodeKind::Map {
            self.say(reference, path, "must be an object");
            return false;
        }
        self.members(reference, path, REFERENCE, &|_| None);
        for key in ["kind", "name", "namespace", "mesh", "sectionName"] {
            if let Some(value) = written(reference, key) {
                self.text(value, || format!("{path}.{key}"));
            }
        }
        for key in ["labels", "tags"] {
            if let Some(value) = written(reference, key) {
                self.texts(value, &format!("{path}.{key}"));
            }
        }
        if let Some(types) = written(reference, "proxyTypes") {
            self.proxy_types(types, &format!("{path}.proxyTypes"));
        }
        true
    }

    fn text(&mut self, value: View<'a>, path: impl FnOnce() -> String) {
        match value.kind() {
            NodeKind::String => {}
            NodeKind::Map | NodeKind::List => self.say(value, &path(), "must be a string"),
            _ => self.push(value, path(), "must be a string".into(), Some(QUOTE_IT.into())),
        }
    }

    fn texts(&mut self, values: View<'a>, path: &str) {
        if values.kind() != NodeKind::Map {
            return self.say(values, path, "must be an object");
        }
        for (key, value) in values.entries() {
            self.text(value, || format!("{path}[{}]", quoted(key.key_text())));
        }
    }

    fn proxy_types(&mut self, types: View<'a>, path: &str) {
        if types.kind() != NodeKind::List {
            return self.say(types, path, "must be a list");
        }
        for (index, item) in types.items().enumerate() {
            let path = format!("{path}[{index}]");
            match item.as_str() {
                Some(name) if PROXY_TYPES.contains(&name) => {}
                Some(name) => {
                    let message = format!("value '{name}' is not supported");
                    let help = format!("allowed here: {}", PROXY_TYPES.join(", "));
                    self.push(item, path, message, Some(help));
                }
                None => self.text(item, || path),
            }
        }
    }
}

/// A word that other kinds have is not a typing mistake.
pub(super) fn another_kinds_list(kind: &str, key: &str) -> Option<String> {
    let known = super::LISTS.contains(&key) || key == "default";
    known.then(|| format!("a {kind} has no `{key}`"))
}

/// A member that is there and not null.
pub(super) fn written<'a>(of: View<'a>, key: &str) -> Option<View<'a>> {
    of.get(key).filter(|value| !value.is_null())
}
