// SPDX-License-Identifier: Apache-2.0
//! In: a rule of a schema, and a value it is about. Out: whether the value keeps it. Not here: conditions that users
//! write (the `condition` crate), which must be bounded before they run: rules come with the product.
//!
//! A rule is evaluated over the nodes of the document, with the schema at hand for defaults. Nothing is copied, so
//! that a hundred thousand routes with a dozen rules each take a fraction of the time of reading them.

mod eval;
mod functions;
mod lexer;
mod parse;
mod value;

use overrule_source::View;

use crate::table::{NodeIx, SchemaTable};
use eval::Evaluator;
use value::CelOperand;

/// A parsed rule.
#[derive(Debug)]
pub(crate) struct Rule {
    root: parse::Expr,
    /// Whether it is about all elements, each compared with the others.
    compares: bool,
}

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
        // `self.all(x, ... self.exists_one(...))`
        parse::parse(text).map(|root| Self { root, compares: text.matches("self.").count() > 1 })
    }

    /// Whether a value keeps it. A rule that ends in an error is broken, as it is for the API server.
    pub(crate) fn judge(&self, table: &SchemaTable, view: View<'_>, node: NodeIx) -> Verdict {
        let mut evaluator = Evaluator::new(table, CelOperand::Node(view, node));
        if evaluator.holds(&self.root) == Ok(true) {
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
