// SPDX-License-Identifier: Apache-2.0
//! In: JSON values. Out: the same as block YAML, the way people write manifests. Not here: reading.

use std::fmt::Write as _;

use serde_json::Value;

/// One document, with a final line end.
pub fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => members(&mut out, value, 0, false),
        Value::Array(list) if !list.is_empty() => items(&mut out, value, 0),
        other => {
            scalar(&mut out, other);
            out.push('\n');
        }
    }
    out
}

/// Several documents, separated by `---`.
pub fn documents<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    values.into_iter().map(document).collect::<Vec<_>>().join("---\n")
}

fn indent(out: &mut String, depth: usize) {
    out.extend(std::iter::repeat_n("  ", depth));
}

fn members(out: &mut String, value: &Value, depth: usize, mut inline: bool) {
    for (key, value) in value.as_object().into_iter().flatten() {
        if !std::mem::take(&mut inline) {
            indent(out, depth);
        }
        string(out, key);
        out.push(':');
        below(out, value, depth);
    }
}

fn items(out: &mut String, value: &Value, depth: usize) {
    for value in value.as_array().into_iter().flatten() {
        indent(out, depth);
        out.push_str("- ");
        match value {
            Value::Object(map) if !map.is_empty() => members(out, value, depth + 1, true),
            other => flow(out, other),
        }
    }
}

fn below(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            members(out, value, depth + 1, false);
        }
        Value::Array(list) if !list.is_empty() => {
            out.push('\n');
            items(out, value, depth);
        }
        other => {
            out.push(' ');
            flow(out, other);
        }
    }
}

/// A value in one line, with the line end. Lists of lists are rare enough to be JSON.
fn flow(out: &mut String, value: &Value) {
    scalar(out, value);
    out.push('\n');
}

fn scalar(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => string(out, text),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// Plain where every YAML reads it as this text, quoted like JSON elsewhere.
fn string(out: &mut String, text: &str) {
    const WORDS: [&str; 11] =
        ["true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"];
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(inner)
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    if plain {
        out.push_str(text);
    } else {
        let _ = write!(out, "{}", Value::from(text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn looks_like_a_manifest() {
        let value = json!({
            "kind": "Gateway", "empty": {}, "none": null, "on": "yes",
            "spec": {"hosts": ["*.a", "b"], "rules": [{"name": "x", "list": [[1], {}]}, {"port": 80, "date": "2026-01-01"}]},
        });
        let text = super::document(&value);
        assert_eq!(
            text,
            "empty: {}\nkind: Gateway\nnone: null\n\"on\": \"yes\"\nspec:\n  hosts:\n  - \"*.a\"\n  - b\n  rules:\n  - list:\n    - [1]\n    - {}\n    name: x\n  - date: \"2026-01-01\"\n    port: 80\n"
        );
        let read = overrule_source::read_one("a", &text, &overrule_source::ReadOptions::default());
        assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
        let root = read.documents.root(read.documents.ids().next().unwrap());
        assert_eq!(root.to_json(), value);
    }
}
