// SPDX-License-Identifier: Apache-2.0
//! In: answers about single routes, change by change. Out: the newest of each, in versions that share what they can.
//! Not here: making them.

use std::sync::Arc;

use super::facts::Key;
use super::links::PieceId;
use crate::Analysis;

/// What a change says about a route: the answer, or that only the next whole resolution has one.
#[derive(Debug, Clone)]
pub(super) struct Near {
    pub(super) key: Key,
    pub(super) version: u64,
    pub(super) analysis: Option<Arc<Analysis>>,
    /// Texts with other words than in the whole resolution, if the answer is that resolution with those.
    pub(super) words: Option<Arc<[PieceId]>>,
}

/// The answers since a whole resolution. A copy costs one step for each doubling of their number, so that publishing a
/// change does not go through those before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Nears {
    /// Runs by key, each more than twice as long as the next; the last one is the newest.
    runs: Vec<Arc<Vec<Near>>>,
}

impl Nears {
    /// The newest answer.
    pub(super) fn get(&self, key: Key) -> Option<&Near> {
        let in_run = |run: &'_ Arc<Vec<Near>>| run.binary_search_by_key(&key, |near| near.key).ok();
        let found = self.runs.iter().rev().find_map(|run| Some((run, in_run(run)?)));
        found.and_then(|(run, at)| run.get(at))
    }

    /// Adds the answers of a change; of those about one route the last counts.
    pub(super) fn add(&mut self, new: Vec<Near>) {
        if new.is_empty() {
            return;
        }
        let mut newest = by_key(new);
        while self.runs.last().is_some_and(|run| run.len() <= 2 * newest.len()) {
            let Some(run) = self.runs.pop() else { break };
            newest = by_key(run.iter().cloned().chain(newest).collect());
        }
        self.runs.push(Arc::new(newest));
    }

    /// Those of changes after a version.
    pub(super) fn since(&self, version: u64) -> Self {
        let mut kept = Self::default();
        let all = self.runs.iter().flat_map(|run| run.iter());
        kept.add(all.filter(|near| near.version > version).cloned().collect());
        kept
    }
}

/// One list by key; of those with one key the last counts.
fn by_key(mut all: Vec<Near>) -> Vec<Near> {
    // The last of equal ones comes first, and is the one that stays.
    all.reverse();
    all.sort_by_key(|near| near.key);
    all.dedup_by_key(|near| near.key);
    all
}

#[cfg(test)]
mod tests {
    use super::{Near, Nears};

    #[test]
    fn the_newest_counts_however_many_there_are() {
        let mut nears = Nears::default();
        for version in 0..1_000 {
            let near = |key| Near { key, version, analysis: None, words: None };
            nears.add(vec![near(version % 7), near(1_000 + version)]);
            assert!(nears.runs.len() < 12, "{} runs", nears.runs.len());
        }
        assert_eq!(nears.get(999 % 7).map(|n| n.version), Some(999));
        assert_eq!(nears.get(1_003).map(|n| n.version), Some(3));
        let late = nears.since(995);
        assert!(late.get(1_995).is_none() && late.get(1_996).is_some());
        assert_eq!(late.runs.iter().map(|run| run.len()).sum::<usize>(), 4 + 4);
    }
}
