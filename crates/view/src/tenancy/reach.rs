// SPDX-License-Identifier: Apache-2.0
//! In: policies of a reader's own. Out: where they are in force, among the targets it may read. Not here: other
//! policies; those do not exist for it.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{KindId, LadderId, NodeId, PathId, PolicyId};
use overrule_model::{Created, Object};

use super::{Reader, in_force};
use crate::field::{name, pointer, segments};
use crate::focus::node_at;
use crate::losses::Losses;
use crate::reach::verdict;
use crate::{ScenePart, assumed, get, reach, v1};

/// Why a reference has no target to show.
const UNSEEN: (&str, &str) = ("nothing-to-read", "it leads to no target that you may read");

/// What became of a policy on one path, as the reader sees paths: those alike are one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seen {
    pub(super) nodes: Vec<NodeId>,
    pub(super) outcome: &'static str,
    pub(super) by: Vec<String>,
}

/// A policy on a ladder, what became of it, and who is in force in its place.
type Fared = (PolicyId, &'static str, Vec<String>);

/// Every own policy with the paths it reaches, by target.
pub(super) type Reached = BTreeMap<PolicyId, BTreeMap<NodeId, BTreeSet<Seen>>>;

impl Reader<'_> {
    /// Where the policies that may be read and are kept act, and what became of them there.
    pub(super) fn reached(
        &self,
        part: &ScenePart<'_>,
        keep: &dyn Fn(PolicyId) -> bool,
        rule: Option<&str>,
    ) -> Reached {
        let mut found = Reached::new();
        let mut known: BTreeMap<LadderId, Vec<Fared>> = BTreeMap::new();
        for (kind, _) in part.resolution.kinds() {
            for (path, ladder) in part.resolution.contexts(kind) {
                let fates =
                    known.entry(ladder).or_insert_with(|| self.fates(part, ladder, keep, rule));
                if fates.is_empty() || !self.shows(part, path) {
                    continue;
                }
                let Some(target) = part.resolution.paths.node(path) else { continue };
                let nodes = self.nodes(part, path);
                for (policy, outcome, by) in fates.iter() {
                    let seen = Seen { nodes: nodes.clone(), outcome, by: by.clone() };
                    let of_policy = found.entry(*policy).or_default();
                    of_policy.entry(target).or_default().insert(seen);
                }
            }
        }
        found
    }

    fn fates(
        &self,
        part: &ScenePart<'_>,
        ladder: LadderId,
        keep: &dyn Fn(PolicyId) -> bool,
        rule: Option<&str>,
    ) -> Vec<Fared> {
        let own = part.resolution.outcomes(ladder).iter().map(|(policy, _)| *policy);
        let own = own.filter(|p| keep(*p) && self.policy(part, *p));
        match rule {
            None => {
                let fate = |policy| {
                    let fate = self.fate(part, ladder, policy);
                    (policy, fate.outcome, fate.by())
                };
                own.map(fate).collect()
            }
            Some(pointer) => {
                let fate = |policy| {
                    let (outcome, by) = self.fate_of(part, ladder, policy, pointer)?;
                    Some((policy, outcome, by))
                };
                own.filter_map(fate).collect()
            }
        }
    }

    /// What became of one field of a policy on a ladder; none if it did not write it.
    fn fate_of(
        &self,
        part: &ScenePart<'_>,
        ladder: LadderId,
        policy: PolicyId,
        pointer: &str,
    ) -> Option<(&'static str, Vec<String>)> {
        let found = part.resolution.effective(ladder)?;
        let losses = Losses { scene: self.scene, part, effective: found };
        let steps = part.resolution.ladders.steps(ladder).into_iter();
        let own: Vec<_> = steps
            .filter(|s| part.policy_of(*s) == Some(policy))
            .filter(|s| node_at(&losses, *s, pointer).is_some())
            .collect();
        if own.is_empty() {
            return None;
        }
        let mut now = losses.in_force(pointer);
        let held = now.len();
        now.retain(|s| !own.contains(s));
        Some(match (now.len() < held, now.is_empty()) {
            (true, true) => ("in force", Vec::new()),
            (true, false) => ("partly", losses.names(&now)),
            (false, _) => ("shadowed", losses.names(&now)),
        })
    }

    /// Whether all there is to tell about a policy may be told.
    fn tells_all_of(&self, part: &ScenePart<'_>, policy: PolicyId) -> bool {
        let Some(entry) = part.resolution.policy(policy) else { return false };
        let on = |ladder| part.resolution.outcomes(ladder).iter().any(|(p, _)| *p == policy);
        self.closed(entry.object)
            && part
                .resolution
                .contexts(entry.kind)
                .filter(|(_, ladder)| on(*ladder))
                .all(|(path, _)| self.tells_all(part, entry.kind, path))
            && part.resolution.attachments_of(policy).all(|a| {
                let object = part.topology.get(a.node).and_then(|n| n.object);
                object.is_some_and(|o| self.object(o))
            })
    }

    /// Where one policy of the reader's own is in force; with `rule`, where that field of it is.
    pub fn reach(&self, part: &ScenePart<'_>, policy: PolicyId, rule: Option<&str>) -> v1::Reach {
        if self.tells_all_of(part, policy) {
            return reach(self.scene, part, policy, rule);
        }
        let entry = part.resolution.policy(policy);
        let kind = entry.and_then(|p| part.resolution.kind(p.kind));
        let text = |sym| self.scene.snapshot.text(sym).to_owned();
        let asked = rule.map(|rule| {
            let all = segments(rule);
            let own = all.iter().map(String::as_str).skip_while(|s| *s == "spec");
            pointer(own)
        });
        let mut reached = self.reached(part, &|p| p == policy, asked.as_deref());
        let reached = reached.remove(&policy).unwrap_or_default();
        let counts = count(reached.values().flatten());
        let unknown = asked.is_some() && reached.is_empty();
        let mut answer = v1::Reach {
            api_version: v1::API_VERSION,
            kind: "Reach",
            policy: part.policy_name(self.scene, policy),
            policy_kind: kind.map(|k| text(k.kind)).unwrap_or_default(),
            policy_group: kind.map(|k| text(k.group)).unwrap_or_default(),
            family: kind.map_or("", |k| k.family),
            profile: kind.map_or("", |k| k.profile),
            at: entry.and_then(|p| self.scene.place_of_object(p.object)),
            rule: asked,
            block: None,
            suggestions: Vec::new(),
            outcome: outcome(&counts),
            verdict: String::new(),
            assumptions: self.assumptions(
                assumed::by_policy(self.scene, part).remove(&policy).unwrap_or_default(),
            ),
            references: self.references(part, policy),
            counts,
            targets: reached.into_iter().map(|(n, seen)| self.target(part, n, &seen)).collect(),
            rules: Vec::new(),
        };
        answer.verdict = match (&answer.rule, unknown) {
            (Some(field), true) => format!(
                "{} of {} {} has no effect on any path you may read",
                name(field),
                answer.policy_kind,
                answer.policy
            ),
            _ if counts.paths == 0 => format!(
                "{} {} has no effect on any path you may read",
                answer.policy_kind, answer.policy
            ),
            _ => verdict(&answer, true, false),
        };
        answer
    }

    fn target(&self, part: &ScenePart<'_>, node: NodeId, seen: &BTreeSet<Seen>) -> v1::ReachTarget {
        let path = |one: &Seen| v1::ReachPath {
            path: one.nodes.iter().filter_map(|n| part.element(self.scene, *n)).collect(),
            outcome: one.outcome,
            by: one.by.clone(),
            reasons: Vec::new(),
            because: Vec::new(),
        };
        v1::ReachTarget {
            target: part.target_name(self.scene, node),
            counts: count(seen.iter()),
            paths: seen.iter().map(path).collect(),
        }
    }

    /// References with the targets that may be read: what is hidden and what is not there look the same.
    fn references(&self, part: &ScenePart<'_>, policy: PolicyId) -> Vec<v1::ReachReference> {
        let mut found: BTreeMap<u32, (Option<v1::Place>, Vec<String>)> = BTreeMap::new();
        // What another document says about the policy is that document's.
        for a in part.resolution.attachments_of(policy).filter(|a| self.span(a.at)) {
            let entry =
                found.entry(a.reference).or_insert((Some(self.scene.place(a.at)), Vec::new()));
            if self.node(part, a.node) {
                entry.1.push(part.target_name(self.scene, a.node));
            }
        }
        for r in part.resolution.rejections_of(policy).filter(|r| self.span(r.at)) {
            found.entry(r.reference).or_insert((Some(self.scene.place(r.at)), Vec::new()));
        }
        let reference = |(reference, (at, landed)): (u32, (_, Vec<String>))| {
            let none = landed.is_empty();
            v1::ReachReference {
                reference,
                at,
                landed,
                reason: none.then_some(UNSEEN.0),
                because: none.then_some(UNSEEN.1),
            }
        };
        found.into_iter().map(reference).collect()
    }

    /// Whether a node is of an object that may be read.
    pub(super) fn node(&self, part: &ScenePart<'_>, node: NodeId) -> bool {
        let object = part.topology.get(node).and_then(|n| n.object);
        object.is_some_and(|o| self.object(o))
    }

    /// The policies that may be read and are kept, with what became of them where the reader may read.
    pub fn policies(&self, part: &ScenePart<'_>, keep: &dyn Fn(&Object) -> bool) -> v1::PolicyList {
        let object = |policy: PolicyId| {
            let entry = part.resolution.policy(policy)?;
            self.scene.snapshot.get(entry.object).filter(|o| self.object(o.id) && keep(o))
        };
        let whole = |policy: PolicyId| object(policy).is_some() && self.tells_all_of(part, policy);
        let all: BTreeSet<PolicyId> =
            part.resolution.declared().map(|(id, _)| id).filter(|p| whole(*p)).collect();
        let objects: BTreeSet<_> =
            all.iter().filter_map(|p| Some(part.resolution.policy(*p)?.object)).collect();
        let full = get::policies(self.scene, part, &|o| objects.contains(&o.id));
        let mut full = full.items.into_iter();
        let reached = self.reached(part, &|p| object(p).is_some() && !all.contains(&p), None);
        let mut items = Vec::new();
        for (id, entry) in part.resolution.declared() {
            let Some(object) = object(id) else { continue };
            match all.contains(&id) {
                true => items.extend(full.next()),
                false => items.push(self.summary(part, (id, entry.kind), object, reached.get(&id))),
            }
        }
        v1::PolicyList::new(items)
    }

    fn summary(
        &self,
        part: &ScenePart<'_>,
        (policy, kind): (PolicyId, KindId),
        object: &Object,
        reached: Option<&BTreeMap<NodeId, BTreeSet<Seen>>>,
    ) -> v1::PolicySummary {
        let text = |sym| self.scene.snapshot.text(sym).to_owned();
        let result = part.resolution.kind(kind);
        let counts = count(reached.into_iter().flat_map(BTreeMap::values).flatten());
        let attached = part.resolution.attachments_of(policy).map(|a| a.node);
        let targets: BTreeSet<NodeId> = attached.filter(|n| self.node(part, *n)).collect();
        let seconds = match object.created {
            Created::At(seconds) => Some(seconds),
            Created::Absent | Created::Assumed(_) => None,
        };
        let scope = object.scope.name();
        v1::PolicySummary {
            policy_kind: text(object.kind.kind),
            policy_group: text(object.kind.group),
            family: result.map_or("", |k| k.family),
            profile: result.map_or("", |k| k.profile),
            target: self.scene.snapshot.display(object.id).to_string(),
            namespace: (!scope.is_empty()).then(|| text(scope)),
            mesh: get::mesh(self.scene, object),
            name: text(object.name),
            targets: targets.into_iter().map(|n| part.target_name(self.scene, n)).collect(),
            outcome: outcome(&counts),
            counts,
            created: seconds.map(|_| object.created.to_string()),
            created_seconds: seconds,
            // Only servers have such readers, and a store assumes nothing.
            assumptions: Vec::new(),
            strategy: None,
            why: Vec::new(),
            deleted: None,
            conditions: Vec::new(),
            rules: Vec::new(),
            other_profiles: Vec::new(),
            at: self.scene.place(object.at),
        }
    }

    /// The targets that may be read at which a kind could have an effective policy and has none.
    pub fn without(&self, part: &ScenePart<'_>, kind: KindId) -> v1::UncoveredList {
        let text = |sym| self.scene.snapshot.text(sym).to_owned();
        let result = part.resolution.kind(kind);
        let mut all = BTreeSet::new();
        let mut open: BTreeSet<Vec<NodeId>> = BTreeSet::new();
        let mut items = Vec::new();
        let covered = |path: PathId| {
            let stands =
                part.resolution.kinds().filter(|(id, k)| *id == kind || k.covers == Some(kind));
            stands
                .into_iter()
                .any(|(id, _)| !in_force(part, part.resolution.ladder(id, path)).is_empty())
        };
        for (path, _) in part.resolution.contexts(kind) {
            if !self.shows(part, path) || !self.stands(part, path) {
                continue;
            }
            let nodes = self.nodes(part, path);
            all.insert(nodes.clone());
            if !covered(path) && open.insert(nodes) {
                let target = part.path_target(self.scene, path);
                items.push(v1::Uncovered { target, path: self.path(part, path) });
            }
        }
        v1::UncoveredList {
            api_version: v1::API_VERSION,
            kind: "UncoveredList",
            policy_kind: result.map(|k| text(k.kind)).unwrap_or_default(),
            policy_group: result.map(|k| text(k.group)).unwrap_or_default(),
            paths: all.len() as u64,
            items,
        }
    }
}

/// Paths counted by what became of a policy on them.
pub(super) fn count<'s>(seen: impl Iterator<Item = &'s Seen>) -> v1::Counts {
    let mut counts = v1::Counts::default();
    for one in seen {
        counts.paths += 1;
        match one.outcome {
            "in force" => counts.in_force += 1,
            "partly" => counts.partly += 1,
            "shadowed" => counts.shadowed += 1,
            _ => counts.inert += 1,
        }
    }
    counts
}

/// What became of a policy altogether.
pub(super) fn outcome(counts: &v1::Counts) -> &'static str {
    match (counts.in_force, counts.partly, counts.shadowed) {
        (1.., 0, 0) => "in force",
        (0, 0, 1..) => "shadowed",
        (0, 0, 0) => "inert",
        _ => "partly",
    }
}
