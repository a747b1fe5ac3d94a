// SPDX-License-Identifier: Apache-2.0
//! In: access rules of one inbound. Out: what Envoy needs to enforce them, as its own messages in JSON, and what they
//! cannot say. Not here: reading policies, deciding, running Envoy.
//!
//! ```text
//!  rules ──────► filters ─► Projection ─┬─► apply      into a listener someone else made
//!  subset rules ► legacy ─►             └─► bootstrap  all that Envoy needs to run
//! ```
//! Everything is a pure function; equal input gives equal bytes.

mod bootstrap;
mod entry;
mod filters;
mod forms;
mod kuma;
mod legacy;
mod listener;
mod names;
mod problem;
pub mod proto;
mod sequence;
mod spelling;
mod version;

pub use bootstrap::{EnvoyInbound, HostPort, POLICY_HEADER, TlsFiles, Trust, Upstream, bootstrap};
pub use filters::{
    FilterForm, FilterInput, FilterOptions, PATHS, Projection, Protocol, filters, json,
};
pub use kuma::Release;
pub use legacy::{LegacyInput, LegacySubset, LegacyTag, SubsetAction, legacy};
pub use listener::{Chains, apply};
pub use names::{DEFAULT, GUARD, PATH_GUARD, action_name, policy_name, stat_prefix};
pub use problem::FilterProblem;
pub use version::{NotAVersion, Version};
