// SPDX-License-Identifier: Apache-2.0
//! In: any text. Out: the text between quotes as Go prints it with `%q`; Kuma's messages quote so.
//! Not here: the messages.

use std::fmt::Write;

/// The text in Go's double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push(&mut out, c);
    }
    out.push('"');
    out
}

fn push(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if is_printable(c) => out.push(c),
        c => push_number(out, u32::from(c)),
    }
}

fn push_number(out: &mut String, code: u32) {
    // Writing to a string cannot fail.
    let _ = match code {
        0..0x80 => write!(out, "\\x{code:02x}"),
        0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// Rust escapes a combining mark only where nothing comes before it, and Go never does: so the mark is asked about
/// after a letter.
fn is_printable(c: char) -> bool {
    let text: String = ['a', c].iter().collect();
    text.escape_debug().count() == 2 || c == '\''
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_as_go_does() {
        for (text, want) in [
            ("", r#""""#),
            ("a-b_c", r#""a-b_c""#),
            ("it's", r#""it's""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("\n\t\0\x7f", r#""\n\t\x00\x7f""#),
            ("é\u{301}", "\"é\u{301}\""),
            ("\u{a0}\u{200b}", r#""\u00a0\u200b""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ] {
            assert_eq!(quoted(text), want);
        }
    }
}
