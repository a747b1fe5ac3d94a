// SPDX-License-Identifier: Apache-2.0
//! In: policy objects. Out: policies as written: blocks of rules, conditions, removal lists, and what a CRD refuses.
//! Not here: what becomes of them. Reading does not depend on the profile; what counts of it does.

mod parse;
mod rules;
mod validate;

use std::sync::Arc;

use overrule_condition::CelCondition;
use overrule_gateway::kinds::Kinds;
use overrule_gateway::policy::Reference;
use overrule_model::ObjectId;
use overrule_source::{CowVec, Diagnostic, Documents, NodeRef, Span};
use smallvec::SmallVec;

pub use parse::parse;
pub(crate) use parse::reparse;
pub use rules::{NamedRule, shape};

use crate::Profile;
use crate::kinds::KindInfo;

/// All policies of one snapshot, by kind, namespace, name.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// The policies.
    pub list: CowVec<Arc<Policy>>,
    /// Their kinds, as the generic attachment wants them; in the order of [`ALL`](crate::kinds::ALL).
    pub(crate) kinds: Arc<Kinds>,
    /// How many entries their removal lists have, or more.
    pub(crate) removal_entries: usize,
}

/// A policy as written.
#[derive(Debug)]
pub struct Policy {
    /// The object.
    pub object: ObjectId,
    /// What is known of its kind.
    pub info: &'static KindInfo,
    /// Index of its kind in [`ALL`](crate::kinds::ALL).
    pub kind: usize,
    /// Its target reference.
    pub references: Vec<Reference>,
    /// The spec.
    pub spec: NodeRef,
    /// Its blocks of rules, in the order they are processed: defaults, bare, overrides.
    pub blocks: SmallVec<[RuleBlock; 1]>,
    /// Its removal lists.
    pub removals: Vec<Removal>,
    /// What is wrong with it.
    pub violations: Vec<Violation>,
    /// Where to point when the policy as a whole is meant.
    pub at: Span,
}

/// A block of rules.
#[derive(Debug)]
pub struct RuleBlock {
    /// `defaults`, `bare` or `overrides`.
    pub name: &'static str,
    /// Whether its rules are merged one by one; otherwise they stand and fall together.
    pub merge: bool,
    /// The mapping that holds it.
    pub node: NodeRef,
    /// Its rules.
    pub rules: Vec<NamedRule>,
    /// The condition under which it takes part.
    pub when: Option<When>,
}

/// A condition as written.
#[derive(Debug)]
pub struct When {
    /// The condition; absent if it cannot be used, and then the policy is refused.
    pub condition: Option<CelCondition>,
    /// Where it is written.
    pub node: NodeRef,
}

/// A removal list.
#[derive(Debug)]
pub struct Removal {
    /// `remove` or `unset`.
    pub field: &'static str,
    /// The list.
    pub node: NodeRef,
    /// Its entries.
    pub entries: Vec<(Box<str>, NodeRef)>,
}

/// Something that keeps a policy out.
#[derive(Debug, Clone)]
pub struct Violation {
    /// Whether only the shipped CRD minds.
    pub shipped_only: bool,
    /// What the user is told; for rules of a CRD, in its words.
    pub diagnostic: Diagnostic,
}

impl Policy {
    /// How many entries its removal lists have.
    pub(crate) fn removal_entries(&self) -> usize {
        self.removals.iter().map(|removal| removal.entries.len()).sum()
    }

    /// Whether it takes part under a profile.
    pub fn is_valid(&self, profile: Profile) -> bool {
        !self.violations.iter().any(|v| !v.shipped_only || profile.follows_crds())
    }

    /// The blocks that count, in the order they are processed.
    pub fn blocks(&self, profile: Profile) -> impl Iterator<Item = &RuleBlock> {
        let explicit = self.blocks.iter().any(|b| b.name != "bare");
        let shipped = ["defaults", "overrides", "bare"];
        let first = shipped.iter().find(|name| self.blocks.iter().any(|b| b.name == **name));
        let first = first.copied().unwrap_or("bare");
        self.blocks.iter().filter(move |block| match profile {
            Profile::Design => true,
            Profile::Latest => block.name != "bare" || !explicit,
            Profile::Operator => block.name == first,
        })
    }

    /// The removal lists that count.
    pub fn removals(&self, profile: Profile) -> impl Iterator<Item = &Removal> {
        self.removals.iter().filter(move |r| profile.reads_removals(r.field))
    }
}

impl RuleBlock {
    /// Whether it holds overrides.
    pub fn is_override(&self) -> bool {
        self.name == "overrides"
    }
}

/// Whether an entry of a removal list means a rule: its whole id, or, without a dot, the last part of it.
pub fn means(entry: &str, id: &str) -> bool {
    entry == id
        || !entry.contains('.') && id.strip_suffix(entry).is_some_and(|rest| rest.ends_with('.'))
}

/// The span of a node.
pub(crate) fn span(documents: &Documents, node: NodeRef) -> Span {
    documents.view(node).span()
}
