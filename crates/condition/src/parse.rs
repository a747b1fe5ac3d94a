// SPDX-License-Identifier: Apache-2.0
//! In: the text of a condition. Out: its tree, not too deep, and where each node of it stands; or the first problem.
//! Not here: which names exist (`check`).

use std::sync::Arc;

use cel::common::ast::SourceInfo;
use cel::parser::PrattParser;
use cel::{IdedExpr, ParseError, ParseErrors};

use crate::refusal::ConditionRefusal;
use crate::tokens::{Tokens, scan};
use crate::{limits, tree};

/// Where the nodes of a tree stand in the text.
#[derive(Debug)]
pub(crate) struct Places<'t> {
    tokens: Tokens<'t>,
    info: Option<Arc<SourceInfo>>,
}

pub(crate) fn parse(text: &str) -> Result<(IdedExpr, Places<'_>), ConditionRefusal> {
    let tokens = scan(text)?;
    let expression = parser().parse(text).map_err(|errors| syntax(text, &tokens, &errors))?;
    let places = Places { tokens, info: positions(text) };
    if let Some(id) = tree::too_deep(&expression) {
        tree::dismantle(expression);
        return Err(ConditionRefusal::new(
            places.token(id),
            "the condition is nested too deep here",
            format!(
                "at most {} steps may depend on each other; use `in [...]`, `all` or fewer brackets",
                limits::LEVELS
            ),
        ));
    }
    Ok((expression, places))
}

fn parser() -> PrattParser {
    PrattParser::new().enable_ident_escape_syntax(true)
}

/// The parser keeps positions only for its errors. Node ids count up from the left, so one closing bracket too many at
/// the end leaves them as they are and brings the positions out.
fn positions(text: &str) -> Option<Arc<SourceInfo>> {
    let errors = parser().parse(&format!("{text}\n)")).err()?.errors;
    match errors.as_slice() {
        [only] => only.source_info.clone(),
        _ => None,
    }
}

impl Places<'_> {
    /// The token a node was made from: the name, the operator, the dot of a member, the bracket of a call.
    pub(crate) fn token(&self, id: u64) -> (usize, usize) {
        let found = self.info.as_ref().and_then(|info| info.offset_for(id));
        match found {
            Some((start, end)) => (start as usize, end as usize),
            None => self.tokens.whole(),
        }
    }

    /// The name of a call, whether it is called on something or not.
    pub(crate) fn function(&self, id: u64, name: &str) -> (usize, usize) {
        let token = self.token(id);
        if self.tokens.text(token) == name {
            token
        } else {
            self.tokens.before(token.0).unwrap_or(token)
        }
    }

    /// The name behind a variable and a dot.
    pub(crate) fn member(&self, variable: u64) -> (usize, usize) {
        let token = self.token(variable);
        let dot = self.tokens.after(token.0).unwrap_or(token);
        self.tokens.after(dot.0).unwrap_or(token)
    }

    /// The first argument of a macro.
    pub(crate) fn first_argument(&self, id: u64) -> (usize, usize) {
        let token = self.token(id);
        self.tokens.after(token.0).unwrap_or(token)
    }
}

/// The first error of the parser in our words.
fn syntax(text: &str, tokens: &Tokens<'_>, errors: &ParseErrors) -> ConditionRefusal {
    let Some(error) = errors.errors.iter().find(|error| error.pos.0 > 0) else {
        let why =
            errors.errors.first().map_or("the condition is invalid", |error| error.msg.as_str());
        return ConditionRefusal::new(tokens.whole(), why, "shorten it");
    };
    let place = place_of(text, tokens, error);
    let found = tokens.text(place);
    if found.is_empty() {
        let (message, help) = if tokens.whole() == tokens.end() {
            ("the condition is empty", "write an expression such as `has(spec.limits)`")
        } else {
            ("the condition ends too early", "add the missing part at the end")
        };
        return ConditionRefusal::new(place, message, help);
    }
    let (message, help) = explain(found, &error.msg);
    ConditionRefusal::new(place, message, help)
}

fn place_of(text: &str, tokens: &Tokens<'_>, error: &ParseError) -> (usize, usize) {
    let known = error.source_info.as_ref().and_then(|info| info.offset_for(error.expr_id));
    let start = match known {
        Some((start, _)) => start as usize,
        None => offset_of(text, error.pos),
    };
    tokens.at(start).unwrap_or(tokens.end())
}

/// The byte offset of a line and column in bytes, both from 1.
fn offset_of(text: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line).unwrap_or(1).saturating_sub(1);
    let column = usize::try_from(column).unwrap_or(1).saturating_sub(1);
    text.split_inclusive('\n').take(line).map(str::len).sum::<usize>() + column
}

fn explain(found: &str, why: &str) -> (String, String) {
    let cannot = format!("unexpected `{found}`");
    let pair = |message: String, help: &str| (message, help.to_owned());
    if why.contains("has() macro") {
        return pair(
            "has() takes one field".to_owned(),
            "write it with a dot: `has(spec.limits)`; for other keys write `'key' in spec.limits`",
        );
    }
    if why.contains("simple name") {
        return pair(
            "the first argument of this macro must be a variable name".to_owned(),
            "write a name, as in `list.exists(item, item > 1)`",
        );
    }
    if why.contains("reserved") {
        return pair(format!("`{found}` is a reserved word"), "use another name");
    }
    if why.contains("literal") {
        return pair(
            format!("`{found}` is out of range"),
            "numbers have 64 bits; write large ones with a decimal point",
        );
    }
    if why.contains("unescape") || why.contains("code point") {
        return pair(
            "invalid escape in this string".to_owned(),
            "double the backslash, or write a raw string: r'...'",
        );
    }
    if why.contains("unsupported syntax") || why.contains("quoted identifier") {
        return pair(cannot, "optional syntax (`?`) and this quoted name are not available");
    }
    match found {
        "=" => pair(cannot, "`==` compares; there is no assignment"),
        "and" => pair(cannot, "write `&&`"),
        "or" => pair(cannot, "write `||`"),
        "not" => pair(cannot, "write `!`"),
        _ => pair(cannot, "put an operator between two values, and a value after each operator"),
    }
}
