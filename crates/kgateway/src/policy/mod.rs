// SPDX-License-Identifier: Apache-2.0
//! In: policy objects. Out: policies as written, and what is wrong with each in itself. Not here: what becomes of them.

mod annotations;
mod parse;
mod permitted;

use std::sync::Arc;

use overrule_engine::PolicyId;
use overrule_engine::Reason;
use overrule_gateway::kinds::Kinds;
use overrule_gateway::policy::Reference;
use overrule_gateway::topology::grants::GrantIndex;
use overrule_model::ObjectId;
use overrule_source::{CowVec, Diagnostic, NodeRef, Span};

pub use annotations::{INHERIT_MATCHER, PRIORITY, RETIRED_PRIORITY, WEIGHT, annotation};
pub(crate) use annotations::{annotations, inherits_matcher, strategy};
pub use parse::parse;
pub(crate) use parse::reparse;

use crate::kinds::KindInfo;

/// All policies of one snapshot, by kind, namespace, name.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// The policies.
    pub list: CowVec<Arc<Policy>>,
    /// Their kinds, as the generic attachment wants them; in the order of [`ALL`](crate::kinds::ALL).
    pub(crate) kinds: Arc<Kinds>,
    /// What may be referred to in other namespaces.
    pub(crate) grants: Arc<GrantIndex>,
    /// Whether one of them may switch something off. Mostly none does, and then nobody looks for it.
    pub(crate) disables: bool,
}

impl Policies {
    /// A policy by its number; routes that count as policies have none.
    pub(crate) fn get(&self, id: PolicyId) -> Option<&Policy> {
        self.list.get(id.0 as usize).map(|policy| &**policy)
    }
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
    /// Its target references.
    pub references: Vec<Reference>,
    /// The spec.
    pub spec: NodeRef,
    /// `kgateway.dev/policy-weight`; heavier goes first.
    pub weight: i32,
    /// The providers its units name.
    pub providers: Vec<Provider>,
    /// Whether a unit of it switches something off.
    pub disables: bool,
    /// Whether an API server lets it in.
    pub admitted: bool,
    /// What makes the controller call it invalid; then every rule it reaches fails closed.
    pub problem: Option<Reason>,
    /// What is to be told about it.
    pub diagnostics: Vec<Diagnostic>,
    /// Where to point when the policy as a whole is meant.
    pub at: Span,
}

/// A provider that a unit names.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Index in [`PROVIDERS`](crate::kinds::PROVIDERS).
    pub unit: usize,
    /// `namespace/name` of the GatewayExtension.
    pub name: Arc<str>,
    /// Where it is named.
    pub node: NodeRef,
}

impl Policy {
    /// The provider of a unit.
    pub fn provider(&self, unit: usize) -> Option<&Provider> {
        self.providers.iter().find(|p| p.unit == unit)
    }
}
