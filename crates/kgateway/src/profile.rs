// SPDX-License-Identifier: Apache-2.0
//! The two rule sets, what an annotation asks for, and every way in which the rule sets differ, one
//! function each. Not here: doing it.

use overrule_engine::Prefer;
use overrule_model::Created;

/// A rule set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Profile {
    /// The plain meaning of kgateway's design documents.
    #[default]
    Design,
    /// What the controller does today.
    Shipped,
}

/// What `kgateway.dev/inherited-policy-priority` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum InheritedPriority {
    /// Fields of the child win, whole.
    #[default]
    ShallowPreferChild,
    /// Fields of the parent win, whole.
    ShallowPreferParent,
    /// Fields are combined where they can be; the child is preferred.
    DeepPreferChild,
    /// Fields are combined where they can be; the parent is preferred.
    DeepPreferParent,
}

impl InheritedPriority {
    /// All of them; the position is the code.
    pub const ALL: [Self; 4] = [
        Self::ShallowPreferChild,
        Self::ShallowPreferParent,
        Self::DeepPreferChild,
        Self::DeepPreferParent,
    ];
    /// Their names, in the same order.
    pub const NAMES: [&str; 4] = [
        "ShallowMergePreferChild",
        "ShallowMergePreferParent",
        "DeepMergePreferChild",
        "DeepMergePreferParent",
    ];

    /// The strategy of a name: exactly as written, nothing trimmed.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().zip(Self::NAMES).find(|(_, n)| *n == name).map(|(s, _)| s)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self as usize).copied().unwrap_or("")
    }

    /// As groups and steps carry it.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// From a group or step.
    pub fn from_code(code: u16) -> Self {
        Self::ALL.get(code as usize).copied().unwrap_or_default()
    }

    /// Whether fields are combined where they can be.
    pub fn is_deep(self) -> bool {
        matches!(self, Self::DeepPreferChild | Self::DeepPreferParent)
    }

    /// Whether its name prefers the parent.
    pub fn prefers_parent(self) -> bool {
        matches!(self, Self::ShallowPreferParent | Self::DeepPreferParent)
    }

    /// The side its name prefers. The fold comes from the leaf, so the child is held and the parent comes.
    pub fn prefers(self) -> Prefer {
        if self.prefers_parent() { Prefer::Incoming } else { Prefer::Held }
    }
}

overrule_family::profiles!(Design = "design", Shipped = "shipped");

impl Profile {
    /// A policy without a creation time is newest, as it will be once applied; the controller reads zero, the oldest.
    pub fn created(self, created: Created) -> i64 {
        match (self, created) {
            (Self::Shipped, Created::Absent) => i64::MIN,
            (_, created) => created.key(),
        }
    }

    /// Whether the annotation counts on Gateways and ListenerSets too. The controller reads it on routes only.
    pub fn reads_annotation_above_routes(self) -> bool {
        self == Self::Design
    }

    /// Whether policies of a listener and of its Gateway are one merge: so the controller does for HTTPS.
    pub fn merges_tiers(self, https: bool) -> bool {
        self == Self::Shipped && https
    }

    /// Which side keeps a field that cannot be combined. Under both deep values the controller keeps the child's.
    pub fn plain_prefers(self, strategy: InheritedPriority) -> Prefer {
        match (self, strategy) {
            (Self::Shipped, InheritedPriority::DeepPreferParent) => Prefer::Held,
            (_, strategy) => strategy.prefers(),
        }
    }

    /// Which side keeps the slot of a built-in. Under both deep values the controller takes the parent's.
    pub fn builtin_prefers(self, strategy: InheritedPriority) -> Prefer {
        match (self, strategy) {
            (Self::Shipped, InheritedPriority::DeepPreferChild) => Prefer::Incoming,
            (_, strategy) => strategy.prefers(),
        }
    }

    /// Whether a `disable` of either side switches a deep merge off; in the design that of the preferred side decides,
    /// so that a child cannot switch off what its parent insists on.
    pub fn disable_is_sticky(self) -> bool {
        self == Self::Shipped
    }

    /// Whether header changes of several tiers or built-ins run from the most specific to the least, so that the
    /// least specific has the last word. In the design the preferred side has it.
    pub fn general_header_wins(self) -> bool {
        self == Self::Shipped
    }

    /// Whether parts of a transformation that the controller forgets to merge are lost on the preferred side.
    pub fn forgets_metadata(self) -> bool {
        self == Self::Shipped
    }

    /// Whether a policy that reaches one target twice counts twice.
    pub fn counts_twice(self) -> bool {
        self == Self::Shipped
    }
}
