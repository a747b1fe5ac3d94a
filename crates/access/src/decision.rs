// SPDX-License-Identifier: Apache-2.0
//! What is said about a request. Not here: finding it.

use crate::path::Rejected;
use crate::rule::RuleSource;

/// Whether a request gets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It does.
    Allowed,
    /// It does not: a deny matches, or no allow does, or the proxy refuses its path.
    Denied,
}

/// The verdict and who decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Whether it gets through.
    pub verdict: Verdict,
    /// The first match in list order, denies first; none if nothing matches.
    pub by: Option<RuleSource>,
    /// The match that the tree form of Envoy names: those without identity, then the exact one, then prefixes from the
    /// longest to the shortest. Within one of these it is the first deny in list order; of allows those without path
    /// come first, then those with the exact one, then prefixes from the longest to the shortest, and then it is the
    /// first in list order. Denies first, as ever.
    pub by_tree: Option<RuleSource>,
    /// The first match of an `allowWithShadowDeny`, whether or not the request is denied: the shadow counter of Envoy
    /// counts it too.
    pub shadow: Option<RuleSource>,
    /// Why the proxy refuses the request before it asks any rule.
    pub rejected: Option<Rejected>,
}

impl Answer {
    /// The decision if nothing matches.
    pub const NOTHING: Self =
        Self { verdict: Verdict::Denied, by: None, by_tree: None, shadow: None, rejected: None };

    /// The decision if the proxy refuses the request.
    pub fn rejected(why: Rejected) -> Self {
        Self { rejected: Some(why), ..Self::NOTHING }
    }
}

/// An answer, and everything that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether it gets through.
    pub verdict: Verdict,
    /// See [`Answer::by`].
    pub by: Option<RuleSource>,
    /// See [`Answer::by_tree`].
    pub by_tree: Option<RuleSource>,
    /// All that matched, in list order, denies first.
    pub matched: Vec<RuleSource>,
    /// See [`Answer::shadow`].
    pub shadow: Option<RuleSource>,
    /// See [`Answer::rejected`].
    pub rejected: Option<Rejected>,
}

impl Decision {
    /// Puts both together.
    pub fn new(answer: Answer, matched: Vec<RuleSource>) -> Self {
        let Answer { verdict, by, by_tree, shadow, rejected } = answer;
        Self { verdict, by, by_tree, matched, shadow, rejected }
    }

    /// It without the list.
    pub fn answer(&self) -> Answer {
        let Self { verdict, by, by_tree, shadow, rejected, .. } = *self;
        Answer { verdict, by, by_tree, shadow, rejected }
    }
}
