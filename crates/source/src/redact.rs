// SPDX-License-Identifier: Apache-2.0
//! In: a tree, its text, and which fields of which kinds must not be kept. Out: the tree without them, and the ranges to blank.
//! Not here: which kinds those are (the caller says so; this crate knows no Kubernetes).
//!
//! What is dropped leaves no copy: its nodes go, its unescaped texts are blanked in the side buffer, and every range of
//! the source it stands in is blanked too, up to the next thing that is kept, so that comments behind it go with it.
//! A value that is kept but shares text with a dropped one, through an anchor, is emptied.

use crate::shape::mentions_kind;
use crate::source_map::to_u32;
use crate::tree::{Node, NodeKind, Storage, Tree, text_of};

/// Fields that documents of one kind lose while they are read.
///
/// It applies to documents whose top-level `kind` is [`Redaction::kind`], and to the elements of `items` of any
/// document that have that kind, or that have none inside a document whose kind is the same with `List` appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redaction {
    /// The value of the top-level `kind`.
    pub kind: &'static str,
    /// Paths of keys from the document root; what they lead to is dropped.
    pub fields: &'static [&'static [&'static str]],
}

/// Byte ranges of a source, in order and without overlap.
pub(crate) type Ranges = Vec<(u32, u32)>;

/// Whether a text that could not be read may hold something to redact.
pub(crate) fn concerns(text: &str, redactions: &[Redaction]) -> bool {
    redactions.iter().any(|redaction| mentions_kind(text, redaction.kind))
}

/// Drops what the redactions name. Gives the tree back with the ranges to blank, none if it holds nothing of the kind.
/// `end` is where the document ends in the source.
pub(crate) fn redact(
    tree: Tree,
    text: &str,
    end: usize,
    redactions: &[Redaction],
) -> (Tree, Ranges) {
    if redactions.is_empty() {
        return (tree, Ranges::new());
    }
    let search = Search { tree: &tree, text };
    let mut dropped = search.dropped(redactions);
    if dropped.is_empty() {
        return (tree, Ranges::new());
    }
    dropped.sort_unstable_by_key(|entry| entry.key);
    dropped.dedup_by_key(|entry| entry.key);
    let gone = gone(&tree, &dropped);
    let ranges = blank_ranges(&tree, text, end, &dropped, &gone);
    (rebuild(tree, &dropped, &gone, &ranges), ranges)
}

/// Blanks ranges of a text, keeping line breaks, and the place of every byte and character outside them.
pub(crate) fn blank(text: String, ranges: &[(u32, u32)]) -> String {
    if ranges.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for &(from, to) in ranges {
        let (from, to) = (from as usize, to as usize);
        out.push_str(text.get(at..from).unwrap_or(""));
        for c in text.get(from.max(at)..to).unwrap_or("").chars() {
            // A blank of the same width in bytes, so that all offsets and columns stay.
            out.push(match (c, c.len_utf8()) {
                ('\n' | '\r', _) => c,
                (_, 1) => ' ',
                (_, 2) => '\u{a0}',
                (_, 3) => '\u{2003}',
                _ => '\u{e0020}',
            });
        }
        at = to.max(at);
    }
    out.push_str(text.get(at..).unwrap_or(""));
    debug_assert_eq!(out.len(), text.len());
    out
}

/// An entry to drop: ids of its key and of the map it is in.
#[derive(Debug, Clone, Copy)]
struct Entry {
    map: u32,
    key: u32,
}

struct Search<'a> {
    tree: &'a Tree,
    text: &'a str,
}

impl Search<'_> {
    fn node(&self, id: u32) -> Node {
        self.tree.nodes().get(id as usize).copied().unwrap_or(Node::NULL)
    }

    /// Ids of all entries of a map, key and value, hidden ones too: they have text.
    fn entries(&self, map: u32) -> impl Iterator<Item = (u32, u32)> {
        let mut at = self.children(map, NodeKind::Map);
        std::iter::from_fn(move || Some((at.next()?, at.next()?)))
    }

    fn children(&self, of: u32, kind: NodeKind) -> impl Iterator<Item = u32> {
        let node = self.node(of);
        let size = if node.kind() == kind { node.size() } else { 1 };
        let (mut at, end) = (of.saturating_add(1), of.saturating_add(size));
        std::iter::from_fn(move || {
            let here = (at < end).then_some(at)?;
            at = at.saturating_add(self.node(here).size());
            Some(here)
        })
    }

    fn text_of(&self, id: u32) -> &str {
        text_of(self.node(id), self.text, self.tree.side())
    }

    /// The visible value under a key.
    fn get(&self, map: u32, key: &str) -> Option<u32> {
        let mut entries = self.entries(map).filter(|(id, _)| !self.node(*id).is_hidden());
        entries.find(|(id, _)| self.text_of(*id) == key).map(|(_, value)| value)
    }

    fn kind_of(&self, map: u32) -> Option<&str> {
        let value = self.get(map, "kind")?;
        (self.node(value).kind() == NodeKind::String).then(|| self.text_of(value))
    }

    fn dropped(&self, redactions: &[Redaction]) -> Vec<Entry> {
        let mut dropped = Vec::new();
        // Objects to look at, each with the kind its list gives it. Lists may hold lists.
        let mut objects: Vec<(u32, Option<&str>)> = vec![(0, None)];
        objects.extend(self.children(0, NodeKind::List).map(|item| (item, None)));
        while let Some((object, implied)) = objects.pop() {
            let own = self.kind_of(object);
            let kind = own.or(implied);
            for redaction in redactions.iter().filter(|r| Some(r.kind) == kind) {
                for path in redaction.fields {
                    self.drop_path(object, path, &mut dropped);
                }
            }
            if let Some(items) = self.get(object, "items") {
                let implied = own.and_then(|kind| kind.strip_suffix("List"));
                objects.extend(self.children(items, NodeKind::List).map(|item| (item, implied)));
            }
        }
        dropped
    }

    /// Entries at the end of a path, those that a duplicate or a merge key hides too: their text stands in the source.
    fn drop_path(&self, object: u32, path: &[&str], dropped: &mut Vec<Entry>) {
        let mut maps = vec![object];
        for (i, &segment) in path.iter().enumerate() {
            let last = i + 1 == path.len();
            let mut next = Vec::new();
            while let Some(map) = maps.pop() {
                for (key, value) in self.entries(map) {
                    let name = self.text_of(key);
                    if name == "<<" && self.node(key).is_hidden() {
                        maps.push(value);
                        maps.extend(self.children(value, NodeKind::List));
                    } else if name == segment && last {
                        dropped.push(Entry { map, key });
                    } else if name == segment {
                        next.push(value);
                    }
                }
            }
            maps = next;
        }
    }
}

/// Id ranges of the nodes that go, in order and without overlap.
fn gone(tree: &Tree, dropped: &[Entry]) -> Vec<(u32, u32)> {
    let mut gone: Vec<(u32, u32)> = Vec::with_capacity(dropped.len());
    for entry in dropped {
        let value = tree.nodes().get(entry.key as usize + 1).copied().unwrap_or(Node::NULL);
        let end = entry.key.saturating_add(1).saturating_add(value.size());
        match gone.last_mut() {
            // Entries are in order, so that one that begins inside the last ends there too.
            Some(last) if entry.key < last.1 => {}
            _ => gone.push((entry.key, end)),
        }
    }
    gone
}

/// What to blank: from behind each dropped key to the next kept node, and all text dropped nodes stand in.
fn blank_ranges(
    tree: &Tree,
    text: &str,
    end: usize,
    dropped: &[Entry],
    gone: &[(u32, u32)],
) -> Ranges {
    let mut starts: Vec<u32> = kept(tree, gone).map(|(_, node)| node.start).collect();
    starts.sort_unstable();
    let mut ranges = Ranges::new();
    for entry in dropped {
        let key = tree.nodes().get(entry.key as usize).copied().unwrap_or(Node::NULL);
        let rest = text.get(key.end as usize..).unwrap_or("");
        let colon = rest.trim_start_matches([' ', '\t']).strip_prefix(':');
        let from = colon.map_or(key.end, |behind| key.end + to_u32(rest.len() - behind.len()));
        let next = starts.get(starts.partition_point(|&start| start < from)).copied();
        ranges.push((from, next.unwrap_or(to_u32(end)).max(from)));
    }
    for &(first, last) in gone {
        let values = tree.nodes().get(first as usize + 1..last as usize).unwrap_or_default();
        ranges.extend(values.iter().map(|node| (node.start, node.end)));
    }
    merge_ranges(ranges)
}

fn merge_ranges(mut ranges: Ranges) -> Ranges {
    ranges.sort_unstable();
    let mut merged = Ranges::new();
    for (from, to) in ranges.into_iter().filter(|(from, to)| from < to) {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The nodes outside the ranges of ids that go, with their ids.
fn kept<'a>(tree: &'a Tree, gone: &'a [(u32, u32)]) -> impl Iterator<Item = (u32, Node)> + 'a {
    let mut gaps = gone.iter().peekable();
    (0u32..).zip(tree.nodes()).filter_map(move |(id, node)| {
        while gaps.next_if(|(_, end)| *end <= id).is_some() {}
        gaps.peek().is_none_or(|(start, _)| id < *start).then_some((id, *node))
    })
}

fn rebuild(tree: Tree, dropped: &[Entry], gone: &[(u32, u32)], ranges: &Ranges) -> Tree {
    // How many nodes went before the n-th gap, so that what a subtree lost is one subtraction.
    let mut before: Vec<u32> = Vec::with_capacity(gone.len() + 1);
    let mut sum = 0;
    for (start, end) in gone {
        before.push(sum);
        sum += end - start;
    }
    before.push(sum);
    let lost_before = |id: u32| {
        before.get(gone.partition_point(|(start, _)| *start < id)).copied().unwrap_or(sum)
    };
    let visible =
        |entry: &&Entry| tree.nodes().get(entry.key as usize).is_some_and(|k| !k.is_hidden());
    let mut losers: Vec<u32> = dropped.iter().filter(visible).map(|entry| entry.map).collect();
    losers.sort_unstable();
    let mut blanks: Vec<(u32, u32)> = Vec::new();
    let side_of = |node: Node| (node.data, node.data.saturating_add(node.length()));
    for &(start, end) in gone {
        let nodes = tree.nodes().get(start as usize..end as usize).unwrap_or_default();
        blanks.extend(nodes.iter().filter(|n| is_aside(**n)).map(|n| side_of(*n)));
    }
    let mut nodes = Vec::with_capacity(tree.len() - sum as usize);
    let mut values_follow_keys = KeyTracker::default();
    for (id, mut node) in kept(&tree, gone) {
        let is_key = values_follow_keys.is_key(id, node);
        if matches!(node.kind(), NodeKind::List | NodeKind::Map) {
            let count = node.length();
            let low = losers.partition_point(|&map| map < id);
            let high = losers.partition_point(|&map| map <= id);
            node.data -= lost_before(id + node.data) - lost_before(id);
            node = node.with_length(count.saturating_sub(to_u32(high - low)));
        } else if overlaps(ranges, node) {
            if is_aside(node) {
                blanks.push(side_of(node));
            }
            let kind = if is_key { NodeKind::String } else { NodeKind::Null };
            let hidden = node.is_hidden();
            node = Node::new(kind, Storage::Side, node.start, node.end, 0);
            node = if hidden { node.hidden() } else { node };
        }
        nodes.push(node);
    }
    let (_, side) = tree.into_parts();
    Tree::new(nodes, blank(side, &merge_ranges(blanks)))
}

fn is_aside(node: Node) -> bool {
    node.storage() == Storage::Side && !matches!(node.kind(), NodeKind::List | NodeKind::Map)
}

fn overlaps(ranges: &Ranges, node: Node) -> bool {
    let next = ranges.partition_point(|(_, to)| *to <= node.start);
    ranges.get(next).is_some_and(|(from, _)| *from < node.end)
}

/// Tells keys from values while walking the old ids in order.
#[derive(Debug, Default)]
struct KeyTracker {
    /// End of each open container, whether it is a map, and the id at which its next key is.
    open: Vec<(u32, bool, u32)>,
}

impl KeyTracker {
    fn is_key(&mut self, id: u32, node: Node) -> bool {
        while self.open.last().is_some_and(|(end, _, _)| *end <= id) {
            self.open.pop();
        }
        // Dropped entries are whole entries, so that the first kept node at or after the expected key is a key.
        let is_key = match self.open.last_mut() {
            Some((_, true, value)) if *value != id => {
                *value = id + 1;
                true
            }
            _ => false,
        };
        if matches!(node.kind(), NodeKind::List | NodeKind::Map) {
            self.open.push((id + node.size(), node.kind() == NodeKind::Map, 0));
        }
        is_key
    }
}
