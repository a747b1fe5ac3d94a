// SPDX-License-Identifier: Apache-2.0
//! In: resolutions over one topology. Out: that topology with policies, as data and as pictures. Not here: what is in force where.
//!
//! Edges are steps of paths, so the picture shows exactly the walks that answers are given for. Objects on no path are
//! listed apart.

mod layout;
mod svg;
mod text;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use overrule_engine::{Attachment, Node, NodeId, PolicyId, Rejection, Tally};

use crate::{Scene, ScenePart, Styles, v1};

/// The topology with its policies, ready to be drawn.
#[derive(Debug, Clone)]
pub struct Graph {
    data: v1::Graph,
    below: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    /// Attachments by node.
    attached: Vec<Vec<usize>>,
}

impl Graph {
    /// One resolution: everything, or only the paths through one node.
    pub fn build(scene: &Scene<'_>, part: &ScenePart<'_>, focus: Option<NodeId>) -> Self {
        Self::of(scene, std::slice::from_ref(part), focus)
    }

    /// Several resolutions in one drawing. Their paths must walk one topology, as those of a scene do.
    pub fn of(scene: &Scene<'_>, parts: &[ScenePart<'_>], focus: Option<NodeId>) -> Self {
        match Builder::new(scene, parts, focus) {
            Some(builder) => Self::index(builder.finish()),
            None => Self::empty(),
        }
    }

    /// Nothing.
    pub(crate) fn empty() -> Self {
        Self::index(v1::Graph {
            api_version: v1::API_VERSION,
            kind: "Graph",
            ..v1::Graph::default()
        })
    }

    /// From data.
    pub(crate) fn index(data: v1::Graph) -> Self {
        let empty = vec![Vec::new(); data.nodes.len()];
        let (mut below, mut above, mut attached) = (empty.clone(), empty.clone(), empty);
        let push = |lists: &mut Vec<Vec<usize>>, at: usize, item: usize| {
            if let Some(list) = lists.get_mut(at) {
                list.push(item);
            }
        };
        for edge in &data.edges {
            push(&mut below, edge.from, edge.to);
            push(&mut above, edge.to, edge.from);
        }
        for (i, attachment) in data.attachments.iter().enumerate() {
            push(&mut attached, attachment.node, i);
        }
        Self { data, below, above, attached }
    }

    /// For a terminal: a tree in which policies hang below their target.
    pub fn tree(&self, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
        tree::write(self, styles, out)
    }

    /// For Graphviz.
    pub fn dot(&self) -> String {
        text::dot(self)
    }

    /// For Mermaid.
    pub fn mermaid(&self) -> String {
        text::mermaid(self)
    }

    /// As a picture that needs no other program.
    pub fn svg(&self) -> String {
        svg::write(self)
    }

    /// As data.
    pub fn json(&self) -> &v1::Graph {
        &self.data
    }

    fn below(&self, node: usize) -> &[usize] {
        self.below.get(node).map_or(&[], Vec::as_slice)
    }

    fn above(&self, node: usize) -> &[usize] {
        self.above.get(node).map_or(&[], Vec::as_slice)
    }

    /// Policies on a node, with their attachment.
    fn policies(
        &self,
        node: usize,
    ) -> impl Iterator<Item = (&v1::GraphPolicy, &v1::GraphAttachment)> {
        let attached = self.attached.get(node).into_iter().flatten();
        let attached = attached.filter_map(|i| self.data.attachments.get(*i));
        attached.filter_map(|a| Some((self.data.policies.get(a.policy)?, a)))
    }

    /// What the picture is of, in one line.
    fn title(&self) -> String {
        match &self.data.focus {
            Some(focus) => format!("Topology and policies around {focus}"),
            None => "Topology and policies".to_owned(),
        }
    }

    /// What is in the picture, in one line.
    fn summary(&self) -> String {
        let data = &self.data;
        let mut parts = vec![
            crate::words::count(data.nodes.len() as u64, "node"),
            match data.policies.len() {
                1 => "1 policy".to_owned(),
                n => format!("{n} policies"),
            },
        ];
        if !data.rejections.is_empty() {
            parts.push(crate::words::count(data.rejections.len() as u64, "rejected reference"));
        }
        if !data.unattached.is_empty() {
            parts.push(crate::words::count(data.unattached.len() as u64, "object") + " on no path");
        }
        parts.join(", ")
    }
}

impl v1::GraphNode {
    /// Namespace and name.
    fn label(&self) -> String {
        let assumed = if self.assumed { " (assumed)" } else { "" };
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}{assumed}", self.name),
            None => format!("{}{assumed}", self.name),
        }
    }
}

/// Which part, and which policy of it.
type PolicyKey = (usize, PolicyId);

struct Builder<'a> {
    scene: &'a Scene<'a>,
    /// The first part, for names of nodes.
    part: &'a ScenePart<'a>,
    parts: &'a [ScenePart<'a>],
    focus: Option<NodeId>,
    edges: BTreeSet<(NodeId, NodeId)>,
    nodes: BTreeSet<NodeId>,
    /// Nodes on any path, shown or not.
    passed: BTreeSet<NodeId>,
    /// How deep paths go.
    deepest: Option<u8>,
}

impl<'a> Builder<'a> {
    fn new(
        scene: &'a Scene<'a>,
        parts: &'a [ScenePart<'a>],
        focus: Option<NodeId>,
    ) -> Option<Self> {
        let mut builder = Self {
            scene,
            part: parts.first()?,
            parts,
            focus,
            edges: BTreeSet::new(),
            nodes: BTreeSet::new(),
            passed: BTreeSet::new(),
            deepest: None,
        };
        for part in parts {
            builder.walk(part);
        }
        Some(builder)
    }

    /// Every path is its beginning and one node more, and beginnings come first: one pass finds all edges.
    fn walk(&mut self, part: &ScenePart<'_>) {
        let paths = &part.resolution.paths;
        let through = self.through(part);
        for path in paths.ids() {
            let Some(node) = paths.node(path) else { continue };
            self.passed.insert(node);
            let parent = paths.parent(path);
            if parent.is_some() {
                let level = self.part.topology.get(node).map(|n| n.level.0);
                self.deepest = self.deepest.max(level);
            }
            if through.get(path.0 as usize) != Some(&true) {
                continue;
            }
            self.nodes.insert(node);
            if let Some(above) = parent.and_then(|p| paths.node(p)) {
                self.edges.insert((above, node));
            }
        }
    }

    /// For each path, whether it passes the focus or is the beginning of one that does.
    fn through(&self, part: &ScenePart<'_>) -> Vec<bool> {
        let paths = &part.resolution.paths;
        let Some(focus) = self.focus else { return vec![true; paths.len()] };
        let mut through = vec![false; paths.len()];
        for path in paths.ids() {
            let above = paths.parent(path).and_then(|p| through.get(p.0 as usize)).copied();
            let is_it = paths.node(path) == Some(focus);
            if let Some(slot) = through.get_mut(path.0 as usize) {
                *slot = is_it || above == Some(true);
            }
        }
        let ends: Vec<_> = paths.ids().filter(|p| paths.node(*p) == Some(focus)).collect();
        for end in ends {
            let mut next = paths.parent(end);
            while let Some(path) = next {
                match through.get_mut(path.0 as usize) {
                    Some(slot) if !*slot => *slot = true,
                    _ => break,
                }
                next = paths.parent(path);
            }
        }
        through
    }

    fn finish(&self) -> v1::Graph {
        let ids: BTreeMap<NodeId, usize> =
            self.nodes.iter().enumerate().map(|(i, node)| (*node, i)).collect();
        let edges = self.edges.iter().filter_map(|(from, to)| {
            Some(v1::GraphEdge { from: *ids.get(from)?, to: *ids.get(to)? })
        });
        let (policies, attachments) = self.attachments(&ids);
        v1::Graph {
            api_version: v1::API_VERSION,
            kind: "Graph",
            focus: self.focus.map(|n| self.part.target_name(self.scene, n)),
            nodes: ids.iter().filter_map(|(node, id)| self.node(*node, *id)).collect(),
            edges: edges.collect(),
            policies,
            attachments,
            rejections: self.rejections(),
            unattached: self.unattached(),
        }
    }

    fn node(&self, id: NodeId, index: usize) -> Option<v1::GraphNode> {
        let node = self.part.topology.get(id)?;
        let v1::PathElement { kind, namespace, name, assumed } =
            self.part.element(self.scene, id)?;
        Some(v1::GraphNode {
            id: index,
            target: self.part.target_name(self.scene, id),
            kind,
            namespace,
            name,
            level: self.part.topology.level_name(node.level),
            depth: node.level.0,
            assumed,
            at: node.at.map(|span| self.scene.place(span)),
        })
    }

    fn attachments(
        &self,
        ids: &BTreeMap<NodeId, usize>,
    ) -> (Vec<v1::GraphPolicy>, Vec<v1::GraphAttachment>) {
        let mut shown: Vec<(PolicyKey, &Attachment, Tally, usize)> = Vec::new();
        for (i, part) in self.parts.iter().enumerate() {
            let tallies = part.resolution.attachment_tallies();
            let landed = part.resolution.attachments.iter().zip(tallies);
            shown.extend(
                landed.filter_map(|(a, tally)| Some(((i, a.policy), a, tally, *ids.get(&a.node)?))),
            );
        }
        let policies: BTreeSet<PolicyKey> = shown.iter().map(|(key, ..)| *key).collect();
        let numbers: BTreeMap<PolicyKey, usize> =
            policies.iter().enumerate().map(|(i, p)| (*p, i)).collect();
        let attachments = shown.iter().filter_map(|(key, _, tally, node)| {
            Some(v1::GraphAttachment {
                policy: *numbers.get(key)?,
                node: *node,
                outcome: tally.outcome().word(),
                counts: (*tally).into(),
            })
        });
        let named = numbers.iter().filter_map(|((part, policy), id)| {
            let part = self.parts.get(*part)?;
            Some(self.policy(part, *policy, *id))
        });
        (named.collect(), attachments.collect())
    }

    fn policy(&self, part: &ScenePart<'_>, policy: PolicyId, id: usize) -> v1::GraphPolicy {
        let resolution = part.resolution;
        v1::GraphPolicy {
            id,
            policy_kind: self.policy_kind(part, policy),
            policy: part.policy_name(self.scene, policy),
            outcome: resolution.outcome(policy).word(),
            at: resolution.policy(policy).and_then(|p| self.scene.place_of_object(p.object)),
        }
    }

    fn policy_kind(&self, part: &ScenePart<'_>, policy: PolicyId) -> String {
        let kind = part.resolution.policy(policy).and_then(|p| part.resolution.kind(p.kind));
        kind.map(|k| self.scene.snapshot.text(k.kind).to_owned()).unwrap_or_default()
    }

    /// References that did not land belong to the whole picture only.
    fn rejections(&self) -> Vec<v1::GraphRejection> {
        let parts = self.parts.iter().filter(|_| self.focus.is_none());
        let all = parts.flat_map(|part| part.resolution.rejections.iter().map(move |r| (part, r)));
        let rejection = |(part, r): (&ScenePart<'_>, &Rejection)| v1::GraphRejection {
            policy_kind: self.policy_kind(part, r.policy),
            policy: part.policy_name(self.scene, r.policy),
            reason: r.reason.id,
            because: r.reason.sentence,
            at: Some(self.scene.place(r.at)),
        };
        all.map(rejection).collect()
    }

    /// Objects on no path. Levels that no path goes down to are not asked about: nobody looked.
    fn unattached(&self) -> Vec<v1::Unattached> {
        let mut policies: BTreeMap<NodeId, BTreeSet<String>> = BTreeMap::new();
        for part in self.parts {
            for attachment in &part.resolution.attachments {
                if !self.passed.contains(&attachment.node) {
                    let name = part.policy_name(self.scene, attachment.policy);
                    policies.entry(attachment.node).or_default().insert(name);
                }
            }
        }
        let asked = |id: NodeId, node: &Node| {
            let looked = self.deepest.is_none_or(|deepest| node.level.0 <= deepest);
            let lonely = !self.passed.contains(&id) && node.section.is_empty() && looked;
            lonely || policies.contains_key(&id)
        };
        let found = self.part.topology.iter().filter(|(id, node)| match self.focus {
            Some(focus) => *id == focus && !self.passed.contains(id),
            None => asked(*id, node),
        });
        let unattached = found.map(|(id, node)| v1::Unattached {
            target: self.part.target_name(self.scene, id),
            policies: policies.get(&id).into_iter().flatten().cloned().collect(),
            at: node.at.map(|span| self.scene.place(span)),
        });
        unattached.collect()
    }
}
