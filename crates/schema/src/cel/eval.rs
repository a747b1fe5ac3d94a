// SPDX-License-Identifier: Apache-2.0
//! In: an expression and the value it is about. Out: its value. Not here: functions (`functions`).
//!
//! As in CEL, `&&`, `||`, `all` and `exists` have an answer where one side decides it, whatever error the other has.

use std::cmp::Ordering;

use smallvec::SmallVec;

use super::parse::{Expr, Macro, Operator};
use super::value::{Answer, CelOperand, RuleError};
use crate::table::SchemaTable;

/// What an expression is evaluated with.
pub(super) struct Evaluator<'a> {
    table: &'a SchemaTable,
    itself: CelOperand<'a>,
    /// The variables of the macros around, innermost last.
    locals: SmallVec<[CelOperand<'a>; 4]>,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(table: &'a SchemaTable, itself: CelOperand<'a>) -> Self {
        Self { table, itself, locals: SmallVec::new() }
    }

    /// The value of an expression that must be a boolean.
    pub(super) fn holds(&mut self, expr: &'a Expr) -> Result<bool, RuleError> {
        match self.value(expr)? {
            CelOperand::Bool(value) => Ok(value),
            _ => Err(RuleError),
        }
    }

    /// The elements for which a rule about all elements does not hold.
    pub(super) fn broken_elements(&mut self, rule: &'a Expr, most: usize) -> Vec<usize> {
        let mut broken = Vec::new();
        let Expr::Macro(Macro::All, over, body) = rule else { return broken };
        let Expr::Itself = **over else { return broken };
        let (table, list) = (self.table, self.itself.clone());
        let walked = list.each(table, |index, item| {
            if self.within(item, body) != Ok(true) {
                broken.push(index);
            }
            Ok(broken.len() < most)
        });
        if walked.is_ok() { broken } else { Vec::new() }
    }

    fn within(&mut self, item: CelOperand<'a>, body: &'a Expr) -> Result<bool, RuleError> {
        self.locals.push(item);
        let answer = self.holds(body);
        self.locals.pop();
        answer
    }

    fn value(&mut self, expr: &'a Expr) -> Answer<'a> {
        match expr {
            Expr::Text(text) => Ok(CelOperand::Text(text)),
            Expr::Int(number) => Ok(CelOperand::Int(*number)),
            Expr::Bool(value) => Ok(CelOperand::Bool(*value)),
            Expr::List(list) => {
                let values: Result<Vec<_>, _> = list.iter().map(|item| self.value(item)).collect();
                Ok(CelOperand::List(values?.into()))
            }
            Expr::Itself => Ok(self.itself.clone()),
            Expr::Variable(place) => self.locals.get(*place).cloned().ok_or(RuleError),
            Expr::Field(of, name) => {
                let of = self.value(of)?;
                of.field(name, self.table).unwrap_or(Err(RuleError))
            }
            Expr::Has(of, name) => {
                let of = self.value(of)?;
                match of.field(name, self.table) {
                    Some(Err(error)) => Err(error),
                    found => Ok(CelOperand::Bool(found.is_some())),
                }
            }
            Expr::Index(of, at) => {
                let CelOperand::Int(at) = self.value(at)? else { return Err(RuleError) };
                let at = usize::try_from(at).map_err(|_negative| RuleError)?;
                self.value(of)?.element(at, self.table)
            }
            Expr::Not(of) => Ok(CelOperand::Bool(!self.holds(of)?)),
            Expr::Both(left, operator, right) => self.both(left, *operator, right),
            Expr::Choose(parts) => {
                let (test, then, otherwise) = &**parts;
                if self.holds(test)? { self.value(then) } else { self.value(otherwise) }
            }
            Expr::Matches(of, pattern) => match self.value(of)? {
                CelOperand::Text(text) => Ok(CelOperand::Bool(pattern.is_match(text))),
                _ => Err(RuleError),
            },
            Expr::Call(function, arguments) => {
                let values: Result<SmallVec<[_; 2]>, _> =
                    arguments.iter().map(|argument| self.value(argument)).collect();
                function.call(&values?)
            }
            Expr::Macro(named, over, body) => {
                let over = self.value(over)?;
                self.over(*named, &over, body)
            }
        }
    }

    fn both(&mut self, left: &'a Expr, operator: Operator, right: &'a Expr) -> Answer<'a> {
        let deciding = match operator {
            Operator::And => false,
            Operator::Or => true,
            _ => return self.compare(left, operator, right),
        };
        let (first, second) = match self.holds(left) {
            Ok(value) if value == deciding => return Ok(CelOperand::Bool(deciding)),
            first => (first, self.holds(right)),
        };
        match (first, second) {
            (_, Ok(value)) if value == deciding => Ok(CelOperand::Bool(deciding)),
            (Ok(_), Ok(_)) => Ok(CelOperand::Bool(!deciding)),
            _ => Err(RuleError),
        }
    }

    fn compare(&mut self, left: &'a Expr, operator: Operator, right: &'a Expr) -> Answer<'a> {
        if let (Operator::In, Expr::List(list)) = (operator, right) {
            let left = self.value(left)?;
            for item in list {
                if left.equals(&self.value(item)?)? {
                    return Ok(CelOperand::Bool(true));
                }
            }
            return Ok(CelOperand::Bool(false));
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        if operator == Operator::In {
            let mut found = false;
            right.each(self.table, |_, item| {
                found = left.equals(&item)?;
                Ok(!found)
            })?;
            return Ok(CelOperand::Bool(found));
        }
        let order = || match (&left, &right) {
            (CelOperand::Int(a), CelOperand::Int(b))
            | (CelOperand::Duration(a), CelOperand::Duration(b)) => Ok(a.cmp(b)),
            _ => Err(RuleError),
        };
        let answer = match operator {
            Operator::Equal => left.equals(&right)?,
            Operator::NotEqual => !left.equals(&right)?,
            Operator::Less => order()? == Ordering::Less,
            Operator::LessOrEqual => order()? != Ordering::Greater,
            Operator::Greater => order()? == Ordering::Greater,
            Operator::GreaterOrEqual => order()? != Ordering::Less,
            Operator::Add => {
                let (CelOperand::Int(a), CelOperand::Int(b)) = (&left, &right) else {
                    return Err(RuleError);
                };
                return a.checked_add(*b).map(CelOperand::Int).ok_or(RuleError);
            }
            Operator::In | Operator::And | Operator::Or => return Err(RuleError),
        };
        Ok(CelOperand::Bool(answer))
    }

    fn over(&mut self, named: Macro, over: &CelOperand<'a>, body: &'a Expr) -> Answer<'a> {
        let table = self.table;
        let (mut hits, mut failed) = (0, false);
        let mut kept = Vec::new();
        over.each(table, |_, item| {
            let answer = self.within(item.clone(), body);
            match (named, answer) {
                (Macro::All, Ok(false)) | (Macro::Exists, Ok(true)) => {
                    hits += 1;
                    return Ok(false);
                }
                (Macro::All | Macro::Exists, Err(_)) => failed = true,
                (Macro::All | Macro::Exists, Ok(_)) => {}
                (Macro::ExistsOne | Macro::Filter, answer) => {
                    if answer? {
                        hits += 1;
                        if named == Macro::Filter {
                            kept.push(item);
                        }
                    }
                }
            }
            Ok(true)
        })?;
        match named {
            Macro::Filter => Ok(CelOperand::List(kept.into())),
            Macro::ExistsOne => Ok(CelOperand::Bool(hits == 1)),
            _ if failed && hits == 0 => Err(RuleError),
            Macro::All => Ok(CelOperand::Bool(hits == 0)),
            Macro::Exists => Ok(CelOperand::Bool(hits > 0)),
        }
    }
}
