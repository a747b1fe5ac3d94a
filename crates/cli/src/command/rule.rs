// SPDX-License-Identifier: Apache-2.0
//! `overrule rule`: the documentation of a code.

use overrule::model::nearest;
use overrule_ask::{AskError, AskResult, Exit, Sink};

use crate::args::Rule;
use crate::output::Out;
use crate::rules;

pub fn run(asked: &Rule, out: &mut Out) -> AskResult {
    let Some(code) = &asked.code else {
        for code in rules::codes() {
            out.line(&format!("{}  {:8} {}", code.id, code.severity.word(), code.title))?;
        }
        return Ok(Exit::Fine);
    };
    let wanted = code.to_ascii_uppercase();
    match rules::page(&wanted) {
        Some(page) => {
            out.result(page)?;
            Ok(Exit::Fine)
        }
        None => {
            let known = rules::codes();
            let near = nearest(&wanted, known.iter().map(|c| c.id), 3);
            let hint = if near.is_empty() {
                "`overrule rule` lists all codes".to_owned()
            } else {
                format!("did you mean {}?", near.join(" or "))
            };
            Err(AskError::NotFound(format!("unknown code `{code}`; {hint}")))
        }
    }
}
