// SPDX-License-Identifier: Apache-2.0
//! In: a case, its family and a profile. Out: what the pipeline answers, read from the same data as `-o json`.
//! Not here: any rule; the crates of the families have them.

use std::collections::BTreeSet;

use overrule::family_kit::{AnyFamily, JudgedKind, OwnKind};
use overrule::{Analysis, Answered};
use overrule_engine::{FoldAction, KindId, LadderId, NodeId, PathId, Resolution, Rung, StepId};
use overrule_gateway::topology::RouteKind;
use overrule_model::ObjectId;
use overrule_source::View;
use overrule_view::{Scene, ScenePart as ViewPart, v1};
use serde_json::{Map, Value, json};

use super::options::options;
use super::{ActualLoss, ActualNode, ActualPolicy, Finding, TestPath};
use crate::case::Case;
use crate::field::segments;

/// The answer about one case, with paths by name.
pub(crate) struct Answer {
    pub(super) analysis: Analysis,
    family: &'static dyn AnyFamily,
    pub(super) paths: Vec<Vec<ActualNode>>,
    /// Paths with the nodes that tests may leave out, if there are any.
    pub(super) full: Vec<Vec<ActualNode>>,
    pub(super) targets: Vec<TestPath>,
    /// Kind and path of each target.
    pub(super) ids: Vec<(KindId, PathId)>,
}

impl Answer {
    /// Resolves the manifests of a case.
    pub(crate) fn new(case: &Case, family: &'static dyn AnyFamily, profile: &str) -> Self {
        let analysis = Analysis::new(case.inputs.clone(), &options(case, family, profile));
        let (paths, full, targets, ids) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut answer = Self { analysis, family, paths, full, targets, ids };
        answer.name_paths();
        if family.dialect().delegates {
            answer.leave_out();
            answer.name_chains();
        }
        answer
    }

    /// Lists paths and targets by name.
    fn name_paths(&mut self) {
        let Some(resolution) = self.resolution() else { return };
        let snapshot = &self.analysis.snapshot;
        let name = |path| self.path_nodes(&resolution.paths.nodes(path));
        let paths: Vec<Vec<ActualNode>> = resolution.paths.ids().map(name).collect();
        let (mut targets, mut ids) = (Vec::new(), Vec::new());
        for (kind, result) in resolution.kinds() {
            for (path, ladder) in resolution.contexts(kind) {
                ids.push((kind, path));
                targets.push(TestPath {
                    path: path.0 as usize,
                    kind: snapshot.text(result.kind).to_owned(),
                    group: snapshot.text(result.group).to_owned(),
                    reached: ladder != LadderId::EMPTY,
                });
            }
        }
        (self.paths, self.targets, self.ids) = (paths, targets, ids);
    }

    pub(super) fn family(&self) -> &'static dyn AnyFamily {
        self.family
    }

    pub(super) fn shown(&self) -> Option<&Answered> {
        self.analysis.shown().find(|a| a.family.name() == self.family.name())
    }

    /// Every path there is, its beginnings included, whatever kinds act on it.
    pub(crate) fn paths(&self) -> &[Vec<ActualNode>] {
        &self.paths
    }

    /// A path with nodes that tests may leave out; none if there are no such nodes.
    pub(crate) fn long_path(&self, path: usize) -> Option<&[ActualNode]> {
        self.full.get(path).map(Vec::as_slice)
    }

    /// Every path at which a kind can have an effective policy.
    pub(crate) fn targets(&self) -> &[TestPath] {
        &self.targets
    }

    /// Whether there is a policy kind of this name, wherever it acts.
    pub(crate) fn knows(&self, kind: &str) -> bool {
        let (name, group) = kind.split_once('.').map_or((kind, None), |(k, g)| (k, Some(g)));
        let is = |own: &OwnKind| {
            own.kind.eq_ignore_ascii_case(name) && group.is_none_or(|group| group == own.group)
        };
        match self.family.dialect().has_all_kinds {
            true => self.family.kinds().iter().any(is),
            false => self.targets.iter().any(|t| t.is_kind(kind)),
        }
    }

    /// What was analysed.
    pub(crate) fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The targets whose paths pass through a node.
    pub(crate) fn targets_through(&self, node: NodeId) -> Vec<usize> {
        let Some(resolution) = self.resolution() else { return Vec::new() };
        let paths: BTreeSet<PathId> = resolution.paths.through(&[node]).into_iter().collect();
        let all = self.ids.iter().enumerate();
        all.filter(|(_, (_, path))| paths.contains(path)).map(|(i, _)| i).collect()
    }

    /// A value in the form in which values that mean the same are equal.
    pub(crate) fn normal(&self, value: &Value) -> Value {
        self.family.normal(value)
    }

    pub(super) fn resolution(&self) -> Option<&Resolution> {
        self.shown().map(|a| &a.resolution)
    }

    /// Reads from the answer as views do, without the findings, which a test compares on their own.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Scene<'_>, &ViewPart<'_>) -> R) -> Option<R> {
        let stage = self.analysis.stage();
        let scene = Scene { findings: None, ..stage.scene() };
        let part = scene.parts.iter().find(|p| p.family == self.family.name())?;
        Some(read(&scene, part))
    }

    /// The effective policy as `-o json` gives it.
    pub(super) fn view(&self, target: usize) -> Option<v1::EffectivePolicy> {
        let (kind, path) = self.ids.get(target).copied()?;
        self.read(|scene, part| overrule_view::effective(scene, part, kind, path))
    }

    /// What is in force at a target.
    pub(crate) fn effective(&self, target: usize) -> ActualPolicy {
        let (Some(view), Some((kind, path))) = (self.view(target), self.ids.get(target).copied())
        else {
            return ActualPolicy::default();
        };
        let nodes = self.resolution().map(|r| r.paths.nodes(path)).unwrap_or_default();
        let sources = view.origins.iter().map(|(pointer, origins)| {
            (segments(pointer), origins.iter().map(|o| o.policy.clone()).collect())
        });
        let parts = |lost: Vec<v1::Lost>| -> Vec<ActualLoss> {
            lost.into_iter().map(|lost| self.part(kind, lost)).collect()
        };
        let written = || self.matches(&nodes);
        let mut effective = ActualPolicy {
            sources: sources.collect(),
            spec: view.spec.as_ref().map(Value::from),
            policies: view.policies.into_iter().map(|p| p.policy).collect(),
            shadowed: parts(view.shadowed),
            masked: parts(view.masked),
            removed: parts(view.removed),
            skipped: parts(view.skipped),
            error: !view.error.is_empty(),
            poisoned: self.is_poisoned(kind, path),
            makers: self.makers(kind, path),
            routing: self.shown().and_then(|a| a.fact(path, "routing")),
            accumulated: None,
            hostnames: self.hostnames(&nodes),
            matches: self.shown().and_then(|a| a.matches(path)).or_else(written),
        };
        if self.is_implicit(kind) {
            self.as_accumulated(target, &mut effective);
        }
        let is_one_rule = |target: &TestPath| self.family.is_one_rule(&target.kind);
        match self.targets.get(target).is_some_and(is_one_rule) {
            true => as_one_rule(effective),
            false => effective,
        }
    }

    /// Whether policies of a kind make a path fail.
    fn is_poisoned(&self, kind: KindId, path: PathId) -> bool {
        let Some(resolution) = self.resolution() else { return false };
        let effective = resolution.effective(resolution.ladder(kind, path));
        effective.is_some_and(|effective| !effective.poison().is_empty())
    }

    /// The policies that make up what is in force: whoever took the path, with whom it is merged, and whose fields are
    /// there.
    fn makers(&self, kind: KindId, path: PathId) -> Vec<String> {
        let Some(resolution) = self.resolution() else { return Vec::new() };
        let ladder = resolution.ladder(kind, path);
        let Some(effective) = resolution.effective(ladder) else { return Vec::new() };
        let mut steps: Vec<StepId> = Vec::new();
        let rungs = &resolution.ladders.get(ladder).rungs;
        let takes_whole = self.has_requests(&resolution.paths.nodes(path));
        let log = effective.log(&resolution.ladders).filter(|entry| rungs.contains(&entry.rung));
        for entry in log.filter(|_| takes_whole) {
            match (entry.done, entry.rung) {
                (FoldAction::Took | FoldAction::Replaced, Rung::Step(step)) => steps.push(step),
                (FoldAction::Took | FoldAction::Replaced, Rung::Group(group)) => {
                    steps.extend(resolution.ladders.steps(group));
                }
                _ => {}
            }
        }
        let entries = effective.value.iter().flat_map(|v| v.entries(&self.analysis.documents));
        let fields = entries.filter(|(key, _)| key.text(&self.analysis.documents) != "routingType");
        steps.extend(fields.flat_map(|(_, value)| value.steps()));
        let policies = steps.into_iter().filter_map(|step| resolution.ladders.get_step(step));
        let objects = policies.filter_map(|step| resolution.policy(step.policy)).map(|p| p.object);
        let names: BTreeSet<String> = objects.map(|object| self.object_name(object)).collect();
        names.into_iter().collect()
    }

    /// Whether a path is one of requests, or ends above routes.
    fn has_requests(&self, nodes: &[NodeId]) -> bool {
        let topology = &self.analysis.topology;
        let route = nodes.iter().find_map(|node| topology.route(topology.route_of(*node)?));
        route.is_none_or(|route| matches!(route.kind, RouteKind::Http | RouteKind::Grpc))
    }

    /// What a policy says in a field, as written.
    pub(crate) fn said(&self, target: usize, policy: &str, field: &str) -> Option<Value> {
        let (kind, _) = self.ids.get(target).copied()?;
        self.content(kind, policy)?.get(field).cloned()
    }

    /// Which fields of a kind are features.
    pub(crate) fn judged(&self, kind: &str) -> Option<&'static JudgedKind> {
        self.family.dialect().judged.iter().find(|judged| judged.kind.eq_ignore_ascii_case(kind))
    }

    /// The member by which elements of a list are known; none if they are compared as a whole.
    pub(crate) fn key_of(&self, field: &str) -> Option<&'static str> {
        let keyed = self.family.dialect().keyed;
        keyed.iter().find(|(of, _)| *of == field).map(|(_, key)| *key)
    }

    /// A field, or the one it counts as.
    pub(crate) fn alias<'f>(&self, field: &'f str) -> &'f str {
        let aliases = self.family.dialect().aliases;
        aliases.iter().find(|(from, _)| *from == field).map_or(field, |(_, to)| to)
    }

    /// Whether a kind is not a policy, but settings of other objects.
    pub(super) fn is_implicit(&self, kind: KindId) -> bool {
        self.resolution().and_then(|r| r.kind(kind)).is_some_and(|k| k.implicit)
    }

    fn part(&self, kind: KindId, lost: v1::Lost) -> ActualLoss {
        let whole = || match lost.pointer.is_empty() {
            true => self.content(kind, &lost.policy),
            false => None,
        };
        ActualLoss {
            value: lost.value.as_ref().map(Value::from).or_else(whole),
            segments: segments(&lost.pointer),
            block: lost.block.to_string(),
            policy: lost.policy,
            by: lost.by,
            reason: lost.reason.to_owned(),
        }
    }

    /// What a policy says besides where it acts, for those that lost as a whole.
    fn content(&self, kind: KindId, name: &str) -> Option<Value> {
        let shown = self.shown()?;
        let of_kind = shown.resolution.policies().filter(|(_, p)| p.kind == kind);
        let mut called = of_kind.filter(|(_, p)| self.object_name(p.object) == name);
        let (_, policy) = called.next()?;
        self.analysis.content(shown, policy.object)
    }

    /// The nodes of a path without its root, which tests leave out; one alone stays.
    fn path_nodes(&self, nodes: &[NodeId]) -> Vec<ActualNode> {
        let analysis = &self.analysis;
        let text = |sym| analysis.snapshot.text(sym);
        let root_kind = self.family.dialect().root_kind;
        let is_root = |n: &NodeId| {
            let kind = || analysis.topology.nodes.get(*n).map(|node| text(node.kind));
            analysis.topology.class_of(*n).is_some()
                || root_kind.is_some_and(|root| kind() == Some(root))
        };
        let has_root = nodes.len() > 1 && nodes.first().is_some_and(is_root);
        let nodes = nodes.iter().skip(usize::from(has_root));
        let named = nodes.filter_map(|id| {
            let node = analysis.topology.nodes.get(*id)?;
            let name = match (node.section.is_empty(), node.namespace.is_empty()) {
                (false, _) => text(node.section).to_owned(),
                (true, true) => text(node.name).to_owned(),
                (true, false) => format!("{}/{}", text(node.namespace), text(node.name)),
            };
            let rule = analysis.topology.rule_of(*id).and_then(|ix| analysis.topology.rule(ix));
            Some(ActualNode {
                kind: text(node.kind).to_owned(),
                name,
                index: rule.map(|r| r.index),
            })
        });
        named.collect()
    }

    pub(super) fn object_name(&self, object: ObjectId) -> String {
        Scene::new(&self.analysis.documents, &self.analysis.snapshot, &[]).object_name(object)
    }

    /// The hostnames route and listener of a path have in common; `*` = all.
    fn hostnames(&self, nodes: &[NodeId]) -> Option<Vec<String>> {
        let isolation = self.family.dialect().delegates;
        let topology = &self.analysis.topology;
        let listener = nodes.iter().find_map(|n| topology.listener_of(*n))?;
        let route = nodes.iter().find_map(|n| topology.route_of(*n))?;
        let (link, _) = topology.links_of_route(route).find(|(_, l)| l.listener == listener)?;
        let names = topology.hostnames_at(&self.analysis.snapshot, link, isolation);
        let text = |name| match self.analysis.snapshot.text(name) {
            "" => "*".to_owned(),
            text => text.to_owned(),
        };
        Some(names.into_iter().map(text).collect())
    }

    /// The matches of the rule of a path, as written; an HTTP rule without any takes every path.
    fn matches(&self, nodes: &[NodeId]) -> Option<Vec<Value>> {
        let topology = &self.analysis.topology;
        let rule = nodes.iter().find_map(|n| topology.rule_of(*n))?;
        let tree = self.analysis.documents.view(topology.rule(rule)?.tree);
        let written = tree.get("matches").into_iter().flat_map(|list| list.items());
        let mut matches: Vec<Value> = written.map(View::to_json).collect();
        let route = nodes.iter().find_map(|n| topology.route(topology.route_of(*n)?));
        if matches.is_empty() && route.is_some_and(|r| r.kind == RouteKind::Http) {
            matches.push(json!({"path": {"type": "PathPrefix", "value": "/"}}));
        }
        Some(matches)
    }

    /// What was found about the manifests.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let sources = &self.analysis.documents.sources;
        let findings = self.analysis.diagnostics.iter().map(|d| Finding {
            code: d.code.id,
            severity: d.severity(),
            message: d.message.to_string(),
            field: d.field.to_string(),
            at: d.primary.as_ref().map(|label| sources.position(label.span)),
        });
        findings.collect()
    }
}

/// The name that tests have for all of a policy that is one rule.
const WHOLE: &str = "spec";

fn as_one_rule(mut effective: ActualPolicy) -> ActualPolicy {
    effective.spec =
        effective.spec.map(|spec| Value::Object(Map::from_iter([(WHOLE.to_owned(), spec)])));
    for (segments, _) in &mut effective.sources {
        segments.insert(0, WHOLE.to_owned());
    }
    let parts = [&mut effective.shadowed, &mut effective.masked, &mut effective.removed];
    for part in parts.into_iter().flatten() {
        part.segments.insert(0, WHOLE.to_owned());
    }
    effective
}
