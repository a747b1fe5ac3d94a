// SPDX-License-Identifier: Apache-2.0
//! In: a kind and a path. Out: what is in force there, as a reader may know it. Not here: explanations.

use std::collections::BTreeSet;

use overrule_engine::{Effective, KindId, LadderId, PathId, PolicyId, StepId};

use super::{Reader, alike_once, in_force};
use crate::effective::Origins;
use crate::field::push_segment;
use crate::losses::Losses;
use crate::v1::Value;
use crate::written::written;
use crate::{ScenePart, assumed, effective, v1, value};

/// Why a part of the reader's own policy is not in force: the whole reason may lie in what it may not read.
pub(super) const LOST: (&str, &str) = ("not-in-force", "it is not in force there");
/// Why a target fails, where the cause may not be read.
const BROKEN: (&str, &str) = ("broken", "it is broken");

/// What became of one policy of the reader's on a ladder.
#[derive(Clone, Default)]
pub(super) struct Fate {
    pub(super) outcome: &'static str,
    pub(super) lost: Vec<v1::Lost>,
}

impl Fate {
    /// The policies in force in its place, sorted.
    pub(super) fn by(&self) -> Vec<String> {
        let by: BTreeSet<&String> = self.lost.iter().flat_map(|l| &l.by).collect();
        by.into_iter().cloned().collect()
    }
}

impl Reader<'_> {
    /// The effective policy of one kind at one path; none if its target may not be read, or nothing there is for the
    /// reader to know.
    pub fn effective(
        &self,
        part: &ScenePart<'_>,
        kind: KindId,
        path: PathId,
    ) -> Option<v1::EffectivePolicy> {
        if !self.shows(part, path) {
            return None;
        }
        let ladder = part.resolution.ladder(kind, path);
        if self.tells_all(part, kind, path) {
            let mut all = effective(self.scene, part, kind, path);
            all.diagnostics = self.findings_on(part, ladder);
            let empty = all.policies.is_empty() && all.other_profiles.is_empty();
            return (!empty).then_some(all);
        }
        let found = part.resolution.effective(ladder);
        // A value that nobody set tells only that somebody is there.
        let acts = !in_force(part, ladder).is_empty();
        let (spec, origins) = self.value(part, found.filter(|_| acts));
        let (policies, shadowed) = self.policies_on(part, ladder);
        let result = part.resolution.kind(kind);
        let text = |sym| self.scene.snapshot.text(sym).to_owned();
        let policy = v1::EffectivePolicy {
            api_version: v1::API_VERSION,
            kind: "EffectivePolicy",
            policy_kind: result.map(|k| text(k.kind)).unwrap_or_default(),
            policy_group: result.map(|k| text(k.group)).unwrap_or_default(),
            family: result.map_or("", |k| k.family),
            profile: result.map_or("", |k| k.profile),
            assumed: result.is_some_and(|k| k.assumed),
            only_elsewhere: false,
            path: self.path(part, path),
            assumptions: self.assumptions(assumed::of_path(self.scene, part, path)),
            target: part.path_target(self.scene, path),
            policies,
            spec,
            origins,
            beside: found.map(|e| self.beside(part, e)).unwrap_or_default(),
            shadowed,
            masked: Vec::new(),
            removed: Vec::new(),
            skipped: Vec::new(),
            error: self.failures(part, path, found),
            other_profiles: Vec::new(),
            diagnostics: self.findings_on(part, ladder),
        };
        let known = !policy.policies.is_empty() || policy.spec.is_some();
        known.then_some(policy)
    }

    /// The effective policies at many paths, those alike once.
    pub fn effectives<'p>(
        &self,
        contexts: impl IntoIterator<Item = (&'p ScenePart<'p>, KindId, PathId)>,
    ) -> Vec<v1::EffectivePolicy> {
        let found =
            contexts.into_iter().filter_map(|(part, k, path)| self.effective(part, k, path));
        let mut found: Vec<_> = found.collect();
        alike_once(&mut found);
        found
    }

    /// The value in force, and who set it: of policies that may not be read, their names.
    fn value(&self, part: &ScenePart<'_>, found: Option<&Effective>) -> (Option<Value>, Origins) {
        let mut origins = Origins::new();
        let Some(found) = found else { return (None, origins) };
        let mut add = |pointer: &str, step: StepId, node| {
            let list = origins.entry(pointer.to_owned()).or_default();
            let origin = self.origin(part, step, node);
            if !list.contains(&origin) {
                list.push(origin);
            }
        };
        let documents = self.scene.documents;
        let mut leaves = Vec::new();
        let spec = found.value.as_ref().map(|traced| {
            value::traced(documents, traced, &mut |leaf| {
                leaves.push((leaf.pointer.to_owned(), leaf.step, leaf.node));
            })
        });
        for (pointer, step, node) in leaves {
            if let Some(step) = step {
                add(&pointer, step, node);
            }
        }
        for step in found.beside() {
            let node = part.resolution.ladders.get_step(*step).map(|s| s.value);
            add("", *step, node);
        }
        (spec.map(sorted), origins)
    }

    fn origin(
        &self,
        part: &ScenePart<'_>,
        step: StepId,
        node: Option<overrule_source::NodeRef>,
    ) -> v1::Origin {
        let policy = part.step_name(self.scene, step);
        if !self.step(part, step) {
            return v1::Origin { policy, block: "".into(), at: None, implied: false };
        }
        let at = node.map(|n| self.scene.place_of(n));
        v1::Origin { policy, block: part.block(step), at, implied: node.is_none() }
    }

    fn beside(&self, part: &ScenePart<'_>, found: &Effective) -> Vec<v1::Beside> {
        let ladders = &part.resolution.ladders;
        let steps = found.beside().iter().filter_map(|id| Some((*id, ladders.get_step(*id)?)));
        let beside = steps.map(|(id, step)| {
            let own = self.step(part, id);
            v1::Beside {
                policy: part.step_name(self.scene, id),
                block: if own { step.block_name() } else { "".into() },
                spec: written(self.scene, step),
                reason: None,
                because: None,
                at: own.then(|| self.scene.place_of(step.value)),
            }
        });
        beside.collect()
    }

    fn failures(
        &self,
        part: &ScenePart<'_>,
        path: PathId,
        found: Option<&Effective>,
    ) -> Vec<v1::Failure> {
        let poison = found.map_or(&[][..], Effective::poison).iter();
        let poison = poison.map(|(step, reason)| {
            let own = self.step(part, *step);
            let (reason, because) = if own { (reason.id, reason.sentence) } else { BROKEN };
            v1::Failure { policy: part.step_name(self.scene, *step), reason, because, at: None }
        });
        let others = part.resolution.failures(path).map(|failure| {
            let own = failure.at.is_some_and(|span| self.span(span));
            let told = (failure.reason.id, failure.reason.sentence);
            let (reason, because) = if own { told } else { BROKEN };
            let at = failure.at.filter(|_| own).map(|span| self.scene.place(span));
            v1::Failure { policy: String::new(), reason, because, at }
        });
        let mut found: Vec<v1::Failure> = poison.chain(others).collect();
        alike_once(&mut found);
        found
    }

    /// The policies on a ladder that are in force or the reader's own, and what is lost of the latter.
    fn policies_on(
        &self,
        part: &ScenePart<'_>,
        ladder: LadderId,
    ) -> (Vec<v1::Contributor>, Vec<v1::Lost>) {
        let held = in_force(part, ladder);
        let acts: BTreeSet<PolicyId> = held.iter().filter_map(|s| part.policy_of(*s)).collect();
        let (mut policies, mut lost) = (Vec::new(), Vec::new());
        for (policy, _) in part.resolution.outcomes(ladder) {
            let name = || part.policy_name(self.scene, *policy);
            if self.policy(part, *policy) {
                let fate = self.fate(part, ladder, *policy);
                policies.push(v1::Contributor { policy: name(), outcome: fate.outcome });
                lost.extend(fate.lost);
            } else if acts.contains(policy) {
                policies.push(v1::Contributor { policy: name(), outcome: "in force" });
            }
        }
        (policies, lost)
    }

    /// What became of a policy of the reader's on a ladder, told from what it wrote and what is in force, and from
    /// nothing that happened in between.
    pub(super) fn fate(&self, part: &ScenePart<'_>, ladder: LadderId, policy: PolicyId) -> Fate {
        let ladders = &part.resolution.ladders;
        let Some(found) = part.resolution.effective(ladder) else {
            return Fate { outcome: "inert", lost: Vec::new() };
        };
        let losses = Losses { scene: self.scene, part, effective: found };
        let held = in_force(part, ladder);
        let steps: BTreeSet<StepId> = ladders.steps(ladder).into_iter().collect();
        let (mut holds, mut lost) = (false, Vec::new());
        for id in steps {
            let Some(step) = ladders.get_step(id).filter(|s| s.policy == policy) else { continue };
            let whole = written(self.scene, step);
            let instead = |pointer: &str| {
                let mut steps = losses.in_force(pointer);
                steps.retain(|s| *s != id);
                losses.names(&steps)
            };
            let one = |pointer: &str, value: Option<Value>| v1::Lost {
                policy: part.policy_name(self.scene, policy),
                block: step.block_name(),
                pointer: pointer.to_owned(),
                value,
                by: instead(pointer),
                reason: LOST.0,
                because: LOST.1,
                at: crate::focus::node_at(&losses, id, pointer).map(|n| self.scene.place_of(n)),
            };
            if !held.contains(&id) {
                if whole.has_parts() {
                    lost.push(one("", None));
                }
                continue;
            }
            holds = true;
            if found.beside().contains(&id) || found.poison().iter().any(|(s, _)| *s == id) {
                continue;
            }
            let mut pointers = Vec::new();
            members(&whole, &mut String::new(), &mut pointers);
            for (pointer, value) in pointers {
                if !losses.in_force(&pointer).contains(&id) {
                    lost.push(one(&pointer, Some(value.clone())));
                }
            }
        }
        let outcome = match (holds, lost.is_empty()) {
            (true, true) => "in force",
            (true, false) => "partly",
            (false, false) => "shadowed",
            (false, true) => "inert",
        };
        Fate { outcome, lost }
    }
}

/// The value with its keys in the order of their names: the order in which policies brought them tells of those that lost.
fn sorted(value: Value) -> Value {
    match value {
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Map(entries)
        }
        Value::List(items) => Value::List(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The smallest parts of a value that are told apart: members of mappings. Lists may be merged by keys, so they are whole.
fn members<'v>(value: &'v Value, at: &mut String, found: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Map(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                let length = at.len();
                push_segment(at, key);
                members(value, at, found);
                at.truncate(length);
            }
        }
        value => found.push((at.clone(), value)),
    }
}
