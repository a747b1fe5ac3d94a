// SPDX-License-Identifier: Apache-2.0
//! In: an analysis and one of its answers. Out: what every family of the Gateway API says the same way about it.
//! Not here: any rule; the crates of the families have them.

use overrule::{Analysis, Answered, Assume, Options, Settings};
use overrule_engine::{KindId, LadderId, NodeId, PathId, Resolution};
use overrule_gateway::topology::RouteKind;
use overrule_model::{Created, ObjectId};
use overrule_source::{SingleLetters, View};
use overrule_view::{Part as ViewPart, Scene, v1};
use serde_json::{Value, json};

use super::{Effective, Finding, Node, Part, Target};
use crate::case::{Case, Invalid};
use crate::family::{Check, Difference, Given};
use crate::field::segments;

/// The setting that says what an absent creation time means: `file-order`, or a time.
const ASSUME_CREATED: &str = "assumeCreated";

/// Whether a setting is one that a family has, and has a value it can read; if not, what there is.
pub(super) fn setting(family: &str, key: &str, value: &Value) -> Result<(), String> {
    let family = overrule::family(family);
    let own = family.map(overrule::setting_keys).unwrap_or_default();
    if let Some(family) = family.filter(|_| own.contains(&key)) {
        return family.check(key, value);
    }
    if key == ASSUME_CREATED && value.as_str().and_then(assumption).is_some() {
        return Ok(());
    }
    let mut known = format!("{ASSUME_CREATED}: file-order, or a time like 2026-01-31T09:00:00Z");
    if !own.is_empty() {
        known = format!("{known}; {}", own.join(", "));
    }
    Err(known)
}

/// How to analyse the manifests of a case under a profile of a family.
pub(super) fn options(case: &Case, family: &'static str, profile: &str) -> Options {
    let mut settings = Settings::default();
    let own = overrule::family(family).map(overrule::setting_keys).unwrap_or_default();
    for setting in case.settings.iter().filter(|s| own.contains(&s.key.as_str())) {
        settings.set(family, &setting.key, setting.value.clone());
    }
    let named = case
        .expect
        .iter()
        .flat_map(|g| &g.items)
        .map(|e| &e.kind)
        .chain(case.none.iter().map(|n| &n.kind));
    let kinds = named.map(|word| word.text.split('.').next().unwrap_or("").to_lowercase());
    Options {
        assume_created: assume(case),
        include_kinds: kinds.collect(),
        kind_sources: case.kind_sources.clone(),
        single_letters: SingleLetters::Text,
        profiles: [(family.to_owned(), profile.to_owned())].into(),
        settings,
        ..Options::default()
    }
}

fn assume(case: &Case) -> Assume {
    let setting = case.settings.iter().find(|s| s.key == ASSUME_CREATED);
    setting.and_then(|s| s.value.as_str()).and_then(assumption).unwrap_or_default()
}

fn assumption(text: &str) -> Option<Assume> {
    match text.eq_ignore_ascii_case("file-order") {
        true => Some(Assume::FileOrder),
        false => Created::parse(text).map(Assume::Time),
    }
}

/// One answer of an analysis, with paths by name.
pub(super) struct Analysed {
    pub(super) analysis: Analysis,
    family: &'static str,
    pub(super) paths: Vec<Vec<Node>>,
    pub(super) targets: Vec<Target>,
    /// Kind and path of each target.
    pub(super) ids: Vec<(KindId, PathId)>,
}

impl Analysed {
    pub(super) fn new(analysis: Analysis, family: &'static str) -> Self {
        let mut analysed =
            Self { analysis, family, paths: Vec::new(), targets: Vec::new(), ids: Vec::new() };
        let Some(answer) = analysed.answer() else { return analysed };
        let resolution = &answer.resolution;
        let snapshot = &analysed.analysis.snapshot;
        let name = |path| path_nodes(&analysed.analysis, &resolution.paths.nodes(path));
        let paths: Vec<Vec<Node>> = resolution.paths.ids().map(name).collect();
        let (mut targets, mut ids) = (Vec::new(), Vec::new());
        for (kind, result) in resolution.kinds() {
            for (path, ladder) in resolution.contexts(kind) {
                ids.push((kind, path));
                targets.push(Target {
                    path: path.0 as usize,
                    kind: snapshot.text(result.kind).to_owned(),
                    group: snapshot.text(result.group).to_owned(),
                    reached: ladder != LadderId::EMPTY,
                });
            }
        }
        (analysed.paths, analysed.targets, analysed.ids) = (paths, targets, ids);
        analysed
    }

    fn answer(&self) -> Option<&Answered> {
        self.analysis.shown().find(|a| a.family.name() == self.family)
    }

    pub(super) fn resolution(&self) -> Option<&Resolution> {
        self.answer().map(|a| &a.resolution)
    }

    /// Reads from the answer as views do, without the findings, which a test compares on their own.
    pub(super) fn read<R>(&self, read: impl FnOnce(&Scene<'_>, &ViewPart<'_>) -> R) -> Option<R> {
        let stage = self.analysis.stage();
        let scene = Scene { findings: None, ..stage.scene() };
        let part = scene.parts.iter().find(|p| p.family == self.family)?;
        Some(read(&scene, part))
    }

    /// The effective policy as `-o json` gives it.
    pub(super) fn view(&self, target: usize) -> Option<v1::EffectivePolicy> {
        let (kind, path) = self.ids.get(target).copied()?;
        self.read(|scene, part| overrule_view::effective(scene, part, kind, path))
    }

    /// What is in force at a target. `whole` says what a policy holds that lost as a whole.
    pub(super) fn effective(
        &self,
        target: usize,
        whole: &dyn Fn(KindId, &v1::Lost) -> Option<Value>,
    ) -> Effective {
        let Some(view) = self.view(target) else { return Effective::default() };
        let Some((kind, path)) = self.ids.get(target).copied() else { return Effective::default() };
        let nodes = self.resolution().map(|r| r.paths.nodes(path)).unwrap_or_default();
        let sources = view.origins.iter().map(|(pointer, origins)| {
            (segments(pointer), origins.iter().map(|o| o.policy.clone()).collect())
        });
        let parts = |lost: Vec<v1::Lost>| -> Vec<Part> {
            lost.into_iter().map(|lost| part(lost, &|lost| whole(kind, lost))).collect()
        };
        Effective {
            sources: sources.collect(),
            spec: view.spec.as_ref().map(Value::from),
            policies: view.policies.into_iter().map(|p| p.policy).collect(),
            shadowed: parts(view.shadowed),
            masked: parts(view.masked),
            removed: parts(view.removed),
            skipped: parts(view.skipped),
            error: !view.error.is_empty(),
            accumulated: None,
            hostnames: self.hostnames(&nodes, false),
            matches: self.matches(&nodes),
        }
    }

    pub(super) fn object_name(&self, object: ObjectId) -> String {
        Scene::new(&self.analysis.documents, &self.analysis.snapshot, &[]).object_name(object)
    }

    /// The hostnames route and listener of a path have in common; `*` = all. With `isolation`, less what more specific
    /// listeners own.
    pub(super) fn hostnames(&self, nodes: &[NodeId], isolation: bool) -> Option<Vec<String>> {
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

    pub(super) fn findings(&self) -> Vec<Finding> {
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

    /// Kind, name and the messages of findings about an object.
    pub(super) fn described(&self, object: ObjectId) -> Option<(String, String, Vec<String>)> {
        let analysis = &self.analysis;
        let found = analysis.snapshot.get(object)?;
        let span = analysis.documents.view(found.root).span();
        let about = analysis.diagnostics.iter().filter(|d| {
            d.primary.as_ref().is_some_and(|label| {
                label.span.source == span.source
                    && (span.start..span.end).contains(&label.span.start)
            })
        });
        let messages = about.map(|d| d.message.to_string()).collect();
        let kind = analysis.snapshot.text(found.kind.kind).to_owned();
        Some((kind, self.object_name(object), messages))
    }

    /// Compares the policies that are refused in themselves.
    pub(super) fn invalid(
        &self,
        expected: &Given<Invalid>,
        refused: impl Iterator<Item = ObjectId>,
    ) -> Check {
        let actual: Vec<_> = refused.filter_map(|o| self.described(o)).collect();
        let mut differences = Vec::new();
        for one in &expected.items {
            let found =
                actual.iter().find(|(kind, name, _)| *kind == one.kind && *name == one.policy);
            let wanted = one.message.as_deref().unwrap_or("");
            if found.is_none_or(|(_, _, messages)| !messages.iter().any(|m| m.contains(wanted))) {
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("{} `{}` is not rejected as expected", one.kind, one.policy),
                    expected: one.message.clone(),
                    actual: Some(
                        found.map_or_else(|| "not rejected".to_owned(), |f| f.2.join("; ")),
                    ),
                });
            }
        }
        Check::Done(differences)
    }
}

fn part(lost: v1::Lost, whole: &dyn Fn(&v1::Lost) -> Option<Value>) -> Part {
    Part {
        value: match &lost.value {
            Some(value) => Some(Value::from(value)),
            None if lost.pointer.is_empty() => whole(&lost),
            None => None,
        },
        segments: segments(&lost.pointer),
        block: lost.block.to_string(),
        policy: lost.policy,
        by: lost.by,
        reason: lost.reason.to_owned(),
    }
}

/// The nodes of a path without its class or mesh, which tests leave out; one alone stays.
fn path_nodes(analysis: &Analysis, nodes: &[NodeId]) -> Vec<Node> {
    let is_mesh = |n: &NodeId| analysis.meshes().nodes.meshes.iter().any(|m| m.mesh == *n);
    let class =
        nodes.first().is_some_and(|n| analysis.topology.class_of(*n).is_some() || is_mesh(n));
    let nodes = nodes.iter().skip(usize::from(class && nodes.len() > 1));
    let text = |sym| analysis.snapshot.text(sym);
    let named = nodes.filter_map(|id| {
        let node = analysis.topology.nodes.get(*id)?;
        let name = match (node.section.is_empty(), node.namespace.is_empty()) {
            (false, _) => text(node.section).to_owned(),
            (true, true) => text(node.name).to_owned(),
            (true, false) => format!("{}/{}", text(node.namespace), text(node.name)),
        };
        let rule = analysis.topology.rule_of(*id).and_then(|ix| analysis.topology.rule(ix));
        Some(Node { kind: text(node.kind).to_owned(), name, index: rule.map(|r| r.index) })
    });
    named.collect()
}
