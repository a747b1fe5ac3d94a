// SPDX-License-Identifier: Apache-2.0
//! In: rules and whether there is HTTP. Out: entries, each with what it asks of identity, path and the rest, and what
//! could not be expressed. Not here: how entries are arranged.

use std::borrow::Cow;

use overrule_access::{AccessRule, Identity, Match, PathMatch};

use crate::Protocol;
use crate::problem::FilterProblem;
use crate::proto::matcher::{
    GoogleRe2, Input, Predicate, PredicateList, RegexMatcher, StringMatcher,
};
use crate::sequence::Condition;
use crate::spelling::{DOTS, Spelling, expressions};

/// A rule that can be written.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub rule: &'a AccessRule,
    /// What must hold besides identity and path; all of them.
    pub rest: Vec<Predicate<'a>>,
    /// What the path must be.
    pub path: Option<Path<'a>>,
}

/// What a path must be.
#[derive(Debug, Clone)]
pub(crate) enum Path<'a> {
    /// Of an allow: as it is written.
    Written(&'a PathMatch),
    /// Of a deny: however it is spelled.
    Spelled(Spelling),
}

impl<'a> Entry<'a> {
    /// All that must hold.
    pub(crate) fn condition(self) -> Condition<'a> {
        // The identity goes first: on a connection without TLS, looking at it ends the evaluation with a denial.
        let identity: Vec<_> = self.rule.matches.identity.iter().map(identity).collect();
        self.with(identity)
    }

    /// All that must hold besides the identity.
    pub(crate) fn rest(self) -> Condition<'a> {
        self.with(Vec::new())
    }

    /// All that must hold besides identity and path.
    pub(crate) fn without_path(self) -> Condition<'a> {
        Self { path: None, ..self }.with(Vec::new())
    }

    fn with(self, mut parts: Vec<Predicate<'a>>) -> Condition<'a> {
        parts.extend(self.rest);
        match self.path {
            Some(Path::Spelled(one)) if parts.is_empty() => return Condition::Spelled(one),
            Some(Path::Spelled(one)) => parts.extend(spelled(&[one])),
            Some(Path::Written(one)) => parts.extend(written(one)),
            None => {}
        }
        Predicate::all(parts).map_or(Condition::None, Condition::Holds)
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
        return (!allows).then_some(Entry { rule, rest: Vec::new(), path: None });
    }
    let mut rest: Vec<_> = rule.matches.sni.iter().map(|name| sni(name)).collect();
    // Envoy keeps server names in lower case.
    if rule.matches.sni.iter().any(|name| name.bytes().any(|b| b.is_ascii_uppercase())) {
        problems.push(FilterProblem::NeverMatches(source));
        return None;
    }
    if !rule.matches.needs_http() {
        return Some(Entry { rule, rest, path: None });
    }
    if protocol == Protocol::Tcp {
        problems.push(if allows {
            FilterProblem::HttpAllowOnTcp(source)
        } else {
            FilterProblem::HttpDenyOnTcp(source)
        });
        return (!allows).then_some(Entry { rule, rest, path: None });
    }
    rest.extend(rule.matches.method.iter().map(|name| header(":method", exact(name))));
    let path = match &rule.matches.path {
        None => None,
        Some(wanted) => {
            let path = match wanted {
                PathMatch::Exact(text) | PathMatch::Prefix(text) if text.contains('?') => None,
                wanted if allows => Some(Path::Written(wanted)),
                wanted => Spelling::of(wanted).map(Path::Spelled),
            };
            if path.is_none() {
                problems.push(FilterProblem::NeverMatches(source));
                return None;
            }
            path
        }
    };
    Some(Entry { rule, rest, path })
}

/// On the URI SANs of the certificate.
pub(crate) fn identity(wanted: &Identity) -> Predicate<'_> {
    // Envoy refuses the empty prefix. What it means is "any identity, but one".
    if matches!(wanted, Identity::Prefix(value) if value.is_empty()) {
        return Predicate::single(Input::UriSan {}, regex("(?s).*"));
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

/// The texts that a path with its query is, or begins with, as an allow is written.
pub(crate) fn texts(wanted: &PathMatch) -> (Option<&str>, Vec<String>) {
    let (value, below) = match wanted {
        PathMatch::Exact(value) => (&**value, false),
        PathMatch::Prefix(value) => (&**value, true),
    };
    match (below, value) {
        (false, value) => (Some(value), vec![format!("{value}?")]),
        // All paths begin with a slash, and what ends in one is a boundary already.
        (true, "") => (None, vec!["/".to_owned()]),
        (true, value) if value.ends_with('/') => (None, vec![value.to_owned()]),
        (true, value) => (Some(value), vec![format!("{value}?"), format!("{value}/")]),
    }
}

/// On the path of an allow. Envoy has it with its query, so that each form also has to end at a question mark.
fn written(wanted: &PathMatch) -> Option<Predicate<'_>> {
    let (whole, beginnings) = texts(wanted);
    let whole = whole.map(|value| header(":path", exact(value)));
    let begins = |text| header(":path", StringMatcher::Prefix(Cow::Owned(text)));
    Predicate::any(whole.into_iter().chain(beginnings.into_iter().map(begins)).collect())
}

/// On the path of denies, of which one must fit.
pub(crate) fn spelled<'a>(all: &[Spelling]) -> Option<Predicate<'a>> {
    let fits = |expression| header(":path", regex(expression));
    Predicate::any(expressions(all).into_iter().map(fits).collect())
}

/// A path that rules cannot be asked about: there is none, as in a CONNECT, or it is another one to a server that cuts
/// parameters first.
pub(crate) fn unsafe_path<'a>() -> Predicate<'a> {
    let slash = header(":path", StringMatcher::Prefix(Cow::Borrowed("/")));
    let parts = vec![Predicate::NotMatcher(Box::new(slash)), header(":path", regex(DOTS))];
    Predicate::OrMatcher(PredicateList { predicate: parts })
}

fn regex<'a>(expression: impl Into<Cow<'a, str>>) -> StringMatcher<'a> {
    let regex = expression.into();
    StringMatcher::SafeRegex(RegexMatcher { google_re2: GoogleRe2 {}, regex })
}

fn exact(value: &str) -> StringMatcher<'_> {
    StringMatcher::Exact(Cow::Borrowed(value))
}

fn header<'a>(header_name: &'static str, value: StringMatcher<'a>) -> Predicate<'a> {
    Predicate::single(Input::RequestHeader { header_name }, value)
}
