// SPDX-License-Identifier: Apache-2.0
//! In: the stages' results. Out: one borrowed bundle that every view reads, and the names of what is in it.
//! Not here: computing anything, escaping (each renderer escapes for its own output).

use std::fmt::Debug;

use overrule_engine::{
    FamilyWords, NodeId, PathId, PolicyId, Resolution, StepId, Topology, Unresolved,
};
use overrule_model::{ObjectId, Snapshot};
use overrule_source::{Diagnostic, Documents, NodeRef, Position, Span};

use crate::{Other, assumed, v1};

/// One resolution under one profile, with the topology its paths walk.
#[derive(Debug, Clone, Copy)]
pub struct ScenePart<'a> {
    /// Name of the family.
    pub family: &'static str,
    /// Its rule set.
    pub profile: &'static str,
    /// Whether that rule set is what is shipped today, beside others that are documented.
    pub shipped: bool,
    /// Nodes.
    pub topology: &'a Topology,
    /// Results.
    pub resolution: &'a Resolution,
    /// How the family's answers are told.
    pub words: &'a dyn FamilyWords,
}

/// Everything an answer is read from. Families add a part each.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// Source texts and trees.
    pub documents: &'a Documents,
    /// Resources.
    pub snapshot: &'a Snapshot,
    /// Resolutions, one per family; their paths walk one topology.
    pub parts: &'a [ScenePart<'a>],
    /// The same families under other profiles, to compare with; none unless that is wanted.
    pub others: &'a [Other<'a>],
    /// What the stages found wrong, so that an answer can carry what concerns it.
    pub findings: Option<&'a dyn PlacedFindings>,
    /// Policies that no family resolves.
    pub unresolved: &'a [Unresolved],
}

/// Diagnostics that can be looked up by place.
pub trait PlacedFindings: Debug + Sync {
    /// Those that start within a span.
    fn within(&self, span: Span) -> Vec<&Diagnostic>;
}

/// Diagnostics in the order of their places, for asking which lie within an object.
#[derive(Debug, Default)]
pub struct Findings<'a>(Vec<(Span, &'a Diagnostic)>);

impl<'a> Findings<'a> {
    /// Sorts once; asking is then a binary search.
    pub fn new(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> Self {
        let placed = diagnostics.into_iter().filter_map(|d| Some((d.primary.as_ref()?.span, d)));
        let mut placed: Vec<_> = placed.collect();
        placed.sort_by(|a, b| (a.0, a.1.code.id).cmp(&(b.0, b.1.code.id)));
        Self(placed)
    }
}

impl PlacedFindings for Findings<'_> {
    fn within(&self, span: Span) -> Vec<&Diagnostic> {
        let first =
            self.0.partition_point(|(s, _)| (s.source, s.start) < (span.source, span.start));
        let rest = self.0.iter().skip(first);
        rest.take_while(move |(s, _)| s.source == span.source && s.start < span.end)
            .map(|(_, d)| *d)
            .collect()
    }
}

impl<'a> Scene<'a> {
    /// A scene without findings and without profiles to compare with.
    pub fn new(
        documents: &'a Documents,
        snapshot: &'a Snapshot,
        parts: &'a [ScenePart<'a>],
    ) -> Self {
        Self { documents, snapshot, parts, others: &[], findings: None, unresolved: &[] }
    }

    /// File, line, column of a span.
    pub fn position(&self, span: Span) -> Position {
        self.documents.sources.position(span)
    }

    /// The same for the model.
    pub(crate) fn place(&self, span: Span) -> v1::Place {
        let Position { file, line, column } = self.position(span);
        v1::Place { file, line, column }
    }

    pub(crate) fn place_of(&self, node: NodeRef) -> v1::Place {
        self.place(self.documents.view(node).span())
    }

    pub(crate) fn place_of_object(&self, object: ObjectId) -> Option<v1::Place> {
        self.snapshot.get(object).map(|o| self.place(o.at))
    }

    /// `namespace/name` of an object; the name alone if it is cluster-scoped.
    pub fn object_name(&self, id: ObjectId) -> String {
        self.snapshot.full_name(id)
    }
}

impl ScenePart<'_> {
    /// `namespace/name` of a policy.
    pub fn policy_name(&self, scene: &Scene<'_>, policy: PolicyId) -> String {
        self.resolution.policy(policy).map_or_else(String::new, |p| scene.object_name(p.object))
    }

    /// The policy of a step.
    pub fn policy_of(&self, step: StepId) -> Option<PolicyId> {
        self.resolution.ladders.get_step(step).map(|s| s.policy)
    }

    /// `namespace/name` of the policy of a step.
    pub fn step_name(&self, scene: &Scene<'_>, step: StepId) -> String {
        self.policy_of(step).map_or_else(String::new, |p| self.policy_name(scene, p))
    }

    /// The block of a step, as people write it.
    pub fn block(&self, step: StepId) -> v1::Block {
        self.resolution.ladders.get_step(step).map_or("".into(), |s| s.block_name())
    }

    /// The canonical target name of a node: `httproute/shop/cart#rule-1`.
    pub fn target_name(&self, scene: &Scene<'_>, node: NodeId) -> String {
        let Some(node) = self.topology.get(node) else { return String::new() };
        let text = |sym| scene.snapshot.text(sym);
        let kind = || text(node.kind).to_lowercase();
        let mut name = match node.object {
            Some(object) => scene.snapshot.display(object).to_string(),
            None if node.namespace.is_empty() => format!("{}/{}", kind(), text(node.name)),
            None => format!("{}/{}/{}", kind(), text(node.namespace), text(node.name)),
        };
        if !node.section.is_empty() {
            name.push('#');
            name.push_str(text(node.section));
        }
        name
    }

    /// The canonical name of the last node of a path.
    pub fn path_target(&self, scene: &Scene<'_>, path: PathId) -> String {
        let node = self.resolution.paths.node(path);
        node.map_or_else(String::new, |n| self.target_name(scene, n))
    }

    /// A path in one line: `edge > infra/edge > web > shop/cart > rule-1`.
    pub fn path_name(&self, scene: &Scene<'_>, path: PathId) -> String {
        let names = self.path_elements(scene, path).into_iter().map(|e| match e.namespace {
            Some(namespace) => format!("{namespace}/{}", e.name),
            None => e.name,
        });
        names.collect::<Vec<_>>().join(" > ")
    }

    /// The nodes of a path as the model has them, root first.
    pub fn path_elements(&self, scene: &Scene<'_>, path: PathId) -> Vec<v1::PathElement> {
        let nodes = self.resolution.paths.nodes(path);
        nodes.into_iter().filter_map(|n| self.element(scene, n)).collect()
    }

    pub(crate) fn element(&self, scene: &Scene<'_>, node: NodeId) -> Option<v1::PathElement> {
        let node = self.topology.get(node)?;
        let text = |sym| scene.snapshot.text(sym);
        let is_section = !node.section.is_empty();
        let name = if is_section { text(node.section) } else { text(node.name) };
        let namespace = text(node.namespace);
        Some(v1::PathElement {
            kind: text(node.kind).to_owned(),
            namespace: (!is_section && !namespace.is_empty()).then(|| namespace.to_owned()),
            name: name.to_owned(),
            assumed: node.object.is_some_and(|object| scene.snapshot.assumed(object).is_some()),
        })
    }

    /// Where a path comes from, for a table: the last object or section above the target's own object
    /// (`infra/edge#web`); empty if the target stands alone.
    pub fn via(&self, scene: &Scene<'_>, path: PathId) -> String {
        let nodes = self.resolution.paths.nodes(path);
        let nodes: Vec<_> = nodes.into_iter().filter_map(|n| self.topology.get(n)).collect();
        let assumed = assumed::told(scene, &assumed::of_path(scene, self, path));
        let Some(leaf) = nodes.last() else { return String::new() };
        let same = |n: &&overrule_engine::Node| {
            (n.namespace, n.name, n.object) == (leaf.namespace, leaf.name, leaf.object)
        };
        let Some(above) = nodes.iter().rev().find(|n| !same(n)) else { return String::new() };
        let text = |sym| scene.snapshot.text(sym);
        let mut name = match above.namespace.is_empty() {
            true => text(above.name).to_owned(),
            false => format!("{}/{}", text(above.namespace), text(above.name)),
        };
        if !above.section.is_empty() {
            name.push('#');
            name.push_str(text(above.section));
        }
        if assumed::is_told_in_rows(&assumed) {
            name.push_str(" (assumed)");
        }
        name
    }
}
