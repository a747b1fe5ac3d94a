// SPDX-License-Identifier: Apache-2.0
//! In: policies that apply to a proxy, in the order they are merged. Out: rules as the Inspect API shows them: by the tags
//! of clients or services, by real resource, for the whole proxy; each is what a ladder comes to. Not here: which policies
//! apply (`select`), which entries meet (`entries`).

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{Ladders, StepId, Traced};
use overrule_source::Documents;

use super::entries::{Destined, Item, clients, services};
use super::steps::Steps;
use crate::conf::http_route::hashes;
use crate::conf::{ConfStrategy, EntryPosition, Plan, stand_in};
use crate::kinds::Conf;
use crate::kri::Kri;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::resource::Meta;
use crate::subset::{self, Subset, build};
use crate::targets::{Destination, DestinationIndex, Index};

/// Most rules one list of entries may make.
pub const MOST_RULES: usize = 100_000;

/// What entries come to.
#[derive(Debug, Clone, Default)]
pub struct MergedRule<'a> {
    /// One conf, or one per hostname.
    pub confs: Vec<Traced>,
    /// The entries it is made of, in merge order.
    pub origins: Vec<Item<'a>>,
    /// Who owns each rule of a route.
    pub by_matches: BTreeMap<String, Item<'a>>,
}

impl<'a> MergedRule<'a> {
    /// The policies that wrote it, by entry.
    pub fn policies(&self) -> impl Iterator<Item = &'a Meta> {
        self.origins.iter().map(|item| &item.policy.meta)
    }

    /// The same for each of its confs; as it is if it has none.
    fn one_by_one(mut self) -> Vec<Self> {
        let confs = std::mem::take(&mut self.confs);
        if confs.is_empty() {
            return vec![self];
        }
        confs.into_iter().map(|conf| Self { confs: vec![conf], ..self.clone() }).collect()
    }

    /// Keeps the first entry of each policy.
    pub(crate) fn name_policies_once(&mut self) {
        once(&mut self.origins, identity);
    }
}

/// A rule over a set of tags; where hostnames split routes, one of several over the same set.
#[derive(Debug, Clone)]
pub struct SubsetRule<'a> {
    /// Whom it is about.
    pub subset: Subset,
    /// What applies: one conf at most. Each policy is named once.
    pub merged: MergedRule<'a>,
}

/// What applies to a resource.
#[derive(Debug, Clone)]
pub struct ResourceRule<'a> {
    /// The resource.
    pub resource: &'a Destination,
    /// The port; empty for all of it.
    pub section: &'a str,
    /// What applies.
    pub merged: MergedRule<'a>,
}

/// Entries of one kind that meet in several ways, each a step.
struct Merging<'a> {
    steps: Steps<'a>,
    ladders: Ladders,
    plan: Plan,
    /// Steps by the place of their entry.
    of: Vec<StepId>,
    /// By step, the hashes of the rules of a route.
    owned: Vec<Vec<String>>,
}

impl<'a> Merging<'a> {
    fn new(documents: &'a Documents, items: &[Item<'a>], position: EntryPosition) -> Self {
        let mut steps = Steps::new(documents);
        let mut ladders = Ladders::default();
        let mut of = Vec::with_capacity(items.len());
        for (number, item) in (0..).zip(items) {
            of.push(steps.step(*item, position, |node| stand_in(&mut ladders, number, node)));
        }
        let kind = items.first().map(|i| i.policy.kind);
        let confs = &steps.confs.values;
        let is_http = kind.and_then(|k| k.policy).is_some_and(|p| p.conf == Conf::Rules);
        let owned = confs.iter().filter(|_| is_http).map(|c| hashes(documents, c)).collect();
        let plan = Plan::new(documents, kind.map(ConfStrategy::of).unwrap_or_default(), confs, 0);
        Self { steps, ladders, plan, of, owned }
    }

    /// Merges the entries at these places, in this order; the last wins.
    fn merge(&mut self, at: &[usize]) -> MergedRule<'a> {
        let steps: Vec<StepId> = at.iter().filter_map(|at| self.of.get(*at).copied()).collect();
        let mut found = MergedRule::default();
        for step in &steps {
            let Some(item) = self.steps.item(*step) else { continue };
            let hashes = self.owned.get(step.0 as usize).into_iter().flatten();
            found.by_matches.extend(hashes.map(|hash| (hash.clone(), item)));
            found.origins.push(item);
        }
        once(&mut found.origins, |item| (identity(item), item.entry.index));
        let merged = self.steps.confs.merge(&mut self.ladders, &self.plan, &steps);
        found.confs = merged.into_iter().map(|m| m.value).collect();
        found
    }
}

fn identity<'a>(item: &Item<'a>) -> (&'a str, &'a str) {
    (&item.policy.meta.mesh, &item.policy.meta.name)
}

/// Keeps the first of those with one key.
fn once<'a, K: Ord>(items: &mut Vec<Item<'a>>, key: impl Fn(&Item<'a>) -> K) {
    let mut seen = BTreeSet::new();
    items.retain(|item| seen.insert(key(item)));
}

/// What policies say that have one conf for the whole proxy.
pub fn whole_rule<'a>(documents: &'a Documents, policies: &[&'a Policy]) -> MergedRule<'a> {
    let items: Vec<Item<'a>> =
        policies.iter().map(|policy| Item { policy, entry: &policy.whole }).collect();
    let all: Vec<usize> = (0..items.len()).collect();
    let mut merged = Merging::new(documents, &items, EntryPosition::Single).merge(&all);
    merged.name_policies_once();
    merged
}

/// Rules for clients: `from` of the policies of one inbound, in the order of policies.
pub fn subset_rules_from<'a>(
    documents: &'a Documents,
    policies: &[&'a Policy],
) -> Vec<SubsetRule<'a>> {
    subset_rules_of(documents, clients(policies), true, EntryPosition::From)
}

/// Rules for services: `to` of the policies of a proxy, in the order of policies.
pub fn subset_rules_to<'a>(
    documents: &'a Documents,
    policies: &[&'a Policy],
    routes: &[Policy],
) -> Vec<SubsetRule<'a>> {
    subset_rules_of(documents, services(documents, policies, routes), false, EntryPosition::To)
}

/// Rules over these entries.
pub fn subset_rules_of<'a>(
    documents: &'a Documents,
    entries: Vec<(Item<'a>, Subset)>,
    negations: bool,
    position: EntryPosition,
) -> Vec<SubsetRule<'a>> {
    let (items, subsets): (Vec<Item<'a>>, Vec<Subset>) = entries.into_iter().unzip();
    let mut merging = Merging::new(documents, &items, position);
    let rules = |rule: subset::ElementRule| {
        let mut merged = merging.merge(&rule.relevant);
        merged.name_policies_once();
        let one = move |merged| SubsetRule { subset: rule.subset.clone(), merged };
        merged.one_by_one().into_iter().map(one)
    };
    build(&subsets, negations, MOST_RULES).rules.into_iter().flat_map(rules).collect()
}

/// Rules by identity. Policies come in the order of policies; resources are all of the mesh.
pub fn resource_rules<'a>(
    documents: &'a Documents,
    profile: &Profile,
    policies: &[&'a Policy],
    resources: &'a [Destination],
) -> BTreeMap<Kri, ResourceRule<'a>> {
    let index = Index::new(resources);
    let means = |item: &Item<'a>| index.resolve(&item.entry.target, &item.policy.meta);
    resource_rules_by(documents, profile, policies, resources, means)
}

/// The same for whoever knows already what entries mean.
pub(crate) fn resource_rules_by<'a, M: AsRef<[DestinationIndex]>>(
    documents: &'a Documents,
    profile: &Profile,
    policies: &[&'a Policy],
    resources: &'a [Destination],
    means: impl Fn(&Item<'a>) -> M,
) -> BTreeMap<Kri, ResourceRule<'a>> {
    let Destined { items, by_place } = Destined::new(profile, policies, resources, means);
    let mut merging = Merging::new(documents, &items, EntryPosition::To);
    let mut rules = BTreeMap::new();
    for ((place, port), at) in by_place {
        let Some(resource) = resources.get(place as usize) else { continue };
        let section = (port as usize).checked_sub(1).and_then(|p| resource.ports.get(p));
        let section = section.map_or("", |p| &p.section);
        let kri = resource.meta.kri().with_section(section);
        let rule = || ResourceRule { resource, section, merged: merging.merge(&at) };
        rules.entry(kri).or_insert_with(rule);
    }
    rules
}
