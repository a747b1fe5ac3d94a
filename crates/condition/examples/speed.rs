// SPDX-License-Identifier: Apache-2.0
//! Nanoseconds to read and to evaluate typical conditions, printed.
//! Not here: bounds (`cargo test -p overrule-condition --lib -- --ignored --nocapture`).
//!
//! Run with `cargo run --release -p overrule-condition --example speed`.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a measurement for people"
)]

use std::hint::black_box;
use std::time::Instant;

use overrule_condition::{CelCondition, CelValue, Data, ValueShape};

/// A policy whose values are at hand.
struct Policy(CelValue);

impl Policy {
    fn at(&self, path: &[&str]) -> Option<&CelValue> {
        path.iter().try_fold(&self.0, |at, name| at.member(name))
    }
}

impl Data for Policy {
    fn value(&self, path: &[&str]) -> Option<CelValue> {
        self.at(path).cloned()
    }

    fn shape(&self, path: &[&str]) -> Option<ValueShape> {
        self.at(path).map(CelValue::shape)
    }
}

fn map<const N: usize>(members: [(&str, CelValue); N]) -> CelValue {
    CelValue::Map(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn policy() -> Policy {
    let rate =
        |limit| map([("limit", CelValue::Int(limit)), ("window", CelValue::Text("1m".to_owned()))]);
    let limit = |n| map([("rates", CelValue::List(vec![rate(n), rate(5 * n), rate(9 * n)]))]);
    let rules = map([("authentication", map([("a", map([("jwt", CelValue::Null)]))]))]);
    let limits = map([("a", limit(10)), ("b", limit(20)), ("c", limit(30))]);
    Policy(map([
        ("kind", CelValue::Text("RateLimitPolicy".to_owned())),
        ("metadata", map([("name", CelValue::Text("low".to_owned()))])),
        ("spec", map([("limits", limits), ("rules", rules)])),
    ]))
}

/// The least of some runs, which is the one that was disturbed least.
fn nanoseconds(mut work: impl FnMut()) -> u128 {
    const TIMES: u128 = 20_000;
    let run = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..TIMES).for_each(|_| work());
        start.elapsed().as_nanos() / TIMES
    };
    (0..5).map(|_| run(&mut work)).min().unwrap_or(0)
}

fn main() {
    let policy = policy();
    for text in [
        "true",
        "kind == 'RateLimitPolicy'",
        "has(spec.rules.authentication.a)",
        "has(spec.rules.authentication.nope)",
        "spec.limits.a.rates.exists(r, r.limit > 50)",
        "spec.limits.a.rates.exists(r, r.limit > 500)",
        "spec.limits.all(name, spec.limits[name].rates.size() > 1)",
        "!has(spec.limits.a) || spec.limits.a.rates[0].limit > 5 && metadata.name.startsWith('l')",
    ] {
        let condition = CelCondition::parse(text).unwrap();
        let load = nanoseconds(|| drop(black_box(CelCondition::parse(black_box(text)))));
        let evaluate = nanoseconds(|| drop(black_box(condition.evaluate(black_box(&policy)))));
        let verdict = condition.evaluate(&policy).verdict;
        println!("{load:>7} ns to read {evaluate:>7} ns to evaluate  {verdict:?}  {text}");
    }
}
