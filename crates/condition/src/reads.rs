// SPDX-License-Identifier: Apache-2.0
//! In: a checked tree. Out: the members it reads, and which of them it tests for first. Not here: their values (`project`).

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr, operators};

use crate::check::text_of;
use crate::names::VARIABLES;
use crate::tree::children;

/// One member of the policy that a condition reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadMember {
    /// The names on the way, from `kind`, `metadata` or `spec` on; empty for `self` as a whole. The path ends where it
    /// stops being fixed: at an index, at a macro, or where the value is passed on. All below its end may be read.
    pub path: Vec<Box<str>>,
    /// Whether the condition asks if the member exists wherever it matters.
    ///
    /// An approximation that suits policies: each mention stands inside of `has()`, or beside a `has()` or `in` that
    /// must be true for the mention to count. The test may name the member itself, a longer path, or an entry of a
    /// section on its path (three names, as in `spec.limits.a`), because the schema then requires what is below the
    /// entry. The parents of what `has()` names are taken to exist.
    pub guarded: bool,
}

impl ReadMember {
    /// The path as it is written in CEL.
    pub(crate) fn dotted(&self) -> String {
        let mut names = self.path.iter();
        let mut out = String::from(names.next().map_or("self", |first| first));
        for name in names {
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && !name.is_empty();
            if plain { out.extend([".", name]) } else { out.push_str(&format!("[{name:?}]")) }
        }
        out
    }
}

type Path<'a> = Vec<&'a str>;

pub(crate) fn collect(root: &IdedExpr) -> Vec<ReadMember> {
    let mut reader = Reader { reads: Vec::new(), known: Vec::new() };
    reader.node(root);
    reader.reads
}

/// The path of a node, if it is a fixed one.
pub(crate) fn path_of(node: &IdedExpr) -> Option<Path<'_>> {
    match &node.expr {
        Expr::Ident(name) if name == "self" => Some(Vec::new()),
        Expr::Ident(name) if VARIABLES.contains(&name.as_str()) => Some(vec![name]),
        Expr::Select(select) if !select.test => extend(path_of(&select.operand)?, &select.field),
        Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
            [of, key] => extend(path_of(of)?, text_of(key)?),
            _ => None,
        },
        _ => None,
    }
}

/// The path a node tests for with `has()`.
pub(crate) fn tested(node: &IdedExpr) -> Option<Path<'_>> {
    match &node.expr {
        Expr::Select(select) if select.test => extend(path_of(&select.operand)?, &select.field),
        _ => None,
    }
}

fn extend<'a>(mut path: Path<'a>, name: &'a str) -> Option<Path<'a>> {
    path.push(name);
    Some(path)
}

struct Reader<'a> {
    reads: Vec<ReadMember>,
    /// The paths that exist wherever the result of the current node matters.
    known: Vec<Path<'a>>,
}

impl<'a> Reader<'a> {
    fn node(&mut self, node: &'a IdedExpr) {
        if let Some(path) = path_of(node) {
            let guarded = self.known.iter().any(|known| covers(known, &path));
            return self.record(&path, guarded);
        }
        if let Some(path) = tested(node) {
            return self.record(&path, true);
        }
        match &node.expr {
            Expr::Call(call) => self.call(call),
            other => children(other).into_iter().for_each(|child| self.node(child)),
        }
    }

    /// `a && b` is false if either is false, even if the other fails. So an error of one side matters only where the
    /// other side is true, and the same holds for `||` with false.
    fn call(&mut self, call: &'a CallExpr) {
        match (call.func_name.as_str(), call.args.as_slice()) {
            (operators::LOGICAL_AND, [left, right]) => {
                self.under(facts(right, true), left);
                self.under(facts(left, true), right);
            }
            (operators::LOGICAL_OR, [left, right]) => {
                self.under(facts(right, false), left);
                self.under(facts(left, false), right);
            }
            (operators::CONDITIONAL, [test, yes, no]) => {
                self.node(test);
                self.under(facts(test, true), yes);
                self.under(facts(test, false), no);
            }
            _ => {
                let all = call.target.as_deref().into_iter().chain(&call.args);
                all.for_each(|child| self.node(child));
            }
        }
    }

    fn under(&mut self, facts: Vec<Path<'a>>, node: &'a IdedExpr) {
        let before = self.known.len();
        self.known.extend(facts);
        self.node(node);
        self.known.truncate(before);
    }

    fn record(&mut self, path: &[&str], guarded: bool) {
        match self.reads.iter_mut().find(|read| same(&read.path, path)) {
            Some(read) => read.guarded &= guarded,
            None => {
                let path = path.iter().map(|name| Box::from(*name)).collect();
                self.reads.push(ReadMember { path, guarded });
            }
        }
    }
}

/// Which of the reads has a path.
pub(crate) fn index_of(reads: &[ReadMember], path: &[&str]) -> Option<usize> {
    reads.iter().position(|read| same(&read.path, path))
}

fn same(path: &[Box<str>], other: &[&str]) -> bool {
    path.len() == other.len() && path.iter().zip(other).all(|(a, b)| **a == **b)
}

/// An entry of a section: `spec.limits.a`.
const ENTRY: usize = 3;

fn covers(known: &[&str], path: &[&str]) -> bool {
    known.starts_with(path) || (known.len() >= ENTRY && path.starts_with(known))
}

/// The paths that must exist if a node evaluates to `truth`.
fn facts(node: &IdedExpr, truth: bool) -> Vec<Path<'_>> {
    if let Some(path) = tested(node) {
        return if truth { vec![path] } else { Vec::new() };
    }
    let Expr::Call(call) = &node.expr else { return Vec::new() };
    match (call.func_name.as_str(), call.args.as_slice(), truth) {
        (operators::IN, [key, of], true) => {
            let path = text_of(key).and_then(|key| extend(path_of(of)?, key));
            path.into_iter().collect()
        }
        (operators::LOGICAL_NOT, [inner], _) => facts(inner, !truth),
        (operators::LOGICAL_AND, [left, right], true)
        | (operators::LOGICAL_OR, [left, right], false) => {
            let mut both = facts(left, truth);
            both.extend(facts(right, truth));
            both
        }
        (operators::LOGICAL_AND | operators::LOGICAL_OR, [left, right], _) => {
            let right = facts(right, truth);
            facts(left, truth).into_iter().filter(|path| right.contains(path)).collect()
        }
        _ => Vec::new(),
    }
}
