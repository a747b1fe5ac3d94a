// SPDX-License-Identifier: Apache-2.0
//! In: directories, which are texts that are empty or end with a slash. Out: a tree that finds all of them that a text
//! begins with. Not here: what they stand for.
//!
//! A step goes from slash to slash by one look into a table, so it costs the same under a node with two children as
//! under one with 100,000. Steps that nothing branches off from are one edge: there are at most two nodes for a directory,
//! however long it is. Building needs no recursion.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The parent of the root.
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Node<V> {
    parent: u32,
    /// Whether a step leads on.
    branches: bool,
    /// From the end of the parent to the end of this; it ends with a slash or is empty.
    edge: Box<[u8]>,
    value: Option<V>,
}

/// Directories with a value each.
#[derive(Debug, Clone)]
pub struct PathTree<V> {
    /// The root first, if there is anything.
    nodes: Vec<Node<V>>,
    /// Nodes but the root, by parent and first step.
    steps: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<V> PathTree<V> {
    pub fn new(directories: BTreeMap<Box<[u8]>, V>) -> Self {
        let nodes = Building::of(directories).nodes;
        let mut tree = Self {
            steps: HashTable::with_capacity(nodes.len()),
            nodes,
            hasher: DefaultHashBuilder::default(),
        };
        for (id, node) in (0u32..).zip(&tree.nodes).skip(1) {
            let rehash =
                |other: &u32| tree.nodes.get(at(*other)).map_or(0, |n| key(&tree.hasher, n));
            tree.steps.insert_unique(key(&tree.hasher, node), id, rehash);
        }
        tree
    }

    /// Each directory that the text begins with, from the shortest to the longest, and what follows it in the text.
    pub fn walk<'t>(&self, text: &'t [u8], mut visit: impl FnMut(&V, &'t [u8])) {
        let Some(mut node) = self.nodes.first() else { return };
        let Some(mut rest) = text.strip_prefix(&*node.edge) else { return };
        let mut id = 0;
        loop {
            if let Some(value) = &node.value {
                visit(value, rest);
            }
            if !node.branches {
                return;
            }
            let Some(step) = step(rest) else { return };
            let hash = self.hasher.hash_one((id, step));
            let child = self.steps.find(hash, |child| {
                self.nodes
                    .get(at(*child))
                    .is_some_and(|n| n.parent == id && rest.starts_with(&n.edge))
            });
            let Some(child) = child else { return };
            let Some(next) = self.nodes.get(at(*child)) else { return };
            let Some(below) = rest.get(next.edge.len()..) else { return };
            (id, node, rest) = (*child, next, below);
        }
    }
}

fn at(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

/// Up to the first slash, with it.
fn step(text: &[u8]) -> Option<&[u8]> {
    text.iter().position(|b| *b == b'/').and_then(|slash| text.get(..=slash))
}

fn key<V>(hasher: &DefaultHashBuilder, node: &Node<V>) -> u64 {
    hasher.hash_one((node.parent, step(&node.edge).unwrap_or_default()))
}

/// Directories, sorted, that share what is before `start`.
struct Span {
    range: Range<usize>,
    start: usize,
    parent: u32,
}

struct Building<V> {
    keys: Vec<Box<[u8]>>,
    values: Vec<Option<V>>,
    nodes: Vec<Node<V>>,
}

impl<V> Building<V> {
    fn of(directories: BTreeMap<Box<[u8]>, V>) -> Self {
        let (keys, values): (Vec<_>, Vec<_>) =
            directories.into_iter().map(|(key, value)| (key, Some(value))).unzip();
        let all = Span { range: 0..keys.len(), start: 0, parent: NONE };
        let mut building = Self { keys, values, nodes: Vec::new() };
        let mut open = vec![all];
        while let Some(span) = open.pop() {
            building.add(&span, &mut open);
        }
        building
    }

    /// One node for what the span shares, and a span for each step from there.
    fn add(&mut self, span: &Span, open: &mut Vec<Span>) {
        let Some(keys) = self.keys.get(span.range.clone()) else { return };
        let [first, ..] = keys else { return };
        let [.., last] = keys else { return };
        let end = shared(first, last, span.start);
        let here = first.len() == end;
        let Ok(id) = u32::try_from(self.nodes.len()) else { return };
        let mut from = span.range.start + usize::from(here);
        let before = open.len();
        while let Some(key) = self.keys.get(from).filter(|_| from < span.range.end) {
            let step = key.get(end..).and_then(step).unwrap_or_default();
            let others = self.keys.get(from..span.range.end).unwrap_or_default();
            let same = |k: &[u8]| k.get(end..).is_some_and(|rest| rest.starts_with(step));
            let to = from + others.partition_point(|k| same(k)).max(1);
            open.push(Span { range: from..to, start: end, parent: id });
            from = to;
        }
        let edge = first.get(span.start..end).unwrap_or_default().into();
        let value = self.values.get_mut(span.range.start).filter(|_| here).and_then(Option::take);
        self.nodes.push(Node { parent: span.parent, branches: open.len() > before, edge, value });
    }
}

/// Where the last slash ends that both have at the same place; `start` if none does after it.
fn shared(first: &[u8], last: &[u8], start: usize) -> usize {
    let pairs = first.iter().zip(last).enumerate().skip(start);
    let same = pairs.take_while(|(_, (a, b))| a == b);
    same.filter(|(_, (a, _))| **a == b'/').last().map_or(start, |(n, _)| n + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(directories: &[&str]) -> PathTree<String> {
        let entry = |d: &&str| (Box::from(d.as_bytes()), (*d).to_owned());
        PathTree::new(directories.iter().map(entry).collect())
    }

    fn found(tree: &PathTree<String>, text: &str) -> Vec<String> {
        let mut all = Vec::new();
        tree.walk(text.as_bytes(), |value, rest| {
            assert_eq!(format!("{value}{}", String::from_utf8_lossy(rest)), text);
            all.push(value.clone());
        });
        all
    }

    #[test]
    fn all_beginnings_are_found_from_short_to_long() {
        let tree = tree(&["", "a/", "a/b/", "a/b/c/d/", "a/bb/", "b//", "b///"]);
        assert_eq!(found(&tree, "a/b/c/d/e"), ["", "a/", "a/b/", "a/b/c/d/"]);
        assert_eq!(found(&tree, "a/b/c/e/"), ["", "a/", "a/b/"]);
        assert_eq!(found(&tree, "a/b"), ["", "a/"]);
        assert_eq!(found(&tree, "b///x"), ["", "b//", "b///"]);
        assert_eq!(found(&tree, ""), [""]);
        assert!(found(&PathTree::new(BTreeMap::new()), "a/").is_empty());
    }

    #[test]
    fn there_are_at_most_two_nodes_for_a_directory() {
        let long = "x/".repeat(5_000);
        let all: Vec<String> = (0..1_000).map(|n| format!("{long}{n}/{long}")).collect();
        let tree = tree(&all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(tree.nodes.len(), 1_001);
        assert_eq!(found(&tree, &format!("{long}7/{long}y")).len(), 1);
    }

    #[test]
    fn a_deep_nest_needs_no_stack() {
        let all: Vec<String> = (0..5_000).map(|n| "/".repeat(n)).collect();
        let tree = tree(&all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found(&tree, &"/".repeat(6_000)).len(), 5_000);
    }
}
