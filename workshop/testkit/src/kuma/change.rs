// SPDX-License-Identifier: Apache-2.0
//! In: a policy of a mesh. Out: the same policy with another conf. Not here: what that comes to.

use serde_json::{Value, json};

use crate::rng::Rng;

/// Whether a resource is a policy with a `targetRef`.
pub fn is_policy(resource: &Value) -> bool {
    let kind = resource["type"].as_str().or(resource["kind"].as_str()).unwrap_or("");
    let ours = resource["type"].is_string()
        || resource["apiVersion"].as_str().is_some_and(|version| version.starts_with("kuma.io/"));
    let parts = ["to", "from", "rules", "default"];
    ours && kind.starts_with("Mesh")
        && parts.iter().any(|part| resource["spec"][*part] != json!(null))
}

/// The same policy with another value in one of its confs; now and then with a member less.
pub fn other_conf(rng: &mut Rng, policy: &Value) -> Value {
    let mut other = policy.clone();
    let mut found = Vec::new();
    values(&policy["spec"], false, &mut String::from("/spec"), &mut found);
    if found.is_empty() {
        return other;
    }
    let at = rng.pick(&found).clone();
    let number = rng.below(1_000);
    if rng.percent(10) {
        let (above, name) = at.rsplit_once('/').unwrap_or_default();
        if let Some(Value::Object(members)) = other.pointer_mut(above) {
            members.remove(name);
        }
        return other;
    }
    let Some(value) = other.pointer_mut(&at) else { return other };
    *value = match &*value {
        Value::Number(_) => (number + 1).into(),
        Value::Bool(is) => (!is).into(),
        Value::String(text) if text.starts_with("spiffe://") || text.starts_with('/') => {
            format!("{text}x{number}").into()
        }
        Value::String(text)
            if text.ends_with('s') && text.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            format!("{}s", number + 1).into()
        }
        Value::String(text)
            if ["Allow", "Deny", "AllowWithShadowDeny"].contains(&text.as_str()) =>
        {
            (*rng.pick(&["Allow", "Deny", "AllowWithShadowDeny"])).into()
        }
        value => value.clone(),
    };
    other
}

/// Pointers to everything below a conf that is no mapping and no list.
fn values(value: &Value, in_conf: bool, at: &mut String, found: &mut Vec<String>) {
    let length = at.len();
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                at.push('/');
                at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                values(member, in_conf || key == "default", at, found);
                at.truncate(length);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                at.push_str(&format!("/{number}"));
                values(item, in_conf, at, found);
                at.truncate(length);
            }
        }
        _ if in_conf => found.push(at.clone()),
        _ => {}
    }
}
