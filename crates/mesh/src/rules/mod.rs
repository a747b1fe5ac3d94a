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

use crate::conf::{Position, conf_of, merge, origin_by_matches};
use crate::policy::{Entry, Policy};

pub use chain::{chain, first_hit};
pub use inbound::{InboundRule, inbound_entries, inbound_rules};
pub(crate) use resource::resource_rules_by;
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

/// Merges entries in this order; the last wins.
pub(crate) fn merged<'a>(
    documents: &Documents,
    items: &[Item<'a>],
    position: Position,
) -> Merged<'a> {
    let kind = items.first().map_or("", |i| i.policy.meta.kind.as_str());
    let confs: Vec<(StepId, Traced)> = (0..)
        .map(StepId)
        .zip(items)
        .map(|(step, item)| (step, conf_of(documents, kind, step, item.entry.node, position)))
        .collect();
    let origin = |item: &Item<'a>| Origin { policy: &item.policy.meta, index: item.entry.index };
    let mut origins: Vec<Origin<'a>> = Vec::new();
    for item in items {
        let new = origin(item);
        let same = |o: &Origin<'_>| {
            (&o.policy.mesh, &o.policy.name, o.index)
                == (&new.policy.mesh, &new.policy.name, new.index)
        };
        if !origins.iter().any(same) {
            origins.push(new);
        }
    }
    let owner = |step: StepId| items.get(step.0 as usize).map(origin);
    let by_matches = match kind {
        "MeshHTTPRoute" => origin_by_matches(documents, &confs)
            .into_iter()
            .filter_map(|(hash, step)| Some((hash, owner(step)?)))
            .collect(),
        _ => BTreeMap::new(),
    };
    Merged { confs: merge(documents, kind, &confs), origins, by_matches }
}
