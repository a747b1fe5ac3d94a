// SPDX-License-Identifier: Apache-2.0
//! In: rules and whether there is HTTP. Out: entries, each a part on the identity and predicates for the rest, and
//! what could not be expressed. Not here: how entries are arranged.

use std::borrow::Cow;

use overrule_access::{AccessRule, Identity, Match, PathMatch};

use crate::Protocol;
use crate::problem::FilterProblem;
use crate::proto::matcher::{GoogleRe2, Input, Predicate, RegexMatcher, StringMatcher};

/// A rule that can be written.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub rule: &'a AccessRule,
    /// What must hold besides the identity; all of them.
    pub rest: Vec<Predicate<'a>>,
}

impl<'a> Entry<'a> {
    /// All that must hold; none if nothing must.
    pub(crate) fn predicate(self) -> Option<Predicate<'a>> {
        // The identity goes first: on a connection without TLS, looking at it ends the evaluation with a denial.
        let mut parts: Vec<_> = self.rule.matches.identity.iter().map(identity).collect();
        parts.extend(self.rest);
        Predicate::all(parts)
    }

    /// All that must hold besides the identity.
    pub(crate) fn rest(self) -> Option<Predicate<'a>> {
        Predicate::all(self.rest)
    }
}

/// The rules that can be written, in their order.
pub(crate) fn entries<'a>(
    rules: &'a [AccessRule],
    protocol: Protocol,
    problems: &mut Vec<FilterProblem>,
) -> Vec<Entry<'a>> {
    rules.iter().filter_map(|rule| entry(rule, protocol, problems)).collect()
}

fn entry<'a>(
    rule: &'a AccessRule,
    protocol: Protocol,
    problems: &mut Vec<FilterProblem>,
) -> Option<Entry<'a>> {
    let source = rule.source;
    let allows = rule.effect.allows();
    if rule.matches == Match::default() {
        problems.push(if allows {
            FilterProblem::EmptyAllow(source)
        } else {
            FilterProblem::EmptyDeny(source)
        });
        return (!allows).then_some(Entry { rule, rest: Vec::new() });
    }
    let mut rest: Vec<_> = rule.matches.sni.iter().map(|name| sni(name)).collect();
    // Envoy keeps server names in lower case.
    if rule.matches.sni.iter().any(|name| name.bytes().any(|b| b.is_ascii_uppercase())) {
        problems.push(FilterProblem::NeverMatches(source));
        return None;
    }
    if !rule.matches.needs_http() {
        return Some(Entry { rule, rest });
    }
    if protocol == Protocol::Tcp {
        problems.push(if allows {
            FilterProblem::HttpAllowOnTcp(source)
        } else {
            FilterProblem::HttpDenyOnTcp(source)
        });
        return (!allows).then_some(Entry { rule, rest });
    }
    rest.extend(rule.matches.method.iter().map(|name| header(":method", exact(name))));
    if let Some(wanted) = &rule.matches.path {
        let Some(path) = path(wanted) else {
            problems.push(FilterProblem::NeverMatches(source));
            return None;
        };
        rest.push(path);
    }
    Some(Entry { rule, rest })
}

/// On the URI SANs of the certificate.
pub(crate) fn identity(wanted: &Identity) -> Predicate<'_> {
    // Envoy refuses the empty prefix. What it means is "any identity, but one".
    if matches!(wanted, Identity::Prefix(value) if value.is_empty()) {
        let all = RegexMatcher { google_re2: GoogleRe2 {}, regex: "(?s).*" };
        return Predicate::single(Input::UriSan {}, StringMatcher::SafeRegex(all));
    }
    identity_verbatim(wanted)
}

/// On the URI SANs of the certificate, as written.
pub(crate) fn identity_verbatim(wanted: &Identity) -> Predicate<'_> {
    let value = match wanted {
        Identity::Exact(value) => exact(value),
        Identity::Prefix(value) => StringMatcher::Prefix(Cow::Borrowed(value)),
    };
    Predicate::single(Input::UriSan {}, value)
}

/// More than one URI SAN: Envoy joins them with commas, and an identity has none.
pub(crate) fn several_identities<'a>() -> Predicate<'a> {
    Predicate::single(Input::UriSan {}, StringMatcher::Contains(","))
}

/// On the server name.
pub(crate) fn sni(name: &str) -> Predicate<'_> {
    Predicate::single(Input::ServerName {}, exact(name))
}

/// On the path. Envoy has it with its query, so that each form also has to end at a question mark. None if it can
/// never match.
fn path(wanted: &PathMatch) -> Option<Predicate<'_>> {
    let (value, below) = match wanted {
        PathMatch::Exact(value) => (&**value, false),
        PathMatch::Prefix(value) => (&**value, true),
    };
    if value.contains('?') {
        return None;
    }
    let with =
        |end: &str| header(":path", StringMatcher::Prefix(Cow::Owned(format!("{value}{end}"))));
    if !below {
        return Predicate::any(vec![header(":path", exact(value)), with("?")]);
    }
    // All paths begin with a slash, and what ends in one is a boundary already.
    if value.is_empty() {
        return Some(with("/"));
    }
    if value.ends_with('/') {
        return Some(with(""));
    }
    Predicate::any(vec![header(":path", exact(value)), with("?"), with("/")])
}

fn exact(value: &str) -> StringMatcher<'_> {
    StringMatcher::Exact(Cow::Borrowed(value))
}

fn header<'a>(header_name: &'static str, value: StringMatcher<'a>) -> Predicate<'a> {
    Predicate::single(Input::RequestHeader { header_name }, value)
}
