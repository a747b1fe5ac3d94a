// SPDX-License-Identifier: Apache-2.0
//! In: walks from a root to a leaf, prefix by prefix. Out: one id per walk. Not here: which walks are legal.
//!
//! Walks share their beginnings: a walk is the id of the walk it extends and one node more. A million walks take
//! eight megabytes, whatever their length, and delegation chains of any depth need nothing special.

use crate::{NodeId, Topology};

/// Index of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub u32);

const ROOT: u32 = u32::MAX;

/// All paths of one resolution, in the order they were added: parents before children.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    parents: Vec<u32>,
    nodes: Vec<NodeId>,
}

impl Paths {
    /// Extends a path by a node; `None` starts a new one.
    pub fn add(&mut self, parent: Option<PathId>, node: NodeId) -> PathId {
        let id = PathId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.parents.push(parent.map_or(ROOT, |p| p.0));
        self.nodes.push(node);
        id
    }

    /// The last node of a path.
    pub fn node(&self, path: PathId) -> Option<NodeId> {
        self.nodes.get(path.0 as usize).copied()
    }

    /// The path this one extends.
    pub fn parent(&self, path: PathId) -> Option<PathId> {
        self.parents.get(path.0 as usize).copied().filter(|p| *p != ROOT).map(PathId)
    }

    /// The nodes of a path, root first.
    pub fn nodes(&self, path: PathId) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        let mut next = Some(path);
        while let Some(at) = next {
            nodes.extend(self.node(at));
            next = self.parent(at);
        }
        nodes.reverse();
        nodes
    }

    /// Whether a path passes through a node.
    pub fn passes(&self, path: PathId, node: NodeId) -> bool {
        let mut next = Some(path);
        while let Some(at) = next {
            if self.node(at) == Some(node) {
                return true;
            }
            next = self.parent(at);
        }
        false
    }

    /// Every path, prefixes included.
    pub fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(PathId)
    }

    /// Number of paths, prefixes included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.parents.capacity() * size_of::<u32>() + self.nodes.capacity() * size_of::<NodeId>()
    }

    /// Reserves room, so that a big fleet does not copy as it grows.
    pub fn reserve(&mut self, more: usize) {
        self.parents.reserve_exact(more);
        self.nodes.reserve_exact(more);
    }

    /// Whether the last node of a path is of a level.
    pub fn ends_at(&self, topology: &Topology, path: PathId, level: crate::Level) -> bool {
        self.node(path).and_then(|n| topology.level_of(n)) == Some(level)
    }
}
