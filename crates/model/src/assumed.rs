// SPDX-License-Identifier: Apache-2.0
//! In: what is referred to and missing. Out: the snapshot with placeholders for it. Not here: who refers to what
//! (`topology::assume`, families).
//!
//! A placeholder has an identity and nothing else: no document, no spec. What reads it finds nothing in it, and whoever
//! answers about it says that it is assumed.

use overrule_source::{DocId, NodeRef, Span, TreeNodeId};

use crate::{Created, Labels, Object, ObjectId, ObjectKey, Snapshot, Sym};

/// Why an object is in a snapshot that no document of the input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumed {
    /// Something names it.
    Named,
    /// It follows from another object, which is in the input.
    Derived(ObjectKey),
}

/// An object to assume.
#[derive(Debug, Clone)]
pub struct Placeholder {
    /// Which one.
    pub key: ObjectKey,
    /// The place that asks for it: the first reference, or the object it follows from.
    pub at: Span,
    /// Its labels, as far as they are known.
    pub labels: Labels,
    /// Why.
    pub why: Assumed,
}

/// Adds placeholders to a snapshot, which has none of them. Ids of objects change.
pub fn assume(snapshot: &mut Snapshot, placeholders: Vec<Placeholder>) {
    if placeholders.is_empty() {
        return;
    }
    let objects = placeholders.into_iter().map(|Placeholder { key, at, labels, why }| {
        let object = Object {
            id: ObjectId(0),
            kind: key.kind,
            version: Sym::EMPTY,
            scope: key.scope,
            name: key.name,
            labels,
            created: Created::Absent,
            deleted: None,
            // No document has this id; it shows as null.
            root: NodeRef { doc: DocId(u32::MAX), node: TreeNodeId(0) },
            at,
        };
        (object, why)
    });
    let objects = objects.collect();
    *snapshot = std::mem::take(snapshot).with_assumed(objects);
}
