// SPDX-License-Identifier: Apache-2.0
//! In: access rules of one inbound, in list order, and requests. Out: decisions, with the deciding rule and the reason,
//! as data. Not here: reading policies, Envoy, words.

mod caller;
pub mod client_set;
mod compiled;
mod conditions;
mod decision;
mod facts;
mod first;
pub mod naive;
pub mod path;
mod prefixes;
mod rule;
mod ruling;
pub mod spelling;
pub mod spiffe;
mod tree;
mod wire;

pub use caller::{Caller, Certificate, ClientTags};
pub use compiled::Compiled;
pub use decision::{Answer, Decision, Verdict};
pub use rule::{AccessRule, Effect, Identity, Match, PathMatch, Request, RuleSource};
pub use ruling::{Because, Clause, Enforcement, Ruling};
pub use wire::{Http, received, target};
