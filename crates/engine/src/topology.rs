// SPDX-License-Identifier: Apache-2.0
//! In: nodes from a family. Out: the vertices that paths, attachments and views talk about.
//! Not here: how they connect. A family keeps its own edges, because edges carry its facts.

use overrule_model::{ObjectId, Sym};
use overrule_source::Span;

/// Index of a node. Families add nodes in a fixed, documented order, so this order is stable too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// How deep in the hierarchy a kind of node stands; smaller is higher, less specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub u8);

/// A target: an object, or a named section of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Kind of the node itself: `Gateway`, `Listener`, `HTTPRouteRule`.
    pub kind: Sym,
    /// Namespace of the object; empty if cluster-scoped.
    pub namespace: Sym,
    /// Name of the object.
    pub name: Sym,
    /// Name of the section; empty for the object itself.
    pub section: Sym,
    /// The object in the snapshot; absent if it is only referred to.
    pub object: Option<ObjectId>,
    /// Its place in the hierarchy.
    pub level: Level,
    /// Where it is written (or referred to).
    pub at: Option<Span>,
}

/// All nodes of one snapshot.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    nodes: Vec<Node>,
    /// Names of the levels, highest first; those of one family after those of another.
    levels: Vec<&'static str>,
}

impl Topology {
    /// An empty topology with named levels.
    pub fn new(levels: &'static [&'static str]) -> Self {
        Self { nodes: Vec::new(), levels: levels.to_vec() }
    }

    /// Adds the levels of one more family, whose nodes stand apart; says which is its first.
    pub fn add_levels(&mut self, levels: &'static [&'static str]) -> u8 {
        let first = u8::try_from(self.levels.len()).unwrap_or(u8::MAX);
        self.levels.extend_from_slice(levels);
        first
    }

    /// Makes room for just so many nodes more.
    pub fn reserve(&mut self, more: usize) {
        self.nodes.reserve_exact(more);
    }

    /// Adds a node.
    pub fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }

    /// The node of an id.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// Every node with its id.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The name of a level.
    pub fn level_name(&self, level: Level) -> &'static str {
        self.levels.get(level.0 as usize).copied().unwrap_or("?")
    }
}
