// SPDX-License-Identifier: Apache-2.0
//! In: nodes as the builder appends them. Out: one document as a compact arena, and a cursor over it.
//! Not here: how text becomes nodes (`builder`, `scalar`), lines and columns (`source_map`).
//!
//! Nodes lie in pre-order, 16 bytes each; a map or list knows how many nodes its subtree has, so that skipping a
//! child is one addition, copying a subtree is one `memcpy`, and dropping a tree frees two blocks however deep it is.
//! The children of a map alternate key and value. A scalar is a slice of the source text where it stands there
//! verbatim, otherwise a slice of a side buffer.

use crate::source_map::{SourceId, Span};

/// Index of a node in its document; the root is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeNodeId(pub u32);

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// `null`, `~`, or nothing after the colon.
    Null,
    /// `true` or `false`, in any spelling Kubernetes reads so.
    Bool,
    /// A whole number of at most 64 bits, signed or unsigned.
    Int,
    /// Any other number.
    Float,
    /// Text.
    String,
    /// A sequence.
    List,
    /// A mapping with string keys.
    Map,
}

/// Where the text of a scalar is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// The span itself.
    Span,
    /// The span without its first and last byte: a quoted scalar without escapes.
    Inner,
    /// In the side buffer.
    Side,
}

/// Longest side string, and most children, that a node can count.
pub(crate) const MAX_LENGTH: usize = (1 << LENGTH_BITS) - 1;
const LENGTH_BITS: u32 = 26;
const LENGTH_SHIFT: u32 = 32 - LENGTH_BITS;
const KIND_MASK: u32 = 0b111;
const STORAGE_SHIFT: u32 = 3;
const STORAGE_MASK: u32 = 0b11 << STORAGE_SHIFT;
const HIDDEN: u32 = 1 << 5;

/// One node. `data` is the subtree size of a container, the value of a bool, the offset of a side string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) data: u32,
    /// Kind in 3 bits, storage in 2, hidden in 1, then the length of a side string or the number of children.
    meta: u32,
}

impl Node {
    pub(crate) const NULL: Self = Self { start: 0, end: 0, data: 0, meta: 0 };

    /// A node of this kind, its length 0.
    pub(crate) fn new(kind: NodeKind, storage: Storage, start: u32, end: u32, data: u32) -> Self {
        Self { start, end, data, meta: kind as u32 | (storage as u32) << STORAGE_SHIFT }
    }

    /// A scalar whose text is exactly its span.
    pub(crate) fn verbatim(kind: NodeKind, start: u32, end: u32) -> Self {
        Self::new(kind, Storage::Span, start, end, 0)
    }

    #[must_use]
    pub(crate) fn with_kind(mut self, kind: NodeKind) -> Self {
        self.meta = (self.meta & !KIND_MASK) | kind as u32;
        self
    }

    /// The length must be at most [`MAX_LENGTH`].
    #[must_use]
    pub(crate) fn with_length(mut self, length: u32) -> Self {
        self.meta = (self.meta & ((1 << LENGTH_SHIFT) - 1)) | length << LENGTH_SHIFT;
        self
    }

    /// A hidden entry (the `<<` key) stays in the arena but no iteration shows it.
    #[must_use]
    pub(crate) fn hidden(mut self) -> Self {
        self.meta |= HIDDEN;
        self
    }

    pub(crate) fn kind(self) -> NodeKind {
        match self.meta & KIND_MASK {
            1 => NodeKind::Bool,
            2 => NodeKind::Int,
            3 => NodeKind::Float,
            4 => NodeKind::String,
            5 => NodeKind::List,
            6 => NodeKind::Map,
            _ => NodeKind::Null,
        }
    }

    pub(crate) fn storage(self) -> Storage {
        match (self.meta & STORAGE_MASK) >> STORAGE_SHIFT {
            0 => Storage::Span,
            1 => Storage::Inner,
            _ => Storage::Side,
        }
    }

    pub(crate) fn length(self) -> u32 {
        self.meta >> LENGTH_SHIFT
    }

    pub(crate) fn is_hidden(self) -> bool {
        self.meta & HIDDEN != 0
    }

    /// Whether it is a string whose text is exactly its span.
    fn is_verbatim(self) -> bool {
        self.kind() == NodeKind::String && self.storage() == Storage::Span
    }

    /// Its length in bytes of the text.
    fn width(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// How many nodes this one and everything below it take.
    pub(crate) fn size(self) -> u32 {
        match self.kind() {
            NodeKind::List | NodeKind::Map => self.data.max(1),
            _ => 1,
        }
    }
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Node>,
    side: String,
}

impl Tree {
    pub(crate) const fn empty() -> Self {
        Self { nodes: Vec::new(), side: String::new() }
    }

    pub(crate) fn new(nodes: Vec<Node>, side: String) -> Self {
        Self { nodes, side }
    }

    pub(crate) fn into_parts(self) -> (Vec<Node>, String) {
        (self.nodes, self.side)
    }

    pub(crate) fn side(&self) -> &str {
        &self.side
    }

    /// How many nodes it has, those of merge keys included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Bytes it holds.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.side.capacity()
    }

    /// The same in a text that begins this many bytes later. None if some of it stands before that.
    pub(crate) fn moved(&self, by: u32) -> Option<Self> {
        let moved = |node: &Node| {
            let (start, end) = (node.start.checked_sub(by)?, node.end.checked_sub(by)?);
            Some(Node { start, end, ..*node })
        };
        let nodes: Option<Vec<Node>> = self.nodes.iter().map(moved).collect();
        Some(Self { nodes: nodes?, side: self.side.clone() })
    }

    pub(crate) fn node(&self, id: TreeNodeId) -> Node {
        self.nodes.get(id.0 as usize).copied().unwrap_or(Node::NULL)
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

/// The text of a scalar as resolved; empty for maps and lists.
pub(crate) fn text_of<'a>(node: Node, source: &'a str, side: &'a str) -> &'a str {
    let (start, end) = (node.start as usize, node.end as usize);
    match node.kind() {
        NodeKind::Null => "null",
        NodeKind::Bool if node.data == 0 => "false",
        NodeKind::Bool => "true",
        NodeKind::List | NodeKind::Map => "",
        _ => match node.storage() {
            Storage::Span => source.get(start..end).unwrap_or(""),
            Storage::Inner => source.get(start + 1..end.saturating_sub(1)).unwrap_or(""),
            Storage::Side => {
                let start = node.data as usize;
                side.get(start..start + node.length() as usize).unwrap_or("")
            }
        },
    }
}

/// A cursor: one node together with what is needed to read it. Copy it freely.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    text: &'a str,
    tree: &'a Tree,
    source: SourceId,
    node: TreeNodeId,
}

impl<'a> View<'a> {
    pub(crate) fn new(text: &'a str, tree: &'a Tree, source: SourceId, node: TreeNodeId) -> Self {
        Self { text, tree, source, node }
    }

    /// The node's id in its document.
    pub fn id(self) -> TreeNodeId {
        self.node
    }

    /// What it is.
    pub fn kind(self) -> NodeKind {
        self.here().kind()
    }

    /// The range of the value itself. Values that came through an alias have the range of the anchored text.
    pub fn span(self) -> Span {
        let node = self.here();
        Span { source: self.source, start: node.start, end: node.end }
    }

    /// The text as it is written, quotes and escapes included; for messages.
    pub fn written(self) -> &'a str {
        let node = self.here();
        self.text.get(node.start as usize..node.end as usize).unwrap_or("")
    }

    /// The text of a string; none for anything else.
    pub fn as_str(self) -> Option<&'a str> {
        (self.kind() == NodeKind::String).then(|| self.text_here())
    }

    /// The text of any scalar as resolved: `true` for `yes`, `31` for `0x1F`, `null` for `~`.
    pub fn scalar_text(self) -> Option<&'a str> {
        match self.kind() {
            NodeKind::List | NodeKind::Map => None,
            _ => Some(self.text_here()),
        }
    }

    /// The value of a bool.
    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == NodeKind::Bool).then(|| self.here().data != 0)
    }

    /// The value of a number that is whole and fits, also when written `80.0` or `1e3`: Kubernetes sends those on as
    /// `80` and `1000`.
    pub fn as_i64(self) -> Option<i64> {
        match self.kind() {
            NodeKind::Int => self.scalar_text()?.parse().ok(),
            NodeKind::Float => whole(self.as_f64()?),
            _ => None,
        }
    }

    /// The value of a whole number without sign that fits.
    pub fn as_u64(self) -> Option<u64> {
        match self.kind() {
            NodeKind::Int => self.scalar_text()?.parse().ok(),
            NodeKind::Float => whole(self.as_f64()?).and_then(|n| u64::try_from(n).ok()),
            _ => None,
        }
    }

    /// The value of any number.
    pub fn as_f64(self) -> Option<f64> {
        match self.kind() {
            NodeKind::Int => self.scalar_text()?.parse().ok(),
            NodeKind::Float => match self.scalar_text()? {
                ".inf" => Some(f64::INFINITY),
                "-.inf" => Some(f64::NEG_INFINITY),
                ".nan" => Some(f64::NAN),
                text => text.parse().ok(),
            },
            _ => None,
        }
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        self.kind() == NodeKind::Null
    }

    /// Key and value of every entry of a map, in the order written, merged ones last; nothing for anything else.
    pub fn entries(self) -> impl Iterator<Item = (View<'a>, View<'a>)> {
        let mut children = self.children(NodeKind::Map);
        std::iter::from_fn(move || {
            loop {
                let (key, value) = (children.next()?, children.next()?);
                if !key.here().is_hidden() {
                    return Some((key, value));
                }
            }
        })
    }

    /// The text of a key node.
    pub fn key_text(self) -> &'a str {
        self.text_here()
    }

    /// Every element of a list; nothing for anything else.
    pub fn items(self) -> impl Iterator<Item = View<'a>> {
        self.children(NodeKind::List)
    }

    /// The value under a key of a map. A null value is returned as null; none means there is no such key.
    pub fn get(self, key: &str) -> Option<View<'a>> {
        self.get_entry(key).map(|(_, value)| value)
    }

    /// Key and value under a key of a map.
    pub fn get_entry(self, key: &str) -> Option<(View<'a>, View<'a>)> {
        let node = self.here();
        if node.kind() != NodeKind::Map {
            return None;
        }
        let (first, end) = (self.node.0.saturating_add(1), self.node.0.saturating_add(node.size()));
        let nodes = self.tree.nodes.get(first as usize..end as usize)?;
        let mut at = 0;
        // Whoever reads documents asks for members by name most of the time: most keys differ in length already.
        while let [name, value, ..] = nodes.get(at as usize..)? {
            if !name.is_hidden() && self.is_called(*name, key) {
                let (name, value) = (TreeNodeId(first + at), TreeNodeId(first + at + 1));
                return Some((self.with(name), self.with(value)));
            }
            at = at.saturating_add(1).saturating_add(value.size());
        }
        None
    }

    #[inline]
    fn is_called(self, name: Node, key: &str) -> bool {
        if !name.is_verbatim() {
            return text_of(name, self.text, &self.tree.side) == key;
        }
        let written = name.start as usize..name.end as usize;
        name.width() == key.len()
            && self.text.as_bytes().get(written).is_some_and(|written| written == key.as_bytes())
    }

    /// How many entries or elements it has; 0 for scalars.
    pub fn len(self) -> usize {
        match self.kind() {
            NodeKind::List | NodeKind::Map => self.here().length() as usize,
            _ => 0,
        }
    }

    /// Whether it has no entries or elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Another node of the same document.
    #[must_use]
    pub fn with(self, id: TreeNodeId) -> View<'a> {
        Self { node: id, ..self }
    }

    fn here(self) -> Node {
        self.tree.node(self.node)
    }

    fn text_here(self) -> &'a str {
        text_of(self.here(), self.text, &self.tree.side)
    }

    fn children(self, of: NodeKind) -> impl Iterator<Item = View<'a>> {
        let node = self.here();
        let first = self.node.0.saturating_add(1);
        let end = match node.kind() == of {
            true => self.node.0.saturating_add(node.size()),
            false => first,
        };
        let mut next = first;
        std::iter::from_fn(move || {
            let here = (next < end).then(|| self.with(TreeNodeId(next)))?;
            next = next.saturating_add(here.here().size());
            Some(here)
        })
    }
}

/// A float that is a whole number an `f64` holds exactly.
fn whole(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.trunc() != value || value.abs() > EXACT {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53, checked above")]
    Some(value as i64)
}
