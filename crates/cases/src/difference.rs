// SPDX-License-Identifier: Apache-2.0
//! In: two values. Out: the lines of YAML in which they differ, each with its neighbours. Not here: colours.

use overrule_view::yaml;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Lines shown before and after a change, so that one sees where it is.
const NEAR: usize = 1;

/// Lines of a value that are compared, at most; beyond, looking for the smallest difference would cost too much.
const MOST: usize = 4_000;

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferingLine {
    /// Whose line it is.
    pub side: DifferenceSide,
    /// The line, without a line end.
    pub text: String,
}

/// Which of two values a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceSide {
    /// Of what was expected.
    Expected,
    /// Of what is.
    Actual,
    /// Of both.
    Both,
    /// Of none: lines that are the same are left out here.
    LeftOut,
}

/// The lines in which two values differ; none if they are better read whole: short, or too long.
pub(crate) fn difference(expected: &Value, actual: &Value) -> Option<Vec<DifferingLine>> {
    let has_parts = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    if !has_parts(expected) || !has_parts(actual) {
        return None;
    }
    let (expected, actual) = (yaml(&sorted(expected)), yaml(&sorted(actual)));
    if expected.lines().count().max(actual.lines().count()) > MOST {
        return None;
    }
    let diff = TextDiff::from_lines(&expected, &actual);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(NEAR) {
        let begins_later = group.first().is_some_and(|op| op.old_range().start > 0);
        if !lines.is_empty() || begins_later {
            lines.push(DifferingLine { side: DifferenceSide::LeftOut, text: "...".to_owned() });
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let side = match change.tag() {
                ChangeTag::Delete => DifferenceSide::Expected,
                ChangeTag::Insert => DifferenceSide::Actual,
                ChangeTag::Equal => DifferenceSide::Both,
            };
            lines.push(DifferingLine { side, text: change.value().trim_end().to_owned() });
        }
    }
    Some(lines)
}

/// The same with the members of every mapping in order: in a difference their order is noise.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            Value::Object(members.into_iter().map(|(k, v)| (k.clone(), sorted(v))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(expected: &Value, actual: &Value) -> Option<String> {
        let lines = difference(expected, actual)?;
        let sign = |side| match side {
            DifferenceSide::Expected => '-',
            DifferenceSide::Actual => '+',
            DifferenceSide::Both | DifferenceSide::LeftOut => ' ',
        };
        Some(lines.iter().map(|line| format!("{}{}\n", sign(line.side), line.text)).collect())
    }

    #[test]
    fn only_what_differs_is_shown() {
        let expected = json!({"a": 1, "b": {"c": [1, 2, 3], "d": 4}, "e": 5, "f": 6, "g": 7});
        let actual = json!({"g": 7, "f": 6, "e": 5, "b": {"d": 9, "c": [1, 2, 3]}, "a": 1});
        let difference = shown(&expected, &actual).unwrap();
        assert_eq!(difference, " ...\n   - 3\n-  d: 4\n+  d: 9\n e: 5\n");
        assert_eq!(shown(&expected, &expected).as_deref(), Some(""));
    }

    #[test]
    fn what_is_short_or_huge_is_read_whole() {
        assert_eq!(shown(&json!(1), &json!({"a": 1})), None);
        assert_eq!(shown(&json!({}), &json!({"a": 1})), None);
        let huge: Value = (0..MOST + 1).map(Value::from).collect();
        assert_eq!(shown(&huge, &json!([1])), None);
    }
}
