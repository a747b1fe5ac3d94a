// SPDX-License-Identifier: Apache-2.0
//! What a projection could not express, as data and as a sentence. Not here: finding it.

use std::fmt;

use overrule_access::RuleSource;

use crate::Version;

/// Something that the filters do not say as the rules do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterProblem {
    /// A deny that asks for method or path, where there is only TCP. Refused; the filter denies more: it does as if
    /// method and path were right.
    HttpDenyOnTcp(RuleSource),
    /// An allow that asks for method or path, where there is only TCP. Left out.
    HttpAllowOnTcp(RuleSource),
    /// A deny that asks for nothing. Refused; the filter denies everyone.
    EmptyDeny(RuleSource),
    /// An allow that asks for nothing. Left out.
    EmptyAllow(RuleSource),
    /// A path that no request has, because it has a query, or such a server name, because it has capitals. Left out,
    /// a deny too.
    NeverMatches(RuleSource),
    /// Trees were asked for, but this Envoy does not resume after a nested miss, or we do not know. Written as lists.
    TreeNeedsNewer(Option<Version>),
    /// The release knows no method and no path and reads the match without them, which is wider.
    NotInRelease(RuleSource),
    /// All matches of a list of this policy are empty for the release. Its filter has an empty predicate, and Envoy
    /// refuses it.
    UnsetPredicate(u32),
    /// Rules of a policy without a name. Named by its number.
    Unnamed(u32),
}

impl FilterProblem {
    /// Whether the filters must not be taken for what the rules say: a deny is wider than written, or Envoy will not
    /// have them.
    pub fn refuses(self) -> bool {
        matches!(self, Self::HttpDenyOnTcp(_) | Self::EmptyDeny(_) | Self::UnsetPredicate(_))
    }

    /// The match it is about.
    pub fn source(self) -> Option<RuleSource> {
        match self {
            Self::HttpDenyOnTcp(source)
            | Self::HttpAllowOnTcp(source)
            | Self::EmptyDeny(source)
            | Self::EmptyAllow(source)
            | Self::NeverMatches(source)
            | Self::NotInRelease(source) => Some(source),
            Self::TreeNeedsNewer(_) | Self::UnsetPredicate(_) | Self::Unnamed(_) => None,
        }
    }
}

impl fmt::Display for FilterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HttpDenyOnTcp(_) => f.write_str(
                "deny by method or path cannot be enforced on a TCP inbound; the filter denies whatever the rest of \
                 the match fits",
            ),
            Self::HttpAllowOnTcp(_) => f.write_str(
                "allow by method or path cannot be checked on a TCP inbound and admits nobody there",
            ),
            Self::EmptyDeny(_) => f.write_str("a deny without conditions denies everyone"),
            Self::EmptyAllow(_) => f.write_str("an allow without conditions admits nobody"),
            Self::NeverMatches(_) => f.write_str(
                "this never matches: paths are compared without their query, server names in lower case",
            ),
            Self::TreeNeedsNewer(Some(version)) => write!(
                f,
                "match trees need Envoy {} or newer, this is {version}; written as lists",
                Version::RESUMES
            ),
            Self::TreeNeedsNewer(None) => write!(
                f,
                "match trees need Envoy {} or newer, and the version is not known; written as lists",
                Version::RESUMES
            ),
            Self::NotInRelease(_) => f.write_str(
                "this release of Kuma knows neither method nor path and enforces the match without them",
            ),
            Self::UnsetPredicate(policy) => write!(
                f,
                "no match of policy {policy} says anything this release of Kuma knows; Envoy refuses the filter",
            ),
            Self::Unnamed(policy) => write!(f, "policy {policy} has no name"),
        }
    }
}
