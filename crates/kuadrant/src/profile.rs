// SPDX-License-Identifier: Apache-2.0
//! The three rule sets and every way in which they differ, one function each.

use overrule_gateway::topology::{HostFit, Link};

/// A rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Profile {
    /// The design Kuadrant's defaults and overrides were proposed with.
    #[default]
    Design,
    /// The latest text of that proposal.
    Latest,
    /// What the operator does today.
    Operator,
}

overrule_family::profiles!(Design = "design", Latest = "latest", Operator = "operator");

impl Profile {
    /// Whether a route counts as served by a listener. The operator asks for a hostname within that of the listener
    /// and looks at nothing else; the others follow the Gateway API.
    pub fn serves(self, link: &Link) -> bool {
        match self {
            Self::Design | Self::Latest => link.accepted(),
            Self::Operator => link.facts().hosts == HostFit::Subset,
        }
    }

    /// Whether ListenerSets are seen.
    pub fn sees_sets(self) -> bool {
        self != Self::Operator
    }

    /// Whether a block may carry a condition.
    pub fn has_conditions(self) -> bool {
        self != Self::Operator
    }

    /// Whether a removal list of this name counts.
    pub fn reads_removals(self, field: &str) -> bool {
        match self {
            Self::Design => true,
            Self::Latest => field == "unset",
            Self::Operator => false,
        }
    }

    /// Whether what a CRD refuses is refused here too.
    pub fn follows_crds(self) -> bool {
        self == Self::Operator
    }

    /// Whether a section means every rule of a name, not only the one that keeps it.
    pub fn equal_names(self) -> bool {
        self == Self::Operator
    }

    /// Whether two direct policies of one second on one target both stay.
    pub fn overlooks_ties(self) -> bool {
        self == Self::Operator
    }
}
