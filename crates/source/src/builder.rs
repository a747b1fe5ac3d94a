// SPDX-License-Identifier: Apache-2.0
//! In: the events of one document, from YAML or JSON. Out: its tree, or the reason why it has none.
//! Not here: syntax (`yaml`, `json`), what a plain scalar means (`scalar`).
//!
//! Everything that could cost more than the text is long is checked here, before the cost arises: depth, nodes,
//! scalar length, and what aliases would add. Nothing recurses; the open maps and lists are a stack.

mod bounds;
mod keys;
mod merge;
mod refuse;
mod scalars;

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::limits::Limits;
use crate::reader::{DuplicateKeys, ReadOptions, SingleLetters};
use crate::source_map::{SourceId, Span, to_u32};
use crate::tree::{Node, NodeKind, Storage, Tree, text_of};
use keys::{Keys, Own};
use merge::Merge;

/// Why a document cannot be read. Boxed, because it is rare and large.
pub(crate) type Refusal = Box<Diagnostic>;

/// What the next node is to the one around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Root,
    Item,
    Key,
    Value,
    /// The value of `<<`.
    Merge,
}

/// A map or list that is not complete.
#[derive(Debug)]
struct Frame {
    node: u32,
    kind: NodeKind,
    /// What the next node in it is.
    next: Slot,
    count: u32,
    keys: Own,
    last_key: u32,
    first_merge: usize,
    merge_key: u32,
    /// Levels below this one.
    height: usize,
    anchor: usize,
    flow: bool,
}

/// Where an anchored node is. `size` is 0 while it is not complete.
#[derive(Debug, Clone, Copy, Default)]
struct Anchor {
    node: u32,
    size: u32,
    height: usize,
}

/// The nodes so far.
#[derive(Debug, Default)]
struct Arena<'t> {
    text: &'t str,
    nodes: Vec<Node>,
    side: String,
}

/// Builds one tree after the other; what one leaves behind in capacity the next uses.
#[derive(Debug)]
pub(crate) struct Builder<'t> {
    pub(crate) text: &'t str,
    pub(crate) source: SourceId,
    pub(crate) limits: Limits,
    pub(crate) letters: SingleLetters,
    /// Warnings about everything built so far.
    pub(crate) findings: Findings,
    duplicate_keys: DuplicateKeys,
    arena: Arena<'t>,
    frames: Vec<Frame>,
    keys: Keys,
    merges: Vec<Merge>,
    anchors: Vec<Anchor>,
    first_anchor: usize,
    expanded: usize,
    /// Whether to look for Helm actions in plain scalars, and the first one.
    watch: bool,
    template: Option<u32>,
}

impl Arena<'_> {
    fn node(&self, id: u32) -> Node {
        self.nodes.get(id as usize).copied().unwrap_or(Node::NULL)
    }

    fn text_of(&self, node: Node) -> &str {
        text_of(node, self.text, &self.side)
    }

    fn next_id(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }

    /// Copies a complete subtree, or an entry, to the end.
    fn copy(&mut self, id: u32, size: u32) {
        let from = id as usize;
        let to = (from + size as usize).min(self.nodes.len());
        if from <= to {
            self.nodes.extend_from_within(from..to);
        }
    }
}

impl<'t> Builder<'t> {
    pub(crate) fn new(text: &'t str, source: SourceId, options: &ReadOptions) -> Self {
        // Room for a small document, which is all there is in most texts of a store.
        let nodes = Vec::with_capacity((text.len() / 8).min(60));
        Self {
            text,
            source,
            limits: options.limits,
            letters: options.single_letters,
            duplicate_keys: options.duplicate_keys,
            findings: Findings::default(),
            arena: Arena { text, nodes, side: String::new() },
            frames: Vec::with_capacity(8),
            keys: Keys::default(),
            merges: Vec::new(),
            anchors: Vec::new(),
            first_anchor: 0,
            expanded: 0,
            watch: false,
            template: None,
        }
    }

    /// Says whether plain scalars may hold Helm actions; most texts have none, and need not be looked at.
    pub(crate) fn watch_for_templates(&mut self, watch: bool) {
        self.watch = watch;
        self.template = None;
    }

    /// Takes back what was seen in a document that is read again.
    pub(crate) fn forget_template(&mut self) {
        self.template = None;
    }

    /// Whether the document has no node yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.arena.nodes.is_empty()
    }

    /// Where the first Helm action in a plain scalar is.
    pub(crate) fn seen_template(&self) -> Option<u32> {
        self.template
    }

    /// Looks at a plain scalar as it is written.
    fn look_at(&mut self, at: (u32, u32)) {
        if self.watch && self.template.is_none() {
            let written = self.text.get(at.0 as usize..at.1 as usize).unwrap_or("");
            let action = crate::shape::helm_action(written);
            self.template = action.map(|offset| at.0 + to_u32(offset));
        }
    }

    /// The finished document; none if it is empty or null. Ready for the next one afterwards.
    pub(crate) fn finish(&mut self) -> Option<Tree> {
        // Small documents are copied, so that the next one finds room; a large one is not held twice.
        const LARGE: usize = 1 << 16;
        let arena = &mut self.arena;
        let tree = (arena.node(0).kind() != NodeKind::Null).then(|| {
            let mut nodes = match arena.nodes.len() {
                LARGE.. => std::mem::take(&mut arena.nodes),
                _ => arena.nodes.clone(),
            };
            nodes.shrink_to_fit();
            let mut side = std::mem::take(&mut arena.side);
            side.shrink_to_fit();
            Tree::new(nodes, side)
        });
        self.abandon();
        tree
    }

    /// Forgets the document that was begun.
    pub(crate) fn abandon(&mut self) {
        self.arena.nodes.clear();
        self.arena.side.clear();
        self.frames.clear();
        self.keys.clear();
        self.merges.clear();
        self.anchors.clear();
        self.first_anchor = 0;
        self.expanded = 0;
    }

    /// What the next node will be.
    pub(crate) fn slot(&self) -> Slot {
        self.frames.last().map_or(Slot::Root, |frame| frame.next)
    }

    /// Kind and start of the innermost open map or list, and whether it is in flow style.
    pub(crate) fn open(&self) -> Option<(NodeKind, u32, bool)> {
        let frame = self.frames.last()?;
        Some((frame.kind, self.arena.node(frame.node).start, frame.flow))
    }

    pub(crate) fn span(&self, start: u32, end: u32) -> Span {
        Span { source: self.source, start, end }
    }

    /// A scalar whose text is not in the source as it is.
    pub(crate) fn aside(
        &mut self,
        kind: NodeKind,
        at: (u32, u32),
        text: &str,
    ) -> Result<Node, Refusal> {
        self.check_length(text.len(), at)?;
        let offset = u32::try_from(self.arena.side.len());
        let (Ok(offset), Ok(length)) = (offset, u32::try_from(text.len())) else {
            return Err(self.limit(at, "the unescaped text of this document", "4 GiB"));
        };
        self.arena.side.push_str(text);
        Ok(Node::new(kind, Storage::Side, at.0, at.1, offset).with_length(length))
    }

    /// Adds a scalar.
    pub(crate) fn scalar(&mut self, node: Node, anchor: usize) -> Result<(), Refusal> {
        match self.slot() {
            Slot::Merge => return Err(self.bad_merge((node.start, node.end))),
            Slot::Key => self.key(node)?,
            slot => {
                self.push(node)?;
                self.complete(slot, 0);
            }
        }
        if anchor != 0 {
            let node = self.arena.next_id().saturating_sub(1);
            self.set_anchor(anchor, Anchor { node, size: 1, height: 0 });
        }
        Ok(())
    }

    /// Opens a map or list.
    pub(crate) fn begin(
        &mut self,
        kind: NodeKind,
        start: u32,
        anchor: usize,
        flow: bool,
    ) -> Result<(), Refusal> {
        if self.slot() == Slot::Key {
            return Err(self.bad_key((start, start), kind));
        }
        self.check_depth(1, (start, start))?;
        let node = self.arena.next_id();
        self.push(Node::new(kind, Storage::Span, start, start, 1))?;
        if anchor != 0 {
            self.set_anchor(anchor, Anchor { node, size: 0, height: 0 });
        }
        self.frames.push(Frame {
            node,
            kind,
            next: if kind == NodeKind::Map { Slot::Key } else { Slot::Item },
            count: 0,
            keys: self.keys.open(),
            last_key: 0,
            first_merge: self.merges.len(),
            merge_key: 0,
            height: 0,
            anchor,
            flow,
        });
        Ok(())
    }

    /// Closes the innermost map or list, which ends before `end`.
    pub(crate) fn end(&mut self, end: u32) -> Result<(), Refusal> {
        let Some(mut frame) = self.frames.pop() else { return Ok(()) };
        if frame.first_merge < self.merges.len() {
            self.apply_merges(&mut frame)?;
        }
        self.keys.close(&frame.keys);
        let size = self.arena.next_id() - frame.node;
        let height = frame.height + 1;
        let mut start = end;
        if let Some(node) = self.arena.nodes.get_mut(frame.node as usize) {
            node.end = end.max(node.start);
            node.data = size;
            *node = node.with_length(frame.count);
            start = node.start;
        }
        if frame.anchor != 0 {
            self.set_anchor(frame.anchor, Anchor { node: frame.node, size, height });
        }
        let slot = self.slot();
        if slot == Slot::Merge {
            self.add_merge(frame.node, height, (start, end))?;
        }
        self.complete(slot, height);
        Ok(())
    }

    /// Adds what an alias stands for. `at` is the alias itself.
    pub(crate) fn alias(&mut self, anchor: usize, at: (u32, u32)) -> Result<(), Refusal> {
        let known = anchor.checked_sub(self.first_anchor).and_then(|i| self.anchors.get(i));
        let Some(&Anchor { node: id, size, height }) = known else {
            return Err(self.unknown_alias(at));
        };
        if size == 0 {
            return Err(self.alias_to_itself(at));
        }
        let slot = self.slot();
        let node = self.arena.node(id);
        if slot == Slot::Merge {
            self.push(Node::verbatim(NodeKind::Null, at.0, at.1))?;
            self.add_merge(id, height, at)?;
            self.complete(slot, 0);
            return Ok(());
        }
        if slot == Slot::Key && matches!(node.kind(), NodeKind::List | NodeKind::Map) {
            return Err(self.bad_key(at, node.kind()));
        }
        self.spend(size, at)?;
        if slot == Slot::Key {
            return self.key(node);
        }
        self.check_depth(height, at)?;
        self.arena.copy(id, size);
        self.complete(slot, height);
        Ok(())
    }

    fn push(&mut self, node: Node) -> Result<(), Refusal> {
        self.check_nodes(1, (node.start, node.end))?;
        self.arena.nodes.push(node);
        Ok(())
    }

    /// Notes in the open map or list that a node that is not a key is complete.
    fn complete(&mut self, slot: Slot, height: usize) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.height = frame.height.max(height);
        match slot {
            Slot::Item => frame.count += 1,
            _ => frame.next = Slot::Key,
        }
    }

    fn set_anchor(&mut self, anchor: usize, place: Anchor) {
        if self.anchors.is_empty() {
            self.first_anchor = anchor;
        }
        let Some(index) = anchor.checked_sub(self.first_anchor) else { return };
        // The parser hands ids out one by one, so that this adds at most one.
        if self.anchors.len() <= index {
            self.anchors.resize(index + 1, Anchor::default());
        }
        if let Some(entry) = self.anchors.get_mut(index) {
            *entry = place;
        }
    }

    /// Adds a key. What is not a string becomes one as Go would write it.
    fn key(&mut self, node: Node) -> Result<(), Refusal> {
        let at = (node.start, node.end);
        let node = match node.kind() {
            NodeKind::String => node,
            NodeKind::Int => node.with_kind(NodeKind::String),
            NodeKind::Float => {
                let text = crate::scalar::float_key(self.arena.text_of(node));
                self.aside(NodeKind::String, at, &text)?
            }
            NodeKind::Bool => {
                let text = self.arena.text_of(node).to_owned();
                self.aside(NodeKind::String, at, &text)?
            }
            other => return Err(self.bad_key(at, other)),
        };
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let earlier = self.keys.find(&frame.keys, self.arena.text_of(node), &self.arena);
        if let Some(earlier) = earlier {
            self.duplicate(earlier, node)?;
        }
        let id = self.arena.next_id();
        self.push(node)?;
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        match earlier {
            Some(earlier) => self.keys.replace(&mut frame.keys, earlier, id, &self.arena),
            None => {
                self.keys.add(&mut frame.keys, id, &self.arena);
                frame.count += 1;
            }
        }
        frame.next = Slot::Value;
        frame.last_key = id;
        Ok(())
    }

    /// A key that the map has: an error, or the end of the earlier entry.
    fn duplicate(&mut self, earlier: u32, node: Node) -> Result<(), Refusal> {
        let first = self.arena.node(earlier);
        let at = self.span(node.start, node.end);
        let seen = self.span(first.start, first.end);
        let name = shorten(self.arena.text_of(node));
        let mut field = self.path();
        push_key(&mut field, &name);
        if self.duplicate_keys == DuplicateKeys::Error {
            let message = format!("duplicate key `{name}` in one mapping");
            let diagnostic = Diagnostic::new(&codes::DUPLICATE_KEY, message)
                .at_with(at, "again here")
                .see(seen, "first here")
                .field(field)
                .help("remove one of them; Kubernetes rejects duplicate keys in strict mode");
            return Err(Box::new(diagnostic));
        }
        self.findings.add(&codes::DUPLICATE_KEY_LENIENT, at, || {
            let message = format!("duplicate key `{name}`; the last one wins");
            Diagnostic::new(&codes::DUPLICATE_KEY_LENIENT, message)
                .at_with(at, "this one wins")
                .see(seen, "this one has no effect")
                .field(field)
                .help("remove one of them")
        });
        if let Some(first) = self.arena.nodes.get_mut(earlier as usize) {
            *first = first.hidden();
        }
        Ok(())
    }

    /// Dotted path of the node that comes next, without its key if a key comes next.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            match frame.next {
                Slot::Item => path.push_str(&format!("[{}]", frame.count)),
                Slot::Value => {
                    let key = self.arena.node(frame.last_key);
                    push_key(&mut path, self.arena.text_of(key));
                }
                _ => {}
            }
        }
        path
    }
}

/// Appends a key to a dotted path; keys that would be ambiguous there are quoted.
fn push_key(path: &mut String, key: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !key.is_empty() && key.bytes().all(plain) {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    } else {
        path.push_str(&format!("[{:?}]", shorten(key)));
    }
}

/// Input text as a message may quote it: not longer than a line.
pub(crate) fn shorten(text: &str) -> String {
    const LONGEST: usize = 60;
    let line = text.lines().next().unwrap_or("");
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or("")),
        None if line.len() < text.len() => format!("{line}…"),
        None => line.to_owned(),
    }
}
