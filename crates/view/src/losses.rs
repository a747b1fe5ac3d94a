// SPDX-License-Identifier: Apache-2.0
//! In: what a fold recorded as lost. Out: the same for the model: who is in force there now, by which rule.
//! Not here: deciding that it lost.

use std::collections::{BTreeMap, BTreeSet};

use overrule_engine::{
    Effective, Fate, FoldAction, FoldEntry, Loss, PolicyId, Reason, Rung, StepId, Traced,
};
use smallvec::SmallVec;

use crate::field::{is_within, pointer_segments};
use crate::{Scene, ScenePart, v1, value};

/// Reads the losses of one ladder.
#[derive(Clone, Copy)]
pub(crate) struct Losses<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) part: &'a ScenePart<'a>,
    pub(crate) effective: &'a Effective,
}

/// The lost parts of one effective policy, by what became of them.
#[derive(Default)]
pub(crate) struct Sorted {
    pub(crate) shadowed: Vec<v1::Lost>,
    pub(crate) masked: Vec<v1::Lost>,
    pub(crate) removed: Vec<v1::Lost>,
    pub(crate) skipped: Vec<v1::Lost>,
}

impl Losses<'_> {
    /// What was done with each rung.
    pub(crate) fn log(&self) -> impl Iterator<Item = FoldEntry> {
        self.effective.log(&self.part.resolution.ladders)
    }

    /// Everything that lost, by position on the ladder, then by pointer.
    pub(crate) fn sorted(&self, steps: &[StepId]) -> Sorted {
        let mut sorted = Sorted::default();
        let held = self.effective.value.as_ref().map(Traced::steps).unwrap_or_default();
        let mut by_step: Vec<(StepId, Vec<&Loss>)> =
            steps.iter().map(|s| (*s, Vec::new())).collect();
        by_step.sort_by_key(|(step, _)| *step);
        by_step.dedup_by_key(|(step, _)| *step);
        for loss in &self.effective.losses {
            if let Ok(i) = by_step.binary_search_by_key(&loss.step, |(step, _)| *step)
                && let Some((_, list)) = by_step.get_mut(i)
            {
                list.push(loss);
            }
        }
        let position = |step: StepId| steps.iter().position(|s| *s == step);
        by_step.sort_by_key(|(step, _)| position(*step));
        let mut shares: BTreeMap<Option<PolicyId>, u32> = BTreeMap::new();
        for (step, _) in &by_step {
            *shares.entry(self.part.policy_of(*step)).or_default() += 1;
        }
        for (step, losses) in by_step {
            let alone = shares.get(&self.part.policy_of(step)) == Some(&1);
            // Where rules are the unit, each tells its own end.
            let may_collapse = self.part.words.rule_patterns().is_empty() && !held.contains(&step);
            let whole = may_collapse.then(|| self.whole(step, &losses, alone)).flatten();
            match whole {
                Some(lost) => sorted.push(Fate::Shadowed, lost),
                None => self.parts(&losses, &mut sorted),
            }
            self.skip(step, &losses, &mut sorted);
        }
        sorted
    }

    fn parts(&self, losses: &[&Loss], sorted: &mut Sorted) {
        let mut losses = losses.to_vec();
        losses.sort_by(|a, b| a.pointer.cmp(&b.pointer));
        for loss in losses {
            let value = match loss.pointer.is_empty() {
                true => None,
                false => loss.node.get().map(|n| value::of_node(self.scene.documents, n)),
            };
            sorted.push(
                loss.fate,
                v1::Lost {
                    policy: self.part.step_name(self.scene, loss.step),
                    block: self.block(loss.step),
                    pointer: loss.pointer.to_string(),
                    value,
                    by: self.names(&self.by(loss)),
                    reason: loss.reason.id,
                    because: loss.reason.sentence,
                    at: loss.node.get().map(|n| self.scene.place_of(n)),
                },
            );
        }
    }

    /// A step that lost all it had in one go, as one entry. A family may have taken its value apart before (the body
    /// of a policy without its references), so that the fold recorded it member by member. A policy with several steps
    /// did not lose as a whole: its blocks are told by their parts, unless all parts went to the same.
    fn whole(&self, step: StepId, losses: &[&Loss], alone: bool) -> Option<v1::Lost> {
        let first = losses.first()?;
        let same = |l: &&Loss| l.reason == first.reason && l.fate == Fate::Shadowed;
        if !losses.iter().all(same) || !self.at_once(step, first.reason) {
            return None;
        }
        let mut by: SmallVec<[StepId; 2]>;
        if alone {
            by = self.in_force("");
            by.retain(|s| *s != step);
            if by.is_empty() {
                by.extend(losses.iter().flat_map(|l| &l.by).copied().filter(|s| *s != step));
            }
        } else {
            by = self.by(first);
            if losses.iter().any(|l| self.by(l) != by) {
                return None;
            }
        }
        let node = self.part.resolution.ladders.get_step(step).map(|s| s.value);
        Some(v1::Lost {
            policy: self.part.step_name(self.scene, step),
            block: self.block(step),
            pointer: String::new(),
            value: None,
            by: self.names(&by),
            reason: first.reason.id,
            because: first.reason.sentence,
            at: node.map(|n| self.scene.place_of(n)),
        })
    }

    /// Whether the log says that a step was not let in, or that all that was held when it was in gave way.
    fn at_once(&self, step: StepId, reason: Reason) -> bool {
        let mut came = false;
        for verdict in self.log() {
            if verdict.rung == Rung::Step(step) {
                came = true;
                if verdict.done == FoldAction::Kept && verdict.reason == reason {
                    return true;
                }
            } else if came && verdict.done == FoldAction::Replaced && verdict.reason == reason {
                return true;
            }
        }
        false
    }

    /// A step that a guard kept out, unless its losses say so already.
    fn skip(&self, step: StepId, losses: &[&Loss], sorted: &mut Sorted) {
        let mut verdicts = self.log().filter(|v| v.rung == Rung::Step(step));
        let verdict = verdicts.find(|v| v.done == FoldAction::Skipped);
        let Some(verdict) = verdict else { return };
        if losses.iter().any(|l| l.fate == Fate::Skipped) {
            return;
        }
        let node = self.part.resolution.ladders.get_step(step).map(|s| s.value);
        sorted.push(
            Fate::Skipped,
            v1::Lost {
                policy: self.part.step_name(self.scene, step),
                block: self.block(step),
                pointer: String::new(),
                value: None,
                by: Vec::new(),
                reason: verdict.reason.id,
                because: verdict.reason.sentence,
                at: node.map(|n| self.scene.place_of(n)),
            },
        );
    }

    /// The steps in force where something lost: at its place, below it, or above it; if there are none any more,
    /// those that took its place when it happened, or, where rules are the unit, everything in force. What was removed
    /// was removed by a list, whatever stands there now.
    pub(crate) fn by(&self, loss: &Loss) -> SmallVec<[StepId; 2]> {
        if matches!(loss.fate, Fate::Removed | Fate::Masked) {
            return SmallVec::from_slice(&loss.by);
        }
        let mut now = self.in_force(&loss.pointer);
        now.retain(|s| *s != loss.step);
        if now.is_empty() && !self.part.words.rule_patterns().is_empty() {
            return self.in_force("");
        }
        if now.is_empty() {
            now = loss.by.iter().copied().filter(|s| *s != loss.step).collect();
        }
        now
    }

    /// Whether everything a step has in the value at a pointer is without effect.
    pub(crate) fn all_masked(&self, step: StepId, pointer: &str, lost: &[&Loss]) -> bool {
        let masked = || lost.iter().filter(|l| l.fate == Fate::Masked);
        let Some(value) = self.effective.value.as_ref().filter(|_| masked().next().is_some())
        else {
            return false;
        };
        let mut all = true;
        value.parts(self.scene.documents, &mut |at, of, _| {
            let near = is_within(at, pointer) || is_within(pointer, at);
            if of == step && near && !masked().any(|l| is_within(at, &l.pointer)) {
                all = false;
            }
        });
        all
    }

    /// The steps in force at a pointer, below it, or (where one step wrote more than is asked for) above it.
    pub(crate) fn in_force(&self, pointer: &str) -> SmallVec<[StepId; 2]> {
        let Some(value) = &self.effective.value else { return SmallVec::new() };
        let documents = self.scene.documents;
        let mut value = value.clone();
        for segment in pointer_segments(pointer) {
            let below = value.at(documents, [&*segment]);
            match (below, &value) {
                (Some(below), _) => value = below,
                (None, Traced::Whole { step, node }) => {
                    // A mapping that lacks the member says nothing about it; a scalar or list took its place.
                    let is_map = documents.view(*node).kind() == overrule_source::NodeKind::Map;
                    return if is_map { SmallVec::new() } else { SmallVec::from_slice(&[*step]) };
                }
                (None, Traced::Implied { step, .. }) => return SmallVec::from_slice(&[*step]),
                (None, Traced::Map(_)) => return SmallVec::new(),
                (None, Traced::List(_)) => return value.steps(),
            }
        }
        value.steps()
    }

    /// Names of the policies of steps, sorted, each once.
    pub(crate) fn names(&self, steps: &[StepId]) -> Vec<String> {
        let names: BTreeSet<String> =
            steps.iter().map(|s| self.part.step_name(self.scene, *s)).collect();
        names.into_iter().collect()
    }

    fn block(&self, step: StepId) -> v1::Block {
        self.part.block(step)
    }
}

impl Sorted {
    fn push(&mut self, fate: Fate, lost: v1::Lost) {
        let list = match fate {
            Fate::Shadowed => &mut self.shadowed,
            Fate::Masked => &mut self.masked,
            Fate::Removed => &mut self.removed,
            Fate::Skipped => &mut self.skipped,
        };
        list.push(lost);
    }
}
