// SPDX-License-Identifier: Apache-2.0
//! In: requirements and a resolution. Out: the paths on which they are not met, and findings, one per target.
//! Not here: reading requirements.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use overrule_engine::{KindId, LadderId, NodeId, PathId, Resolution, Traced, dotted};
use overrule_model::{Object, Snapshot, Sym, with_article};
use overrule_source::{Diagnostic, Documents};

use super::{Requirement, is_met};
use crate::codes_policy as codes;
use overrule_topology::{GatewayTopology, level};

/// A path on which a requirement is not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The kind required.
    pub kind: KindId,
    /// The path.
    pub path: PathId,
    /// What is missing.
    pub what: MissingPolicy,
}

/// What is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingPolicy {
    /// No policy reaches the path.
    Policy,
    /// Policies reach it, but nothing is in force.
    Everything,
    /// These rules are not in force.
    Rules(Vec<Box<str>>),
}

/// What requirements are checked against.
#[derive(Clone, Copy)]
struct World<'a> {
    documents: &'a Documents,
    snapshot: &'a Snapshot,
    topology: &'a GatewayTopology,
    resolution: &'a Resolution,
}

/// Checks every requirement against a resolution; those about kinds it does not have are left to others. Returns which
/// were checked, with what they miss.
pub fn report(
    documents: &Documents,
    snapshot: &Snapshot,
    topology: &GatewayTopology,
    resolution: &Resolution,
    requirements: &[Requirement],
    out: &mut Vec<Diagnostic>,
) -> Vec<(usize, Vec<Missing>)> {
    let world = World { documents, snapshot, topology, resolution };
    let mut checked = Vec::new();
    let mut by_namespace = BTreeMap::new();
    for (index, requirement) in requirements.iter().enumerate() {
        let about = resolution
            .kinds()
            .filter(|(_, k)| requirement.is_about(snapshot.text(k.group), snapshot.text(k.kind)));
        let kinds: Vec<KindId> = about.map(|(id, _)| id).collect();
        if kinds.is_empty() {
            continue;
        }
        let mut missing = Vec::new();
        let mut concerned = 0;
        for kind in kinds {
            // Most requirements name their namespaces, and there may be many of both.
            let paths: Vec<PathId> = match &requirement.namespaces {
                None => resolution.contexts(kind).map(|(path, _)| path).collect(),
                Some(names) => {
                    let all = by_namespace.entry(kind).or_insert_with(|| world.by_namespace(kind));
                    let mut paths: Vec<PathId> =
                        names.iter().filter_map(|name| all.get(name)).flatten().copied().collect();
                    paths.sort_unstable();
                    paths.dedup();
                    paths
                }
            };
            for path in paths.into_iter().filter(|path| world.concerns(requirement, *path)) {
                concerned += 1;
                let what = world.what(requirement, kind, path);
                missing.extend(what.map(|what| Missing { kind, path, what }));
            }
        }
        if concerned == 0 {
            out.push(nothing(requirement));
        }
        world.findings(requirement, &missing, out);
        checked.push((index, missing));
    }
    checked
}

impl<'a> World<'a> {
    /// The object a path is about: its route, or the Gateway of a listener.
    fn subject(self, path: PathId) -> Option<(NodeId, &'a Object)> {
        let nodes = self.resolution.paths.nodes(path);
        let object = |id: &NodeId| {
            let node = self.topology.nodes.get(*id).filter(|n| n.section.is_empty())?;
            let counts = matches!(node.level, level::ROUTE | level::GATEWAY | level::LISTENER_SET);
            let object = node.object.filter(|_| counts)?;
            Some((*id, self.snapshot.get(object)?))
        };
        nodes.iter().rev().find_map(object)
    }

    /// The paths of a kind by the namespace of what they are about.
    fn by_namespace(self, kind: KindId) -> HashMap<Sym, Vec<PathId>> {
        let mut all: HashMap<Sym, Vec<PathId>> = HashMap::new();
        for (path, _) in self.resolution.contexts(kind) {
            if let Some((_, object)) = self.subject(path) {
                all.entry(object.scope.name()).or_default().push(path);
            }
        }
        all
    }

    fn concerns(self, requirement: &Requirement, path: PathId) -> bool {
        let Some((_, object)) = self.subject(path) else { return false };
        let namespace = object.scope.name();
        requirement.namespaces.as_ref().is_none_or(|list| list.contains(&namespace))
            && requirement.selector.as_ref().is_none_or(|s| s.matches(&object.labels))
    }

    fn what(self, requirement: &Requirement, kind: KindId, path: PathId) -> Option<MissingPolicy> {
        let ladder = self.resolution.ladder(kind, path);
        let reached = !matches!(ladder, LadderId::EMPTY | LadderId::NONE);
        if !self.resolution.is_covered(kind, path) {
            return Some(if reached { MissingPolicy::Everything } else { MissingPolicy::Policy });
        }
        let value = self.resolution.effective(ladder).and_then(|e| e.value.as_ref());
        let Some(value) = value else {
            // A policy of another kind stands for it; what it adds is not in the input.
            let unknown = !requirement.rules.is_empty();
            return unknown.then(|| MissingPolicy::Rules(requirement.rules.clone()));
        };
        let mut rules = Vec::new();
        value.parts(self.documents, &mut |pointer, _, _| {
            rules.push(dotted(pointer));
        });
        let met = |wanted: &str| is_met(wanted, &rules) || self.holds(value, wanted);
        let unmet: Vec<Box<str>> = requirement.rules.iter().filter(|r| !met(r)).cloned().collect();
        (!unmet.is_empty()).then_some(MissingPolicy::Rules(unmet))
    }

    /// Whether a value has something at a dotted path, for kinds whose rules are any fields.
    fn holds(self, value: &Traced, wanted: &str) -> bool {
        let (path, any) = wanted.strip_suffix(".*").map_or((wanted, false), |path| (path, true));
        let part = value.at(self.documents, path.split('.'));
        part.is_some_and(|p| !any || !p.entries(self.documents).is_empty())
    }

    /// One finding per route or Gateway, however many of its paths are concerned.
    fn findings(self, requirement: &Requirement, missing: &[Missing], out: &mut Vec<Diagnostic>) {
        let mut by_subject: BTreeMap<NodeId, (&Object, Vec<&Missing>)> = BTreeMap::new();
        for one in missing {
            if let Some((node, object)) = self.subject(one.path) {
                by_subject.entry(node).or_insert((object, Vec::new())).1.push(one);
            }
        }
        out.extend(by_subject.into_values().map(|(o, list)| self.finding(requirement, o, &list)));
    }

    fn finding(
        self,
        requirement: &Requirement,
        object: &Object,
        missing: &[&Missing],
    ) -> Diagnostic {
        let (name, kind) = (&requirement.name, &requirement.kind);
        let what = match missing.first().map(|m| &m.what) {
            Some(MissingPolicy::Rules(rules)) => {
                let rules: Vec<String> = rules.iter().map(|r| format!("`{r}`")).collect();
                format!(
                    "{} of {kind} {} not in force",
                    rules.join(", "),
                    if rules.len() == 1 { "is" } else { "are" }
                )
            }
            Some(MissingPolicy::Everything) => format!("no rule of {kind} is in force here"),
            _ => format!("no {kind} reaches this"),
        };
        let first = missing.first().map(|m| self.path_name(m.path)).unwrap_or_default();
        let places = match missing.len() {
            0 | 1 => format!("on the path {first}"),
            n => format!("on {n} paths, the first of them {first}"),
        };
        let message = format!("requirement `{name}` is not met: {what} {places}");
        let display = self.snapshot.display(object.id);
        let help = match missing.first().map(|m| &m.what) {
            Some(MissingPolicy::Rules(_) | MissingPolicy::Everything) => format!(
                "add the rules to the {kind} of `{display}`, or let a default above it be merged; see overrule explain {display}"
            ),
            _ => format!(
                "add {} for `{display}` or above it; all such paths: overrule get --without {kind}",
                with_article(kind)
            ),
        };
        Diagnostic::new(&codes::REQUIREMENT_NOT_MET, message)
            .at(object.at)
            .see(requirement.at, "required here")
            .field("metadata.name")
            .help(help)
    }

    fn path_name(self, path: PathId) -> String {
        let text = |sym| self.snapshot.text(sym);
        let nodes = self.resolution.paths.nodes(path);
        let names = nodes.iter().filter_map(|n| self.topology.nodes.get(*n)).skip(1).map(|node| {
            match (node.section.is_empty(), node.namespace.is_empty()) {
                (false, _) => text(node.section).to_owned(),
                (true, true) => text(node.name).to_owned(),
                (true, false) => format!("{}/{}", text(node.namespace), text(node.name)),
            }
        });
        format!("`{}`", names.collect::<Vec<_>>().join(" > "))
    }
}

fn nothing(requirement: &Requirement) -> Diagnostic {
    let message = format!(
        "requirement `{}` applies to nothing: no path of {} is in its scope",
        requirement.name,
        with_article(&requirement.kind)
    );
    let d = Diagnostic::new(&codes::EMPTY_REQUIREMENT, message).at(requirement.at);
    d.field("spec.scope").help("check the namespaces and labels, or remove the requirement")
}
