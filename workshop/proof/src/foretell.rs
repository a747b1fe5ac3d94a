// SPDX-License-Identifier: Apache-2.0
//! In: rules and a request. Out: what Envoy will do with it, from our decision. Not here: the decision itself
//! (`overrule_access`).
//!
//! Around the decision stands what the proxy does before it asks the rules: the handshake, what is no HTTP, the guard
//! against certificates with several names.

use std::borrow::Cow;

use overrule_access::path::Rejected;
use overrule_access::spelling::Decoded;
use overrule_access::{
    AccessRule, Decision, Effect, Http, Match, PathMatch, Request, RuleSource, Verdict, naive,
    received, target,
};
use overrule_envoy::{DEFAULT, GUARD, PATH_GUARD, action_name};

use crate::answer::{Expected, ProxyAnswer};
use crate::client::{ProxyRequest, Wire};
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
    let is_http = setup.protocol == LabProtocol::Http;
    let bytes = ask.bytes();
    let raw = text(&bytes, ask.wire);
    let request = Request {
        identity: holder.identity(),
        sni: ask.sni.as_deref(),
        method: is_http.then_some(&ask.method),
        path: is_http.then_some(&raw),
        http: if ask.wire == Wire::Http1 { Http::One } else { Http::Two },
    };
    let rejected = rules.compiled.rejects(&request);
    if let Some(why) = rejected.filter(|why| !why.is_by_filter()) {
        return nothing(ProxyAnswer::Rejected { status: status(why, ask) });
    }
    // What is no text has no one form here; Envoy keeps its bytes.
    let is_text = std::str::from_utf8(&bytes).is_ok();
    let path = if is_http && is_text { judged(rules, &request) } else { None };
    let guarded = is_guarded(rules, is_http);
    let by = |policy: &str| ProxyAnswer::Denied { policy: policy.to_owned() };
    if guarded && holder.uris.join(",").contains(',') {
        return Expected { answer: by(GUARD), counted: None, path };
    }
    if rejected.is_some() {
        let by = by(if guarded { PATH_GUARD } else { DEFAULT });
        return nothing(by);
    }
    let decision = rules.compiled.decide_fully(&request);
    // Both ways to decide must agree; where they do not, no answer is right, and the comparison shows it.
    if decision != naive::decide(&rules.rules, &request) {
        return nothing(by("the compiled form and the linear scan differ"));
    }
    let (answer, counted) = answer(rules, setup.form, &decision);
    Expected { answer, counted, path }
}

/// A target as text. Bytes of a path that are none are escaped, as Envoy does with HTTP/2.
fn text(bytes: &[u8], wire: Wire) -> Cow<'_, str> {
    if wire == Wire::Http1 || std::str::from_utf8(bytes).is_ok() {
        return String::from_utf8_lossy(bytes);
    }
    let query = bytes.iter().position(|b| *b == b'?').unwrap_or(bytes.len());
    let (path, query) = bytes.split_at_checked(query).unwrap_or_default();
    let escaped = path.iter().map(|b| match b {
        0x80.. => format!("%{b:02X}"),
        b => char::from(*b).to_string(),
    });
    Cow::Owned(escaped.collect::<String>() + &String::from_utf8_lossy(query))
}

/// What a request is answered with that the proxy refuses; 0 if it gives up the stream.
fn status(why: Rejected, ask: &ProxyRequest) -> u16 {
    let is_asterisk = ask.method == "OPTIONS" && ask.path.starts_with('*');
    let by_codec = match why {
        Rejected::Fragment | Rejected::EscapedSlash | Rejected::EscapedNul => false,
        // The codec takes it, and whoever routes does not.
        Rejected::Target => !(is_asterisk && (ask.wire == Wire::Http1 || ask.path == "*")),
        _ => true,
    };
    match ask.wire {
        Wire::Http2 | Wire::Grpc if by_codec => 0,
        Wire::Grpc => 200,
        Wire::Http1 | Wire::Http2 if why == Rejected::Target && !by_codec => 404,
        Wire::Http1 | Wire::Http2 => 400,
    }
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
        RuleLayout::Tree => shadows.min_by_key(|rule| naive::stage(rule)),
    };
    first.and_then(|rule| name(rules, rule.source))
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
        PathMatch::Exact(text) if text.is_empty() && !rule.effect.allows() => true,
        path if !rule.effect.allows() => Decoded::of_deny(path).is_none(),
        PathMatch::Exact(text) | PathMatch::Prefix(text) => text.contains('?'),
    });
    let spoken = if http { plain } else { !rule.matches.needs_http() || !rule.effect.allows() };
    lower && spoken
}

/// The path that is judged, if there is one. It is made normal only where rules compare it.
fn judged(rules: &InboundRules, request: &Request<'_>) -> Option<String> {
    let has_paths = rules.rules.iter().any(|rule| rule.matches.path.is_some());
    if has_paths || request.method == Some("CONNECT") {
        return received(request, has_paths).ok().flatten().map(|path| path.into_owned());
    }
    let path = target(request.path?, request.http).ok()?;
    path.split('?').next().map(str::to_owned)
}

fn rule(rules: &InboundRules, source: RuleSource) -> Option<&AccessRule> {
    rules.rules.iter().find(|rule| rule.source == source)
}

/// The name Envoy knows the policy of a rule by.
fn name(rules: &InboundRules, source: RuleSource) -> Option<String> {
    let policy = usize::try_from(rule(rules, source)?.policy).ok()?;
    rules.names.get(policy).map(|kri| action_name(kri).into_owned())
}
