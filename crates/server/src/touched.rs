// SPDX-License-Identifier: Apache-2.0
//! In: which ladders each version touched. Out: which ones may differ between two versions. Not here: comparing them.
//!
//! Ids mean the same in all states of a lineage. Whenever everything is resolved, another lineage begins.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use overrule::engine::LadderId;

/// Versions that are remembered. Who is further behind compares everything.
const STEPS: usize = 64;
/// Ladders that are remembered in all.
const LADDERS: usize = 1 << 20;

/// A ladder, and the place of its answer among all answers.
type Ladder = (usize, LadderId);

/// The latest versions of the present lineage.
#[derive(Debug, Default)]
pub struct TouchedLog(Mutex<Lineage>);

#[derive(Debug, Default)]
struct Lineage {
    number: u64,
    steps: VecDeque<Step>,
    ladders: usize,
}

/// What changed from one version to the next.
#[derive(Debug)]
struct Step {
    from: u64,
    to: u64,
    ladders: Vec<Ladder>,
}

impl TouchedLog {
    fn with<T>(&self, work: impl FnOnce(&mut Lineage) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins another lineage, and gives its number.
    pub fn begin(&self) -> u64 {
        self.with(|lineage| {
            *lineage = Lineage { number: lineage.number + 1, ..Lineage::default() };
            lineage.number
        })
    }

    /// Adds what a version of a lineage touched.
    pub fn add(&self, lineage: u64, from: u64, to: u64, ladders: Vec<Ladder>) {
        self.with(|known| {
            if known.number != lineage {
                return;
            }
            known.ladders += ladders.len();
            known.steps.push_back(Step { from, to, ladders });
            while known.steps.len() > STEPS || known.ladders > LADDERS {
                let Some(gone) = known.steps.pop_front() else { break };
                known.ladders -= gone.ladders.len();
            }
        })
    }

    /// Everything that was touched between two versions of a lineage, each ladder once. None if that is not known.
    pub fn between(&self, lineage: u64, from: u64, to: u64) -> Option<Vec<Ladder>> {
        self.with(|known| {
            if known.number != lineage {
                return None;
            }
            let (mut at, mut touched) = (from, BTreeSet::new());
            for step in known.steps.iter().skip_while(|step| step.from != from) {
                if at == to {
                    break;
                }
                if step.from != at {
                    return None;
                }
                touched.extend(step.ladders.iter().copied());
                at = step.to;
            }
            (at == to).then(|| touched.into_iter().collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use overrule::engine::LadderId;

    use super::{STEPS, TouchedLog};

    #[test]
    fn steps_add_up_within_a_lineage() {
        let steps = TouchedLog::default();
        let (one, ladder) = (steps.begin(), |n| (0, LadderId(n)));
        steps.add(one, 1, 2, vec![ladder(7), ladder(3)]);
        steps.add(one, 2, 5, vec![ladder(7)]);
        steps.add(one, 5, 6, vec![ladder(9)]);
        assert_eq!(steps.between(one, 1, 5), Some(vec![ladder(3), ladder(7)]));
        assert_eq!(steps.between(one, 2, 6), Some(vec![ladder(7), ladder(9)]));
        assert_eq!(steps.between(one, 5, 5), Some(Vec::new()));
        assert_eq!(steps.between(one, 3, 6), None, "there is no such version");
        assert_eq!(steps.between(one, 1, 4), None, "nor such a one");
        assert_eq!(steps.between(one, 6, 1), None, "nor back");
        let two = steps.begin();
        assert_eq!(steps.between(one, 1, 5), None);
        steps.add(one, 6, 7, Vec::new());
        assert_eq!(steps.between(two, 6, 7), None, "it is of the one before");
        for n in 0..=STEPS as u64 {
            steps.add(two, n, n + 1, Vec::new());
        }
        assert_eq!(steps.between(two, 0, 2), None, "it is forgotten");
        assert_eq!(steps.between(two, 1, 2), Some(Vec::new()));
    }
}
