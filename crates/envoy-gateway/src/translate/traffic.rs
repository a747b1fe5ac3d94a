// SPDX-License-Identifier: Apache-2.0
//! In: the spec of a BackendTrafficPolicy. Out: what cannot be translated.

use serde_json::Value;

use super::Translator;
use super::values::{MAX_U32, Quantity, duration, is_prime, pattern_problem, quantity, shown};

/// The largest table of a consistent hash.
const LARGEST_TABLE: i64 = 5_000_011;
/// The bounds of HTTP/2 windows.
const WINDOWS: (i128, i128) = (65_535, 2_147_483_647);

impl Translator<'_, '_> {
    pub(super) fn traffic(&mut self) {
        let spec = self.spec;
        let at = |key: &str| spec.get(key).filter(|value| !value.is_null());
        if let Some(limit) = at("rateLimit") {
            self.check("rateLimit", "RateLimit", rate_limit(limit));
        }
        if let Some(limit) = at("bandwidthLimit") {
            self.check("bandwidthLimit", "BandwidthLimit", bandwidth(limit));
        }
        if let Some(balancer) = at("loadBalancer") {
            self.check("loadBalancer", "LoadBalancer", load_balancer(balancer));
        }
        if let Some(breaker) = at("circuitBreaker") {
            self.check("circuitBreaker", "CircuitBreaker", circuit_breaker(breaker));
        }
        if let Some(keepalive) = at("tcpKeepalive") {
            self.check("tcpKeepalive", "TCPKeepalive", tcp_keepalive(keepalive));
        }
        if let Some(retry) = at("retry") {
            self.check("retry", "Retry", retry_problem(retry));
        }
        for text in at("timeout").map(timeouts).unwrap_or_default() {
            self.fail("timeout", "Timeout", &text);
        }
        if let Some(connection) = at("connection") {
            self.check("connection", "BackendConnection", buffer_limit(connection, ""));
        }
        for text in at("http2").map(http2).unwrap_or_default() {
            self.fail("http2", "HTTP2", &text);
        }
        if let Some(rules) = at("responseOverride") {
            let result = self.response_override(rules);
            self.check("responseOverride", "ResponseOverride", result);
        }
        self.request_buffer();
        if at("compressor").is_some_and(super::is_present) {
            self.ignore("compression");
            let enabled = at("compressor").and_then(Value::as_array).into_iter().flatten();
            if !enabled.into_iter().any(is_enabled) {
                self.ignore("compressor");
            }
        }
    }

    fn request_buffer(&mut self) {
        let Some(buffer) = self.get(&["requestBuffer"]) else { return };
        if let Some(limit) = buffer.get("limit") {
            let result = match quantity(limit) {
                Quantity::Whole(bytes) if (0..=MAX_U32).contains(&bytes) => Ok(()),
                Quantity::Whole(_) => Err(format!(
                    "limit value {} is out of range, must be between 0 and {MAX_U32}",
                    shown(limit)
                )),
                Quantity::Other => Err("limit must be convertible to an int64".to_owned()),
            };
            let sound = result.is_ok();
            self.check("requestBuffer", "RequestBuffer", result);
            if !sound {
                return;
            }
        }
        if self.get(&["httpUpgrade"]).is_some_and(super::is_present) {
            let text = "requestBuffer cannot be used together with httpUpgrade";
            self.fail("requestBuffer", "RequestBuffer", text);
        }
    }

    fn response_override(&self, rules: &Value) -> Result<(), String> {
        let namespace = self.owner(&["responseOverride"]).namespace;
        for rule in rules.as_array().into_iter().flatten() {
            let Some(body) = rule.get("response").and_then(|r| r.get("body")) else { continue };
            if body.get("type").and_then(Value::as_str) != Some("ValueRef") {
                continue;
            }
            let name = body.get("valueRef").and_then(|r| r.get("name")).and_then(Value::as_str);
            let name = name.unwrap_or("");
            if !self.fabric.is_there("ConfigMap", namespace, name) {
                return Err(format!("can't find the referenced configmap {namespace}/{name}"));
            }
        }
        Ok(())
    }
}

/// A compressor counts if what it is to do is there.
fn is_enabled(compressor: &Value) -> bool {
    let settings = match compressor.get("type").and_then(Value::as_str) {
        Some("Gzip") => "gzip",
        Some("Brotli") => "brotli",
        Some("Zstd") => "zstd",
        _ => return false,
    };
    compressor.get(settings).is_some_and(|value| !value.is_null())
}

fn text<'v>(of: &'v Value, key: &str) -> Option<&'v str> {
    of.get(key).and_then(Value::as_str)
}

fn list<'v>(of: &'v Value, key: &str) -> &'v [Value] {
    of.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn rate_limit(limit: &Value) -> Result<(), String> {
    let kind = text(limit, "type");
    let part = |key: &str| limit.get(key).filter(|value| !value.is_null());
    let (local, global) = match kind {
        None => (part("local"), part("global")),
        Some("Local") => {
            (Some(part("local").ok_or("local configuration empty for rateLimit")?), None)
        }
        Some("Global") => {
            (None, Some(part("global").ok_or("global configuration empty for rateLimit")?))
        }
        Some(other) => return Err(format!("invalid rateLimit type: {other}")),
    };
    if let Some(local) = local {
        local_limit(local)?;
    }
    let rules = global.map_or(&[][..], |global| list(global, "rules"));
    rules.iter().try_for_each(limit_rule)
}

fn local_limit(local: &Value) -> Result<(), String> {
    let rules = list(local, "rules");
    let unit = |rule: &Value| seconds(rule.get("limit").and_then(|l| text(l, "unit")));
    let mut defaults = rules.iter().filter(|rule| list(rule, "clientSelectors").is_empty());
    let default = defaults.next();
    if defaults.next().is_some() {
        return Err(
            "local rateLimit can not have more than one rule without clientSelectors".to_owned()
        );
    }
    let default = default.map_or(1, unit);
    if rules.iter().any(|rule| default == 0 || unit(rule) % default != 0) {
        return Err("local rateLimit rule limit unit must be a multiple of the default limit unit"
            .to_owned());
    }
    let rules = rules.iter().filter(|rule| !list(rule, "clientSelectors").is_empty());
    rules.into_iter().try_for_each(limit_rule)
}

fn seconds(unit: Option<&str>) -> i64 {
    match unit {
        Some("Second") => 1,
        Some("Minute") => 60,
        Some("Hour") => 3_600,
        Some("Day") => 86_400,
        Some("Month") => 2_592_000,
        Some("Year") => 31_536_000,
        _ => 0,
    }
}

fn limit_rule(rule: &Value) -> Result<(), String> {
    list(rule, "clientSelectors").iter().try_for_each(client_selector)
}

fn regex(pattern: &str) -> Result<(), String> {
    match pattern_problem(pattern) {
        None => Ok(()),
        Some(problem) => {
            Err(format!("regex \"{pattern}\" is invalid: error parsing regexp: {problem}"))
        }
    }
}

fn client_selector(selector: &Value) -> Result<(), String> {
    let there = |key: &str| selector.get(key).is_some_and(|value| !value.is_null());
    let (headers, params) = (list(selector, "headers"), list(selector, "queryParams"));
    let methods = list(selector, "methods");
    if headers.is_empty()
        && params.is_empty()
        && methods.is_empty()
        && !there("path")
        && !there("sourceCIDR")
    {
        return Err("unable to translate rateLimit. At least one of the header or method or path or sourceCIDR or \
                    queryParameters must be specified"
            .to_owned());
    }
    let inverts = |of: &Value| of.get("invert").and_then(Value::as_bool) == Some(true);
    for header in headers {
        match (text(header, "type"), text(header, "value")) {
            (None | Some("Exact"), Some(_)) => {}
            (Some("RegularExpression"), Some(pattern)) => regex(pattern)?,
            (Some("Distinct"), None) if inverts(header) => {
                return Err("unable to translate rateLimit.Invert is not applicable for distinct header match type"
                    .to_owned());
            }
            (Some("Distinct"), None) => {}
            _ => {
                return Err("unable to translate rateLimit. Either the header.Type is not valid or the header is \
                            missing a value"
                    .to_owned());
            }
        }
    }
    if let Some(path) = selector.get("path")
        && text(path, "type") == Some("RegularExpression")
    {
        regex(text(path, "value").unwrap_or(""))?;
    }
    if let Some(cidr) = selector.get("sourceCIDR") {
        let value = text(cidr, "value").unwrap_or("");
        if !is_cidr(value) {
            return Err(format!("unable to translate rateLimit: invalid CIDR address: {value}"));
        }
    }
    for param in params {
        match (text(param, "type").unwrap_or("Exact"), text(param, "value")) {
            (_, _) if text(param, "name").unwrap_or("").is_empty() => {
                return Err("name is required when QueryParamMatch is specified".to_owned());
            }
            (kind @ ("Exact" | "RegularExpression"), None | Some("")) => {
                return Err(format!("value is required for {kind} query parameter match"));
            }
            ("RegularExpression", Some(pattern)) => regex(pattern)?,
            ("Distinct", _) if inverts(param) => {
                return Err("unable to translate rateLimit.Invert is not applicable for distinct query parameter \
                            match type"
                    .to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a text is an address with the length of its prefix.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<std::net::IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
    digits && length.parse::<u32>().is_ok_and(|length| length <= most)
}

fn bandwidth(limit: &Value) -> Result<(), String> {
    for side in ["request", "response"] {
        let Some(limit) = limit.get(side).and_then(|s| s.get("limit")) else { continue };
        let (value, unit) = (limit.get("value"), text(limit, "unit").unwrap_or("Second"));
        let bytes = match value.map(quantity) {
            Some(Quantity::Whole(bytes)) if bytes >= 0 => bytes,
            Some(Quantity::Whole(_)) => return Err(format!("{side} limit value must be positive")),
            Some(Quantity::Other) => {
                return Err(format!("{side} limit value must be convertible to an int64"));
            }
            None => continue,
        };
        let seconds = i128::from(seconds(Some(unit))).max(1);
        if bytes / (seconds * 1024) == 0 {
            return Err(format!(
                "{side}: bandwidth limit of {bytes} bytes per {unit} is below the minimum of 1 KiB/s"
            ));
        }
    }
    Ok(())
}

pub(super) fn load_balancer(balancer: &Value) -> Result<(), String> {
    if text(balancer, "type") == Some("ConsistentHash")
        && let Some(size) = balancer.get("consistentHash").and_then(|c| c.get("tableSize"))
        && let Some(size) = size.as_i64()
        && (size > LARGEST_TABLE || !is_prime(size))
    {
        return Err(format!("ConsistentHash: invalid TableSize value {size}"));
    }
    if let Some(window) = balancer.get("slowStart").and_then(|s| text(s, "window"))
        && duration(window).is_none()
    {
        return Err(go_duration_error(window));
    }
    let periods = [
        ("blackoutPeriod", "BlackoutPeriod"),
        ("weightExpirationPeriod", "WeightExpirationPeriod"),
        ("weightUpdatePeriod", "WeightUpdatePeriod"),
    ];
    for (key, name) in periods {
        if let Some(value) = balancer.get("backendUtilization").and_then(|b| text(b, key))
            && duration(value).is_none()
        {
            return Err(format!("invalid {name} value {value}: {}", go_duration_error(value)));
        }
    }
    Ok(())
}

/// What Go says about a duration that is none.
pub(super) fn go_duration_error(text: &str) -> String {
    let letters = text.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let unit: String = letters.chars().take_while(|c| !c.is_ascii_digit() && *c != '.').collect();
    match (text.chars().any(|c| c.is_ascii_digit()), unit.as_str()) {
        (true, "") => format!("time: missing unit in duration \"{text}\""),
        (true, unit) => format!("time: unknown unit \"{unit}\" in duration \"{text}\""),
        (false, _) => format!("time: invalid duration \"{text}\""),
    }
}

pub(super) fn circuit_breaker(breaker: &Value) -> Result<(), String> {
    let limits = [
        ("maxConnections", "MaxConnections"),
        ("maxParallelRequests", "MaxParallelRequests"),
        ("maxPendingRequests", "MaxPendingRequests"),
        ("maxParallelRetries", "MaxParallelRetries"),
        ("maxRequestsPerConnection", "MaxRequestsPerConnection"),
    ];
    for (key, name) in limits {
        if let Some(value) = breaker.get(key).and_then(Value::as_i64)
            && !(0..=MAX_U32).contains(&i128::from(value))
        {
            return Err(format!("invalid {name} value {value}"));
        }
    }
    Ok(())
}

pub(super) fn tcp_keepalive(keepalive: &Value) -> Result<(), String> {
    for (key, name) in [("idleTime", "IdleTime"), ("interval", "Interval")] {
        if let Some(value) = text(keepalive, key)
            && duration(value).is_none()
        {
            return Err(format!("invalid {name} value {value}"));
        }
    }
    Ok(())
}

pub(super) fn retry_problem(retry: &Value) -> Result<(), String> {
    let Some(attempts) = retry.get("perRetry") else { return Ok(()) };
    if let Some(timeout) = text(attempts, "timeout")
        && duration(timeout).is_none()
    {
        return Err(go_duration_error(timeout));
    }
    let Some(backoff) = attempts.get("backOff") else { return Ok(()) };
    let read = |key: &str| match text(backoff, key) {
        Some(value) => duration(value).map(Some).ok_or_else(|| go_duration_error(value)),
        None => Ok(None),
    };
    let base = read("baseInterval")?;
    if base == Some(0) {
        return Err("baseInterval cannot be set to 0s".to_owned());
    }
    let most = read("maxInterval")?;
    if let (Some(base), Some(most)) = (base, most)
        && most < base
    {
        return Err("maxInterval cannot be less than baseInterval".to_owned());
    }
    Ok(())
}

pub(super) fn timeouts(timeout: &Value) -> Vec<String> {
    let fields = [
        ("tcp", "connectTimeout", "ConnectTimeout"),
        ("http", "connectionIdleTimeout", "ConnectionIdleTimeout"),
        ("http", "maxConnectionDuration", "MaxConnectionDuration"),
        ("http", "requestTimeout", "RequestTimeout"),
        ("http", "maxStreamDuration", "MaxStreamDuration"),
        ("http", "streamIdleTimeout", "StreamIdleTimeout"),
    ];
    let mut found: Vec<String> = Vec::new();
    for (side, key, name) in fields {
        let value = timeout.get(side).and_then(|s| text(s, key));
        if let Some(value) = value.filter(|value| duration(value).is_none()) {
            found.push(format!("invalid {name} value {value}"));
        }
    }
    // The controller puts its name for the field before the first of them only.
    match found.is_empty() {
        true => found,
        false => vec![found.join("\n")],
    }
}

pub(super) fn buffer_limit(connection: &Value, bounds: &str) -> Result<(), String> {
    let Some(limit) = connection.get("bufferLimit").filter(|l| !l.is_null()) else { return Ok(()) };
    match quantity(limit) {
        Quantity::Whole(bytes) if (0..=MAX_U32).contains(&bytes) => Ok(()),
        Quantity::Whole(_) => {
            Err(format!("BufferLimit value {} is out of range{bounds}", shown(limit)))
        }
        Quantity::Other => Err(format!("invalid BufferLimit value {}", shown(limit))),
    }
}

pub(super) fn http2(settings: &Value) -> Vec<String> {
    let windows = [
        ("initialStreamWindowSize", "InitialStreamWindowSize"),
        ("initialConnectionWindowSize", "InitialConnectionWindowSize"),
    ];
    let mut found: Vec<String> = Vec::new();
    for (key, name) in windows {
        let Some(value) = settings.get(key).filter(|value| !value.is_null()) else { continue };
        match quantity(value) {
            Quantity::Whole(size) if (WINDOWS.0..=WINDOWS.1).contains(&size) => {}
            Quantity::Whole(_) => found.push(format!(
                "{name} value {} is out of range, must be between {} and {}",
                shown(value),
                WINDOWS.0,
                WINDOWS.1
            )),
            Quantity::Other => found.push(format!("invalid {name} value {}", shown(value))),
        }
    }
    match found.is_empty() {
        true => found,
        false => vec![found.join("\n")],
    }
}

/// Settings of the connection to an external service: the first thing that is wrong with them.
pub(super) fn backend_settings(settings: &Value) -> Result<(), String> {
    let at = |key: &str| settings.get(key).filter(|value| !value.is_null());
    if let Some(text) = at("timeout").and_then(|t| timeouts(t).into_iter().next()) {
        return Err(text);
    }
    at("connection").map_or(Ok(()), |c| buffer_limit(c, ""))?;
    at("tcpKeepalive").map_or(Ok(()), tcp_keepalive)?;
    at("circuitBreaker").map_or(Ok(()), circuit_breaker)?;
    at("loadBalancer").map_or(Ok(()), load_balancer)?;
    if let Some(text) = at("http2").and_then(|h| http2(h).into_iter().next()) {
        return Err(text);
    }
    at("retry").map_or(Ok(()), retry_problem)
}
