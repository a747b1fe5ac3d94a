// SPDX-License-Identifier: Apache-2.0
//! In: restated cases about decisions. Out: what differs, in what the documents say, in what the filter of the release
//! does, and in what our own filter does. Not here: reading filters (`mtp_envoy`).

use std::collections::BTreeMap;

use overrule_access::naive::in_list_order;
use overrule_access::{Compiled, Request, Verdict};
use overrule_envoy::{
    FilterInput, FilterOptions, LegacyInput, LegacySubset, Projection, Protocol, SubsetAction,
    filters, legacy, policy_name,
};
use overrule_mesh::Profile;
use overrule_mesh::entries::{inbound_entries, subset_of};
use overrule_mesh::matched::in_order;
use overrule_mesh::permission::{Permissions, permissions, problems};
use overrule_mesh::policy::Policy;
use overrule_mesh::rules::MOST_RULES;
use overrule_mesh::subset::{ElementRule, Subset, build, decide, deciding};
use overrule_source::Documents;
use serde_json::{Value, json};

use super::super::compare;
use super::mtp_envoy::{Client, answer, shadow_answer};
use super::mtp_filters::{action_of, envoy_tags, release_options};
use super::read::{Outcome, World, list, need, pairs, target, text, texts, verify};
use overrule_cases::value::short;

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "mtp/decision" => decision(case),
        "mtp/legacy_decision" => legacy_decision(case),
        _ => return None,
    })
}

/// The clients a case asks about; at least one.
fn expected(case: &Value) -> Result<&[Value], String> {
    let list = list(case, "expected")?;
    if list.is_empty() { Err("the case asks about nobody".to_owned()) } else { Ok(list) }
}

/// Whether the answer is what stands under a key, or, if nothing does, under another.
fn verify_or(of: &Value, key: &str, other: &str, found: &Value) -> Outcome {
    let key = if of.get(key).is_some() { key } else { other };
    verify(of, key, found).map_err(|e| format!("{key}: {e}"))
}

fn decision(case: &Value) -> Outcome {
    let world = World::read(&[list(case, "policies")?])?;
    let read = |(place, resource)| -> Option<Policy> {
        Some(Policy { place, ..Policy::read(&world.documents, resource)? })
    };
    let policies: Vec<Policy> = (0..).zip(world.list(0)).filter_map(read).collect();
    for policy in &policies {
        // What only the release refuses counts here: its filter is made without asking.
        let wrong = problems(&world.documents, policy);
        if let Some(wrong) = wrong.iter().find(|p| !p.release_only) {
            return Err(format!("{}: {}: {}", policy.meta.name, wrong.field, wrong.message));
        }
    }
    let (rules, names) = rules(&world.documents, &policies);
    in_rule_order(case, &names)?;
    let listed = in_list_order(rules.rules.clone());
    let compiled = Compiled::new(&listed);
    let input = FilterInput {
        rules: &listed,
        names: &names,
        protocol: Protocol::Tcp,
        stat_prefix: "inbound",
    };
    let release = filters(&input, &release_options());
    let own = filters(&input, &FilterOptions::default());
    for expected in expected(case)? {
        let client = text(expected, "client")?;
        let told = |e: String| format!("{client}: {e}");
        one_decision(expected, client, &rules, &names, &compiled).map_err(told)?;
        by_filters(expected, client, &release, &own).map_err(told)?;
    }
    Ok(())
}

/// The rules of an inbound that all policies select, and the name of the policy of each entry.
fn rules(documents: &Documents, policies: &[Policy]) -> (Permissions, Vec<String>) {
    let sorted = in_order(&Profile::Release, &policies.iter().collect::<Vec<_>>());
    let entries = inbound_entries(&Profile::Release, &sorted);
    let names = entries.iter().map(|(item, _)| item.policy.meta.kri().to_string()).collect();
    let of_policies =
        entries.iter().map(|(item, _)| (item.policy, item.entry.index, item.entry.node));
    (permissions(documents, &Profile::Release, of_policies), names)
}

/// The order of policies is the one the case names. A policy with several entries may be named once or for each.
fn in_rule_order(case: &Value, names: &[String]) -> Outcome {
    let mut wanted = texts(case, "ruleOrder")?;
    let mut found: Vec<&str> = names.iter().map(String::as_str).collect();
    wanted.dedup();
    found.dedup();
    compare(&json!(wanted), &json!(found)).map_err(|e| format!("ruleOrder: {e}"))
}

fn shown(allowed: bool, by: &str) -> Value {
    json!({"action": if allowed { "ALLOW" } else { "DENY" }, "by": by})
}

/// What the documents say.
fn one_decision(
    expected: &Value,
    client: &str,
    rules: &Permissions,
    names: &[String],
    compiled: &Compiled,
) -> Outcome {
    let request = Request { identity: Some(client), ..Request::default() };
    let found = compiled.decide(&request);
    let rule = found.by.and_then(|by| rules.rules.iter().find(|rule| rule.source == by));
    let name = rule.and_then(|r| names.get(usize::try_from(r.policy).ok()?));
    let by = match (found.by, name) {
        (None, _) => "default",
        (Some(_), Some(name)) => name.as_str(),
        (Some(by), None) => return Err(format!("nobody wrote {by:?}")),
    };
    verify(expected, "design", &shown(found.verdict == Verdict::Allowed, by))
        .map_err(|e| format!("design: {e}"))
}

/// What the filter of the release does, and that ours decides as the documents say.
fn by_filters(
    expected: &Value,
    client: &str,
    release: &Projection<'_>,
    own: &Projection<'_>,
) -> Outcome {
    let client = Client::svid(client);
    let (allowed, by) = answer(&filter(release)?, &client)?;
    verify_or(expected, "kuma213", "design", &shown(allowed, &by))?;
    let shadow = shadow_answer(&filter(release)?, &client)?;
    let shadow = shadow.map_or(Value::Null, |(allowed, by)| shown(allowed, &by));
    verify(expected, "shadow", &shadow).map_err(|e| format!("shadow: {e}"))?;
    let (allowed, by) = answer(&filter(own)?, &client)?;
    let by = policy_name(&by).unwrap_or(by);
    verify(expected, "design", &shown(allowed, &by)).map_err(|e| format!("our filter: {e}"))
}

/// The configuration of the one filter.
fn filter(projection: &Projection<'_>) -> Result<Value, String> {
    let [filter] = projection.filters.as_slice() else {
        return Err(format!("there are {} filters", projection.filters.len()));
    };
    serde_json::to_value(&filter.typed_config).map_err(|e| e.to_string())
}

fn legacy_decision(case: &Value) -> Outcome {
    let mut entries = Vec::new();
    let mut actions = Vec::new();
    for entry in list(case, "from")? {
        // Entries about real resources describe no set of clients and take no part.
        if let Some(subset) = subset_of(&target(entry, "targetRef")?) {
            entries.push(subset);
            actions.push(action_of(need(entry, "default")?)?);
        }
    }
    let built = build(&entries, true, MOST_RULES);
    if built.cut {
        return Err("the rules are too many".to_owned());
    }
    let of_release = subset_rules(&built.rules, &actions);
    let of_own = subset_rules(&deciding(&entries), &actions);
    let form = |rules, options: &FilterOptions| {
        let input = LegacyInput { rules, mesh: MESH, protocol: Protocol::Tcp, stat_prefix: "in" };
        filter(&legacy(&input, options))
    };
    let release = form(&of_release, &release_options())?;
    let own = form(&of_own, &FilterOptions::default())?;
    for expected in expected(case)? {
        need(expected, "client")?;
        let tags = pairs(expected, "client")?;
        one_legacy(expected, &tags, &entries, &actions, [&release, &own])
            .map_err(|e| format!("{}: {e}", short(&json!(tags))))?;
    }
    Ok(())
}

/// Decisions do not depend on the name of the mesh.
const MESH: &str = "default";

/// Rules with the action of the last entry that has one.
fn subset_rules(rules: &[ElementRule], actions: &[Option<SubsetAction>]) -> Vec<LegacySubset> {
    let action = |rule: &ElementRule| {
        let relevant = rule.relevant.iter().rev();
        relevant.filter_map(|at| actions.get(*at)).find_map(|action| *action)
    };
    let rule = |rule: &ElementRule| {
        Some(LegacySubset { tags: envoy_tags(&rule.subset), action: action(rule)? })
    };
    rules.iter().filter_map(rule).collect()
}

fn name(action: SubsetAction) -> &'static str {
    match action {
        SubsetAction::Allow => "Allow",
        SubsetAction::AllowWithShadowDeny => "AllowWithShadowDeny",
        SubsetAction::Deny => "Deny",
    }
}

fn one_legacy(
    expected: &Value,
    tags: &BTreeMap<String, String>,
    entries: &[Subset],
    actions: &[Option<SubsetAction>],
    [release, own]: [&Value; 2],
) -> Outcome {
    let action = decide(entries, tags).and_then(|at| actions.get(at).copied().flatten());
    verify(expected, "action", &json!(action.map(name))).map_err(|e| format!("action: {e}"))?;
    let word = |allowed| Value::from(if allowed { "ALLOW" } else { "DENY" });
    let allowed = action.is_some_and(|action| action != SubsetAction::Deny);
    verify(expected, "decision", &word(allowed)).map_err(|e| format!("decision: {e}"))?;
    let one = |(key, value): (&String, &String)| (key.clone(), [value.clone()].into());
    let client = Client::tagged(MESH, &tags.iter().map(one).collect());
    verify_or(expected, "kuma213Rbac", "decision", &word(answer(release, &client)?.0))?;
    verify(expected, "decision", &word(answer(own, &client)?.0))
        .map_err(|e| format!("our filter: {e}"))
}
