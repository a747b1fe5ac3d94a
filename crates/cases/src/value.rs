// SPDX-License-Identifier: Apache-2.0
//! In: JSON values. Out: their comparison, and a short text of them. Not here: provenance.

use serde_json::Value;

/// Whether two values are the same as JSON: order of keys aside, `1` = `1.0`.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// Whether `whole` has everything `part` has: members of mappings may be more, also of those in lists; everything else
/// is equal.
pub(crate) fn includes(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|w| includes(w, part)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(w, p)| includes(w, p))
        }
        _ => same(whole, part),
    }
}

/// Longest text of a value in a message, in characters.
const SHOWN: usize = 400;

/// The value in one line of JSON, cut where it gets long.
pub fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("")),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(same(&json!({"a": 1, "b": [1.0]}), &json!({"b": [1], "a": 1.0})));
        assert!(!same(&json!(1), &json!("1")));
        assert!(!same(&json!({"a": null}), &json!({})));
    }

    #[test]
    fn includes_is_open_for_members_only() {
        let rule = json!({"path": {"type": "Exact", "value": "/a"}, "method": "GET"});
        assert!(includes(&rule, &json!({"path": {"value": "/a"}})));
        assert!(!includes(&rule, &json!({"path": {"value": "/b"}})));
        assert!(!includes(&json!([1, 2]), &json!([1])));
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        assert_eq!(short(&json!("ä".repeat(1000))).chars().count(), SHOWN + 1);
        assert_eq!(short(&json!({"a": 1})), r#"{"a":1}"#);
    }
}
