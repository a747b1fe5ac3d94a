// SPDX-License-Identifier: Apache-2.0
//! In: resources and rules. Out: them as JSON in the shapes of the API. Not here: which of them an endpoint shows.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use crate::entries::Item;
use crate::labels::LabelMap;
use crate::resource::Meta;
use crate::subset::Subset;

/// Who a resource is, as the Inspect API says it: everything, empty or not.
#[derive(Serialize)]
struct Who<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    mesh: &'a str,
    name: &'a str,
    labels: &'a LabelMap,
}

fn who(meta: &Meta) -> Who<'_> {
    let Meta { kind, mesh, name, labels } = meta;
    Who { kind: kind.as_str(), mesh, name, labels }
}

/// Who a resource is.
pub(super) fn meta(meta: &Meta) -> Value {
    json!(who(meta))
}

/// The same as it is sent, written without a detour: it stands in every answer.
pub(super) fn meta_bytes(meta: &Meta) -> Bytes {
    // Texts and maps of texts are always JSON.
    serde_json::to_vec(&who(meta)).unwrap_or_default().into()
}

/// The policy and the entry that wrote a rule.
pub(super) fn with_index(origin: &Item<'_>) -> Value {
    json!({"resourceMeta": meta(&origin.policy.meta), "ruleIndex": origin.entry.index})
}

/// The identity of a policy that wrote something.
pub(super) fn by_kri(policy: &Meta) -> Value {
    json!({"kri": policy.kri().to_string()})
}

/// A set of tags.
pub(super) fn matchers(subset: &Subset) -> Value {
    let tag = |t: &crate::subset::Tag| json!({"key": &*t.key, "value": &*t.value, "not": t.not});
    subset.tags().iter().map(tag).collect()
}

/// A value as it is sent.
pub(super) fn bytes(value: &Value) -> Bytes {
    value.to_string().into()
}

/// `{"<name>":[<items>]}` of items that are JSON already.
pub(super) fn list_of<'b>(name: &str, items: impl IntoIterator<Item = &'b [u8]>) -> Bytes {
    let mut out = format!("{{\"{name}\":[").into_bytes();
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item);
    }
    out.extend_from_slice(b"]}");
    out.into()
}
