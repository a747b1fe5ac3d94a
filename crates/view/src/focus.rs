// SPDX-License-Identifier: Apache-2.0
//! In: a field people ask about. Out: its value, everyone who wrote one there, and what became of each.
//! Not here: deciding that; it is read from the value in force and the recorded losses.

use std::collections::BTreeSet;

use overrule_engine::{Done, Loss, Outcome, Reason, Rung, StepId};
use overrule_model::nearest;
use overrule_source::NodeRef;

use crate::field::{is_within, name, pointer, pointer_segments, push_segment, segments};
use crate::losses::Losses;
use crate::{v1, value};

/// What became of a step at one pointer.
pub(crate) struct Fared {
    pub(crate) outcome: Outcome,
    /// The steps in force there instead.
    pub(crate) by: Vec<StepId>,
    /// The rules by which it is not in force, as they were applied.
    pub(crate) reasons: Vec<Reason>,
}

/// Everything about one field on one ladder.
pub(crate) fn focus(losses: Losses<'_>, steps: &[StepId], asked: &str) -> v1::FieldFocus {
    let pointer = resolve(&losses, steps, asked);
    let documents = losses.scene.documents;
    let spec = losses.effective.value.as_ref().map(|v| value::of_traced(documents, v));
    let path: Vec<_> = pointer_segments(&pointer).collect();
    let here = spec.as_ref().and_then(|s| s.at(path.iter().map(|s| &**s))).cloned();
    let mut candidates = Vec::new();
    for (position, step) in (1..).zip(steps) {
        let Some(fared) = fared(&losses, *step, &pointer) else { continue };
        let node = node_at(&losses, *step, &pointer);
        // A value that nobody wrote is in force through the policy that implies it.
        let implied = here.as_ref().filter(|_| fared.outcome == Outcome::InForce);
        let value = match (node, implied) {
            (Some(node), _) => value::of_node(documents, node),
            (None, Some(value)) => value.clone(),
            (None, None) => continue,
        };
        candidates.push(v1::HadValue {
            position,
            policy: losses.part.step_name(losses.scene, *step),
            value,
            at: node.map(|n| losses.scene.place_of(n)),
            outcome: fared.outcome.word(),
            by: losses.names(&fared.by),
            reason: fared.reasons.first().map(|r| r.id),
            because: fared.reasons.first().map(|r| r.sentence),
        });
    }
    let nowhere = here.is_none() && candidates.is_empty();
    v1::FieldFocus {
        asked: asked.to_owned(),
        suggestions: if nowhere { suggestions(&known(&losses), asked) } else { Vec::new() },
        value: here,
        candidates,
        pointer,
    }
}

/// What became of what a step wrote at a pointer; none if that is no part of the policy (a target reference).
pub(crate) fn fared(losses: &Losses<'_>, step: StepId, pointer: &str) -> Option<Fared> {
    let now = losses.in_force(pointer);
    let holds = now.contains(&step);
    let own = losses.effective.losses.iter().filter(|l| l.step == step);
    let lost: Vec<&Loss> =
        own.filter(|l| is_within(pointer, &l.pointer) || is_within(&l.pointer, pointer)).collect();
    // Who lost all of it lost it to those who are there now; otherwise each part has its own winner.
    let instead: BTreeSet<StepId> = match holds || lost.is_empty() || now.is_empty() {
        true => lost.iter().flat_map(|l| losses.by(l)).collect(),
        false => now.iter().copied().collect(),
    };
    let mut reasons: Vec<Reason> = lost.iter().map(|l| l.reason).collect();
    let outcome = match (holds, lost.iter().map(|l| l.fate).min()) {
        (true, None) => Outcome::InForce,
        (true, Some(_)) => Outcome::Partly,
        (false, Some(fate)) => fate.into(),
        (false, None) => {
            let verdict = losses.effective.log.iter().find(|v| v.rung == Rung::Step(step))?;
            reasons.push(verdict.reason);
            match verdict.done {
                Done::Skipped => Outcome::Skipped,
                Done::Poisoned => Outcome::Inert,
                _ => return None,
            }
        }
    };
    Some(Fared { outcome, by: instead.into_iter().collect(), reasons })
}

/// The node a step wrote at a pointer.
pub(crate) fn node_at(losses: &Losses<'_>, step: StepId, pointer: &str) -> Option<NodeRef> {
    let root = losses.part.resolution.ladders.get_step(step)?.value;
    let mut view = losses.scene.documents.view(root);
    for segment in pointer_segments(pointer) {
        view = match view.kind() {
            overrule_source::Kind::List => view.items().nth(segment.parse().ok()?)?,
            _ => view.get(&segment)?,
        };
    }
    Some(NodeRef { doc: root.doc, node: view.id() })
}

/// The pointer meant. People copy paths from manifests, so `spec.` and the name of a block may stand before it.
pub(crate) fn resolve(losses: &Losses<'_>, steps: &[StepId], asked: &str) -> String {
    let asked = segments(asked);
    let as_asked = pointer(asked.iter().map(String::as_str));
    let exists = |pointer: &str| steps.iter().any(|s| node_at(losses, *s, pointer).is_some());
    let mut rest = asked.as_slice();
    loop {
        let candidate = pointer(rest.iter().map(String::as_str));
        if exists(&candidate) {
            return candidate;
        }
        match rest {
            [first, tail @ ..]
                if matches!(first.as_str(), "spec" | "defaults" | "overrides")
                    && !tail.is_empty() =>
            {
                rest = tail;
            }
            _ => return as_asked,
        }
    }
}

/// Pointers of every field that is in force or lost, containers included.
pub(crate) fn known(losses: &Losses<'_>) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let mut add = |base: &str, below: &str| {
        let mut pointer = String::new();
        for segment in pointer_segments(base).chain(pointer_segments(below)) {
            push_segment(&mut pointer, &segment);
            known.insert(pointer.clone());
        }
    };
    if let Some(value) = &losses.effective.value {
        value::traced(losses.scene.documents, value, &mut |leaf| add("", leaf.pointer));
    }
    for loss in &losses.effective.losses {
        let Some(node) = loss.node else { continue };
        let lost = overrule_engine::Traced::Whole { step: loss.step, node };
        value::traced(losses.scene.documents, &lost, &mut |leaf| add(&loss.pointer, leaf.pointer));
    }
    known
}

/// Most suggestions.
const MOST: usize = 3;

/// Names of fields near the one asked for: by the whole name, else by its last word, else the topmost there are.
pub(crate) fn suggestions(known: &BTreeSet<String>, asked: &str) -> Vec<String> {
    let asked = name(&pointer(segments(asked).iter().map(String::as_str)));
    let names: Vec<String> = known.iter().map(|p| name(p)).collect();
    let by_name = nearest(&asked, names.iter().map(String::as_str), MOST);
    if !by_name.is_empty() {
        return by_name.into_iter().map(str::to_owned).collect();
    }
    let last = |name: &str| name.rsplit('.').next().unwrap_or("").to_owned();
    let ends: BTreeSet<String> = names.iter().map(|n| last(n)).collect();
    let near = nearest(&last(&asked), ends.iter().map(String::as_str), 1);
    let fits = |n: &&String| near.iter().any(|end| last(n) == **end);
    let by_end: Vec<String> = names.iter().filter(fits).take(MOST).cloned().collect();
    if !by_end.is_empty() {
        return by_end;
    }
    let top = |n: &&String| !n.contains(['.', '[']);
    names.iter().filter(top).take(MOST + 2).cloned().collect()
}
