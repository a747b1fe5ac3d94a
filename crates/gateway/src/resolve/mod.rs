// SPDX-License-Identifier: Apache-2.0
//! In: snapshot, topology, kinds. Out: the [`Resolution`] of every GEP-713 kind, and what to tell the user.
//! Not here: text for people, other families.
//!
//! ```text
//! policies ── attach ──► (policy, node) ── order ──► local ladder per (kind, node)
//!                                                        │  paths, top-down, once
//!                                                        ▼
//!                                     ladder per (kind, path) ── fold once per distinct ladder ──► Resolution
//! ```

mod algebra;
mod findings;
mod local;
mod update;
mod walk;

use overrule_engine::{
    KeyValues, KindId, NewKind, PolicyId, RankKey, RankKeys, Resolution, ResolutionBuilder,
    Subjects,
};
use overrule_family::{ResolveOptions, Resolved};
use overrule_model::Snapshot;
use overrule_source::Documents;

use crate::kinds::{Descriptor, Kinds, PolicyClass, Provenance, Strategy};
use crate::policy::{self, Policy};
use findings::Findings;
use overrule_topology::GatewayTopology;

pub use findings::inert;
pub use local::{name_order, name_order_with};

/// The family's name.
pub const FAMILY: &str = "gateway";
/// Its one profile.
pub const PROFILE: &str = "gep713";

/// Keys of an inherited kind, most important first.
pub static INHERITED_KEYS: RankKeys = &[RankKey::LEVEL, RankKey::CREATED, RankKey::NAME];
/// Keys of a direct kind.
pub static DIRECT_KEYS: RankKeys =
    &[RankKey::new("section", KeyValues::Sections), RankKey::CREATED, RankKey::NAME];
/// Keys of an inherited kind that does not merge: GEP-713 leaves the level out.
pub static NONE_KEYS: RankKeys = &[RankKey::CREATED, RankKey::NAME];

/// A kind that takes part, with what the stages need of it.
pub(crate) struct Active<'k> {
    pub(crate) id: KindId,
    pub(crate) descriptor: &'k Descriptor,
}

impl Active<'_> {
    /// Whether the kind is resolved per target, without inheritance.
    pub(crate) fn is_direct(&self) -> bool {
        self.descriptor.class == PolicyClass::Direct
    }

    /// Whether one policy of a target counts alone and the others are refused.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_direct() || self.is_none()
    }

    /// Whether only the oldest policy of a target counts.
    pub(crate) fn is_none(&self) -> bool {
        self.descriptor.strategy == Strategy::None
    }
}

/// Resolves every kind. The policies must come from [`policy::parse`] with the same kinds.
pub fn resolve(
    documents: &Documents,
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    kinds: &Kinds,
    policies: &[Policy],
    options: &ResolveOptions,
) -> Resolved {
    let attached = policy::attach(snapshot, topology, kinds, policies);
    let mut diagnostics = attached.diagnostics;
    let mut builder = ResolutionBuilder::default();
    let mut active: Vec<Option<Active<'_>>> = Vec::new();
    for (index, descriptor) in kinds.iter().enumerate() {
        active.push(activate(&mut builder, snapshot, descriptor, index, policies, options));
    }
    for policy in policies {
        if let Some(Some(kind)) = active.get(policy.kind) {
            builder.policy(policy.object, kind.id);
        }
    }
    for attachment in &attached.attachments {
        builder.attach(*attachment);
    }
    for rejection in attached.rejections {
        builder.reject(rejection);
    }
    let locals =
        local::build(snapshot, topology, &mut builder, &active, policies, &attached.attachments);
    let kinds: Vec<Active<'_>> = active.into_iter().flatten().collect();
    let algebra = algebra::Gep713::new(documents, &kinds);
    walk::paths(snapshot, topology, &mut builder, &kinds, &locals);
    let resolution = builder.finish_in_parallel(documents, &algebra);
    if !options.silent {
        let policy = |id: PolicyId| policies.get(id.0 as usize);
        let subjects = &Subjects::All;
        let (policy, resolution, kinds) = (&policy, &resolution, &kinds);
        let findings = Findings { snapshot, topology, policy, resolution, kinds, subjects };
        findings.report(&mut diagnostics);
    }
    diagnostics.shrink_to_fit();
    Resolved { resolution, diagnostics, extra: () }
}

/// Kinds without policies take part only if somebody described or asked for them.
fn activate<'k>(
    builder: &mut ResolutionBuilder,
    snapshot: &Snapshot,
    descriptor: &'k Descriptor,
    index: usize,
    policies: &[Policy],
    options: &ResolveOptions,
) -> Option<Active<'k>> {
    let used = policies.binary_search_by_key(&index, |p| p.kind).is_ok();
    if !used && !options.includes(&descriptor.kind) && descriptor.provenance != Provenance::User {
        return None;
    }
    // A kind nobody uses has no symbols of its own; the lookup then gives the empty ones.
    let sym = |text| snapshot.names().lookup(text).unwrap_or_default();
    let keys = match (descriptor.class, descriptor.strategy) {
        (PolicyClass::Direct, _) => DIRECT_KEYS,
        (PolicyClass::Inherited, Strategy::None) => NONE_KEYS,
        (PolicyClass::Inherited, _) => INHERITED_KEYS,
    };
    let id = builder.kind(NewKind {
        group: sym(&descriptor.group),
        kind: sym(&descriptor.kind),
        family: FAMILY,
        profile: PROFILE,
        keys,
        assumed: descriptor.provenance == Provenance::Assumed,
        covers: None,
        implicit: false,
    });
    Some(Active { id, descriptor })
}

/// `namespace/name` of a policy.
pub fn policy_name(snapshot: &Snapshot, resolution: &Resolution, policy: PolicyId) -> String {
    let object = resolution.policy(policy).map(|p| p.object);
    object.map_or_else(String::new, |object| snapshot.full_name(object))
}
