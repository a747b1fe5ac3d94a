// SPDX-License-Identifier: Apache-2.0
//! In: parts that lost while a ladder was folded. Out: [`Losses`], all of one ladder, in the order they happened.
//! Not here: why something loses (`merge.rs` and the families).
//!
//! A fleet has hundreds of thousands of these. Thousands of ladders begin alike, and what is lost on a beginning is lost
//! on all of them: it is kept once.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use hashbrown::HashSet;
use smallvec::SmallVec;

use crate::{Fate, Place, Reason, SharedText, StepId};

/// A part of a contribution that is not in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// Whose it was.
    pub step: StepId,
    /// Where in the value, as a JSON pointer; empty for all of it.
    pub pointer: SharedText,
    /// Where it is written.
    pub node: Place,
    /// Its outcome.
    pub fate: Fate,
    /// The steps whose value took its place when it happened.
    pub by: Steps,
    /// By which rule.
    pub reason: Reason,
}

/// A few steps; nearly always one, which needs no memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps(Few);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Few {
    One(StepId),
    Many(Arc<[StepId]>),
}

impl Default for Steps {
    fn default() -> Self {
        Self(Few::Many(Arc::default()))
    }
}

impl Deref for Steps {
    type Target = [StepId];

    fn deref(&self) -> &[StepId] {
        match &self.0 {
            Few::One(step) => std::slice::from_ref(step),
            Few::Many(steps) => steps,
        }
    }
}

impl From<&[StepId]> for Steps {
    fn from(steps: &[StepId]) -> Self {
        Self(match steps {
            [step] => Few::One(*step),
            steps => Few::Many(steps.into()),
        })
    }
}

impl FromIterator<StepId> for Steps {
    fn from_iter<I: IntoIterator<Item = StepId>>(steps: I) -> Self {
        let steps: SmallVec<[StepId; 4]> = steps.into_iter().collect();
        steps.as_slice().into()
    }
}

impl<'a> IntoIterator for &'a Steps {
    type Item = &'a StepId;
    type IntoIter = std::slice::Iter<'a, StepId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Everything that lost on a ladder: first on what it begins with, shared by all that begin with it, then on its own.
#[derive(Clone, Default)]
pub struct Losses {
    before: Option<Arc<Losses>>,
    own: Vec<Loss>,
}

/// Which shared losses somebody has met who looks at many ladders. Good while all of these are there.
#[derive(Debug, Default)]
pub struct Met(HashSet<usize>);

/// Iterator over [`Losses`], in the order they happened.
pub type LossIter<'a> = std::iter::Flatten<std::iter::Rev<smallvec::IntoIter<[&'a [Loss]; 4]>>>;

impl Losses {
    /// All of them.
    pub fn iter(&self) -> LossIter<'_> {
        let mut parts: SmallVec<[&[Loss]; 4]> = SmallVec::new();
        let mut next = Some(self);
        while let Some(at) = next {
            parts.push(&at.own);
            next = at.before.as_deref();
        }
        parts.into_iter().rev().flatten()
    }

    /// Those that were not met on another ladder: its own, and what it begins with if that is met for the first time.
    pub fn unmet<'a>(&'a self, met: &mut Met) -> LossIter<'a> {
        let mut parts: SmallVec<[&[Loss]; 4]> = SmallVec::new();
        parts.push(&self.own);
        let mut next = self.before.as_ref();
        while let Some(at) = next.filter(|at| met.0.insert(Arc::as_ptr(at) as usize)) {
            parts.push(&at.own);
            next = at.before.as_ref();
        }
        parts.into_iter().rev().flatten()
    }

    /// Whether nothing lost.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.own.len() + self.before.as_ref().map_or(0, |before| before.len())
    }

    /// Adds one.
    pub fn push(&mut self, loss: Loss) {
        self.own.push(loss);
    }

    /// Those that are not shared.
    pub(crate) fn own(&mut self) -> &mut Vec<Loss> {
        &mut self.own
    }

    /// The same with none of its own, so that ladders can go on from here.
    pub(crate) fn shared(mut self) -> Self {
        if self.own.is_empty() {
            return self;
        }
        self.own.shrink_to_fit();
        Self { before: Some(Arc::new(self)), own: Vec::new() }
    }

    /// Goes on from others, of which all are shared. These must be empty; their room is used.
    pub(crate) fn go_on(&mut self, from: &Self) {
        self.before.clone_from(&from.before);
    }

    /// Gives its own a list of just their size; gives back the room they had.
    pub(crate) fn settle(&mut self) -> Self {
        let kept = self.own.drain(..).collect();
        Self { before: None, own: std::mem::replace(&mut self.own, kept) }
    }
}

impl Extend<Loss> for Losses {
    fn extend<I: IntoIterator<Item = Loss>>(&mut self, losses: I) {
        self.own.extend(losses);
    }
}

impl<'a> IntoIterator for &'a Losses {
    type Item = &'a Loss;
    type IntoIter = LossIter<'a>;

    fn into_iter(self) -> LossIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Losses {
    /// What is shared does not show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl PartialEq for Losses {
    /// What is shared does not count.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
