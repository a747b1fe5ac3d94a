// SPDX-License-Identifier: Apache-2.0
//! In: merge plans and two documents. Out: every rule of a plan, seen from both sides. Not here: ladders.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation shall stop the test"
)]

mod lab;

use lab::{Lab, at};
use overrule_engine::{ListRule, MergePlan, MergeRule, Nulls, Prefer};
use serde_json::{Value, json};

/// Merges `held` and `incoming` both ways and compares the values: (held preferred, incoming preferred).
fn check(plan: &MergePlan, held: &str, incoming: &str, expected: [Value; 2]) {
    for (prefer, expected) in [Prefer::Held, Prefer::Incoming].into_iter().zip(expected) {
        let mut lab = Lab::new(&format!("{held}\n---\n{incoming}\n"));
        let (value, _) = lab.merge(plan, prefer);
        let value = value.map_or(json!("deleted"), |v| lab.json(&v));
        assert_eq!(value, expected, "{prefer:?}: {held} and {incoming}");
    }
}

fn rules(list: &[(&'static str, MergeRule)], nulls: Nulls) -> MergePlan {
    let split = |path: &'static str| path.split('.').filter(|s| !s.is_empty()).collect::<Vec<_>>();
    MergePlan::with_rules(list.iter().map(|(path, rule)| (split(path), rule.clone())), nulls)
}

#[test]
fn atomic_takes_one_side_whole() {
    check(&MergePlan::ATOMIC, "{a: 1, b: 2}", "{a: 3}", [json!({"a": 1, "b": 2}), json!({"a": 3})]);
    let plan = rules(&[("a", MergeRule::Atomic)], Nulls::Keep);
    check(
        &plan,
        "{a: {x: 1}, b: {x: 1}}",
        "{a: {v: 2}, b: {v: 2}}",
        [
            json!({"a": {"x": 1}, "b": {"x": 1, "v": 2}}),
            json!({"a": {"v": 2}, "b": {"x": 1, "v": 2}}),
        ],
    );
}

#[test]
fn merge_patch_is_rfc_7386() {
    let plan = MergePlan::merge_patch();
    // (target, patch, result): the appendix of the RFC, as far as both sides are objects.
    let table = [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, r"{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (r#"{"a":{"b":"c"}}"#, r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        (r"{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        // Beyond the appendix: a patch object over anything that is no object loses its nulls; lists keep theirs.
        (r#"{"a":1}"#, r#"{"a":{"b":null,"c":2}}"#, r#"{"a":{"c":2}}"#),
        (r#"{"a":1}"#, r#"{"a":[null,{"b":null}]}"#, r#"{"a":[null,{"b":null}]}"#),
        (r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, r#"{"a":{"b":1}}"#),
    ];
    for (target, patch, result) in table {
        let result: Value = serde_json::from_str(result).expect("JSON");
        let mut lab = Lab::new(&format!("{target}\n---\n{patch}\n"));
        let value = lab.merge(&plan, Prefer::Incoming).0.expect("objects merge to an object");
        assert_eq!(lab.json(&value), result, "patch {patch} over {target}");
        // The same with the roles exchanged: what is held is the patch.
        let mut lab = Lab::new(&format!("{patch}\n---\n{target}\n"));
        let value = lab.merge(&plan, Prefer::Held).0.expect("objects merge to an object");
        assert_eq!(lab.json(&value), result, "held patch {patch} over {target}");
    }
}

#[test]
fn a_kept_null_is_a_value() {
    let plan = rules(&[], Nulls::Keep);
    check(
        &plan,
        "{a: 1, b: ~}",
        "{a: ~, c: {d: ~}}",
        [
            json!({"a": 1, "b": null, "c": {"d": null}}),
            json!({"a": null, "b": null, "c": {"d": null}}),
        ],
    );
}

#[test]
fn lists_by_rule() {
    let both = |rule: ListRule, expected: [Value; 2]| {
        let plan = rules(&[("l", MergeRule::List(rule))], Nulls::Delete);
        check(&plan, "{l: [1, 2]}", "{l: [2, 3]}", expected);
    };
    both(ListRule::Append, [json!({"l": [1, 2, 2, 3]}), json!({"l": [1, 2, 2, 3]})]);
    both(ListRule::PreferredFirst, [json!({"l": [1, 2, 2, 3]}), json!({"l": [2, 3, 1, 2]})]);
    both(ListRule::PreferredLast, [json!({"l": [2, 3, 1, 2]}), json!({"l": [1, 2, 2, 3]})]);
}

#[test]
fn a_list_rule_leaves_other_shapes_alone() {
    let plan = rules(&[("l", MergeRule::List(ListRule::Append))], Nulls::Delete);
    check(&plan, "{l: 1}", "{l: [2]}", [json!({"l": 1}), json!({"l": [2]})]);
    check(&plan, "{l: [1]}", "{l: ~}", [json!({"l": [1]}), json!({})]);
    check(&plan, "{l: []}", "{l: [2]}", [json!({"l": [2]}), json!({"l": [2]})]);
}

fn keyed(element: overrule_engine::PlanId) -> MergeRule {
    MergeRule::List(ListRule::Keyed { key: "name".into(), element })
}

#[test]
fn keyed_lists_unite_elements_of_one_key() {
    let plan = rules(&[("l", keyed(MergePlan::REST))], Nulls::Delete);
    check(
        &plan,
        "{l: [{name: a, x: 1, v: 1}, {name: b, x: 1}]}",
        "{l: [{name: c}, {name: b, x: 2, z: 2}, {name: a, v: ~}]}",
        [
            json!({"l": [{"name": "a", "x": 1, "v": 1}, {"name": "b", "x": 1, "z": 2}, {"name": "c"}]}),
            json!({"l": [{"name": "a", "x": 1}, {"name": "b", "x": 2, "z": 2}, {"name": "c"}]}),
        ],
    );
}

#[test]
fn keys_are_compared_as_whole_values() {
    let plan = rules(&[("l", keyed(MergePlan::REST))], Nulls::Delete);
    // Maps are equal whatever the order of their members; `1` and `"1"` are not.
    check(
        &plan,
        "{l: [{name: {p: 1, q: 2}, x: 1}]}",
        "{l: [{name: {q: 2, p: 1}, v: 2}]}",
        [
            json!({"l": [{"name": {"p": 1, "q": 2}, "x": 1, "v": 2}]}),
            json!({"l": [{"name": {"p": 1, "q": 2}, "x": 1, "v": 2}]}),
        ],
    );
    check(
        &plan,
        "{l: [{name: 1, x: 1}]}",
        "{l: [{name: '1', v: 2}]}",
        [
            json!({"l": [{"name": 1, "x": 1}, {"name": "1", "v": 2}]}),
            json!({"l": [{"name": 1, "x": 1}, {"name": "1", "v": 2}]}),
        ],
    );
}

#[test]
fn elements_without_the_key_are_nobodys_equal() {
    let plan = rules(&[("l", keyed(MergePlan::REST))], Nulls::Delete);
    check(
        &plan,
        "{l: [{x: 1}, 7]}",
        "{l: [{v: 2}, 8]}",
        [json!({"l": [{"x": 1}, 7, {"v": 2}, 8]}), json!({"l": [{"x": 1}, 7, {"v": 2}, 8]})],
    );
}

#[test]
fn rules_reach_through_wildcards() {
    let plan = rules(
        &[
            ("limits.*.rates", MergeRule::List(ListRule::Append)),
            ("limits.*.when", MergeRule::Atomic),
            ("limits.free", MergeRule::Atomic),
        ],
        Nulls::Delete,
    );
    check(
        &plan,
        "{limits: {gold: {rates: [1], when: {a: 1}, w: {a: 1}}, free: {rates: [1]}}, rates: [1]}",
        "{limits: {gold: {rates: [2], when: {b: 2}, w: {b: 2}}, free: {m: 2}}, rates: [2]}",
        [
            json!({"limits": {"gold": {"rates": [1, 2], "when": {"a": 1}, "w": {"a": 1, "b": 2}}, "free": {"rates": [1]}}, "rates": [1]}),
            json!({"limits": {"gold": {"rates": [1, 2], "when": {"b": 2}, "w": {"a": 1, "b": 2}}, "free": {"m": 2}}, "rates": [2]}),
        ],
    );
}

#[test]
fn a_rule_may_stand_at_the_root() {
    let plan = rules(&[("", MergeRule::List(ListRule::Append))], Nulls::Keep);
    check(&plan, "[1]", "[2]", [json!([1, 2]), json!([1, 2])]);
}

#[test]
fn every_part_of_a_merge_has_one_origin_and_every_loss_a_winner() {
    let text =
        "{a: {x: 1, v: 1}, l: [1], k: {m: 1}, only: 1}\n---\n{a: {x: 2, z: 2}, l: [2], k: ~}\n";
    let plan = rules(&[("l", MergeRule::List(ListRule::Append))], Nulls::Delete);
    let mut lab = Lab::new(text);
    let (value, losses) = lab.merge(&plan, Prefer::Incoming);
    let value = value.expect("value");
    assert_eq!(lab.json(&value), json!({"a": {"x": 2, "v": 1, "z": 2}, "l": [1, 2], "only": 1}));
    let expected =
        at([("/a/x", 1), ("/a/v", 0), ("/a/z", 1), ("/l/0", 0), ("/l/1", 1), ("/only", 0)]);
    assert_eq!(lab.origins(&value), expected);
    assert_eq!(losses, ["0 /a/x Shadowed by 1", "0 /k Shadowed by 1"]);
    let mut lab = Lab::new(text);
    let (value, losses) = lab.merge(&plan, Prefer::Held);
    assert_eq!(lab.json(&value.expect("value"))["k"], json!({"m": 1}));
    assert_eq!(losses, ["1 /a/x Shadowed by 0", "1 /k Shadowed by 0"]);
}

#[test]
fn a_rule_below_a_keyed_list_is_about_its_elements_whatever_the_order_of_rules() {
    let append = || MergeRule::List(ListRule::Append);
    let expected = [
        json!({"l": [{"name": "a", "r": [1, 2], "x": 1}]}),
        json!({"l": [{"name": "a", "r": [1, 2], "x": 2}]}),
    ];
    for plan in [
        rules(&[("l", keyed(MergePlan::REST)), ("l.r", append())], Nulls::Delete),
        rules(&[("l.r", append()), ("l", keyed(MergePlan::REST))], Nulls::Delete),
    ] {
        let (held, incoming) = ("{l: [{name: a, r: [1], x: 1}]}", "{l: [{name: a, r: [2], x: 2}]}");
        check(&plan, held, incoming, expected.clone());
    }
}
