// SPDX-License-Identifier: Apache-2.0
//! In: names of fields as people and programs write them. Out: segments, and back. Not here: the values.
//!
//! People write `timeouts.request`, `rules[0].name`, `headers["x.y"]`; programs write `/timeouts/request` (RFC 6901).

use std::borrow::Cow;

pub(crate) use overrule_engine::pointer_segments;

/// The segments of a field, written either way.
pub(crate) fn segments(text: &str) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    match text.starts_with('/') {
        true => pointer_segments(text).map(Cow::into_owned).collect(),
        false => dotted(text),
    }
}

/// The JSON pointer of segments.
pub(crate) fn pointer<'a>(segments: impl IntoIterator<Item = &'a str>) -> String {
    let mut pointer = String::new();
    for segment in segments {
        push_segment(&mut pointer, segment);
    }
    pointer
}

/// Appends one segment to a JSON pointer.
pub(crate) fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    for c in segment.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}

/// A JSON pointer as people write fields.
pub(crate) fn name(pointer: &str) -> String {
    let mut name = String::new();
    for segment in pointer_segments(pointer) {
        let index = !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit());
        let plain = !segment.is_empty() && !segment.contains(['.', '[', ']', '"', '/']);
        match (index, plain) {
            (true, _) => name.push_str(&format!("[{segment}]")),
            (false, true) => {
                if !name.is_empty() {
                    name.push('.');
                }
                name.push_str(&segment);
            }
            (false, false) => {
                name.push_str(&format!(
                    "[\"{}\"]",
                    segment.replace('\\', "\\\\").replace('"', "\\\"")
                ));
            }
        }
    }
    name
}

/// Whether one pointer is the other or lies below it.
pub(crate) fn is_within(pointer: &str, above: &str) -> bool {
    pointer.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `a.b[0]["c.d"]`; a leading `$.` or `.` is allowed.
fn dotted(text: &str) -> Vec<String> {
    let mut segments = Vec::new();
    let mut current = String::new();
    let text = text.strip_prefix('$').unwrap_or(text);
    let mut chars = text.strip_prefix('.').unwrap_or(text).chars().peekable();
    let mut open = true;
    while let Some(c) = chars.next() {
        match c {
            '.' => {
                if open {
                    segments.push(std::mem::take(&mut current));
                }
                open = true;
            }
            '[' => {
                if open && !(current.is_empty() && segments.is_empty()) {
                    segments.push(std::mem::take(&mut current));
                }
                segments.push(bracket(&mut chars));
                open = false;
            }
            c => {
                current.push(c);
                open = true;
            }
        }
    }
    if open {
        segments.push(current);
    }
    segments
}

/// What stands between brackets, quoted or not; the closing one is consumed.
fn bracket(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut inner = String::new();
    let quote = chars.next_if(|c| matches!(c, '"' | '\''));
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', Some(_)) => inner.extend(chars.next()),
            (c, Some(q)) if c == q => {
                chars.next_if_eq(&']');
                break;
            }
            (']', None) => break,
            (c, _) => inner.push(c),
        }
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::{is_within, name, pointer, segments};

    #[test]
    fn both_ways_of_writing_a_field_mean_the_same() {
        for (written, expected) in [
            ("timeouts.request", "/timeouts/request"),
            ("/timeouts/request", "/timeouts/request"),
            ("$.rules[0].name", "/rules/0/name"),
            ("[\"x.y\"].z", "/x.y/z"),
            ("headers[\"a/b\"]", "/headers/a~1b"),
            ("a[0][1]", "/a/0/1"),
            ("", ""),
            (".", "/"),
        ] {
            let found = segments(written);
            assert_eq!(pointer(found.iter().map(String::as_str)), expected, "{written}");
        }
    }

    #[test]
    fn names_lead_back_to_their_pointer() {
        for written in ["/a/b", "/a/0/b", "/x.y/a~1b/q\"~0", "/[/]", "/a/0/1"] {
            let back = segments(&name(written));
            assert_eq!(pointer(back.iter().map(String::as_str)), written);
        }
    }

    #[test]
    fn within_is_by_segment() {
        assert!(is_within("/a/b", "/a") && is_within("/a", "/a") && is_within("/a", ""));
        assert!(!is_within("/ab", "/a"));
    }
}
