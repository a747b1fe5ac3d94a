// SPDX-License-Identifier: Apache-2.0
//! What a family keeps of each step while it folds: of all steps, or of those on a few ladders.

use hashbrown::HashMap;

use super::{NewSteps, Resolution};
use crate::{Step, StepId};

/// Something of each step.
#[derive(Debug)]
pub enum PerStep<T> {
    /// Of every step, by number.
    All(Vec<T>),
    /// Of those that are folded again.
    Some(HashMap<StepId, T>),
}

impl<T> PerStep<T> {
    /// Of the steps that must be known to fold again what has these new ones.
    pub fn of(
        before: &Resolution,
        new: &NewSteps,
        make: impl Fn(StepId, &Step) -> Option<T>,
    ) -> Self {
        let changed: HashMap<StepId, &Step> = new.steps.iter().map(|(id, s)| (*id, s)).collect();
        let mut made = HashMap::new();
        for id in before.steps_with(new) {
            let step = changed.get(&id).copied().or_else(|| before.ladders.get_step(id));
            if let Some(item) = step.and_then(|step| make(id, step)) {
                made.insert(id, item);
            }
        }
        Self::Some(made)
    }

    /// That of one step.
    pub fn get(&self, step: StepId) -> Option<&T> {
        match self {
            Self::All(items) => items.get(step.0 as usize),
            Self::Some(items) => items.get(&step),
        }
    }
}
