// SPDX-License-Identifier: Apache-2.0
//! In: subset rules of `from` policies, to be read so that the first that contains a client decides. Out: RBAC with
//! classic principals. Not here: how policies become subset rules.
//!
//! Certificates of these meshes carry one URI SAN for each service and each tag of a client, several by design: there
//! is not a guard, and a client can be of two services at once.
//!
//! A classic list has no order: one principal that fits lets pass. So each allowed subset must not contain what a
//! deny before it contains: what is denied is taken out.
//!
//! ```text
//!  and( not(denies that nothing before them allows),
//!       or( allowed subset, and(allowed subset, not(other denies before it)), ... ) )
//! ```
//! The first part is written once. A deny belongs there if no client with one value for each tag is contained in it
//! and in an allowed subset before it; a client with two services, one of them denied there, is denied.

use std::collections::BTreeMap;

use overrule_access::client_set::{self, TagCondition};

use crate::filters::{FilterForm, FilterOptions, Projection, Protocol, http, network};
use crate::names::stat_prefix;
use crate::proto::rbac::{
    Authenticated, HttpRbac, NetworkRbac, Permission, Policy, Principal, PrincipalName,
    PrincipalSet, RbacAction, Rules,
};

/// The name of the one policy.
const POLICY: &str = "MeshTrafficPermission";

/// The tag whose SAN is a SPIFFE ID.
const SERVICE: &str = "kuma.io/service";

/// A tag that a client must have, or must not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LegacyTag {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Whether the client must not have it.
    pub not: bool,
}

/// What a subset rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubsetAction {
    /// Admits.
    Allow,
    /// Admits, and counts it as one that would be refused.
    AllowWithShadowDeny,
    /// Refuses.
    Deny,
}

/// A subset of clients and what happens with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacySubset {
    /// All must hold; everyone if empty.
    pub tags: Vec<LegacyTag>,
    /// What happens.
    pub action: SubsetAction,
}

/// The subset rules of one inbound.
#[derive(Debug, Clone, Copy)]
pub struct LegacyInput<'a> {
    /// In order.
    pub rules: &'a [LegacySubset],
    /// The mesh, which is the trust domain.
    pub mesh: &'a str,
    /// What it speaks.
    pub protocol: Protocol,
    /// The name of the listener.
    pub stat_prefix: &'a str,
}

/// Writes the subset rules of one inbound: exactly as the release for [`FilterForm::Kuma`], else so that no deny is lost.
pub fn legacy(input: &LegacyInput<'_>, options: &FilterOptions) -> Projection<'static> {
    let exact = matches!(options.form, FilterForm::Kuma(_));
    let form = if exact { options.form } else { FilterForm::List };
    let of =
        |wanted: &[SubsetAction]| if exact { as_is(input, wanted) } else { apart(input, wanted) };
    let shadow = of(&[SubsetAction::AllowWithShadowDeny]);
    let rules = Some(rules(
        RbacAction::Allow,
        of(&[SubsetAction::Allow, SubsetAction::AllowWithShadowDeny]),
    ));
    let shadow_rules = (!shadow.is_empty()).then(|| self::rules(RbacAction::Deny, shadow));
    let filter = match input.protocol {
        Protocol::Http => http(HttpRbac {
            rules,
            shadow_rules,
            track_per_rule_stats: options.per_policy_stats && !exact,
            ..HttpRbac::default()
        }),
        Protocol::Tcp => network(NetworkRbac {
            rules,
            shadow_rules,
            stat_prefix: stat_prefix(input.stat_prefix),
            ..NetworkRbac::default()
        }),
    };
    Projection {
        protocol: input.protocol,
        form,
        filters: vec![filter],
        listener_filters: Vec::new(),
        connection_manager: None,
        actions: vec![POLICY.into()],
        problems: Vec::new(),
    }
}

/// No principals: no policies, which nobody passes.
fn rules(action: RbacAction, principals: Vec<Principal>) -> Rules {
    let policy = Policy { permissions: vec![Permission::Any(true)], principals };
    let policies = (!policy.principals.is_empty()).then_some((POLICY, policy));
    Rules { action, policies: policies.into_iter().collect::<BTreeMap<_, _>>() }
}

/// The subsets with these actions as they are, action by action.
fn as_is(input: &LegacyInput<'_>, wanted: &[SubsetAction]) -> Vec<Principal> {
    let with = |action: SubsetAction| input.rules.iter().filter(move |rule| rule.action == action);
    let rules = wanted.iter().flat_map(|action| with(*action));
    rules.map(|rule| subset(&rule.tags, input.mesh)).collect()
}

/// The clients for whom the first rule that contains them has one of these actions.
fn apart(input: &LegacyInput<'_>, wanted: &[SubsetAction]) -> Vec<Principal> {
    let Parted { outright, rest } = part(input.rules, wanted);
    let not = |rule: &&LegacySubset| Principal::NotId(Box::new(subset(&rule.tags, input.mesh)));
    let principal = |(rule, before): (&LegacySubset, Vec<&LegacySubset>)| {
        let mut ids = Vec::with_capacity(before.len() + 1);
        match subset(&rule.tags, input.mesh) {
            Principal::AndIds(set) => ids.extend(set.ids),
            one => ids.push(one),
        }
        ids.extend(before.iter().filter(|other| !contradict(&rule.tags, &other.tags)).map(not));
        all(ids)
    };
    let allowed: Vec<_> = rest.into_iter().map(principal).collect();
    if outright.is_empty() || allowed.is_empty() {
        return allowed;
    }
    let denied = any(outright.iter().map(|rule| subset(&rule.tags, input.mesh)).collect());
    vec![all(vec![Principal::NotId(Box::new(denied)), any(allowed)])]
}

struct Parted<'a> {
    /// Rules without a wanted action that may as well be asked first.
    outright: Vec<&'a LegacySubset>,
    /// Rules with a wanted action, each with the other rules without one that stand before it.
    rest: Vec<(&'a LegacySubset, Vec<&'a LegacySubset>)>,
}

fn part<'a>(rules: &'a [LegacySubset], wanted: &[SubsetAction]) -> Parted<'a> {
    let mut parted = Parted { outright: Vec::new(), rest: Vec::new() };
    let mut late: Vec<&LegacySubset> = Vec::new();
    for rule in rules {
        if wanted.contains(&rule.action) {
            parted.rest.push((rule, late.clone()));
        } else if parted.rest.iter().all(|(earlier, _)| disjoint(&earlier.tags, &rule.tags)) {
            parted.outright.push(rule);
        } else {
            late.push(rule);
        }
    }
    parted
}

fn conditions(tags: &[LegacyTag]) -> impl Iterator<Item = TagCondition<'_>> + Clone {
    tags.iter().map(|LegacyTag { key, value, not }| TagCondition { key, value, not: *not })
}

fn disjoint(a: &[LegacyTag], b: &[LegacyTag]) -> bool {
    client_set::disjoint(conditions(a), conditions(b))
}

fn contradict(a: &[LegacyTag], b: &[LegacyTag]) -> bool {
    client_set::contradict(conditions(a), conditions(b))
}

fn subset(tags: &[LegacyTag], mesh: &str) -> Principal {
    if tags.is_empty() {
        return Principal::Any(true);
    }
    all(tags.iter().map(|tag| principal(tag, mesh)).collect())
}

fn principal(tag: &LegacyTag, mesh: &str) -> Principal {
    let LegacyTag { key, value, not } = tag;
    let san = if key == SERVICE {
        format!("spiffe://{mesh}/{value}")
    } else {
        format!("kuma://{key}/{value}")
    };
    let principal =
        Principal::Authenticated(Authenticated { principal_name: PrincipalName::Exact(san) });
    if *not { Principal::NotId(Box::new(principal)) } else { principal }
}

/// All of these; not empty.
fn all(ids: Vec<Principal>) -> Principal {
    one_or(ids, Principal::AndIds)
}

/// One of these; not empty.
fn any(ids: Vec<Principal>) -> Principal {
    one_or(ids, Principal::OrIds)
}

fn one_or(ids: Vec<Principal>, many: impl Fn(PrincipalSet) -> Principal) -> Principal {
    match <[Principal; 1]>::try_from(ids) {
        Ok([one]) => one,
        Err(ids) => many(PrincipalSet { ids }),
    }
}

#[cfg(test)]
mod tests;
