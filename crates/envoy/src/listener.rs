// SPDX-License-Identifier: Apache-2.0
//! In: a listener as JSON, from whoever made it, and projections. Out: the listener with the filters in it. Not here:
//! which rules are for which listener.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::filters::Projection;

const NETWORK_RBAC: &str = "envoy.filters.network.rbac";
const MANAGER: &str = "envoy.filters.network.http_connection_manager";
const TLS: &str = "envoy.transport_sockets.tls";

/// Which filter chains of a listener are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chains<'a> {
    /// Those with TLS: an inbound. The others have no identity to ask for.
    Tls,
    /// Those of this name: a service behind a zone egress, `<service>_<mesh>`.
    Named(&'a str),
}

/// Puts filters into a listener: those of `http` first into each HTTP connection manager, those of `tcp` first into
/// each chain without one. An RBAC filter that was there before goes. Says how many chains it changed.
///
/// # Errors
///
/// Never for projections of this crate; the signature is that of `serde_json`.
pub fn apply(
    listener: &mut Value,
    chains: Chains<'_>,
    http: &Projection<'_>,
    tcp: &Projection<'_>,
) -> Result<usize, serde_json::Error> {
    let mut changed = 0;
    for chain in objects(listener.get_mut("filterChains")).filter(|chain| chains.mean(chain)) {
        change(chain, http, tcp)?;
        changed += 1;
    }
    if changed > 0 {
        // Both are of the same rules, and a server name is as good for one as for the other.
        for filter in &http.listener_filters {
            add_once(listener, filter.name, filter)?;
        }
    }
    Ok(changed)
}

impl Chains<'_> {
    fn mean(self, chain: &Map<String, Value>) -> bool {
        match self {
            Self::Tls => chain.get("transportSocket").is_some_and(|socket| is_named(socket, TLS)),
            Self::Named(name) => chain.get("name").and_then(Value::as_str) == Some(name),
        }
    }
}

fn change(
    chain: &mut Map<String, Value>,
    http: &Projection<'_>,
    tcp: &Projection<'_>,
) -> Result<(), serde_json::Error> {
    let filters = chain.entry("filters").or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(filters) = filters else { return Ok(()) };
    if let Some(at) = filters.iter().position(|filter| is_named(filter, NETWORK_RBAC)) {
        filters.remove(at);
    }
    let manager = filters.iter_mut().find(|filter| is_named(filter, MANAGER));
    match manager.and_then(|filter| filter.get_mut("typedConfig")?.as_object_mut()) {
        Some(manager) => {
            let inner = manager.entry("httpFilters").or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(inner) = inner {
                prepend(inner, http)?;
            }
            if let Some(Value::Object(settings)) =
                http.connection_manager.as_ref().map(serde_json::to_value).transpose()?
            {
                manager.extend(settings);
            }
        }
        None => prepend(filters, tcp)?,
    }
    Ok(())
}

fn prepend(filters: &mut Vec<Value>, projection: &Projection<'_>) -> Result<(), serde_json::Error> {
    let new: Result<Vec<_>, _> = projection.filters.iter().map(serde_json::to_value).collect();
    filters.splice(0..0, new?);
    Ok(())
}

fn add_once(
    listener: &mut Value,
    name: &str,
    filter: &impl Serialize,
) -> Result<(), serde_json::Error> {
    let Value::Object(listener) = listener else { return Ok(()) };
    let filters = listener.entry("listenerFilters").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(filters) = filters
        && !filters.iter().any(|filter| is_named(filter, name))
    {
        filters.push(serde_json::to_value(filter)?);
    }
    Ok(())
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let items = list.and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut)
}

fn is_named(extension: &Value, name: &str) -> bool {
    extension.get("name").and_then(Value::as_str) == Some(name)
}
