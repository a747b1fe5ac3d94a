// SPDX-License-Identifier: Apache-2.0
//! In: a policy and all resources. Out: where each of its references lands, found by looking at everything.
//! Not here: what the policy says.

use serde_json::Value;

use super::world::{group, key, name, namespace, of_kind, places_of, text};
use super::{GATEWAY_API, Place};

/// Where each reference of a policy lands; empty for one that does not.
pub(super) fn references(world: &[Value], policy: &Value) -> Vec<Vec<Place>> {
    let list = |key: &str| {
        policy
            .pointer(&format!("/spec/{key}"))
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let single = policy.pointer("/spec/targetRef").cloned();
    let named = single.into_iter().chain(list("targetRefs")).map(|r| (r, false));
    let all = named.chain(list("targetSelectors").into_iter().map(|r| (r, true)));
    all.map(|(reference, by_label)| land(world, policy, &reference, by_label)).collect()
}

fn land(world: &[Value], policy: &Value, reference: &Value, by_label: bool) -> Vec<Place> {
    let own = namespace(policy);
    let wanted_namespace =
        Some(text(reference, "/namespace")).filter(|n| !n.is_empty()).unwrap_or(own);
    let kind = text(reference, "/kind");
    let (section, name) = (text(reference, "/sectionName"), text(reference, "/name"));
    let mut found = Vec::new();
    let of = if kind == "Service" { "" } else { GATEWAY_API };
    for object in of_kind(world, of, kind) {
        let labels = |key: &str| {
            object.pointer("/metadata/labels").and_then(|l| l.get(key)).and_then(Value::as_str)
        };
        let fits = match by_label {
            true => selects(reference, &labels),
            false => super::world::name(object) == name,
        };
        let cluster = kind == "GatewayClass";
        let here = cluster || namespace(object) == wanted_namespace;
        let permitted =
            cluster || wanted_namespace == own || granted(world, policy, object, by_label);
        if fits && here && permitted {
            found.extend(places_of(world, &key(object)).into_iter().find(|p| p.section == section));
        }
    }
    found
}

pub(super) fn selects<'l>(selector: &Value, label: &dyn Fn(&str) -> Option<&'l str>) -> bool {
    let labels = selector.pointer("/matchLabels").and_then(Value::as_object);
    let clauses = selector.pointer("/matchExpressions").and_then(Value::as_array);
    let one = |c: &Value| {
        let values: Vec<&str> =
            c["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let found = label(text(c, "/key"));
        match text(c, "/operator") {
            "In" => found.is_some_and(|v| values.contains(&v)),
            "NotIn" => found.is_none_or(|v| !values.contains(&v)),
            "Exists" => found.is_some(),
            _ => found.is_none(),
        }
    };
    labels.into_iter().flatten().all(|(k, v)| label(k) == v.as_str())
        && clauses.into_iter().flatten().all(one)
}

fn granted(world: &[Value], policy: &Value, target: &Value, any_name: bool) -> bool {
    of_kind(world, GATEWAY_API, "ReferenceGrant").filter(|g| namespace(g) == namespace(target)).any(
        |grant| {
            let entries = |key: &str| {
                grant.pointer(key).and_then(Value::as_array).cloned().unwrap_or_default()
            };
            entries("/spec/from").iter().any(|f| {
                (text(f, "/group"), text(f, "/kind"), text(f, "/namespace"))
                    == (group(policy), text(policy, "/kind"), namespace(policy))
            }) && entries("/spec/to").iter().any(|t| {
                let named = text(t, "/name");
                (text(t, "/group"), text(t, "/kind")) == (group(target), text(target, "/kind"))
                    && (named.is_empty() || (!any_name && named == name(target)))
            })
        },
    )
}
