// SPDX-License-Identifier: Apache-2.0
//! In: Rust text. Out: the same text with comments blanked, lines kept. Not here: understanding it.

/// Blanks comments, and only those: `//` inside a string stays.
pub(crate) fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            blank(&mut out, rest, end)
        } else if rest.starts_with("/*") {
            blank(&mut out, rest, block_comment(rest))
        } else if c == '"' {
            copy(&mut out, rest, string(rest))
        } else if let Some(length) = raw_string(rest).filter(|_| !ends_in_word(&out)) {
            copy(&mut out, rest, length)
        } else if c == '\'' {
            copy(&mut out, rest, character(rest))
        } else {
            copy(&mut out, rest, c.len_utf8())
        };
        rest = rest.get(length..).unwrap_or("");
    }
    out
}

fn copy(out: &mut String, rest: &str, length: usize) -> usize {
    out.push_str(rest.get(..length).unwrap_or(rest));
    length.min(rest.len())
}

fn blank(out: &mut String, rest: &str, length: usize) -> usize {
    let comment = rest.get(..length).unwrap_or(rest);
    out.extend(comment.chars().map(|c| if c == '\n' { c } else { ' ' }));
    length.min(rest.len())
}

fn ends_in_word(out: &str) -> bool {
    out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// Length of a comment that may hold others.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Length of a string with escapes.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of a raw string, if one begins here.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|p| rest.starts_with(p))?;
    let after = rest.get(prefix.len()..)?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |i| i + end.len());
    Some(prefix.len() + hashes + 1 + length)
}

/// Length of a character literal, or of the quote of a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => rest
            .get(2..)
            .and_then(|r| r.find('\'').filter(|i| *i > 0).or(Some(1)))
            .map_or(1, |i| i + 3),
        Some((i, c)) if rest.get(i + c.len_utf8()..).is_some_and(|r| r.starts_with('\'')) => {
            i + c.len_utf8() + 1
        }
        _ => 1,
    }
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
