// SPDX-License-Identifier: Apache-2.0
//! In: entries about destinations. Out: one rule per real resource or port that some entry means, found by its identity.
//! Not here: rules by tags.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use overrule_engine::Traced;
use overrule_source::Documents;

use super::{Item, Merged, Merging, Origin};
use crate::conf::Position;
use crate::kinds::{self, KindName};
use crate::kri::Kri;
use crate::order::{Listed, compare, sort};
use crate::policy::Policy;
use crate::profile::Profile;
use crate::targets::{Destination, Index, Place};

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
    let direct = policies.iter().filter(|p| p.target.kind != kinds::HTTP_ROUTE);
    let items: Vec<Item<'a>> =
        direct.flat_map(|policy| policy.to.iter().map(|entry| Item { policy, entry })).collect();
    let of = |item: &Item<'a>| (item.policy.into(), Listed::To(&item.entry.target));
    sort(&items, |i| &i.policy.target, |a, b| compare(profile, of(a), of(b)).0)
}

/// Entries about destinations in the order they are merged, and which of them count where.
pub(crate) struct Destined<'a> {
    pub(crate) items: Vec<Item<'a>>,
    /// Every destination and port that some entry means, in the order of places, with its entries low to high: those
    /// about its Mesh, about all of it, about the port.
    pub(crate) by_place: Vec<(Place, Vec<usize>)>,
}

impl<'a> Destined<'a> {
    /// Policies come in the order of policies.
    pub(crate) fn new<M: AsRef<[Place]>>(
        profile: &Profile,
        policies: &[&'a Policy],
        destinations: &[Destination],
        means: impl Fn(&Item<'a>) -> M,
    ) -> Self {
        let items = sorted_to_entries(profile, policies);
        let mut meshes: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut own: HashMap<u32, Vec<(usize, u32)>> = HashMap::new();
        let mut places: Vec<Place> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            for place in means(item).as_ref() {
                let Some(to) = destinations.get(place.0 as usize) else { continue };
                match to.meta.kind == kinds::MESH {
                    true => meshes.entry(&to.meta.name).or_default().push(at),
                    false => own.entry(place.0).or_default().push((at, place.1)),
                }
                places.push(*place);
            }
        }
        places.sort_unstable();
        places.dedup();
        let entries = |place: Place| {
            let to = &destinations.get(place.0 as usize)?.meta;
            let mesh = if to.kind == kinds::MESH { &to.name } else { &to.mesh };
            let by_section = to.kind.is_one_of(&[kinds::SERVICE, kinds::MULTI_ZONE_SERVICE]);
            let own = own.get(&place.0).into_iter().flatten();
            let own = own.filter(|(_, port)| !by_section || *port == 0 || *port == place.1);
            let of_mesh = meshes.get(mesh.as_str()).into_iter().flatten();
            let mut at: Vec<usize> = of_mesh.copied().chain(own.map(|(at, _)| *at)).collect();
            at.sort_unstable();
            at.dedup();
            Some((place, at))
        };
        let by_place = places.into_iter().filter_map(entries).collect();
        Self { items, by_place }
    }
}

/// Rules by identity. Policies come in the order of policies; resources are all of the mesh.
pub fn resource_rules<'a>(
    documents: &Documents,
    profile: &Profile,
    policies: &[&'a Policy],
    resources: &'a [Destination],
) -> BTreeMap<Kri, ResourceRule<'a>> {
    let index = Index::new(resources);
    let means = |item: &Item<'a>| index.resolve(&item.entry.target, &item.policy.meta);
    resource_rules_by(documents, profile, policies, resources, means)
}

/// The same for whoever knows already what entries mean.
pub(crate) fn resource_rules_by<'a, M: AsRef<[Place]>>(
    documents: &Documents,
    profile: &Profile,
    policies: &[&'a Policy],
    resources: &'a [Destination],
    means: impl Fn(&Item<'a>) -> M,
) -> BTreeMap<Kri, ResourceRule<'a>> {
    let Destined { items, by_place } = Destined::new(profile, policies, resources, means);
    let mut merging = Merging::new(documents, items, Position::To);
    let mut rules = BTreeMap::new();
    for ((place, port), at) in by_place {
        let Some(resource) = resources.get(place as usize) else { continue };
        let section = (port as usize).checked_sub(1).and_then(|p| resource.ports.get(p));
        let section = section.map_or("", |p| &p.section);
        let Merged { confs, origins, by_matches } = merging.merge(&at);
        let rule =
            ResourceRule { resource, section: section.to_owned(), confs, origins, by_matches };
        rules.entry(resource.meta.kri().with_section(section)).or_insert(rule);
    }
    rules
}

/// The identities under which a destination is looked up, the first hit counts whole: itself, without its section, its
/// Mesh.
pub fn lookup(kri: &Kri) -> Vec<Kri> {
    let known = kri.kind == kinds::HTTP_ROUTE || kri.kind.known().is_some_and(|k| k.is_destination);
    let mut chain = vec![kri.clone()];
    if known {
        if !kri.section.is_empty() {
            chain.push(kri.without_section());
        }
        let mesh =
            Kri { kind: KindName::Known(&kinds::MESH), name: kri.mesh.clone(), ..Kri::default() };
        chain.push(mesh);
    }
    chain
}
