// SPDX-License-Identifier: Apache-2.0
//! In: text from strangers. Out: the same text, harmless in one kind of output. Not here: which text goes where.
//!
//! Names in manifests are free text until an API server refuses them. A name must not move the cursor, recolour the
//! screen, reverse the reading direction, close a tag or start a formula.

use std::borrow::Cow;

/// Whether a character can deceive a terminal or a reader: controls, direction marks, invisible ones.
fn is_unsafe(c: char) -> bool {
    matches!(
        c,
        '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// For one line on a terminal: unsafe characters become `\u{1b}`, line ends `\n`.
pub fn terminal(text: &str) -> Cow<'_, str> {
    if is_safe(text) {
        return Cow::Borrowed(text);
    }
    replace(text, is_unsafe, push_visible)
}

/// For several lines on a terminal: line ends and tabs stay, everything else unsafe is shown.
pub fn terminal_multiline(text: &str) -> Cow<'_, str> {
    replace(text, |c| is_unsafe(c) && c != '\n' && c != '\t', push_visible)
}

/// For text and attributes of XML, SVG and HTML.
pub fn xml(text: &str) -> Cow<'_, str> {
    let special = |c| matches!(c, '&' | '<' | '>' | '"' | '\'') || is_unsafe(c) || is_no_xml(c);
    replace(text, special, |c, out| match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        c => push_visible(c, out),
    })
}

/// Characters that no XML document may have, not even by number.
fn is_no_xml(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// For one line of Markdown, within `<code>`: nothing in it is markup, a table's border, an entity, a link or a mention.
pub fn markdown(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '/' | '.' | ',' | '-');
    let special = |c: char| !plain(c) && (c.is_ascii() || is_unsafe(c));
    replace(text, special, |c, out| match c.is_ascii_graphic() {
        // A character by its number is never read as structure.
        true => out.push_str(&format!("&#{};", u32::from(c))),
        false => {
            let mut shown = String::new();
            push_visible(c, &mut shown);
            out.push_str(&markdown(&shown));
        }
    })
}

/// For a double-quoted string of Graphviz DOT.
pub fn dot(text: &str) -> Cow<'_, str> {
    // Graphviz also reads `&...;` as HTML entities, and `\N`, `\G` and the like as names of things.
    let special = |c| matches!(c, '"' | '\\' | '&') || is_unsafe(c);
    replace(text, special, |c, out| match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '&' => out.push_str("&amp;"),
        // One backslash for the reader is two in the file.
        c => out.push_str(&format!("\\\\u{{{:x}}}", u32::from(c))),
    })
}

/// For a double-quoted label of Mermaid: everything with a meaning becomes an entity code.
pub fn mermaid(text: &str) -> Cow<'_, str> {
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | ':' | ',');
    replace(
        text,
        |c| !plain(c),
        |c, out| {
            if is_unsafe(c) {
                out.push_str(&format!("#92;u#123;{:x}#125;", u32::from(c)));
            } else {
                out.push_str(&format!("#{};", u32::from(c)));
            }
        },
    )
}

/// For one field of a CSV file; quoted where needed, and never the beginning of a formula.
pub fn csv(text: &str) -> Cow<'_, str> {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let quoted = text.contains(['"', ',', ';', '\n', '\r']);
    let safe = terminal(text);
    match (formula, quoted) {
        (false, false) => safe,
        (false, true) => Cow::Owned(format!("\"{}\"", safe.replace('"', "\"\""))),
        (true, _) => Cow::Owned(format!("\"'{}\"", safe.replace('"', "\"\""))),
    }
}

/// Shows an unsafe character by its name.
pub(crate) fn push_visible(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    }
}

/// Whether a terminal shows the text as it is.
pub(crate) fn is_safe(text: &str) -> bool {
    // Nearly all text is plain ASCII, which is cheap to see.
    text.bytes().all(|b| matches!(b, b' '..=b'~')) || !text.contains(is_unsafe)
}

/// Whether a character needs care.
pub(crate) fn needs_escape(c: char) -> bool {
    is_unsafe(c)
}

fn replace(
    text: &str,
    special: impl Fn(char) -> bool,
    push: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if special(c) {
            push(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}
