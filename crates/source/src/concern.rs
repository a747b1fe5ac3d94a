// SPDX-License-Identifier: Apache-2.0
//! In: which kinds of resources somebody reads. Out: whether a document is one of them, told by its first words.
//! Not here: who reads them (the caller says so), looking at texts (`look`).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::tree::{NodeKind, View};

/// Which documents concern the reader. The default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Concerns(Option<Arc<ConcernedKinds>>);

/// The kinds of resources that take part in an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConcernedKinds {
    /// API groups, all kinds of them. What answers are about is in one of these.
    pub groups: BTreeSet<&'static str>,
    /// Kinds of other groups that are read besides: group and kind.
    pub kinds: BTreeSet<(&'static str, &'static str)>,
    /// What stands behind `type` in a resource that has `type` and `name` instead of `apiVersion` and `kind`.
    pub types: BTreeSet<&'static str>,
    /// Fields that make a resource of any kind one that must be read whole.
    pub marks: Vec<&'static str>,
    /// Whether all resources of kinds that are not Kubernetes' own must be read whole.
    pub custom: bool,
}

impl Concerns {
    /// Only resources of these kinds.
    pub fn only(kinds: ConcernedKinds) -> Self {
        Self(Some(Arc::new(kinds)))
    }

    /// Whether everything concerns the reader.
    pub fn everything(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn kinds(&self) -> Option<&ConcernedKinds> {
        self.0.as_deref()
    }

    /// Whether a kind takes part in an answer.
    pub fn has(&self, group: &str, kind: &str) -> bool {
        self.kinds().is_none_or(|k| k.has(group, kind))
    }

    /// Whether answers are about resources of a group; others are only looked up.
    pub fn has_group(&self, group: &str) -> bool {
        self.kinds().is_none_or(|k| k.groups.contains(group))
    }

    /// Whether there are resources of this `type`.
    pub fn has_type(&self, name: &str) -> bool {
        self.kinds().is_none_or(|k| k.types.contains(name))
    }

    /// Whether a mapping without `apiVersion` or without `kind` was to be a resource that answers are about.
    pub fn is_meant(&self, root: View<'_>) -> bool {
        let text = |key: &str| root.get(key).and_then(View::as_str);
        let group = text("apiVersion").map(group_of);
        match (group, text("kind")) {
            (Some(group), _) => self.has_group(group),
            (None, Some(kind)) => self.kinds().is_none_or(|k| k.types.contains(kind)),
            (None, None) => {
                let named = root.get("name").is_some() || root.get("mesh").is_some();
                named && text("type").is_some_and(|name| self.has_type(name))
            }
        }
    }

    /// Whether a document is, or contains, a resource that takes part.
    pub(crate) fn is_ours(&self, root: View<'_>) -> bool {
        match root.kind() {
            NodeKind::List => root.items().any(|item| self.is_ours(item)),
            NodeKind::Map => {
                let text = |key: &str| root.get(key).and_then(View::as_str);
                let itself = match (text("apiVersion"), text("kind")) {
                    (Some(api), Some(kind)) => self.has(group_of(api), kind),
                    _ => self.is_meant(root),
                };
                let items = || root.get("items").into_iter().flat_map(View::items);
                itself || items().any(|item| self.is_ours(item))
            }
            _ => false,
        }
    }
}

impl ConcernedKinds {
    pub(crate) fn has(&self, group: &str, kind: &str) -> bool {
        self.groups.contains(group) || self.kinds.contains(&(group, kind))
    }
}

/// The API group of an `apiVersion`.
pub(crate) fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}
