// SPDX-License-Identifier: Apache-2.0
//! In: rules and a request. Out: the decision, by asking each rule: the document's own words, and the measure for the
//! compiled form. Not here: speed.

use std::cmp::Reverse;

use crate::decision::{Answer, Decision, Verdict};
use crate::facts::Facts;
use crate::rule::{AccessRule, Effect, Identity, PathMatch, Request};

/// Denied if a deny matches; else allowed if an allow or an `allowWithShadowDeny` matches; else denied.
///
/// The rules come in list order (see [`in_list_order`]); a deny that follows an allow still comes before it. What the
/// proxy refuses before it asks any rule is denied by none. A fact of HTTP that the request does not
/// have counts against it: allows that need it do not match, denies that need it do. No identity matches no identity.
pub fn decide(rules: &[AccessRule], request: &Request<'_>) -> Decision {
    let paths = rules.iter().any(|rule| rule.matches.path.is_some());
    let facts = match Facts::new(request, paths) {
        Ok(facts) => facts,
        Err(why) => return Decision::new(Answer::rejected(why), Vec::new()),
    };
    let mut matched: Vec<&AccessRule> = rules.iter().filter(|rule| facts.meet(rule)).collect();
    matched.sort_by_key(|rule| rule.effect.allows());
    Decision::new(answer(&matched), matched.iter().map(|rule| rule.source).collect())
}

/// From all that matched, denies first.
fn answer(matched: &[&AccessRule]) -> Answer {
    let Some(first) = matched.first() else { return Answer::NOTHING };
    let allowed = first.effect.allows();
    let deciding = matched.iter().filter(|rule| rule.effect.allows() == allowed);
    // Of equals the first stays.
    let tree = deciding.min_by_key(|rule| stage(rule));
    let shadow = matched.iter().find(|rule| rule.effect == Effect::AllowWithShadowDeny);
    Answer {
        verdict: if allowed { Verdict::Allowed } else { Verdict::Denied },
        by: Some(first.source),
        by_tree: tree.map(|rule| rule.source),
        shadow: shadow.map(|rule| rule.source),
        rejected: None,
    }
}

/// Where the tree form asks it.
pub fn stage(rule: &AccessRule) -> impl Ord + use<> {
    let identity = match &rule.matches.identity {
        None => (0, Reverse(0)),
        Some(Identity::Exact(_)) => (1, Reverse(0)),
        Some(Identity::Prefix(text)) => (2, Reverse(text.len())),
    };
    let path = match rule.matches.path.as_ref().filter(|_| rule.effect.allows()) {
        None => (0, Reverse(0)),
        Some(PathMatch::Exact(_)) => (1, Reverse(0)),
        Some(PathMatch::Prefix(text)) => (2, Reverse(text.len())),
    };
    (identity, path)
}

/// Brings rules that come policy by policy into the order of Envoy's list: all denies; then, for each entry of a policy,
/// what it allows, and after that what it allows with a shadow deny. Entries keep the order in which they come first.
pub fn in_list_order(mut rules: Vec<AccessRule>) -> Vec<AccessRule> {
    let mut turn = hashbrown::HashMap::new();
    for rule in &rules {
        let next = turn.len();
        turn.entry(rule.policy).or_insert(next);
    }
    let turn_of = |rule: &AccessRule| turn.get(&rule.policy).copied();
    rules.sort_by_key(|rule| match rule.effect {
        Effect::Deny => (0, turn_of(rule), 0),
        Effect::Allow => (1, turn_of(rule), 0),
        Effect::AllowWithShadowDeny => (1, turn_of(rule), 1),
    });
    rules
}
