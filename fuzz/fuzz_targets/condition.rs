// SPDX-License-Identifier: Apache-2.0
//! In: any text. Out: a refusal at a place inside it, or a condition that answers; never a panic, an abort or a hang.
//! Not here: whether the answer is right (`crates/condition/tests`).
#![no_main]

use libfuzzer_sys::fuzz_target;
use overrule_condition::{CelCondition, Data, CelValue};

fuzz_target!(|text: &str| {
    match CelCondition::parse(text) {
        Err(refusal) => {
            assert!(refusal.start <= refusal.end && refusal.end <= text.len(), "{refusal:?}");
            assert!(text.is_char_boundary(refusal.start) && text.is_char_boundary(refusal.end));
        }
        Ok(condition) => {
            for policy in [Policy::Nothing, Policy::Small, Policy::Large] {
                let evaluation = condition.evaluate(&policy);
                assert!(evaluation.saw.len() <= condition.reads().len());
            }
        }
    }
});

/// The policy below, in three sizes.
enum Policy {
    Nothing,
    Small,
    Large,
}

impl Data for Policy {
    fn value(&self, path: &[&str]) -> Option<CelValue> {
        let (first, rest) = path.split_first()?;
        let limits = match self {
            Self::Nothing => 0,
            Self::Small => 2,
            Self::Large => 200,
        };
        let rate = |n: i64| {
            CelValue::Map(vec![("limit".to_owned(), CelValue::Int(n)), ("window".to_owned(), CelValue::Text("1s".to_owned()))])
        };
        let limit = |n: i64| CelValue::Map(vec![("rates".to_owned(), CelValue::List((0..n % 7).map(rate).collect()))]);
        let named = |n: i64| (char::from(b'a' + u8::try_from(n % 26).unwrap_or(0)).to_string() + &"x".repeat(usize::try_from(n / 26).unwrap_or(0)), limit(n));
        let mut value = match *first {
            "kind" => CelValue::Text("RateLimitPolicy".to_owned()),
            "metadata" => CelValue::Map(vec![("name".to_owned(), CelValue::Text("a".to_owned()))]),
            "spec" => CelValue::Map(vec![("limits".to_owned(), CelValue::Map((0..limits).map(named).collect()))]),
            _ => return None,
        };
        for key in rest {
            value = value.member(key)?.clone();
        }
        Some(value)
    }
}
