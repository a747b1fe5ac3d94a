// SPDX-License-Identifier: Apache-2.0
//! In: the root of a document. Out: whether it is one resource, a list of them, or a policy test. Not here: reading it.

use overrule_source::{NodeKind, View};

/// What tells what a document is.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) api_version: Option<View<'a>>,
    pub(crate) kind: Option<View<'a>>,
    metadata: Option<View<'a>>,
}

impl<'a> Head<'a> {
    pub(crate) fn of(root: View<'a>) -> Self {
        let [api_version, kind, metadata] = ["apiVersion", "kind", "metadata"].map(|k| root.get(k));
        Self { api_version, kind, metadata }
    }

    /// Whether it can be nothing but a single resource, as nearly all documents are: no list, no kustomization.
    pub(crate) fn is_plain(self) -> bool {
        let text = |view: Option<View<'a>>| view.and_then(View::as_str);
        self.metadata.is_some()
            && text(self.kind).is_some_and(|kind| !kind.ends_with("List"))
            && text(self.api_version).is_some_and(|api| !api.contains("kustomize"))
    }
}

/// A policy test: manifests and expectations. It is run by `overrule test` and says nothing about this input.
pub(crate) fn is_policy_test(root: View<'_>) -> bool {
    let has = |key: &str| root.get(key).is_some();
    has("name") && (has("input") || has("files")) && !has("kind")
}

/// `kind: List`, `kind: HTTPRouteList`, and kumactl's `{items: [...], total: n}`.
pub(crate) fn is_list(root: View<'_>) -> bool {
    let Some(items) = root.get("items") else { return false };
    let kind = root.get("kind").and_then(View::as_str);
    items.kind() == NodeKind::List
        && (kind.is_none_or(|k| k.ends_with("List")) || root.get("metadata").is_none())
}
