// SPDX-License-Identifier: Apache-2.0
//! In: a checked tree. Out: the same tree reduced to what its work and the size of its values depend on.
//! Not here: the numbers (`cost`).

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};

use crate::limits::BYTES_PER_UNIT;
use crate::names::{IN_ORDER, RESULT};
use crate::reads::{ReadMember, index_of, path_of, tested};

/// The plan of a whole condition.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) root: Plan,
    /// Whether the condition itself makes numbers that are not whole.
    pub(crate) fractions: bool,
}

/// How an expression spends work.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// A literal of this size.
    Literal(u64),
    /// A name with members. Each of its segments is looked up in each scope.
    Name { from: Origin, lookups: u64 },
    /// One member or element of a value.
    Part { of: Box<Plan>, by: Box<Plan>, fixed: bool },
    /// Both values in one: `+`.
    Join { id: u64, parts: Vec<Plan> },
    /// A small answer that may look at all of its parts: comparisons, `in`, functions on text.
    Look { id: u64, parts: Vec<Plan> },
    /// A small answer at constant cost: logic.
    Glance(Vec<Plan>),
    /// One of the parts, whichever is larger.
    Choose(Vec<Plan>),
    /// A list or map made of its parts.
    Gather { id: u64, parts: Vec<Plan>, length: u64 },
    /// Text made from a value.
    Text(Box<Plan>),
    /// A macro over a list or the keys of a map.
    Loop { id: u64, over: Box<Plan>, body: Vec<Plan>, yields: Yields },
}

/// Where the value of a name comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// A small constant: a type, the running result of a macro, the answer of `has()`.
    Small,
    /// The value at a read path.
    Read(usize),
    /// The variable of the n-th macro around, from the outside; or something below it.
    Local(usize),
}

/// What a macro gives.
#[derive(Debug, Clone)]
pub(crate) enum Yields {
    /// A bool: `exists`, `all`, `exists_one`.
    Answer,
    /// Some of the elements: `filter`.
    Some,
    /// One of these per element: `map`.
    Each(Box<Plan>),
}

pub(crate) fn plan(root: &IdedExpr, reads: &[ReadMember]) -> Program {
    let mut planner = Planner { reads, locals: Vec::new(), fractions: false };
    let root = planner.node(root);
    Program { root, fractions: planner.fractions }
}

struct Planner<'a> {
    reads: &'a [ReadMember],
    locals: Vec<&'a str>,
    fractions: bool,
}

impl<'a> Planner<'a> {
    fn node(&mut self, node: &'a IdedExpr) -> Plan {
        if let Some(path) = path_of(node) {
            let read = index_of(self.reads, &path);
            return self.name(read.map_or(Origin::Small, Origin::Read), path.len());
        }
        if let Some(path) = tested(node) {
            return self.name(Origin::Small, path.len());
        }
        match &node.expr {
            Expr::Unspecified | Expr::Struct(_) => Plan::Literal(1),
            Expr::Literal(literal) => {
                self.fractions |= matches!(literal, LiteralValue::Double(_));
                Plan::Literal(literal_size(literal))
            }
            Expr::Ident(name) => self.name(self.local(name), 1),
            Expr::Select(select) => match local_path(node) {
                Some((name, segments)) => self.name(self.local(name), segments),
                None => self.part(&select.operand, None),
            },
            Expr::List(list) => Plan::Gather {
                id: node.id,
                parts: list.elements.iter().map(|part| self.node(part)).collect(),
                length: count(list.elements.len()),
            },
            Expr::Map(map) => {
                let mut parts = Vec::new();
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        parts.extend([self.node(&entry.key), self.node(&entry.value)]);
                    }
                }
                Plan::Gather { id: node.id, parts, length: count(map.entries.len()) }
            }
            Expr::Call(call) => self.call(node.id, call),
            Expr::Comprehension(all) => self.comprehension(node.id, all),
        }
    }

    fn call(&mut self, id: u64, call: &'a CallExpr) -> Plan {
        if let (operators::INDEX, [of, by]) = (call.func_name.as_str(), call.args.as_slice()) {
            return self.part(of, Some(by));
        }
        let all = call.target.as_deref().into_iter().chain(&call.args);
        let mut parts: Vec<Plan> = all.map(|part| self.node(part)).collect();
        self.fractions |= call.func_name == "double";
        match call.func_name.as_str() {
            operators::ADD => Plan::Join { id, parts },
            operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::NOT_STRICTLY_FALSE
            | "type" => Plan::Glance(parts),
            operators::CONDITIONAL | "dyn" => Plan::Choose(parts),
            "string" => Plan::Text(Box::new(parts.pop().unwrap_or(Plan::Literal(1)))),
            // The keys of a map are part of it; going over them is counted by the macro.
            IN_ORDER => parts.pop().unwrap_or(Plan::Literal(1)),
            _ => Plan::Look { id, parts },
        }
    }

    fn part(&mut self, of: &'a IdedExpr, by: Option<&'a IdedExpr>) -> Plan {
        let fixed = by.is_none_or(|by| {
            matches!(by.expr, Expr::Literal(LiteralValue::Int(_) | LiteralValue::String(_)))
        });
        let of = Box::new(self.node(of));
        let by = Box::new(by.map_or(Plan::Literal(1), |by| self.node(by)));
        Plan::Part { of, by, fixed }
    }

    fn comprehension(&mut self, id: u64, all: &'a ComprehensionExpr) -> Plan {
        let over = Box::new(self.node(&all.iter_range));
        self.locals.push(&all.iter_var);
        let (body, yields) = match collected(all) {
            Some((guard, item)) => {
                let body = guard.into_iter().map(|guard| self.node(guard)).collect();
                let same = matches!(&item.expr, Expr::Ident(name) if *name == all.iter_var);
                let yields =
                    if same { Yields::Some } else { Yields::Each(Box::new(self.node(item))) };
                (body, yields)
            }
            None => {
                let parts = [&all.accu_init, &all.loop_cond, &all.loop_step, &all.result];
                (parts.map(|part| self.node(part)).into(), Yields::Answer)
            }
        };
        self.locals.pop();
        Plan::Loop { id, over, body, yields }
    }

    fn name(&self, from: Origin, segments: usize) -> Plan {
        Plan::Name { from, lookups: count(segments.max(1) * (self.locals.len() + 1)) }
    }

    fn local(&self, name: &str) -> Origin {
        match self.locals.iter().rposition(|local| *local == name) {
            Some(depth) if name != RESULT => Origin::Local(depth),
            _ => Origin::Small,
        }
    }
}

/// The variable and the number of segments of `item.a.b`.
fn local_path(node: &IdedExpr) -> Option<(&str, usize)> {
    match &node.expr {
        Expr::Ident(name) => Some((name, 1)),
        Expr::Select(select) => {
            let (name, segments) = local_path(&select.operand)?;
            Some((name, segments + 1))
        }
        _ => None,
    }
}

/// The test and the element of `filter` and `map`: their step is `@result + [element]`, or `test ? that : @result`.
fn collected(all: &ComprehensionExpr) -> Option<(Option<&IdedExpr>, &IdedExpr)> {
    if !matches!(all.accu_init.expr, Expr::List(_)) {
        return None;
    }
    match arguments(&all.loop_step, operators::CONDITIONAL) {
        Some([guard, step, _]) => Some((Some(guard), appended(step)?)),
        _ => Some((None, appended(&all.loop_step)?)),
    }
}

fn appended(step: &IdedExpr) -> Option<&IdedExpr> {
    let [_, list] = arguments(step, operators::ADD)? else { return None };
    match &list.expr {
        Expr::List(list) => list.elements.first(),
        _ => None,
    }
}

fn arguments<'a>(node: &'a IdedExpr, function: &str) -> Option<&'a [IdedExpr]> {
    match &node.expr {
        Expr::Call(call) if call.func_name == function => Some(&call.args),
        _ => None,
    }
}

fn literal_size(literal: &LiteralValue) -> u64 {
    let bytes = match literal {
        LiteralValue::String(text) => text.inner().len(),
        LiteralValue::Bytes(bytes) => bytes.inner().len(),
        _ => 0,
    };
    1 + count(bytes) / BYTES_PER_UNIT
}

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
