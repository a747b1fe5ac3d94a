// SPDX-License-Identifier: Apache-2.0
//! In: listeners as they were before permissions, and the rules that were matched for them. Out: the listeners with
//! the filters of the release. Not here: comparing with the golden file.

use overrule_envoy::{Chains, LegacySubset, Projection, Protocol, apply};
use serde_json::{Map, Value, json};

use super::mtp_filters::{ByIdentity, by_tags, legacy_filters, optional};
use super::read::{flag, list, need, text};
use overrule_cases::value::short;

/// The answer to a case in the shape of its golden file.
pub(in super::super) fn answer(input: &Value) -> Result<Value, String> {
    let mut resources = Vec::new();
    for given in list(input, "resources")? {
        let (name, mut listener) = (text(given, "name")?, need(given, "resource")?.clone());
        match text(input, "proxy")? {
            "dataplane" => inbound(input, given, name, &mut listener)?,
            // A zone egress, under whichever of its names.
            proxy if proxy.to_ascii_lowercase().contains("egress") => {
                egress(input, name, &mut listener)?;
            }
            other => return Err(format!("the proxy `{other}` is not known")),
        }
        resources.push(json!({"name": name, "resource": listener}));
    }
    Ok(json!({"resources": resources}))
}

/// Without mTLS nobody has an identity to ask for.
fn has_mtls(mesh: &Value) -> Result<bool, String> {
    flag(mesh, "mtlsEnabled")
}

fn change(
    listener: &mut Value,
    chains: Chains<'_>,
    filters: impl Fn(Protocol) -> Projection<'static>,
) -> Result<(), String> {
    let changed = apply(listener, chains, &filters(Protocol::Http), &filters(Protocol::Tcp));
    changed.map(|_| ()).map_err(|e| e.to_string())
}

/// Where a listener listens, in the form rules are keyed by.
fn address(listener: &Value) -> Option<String> {
    let socket = listener.get("address")?.get("socketAddress")?;
    Some(format!("{}:{}", socket.get("address")?.as_str()?, socket.get("portValue")?))
}

fn inbound(input: &Value, given: &Value, name: &str, listener: &mut Value) -> Result<(), String> {
    let mesh = need(input, "mesh")?;
    if text(given, "origin")? != "inbound" || !has_mtls(mesh)? {
        return Ok(());
    }
    let Some(key) = address(listener) else { return Ok(()) };
    let of = |rules: &str| optional(need(input, rules)?, &key);
    let by_identity = of("inboundRulesByInbound")?;
    if by_identity.is_empty() {
        let rules = by_tags(of("rulesByInbound")?)?;
        let mesh = text(mesh, "name")?;
        return change(listener, Chains::Tls, |protocol| {
            legacy_filters(&rules, mesh, protocol, name)
        });
    }
    let rules = ByIdentity::read(by_identity)?;
    let [http, tcp] = [Protocol::Http, Protocol::Tcp].map(|p| rules.filters(p, name));
    apply(listener, Chains::Tls, &http, &tcp).map(|_| ()).map_err(|e| e.to_string())
}

/// Each external service of each mesh has a chain of its own.
fn egress(input: &Value, name: &str, listener: &mut Value) -> Result<(), String> {
    for mesh in list(input, "meshes")? {
        if !has_mtls(mesh)? {
            continue;
        }
        let mesh_name = text(mesh, "name")?;
        for (service, rules) in external_services(mesh)? {
            let chain = format!("{service}_{mesh_name}");
            change(listener, Chains::Named(&chain), |protocol| {
                legacy_filters(&rules, mesh_name, protocol, name)
            })?;
        }
    }
    Ok(())
}

/// The external services of a mesh with their rules: a mapping from names, or a list of names or of mappings with a
/// `name`. A service has its rules with it or in a mapping beside.
fn external_services(mesh: &Value) -> Result<Vec<(String, Vec<LegacySubset>)>, String> {
    let beside = ["rulesByExternalService", "rulesByService"].map(|key| mesh.get(key));
    let beside = |name: &str| beside.iter().flatten().find_map(|rules| rules.get(name));
    let with = |name: &str, own: Option<&Value>| -> Result<_, String> {
        let found = own.or_else(|| beside(name)).map_or_else(|| Ok(Vec::new()), flat)?;
        Ok((name.to_owned(), by_tags(&found)?))
    };
    match need(mesh, "externalServices")? {
        Value::Object(services) => services.iter().map(|(n, own)| with(n, Some(own))).collect(),
        Value::Array(services) => {
            let one = |service: &Value| match service {
                Value::String(name) => with(name, None),
                other => {
                    need(other, "name")?;
                    with(text(other, "name")?, other.get("rules"))
                }
            };
            services.iter().map(one).collect()
        }
        other => Err(format!("{} are no external services", short(other))),
    }
}

/// Rules, be they a list, below `rules`, or by listener.
fn flat(rules: &Value) -> Result<Vec<Value>, String> {
    match rules {
        Value::Null => Ok(Vec::new()),
        Value::Array(rules) => Ok(rules.clone()),
        Value::Object(members) => below(members),
        other => Err(format!("{} are no rules", short(other))),
    }
}

fn below(members: &Map<String, Value>) -> Result<Vec<Value>, String> {
    let mut found = Vec::new();
    for value in members.values() {
        found.extend(flat(value)?);
    }
    Ok(found)
}
