// SPDX-License-Identifier: Apache-2.0
//! In: conditions over one policy. Out: their verdicts and what they saw. Not here: refusals (`refusals.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;

use common::evaluate;
use overrule_condition::{CelValue, ConditionVerdict};
use serde_json::{Value as Json, json};

fn policy() -> Json {
    json!({
        "kind": "RateLimitPolicy",
        "metadata": {"name": "low", "namespace": "toys", "labels": {"team/x": "a", "n": null}},
        "spec": {
            "limits": {
                "a": {"rates": [{"limit": 5, "window": "10s"}, {"limit": 60, "window": "1m"}]},
                "b": {"rates": []}
            },
            "share": 0.5,
            "big": 9_007_199_254_740_993_i64,
            "on": true,
            "empty": {},
            "tags": ["x", "y"]
        }
    })
}

const MET: &[&str] = &[
    // Literals and arithmetic.
    "true",
    "1 + 2 * 3 == 7 && 7 / 2 == 3 && -7 % 4 == -3 && 2u + 3u == 5u && 1.5 * 2.0 == 3.0",
    "'a' + \"b\" == r'ab' && '''a\nb''' == 'a\\nb' && '\\u00e9' == 'é'",
    "b'ab' == b'ab' && 0x1F == 31 && null == null",
    "[1, 2] + [3] == [1, 2, 3] && {'a': 1} == {'a': 1} && {'a': 1}['a'] == 1",
    // Whole numbers and others compare, but do not add.
    "spec.share < 1 && 1 > spec.share && spec.share == 0.5 && 1 == 1.0 && 1u == 1",
    "spec.big == 9007199254740993",
    "spec.limits.a.rates[0].limit + 1 == 6",
    // Members and indexes.
    "kind == 'RateLimitPolicy' && metadata.name == 'low' && self.kind == kind",
    "metadata.labels['team/x'] == 'a' && metadata['labels'].`team/x` == 'a'",
    "self.spec.limits.a.rates[1].window == '1m' && self['spec']['limits'].a.rates[0].limit == 5",
    "spec['limits']['a'].rates[0]['limit'] == 5",
    "self.spec == spec && size(self) == 3 && 'kind' in self && self[['kind'][0]] == kind",
    // Presence.
    "has(spec.limits.a) && !has(spec.limits.c) && has(metadata.labels.n) && has(self.spec)",
    "!has(spec.empty.x) && !has(self.spec.limits.c)",
    "'a' in spec.limits && !('c' in spec.limits) && 'x' in spec.tags && !('z' in spec.tags)",
    "has(spec.limits.a.rates) ? spec.limits.a.rates.size() == 2 : false",
    "spec.limits.a.rates.all(r, has(r.limit)) && !spec.limits.a.rates.exists(r, has(r.x))",
    // Logic takes errors in.
    "true || spec.nothing.at.all",
    "spec.nothing.at.all || true",
    "!(false && spec.nothing.at.all) && !(spec.nothing.at.all && false)",
    "[0, 2].exists(x, 4 / x == 2)",
    "!([2, 0].all(x, 4 / x == 1))",
    // Macros.
    "spec.limits.a.rates.exists(r, r.limit > 50)",
    "spec.limits.exists(name, spec.limits[name].rates.size() == 0)",
    "spec.limits.all(name, size(name) == 1)",
    "spec.limits.map(name, name) == ['a', 'b']",
    "spec.limits.a.rates.map(r, r.limit) == [5, 60]",
    "spec.limits.a.rates.map(r, r.limit > 5, r.window) == ['1m']",
    "spec.limits.a.rates.filter(r, r.limit > 5).size() == 1",
    "spec.limits.a.rates.exists_one(r, r.limit == 60)",
    "[[1, 2], [3]].exists(x, x.exists(y, y == 3))",
    "[1, 2].exists(x, [x].all(x, x == 2))",
    "spec.empty.all(x, false) && !spec.empty.exists(x, true)",
    // Functions.
    "size(spec.limits) == 2 && spec.tags.size() == 2 && size('é') == 1",
    "metadata.name.startsWith('l') && metadata.name.endsWith('w') && metadata.name.contains('o')",
    "int('5') == 5 && uint(5) == 5u && double('1.5') == 1.5 && string(5) == '5' && bool('true')",
    "type(1) == int && type(spec.limits) == map && type(spec.tags) == list && type(null) == null_type",
    "type(spec.share) == double && type(kind) == string && type(spec.on) == bool && dyn(1) == 1",
    "spec.on ? true : 1 / 0 == 1",
    "spec.on // why not\n && true",
];

const NOT_MET: &[&str] = &[
    "false",
    "spec.limits.a.rates.exists(r, r.limit > 500)",
    "spec.tags == ['y', 'x']",
    "has(spec.rules)",
    "kind == 5",
    "spec.limits == spec",
    "!has(spec.limits.a) || spec.limits.a.rates[0].limit > 5",
];

const FAILED: &[(&str, &str)] = &[
    ("spec.limits.c.rates == []", "no such key: c"),
    ("spec.rules.x == 1", "no such key: rules"),
    ("has(spec.rules.x)", "no such key: rules"),
    ("self.spec.rules == 1", "no such key: rules"),
    ("metadata.labels['nope'] == ''", "no such key: nope"),
    ("spec.limits.a.rates[7].limit > 1", "index out of bounds: 7"),
    ("spec.limits.a.rates[0].x > 1", "no such key: x"),
    ("spec.on.x", "bool has no members"),
    ("has(spec.tags.x)", "list has no members"),
    ("spec.share + 1 > 0", "`+` does not apply to double and int"),
    ("kind > 5", "`>` does not apply to string and int"),
    ("kind", "it evaluates to string, not to bool"),
    ("spec.limits.a.rates.map(r, r)", "it evaluates to list, not to bool"),
    ("1 / 0 == 1", "division by zero"),
    ("1 % 0 == 1", "remainder of a division by zero"),
    ("9223372036854775807 + 1 > 0", "the result of `+` does not fit 64 bits"),
    ("-(-9223372036854775807 - 1) > 0", "the result of `-` does not fit 64 bits"),
    ("(-9223372036854775807 - 1) / -1 > 0", "the result of `/` does not fit 64 bits"),
    ("1 && true", "`&&` does not apply to int and bool"),
    ("!1", "`!` does not apply to int"),
    ("1 ? true : false", "bool expected, found int"),
    ("kind.exists(c, true)", "iterable expected, found string"),
    ("int('x') == 1", "int(): string parse error: invalid digit found in string"),
    ("{1: 1, 1u: 2} == {}", "a map has the key 1 twice"),
    ("{[1]: 1} == {}", "list cannot be the key of a map"),
    ("1 in 1", "`in` does not apply to int and int"),
    ("[1][0.5] == 1", "0.5 cannot be an index of list"),
    ("size(1) == 1", "`size` does not apply to int"),
    ("[1, 0].all(x, 1 / x == 1)", "division by zero"),
];

#[test]
fn verdicts() {
    let all = MET.iter().map(|text| (*text, ConditionVerdict::Met));
    let all = all.chain(NOT_MET.iter().map(|text| (*text, ConditionVerdict::NotMet)));
    let all =
        all.chain(FAILED.iter().map(|(t, why)| (*t, ConditionVerdict::Failed((*why).to_owned()))));
    let wrong: Vec<String> = all
        .map(|(text, expected)| (text, expected, evaluate(text, policy()).verdict))
        .filter(|(_, expected, found)| expected != found)
        .map(|(text, expected, found)| format!("{text}\n  {expected:?}\n  {found:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_policy_without_parts() {
    let verdict = |text: &str, data: Json| evaluate(text, data).verdict;
    let no_kind = || json!({"spec": {}});
    let failed = |why: &str| ConditionVerdict::Failed(why.to_owned());
    assert_eq!(verdict("kind == 'x'", no_kind()), failed("the policy has no kind"));
    assert_eq!(verdict("has(self.kind)", no_kind()), ConditionVerdict::NotMet);
    assert_eq!(verdict("has(self.spec) && !has(spec.x)", no_kind()), ConditionVerdict::Met);
    assert_eq!(verdict("size(self) == 1", no_kind()), ConditionVerdict::Met);
    assert_eq!(verdict("has(spec.a)", json!({})), failed("the policy has no spec"));
    assert_eq!(verdict("spec.a.b == 1", json!({"spec": 3})), failed("int has no members"));
    assert_eq!(verdict("has(spec.a)", json!({"spec": null})), failed("null_type has no members"));
}

#[test]
fn what_it_saw() {
    let saw = |text: &str| -> Vec<(String, Json)> {
        let seen = evaluate(text, policy()).saw;
        let json = |value: Option<CelValue>| match value {
            Some(value) => serde_json::to_value(value).unwrap(),
            None => json!("absent"),
        };
        seen.into_iter().map(|(path, value)| (path, json(value))).collect()
    };
    let entry = |path: &str, value: Json| (path.to_owned(), value);
    assert_eq!(
        saw("has(spec.limits.c) || self.spec.limits.a.rates[0].limit > 5 || kind == metadata.name"),
        [
            entry("spec.limits.c", json!("absent")),
            entry("spec.limits.a.rates", policy()["spec"]["limits"]["a"]["rates"].clone()),
            entry("kind", json!("RateLimitPolicy")),
            entry("metadata.name", json!("low")),
        ]
    );
    // A path inside of another one is taken from there.
    assert_eq!(
        saw(
            "metadata.labels['team/x'] == 'b' || size(metadata.labels) > 1 || has(metadata.labels.n)"
        ),
        [
            entry("metadata.labels[\"team/x\"]", json!("a")),
            entry("metadata.labels", json!({"team/x": "a", "n": null})),
            entry("metadata.labels.n", json!(null)),
        ]
    );
    assert_eq!(saw("size(self) == 3"), [entry("self", policy())]);
    assert_eq!(saw("true"), []);
}

/// The interpreter's own order of a map differs from run to run; ours does not.
#[test]
fn maps_are_gone_over_in_order() {
    let names: Vec<String> = (0..40).map(|i| format!("k{i:02}")).collect();
    let limits: Json = names.iter().map(|name| (name.clone(), json!(1))).collect();
    let list = format!("{names:?}");
    let text = format!("spec.limits.map(k, k) == {list}");
    let found = evaluate(&text, json!({"spec": {"limits": limits}}));
    assert_eq!(found.verdict, ConditionVerdict::Met);
    // The last error is told, so the order shows.
    let found =
        evaluate("spec.exists(k, spec[k].x == 1)", json!({"spec": {"b": "s", "a": 1, "c": true}}));
    assert_eq!(found.verdict, ConditionVerdict::Failed("bool has no members".to_owned()));
}
