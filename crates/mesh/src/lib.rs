// SPDX-License-Identifier: Apache-2.0
//! In: mesh resources. Out: which policies select a proxy, in which order, which configuration each inbound and each real
//! destination gets, and whom each inbound takes. Not here: files, text for people.
//!
//! ```text
//! read ──► admit     resources as they are written, by mesh; what a control plane says of one
//!   │
//!   ▼
//! select             proxies a policy selects; resources an entry means
//!   ▼
//! order              who is merged before whom, and what decides
//!   ▼
//! merge              which entries meet, and the conf they make
//!   ▼
//! resolve ──► inspect, findings     what every proxy gets, once per shape and list; the same as Kuma's Inspect API
//!   ▼                               shows it; what a person should know
//! access             who may call whom
//! ```

pub mod access;
pub mod admit;
mod family;
mod findings;
pub mod inspect;
pub mod merge;
pub mod order;
mod profile;
pub mod read;
pub mod resolve;
pub mod select;
mod settings;

pub use access::{gate, identity, inbounds, permission, reachable};
pub(crate) use admit::shapes;
pub use admit::{admission, validate};
pub use family::{Kuma, Meshes, Proxies};
pub use findings::codes;
pub(crate) use merge::steps;
pub use merge::{chain, conf, entries, rules, subset};
pub use order::matches as order_matches;
pub use profile::Profile;
pub use read::resources::{GROUP, MeshResources, ReadObject, Refusal, Resources, parse};
pub use read::{dataplane, kinds, kri, labels, names, policy, resource, role, targetref, topology};
pub(crate) use read::{quote, resources};
pub use resolve::{FAMILY, MeshResolution, ProxyOptions, World, concerns, reasons, resolve};
pub use select::{matched, targets};
pub use settings::{LabelSource, Settings};

use std::collections::BTreeMap;

use overrule_family::refused_as_shipped;
use overrule_model::ObjectId;
use overrule_source::Diagnostic;

/// What a person should know about an answer.
pub fn report(world: World<'_>, resolved: &MeshResolution) -> Vec<Diagnostic> {
    let World { documents, snapshot, resources, profile, .. } = world;
    let mut found = findings::report(documents, snapshot, resources, &resolved.found, profile);
    if let Profile::Release = profile {
        found.extend(resources.by_release.iter().cloned());
        return found;
    }
    let mut refused: BTreeMap<Option<ObjectId>, Vec<&Diagnostic>> = BTreeMap::new();
    for refusal in &resources.by_release {
        let at = refusal.primary.as_ref();
        let object = at.and_then(|label| snapshot.written_at(documents, label.span));
        refused.entry(object).or_default().push(refusal);
    }
    found.extend(refused.into_values().filter_map(|all| refused_as_shipped("Kuma 2.13", all)));
    found
}
