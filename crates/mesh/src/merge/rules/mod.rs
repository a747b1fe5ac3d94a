// SPDX-License-Identifier: Apache-2.0
//! In: policies that apply to a proxy, in the order they are merged. Out: rules: by the tags of clients or services, by
//! real resource, for what comes in, for the whole proxy. Not here: which policies apply (`select`).

mod chain;
mod inbound;
mod resource;
mod subset;

use std::collections::BTreeMap;

use overrule_engine::{StepId, Traced};
use overrule_source::Documents;

use crate::conf::http_route::hashes;
use crate::conf::{Confs, Plan, Position, Strategy, conf_of};
use crate::kinds::HTTP_ROUTE;
use crate::policy::{Entry, Policy};

pub use chain::{chain, first_hit};
pub use inbound::{InboundRule, inbound_entries, inbound_rules};
pub(crate) use resource::{Destined, resource_rules_by};
pub use resource::{ResourceRule, lookup, resource_rules, sorted_to_entries};
pub use subset::{SubsetRule, subset_of, subset_rules_from, subset_rules_of, subset_rules_to};

/// Most rules one list of entries may make.
pub const MOST_RULES: usize = 100_000;

/// One entry of one policy.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// Whose it is.
    pub policy: &'a Policy,
    /// The entry.
    pub entry: &'a Entry,
}

/// Who wrote a rule: a policy, and the place of the entry in its list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The policy.
    pub policy: &'a crate::resource::Meta,
    /// Place of the entry.
    pub index: u32,
}

/// What merging entries gives.
pub(crate) struct Merged<'a> {
    /// One conf, or one per hostname.
    pub(crate) confs: Vec<Traced>,
    /// Who wrote it, each once.
    pub(crate) origins: Vec<Origin<'a>>,
    /// Who owns each rule of a route.
    pub(crate) by_matches: BTreeMap<String, Origin<'a>>,
}

/// Entries of one kind that meet in several ways; the conf of each is read once.
pub(crate) struct Merging<'a, 'd> {
    items: Vec<Item<'a>>,
    confs: Confs<'d>,
    /// The hashes of the rules of each route.
    owned: Vec<Vec<String>>,
    plan: Plan,
}

impl<'a, 'd> Merging<'a, 'd> {
    pub(crate) fn new(documents: &'d Documents, items: Vec<Item<'a>>, position: Position) -> Self {
        let kind = items.first().map(|i| i.policy.kind);
        let conf = |(step, item): (StepId, &Item<'a>)| {
            conf_of(documents, item.policy.kind, step, item.entry.node, position)
        };
        let confs: Vec<Traced> = (0..).map(StepId).zip(&items).map(conf).collect();
        let owned = match kind == Some(&HTTP_ROUTE) {
            true => confs.iter().map(|c| hashes(documents, c)).collect(),
            false => Vec::new(),
        };
        let plan = Plan::new(documents, kind.map(Strategy::of).unwrap_or_default(), &confs, 0);
        Self { items, confs: Confs::new(documents, confs), owned, plan }
    }

    /// Merges the entries at these places, in this order; the last wins.
    pub(crate) fn merge(&mut self, at: &[usize]) -> Merged<'a> {
        let mut origins: Vec<Origin<'a>> = Vec::new();
        let mut by_matches = BTreeMap::new();
        for (place, item) in at.iter().filter_map(|at| Some((*at, self.items.get(*at)?))) {
            let new = Origin { policy: &item.policy.meta, index: item.entry.index };
            let hashes = self.owned.get(place).into_iter().flatten();
            by_matches.extend(hashes.map(|hash| (hash.clone(), new.clone())));
            let same = |o: &Origin<'_>| {
                (&o.policy.mesh, &o.policy.name, o.index)
                    == (&new.policy.mesh, &new.policy.name, new.index)
            };
            if !origins.iter().any(same) {
                origins.push(new);
            }
        }
        let confs = self.confs.merge(&self.plan, at).into_iter().map(|m| m.value).collect();
        Merged { confs, origins, by_matches }
    }
}
