// SPDX-License-Identifier: Apache-2.0
//! In: texts. Out: the results of the real pipeline, and its answers in the form of the naive oracle, read off rule by
//! rule. Not here: anything that could hide a difference.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{
    Effective, Fate, Guard, LadderId, PathId, PolicyId, Resolution, StepId, Traced,
};
use overrule_gateway::topology::{self, GatewayTopology};
use overrule_kuadrant::{Policies, Profile, ResolveOptions, World};
use overrule_model::Snapshot;
use overrule_source::{Diagnostic, Documents, Input, NodeKind, ReadOptions, View};
use overrule_testkit::kuadrant as oracle;
use serde_json::{Map, Value};

/// The results of all stages under one profile.
pub struct Run {
    pub documents: Documents,
    pub snapshot: Snapshot,
    pub topology: GatewayTopology,
    pub policies: Policies,
    pub profile: Profile,
    pub resolution: Resolution,
    pub diagnostics: Vec<Diagnostic>,
}

/// Runs every stage on files.
pub fn run(inputs: Vec<Input>, profile: Profile) -> Run {
    let read = overrule_source::read(inputs, &ReadOptions::default());
    let documents = read.documents;
    let mut diagnostics = read.diagnostics;
    let parsed = overrule_model::parse(&documents);
    diagnostics.extend(parsed.diagnostics);
    let mut snapshot = parsed.snapshot;
    let (resources, found) = topology::parse(&documents, &mut snapshot);
    diagnostics.extend(found);
    let (policies, found) = overrule_kuadrant::parse(&documents, &mut snapshot);
    diagnostics.extend(found);
    let topology = resources.connect(&snapshot).topology;
    let world = World {
        documents: &documents,
        snapshot: &snapshot,
        topology: &topology,
        ground: &(),
        policies: &policies,
        profile,
    };
    let resolved = overrule_kuadrant::resolve(world, &ResolveOptions::default());
    diagnostics.extend(resolved.diagnostics);
    Run {
        resolution: resolved.resolution,
        documents,
        snapshot,
        topology,
        policies,
        profile,
        diagnostics,
    }
}

/// Runs on one text.
pub fn run_text(text: &str, profile: Profile) -> Run {
    run(vec![Input::new("world.yaml", text)], profile)
}

impl Run {
    pub fn name(&self, policy: PolicyId) -> String {
        let object = self.resolution.policy(policy).unwrap().object;
        let object = self.snapshot.get(object).unwrap();
        format!("{}/{}", self.snapshot.text(object.scope.name()), self.snapshot.text(object.name))
    }

    pub fn policy_of(&self, step: StepId) -> String {
        self.name(self.resolution.ladders.get_step(step).unwrap().policy)
    }

    fn block(&self, step: StepId) -> &'static str {
        self.resolution.ladders.get_step(step).unwrap().block
    }

    /// Answers as the oracle gives them.
    pub fn answers(&self) -> BTreeMap<oracle::OracleKey, oracle::OracleEffective> {
        let mut found = BTreeMap::new();
        for (kind, result) in self.resolution.kinds() {
            for (path, ladder) in self.resolution.contexts(kind) {
                if ladder == LadderId::EMPTY {
                    continue;
                }
                let effective = self.resolution.effective(ladder).unwrap();
                let kind = self.snapshot.text(result.kind).to_owned();
                let (names, route) = self.path(path);
                found.insert((kind, names, route), self.effective(effective));
            }
        }
        found
    }

    fn path(&self, path: PathId) -> (Vec<String>, String) {
        let text = |sym| self.snapshot.text(sym).to_owned();
        let nodes = self.resolution.paths.nodes(path);
        let mut route = String::new();
        let mut names = Vec::new();
        for id in nodes.iter().skip(1) {
            let node = self.topology.nodes.get(*id).unwrap();
            // A rule whose name means another one.
            let rule = self.topology.rule_of(*id).and_then(|rule| self.topology.rule(rule));
            if let Some(rule) = rule.filter(|rule| rule.hidden) {
                names.push(format!("#{}", rule.index));
                continue;
            }
            if text(node.kind).ends_with("Route") {
                route = text(node.kind);
            }
            names.push(match node.section.is_empty() {
                false => text(node.section),
                true => format!("{}/{}", text(node.namespace), text(node.name)),
            });
        }
        (names, route)
    }

    pub fn effective(&self, effective: &Effective) -> oracle::OracleEffective {
        let mut rules = BTreeMap::new();
        if let Some(value) = &effective.value {
            value.parts(&self.documents, &mut |pointer, step, part| {
                let Traced::Whole { node, .. } = part else { panic!("every rule is written") };
                let rule = oracle::OracleRule {
                    value: json(self.documents.view(*node)),
                    policy: self.policy_of(step),
                    block: self.block(step),
                };
                rules.insert(id(pointer), rule);
            });
        }
        let contributors: BTreeSet<String> =
            rules.values().map(|r: &oracle::OracleRule| r.policy.clone()).collect();
        let (mut overridden, mut removed) = (BTreeSet::new(), BTreeSet::new());
        for loss in &effective.losses {
            let rule = id(&loss.pointer);
            let (policy, block) = (self.policy_of(loss.step), self.block(loss.step));
            if loss.fate == Fate::Removed {
                let by = loss.by.iter().map(|s| self.policy_of(*s)).collect();
                removed.insert(oracle::OracleLoss { policy, block, rule, by });
                continue;
            }
            let by = match rules.get(&rule) {
                Some(winner) => [winner.policy.clone()].into_iter().collect(),
                None => contributors.clone(),
            };
            overridden.insert(oracle::OracleLoss { policy, block, rule, by });
        }
        let skipped = effective.checks().iter().filter(|c| c.verdict != Guard::Met);
        let skipped = skipped.map(|c| oracle::OracleSkip {
            policy: self.policy_of(c.step),
            block: self.block(c.step),
            failed: c.verdict == Guard::Failed,
        });
        oracle::OracleEffective { overridden, removed, skipped: skipped.collect(), rules }
    }
}

fn id(pointer: &str) -> String {
    let segments = pointer.split('/').skip(1).map(|s| s.replace("~1", "/").replace("~0", "~"));
    segments.collect::<Vec<_>>().join(".")
}

pub fn json(view: View<'_>) -> Value {
    match view.kind() {
        NodeKind::Null => Value::Null,
        NodeKind::Bool => view.as_bool().into(),
        NodeKind::Int => view.as_i64().into(),
        NodeKind::Float => view.as_f64().into(),
        NodeKind::List => Value::Array(view.items().map(json).collect()),
        NodeKind::Map => {
            let entries = view.entries().map(|(k, v)| (k.key_text().to_owned(), json(v)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        _ => view.scalar_text().into(),
    }
}
