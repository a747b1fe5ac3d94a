// SPDX-License-Identifier: Apache-2.0
//! In: texts. Out: the results of the real stages, and their answers in the form of the naive oracle, read off unit by
//! unit. Not here: anything that could hide a difference.
#![allow(dead_code, reason = "each test uses its part")]

pub mod shrink;

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{
    Effective, Fate, KindId, LadderId, NodeId, PathId, PolicyId, Resolution, StepId, Traced, dotted,
};
use overrule_gateway::topology::{self, GatewayTopology};
use overrule_kgateway::Matches;
use overrule_kgateway::delegation::RuleMatch;
use overrule_kgateway::reasons::MASKED_BY_BUILTIN;
use overrule_kgateway::{
    Policies, Profile, ReferenceGrantMode, ResolveOptions, Settings, UnitMerge, World, status,
};
use overrule_model::Snapshot;
use overrule_source::{Documents, Input, ReadOptions, Severity, SingleLetters};
use overrule_testkit::kgateway as oracle;
use serde_json::{Value, json};

/// Everything before resolving; it is the same for all profiles.
pub struct Ground {
    pub documents: Documents,
    pub snapshot: Snapshot,
    pub topology: GatewayTopology,
    pub policies: Policies,
    pub settings: Settings,
}

/// A resolution of it.
pub struct Run<'g> {
    pub ground: &'g Ground,
    pub profile: Profile,
    pub resolution: Resolution,
    pub matches: Matches,
    /// Codes and messages of the findings, sorted.
    pub findings: Vec<String>,
}

/// Reads a text; the worlds have nothing in them that cannot be read.
pub fn ground(text: &str, settings: &oracle::OracleSettings) -> Ground {
    let options = ReadOptions { single_letters: SingleLetters::Text, ..ReadOptions::default() };
    let read = overrule_source::read(vec![Input::new("world.yaml", text)], &options);
    let broken: Vec<_> =
        read.diagnostics.iter().filter(|d| d.severity() == Severity::Error).collect();
    assert!(broken.is_empty(), "{broken:?}");
    let documents = read.documents;
    let mut snapshot = overrule_model::parse(&documents).snapshot;
    let (resources, _) = topology::parse(&documents, &mut snapshot);
    let settings = typed(settings);
    let (policies, _) = overrule_kgateway::parse(&documents, &mut snapshot, &settings);
    let topology = resources.connect(&snapshot).topology;
    Ground { documents, snapshot, topology, policies, settings }
}

/// A word the controller does not know acts as the shallow one; `Settings::set` would refuse it.
fn typed(settings: &oracle::OracleSettings) -> Settings {
    let merge = |(unit, how): (&String, &String)| {
        (unit.clone(), if how == "DeepMerge" { UnitMerge::Deep } else { UnitMerge::Shallow })
    };
    Settings {
        policy_merge: settings.policy_merge.iter().map(merge).collect(),
        global_namespace: settings.global_policy_namespace.clone(),
        wildcard_namespace: settings.delegation_wildcard_namespace.clone(),
        reference_grants: match settings.reference_grant_mode.as_str() {
            "OFF" => ReferenceGrantMode::Off,
            "STRICT" => ReferenceGrantMode::Strict,
            _ => ReferenceGrantMode::Permissive,
        },
    }
}

impl Ground {
    pub fn world(&self, profile: Profile) -> World<'_> {
        World {
            documents: &self.documents,
            snapshot: &self.snapshot,
            topology: &self.topology,
            policies: &self.policies,
            profile,
            ground: &self.settings,
        }
    }

    pub fn resolve(&self, profile: Profile) -> Run<'_> {
        let found = overrule_kgateway::resolve(self.world(profile), &ResolveOptions::default());
        let mut findings: Vec<String> =
            found.diagnostics.iter().map(|d| format!("{} {}", d.code.id, d.message)).collect();
        findings.sort();
        let (resolution, matches) = (found.resolution, found.extra);
        Run { ground: self, profile, resolution, matches, findings }
    }

    /// A node in one line.
    pub fn node(&self, id: NodeId) -> String {
        let node = self.topology.nodes.get(id).unwrap();
        let section = self.snapshot.text(node.section);
        format!("{} {} {section}", self.snapshot.text(node.kind), self.object(id))
    }

    /// `namespace/name` of the object of a node.
    fn object(&self, node: NodeId) -> String {
        let node = self.topology.nodes.get(node).unwrap();
        format!("{}/{}", self.snapshot.text(node.namespace), self.snapshot.text(node.name))
    }
}

impl Run<'_> {
    /// The id of a kind, if it takes part.
    pub fn kind(&self, name: &str) -> Option<KindId> {
        let is_called = |kind| self.ground.snapshot.text(kind) == name;
        self.resolution.kinds().find(|(_, k)| is_called(k.kind)).map(|(id, _)| id)
    }

    /// Kind, namespace and name of a policy.
    pub fn policy(&self, id: PolicyId) -> String {
        let policy = self.resolution.policy(id).unwrap();
        let kind = self.resolution.kind(policy.kind).unwrap().kind;
        let name = self.ground.snapshot.full_name(policy.object);
        format!("{} {name}", self.ground.snapshot.text(kind))
    }

    /// Who wrote something: a policy, or a rule of a route.
    pub fn writer(&self, step: StepId) -> String {
        let step = self.resolution.ladders.get_step(step).unwrap();
        let policy = self.resolution.policy(step.policy).unwrap();
        let name = self.ground.snapshot.full_name(policy.object);
        match Some(policy.kind) == self.kind("builtin") {
            true => {
                let at = self.ground.documents.view(step.value).span();
                let mut attached = self.resolution.attachments_of(step.policy);
                format!("{name}#{}", attached.find(|a| a.at == at).unwrap().reference)
            }
            false => name,
        }
    }

    /// Answers as the oracle gives them: two for each rule that answers requests.
    pub fn answers(&self) -> Vec<oracle::OraclePolicy> {
        let traffic = self.kind("TrafficPolicy").expect("it always takes part");
        let built_in = self.kind("builtin");
        let mut answers = Vec::new();
        let mut paths = BTreeSet::new();
        for (path, ladder) in self.resolution.contexts(traffic) {
            paths.insert(path);
            let effective = self.resolution.effective(ladder);
            let broken = effective.is_some_and(|e| !e.poison().is_empty());
            let error = broken || self.resolution.failures(path).next().is_some();
            answers.push(self.answer("TrafficPolicy", path, effective, error));
            let ladder = built_in.map_or(LadderId::NONE, |k| self.resolution.ladder(k, path));
            answers.push(self.answer("builtin", path, self.resolution.effective(ladder), error));
        }
        for (path, _) in built_in.into_iter().flat_map(|kind| self.resolution.contexts(kind)) {
            assert!(paths.contains(&path), "built-ins where no policy can be");
        }
        answers.sort_by(|a, b| (a.kind, &a.path, &a.rules).cmp(&(b.kind, &b.path, &b.rules)));
        answers
    }

    fn answer(
        &self,
        kind: &'static str,
        path: PathId,
        effective: Option<&Effective>,
        error: bool,
    ) -> oracle::OraclePolicy {
        let (names, rules) = self.path(path);
        let mut answer = oracle::OraclePolicy {
            path: names,
            rules,
            kind,
            fields: BTreeMap::new(),
            sources: BTreeMap::new(),
            shadowed: BTreeSet::new(),
            accumulated: Vec::new(),
            error,
            matches: self
                .matches
                .get(path)
                .map_or(Vec::new(), |list| list.iter().map(RuleMatch::to_json).collect()),
        };
        let Some(effective) = effective else { return answer };
        for (unit, value) in self.units(kind, effective) {
            if unit == "filters" {
                let items = value.items(&self.ground.documents);
                answer.accumulated = items.iter().map(|item| self.filter(item)).collect();
                continue;
            }
            answer.sources.insert(unit.clone(), self.writers(&value));
            answer.fields.insert(unit, value.to_json(&self.ground.documents));
        }
        // Providers beside a `disable` are masked too, but by a policy.
        let masked = effective.losses.iter().filter(|loss| loss.fate == Fate::Masked);
        let masked = masked.filter(|loss| loss.reason.id == MASKED_BY_BUILTIN.id);
        answer.shadowed = masked.map(|loss| dotted(&loss.pointer)).collect();
        answer
    }

    /// Units by name: fields, and the members of fields that are several units.
    fn units(&self, kind: &str, effective: &Effective) -> Vec<(String, Traced)> {
        let documents = &self.ground.documents;
        let several: &[&str] =
            if kind == "builtin" { &["urlRewrite"] } else { &["rateLimit", "compression"] };
        let mut units = Vec::new();
        for (key, value) in effective.value.iter().flat_map(|value| value.entries(documents)) {
            let name = key.text(documents).to_owned();
            if !several.contains(&name.as_str()) {
                units.push((name, value));
                continue;
            }
            let members = value.entries(documents);
            assert!(!members.is_empty(), "an empty {name}");
            for (member, value) in members {
                units.push((format!("{name}.{}", member.text(documents)), value));
            }
        }
        units
    }

    pub fn writers(&self, value: &Traced) -> BTreeSet<String> {
        value.steps().into_iter().map(|step| self.writer(step)).collect()
    }

    fn filter(&self, item: &Traced) -> Value {
        let from: Vec<String> = self.writers(item).into_iter().collect();
        let filter = item.to_json(&self.ground.documents);
        let kind = filter["type"].as_str().unwrap();
        let field = match kind {
            "RequestHeaderModifier" => "requestHeaderModifier",
            "ResponseHeaderModifier" => "responseHeaderModifier",
            "RequestMirror" => "requestMirror",
            other => panic!("{other} does not pile up"),
        };
        json!({"from": from.join(" "), "type": kind, "value": filter[field]})
    }

    /// The path as cases write it, and the rule of each route by index.
    pub fn path(&self, path: PathId) -> (Vec<String>, Vec<usize>) {
        let (topology, snapshot) = (&self.ground.topology, &self.ground.snapshot);
        let (mut names, mut rules, mut leaf) = (Vec::new(), Vec::new(), String::new());
        // The class stands before the Gateway.
        for node in self.resolution.paths.nodes(path).into_iter().skip(1) {
            if let Some(rule) = topology.rule_of(node).and_then(|ix| topology.rule(ix)) {
                let section = snapshot.text(topology.nodes.get(node).unwrap().section);
                leaf = if rule.named { section.to_owned() } else { format!("#{}", rule.index) };
                rules.push(usize::try_from(rule.index).unwrap());
                continue;
            }
            let section = snapshot.text(topology.nodes.get(node).unwrap().section);
            names.push(match section {
                "" => self.ground.object(node),
                listener => listener.to_owned(),
            });
        }
        names.push(leaf);
        (names, rules)
    }

    /// Policy -> ancestor -> reasons of `Accepted` and `Attached`.
    pub fn statuses(&self) -> BTreeMap<String, BTreeMap<String, [String; 2]>> {
        let all = status::conditions(self.ground.world(self.profile), &self.resolution);
        let mut found = BTreeMap::new();
        for (policy, conditions) in self.ground.policies.list.iter().zip(all) {
            let mut entries: BTreeMap<String, [String; 2]> = BTreeMap::new();
            for condition in conditions {
                let Some(overrule_family::Ancestor::Node(ancestor)) = condition.ancestor else {
                    panic!("each is about a node");
                };
                let node = self.ground.topology.nodes.get(ancestor).unwrap();
                let kind = self.ground.snapshot.text(node.kind);
                let ancestor = format!("{kind} {}", self.ground.object(ancestor));
                let place = usize::from(condition.kind == "Attached");
                entries.entry(ancestor).or_default()[place] = condition.reason.to_owned();
            }
            found.insert(self.ground.snapshot.full_name(policy.object), entries);
        }
        found
    }
}

/// The same on both sides: what is switched off is that, whatever providers are listed beside it.
pub fn normal(answers: &mut [oracle::OraclePolicy]) {
    for answer in answers {
        for value in answer.fields.values_mut().filter(|value| value["disable"] == true) {
            *value = json!({"disable": true});
        }
    }
}
