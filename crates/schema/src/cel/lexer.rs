// SPDX-License-Identifier: Apache-2.0
//! In: the text of a rule. Out: its tokens. Not here: what they mean together.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    Int(i64),
    /// An operator or bracket.
    Sign(&'static str),
}

/// Longest first: `<=` is not `<` and `=`.
const SIGNS: [&str; 22] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "?", ":", "+", "-", "*", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

/// None if there is anything a rule cannot have.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut rest = text.trim_start();
    let mut out = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            '0'..='9' => number(rest)?,
            '"' | '\'' => quoted(rest, false)?,
            'r' if rest.starts_with("r'") || rest.starts_with("r\"") => {
                quoted(rest.get(1..)?, true)?
            }
            'a'..='z' | 'A'..='Z' | '_' => name(rest)?,
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
                (Token::Sign(sign), rest.get(sign.len()..)?)
            }
        };
        out.push(token);
        rest = after.trim_start();
    }
    Some(out)
}

fn number(rest: &str) -> Option<(Token, &str)> {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((Token::Int(rest.get(..end)?.parse().ok()?), rest.get(end..)?))
}

/// A name. Fields that are called like a word of the language are written `__in__`.
fn name(rest: &str) -> Option<(Token, &str)> {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let name = rest.get(..end)?;
    let plain = name.strip_prefix("__").and_then(|name| name.strip_suffix("__")).unwrap_or(name);
    Some((Token::Name(plain.to_owned()), rest.get(end..)?))
}

fn quoted(rest: &str, raw: bool) -> Option<(Token, &str)> {
    let one = rest.get(..1)?;
    let three = one.repeat(3);
    let quote = if rest.starts_with(&three) { three.as_str() } else { one };
    let mut after = rest.get(quote.len()..)?;
    let mut text = String::new();
    loop {
        if let Some(after) = after.strip_prefix(quote) {
            return Some((Token::Text(text), after));
        }
        let mut chars = after.chars();
        let c = match chars.next()? {
            '\\' if !raw => match chars.next()? {
                c @ ('\\' | '\'' | '"' | '`' | '?') => c,
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                _ => return None,
            },
            c => c,
        };
        text.push(c);
        after = chars.as_str();
    }
}
