// SPDX-License-Identifier: Apache-2.0
//! In: policies of one kind that select something, in order. Out: which of their entries count where, in the order they
//! are merged: for each destination, for inbound traffic, for clients and services described by tags. Not here: which
//! policies select whom (`select`), the order (`order`), confs.

use hashbrown::HashMap;
use overrule_engine::{StepId, Traced};
use overrule_source::{Documents, NodeRef, View};

use crate::conf::hash_of_matches;
use crate::kinds;
use crate::order::{Listed, compare, sort};
use crate::policy::{MeshEntry, Policy};
use crate::profile::Profile;
use crate::subset::{Subset, Tag};
use crate::targetref::TargetRef;
use crate::targets::{Destination, DestinationIndex};

/// The tag that names a service.
pub const SERVICE: &str = "kuma.io/service";
/// The tag that stands for one rule of a route.
pub const MATCHES_HASH: &str = "__rule-matches-hash__";

/// One entry of one policy.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Whose it is.
    pub policy: &'a Policy,
    /// The entry.
    pub entry: &'a MeshEntry,
}

/// Entries about destinations in the order they are merged. Policies that target a route bring none.
pub fn sorted_to_entries<'a>(profile: &Profile, policies: &[&'a Policy]) -> Vec<Item<'a>> {
    let direct = policies.iter().filter(|p| p.target.kind != kinds::HTTP_ROUTE);
    let items: Vec<Item<'a>> =
        direct.flat_map(|policy| policy.to.iter().map(|entry| Item { policy, entry })).collect();
    let of = |item: &Item<'a>| (item.policy.into(), Listed::To(&item.entry.target));
    sort(&items, |i| &i.policy.target, |a, b| compare(profile, of(a), of(b)).0)
}

/// The entries about the traffic of an inbound, each with whether it is an element of `from` that is read as a rule.
pub fn inbound_entries<'a>(profile: &Profile, policies: &[&'a Policy]) -> Vec<(Item<'a>, bool)> {
    let mut items: Vec<(Item<'a>, bool)> = Vec::new();
    for policy in policies {
        let from_as_rules = policy.kind.policy.is_some_and(|p| p.from_as_rules);
        let from = policy.rules.is_empty() && from_as_rules;
        let entries = if from { &policy.from } else { &policy.rules };
        items.extend(entries.iter().map(|entry| (Item { policy, entry }, from)));
    }
    let of = |item: &Item<'a>| (item.policy.into(), Listed::Inbound);
    sort(&items, |i| &i.0.policy.target, |a, b| compare(profile, of(&a.0), of(&b.0)).0)
}

/// The elements of `from` that describe clients by tags, as written.
pub fn clients<'a>(policies: &[&'a Policy]) -> Vec<(Item<'a>, Subset)> {
    let of = |policy: &'a Policy| policy.from.iter().map(move |entry| Item { policy, entry });
    policies.iter().flat_map(|policy| of(policy)).filter_map(with_tags).collect()
}

/// The elements of `to` that know services by tags, as written. A policy that targets a route speaks of the rules of
/// that route, if it is among these.
pub fn services<'a>(
    documents: &Documents,
    policies: &[&'a Policy],
    routes: &[Policy],
) -> Vec<(Item<'a>, Subset)> {
    let mut items: Vec<(Item<'a>, Subset)> = Vec::new();
    for policy in policies {
        if policy.to.iter().any(|e| e.target.kind == kinds::HTTP_ROUTE) {
            continue;
        }
        if policy.target.kind == kinds::HTTP_ROUTE {
            items.extend(through_route(documents, policy, routes));
            continue;
        }
        items.extend(policy.to.iter().filter_map(|entry| with_tags(Item { policy, entry })));
    }
    items
}

fn with_tags(item: Item<'_>) -> Option<(Item<'_>, Subset)> {
    Some((item, subset_of(&item.entry.target)?))
}

/// The set a reference describes; none if it means real resources.
pub fn subset_of(target: &TargetRef) -> Option<Subset> {
    let service = || Tag::is(SERVICE, target.name());
    match target.kind.known() {
        Some(&kinds::MESH) => Some(Subset::default()),
        Some(&kinds::SUBSET) => Some(Subset::new(tags(target))),
        Some(&kinds::SERVICE) => Some(Subset::new([service()])),
        Some(&kinds::SERVICE_SUBSET) => {
            Some(Subset::new(std::iter::once(service()).chain(tags(target))))
        }
        _ => None,
    }
}

fn tags(target: &TargetRef) -> impl Iterator<Item = Tag> {
    target.tag_pairs().map(|(key, value)| Tag::is(key, value))
}

/// Entries of a policy that targets a route: each counts for each rule of the route.
fn through_route<'a>(
    documents: &Documents,
    policy: &'a Policy,
    routes: &[Policy],
) -> Vec<(Item<'a>, Subset)> {
    let is_meant = |r: &&Policy| {
        r.meta.mesh == policy.meta.mesh && r.meta.display_name() == policy.target.name()
    };
    let Some(route) = routes.iter().find(is_meant) else { return Vec::new() };
    let mut items = Vec::new();
    for to in &route.to {
        let rules = documents.view(to.node).get("rules").into_iter().flat_map(View::items);
        for rule in rules {
            let matches = rule.get("matches").map(|m| {
                let node = NodeRef { doc: to.node.doc, node: m.id() };
                Traced::Whole { step: StepId(0), node }
            });
            let hash = Tag::is(MATCHES_HASH, hash_of_matches(documents, matches.as_ref()));
            let whole = to.target.kind.is_one_of(&[kinds::MESH, kinds::SUBSET]);
            let service = (!whole).then(|| Tag::is(SERVICE, to.target.name()));
            let subset = Subset::new(service.into_iter().chain(tags(&to.target)).chain([hash]));
            items.extend(policy.to.iter().map(|entry| (Item { policy, entry }, subset.clone())));
        }
    }
    items
}

/// Entries about destinations in the order they are merged, and which of them count where.
pub(crate) struct Destined<'a> {
    pub(crate) items: Vec<Item<'a>>,
    /// Every destination and port that some entry means, in the order of places, with its entries low to high: those
    /// about its Mesh, about all of it, about the port.
    pub(crate) by_place: Vec<(DestinationIndex, Vec<usize>)>,
}

impl<'a> Destined<'a> {
    /// Policies come in the order of policies.
    pub(crate) fn new<M: AsRef<[DestinationIndex]>>(
        profile: &Profile,
        policies: &[&'a Policy],
        destinations: &[Destination],
        means: impl Fn(&Item<'a>) -> M,
    ) -> Self {
        let items = sorted_to_entries(profile, policies);
        let mut meshes: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut own: HashMap<u32, Vec<(usize, u32)>> = HashMap::new();
        let mut places: Vec<DestinationIndex> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            for place in means(item).as_ref() {
                let Some(to) = destinations.get(place.0 as usize) else { continue };
                if to.meta.kind == kinds::MESH {
                    meshes.entry(&to.meta.name).or_default().push(at)
                } else {
                    own.entry(place.0).or_default().push((at, place.1))
                }
                places.push(*place);
            }
        }
        places.sort_unstable();
        places.dedup();
        let entries = |place: DestinationIndex| {
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
