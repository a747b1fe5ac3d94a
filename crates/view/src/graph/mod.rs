// SPDX-License-Identifier: Apache-2.0
//! In: resolutions over one topology. Out: that topology with policies, as data and as pictures. Not here: what is in force where.
//!
//! Edges are steps of paths, so the picture shows exactly the walks that answers are given for. Objects on no path are
//! listed apart.

mod fold;
mod layout;
mod svg;
mod text;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use overrule_engine::{Attachment, NodeId, PolicyId, Rejection};

use crate::{Scene, ScenePart, Styles, beside, v1};

/// What a picture is about.
#[derive(Debug, Clone, Default)]
pub struct GraphFocus {
    /// The node.
    pub node: Option<NodeId>,
    /// Other nodes of the same object that paths may pass instead.
    pub also: Vec<NodeId>,
    /// Nodes from which traffic goes on to it, though no path does.
    pub senders: Vec<NodeId>,
}

impl From<Option<NodeId>> for GraphFocus {
    fn from(node: Option<NodeId>) -> Self {
        Self { node, ..Self::default() }
    }
}

impl GraphFocus {
    /// Whether a node is what the picture is about.
    pub(crate) fn is_it(&self, node: NodeId) -> bool {
        self.node == Some(node) || self.also.contains(&node)
    }
}

/// The topology with its policies, ready to be drawn.
#[derive(Debug, Clone)]
pub struct Graph {
    data: v1::Graph,
    below: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    /// Attachments by node.
    attached: Vec<Vec<usize>>,
    /// What stands for several nodes, with what is in it.
    tips: BTreeMap<usize, String>,
    /// What is folded, if something is.
    folded: Option<String>,
}

impl Graph {
    /// One resolution: everything, or only the paths through one node.
    pub fn build(scene: &Scene<'_>, part: &ScenePart<'_>, focus: Option<NodeId>) -> Self {
        Self::of(scene, std::slice::from_ref(part), &focus.into())
    }

    /// Several resolutions in one drawing. Their paths must walk one topology, as those of a scene do.
    pub fn of(scene: &Scene<'_>, parts: &[ScenePart<'_>], focus: &GraphFocus) -> Self {
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
        Self { data, below, above, attached, tips: BTreeMap::new(), folded: None }
    }

    /// For a terminal: a tree in which policies hang below their target.
    pub fn tree(&self, styles: &Styles, out: &mut dyn fmt::Write) -> fmt::Result {
        tree::write(self, styles, out)
    }

    /// For Graphviz.
    pub fn dot(&self) -> String {
        self.drawn(text::dot)
    }

    /// For Mermaid.
    pub fn mermaid(&self) -> String {
        self.drawn(text::mermaid)
    }

    /// As a picture that needs no other program.
    pub fn svg(&self) -> String {
        self.drawn(svg::write)
    }

    /// Draws it, folded if it has too many nodes.
    fn drawn(&self, draw: impl Fn(&Self) -> String) -> String {
        draw(fold::fold(self).as_ref().unwrap_or(self))
    }

    /// What pointing at a node shows: its whole name, and where it is written.
    fn tip(&self, node: &v1::GraphNode) -> String {
        match (self.tips.get(&node.id), &node.at) {
            (Some(tip), _) => tip.clone(),
            (None, Some(at)) => format!("{} {}:{}:{}", node.target, at.file, at.line, at.column),
            (None, None) => format!("{} (not in the input)", node.target),
        }
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

    /// The policies of an object on no path.
    fn on(&self, lonely: &v1::Unattached) -> Vec<&v1::GraphPolicy> {
        lonely.attached.iter().filter_map(|policy| self.data.policies.get(*policy)).collect()
    }

    /// Policies that target a node and that nobody resolves.
    fn unresolved(&self, node: usize) -> impl Iterator<Item = &v1::UnresolvedPolicy> {
        let all = self.data.unresolved.iter();
        all.filter(move |one| one.nodes.contains(&node)).map(|one| &one.policy)
    }

    /// Policies that nobody resolves and that target no node of the picture.
    fn unplaced(&self) -> impl Iterator<Item = &v1::UnresolvedPolicy> {
        self.data.unresolved.iter().filter(|one| one.nodes.is_empty()).map(|one| &one.policy)
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
        if let Some(folded) = &self.folded {
            return folded.clone();
        }
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
        match data.unresolved.len() {
            0 => {}
            1 => parts.push("1 policy not resolved".to_owned()),
            n => parts.push(format!("{n} policies not resolved")),
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
/// Policies by number in the document.
type Numbers = BTreeMap<PolicyKey, usize>;
/// Nodes on no path, and the policies attached to them.
type Lonely = BTreeMap<NodeId, BTreeSet<PolicyKey>>;

struct Builder<'a> {
    scene: &'a Scene<'a>,
    /// The first part, for names of nodes.
    part: &'a ScenePart<'a>,
    parts: &'a [ScenePart<'a>],
    focus: &'a GraphFocus,
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
        focus: &'a GraphFocus,
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
        builder.senders();
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

    /// What sends to the focus leads to it, also where paths end before.
    fn senders(&mut self) {
        let Some(focus) = self.focus.node else { return };
        for sender in self.focus.senders.iter().filter(|sender| self.nodes.contains(sender)) {
            self.edges.insert((*sender, focus));
        }
        if self.edges.iter().any(|(_, to)| *to == focus) {
            self.nodes.insert(focus);
            self.passed.insert(focus);
        }
    }

    /// For each path, whether it passes the focus or is the beginning of one that does.
    fn through(&self, part: &ScenePart<'_>) -> Vec<bool> {
        let paths = &part.resolution.paths;
        if self.focus.node.is_none() {
            return vec![true; paths.len()];
        }
        let mut through = vec![false; paths.len()];
        for path in paths.ids() {
            let above = paths.parent(path).and_then(|p| through.get(p.0 as usize)).copied();
            let is_it = paths.node(path).is_some_and(|node| self.focus.is_it(node));
            if let Some(slot) = through.get_mut(path.0 as usize) {
                *slot = is_it || above == Some(true);
            }
        }
        let is_end = |node| self.focus.is_it(node) || self.focus.senders.contains(&node);
        let ends = paths.ids().filter(|p| paths.node(*p).is_some_and(is_end));
        for end in ends {
            if let Some(slot) = through.get_mut(end.0 as usize) {
                *slot = true;
            }
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
        let lonely = self.lonely();
        let numbers = self.numbers(&ids, &lonely);
        let policies = numbers.iter().filter_map(|((part, policy), id)| {
            let part = self.parts.get(*part)?;
            Some(self.policy(part, *policy, *id))
        });
        v1::Graph {
            api_version: v1::API_VERSION,
            kind: "Graph",
            focus: self.focus.node.map(|n| self.part.target_name(self.scene, n)),
            nodes: ids.iter().filter_map(|(node, id)| self.node(*node, *id)).collect(),
            edges: edges.collect(),
            policies: policies.collect(),
            attachments: self.attachments(&ids, &numbers),
            rejections: self.rejections(),
            unattached: self.unattached(&lonely, &numbers),
            unresolved: self.unresolved(&ids),
        }
    }

    /// Policies that nobody resolves: all, or those on nodes that are shown.
    fn unresolved(&self, ids: &BTreeMap<NodeId, usize>) -> Vec<v1::GraphUnresolved> {
        let mut found = Vec::new();
        for one in self.scene.unresolved {
            let targets = one.targets.iter().flat_map(|t| &t.nodes);
            let mut nodes: Vec<usize> =
                targets.clone().filter_map(|n| ids.get(n).copied()).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let is_it = targets.clone().any(|node| self.focus.is_it(*node));
            if self.focus.node.is_some() && nodes.is_empty() && !is_it {
                continue;
            }
            let policy = beside::data(self.scene, one, &|_| true);
            found.extend(policy.map(|policy| v1::GraphUnresolved { policy, nodes }));
        }
        found
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

    /// Policies on nodes that are shown or listed, numbered.
    fn numbers(&self, ids: &BTreeMap<NodeId, usize>, lonely: &Lonely) -> Numbers {
        let shown = self.landed().filter(|(_, a)| ids.contains_key(&a.node)).map(|(key, _)| key);
        let policies: BTreeSet<PolicyKey> =
            shown.chain(lonely.values().flatten().copied()).collect();
        policies.into_iter().enumerate().map(|(i, policy)| (policy, i)).collect()
    }

    /// Every attachment with its policy.
    fn landed(&self) -> impl Iterator<Item = (PolicyKey, &Attachment)> {
        let parts = self.parts.iter().enumerate();
        parts.flat_map(|(i, part)| {
            part.resolution.attachments.iter().map(move |a| ((i, a.policy), a))
        })
    }

    fn attachments(
        &self,
        ids: &BTreeMap<NodeId, usize>,
        numbers: &Numbers,
    ) -> Vec<v1::GraphAttachment> {
        let tallies = self.parts.iter().flat_map(|part| part.resolution.attachment_tallies());
        let attachments = self.landed().zip(tallies).filter_map(|((key, attachment), tally)| {
            Some(v1::GraphAttachment {
                node: *ids.get(&attachment.node)?,
                policy: *numbers.get(&key)?,
                outcome: tally.outcome().word(),
                counts: tally.into(),
            })
        });
        attachments.collect()
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
        let parts = self.parts.iter().filter(|_| self.focus.node.is_none());
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

    /// Objects on no path, with their policies. Levels that no path goes down to are not asked about: nobody looked.
    fn lonely(&self) -> Lonely {
        let mut found = Lonely::new();
        for (key, attachment) in self.landed() {
            if !self.passed.contains(&attachment.node) {
                found.entry(attachment.node).or_default().insert(key);
            }
        }
        for (id, node) in self.part.topology.iter() {
            let looked = self.deepest.is_none_or(|deepest| node.level.0 <= deepest);
            if node.section.is_empty() && (looked || self.focus.is_it(id)) {
                found.entry(id).or_default();
            }
        }
        let elsewhere = self.focus.also.iter().any(|node| self.passed.contains(node));
        let asked = |id: &NodeId| match self.focus.node {
            Some(focus) => focus == *id && !elsewhere,
            None => true,
        };
        found.retain(|id, _| asked(id) && !self.passed.contains(id));
        found
    }

    fn unattached(&self, lonely: &Lonely, numbers: &Numbers) -> Vec<v1::Unattached> {
        let unattached = lonely.iter().filter_map(|(id, keys)| {
            let node = self.part.topology.get(*id)?;
            let name = |(part, policy): &PolicyKey| {
                Some(self.parts.get(*part)?.policy_name(self.scene, *policy))
            };
            let names: BTreeSet<String> = keys.iter().filter_map(name).collect();
            Some(v1::Unattached {
                target: self.part.target_name(self.scene, *id),
                policies: names.into_iter().collect(),
                attached: keys.iter().filter_map(|key| numbers.get(key).copied()).collect(),
                at: node.at.map(|span| self.scene.place(span)),
            })
        });
        unattached.collect()
    }
}
