// SPDX-License-Identifier: Apache-2.0
//! In: resources as JSON. Out: the same with some that are being deleted, and those that take part. Not here: what
//! follows; to the naive implementations, an object that is being deleted is simply not there.

use serde_json::{Value, json};

use crate::rng::Rng;

/// Marks so many of a hundred objects as being deleted. Not what describes kinds: without it, kinds are assumed. Kuma's
/// universal form knows no such thing.
pub fn mark(rng: &mut Rng, objects: &mut [Value], share: u8) {
    for object in objects.iter_mut() {
        if object.get("metadata").is_none() || object["kind"] == "PolicyKind" {
            continue;
        }
        if rng.percent(share) {
            object["metadata"]["deletionTimestamp"] = json!("2026-11-19T00:00:00Z");
        }
    }
}

/// The objects that are not being deleted.
pub fn present(objects: &[Value]) -> Vec<Value> {
    let deleted = |object: &Value| !object["metadata"]["deletionTimestamp"].is_null();
    objects.iter().filter(|object| !deleted(object)).cloned().collect()
}
