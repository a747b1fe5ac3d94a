// SPDX-License-Identifier: Apache-2.0
//! Objects that look like policies and that no family resolves, so that answers can name them. Not here: finding them.

use overrule_model::ObjectId;
use smallvec::SmallVec;

use crate::NodeId;

/// A policy that no family resolves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// The object.
    pub object: ObjectId,
    /// Whose rules it follows; none if its kind is unknown.
    pub owner: Option<&'static str>,
    /// What it targets.
    pub targets: Vec<UnresolvedTarget>,
}

/// One target of a policy that no family resolves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedTarget {
    /// Canonical name, or as it is written if it is not in the input.
    pub name: String,
    /// Its nodes; none if it is not in the topology.
    pub nodes: SmallVec<[NodeId; 2]>,
}
