// SPDX-License-Identifier: Apache-2.0
//! In: the log of a fold. Out: the merge steps in the order of the ladder, each with the positions it met, and who wins
//! among them. Not here: the rungs (`explain.rs`), words (`explain_text.rs`).

use std::collections::BTreeMap;

use overrule_engine::{Effective, FoldAction, FoldEntry, LadderId, Ladders, Prefer, Rung, StepId};

use crate::{Scene, ScenePart, v1};

/// What is folded: a ladder, its steps, and the group that each of them is in.
#[derive(Clone, Copy)]
pub(crate) struct Folded<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) part: &'a ScenePart<'a>,
    pub(crate) ladder: LadderId,
    pub(crate) steps: &'a [StepId],
    pub(crate) homes: &'a [LadderId],
}

impl Folded<'_> {
    /// What was done, without what goes without saying: that the first of a group met nothing in it. A group comes before
    /// what is in it.
    pub(crate) fn log(&self, effective: &Effective) -> Vec<v1::Step> {
        let ladders = &self.part.resolution.ladders;
        let parents = parents(ladders, self.ladder);
        // The positions in force in each group so far.
        let mut held: BTreeMap<LadderId, Vec<usize>> = BTreeMap::new();
        let mut told: Vec<v1::Step> = Vec::new();
        for entry in effective.log(ladders) {
            let parent = parents.iter().find(|(rung, _)| *rung == entry.rung);
            let parent = parent.map_or(self.ladder, |(_, parent)| *parent);
            let held = held.entry(parent).or_default();
            let mut step = self.step(&entry);
            step.with = held.clone();
            step.with.sort_unstable();
            match entry.done {
                FoldAction::Took | FoldAction::Replaced => held.clone_from(&step.rungs),
                FoldAction::Merged(_) | FoldAction::Beside => held.extend(&step.rungs),
                FoldAction::Kept
                | FoldAction::Passed
                | FoldAction::Skipped
                | FoldAction::Poisoned => {}
            }
            let inner = match entry.rung {
                Rung::Group(_) => true,
                Rung::Step(id) => {
                    let mut of_step = self.steps.iter().zip(self.homes).filter(|(s, _)| **s == id);
                    !told.is_empty() && of_step.any(|(_, home)| *home != self.ladder)
                }
            };
            if !(inner && entry.done == FoldAction::Took) {
                told.push(step);
            }
        }
        told.sort_by_key(|step| (step.rungs.iter().min().copied(), usize::MAX - step.rungs.len()));
        told
    }

    fn step(&self, entry: &FoldEntry) -> v1::Step {
        let steps = match entry.rung {
            Rung::Step(step) => smallvec::smallvec![step],
            Rung::Group(group) => self.part.resolution.ladders.steps(group),
        };
        let position = |id: &StepId| self.steps.iter().position(|s| s == id).map_or(0, |i| i + 1);
        let (done, preferred) = match entry.done {
            FoldAction::Took => ("took", None),
            FoldAction::Replaced => ("replaced", None),
            FoldAction::Merged(Prefer::Held) => ("merged", Some("held")),
            FoldAction::Merged(Prefer::Incoming) => ("merged", Some("incoming")),
            FoldAction::Kept => ("kept", None),
            FoldAction::Beside => ("beside", None),
            FoldAction::Passed => ("passed", None),
            FoldAction::Skipped => ("skipped", None),
            FoldAction::Poisoned => ("poisoned", None),
        };
        v1::Step {
            rungs: steps.iter().map(position).collect(),
            policies: steps.iter().map(|s| self.part.step_name(self.scene, *s)).collect(),
            done,
            with: Vec::new(),
            preferred,
            reason: entry.reason.id,
            because: entry.reason.sentence,
        }
    }
}

/// The group that each rung of a ladder is in.
fn parents(ladders: &Ladders, ladder: LadderId) -> Vec<(Rung, LadderId)> {
    let mut found = Vec::new();
    let mut open = vec![ladder];
    while let Some(group) = open.pop() {
        for rung in &ladders.get(group).rungs {
            found.push((*rung, group));
            if let Rung::Group(inner) = rung {
                open.push(*inner);
            }
        }
    }
    found
}

/// Who wins wherever two of the ladder meet: the first one, the last one, or neither always.
pub(crate) fn winner(steps: &[v1::Step]) -> Option<&'static str> {
    let (mut first, mut last) = (0, 0);
    for step in steps {
        let own = match (step.done, step.preferred) {
            ("replaced", _) | ("merged", Some("incoming")) => true,
            ("kept", _) | ("merged", _) => false,
            _ => continue,
        };
        let (rungs, with) = (step.rungs.iter().min(), step.with.iter().min());
        match rungs.zip(with) {
            // Whoever comes first on the ladder wins, or whoever comes last.
            Some((rung, with)) if (rung < with) == own => first += 1,
            Some(_) => last += 1,
            None => {}
        }
    }
    match (first, last) {
        (1.., 0) => Some("the first one wins"),
        (0, 1..) => Some("the last one wins"),
        _ => None,
    }
}
