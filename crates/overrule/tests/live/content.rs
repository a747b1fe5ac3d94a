// SPDX-License-Identifier: Apache-2.0
//! In: a policy. Out: one that says something else about the same targets.

use overrule_testkit::rng::Rng;
use serde_json::Value;

/// A policy that says something else of what it says, about the same targets.
pub fn other_content(rng: &mut Rng, policy: &Value) -> Value {
    fn change(rng: &mut Rng, value: &mut Value) {
        match value {
            Value::Object(members) => {
                let spoken = |key: &String| !key.starts_with("target") && key != "strategy";
                let keys: Vec<String> = members.keys().filter(|key| spoken(key)).cloned().collect();
                if keys.is_empty() {
                    return;
                }
                let key = rng.pick(&keys);
                if rng.percent(10) {
                    members.remove(key);
                } else if rng.percent(10) {
                    let again = members[key].clone();
                    members.insert(format!("other-{}", rng.below(10)), again);
                } else {
                    change(rng, &mut members[key]);
                }
            }
            Value::Number(_) => *value = (1_000 + rng.below(1_000)).into(),
            Value::String(_) => *value = format!("other-{}", rng.below(1_000)).into(),
            _ => {}
        }
    }
    let mut other = policy.clone();
    change(rng, &mut other["spec"]);
    other["metadata"]["labels"]["said"] = format!("{}", rng.below(1_000)).into();
    other
}
