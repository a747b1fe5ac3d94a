// SPDX-License-Identifier: Apache-2.0
//! In: a bootstrap as it was emitted. Out: the same with windows to look in by: the deciding policy of each request and
//! connection. Not here: the filters that decide, which stay as they are.
//!
//! ```text
//!  HTTP, denied    response headers of the proxy's own answer: the reason it gives, and the path it judged
//!  HTTP, allowed   response headers from the metadata the filter leaves
//!  TCP             a log line when the connection ends: the reason it gives, and metadata. The network filter leaves
//!                  none for what it allows, so a copy of its matcher stands before it as a shadow, which does
//! ```
//! Field names are those of proto3 JSON; both spellings (camelCase and the original) are understood.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::failure::HarnessFailure;

/// Header with the reason the proxy gives for an answer of its own.
pub(crate) const REASON: &str = "x-proof-reason";
/// Header with the policy that allowed a request.
pub(crate) const POLICY: &str = "x-proof-policy";
/// Header with the result and the policy of the shadow matcher.
pub(crate) const SHADOW: &str = "x-proof-shadow";
/// Header with the path that was judged.
pub(crate) const PATH: &str = "x-proof-path";
/// Before the names of counters that are the harness's own.
pub(crate) const OWN_STATS: &str = "proof-copy";

const HTTP_MANAGER: &str =
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
const HTTP_RBAC: &str = "envoy.extensions.filters.http.rbac.v3.RBAC";
const NETWORK_RBAC: &str = "envoy.extensions.filters.network.rbac.v3.RBAC";
const FILE_LOG: &str = "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog";

/// Gives every listener and the admin interface a port of the system's choice.
pub(crate) fn free_ports(bootstrap: &mut Value) {
    if bootstrap.get("admin").is_none() {
        let address = json!({"socketAddress": {"address": "127.0.0.1", "portValue": 0}});
        put(bootstrap, "admin", json!({ "address": address }));
    }
    bootstrap.get_mut("admin").into_iter().for_each(free_port);
    listeners(bootstrap).iter_mut().for_each(free_port);
}

fn free_port(holder: &mut Value) {
    let address = holder.get_mut("address").and_then(|a| field(a, "socketAddress"));
    if let Some(Value::Object(address)) = address {
        let key = spelling(address, "portValue");
        address.insert(key, json!(0));
    }
}

/// Adds the windows to a bootstrap; connections are logged to `log`.
///
/// # Errors
/// It is not JSON, or has no listener with a filter that decides: then nothing could be seen.
pub fn observed(bootstrap: &str, log: &Path) -> Result<String, HarnessFailure> {
    let mut config: Value =
        serde_json::from_str(bootstrap).map_err(HarnessFailure::of("the bootstrap is not JSON"))?;
    let mut seen = 0;
    for listener in listeners(&mut config) {
        let mut connections = false;
        for chain in array(listener, "filterChains") {
            let Some(Value::Array(filters)) = chain.get_mut("filters") else { continue };
            let mut at = 0;
            while let Some(filter) = filters.get_mut(at) {
                if is(filter, HTTP_MANAGER) {
                    seen += usize::from(open_manager(filter));
                } else if is(filter, NETWORK_RBAC) {
                    let copy = copy_of(filter)?;
                    filters.insert(at, copy);
                    at += 1;
                    connections = true;
                    seen += 1;
                }
                at += 1;
            }
        }
        if connections && let Value::Object(listener) = listener {
            let key = spelling(listener, "accessLog");
            listener.insert(key, json!([connection_log(log)]));
        }
    }
    if seen == 0 {
        return Err(HarnessFailure::new(
            "the bootstrap has no RBAC filter: it would allow everything",
        ));
    }
    Ok(config.to_string())
}

/// Windows of an HTTP connection manager; says whether it has a filter that decides.
fn open_manager(filter: &mut Value) -> bool {
    let Some(manager) = field(filter, "typedConfig") else { return false };
    let mut keys = None;
    for inner in array(manager, "httpFilters") {
        if is(inner, HTTP_RBAC) {
            let config = field(inner, "typedConfig");
            let prefix = |c: &mut Value, name| {
                field(c, name).and_then(|p| p.as_str().map(str::to_owned)).unwrap_or_default()
            };
            keys =
                config.map(|c| (prefix(c, "rulesStatPrefix"), prefix(c, "shadowRulesStatPrefix")));
        }
    }
    let Some((enforced, shadow)) = keys else { return false };
    let metadata = |key: String| format!("%DYNAMIC_METADATA(envoy.filters.http.rbac:{key})%");
    let shadows = format!(
        "{} {}",
        metadata(format!("{shadow}shadow_engine_result")),
        metadata(format!("{shadow}shadow_effective_policy_id"))
    );
    let policy = metadata(format!("{enforced}enforced_effective_policy_id"));
    let [policy, shadow] = [header(POLICY, &policy), header(SHADOW, &shadows)];
    let path = header(PATH, "%REQ(:PATH)%");
    let headers = json!([policy, shadow, path]);
    if let Some(routes) = field(manager, "routeConfig") {
        for host in array(routes, "virtualHosts") {
            put(host, "responseHeadersToAdd", headers.clone());
        }
    }
    // In headers and not in the body, because the answer to HEAD has none.
    let all = json!({"op": "GE", "value": {"defaultValue": 100, "runtimeKey": "proof.all"}});
    let reasons = json!([header(REASON, "%RESPONSE_CODE_DETAILS%"), policy, shadow, path]);
    let mapper =
        json!({"filter": {"statusCodeFilter": {"comparison": all}}, "headersToAdd": reasons});
    // Of what it cannot read in HTTP/2 it only ends the connection, and would wait a second.
    put(manager, "delayedCloseTimeout", json!("0.010s"));
    put(manager, "localReplyConfig", json!({ "mappers": [mapper] }));
    true
}

fn header(name: &str, value: &str) -> Value {
    json!({"header": {"key": name, "value": value}, "appendAction": "OVERWRITE_IF_EXISTS_OR_ADD"})
}

/// A filter that decides nothing and leaves in metadata what the given one will decide.
fn copy_of(filter: &mut Value) -> Result<Value, HarnessFailure> {
    let config = field(filter, "typedConfig");
    let found = config.and_then(|c| {
        let part = |name: &str| c.get(name).cloned();
        let matcher = part("matcher").map(|m| ("shadowMatcher", m));
        matcher.or_else(|| part("rules").map(|r| ("shadowRules", r)))
    });
    let (key, decides) = found.ok_or_else(|| {
        HarnessFailure::new("a network RBAC filter without rules allows everything")
    })?;
    let mut copy = json!({
        "@type": format!("type.googleapis.com/{NETWORK_RBAC}"),
        "statPrefix": format!("{OWN_STATS}."),
        "shadowRulesStatPrefix": "copy_",
    });
    put(&mut copy, key, decides);
    Ok(json!({"name": "proof.copy", "typedConfig": copy}))
}

/// One JSON object a line.
fn connection_log(path: &Path) -> Value {
    let metadata = |key: &str| format!("%DYNAMIC_METADATA(envoy.filters.network.rbac:{key})%");
    json!({
        "name": "envoy.access_loggers.file",
        "typedConfig": {
            "@type": FILE_LOG,
            "path": path,
            "logFormat": {"jsonFormat": {
                "port": "%DOWNSTREAM_REMOTE_PORT%",
                "reason": "%CONNECTION_TERMINATION_DETAILS%",
                "policy": metadata("copy_shadow_effective_policy_id"),
                "result": metadata("copy_shadow_engine_result"),
                "shadow": metadata("shadow_effective_policy_id"),
                "shadowResult": metadata("shadow_engine_result"),
                "tls": "%DOWNSTREAM_TRANSPORT_FAILURE_REASON%",
            }}
        }
    })
}

fn listeners(bootstrap: &mut Value) -> &mut [Value] {
    field(bootstrap, "staticResources").map(|r| array(r, "listeners")).unwrap_or_default()
}

/// Whether a filter is of a type.
fn is(filter: &mut Value, name: &str) -> bool {
    let config = field(filter, "typedConfig");
    let kind = config.and_then(|c| c.get("@type")).and_then(Value::as_str);
    kind.and_then(|k| k.rsplit('/').next()) == Some(name)
}

/// A field in either spelling.
fn field<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    let map = value.as_object_mut()?;
    let key = spelling(map, name);
    map.get_mut(&key)
}

fn array<'a>(value: &'a mut Value, name: &str) -> &'a mut [Value] {
    field(value, name).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

fn put(value: &mut Value, name: &str, new: Value) {
    if let Value::Object(map) = value {
        let key = spelling(map, name);
        map.insert(key, new);
    }
}

/// How a map spells a field: as in the proto file if it is there like that, else in camelCase.
fn spelling(map: &Map<String, Value>, name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    if map.contains_key(&snake) { snake } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bootstrap_that_decides_nothing_is_refused() {
        let log = Path::new("/dev/null");
        assert!(observed("{}", log).is_err());
        assert!(observed("admin: {}", log).is_err());
        let open = json!({"staticResources": {"listeners": [{"filterChains": [{"filters": [
            {"typedConfig": {"@type": format!("type.googleapis.com/{NETWORK_RBAC}")}}]}]}]}});
        assert!(observed(&open.to_string(), log).is_err());
    }

    #[test]
    fn both_spellings_get_free_ports() {
        let mut config = json!({
            "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 9901}}},
            "static_resources": {"listeners": [
                {"address": {"socketAddress": {"address": "127.0.0.1", "portValue": 1}}}]}});
        free_ports(&mut config);
        let zero = json!(0);
        assert_eq!(config.pointer("/admin/address/socket_address/port_value"), Some(&zero));
        let listener = "/static_resources/listeners/0/address/socketAddress/portValue";
        assert_eq!(config.pointer(listener), Some(&zero));
    }
}
