// SPDX-License-Identifier: Apache-2.0
//! In: a snapshot and the Gateway API topology. Out: the resolution of Envoy Gateway's policies under one of two
//! profiles, what the controller would say about them, and findings. Not here: the topology itself, text for people.
//!
//! ```text
//! policy      policies as written                                                 policy.rs
//! fabric      the part of the topology that the controller serves                 fabric.rs
//! plan        who claims what, statuses: as the controller goes through them      plan/
//! translate   what the controller cannot translate                                translate/
//! resolve     rows, their candidates, fold: once per distinct ladder              resolve/
//! findings    what a person should know about it                                  findings/
//! ```

pub mod codes;
mod fabric;
mod family;
mod findings;
pub mod kinds;
mod merge;
mod plan;
pub mod policy;
mod profile;
pub mod reasons;
mod resolve;
mod settings;
mod status;
mod translate;

pub use fabric::CONTROLLER;
pub use family::{EnvoyGateway, FAMILY, World};
pub use overrule_family::{ResolveOptions, Resolved};
pub use policy::{Policies, parse};
pub use profile::{DIFFERENCES, Profile, ProfileDifference};
pub use resolve::{KEYS, Routing, resolve};
pub use settings::Settings;
