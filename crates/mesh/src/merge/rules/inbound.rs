// SPDX-License-Identifier: Apache-2.0
//! In: policies that select an inbound. Out: their rules for what comes in, one after another, least specific first.
//! Not here: merging; those who use the rules do.

use overrule_source::NodeRef;

use super::{Item, Origin};
use crate::order::{Listed, compare, sort};
use crate::policy::Policy;
use crate::profile::Profile;

/// A rule for what comes in.
#[derive(Debug, Clone)]
pub struct InboundRule<'a> {
    /// The entry.
    pub node: NodeRef,
    /// Whether it is an element of `from` that is read as a rule.
    pub from: bool,
    /// Who wrote it.
    pub origin: Origin<'a>,
}

/// The entries about what comes in at an inbound, each with whether it is an element of `from` that is read as a rule.
/// Policies come in the order of policies.
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

/// The rules of an inbound. Policies come in the order of policies.
pub fn inbound_rules<'a>(profile: &Profile, policies: &[&'a Policy]) -> Vec<InboundRule<'a>> {
    let rule = |(item, from): (Item<'a>, bool)| InboundRule {
        node: item.entry.node,
        from,
        origin: Origin { policy: &item.policy.meta, index: item.entry.index },
    };
    inbound_entries(profile, policies).into_iter().map(rule).collect()
}
