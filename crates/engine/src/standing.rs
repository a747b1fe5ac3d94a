// SPDX-License-Identifier: Apache-2.0
//! In: the ladder of each path, for one kind. Out: the same in a fraction of the memory, found in O(1).
//! Not here: which path has which ladder (the families).
//!
//! Targets that follow each other mostly have the same ladder, and many paths are not targets. Two bits for each path
//! say whether it is one, and whether its ladder differs from that of the target before it. Ladders are kept per change.

use crate::{LadderId, PathId};

/// Which ladder a kind has at each path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Standing {
    blocks: Vec<Block>,
    /// The ladder from each change on.
    ladders: Vec<LadderId>,
}

/// As many paths as a word has bits.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    /// Paths that are targets.
    targets: u64,
    /// Targets whose ladder is another than that of the target before.
    changes: u64,
    /// Changes before this block.
    before: u32,
}

impl Standing {
    /// From the ladder of each path, in path order; `NONE` where it is not a target.
    pub(crate) fn new(ladders: &[LadderId]) -> Self {
        let mut made =
            Self { blocks: Vec::with_capacity(ladders.len().div_ceil(64)), ladders: Vec::new() };
        let mut last = LadderId::NONE;
        for part in ladders.chunks(64) {
            let before = u32::try_from(made.ladders.len()).unwrap_or(u32::MAX);
            let mut block = Block { before, ..Block::default() };
            for (bit, ladder) in part.iter().enumerate() {
                if *ladder == LadderId::NONE {
                    continue;
                }
                block.targets |= 1 << bit;
                if *ladder != last {
                    block.changes |= 1 << bit;
                    made.ladders.push(*ladder);
                    last = *ladder;
                }
            }
            made.blocks.push(block);
        }
        made.ladders.shrink_to_fit();
        made
    }

    /// The ladder of a path; `NONE` where it is not a target.
    pub(crate) fn get(&self, path: PathId) -> LadderId {
        let Some(block) = self.blocks.get(path.0 as usize / 64) else { return LadderId::NONE };
        let bit = 1_u64 << (path.0 % 64);
        if block.targets & bit == 0 {
            return LadderId::NONE;
        }
        let changes = block.before + (block.changes & (bit | (bit - 1))).count_ones();
        let last = changes.checked_sub(1).and_then(|i| self.ladders.get(i as usize));
        last.copied().unwrap_or(LadderId::NONE)
    }

    /// Every target with its ladder, in path order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PathId, LadderId)> {
        let mut changes = self.ladders.iter();
        let mut now = LadderId::NONE;
        let blocks = (0..).step_by(64).zip(&self.blocks);
        let targets = blocks.flat_map(|(first, block): (u32, _)| {
            let bits = (0..64).filter(|bit| block.targets >> bit & 1 == 1);
            bits.map(move |bit| (PathId(first + bit), block.changes >> bit & 1 == 1))
        });
        targets.map(move |(path, change)| {
            if change {
                now = changes.next().copied().unwrap_or(LadderId::NONE);
            }
            (path, now)
        })
    }

    /// Every run of targets with one ladder, with their number, in path order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (LadderId, u64)> {
        let mut blocks = self.blocks.iter();
        let mut left = Block::default();
        self.ladders.iter().map(move |ladder| {
            // The target that begins the run, then all before the next change.
            while left.changes == 0 {
                match blocks.next() {
                    Some(next) => left = *next,
                    None => return (*ladder, 0),
                }
            }
            let begin = 1_u64 << left.changes.trailing_zeros();
            left.changes &= !begin;
            left.targets &= !(begin - 1);
            let mut count = 0;
            loop {
                let rest = if left.changes == 0 {
                    u64::MAX
                } else {
                    (1 << left.changes.trailing_zeros()) - 1
                };
                count += u64::from((left.targets & rest).count_ones());
                left.targets &= !rest;
                if left.changes != 0 {
                    break;
                }
                match blocks.next() {
                    Some(next) => left = *next,
                    None => break,
                }
            }
            (*ladder, count)
        })
    }

    /// Bytes held.
    pub(crate) fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<Block>()
            + self.ladders.capacity() * size_of::<LadderId>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ladders by a small generator: runs, gaps, and blocks without a change.
    fn some(seed: u32, length: u32) -> Vec<LadderId> {
        let mut state = seed;
        let mut now = LadderId(1);
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 24 < seed % 200 {
                now = LadderId(state >> 16 & 7);
            }
            if state >> 8 & 7 < seed % 8 { LadderId::NONE } else { now }
        };
        (0..length).map(next).collect()
    }

    #[test]
    fn nothing_is_lost() {
        for (seed, length) in (0..400).flat_map(|seed| [0, 1, 63, 64, 65, 700].map(|l| (seed, l))) {
            let ladders = some(seed, length);
            let standing = Standing::new(&ladders);
            let got: Vec<LadderId> = (0..length).map(|i| standing.get(PathId(i))).collect();
            assert_eq!(got, ladders, "seed {seed}");
            let targets = (0..).map(PathId).zip(ladders).filter(|(_, l)| *l != LadderId::NONE);
            let targets: Vec<(PathId, LadderId)> = targets.collect();
            assert_eq!(standing.iter().collect::<Vec<_>>(), targets, "seed {seed}");
            let runs = targets.chunk_by(|a, b| a.1 == b.1).map(|run| (run[0].1, run.len() as u64));
            assert_eq!(
                standing.runs().collect::<Vec<_>>(),
                runs.collect::<Vec<_>>(),
                "seed {seed}"
            );
            assert_eq!(standing.get(PathId(length)), LadderId::NONE);
        }
    }
}
