// SPDX-License-Identifier: Apache-2.0
//! In: resources and rules. Out: them as JSON in the shapes of the API. Not here: which of them an endpoint shows.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::entries::Item;
use crate::resource::Meta;
use crate::subset::Subset;

/// Who a resource is, as the Inspect API says it: everything, empty or not.
pub(super) fn meta(meta: &Meta) -> Value {
    json!({"type": meta.kind.as_str(), "mesh": meta.mesh, "name": meta.name, "labels": meta.labels})
}

/// The same as it is sent, written without a detour: it stands in every answer.
pub(super) fn meta_bytes(meta: &Meta) -> Bytes {
    let mut out: Vec<u8> = Vec::with_capacity(256);
    for (before, text) in
        [("{\"type\":", meta.kind.as_str()), (",\"mesh\":", &meta.mesh), (",\"name\":", &meta.name)]
    {
        out.extend_from_slice(before.as_bytes());
        put(&mut out, text);
    }
    out.extend_from_slice(b",\"labels\":{");
    for (place, (key, value)) in meta.labels.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        put(&mut out, key);
        out.push(b':');
        put(&mut out, value);
    }
    out.extend_from_slice(b"}}");
    out.into()
}

/// A text as JSON.
fn put(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_who_a_resource_is_agree() {
        let labels = [("a", "b\"\u{1}é"), ("c\\", "")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        for labels in [labels.into_iter().collect(), crate::labels::Labels::new()] {
            let who = Meta {
                kind: crate::kinds::KindName::of_resource("K"),
                mesh: String::new(),
                name: "n\n".into(),
                labels,
            };
            let read: Value = serde_json::from_slice(&meta_bytes(&who)).unwrap();
            assert_eq!(read, meta(&who));
        }
    }
}
