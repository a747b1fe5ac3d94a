// SPDX-License-Identifier: Apache-2.0
//! In: rules. Out: the matchers exactly as a release of Kuma writes them, its oddities included. Not here: what would
//! be right (`forms`).
//!
//! Oddities: method and path are not known; a shadow counts everything that matches no shadow rule too; release 2.13
//! asks policy by policy, so that an allow of one hides a deny of a later one; no guard against several identities.

use std::collections::BTreeMap;

use overrule_access::{AccessRule, Effect};

use crate::entry::{identity_verbatim, sni};
use crate::names::{DEFAULT, Names, answer};
use crate::problem::FilterProblem;
use crate::proto::matcher::{FieldMatcher, Matcher, MatcherList, Predicate};
use crate::proto::rbac::RbacAction;

/// A line of releases of Kuma.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// Denies and allows policy by policy.
    V2_13,
    /// All denies before all allows; also in releases after 2.14.
    V2_14,
}

/// The rules of one entry of one policy.
#[derive(Default)]
struct Conf<'a> {
    deny: Vec<&'a AccessRule>,
    shadow: Vec<&'a AccessRule>,
    allow: Vec<&'a AccessRule>,
}

/// The deciding matcher, and the shadow if there is one.
pub(crate) fn matchers<'a>(
    rules: &'a [AccessRule],
    release: Release,
    names: &Names<'a>,
    problems: &mut Vec<FilterProblem>,
) -> (Matcher<'a>, Option<Matcher<'a>>) {
    problems.extend(
        rules
            .iter()
            .filter(|r| r.matches.needs_http())
            .map(|r| FilterProblem::NotInRelease(r.source)),
    );
    let confs = by_policy(rules);
    let mut list = Vec::new();
    let mut allows = Vec::new();
    let mut shadows = Vec::new();
    for (policy, conf) in confs {
        let mut add = |into: &mut Vec<_>, rules: &[&'a AccessRule], action| {
            into.extend(field(rules, policy, action, names, problems));
        };
        let allow: Vec<_> = conf.allow.into_iter().chain(conf.shadow.iter().copied()).collect();
        add(&mut list, &conf.deny, RbacAction::Deny);
        match release {
            Release::V2_13 => add(&mut list, &allow, RbacAction::Allow),
            Release::V2_14 => add(&mut allows, &allow, RbacAction::Allow),
        }
        add(&mut shadows, &conf.shadow, RbacAction::Deny);
    }
    list.extend(allows);
    // The same oddity of a policy is found in its list and in its shadow.
    problems.dedup();
    let shadow = (!shadows.is_empty()).then(|| matcher(shadows));
    (matcher(list), shadow)
}

/// Policies are numbered in the order of the entries they stand for.
fn by_policy(rules: &[AccessRule]) -> BTreeMap<u32, Conf<'_>> {
    let mut confs = BTreeMap::<u32, Conf<'_>>::new();
    for rule in rules {
        let conf = confs.entry(rule.policy).or_default();
        match rule.effect {
            Effect::Deny => conf.deny.push(rule),
            Effect::AllowWithShadowDeny => conf.shadow.push(rule),
            Effect::Allow => conf.allow.push(rule),
        }
    }
    confs
}

fn field<'a>(
    rules: &[&'a AccessRule],
    policy: u32,
    action: RbacAction,
    names: &Names<'a>,
    problems: &mut Vec<FilterProblem>,
) -> Option<FieldMatcher<'a>> {
    if rules.is_empty() {
        return None;
    }
    let predicates = rules.iter().filter_map(|rule| predicate(rule)).collect();
    let predicate = Predicate::any(predicates).unwrap_or_else(|| {
        problems.push(FilterProblem::UnsetPredicate(policy));
        Predicate::Unset {}
    });
    Some(FieldMatcher { on_match: names.answer(action, policy), predicate })
}

fn predicate(rule: &AccessRule) -> Option<Predicate<'_>> {
    let mut parts: Vec<_> = rule.matches.identity.iter().map(identity_verbatim).collect();
    parts.extend(rule.matches.sni.iter().map(|name| sni(name)));
    Predicate::all(parts)
}

fn matcher(matchers: Vec<FieldMatcher<'_>>) -> Matcher<'_> {
    Matcher {
        matcher_list: (!matchers.is_empty()).then_some(MatcherList { matchers }),
        matcher_tree: None,
        on_no_match: Some(answer(RbacAction::Deny, DEFAULT)),
    }
}
