// SPDX-License-Identifier: Apache-2.0
//! Out: the two rule sets, and every way in which they differ, one function each. Not here: doing it.

use overrule_model::Created;

/// A rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Profile {
    /// What Envoy Gateway documents.
    #[default]
    Design,
    /// What the controller does.
    Shipped,
}

/// A way in which the profiles differ: what it is about, and what each of them does. The test of
/// `docs/envoygateway-profiles.md` keeps the page equal to this table.
#[derive(Debug, Clone, Copy)]
pub struct ProfileDifference {
    /// What it is about.
    pub about: &'static str,
    /// Under `design`.
    pub design: &'static str,
    /// Under `shipped`.
    pub shipped: &'static str,
}

/// Every difference. Each has one function of [`Profile`].
pub static DIFFERENCES: &[ProfileDifference] = &[
    ProfileDifference {
        about: "a policy or route without `creationTimestamp`",
        design: "counts as the newest: it will be, once it is applied",
        shipped: "counts as the oldest: the controller reads no time as time zero",
    },
    ProfileDifference {
        about: "a `null` or an empty list in a policy with `mergeType`",
        design: "`null` removes the field and a list replaces the parent's, as RFC 7386 and Kubernetes document it",
        shipped: "do nothing: the field of the parent stays",
    },
    ProfileDifference {
        about: "a BackendTrafficPolicy for a named rule of a TLSRoute",
        design: "applies to the rule",
        shipped: "is accepted and applies to nothing",
    },
    ProfileDifference {
        about: "a parentRef with `kind: ListenerSet` and no `group`",
        design: "names a ListenerSet of the Gateway API, which is the default group",
        shipped: "is no parent of the controller: its policies find no route",
    },
];

impl Profile {
    /// Names, in the order of the variants.
    pub const NAMES: &[&str] = &["design", "shipped"];

    /// The profile of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Design, Self::Shipped].into_iter().find(|profile| profile.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self as usize).copied().unwrap_or("")
    }

    /// The place of a creation time among others; smaller is older.
    pub(crate) fn age(self, created: Created) -> i64 {
        match (self, created) {
            (Self::Shipped, Created::Absent) => i64::MIN,
            (_, created) => created.key(),
        }
    }

    /// Whether a null of a merged policy removes a field of its parent.
    pub(crate) fn null_deletes(self) -> bool {
        self == Self::Design
    }

    /// Whether policies can act on single rules of a TLSRoute.
    pub(crate) fn names_tls_rules(self) -> bool {
        self == Self::Design
    }

    /// Whether a parentRef to a ListenerSet must spell out its group.
    pub(crate) fn needs_set_group(self) -> bool {
        self == Self::Shipped
    }
}
