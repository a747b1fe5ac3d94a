// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot and the Gateway API topology. Out: the resolution of kgateway's policies under one of two profiles,
//! what the controller would say about them, and findings. Not here: the topology itself, text for people.
//!
//! ```text
//! parse        policies as written, their weights, the extensions they name, annotations of routes      policy/
//! delegation   which rules hand over to which routes, and by which matches                              delegation/
//! resolve      attach, rank, walk, fold: levels of a chain, tiers of a path, once per distinct stack    resolve/
//! findings     what a person should know about it                                                       findings/
//! status       the conditions the controller writes on policies                                         status/
//! ```

pub mod codes;
pub mod delegation;
mod family;
mod findings;
pub mod kinds;
pub mod policy;
mod profile;
pub mod reasons;
mod resolve;
mod settings;
pub mod status;

pub use family::{CONTROLLER, FAMILY, Kgateway, Matches, World};
pub use overrule_family::{ResolveOptions, Resolved};
pub use policy::{Policies, parse};
pub use profile::{InheritedPriority, Profile};
pub use resolve::{KEYS, resolve};
pub use settings::{ReferenceGrantMode, Settings, UnitMerge};
