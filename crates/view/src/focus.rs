// SPDX-License-Identifier: Apache-2.0
//! In: a field people ask about. Out: its value, everyone who wrote one there, and what became of each.
//! Not here: deciding that; it is read from the value in force and the recorded losses.

use std::collections::BTreeSet;

use overrule_engine::{FoldAction, Loss, Outcome, Reason, Rung, Step, StepId, Traced};
use overrule_model::nearest;
use overrule_source::NodeRef;

use crate::field::{is_within, name, pointer, pointer_segments, push_segment, segments};
use crate::losses::Losses;
use crate::written::is_content;
use crate::{v1, value};

/// What became of a step at one pointer.
pub(crate) struct OutcomeAt {
    pub(crate) outcome: Outcome,
    /// The steps in force there instead.
    pub(crate) by: Vec<StepId>,
    /// The rules by which it is not in force, as they were applied.
    pub(crate) reasons: Vec<Reason>,
}

/// Everything about one field on one ladder.
pub(crate) fn focus(losses: Losses<'_>, steps: &[StepId], asked: &str) -> v1::FieldFocus {
    let as_asked = || pointer(segments(asked).iter().map(String::as_str));
    let (pointer, block) = match meant(&losses, steps, asked) {
        Some(Meant { pointer, block }) => (pointer, block),
        None => (as_asked(), None),
    };
    let in_block = |step: StepId| match (&block, losses.part.resolution.ladders.get_step(step)) {
        (Some(block), Some(step)) => is_block(step, block),
        _ => true,
    };
    let documents = losses.scene.documents;
    let spec = losses.effective.value.as_ref().map(|v| value::of_traced(documents, v));
    let path: Vec<_> = pointer_segments(&pointer).collect();
    let here = spec.as_ref().and_then(|s| s.at(path.iter().map(|s| &**s))).cloned();
    let mut candidates = Vec::new();
    for (position, step) in (1..).zip(steps).filter(|(_, s)| in_block(**s)) {
        let Some(result) = outcome_at(&losses, *step, &pointer) else { continue };
        let node = node_at(&losses, *step, &pointer);
        // A value that nobody wrote is in force through the policy that implies it.
        let implied = here.as_ref().filter(|_| result.outcome == Outcome::InForce);
        let value = match (node, implied) {
            (Some(node), _) => value::of_node(documents, node),
            (None, Some(value)) => value.clone(),
            (None, None) => continue,
        };
        candidates.push(v1::HadValue {
            position,
            policy: losses.part.step_name(losses.scene, *step),
            block: losses.part.block(*step),
            value,
            at: node.map(|n| losses.scene.place_of(n)),
            outcome: result.outcome.word(),
            by: losses.names(&result.by),
            reason: result.reasons.first().map(|r| r.id),
            because: result.reasons.first().map(|r| r.sentence),
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

/// What became of what a step wrote at a pointer; none if that is not part of the policy (a target reference).
pub(crate) fn outcome_at(losses: &Losses<'_>, step: StepId, pointer: &str) -> Option<OutcomeAt> {
    let own: Vec<&Loss> = losses.effective.losses.iter().filter(|l| l.step == step).collect();
    outcome_among(losses, step, pointer, &own)
}

/// The same, with the losses of the step at hand.
pub(crate) fn outcome_among(
    losses: &Losses<'_>,
    step: StepId,
    pointer: &str,
    own: &[&Loss],
) -> Option<OutcomeAt> {
    let now = losses.in_force(pointer);
    let near = |l: &&Loss| is_within(pointer, &l.pointer) || is_within(&l.pointer, pointer);
    let lost: Vec<&Loss> = own.iter().copied().filter(near).collect();
    let counts = now.contains(&step) && !losses.all_masked(step, pointer, &lost);
    let holds = counts || losses.effective.beside().contains(&step);
    // Where rules are the unit, who lost all of it lost it to those who are there now; otherwise each part has its own
    // winner.
    let by_part = losses.part.words.rule_patterns().is_empty();
    let instead: BTreeSet<StepId> = match holds || by_part || lost.is_empty() || now.is_empty() {
        true => lost.iter().flat_map(|l| losses.by(l)).collect(),
        false => now.iter().copied().collect(),
    };
    let mut reasons: Vec<Reason> = lost.iter().map(|l| l.reason).collect();
    let outcome = match (holds, lost.iter().map(|l| l.fate).min()) {
        (true, None) => Outcome::InForce,
        (true, Some(_)) => Outcome::Partly,
        (false, Some(fate)) => fate.into(),
        (false, None) => {
            let verdict = losses.log().find(|v| v.rung == Rung::Step(step))?;
            reasons.push(verdict.reason);
            match verdict.done {
                FoldAction::Skipped => Outcome::Skipped,
                FoldAction::Poisoned => Outcome::Inert,
                _ => return None,
            }
        }
    };
    Some(OutcomeAt { outcome, by: instead.into_iter().collect(), reasons })
}

/// The node a step wrote at a pointer.
pub(crate) fn node_at(losses: &Losses<'_>, step: StepId, pointer: &str) -> Option<NodeRef> {
    let root = losses.part.resolution.ladders.get_step(step)?.value;
    let mut view = losses.scene.documents.view(root);
    for segment in pointer_segments(pointer) {
        view = match view.kind() {
            overrule_source::NodeKind::List => view.items().nth(segment.parse().ok()?)?,
            _ => view.get(&segment)?,
        };
    }
    Some(NodeRef { doc: root.doc, node: view.id() })
}

/// A field that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meant {
    pub(crate) pointer: String,
    /// The block it was asked for in, if one was named.
    pub(crate) block: Option<String>,
}

/// The field meant, if some step wrote it or it is in force. People copy paths from manifests, so `spec.` and the name of
/// a block may stand before it; and they write keys with dots as they are.
pub(crate) fn meant(losses: &Losses<'_>, steps: &[StepId], asked: &str) -> Option<Meant> {
    let exact = asked.starts_with('/');
    let asked = segments(asked);
    let mut rest = asked.as_slice();
    let mut block: Option<String> = None;
    loop {
        let found =
            written_at(losses, steps, rest, exact, block.as_deref()).or_else(|| match &block {
                None => find(losses, losses.effective.value.clone()?, rest, exact),
                Some(_) => None,
            });
        if let Some(found) = found {
            let pointer = pointer(found.iter().map(String::as_str));
            return Some(Meant { pointer, block });
        }
        let (first, tail) = rest.split_first()?;
        rest = tail;
        if first == "spec" || first == "default" && block.is_some() {
            continue;
        }
        let named = |step: &Step| step.block == first && first != "bare";
        let mut of_steps =
            steps.iter().filter_map(|s| losses.part.resolution.ladders.get_step(*s)).peekable();
        if block.is_some() || !of_steps.any(named) {
            return None;
        }
        // `to[1]`: the place of an entry in its list.
        let entry = tail.split_first().filter(|(at, _)| at.parse::<u32>().is_ok());
        block = Some(match entry {
            Some((at, below)) => {
                rest = below;
                format!("{first}[{at}]")
            }
            None => first.clone(),
        });
    }
}

/// Whether a step is of a block, or of the entry of a list, that somebody named.
pub(crate) fn is_block(step: &Step, named: &str) -> bool {
    named == step.block || named == step.block_name()
}

/// The keys of what one of the steps wrote at the segments, in the block if one is named.
fn written_at(
    losses: &Losses<'_>,
    steps: &[StepId],
    asked: &[String],
    exact: bool,
    block: Option<&str>,
) -> Option<Vec<String>> {
    let ladders = &losses.part.resolution.ladders;
    steps.iter().find_map(|id| {
        let step = ladders.get_step(*id)?;
        if block.is_some_and(|b| !is_block(step, b)) {
            return None;
        }
        let root = Traced::Whole { step: *id, node: step.value };
        let found = find(losses, root, asked, exact)?;
        // A whole spec also holds its other blocks, which are steps of their own.
        let first = found.first().is_none_or(|key| is_content(step.block, key));
        first.then_some(found)
    })
}

/// The keys and indexes that segments mean; neighbouring segments may be one key with dots, unless they are exact.
fn find(losses: &Losses<'_>, value: Traced, asked: &[String], exact: bool) -> Option<Vec<String>> {
    if asked.is_empty() {
        return Some(Vec::new());
    }
    let documents = losses.scene.documents;
    let longest = if exact || value.is_list(documents) { 1 } else { asked.len() };
    (1..=longest).find_map(|n| {
        let (head, tail) = asked.split_at_checked(n)?;
        let key = head.join(".");
        let below = value.at(documents, [key.as_str()])?;
        let mut found = vec![key];
        found.extend(find(losses, below, tail, exact)?);
        Some(found)
    })
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
        let Some(node) = loss.node.get() else { continue };
        let lost = Traced::Whole { step: loss.step, node };
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
