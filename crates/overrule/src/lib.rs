// SPDX-License-Identifier: Apache-2.0
//! Which policy is in force here, why, and what happens if I change it?
//!
//! This crate is the library of Overrule: it reads files and runs the pipeline. The crates below it are pure.
//!
//! Open a folder and ask:
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # std::fs::write(dir.path().join("a.yaml"), overrule::doc_example())?;
//! # let folder = dir.path();
//! let manifests = overrule::Manifests::open(folder)?;
//! let effective = manifests.effective("httproute/shop/cart")?;
//! let [timeout] = effective.as_slice() else { panic!("one policy is in force there") };
//! assert_eq!(timeout.at(["timeouts", "request"]).and_then(|t| t.as_str()), Some("5s"));
//! assert_eq!(timeout.origins["/timeouts/request"][0].policy, "infra/gw-timeouts");
//!
//! let unknown = manifests.effective("httproute/shop/crat").unwrap_err();
//! assert!(unknown.to_string().contains("httproute/shop/cart"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If something cannot be read, the error of [`Manifests::open`] lists it and contains everything else. [`live`]
//! follows manifests that change.

mod access;
mod analysis;
mod answers;
mod aside;
mod concerns;
mod conditions;
mod derived;
mod families;
pub mod files;
mod finding_set;
mod judged;
pub mod live;
pub mod lookup;
mod manifests;
mod meshes;
mod options;
mod patch;
mod placeholders;
mod targets;
mod worlds;

pub use access::{InboundAccess, Question};
pub use analysis::{Analysis, Base, Stage, Stages, Touched};
pub use answers::Answered;
pub use families::{families, family, register, setting_keys};
pub use finding_set::FindingSet;
pub use judged::Judged;
pub use lookup::{LookupError, Suggestions};
pub use manifests::{Manifests, MeshCall, Unread};
pub use options::{Assume, Options};
pub use overrule_access;
pub use overrule_engine as engine;
pub use overrule_envoy_gateway as envoy_gateway;
pub use overrule_family::{
    self as family_kit, Affected, Client, Condition, Fit, InboundId, NamedIdentity, Setting,
    SettingValues,
};
pub use overrule_gateway as gateway;
pub use overrule_kgateway as kgateway;
pub use overrule_kuadrant as kuadrant;
pub use overrule_mesh as kuma;
pub use overrule_model as model;
pub use overrule_source as source;
pub use overrule_view as view;

/// A small set of manifests for documentation examples: one gateway, one route, one policy.
#[doc(hidden)]
pub fn doc_example() -> &'static str {
    include_str!("doc_example.yaml")
}

/// Every code this version can report, by number.
pub fn codes() -> Vec<source::Code> {
    let schema = gateway::topology::schema_codes::ALL;
    let shared = [source::codes::ALL, schema, model::codes::ALL, gateway::codes::ALL];
    let shared = shared.into_iter().chain([overrule_family::codes::ALL]);
    let own = families().iter().map(|family| family.codes());
    let all = shared.chain(own).flatten();
    let mut codes: Vec<source::Code> = all.copied().collect();
    codes.sort_by_key(|c| c.id);
    codes
}
