// SPDX-License-Identifier: Apache-2.0
//! In: texts. Out: the results of every stage of the real pipeline, and its answers in the form of the oracle.
//! Not here: anything that could hide a difference: answers are read off, leaf by leaf.

use std::collections::BTreeMap;

use overrule_engine::{KindId, PathId, PolicyId, Resolution, Traced};
use overrule_gateway::kinds::Kinds;
use overrule_gateway::policy::{self, Policy};
use overrule_gateway::topology::{self, GatewayTopology};
use overrule_model::Snapshot;
use overrule_source::{Diagnostic, Documents, Input, ReadOptions};
use serde_json::Value;

/// The results of all stages.
#[derive(Debug)]
pub struct PipelineRun {
    /// Texts and trees.
    pub documents: Documents,
    /// Resources.
    pub snapshot: Snapshot,
    /// The graph.
    pub topology: GatewayTopology,
    /// Policy kinds.
    pub kinds: Kinds,
    /// Policies as read.
    pub policies: Vec<Policy>,
    /// The answer.
    pub resolution: Resolution,
    /// Findings of every stage, as they came.
    pub diagnostics: Vec<Diagnostic>,
}

/// An effective policy: its value, and who wrote each leaf (a list is a leaf, an empty mapping is none).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TracedPolicy {
    /// The value.
    pub spec: Value,
    /// JSON pointer of each leaf, and the policy (`namespace/name`) that wrote it.
    pub origins: BTreeMap<String, String>,
}

/// Answers by path (`class > ns/gateway > listener > ns/route > rule`) and kind; nothing where no policy reaches.
pub type Answers = BTreeMap<(String, String), Option<TracedPolicy>>;

/// Runs every stage, as the `overrule` crate does. Not by that crate: it also holds the views, and the stages below
/// must be testable without them.
pub fn run(mut inputs: Vec<Input>) -> PipelineRun {
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    let read = overrule_source::read(inputs, &ReadOptions::default());
    let documents = read.documents;
    let mut diagnostics = read.diagnostics;
    let parsed = overrule_model::parse(&documents);
    diagnostics.extend(parsed.diagnostics);
    let mut snapshot = parsed.snapshot;
    let (resources, found) = topology::parse(&documents, &mut snapshot);
    diagnostics.extend(found);
    let (kinds, found) = Kinds::collect(&documents, &snapshot);
    diagnostics.extend(found);
    let (policies, found) = policy::parse(&documents, &mut snapshot, &kinds);
    diagnostics.extend(found);
    let built = resources.connect(&snapshot);
    diagnostics.extend(built.diagnostics);
    let options = overrule_gateway::ResolveOptions::default();
    let resolved = overrule_gateway::resolve(
        &documents,
        &snapshot,
        &built.topology,
        &kinds,
        &policies,
        &options,
    );
    diagnostics.extend(resolved.diagnostics);
    let resolution = resolved.resolution;
    PipelineRun {
        documents,
        snapshot,
        topology: built.topology,
        kinds,
        policies,
        resolution,
        diagnostics,
    }
}

/// Runs on one text.
pub fn run_text(text: &str) -> PipelineRun {
    run(vec![Input::new("world.yaml", text)])
}

impl PipelineRun {
    /// `namespace/name` of a policy.
    pub fn policy_name(&self, policy: PolicyId) -> String {
        let object = self
            .resolution
            .policy(policy)
            .and_then(|p| self.snapshot.get(p.object))
            .expect("a policy");
        format!("{}/{}", self.snapshot.text(object.scope.name()), self.snapshot.text(object.name))
    }

    /// A path in one line.
    pub fn path_name(&self, path: PathId) -> String {
        let text = |sym| self.snapshot.text(sym).to_owned();
        let nodes = self
            .resolution
            .paths
            .nodes(path)
            .into_iter()
            .filter_map(|n| self.topology.nodes.get(n));
        let names = nodes.map(|node| match (node.section.is_empty(), node.namespace.is_empty()) {
            (false, _) => text(node.section),
            (true, true) => text(node.name),
            (true, false) => format!("{}/{}", text(node.namespace), text(node.name)),
        });
        names.collect::<Vec<_>>().join(" > ")
    }

    /// The name of a kind.
    pub fn kind_name(&self, kind: KindId) -> String {
        self.resolution
            .kind(kind)
            .map_or_else(String::new, |k| self.snapshot.text(k.kind).to_owned())
    }

    /// Every answer. A path that appears twice is a fault of the topology.
    pub fn answers(&self) -> Answers {
        let mut answers = Answers::new();
        for (kind, _) in self.resolution.kinds() {
            for (path, ladder) in self.resolution.contexts(kind) {
                let effective = self.resolution.effective(ladder);
                let answer = effective.and_then(|e| e.value.as_ref()).map(|v| self.answer(v));
                let place = (self.path_name(path), self.kind_name(kind));
                let before = answers.insert(place.clone(), answer);
                assert!(before.is_none(), "two paths of one name: {place:?}");
            }
        }
        answers
    }

    fn answer(&self, value: &Traced) -> TracedPolicy {
        let mut answer =
            TracedPolicy { spec: value.to_json(&self.documents), origins: BTreeMap::new() };
        value.parts(&self.documents, &mut |pointer, step, part| {
            let policy = self.resolution.ladders.get_step(step).expect("a step").policy;
            let name = self.policy_name(policy);
            leaves(&part.to_json(&self.documents), pointer, &mut |leaf| {
                let before = answer.origins.insert(leaf.to_owned(), name.clone());
                assert!(before.is_none(), "two origins of {leaf}");
            });
        });
        lists_as_leaves(&answer.spec, &mut answer.origins);
        answer
    }
}

/// Visits the pointer of every leaf: anything but a mapping.
pub fn leaves(value: &Value, at: &str, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                leaves(
                    value,
                    &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                    visit,
                );
            }
        }
        _ => visit(at),
    }
}

/// A list joined from several policies keeps the origins of its elements; one written whole has its own.
fn lists_as_leaves(spec: &Value, origins: &mut BTreeMap<String, String>) {
    leaves(spec, "", &mut |leaf| {
        let covered = origins.contains_key(leaf)
            || origins
                .range(format!("{leaf}/")..)
                .next()
                .is_some_and(|(k, _)| k.starts_with(&format!("{leaf}/")));
        let empty = spec.pointer(leaf).is_some_and(|v| v.as_array().is_some_and(Vec::is_empty));
        assert!(covered || empty, "no origin for {leaf} of {spec}");
    });
}
