// SPDX-License-Identifier: Apache-2.0
//! In: Rust text. Out: the same text with comments blanked, lines kept. Not here: understanding it.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

/// Blanks comments, those that are documentation included. What is no Rust stays as it is.
pub(crate) fn without_comments(text: &str) -> String {
    let Ok(tokens) = text.parse::<TokenStream>() else { return text.to_owned() };
    let mut kept = Vec::new();
    ranges(tokens, &mut kept);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in kept {
        // A documentation comment becomes several tokens; the first is all of it.
        if range.start < at {
            continue;
        }
        blank(&mut out, text.get(at..range.start));
        let token = text.get(range.clone()).unwrap_or("");
        if token.starts_with("//") || token.starts_with("/*") {
            blank(&mut out, Some(token));
        } else {
            out.push_str(token);
        }
        at = range.end;
    }
    blank(&mut out, text.get(at..));
    out
}

/// Where the tokens stand, in order.
fn ranges(tokens: TokenStream, out: &mut Vec<Range<usize>>) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                out.push(group.span_open().byte_range());
                ranges(group.stream(), out);
                out.push(group.span_close().byte_range());
            }
            other => out.push(other.span().byte_range()),
        }
    }
}

fn blank(out: &mut String, between: Option<&str>) {
    let blanked = between.unwrap_or("").chars().map(|c| if c == '\n' { c } else { ' ' });
    out.extend(blanked);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_go() {
        let text = "let a = \"// no\"; // yes\nlet b = 'x'; /* a /* b */ c\n */ fn f<'a>() {}\n";
        let clean = without_comments(text);
        assert!(
            clean.contains("\"// no\";") && !clean.contains("yes") && !clean.contains(" c"),
            "{clean}"
        );
        assert!(clean.contains("fn f<'a>() {}"));
        assert_eq!(clean.lines().count(), text.lines().count());
        let text = "let a = r#\"a // \" b\"#; let c = '\"'; let d = '\\''; // gone\nlet for_each = \"\\\"\"; // x\n";
        let clean = without_comments(text);
        assert!(
            clean.contains("a // \" b") && !clean.contains("gone") && !clean.contains('x'),
            "{clean}"
        );
    }
}
