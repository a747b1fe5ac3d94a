// SPDX-License-Identifier: Apache-2.0
//! In: cases about the filters that the release makes of permissions, alone and in listeners. Out: what differs.
//! Not here: what the filters decide (`mtp_envoy`).

use overrule_access::{AccessRule, Effect, Identity, Match, RuleSource};
use overrule_envoy::{
    FilterForm, FilterInput, FilterOptions, LegacyInput, LegacySubset, LegacyTag, Projection,
    Protocol, Release, SubsetAction, filters, json, legacy,
};
use overrule_mesh::kinds::{KindName, TRAFFIC_PERMISSION};
use overrule_mesh::kri::Kri;
use overrule_mesh::subset::Subset;
use serde_json::{Value, json};

use super::read::{Outcome, flag, list, need, pairs, text, verify};
use overrule_cases::value::short;

/// Runs a case; none if the area is not one of these.
pub(super) fn run(area: &str, case: &Value) -> Option<Outcome> {
    Some(match area {
        "mtp/rbac" => rbac(case),
        "mtp/legacy_rbac" => legacy_rbac(case),
        _ => return None,
    })
}

/// Filters exactly as the release has them.
pub(super) fn release_options() -> FilterOptions {
    FilterOptions { form: FilterForm::Kuma(Release::V2_13), ..FilterOptions::default() }
}

/// Rules by identity, and the names of their policies.
#[derive(Default)]
pub(super) struct ByIdentity {
    rules: Vec<AccessRule>,
    names: Vec<String>,
}

impl ByIdentity {
    /// Reads entries of the form `origin`, `conf`. They are taken as they are: nobody asked whether they are valid.
    pub(super) fn read(entries: &[Value]) -> Result<Self, String> {
        let mut found = Self::default();
        for (policy, entry) in (0..).zip(entries) {
            found.names.push(name(need(entry, "origin")?)?);
            for (key, effect) in [
                ("deny", Effect::Deny),
                ("allow", Effect::Allow),
                ("allowWithShadowDeny", Effect::AllowWithShadowDeny),
            ] {
                for written in optional(need(entry, "conf")?, key)? {
                    let source = u32::try_from(found.rules.len()).map_err(|e| e.to_string())?;
                    let (matches, source) = (one_match(written)?, RuleSource(source));
                    found.rules.push(AccessRule { effect, matches, source, policy });
                }
            }
        }
        Ok(found)
    }

    /// The filters of an inbound.
    pub(super) fn filters<'a>(&'a self, protocol: Protocol, listener: &'a str) -> Projection<'a> {
        let Self { rules, names } = self;
        let input = FilterInput { rules, names, protocol, stat_prefix: listener };
        filters(&input, &release_options())
    }
}

/// A list that may be absent.
pub(super) fn optional<'v>(of: &'v Value, key: &str) -> Result<&'v [Value], String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(_) => list(of, key),
    }
}

fn name(origin: &Value) -> Result<String, String> {
    let labels = pairs(origin, "labels")?;
    let (mesh, name) = (text(origin, "mesh")?, text(origin, "name")?);
    Ok(Kri::from_meta(&KindName::Known(&TRAFFIC_PERMISSION), mesh, name, &labels).to_string())
}

fn one_match(written: &Value) -> Result<Match, String> {
    let mut found = Match::default();
    for (key, of) in written.as_object().ok_or("a match is no mapping")? {
        let (how, value) = (text(of, "type")?, text(of, "value")?);
        match (key.as_str(), how) {
            ("spiffeID", "Exact") => found.identity = Some(Identity::Exact(value.into())),
            ("spiffeID", "Prefix") => found.identity = Some(Identity::Prefix(value.into())),
            ("sni", "Exact") => found.sni = Some(value.into()),
            _ => return Err(format!("the release has no match {}", short(written))),
        }
    }
    Ok(found)
}

/// Tags in the form that filters are made of.
pub(super) fn envoy_tags(subset: &Subset) -> Vec<LegacyTag> {
    let tag = |tag: &overrule_mesh::subset::Tag| LegacyTag {
        key: tag.key.to_string(),
        value: tag.value.to_string(),
        not: tag.not,
    };
    subset.tags().iter().map(tag).collect()
}

/// What a conf does; none if it does not say.
pub(super) fn action_of(conf: &Value) -> Result<Option<SubsetAction>, String> {
    Ok(Some(match text(conf, "action")? {
        "Allow" => SubsetAction::Allow,
        "AllowWithShadowDeny" => SubsetAction::AllowWithShadowDeny,
        "Deny" => SubsetAction::Deny,
        "" => return Ok(None),
        other => return Err(format!("the action `{other}` is not known")),
    }))
}

fn tag(written: &Value) -> Result<LegacyTag, String> {
    let not = match written.get("not") {
        None => false,
        Some(_) => flag(written, "not")?,
    };
    need(written, "key")?;
    Ok(LegacyTag { key: text(written, "key")?.into(), value: text(written, "value")?.into(), not })
}

/// Reads rules over sets of tags.
pub(super) fn by_tags(rules: &[Value]) -> Result<Vec<LegacySubset>, String> {
    let mut found = Vec::new();
    for rule in rules {
        let action = action_of(need(rule, "conf")?)?;
        let action = action.ok_or_else(|| format!("{} has no action", short(rule)))?;
        let tags = list(rule, "subset")?.iter().map(tag).collect::<Result<_, _>>()?;
        found.push(LegacySubset { tags, action });
    }
    Ok(found)
}

/// The filters of an inbound by rules over sets of tags.
pub(super) fn legacy_filters(
    rules: &[LegacySubset],
    mesh: &str,
    protocol: Protocol,
    listener: &str,
) -> Projection<'static> {
    let input = LegacyInput { rules, mesh, protocol, stat_prefix: listener };
    legacy(&input, &release_options())
}

fn rbac(case: &Value) -> Outcome {
    let rules = ByIdentity::read(list(case, "inboundRules")?)?;
    is_expected(case, &rules.filters(Protocol::Tcp, text(case, "statsName")?))
}

fn legacy_rbac(case: &Value) -> Outcome {
    let rules = by_tags(list(case, "rules")?)?;
    let (mesh, name) = (text(case, "mesh")?, text(case, "statsName")?);
    is_expected(case, &legacy_filters(&rules, mesh, Protocol::Tcp, name))
}

/// The same values, and the same bytes once what is expected is written without spaces and in order.
fn is_expected(case: &Value, found: &Projection<'_>) -> Outcome {
    let filters = serde_json::to_value(&found.filters).map_err(|e| e.to_string())?;
    verify(case, "expected", &json!({"filters": filters}))?;
    let mut bytes = String::new();
    in_order(need(need(case, "expected")?, "filters")?, &mut bytes);
    let own = json(&found.filters).map_err(|e| e.to_string())?;
    if own == bytes {
        Ok(())
    } else {
        Err(format!("other bytes: expected {bytes}, but it is {own}"))
    }
}

/// Writes a value with its keys in order, whatever order they are kept in.
fn in_order(value: &Value, into: &mut String) {
    let comma = |at: usize, into: &mut String| {
        if at > 0 {
            into.push(',');
        }
    };
    match value {
        Value::Object(members) => {
            let sorted: std::collections::BTreeMap<_, _> = members.iter().collect();
            into.push('{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                comma(at, into);
                into.push_str(&Value::from(key.as_str()).to_string());
                into.push(':');
                in_order(value, into);
            }
            into.push('}');
        }
        Value::Array(items) => {
            into.push('[');
            for (at, item) in items.iter().enumerate() {
                comma(at, into);
                in_order(item, into);
            }
            into.push(']');
        }
        other => into.push_str(&other.to_string()),
    }
}
