// SPDX-License-Identifier: Apache-2.0
//! In: resources and what resolving them learned. Out: what a person should know about them. Not here: anything that
//! changes the answer; policies that are refused (`validate`).
//!
//! A mistake is told once, however many proxies or resources it concerns. Looking for what was meant instead has a
//! budget: help must not make a broken fleet slow.

pub mod codes;
mod destinations;
mod explain;
mod inert;
mod labels;
mod meshes;
mod names;
mod near;
mod order;
mod permissions;
mod proxies;
mod reach;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use overrule_family::some_of;
use overrule_model::{ObjectId, Snapshot};
use overrule_source::{Diagnostic, Documents, Span, View};

use crate::kinds;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resolve::{FoundMesh, MeshFacts};
use crate::resources::{MeshResources, Resources};
use near::Budget;
use proxies::Proxies;

pub(crate) use permissions::CODES as ABOUT_PERMISSIONS;

/// Reports on everything.
pub fn report(
    documents: &Documents,
    snapshot: &Snapshot,
    resources: &Resources,
    found: &MeshFacts,
    profile: &Profile,
) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let metas = resources.metas.values();
    let identities = metas.filter(|meta| meta.kind == kinds::IDENTITY);
    let with_identity = identities.map(|meta| &*meta.mesh).collect();
    let budget = Budget::default();
    let world = World { documents, snapshot, resources, profile, with_identity, budget };
    let nothing = FoundMesh::default();
    for (place, mesh) in resources.meshes.iter().enumerate() {
        let found = found.meshes.get(place).unwrap_or(&nothing);
        let here = Here { world: &world, mesh, found };
        reach::report(&here, &mut out);
        destinations::report(&here, &mut out);
        inert::report(&here, &mut out);
        order::report(&here, &mut out);
        permissions::report(&here, &mut out);
    }
    names::report(&world, &mut out);
    labels::report(&world, &mut out);
    meshes::report(&world, &mut out);
    out
}

/// Reports on one policy of permissions, and says nothing that depends on other policies. `selected` are the proxies it
/// selects; none if that must be found.
pub(crate) fn of_permission(
    (documents, snapshot, resources, profile): (&Documents, &Snapshot, &Resources, &Profile),
    mesh: &MeshResources,
    policy: &Policy,
    selected: Option<Vec<u32>>,
) -> Vec<Diagnostic> {
    let (with_identity, budget) = (BTreeSet::new(), Budget::default());
    let world = World { documents, snapshot, resources, profile, with_identity, budget };
    let here = Here { world: &world, mesh, found: &FoundMesh::default() };
    let mut out = Vec::new();
    permissions::report_one(&here, policy, &Proxies::new(&here), selected, &mut out);
    out
}

/// What findings are about.
struct World<'a> {
    documents: &'a Documents,
    snapshot: &'a Snapshot,
    resources: &'a Resources,
    profile: &'a Profile,
    /// Meshes that have a MeshIdentity.
    with_identity: BTreeSet<&'a str>,
    budget: Budget,
}

impl<'a> World<'a> {
    fn document(&self, object: ObjectId) -> Option<View<'a>> {
        self.snapshot.get(object).map(|o| self.documents.view(o.root))
    }

    /// `meshtimeout/default/web.shop`.
    fn name(&self, object: ObjectId) -> String {
        self.snapshot.display(object).to_string()
    }

    /// Puts a finding at the name of an object.
    fn at_object(&self, d: Diagnostic, object: ObjectId) -> Diagnostic {
        match self.snapshot.get(object) {
            Some(object) => d.at(object.at),
            None => d,
        }
    }
}

/// One mesh.
struct Here<'a> {
    world: &'a World<'a>,
    mesh: &'a MeshResources,
    found: &'a FoundMesh,
}

impl<'a> Here<'a> {
    /// Policies that are in force: not refused, and no shadows.
    fn live(&self) -> impl Iterator<Item = &'a Policy> + use<'a> {
        let (mesh, profile) = (self.mesh, self.world.profile);
        mesh.policies.iter().filter(move |p| mesh.takes_part(profile, p))
    }

    fn policy(&self, place: u32) -> Option<&'a Policy> {
        self.mesh.policies.get(place as usize)
    }

    fn object_of(&self, place: u32) -> Option<ObjectId> {
        self.mesh.policy_objects.get(place as usize).copied()
    }

    fn name_of(&self, place: u32) -> String {
        self.object_of(place).map(|id| self.world.name(id)).unwrap_or_default()
    }

    /// Puts a finding at the name of a policy.
    fn at_policy(&self, d: Diagnostic, place: u32) -> Diagnostic {
        match self.object_of(place) {
            Some(object) => self.world.at_object(d, object),
            None => d,
        }
    }

    /// Where a member of a policy's reference stands, or the nearest thing around it that does.
    fn span_of_target(&self, policy: &Policy, member: &str) -> Option<Span> {
        let spec = self.world.documents.view(policy.root).get("spec")?;
        let target = spec.get("targetRef").filter(|t| !t.is_null());
        match target {
            Some(target) => Some(target.get(member).unwrap_or(target).span()),
            None => self.world.snapshot.get(self.object_of(policy.place)?).map(|o| o.at),
        }
    }
}

/// `1 policy`, `2 policies`.
fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
