// SPDX-License-Identifier: Apache-2.0
//! In: random conditions over random policies. Out: the same answer as the interpreter alone, which has everything
//! converted and knows no bounds. Not here: chosen cases (`semantics.rs`).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail loudly, in its helpers too"
)]

mod common;

use std::sync::{Arc, LazyLock};

use cel::parser::PrattParser;
use cel::{Context, Env, ExecutionError};
use common::Json;
use overrule_condition::{CelCondition, ConditionVerdict};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// As the interpreter has it. Its own conversion makes unsigned numbers.
fn convert(json: &Value) -> cel::Value {
    match json {
        Value::Null => cel::Value::Null,
        Value::Bool(b) => cel::Value::Bool(*b),
        Value::Number(n) => match n.as_i64() {
            Some(n) => cel::Value::Int(n),
            None => cel::Value::Float(n.as_f64().unwrap()),
        },
        Value::String(s) => cel::Value::from(s.as_str()),
        Value::Array(items) => cel::Value::from(items.iter().map(convert).collect::<Vec<_>>()),
        Value::Object(members) => {
            let members = members.iter().map(|(k, v)| (k.clone(), convert(v)));
            cel::Value::Map(members.collect::<std::collections::BTreeMap<_, _>>().into_map())
        }
    }
}

trait IntoMap {
    fn into_map(self) -> cel::objects::Map;
}

impl IntoMap for std::collections::BTreeMap<String, cel::Value> {
    #[allow(clippy::disallowed_types, reason = "the interpreter's map")]
    fn into_map(self) -> cel::objects::Map {
        self.into_iter().collect::<std::collections::HashMap<_, _>>().into()
    }
}

static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

fn direct(text: &str, data: &Value) -> Result<cel::Value, ExecutionError> {
    let expression = PrattParser::new().enable_ident_escape_syntax(true).parse(text).unwrap();
    let mut context = Context::with_env(ENV.clone());
    context.add_variable_from_value("self", convert(data));
    for (name, value) in data.as_object().unwrap() {
        context.add_variable_from_value(name.clone(), convert(value));
    }
    cel::Value::resolve(&expression, &context)
}

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        (-2i64..4).prop_map(|n| json!(n)),
        Just(json!(0.5)),
        "[ab]{0,2}".prop_map(|s| json!(s)),
    ]
    .boxed()
}

fn key() -> BoxedStrategy<String> {
    prop_oneof![Just("a"), Just("b"), Just("c"), Just("x-y")].prop_map(str::to_owned).boxed()
}

fn tree() -> BoxedStrategy<Value> {
    scalar()
        .prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(key(), inner, 0..4)
                    .prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
        .boxed()
}

fn policy() -> BoxedStrategy<Value> {
    let members = prop::collection::btree_map(key(), tree(), 0..4);
    let map = members.prop_map(|m| Value::Object(m.into_iter().collect())).boxed();
    let maybe = || prop::option::weighted(0.9, prop_oneof![1 => tree(), 6 => map.clone()]);
    (maybe(), maybe(), maybe())
        .prop_map(|(kind, metadata, spec)| {
            let mut all = Map::new();
            for (name, value) in [("kind", kind), ("metadata", metadata), ("spec", spec)] {
                all.extend(value.map(|value| (name.to_owned(), value)));
            }
            Value::Object(all)
        })
        .boxed()
}

fn path() -> BoxedStrategy<String> {
    let root = prop_oneof![
        3 => Just("spec"), 1 => Just("metadata"), 1 => Just("kind"), 1 => Just("self['sp' + 'ec']"),
        2 => Just("self.spec"), 2 => Just("x")
    ];
    let step = prop_oneof![
        4 => Just(".a"), 2 => Just(".b"), 1 => Just(".`x-y`"), 1 => Just("['a']"), 1 => Just("['x-y']"),
        1 => Just("[0]"), 1 => Just("[1 - 1]"), 1 => Just("['a' + '']")
    ];
    (root, prop::collection::vec(step, 0..4))
        .prop_map(|(root, steps)| format!("{root}{}", steps.concat()))
        .boxed()
}

fn value() -> BoxedStrategy<String> {
    prop_oneof![
        4 => path(),
        1 => Just("1".to_owned()),
        1 => Just("'a'".to_owned()),
        1 => Just("[1, 'a']".to_owned()),
        1 => Just("{'a': 1}".to_owned()),
        1 => Just("null".to_owned()),
        1 => Just("self".to_owned()),
        1 => path().prop_map(|p| format!("size({p})")),
        1 => path().prop_map(|p| format!("{p} + 1")),
        1 => path().prop_map(|p| format!("[{p}]")),
        1 => path().prop_map(|p| format!("string({p})")),
    ]
    .boxed()
}

fn condition() -> BoxedStrategy<String> {
    let test = prop_oneof![
        3 => (path(), key()).prop_map(|(p, k)| format!("has({p}.`{k}`)")),
        2 => (key(), path()).prop_map(|(k, p)| format!("'{k}' in {p}")),
        2 => (value(), value()).prop_map(|(a, b)| format!("{a} == {b}")),
        1 => (value(), value()).prop_map(|(a, b)| format!("{a} < {b}")),
        1 => (value(), value()).prop_map(|(a, b)| format!("{a} in {b}")),
        1 => path().prop_map(|p| format!("type({p}) == map")),
        1 => path(),
    ];
    test.prop_recursive(4, 12, 3, |inner| {
        let two = || (inner.clone(), inner.clone());
        prop_oneof![
            2 => two().prop_map(|(a, b)| format!("({a} && {b})")),
            2 => two().prop_map(|(a, b)| format!("({a} || {b})")),
            1 => inner.clone().prop_map(|a| format!("!({a})")),
            1 => (two(), inner.clone()).prop_map(|((a, b), c)| format!("({a} ? {b} : {c})")),
            1 => (path(), inner.clone()).prop_map(|(p, a)| format!("{p}.exists(x, {a})")),
            1 => (path(), inner.clone()).prop_map(|(p, a)| format!("{p}.all(x, {a})")),
            1 => (path(), inner.clone()).prop_map(|(p, a)| format!("{p}.exists_one(x, {a})")),
            1 => (path(), inner.clone()).prop_map(|(p, a)| format!("{p}.filter(x, {a}).size() == 1")),
            1 => (path(), value()).prop_map(|(p, v)| format!("{p}.map(x, {v}).size() == 1")),
        ]
    })
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn projecting_changes_no_answer(text in condition(), data in policy()) {
        // Over a map the interpreter tells the error of any member.
        let ordered = !text.contains("x,") && !text.contains("self");
        // Bound outside of a macro, too, so that most texts are accepted.
        let text = format!("[{{'a': [1], 'b': 'b'}}].exists(x, {text})");
        let parsed = CelCondition::parse(&text);
        if let Err(refusal) = &parsed {
            let meant = refusal.message.starts_with("`self` has no member") || refusal.message.contains("too ");
            prop_assert!(meant, "{text}: {refusal}");
            return Ok(());
        }
        let found = parsed.unwrap().evaluate(&Json(data.clone()));
        let expected = direct(&text, &data);
        let same = match (&found.verdict, &expected) {
            (ConditionVerdict::Met, Ok(cel::Value::Bool(true))) => true,
            (ConditionVerdict::NotMet, Ok(cel::Value::Bool(false))) => true,
            (ConditionVerdict::Failed(why), Err(ExecutionError::NoSuchKey(key))) if ordered => {
                *why == format!("no such key: {key}")
            }
            (ConditionVerdict::Failed(why), Err(ExecutionError::NoSuchOverload(_))) if ordered => {
                why.contains("has no members") || why.contains("does not apply")
            }
            (ConditionVerdict::Failed(_), Err(_)) => true,
            (ConditionVerdict::Failed(why), Ok(value)) => {
                why.starts_with("it evaluates to") && !matches!(value, cel::Value::Bool(_))
            }
            _ => false,
        };
        prop_assert!(same, "{text}\n{data}\n{:?}\n{expected:?}", found.verdict);
    }
}
