// SPDX-License-Identifier: Apache-2.0
//! In: steps and groups. Out: that equal stacks are one ladder, however they were put together. Not here: folding.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

mod lab;

use lab::{Block, Lab};
use overrule_engine::{Group, LadderId, Rung};
use proptest::prelude::*;

const TEN: &str = "---\na: 0\n---\na: 1\n---\na: 2\n---\na: 3\n---\na: 4\n---\na: 5\n";

fn bare(policy: u32) -> Block {
    Block::new(policy, "bare", 0)
}

#[test]
fn the_empty_ladder_is_always_there() {
    let mut lab = Lab::new(TEN);
    assert!(lab.ladders.is_empty());
    assert_eq!(lab.ladders.len(), 1);
    assert_eq!(lab.group(0, &[]), LadderId::EMPTY);
    assert!(lab.ladders.get(LadderId::NONE).rungs.is_empty(), "an unknown id has no rungs");
    assert!(lab.ladders.get_step(overrule_engine::StepId(9)).is_none());
}

#[test]
fn equal_stacks_are_one_ladder() {
    let mut lab = Lab::new(TEN);
    let first = lab.group(7, &[bare(0), bare(1)]);
    assert_eq!(lab.group(7, &[bare(0), bare(1)]), first);
    assert_ne!(lab.group(8, &[bare(0), bare(1)]), first, "the spec is part of it");
    assert_ne!(lab.group(7, &[bare(1), bare(0)]), first, "so is the order");
    let other_mode = Block { mode: 1, ..bare(1) };
    assert_ne!(lab.group(7, &[bare(0), other_mode]), first, "and what a step means");
    assert_eq!(lab.ladders.len(), 5);
}

#[test]
fn extending_is_the_same_as_building_at_once() {
    let mut lab = Lab::new(TEN);
    let (top, below) = (lab.group(7, &[bare(0), bare(1)]), lab.group(7, &[bare(2)]));
    let joined = lab.ladders.extend(top, below);
    assert_eq!(joined, lab.group(7, &[bare(0), bare(1), bare(2)]));
    assert_eq!(lab.ladders.extend(top, below), joined, "remembered");
    assert_eq!(lab.ladders.extend(top, LadderId::EMPTY), top);
    assert_eq!(lab.ladders.extend(LadderId::EMPTY, below), below);
    let size = lab.ladders.len();
    lab.ladders.extend(top, below);
    assert_eq!(lab.ladders.len(), size, "nothing new");
}

#[test]
fn steps_open_groups_in_order() {
    let mut lab = Lab::new(TEN);
    let inner = lab.group(1, &[bare(1), bare(2)]);
    let nested = lab.groups(2, &[inner]);
    let [zero, three] = [0, 3].map(|p| Rung::Step(lab.step(bare(p))));
    let rungs = [zero, Rung::Group(nested), three].into_iter().collect();
    let ladder = lab.ladders.group(Group { spec: 0, extra: 0, rungs });
    let policies: Vec<u32> = lab.ladders.steps(ladder).iter().map(|s| lab.policy(*s)).collect();
    assert_eq!(policies, [0, 1, 2, 3]);
}

proptest! {
    /// However a stack is cut into pieces, the ladder is the same, and there is one per distinct stack.
    #[test]
    fn interning_is_a_bijection(stacks in prop::collection::vec((prop::collection::vec(0_u32..6, 0..6), 0_usize..6), 1..30)) {
        let mut lab = Lab::new(TEN);
        let mut known: std::collections::BTreeMap<Vec<u32>, LadderId> = std::collections::BTreeMap::new();
        for (stack, cut) in stacks {
            let blocks: Vec<Block> = stack.iter().map(|p| bare(*p)).collect();
            let (top, below) = blocks.split_at(cut.min(blocks.len()));
            let (top, below) = (lab.group(0, top), lab.group(0, below));
            let id = lab.ladders.extend(top, below);
            let rungs: Vec<u32> = lab.ladders.steps(id).iter().map(|s| lab.policy(*s)).collect();
            prop_assert_eq!(&rungs, &stack);
            prop_assert_eq!(*known.entry(stack).or_insert(id), id);
        }
        let mut ids: Vec<LadderId> = known.values().copied().collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), known.len());
    }
}
