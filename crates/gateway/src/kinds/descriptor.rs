// SPDX-License-Identifier: Apache-2.0
//! What a policy kind is, as data. Not here: reading it (`read.rs`), using it (`policy/`).

use overrule_engine::{Level, MergePlan};

use super::FieldPath;

/// GEP-713's classes; they choose the defaults of everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyClass {
    /// One target kind, no inheritance, no merging.
    Direct,
    /// Acts on everything below its target.
    Inherited,
}

/// GEP-713's merge strategies. The established policy's strategy decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The oldest policy alone; the others are refused.
    None,
    /// The challenger, whole.
    AtomicDefaults,
    /// The established, whole.
    AtomicOverrides,
    /// The challenger patched over the established (RFC 7386).
    PatchDefaults,
    /// The established patched over the challenger (RFC 7386).
    PatchOverrides,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::AtomicDefaults,
        Self::AtomicOverrides,
        Self::PatchDefaults,
        Self::PatchOverrides,
    ];

    /// GEP-713's name, which messages must use.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::AtomicDefaults => "Atomic defaults",
            Self::AtomicOverrides => "Atomic overrides",
            Self::PatchDefaults => "Patch defaults",
            Self::PatchOverrides => "Patch overrides",
        }
    }

    /// The name without spaces, as descriptors and policies write it.
    pub fn id(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::AtomicDefaults => "AtomicDefaults",
            Self::AtomicOverrides => "AtomicOverrides",
            Self::PatchDefaults => "PatchDefaults",
            Self::PatchOverrides => "PatchOverrides",
        }
    }

    /// Reads a name in either form.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.id() == text || s.name() == text)
    }

    /// As a step carries it.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// From a step.
    pub fn from_code(code: u16) -> Self {
        Self::ALL.get(code as usize).copied().unwrap_or(Self::None)
    }
}

/// A kind a policy may target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetKind {
    /// API group; empty for core.
    pub group: Box<str>,
    /// Kind.
    pub kind: Box<str>,
    /// Whether `sectionName` may be used.
    pub sections: bool,
}

/// May a policy target another namespace?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrossNamespace {
    /// Never.
    Forbidden,
    /// If a ReferenceGrant in the target's namespace says so.
    ReferenceGrant,
}

/// Where the rules of a kind come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provenance {
    /// Shipped with Overrule.
    BuiltIn,
    /// Written by the user.
    User,
    /// Guessed from the label of its CustomResourceDefinition.
    Assumed,
}

/// A policy kind.
#[derive(Debug, Clone)]
pub struct Descriptor {
    /// API group.
    pub group: Box<str>,
    /// Kind.
    pub kind: Box<str>,
    /// Class.
    pub class: PolicyClass,
    /// Where the rules come from.
    pub provenance: Provenance,
    /// Kinds it may target; empty = every kind of the hierarchy.
    pub targets: Vec<TargetKind>,
    /// Level at which an inherited kind has its effective policies.
    pub effective_at: Level,
    /// Where a single target reference sits.
    pub target_ref: FieldPath,
    /// Where the list of target references sits.
    pub target_refs: FieldPath,
    /// Where the list of label selectors sits.
    pub target_selectors: FieldPath,
    /// Other namespaces.
    pub cross_namespace: CrossNamespace,
    /// Where the policy proper sits.
    pub body: FieldPath,
    /// Block of defaults.
    pub defaults: FieldPath,
    /// Block of overrides.
    pub overrides: FieldPath,
    /// Field in which a policy names its strategy.
    pub strategy_field: FieldPath,
    /// Member of a defaults or overrides block that says `atomic` or `merge`.
    pub block_strategy: Box<str>,
    /// The kind's own words for strategies.
    pub strategy_words: Vec<(Box<str>, Strategy)>,
    /// Strategy of a policy that names none.
    pub strategy: Strategy,
    /// How patches merge, per path.
    pub plan: MergePlan,
}
