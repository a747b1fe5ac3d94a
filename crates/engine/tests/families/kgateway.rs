// SPDX-License-Identifier: Apache-2.0
//! kgateway: groups in groups. Policies of a level, levels of a chain, tiers of a path; deep units by combinators;
//! broken policies poison; built-ins mask in `finish`.

use std::collections::BTreeMap;

use overrule_engine::{
    Action, Algebra, Combine, Effective, Fate, FieldKey, Fold, Group, GuardCheck, LadderId,
    ListRule, Loss, MergePlan, MergeRule, Merger, Nulls, Op, Outcome, Prefer, ReasonInfo, Rung,
    Traced, Turn,
};
use overrule_source::Documents;
use serde_json::{Value, json};

use crate::lab::{Block, Lab, WHY, at};

static BUILT_IN: ReasonInfo =
    ReasonInfo { id: "built-in", sentence: "a filter of the route itself goes first" };
static BROKEN: ReasonInfo =
    ReasonInfo { id: "broken", sentence: "the policy is broken and the rule answers 500" };

/// Specs of groups. A level carries the annotation of the route that owns it.
const SHALLOW_CHILD: u16 = 0;
const SHALLOW_PARENT: u16 = 1;
const DEEP_CHILD: u16 = 2;
const DEEP_PARENT: u16 = 3;
const CHAIN: u16 = 10;
const TIERS: u16 = 11;
const BUILT_INS: u16 = 12;

/// Mode of a step that is broken.
const POISON: u16 = 9;

const UNION: u16 = 0;
const KEEP_CHILD: u16 = 1;

struct Kgateway<'a> {
    documents: &'a Documents,
    shallow: MergePlan,
    deep: MergePlan,
    /// What `decide` must know about inner groups: it is shown the outer one only.
    specs: BTreeMap<LadderId, u16>,
    /// Slots that each group of built-ins takes.
    slots: BTreeMap<LadderId, Vec<&'static str>>,
}

impl<'a> Kgateway<'a> {
    fn new(documents: &'a Documents, specs: BTreeMap<LadderId, u16>) -> Self {
        let deep = [
            (vec!["transformation", "add"], MergeRule::List(ListRule::PreferredLast)),
            (vec!["extAuth"], MergeRule::Combinator(UNION)),
            // The shipped quirk: under deep values every plain unit keeps the child.
            (vec!["*"], MergeRule::Combinator(KEEP_CHILD)),
        ];
        Self {
            documents,
            shallow: MergePlan::with_rules([(vec!["*"], MergeRule::Atomic)], Nulls::Keep),
            deep: MergePlan::with_rules(deep, Nulls::Keep),
            specs,
            slots: BTreeMap::new(),
        }
    }

    fn merge(&self, spec: u16) -> Action<'_> {
        let (prefer, plan) = match spec {
            SHALLOW_PARENT => (Prefer::Incoming, &self.shallow),
            DEEP_CHILD => (Prefer::Held, &self.deep),
            DEEP_PARENT => (Prefer::Incoming, &self.deep),
            _ => (Prefer::Held, &self.shallow),
        };
        Action::Apply { op: Op::Merge(prefer), plan, reason: &WHY }
    }
}

impl Combine for Kgateway<'_> {
    fn combine(
        &self,
        number: u16,
        merger: &mut Merger<'_>,
        held: Traced,
        incoming: Traced,
    ) -> Option<Traced> {
        let documents = self.documents;
        if number == KEEP_CHILD {
            merger.lose(&incoming, &held, Fate::Shadowed);
            return Some(held);
        }
        // Sticky disable: once any side says so, the result is disabled.
        for (winner, loser) in [(&held, &incoming), (&incoming, &held)] {
            if winner.get(documents, "disable").is_some() {
                merger.lose(loser, winner, Fate::Shadowed);
                return Some(winner.clone());
            }
        }
        let (first, second) = match merger.prefer {
            Prefer::Held => (held, incoming),
            Prefer::Incoming => (incoming, held),
        };
        let providers = |v: &Traced| {
            v.get(documents, "providers").map(|p| p.items(documents)).unwrap_or_default()
        };
        let mut united = providers(&first).into_vec();
        for other in providers(&second) {
            let name = |v: &Traced| {
                v.get(documents, "name").and_then(|n| match n.leaf(documents) {
                    overrule_engine::Leaf::Scalar(view) => view.as_str().map(str::to_owned),
                    _ => None,
                })
            };
            match united.iter().find(|known| name(known) == name(&other)) {
                Some(known) => {
                    let known = known.clone();
                    merger.lose(&other, &known, Fate::Shadowed);
                }
                None => united.push(other),
            }
        }
        Some(Traced::map([(FieldKey::Text("providers".into()), Traced::List(united.into()))]))
    }
}

impl Algebra for Kgateway<'_> {
    type State = ();

    fn decide(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        _: Option<&Traced>,
        _: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let group = turn.group;
        let rung = turn.rung;
        let step = turn.step.map(|(_, s)| s);
        match (rung, step) {
            (_, Some(step)) if step.mode == POISON => Action::Poison(&BROKEN),
            (Rung::Group(id), _) if self.slots.contains_key(&id) => Action::Pass(&BROKEN),
            // A level meets what lies below it in the chain by the annotation of its own route.
            (Rung::Group(id), _) if group.spec == CHAIN => self.merge(self.specs[&id]),
            // Policies of one level, and tiers, never merge deeply here.
            _ => self.merge(SHALLOW_CHILD),
        }
    }

    fn finish(&self, ladder: &Group, effective: &mut Effective) {
        let Some(Rung::Group(first)) = ladder.rungs.first() else { return };
        let Some(slots) = self.slots.get(first) else { return };
        let Some(value) = &effective.value else { return };
        let entries = value.entries(self.documents).into_iter();
        for (key, value) in entries.filter(|(k, _)| slots.contains(&k.text(self.documents))) {
            value.parts(self.documents, &mut |below, step, _| {
                let pointer = format!("/{}{below}", key.text(self.documents)).into();
                let by = [].into_iter().collect();
                effective.losses.push(Loss {
                    step,
                    pointer,
                    node: overrule_engine::Place::NONE,
                    fate: Fate::Masked,
                    by,
                    reason: &BUILT_IN,
                });
            });
        }
    }
}

/// A chain of three routes, one policy each, leaf first; annotations of the middle and the root.
fn chain(lab: &mut Lab, mid: u16, root: u16) -> (LadderId, BTreeMap<LadderId, u16>) {
    let levels: Vec<LadderId> = (0..)
        .zip([SHALLOW_CHILD, mid, root])
        .map(|(p, spec)| lab.group(spec, &[Block::new(p, "bare", 0)]))
        .collect();
    let specs = levels.iter().copied().zip([SHALLOW_CHILD, mid, root]).collect();
    (lab.groups(CHAIN, &levels), specs)
}

const THREE: &str = "
{cors: leaf, rateLimit: leaf, transformation: {add: [leaf]}}
---
{cors: mid, csrf: mid, rateLimit: mid, transformation: {add: [mid]}}
---
{cors: root, csrf: root, transformation: {add: [root]}}
";

#[test]
fn three_levels_by_annotation() {
    // (root, mid) -> cors, csrf, rateLimit, order of transformations: the tables of spec/gateway.md 1.4.
    let table = [
        (SHALLOW_CHILD, SHALLOW_CHILD, ["leaf", "mid", "leaf"], &["leaf"][..]),
        (SHALLOW_PARENT, SHALLOW_CHILD, ["root", "root", "leaf"], &["root"]),
        (SHALLOW_CHILD, SHALLOW_PARENT, ["mid", "mid", "mid"], &["mid"]),
        (SHALLOW_PARENT, SHALLOW_PARENT, ["root", "root", "mid"], &["root"]),
        (DEEP_PARENT, SHALLOW_CHILD, ["leaf", "mid", "leaf"], &["leaf", "root"]),
        (DEEP_CHILD, DEEP_CHILD, ["leaf", "mid", "leaf"], &["root", "mid", "leaf"]),
        (DEEP_PARENT, DEEP_PARENT, ["leaf", "mid", "leaf"], &["leaf", "mid", "root"]),
        (DEEP_PARENT, DEEP_CHILD, ["leaf", "mid", "leaf"], &["mid", "leaf", "root"]),
        (DEEP_CHILD, DEEP_PARENT, ["leaf", "mid", "leaf"], &["root", "leaf", "mid"]),
        (SHALLOW_PARENT, DEEP_CHILD, ["root", "root", "leaf"], &["root"]),
        (SHALLOW_CHILD, DEEP_PARENT, ["leaf", "mid", "leaf"], &["leaf", "mid"]),
    ];
    for (root, mid, plain, list) in table {
        let mut lab = Lab::new(THREE);
        let (ladder, specs) = chain(&mut lab, mid, root);
        let algebra = Kgateway::new(&lab.documents, specs);
        let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
        let value = lab.json(effective.value.as_ref().expect("value"));
        let found = ["cors", "csrf", "rateLimit"].map(|k| value[k].clone());
        assert_eq!(found, plain.map(Value::from), "root {root}, mid {mid}");
        assert_eq!(value["transformation"]["add"], json!(list), "root {root}, mid {mid}");
        assert_eq!(conserved(&lab, &effective), 10, "root {root}, mid {mid}");
    }
}

/// Every written unit is in force or lost, exactly once.
fn conserved(lab: &Lab, effective: &Effective) -> usize {
    let mut count = 0;
    effective.value.as_ref().expect("value").parts(&lab.documents, &mut |pointer, _, part| {
        count += if pointer.is_empty() { part.entries(&lab.documents).len() } else { 1 };
    });
    count + effective.losses.len()
}

/// Two policies of a parent are settled among themselves before the parent meets the child: a flat list would let
/// the second parent policy overwrite the first under PreferParent.
#[test]
fn a_level_is_settled_first() {
    let mut lab = Lab::new(
        "{cors: child}\n---\n{cors: parent-old}\n---\n{cors: parent-new, csrf: parent-new}\n",
    );
    let child = lab.group(SHALLOW_CHILD, &[Block::new(0, "bare", 0)]);
    let parent = lab.group(SHALLOW_PARENT, &[Block::new(1, "bare", 0), Block::new(2, "bare", 0)]);
    let ladder = lab.groups(CHAIN, &[child, parent]);
    let algebra =
        Kgateway::new(&lab.documents, [(child, SHALLOW_CHILD), (parent, SHALLOW_PARENT)].into());
    let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
    let value = effective.value.as_ref().expect("value");
    assert_eq!(lab.json(value), json!({"cors": "parent-old", "csrf": "parent-new"}));
    assert_eq!(lab.origins(value), at([("/cors", 1), ("/csrf", 2)]));
    assert_eq!(lab.losses(&effective), ["2 /cors Shadowed by 1", "0 /cors Shadowed by 1"]);
}

#[test]
fn providers_unite_and_disable_sticks() {
    let text = "
{extAuth: {providers: [{name: a}, {name: b}]}}
---
{extAuth: {providers: [{name: b}, {name: c}]}}
---
{extAuth: {disable: {}}}
";
    let run = |first: u32, second: u32, annotation: u16| {
        let mut lab = Lab::new(text);
        let child = lab.group(SHALLOW_CHILD, &[Block::new(first, "bare", 0)]);
        let parent = lab.group(annotation, &[Block::new(second, "bare", 0)]);
        let ladder = lab.groups(CHAIN, &[child, parent]);
        let algebra =
            Kgateway::new(&lab.documents, [(child, SHALLOW_CHILD), (parent, annotation)].into());
        let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
        let value = effective.value.clone().expect("value");
        (lab.json(&value), lab.origins(&value), lab.losses(&effective))
    };
    let (value, origins, losses) = run(0, 1, DEEP_PARENT);
    assert_eq!(
        value,
        json!({"extAuth": {"providers": [{"name": "b"}, {"name": "c"}, {"name": "a"}]}})
    );
    let expected =
        at([("/extAuth/providers/0", 1), ("/extAuth/providers/1", 1), ("/extAuth/providers/2", 0)]);
    assert_eq!(origins, expected);
    assert_eq!(losses, ["0 /extAuth Shadowed by 1"]);
    for (first, second, annotation) in [(2, 1, DEEP_PARENT), (1, 2, DEEP_CHILD)] {
        let (value, _, _) = run(first, second, annotation);
        assert_eq!(value, json!({"extAuth": {"disable": {}}}), "{first} below {second}");
    }
}

#[test]
fn a_broken_policy_poisons_the_ladder_it_is_on() {
    let mut lab = Lab::new("{cors: leaf}\n---\n{csrf: broken}\n---\n{retry: gateway}\n");
    let route =
        lab.group(SHALLOW_CHILD, &[Block::new(0, "bare", 0), Block::new(1, "bare", POISON)]);
    let chain = lab.groups(CHAIN, &[route]);
    let gateway = lab.group(SHALLOW_CHILD, &[Block::new(2, "bare", 0)]);
    let ladder = lab.groups(TIERS, &[chain, gateway]);
    let algebra = Kgateway::new(&lab.documents, [(route, SHALLOW_CHILD)].into());
    let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
    assert_eq!(effective.poison().len(), 1, "seen through two groups");
    assert_eq!(lab.policy(effective.poison()[0].0), 1);
    // What else merged is still told.
    assert_eq!(
        lab.json(effective.value.as_ref().expect("value")),
        json!({"cors": "leaf", "retry": "gateway"})
    );
}

#[test]
fn built_ins_mask_slots_after_the_fold() {
    let mut lab = Lab::new(
        "{timeouts: {request: 5s}, cors: leaf}\n---\n{timeouts: {request: 9s}, retry: gateway}\n---\n{}\n",
    );
    let built_ins = lab.group(BUILT_INS, &[Block::new(2, "bare", 0)]);
    let route = lab.group(SHALLOW_CHILD, &[Block::new(0, "bare", 0)]);
    let chain = lab.groups(CHAIN, &[route]);
    let gateway = lab.group(SHALLOW_CHILD, &[Block::new(1, "bare", 0)]);
    let masked = lab.groups(TIERS, &[built_ins, chain, gateway]);
    let plain = lab.groups(TIERS, &[chain, gateway]);
    assert_ne!(masked, plain, "a mask is part of the ladder's identity");
    let mut algebra = Kgateway::new(&lab.documents, [(route, SHALLOW_CHILD)].into());
    algebra.slots.insert(built_ins, vec!["timeouts"]);
    let mut fold = Fold::new(&lab.documents, &lab.ladders, &algebra);
    let effective = fold.ladder(masked);
    let value = effective.value.as_ref().expect("value");
    let expected = json!({"timeouts": {"request": "5s"}, "cors": "leaf", "retry": "gateway"});
    assert_eq!(lab.json(value), expected, "what is masked stays, without effect");
    assert_eq!(lab.losses(&effective), ["1 /timeouts Shadowed by 0", "0 /timeouts Masked by "]);
    let outcomes: Vec<Outcome> = [route, gateway]
        .iter()
        .map(|g| effective.outcome(&lab.ladders, lab.ladders.steps(*g)[0]))
        .collect();
    assert_eq!(outcomes, [Outcome::Partly, Outcome::Partly]);
    let effective = fold.ladder(plain);
    let expected = json!({"timeouts": {"request": "5s"}, "cors": "leaf", "retry": "gateway"});
    assert_eq!(lab.json(&effective.value.expect("value")), expected);
    assert_eq!(fold.folds, 2);
}
