// SPDX-License-Identifier: Apache-2.0
//! In: a case of generic GEP-713 kinds. Out: what the pipeline answers, read from the same data as `-o json`.
//! Not here: any rule; the `gateway` crate has them.

use std::collections::BTreeMap;

use overrule::{Analysis, Assume, Options};
use overrule_engine::{KindId, LadderId, NodeId, PathId};
use overrule_gateway::codes_policy::CONFLICT;
use overrule_gateway::kinds::Strategy;
use overrule_gateway::topology::RouteKind;
use overrule_gateway::{reasons, resolve};
use overrule_model::Created;
use overrule_source::SingleLetters;
use overrule_view::{Scene, v1};
use serde_json::{Value, json};

use super::{Answer, Check, Difference, Effective, Family, Finding, Node, Part, Target};
use crate::case::{Case, Conflicted, Given, Invalid};
use crate::field::segments;
use crate::value;

/// The family of generic kinds.
#[derive(Debug, Clone, Copy)]
pub struct Gateway;

/// The setting that says what an absent creation time means: `file-order`, or a time.
const ASSUME_CREATED: &str = "assumeCreated";

impl Family for Gateway {
    fn name(&self) -> &'static str {
        resolve::FAMILY
    }

    fn profiles(&self) -> &'static [&'static str] {
        &[resolve::PROFILE]
    }

    fn setting(&self, key: &str, value: &Value) -> Result<(), String> {
        let readable = key == ASSUME_CREATED && value.as_str().and_then(assumption).is_some();
        readable.then_some(()).ok_or_else(|| {
            format!("{ASSUME_CREATED}: file-order, or a time like 2026-01-31T09:00:00Z")
        })
    }

    fn resolve(&self, case: &Case, _profile: &str) -> Box<dyn Answer> {
        let named = case
            .expect
            .iter()
            .flat_map(|g| &g.items)
            .map(|e| &e.kind)
            .chain(case.none.iter().map(|n| &n.kind));
        let kinds = named.map(|word| word.text.split('.').next().unwrap_or("").to_lowercase());
        let options = Options {
            assume_created: assume(case),
            include_kinds: kinds.collect(),
            kind_sources: case.kind_sources.clone(),
            single_letters: SingleLetters::Text,
            ..Options::default()
        };
        Box::new(Resolved::new(Analysis::new(case.inputs.clone(), &options)))
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

/// The results of one analysis, with paths by name.
struct Resolved {
    analysis: Analysis,
    paths: Vec<Vec<Node>>,
    targets: Vec<Target>,
    /// Kind and path of each target.
    ids: Vec<(KindId, PathId)>,
}

impl Resolved {
    fn new(analysis: Analysis) -> Self {
        let resolution = &analysis.resolution;
        let name = |path| path_nodes(&analysis, &resolution.paths.nodes(path));
        let paths: Vec<Vec<Node>> = resolution.paths.ids().map(name).collect();
        let (mut targets, mut ids) = (Vec::new(), Vec::new());
        for (kind, result) in resolution.kinds() {
            for (path, ladder) in resolution.contexts(kind) {
                ids.push((kind, path));
                targets.push(Target {
                    path: path.0 as usize,
                    kind: analysis.snapshot.text(result.kind).to_owned(),
                    group: analysis.snapshot.text(result.group).to_owned(),
                    reached: ladder != LadderId::EMPTY,
                });
            }
        }
        Self { analysis, paths, targets, ids }
    }

    /// The answer as `-o json` gives it, without the findings, which a test compares on their own.
    fn view(&self, kind: KindId, path: PathId) -> v1::EffectivePolicy {
        let parts = [self.part()];
        let [part] = &parts;
        overrule_view::effective(&self.scene(&parts), part, kind, path)
    }

    fn part(&self) -> overrule_view::Part<'_> {
        overrule_view::Part {
            topology: &self.analysis.topology.nodes,
            resolution: &self.analysis.resolution,
            strategy_name: |code| Strategy::from_code(code).name(),
        }
    }

    fn scene<'s>(&'s self, parts: &'s [overrule_view::Part<'s>]) -> Scene<'s> {
        Scene::new(&self.analysis.documents, &self.analysis.snapshot, parts)
    }

    /// What a policy holds besides its plumbing, for those that lost as a whole.
    fn content(&self, kind: KindId, name: &str) -> Option<Value> {
        let analysis = &self.analysis;
        let of_kind = analysis.resolution.policies().filter(|(_, p)| p.kind == kind);
        let mut called = of_kind.filter(|(_, p)| self.object_name(p.object) == name);
        let (_, entry) = called.next()?;
        let policy = analysis.policies.iter().find(|p| p.object == entry.object)?;
        let descriptor = analysis.kinds.iter().nth(policy.kind)?;
        let content = policy.content?;
        let plumbing = |key: &str| match content.block {
            "bare" => descriptor.is_plumbing(key),
            _ => *descriptor.block_strategy == *key,
        };
        let mut value = value::from_view(analysis.documents.view(content.value));
        if let Value::Object(members) = &mut value {
            members.retain(|key, _| !plumbing(key));
        }
        Some(value)
    }

    fn object_name(&self, object: overrule_model::ObjectId) -> String {
        self.scene(&[]).object_name(object)
    }

    fn parts(&self, kind: KindId, lost: Vec<v1::Lost>) -> Vec<Part> {
        let parts = lost.into_iter().map(|lost| Part {
            value: match &lost.value {
                Some(value) => Some(Value::from(value)),
                None if lost.pointer.is_empty() => self.content(kind, &lost.policy),
                None => None,
            },
            segments: segments(&lost.pointer),
            block: lost.block.to_owned(),
            policy: lost.policy,
            by: lost.by,
            reason: lost.reason.to_owned(),
        });
        parts.collect()
    }

    /// The hostnames route and listener of a path have in common; `*` = all.
    fn hostnames(&self, nodes: &[NodeId]) -> Option<Vec<String>> {
        let topology = &self.analysis.topology;
        let listener = nodes.iter().find_map(|n| topology.listener_of(*n))?;
        let route = nodes.iter().find_map(|n| topology.route_of(*n))?;
        let (link, _) = topology.links_of_route(route).find(|(_, l)| l.listener == listener)?;
        let names = topology.hostnames_at(&self.analysis.snapshot, link, false);
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
        let mut matches: Vec<Value> = written.map(value::from_view).collect();
        let route = nodes.iter().find_map(|n| topology.route(topology.route_of(*n)?));
        if matches.is_empty() && route.is_some_and(|r| r.kind == RouteKind::Http) {
            matches.push(json!({"path": {"type": "PathPrefix", "value": "/"}}));
        }
        Some(matches)
    }

    /// Kind, loser and winners of every policy that lost because its kind does not merge.
    fn conflicts(&self) -> BTreeMap<(String, String), Vec<String>> {
        let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
        for (target, (kind, path)) in self.targets.iter().zip(&self.ids).filter(|(t, _)| t.reached)
        {
            let lost = self.view(*kind, *path).shadowed.into_iter();
            for lost in lost.filter(|l| l.reason == reasons::OLDEST_ALONE.id) {
                let by = found.entry((target.kind.clone(), lost.policy)).or_default();
                by.extend(lost.by);
                by.sort();
                by.dedup();
            }
        }
        found
    }

    /// Kind, name and the messages of errors of every policy that is refused as a whole.
    fn refused(&self) -> Vec<(String, String, Vec<String>)> {
        let analysis = &self.analysis;
        let refused = analysis.policies.iter().filter(|p| p.content.is_none());
        let described = refused.filter_map(|policy| {
            let object = analysis.snapshot.get(policy.object)?;
            let span = analysis.documents.view(object.root).span();
            let errors = analysis.diagnostics.iter().filter(|d| {
                d.primary.as_ref().is_some_and(|label| {
                    label.span.source == span.source
                        && (span.start..span.end).contains(&label.span.start)
                })
            });
            let messages = errors.map(|d| d.message.clone()).collect();
            let kind = analysis.snapshot.text(object.kind.kind).to_owned();
            Some((kind, self.object_name(policy.object), messages))
        });
        described.collect()
    }
}

/// The nodes of a path without its class, which tests leave out; a class alone stays.
fn path_nodes(analysis: &Analysis, nodes: &[NodeId]) -> Vec<Node> {
    let class = nodes.first().is_some_and(|n| analysis.topology.class_of(*n).is_some());
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

impl Answer for Resolved {
    fn paths(&self) -> &[Vec<Node>] {
        &self.paths
    }

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn effective(&self, target: usize) -> Effective {
        let Some((kind, path)) = self.ids.get(target).copied() else { return Effective::default() };
        let view = self.view(kind, path);
        let nodes = self.analysis.resolution.paths.nodes(path);
        let sources = view.origins.iter().map(|(pointer, origins)| {
            (segments(pointer), origins.iter().map(|o| o.policy.clone()).collect())
        });
        Effective {
            sources: sources.collect(),
            spec: view.spec.as_ref().map(Value::from),
            policies: view.policies.into_iter().map(|p| p.policy).collect(),
            shadowed: self.parts(kind, view.shadowed),
            masked: self.parts(kind, view.masked),
            removed: self.parts(kind, view.removed),
            skipped: self.parts(kind, view.skipped),
            error: !view.error.is_empty(),
            accumulated: None,
            hostnames: self.hostnames(&nodes),
            matches: self.matches(&nodes),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let sources = &self.analysis.documents.sources;
        let findings = self.analysis.diagnostics.iter().map(|d| Finding {
            code: d.code.id,
            severity: d.severity(),
            message: d.message.clone(),
            field: d.field.clone(),
            at: d.primary.as_ref().map(|label| sources.position(label.span)),
        });
        findings.collect()
    }

    fn conflicted(&self, expected: &Given<Conflicted>) -> Check {
        let mut actual = self.conflicts();
        let mut differences = Vec::new();
        for one in &expected.items {
            let found = actual.remove(&(one.kind.clone(), one.policy.clone()));
            let mut by = one.by.clone();
            by.sort();
            let said = |message: &String| {
                let conflict = |f: &Finding| f.code == CONFLICT.id && f.message.contains(message);
                self.findings().iter().any(conflict)
            };
            if found.as_ref() != Some(&by) || !one.message.as_ref().is_none_or(said) {
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("`{}` does not conflict as expected", one.policy),
                    expected: Some(format!("refused because of {}", by.join(", "))),
                    actual: Some(found.map_or_else(
                        || "not refused".to_owned(),
                        |by| format!("refused because of {}", by.join(", ")),
                    )),
                });
            }
        }
        differences.extend(actual.into_iter().map(|((kind, policy), by)| Difference {
            at: expected.at.clone(),
            message: format!("{kind} `{policy}` conflicts, and the test does not list it"),
            expected: None,
            actual: Some(format!("refused because of {}", by.join(", "))),
        }));
        Check::Done(differences)
    }

    fn invalid(&self, expected: &Given<Invalid>) -> Check {
        let actual = self.refused();
        let mut differences = Vec::new();
        for one in &expected.items {
            let found =
                actual.iter().find(|(kind, name, _)| *kind == one.kind && *name == one.policy);
            let wanted = one.message.as_deref().unwrap_or("");
            if found.is_none_or(|(_, _, messages)| !messages.iter().any(|m| m.contains(wanted))) {
                differences.push(Difference {
                    at: one.at.clone(),
                    message: format!("{} `{}` is not refused as expected", one.kind, one.policy),
                    expected: one.message.clone(),
                    actual: Some(
                        found.map_or_else(|| "not refused".to_owned(), |f| f.2.join("; ")),
                    ),
                });
            }
        }
        Check::Done(differences)
    }
}
