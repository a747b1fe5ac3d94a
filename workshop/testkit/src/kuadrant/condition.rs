// SPDX-License-Identifier: Apache-2.0
//! In: an expression and the policy it is about. Out: met, not met, or failed. Not here: any protection: the
//! expressions are our own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, Env, Program};
use serde_json::Value;

thread_local! {
    // Compiling is most of the work, and the worlds share a few dozen expressions.
    static ENV: Arc<Env> = Arc::new(Env::stdlib());
    static PROGRAMS: RefCell<BTreeMap<String, Option<Rc<Program>>>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// What an expression says about a policy, a map of `kind`, `metadata` and `spec` as far as there are any: each is a
/// variable, and `self` is all of them. Nothing if it fails or does not say yes or no.
pub(super) fn evaluate(expression: &str, policy: &Value) -> Option<bool> {
    let program = compiled(expression)?;
    let mut context = Context::with_env(ENV.with(Arc::clone));
    for (name, value) in policy.as_object()? {
        context.add_variable_from_value(name.as_str(), convert(value));
    }
    context.add_variable_from_value("self", convert(policy));
    match program.execute(&context) {
        Ok(cel::Value::Bool(met)) => Some(met),
        _ => None,
    }
}

fn compiled(expression: &str) -> Option<Rc<Program>> {
    PROGRAMS.with_borrow_mut(|programs| {
        if let Some(program) = programs.get(expression) {
            return program.clone();
        }
        let program = Program::compile(expression).ok().map(Rc::new);
        programs.insert(expression.to_owned(), program.clone());
        program
    })
}

/// Not the conversion of the interpreter: that one makes unsigned numbers of positive ones.
fn convert(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(b) => cel::Value::Bool(*b),
        Value::Number(n) => match n.as_i64() {
            Some(integer) => cel::Value::Int(integer),
            None => cel::Value::Float(n.as_f64().expect("a number")),
        },
        Value::String(s) => cel::Value::String(Arc::new(s.clone())),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(convert).collect())),
        Value::Object(members) => {
            let pairs = members.iter().map(|(k, v)| (Key::from(k.as_str()), convert(v)));
            cel::Value::Map(Map { map: Arc::new(pairs.collect()) })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::evaluate;

    #[test]
    fn three_answers() {
        let policy = json!({"kind": "RateLimitPolicy", "spec": {"limits": {
            "a": {"rates": [{"limit": 30}, {"limit": 100}]},
            "a-b.c": {"rates": [{"limit": 2.5}]},
        }}});
        let table = [
            ("spec.limits.a.rates.exists(r, r.limit > 50)", Some(true)),
            ("self.spec.limits.a.rates.all(r, r.limit > 50)", Some(false)),
            ("spec.limits['a-b.c'].rates[0].limit < 3", Some(true)),
            ("size(spec.limits) + 1 == 3", Some(true)),
            ("'kind' in self && !('metadata' in self)", Some(true)),
            ("has(spec.limits.b)", Some(false)),
            ("spec.limits.b.rates[0].limit > 50 || kind == 'RateLimitPolicy'", Some(true)),
            ("spec.limits.b.rates[0].limit > 50 && kind == 'AuthPolicy'", Some(false)),
            // One element decides, whatever the others do.
            (
                "[{'l': 100}, {}].exists(r, r.l > 50) && [{}, {'l': 100}].exists(r, r.l > 50)",
                Some(true),
            ),
            ("[{'l': 100}, {}].all(r, r.l < 50) || [{}, {'l': 100}].all(r, r.l < 50)", Some(false)),
            ("spec.limits.exists(n, spec.limits[n].rates[1].limit > 50)", Some(true)),
            ("spec.limits.exists(n, spec.limits[n].rates[1].limit > 500)", None),
            ("spec.limits.b.rates[0].limit > 50", None),
            ("spec.limits.a.rates[2].limit > 50", None),
            ("has(spec.rules.authentication)", None),
            ("metadata.name == 'p'", None),
            ("kind > 5", None),
            ("kind", None),
            ("spec.limits.a.rates[0].limit", None),
        ];
        for (expression, answer) in table {
            // Maps have no order: the answer must not depend on one.
            for _ in 0..20 {
                assert_eq!(evaluate(expression, &policy), answer, "{expression}");
            }
        }
    }
}
