// SPDX-License-Identifier: Apache-2.0
//! In: texts and data made to hurt. Out: each is refused or answered, on a small stack; the time is printed.
//! Not here: ordinary conditions (`semantics.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test may fail loudly, and measures"
)]

mod common;

use std::time::Instant;

use common::{Json, on_small_stack};
use overrule_condition::{CelCondition, ConditionVerdict};
use proptest::prelude::*;
use serde_json::json;

/// What must become of a hostile text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Refused,
    Failed,
    Answered,
    /// Refused or answered, whichever the bounds say: nothing may abort.
    Either,
}

fn check(name: &str, text: String, data: serde_json::Value, end: End) {
    let shown = name.to_owned();
    let found = on_small_stack(move || {
        let start = Instant::now();
        let parsed = CelCondition::parse(&text);
        let loaded = start.elapsed();
        let start = Instant::now();
        let end = match parsed {
            Err(refusal) => {
                assert!(refusal.start <= refusal.end && refusal.end <= text.len(), "{refusal}");
                assert!(text.is_char_boundary(refusal.start) && text.is_char_boundary(refusal.end));
                (End::Refused, refusal.to_string())
            }
            Ok(condition) => match condition.evaluate(&Json(data)).verdict {
                ConditionVerdict::Failed(why) => (End::Failed, why),
                verdict => (End::Answered, format!("{verdict:?}")),
            },
        };
        eprintln!("{shown:32} {loaded:>10.1?} {:>10.1?}  {end:?}", start.elapsed());
        end.0
    });
    assert!(end == End::Either || found == end, "{name}: {found:?}");
}

fn nested(open: &str, core: &str, close: &str, times: usize) -> String {
    format!("{}{core}{}", open.repeat(times), close.repeat(times))
}

fn list(n: usize) -> String {
    format!("[{}]", vec!["1"; n].join(","))
}

#[test]
fn texts_that_nest() {
    let none = json!({});
    for (name, text) in [
        ("parens 10000", nested("(", "true", ")", 10_000)),
        ("parens 1000", nested("(", "true", ")", 1000)),
        ("parens and plus", nested("(1+", "1", ")", 400)),
        ("brackets", nested("[", "", "]", 1000)),
        ("braces", nested("{1:", "1", "}", 400)),
        ("calls", nested("size(", "''", ")", 300)),
        ("not minus", format!("{}true", "!-".repeat(1000))),
        ("plus 2000", vec!["1"; 2000].join("+")),
        ("plus 1000", vec!["1"; 1000].join("+")),
        ("mixed precedence", "1+1*".repeat(400) + "1"),
        ("index", format!("spec{}", "[0]".repeat(660))),
        ("index and call", format!("spec{}.size()", "[0]".repeat(660))),
        ("members", format!("spec{} == 1", ".a".repeat(1000))),
        ("calls on calls", format!("spec{}", ".size()".repeat(290))),
        ("ternaries right", format!("{}true", "0?1:".repeat(500))),
        ("ternaries left", format!("true{}", "?1:0".repeat(500))),
        ("ternaries inside", nested("1?", "1", ":1", 500)),
        ("list 100000", list(100_000)),
        ("has", nested("has(", "spec.a", ")", 300)),
    ] {
        check(name, text, none.clone(), End::Refused);
    }
    // Pairs of the same sign cancel out while parsing.
    check("minus", format!("{}1 > 0", "- ".repeat(1000)), none, End::Answered);
    let deep = "spec.all(x, ".repeat(40) + "true" + &")".repeat(40);
    check("macros in macros", deep, json!({"spec": []}), End::Either);
    let chain = format!("spec{} == []", ".filter(x, true)".repeat(110));
    check("macros on macros", chain, json!({"spec": []}), End::Either);
    // As deep as it gets, each with the largest frames.
    let deepest = |make: &dyn Fn(usize) -> String| {
        (1..200).map(make).take_while(|text| CelCondition::parse(text).is_ok()).last().unwrap()
    };
    let data = json!({"spec": [1]});
    for (name, text) in [
        ("deepest sum", deepest(&|n| vec!["1"; n].join("+") + " == 1")),
        ("deepest filters", deepest(&|n| format!("spec{} == []", ".filter(x, true)".repeat(n)))),
        ("deepest maps", deepest(&|n| nested("spec.map(x, ", "[x]", ")", n) + " == []")),
        ("deepest exists", deepest(&|n| nested("[1].exists(x, ", "x > 1", ")", n))),
        ("deepest lists", deepest(&|n| nested("[", "1", "]", n) + " == []")),
        ("deepest map literals", deepest(&|n| nested("{1: ", "1", "}", n) + " == {}")),
        ("deepest choices", deepest(&|n| "false ? true : ".repeat(n) + "false")),
        ("deepest calls", deepest(&|n| nested("string(", "1", ")", n) + " == ''")),
        (
            "deepest indexes",
            deepest(&|n| format!("{}1{}{} == 1", "[".repeat(9), "]".repeat(9), "[0]".repeat(n))),
        ),
    ] {
        check(name, text, data.clone(), End::Either);
    }
}

#[test]
fn texts_that_are_long_and_harmless() {
    check("or", "true||".repeat(340) + "true", json!({}), End::Answered);
    check("and", vec!["!false"; 250].join("&&"), json!({}), End::Answered);
    check("list 900", format!("size({}) == 900", list(900)), json!({}), End::Answered);
    let many = vec!["has(spec.aaaaaaaaaa)"; 80].join("||");
    check("has 80", many, json!({"spec": {}}), End::Answered);
}

#[test]
fn texts_that_multiply() {
    let fifty = list(50);
    for depth in 4..=6 {
        let text = format!("{fifty}.map(x, ").repeat(depth) + "1" + &")".repeat(depth) + " == []";
        check(&format!("map in map {depth}"), text, json!({}), End::Refused);
    }
    let doubled = format!("['ab'{}].size() > 0", ".map(x, x + x)".repeat(0));
    check("nothing doubled", doubled, json!({}), End::Answered);
    for (name, step) in [
        ("strings doubled", ".map(x, x + x)"),
        ("lists doubled", ".map(x, [x, x])"),
        ("maps doubled", ".map(x, {'a': x, 'b': x})"),
    ] {
        check(name, format!("['ab']{} == []", step.repeat(60)), json!({}), End::Refused);
        check(name, format!("['ab']{} == []", step.repeat(8)), json!({}), End::Answered);
    }
    let inner = "[0,1].map(a, [a, a]).map(b, [b, b, b]).map(c, [c, c, c, c])";
    check("exotic", format!("{inner}.exists_one(x, x == {inner})"), json!({}), End::Either);
}

#[test]
fn data_that_is_large() {
    let numbers = |n: usize| json!({"spec": {"a": (0..n).collect::<Vec<_>>()}});
    check("sum", "spec.a.exists(x, x < 0)".into(), numbers(1000), End::Answered);
    check("large", "spec.a.exists(x, x < 0)".into(), numbers(5000), End::Failed);
    check("too many nodes", "spec.a.size() > 0".into(), numbers(200_000), End::Failed);
    check("nearly too many", "spec.a.size() > 0".into(), numbers(5_900), End::Answered);
    check("nearly too long", "spec.a.exists(x, x < 0)".into(), numbers(3300), End::Answered);
    let members = |n: usize| {
        let all: serde_json::Map<_, _> =
            (0..n).map(|i| (format!("k{i}"), json!({"a": i}))).collect();
        json!({"spec": {"a": all}})
    };
    let over_map = "spec.a.exists(k, spec.a[k].a < 0)";
    check("map 1200", over_map.into(), members(1200), End::Answered);
    check("whole map", "spec.a != {} && self.spec == spec".into(), members(1300), End::Answered);
    let square = "spec.a.all(x, spec.a.exists(y, x == y))";
    check("square 20", square.into(), numbers(20), End::Answered);
    check("square 1000", square.into(), numbers(1000), End::Failed);
    let cube = "spec.a.all(x, spec.a.all(y, spec.a.exists(z, x + y == z)))";
    check("cube 50", cube.into(), numbers(50), End::Failed);
    let text = json!({"spec": {"a": "x".repeat(3 << 20)}});
    check("3 MiB of text", "spec.a.contains('y')".into(), text, End::Failed);
    let text = json!({"spec": {"a": "x".repeat(1 << 19)}});
    check("512 KiB of text", "spec.a.contains('y')".into(), text.clone(), End::Answered);
    let sum = format!("size({}) > 1", vec!["spec.a"; 100].join(" + "));
    check("text joined", sum, text.clone(), End::Refused);
    let sum = format!("size({}) > 1", vec!["spec.a"; 20].join(" + "));
    check("text joined", sum, text, End::Failed);
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    check("deep", "spec.a == spec.a".into(), json!({"spec": {"a": deep}}), End::Answered);
    let deep = (0..126).fold(json!(1), |inner, _| json!({"a": inner}));
    check("deep maps", "[spec] == [self.spec]".into(), json!({"spec": deep}), End::Answered);
    let deep = (0..130).fold(json!(1), |inner, _| json!({"a": inner}));
    check("too deep", "spec == 1".into(), json!({"spec": deep}), End::Failed);
}

/// Every prefix of some texts, and every text with one byte replaced: the parser sees broken input of all kinds.
#[test]
fn texts_that_are_broken() {
    let seeds = [
        "spec.limits.a.rates.exists(r, r.limit > 50 && has(r.window)) ? kind == 'x' : [1, 2u, 3.5, 0x1F].size() == 4",
        "'\\u00e9\\x41\\101' + \"\\n\" == r'''raw''' || b'\\xff' == b\"\" || !(-spec['a-b'] in {'k': null, `q`: 1})",
        "metadata.labels['kuadrant.io/x'] == 'ü€😀' // comment\n && spec.`a-b` == 1",
    ];
    on_small_stack(move || {
        for seed in seeds {
            for (i, _) in seed.char_indices() {
                let _ = CelCondition::parse(&seed[..i]);
                for c in [
                    '(', ')', '\'', '"', '`', '\\', '?', '.', '@', 'é', '\0', '\n', '9', '!', '-',
                    '{',
                ] {
                    let rest: String = seed[i..].chars().skip(1).collect();
                    let text = format!("{}{c}{rest}", &seed[..i]);
                    if let Err(r) = CelCondition::parse(&text) {
                        assert!(text.is_char_boundary(r.start) && text.is_char_boundary(r.end));
                        assert!(r.start <= r.end && !r.message.is_empty() && !r.help.is_empty());
                    }
                }
            }
        }
    });
}

/// What random texts are made of.
const WORDS: &[&str] = &[
    "spec",
    "self",
    "kind",
    "metadata",
    "x",
    "y",
    ".a",
    ".b",
    ".`a-b`",
    "['a']",
    "[0]",
    "[x]",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "?",
    " ",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    " in ",
    "true",
    "false",
    "null",
    "0",
    "1",
    "-1",
    "0.5",
    "1e308",
    "2u",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615u",
    "'a'",
    "\"é\"",
    "b'a'",
    "r'\\'",
    "''",
    "size(",
    "string(",
    "int(",
    "uint(",
    "double(",
    "bool(",
    "type(",
    "dyn(",
    "has(",
    ".size()",
    ".startsWith('a')",
    ".contains(x)",
    ".exists(x, ",
    ".all(y, ",
    ".exists_one(x, ",
    ".map(x, ",
    ".map(x, true, ",
    ".filter(y, ",
    "[1, 2, 3]",
    "{'a': 1, 2: x}",
    "// c\n",
    "@",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing a text can say makes reading or evaluating panic.
    #[test]
    fn texts_of_random_words(words in prop::collection::vec(prop::sample::select(WORDS), 0..14)) {
        let mut text = words.concat();
        // Closed, more of them are conditions.
        let open = text.matches('(').count().saturating_sub(text.matches(')').count());
        text.push_str(&")".repeat(open));
        if let Ok(condition) = CelCondition::parse(&text) {
            let data = json!({"kind": "k", "spec": {"a": [1, {"a": 2.5}], "b": {"a": "é", "b": i64::MIN}}});
            condition.evaluate(&Json(data));
        }
    }
}
