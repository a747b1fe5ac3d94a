// SPDX-License-Identifier: Apache-2.0
//! In: nodes from a family. Out: the vertices that paths, attachments and views talk about.
//! Not here: how they connect. A family keeps its own edges, because edges carry its facts.

use overrule_model::{ObjectId, Sym};
use overrule_source::{SourceId, Span};

/// Index of a node. Families add nodes in a fixed, documented order, so this order is stable too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// The depth of a kind of node in the hierarchy; smaller is higher, less specific.
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

/// All nodes of one snapshot. Most nodes are sections, and they follow their objects: what neighbours have in common is
/// kept once.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    rows: Vec<Row>,
    levels_of: Vec<Level>,
    owners: Vec<Owner>,
    /// Names of the levels, highest first; those of one family after those of another.
    levels: Vec<&'static str>,
}

/// What a node has of its own.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Place of its object among the owners.
    owner: u32,
    kind: Sym,
    section: Sym,
    /// Where it is written in the source of its owner.
    start: u32,
    end: u32,
}

/// What the nodes of an object have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    namespace: Sym,
    name: Sym,
    /// [`ABSENT`] if it is only referred to.
    object: u32,
    /// [`ABSENT`] if the place is unknown.
    source: u32,
}

/// Neither an object nor a source: there are never so many.
const ABSENT: u32 = u32::MAX;

impl Topology {
    /// An empty topology with named levels.
    pub fn new(levels: &'static [&'static str]) -> Self {
        Self { levels: levels.to_vec(), ..Self::default() }
    }

    /// Adds the levels of one more family, whose nodes stand apart; says which is its first.
    pub fn add_levels(&mut self, levels: &'static [&'static str]) -> u8 {
        let first = u8::try_from(self.levels.len()).unwrap_or(u8::MAX);
        self.levels.extend_from_slice(levels);
        first
    }

    /// Makes room for just so many nodes more.
    pub fn reserve(&mut self, more: usize) {
        self.rows.reserve_exact(more);
        self.levels_of.reserve_exact(more);
    }

    /// Adds a node.
    pub fn add(&mut self, node: Node) -> NodeId {
        let Node { kind, namespace, name, section, object, level, at } = node;
        let id = NodeId(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        let owner = Owner {
            namespace,
            name,
            object: object.map_or(ABSENT, |o| o.0),
            source: at.map_or(ABSENT, |at| at.source.0),
        };
        if self.owners.last() != Some(&owner) {
            self.owners.push(owner);
        }
        let owner = u32::try_from(self.owners.len() - 1).unwrap_or(u32::MAX);
        let (start, end) = at.map_or((0, 0), |at| (at.start, at.end));
        self.rows.push(Row { owner, kind, section, start, end });
        self.levels_of.push(level);
        id
    }

    /// Adds a section of the object whose node is `of`, written in the same source.
    pub fn add_section(
        &mut self,
        of: NodeId,
        kind: Sym,
        section: Sym,
        level: Level,
        at: Span,
    ) -> NodeId {
        let Some(Row { owner, .. }) = self.rows.get(of.0 as usize).copied() else { return of };
        let id = NodeId(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        self.rows.push(Row { owner, kind, section, start: at.start, end: at.end });
        self.levels_of.push(level);
        id
    }

    /// The node of an id.
    pub fn get(&self, id: NodeId) -> Option<Node> {
        let at = id.0 as usize;
        let (row, level) = (self.rows.get(at)?, *self.levels_of.get(at)?);
        let owner = self.owners.get(row.owner as usize)?;
        let source = (owner.source != ABSENT).then_some(SourceId(owner.source));
        Some(Node {
            kind: row.kind,
            namespace: owner.namespace,
            name: owner.name,
            section: row.section,
            object: (owner.object != ABSENT).then_some(ObjectId(owner.object)),
            level,
            at: source.map(|source| Span { source, start: row.start, end: row.end }),
        })
    }

    /// Object and section of every node, without the rest of it.
    pub fn sections(&self) -> impl Iterator<Item = (Option<ObjectId>, Sym)> {
        self.rows.iter().filter_map(|row| {
            let object = self.owners.get(row.owner as usize)?.object;
            Some(((object != ABSENT).then_some(ObjectId(object)), row.section))
        })
    }

    /// The level of a node.
    pub fn level_of(&self, id: NodeId) -> Option<Level> {
        self.levels_of.get(id.0 as usize).copied()
    }

    /// Every node with its id.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, Node)> {
        let ids = (0..u32::try_from(self.rows.len()).unwrap_or(u32::MAX)).map(NodeId);
        ids.filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Gives back room that was held for more.
    pub fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.levels_of.shrink_to_fit();
        self.owners.shrink_to_fit();
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The name of a level.
    pub fn level_name(&self, level: Level) -> &'static str {
        self.levels.get(level.0 as usize).copied().unwrap_or("?")
    }
}
