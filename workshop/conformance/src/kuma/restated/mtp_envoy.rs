// SPDX-License-Identifier: Apache-2.0
//! In: an RBAC filter as JSON, and a client. Out: what Envoy answers, and in whose name. Not here: making filters.
//!
//! Only what filters of permissions have is understood; everything else is an error, never an answer.

use overrule_access::ClientTags;
use serde_json::Value;

use super::read::{list, need, text};
use overrule_cases::value::short;

/// What a filter sees of a client.
pub(super) struct Client {
    /// The URI SANs of its certificate.
    sans: Vec<String>,
}

impl Client {
    /// One with a SPIFFE ID.
    pub(super) fn svid(id: &str) -> Self {
        Self { sans: vec![id.to_owned()] }
    }

    /// One whose certificate has a SAN for each value of each tag.
    pub(super) fn tagged(mesh: &str, tags: &ClientTags) -> Self {
        let san = |(key, value): (&String, &String)| match key.as_str() {
            "kuma.io/service" => format!("spiffe://{mesh}/{value}"),
            key => format!("kuma://{key}/{value}"),
        };
        let each = tags.iter().flat_map(|(key, values)| values.iter().map(move |v| (key, v)));
        Self { sans: each.map(san).collect() }
    }
}

/// Whether a filter lets pass, and the name of the action; classic rules have no names.
pub(super) fn answer(filter: &Value, client: &Client) -> Result<(bool, String), String> {
    match (filter.get("matcher"), filter.get("rules")) {
        (Some(matcher), None) => matched(matcher, client),
        (None, Some(rules)) => Ok((classic(rules, client)?, String::new())),
        _ => Err(format!("{} has neither one matcher nor one list of rules", short(filter))),
    }
}

/// What the shadow matcher answers; none if there is none.
pub(super) fn shadow_answer(
    filter: &Value,
    client: &Client,
) -> Result<Option<(bool, String)>, String> {
    filter.get("shadowMatcher").map(|matcher| matched(matcher, client)).transpose()
}

fn matched(matcher: &Value, client: &Client) -> Result<(bool, String), String> {
    if matcher.get("matcherTree").is_some() {
        return Err("the matcher is a tree".to_owned());
    }
    if let Some(of) = matcher.get("matcherList") {
        for one in list(of, "matchers")? {
            if predicate(need(one, "predicate")?, client)? {
                return action(need(one, "onMatch")?);
            }
        }
    }
    action(need(matcher, "onNoMatch")?)
}

fn action(on: &Value) -> Result<(bool, String), String> {
    let action = need(need(on, "action")?, "typedConfig")?;
    // What is not written is the first of the enumeration.
    let allows = match text(action, "action")? {
        "" | "ALLOW" => true,
        "DENY" => false,
        other => return Err(format!("the action `{other}` is not known")),
    };
    Ok((allows, text(action, "name")?.to_owned()))
}

/// The one member of an object that says what it is.
fn only(of: &Value) -> Result<(&str, &Value), String> {
    let mut members = of.as_object().into_iter().flatten();
    match (members.next(), members.next()) {
        (Some((key, value)), None) => Ok((key, value)),
        _ => Err(format!("{} is not one thing", short(of))),
    }
}

fn all(
    parts: &[Value],
    client: &Client,
    holds: fn(&Value, &Client) -> Result<bool, String>,
    wanted: bool,
) -> Result<bool, String> {
    for part in parts {
        if holds(part, client)? != wanted {
            return Ok(!wanted);
        }
    }
    Ok(wanted)
}

fn predicate(of: &Value, client: &Client) -> Result<bool, String> {
    match only(of)? {
        ("andMatcher", parts) => all(list(parts, "predicate")?, client, predicate, true),
        ("orMatcher", parts) => all(list(parts, "predicate")?, client, predicate, false),
        ("notMatcher", part) => Ok(!predicate(part, client)?),
        ("singlePredicate", single) => {
            let input = text(need(need(single, "input")?, "typedConfig")?, "@type")?;
            let seen = match input.rsplit('.').next() {
                // Several are seen as one text.
                Some("UriSanInput") => Some(client.sans.join(",")),
                // No client of these cases asks for a server by name.
                Some("ServerNameInput") => None,
                _ => return Err(format!("the input `{input}` is not known")),
            };
            let wanted = need(single, "valueMatch")?;
            Ok(seen.map(|seen| is(wanted, &seen)).transpose()?.unwrap_or(false))
        }
        (other, _) => Err(format!("the predicate `{other}` is not known")),
    }
}

fn is(wanted: &Value, seen: &str) -> Result<bool, String> {
    let (how, value) = only(wanted)?;
    let value = value.as_str().ok_or_else(|| format!("{} is no text", short(value)))?;
    match how {
        "exact" => Ok(seen == value),
        "prefix" => Ok(seen.starts_with(value)),
        "contains" => Ok(seen.contains(value)),
        other => Err(format!("the comparison `{other}` is not known")),
    }
}

fn classic(rules: &Value, client: &Client) -> Result<bool, String> {
    if rules.get("action").is_some() {
        return Err("the rules do not allow".to_owned());
    }
    let policies = rules.get("policies").and_then(Value::as_object);
    for policy in policies.into_iter().flatten().map(|(_, policy)| policy) {
        if !list(policy, "permissions")?.iter().any(|p| p.get("any") == Some(&Value::Bool(true))) {
            return Err(format!("{} is not for everything", short(policy)));
        }
        if all(list(policy, "principals")?, client, principal, false)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn principal(of: &Value, client: &Client) -> Result<bool, String> {
    match only(of)? {
        ("any", Value::Bool(true)) => Ok(true),
        ("andIds", parts) => all(list(parts, "ids")?, client, principal, true),
        ("orIds", parts) => all(list(parts, "ids")?, client, principal, false),
        ("notId", part) => Ok(!principal(part, client)?),
        ("authenticated", name) => {
            let wanted = need(name, "principalName")?;
            for san in &client.sans {
                if is(wanted, san)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (other, _) => Err(format!("the principal `{other}` is not known")),
    }
}
