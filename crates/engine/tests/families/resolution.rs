// SPDX-License-Identifier: Apache-2.0
//! What all families share: a resolution folds each distinct ladder once and counts outcomes over paths.

use overrule_engine::{
    LadderId, Level, MergePlan, NewKind, Node, NodeId, Outcome, PolicyId, Rank, RankKey, RankKeys,
    Resolution, ResolutionBuilder, Rung, Topology,
};
use overrule_model::{ObjectId, Sym};

use crate::gep713::{ATOMIC_OVERRIDES, Gep713, PATCH_DEFAULTS};
use crate::lab::{Block, Lab, WHY};

static KEYS: RankKeys = &[RankKey::LEVEL];

/// A root with `leaves` below it; policy 0 on the root, policy 1 on every even leaf, policy 2 nowhere.
fn resolve(leaves: u32) -> Resolution {
    let lab = Lab::new("{a: 1, b: 1}\n---\n{a: 2}\n---\n{c: 3}\n");
    let mut nodes = Topology::new(&["root", "leaf"]);
    let node = |level| Node {
        kind: Sym::EMPTY,
        namespace: Sym::EMPTY,
        name: Sym::EMPTY,
        section: Sym::EMPTY,
        object: None,
        level: Level(level),
        at: None,
    };
    let mut builder = ResolutionBuilder::default();
    let new = NewKind {
        group: Sym::EMPTY,
        kind: Sym::EMPTY,
        family: "test",
        profile: "test",
        keys: KEYS,
        assumed: false,
        covers: None,
        implicit: false,
    };
    let kind = builder.kind(new);
    for policy in 0..3 {
        assert_eq!(builder.policy(ObjectId(policy), kind), PolicyId(policy));
    }
    let span = lab.documents.root(lab.documents.ids().next().expect("document")).span();
    let mut ladder_of = |policy: u32, level: u8, mode: u16| {
        let b = Block { level, ..Block::new(policy, "bare", mode) };
        let step = overrule_engine::Step {
            policy: PolicyId(policy),
            entry: None,
            block: "bare",
            level,
            value: lab.node(policy, &[]),
            mode: b.mode,
            extra: 0,
        };
        let step = builder.step(step, Rank::new([i64::from(level)]));
        builder.ladders.group(overrule_engine::Group {
            extra: 0,
            spec: 0,
            rungs: [Rung::Step(step)].into_iter().collect(),
        })
    };
    let (top, below) = (ladder_of(0, 0, PATCH_DEFAULTS), ladder_of(1, 1, ATOMIC_OVERRIDES));
    let root = nodes.add(node(0));
    let root_path = builder.paths.add(None, root);
    let mut ladders = vec![LadderId::NONE];
    for i in 0..leaves {
        let leaf = nodes.add(node(1));
        builder.paths.add(Some(root_path), leaf);
        let here = if i % 2 == 0 { below } else { LadderId::EMPTY };
        ladders.push(builder.ladders.extend(top, here));
        if i % 2 == 0 {
            builder.attach(overrule_engine::Attachment {
                policy: PolicyId(1),
                reference: i,
                node: leaf,
                at: span,
            });
        }
    }
    builder.attach(overrule_engine::Attachment {
        policy: PolicyId(0),
        reference: 0,
        node: NodeId(0),
        at: span,
    });
    builder.reject(overrule_engine::Rejection {
        policy: PolicyId(2),
        reference: 0,
        reason: &WHY,
        at: span,
    });
    builder.set_ladders(kind, &ladders);
    builder.finish(&lab.documents, &Gep713 { plan: MergePlan::merge_patch() })
}

#[test]
fn a_thousand_paths_two_folds() {
    let resolution = resolve(1000);
    assert_eq!(resolution.folds(), 2);
    let kind = resolution.kinds().next().expect("kind").0;
    assert_eq!(resolution.contexts(kind).count(), 1000);
    let mut distinct: Vec<LadderId> = resolution.contexts(kind).map(|(_, ladder)| ladder).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len() as u64, resolution.folds());
    // At most eight bytes of path and four of ladder, whatever the stack, and a few bits to find them by.
    assert!(resolution.path_memory() <= 1001 * 13, "{}", resolution.path_memory());
}

#[test]
fn outcomes_are_counted_over_paths() {
    let resolution = resolve(10);
    let tally = |p| resolution.tally(PolicyId(p));
    assert_eq!((tally(0).in_force, tally(0).partly, tally(0).paths()), (5, 5, 10));
    assert_eq!((tally(1).in_force, tally(1).paths()), (5, 5));
    assert_eq!(tally(2).paths(), 0);
    let outcomes = [0, 1, 2].map(|p| resolution.outcome(PolicyId(p)));
    assert_eq!(outcomes, [Outcome::Partly, Outcome::InForce, Outcome::Rejected]);
    let by_attachment = resolution.attachment_tallies();
    assert_eq!(by_attachment.len(), 6);
    assert_eq!(by_attachment[0].paths(), 10);
    assert!(by_attachment[1..].iter().all(|t| t.paths() == 1));
    assert_eq!(resolution.attachments_of(PolicyId(1)).count(), 5);
    assert_eq!(resolution.rejections_of(PolicyId(2)).count(), 1);
    assert_eq!(resolution.policy_of(ObjectId(1)), Some(PolicyId(1)));
}

#[test]
fn no_paths_no_folds() {
    let resolution = resolve(0);
    assert_eq!(resolution.folds(), 0);
    assert_eq!(
        resolution.outcome(PolicyId(0)),
        Outcome::Inert,
        "it landed, but nothing passes there"
    );
}
