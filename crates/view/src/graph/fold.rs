// SPDX-License-Identifier: Apache-2.0
//! In: a graph of more nodes than a picture can show. Out: the same with its lower part folded into counted groups.
//! Not here: the data (`-o json` has every node), the tree for a terminal.
//!
//! Nodes from some level downwards become one node for each namespace and for what stands above them, or, if these are
//! too many, for each namespace, or one for all. The level is the lowest with which the picture is small enough.

use std::collections::{BTreeMap, BTreeSet};

use super::Graph;
use crate::{v1, words};

/// Most nodes of a picture.
pub(super) const MOST: usize = 200;

/// What stands together: namespace, and the nodes above.
type Key = (String, BTreeSet<usize>);

/// How nodes are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    NamespaceAndParents,
    Namespace,
    Nothing,
}

/// The graph, folded if it has too many nodes.
pub(super) fn fold(graph: &Graph) -> Option<Graph> {
    let data = &graph.data;
    if data.nodes.len() <= MOST {
        return None;
    }
    let depths: BTreeSet<u8> = data.nodes.iter().map(|node| node.depth).collect();
    let mut best = None;
    for from in depths.iter().rev() {
        for by in [By::NamespaceAndParents, By::Namespace] {
            let keys = keys(graph, *from, by);
            if count(data, &keys) <= MOST {
                return Some(Folding { graph, from: *from, keys }.finish());
            }
            best = Some(*from);
        }
    }
    let from = best?;
    Some(Folding { graph, from, keys: keys(graph, from, By::Nothing) }.finish())
}

/// The group of each node that is folded.
fn keys(graph: &Graph, from: u8, by: By) -> Vec<Option<Key>> {
    let nodes = &graph.data.nodes;
    let is_folded = |node: usize| nodes.get(node).is_some_and(|node| node.depth >= from);
    let mut anchors: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); nodes.len()];
    // Parents come before their children; what leads back adds nothing.
    for node in 0..nodes.len() {
        let mut own = BTreeSet::new();
        for above in graph.above(node) {
            match is_folded(*above) {
                true => own.extend(anchors.get(*above).into_iter().flatten()),
                false => own.extend([*above]),
            }
        }
        if let Some(slot) = anchors.get_mut(node) {
            *slot = own;
        }
    }
    let key = |(id, node): (usize, &v1::GraphNode)| {
        is_folded(id).then(|| match by {
            By::NamespaceAndParents => {
                (namespace(node).to_owned(), anchors.get(id).cloned().unwrap_or_default())
            }
            By::Namespace => (namespace(node).to_owned(), BTreeSet::new()),
            By::Nothing => (String::new(), BTreeSet::new()),
        })
    };
    nodes.iter().enumerate().map(key).collect()
}

/// Namespace of the object of a node; sections have that of their object.
fn namespace(node: &v1::GraphNode) -> &str {
    match &node.namespace {
        Some(namespace) => namespace,
        None => {
            let object = node.target.split('#').next().unwrap_or("");
            let mut parts = object.split('/');
            match (parts.next(), parts.next(), parts.next()) {
                (Some(_), Some(namespace), Some(_)) => namespace,
                _ => "",
            }
        }
    }
}

fn count(data: &v1::Graph, keys: &[Option<Key>]) -> usize {
    let groups: BTreeSet<&Key> = keys.iter().flatten().collect();
    let whole = data.nodes.iter().zip(keys).filter(|(_, key)| key.is_none()).count();
    whole + groups.len()
}

struct Folding<'a> {
    graph: &'a Graph,
    from: u8,
    keys: Vec<Option<Key>>,
}

impl Folding<'_> {
    fn finish(&self) -> Graph {
        let data = &self.graph.data;
        let mut places: BTreeMap<&Key, usize> = BTreeMap::new();
        let mut nodes: Vec<v1::GraphNode> = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        // The new place of each node.
        let mut moved = Vec::with_capacity(data.nodes.len());
        for (node, key) in data.nodes.iter().zip(&self.keys) {
            let place = match key {
                Some(key) => *places.entry(key).or_insert(nodes.len()),
                None => nodes.len(),
            };
            if place == nodes.len() {
                nodes.push(v1::GraphNode { id: place, ..node.clone() });
                members.push(Vec::new());
            }
            if let Some(members) = members.get_mut(place) {
                members.push(node.id);
            }
            moved.push(place);
        }
        let mut tips = BTreeMap::new();
        for key in places.keys() {
            let Some(place) = places.get(key) else { continue };
            let inside = members.get(*place).map_or(&[][..], Vec::as_slice);
            if let Some(node) = nodes.get_mut(*place) {
                let what = self.contents(inside);
                node.kind.clone_from(&what);
                node.name =
                    if key.0.is_empty() { "all namespaces".to_owned() } else { key.0.clone() };
                node.namespace = None;
                node.depth = self.from;
                node.target = format!("{}: {what}", node.name);
                tips.insert(*place, node.target.clone());
            }
        }
        let edges: BTreeSet<v1::GraphEdge> = data
            .edges
            .iter()
            .filter_map(|edge| {
                let (from, to) = (*moved.get(edge.from)?, *moved.get(edge.to)?);
                (from != to).then_some(v1::GraphEdge { from, to })
            })
            .collect();
        let stays =
            |node: usize| moved.get(node).copied().filter(|place| !tips.contains_key(place));
        let attachments: Vec<v1::GraphAttachment> = data
            .attachments
            .iter()
            .filter_map(|a| Some(v1::GraphAttachment { node: stays(a.node)?, ..a.clone() }))
            .collect();
        let (policies, attachments) = renumbered(data, attachments);
        let unresolved = data.unresolved.iter().map(|one| {
            let nodes = one.nodes.iter().filter_map(|node| stays(*node)).collect();
            v1::GraphUnresolved { nodes, ..one.clone() }
        });
        let folded = Graph::index(v1::Graph {
            nodes,
            edges: edges.into_iter().collect(),
            policies,
            attachments,
            unresolved: unresolved.filter(|one| !one.nodes.is_empty()).collect(),
            rejections: Vec::new(),
            unattached: Vec::new(),
            ..data.clone()
        });
        let note = format!(
            "{}; below {} folded by namespace, as they are more than {MOST}: `overrule graph TARGET` shows a part, \
             `-o json` everything",
            self.graph.summary(),
            data.nodes.iter().find(|n| n.depth == self.from).map_or("", |n| n.level),
        );
        Graph { tips, folded: Some(note), ..folded }
    }

    /// `120 HTTPRoutes, 340 HTTPRouteRules, 7 policies`.
    fn contents(&self, members: &[usize]) -> String {
        let (mut kinds, mut policies) = (BTreeMap::<(u8, &str), u64>::new(), BTreeSet::new());
        for node in members {
            if let Some(data) = self.graph.data.nodes.get(*node) {
                *kinds.entry((data.depth, &data.kind)).or_default() += 1;
            }
            policies.extend(self.graph.policies(*node).map(|(policy, _)| policy.id));
        }
        let mut parts: Vec<String> =
            kinds.into_iter().map(|((_, kind), n)| words::count(n, kind)).collect();
        match policies.len() {
            0 => {}
            1 => parts.push("1 policy".to_owned()),
            n => parts.push(format!("{n} policies")),
        }
        parts.join(", ")
    }
}

/// The policies that are still attached somewhere, with new numbers.
fn renumbered(
    data: &v1::Graph,
    mut attachments: Vec<v1::GraphAttachment>,
) -> (Vec<v1::GraphPolicy>, Vec<v1::GraphAttachment>) {
    let kept: BTreeSet<usize> = attachments.iter().map(|a| a.policy).collect();
    let numbers: BTreeMap<usize, usize> = kept.iter().enumerate().map(|(i, p)| (*p, i)).collect();
    for attachment in &mut attachments {
        attachment.policy = numbers.get(&attachment.policy).copied().unwrap_or_default();
    }
    let policies = numbers.iter().filter_map(|(old, new)| {
        Some(v1::GraphPolicy { id: *new, ..data.policies.get(*old)?.clone() })
    });
    (policies.collect(), attachments)
}
