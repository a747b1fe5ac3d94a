// SPDX-License-Identifier: Apache-2.0
//! Kuma: a step per written entry; append fields from low to high, keyed route rules from high to low, inbound entries
//! concatenated and then sorted by match.

use std::cmp::Reverse;

use overrule_engine::{
    Action, Algebra, Combine, Effective, Fold, Group, GuardCheck, Leaf, ListRule, MergePlan,
    MergeRule, Merger, Nulls, Op, Prefer, Traced, Turn,
};
use overrule_source::Documents;
use serde_json::json;

use crate::lab::{Block, Lab, WHY, at};

const PATCH: u16 = 0;
const ROUTES: u16 = 1;
const INBOUND: u16 = 2;

struct Kuma<'a> {
    documents: &'a Documents,
    patch: MergePlan,
    routes: MergePlan,
    inbound: MergePlan,
}

impl<'a> Kuma<'a> {
    fn new(documents: &'a Documents) -> Self {
        let element = MergePlan::REST;
        Self {
            documents,
            patch: MergePlan::with_rules(
                [(vec!["appendBackends"], MergeRule::List(ListRule::Append))],
                Nulls::Keep,
            ),
            routes: MergePlan::with_rules(
                [(
                    vec!["rules"],
                    MergeRule::List(ListRule::Keyed { key: "matches".into(), element }),
                )],
                Nulls::Keep,
            ),
            inbound: MergePlan::with_rules(
                [(vec![], MergeRule::List(ListRule::Append))],
                Nulls::Keep,
            ),
        }
    }

    /// Length of the path prefix an entry matches.
    fn specificity(&self, entry: &Traced) -> usize {
        match entry.at(self.documents, ["match", "path"]).as_ref().map(|p| p.leaf(self.documents)) {
            Some(Leaf::Scalar(path)) => path.as_str().map_or(0, str::len),
            _ => 0,
        }
    }
}

impl Combine for Kuma<'_> {
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

impl Algebra for Kuma<'_> {
    type State = ();

    fn bottom_up(&self, group: &Group) -> bool {
        group.spec == PATCH
    }

    fn decide(
        &self,
        (): &mut (),
        turn: &Turn<'_>,
        _: Option<&Traced>,
        _: &mut Vec<GuardCheck>,
    ) -> Action<'_> {
        let group = turn.group;
        let (prefer, plan) = match group.spec {
            PATCH => (Prefer::Incoming, &self.patch),
            ROUTES => (Prefer::Held, &self.routes),
            _ => (Prefer::Held, &self.inbound),
        };
        Action::Apply { op: Op::Merge(prefer), plan, reason: &WHY }
    }

    fn finish(&self, ladder: &Group, effective: &mut Effective) {
        let Some(value) = effective.value.as_ref().filter(|_| ladder.spec == INBOUND) else {
            return;
        };
        let mut entries = value.items(self.documents).into_vec();
        entries.sort_by_key(|e| Reverse(self.specificity(e)));
        effective.value = Some(Traced::List(entries.into()));
    }
}

fn run(text: &str, spec: u16, blocks: &[Block]) -> (Lab, Effective) {
    let mut lab = Lab::new(text);
    let ladder = lab.group(spec, blocks);
    let algebra = Kuma::new(&lab.documents);
    let effective = Fold::new(&lab.documents, &lab.ladders, &algebra).ladder(ladder);
    (lab, effective)
}

/// Policy 0 has two entries that concern the target; the later one is the stronger, so it stands above.
#[test]
fn entries_patch_and_append_from_low_to_high() {
    let text = "
to:
- default: {idle: 10s, appendBackends: [a]}
- default: {idle: 20s, http: {max: 1}, appendBackends: [b]}
---
to:
- default: {http: {max: 2}, connect: 5s, appendBackends: [c]}
";
    let entry = |policy, block, entry| Block { entry: Some(entry), ..Block::new(policy, block, 0) };
    let blocks =
        [entry(0, "to.1.default", 1), entry(0, "to.0.default", 0), entry(1, "to.0.default", 0)];
    let (lab, effective) = run(text, PATCH, &blocks);
    let value = effective.value.as_ref().expect("value");
    let expected = json!({"http": {"max": 1}, "connect": "5s", "idle": "20s", "appendBackends": ["c", "a", "b"]});
    assert_eq!(lab.json(value), expected);
    let mut entries = std::collections::BTreeMap::new();
    value.parts(&lab.documents, &mut |pointer, step, _| {
        let step = lab.ladders.get_step(step).expect("step");
        entries.insert(pointer.to_owned(), (step.policy.0, step.entry.unwrap()));
    });
    let expected = [
        ("/appendBackends/0", (1, 0)),
        ("/appendBackends/1", (0, 0)),
        ("/appendBackends/2", (0, 1)),
        ("/connect", (1, 0)),
        ("/http/max", (0, 1)),
        ("/idle", (0, 1)),
    ];
    assert_eq!(entries.into_iter().collect::<Vec<_>>(), expected.map(|(p, e)| (p.to_owned(), e)));
    assert_eq!(lab.losses(&effective), ["1 /http/max Shadowed by 0", "0 /idle Shadowed by 0"]);
}

#[test]
fn route_rules_keep_the_first_position_and_fill_what_is_missing() {
    let text = "
rules:
- {matches: [{path: /b}], default: {filters: [high]}}
---
rules:
- {matches: [{path: /a}], default: {filters: [low]}}
- {matches: [{path: /b}], default: {filters: [low], backendRefs: [low]}}
";
    let (lab, effective) = run(text, ROUTES, &[0, 1].map(|p| Block::new(p, "bare", 0)));
    let value = effective.value.as_ref().expect("value");
    let expected = json!({"rules": [
        {"matches": [{"path": "/b"}], "default": {"filters": ["high"], "backendRefs": ["low"]}},
        {"matches": [{"path": "/a"}], "default": {"filters": ["low"]}},
    ]});
    assert_eq!(lab.json(value), expected);
    let expected = at([
        ("/rules/0/matches", 0),
        ("/rules/0/default/filters", 0),
        ("/rules/0/default/backendRefs", 1),
        ("/rules/1", 1),
    ]);
    assert_eq!(lab.origins(value), expected);
    assert_eq!(
        lab.losses(&effective),
        ["1 /rules/0/matches Shadowed by 0", "1 /rules/0/default/filters Shadowed by 0"]
    );
}

#[test]
fn inbound_entries_are_concatenated_and_sorted_by_match() {
    let text = "
rules: [{match: {path: /a}, allow: 1}, {match: {path: /a/b/c}, allow: 2}]
---
rules: [{match: {path: /a/b}, allow: 3}]
";
    let (lab, effective) = run(text, INBOUND, &[0, 1].map(|p| Block::new(p, "rules", 0)));
    let value = effective.value.as_ref().expect("value");
    let order: Vec<_> =
        lab.json(value).as_array().expect("list").iter().map(|e| e["allow"].clone()).collect();
    assert_eq!(order, [2, 3, 1]);
    assert_eq!(lab.origins(value), at([("/0", 0), ("/1", 1), ("/2", 0)]));
    assert!(effective.losses.is_empty());
}
