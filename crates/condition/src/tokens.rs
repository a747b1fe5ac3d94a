// SPDX-License-Identifier: Apache-2.0
//! In: the text of a condition. Out: its tokens with their places, or the first thing that cannot be a token or a pair
//! of brackets. Not here: grammar (`parse`).
//!
//! Looking at the tokens first keeps the parser, which recurses, away from deep texts, and finds the open bracket that
//! was never closed where the parser would only see the end.

use cel::parser::pratt_parser::{Lexer, Token, TokenKind};

use crate::limits;
use crate::refusal::ConditionRefusal;

/// The tokens of a text, without space and comments.
#[derive(Debug)]
pub(crate) struct Tokens<'t> {
    text: &'t str,
    all: Vec<Token>,
}

pub(crate) fn scan(text: &str) -> Result<Tokens<'_>, ConditionRefusal> {
    if text.len() > limits::TEXT_BYTES {
        return Err(too_long(text));
    }
    let mut lexer = Lexer::new(text);
    let mut all = Vec::new();
    loop {
        let token = lexer.lex();
        match token.kind {
            TokenKind::TokEnd => break,
            TokenKind::TokWhitespace | TokenKind::TokComment => {}
            TokenKind::TokError => {
                let why = lexer.get_error().map_or("", |error| error.message.as_str());
                return Err(not_a_token(text, token, why));
            }
            _ => all.push(token),
        }
    }
    let tokens = Tokens { text, all };
    tokens.brackets()?;
    tokens.ternaries()?;
    Ok(tokens)
}

impl<'t> Tokens<'t> {
    /// The text of a range; empty if it is not one.
    pub(crate) fn text(&self, (start, end): (usize, usize)) -> &'t str {
        self.text.get(start..end).unwrap_or("")
    }

    /// The range of everything but surrounding space.
    pub(crate) fn whole(&self) -> (usize, usize) {
        let start = self.all.first().map_or(0, |token| token.start);
        (start, self.all.last().map_or(self.text.len(), |token| token.end))
    }

    /// Where the text ends: the place of what is missing there.
    pub(crate) fn end(&self) -> (usize, usize) {
        let end = self.all.last().map_or(self.text.len(), |token| token.end);
        (end, end)
    }

    /// The token that starts at an offset.
    pub(crate) fn at(&self, start: usize) -> Option<(usize, usize)> {
        self.find(start).and_then(|i| self.all.get(i)).map(range)
    }

    /// The token before the one that starts at an offset.
    pub(crate) fn before(&self, start: usize) -> Option<(usize, usize)> {
        self.find(start)?.checked_sub(1).and_then(|i| self.all.get(i)).map(range)
    }

    /// The token after the one that starts at an offset.
    pub(crate) fn after(&self, start: usize) -> Option<(usize, usize)> {
        self.all.get(self.find(start)? + 1).map(range)
    }

    fn find(&self, start: usize) -> Option<usize> {
        self.all.binary_search_by_key(&start, |token| token.start).ok()
    }

    fn brackets(&self) -> Result<(), ConditionRefusal> {
        let mut open: Vec<&Token> = Vec::new();
        for token in &self.all {
            let Some(opening) = opening_of(token.kind) else {
                if closing_of(token.kind).is_some() {
                    open.push(token);
                }
                if open.len() > limits::BRACKETS {
                    return Err(ConditionRefusal::new(
                        range(token),
                        format!("brackets nest deeper than {}", limits::BRACKETS),
                        "remove brackets that are not needed, or split the condition",
                    ));
                }
                continue;
            };
            let found = self.text(range(token));
            match open.pop() {
                Some(last) if last.kind == opening => {}
                Some(last) => {
                    let expected = closing_of(last.kind).unwrap_or("");
                    return Err(ConditionRefusal::new(
                        range(token),
                        format!("`{found}` does not close `{}`", self.text(range(last))),
                        format!("write `{expected}` before it, or remove it"),
                    ));
                }
                None => {
                    return Err(ConditionRefusal::new(
                        range(token),
                        format!("`{found}` has no opening bracket"),
                        format!("remove it, or add `{}` where it should open", opening.as_str()),
                    ));
                }
            }
        }
        match open.pop() {
            None => Ok(()),
            Some(last) => Err(ConditionRefusal::new(
                range(last),
                format!("`{}` is never closed", self.text(range(last))),
                format!("add `{}`", closing_of(last.kind).unwrap_or("")),
            )),
        }
    }

    fn ternaries(&self) -> Result<(), ConditionRefusal> {
        let mut marks = self.all.iter().filter(|token| token.kind == TokenKind::TokQuestion);
        match marks.nth(limits::TERNARIES) {
            None => Ok(()),
            Some(token) => Err(ConditionRefusal::new(
                range(token),
                format!("more than {} uses of `?`", limits::TERNARIES),
                "use `&&` and `||`, or look the value up in a map",
            )),
        }
    }
}

fn range(token: &Token) -> (usize, usize) {
    (token.start, token.end)
}

fn opening_of(closing: TokenKind) -> Option<TokenKind> {
    match closing {
        TokenKind::TokRightParen => Some(TokenKind::TokLeftParen),
        TokenKind::TokRightBracket => Some(TokenKind::TokLeftBracket),
        TokenKind::TokRightBrace => Some(TokenKind::TokLeftBrace),
        _ => None,
    }
}

fn closing_of(opening: TokenKind) -> Option<&'static str> {
    match opening {
        TokenKind::TokLeftParen => Some(")"),
        TokenKind::TokLeftBracket => Some("]"),
        TokenKind::TokLeftBrace => Some("}"),
        _ => None,
    }
}

fn too_long(text: &str) -> ConditionRefusal {
    let mut start = limits::TEXT_BYTES;
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    ConditionRefusal::new(
        (start, text.len()),
        format!("the condition has {} bytes, more than {}", text.len(), limits::TEXT_BYTES),
        "shorten it, or split the policy",
    )
}

fn not_a_token(text: &str, token: Token, why: &str) -> ConditionRefusal {
    let found = text.get(token.start..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
    if why.starts_with("unterminated") {
        let what = match (found, why.contains("identifier")) {
            (_, true) => "name",
            ('b' | 'B', _) => "byte string",
            _ => "string",
        };
        let quote = text.get(token.start..).and_then(|rest| rest.chars().find(|c| is_quote(*c)));
        return ConditionRefusal::new(
            (token.start, token.start + found.len_utf8()),
            format!("the {what} that starts here is never closed"),
            format!("close it with `{}`", quote.unwrap_or('"')),
        );
    }
    match found {
        '&' | '|' => ConditionRefusal::new(
            (token.start, token.end),
            format!("`{found}` is not an operator"),
            format!("write `{found}{found}`"),
        ),
        '0'..='9' | '.' => ConditionRefusal::new(
            (token.start, token.end),
            format!("this is not a number: {why}"),
            "write a number such as `10`, `0x1F`, `10u` or `1.5`",
        ),
        _ => ConditionRefusal::new(
            (token.start, token.start + found.len_utf8()),
            format!("`{}` has no meaning in CEL", found.escape_debug()),
            "remove it, or put it in quotes if it belongs to a string",
        ),
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`')
}
