// SPDX-License-Identifier: Apache-2.0
//! In: confs, the strongest last. Out: one conf. Not here: who is strongest.

use serde_json::{Map, Value};

/// All of them, each over those before it.
pub(super) fn all<'c>(confs: impl IntoIterator<Item = &'c Value>) -> Value {
    let mut merged = Value::Object(Map::new());
    confs.into_iter().for_each(|conf| over(&mut merged, conf));
    merged
}

/// RFC 7396: objects member by member, null removes, all else replaces; but lists called `append…` grow.
fn over(base: &mut Value, conf: &Value) {
    let Value::Object(members) = conf else {
        *base = conf.clone();
        return;
    };
    if !base.is_object() {
        *base = Value::Object(Map::new());
    }
    let base = base.as_object_mut().expect("it is one now");
    for (name, value) in members {
        match (base.get_mut(name), value) {
            (_, Value::Null) => {
                base.remove(name);
            }
            (Some(Value::Array(there)), Value::Array(more)) if name.starts_with("append") => {
                there.extend(more.iter().cloned());
            }
            _ => over(base.entry(name).or_insert(Value::Null), value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::all;

    #[test]
    fn members_meet_lists_replace_and_some_grow() {
        let first = json!({"a": {"x": 1, "y": [1, 2]}, "appendLines": [1], "gone": 1, "b": 1});
        let second = json!({
            "a": {"y": [3], "z": {"appendZ": ["n"]}}, "appendLines": [2, 3], "gone": null, "b": {"c": null, "d": 1},
        });
        let merged = json!({
            "a": {"x": 1, "y": [3], "z": {"appendZ": ["n"]}}, "appendLines": [1, 2, 3], "b": {"d": 1},
        });
        assert_eq!(all([&first, &second]), merged);
        let third = json!({"a": {"z": {"appendZ": ["m"]}}, "appendLines": []});
        let deep = all([&first, &second, &third]);
        assert_eq!(deep["a"]["z"]["appendZ"], json!(["n", "m"]));
        assert_eq!(deep["appendLines"], json!([1, 2, 3]));
        assert_eq!(all([]), json!({}));
    }
}
