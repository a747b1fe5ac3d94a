// SPDX-License-Identifier: Apache-2.0
//! In: the path that a deny names, and normalised paths of requests. Out: whether a server may decode the one to the
//! other. Not here: allows, which are compared as they are written, so that they never widen; how a filter says it.
//!
//! The proxy compares text, and a server decodes. Both `/caf%C3%A9` and `/caf%c3%a9` are `/café` to a server, `/a%2Bb`
//! is `/a+b`, and servers that know parameters of paths read `/admin;x` and `/;x/admin` as `/admin`. So a deny is
//! compared with what a server may make of a path:
//!
//! 1. Escapes are decoded, once. `%3B` counts as `;`.
//! 2. `;` and what follows it in a segment is a parameter. A segment that is nothing else is dropped.
//! 3. What is left must be equal, segment by segment. A segment of the deny that has a parameter itself wants it there,
//!    before any other.
//!
//! A request whose segments are dots only after parameters are cut (`/a/..;/b`) is refused before that
//! ([`Rejected::Dots`](crate::path::Rejected::Dots)).

use std::borrow::Cow;

use crate::path::hex;
use crate::rule::PathMatch;

/// A path as servers decode it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decoded {
    /// What is between its slashes, parameters included; none is empty, or a parameter only.
    pub segments: Vec<Box<[u8]>>,
    /// Whether a slash is at its end.
    pub slash: bool,
}

impl Decoded {
    /// Of a normalised path, which begins with a slash.
    fn of(path: &str) -> Self {
        let mut this = Self::default();
        for segment in path.split('/').skip(1) {
            let decoded = decode(segment.as_bytes());
            this.slash = matches!(decoded.first(), None | Some(b';'));
            if !this.slash {
                this.segments.push(decoded.into_owned().into());
            }
        }
        this
    }

    /// Of the path of a deny; none if no request has it: it has a query, or what a request is refused for. The empty path
    /// is above the root.
    pub fn of_deny(path: &PathMatch) -> Option<Self> {
        let (PathMatch::Exact(text) | PathMatch::Prefix(text)) = path;
        let is_possible = text.starts_with('/') || (text.is_empty() && path.is_prefix());
        let refused = |b: &u8| matches!(b, b'/' | b'\\' | 0);
        let this = Self::of(text);
        let is_refused = this.segments.iter().any(|segment| segment.iter().any(refused));
        (is_possible && !text.contains(['?', '#']) && !is_refused).then_some(this)
    }

    /// Of the normalised path of a request.
    pub(crate) fn of_request(path: &str) -> Self {
        Self::of(path)
    }

    /// Whether a segment has a parameter.
    pub fn has_parameters(&self) -> bool {
        self.segments.iter().any(|segment| segment.contains(&b';'))
    }

    /// Its text without parameters.
    pub(crate) fn plain(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for segment in &self.segments {
            text.push(b'/');
            text.extend_from_slice(segment.split(|b| *b == b';').next().unwrap_or_default());
        }
        if self.slash {
            text.push(b'/');
        }
        text
    }

    /// Whether a deny of this path, and of all below it if `below`, covers a request.
    pub(crate) fn covers(&self, below: bool, request: &Self) -> bool {
        let (wanted, given) = (&self.segments, &request.segments);
        let is_longer = given.len() > wanted.len();
        let ends = if below {
            !self.slash || is_longer || request.slash
        } else {
            !is_longer && self.slash == request.slash
        };
        ends && given.len() >= wanted.len() && wanted.iter().zip(given).all(|(a, b)| is(a, b))
    }
}

/// The same, with no more than parameters behind it.
fn is(wanted: &[u8], given: &[u8]) -> bool {
    given.strip_prefix(wanted).is_some_and(|rest| matches!(rest.first(), None | Some(b';')))
}

fn decode(segment: &[u8]) -> Cow<'_, [u8]> {
    if !segment.contains(&b'%') {
        return Cow::Borrowed(segment);
    }
    let mut out = Vec::with_capacity(segment.len());
    let mut rest = segment;
    while let Some((byte, after)) = rest.split_first() {
        let escaped = match rest {
            [b'%', high, low, after @ ..] => hex(*high, *low).map(|byte| (byte, after)),
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*byte, after));
        out.push(byte);
        rest = after;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(deny: PathMatch, request: &str) -> bool {
        let decoded = Decoded::of_deny(&deny);
        decoded.is_some_and(|d| d.covers(deny.is_prefix(), &Decoded::of_request(request)))
    }

    #[test]
    fn spellings_of_a_path_are_covered() {
        for (deny, request) in [
            ("/caf%C3%A9", "/caf%c3%a9"),
            ("/a+b", "/a%2Bb"),
            ("/a%2bb", "/a+b"),
            ("/users/@me", "/users/%40me"),
            ("/admin", "/admin;x"),
            ("/admin", "/admin%3Bx=%20"),
            ("/admin", "/;x/admin"),
            ("/a/b", "/a;x/;y/b;z"),
            ("/a/", "/a/;x"),
            ("/", "//"),
            ("/a;v=1", "/a%3bv%3D1"),
            ("/a;v=1", "/a;v=1;w"),
            ("/100%", "/100%25"),
        ] {
            assert!(covers(PathMatch::Exact(deny.into()), request), "{deny} {request}");
            assert!(covers(PathMatch::Prefix(deny.into()), request), "{deny} {request}");
        }
    }

    #[test]
    fn other_paths_are_not() {
        for (deny, request) in [
            ("/admin", "/admins"),
            ("/admin", "/Admin"),
            ("/admin", "/x/admin"),
            ("/a;v=1", "/a"),
            ("/a;v=1", "/a;v=12"),
            ("/a;v=1", "/a;w;v=1"),
            ("/a/", "/a"),
            ("/%2541", "/%41"),
            ("/a?b", "/a%3Fb"),
            ("a", "/a"),
            ("/a%2Fb", "/a/b"),
        ] {
            assert!(!covers(PathMatch::Exact(deny.into()), request), "{deny} {request}");
            assert!(!covers(PathMatch::Prefix(deny.into()), request), "{deny} {request}");
        }
        assert!(!covers(PathMatch::Exact("/a".into()), "/a/"));
        assert!(!covers(PathMatch::Exact("/a".into()), "/a/b"));
        assert!(covers(PathMatch::Prefix("/a".into()), "/a;x/b"));
        assert!(covers(PathMatch::Prefix("".into()), "/a"));
        assert!(!covers(PathMatch::Exact("".into()), "/"));
    }
}
