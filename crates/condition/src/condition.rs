// SPDX-License-Identifier: Apache-2.0
//! In: the text of a condition. Out: the checked condition and its answers. Not here: each step, which has its own module.

use cel::IdedExpr;

use crate::plan::Program;
use crate::project::Projection;
use crate::reads::ReadMember;
use crate::refusal::ConditionRefusal;
use crate::value::{CelValue, Data};
use crate::{check, cost, evaluate, parse, plan, project, reads, tree};

/// A condition that was accepted: it is well formed, uses known names only and stays within its bounds.
#[derive(Debug, Clone)]
pub struct CelCondition {
    pub(crate) expression: IdedExpr,
    pub(crate) reads: Vec<ReadMember>,
    pub(crate) plan: Program,
    pub(crate) projection: Projection,
}

/// What became of a condition over one policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The answer.
    pub verdict: ConditionVerdict,
    /// Every path of [`CelCondition::reads`] as dotted text, and the value there; none if it is missing.
    pub saw: Vec<(String, Option<CelValue>)>,
}

/// The answer of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionVerdict {
    /// It evaluates to true.
    Met,
    /// It evaluates to false.
    NotMet,
    /// It has no answer, and why: an error, a result that is not a bool, or too much work.
    Failed(String),
}

impl CelCondition {
    /// Reads and checks a condition.
    ///
    /// # Errors
    /// The first problem of the text, with its place: too long, not CEL, too deep, an unknown variable or function, or
    /// too much work whatever the data.
    pub fn parse(text: &str) -> Result<Self, ConditionRefusal> {
        let (mut expression, places) = parse::parse(text)?;
        check::names(&expression, &places)?;
        check::prepare(&mut expression);
        let reads = reads::collect(&expression);
        let plan = plan::plan(&expression, &reads);
        cost::at_load(&plan, reads.len(), &places)?;
        let projection = project::plan(&reads, tree::mentions_self(&expression));
        Ok(Self { expression, reads, plan, projection })
    }

    /// The members it reads, in the order of their first mention.
    pub fn reads(&self) -> &[ReadMember] {
        &self.reads
    }

    /// Answers the condition over one policy. Never panics, and stays within a bounded amount of work.
    pub fn evaluate(&self, data: &dyn Data) -> Evaluation {
        evaluate::evaluate(self, data)
    }
}
