// SPDX-License-Identifier: Apache-2.0
//! In: objects. Out: what kgateway's annotations on them say. Not here: telling that one says nothing (`findings`).

use overrule_model::{ObjectId, Snapshot};
use overrule_source::{Documents, View};

use crate::InheritedPriority;

/// How policies of this object meet those of what is below it.
pub const PRIORITY: &str = "kgateway.dev/inherited-policy-priority";
/// What that annotation was called once; nobody reads it any more.
pub const RETIRED_PRIORITY: &str = "delegation.kgateway.dev/inherited-policy-priority";
/// Order among the policies of one target: heavier first.
pub const WEIGHT: &str = "kgateway.dev/policy-weight";
/// Whether a child adds its matches to those of its parent.
pub const INHERIT_MATCHER: &str = "delegation.kgateway.dev/inherit-parent-matcher";

/// An annotation of an object, if it is there: its value as written.
pub fn annotation<'a>(
    documents: &'a Documents,
    snapshot: &Snapshot,
    object: ObjectId,
    key: &str,
) -> Option<View<'a>> {
    annotations(documents, snapshot, object)?.get(key).filter(|v| !v.is_null())
}

/// All annotations of an object.
pub(crate) fn annotations<'a>(
    documents: &'a Documents,
    snapshot: &Snapshot,
    object: ObjectId,
) -> Option<View<'a>> {
    documents.view(snapshot.get(object)?.root).get("metadata")?.get("annotations")
}

/// What an object says about the policies its children inherit; anything but one of the four words is the default.
pub(crate) fn strategy(
    documents: &Documents,
    snapshot: &Snapshot,
    object: ObjectId,
) -> InheritedPriority {
    let value = annotation(documents, snapshot, object, PRIORITY);
    value.and_then(View::as_str).and_then(InheritedPriority::from_name).unwrap_or_default()
}

/// Whether a child adds its matches to those of its parent.
pub(crate) fn inherits_matcher(
    documents: &Documents,
    snapshot: &Snapshot,
    object: ObjectId,
) -> bool {
    let value = annotation(documents, snapshot, object, INHERIT_MATCHER).and_then(View::as_str);
    value
        .is_some_and(|v| ["true", "yes", "enabled"].iter().any(|word| v.eq_ignore_ascii_case(word)))
}
