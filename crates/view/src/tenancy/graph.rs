// SPDX-License-Identifier: Apache-2.0
//! In: the topology with its policies. Out: the part of it that a reader may know. Not here: drawing.
//!
//! What lies between two nodes and may not be read is left out: the edge goes on to the next one below.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{NodeId, PolicyId};

use super::Reader;
use super::reach::{count, outcome};
use crate::{Graph, GraphFocus, ScenePart, v1};

impl Reader<'_> {
    /// Everything that may be read, or what passes through one node.
    pub fn graph(&self, focus: &GraphFocus) -> Graph {
        let Some(first) = self.scene.parts.first() else { return Graph::empty() };
        let mut nodes: BTreeSet<NodeId> = BTreeSet::new();
        let mut edges: BTreeSet<(NodeId, NodeId)> = BTreeSet::new();
        let mut passed: BTreeSet<NodeId> = BTreeSet::new();
        for part in self.scene.parts {
            let paths = part.resolution.paths.ids();
            for path in paths.filter(|p| self.shows(part, *p) && self.stands(part, *p)) {
                let kept = self.nodes(part, path);
                passed.extend(&kept);
                if focus.node.is_some() && !kept.iter().any(|node| focus.is_it(*node)) {
                    continue;
                }
                nodes.extend(&kept);
                edges.extend(kept.iter().zip(kept.iter().skip(1)).map(|(a, b)| (*a, *b)));
            }
        }
        let ids: BTreeMap<NodeId, usize> = (0..).zip(&nodes).map(|(i, n)| (*n, i)).collect();
        let edges = edges.iter().filter_map(|(from, to)| {
            Some(v1::GraphEdge { from: *ids.get(from)?, to: *ids.get(to)? })
        });
        let (mut policies, attachments) = self.attachments(&ids);
        if focus.also.iter().any(|node| passed.contains(node)) {
            passed.extend(focus.node);
        }
        let unattached = self.unattached(first, focus.node, &passed, &mut policies);
        Graph::index(v1::Graph {
            api_version: v1::API_VERSION,
            kind: "Graph",
            focus: focus.node.map(|n| first.target_name(self.scene, n)),
            nodes: ids.iter().filter_map(|(n, i)| self.graph_node(first, *n, *i)).collect(),
            edges: edges.collect(),
            policies,
            attachments,
            rejections: Vec::new(),
            unattached,
            unresolved: Vec::new(),
        })
    }

    fn graph_node(&self, part: &ScenePart<'_>, id: NodeId, index: usize) -> Option<v1::GraphNode> {
        let node = part.topology.get(id)?;
        let v1::PathElement { kind, namespace, name, assumed } = part.element(self.scene, id)?;
        Some(v1::GraphNode {
            id: index,
            target: part.target_name(self.scene, id),
            kind,
            namespace,
            name,
            level: part.topology.level_name(node.level),
            depth: node.level.0,
            assumed,
            at: node.at.filter(|at| self.span(*at)).map(|at| self.scene.place(at)),
        })
    }

    fn attachments(
        &self,
        ids: &BTreeMap<NodeId, usize>,
    ) -> (Vec<v1::GraphPolicy>, Vec<v1::GraphAttachment>) {
        let (mut policies, mut attachments) = (Vec::new(), Vec::new());
        for part in self.scene.parts {
            let reached = self.reached(part, &|_| true, None);
            for (id, entry) in part.resolution.policies() {
                let landed = part.resolution.attachments_of(id);
                let landed: BTreeSet<NodeId> = landed.map(|a| a.node).collect();
                let landed: Vec<(NodeId, usize)> =
                    landed.into_iter().filter_map(|n| Some((n, *ids.get(&n)?))).collect();
                if landed.is_empty() || !self.object(entry.object) {
                    continue;
                }
                let seen = || reached.get(&id).into_iter().flat_map(BTreeMap::values).flatten();
                let kind = part.resolution.kind(entry.kind);
                let number = policies.len();
                policies.push(v1::GraphPolicy {
                    id: number,
                    policy_kind: kind
                        .map(|k| self.scene.snapshot.text(k.kind).to_owned())
                        .unwrap_or_default(),
                    policy: part.policy_name(self.scene, id),
                    outcome: outcome(&count(seen())),
                    at: self.scene.place_of_object(entry.object),
                });
                for (node, index) in landed {
                    let counts = count(seen().filter(|s| s.nodes.contains(&node)));
                    attachments.push(v1::GraphAttachment {
                        policy: number,
                        node: index,
                        outcome: outcome(&counts),
                        counts,
                    });
                }
            }
        }
        (policies, attachments)
    }

    /// Objects that may be read and that no path passes; their policies are added to the list.
    fn unattached(
        &self,
        part: &ScenePart<'_>,
        focus: Option<NodeId>,
        passed: &BTreeSet<NodeId>,
        listed: &mut Vec<v1::GraphPolicy>,
    ) -> Vec<v1::Unattached> {
        let lonely = part.topology.iter().filter(|(id, node)| {
            let asked = focus.is_none_or(|f| f == *id);
            asked && node.section.is_empty() && !passed.contains(id) && self.node(part, *id)
        });
        let unattached = lonely.map(|(id, node)| {
            let (mut policies, mut attached) = (BTreeSet::new(), BTreeSet::new());
            for part in self.scene.parts {
                let here = part.resolution.attachments.iter().filter(|a| a.node == id);
                for own in here.filter(|a| self.policy(part, a.policy)) {
                    let policy = self.lonely_policy(part, own.policy, listed.len());
                    policies.insert(policy.policy.clone());
                    let same = |p: &v1::GraphPolicy| {
                        (&p.policy_kind, &p.policy) == (&policy.policy_kind, &policy.policy)
                    };
                    let known = listed.iter().position(same);
                    attached.insert(known.unwrap_or(listed.len()));
                    listed.extend(known.is_none().then_some(policy));
                }
            }
            v1::Unattached {
                target: part.target_name(self.scene, id),
                policies: policies.into_iter().collect(),
                attached: attached.into_iter().collect(),
                at: node.at.filter(|at| self.span(*at)).map(|at| self.scene.place(at)),
            }
        });
        unattached.collect()
    }

    /// A policy on an object that no path passes.
    fn lonely_policy(&self, part: &ScenePart<'_>, id: PolicyId, number: usize) -> v1::GraphPolicy {
        let entry = part.resolution.policy(id);
        let kind = entry.and_then(|entry| part.resolution.kind(entry.kind));
        v1::GraphPolicy {
            id: number,
            policy_kind: kind
                .map(|k| self.scene.snapshot.text(k.kind).to_owned())
                .unwrap_or_default(),
            policy: part.policy_name(self.scene, id),
            outcome: outcome(&count(std::iter::empty())),
            at: entry.and_then(|entry| self.scene.place_of_object(entry.object)),
        }
    }
}
