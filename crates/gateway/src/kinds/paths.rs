// SPDX-License-Identifier: Apache-2.0
//! In: dotted paths of a descriptor. Out: the node they lead to. Not here: wildcards (merge rules have those).

use std::sync::Arc;

use overrule_source::View;

/// A path from the root of a resource: `spec.targetRefs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath(Arc<[Box<str>]>);

impl FieldPath {
    /// From dotted text.
    pub fn new(text: &str) -> Self {
        Self(text.split('.').map(Into::into).collect())
    }

    /// A path that leads nowhere: the kind has no such field.
    pub fn nowhere() -> Self {
        Self(Arc::new([]))
    }

    /// Whether the kind has no such field.
    pub fn is_nowhere(&self) -> bool {
        self.0.is_empty()
    }

    /// The node, if it is there and not null.
    pub fn find<'a>(&self, root: View<'a>) -> Option<View<'a>> {
        if self.is_nowhere() {
            return None;
        }
        let found = self.0.iter().try_fold(root, |view, key| view.get(key));
        found.filter(|v| !v.is_null())
    }

    /// The segments.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|s| &**s)
    }

    /// If this path lies directly below `base`, its last segment.
    pub fn member_of(&self, base: &Self) -> Option<&str> {
        let (last, front) = self.0.split_last()?;
        (*front == *base.0).then_some(last)
    }
}

impl std::fmt::Display for FieldPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}
