// SPDX-License-Identifier: Apache-2.0
//! In: policy objects and their kinds. Out: policies as the resolution needs them. Not here: merging.

mod attach;
mod judge;
mod labels;
mod own;
mod parse;

use overrule_model::{ObjectId, Selector, Sym};
use overrule_source::{NodeRef, Span};

pub use attach::{AttachOptions, Attached, attach, attach_with};
pub use judge::judge;
pub use own::{ActiveKind, FamilyKind, ToRead, read_again, read_all};
pub use parse::{parse, parse_again, references, reparse, selector};

use crate::kinds::{FieldPath, Strategy};

/// A policy as written, read by its descriptor.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The object.
    pub object: ObjectId,
    /// Index of its kind among the kinds of the run.
    pub kind: usize,
    /// Its target references, in order.
    pub references: Box<[Reference]>,
    /// What it contributes; absent if the policy is refused as a whole.
    pub content: Option<PolicyContent>,
    /// Where to point when the policy as a whole is meant.
    pub at: Span,
}

/// What a policy contributes.
#[derive(Debug, Clone, Copy)]
pub struct PolicyContent {
    /// `bare`, `defaults` or `overrides`.
    pub block: &'static str,
    /// The mapping that holds it.
    pub value: NodeRef,
    /// Its strategy.
    pub strategy: Strategy,
}

/// A target reference as written.
#[derive(Debug, Clone)]
pub struct Reference {
    /// Group of the target.
    pub group: Sym,
    /// Kind of the target.
    pub kind: Sym,
    /// Namespace, if written.
    pub namespace: Option<(Sym, Span)>,
    /// Which objects.
    pub who: Who,
    /// A section of them.
    pub section: Option<(Sym, Span)>,
    /// Where it is written.
    pub at: Span,
    /// The field it stands in.
    pub field: RefField,
}

impl Reference {
    /// Whether another one, of a policy of the same kind and namespace, means the same, wherever it is written.
    pub fn means(&self, other: &Self) -> bool {
        let name = |part: &Option<(Sym, Span)>| part.map(|(name, _)| name);
        let who = match (&self.who, &other.who) {
            (Who::Named(name, _), Who::Named(other, _)) => name == other,
            (Who::Labelled(selector), Who::Labelled(other)) => selector == other,
            _ => false,
        };
        who && (self.group, self.kind) == (other.group, other.kind)
            && name(&self.namespace) == name(&other.namespace)
            && name(&self.section) == name(&other.section)
    }
}

/// Whether a policy of the same kind and namespace has the same targets, wherever they are written.
pub fn same_targets(was: &[Reference], is: &[Reference]) -> bool {
    was.len() == is.len() && was.iter().zip(is).all(|(was, is)| was.means(is))
}

/// The field of a reference. It is spelled out only when something is to be said about it: `spec.targetRefs[0]`.
#[derive(Debug, Clone)]
pub struct RefField {
    /// Where such references of the kind are.
    pub path: FieldPath,
    /// Which of a list, from 0.
    pub index: Option<u32>,
}

impl std::fmt::Display for RefField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}[{index}]", self.path),
            None => write!(f, "{}", self.path),
        }
    }
}

/// Which objects of a kind a reference means.
#[derive(Debug, Clone)]
pub enum Who {
    /// The one of this name.
    Named(Sym, Span),
    /// All with these labels.
    Labelled(Selector),
    /// The reference cannot be read; it stays, so that it ends in a rejection and the others keep their numbers.
    Unreadable,
}
