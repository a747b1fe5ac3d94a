// SPDX-License-Identifier: Apache-2.0
//! In: a request. Out: what of it is compared, and whether one match holds. Not here: many matches.

use std::borrow::Cow;

use crate::path::Rejected;
use crate::rule::{AccessRule, Effect, Identity, Match, PathMatch, Request};
use crate::spelling::Decoded;
use crate::wire::received;

/// A request as the proxy sees it when it asks the rules.
pub struct Facts<'a> {
    pub identity: Option<&'a str>,
    pub sni: Option<Cow<'a, str>>,
    pub method: Option<&'a str>,
    pub path: Option<Cow<'a, str>>,
    /// The same as servers may decode it.
    decoded: Option<Decoded>,
}

impl<'a> Facts<'a> {
    /// `paths`: whether some rule compares paths.
    pub fn new(request: &Request<'a>, paths: bool) -> Result<Self, Rejected> {
        let path = received(request, paths)?;
        Ok(Self {
            identity: request.identity,
            sni: request.sni.map(lower),
            method: request.method,
            decoded: path.as_deref().map(Decoded::of_request),
            path,
        })
    }

    /// Whether the rule matches. What is not known of a request counts against it: an allow that needs it does not
    /// match, a deny that needs it does. The same holds for a match that gives nothing, which readers refuse.
    pub fn meet(&self, rule: &AccessRule) -> bool {
        let strict = rule.effect == Effect::Deny;
        let Match { identity, sni, method, path } = &rule.matches;
        if rule.matches == Match::default() {
            return strict;
        }
        let has_identity =
            identity.as_ref().is_none_or(|i| self.identity.is_some_and(|s| is(i, s)));
        let has_sni = sni.as_deref().is_none_or(|name| self.sni.as_deref() == Some(name));
        let has_method = method.as_deref().is_none_or(|m| self.method.map_or(strict, |s| s == m));
        let has_path = path.as_ref().is_none_or(|p| match (&self.decoded, &self.path) {
            (Some(decoded), _) if strict => {
                Decoded::of_deny(p).is_some_and(|deny| deny.covers(p.is_prefix(), decoded))
            }
            (_, Some(path)) => is_at(p, path),
            _ => strict,
        });
        has_identity && has_sni && has_method && has_path
    }
}

/// A server name as Envoy keeps it: in lower case.
pub fn lower(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

fn is(identity: &Identity, subject: &str) -> bool {
    match identity {
        Identity::Exact(text) => **text == *subject,
        Identity::Prefix(text) => subject.starts_with(&**text),
    }
}

fn is_at(wanted: &PathMatch, path: &str) -> bool {
    match wanted {
        PathMatch::Exact(text) => **text == *path,
        PathMatch::Prefix(text) => path
            .strip_prefix(&**text)
            .is_some_and(|below| text.ends_with('/') || below.is_empty() || below.starts_with('/')),
    }
}
