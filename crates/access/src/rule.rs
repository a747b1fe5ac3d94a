// SPDX-License-Identifier: Apache-2.0
//! Access rules and requests as data. Not here: deciding.

use crate::wire::Http;

/// What a rule does with a request it matches. A deny of any rule beats an allow of any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Refuses it.
    Deny,
    /// Admits it, and counts it as one that a later deny would refuse.
    AllowWithShadowDeny,
    /// Admits it.
    Allow,
}

impl Effect {
    /// Whether it admits.
    pub fn allows(self) -> bool {
        self != Self::Deny
    }
}

/// Which identities match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Identity {
    /// This one.
    Exact(Box<str>),
    /// Those that begin like this, as text.
    Prefix(Box<str>),
}

/// Which paths match. Paths are compared normalised and without their query (see [`path`](crate::path)). A deny also
/// matches what a server may decode to its path (see [`spelling`](crate::spelling)).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathMatch {
    /// This one.
    Exact(Box<str>),
    /// This one and what is below it: `/a` is not a prefix of `/ab`.
    Prefix(Box<str>),
}

impl PathMatch {
    /// Whether it also means what is below it.
    pub fn is_prefix(&self) -> bool {
        matches!(self, Self::Prefix(_))
    }
}

/// What a request must be like; all of what is given. A match that gives nothing is not a match: readers refuse it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Match {
    /// The identity of the client (its SPIFFE ID).
    pub identity: Option<Identity>,
    /// The server name that the client requests in TLS.
    pub sni: Option<Box<str>>,
    /// The HTTP method.
    pub method: Option<Box<str>>,
    /// The HTTP path.
    pub path: Option<PathMatch>,
}

impl Match {
    /// Whether it can only be decided for HTTP.
    pub fn needs_http(&self) -> bool {
        self.method.is_some() || self.path.is_some()
    }
}

/// Where a match is written: a number that whoever made the rules can turn into policy, list and line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleSource(pub u32);

/// One match with its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRule {
    /// What it does.
    pub effect: Effect,
    /// The requests it applies to.
    pub matches: Match,
    /// Where it is written.
    pub source: RuleSource,
    /// The policy it is of: rules of one entry of one policy share it. Actions of Envoy are named by it.
    pub policy: u32,
}

/// A request, or a connection if nothing is known of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request<'a> {
    /// The one identity of the client's certificate; none if it has none, or more than one.
    pub identity: Option<&'a str>,
    /// The server name it requests.
    pub sni: Option<&'a str>,
    /// The method.
    pub method: Option<&'a str>,
    /// The path as it came, query included; it is normalised before it is compared.
    pub path: Option<&'a str>,
    /// How it came.
    pub http: Http,
}
