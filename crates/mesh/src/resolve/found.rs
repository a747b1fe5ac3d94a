// SPDX-License-Identifier: Apache-2.0
//! What resolving learned on the way that a person should know. Not here: telling it (`findings`).

use std::collections::{BTreeMap, BTreeSet};

/// What was learned, mesh by mesh, in the order of [`Resources::meshes`](crate::Resources).
#[derive(Debug, Clone, Default)]
pub struct MeshFacts {
    /// By mesh.
    pub meshes: Vec<FoundMesh>,
}

/// What was learned about the policies of one mesh. Policies are named by their place.
#[derive(Debug, Clone, Default)]
pub struct FoundMesh {
    /// How many proxies each policy selects.
    pub selected: Vec<u32>,
    /// Policies whose target cannot be resolved, and why in upstream's words.
    pub unresolved: BTreeMap<u32, String>,
    /// How many resources each `to` entry of each policy means.
    pub meant: Vec<Vec<u32>>,
    /// Policies of one kind that meet at some proxy and that only their identity tells apart; the smaller place
    /// first.
    pub ties: BTreeSet<(u32, u32)>,
    /// Lists of `from` entries, by the policies they are of, that make more sets of clients than are told apart.
    pub too_many: BTreeSet<Vec<u32>>,
    /// Policies with `from` that do not count at some inbound, because another with `rules` is there: place of the one,
    /// place of the other.
    pub displaced: BTreeSet<(u32, u32)>,
}
