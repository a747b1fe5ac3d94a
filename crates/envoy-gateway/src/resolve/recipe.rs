// SPDX-License-Identifier: Apache-2.0
//! Out: what is done with each candidate of a row, as data that rows share. Not here: deciding it (`rows`).

use hashbrown::HashMap;
use overrule_engine::{Reason, StepId};
use overrule_source::NodeRef;
use smallvec::SmallVec;

use crate::kinds::FieldSet;

/// What is done with a rung.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Deed {
    /// It takes the row.
    Take,
    /// Something took the row before.
    Shadowed,
    /// It gives the fields that are not there yet.
    Fill,
    /// It does nothing.
    Skip,
    /// It is broken: the row fails, and is left to the next one.
    Fail,
    /// It is in force beside the others.
    Beside,
}

/// What is done with a rung, and which of its fields count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RungPlan {
    pub(crate) deed: Deed,
    /// Fields that have an effect.
    pub(crate) keep: FieldSet,
    /// Fields that cannot be translated.
    pub(crate) failed: FieldSet,
    /// Elements that are left out, by number in [`Recipes`].
    pub(crate) left_out: u32,
    /// The step because of which the row fails although the rung takes it.
    pub(crate) fails: Option<StepId>,
    /// Why.
    pub(crate) reason: Reason,
}

/// What is done with a ladder.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Recipe {
    pub(crate) rungs: SmallVec<[RungPlan; 4]>,
    /// The step whose policy says where traffic goes, in a lookup of its own.
    pub(crate) routing: Option<(StepId, NodeRef)>,
}

/// Every recipe of a run, each once. Number 0 is none.
#[derive(Debug, Default)]
pub(crate) struct Recipes {
    list: Vec<Recipe>,
    numbers: HashMap<Recipe, u32>,
    left_out: Vec<Vec<(u8, usize)>>,
    /// Whether policies are merged somewhere: groups on ladders.
    pub(crate) has_units: bool,
}

impl Recipes {
    pub(crate) fn number(&mut self, recipe: Recipe) -> u32 {
        if let Some(known) = self.numbers.get(&recipe) {
            return *known;
        }
        self.list.push(recipe.clone());
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(recipe, number);
        number
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Recipe> {
        self.list.get((number as usize).checked_sub(1)?)
    }

    /// The number of a list of elements that are left out; 0 for none.
    pub(crate) fn leave_out(&mut self, elements: &[(u8, usize)]) -> u32 {
        if elements.is_empty() {
            return 0;
        }
        let known = self.left_out.iter().position(|list| list == elements);
        let place = known.unwrap_or_else(|| {
            self.left_out.push(elements.to_vec());
            self.left_out.len() - 1
        });
        u32::try_from(place + 1).unwrap_or(u32::MAX)
    }

    pub(crate) fn left_out(&self, number: u32) -> &[(u8, usize)] {
        let place = (number as usize).checked_sub(1);
        place.and_then(|place| self.left_out.get(place)).map_or(&[], Vec::as_slice)
    }
}
