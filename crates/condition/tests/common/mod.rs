// SPDX-License-Identifier: Apache-2.0
//! In: JSON. Out: a policy a condition can ask. Not here: tests.
#![allow(dead_code, clippy::print_stderr, reason = "each test uses a part of this")]

use overrule_condition::{CelCondition, CelValue, Data, Evaluation};

/// A policy as JSON: an object with `kind`, `metadata` and `spec`.
pub struct Json(pub serde_json::Value);

impl Data for Json {
    fn value(&self, path: &[&str]) -> Option<CelValue> {
        assert!(matches!(path.first(), Some(&"kind" | &"metadata" | &"spec")), "{path:?}");
        let found = path.iter().try_fold(&self.0, |at, name| at.as_object()?.get(*name))?;
        Some(plain(found))
    }
}

pub fn plain(json: &serde_json::Value) -> CelValue {
    match json {
        serde_json::Value::Null => CelValue::Null,
        serde_json::Value::Bool(b) => CelValue::Bool(*b),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(n) => CelValue::Int(n),
            None => CelValue::Float(n.as_f64().unwrap()),
        },
        serde_json::Value::String(s) => CelValue::Text(s.clone()),
        serde_json::Value::Array(items) => CelValue::List(items.iter().map(plain).collect()),
        serde_json::Value::Object(members) => {
            CelValue::Map(members.iter().map(|(k, v)| (k.clone(), plain(v))).collect())
        }
    }
}

pub fn evaluate(text: &str, data: serde_json::Value) -> Evaluation {
    CelCondition::parse(text).unwrap_or_else(|r| panic!("{text}: {r}")).evaluate(&Json(data))
}

/// Runs on a thread with the stack of a test or a worker thread.
pub fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap();
    thread.join().unwrap()
}
