// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about merging: confs by a plan of the case, and MeshHTTPRoutes of a proxy. Out: what differs.

use overrule_engine::Traced;
use overrule_mesh::Profile;
use overrule_mesh::conf::plan::{KeyEquality, reversed};
use overrule_mesh::conf::{Append, ConfStrategy, Keyed, Plan, merge_by};
use overrule_mesh::dataplane::Dataplane;
use overrule_mesh::entries::Item;
use overrule_mesh::matched::Matched;
use overrule_mesh::policy::Policy;
use overrule_mesh::rules::{ResourceRule, SubsetRule, resource_rules, subset_rules_to};
use overrule_mesh::select::SelectContext;
use overrule_mesh::targets::Destination;
use overrule_source::Documents;
use serde_json::{Map, Value, json};

use super::super::compare;
use super::read::{Document, Outcome, World, list, need, text, texts, verify};

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "merge/confs" => confs(case),
        "merge/httproute" => routes(case),
        _ => return None,
    })
}

fn strategy(case: &Value) -> Result<ConfStrategy, String> {
    let append = match case.get("appendFields") {
        None => Vec::new(),
        Some(_) => texts(case, "appendFields")?,
    };
    let keyed = match (text(case, "keyedList")?, text(case, "mergeKey")?) {
        ("", "") => None,
        ("", _) | (_, "") => return Err("a keyed list needs its key".to_owned()),
        (list, key) => {
            Some(Keyed { list: list.into(), key: key.into(), identity: KeyEquality::Value })
        }
    };
    let group_by = Some(text(case, "groupBy")?).filter(|g| !g.is_empty());
    Ok(ConfStrategy {
        append: Append::Paths(append.into_iter().map(Into::into).collect()),
        keyed,
        group_by: group_by.map(Into::into),
        first_counts: false,
    })
}

/// The same without null members: here null and absent are equal.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(_, v)| !v.is_null());
            Value::Object(kept.map(|(k, v)| (k.clone(), without_nulls(v))).collect())
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// Confs with fields of no kind. A keyed list is given low to high in them, whereas rules of routes come high to low, so
/// it is turned round before and after.
fn confs(case: &Value) -> Outcome {
    let strategy = strategy(case)?;
    let keyed = strategy.keyed.as_ref().map(|k| k.list.clone());
    list(case, "confs")?;
    let document = Document::of(case)?;
    let documents = &document.documents;
    let turned = |value: &Traced| match &keyed {
        Some(list) => reversed(documents, value, list),
        None => value.clone(),
    };
    let confs: Vec<Traced> = document.items("confs").iter().map(|(_, conf)| turned(conf)).collect();
    let plan = Plan::new(documents, strategy, &confs, 0);
    let merged = merge_by(documents, &plan, confs);
    let shown: Value =
        merged.iter().map(|m| without_nulls(&turned(&m.value).to_json(documents))).collect();
    compare(&without_nulls(need(case, "expected")?), &shown)
}

fn names(origins: &[Item<'_>]) -> Value {
    origins.iter().map(|o| Value::from(o.policy.meta.name.as_str())).collect()
}

fn owners<'a>(owners: impl IntoIterator<Item = (&'a String, &'a Item<'a>)>) -> Value {
    let one = |(hash, o): (&String, &Item<'_>)| (hash.clone(), o.policy.meta.name.clone().into());
    Value::Object(owners.into_iter().map(one).collect())
}

fn rule(documents: &Documents, rule: &SubsetRule<'_>) -> Value {
    let tag = |t: &overrule_mesh::subset::Tag| match t.not {
        true => json!({"key": &*t.key, "value": &*t.value, "not": true}),
        false => json!({"key": &*t.key, "value": &*t.value}),
    };
    json!({
        "subset": rule.subset.tags().iter().map(tag).collect::<Vec<_>>(),
        "conf": rule.merged.confs.first().map_or(Value::Null, |c| c.to_json(documents)),
        "origin": names(&rule.merged.origins),
        "originByMatches": owners(&rule.merged.by_matches),
    })
}

fn resource_rule(documents: &Documents, rule: &ResourceRule<'_>) -> Value {
    json!({
        "conf": rule.merged.confs.iter().map(|c| c.to_json(documents)).collect::<Vec<_>>(),
        "origin": names(&rule.merged.origins),
        "originByMatches": owners(&rule.merged.by_matches),
    })
}

fn routes(case: &Value) -> Outcome {
    let dataplane = need(case, "dataplane")?;
    let world = World::read(&[list(case, "policies")?, std::slice::from_ref(dataplane)])?;
    let documents = &world.documents;
    let policies: Vec<Policy> =
        world.list(0).iter().filter_map(|r| Policy::read(documents, r)).collect();
    let destinations: Vec<Destination> =
        world.list(0).iter().filter_map(|r| Destination::read(documents, r)).collect();
    let dataplane = world.list(1).first().ok_or("the dataplane cannot be read")?;
    let dataplane = Dataplane::read(documents, dataplane);
    let context = SelectContext { routes: &policies, gateways: &[], profile: &Profile::Release };
    let matched = Matched::new(context, &policies.iter().collect::<Vec<_>>(), &dataplane);
    if let Some((policy, why)) = matched.warnings.first() {
        return Err(format!("{}: {why}", policy.meta.name));
    }
    let matched = matched.all();
    let rules = subset_rules_to(documents, &matched, &policies);
    let by_resource = resource_rules(documents, &Profile::Release, &matched, &destinations);
    let by_resource =
        by_resource.iter().map(|(kri, r)| (kri.to_string(), resource_rule(documents, r)));
    let found = json!({
        "rules": rules.iter().map(|r| rule(documents, r)).collect::<Vec<_>>(),
        "resourceRules": by_resource.collect::<Map<_, _>>(),
    });
    verify(case, "expected", &found)
}
