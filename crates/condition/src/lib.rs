// SPDX-License-Identifier: Apache-2.0
//! In: the text of a CEL condition, and later the policy it asks about. Out: a checked condition, what it reads, and
//! whether it is met. Not here: which policies carry conditions, positions in files (`overrule_source::locate`).
//!
//! The interpreter has no bounds of its own and ends the process on hostile input, so a condition passes three gates
//! before it runs: its text and tree are bounded while loading, it may use known names only, and with the real data
//! at hand its work is bounded from above before the first step.
//!
//! ```
//! use overrule_condition::{CelCondition, Data, CelValue, ConditionVerdict};
//!
//! struct Policy;
//! impl Data for Policy {
//!     fn value(&self, path: &[&str]) -> Option<CelValue> {
//!         (path == ["spec", "limits", "a", "max"]).then_some(CelValue::Int(80))
//!     }
//! }
//!
//! let condition = CelCondition::parse("spec.limits.a.max > 50").unwrap();
//! let evaluation = condition.evaluate(&Policy);
//! assert_eq!(evaluation.verdict, ConditionVerdict::Met);
//! assert_eq!(evaluation.saw, [("spec.limits.a.max".to_owned(), Some(CelValue::Int(80)))]);
//!
//! let refusal = CelCondition::parse("spec.limits.size() > matches(kind)").unwrap_err();
//! assert_eq!((refusal.start, refusal.end), (21, 28));
//! ```

mod check;
mod condition;
mod cost;
mod evaluate;
mod failure;
mod limits;
mod names;
mod parse;
mod plan;
mod project;
mod reads;
mod refusal;
mod tokens;
mod tree;
mod value;

pub use condition::{CelCondition, ConditionVerdict, Evaluation};
pub use reads::ReadMember;
pub use refusal::ConditionRefusal;
pub use value::{CelValue, Data, ValueShape};
