// SPDX-License-Identifier: Apache-2.0
//! In: the permissions that select an inbound. Out: them in the shape of the design's Inspect API: rules one after
//! another, each with its conf and the policy it is of. Not here: serving it, other kinds.

use overrule_source::{Documents, View};
use serde_json::{Value, json};

use crate::entries::inbound_entries;
use crate::kinds::TRAFFIC_PERMISSION;
use crate::profile::Profile;
use crate::resources::MeshResources;

/// The permissions of an inbound, by place, in merge order. Rules are never merged, so each has one origin.
pub fn permissions(
    documents: &Documents,
    mesh: &MeshResources,
    profile: &Profile,
    list: &[u32],
) -> Value {
    let entries = inbound_entries(profile, &mesh.policies_at(list));
    let mut origins: Vec<String> = Vec::new();
    let mut rules: Vec<Value> = Vec::new();
    for (item, _) in entries {
        let origin = item.policy.meta.kri().to_string();
        let conf = documents.view(item.entry.node).get("default").map(View::to_json);
        rules.push(json!({"conf": conf.unwrap_or_else(|| json!({})), "origin": origin}));
        if !origins.contains(&origin) {
            origins.push(origin);
        }
    }
    if rules.is_empty() {
        return json!({"policies": []});
    }
    let origins: Vec<Value> = origins.into_iter().map(|kri| json!({"kri": kri})).collect();
    json!({"policies": [{"kind": TRAFFIC_PERMISSION.name, "rules": rules, "origins": origins}]})
}
