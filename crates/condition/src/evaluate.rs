// SPDX-License-Identifier: Apache-2.0
//! In: an accepted condition and a policy. Out: the verdict and what it saw. Not here: how values get there (`project`).

use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBool, CelList, CelMap, CelMapKey, DYN_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{Context, Env, ExecutionError};

use crate::condition::{CelCondition, ConditionVerdict, Evaluation};
use crate::project::Variables;
use crate::value::Data;
use crate::{cost, failure, names};

/// The functions of the interpreter, declared once. They are constant.
static FUNCTIONS: LazyLock<Arc<Env>> = LazyLock::new(|| {
    let mut env = Env::default().with_optional_support(false).with_stdlib();
    let declared = env.add_overload(names::IN_ORDER, "in_order", vec![DYN_TYPE], in_order);
    debug_assert!(declared.is_ok(), "no other function has this name");
    Arc::new(env)
});

pub(crate) fn evaluate(condition: &CelCondition, data: &dyn Data) -> Evaluation {
    let Some(seen) = condition.projection.ask(data) else {
        return failed("the data it reads is too large or too deep", Vec::new());
    };
    if cost::over(&condition.plan, &seen.bounds, seen.fractions).is_some() {
        let saw = condition.projection.label(seen.values);
        return failed("it is too expensive over lists this long", saw);
    }
    let verdict = {
        let variables = condition.projection.variables(data, &seen.values);
        answer(condition, &variables)
    };
    Evaluation { verdict, saw: condition.projection.label(seen.values) }
}

fn failed(why: &str, saw: Vec<(String, Option<crate::CelValue>)>) -> Evaluation {
    Evaluation { verdict: ConditionVerdict::Failed(why.to_owned()), saw }
}

fn answer(condition: &CelCondition, variables: &Variables<'_>) -> ConditionVerdict {
    let mut context = Context::with_env(Arc::clone(&FUNCTIONS));
    context.set_variable_resolver(variables);
    match cel::Value::resolve_val(&condition.expression, &context) {
        Err(error) => ConditionVerdict::Failed(failure::text(&error)),
        Ok(value) => match value.downcast_ref::<CelBool>() {
            Some(answer) if *answer.inner() => ConditionVerdict::Met,
            Some(_) => ConditionVerdict::NotMet,
            None => ConditionVerdict::Failed(failure::not_a_bool(value.get_type().name())),
        },
    }
}

/// The keys of a map in order; anything else as it is.
fn in_order<'b, 'v>(mut args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let range = args.pop().ok_or_else(ExecutionError::missing_argument_or_target)?;
    let Some(map) = range.downcast_ref::<CelMap<'v>>() else { return Ok(range) };
    let mut keys: Vec<CelMapKey<'v>> = map.inner().keys().cloned().collect();
    keys.sort();
    let keys: Vec<Box<dyn Val + 'v>> = keys.into_iter().map(boxed).collect();
    Ok(CowVal::owned(CelList::from(keys)))
}

fn boxed<'v>(key: CelMapKey<'v>) -> Box<dyn Val + 'v> {
    match key {
        CelMapKey::Bool(key) => Box::new(key),
        CelMapKey::Int(key) => Box::new(key),
        CelMapKey::String(key) => Box::new(key),
        CelMapKey::UInt(key) => Box::new(key),
    }
}
