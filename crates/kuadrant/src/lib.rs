// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot and the Gateway API topology. Out: the resolution of Kuadrant's policies under one of three profiles,
//! what a controller would say about them, and findings. Not here: the topology itself, text for people.
//!
//! ```text
//! parse        policies as written: blocks, rules, conditions, removal lists, what the CRDs refuse     policy/
//! resolve      attach, rank, walk, fold: one Resolution per profile                                    resolve/
//! findings     what a person should know about it                                                      findings/
//! status       the conditions an operator writes on policies and targets                               status/
//! ```

pub mod codes;
mod findings;
pub mod kinds;
pub mod policy;
mod profile;
pub mod reasons;
mod resolve;
pub mod status;

pub use policy::{Policies, parse};
pub use profile::Profile;
pub use resolve::{KEYS, Options, Resolved, World, resolve, strategy_name};

/// Whether there is anything to resolve: a policy, or a kind of the family that is asked for.
pub fn concerns(policies: &Policies, asked: &[String]) -> bool {
    let is_ours = |kind: &String| kinds::ALL.iter().any(|k| k.kind.eq_ignore_ascii_case(kind));
    !policies.list.is_empty() || asked.iter().any(is_ours)
}

/// The family's name.
pub const FAMILY: &str = "kuadrant";
