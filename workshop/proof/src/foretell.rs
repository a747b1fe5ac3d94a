// SPDX-License-Identifier: Apache-2.0
//! In: rules and a request. Out: what Envoy will do with it, from our decision. Not here: the decision itself
//! (`overrule_access`).
//!
//! Around the decision stands what the proxy does before it asks the rules: the handshake, what is no HTTP, the guard
//! against certificates with several names.

use std::cmp::Reverse;

use overrule_access::{
    AccessRule, Decision, Effect, Identity, Match, PathMatch, Request, RuleSource, Verdict, naive,
    path,
};
use overrule_envoy::{DEFAULT, GUARD, action_name};

use crate::answer::{Expected, ProxyAnswer};
use crate::client::ProxyRequest;
use crate::lab::{LabProtocol, RuleLayout, Setup};
use crate::pki::Holder;
use crate::rules::InboundRules;

/// What Envoy will do with a request of this client.
pub fn foretell(
    rules: &InboundRules,
    setup: &Setup<'_>,
    ask: &ProxyRequest,
    holder: &Holder,
) -> Expected {
    let nothing = |answer| Expected { answer, counted: None, path: None };
    if !holder.is_accepted() {
        return nothing(ProxyAnswer::Refused);
    }
    let http = setup.protocol == LabProtocol::Http;
    let path = match judged(rules, &ask.path) {
        Some(path) => http.then_some(path),
        None if http => return nothing(ProxyAnswer::Rejected { status: 400 }),
        None => None,
    };
    if is_guarded(rules, http) && holder.uris.join(",").contains(',') {
        let answer = ProxyAnswer::Denied { policy: GUARD.to_owned() };
        return Expected { answer, counted: None, path };
    }
    let request = Request {
        identity: holder.identity(),
        sni: ask.sni.as_deref(),
        method: http.then_some(&ask.method),
        path: http.then_some(&ask.path),
    };
    let decision = rules.compiled.decide_fully(&request);
    // Both ways to decide must agree; where they do not, no answer is right, and the comparison shows it.
    if decision != naive::decide(&rules.rules, &request) {
        let policy = "the compiled form and the linear scan differ".to_owned();
        return nothing(ProxyAnswer::Denied { policy });
    }
    let (answer, counted) = answer(rules, setup.form, &decision);
    Expected { answer, counted, path }
}

/// In Envoy's words: the answer, and the policy whose shadow counts.
fn answer(
    rules: &InboundRules,
    form: RuleLayout,
    decision: &Decision,
) -> (ProxyAnswer, Option<String>) {
    let by = match form {
        RuleLayout::List => decision.by,
        RuleLayout::Tree => decision.by_tree,
    };
    let policy = by.and_then(|source| name(rules, source));
    let counted = shadow(rules, form, decision);
    let answer = match (decision.verdict, policy) {
        (Verdict::Allowed, policy) => {
            ProxyAnswer::Allowed { policy: policy.unwrap_or_default(), shadow: counted.clone() }
        }
        (Verdict::Denied, Some(policy)) => ProxyAnswer::Denied { policy },
        (Verdict::Denied, None) => ProxyAnswer::Denied { policy: DEFAULT.to_owned() },
    };
    (answer, counted)
}

/// The policy whose shadow would refuse: Envoy asks shadows on their own, in the same form, whatever the verdict.
fn shadow(rules: &InboundRules, form: RuleLayout, decision: &Decision) -> Option<String> {
    let all = decision.matched.iter().filter_map(|&source| rule(rules, source));
    let mut shadows = all.filter(|rule| rule.effect == Effect::AllowWithShadowDeny);
    let first = match form {
        RuleLayout::List => shadows.next(),
        RuleLayout::Tree => shadows.min_by_key(|rule| closeness(rule)),
    };
    first.and_then(|rule| name(rules, rule.source))
}

/// Trees ask for no identity first, then for the exact one, then for ever shorter prefixes.
fn closeness(rule: &AccessRule) -> (u8, Reverse<usize>) {
    match &rule.matches.identity {
        None => (0, Reverse(0)),
        Some(Identity::Exact(_)) => (1, Reverse(0)),
        Some(Identity::Prefix(prefix)) => (2, Reverse(prefix.len())),
    }
}

/// Whether there is a guard: where no rule is written, everyone gets the same answer without it.
fn is_guarded(rules: &InboundRules, http: bool) -> bool {
    rules.rules.iter().any(|rule| is_written(rule, http))
}

/// Whether a rule can match at all: server names are in lower case, paths without a query, and TCP has neither method
/// nor path, which makes an allow that asks for them void.
fn is_written(rule: &AccessRule, http: bool) -> bool {
    let Match { sni, path, .. } = &rule.matches;
    let lower = !sni.iter().any(|name| name.bytes().any(|b| b.is_ascii_uppercase()));
    let plain = !path.iter().any(|path| match path {
        PathMatch::Exact(text) | PathMatch::Prefix(text) => text.contains('?'),
    });
    let spoken = if http { plain } else { !rule.matches.needs_http() || !rule.effect.allows() };
    lower && spoken
}

/// The path that is judged; none if the proxy refuses it. It is made normal only where rules compare it.
fn judged(rules: &InboundRules, raw: &str) -> Option<String> {
    if rules.rules.iter().any(|rule| rule.matches.path.is_some()) {
        return path::normalise(raw).ok().map(|path| path.into_owned());
    }
    // An absolute address is reduced to its path in any case.
    let path = raw.strip_prefix("http://host").unwrap_or(raw);
    let path = path.split('?').next().unwrap_or(path);
    (!raw.contains('#')).then(|| path.to_owned())
}

fn rule(rules: &InboundRules, source: RuleSource) -> Option<&AccessRule> {
    rules.rules.iter().find(|rule| rule.source == source)
}

/// The name Envoy knows the policy of a rule by.
fn name(rules: &InboundRules, source: RuleSource) -> Option<String> {
    let policy = usize::try_from(rule(rules, source)?.policy).ok()?;
    rules.names.get(policy).map(|kri| action_name(kri).into_owned())
}
