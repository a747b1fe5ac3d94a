// SPDX-License-Identifier: Apache-2.0
//! Kuadrant: folded from the bottom; a step per block; guards over what is held, removals from below, fill if empty.

use std::collections::BTreeSet;

use overrule_engine::{
    Action, Algebra, Combine, Fate, FieldKey, Fold, FoldAction, Group, GuardCheck, Loss, MergePlan,
    MergeRule, Merger, Nulls, Op, Outcome, Prefer, ReasonInfo, Traced, Turn,
};
use overrule_source::Documents;
use serde_json::json;

use crate::lab::{Block, Lab, at};

static DEFAULT_YIELDS: ReasonInfo =
    ReasonInfo { id: "default-yields", sentence: "a default gives way" };
static OVERRIDES: ReasonInfo =
    ReasonInfo { id: "override-outranks", sentence: "an override stays" };
static WHEN: ReasonInfo = ReasonInfo { id: "when-false", sentence: "the condition does not hold" };
static LIST: ReasonInfo = ReasonInfo { id: "list", sentence: "it only removes" };
static REMOVED: ReasonInfo =
    ReasonInfo { id: "removed-below", sentence: "a lower policy removes it" };

const ATOMIC_DEFAULT: u16 = 0;
const MERGE_DEFAULT: u16 = 1;
const ATOMIC_OVERRIDE: u16 = 2;
const MERGE_OVERRIDE: u16 = 3;
/// A policy that holds nothing but a removal list.
const LIST_ONLY: u16 = 4;

/// `Step::extra`: a guard in the low byte ("rule g is held"), a removal list in the next.
struct Kuadrant<'a> {
    documents: &'a Documents,
    plan: MergePlan,
    guards: Vec<&'static str>,
    lists: Vec<Vec<&'static str>>,
}

impl<'a> Kuadrant<'a> {
    fn new(documents: &'a Documents, guards: &[&'static str], lists: &[&[&'static str]]) -> Self {
        let plan = MergePlan::with_rules([(vec!["rules", "*"], MergeRule::Atomic)], Nulls::Keep);
        Self {
            documents,
            plan,
            guards: guards.to_vec(),
            lists: lists.iter().map(|l| l.to_vec()).collect(),
        }
    }
}

fn number(low: usize, list: usize) -> u32 {
    u32::try_from(low | list << 8).expect("small")
}

impl Combine for Kuadrant<'_> {
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

impl Algebra for Kuadrant<'_> {
    /// Removals gathered so far, each with the step that asked for it.
    type State = BTreeSet<&'static str>;

    fn bottom_up(&self, _: &Group) -> bool {
        true
    }

    fn decide(
        &self,
        _: &mut Self::State,
        turn: &Turn<'_>,
        held: Option<&Traced>,
        _: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let step = turn.step.map(|(_, s)| s);
        let step = step.expect("no groups here");
        if let Some(guard) = (step.extra as usize & 0xff).checked_sub(1).map(|i| self.guards[i]) {
            let holds = held.is_some_and(|h| h.at(self.documents, ["rules", guard]).is_some());
            if !holds {
                return Action::Skip(&WHEN);
            }
        }
        let (op, reason) = match step.mode {
            ATOMIC_DEFAULT => (Op::FillIfEmpty, &DEFAULT_YIELDS),
            MERGE_DEFAULT => (Op::Merge(Prefer::Held), &DEFAULT_YIELDS),
            ATOMIC_OVERRIDE => (Op::ReplaceAll, &OVERRIDES),
            MERGE_OVERRIDE => (Op::Merge(Prefer::Incoming), &OVERRIDES),
            _ => return Action::Pass(&LIST),
        };
        Action::Apply { op, plan: &self.plan, reason }
    }

    fn filter(
        &self,
        removals: &mut Self::State,
        turn: &Turn<'_>,
        incoming: Traced,
        lose: &mut dyn FnMut(Loss),
    ) -> Option<Traced> {
        let step = turn.step.map(|(_, s)| s);
        if step.is_some_and(|s| s.mode >= ATOMIC_OVERRIDE) || removals.is_empty() {
            return Some(incoming);
        }
        let id = incoming.steps()[0];
        let rules = incoming.get(self.documents, "rules")?;
        let (gone, kept): (Vec<_>, Vec<_>) = rules
            .entries(self.documents)
            .into_iter()
            .partition(|(k, _)| removals.contains(k.text(self.documents)));
        for (key, value) in gone {
            let pointer = format!("/rules/{}", key.text(self.documents)).into();
            let Traced::Whole { node, .. } = value else { panic!("written") };
            lose(Loss {
                step: id,
                pointer,
                node: Some(node).into(),
                fate: Fate::Removed,
                by: [].into_iter().collect(),
                reason: &REMOVED,
            });
        }
        Some(Traced::map([(FieldKey::Text("rules".into()), Traced::map(kept))]))
    }

    fn after(&self, removals: &mut Self::State, turn: &Turn<'_>) {
        let step = turn.step.map(|(_, s)| s);
        let list =
            step.and_then(|s| (s.extra as usize >> 8).checked_sub(1)).map(|i| &self.lists[i]);
        removals.extend(list.into_iter().flatten());
    }

    /// Empty means no rules, not no object.
    fn is_empty(&self, documents: &Documents, value: &Traced) -> bool {
        value.get(documents, "rules").is_none_or(|r| r.entries(documents).is_empty())
    }
}

#[test]
fn blocks_guards_and_removals() {
    let text = "
defaults: {rules: {d: 4, e: 5}}
overrides: {rules: {a: 50}}
---
defaults: {rules: {a: 1, b: 120}}
---
overrides: {rules: {z: 9}}
";
    let mut lab = Lab::new(text);
    let blocks = [
        // Top of the ladder first; inside a policy overrides stand above defaults, so the fold meets defaults first.
        Block { extra: number(1, 0), ..Block::new(2, "overrides", ATOMIC_OVERRIDE) },
        Block::new(0, "overrides", MERGE_OVERRIDE),
        Block::new(0, "defaults", MERGE_DEFAULT),
        Block { extra: number(0, 1), ..Block::new(1, "defaults", ATOMIC_DEFAULT) },
    ];
    let ladder = lab.group(0, &blocks);
    let algebra = Kuadrant::new(&lab.documents, &["nobody-sets-this"], &[&["d"]]);
    let mut fold = Fold::new(&lab.documents, &lab.ladders, &algebra);
    let effective = fold.ladder(ladder);
    assert_eq!(fold.folds, 1);
    let value = effective.value.as_ref().expect("value");
    assert_eq!(lab.json(value), json!({"rules": {"a": 50, "b": 120, "e": 5}}));
    assert_eq!(lab.origins(value), at([("/rules/a", 0), ("/rules/b", 1), ("/rules/e", 0)]));
    assert_eq!(lab.losses(&effective), ["0 /rules/d Removed by ", "1 /rules/a Shadowed by 0"]);
    let done: Vec<FoldAction> = effective.log(&lab.ladders).map(|v| v.done).collect();
    assert_eq!(
        done,
        [
            FoldAction::Took,
            FoldAction::Merged(Prefer::Held),
            FoldAction::Merged(Prefer::Incoming),
            FoldAction::Skipped
        ]
    );
    let outcomes: Vec<Outcome> =
        lab.ladders.steps(ladder).iter().map(|s| effective.outcome(&lab.ladders, *s)).collect();
    assert_eq!(outcomes, [Outcome::Skipped, Outcome::InForce, Outcome::Partly, Outcome::Partly]);
}

#[test]
fn a_guard_sees_what_lies_below() {
    let text = "overrides: {rules: {z: 9}}\n---\ndefaults: {rules: {a: 1}}\n";
    let mut lab = Lab::new(text);
    let blocks = [
        Block { extra: number(1, 0), ..Block::new(0, "overrides", ATOMIC_OVERRIDE) },
        Block::new(1, "defaults", ATOMIC_DEFAULT),
    ];
    let ladder = lab.group(0, &blocks);
    let algebra = Kuadrant::new(&lab.documents, &["a"], &[]);
    let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
    assert_eq!(lab.json(&effective.value.expect("value")), json!({"rules": {"z": 9}}));
}

#[test]
fn an_atomic_default_fills_only_emptiness() {
    // The lowest policy has an object but no rules: that is empty.
    let text =
        "defaults: {rules: {a: 1}}\n---\ndefaults: {rules: {b: 2}}\n---\ndefaults: {rules: {}}\n";
    let mut lab = Lab::new(text);
    let blocks = [0, 1, 2].map(|p| Block::new(p, "defaults", ATOMIC_DEFAULT));
    let ladder = lab.group(0, &blocks);
    let algebra = Kuadrant::new(&lab.documents, &[], &[]);
    let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
    let value = effective.value.as_ref().expect("value");
    assert_eq!(lab.json(value), json!({"rules": {"b": 2}}));
    assert_eq!(lab.origins(value), at([("", 1)]));
    let done: Vec<FoldAction> = effective.log(&lab.ladders).map(|v| v.done).collect();
    assert_eq!(done, [FoldAction::Took, FoldAction::Took, FoldAction::Kept]);
}

#[test]
fn a_policy_of_only_removals_passes() {
    let text = "defaults: {rules: {a: 1, b: 2}}\n---\nremove: [a]\n";
    let mut lab = Lab::new(text);
    let blocks = [
        Block::new(0, "defaults", ATOMIC_DEFAULT),
        Block { extra: number(0, 1), ..Block::new(1, "bare", LIST_ONLY) },
    ];
    let ladder = lab.group(0, &blocks);
    let algebra = Kuadrant::new(&lab.documents, &[], &[&["a"]]);
    let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
    assert_eq!(lab.json(effective.value.as_ref().expect("value")), json!({"rules": {"b": 2}}));
    assert_eq!(lab.losses(&effective), ["0 /rules/a Removed by "]);
    let done: Vec<FoldAction> = effective.log(&lab.ladders).map(|v| v.done).collect();
    assert_eq!(done, [FoldAction::Passed, FoldAction::Took]);
}
