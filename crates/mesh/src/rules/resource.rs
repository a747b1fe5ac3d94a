// SPDX-License-Identifier: Apache-2.0
//! In: entries about destinations. Out: one rule per real resource or port that some entry means, found by its identity.
//! Not here: rules by tags.

use std::collections::BTreeMap;

use overrule_engine::Traced;
use overrule_source::Documents;

use super::{Item, Origin, merged};
use crate::conf::Position;
use crate::kri::Kri;
use crate::order::{Ranked, sort, to_entries};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::targets::{Destination, Meant, resolve};

/// What applies to a resource.
#[derive(Debug, Clone)]
pub struct ResourceRule<'a> {
    /// The resource.
    pub resource: &'a Destination,
    /// The port; empty for all of it.
    pub section: String,
    /// One conf, or one per hostname.
    pub confs: Vec<Traced>,
    /// Who wrote it.
    pub origins: Vec<Origin<'a>>,
    /// Who owns each rule of a route.
    pub by_matches: BTreeMap<String, Origin<'a>>,
}

/// Entries about destinations in the order they are merged. Policies that target a route bring none.
pub fn sorted_to_entries<'a>(profile: &Profile, policies: &[&'a Policy]) -> Vec<Item<'a>> {
    let direct = policies.iter().filter(|p| p.target.kind != "MeshHTTPRoute");
    let items: Vec<Item<'a>> =
        direct.flat_map(|policy| policy.to.iter().map(|entry| Item { policy, entry })).collect();
    let ranked = |i: &Item<'a>| Ranked { meta: &i.policy.meta, target: &i.policy.target };
    sort(
        &items,
        |i| &i.policy.target,
        |a, b| to_entries(profile, (ranked(a), &a.entry.target), (ranked(b), &b.entry.target)).0,
    )
}

/// Rules by identity. Policies come in the order of policies; resources are all of the mesh.
pub fn resource_rules<'a>(
    documents: &Documents,
    profile: &Profile,
    policies: &[&'a Policy],
    resources: &'a [Destination],
) -> BTreeMap<Kri, ResourceRule<'a>> {
    let means = |item: &Item<'a>| resolve(&item.entry.target, &item.policy.meta, resources);
    resource_rules_by(documents, profile, policies, means)
}

/// The same for whoever knows already what entries mean.
pub(crate) fn resource_rules_by<'a>(
    documents: &Documents,
    profile: &Profile,
    policies: &[&'a Policy],
    means: impl Fn(&Item<'a>) -> Vec<Meant<'a>>,
) -> BTreeMap<Kri, ResourceRule<'a>> {
    let mut meant: Vec<(Item<'a>, Meant<'a>)> = Vec::new();
    for item in sorted_to_entries(profile, policies) {
        meant.extend(means(&item).into_iter().map(|m| (item, m)));
    }
    let index = Index::new(&meant);
    let mut rules = BTreeMap::new();
    for (_, target) in &meant {
        let kri = target.kri();
        if rules.contains_key(&kri) {
            continue;
        }
        let items = index.relevant(&meant, target);
        let found = merged(documents, &items, Position::To);
        rules.insert(
            kri,
            ResourceRule {
                resource: target.resource,
                section: target.section.to_owned(),
                confs: found.confs,
                origins: found.origins,
                by_matches: found.by_matches,
            },
        );
    }
    rules
}

/// Places of what entries mean, by whom it counts for: a rule looks at its own, never at all.
struct Index {
    /// Entries about a Mesh, by its name.
    meshes: BTreeMap<String, Vec<usize>>,
    /// Entries about a resource, sections aside, by its identity.
    resources: BTreeMap<Kri, Vec<usize>>,
}

impl Index {
    fn new(meant: &[(Item<'_>, Meant<'_>)]) -> Self {
        let mut index = Self { meshes: BTreeMap::new(), resources: BTreeMap::new() };
        for (place, (_, target)) in meant.iter().enumerate() {
            let meta = &target.resource.meta;
            match meta.kind.as_str() {
                "Mesh" => index.meshes.entry(meta.name.clone()).or_default().push(place),
                _ => index.resources.entry(meta.kri()).or_default().push(place),
            }
        }
        index
    }

    /// The entries that count for a target, in order.
    fn relevant<'a>(&self, meant: &[(Item<'a>, Meant<'a>)], target: &Meant<'_>) -> Vec<Item<'a>> {
        let meta = &target.resource.meta;
        let is_mesh = meta.kind == "Mesh";
        let mesh = if is_mesh { &meta.name } else { &meta.mesh };
        let of_mesh = self.meshes.get(mesh).map_or(&[][..], Vec::as_slice);
        let own = match is_mesh {
            true => &[][..],
            false => self.resources.get(&meta.kri()).map_or(&[][..], Vec::as_slice),
        };
        let by_section = matches!(meta.kind.as_str(), "MeshService" | "MeshMultiZoneService");
        let fits = |place: &&usize| {
            let section = meant.get(**place).map_or("", |(_, m)| m.section);
            !by_section || section.is_empty() || section == target.section
        };
        let mut places: Vec<usize> =
            of_mesh.iter().chain(own.iter().filter(fits)).copied().collect();
        places.sort_unstable();
        places.iter().filter_map(|p| meant.get(*p).map(|(item, _)| *item)).collect()
    }
}

/// The identities under which a destination is looked up, the first hit counts whole: itself, without its section, its
/// Mesh.
pub fn lookup(kri: &Kri) -> Vec<Kri> {
    let known = matches!(
        kri.kind.as_str(),
        "MeshService" | "MeshExternalService" | "MeshMultiZoneService" | "MeshHTTPRoute"
    );
    let mut chain = vec![kri.clone()];
    if known {
        if !kri.section.is_empty() {
            chain.push(kri.without_section());
        }
        let mesh = Kri { kind: "Mesh".to_owned(), name: kri.mesh.clone(), ..Kri::default() };
        chain.push(mesh);
    }
    chain
}
