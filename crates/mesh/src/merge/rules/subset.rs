// SPDX-License-Identifier: Apache-2.0
//! In: entries about clients or services, described by tags. Out: rules over sets of tags, to be read first match first.
//! Not here: the algebra of such sets (`subset`).

use std::collections::BTreeMap;

use overrule_engine::{StepId, Traced};
use overrule_source::{Documents, View};

use super::{Item, MOST_RULES, Merging, Origin};
use crate::conf::{Position, hash_of_matches};
use crate::kinds;
use crate::policy::{Entry, Policy};
use crate::subset::{Subset, Tag, build};
use crate::targetref::TargetRef;

/// The tag that names a service.
pub const SERVICE: &str = "kuma.io/service";
/// The tag that stands for one rule of a route.
pub const MATCHES_HASH: &str = "__rule-matches-hash__";

/// A rule over a set of tags.
#[derive(Debug, Clone)]
pub struct SubsetRule<'a> {
    /// Whom it is about.
    pub subset: Subset,
    /// One conf, or one per hostname.
    pub confs: Vec<Traced>,
    /// The policies, each once.
    pub origins: Vec<Origin<'a>>,
    /// Who owns each rule of a route.
    pub by_matches: BTreeMap<String, Origin<'a>>,
}

/// The set a reference describes; none if it means real resources.
pub fn subset_of(target: &TargetRef) -> Option<Subset> {
    let service = || Tag::is(SERVICE, target.name());
    let tags = || target.tags.iter().flatten().map(|(k, v)| Tag::is(k.as_str(), v.as_str()));
    match target.kind.known() {
        Some(&kinds::MESH) => Some(Subset::default()),
        Some(&kinds::SUBSET) => Some(Subset::new(tags())),
        Some(&kinds::SERVICE) => Some(Subset::new([service()])),
        Some(&kinds::SERVICE_SUBSET) => Some(Subset::new([service()].into_iter().chain(tags()))),
        _ => None,
    }
}

/// Rules for clients: `from` of the policies of one inbound, in the order of policies.
pub fn subset_rules_from<'a>(
    documents: &Documents,
    policies: &[&'a Policy],
) -> Vec<SubsetRule<'a>> {
    let all = policies.iter().flat_map(|p| p.from.iter().map(move |e| (*p, e)));
    let items: Vec<(Item<'a>, Subset)> = all
        .filter_map(|(policy, entry)| Some((Item { policy, entry }, subset_of(&entry.target)?)))
        .collect();
    subset_rules_of(documents, &items, true, Position::From)
}

/// Rules for services: `to` of the policies of a proxy, in the order of policies.
pub fn subset_rules_to<'a>(
    documents: &Documents,
    policies: &[&'a Policy],
    routes: &'a [Policy],
) -> Vec<SubsetRule<'a>> {
    let mut items: Vec<(Item<'a>, Subset)> = Vec::new();
    for policy in policies {
        if policy.to.iter().any(|e| e.target.kind == kinds::HTTP_ROUTE) {
            continue;
        }
        if policy.target.kind == kinds::HTTP_ROUTE {
            items.extend(through_route(documents, policy, routes));
            continue;
        }
        let own = policy.to.iter();
        items.extend(
            own.filter_map(|entry| Some((Item { policy, entry }, subset_of(&entry.target)?))),
        );
    }
    subset_rules_of(documents, &items, false, Position::To)
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
                let node = overrule_source::NodeRef { doc: to.node.doc, node: m.id() };
                Traced::Whole { step: StepId(0), node }
            });
            let hash = Tag::is(MATCHES_HASH, hash_of_matches(documents, matches.as_ref()));
            let whole = to.target.kind.is_one_of(&[kinds::MESH, kinds::SUBSET]);
            let service = (!whole).then(|| Tag::is(SERVICE, to.target.name()));
            let own = to.target.tags.iter().flatten().map(|(k, v)| Tag::is(k.as_str(), v.as_str()));
            let tags: Vec<Tag> = service.into_iter().chain(own).chain([hash]).collect();
            let subset = Subset::new(tags);
            let entry = |entry: &'a Entry| (Item { policy, entry }, subset.clone());
            items.extend(policy.to.iter().map(entry));
        }
    }
    items
}

/// Rules over these entries.
pub fn subset_rules_of<'a>(
    documents: &Documents,
    items: &[(Item<'a>, Subset)],
    negations: bool,
    position: Position,
) -> Vec<SubsetRule<'a>> {
    let subsets: Vec<Subset> = items.iter().map(|(_, s)| s.clone()).collect();
    let built = build(&subsets, negations, MOST_RULES);
    let items = items.iter().map(|(item, _)| *item).collect();
    let mut merging = Merging::new(documents, items, position);
    let rule = |rule: crate::subset::Rule| {
        let found = merging.merge(&rule.relevant);
        let mut origins: Vec<Origin<'a>> = Vec::new();
        for origin in found.origins {
            let same = |o: &Origin<'_>| {
                (&o.policy.mesh, &o.policy.name) == (&origin.policy.mesh, &origin.policy.name)
            };
            if !origins.iter().any(same) {
                origins.push(origin);
            }
        }
        SubsetRule {
            subset: rule.subset,
            confs: found.confs,
            origins,
            by_matches: found.by_matches,
        }
    };
    built.rules.into_iter().map(rule).collect()
}
