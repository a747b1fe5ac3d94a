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
mod family;
mod findings;
pub mod kinds;
pub mod policy;
mod profile;
pub mod reasons;
mod resolve;
pub mod status;

pub use family::{FAMILY, Kuadrant, World};
pub use overrule_family::{ResolveOptions, Resolved};
pub use policy::{Policies, parse};
pub use profile::Profile;
pub use resolve::{KEYS, resolve};
