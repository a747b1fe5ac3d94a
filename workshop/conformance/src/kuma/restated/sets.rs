// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about sets of tags. Out: what differs.

use std::collections::BTreeMap;

use overrule_mesh::entries::subset_of;
use overrule_mesh::rules::MOST_RULES;
use overrule_mesh::subset::{ElementRule, Subset, Tag, build, combinations, decide, exact, first};
use serde_json::{Value, json};

use super::read::{Outcome, list, need, pairs, target, text, verify};
use overrule_cases::value::short;

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "subset/is_subset" => is_subset(case),
        "subset/intersect" => intersect(case),
        "subset/contains_element" => contains_element(case),
        "subset/compute" => compute(case),
        "subset/iter" => iterate(case),
        "subset/effective_action" => effective_action(case),
        _ => return None,
    })
}

fn tags(list: &[Value]) -> Result<Vec<Tag>, String> {
    let tag = |tag: &Value| {
        let (key, value) = (text(tag, "key")?.into(), text(tag, "value")?.into());
        let not = match tag.get("not") {
            None => false,
            Some(not) => not.as_bool().ok_or("`not` is neither true nor false")?,
        };
        Ok(Tag { key, value, not })
    };
    list.iter().map(tag).collect()
}

fn subset(of: &Value, key: &str) -> Result<Subset, String> {
    Ok(Subset::new(tags(list(of, key)?)?))
}

fn element(of: &Value) -> Result<BTreeMap<String, String>, String> {
    need(of, "element")?;
    pairs(of, "element")
}

fn is_subset(case: &Value) -> Outcome {
    let is = subset(case, "s1")?.contains_subset(&subset(case, "s2")?);
    verify(case, "s2IsSubsetOfS1", &is.into())
}

fn intersect(case: &Value) -> Outcome {
    let (a, b) = (subset(case, "s1")?, subset(case, "s2")?);
    verify(case, "intersect", &a.intersects(&b).into())?;
    verify(case, "intersect", &b.intersects(&a).into()).map_err(|e| format!("turned round: {e}"))
}

fn contains_element(case: &Value) -> Outcome {
    let is = subset(case, "subset")?.contains_element(&element(case)?);
    verify(case, "contains", &is.into())
}

fn compute(case: &Value) -> Outcome {
    let given = list(case, "rules")?;
    let rule = |(at, rule)| Ok(ElementRule { subset: subset(rule, "subset")?, relevant: vec![at] });
    let rules: Result<Vec<ElementRule>, String> = given.iter().enumerate().map(rule).collect();
    let found = first(&rules?, &element(case)?).and_then(|at| given.get(at));
    let conf = found.map(|rule| need(rule, "conf")).transpose()?;
    verify(case, "expected", conf.unwrap_or(&Value::Null))
}

/// Tags in the form of the data, which leaves out what is not negated.
fn shown(subset: &Subset) -> Value {
    let tag = |tag: &Tag| match tag.not {
        true => json!({"key": &*tag.key, "value": &*tag.value, "not": true}),
        false => json!({"key": &*tag.key, "value": &*tag.value}),
    };
    subset.tags().iter().map(tag).collect()
}

fn iterate(case: &Value) -> Outcome {
    let expected: Result<Value, String> = list(case, "expected")?
        .iter()
        .map(|one| {
            let one = one.as_array().ok_or_else(|| format!("{} is no list", short(one)))?;
            Ok(shown(&Subset::new(tags(one)?)))
        })
        .collect();
    let found: Value =
        combinations(&tags(list(case, "tags")?)?).map(|subset| shown(&subset)).collect();
    super::super::compare(&expected?, &found)
}

/// The action of an element by its rules, read in both ways, and by the entries alone. The element without keys is in no
/// rule once there is a tag, so entries say nothing about it.
fn effective_action(case: &Value) -> Outcome {
    let items = list(case, "items")?;
    let entry = |item: &Value| {
        need(item, "targetRef")?;
        let target = target(item, "targetRef")?;
        subset_of(&target).ok_or_else(|| format!("`{}` describes no set", target.kind))
    };
    let entries: Result<Vec<Subset>, String> = items.iter().map(entry).collect();
    let entries = entries?;
    let built = build(&entries, true, MOST_RULES);
    if built.cut {
        return Err("the rules are too many".to_owned());
    }
    let last = |at: usize| built.rules.get(at).and_then(|r| r.relevant.last().copied());
    for probe in list(case, "expected")? {
        let element = element(probe)?;
        let mut ways = vec![
            ("the first rule", first(&built.rules, &element).and_then(last)),
            ("the exact rule", exact(&built.rules, &element).and_then(last)),
        ];
        if !element.is_empty() {
            ways.push(("the last entry", decide(&entries, &element)));
        }
        for (way, found) in ways {
            let action = found.and_then(|at| items.get(at)).map(|item| need(item, "action"));
            let action = action.transpose()?.unwrap_or(&Value::Null);
            verify(probe, "action", action)
                .map_err(|e| format!("{way} for {}: {e}", short(&json!(element))))?;
        }
    }
    Ok(())
}
