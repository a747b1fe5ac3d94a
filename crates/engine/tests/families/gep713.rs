// SPDX-License-Identifier: Apache-2.0
//! GEP-713: one flat ladder, folded from the top; state = the strategy of the rung above.

use overrule_engine::{
    Action, Algebra, Combine, Fold, FoldAction, GuardCheck, MergePlan, Merger, Op, Outcome, Prefer,
    Traced, Turn,
};
use serde_json::json;

use crate::lab::{Block, Lab, WHY, at};

pub const ATOMIC_DEFAULTS: u16 = 0;
pub const ATOMIC_OVERRIDES: u16 = 1;
pub const PATCH_DEFAULTS: u16 = 2;
pub const PATCH_OVERRIDES: u16 = 3;
pub const NONE: u16 = 4;

pub struct Gep713 {
    pub plan: MergePlan,
}

impl Combine for Gep713 {
    fn combine(
        &self,
        _: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        merger.atomic(held, incoming)
    }
}

impl Algebra for Gep713 {
    type State = Option<u16>;

    fn decide(
        &self,
        above: &mut Option<u16>,
        turn: &Turn<'_>,
        _: Option<&Traced>,
        _: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let step = turn.step.map(|(_, s)| s);
        let established = *above;
        if established != Some(NONE) {
            *above = step.map(|s| s.mode);
        }
        let op = match established {
            None | Some(ATOMIC_DEFAULTS) => Op::ReplaceAll,
            Some(PATCH_DEFAULTS) => Op::Merge(Prefer::Incoming),
            Some(PATCH_OVERRIDES) => Op::Merge(Prefer::Held),
            Some(_) => Op::Keep,
        };
        Action::Apply { op, plan: &self.plan, reason: &WHY }
    }
}

fn fold(lab: &mut Lab, modes: &[u16]) -> (overrule_engine::Effective, Vec<Outcome>) {
    let blocks: Vec<Block> =
        (0..).zip(modes).map(|(policy, mode)| Block::new(policy, "bare", *mode)).collect();
    let ladder = lab.group(0, &blocks);
    let algebra = Gep713 { plan: MergePlan::merge_patch() };
    let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
    let outcomes =
        lab.ladders.steps(ladder).iter().map(|s| effective.outcome(&lab.ladders, *s)).collect();
    (effective, outcomes)
}

#[test]
fn each_strategy_over_two_rungs() {
    let text = "{a: 1, b: {c: 1, d: 1}}\n---\n{a: 2, b: {c: ~, e: 2}}\n";
    let table = [
        (ATOMIC_DEFAULTS, json!({"a": 2, "b": {"c": null, "e": 2}}), at([("", 1)])),
        (ATOMIC_OVERRIDES, json!({"a": 1, "b": {"c": 1, "d": 1}}), at([("", 0)])),
        (
            PATCH_DEFAULTS,
            json!({"a": 2, "b": {"d": 1, "e": 2}}),
            at([("/a", 1), ("/b/d", 0), ("/b/e", 1)]),
        ),
        (
            PATCH_OVERRIDES,
            json!({"a": 1, "b": {"c": 1, "d": 1, "e": 2}}),
            at([("/a", 0), ("/b/c", 0), ("/b/d", 0), ("/b/e", 1)]),
        ),
        (NONE, json!({"a": 1, "b": {"c": 1, "d": 1}}), at([("", 0)])),
    ];
    for (mode, value, origins) in table {
        let mut lab = Lab::new(text);
        let (effective, _) = fold(&mut lab, &[mode, ATOMIC_DEFAULTS]);
        let result = effective.value.as_ref().expect("value");
        assert_eq!(lab.json(result), value, "strategy {mode}");
        assert_eq!(lab.origins(result), origins, "strategy {mode}");
    }
}

/// Trap 2: overrides on top, a default in the middle, anything at the bottom: the bottom wins.
#[test]
fn an_override_is_not_transitive() {
    let mut lab = Lab::new("{a: 1}\n---\n{a: 2}\n---\n{a: 3}\n");
    let (effective, outcomes) =
        fold(&mut lab, &[ATOMIC_OVERRIDES, ATOMIC_DEFAULTS, ATOMIC_DEFAULTS]);
    assert_eq!(lab.json(effective.value.as_ref().expect("value")), json!({"a": 3}));
    assert_eq!(lab.losses(&effective), ["1  Shadowed by 0", "0  Shadowed by 2"]);
    assert_eq!(outcomes, [Outcome::Shadowed, Outcome::Shadowed, Outcome::InForce]);
    let done: Vec<FoldAction> = effective.log(&lab.ladders).map(|v| v.done).collect();
    assert_eq!(done, [FoldAction::Took, FoldAction::Kept, FoldAction::Replaced]);
}

#[test]
fn nothing_merges_below_none() {
    let mut lab = Lab::new("{a: 1}\n---\n{a: 2, b: 2}\n---\n{c: 3}\n");
    let (effective, outcomes) = fold(&mut lab, &[NONE, PATCH_DEFAULTS, PATCH_DEFAULTS]);
    assert_eq!(lab.json(effective.value.as_ref().expect("value")), json!({"a": 1}));
    assert_eq!(outcomes, [Outcome::InForce, Outcome::Shadowed, Outcome::Shadowed]);
}
