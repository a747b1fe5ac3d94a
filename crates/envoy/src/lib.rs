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
mod version;

pub use bootstrap::{At, Inbound, POLICY_HEADER, Tls, Trust, Upstream, bootstrap};
pub use filters::{Form, Input, Options, PATHS, Projection, Protocol, filters, json};
pub use kuma::Release;
pub use legacy::{Action, LegacyInput, SubsetRule, Tag, legacy};
pub use listener::{Chains, apply};
pub use names::{DEFAULT, GUARD, action_name, policy_name, stat_prefix};
pub use problem::Problem;
pub use version::{NotAVersion, Version};
