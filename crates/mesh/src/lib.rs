// SPDX-License-Identifier: Apache-2.0
//! In: mesh resources. Out: which policies select a proxy, in which order, and which configuration each inbound and each
//! real destination gets. Not here: files, text for people, access decisions.
//!
//! ```text
//! kinds, kri, names, labels, role   what resources are called, and what their labels say
//! resource, dataplane, policy       resources as they are written
//! resources, validate, topology     all of them as a control plane would have them, what it refuses, and their nodes
//! admission                         what a control plane says of a resource that somebody writes
//! targetref                         references of policies, and what is wrong with one
//! select, targets                   proxies a policy selects; resources an entry means
//! order                             who is merged before whom, and what decides
//! order_matches                     which match of a route is tried first
//! subset, conf, rules               sets of tags; confs and how they merge; rules
//! inspect                           the same as Kuma's Inspect API shows it, and resources as its API has them
//! resolve, findings                 what every proxy gets, once per shape and list; what a person should know
//! ```

pub mod admission;
pub mod codes;
pub mod conf;
pub mod dataplane;
mod findings;
pub mod gate;
pub mod identity;
pub mod inspect;
pub mod kinds;
pub mod kri;
pub mod labels;
pub mod matched;
pub mod names;
pub mod order;
pub mod order_matches;
pub mod permission;
pub mod policy;
mod profile;
mod quote;
pub mod reachable;
pub mod reasons;
pub mod resolve;
pub mod resource;
mod resources;
pub mod role;
pub mod rules;
pub mod select;
mod settings;
mod shapes;
pub mod subset;
pub mod targetref;
pub mod targets;
pub mod topology;
pub mod validate;

pub use profile::Profile;
pub use resolve::{FAMILY, Options, Resolved, World, concerns, key_value, resolve, strategy_name};
pub use resources::{GROUP, MeshResources, Read, Refusal, Resources, json, parse};
pub use settings::{LabelSource, Settings};

use overrule_source::Diagnostic;

/// What a person should know about an answer.
pub fn report(world: World<'_>, resolved: &Resolved) -> Vec<Diagnostic> {
    let World { documents, snapshot, resources, profile, .. } = world;
    let mut found = findings::report(documents, snapshot, resources, &resolved.found, profile);
    if *profile == Profile::Release {
        found.extend(resources.by_release.iter().cloned());
    }
    found
}
