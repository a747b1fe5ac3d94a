// SPDX-License-Identifier: Apache-2.0
//! In: a rule of a schema, and a value it is about. Out: whether the value keeps it. Not here: conditions that users
//! write (the `condition` crate), which must be bounded before they run: rules come with the product.
//!
//! A rule is evaluated over the nodes of the document, with the schema at hand for defaults. Nothing is copied. What
//! decides most often is decided without evaluating: a list of one element has no two that are the same, and rules that
//! begin with the same test share its answer.

mod eval;
mod functions;
mod lexer;
mod parse;
mod value;

use overrule_source::{NodeKind, View};

use crate::table::{NodeIx, SchemaTable};
use eval::Evaluator;
use parse::{Expr, Macro};
use value::CelOperand;

/// A parsed rule.
#[derive(Debug)]
pub(crate) struct Rule {
    root: Expr,
    /// Whether it compares the elements of a list with each other: `self.all(a, .. self.exists_one(b, ..))`.
    compares: bool,
    /// The test, if it is `test ? .. : true`.
    test: Option<Box<str>>,
}

/// The answer of the last test, by its text: rules about one value share it.
pub(crate) type LastTest<'t> = Option<(&'t str, bool)>;

/// Where a rule is broken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Kept,
    Broken,
    /// By these elements of the list it is about.
    BrokenAt(Vec<usize>),
}

/// Most elements that are named: they show the pattern.
const NAMED: usize = 8;

impl Rule {
    /// None if it is not within what can be evaluated.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let root = parse::parse(text)?;
        // An expression as text, to compare it with others.
        let written = |expr: &Expr| format!("{expr:?}");
        let compares = match &root {
            Expr::Macro(Macro::All, over, body) => {
                matches!(**over, Expr::Itself) && written(body).contains("Itself")
            }
            _ => false,
        };
        let test = match &root {
            Expr::Choose(parts) if matches!(parts.2, Expr::Bool(true)) => Some(written(&parts.0)),
            _ => None,
        };
        let test = test.map(String::into_boxed_str);
        Some(Self { root, compares, test })
    }

    /// Whether a value keeps it. A rule that ends in an error is broken, as it is for the API server.
    pub(crate) fn judge<'t>(
        &'t self,
        table: &'t SchemaTable,
        view: View<'t>,
        node: NodeIx,
        last: &mut LastTest<'t>,
    ) -> Verdict {
        let mut evaluator = Evaluator::new(table, CelOperand::Node(view, node));
        if self.compares && view.kind() == NodeKind::List && view.len() < 2 {
            debug_assert_eq!(evaluator.holds(&self.root), Ok(true), "every element is like itself");
            return Verdict::Kept;
        }
        let holds = match (&self.root, &self.test) {
            (Expr::Choose(parts), Some(test)) => {
                let answer = match last {
                    Some((text, answer)) if **test == **text => Ok(*answer),
                    _ => evaluator.holds(&parts.0),
                };
                *last = answer.ok().map(|answer| (&**test, answer));
                answer.and_then(|answer| if answer { evaluator.holds(&parts.1) } else { Ok(true) })
            }
            _ => evaluator.holds(&self.root),
        };
        if holds == Ok(true) {
            return Verdict::Kept;
        }
        let mut broken = evaluator.broken_elements(&self.root, NAMED);
        // Where elements are compared with each other, each is broken by another: the second one is enough.
        if let (true, Some(second)) = (self.compares, broken.get(1).copied()) {
            broken = vec![second];
        }
        if broken.is_empty() { Verdict::Broken } else { Verdict::BrokenAt(broken) }
    }
}
