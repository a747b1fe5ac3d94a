// SPDX-License-Identifier: Apache-2.0
//! In: values of the model. Out: YAML that every reader takes for the same value, and that is safe on a terminal.
//! Not here: origins; whoever prints them gets the lines with a pointer each.

use std::borrow::Cow;

use crate::escape;
use crate::field::push_segment;
use crate::v1::Value;

/// A line of a YAML document.
pub(crate) struct Line {
    /// The text, indented.
    pub(crate) text: String,
    /// The leaf whose first line it is.
    pub(crate) leaf: Option<String>,
    /// JSON pointer of the value on the line: a leaf, or what the lines below it are parts of.
    pub(crate) pointer: String,
}

/// One document.
pub(crate) fn document(value: &Value) -> String {
    let mut out = String::new();
    for line in lines(value) {
        out.push_str(&line.text);
        out.push('\n');
    }
    out
}

/// One document, line by line.
pub(crate) fn lines(value: &Value) -> Vec<Line> {
    let mut writer = Writer { lines: Vec::new(), pointer: String::new() };
    writer.after_dash(String::new(), value, 0);
    writer.lines
}

/// On one line: `{request: 5s, hosts: [a, b]}`.
pub(crate) fn flow(value: &Value) -> String {
    let mut out = String::new();
    push_flow(value, &mut out);
    out
}

/// The members of a mapping on one line, without its braces; anything else as it is.
pub(crate) fn flow_members(value: &Value) -> String {
    let text = flow(value);
    match value {
        Value::Map(entries) if !entries.is_empty() => {
            let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
            inner.map_or(text.clone(), str::to_owned)
        }
        _ => text,
    }
}

fn push_flow(value: &Value, out: &mut String) {
    match value {
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                push_flow(item, out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (i, (key, value)) in entries.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { ", " });
                out.push_str(&text(key));
                out.push_str(": ");
                push_flow(value, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&one_line(scalar)),
    }
}

struct Writer {
    lines: Vec<Line>,
    pointer: String,
}

impl Writer {
    /// Something whose first line may begin right behind `head`: a list element, or the document itself.
    fn after_dash(&mut self, head: String, value: &Value, indent: usize) {
        let pad = " ".repeat(indent);
        let mut head = Some(head);
        match value {
            Value::Map(entries) if value.has_parts() => {
                for (key, value) in entries {
                    let head = head.take().unwrap_or_else(|| pad.clone());
                    self.below(key, |w| {
                        w.after_key(format!("{head}{}:", text(key)), value, indent)
                    });
                }
            }
            Value::List(items) if value.has_parts() => {
                for (i, item) in items.iter().enumerate() {
                    let head = head.take().unwrap_or_else(|| pad.clone());
                    self.below(&i.to_string(), |w| {
                        w.after_dash(format!("{head}- "), item, indent + 2);
                    });
                }
            }
            leaf => self.leaf(head.unwrap_or_default(), leaf, indent),
        }
    }

    /// The value of a key; `head` ends with its colon.
    fn after_key(&mut self, head: String, value: &Value, indent: usize) {
        match value {
            Value::Map(_) if value.has_parts() => {
                self.push(head, None);
                self.after_dash(" ".repeat(indent + 2), value, indent + 2);
            }
            Value::List(_) if value.has_parts() => {
                self.push(head, None);
                self.after_dash(" ".repeat(indent), value, indent);
            }
            leaf => self.leaf(format!("{head} "), leaf, indent + 2),
        }
    }

    fn leaf(&mut self, head: String, value: &Value, indent: usize) {
        let leaf = Some(self.pointer.clone());
        let Value::String(text) = value else {
            self.push(format!("{head}{}", one_line(value)), leaf);
            return;
        };
        let Some((indicator, body)) = block(text) else {
            self.push(format!("{head}{}", one_line(value)), leaf);
            return;
        };
        self.push(format!("{head}{indicator}"), leaf);
        // The document itself may be a text; its lines still need an indentation.
        let pad = " ".repeat(indent.max(2));
        for line in body.split('\n') {
            let text = if line.is_empty() { String::new() } else { format!("{pad}{line}") };
            self.push(text, None);
        }
    }

    fn push(&mut self, text: String, leaf: Option<String>) {
        self.lines.push(Line { text, leaf, pointer: self.pointer.clone() });
    }

    fn below(&mut self, segment: &str, write: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        push_segment(&mut self.pointer, segment);
        write(self);
        self.pointer.truncate(length);
    }
}

/// The header and body of a text that reads best over several lines.
fn block(text: &str) -> Option<(&'static str, &str)> {
    let (indicator, body) = match text.strip_suffix('\n') {
        Some(body) => ("|", body),
        None => ("|-", text),
    };
    let fine = |line: &str| !line.ends_with(' ') && escape::is_safe(line);
    let starts = body.starts_with(|c: char| !c.is_whitespace());
    let several = body.contains('\n') && !body.ends_with('\n');
    (several && starts && body.split('\n').all(fine)).then_some((indicator, body))
}

/// A scalar or an empty container.
fn one_line(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => "null".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(n) => n.to_string().into(),
        Value::String(s) => text(s),
        Value::List(_) => "[]".into(),
        Value::Map(_) => "{}".into(),
    }
}

/// A string, quoted where a reader of YAML 1.1 or 1.2 would take it for something else.
fn text(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if escape::needs_escape(c) && u32::from(c) > 0xffff => {
                quoted.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            c if escape::needs_escape(c) => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    Cow::Owned(quoted)
}

/// Whether a text needs no quotes, neither in block nor in flow style.
fn is_plain(text: &str) -> bool {
    const FIRST: &[char] = &[
        '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@',
        '`', '=', '<', '~',
    ];
    let word = text.to_ascii_lowercase();
    let reserved = matches!(
        word.as_str(),
        "" | "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    !reserved
        && !text.starts_with(FIRST)
        && text.trim() == text
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains([',', '[', ']', '{', '}'])
        && escape::is_safe(text)
        && !is_number_like(&word)
}

/// Whether some reader takes the text for a number or a time. Too many quotes are better than a changed value.
fn is_number_like(word: &str) -> bool {
    let bare = word.trim_start_matches(['+', '-']).replace('_', "");
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let date = bare.get(..5).is_some_and(|d| d.ends_with('-') && digits(d.trim_end_matches('-')));
    bare.parse::<f64>().is_ok()
        || bare.starts_with("0x")
        || bare.starts_with("0o")
        || bare.starts_with("0b")
        || matches!(bare.as_str(), ".inf" | ".nan")
        || (bare.contains(':')
            && bare.bytes().all(|b| b.is_ascii_digit() || b == b':' || b == b'.'))
        || date
}
