// SPDX-License-Identifier: Apache-2.0
//! In: a field as people write it: a JSON pointer, a dotted path, a member. Out: which part of a value it means.
//! Not here: comparing values.

use std::borrow::Cow;

use overrule_engine::pointer_segments;
use overrule_source::Position;
use serde_json::Value;

/// A field as written: `/timeouts/request`, `timeouts.request`, `rules[0].name`, `timeouts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// As written.
    pub text: String,
    /// Where.
    pub at: Position,
}

impl Field {
    /// Whether it means the part at these keys and indexes. Names may have dots, so text is compared, not split.
    pub fn means(&self, segments: &[String]) -> bool {
        if self.text.starts_with('/') || self.text.is_empty() {
            return pointer(segments) == self.text;
        }
        let dotted = segments.join(".");
        dotted == self.text || (self.text.contains('[') && dotted == without_brackets(&self.text))
    }

    /// Whether it means the part at these keys and indexes, or one above it.
    pub fn covers(&self, segments: &[String]) -> bool {
        (0..=segments.len()).any(|n| segments.get(..n).is_some_and(|head| self.means(head)))
    }

    /// The part of a value it means, the shallowest if there are several.
    pub fn find<'v>(&self, value: &'v Value) -> Option<(Vec<String>, &'v Value)> {
        if self.text.starts_with('/') {
            let segments = segments(&self.text);
            return value.pointer(&self.text).map(|found| (segments, found));
        }
        if let Some(member) = value.get(&self.text) {
            return Some((vec![self.text.clone()], member));
        }
        let mut level = vec![(Vec::new(), value)];
        while !level.is_empty() {
            if let Some(found) = level.iter().find(|(segments, _)| self.means(segments)) {
                return Some(found.clone());
            }
            level = level.iter().flat_map(|(segments, value)| children(segments, value)).collect();
        }
        None
    }
}

/// `rules[0].name` as `rules.0.name`.
fn without_brackets(text: &str) -> String {
    text.replace('[', ".").replace(']', "").trim_start_matches('.').to_owned()
}

/// The parts directly below a part.
pub(crate) fn children<'v>(segments: &[String], value: &'v Value) -> Vec<(Vec<String>, &'v Value)> {
    let below = |name: String| segments.iter().cloned().chain([name]).collect::<Vec<String>>();
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (below(key.clone()), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, value)| (below(i.to_string()), value)).collect()
        }
        _ => Vec::new(),
    }
}

/// Every part that has none below it.
pub(crate) fn leaves(segments: Vec<String>, value: &Value) -> Vec<(Vec<String>, &Value)> {
    let mut open = vec![(segments, value)];
    let mut found = Vec::new();
    while let Some((segments, value)) = open.pop() {
        let mut below = children(&segments, value);
        if below.is_empty() {
            found.push((segments, value));
        } else {
            below.reverse();
            open.extend(below);
        }
    }
    found
}

/// The JSON pointer (RFC 6901) of keys and indexes.
pub(crate) fn pointer(segments: &[String]) -> String {
    segments.iter().map(|s| format!("/{}", s.replace('~', "~0").replace('/', "~1"))).collect()
}

/// Keys and indexes of a JSON pointer.
pub(crate) fn segments(pointer: &str) -> Vec<String> {
    pointer_segments(pointer).map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(text: &str) -> Field {
        let at = Position { file: String::new(), line: 1, column: 1 };
        Field { text: text.to_owned(), at }
    }

    #[test]
    fn finds_by_pointer_dots_brackets_and_member() {
        let value = json!({"a": {"b": [{"c": 1}]}, "x.y": 2, "s/t": 3});
        for text in ["/a/b/0/c", "a.b.0.c", "a.b[0].c"] {
            assert_eq!(field(text).find(&value).map(|f| f.1), Some(&json!(1)), "{text}");
        }
        assert_eq!(field("x.y").find(&value).map(|f| f.1), Some(&json!(2)));
        assert_eq!(field("/s~1t").find(&value).map(|f| f.1), Some(&json!(3)));
        assert_eq!(field("").find(&value).map(|f| f.0), Some(Vec::new()));
        assert!(field("a.c").find(&value).is_none());
    }

    #[test]
    fn covers_what_is_below() {
        let below = segments("/a/b/0");
        assert!(
            field("a").covers(&below) && field("/a/b").covers(&below) && field("").covers(&below)
        );
        assert!(!field("b").covers(&below) && !field("a.b.0.c").covers(&below));
    }

    #[test]
    fn leaves_are_in_order() {
        let value = json!({"a": {"b": 1, "c": []}, "d": 2});
        let found: Vec<String> = leaves(Vec::new(), &value).iter().map(|l| pointer(&l.0)).collect();
        assert_eq!(found, ["/a/b", "/a/c", "/d"]);
    }
}
