// SPDX-License-Identifier: Apache-2.0
//! In: mesh resources. Out: which policies select a proxy, in which order, and which configuration each inbound and each
//! real destination gets. Not here: files, text for people, access decisions.
//!
//! ```text
//! kinds, kri, names, labels, role   what resources are called, and what their labels say
//! resource, dataplane, policy       resources as they are written
//! targetref                         references of policies, and what is wrong with one
//! select, targets                   proxies a policy selects; resources an entry means
//! order                             who is merged before whom, and what decides
//! order_matches                     which match of a route is tried first
//! subset, conf, rules               sets of tags; confs and how they merge; rules
//! ```

pub mod conf;
pub mod dataplane;
pub mod fleet;
pub mod kinds;
pub mod kri;
pub mod labels;
pub mod matched;
pub mod names;
pub mod order;
pub mod order_matches;
pub mod policy;
mod profile;
mod quote;
pub mod resource;
pub mod role;
pub mod rules;
pub mod select;
pub mod subset;
pub mod targetref;
pub mod targets;

pub use profile::Profile;
